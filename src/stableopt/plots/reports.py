"""A report: one file for people, with the answer in words and all pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from stableopt.base.checks import destination


def report(source: Any, file: str | os.PathLike[str], *, label: str | None = None) -> Path:
    """Write all that is known of an answer as one HTML file, which needs no network; its path is returned.

    The answer in words comes first, then the pictures of this module, the trials, the health of the model, the
    settings, and how to cite them. The pictures are searched for, which takes about as long as a dozen reports.

    source: a result, an assessment, a campaign or an optimiser. One without values gives a page that says so.
    file: where the page goes; what is there is replaced.
    label: what the values are, with a unit if you like, such as "yield [%]"; a campaign knows it.
    """
    from stableopt.plots.page.page import page_of

    path = destination(file, "the page of a report")  # before the pictures are drawn
    path.write_text(page_of(source, label), encoding="utf-8")
    return path
