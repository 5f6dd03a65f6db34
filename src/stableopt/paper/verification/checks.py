"""One line of evidence: how often something held, how often it should, and whether the difference can be chance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from stableopt.theory.simulation import consistent

LEVEL = 1e-3  # probability that one line judges a kept promise as broken


@dataclass(frozen=True)
class Check:
    """A promise, and how often it held.

    A negative control has ``must_hold=False``. It must fail: its successes are too few for the promise.
    """

    what: str
    """The promise, in a few words."""
    setting: str
    """Where it was measured."""
    held: int
    """Runs in which it held."""
    runs: int
    promised: float
    """The least probability that it should hold with."""
    must_hold: bool = True
    note: str = ""

    @classmethod
    def of(
        cls, what: str, setting: str, held: Iterable[Any], promised: float, *, fails: bool = False, note: str = ""
    ) -> Check:
        """The check of one truth value per run."""
        values = np.asarray(list(held), dtype=bool)
        return cls(what, setting, int(values.sum()), len(values), promised, not fails, note)

    @property
    def kept(self) -> bool:
        """Whether the frequency agrees with the promise."""
        return consistent(self.held, self.runs, self.promised, LEVEL)

    @property
    def ok(self) -> bool:
        """Whether it came out as it should: kept, or visibly not for a negative control."""
        return self.kept == self.must_hold

    def to_dict(self) -> dict[str, Any]:
        """As a row of a table."""
        return asdict(self) | {"frequency": self.held / self.runs, "ok": self.ok}
