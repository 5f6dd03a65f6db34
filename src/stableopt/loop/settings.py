"""Which of the two settings a domain and an uncertainty set make: the only place that asks."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from stableopt.base.arrays import Array
from stableopt.loop.listed import ListedSetting
from stableopt.loop.setting import Setting
from stableopt.loop.space import SpaceSetting
from stableopt.sets.domains import Domain
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import Groups, UncertaintySet, continuous

_ROUNDED = 0.01  # of a range: who sets 44.5 was asked for 44.40177, most likely


def setting_of(domain: Domain | Space, uncertainty: UncertaintySet, seed: int = 0) -> Setting:
    """The setting of a run. Its indices and its functions of points go back to it alone, so their kind is its own."""
    if isinstance(domain, Space) or continuous(uncertainty):
        return cast("Setting", SpaceSetting(domain, uncertainty, seed))
    return cast("Setting", ListedSetting(domain, uncertainty, seed))


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
    fine = np.array([v.choices is None for v in parts for _ in range(v.width)])
    near = np.abs(reached - done) <= np.where(fine, _ROUNDED, 1e-9)
    return float(np.abs(asked - done).max()) if near.all() else math.inf
