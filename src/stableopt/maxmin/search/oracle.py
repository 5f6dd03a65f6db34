"""F as a function of decisions and scenarios: values, gradients, and how the adversary replies to a moved decision.

Notation
    X (n, d), S (n, q)   decisions and scenarios, row by row; S (n, m, q) are m scenarios of each of n decisions
    v, g, h              values F(points(X, S)) and their gradients by the decision and by the scenario
    T (n, P)             targets of the adversary: the points, moved on against the gradient. If the decision moves,
                         the reply is the allowed scenario nearest to the target. So a reply stays where F has a
                         minimum of its own, and goes along with the decision where the set holds it back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stableopt.base.arrays import Array, Indices, Mask
from stableopt.maxmin.search.plan import Budget
from stableopt.maxmin.solver import Region, Smooth

FAR = 1e6  # coordinates are of the order of 1: a scenario this far away is projected onto an extreme one
_ROWS = 2048  # points evaluated together, which bounds the memory of a function with many observations
_REACH = 0.3  # distance of a target where F changes by its whole spread over a unit length
_STEP = 1e-6  # of differences by the decision
_OFF = 1e-4  # a reply this far from its point leads away from it
_CLOSER = np.array([1.0, 0.1, 0.01, 1e-4])  # shares of the way to a target that are tried


def paired(X: Array, S: Array) -> tuple[Array, Array]:
    """Decisions (n, d) and their m scenarios (n, m, q) as n·m rows; scenarios (n, q) are such rows already."""
    if S.ndim == 2:
        return X, S
    return np.repeat(X, S.shape[1], axis=0), S.reshape(S.shape[0] * S.shape[1], S.shape[2])


def projected(region: Region, X: Array, S: Array) -> Array:
    """The nearest allowed scenarios, for S (n, m, q)."""
    return region.project(*paired(X, S)).reshape(S.shape) if S.size else S


class Evaluated(NamedTuple):
    """F at pairs of decisions and scenarios."""

    S: Array
    v: Array
    g: Array
    h: Array
    T: Array

    def put(self, at: Any, other: Evaluated, rows: Any) -> None:
        """Replace the pairs ``at`` by rows of others."""
        for old, new in zip(self, other, strict=True):
            old[at] = new[rows]


def movable(region: Region) -> Mask:
    """The coordinates of a decision that are not discrete (d,): clipping leaves those alone, however far away."""
    away = np.zeros((1, region.dim)) - FAR
    return np.asarray(region.clip(away)[0] > away[0])


class Seen:
    """The range of the values that were seen, which are paid for from a budget."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._low, self._high = np.inf, -np.inf

    @property
    def scale(self) -> float:
        """Spread of the values so far, above 0 even if all are equal."""
        size = max(abs(self._low), abs(self._high))
        return max(self._high - self._low, 1e-12 * size, 1e-300)

    def saw(self, v: Array, each: int) -> None:
        """Count values; ``each`` is 2 if they came with gradients."""
        if len(v):
            self.budget.spend(len(v), each)
            low, high = float(np.minimum.reduce(v)), float(np.maximum.reduce(v))
            self._low, self._high = min(self._low, low), max(self._high, high)


