"""How the worst case of a decision falls as the tolerance grows, and up to which tolerance it keeps a specification.

Notation
    r        a factor of the tolerance; A_r(d) is what the adversary can turn d into with r times as much
    F        a function of points, such as lcb or ucb
    v        the specification: F is to be at least v on all of A_r(d)
    g(r)     min over A_r(d) of F: it falls with r, so it crosses v once
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, NamedTuple

from stableopt.loop.setting import Setting, column_names
from stableopt.loop.settings import size_under, worst_under
from stableopt.loop.state import State
from stableopt.maxmin.solver import Choice, Hints, Index
from stableopt.maxmin.spaces.set_movers import columns_of
from stableopt.sets.perturbations import NormBall, Rectangle, Relative
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import Combined, Estimate, Perturbation, UncertaintySet, parts_of

_FARTHEST = 2.0**40  # a factor beyond which nothing can change any more
_SEARCHED, _LISTED = 1e-3, 1e-12  # how closely a factor is found, relative to it: by searches, on lists
_STEPS = 100  # of a bisection, at most


class Knob(NamedTuple):
    """A tolerance that has a size of its own: that of one column, or a whole set where columns have none."""

    name: str
    part: int
    """Which part of the uncertainty set it belongs to."""
    at: int | None
    """Which of the columns of that part it is; None: all of them."""


def knobs_of(setting: Setting[Index]) -> list[Knob]:
    """All tolerances that can be larger or smaller; an environment, groups, and what has the size 0 cannot."""
    names, found = column_names(setting), []
    for number, part in enumerate(parts_of(setting.uncertainty)):
        perturbation, columns = _own(part, setting)
        if perturbation is None:
            continue
        shift = setting.domain.dim if isinstance(part, Estimate) else 0
        own = [names[shift + c] for c in columns]
        if perturbation.stretched([1.0] * len(columns), columns) is None:
            found.append(Knob(", ".join(own), number, None))
        else:
            found += [Knob(own[i], number, i) for i in _with_size(perturbation, len(columns))]
    return found


def _own(part: UncertaintySet, setting: Setting[Index]) -> tuple[Perturbation | None, list[int]]:
    """What of a part has a size, and the columns that it may change: of a decision, or of θ."""
    if isinstance(part, Estimate):
        theta = part.theta
        inner = part.within
        return inner, columns_of(inner, theta) if isinstance(theta, Space) else inner.free(part.block.shape[1])
    if not isinstance(part, Perturbation) or part == Rectangle(0.0):
        return None, []
    domain = setting.domain
    return part, columns_of(part, domain) if isinstance(domain, Space) else part.free(domain.dim)


def _with_size(perturbation: Perturbation, width: int) -> list[int]:
    """Which of its columns can move at all."""
    if not isinstance(perturbation, NormBall | Relative):
        return list(range(width))
    ends = replace(perturbation, columns=None).ends(width)  # type: ignore[type-var]
    return [i for i, (down, up) in enumerate(zip(*ends, strict=True)) if max(down, up) > 0]


def stretched(setting: Setting[Index], factor: Callable[[Knob], float]) -> UncertaintySet:
    """The uncertainty set with a factor for every tolerance; what has no size stays as it is."""
    knobs, parts = knobs_of(setting), []
    for number, part in enumerate(parts_of(setting.uncertainty)):
        own = {knob.at: factor(knob) for knob in knobs if knob.part == number}
        if len(set(own.values())) < 2:
            parts.append(part.scaled(next(iter(own.values()), 1.0)))
            continue
        perturbation, columns = _own(part, setting)
        assert perturbation is not None
        other = perturbation.stretched([own.get(i, 1.0) for i in range(len(columns))], columns)
        parts.append(replace(part, within=other) if isinstance(part, Estimate) else other)  # type: ignore[arg-type]
    return parts[0] if len(parts) == 1 else Combined(parts)


class Falling(Generic[Index]):
    """g(r) for one decision, where r is the factor of all tolerances or of some."""

    def __init__(
        self, state: State[Index], decision: Index, F: object, scaled: Callable[[float], UncertaintySet]
    ) -> None:
        self.state, self.decision, self.F, self.scaled = state, decision, F, scaled
        self.known: dict[float, Choice[Index]] = {}

    def __call__(self, r: float) -> float:
        return self.worst(r).value

    def worst(self, r: float) -> Choice[Index]:
        """The worst case within r times the tolerance. What a smaller one reaches is reached by this one, too."""
        if r not in self.known:
            rounds = self.state.rounds
            nearer = [choice for s, choice in self.known.items() if s < r]
            points = [*(c.point for c in nearer), *(k.point_index for k in rounds)]
            hints = Hints((), points, [*(c.value for c in nearer), *(k.y for k in rounds)])
            with quiet():
                found = worst_under(self.state.setting, self.scaled(r), self.decision, self.F, hints)
            self.known[r] = found
        return min((c for s, c in self.known.items() if s <= r), key=lambda c: c.value)


class quiet(warnings.catch_warnings):  # noqa: N801 - it reads like a function
    """Whether a tolerance is less than a step was said of the given one, and is no news of others."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.filterwarnings("ignore", "(?s).* reaches less than one step of the ")


