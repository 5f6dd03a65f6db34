"""How likely another decision is better, and how likely more evaluations find it: from joint draws of worst cases.

A bound holds for each decision alone. Whether the reported one is the best is a question about all of them at once, and
neighbours rise and fall together. So f is drawn from the model jointly at the points where the contenders may be worst.

Contenders are decisions whose worst case may be above what the reported one guarantees: of those tried, of its own
surroundings, of a spread of decisions, and the most promising one of all. Of many, each next one is the most promising
if the values of those before were known. The highest bounds alone would be neighbours of each other on one hill: then
draws miss what may be on all others, and are too sure. The points of each are those whose lcb is below all ucb, of a
spread of what the adversary can do: no other is likely to be its worst case. A minimum over finitely many points is too
high; that of the reported decision hardly is, as its worst case is searched for as well.

With constraints, the quantity of each is drawn as well, at the points where the contenders may break its limits, those
that a search finds included, and contenders are those that may keep all limits. In a draw, a decision that breaks one
counts as the worst of all.

Notation
    n, m    contenders, and different points of all of them
    W       drawn worst cases (draws, n), −∞ where a limit is broken; the reported decision is in column 0
    η       what difference does not matter (`eta`)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from stableopt.base.arrays import Array, Indices
from stableopt.base.values import ReadOnly
from stableopt.loop.drawn import Joint, Playing, shuffled
from stableopt.loop.measurements import Data, Round
from stableopt.loop.outputs import Output, Side, tells
from stableopt.loop.setting import allowed
from stableopt.loop.state import State
from stableopt.model.gp import GP, Posterior

AHEAD = 10  # evaluations that are played through
_POOL = 192  # decisions of a spread that may be contenders
_CONTENDERS = 64  # fewer with constraints, whose points count as well
_FEWEST = 8
_POINTS = 12  # of each contender, that count
_OWN = 48  # of the reported decision
_DRAWS = 512
_GAMES = 64  # draws on which more evaluations are played through


class Aspect(NamedTuple):
    """The value or one limit, and the points where each contender may be worst by it."""

    quantity: int
    """0 is the objective, 1 the quantity of the first constraint."""
    side: Side
    """The limit; for the objective, what is above 0."""
    scale: float
    certify: float
    """β^{1/2} of the bounds that certify."""
    explore: float
    members: Indices
    """Numbers of the points of all contenders, one contender after the other."""
    starts: Indices
    """Where those of each contender begin (n,)."""
    edge: float
    """The limit as a latent value."""
    units: Callable[[Array], Array]
    """Latent values of the quantity in its own units."""

    def own(self, contender: int) -> Indices:
        """Numbers of the points of one contender."""
        ends = np.append(self.starts[1:], len(self.members))
        return self.members[self.starts[contender] : ends[contender]]

    def tells(self, known: Playing, z: int) -> bool:
        """Whether a measurement at this point would tell anything of the quantity."""
        return tells(float(known.std[z]), known.noise, self.scale)

    def smallest(self, values: Array, width: Array | float = 0.0) -> Array:
        """Of latent values (..., m) of the quantity, the smallest margin of each contender (..., n), plus a width."""
        return np.minimum.reduceat(self.margins(values, width)[..., self.members], self.starts, axis=-1)

    def inside(self, values: Array, width: Array) -> Array:
        """The same in units of the prior, as latent values: those of several limits can be compared."""
        margins = self.side.sign * (values - self.edge) + width
        return np.asarray(np.minimum.reduceat(margins[..., self.members], self.starts, axis=-1) / self.scale)

    def margins(self, values: Array, width: Array | float = 0.0) -> Array:
        """The margins of latent values, with a width that leads away from the limit."""
        return np.asarray(self.side.sign * (self.units(values + self.side.sign * width) - self.side.limit))


@dataclass(frozen=True, eq=False)
class Prospects(ReadOnly):
    """The contenders of a reported decision, and what draws of f say of them."""

    state: State[Any]
    decisions: Sequence[Any]
    """Indices of the contenders; the reported decision is the first."""
    points: Sequence[Any]
    aspects: Sequence[Aspect]
    """The value, then every limit."""

    @cached_property
    def _quantities(self) -> list[list[Joint]]:
        """The models of the objective, then those of each constraint's quantity, at all points."""
        state = self.state
        measured = [(state.objective, list(state.valued))]
        measured += [(k.output, k.rounds(state.rounds)) for k in state.constraints]
        return [_joints(state, output, rounds, self.points) for output, rounds in measured]

    def _kept(self, smallest: Sequence[Array]) -> Array:
        """The worst values of the contenders, from the smallest margins of all aspects; −∞ where a limit is broken."""
        value, *margins = smallest
        return np.where(np.all([margin >= 0 for margin in margins], axis=0), value, -math.inf) if margins else value

    @cached_property
    def worst(self) -> Array:
        """W."""
        rng = np.random.default_rng([self.state.setting.seed, self.state.t])
        first, *others = self._quantities
        drawn = [np.concatenate([joint.draws(math.ceil(joint.weight * _DRAWS), rng) for joint in first])]
        drawn += [np.array([f for _, f in shuffled(joints, len(drawn[0]), rng)]) for joints in others]
        return self._kept([aspect.smallest(drawn[aspect.quantity]) for aspect in self.aspects])

    def sure(self, eta: float) -> float:
        """The probability that the reported decision keeps all limits, and no contender is better by more than η."""
        kept = self.worst[self.worst[:, 0] > -math.inf]
        return float(np.sum(kept.max(axis=1) - kept[:, 0] <= eta) / len(self.worst))

    @cached_property
    def chances(self) -> Array:
        """How likely each contender is the best of them (n,); less than 1 in all if perhaps none keeps all limits."""
        possible = self.worst[self.worst.max(axis=1) > -math.inf]
        return np.bincount(possible.argmax(axis=1), minlength=len(self.decisions)) / len(self.worst)

    @cached_property
    def gains(self) -> Array:
        """By how much the reported decision's worst case would improve with `AHEAD` more evaluations, drawn by drawn.

        StableOpt is played on draws of f, at the points of the contenders: f is measured where it says, with noise, the
        hyperparameters stay as they are, and what it would then report is compared with the decision of now. To keep
        limits that the decision of now breaks is an infinite gain.
        """
        rng = np.random.default_rng([self.state.setting.seed, self.state.t, AHEAD])
        first, *others = self._quantities
        games: list[list[Playing]] = []
        for joint in first:
            drawn = joint.draws(math.ceil(joint.weight * _GAMES), rng)
            games += [[Playing(joint, f, rng.standard_normal(AHEAD))] for f in drawn]
        for joints in others:
            for game, (joint, f) in zip(games, shuffled(joints, len(games), rng), strict=True):
                game.append(Playing(joint, f, rng.standard_normal(AHEAD)))
        return np.array([self._played(game) for game in games])

    def _played(self, game: Sequence[Playing]) -> float:
        for _ in range(AHEAD):
            z = self._doubtful(game, self._promising(game, [a.explore for a in self.aspects]))
            for beta in self.state.instead:
                if any(a.tells(game[a.quantity], z) for a in self.aspects):
                    break
                z = self._doubtful(game, self._promising(game, [math.sqrt(beta)] * len(self.aspects)))
            learned = [quantity.measure(z) for quantity in game]
            if not any(learned):
                break
        lower = self._kept([a.smallest(game[a.quantity].mean, -a.certify * game[a.quantity].std) for a in self.aspects])
        truth = self._kept([a.smallest(game[a.quantity].f) for a in self.aspects])
        reported = int(np.argmax(lower)) if lower.max() > -math.inf else 0  # what none replaces stays
        return float(truth[reported] - truth[0]) if truth[reported] != truth[0] else 0.0

    def _promising(self, game: Sequence[Playing], explore: Sequence[float]) -> int:
        """Alg. 1, line 2: the best ucb of those that may keep all limits, or the one that comes closest."""
        pairs = list(zip(self.aspects, explore, strict=True))
        upper = [a.smallest(game[a.quantity].mean, c * game[a.quantity].std) for a, c in pairs]
        kept = self._kept(upper)
        if kept.max() > -math.inf:
            return int(np.argmax(kept))
        closest = [a.inside(game[a.quantity].mean, c * game[a.quantity].std) for a, c in pairs[1:]]
        return int(np.argmax(np.min(closest, axis=0)))

    def _doubtful(self, game: Sequence[Playing], d: int) -> int:
        """Alg. 1, line 3: where the decision may be worst, or may break a limit, whichever is less known.

        What is known of the value and of a limit is compared in units of their priors. A run compares prices
        (`rules`), which take a search each.
        """
        found = []
        for aspect in self.aspects:
            known, own = game[aspect.quantity], aspect.own(d)
            width = aspect.certify * known.std[own]
            lower = aspect.margins(known.mean[own], -width)
            at = int(np.argmin(lower))
            if aspect.quantity == 0 or lower[at] < 0:
                found.append((width[at] / aspect.scale, int(own[at])))
        return max(found)[1]