class Oracle(Seen):
    """F on a region; it pays for evaluations from a budget and knows the range of the values that it saw."""

    def __init__(self, region: Region, F: Smooth, budget: Budget) -> None:
        super().__init__(budget)
        self.region, self.F, self.movable = region, F, movable(region)

    def scale_of(self, rows: Array) -> Array | float:
        """The same for each of these decisions or points (n,), or one for all."""
        return self.scale

    def groups(self, X: Array) -> Sequence[Indices]:
        """The rows of decisions that compete with each other: all of them."""
        return [np.arange(len(X))]

    def coordinates(self, rows: Array) -> Array:
        """What of decisions or points says where they are: all of it."""
        return rows

    def for_all(self, X: Array, S: Array) -> tuple[Array, Array, Array]:
        """Decisions (n, d) and their scenarios (n, m, q) for every group, and the values (n, m)."""
        return X, S, self.values(X, S)

    def at(self, Z: Array) -> Array:
        """F at points (n,)."""
        v = in_parts(self.F, Z) if len(Z) else np.empty(0)
        self._saw(v, 1, Z)
        return v

    def values(self, X: Array, S: Array) -> Array:
        """v for S (n, q) as (n,), for S (n, m, q) as (n, m)."""
        return self.at(self.region.points(*paired(X, S))).reshape(S.shape[:-1])

    def gradients(self, X: Array, S: Array) -> Evaluated:
        """S with v, g, h and T, shaped as S is."""
        X, flat = paired(X, S)
        v, Z, G = self._with_gradient(X, flat)
        g, h = self.region.pull(X, flat, G)
        found = (v, g, h, self.targets(Z, G))
        return Evaluated(S, *(part.reshape(*S.shape[:-1], *part.shape[1:]) for part in found))

    def slopes(self, X: Array, S: Array) -> tuple[Array, Array, Array, Array]:
        """v and h of scenarios (n, q), with their points and the gradients there."""
        v, Z, G = self._with_gradient(X, S)
        return v, self.region.pull(X, S, G)[1], Z, G

    def targets(self, Z: Array, G: Array) -> Array:
        """T of points Z with gradients G."""
        return np.asarray(Z - _REACH / np.reshape(self.scale_of(Z), (-1, 1)) * G)

    def _with_gradient(self, X: Array, S: Array) -> tuple[Array, Array, Array]:
        """Values, points, and the gradients there."""
        Z = self.region.points(X, S)
        if len(Z) <= _ROWS:
            v, G = self.F.with_gradient(Z)
        else:
            parts = [self.F.with_gradient(Z[i : i + _ROWS]) for i in range(0, len(Z), _ROWS)]
            v, G = (np.concatenate(part) for part in zip(*parts, strict=True))
        self._saw(v, 2, Z)
        return v, Z, G

    def anchored(self, X: Array, S: Array, T: Array) -> Array:
        """The targets (n, m, P), closer to their points where the reply to a target would lead away from its point.

        This happens in narrow valleys and at edges, where a gradient says little about what is near.
        """
        rows, flat = paired(X, S)
        Z = self.region.points(rows, flat)
        near = Z[None] + np.multiply.outer(_CLOSER, T.reshape(Z.shape) - Z)
        many = np.tile(rows, (len(_CLOSER), 1))
        replies = self.region.points(many, self.region.scenario_of(many, near.reshape(len(many), T.shape[2])))
        off = np.abs(replies.reshape(near.shape) - Z).max(axis=2, initial=0.0) > _OFF
        off[-1] = False  # the closest target is taken if none leads back
        return np.asarray(near[np.argmin(off, axis=0), np.arange(len(rows))]).reshape(T.shape)

    def replies(self, x: Array, T: Array) -> tuple[Array, Array]:
        """Values (m,) and gradients by x (m, d) of the replies to one decision with targets T (m, P).

        How replies follow the decision is geometry, with edges of its own, and costs no evaluation of F. So their
        slope is taken by differences.
        """
        free = np.flatnonzero(self.movable)
        steps = np.where(x[free] > 0.5, -_STEP, _STEP)
        X = np.repeat(x[None], 1 + len(free), axis=0)
        X[np.arange(1, len(X)), free] += steps
        rows = np.repeat(X, len(T), axis=0)
        Z = self.region.points(rows, self.region.scenario_of(rows, np.tile(T, (len(X), 1))))
        Z = Z.reshape(len(X), *T.shape)
        v, G = self.F.with_gradient(Z[0])
        self._saw(v, 2, Z[0])
        g = np.zeros((len(T), len(x)))
        g[:, free] = np.einsum("jmp,mp->mj", Z[1:] - Z[0], G) / steps
        return v, g

    def project(self, X: Array, S: Array) -> Array:
        """The nearest allowed scenarios, for S (n, m, q)."""
        return projected(self.region, X, S)

    def _saw(self, v: Array, each: int, Z: Array) -> None:
        """Count values at the points Z."""
        self.saw(v, each)


def in_parts(F: Callable[[Array], Array], Z: Array) -> Array:
    """F at points, not too many at a time; its last axis is theirs."""
    if len(Z) <= _ROWS:
        return F(Z)
    return np.concatenate([F(Z[i : i + _ROWS]) for i in range(0, len(Z), _ROWS)], axis=-1)
