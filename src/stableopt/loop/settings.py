"""Which of the two settings a domain and an uncertainty set make: the only place that asks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from stableopt.base.arrays import Array, Mask
from stableopt.loop.listed import ListedSetting
from stableopt.loop.setting import Setting
from stableopt.loop.space import SpaceSetting, effort
from stableopt.maxmin.lists.listing import reached
from stableopt.maxmin.search.continuous import ContinuousMaxMin
from stableopt.maxmin.solver import Choice, Hints, Index
from stableopt.maxmin.spaces.mover import RangeMover
from stableopt.maxmin.spaces.movers import ChoiceMover
from stableopt.maxmin.spaces.region import SpaceRegion
from stableopt.sets.allowed import Rule
from stableopt.sets.domains import Domain
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import Groups, UncertaintySet, continuous
from stableopt.sets.variables import Float, Variable

_SAME = 1e-9  # in coordinates
_ROUNDED = 0.01  # of a range: who sets 44.5 was asked for 44.40177, most likely


def setting_of(
    domain: Domain | Space, uncertainty: UncertaintySet, seed: int = 0, where: Rule | None = None
) -> Setting:
    """The setting of a run. Its indices and its functions of points go back to it alone, so their kind is its own."""
    if isinstance(domain, Space) or continuous(uncertainty):
        return cast("Setting", SpaceSetting(domain, uncertainty, seed, where))
    return cast("Setting", ListedSetting(domain, uncertainty, seed, where))


def reaches(setting: Setting, decision: Any, points: Any) -> Mask:
    """Which of these points the adversary can turn the decision into, up to rounding (n,)."""
    where = cast("object", setting)
    if isinstance(where, SpaceSetting):
        Z, region = np.array(points), where.region
        X = np.repeat([decision], len(Z), axis=0)
        return np.asarray(np.abs(region.points(X, region.scenario_of(X, Z)) - Z).max(axis=1) <= _SAME)
    assert isinstance(where, ListedSetting)
    return np.isin(np.asarray(points), where.translation.solver.members(decision))


def apart(setting: Setting, asked: Any, done: Any) -> float:
    """How far what was done is from the point that was asked for, in coordinates.

    Infinite if it cannot be meant by it: neither rounded, nor within the tolerance of it.
    """
    where = cast("object", setting)
    if isinstance(where, SpaceSetting):
        return _apart_in_space(where, np.array(asked), np.array(done))
    assert isinstance(where, ListedSetting)
    parameters = where.uncertainty.parameters
    thetas = 1 if parameters is None else len(parameters.block)
    same = not isinstance(where.uncertainty, Groups) and asked % thetas == done % thetas
    if asked != done and not (same and not where.avoids(where.translation.decision_of(asked), [done], ())):
        return math.inf
    return float(np.abs(np.diff(where.inputs([asked, done], True), axis=0)).max())


def _apart_in_space(setting: SpaceSetting, asked: Array, done: Array) -> float:
    """The largest difference of coordinates, if the tolerance and a rounding explain every one."""
    region, parts = setting.region, setting.region.points_space.parts
    x = region.clip(asked[None, : region.dim])
    reached = region.points(x, region.scenario_of(x, done[None]))[0]
    reached[region.dim :] = asked[region.dim :]  # a parameter has no tolerance
    near = np.abs(reached - done) <= [_rounding(v) for v in parts for _ in range(v.width)]
    return float(np.abs(asked - done).max()) if near.all() else math.inf


def _rounding(v: Variable) -> float:
    """How far a coordinate may be off if it was only rounded: half a step, or a part of the range."""
    if v.choices is not None:
        return 1e-9
    return max(_ROUNDED, 0.5 * v.step / (v.high - v.low)) if isinstance(v, Float) and v.step is not None else _ROUNDED


def worst_under(
    setting: Setting[Index], uncertainty: UncertaintySet, decision: Index, F: object, hints: Hints[Index]
) -> Choice[Index]:
    """The worst case of one decision if the adversary could do this instead."""
    where: Any = setting
    if isinstance(where, SpaceSetting):
        region = SpaceRegion(where.domain, uncertainty)
        budget, least = effort(region, len(hints.points), brief=False)
        search: Any = ContinuousMaxMin(region, budget, where.seed, least)
        return cast("Choice[Index]", search.worst(decision, F, hints))
    points, values = reached(where.domain, uncertainty, cast("Any", decision)), cast("Array", F)
    at = int(points[np.argmin(values[points])])
    return Choice(decision, cast("Any", at), float(values[at]), exact=True)


def points_under(setting: Setting[Index], uncertainty: UncertaintySet, decision: Index) -> Sequence[Index]:
    """Points that a decision could turn into then: all of a list, many of a space."""
    where: Any = setting
    if isinstance(where, SpaceSetting):
        found: Any = SpaceSetting(where.domain, uncertainty, where.seed).candidates(
            cast("Any", decision), settable=False
        )
        return cast("Sequence[Index]", found)
    return cast("Sequence[Index]", reached(where.domain, uncertainty, cast("Any", decision)))


def size_under(setting: Setting[Index], uncertainty: UncertaintySet, decision: Index) -> int:
    """How many points that would be, of those that can be counted; refused where the set does not fit.

    In a space these are the parameters to choose from.
    """
    where: Any = setting
    if not isinstance(where, SpaceSetting):
        return len(reached(where.domain, uncertainty, cast("Any", decision)))
    movers = SpaceRegion(where.domain, uncertainty).movers
    return sum(len(mover.rows) for mover in movers if isinstance(mover, ChoiceMover))


def cut_off(setting: Setting, decision: Any) -> list[str]:
    """What the tolerance of a decision reaches and nobody considered, and what would: a sentence each.

    On a list, the adversary moves within the list, whatever the tolerance says.
    """
    where = cast("object", setting)
    if not isinstance(where, SpaceSetting):
        return []
    space, found = where.region.points_space, []
    for column, wanted, limit in _beyond(where, np.array([decision])):
        owner = next(v for v, c in zip(space.parts, space.columns, strict=True) if column in c)
        side, name = "below" if wanted < limit else "above", space.labels[column]
        name = name if space.names is not None else f"variable {name}"
        remedy = "a wider range would"
        if isinstance(owner, Float):
            low, high = owner.evaluate or (owner.low, owner.high)
            ends = f"({min(low, wanted):.6g}, {max(high, wanted):.6g})"
            remedy = f"Float({owner.low:.6g}, {owner.high:.6g}, evaluate={ends}) does"
        found.append(f"{name} {side} {limit:.4g} was not considered, but the tolerance reaches {wanted:.4g}: {remedy}")
    return found


def _beyond(setting: SpaceSetting, X: Array) -> list[tuple[int, float, float]]:
    """Which columns a perturbation would lead beyond where f can be evaluated: column, where to, where it ends."""
    Z, found = setting.region.base(X), []
    for mover in setting.region.movers:
        if isinstance(mover, RangeMover):
            wanted, limits, beyond = mover.cut_off(Z[:, mover.columns])
            for side, j in np.argwhere(beyond).tolist():
                found.append((mover.columns[j], float(wanted[side, j]), float(limits[side, j])))
    return sorted(found)