def prospects(state: State[Any], decision: Any) -> Prospects:
    """The contenders of the decision that is reported."""
    limits = state.limits.each
    own = _Places.of(state, decision, _OWN)
    best = state.certificate(decision).optimum.decision
    spread = allowed(state.setting, state.candidates())
    spread = spread[:: max(1, len(spread) // _POOL)]
    around = state.setting.candidates(decision)
    around = around[:: max(1, len(around) // _OWN)]
    pool = [best, *state.tried(), *(state.decision_of(z) for z in (*around, *spread))]
    others = [rival for rival in dict.fromkeys(pool) if rival != decision and state.setting.allows(rival)]
    rivals = [_Places.of(state, rival, _POINTS) for rival in others]
    rivals = [each for each in rivals if each.margin[1] >= 0 and (each.upper > own.lower or own.margin[0] < 0)]
    most = max(_FEWEST, _CONTENDERS // (1 + len(limits)))
    if limits:  # some of them break a limit in a corner
        rivals = _searched(state, rivals if len(rivals) <= 2 * most else _apart(state, rivals, 2 * most))
    places = [own, *(rivals if len(rivals) <= most else _apart(state, rivals, most))]
    number = {z: i for i, z in enumerate(dict.fromkeys(z for each in places for some in each.points for z in some))}

    def aspect(k: int, quantity: int, side: Side, edge: float, scale: float, betas: tuple[float, float]) -> Aspect:
        members = np.array([number[z] for each in places for z in each.points[k]], dtype=np.intp)
        starts = np.cumsum([0, *(len(each.points[k]) for each in places[:-1])]).astype(np.intp)
        certify, explore = map(math.sqrt, betas)
        output = state.objective if quantity == 0 else state.constraints[quantity - 1].output
        return Aspect(quantity, side, scale, certify, explore, members, starts, edge, output.belief.in_units)

    value = aspect(0, 0, Side(1.0, 0.0), 0.0, state.scale(state.objective), (state.beta, state.explore))
    kept = [
        aspect(k, 1 + state.constraints.index(m.limited), m.side, m.edge, m.scale, (m.limited.beta, m.limited.explore))
        for k, m in enumerate(limits, start=1)
    ]
    return Prospects(state, [each.decision for each in places], list(number), [value, *kept])


def _apart(state: State[Any], rivals: Sequence[_Places], most: int) -> list[_Places]:
    """Of many rivals, one after the other: the most promising one if the values of those before were known."""
    places = _inputs(state, [each.place for each in rivals], state.objective)
    mean, covariance = _conditioned(state, state.objective, state.valued, state.belief.likely).joint(places)
    mean, covariance, chosen = mean.copy(), covariance.copy(), []
    for _ in range(most):
        variance = np.maximum(covariance.diagonal(), 0.0)
        best = int(np.argmax(mean + math.sqrt(state.beta) * np.sqrt(variance)))
        chosen.append(rivals[best])
        if variance[best] > 0:
            covariance -= np.outer(covariance[best], covariance[best] / variance[best])
        mean[best] = -math.inf
    return chosen


def _searched(state: State[Any], rivals: Sequence[_Places]) -> list[_Places]:
    """Rivals that may keep all limits, with the points where each limit may be broken, as a search finds them.

    A spread of points misses the corner in which a decision breaks a limit, and it would look better than it can be.
    """
    limits, decisions = state.limits, [each.decision for each in rivals]
    if not decisions:
        return []
    worst = [limits.solver.minima(decisions, margin, limits.hints) for margin in limits.margins("lower")]
    found = []
    for i, (each, highest) in enumerate(zip(rivals, limits.smallest_of(decisions, "upper").tolist(), strict=True)):
        value, *kept = each.points
        points = [list(dict.fromkeys([*own, choices[i].point])) for own, choices in zip(kept, worst, strict=True)]
        if highest >= 0:
            found.append(each._replace(points=[value, *points]))
    return found


def _joints(state: State[Any], output: Output[Any], rounds: Sequence[Round[Any]], points: Sequence[Any]) -> list[Joint]:
    belief, Z = output.belief, _inputs(state, points, output)
    weights = belief.weights or [1 / len(belief.gps)] * len(belief.gps)
    parts = zip(belief.gps, weights, strict=True)
    return [Joint.of(_conditioned(state, output, rounds, gp), Z, weight) for gp, weight in parts]


def _inputs(state: State[Any], points: Sequence[Any], output: Output[Any]) -> Array:
    return state.setting.inputs(points, output.learned is not None)


def _conditioned(state: State[Any], output: Output[Any], rounds: Sequence[Round[Any]], gp: GP) -> Posterior:
    data = Data.of(rounds)
    y, own = output.belief.latent_values(data.y, data.noise)
    return gp.condition(_inputs(state, data.points, output), y, output.belief.noise_of(len(y), own))


class _Places(NamedTuple):
    """A decision, and the points where it may be worst, or break a limit."""

    decision: Any
    points: list[list[Any]]
    """By the value, then by every limit."""
    place: Any
    """The point with the smallest ucb."""
    lower: float
    upper: float
    margin: tuple[float, float]
    """Bounds on the smallest margin of all limits; infinite without any."""

    @classmethod
    def of(cls, state: State[Any], decision: Any, most: int) -> _Places:
        points = list(state.setting.candidates(decision, settable=False))
        if most == _OWN:  # searched for once more: its worst case is in every comparison
            points.append(state.pessimistic(decision).point)
            points += [found.point for found in (state.limits.worst(decision, "lower") if state.constraints else ())]
        bounds = [
            state.bounds(points),
            *(limit.bounds(points) for limit in (state.limits.each if state.constraints else ())),
        ]
        kept = []
        for lower, upper in bounds:
            order = np.argsort(lower, kind="stable")[:most]
            kept.append([points[i] for i in order if lower[i] <= upper.min()])
        (lower, upper), *margins = bounds
        least = [(float(low.min()), float(high.min())) for low, high in margins] or [(math.inf, math.inf)]
        margin = min(low for low, _ in least), min(high for _, high in least)
        return cls(decision, kept, points[int(np.argmin(upper))], float(lower.min()), float(upper.min()), margin)
