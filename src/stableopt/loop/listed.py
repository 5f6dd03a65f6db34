"""The state on a finite domain: the bounds of all points are listed, and every max-min over them is exact.

Numbers of decisions and of points are the indices that rules hand back.

Notation: as in `state`; `lcb` and `ucb` have one entry per point, in the order of the setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from stableopt.base.arrays import Array, frozen
from stableopt.loop.state import Choice, State, observed_data
from stableopt.maxmin.setting import Setting
from stableopt.model.gp import TrackedPosterior
from stableopt.model.learning import Belief, Learned
from stableopt.model.mixtures import TrackedMixture


@dataclass(frozen=True, eq=False)
class FiniteState(State):
    """The state on a finite domain: the bounds of all points are known, and every max-min is exact."""

    setting: Setting
    posterior: TrackedPosterior | TrackedMixture
    intersected: tuple[Array, Array] | None = None
    """The largest lcb and the smallest ucb of all states so far, if a rule wants them (footnote in Section 5)."""

    @classmethod
    def start(
        cls, setting: Setting, belief: Belief, learned: Learned | None, betas: tuple[float, float], seed: int
    ) -> FiniteState:
        """Before any observation."""
        posterior = belief.track(_model_blocks(setting, learned), [], [])
        return cls(*betas, (), (), setting, belief, learned, seed, posterior)

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        return self.posterior.bounds(self.beta)

    @cached_property
    def _promise(self) -> Array:
        """Upper confidence bound on every point, with the β that explores."""
        return self.ucb if self.explore == self.beta else self.posterior.bounds(self.explore)[1]

    @property
    def lcb(self) -> Array:
        """Lower confidence bound on every point, with the β that certifies."""
        return self._bounds[0]

    @property
    def ucb(self) -> Array:
        """Upper confidence bound on every point, with the β that certifies."""
        return self._bounds[1]

    @cached_property
    def optimistic(self) -> Choice:
        """x̃_{t+1}: the decision with the largest worst-case ucb (Alg. 1, line 2)."""
        return Choice(*self.setting.solver.maximin(self._promise))

    def pessimistic(self, decision: int) -> Choice:
        """Where this decision has its smallest lcb (Alg. 1, line 3, for x̃_{t+1})."""
        if decision not in self._pessimistic:
            self._pessimistic[decision] = Choice(*self.setting.solver.worst(decision, self.lcb))
        return self._pessimistic[decision]

    @cached_property
    def _pessimistic(self) -> dict[int, Choice]:
        return {}

    def certificate(self, decision: int) -> tuple[Choice, float, Choice]:
        """The smallest lcb of a decision, its smallest ucb, and the largest worst-case ucb."""
        solver = self.setting.solver
        if self.intersected is None:
            upper = solver.worst(decision, self.ucb).value
            optimum = self.optimistic if self.explore == self.beta else Choice(*solver.maximin(self.ucb))
            return self.pessimistic(decision), upper, optimum
        low, high = self.intersected
        worst = Choice(*solver.worst(decision, low))
        return worst, solver.worst(decision, high).value, Choice(*solver.maximin(high))

    def bounds_of(self, decisions: Sequence[int]) -> tuple[Array, Array]:
        """The smallest lcb and the smallest ucb of several decisions, with the β that certifies."""
        at, solver = np.array(decisions, dtype=np.intp), self.setting.solver
        return solver.minima_at(at, self.lcb), solver.minima_at(at, self.ucb)

    def avoids(self, decision: int, points: Sequence[int]) -> bool:
        """Whether the adversary can turn the decision into none of these points."""
        return not np.isin(points, self.setting.solver.members(decision)).any()

    def unperturbed(self, decision: int) -> int:
        """The point that the decision stands for if nobody perturbs it; of several, the one with the smallest ucb."""
        home = self.setting.home(decision)
        return int(home[np.argmin(self._promise[home])])

    def most_promising_point(self) -> int:
        """The point with the largest ucb, of all that some decision stands for if nobody perturbs it."""
        homes, ucb = self.setting.homes, self._promise
        if len(homes) == len(ucb):
            return int(np.argmax(ucb))
        return int(homes[np.argmax(ucb[homes])])

    def random_point(self, seed: int) -> int:
        """A uniformly random point; the same for the same seed and number of rounds."""
        reachable = self.setting.reachable
        draw = np.random.default_rng([seed, self.t + len(self.failures) + 1])
        return int(reachable[draw.integers(len(reachable))])

    def design_point(self, number: int, seed: int) -> int:
        """Point ``number`` (from 0) of a random order of all points that can be reached."""
        reachable = self.setting.reachable
        return int(reachable[np.random.default_rng([seed, 0]).permutation(len(reachable))[number % len(reachable)]])

    def decision_of(self, point: int) -> int:
        """The decision that a point on its own stands for."""
        return self.setting.decision_of(point)

    def safest(self, *, tried: bool = True, intersected: bool = False) -> int:
        """The decision with the largest worst-case lcb."""
        lower = self.intersected[0] if intersected and self.intersected is not None else self.lcb
        return self.setting.solver.best(lower, np.unique(self.tried()) if tried else None)

    def expected(self) -> int:
        """The decision with the largest worst-case posterior mean."""
        return self.setting.solver.best(self.posterior.mean, None)

    def with_intersection(self) -> FiniteState:
        """The same state that also tracks the intersection of all its successors' bounds, starting with its own."""
        return replace(self, intersected=(self.lcb, self.ucb))

    def intersecting(self) -> FiniteState:
        """The bounds of this state, whose β is that of its round, join the intersection if one is tracked."""
        if self.intersected is None:
            return self
        highest, lowest = np.maximum(self.intersected[0], self.lcb), np.minimum(self.intersected[1], self.ucb)
        return replace(self, intersected=(frozen(highest), frozen(lowest)))

    def updated(self, known: int) -> FiniteState:
        """The state whose posterior knows all rounds, of which it knew only the first ``known`` ones."""
        posterior = self.posterior
        for r in self.rounds[known:]:
            posterior = posterior.update(r.point_index, r.y, r.noise)
        return replace(self, posterior=posterior)

    def learn(self, learned: Learned) -> Belief:
        """The model that is learned from all rounds."""
        blocks = _model_blocks(self.setting, learned)
        observed, y, noise = observed_data(self.rounds)
        shape = [len(block) for block in blocks]
        numbers = np.unravel_index(observed, shape)
        X = np.hstack([block[i] for block, i in zip(blocks, numbers, strict=True)])
        return learned.learn(X, y, noise, self.belief, (), self.seed)

    def with_belief(self, belief: Belief) -> FiniteState:
        """The same observations under another model; those that it was not learned from update it.

        It changes the bounds as a whole, so their intersection starts anew.
        """
        observed, y, noise = observed_data(self.rounds[: belief.t])
        posterior = belief.track(_model_blocks(self.setting, self.learned), observed, y, noise)
        state = replace(self, belief=belief, posterior=posterior)
        if self.intersected is not None:
            unbounded = np.full(len(self.intersected[0]), np.inf)
            state = replace(state, intersected=(frozen(-unbounded), frozen(unbounded)))
        return state.updated(belief.t)

    def imagining(self, points: Sequence[int], failed: Sequence[int] = ()) -> FiniteState:
        """A throw-away state in which these points were measured too and gave what the model expects there."""
        posterior = self.posterior
        for point, most in [*((p, self.smallest) for p in failed), *((p, np.inf) for p in points)]:
            posterior = posterior.update(point, min(float(posterior.mean[point]), most))
        return self if posterior is self.posterior else replace(self, posterior=posterior, intersected=None)

    def untaken(self, decision: int, point: int, taken: Sequence[int]) -> tuple[int, int]:
        """This decision and point, or another point that is none of ``taken``."""
        if point not in taken:
            return decision, point
        own = np.setdiff1d(self.setting.solver.members(decision), taken)
        if len(own):
            return decision, int(own[np.argmax(self.posterior.std[own])])
        free = np.setdiff1d(self.setting.reachable, taken)
        if not len(free):
            return decision, point
        other = int(free[np.argmax(self._promise[free])])
        return self.decision_of(other), other

    @property
    def information_gain(self) -> float:
        """½ log det(I + σ⁻²K) of the observations so far."""
        return self.posterior.information_gain


def _model_blocks(setting: Setting, learned: Learned | None) -> list[Array]:
    """The blocks of points as the model sees them: scaled to [0, 1] if it is learned."""
    if learned is None:
        return list(setting.blocks)
    lows, spans = zip(*((b.min(axis=0), np.ptp(b, axis=0)) for b in setting.blocks), strict=True)
    return [(b - low) / np.where(span > 0, span, 1.0) for b, low, span in zip(setting.blocks, lows, spans, strict=True)]
