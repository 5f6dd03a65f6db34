"""The loop that a user drives: ask for a point, measure it, tell the value, and have a decision reported.

`ask` and `report` change nothing; `tell` replaces the state as a whole or, if it refuses, not at all. A run is its
specification plus its rounds, so it can be written as JSON and replayed bit for bit.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.checks import is_number
from stableopt.base.values import from_dict
from stableopt.loop.answers import Query, Report
from stableopt.loop.listed import FiniteState
from stableopt.loop.rules import Algorithm, Sample
from stableopt.loop.runs import FORMAT, VALUES, in_order, parsed, read, written
from stableopt.loop.schedules import Constant, Schedule
from stableopt.loop.space import SpaceState
from stableopt.loop.state import Index, Observation, Round, State
from stableopt.loop.told import checked, columns, told
from stableopt.maxmin.region import SpaceRegion
from stableopt.maxmin.setting import Setting
from stableopt.model.gp import GP
from stableopt.model.learning import Belief, Learned
from stableopt.sets.domains import Domain
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import UncertaintySet, continuous

__all__ = ["Optimizer", "Query", "Report"]

SURPRISE = 8.0  # standard deviations from the predicted value: what is that far off refutes the model


class Optimizer:
    """Finds max over decisions of min over A(decision) of an unknown f, from noisy values at points of its choice.

    domain: where decisions live: ``Space({"x": (0, 1)})``, ``Grid.linspace(0, 1, 100)`` or ``Points(rows)``.
    uncertainty: what the adversary may do, such as ``Ball(0.1)``, ``Parameters(theta)`` or their product.
    gp: the prior, such as ``GP(SE(0.2), noise=0.1)``, in your units; or ``Learned()`` (the default), which learns it.
    algorithm: "StableOpt", another name in `stableopt.ALGORITHMS`, or an `Algorithm` of your own.
    beta: β of the confidence bounds mean ± beta^{1/2}·std. Its root multiplies the standard deviation: the paper's
        β^{1/2} = 2 is ``beta=4.0``, the default. A `Schedule` gives every round its own.
    explore: the β with which a decision is promising, if it shall not be the one that certifies; a smaller one often
        finds good decisions sooner. Where the decision is measured, its worst case, is up to the one that certifies.
    initial: how many points are spread out before the model is asked, default 0 for a prior that is given (1 in a
        space) and else 2 more than there are variables and parameters, at least 4.
    seed: for all that is random; round t draws from ``default_rng([seed, t])``.
    """

    def __init__(
        self,
        domain: Domain | Space,
        uncertainty: UncertaintySet,
        gp: GP | Learned | None = None,
        *,
        algorithm: str | Algorithm = "StableOpt",
        beta: float | Schedule = 4.0,
        explore: float | Schedule | None = None,
        initial: int | None = None,
        seed: int = 0,
    ) -> None:
        gp = Learned() if gp is None else gp
        if not isinstance(gp, GP | Learned):
            raise TypeError(f"expected a prior such as GP(SE(0.2), noise=0.1), or Learned(), got {gp!r}")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ValueError(f"expected a seed 0, 1, 2, ..., got {seed!r}")
        self.algorithm = Algorithm.named(algorithm)
        self.gp = gp
        self.seed = int(seed)
        self.schedule = _schedule(beta, "beta")
        self.exploring = self.schedule if explore is None else _schedule(explore, "explore")
        self._state = self._start(domain, uncertainty)
        self.initial = self._initial(initial)

    def _start(self, domain: Domain | Space, uncertainty: UncertaintySet) -> State:
        betas = self.schedule.beta(1, 0.0), self.exploring.beta(1, 0.0)
        learned = self.gp if isinstance(self.gp, Learned) else None
        if isinstance(domain, Space) or continuous(uncertainty):
            if self.algorithm.reporting.intersects:
                raise ValueError(
                    f"expected a finite domain for the reporting rule {self.algorithm.reporting}, got {domain!r:.200}: "
                    "in a space use BestSoFar(), BestOfAll() or BestExpected()"
                )
            region = SpaceRegion(domain, uncertainty)
            space = region.points_space
            belief = Belief((self.gp,)) if isinstance(self.gp, GP) else self.gp.first(space.dim, space.categories)
            return SpaceState(*betas, (), (), region, belief, learned, self.seed)
        setting = Setting(domain, uncertainty)
        belief = Belief((self.gp,)) if isinstance(self.gp, GP) else self.gp.first(columns(setting))
        state = FiniteState.start(setting, belief, learned, betas, self.seed)
        return state.with_intersection() if self.algorithm.reporting.intersects else state

    def _initial(self, initial: int | None) -> int:
        space = isinstance(self._state, SpaceState)
        if initial is None:
            if isinstance(self.gp, GP):
                return int(space)
            setting = self._setting
            known = len(setting.points_space.parts) if isinstance(setting, SpaceRegion) else columns(setting)
            return max(4, known + 2)
        if isinstance(initial, bool) or not isinstance(initial, int | np.integer) or initial < 0:
            raise ValueError(f"expected initial as a number of points 0, 1, 2, ..., got {initial!r}")
        least = 0 if isinstance(self.gp, GP) and not space else 1
        return max(int(initial), least)

    @property
    def domain(self) -> Domain | Space:
        """Where decisions live."""
        return self._setting.domain

    @property
    def uncertainty(self) -> UncertaintySet:
        """What the adversary may do."""
        return self._setting.uncertainty

    @property
    def _setting(self) -> Setting | SpaceRegion:
        setting: Setting | SpaceRegion = self._state.setting
        return setting

    @property
    def beta(self) -> float:
        """β of the confidence bounds now."""
        return self._state.beta

    def __repr__(self) -> str:
        return f"Optimizer({self.domain}, {self.uncertainty}, {self.algorithm.name}, after {self._state.t} rounds)"

    @property
    def state(self) -> Any:
        """All that is known: posterior, confidence bounds and rounds. It never changes; `tell` makes another."""
        return self._state

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds so far."""
        return self._state.rounds

    @property
    def failures(self) -> tuple[Round, ...]:
        """The evaluations that failed."""
        return self._state.failures

    @overload
    def ask(self, n: None = None, *, pending: Iterable[Query] = ()) -> Query: ...
    @overload
    def ask(self, n: int, *, pending: Iterable[Query] = ()) -> list[Query]: ...
    def ask(self, n: int | None = None, *, pending: Iterable[Query] = ()) -> Query | list[Query]:
        """What to measure next: one query, or a list of n different ones for n workers.

        pending: queries whose values are not in yet. They are taken to give what the model expects there, so that
        other points are proposed, and the surroundings of points that failed are avoided. Where the algorithm insists
        on a point that is pending or just failed, another one of the same decision is proposed. Asking again without
        telling gives the same query.
        """
        if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1):
            raise ValueError(f"expected a number of queries 1, 2, 3, ..., got {n!r}")
        waiting = [checked(self._setting, q) for q in pending]
        queries: list[Query] = []
        for _ in range(n or 1):
            queries.append(self._ask([*waiting, *queries]))
        return queries[0] if n is None else queries

    def _ask(self, pending: list[Query]) -> Query:
        state = self._state
        number = state.t + len(state.failures) + len(pending)
        if number < self.initial or state.t == 0 < self.initial:
            point = self._design_point(number, {q.point_index for q in pending})
            sample = Sample(state.decision_of(point), point)
        else:
            seed = self.seed if not pending else self.seed + 7919 * len(pending)  # random rules draw anew
            waiting = [q.point_index for q in pending]
            imagined = state.imagining(waiting, [f.point_index for f in state.failures])
            sample = self.algorithm.sampling.sample(imagined, seed)
            sample = Sample(*imagined.untaken(*sample, [*waiting, *_avoided(state)]))
        lower = state.pessimistic(sample.decision).value
        seen = self._setting.decision(sample.decision), self._setting.point(sample.point)
        return Query(number + 1, *seen, lower, sample.decision, sample.point)

    def _design_point(self, number: int, pending: set[Index]) -> Index:
        """This point of the design, or the next one that nobody measured or is measuring: not all come back."""
        state = self._state
        taken = pending | {r.point_index for r in (*state.rounds, *state.failures)}
        point = state.design_point(number, self.seed)
        for following in range(number + 1, number + len(taken) + 1):
            if point not in taken:
                break
            point = state.design_point(following, self.seed)
        return point

    def tell(self, point: Query | ArrayLike, y: Any, decision: Any = None, *, noise: Any = None) -> None:
        """Add the value y measured at a query or at any point of the domain; y = None says that it failed.

        Tell the query itself (not its point), so that the round counts for its decision. A bare point is data: it
        improves the model and serves no decision, unless ``decision`` names one. Existing data can be told at once:
        rows of points and as many values. ``noise`` is the standard deviation of this observation (or one each).
        """
        self._tell(told(self._setting, point, y, decision, noise))

    def _tell(self, observations: list[Observation]) -> None:
        if not observations:
            return
        state = self._after(self._state, observations)
        if isinstance(self.gp, GP):  # a model that is given can be wrong
            _warn_of_surprise(state, self._state.t)
        self._state = state

    def _after(self, state: State, observations: list[Observation]) -> State:
        """The state with more observations; an intersection needs all rounds from where its model was learned."""
        t = state.t + sum(o.y is not None for o in observations)
        learning = state.learned is not None and state.learned.due(t, state.belief.t)
        each = self.algorithm.reporting.intersects and not learning
        for part in [[o] for o in observations] if each else [observations]:
            state = self._in_its_round(state.after(part))
        return state

    def _in_its_round(self, state: State) -> State:
        """The state with the β of its round, and its bounds among those that are intersected."""
        return state.with_betas(*self._betas(state)).intersecting()

    def report(self) -> Report:
        """The decision to use now, by the algorithm's reporting rule, with the bounds on its worst case."""
        return self.report_of(self._state)

    def decide(self) -> Any:
        """The decision of `report` without its bounds, which take longer to find than a suggestion in a `Space`."""
        return self._setting.decision(self._chosen(self._state))

    def report_of(self, state: Any) -> Report:
        """The report of an earlier state, or of one with another uncertainty set."""
        decision = self._chosen(state)
        worst, upper, optimum = state.certificate(decision)
        crossing = getattr(state, "intersected", None)
        contradictory = crossing is not None and bool(np.any(crossing[0] > crossing[1]))
        return Report(
            state.t,
            state.setting.decision(decision),
            state.setting.point(worst.point),
            worst.value,
            upper,
            optimum.value,
            worst.exact and optimum.exact,
            optimum.gap,
            contradictory,
            decision,
            worst.point,
        )

    def _chosen(self, state: State) -> Index:
        """What the rule chooses; or, if it may turn into something that failed, the safest of those that may not."""
        if not state.rounds:
            raise ValueError("nothing to report yet: tell at least one value first")
        decision = self.algorithm.reporting.choose(state)
        failed = [r.point_index for r in state.failures]
        if not failed or state.avoids(decision, failed):
            return decision
        tried = dict.fromkeys([*state.tried(), *(r.decision_index for r in state.rounds)])
        good = [d for d in tried if state.avoids(d, failed)]
        return good[int(np.argmax(state.bounds_of(good)[0]))] if good else decision

    def rescaled(self, state: Any, factor: float) -> Any:
        """A state of this run as if the adversary could do ``factor`` times as much."""
        uncertainty = self.uncertainty.scaled(factor)
        kind = SpaceRegion if isinstance(state, SpaceState) else Setting
        return replace(state, setting=kind(self.domain, uncertainty))  # type: ignore[arg-type]

    def decision_at(self, index: Index) -> Any:
        """What the decision with this index looks like."""
        return self._setting.decision(index)

    @property
    def names(self) -> list[str] | None:
        """The names of a point's values, if they have any."""
        setting = self._setting
        return setting.points_space.flat_names if isinstance(setting, SpaceRegion) else None

    def tell_all(
        self, points: Iterable[Any], y: Iterable[float | None], noise: Iterable[float | None] | None = None
    ) -> None:
        """Existing data in whatever form single points have: like `tell`, but all at once, with a noise for each."""
        data = list(zip(points, y, strict=True))
        noises = [None] * len(data) if noise is None else noise
        observations = []
        for i, ((p, v), s) in enumerate(zip(data, noises, strict=True)):
            try:
                observations += told(self._setting, p, v, None, s)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{error} (in row {i} of the data, from 0)") from None
        self._tell(observations)

    def to_json(self) -> str:
        """The run as JSON: its specification and its rounds."""
        state = self._state
        run = {
            "format": FORMAT,
            "domain": self.domain.to_dict(),
            "uncertainty": self.uncertainty.to_dict(),
            "gp": self.gp.to_dict(),
            "algorithm": self.algorithm.to_dict(),
            "beta": self.schedule.to_dict(),
            "explore": self.exploring.to_dict(),
            "initial": self.initial,
            "seed": self.seed,
            "learned": state.belief.to_dict() if isinstance(self.gp, Learned) else None,
            "rounds": [written(self._setting, r) for r in state.rounds],
            "failures": [written(self._setting, r) | {"t": r.t} for r in state.failures],
        }
        return json.dumps(run)

    @classmethod
    def from_json(cls, text: str, functions: Mapping[str, Callable[..., Any]] | None = None) -> Optimizer:
        """The optimiser of a run that `to_json` wrote, after replaying its rounds.

        functions: a distance of your own, under the name that it had, since JSON cannot hold it.
        """
        run = parsed(text)
        domain, uncertainty, gp, chosen, beta, explore, belief = (from_dict(run[key], functions) for key in VALUES)
        betas = {"beta": beta, "explore": explore}
        optimizer = cls(domain, uncertainty, gp, algorithm=chosen, **betas, initial=run["initial"], seed=run["seed"])
        optimizer._replay(in_order(run), belief)
        return optimizer

    def _replay(self, rounds: list[dict[str, Any]], belief: Belief | None) -> None:
        """Go through rounds that were written, with the model that had been learned from them."""
        state = self._state
        known = [read(self._setting, r) for r in rounds]
        if belief is not None:
            first = sum(t <= belief.t for t in accumulate(o.y is not None for o in known))
            state = self._in_its_round(state.recording(known[:first]).with_belief(belief))
            known = known[first:]
        for observation in known:
            state = self._in_its_round(state.after([observation], learning=False))
        self._state = state

    def _betas(self, state: State) -> tuple[float, float]:
        """β of the next round: the one that certifies and the one that explores."""
        gain = state.information_gain
        return self.schedule.beta(state.t + 1, gain), self.exploring.beta(state.t + 1, gain)


def _avoided(state: State) -> list[Index]:
    """The points that failed since the last value, or more than once."""
    failed = [f.point_index for f in state.failures]
    return [f.point_index for f in state.failures if f.t > state.t or failed.count(f.point_index) > 1]


def _schedule(beta: float | Schedule, name: str) -> Schedule:
    if isinstance(beta, Schedule):
        return beta
    if not is_number(beta) or beta <= 0:
        raise ValueError(f"expected {name} above 0 (the paper's 2 standard deviations are beta=4.0), got {beta!r}")
    return Constant(float(beta))


def _warn_of_surprise(state: Any, known: int) -> None:
    """Say so if a round after the known ones had a value that the model all but excluded: then its bounds are wrong."""
    off = np.abs([state.posterior.whitened[r.t - 1] for r in state.rounds[known:]])
    if np.any(off > SURPRISE):
        first = int(np.argmax(off > SURPRISE))
        warnings.warn(
            f"y = {state.rounds[known + first].y:.4g} is {off[first]:.0f} standard deviations from what the model "
            "expected there, so its bounds are wrong: choose mean, variance, lengthscales and noise of the prior by "
            "what f is like (docs/priors.md)",
            stacklevel=4,
        )
