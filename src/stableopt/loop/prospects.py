"""How likely another decision is better, and how likely more evaluations find it: from joint draws of worst cases.

A bound holds for each decision alone. Whether the reported one is the best is a question about all of them at once, and
neighbours rise and fall together. So f is drawn from the model jointly at the points where the contenders may be worst.

Contenders are decisions whose worst case may be above what the reported one guarantees: of those tried, of its own
surroundings, of a spread of decisions, and the most promising one of all. Of many, each next one is the most promising
if the values of those before were known. The highest bounds alone would be neighbours of each other on one hill: then
draws miss what may be on all others, and are too sure. The points of each are those whose lcb is below all ucb, of a
spread of what the adversary can do: no other is likely to be its worst case. A minimum over finitely many points is too
high, for the reported decision and its rivals alike.

Notation
    n, m    contenders, and different points of all of them
    W       drawn worst cases (draws, n); the reported decision is in column 0
    η       what difference does not matter (`eta`)
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from stableopt.base.arrays import Array, Indices
from stableopt.base.values import ReadOnly
from stableopt.loop.measurements import Data
from stableopt.loop.outputs import valued
from stableopt.loop.state import State
from stableopt.model.gp import GP, Posterior

AHEAD = 10  # evaluations that are played through
_POOL = 192  # decisions of a spread that may be contenders
_CONTENDERS = 64
_POINTS = 12  # of each contender, that count
_OWN = 48  # of the reported decision
_DRAWS = 512
_GAMES = 64  # draws on which more evaluations are played through
_JITTER = 1e-10  # of the largest variance: what is left of a covariance, and less, is rounding


class Joint(NamedTuple):
    """A model at the points of all contenders."""

    weight: float
    mean: Array
    covariance: Array
    noise: float

    @classmethod
    def of(cls, posterior: Posterior, Z: Array, weight: float) -> Joint:
        mean, covariance = posterior.joint(Z)
        return cls(weight, mean, covariance, posterior.gp.noise)

    def draws(self, count: int, rng: np.random.Generator) -> Array:
        """Values of f (count, m)."""
        largest = max(float(self.covariance.diagonal().max()), sys.float_info.min)
        L, order, rank, _ = lapack.dpstrf(self.covariance, tol=_JITTER * largest, lower=1)
        drawn = np.empty((count, len(self.mean)))
        drawn[:, order - 1] = rng.standard_normal((count, rank)) @ np.tril(L)[:, :rank].T
        return drawn + self.mean


@dataclass(frozen=True, eq=False)
class Prospects(ReadOnly):
    """The contenders of a reported decision, and what draws of f say of them."""

    state: State[Any]
    decisions: Sequence[Any]
    """Indices of the contenders; the reported decision is the first."""
    points: Sequence[Any]
    members: Indices
    """Numbers of the points of all contenders, one contender after the other."""
    starts: Indices
    """Where those of each contender begin (n,)."""

    def _smallest(self, values: Array) -> Array:
        """The smallest of the values (..., m) at the points of each contender (..., n)."""
        return np.minimum.reduceat(values[..., self.members], self.starts, axis=-1)

    @cached_property
    def _joints(self) -> list[Joint]:
        state, belief, Z = self.state, self.state.belief, _inputs(self.state, self.points)
        weights = belief.weights or [1 / len(belief.gps)] * len(belief.gps)
        return [Joint.of(_conditioned(state, gp), Z, w) for gp, w in zip(belief.gps, weights, strict=True)]

    @cached_property
    def worst(self) -> Array:
        """W."""
        rng = np.random.default_rng([self.state.setting.seed, self.state.t])
        drawn = [joint.draws(math.ceil(joint.weight * _DRAWS), rng) for joint in self._joints]
        return self._smallest(np.concatenate(drawn))

    def sure(self, eta: float) -> float:
        """The probability that no contender is better than the reported decision by more than η."""
        return float(np.mean(self.worst.max(axis=1) - self.worst[:, 0] <= eta))

    @cached_property
    def chances(self) -> Array:
        """How likely each contender is the best of them (n,)."""
        return np.bincount(self.worst.argmax(axis=1), minlength=len(self.decisions)) / len(self.worst)

    @cached_property
    def gains(self) -> Array:
        """By how much the reported decision's worst case would improve with `AHEAD` more evaluations, drawn by drawn.

        StableOpt is played on draws of f, at the points of the contenders: f is measured where it says, with noise, the
        hyperparameters stay as they are, and what it would then report is compared with the decision of now.
        """
        rng = np.random.default_rng([self.state.setting.seed, self.state.t, AHEAD])
        gains: list[float] = []
        for joint in self._joints:
            drawn = joint.draws(math.ceil(joint.weight * _GAMES), rng)
            gains += [self._played(joint, f, rng.standard_normal(AHEAD)) for f in drawn]
        return np.array(gains)

    def _played(self, joint: Joint, f: Array, errors: Array) -> float:
        mean, covariance = joint.mean.copy(), joint.covariance.copy()
        own = np.split(self.members, self.starts[1:])
        certify, explore = math.sqrt(self.state.beta), math.sqrt(self.state.explore)
        for error in errors.tolist():
            std = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
            d = int(np.argmax(self._smallest(mean + explore * std)))  # Alg. 1, line 2
            z = int(own[d][np.argmin((mean - certify * std)[own[d]])])  # Alg. 1, line 3
            variance = covariance[z, z] + joint.noise**2
            if variance <= 0:
                break
            k = covariance[:, z].copy()
            mean += k * ((f[z] + joint.noise * error - mean[z]) / variance)
            covariance -= np.outer(k, k / variance)
        lower = self._smallest(mean - certify * np.sqrt(np.maximum(covariance.diagonal(), 0.0)))
        worst = self._smallest(f)
        return float(worst[int(np.argmax(lower))] - worst[0])


def prospects(state: State[Any], decision: Any) -> Prospects:
    """The contenders of the decision that is reported."""
    own = _Places.of(state, decision, _OWN)
    best = state.certificate(decision).optimum.decision
    spread = state.candidates()
    spread = spread[:: max(1, len(spread) // _POOL)]
    around = state.setting.candidates(decision)
    around = around[:: max(1, len(around) // _OWN)]
    pool = [best, *state.tried(), *(state.decision_of(z) for z in (*around, *spread))]
    rivals = [_Places.of(state, rival, _POINTS) for rival in dict.fromkeys(pool) if rival != decision]
    rivals = [each for each in rivals if each.upper > own.lower]
    places = [own, *(rivals if len(rivals) <= _CONTENDERS else _apart(state, rivals))]
    number = {z: i for i, z in enumerate(dict.fromkeys(z for each in places for z in each.points))}
    members = np.array([number[z] for each in places for z in each.points], dtype=np.intp)
    starts = np.cumsum([0, *(len(each.points) for each in places[:-1])]).astype(np.intp)
    return Prospects(state, [each.decision for each in places], list(number), members, starts)


def _apart(state: State[Any], rivals: Sequence[_Places]) -> list[_Places]:
    """Of many rivals, one after the other: the most promising one if the values of those before were known."""
    mean, covariance = _conditioned(state, state.belief.likely).joint(_inputs(state, [each.place for each in rivals]))
    mean, covariance, chosen = mean.copy(), covariance.copy(), []
    for _ in range(_CONTENDERS):
        variance = np.maximum(covariance.diagonal(), 0.0)
        best = int(np.argmax(mean + math.sqrt(state.beta) * np.sqrt(variance)))
        chosen.append(rivals[best])
        if variance[best] > 0:
            covariance -= np.outer(covariance[best], covariance[best] / variance[best])
        mean[best] = -math.inf
    return chosen


def _inputs(state: State[Any], points: Sequence[Any]) -> Array:
    return state.setting.inputs(points, state.objective.learned is not None)


def _conditioned(state: State[Any], gp: GP) -> Posterior:
    data = Data.of(valued(state.rounds))
    return gp.condition(_inputs(state, data.points), data.y, state.belief.noise_of(len(data.y), data.noise))


class _Places(NamedTuple):
    """A decision, and the points where it may be worst."""

    decision: Any
    points: list[Any]
    place: Any
    """Of these, the one with the smallest ucb."""
    lower: float
    upper: float

    @classmethod
    def of(cls, state: State[Any], decision: Any, most: int) -> _Places:
        points = list(state.setting.candidates(decision))
        if most == _OWN:  # searched for once more: its worst case is in every comparison
            points.append(state.pessimistic(decision).point)
        lower, upper = state.bounds(points)
        order = np.argsort(lower, kind="stable")[:most]
        kept = [points[i] for i in order if lower[i] <= upper.min()]
        return cls(decision, kept, points[int(np.argmin(upper))], float(lower.min()), float(upper.min()))
