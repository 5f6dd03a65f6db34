"""An experiment of the paper: a replicate that can run anywhere, claims to check, and figures to draw.

A replicate is one run of all algorithms that share initial points and noise (paired). Everything random in it comes
from ``default_rng([seed, run, stream])``, so it does not matter where, when or beside what else it is computed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from stableopt.base.arrays import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Replicate = Mapping[str, Mapping[str, Array]]
"""Arrays by algorithm and name. "curve" holds one value per round; other names are the experiment's own."""


class DataError(Exception):
    """Data are missing, unreadable or wrong. The message says where and what to do."""


QUICK, DEFAULT, FULL = "quick", "default", "full"


@dataclass(frozen=True)
class Size:
    """How much to compute."""

    runs: int
    rounds: int


@dataclass(frozen=True)
class Plan:
    """A person's request: how much to run, with a seed, some algorithms, and perhaps a file of data."""

    runs: int
    rounds: int
    seed: int
    algorithms: tuple[str, ...]
    size: str = DEFAULT
    data: Path | None = None


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, whether it held here, and the numbers that say so."""

    text: str
    held: bool
    evidence: str

    @property
    def verdict(self) -> str:
        """The claim and its fate in one sentence."""
        return f"{'Held' if self.held else 'Did NOT hold'}: {self.text}. {self.evidence}."


@dataclass(frozen=True)
class Difference:
    """Mean of paired differences with a 95 % confidence interval (Student's t)."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3g} [{self.low:+.3g}, {self.high:+.3g}]"


@dataclass(frozen=True)
class Results:
    """All replicates of a plan, in the order of their numbers."""

    plan: Plan
    replicates: Sequence[Replicate]

    def stacked(self, algorithm: str, name: str = "curve") -> Array:
        """An array of every run, one row per run."""
        return np.array([replicate[algorithm][name] for replicate in self.replicates])

    @property
    def curves(self) -> dict[str, Array]:
        """(runs, rounds) by algorithm."""
        return {algorithm: self.stacked(algorithm) for algorithm in self.plan.algorithms}

    def final(self, algorithm: str) -> Array:
        """The value after the last round, by run."""
        last: Array = self.stacked(algorithm)[:, -1]
        return last

    def difference(self, algorithm: str, other: str) -> Difference:
        """Paired difference of the final values of two algorithms."""
        return paired(self.final(algorithm) - self.final(other))

    def others(self, algorithm: str = "StableOpt") -> list[str]:
        """The algorithms that this one is compared with; none if it did not run itself."""
        if algorithm not in self.plan.algorithms:
            return []
        return [name for name in self.plan.algorithms if name != algorithm]


def paired(differences: Array) -> Difference:
    """Mean and 95 % confidence interval of differences; without two of them, the interval is infinite."""
    from scipy.special import stdtrit

    n, mean = len(differences), float(np.mean(differences))
    if n < 2:
        return Difference(mean, -math.inf, math.inf)
    half = float(stdtrit(n - 1, 0.975) * stderr(differences))
    return Difference(mean, mean - half, mean + half)


FAR_BELOW = "at most half of every other's, and less by the 95 % intervals of all paired differences"


def far_below(own: Array, others: Iterable[Array]) -> bool:
    """Whether the mean of the values of runs (n,) is `FAR_BELOW` those of all others."""
    return all(paired(own - other).high < 0 and own.mean() <= 0.5 * other.mean() for other in others)


def stderr(values: Array) -> Array:
    """Standard error of the mean over the first axis; 0 where there is one value only."""
    n = len(values)
    error = np.std(values, axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.zeros(np.shape(values)[1:])
    return np.asarray(error)


class Experiment(ABC):
    """An experiment with its data loaded; it travels to the workers as it is."""

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    """The paper's statement about it, in its words."""
    measure: ClassVar[str] = "ε-regret"
    larger_is_better: ClassVar[bool] = False
    algorithms: ClassVar[tuple[str, ...]]
    sizes: ClassVar[Mapping[str, Size]]
    takes_data: ClassVar[bool] = False
    """Whether ``--data PATH`` means something."""

    @classmethod
    @abstractmethod
    def load(cls, plan: Plan) -> Self:
        """The experiment with whatever data it needs."""

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The experiment's constants and digests of its data, as JSON: replicates depend on these and on the plan."""

    @abstractmethod
    def replicate(self, plan: Plan, run: int) -> Replicate:
        """One run of every algorithm of the plan."""

    @abstractmethod
    def claims(self, results: Results) -> list[Claim]:
        """The paper's statements, checked as far as the plan's algorithms allow."""

    @abstractmethod
    def figures(self, results: Results) -> dict[str, Figure]:
        """Figures by the name of their file without its ending."""

    def pictures(self, results: Results) -> dict[str, bytes]:
        """Other files, ready to be written, by name."""
        return {}


@dataclass(frozen=True)
class Performed:
    """An experiment that was run, judged and written."""

    experiment: Experiment
    results: Results
    claims: list[Claim]
    files: list[Path]
    seconds: float


def listed(items: Sequence[str]) -> str:
    """A list in a sentence."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
