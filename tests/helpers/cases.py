"""Cases of parametrised tests that are too many to run on every change."""

from typing import Any

import pytest


def extra(*values: Any) -> Any:
    """A case that repeats what other cases of its test check on every change: it runs with `make thorough`."""
    return pytest.param(*values, marks=pytest.mark.thorough)
