"""Hyperparameters by name: what the keys of a user mean, and the range in which each is searched.

Names: `param_names(gp)` has the path of each hyperparameter, such as ``left.kernel.lengthscale[0]``. As a key, a path
without its index stands for all its indices, and a bare last word ("lengthscale", "variance", "correlation", "noise",
"mean") for all of that kind; the most specific key wins. Bounds and priors are of v, in natural units.

Notation (see `fit`)
    X, y   observed points (t, p) and their values (t,)
    v      a positive hyperparameter in its natural unit, log v being its coordinate; of a correlation, log odds are
    m, s   constant mean, and the root mean square of y - m: the unit of the outputs; that of the prior where they do
           not vary
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stableopt.base.arrays import Array
from stableopt.model.algebra import Kernel, OnColumns, Product, Scaled
from stableopt.model.gp import GP
from stableopt.model.priors import Prior

# What v can be, and its default (lower, start, upper) in units of: a column's span; s²; nothing, as odds; s.
_KINDS = {
    "lengthscale": ((0.0, math.inf), (1e-3, 0.5, 1e3)),
    "variance": ((0.0, math.inf), (1e-4, 1.0, 1e4)),
    "correlation": ((0.0, 1.0), (1e-2, 1.0, 1e2)),
    "noise": ((0.0, math.inf), (1e-5, 0.1, 1e1)),
    "mean": ((-math.inf, math.inf), ()),
}
_AROUND = math.log(1e3)  # how far the bounds extend to both sides of a prior's mode, at least


def param_names(gp: GP) -> tuple[str, ...]:
    """The names of all hyperparameters, in the order of the gradient of `log_likelihood`."""
    kernel = (name.replace("logit_", "").replace("log_", "") for name in gp.kernel.param_names)
    return (*kernel, "noise", "mean")


def kind(name: str) -> str:
    """The last word of a name, without its index: what sort of hyperparameter it is."""
    return name.split("[")[0].rsplit(".", 1)[-1]


def _keys(name: str) -> tuple[str, str, str]:
    return name, name.split("[")[0], kind(name)


def lookup(given: Mapping[str, Any], name: str) -> Any:
    """What was given for a hyperparameter under the most specific of its keys, or None."""
    return next((given[key] for key in _keys(name) if key in given), None)


def is_named(name: str, keys: Iterable[str]) -> bool:
    """Whether a hyperparameter is meant by one of the keys."""
    return not set(keys).isdisjoint(_keys(name))


def check_names(names: Sequence[str], **given: Iterable[str]) -> None:
    """Refuse keys that mean none of the hyperparameters, and say where they were given."""
    known = {key for name in names for key in _keys(name)} | set(_KINDS)
    for what, keys in given.items():
        if unknown := [key for key in keys if key not in known]:
            raise ValueError(f"expected names among {sorted(known)} in {what}, got {unknown}: see param_names(gp)")


def interval(name: str, given: Any) -> tuple[float, float] | None:
    """Bounds of v that a user gave, checked against what v can be; None if there are none."""
    if given is None:
        return None
    least, most = _KINDS[kind(name)][0]
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError):
        low = high = math.nan
    if not least < low < high < most:
        raise ValueError(
            f"expected bounds of {name!r} as (lower, upper) with {least} < lower < upper < {most}, got {given!r}: "
            "to keep it at its value, put its name in `fixed`"
        )
    return low, high


def output_unit(gp: GP, X: Array, y: Array, free_mean: bool) -> float:
    """The unit s of the outputs."""
    residual = y - (y.mean() if free_mean else gp.prior_mean(X))
    size = float(np.abs(residual).max())
    if size <= 1e-14 * np.abs(y).max():  # they do not vary
        s = math.sqrt(float(gp.kernel.diag(X).mean())) or gp.noise
    else:
        s = size * math.sqrt(float(np.mean((residual / size) ** 2)))
    return min(max(s, 1e-100), 1e100)


def units(kernel: Kernel, X: Array, variance: float) -> Iterator[tuple[float, float]]:
    """For each hyperparameter the smallest and the largest unit that the data suggest, where k(x, x) has a goal."""

    def size(part: Kernel) -> float:
        return float(part.diag(X).mean()) or 1.0

    if isinstance(kernel, OnColumns):
        X = X[:, kernel.columns]
    for name, value in kernel._free():
        if isinstance(value, Kernel):
            goal = variance
            if isinstance(kernel, Scaled):
                goal = size(value)  # of two variances that multiply each other, one stays about as it is
            elif isinstance(kernel, Product):
                scaled = "left" if "log_variance" in " ".join(kernel.left.param_names) else "right"
                goal = variance * size(value) / size(kernel) if name == scaled else size(value)
            yield from units(value, X, goal)
        elif name == "lengthscale":
            spans = np.ptp(X, axis=0)
            constant = spans <= 1e-12 * np.abs(X).max(axis=0)  # says nothing, so the lengthscale stays about as it is
            spans = np.where(constant, 2 * np.asarray(value), spans).tolist()
            yield from ((span, span) for span in spans) if isinstance(value, Sequence) else [(min(spans), max(spans))]
        elif isinstance(kernel, Scaled):
            yield variance / size(kernel.kernel), variance / size(kernel.kernel)
        else:
            yield 1.0, 1.0


def search_range(
    name: str, given: tuple[float, float] | None, prior: Prior | None, scale: tuple[float, float]
) -> tuple[float, float, float]:
    """(lower, start, upper) of a coordinate: by default wide around both what the data suggest and the prior."""
    lowest, typical, highest = np.log(_KINDS[kind(name)][1])
    low, high = np.log(scale)
    mode = prior.mode if prior else None
    start = 0.5 * (low + high) + typical if mode is None else math.log(mode)
    lower, upper = low + lowest, high + highest
    if mode is not None:
        lower, upper = min(lower, start - _AROUND), max(upper, start + _AROUND)
    if given:
        lower, upper = (math.log(v / (1 - v) if kind(name) == "correlation" else v) for v in given)
    return lower, min(max(start, lower), upper), upper
