"""The loop that a user drives: ask for a point, measure it, tell the value, and have a decision reported.

`ask` and `report` change nothing; `tell` replaces the state as a whole or, if it refuses, not at all. A run is its
specification plus its rounds, so it can be written as JSON and replayed bit for bit.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import overload

from numpy.typing import ArrayLike

from stableopt.base.checks import listed, positive, whole
from stableopt.base.locks import Lock
from stableopt.base.threads import threads_for
from stableopt.base.values import Value, from_dict, named
from stableopt.loop.answers import Query, Report
from stableopt.loop.asking import Asking
from stableopt.loop.constraints import Constraint, checked_constraints
from stableopt.loop.defaults import PAPER, initial_points
from stableopt.loop.measurements import Measurement, Round
from stableopt.loop.outputs import valued
from stableopt.loop.proof import proved
from stableopt.loop.reading import checked, measurements, with_measured
from stableopt.loop.reporting import report, reported_decision
from stableopt.loop.rules import Algorithm
from stableopt.loop.runs import (
    FORMAT,
    LIMITED,
    VALUES,
    check_beliefs,
    in_order,
    learned_from,
    parsed,
    written,
    written_constraint,
)
from stableopt.loop.schedules import Constant, Schedule
from stableopt.loop.settings import setting_of
from stableopt.loop.state import State
from stableopt.loop.updates import after, first_state, recorded, with_belief, with_betas
from stableopt.maxmin.solver import AnyIndex
from stableopt.model.beliefs import Belief
from stableopt.model.gp import GP
from stableopt.model.learning import Learned
from stableopt.sets.allowed import Rule
from stableopt.sets.domains import Domain
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import UncertaintySet

SURPRISE = 8.0  # standard deviations from the predicted value: what is that far off refutes the model

Told = Query | Mapping[str, object] | Sequence[Mapping[str, object]] | ArrayLike
"""What `tell` takes as a point: a query, a point as a user sees it, or several points."""


class Optimizer:
    """Finds max over decisions of min over A(decision) of an unknown f, from noisy values at points of its choice.

    It is made for research: its defaults are the paper's. `maximize` has others, and the user's words; for experiments
    by hand there is `Campaign`.

    domain: where decisions live: ``Space({"x": (0, 1)})``, ``Grid.linspace(0, 1, 100)`` or ``Points(rows)``.
    uncertainty: what the adversary may do, such as ``Ball(0.1)``, ``Parameters(theta)`` or their product.
    gp: the prior, such as ``GP(SE(0.2), noise=0.1)``, in your units; or ``Learned()`` (the default), which learns it.
    algorithm: "StableOpt", another name in `stableopt.ALGORITHMS`, or an `Algorithm` of your own.
    beta: β of the confidence bounds mean ± beta^{1/2}·std. Its root multiplies the standard deviation: the paper's
        β^{1/2} = 2 is ``beta=4.0``, the default. A `Schedule` gives every round its own.
    explore: β for choosing decisions; ``beta`` then only certifies. A smaller one often finds good decisions sooner.
        Where a decision is measured, its worst case, is chosen with ``beta``, unless the sampling rule has its own.
    initial: how many points are spread out before the model is asked. Default: 0 for a prior that is given (1 in a
        space), else 2 more than there are variables and parameters, at least 4.
    seed: for all that is random; round t draws from ``default_rng([seed, t])``.
    constraints: limits on what else is measured, such as ``[Constraint("stress", upper=14.0)]``. They must hold at
        every point that the adversary can choose. The value and all constraints share the ξ of a schedule.
    where: which decisions are allowed, such as ``lambda d: d["a"] >= 2 * d["b"]``; points are not restricted.
    """

    def __init__(
        self,
        domain: Domain | Space,
        uncertainty: UncertaintySet,
        gp: GP | Learned | None = None,
        *,
        algorithm: str | Algorithm = PAPER.algorithm,
        beta: float | Schedule = PAPER.beta,
        explore: float | Schedule | None = PAPER.explore,
        initial: int | None = None,
        seed: int = 0,
        constraints: Iterable[Constraint] = (),
        where: Rule | None = None,
    ) -> None:
        self.gp = Learned() if gp is None else gp
        if not isinstance(self.gp, GP | Learned):
            raise TypeError(f"expected a prior such as GP(SE(0.2), noise=0.1), or Learned(), got {gp!r}")
        self.seed = whole(seed, 0, "a seed 0, 1, 2, ...")
        self.algorithm = Algorithm.named(algorithm)
        self.schedule = _schedule(beta, "beta")
        self.exploring = self.schedule if explore is None else _schedule(explore, "explore")
        self.constraints = checked_constraints(constraints)
        intersects = self.algorithm.reporting.intersects
        if intersects and self.constraints:
            name = type(self.algorithm.reporting).__name__
            raise ValueError(
                f"expected a rule for constraints such as BestOfAll(), got {name}, which intersects bounds"
            )
        if where is not None and not callable(where):
            raise TypeError(f"expected where=... as a function of a decision, got {where!r:.200}")
        setting = setting_of(domain, uncertainty, self.seed, where)
        self._lock = Lock()  # of what is told: two threads that tell at once must not start from the same state
        betas = self._betas(1, 0.0)
        self._state = first_state(setting, self.gp, betas, intersects=intersects, constraints=self.constraints)
        learned = [isinstance(prior, Learned) for prior in (self.gp, *(k.prior for k in self.constraints))]
        self.initial = initial_points(setting, any(learned))
        if initial is not None:
            least = min(1, self.initial)
            self.initial = max(whole(initial, 0, "initial as a number of points 0, 1, 2, ..."), least)

    @property
    def domain(self) -> Domain | Space:
        """Where decisions live."""
        return self._state.setting.domain

    @property
    def uncertainty(self) -> UncertaintySet:
        """What the adversary may do."""
        return self._state.setting.uncertainty

    @property
    def beta(self) -> float:
        """β of the confidence bounds now."""
        return self._state.beta

    def __repr__(self) -> str:
        return f"Optimizer({self.domain}, {self.uncertainty}, {self.algorithm.name}, after {self._state.t} rounds)"

    @property
    def state(self) -> State:
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
    def ask(self, n: None = None, *, pending: Query | Iterable[Query] = ()) -> Query: ...
    @overload
    def ask(self, n: int, *, pending: Query | Iterable[Query] = ()) -> list[Query]: ...
    def ask(self, n: int | None = None, *, pending: Query | Iterable[Query] = ()) -> Query | list[Query]:
        """What to measure next: one query, or a list of n different ones for n workers.

        pending: queries whose values are not in yet (one, or several). They are taken to give what the model expects
        there, so that other points are proposed, and the surroundings of points that failed are avoided. Where the
        algorithm insists on a point that is pending or just failed, another one of the same decision is proposed.
        Asking again without telling gives the same query.
        """
        count, state = 1 if n is None else whole(n, 1, "a number of queries 1, 2, 3, ..."), self._state
        waiting = [pending] if isinstance(pending, Query) else listed(pending, "pending queries as a list")
        waiting = [checked(state.setting.translation, q) for q in waiting]
        asking: Asking = Asking(self.algorithm, self.initial, self.seed)
        with threads_for(state.t):
            queries = asking.queries(state, waiting, count)
        return queries[0] if n is None else queries

    def tell(
        self,
        point: Told,
        y: ArrayLike | Sequence[float | None] | None,
        decision: Mapping[str, object] | ArrayLike | None = None,
        *,
        noise: ArrayLike | Sequence[float | None] | None = None,
        measured: Mapping[str, float | Sequence[float | None] | None] | None = None,
    ) -> None:
        """Add the value y measured at a query or at any point of the domain; y = None says that it failed.

        Tell the query itself (not its point), so that the round counts for its decision. A bare point is data: it
        improves the model and serves no decision, unless ``decision`` names one. Existing data can be told at once:
        rows of points and as many values. ``noise`` is the standard deviation of this observation (or one each).

        ``measured`` has what was measured of the constraints, by their names (a list each for rows of points). What is
        missing, None or NaN was not measured. If something was, then y = None is no failure: only y is missing.
        """
        told = measurements(self._state.setting, point, y, decision, noise)
        self._add(with_measured(told, measured, self.constraints))

    def tell_all(self, data: Iterable[Measurement[object]]) -> None:
        """Existing data, told at once: an error names the row that it refuses, and nothing has changed then."""
        known: list[Measurement[AnyIndex]] = []
        for i, m in enumerate(listed(data, "data as a list of measurements: Measurement(point, value)")):
            if not isinstance(m, Measurement):
                raise TypeError(f"expected a Measurement(point, value) in row {i} of the data, from 0, got {m!r:.200}")
            try:
                told = measurements(self._state.setting, m.point, m.value, m.decision, m.noise)
                told = [one._replace(lower=m.lower) for one in told]
                known += with_measured(told, m.measured, self.constraints)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{error} (in row {i} of the data, from 0)") from None
        self._add(known)

    def _add(self, known: list[Measurement[AnyIndex]]) -> None:
        if not known:
            return
        with self._lock, threads_for(self._state.t + len(known)):
            state = self._after(self._state, known)
            _warn_of_surprise(state, self._state.t)
            self._state = state

    def _after(self, state: State, known: list[Measurement[AnyIndex]]) -> State:
        """The state with more measurements; an intersection needs all rounds from where its model was learned."""
        t = state.t + sum(m.value is not None for m in known)
        learned = state.objective.learned
        each = state.intersected is not None and not (learned is not None and learned.due(t, state.belief.t))
        for part in [[m] for m in known] if each else [known]:
            state = self._with_betas(after(state, part))
        return state

    def _with_betas(self, state: State) -> State:
        """The state with the β of its round: the one that certifies and the one that explores."""
        outputs = [state.objective, *(k.output for k in state.constraints)]
        first, *others = [self._betas(state.t + 1, output.information_gain) for output in outputs]
        larger = tuple(beta for beta in self.exploring.larger_at(state.t + 1) if beta > first[1])
        return with_betas(state if larger == state.instead else replace(state, instead=larger), *first, others)

    def _betas(self, t: int, gain: float) -> tuple[float, float]:
        """The β of round t that certifies, and the one that explores, for a quantity with this information gain."""
        count = 1 + len(self.constraints)
        beta = self.schedule.shared(count).beta(t, gain)
        return beta, beta if self.exploring is self.schedule else self.exploring.shared(count).beta(t, gain)

    def report(self, *, proof: bool = False) -> Report:
        """The decision to use now, by the algorithm's reporting rule, with the bounds on its worst case.

        proof: prove the bounds instead of searching for them. For up to three continuous coordinates, those of the
        decision and of the adversary together; it takes seconds.
        """
        with threads_for(self._state.t):
            if proof and self.constraints:
                raise ValueError("expected a run without constraints for a proof: leave out proof=True")
            found = report(self._state, self.algorithm.reporting)
            return proved(self._state, found) if proof else found

    def decide(self) -> object:
        """The decision of `report` without its bounds, which take longer to find than a suggestion in a `Space`."""
        with threads_for(self._state.t):
            decision = reported_decision(self._state, self.algorithm.reporting)
        return self._state.setting.translation.decision(decision)

    def to_json(self) -> str:
        """The run as JSON: its specification and its rounds."""
        state, translation = self._state, self._state.setting.translation
        names: dict[str, Callable[..., object]] = {}
        run = {
            "format": FORMAT,
            "domain": self.domain.to_dict(names),
            "uncertainty": self.uncertainty.to_dict(names),
            "gp": self.gp.to_dict(names),
            "algorithm": self.algorithm.to_dict(names),
            "beta": self.schedule.to_dict(names),
            "explore": self.exploring.to_dict(names),
            "initial": self.initial,
            "seed": self.seed,
            "learned": state.belief.to_dict() if isinstance(self.gp, Learned) else None,
            "rounds": [written(translation, r) for r in state.rounds],
            "failures": [written(translation, r) | {"t": r.t} for r in state.failures],
        }
        if state.constraints:
            run["constraints"] = list(map(written_constraint, self.constraints, state.constraints))
        if state.setting.where is not None:
            run["where"] = {"function": named(state.setting.where, names, "where")}
        return json.dumps(run)

    @classmethod
    def from_json(
        cls,
        text: str,
        functions: Mapping[str, Callable[..., object]] | None = None,
        classes: Iterable[type[Value]] = (),
    ) -> Optimizer:
        """The optimiser of a run that `to_json` wrote, after replaying its rounds.

        functions: functions of your own, such as a distance, under the names that they had: JSON cannot hold them.
        classes: classes of your own that the run uses: rules, kernels, sets or schedules.
        """
        run = parsed(text)
        domain, uncertainty, gp, algorithm, beta, explore, belief = (
            from_dict(run[key], functions, classes, f"run.{key}") for key in VALUES
        )
        limited = [
            [from_dict(k[key], functions, classes, f"run.constraints[{i}].{key}") for key in LIMITED]
            for i, k in enumerate(run.get("constraints", []))
        ]
        where = from_dict(run["where"], functions, classes, "run.where") if "where" in run else None
        options = {"algorithm": algorithm, "beta": beta, "explore": explore, "constraints": [k[0] for k in limited]}
        options["where"] = where
        try:
            optimizer = cls(domain, uncertainty, gp, **options, initial=run["initial"], seed=run["seed"])
            known = in_order(run, optimizer.state.setting.translation, optimizer.constraints)
            beliefs = [belief, *(k[1] for k in limited)]
            check_beliefs(beliefs, optimizer.state, known)
            optimizer._replay(known, beliefs)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{error} (in the run)") from error
        return optimizer

    def _replay(self, known: list[Measurement[AnyIndex]], beliefs: Sequence[Belief | None]) -> None:
        """Go through rounds that were written, with the models that had been learned from them."""
        state, (belief, *limited) = self._state, beliefs
        if any(b is not None for b in beliefs):
            first = learned_from(known, beliefs, state.constraints)
            state = recorded(state, known[:first])
            state = self._with_betas(with_belief(state, belief or state.belief, limited))
            known = known[first:]
        with threads_for(len(known)):
            for measurement in known:
                state = self._with_betas(after(state, [measurement], learning=False))
        self._state = state


def _schedule(beta: float | Schedule, name: str) -> Schedule:
    if isinstance(beta, Schedule):
        return beta
    return Constant(positive(beta, f"{name} above 0 (the paper's 2 standard deviations are beta=4.0)"))


def _warn_of_surprise(state: State, known: int) -> None:
    """Say so if a round after the known ones had a value that a given model all but excluded: its bounds are wrong."""
    rounds = valued(state.rounds)
    outputs = [
        ("y", state.objective, rounds),
        *((k.name, k.output, k.rounds(state.rounds)) for k in state.constraints),
    ]
    for name, output, rounds in outputs:
        if output.learned is not None or output.posterior is None:
            continue
        for r, deviations in zip(rounds, output.posterior.whitened, strict=True):
            if r.t > known and abs(deviations) > SURPRISE:
                warnings.warn(
                    f"{name} = {r.y:.4g} is {abs(deviations):.0f} standard deviations from what the model expected "
                    "there, so its bounds are wrong: choose mean, variance, lengthscales and noise of the prior by "
                    "what f is like (docs/priors.md)",
                    stacklevel=4,
                )
                return
