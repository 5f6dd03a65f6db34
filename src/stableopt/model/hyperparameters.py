"""Hyperparameters by name: the meaning of a user's keys, the range in which each one is searched, and priors.

Names: `param_names(gp)` has the path of each hyperparameter, such as ``left.kernel.lengthscale[0]``. As a key, a path
without its index stands for all its indices. A bare last word ("lengthscale", "variance", "correlation", "noise",
"mean", or a field that a kernel declares) stands for all of that kind. The most specific key wins. Bounds and priors
are of v, in natural units.

Notation (see `fit`)
    X, y   observed points (t, p) and their values (t,)
    v, u   a positive hyperparameter in its natural unit, or the odds ρ/(1 - ρ) of a correlation ρ; u = log v is the
           coordinate that a search or a sampler moves: all densities are densities of u
    m, s   constant mean, and the root mean square of y - m: the unit of the outputs
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, final

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.checks import is_number
from stableopt.base.values import Value
from stableopt.model.algebra import Kernel, OnColumns, Product, Scaled

# The range of v, and its default (lower, start, upper) in units of: a column's span; s²; nothing, as odds; s.
_KINDS = {
    "lengthscale": ((0.0, math.inf), (1e-3, 0.5, 1e3)),
    "variance": ((0.0, math.inf), (1e-4, 1.0, 1e4)),
    "correlation": ((0.0, 1.0), (1e-2, 1.0, 1e2)),
    "noise": ((0.0, math.inf), (1e-5, 0.1, 1e1)),
    "mean": ((-math.inf, math.inf), ()),
}
# The same of a field that a kernel of one's own declares, in units of its value in the kernel that is passed.
_DECLARED = ((0.0, math.inf), (1e-3, 1.0, 1e3))
PRIORS, BOUNDS = '{"noise": LogNormal(0.05, 1.0)}', '{"lengthscale": (0.1, 2.0)}'  # what a user may write
_AROUND = math.log(1e3)  # how far the bounds extend to both sides of a prior's mode, at least


class Prior(Value, ABC):
    """A distribution of a positive v, by the density of log v; of a correlation ρ, v is the odds ρ/(1 - ρ)."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if not (is_number(value) and (value > 0 or value == field.default)):
                raise ValueError(f"expected a positive finite {field.name}, got {self}")

    @abstractmethod
    def log_density(self, u: float) -> tuple[float, float]:
        """Log density of u = log v, and its derivative by u."""

    @property
    @abstractmethod
    def mode(self) -> float | None:
        """The v at which the density of log v is highest; None if it is flat."""


@final
@dataclass(frozen=True, eq=False)
class LogNormal(Prior):
    """log v is normal around the log of the median, with standard deviation ``scale``.

    Hyperparameters that have this prior together may share a factor: its log is normal around 0 with standard deviation
    ``common``. Then "all are long" is plausible, although "one is long and another one short" is not.
    """

    median: float
    scale: float
    common: float = 0.0

    def log_density(self, u: float) -> tuple[float, float]:
        density, slopes = self.joint_log_density(np.array([u]))
        return density, float(slopes[0])

    def joint_log_density(self, u: Array) -> tuple[float, Array]:
        """Log density of several u = log v that share the factor, and its gradient.

        Their covariance is scale²·I + common²·11ᵀ; its inverse is (I − share·11ᵀ)/scale².
        """
        n, narrow, wide = len(u), self.scale**2, self.common**2
        r = u - math.log(self.median)
        slopes = -(r - wide / (narrow + n * wide) * r.sum()) / narrow
        log_det = (n - 1) * math.log(narrow) + math.log(narrow + n * wide)
        return float(0.5 * r @ slopes - 0.5 * log_det - 0.5 * n * math.log(2 * math.pi)), slopes

    @property
    def mode(self) -> float | None:
        return self.median


@final
@dataclass(frozen=True, eq=False)
class Gamma(Prior):
    """v has a density proportional to v^(shape - 1) exp(-rate·v), and the mean shape / rate."""

    shape: float
    rate: float

    def log_density(self, u: float) -> tuple[float, float]:
        v = self.rate * math.exp(u)
        return self.shape * (u + math.log(self.rate)) - v - math.lgamma(self.shape), self.shape - v

    @property
    def mode(self) -> float | None:
        return self.shape / self.rate


