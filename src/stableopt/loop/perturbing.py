"""Random perturbations of a decision: uniform in what the adversary can do, normal, or given by the user.

On a list, every point that the decision can turn into is equally likely: then nothing is random. In a space,
perturbations are drawn in the user's units; what they lead beyond the ranges is clipped, as the adversary's moves are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.checks import numbers
from stableopt.loop.setting import Setting
from stableopt.loop.space import SpaceSetting
from stableopt.maxmin.spaces.set_movers import columns_of
from stableopt.sets.perturbations import Ellipsoid, NormBall, Rectangle, Relative
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import Estimate, Perturbation
from stableopt.sets.variables import Float, Integer, Range

UNIFORM, NORMAL = "uniform", "normal"


@dataclass(frozen=True)
class Chance:
    """How perturbations are distributed: "uniform", "normal", a function (rng, n) -> (n, k), or samples (n, k)."""

    kind: str | Callable[[np.random.Generator, int], Any] | Any = UNIFORM
    samples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.kind, str) and self.kind not in (UNIFORM, NORMAL):
            raise ValueError(
                'expected perturbations as "uniform", "normal", a function (rng, n) or rows of samples, got '
                f"{self.kind!r:.80}"
            )

    @property
    def inside(self) -> bool:
        """Whether no perturbation is beyond what the adversary can do."""
        return isinstance(self.kind, str) and self.kind == UNIFORM

    @property
    def words(self) -> str:
        """How, for a reader."""
        if not isinstance(self.kind, str):
            return "as given"
        return "uniform within the tolerance" if self.inside else "normal, the tolerance is two standard deviations"


def draws(setting: Setting, decision: Any, chance: Chance) -> Sequence[Any]:
    """Points that the decision may turn into by chance, all equally likely; the same ones for the same seed."""
    where: Any = setting
    if not isinstance(where, SpaceSetting):
        if not chance.inside:
            raise ValueError(
                'expected perturbation="uniform" on a list of points, between which there is nothing, got '
                f"{chance.kind!r:.80}: use a Space"
            )
        points: Sequence[Any] = setting.candidates(decision)
        return points
    return cast("Sequence[Any]", _in_space(where, decision, chance))


def _in_space(setting: SpaceSetting, decision: Any, chance: Chance) -> Array:
    region, rng = setting.region, np.random.default_rng([chance.seed, 0])
    space, theta, d = region.space, region.theta, region.dim
    offsets = _given(chance, rng, space)
    n = len(offsets) if offsets is not None else chance.samples
    Z = np.repeat(region.base(np.array([decision], dtype=float)), n, axis=0)
    if offsets is not None:
        _moved(Z, space, space.numeric, offsets)
    else:
        for part in setting.uncertainty.perturbations:
            _perturbed(Z, space, part, chance, rng)
    parameters = setting.uncertainty.parameters
    if isinstance(parameters, Estimate) and isinstance(parameters.theta, Space):
        own = Z[:, d:].copy()
        _perturbed(
            own,
            parameters.theta,
            parameters.within,
            Chance(chance.kind if isinstance(chance.kind, str) else UNIFORM),
            rng,
        )
        Z[:, d:] = own
    elif isinstance(parameters, Estimate):
        assert theta is not None
        Z[:, d:] = np.asarray(theta.parts[0].choices)[rng.choice(parameters.allowed, n)]
    elif theta is not None:
        Z[:, d:] = theta.rows(rng.random((n, len(theta.parts))))
    return Z


def _given(chance: Chance, rng: np.random.Generator, space: Space) -> Array | None:
    """Perturbations of the user's own, one row each; None where they are drawn here."""
    if isinstance(chance.kind, str):
        return None
    k = len(space.numeric)
    what = f"perturbations as rows of {k} numbers, one for each of {[space.labels[c] for c in space.numeric]}"
    given = numbers(chance.kind(rng, chance.samples) if callable(chance.kind) else chance.kind, what)
    rows = given[:, None] if given.ndim == 1 and k == 1 else given
    if rows.ndim != 2 or rows.shape[1] != k or not len(rows) or not np.all(np.isfinite(rows)):
        raise ValueError(f"expected {what}, got an array of shape {given.shape}")
    return rows