class Crossing(NamedTuple):
    """Where g crosses the specification."""

    holds: float | None
    """The largest factor that is known to keep it; None: it is missed even if nothing is perturbed."""
    fails: float | None
    """The smallest factor that is known to miss it; None: it is kept as far as the tolerance can grow."""


def crossing(g: Falling[Index], v: float, limit: float, tried: Sequence[float] = (1.0,)) -> Crossing:
    """Between which factors, up to the limit, the worst case falls below v; those in ``tried`` are looked at first."""
    if g(0.0) < v:
        return Crossing(None, 0.0)
    low, high = 0.0, None
    for r in sorted({min(r, limit) for r in tried}):
        if g(r) < v:
            high = r
            break
        low = r
    while high is None:
        if low >= limit:
            return Crossing(limit, None)
        r = min(2 * low, limit) if low > 0 else limit
        low, high = (low, r) if g(r) < v else (r, None)
    return _narrowed(g, v, low, high)


def _narrowed(g: Falling[Index], v: float, low: float, high: float) -> Crossing:
    """The two ends brought together: by regula falsi (Illinois) where g is continuous, by halves on a list."""
    smooth = g.state.setting.takes_hints
    below, last, precision = (g(low) - v, g(high) - v), 0, _SEARCHED if smooth else _LISTED
    for step in range(_STEPS):
        width, least = high - low, precision * high
        if width <= least:
            break
        up, down = below
        share = up / (up - down) if smooth and step % 3 < 2 else 0.5
        r = min(max(low + share * width, low + 0.4 * least), high - 0.4 * least)
        value = g(r) - v
        side = 1 if value >= 0 else -1
        low, high = (r, high) if side > 0 else (low, r)
        halved = 0.5 if side == last else 1.0  # the end that stays counts less and less
        below = (value, halved * down) if side > 0 else (halved * up, value)
        last = side
    return Crossing(low, high)


def largest_factor(setting: Setting[Index], decision: Index, scaled: Callable[[float], UncertaintySet]) -> float:
    """How far a tolerance can grow: in a space until it is as wide as its range, on a list until nothing is added."""

    def size(r: float) -> float:
        try:
            with quiet():
                return size_under(setting, scaled(r), decision)
        except ValueError:  # wider than its range
            return -1.0

    fits, _ = _last(lambda r: size(r) >= 0)
    most = size(fits)
    return fits if size(0.0) == most else min(fits, _last(lambda r: size(r) < most)[1])


def too_wide(setting: Setting[Index], factor: float) -> ValueError:
    """The error about a factor of the tolerance that does not fit; it says which ones do."""

    def fits(r: float) -> bool:
        try:
            with quiet():
                setting.rescaled(r)
        except ValueError:
            return False
        return True

    most = math.floor(1000 * _last(fits)[0]) / 1000
    return ValueError(
        f"expected factors of at most {most:g}, got {factor:g}: beyond, a tolerance would be too wide for its range"
    )


def _last(holds: Callable[[float], bool]) -> tuple[float, float]:
    """The last factor at which something holds that holds at 0, and the first at which it does not."""
    low, high = 0.0, 1.0
    while holds(high):
        low, high = high, 2 * high
        if low >= _FARTHEST:
            return low, high
    while high - low > _LISTED * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high