@final
class LogUniform(Prior):
    """log v is uniform within the bounds, as it is where no prior is given."""

    def log_density(self, u: float) -> tuple[float, float]:
        return 0.0, 0.0

    @property
    def mode(self) -> float | None:
        return None


def joint_log_density(priors: Sequence[Prior | None], u: Array) -> tuple[float, Array]:
    """Log density of all coordinates but for a constant, and its gradient: flat where there is no prior."""
    density, slopes = 0.0, np.zeros(len(u))
    shared: dict[LogNormal, list[int]] = {}
    for i, prior in enumerate(priors):
        if isinstance(prior, LogNormal):
            shared.setdefault(prior, []).append(i)
        elif prior is not None:
            own, slopes[i] = prior.log_density(float(u[i]))
            density += own
    for together, indices in shared.items():
        own, slopes[indices] = together.joint_log_density(u[indices])
        density += own
    return density, slopes


def default_priors(p: int) -> dict[str, Prior]:
    """Priors for p inputs scaled to the unit cube and standardised outputs; best with a kernel of fixed variance 1.

    Lengthscales grow like √p, as distances in the cube do (Hvarfner, Hellsten and Nardi, 2024, who have a median of
    4.1√p and a spread of √3). They are alike, as a rule, but nobody knows how long they all are: designs of engineers
    are far smoother than random functions.
    """
    return {
        "lengthscale": LogNormal(0.15 * math.sqrt(p), 0.4, common=0.7),
        "variance": LogNormal(1.0, 2.0),
        "correlation": LogNormal(1.0, 1.5),
        "noise": LogNormal(0.05, 1.0),
    }


def natural_names(kernel: Kernel) -> Iterator[str]:
    """The path of each hyperparameter of a kernel, without the "log" or "logit" of its coordinate."""
    for path in kernel.param_names:
        parent, dot, last = path.rpartition(".")
        yield parent + dot + last.removeprefix("log_" if last.startswith("log_") else "logit_")


def kind(name: str) -> str:
    """The last word of a name, without its index: the sort of hyperparameter."""
    return name.split("[")[0].rsplit(".", 1)[-1]


def _keys(name: str) -> tuple[str, str, str]:
    return name, name.split("[")[0], kind(name)


def lookup(given: Mapping[str, Any], name: str) -> Any:
    """The item of the most specific key of a hyperparameter, or None."""
    return next((given[key] for key in _keys(name) if key in given), None)


def is_named(name: str, keys: Iterable[str]) -> bool:
    """Whether a hyperparameter is meant by one of the keys."""
    return not set(keys).isdisjoint(_keys(name))


def fixed_names(given: Any) -> tuple[str, ...]:
    """The names that a user wants to keep at their values: one, or several."""
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f'expected names of hyperparameters, such as fixed=["noise"], got {given!r:.200}')
    return names


def by_name(given: Any, what: str, example: str) -> dict[str, Any]:
    """What a user gives for single hyperparameters: a dictionary, or pairs."""
    try:
        found = dict(given or {})
    except (TypeError, ValueError):
        found = {None: None}
    if not all(isinstance(name, str) for name in found):
        raise TypeError(f"expected {what} by name, such as {what}={example}, got {given!r:.200}")
    return found


def check_names(names: Sequence[str], **given: Iterable[str]) -> None:
    """Refuse keys that mean none of the hyperparameters, and say where they were given."""
    known = {key for name in names for key in _keys(name)} | set(_KINDS)  # defaults may name what a kernel lacks
    for what, keys in given.items():
        if unknown := [key for key in keys if key not in known]:
            raise ValueError(f"expected names among {sorted(known)} in {what}, got {unknown}: see param_names(gp)")