def _perturbed(Z: Array, space: Space, part: Perturbation, chance: Chance, rng: np.random.Generator) -> None:
    """Move rows of coordinates as one perturbation does by chance."""
    if part == Rectangle(0.0):
        return
    columns = columns_of(part, space)
    own, n, k = replace(part, columns=None), len(Z), len(columns)  # type: ignore[type-var]
    if not isinstance(own, NormBall | Relative | Ellipsoid):
        raise ValueError(
            f"expected samples or a function (rng, n) for a set of your own, got {chance.kind!r}: only you know what "
            "is likely in it"
        )
    order = own.order if isinstance(own, NormBall) else 2.0 if isinstance(own, Ellipsoid) else math.inf
    unit = rng.standard_normal((n, k)) / 2 if chance.kind == NORMAL else _unit_ball(rng, n, k, order)
    if isinstance(own, Ellipsoid):
        moves = unit @ own.root(k).T
    else:
        down, up = own.ends(k)
        moves = np.where(unit < 0, unit * down, unit * up)
        if isinstance(own, Relative):
            moves *= np.abs(_values(Z, space, columns))
        elif np.any(down != up) and chance.kind == UNIFORM:  # the whole interval, not each side with one half
            moves = -down + (down + up) * (unit + 1) / 2
    if chance.kind == UNIFORM:
        owners = _owners(space)
        whole = [i for i, c in enumerate(columns) if isinstance(owners[c], Integer)]
        _shorten(moves, own, order, _values(Z, space, columns), whole)
    _moved(Z, space, columns, moves)


def _shorten(moves: Array, own: Perturbation, order: float, values: Array, whole: list[int]) -> None:
    """Make the moves of whole numbers whole, and no longer than the set allows: of ±1.6 only ±1 is left."""
    if order < math.inf or not isinstance(own, NormBall | Relative):  # in a ball, a shorter one is inside, too
        moves[:, whole] = np.trunc(moves[:, whole] * (1 + 1e-9))
        return
    reach = np.abs(values[:, whole]) if isinstance(own, Relative) else 1.0
    low, high = (np.floor(end[whole] * reach * (1 + 1e-9)) for end in own.ends(values.shape[1]))
    moves[:, whole] = np.clip(np.rint(moves[:, whole]), -low, high)


def _unit_ball(rng: np.random.Generator, n: int, k: int, order: float) -> Array:
    """Uniform in the unit ball of a norm (n, k)."""
    if order == math.inf:
        return rng.uniform(-1.0, 1.0, (n, k))
    if order == 2:
        directions = rng.standard_normal((n, k))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    else:
        directions = rng.exponential(size=(n, k)) * rng.choice([-1.0, 1.0], (n, k))
        directions /= np.abs(directions).sum(axis=1, keepdims=True)
    return np.asarray(directions * rng.random((n, 1)) ** (1 / k))


def _owners(space: Space) -> dict[int, Any]:
    return {c[0]: v for v, c in zip(space.parts, space.columns, strict=True)}


def _values(Z: Array, space: Space, columns: Sequence[int]) -> Array:
    """Columns of rows of coordinates in the user's units."""
    owners = _owners(space)
    return np.column_stack([owners[c].value(Z[:, c]) for c in columns])


def _moved(Z: Array, space: Space, columns: Sequence[int], moves: Array) -> None:
    """Add moves in the user's units; whole numbers stay whole, and all stay where f can be evaluated."""
    values, owners = _values(Z, space, columns) + moves, _owners(space)
    for c, column in zip(columns, values.T, strict=True):
        v: Range = owners[c]
        low, high = v.evaluate or (v.low, v.high) if isinstance(v, Float) else (v.low, v.high)
        kept = np.clip(np.rint(column) if isinstance(v, Integer) else column, low, high)
        Z[:, c] = v.coordinate(kept)
