"""The state in a continuous or mixed space: decisions and points are searched for, not listed.

Rows of coordinates stand for decisions and points here; a tuple of numbers is the index that rules hand back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from stableopt.base.arrays import Array, frozen
from stableopt.loop.state import Choice, State, observed_data
from stableopt.maxmin.continuous import ContinuousMaxMin, Found, usual_budget
from stableopt.maxmin.region import SpaceRegion
from stableopt.model.gp import Bound, Posterior
from stableopt.model.learning import Belief, Learned
from stableopt.model.mixtures import Mixture
from stableopt.model.stationary import LARGEST
from stableopt.sets.perturbations import Rectangle
from stableopt.sets.spaces import low_discrepancy
from stableopt.sets.uncertainty import Estimate, Parameters

Row = tuple[float, ...]

_KNOWN = 100  # observed points that a search tries as worst cases
_STARTS = 32  # past decisions that a search starts from
_AFRESH = 32  # rounds after which a posterior is factorised afresh
_OTHERS = 64  # points of a decision to choose from where its worst one is being measured already
_SAME = 1e-3  # so close in every coordinate, two points are the same to workers
_MARGIN = 0.1  # of a range, at both ends: initial points keep off, as an edge tells little about the rest


@dataclass(frozen=True, eq=False)
class _OnPoints:
    """A confidence bound as a function of coordinates, for a model that may see other units."""

    bound: Bound
    scale: Array | None
    natural: Callable[[Array], Array]

    def __call__(self, Z: Array) -> Array:
        return self.bound(Z if self.scale is None else self.natural(Z))

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        if self.scale is None:
            return self.bound.with_gradient(Z)
        values, gradient = self.bound.with_gradient(self.natural(Z))
        return values, gradient * self.scale


@dataclass(frozen=True, eq=False)
class SpaceState(State):
    """The state in a space. Searches are numerical: their results carry a gap instead of being exact."""

    setting: SpaceRegion
    posterior: Posterior | Mixture | None = None
    """None before the first observation."""

    @cached_property
    def X(self) -> Array:  # noqa: N802
        """The observed points, a row of coordinates each (t, P)."""
        return frozen(np.array([r.point_index for r in self.rounds]).reshape(self.t, -1))

    @cached_property
    def optimistic(self) -> Choice:
        """x̃_{t+1}: the decision with the largest worst-case ucb (Alg. 1, line 2)."""
        return self._choice(self._solver.maximin(self._bound(self.explore, +1), self._starts, self._low))

    def pessimistic(self, decision: Row) -> Choice:
        """Where this decision has its smallest lcb (Alg. 1, line 3, for x̃_{t+1}); before any observation, no bound."""
        if self.posterior is None:
            return Choice(decision, self._point(self.setting.base(np.array([decision]))[0]), -math.inf, False)
        return self._worst(decision, self.beta, -1)

    def certificate(self, decision: Row) -> tuple[Choice, float, Choice]:
        """The smallest lcb of a decision, its smallest ucb, and the largest worst-case ucb (plus its gap)."""
        upper = self._worst(decision, self.beta, +1).value
        best = self._optimum
        optimum = max(best.value + best.gap, upper)
        return self.pessimistic(decision), upper, best._replace(value=optimum)

    @cached_property
    def _optimum(self) -> Choice:
        if self.explore == self.beta:
            return self.optimistic
        starts = np.vstack([self._starts, [self.optimistic.decision]])
        return self._choice(self._solver.maximin(self._bound(self.beta, +1), starts, self._low))

    def _worst(self, decision: Row, beta: float, sign: int) -> Choice:
        key = decision, beta, sign
        if key not in self._known:
            found = self._solver.worst(np.array(decision), self._bound(beta, sign), self._near(decision))
            self._known[key] = self._choice(found, decision)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[tuple[Row, float, int], Choice]:
        return {}

    def bounds_of(self, decisions: Sequence[Row]) -> tuple[Array, Array]:
        """The smallest lcb and the smallest ucb of several decisions, with the β that certifies."""
        X = np.array(decisions)
        lower, upper = (self._solver.minima(X, self._bound(self.beta, sign), self._low)[0] for sign in (-1, +1))
        return lower, upper

    def avoids(self, decision: Row, points: Sequence[Row]) -> bool:
        """Whether the decision can turn into none of these points, and none is nearer to it than what is known."""
        Z, d = np.array(points), self.setting.dim
        X = np.repeat([decision], len(Z), axis=0)
        reached = self.setting.points(X, self.setting.scenario_of(X, Z))
        away, known = (np.abs(P[:, :d] - np.array(decision)).max(axis=1) for P in (Z, self.X))
        return bool(np.abs(reached - Z).max(axis=1).min() > 1e-9 and known.min() <= away.min())

    def unperturbed(self, decision: Row) -> Row:
        """The point that the decision stands for if nobody perturbs it; with parameters, the one with smallest ucb."""
        parameters = self._parameters
        if not isinstance(parameters, Parameters):
            return self._point(self.setting.base(np.array([decision]))[0])
        alone = SpaceRegion(self.setting.domain, parameters)
        solver = self._searching(alone, self._budget)
        return self._point(solver.worst(np.array(decision), self._bound(self.explore, +1), self._near(decision)).point)

    def most_promising_point(self) -> Row:
        """The point with the largest ucb, of all that some decision stands for if nobody perturbs it."""
        free = isinstance(self._parameters, Parameters)
        space = self.setting.points_space if free else self.setting.space
        region = SpaceRegion(space, Rectangle(0.0))
        bound = self._bound(self.explore, +1)
        if not free and self.setting.theta is not None:
            region = SpaceRegion(self.setting.domain, self._still(self._parameters))
        found = self._searching(region, self._budget).maximin(bound, self.X[-_STARTS:, : space.dim])
        return self._point(found.point)

    @staticmethod
    def _still(parameters: Parameters | Estimate | None) -> Estimate:
        """The estimate itself, which nobody moves."""
        assert isinstance(parameters, Estimate)
        return replace(parameters, within=Rectangle(0.0))

    def random_point(self, seed: int) -> Row:
        """A uniformly random point; the same for the same seed and number of rounds."""
        rng = np.random.default_rng([seed, self.t + len(self.failures) + 1])
        return self._spread_point(rng.random((1, len(self.setting.points_space.parts))))

    def design_point(self, number: int, seed: int) -> Row:
        """Point ``number`` (from 0) of an evenly spread sequence, which leaves out the edges of a decision's ranges."""
        unit = low_discrepancy(number + 1, len(self.setting.points_space.parts), seed)[-1:]
        inner = [j for j, variable in enumerate(self.setting.space.parts) if variable.choices is None]
        unit[:, inner] = _MARGIN + (1 - 2 * _MARGIN) * unit[:, inner]
        return self._spread_point(unit)

    def _spread_point(self, unit: Array) -> Row:
        """The point at random numbers between 0 and 1, with a parameter that the adversary may choose."""
        Z = self.setting.points_space.rows(unit)
        X = Z[:, : self.setting.dim]
        return self._point(self.setting.points(X, self.setting.scenario_of(X, Z))[0])

    def decision_of(self, point: Row) -> Row:
        """The decision that a point on its own stands for."""
        return tuple(self.setting.decision_of(np.array(point)).tolist())

    def safest(self, *, tried: bool = True, intersected: bool = False) -> Row:
        """The decision with the largest worst-case lcb."""
        bound = self._bound(self.beta, -1)
        if not tried:
            return self._decision(self._solver.maximin(bound, self._starts, self._low).decision)
        decisions = list(dict.fromkeys(self.tried()))
        return tuple(self._solver.best(np.array(decisions), bound, self._low).decision.tolist())

    def expected(self) -> Row:
        """The decision with the largest worst-case posterior mean."""
        return self._decision(self._solver.maximin(self._bound(0.0, +1), self._starts, self._low).decision)

    def updated(self, known: int) -> SpaceState:
        """The state whose posterior knows all rounds, of which it knew only the first ``known`` ones."""
        if self.posterior is None or self._factored > known:
            return self._conditioned()
        return replace(self, posterior=self._updated(self.posterior))

    def learn(self, learned: Learned) -> Belief:
        """The model that is learned from all rounds."""
        _, y, noise = observed_data(self.rounds)
        return learned.learn(self.X, y, noise, self.belief, self.setting.points_space.categories, self.seed)

    def with_belief(self, belief: Belief) -> SpaceState:
        """The same observations under another model; those that it was not learned from update it."""
        return replace(self, belief=belief)._conditioned()

    def _conditioned(self) -> SpaceState:
        if not self.rounds:
            return self
        n = self._factored
        _, y, noise = observed_data(self.rounds[:n])
        return replace(self, posterior=self._updated(self.belief.condition(self._inputs(self.X[:n]), y, noise)))

    @property
    def _factored(self) -> int:
        """From how many rounds the posterior is made at once; the others update it.

        It depends on nothing but the rounds and the model, so that a run can be replayed bit for bit however it was
        told, and grows now and then, so that rounding errors do not.
        """
        return max(1, self.belief.t, self.t - self.t % _AFRESH)

    def _updated(self, posterior: Posterior | Mixture) -> Posterior | Mixture:
        for r in self.rounds[posterior.t :]:
            posterior = posterior.update(self._inputs(np.array([r.point_index]))[0], r.y, r.noise)
        return posterior

    def imagining(self, points: Sequence[Row], failed: Sequence[Row] = ()) -> SpaceState:
        """A throw-away state in which these points were measured too and gave what the model expects there."""
        if self.posterior is None or not (len(points) or len(failed)):
            return self
        posterior = self.posterior
        for point, most in [*((p, self.smallest) for p in failed), *((p, math.inf) for p in points)]:
            x = self._inputs(np.array([point]))
            posterior = posterior.update(x[0], min(float(posterior(x)[0][0]), most))
        return replace(self, posterior=posterior)

    def untaken(self, decision: Row, point: Row, taken: Sequence[Row]) -> tuple[Row, Row]:
        """This decision and point, or another point that is none of ``taken``, if there is one among many."""
        region = self.setting
        if not len(taken) or len(self._apart(np.array([point]), taken)):
            return decision, point
        S = region.scenarios(_OTHERS, self.seed + self.t)
        X = np.tile(decision, (len(S), 1))
        own = self._apart(region.points(X, region.project(X, S)), taken)
        if len(own):
            return decision, self._point(own[np.argmax(self._moments(own)[1])])
        Z = region.points_space.spread(8 * _OTHERS, self.seed + self.t)
        free = self._apart(region.points(Z[:, : region.dim], region.scenario_of(Z[:, : region.dim], Z)), taken)
        if not len(free):
            return decision, point
        other = self._point(free[np.argmax(self._bound(self.explore, +1)(free))])
        return self.decision_of(other), other

    @staticmethod
    def _apart(Z: Array, taken: Sequence[Row]) -> Array:
        """The points that are not just where one of ``taken`` is."""
        return np.asarray(Z[(np.abs(Z[:, None] - np.array(taken)[None]).max(axis=2) > _SAME).all(axis=1)])

    def _moments(self, Z: Array) -> tuple[Array, Array]:
        if self.posterior is None:
            raise ValueError("nothing is known yet: tell at least one value first")
        return self.posterior(self._inputs(Z))

    @property
    def information_gain(self) -> float:
        """½ log det(I + σ⁻²K) of the observations so far."""
        return 0.0 if self.posterior is None else self.posterior.information_gain

    @cached_property
    def _budget(self) -> int:
        """With very many observations every evaluation is dear: a search costs about as much as learning the model."""
        usual = usual_budget(max(self.setting.dim, self.setting.width))
        return max(1_000, int(usual * min(1.0, 150 / max(1, self.t))))

    @cached_property
    def _low(self) -> Array:
        """Observed points that may be worst cases: those with the smallest values."""
        return self.X[np.argsort([r.y for r in self.rounds], kind="stable")[:_KNOWN]]

    def _near(self, decision: Row) -> Array:
        """Observed points that may be the worst case of a decision: those around it."""
        away = np.abs(self.X[:, : self.setting.dim] - np.array(decision)).max(axis=1, initial=0.0)
        return self.X[np.argsort(away, kind="stable")[:_KNOWN]]

    @cached_property
    def _solver(self) -> ContinuousMaxMin:
        return self._searching(self.setting, self._budget)

    def _searching(self, region: SpaceRegion, budget: int) -> ContinuousMaxMin:
        # With many observations, a point alone takes as long as several: to read their factor from memory takes time.
        return ContinuousMaxMin(region, budget, self.seed, least=8 if self.t > LARGEST else 1)

    @cached_property
    def _starts(self) -> Array:
        """Decisions that were good, or new, before."""
        tried = list(dict.fromkeys(reversed(self.tried())))
        best = sorted(self.rounds, key=lambda r: (-r.lower, r.t))[: _STARTS // 2]
        chosen = dict.fromkeys([*tried[: _STARTS // 2], *(r.decision_index for r in best)])
        return np.array(list(chosen)).reshape(len(chosen), self.setting.dim)

    def _bound(self, beta: float, sign: int) -> _OnPoints:
        if self.posterior is None:
            raise ValueError("nothing is known yet: tell at least one value first")
        bound = self.posterior.bound(sign * math.sqrt(beta))
        space = self.setting.points_space
        return _OnPoints(bound, None if self.learned is not None else space.span, space.natural)

    def _inputs(self, Z: Array) -> Array:
        """Points as the model sees them: coordinates if it is learned, else the user's units."""
        return Z if self.learned is not None else self.setting.points_space.natural(Z)

    def _choice(self, found: Found, decision: Row | None = None) -> Choice:
        chosen = self._decision(found.decision) if decision is None else decision
        return Choice(chosen, self._point(found.point), found.value, False, found.gap)

    def _decision(self, row: Array) -> Row:
        """The row as it comes back from a user, so that a run can be replayed bit for bit."""
        space = self.setting.space
        return tuple(space.encode(space.decode(row)).tolist())

    def _point(self, row: Array) -> Row:
        space = self.setting.points_space
        return tuple(space.encode(space.decode(row)).tolist())

    @property
    def _parameters(self) -> Parameters | Estimate | None:
        return self.setting.uncertainty.parameters