def interval(name: str, given: Any) -> tuple[float, float] | None:
    """Bounds of v as a user gave them, checked against the range of v; None if there are none."""
    if given is None:
        return None
    least, most = _KINDS.get(kind(name), _DECLARED)[0]
    try:
        low, high = (float(end) for end in given)
    except (OverflowError, TypeError, ValueError):
        low = high = math.nan
    if not least < low < high < most:
        expected = f"bounds of {name!r} as (lower, upper) with {least} < lower < upper < {most}"
        raise ValueError(f"expected {expected}, got {given!r}: to keep it at its value, put its name in `fixed`")
    return low, high


def output_unit(y: Array, residual: Array, prior_std: float) -> float:
    """The unit s of the outputs y, from their residuals y - m; that of the prior where they do not vary."""
    size, s = float(np.abs(residual).max()), prior_std
    if size > 1e-14 * np.abs(y).max():
        s = size * math.sqrt(float(np.mean((residual / size) ** 2)))
    return min(max(s, 1e-100), 1e100)


def units(kernel: Kernel, X: Array, variance: float) -> Iterator[tuple[float, float]]:
    """The smallest and the largest unit of each hyperparameter, if k(x, x) is to have this variance on average."""

    def size(part: Kernel) -> float:
        return float(part.diag(X).mean()) or 1.0

    if isinstance(kernel, OnColumns):
        X = X[:, kernel.columns]
    for name, value in kernel._learnable():
        if isinstance(value, Kernel):
            goal = variance
            if isinstance(kernel, Scaled):
                goal = size(value)  # of two variances that multiply each other, one stays about as it is
            elif isinstance(kernel, Product):
                scaled = "left" if "log_variance" in " ".join(kernel.left.param_names) else "right"
                goal = variance * size(value) / size(kernel) if name == scaled else size(value)
            yield from units(value, X, goal)
        elif name == "lengthscale":
            yield from _length_units(value, X)
        elif isinstance(kernel, Scaled):
            yield variance / size(kernel.kernel), variance / size(kernel.kernel)
        elif name == "variance":  # of a kernel of one's own, to which k(x, x) is proportional
            yield value * variance / size(kernel), value * variance / size(kernel)
        elif name == "correlation":
            yield 1.0, 1.0
        else:
            yield from ((number, number) for number in (value if isinstance(value, Sequence) else [value]))


def _length_units(value: float | Sequence[float], X: Array) -> list[tuple[float, float]]:
    """The spans of the columns: of its own for one lengthscale per column, else the smallest and the largest one."""
    several = list(value) if isinstance(value, Sequence) else [value]
    each = isinstance(value, Sequence) and len(value) == X.shape[1]
    spans = np.ptp(X, axis=0)
    constant = spans <= 1e-12 * np.abs(X).max(axis=0)  # says nothing, so the lengthscale stays about as it is
    spans = np.where(constant, 2 * np.asarray(several if each else max(several)), spans).tolist()
    return [(span, span) for span in spans] if each else [(min(spans), max(spans))] * len(several)


def declared_bounds(kernel: Kernel, given: Iterable[str]) -> dict[str, tuple[float, float]]:
    """Bounds of fields that kernels of one's own declare, around their values in this kernel, except of those given."""
    low, _, high = _DECLARED[1]
    named = zip(natural_names(kernel), np.exp(kernel.params).tolist(), strict=True)
    mine = ((name, value) for name, value in named if kind(name) not in _KINDS and not is_named(name, given))
    return {name: (low * value, high * value) for name, value in mine}


def search_range(
    name: str, given: tuple[float, float] | None, prior: Prior | None, scale: tuple[float, float]
) -> tuple[float, float, float]:
    """(lower, start, upper) of a coordinate: by default wide around the unit of the data and around the prior."""
    lowest, typical, highest = np.log(_KINDS.get(kind(name), _DECLARED)[1])
    low, high = np.log(scale)
    mode = prior.mode if prior else None
    start = 0.5 * (low + high) + typical if mode is None else math.log(mode)
    lower, upper = low + lowest, high + highest
    if mode is not None:
        lower, upper = min(lower, start - _AROUND), max(upper, start + _AROUND)
    if given:
        lower, upper = (math.log(v / (1 - v) if kind(name) == "correlation" else v) for v in given)
    return lower, min(max(start, lower), upper), upper
