"""The loop that a user drives: ask for a point, measure it, tell the value, and have a decision reported.

`ask` and `report` change nothing; `tell` replaces the state as a whole or, if it refuses, not at all. A run is its
specification plus its rounds, so it can be written as JSON and replayed bit for bit.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stableopt._arrays import Array, ReadOnly, is_number
from stableopt._value import from_dict
from stableopt.domains import Domain
from stableopt.gp import GP
from stableopt.maxmin import Decision, Setting
from stableopt.rules import Algorithm
from stableopt.state import Round, State
from stableopt.uncertainty import UncertaintySet

SURPRISE = 8.0  # standard deviations from the predicted value: what is that far off refutes the model
_Observation = tuple[int | None, int, float, float | None]  # decision, point, y, lower bound when it was chosen


@dataclass(frozen=True, eq=False)
class Query(ReadOnly):
    """What to measure next: f at ``point``, on behalf of ``decision``."""

    t: int
    decision: Decision
    point: Array
    lower: float
    """min over A(decision) of lcb_{t−1}."""
    optimum_upper: float
    """max over decisions of the min over A of ucb_{t−1}: an upper bound on the value of the stable optimum."""
    exact: bool
    """Whether both bounds come from exact max-min solutions."""
    decision_index: int
    point_index: int


@dataclass(frozen=True, eq=False)
class Report(ReadOnly):
    """The decision to use after t rounds, and what is known about its worst case.

    All bounds hold where the confidence bounds do: with the probability that belongs to ``beta``, and if ``exact``.
    """

    t: int
    decision: Decision
    worst_point: Array
    """Where the decision may be worst: the point of A(decision) with the smallest lower bound."""
    lower: float
    """Lower bound on the worst-case value of the decision."""
    upper: float
    """Upper bound on the worst-case value of the decision."""
    optimum_upper: float
    """Upper bound on the value of the stable optimum: what no decision can exceed."""
    exact: bool
    """Whether the bounds come from exact max-min solutions."""
    contradictory: bool
    """Whether bounds of different rounds exclude each other somewhere: then beta is too small or the prior wrong."""
    decision_index: int
    worst_point_index: int

    @property
    def regret_bound(self) -> float:
        """Upper bound on the ε-regret: how much better another decision could be at most."""
        return self.optimum_upper - self.lower

    def __str__(self) -> str:
        if self.contradictory:
            return (
                f"decision {_readable(self.decision)} after {self.t} rounds, but the bounds of different rounds "
                "exclude each other: a larger beta or another prior is needed"
            )
        return (
            f"decision {_readable(self.decision)} after {self.t} rounds: worst case between {self.lower:.4g} and "
            f"{self.upper:.4g} (at {_readable(self.worst_point)}), at most {self.regret_bound:.4g} below the optimum"
        )


class Optimizer:
    """Finds max over decisions of min over A(decision) of an unknown f, from noisy values at points of its choice.

    domain: where decisions live, such as ``Grid.linspace(0, 1, 100)`` or ``Points(rows)``.
    uncertainty: what the adversary may do, such as ``Ball(0.1)``, ``Parameters(theta)`` or their product.
    gp: the prior, such as ``GP(SE(0.2), noise=0.1)``.
    algorithm: "StableOpt", another name in `stableopt.rules.ALGORITHMS`, or an `Algorithm` of your own.
    beta: β of the confidence bounds mean ± beta^{1/2}·std. Its root multiplies the standard deviation: the paper's
        β^{1/2} = 2 is ``beta=4.0``, the default.
    seed: for rules that are random; round t draws from ``default_rng([seed, t])``.
    """

    def __init__(
        self,
        domain: Domain,
        uncertainty: UncertaintySet,
        gp: GP,
        *,
        algorithm: str | Algorithm = "StableOpt",
        beta: float = 4.0,
        seed: int = 0,
    ) -> None:
        if not isinstance(gp, GP):
            raise TypeError(f"expected a prior such as GP(SE(0.2), noise=0.1), got {gp!r}")
        if not is_number(beta) or beta <= 0:
            raise ValueError(f"expected beta above 0 (the paper's 2 standard deviations are beta=4.0), got {beta!r}")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ValueError(f"expected a seed 0, 1, 2, ..., got {seed!r}")
        self.algorithm = Algorithm.named(algorithm)
        self.gp = gp
        self.seed = int(seed)
        setting = Setting(domain, uncertainty)
        state = State(setting, gp.track(setting.blocks), float(beta))
        self._state = state.with_intersection() if self.algorithm.reporting.intersects else state

    @property
    def domain(self) -> Domain:
        """Where decisions live."""
        return self._state.setting.domain

    @property
    def uncertainty(self) -> UncertaintySet:
        """What the adversary may do."""
        return self._state.setting.uncertainty

    @property
    def beta(self) -> float:
        """β of the confidence bounds."""
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

    def ask(self) -> Query:
        """What to measure next. Asking again without telling gives the same query."""
        state = self._state
        t = state.t + 1
        sample = self.algorithm.sampling.sample(state, self.seed)
        worst = state.pessimistic(sample.decision)
        return Query(
            t,
            state.setting.decision(sample.decision),
            state.setting.point(sample.point),
            worst.value,
            state.optimistic.value,
            worst.exact and state.optimistic.exact,
            sample.decision,
            sample.point,
        )

    def tell(self, point: Query | ArrayLike, y: ArrayLike, decision: Any = None) -> None:
        """Add the value y measured at a query or at any point of the domain.

        Tell the query itself (not its point), so that the round counts for its decision. A bare point is data: it
        improves the model and serves no decision, unless ``decision`` names one. Existing data can be told at once:
        rows of points and as many values.
        """
        state = before = self._state
        for observation in self._observations(point, y, decision):
            before, state = state, state.after(*observation)
        if state is not before:
            _warn_of_surprise(before, state.rounds[-1])
        self._state = state

    def report(self) -> Report:
        """The decision to use now, by the algorithm's reporting rule, with the bounds on its worst case."""
        state = self._state
        if not state.rounds:
            raise ValueError("nothing to report yet: tell at least one value first")
        solver = state.setting.solver
        decision = self.algorithm.reporting.choose(state)
        contradictory = False
        if state.intersected is None:
            upper, optimum, worst = state.ucb, state.optimistic, state.pessimistic(decision)
        else:
            lower, upper = state.intersected
            optimum, worst = solver.maximin(upper), solver.worst(decision, lower)
            contradictory = bool(np.any(lower > upper))
        return Report(
            state.t,
            state.setting.decision(decision),
            state.setting.point(worst.point),
            worst.value,
            solver.worst(decision, upper).value,
            optimum.value,
            worst.exact and optimum.exact,
            contradictory,
            decision,
            worst.point,
        )

    def to_json(self) -> str:
        """The run as JSON: its specification and its rounds."""
        setting = self._state.setting
        rounds = [
            {"decision": _json(r.decision) if r.asked else None, "point": r.point.tolist(), "y": r.y, "lower": r.lower}
            for r in self.rounds
        ]
        run = {
            "format": "stableopt run 1",
            "domain": setting.domain.to_dict(),
            "uncertainty": setting.uncertainty.to_dict(),
            "gp": self.gp.to_dict(),
            "algorithm": self.algorithm.to_dict(),
            "beta": self._state.beta,
            "seed": self.seed,
            "rounds": rounds,
        }
        return json.dumps(run)

    @classmethod
    def from_json(cls, text: str, functions: Mapping[str, Callable[..., Any]] | None = None) -> Optimizer:
        """The optimiser of a run that `to_json` wrote, after replaying its rounds.

        functions: a distance of your own, under the name that it had, since JSON cannot hold it.
        """
        try:
            run = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"expected the text that Optimizer.to_json wrote, not a path: {error}") from None
        if not isinstance(run, dict) or run.get("format") != "stableopt run 1":
            raise ValueError(
                "expected a run written by Optimizer.to_json (format 'stableopt run 1'), got something else"
            )
        missing = {"domain", "uncertainty", "gp", "algorithm", "beta", "seed", "rounds"} - run.keys()
        if missing:
            raise ValueError(f"expected a whole run, got one without {sorted(missing)}")
        domain, uncertainty, gp, chosen = (
            from_dict(run[key], functions) for key in ("domain", "uncertainty", "gp", "algorithm")
        )
        optimizer = cls(domain, uncertainty, gp, algorithm=chosen, beta=run["beta"], seed=run["seed"])
        state = optimizer._state
        for r in run["rounds"]:
            decision = None if r["decision"] is None else state.setting.locate_decision(r["decision"])
            state = state.after(decision, state.setting.locate_point(r["point"]), r["y"], r["lower"])
        optimizer._state = state
        return optimizer

    def _observations(self, point: Query | ArrayLike, y: ArrayLike, decision: Any) -> list[_Observation]:
        setting = self._state.setting
        if isinstance(point, Query):
            served = setting.locate_decision(point.decision if decision is None else decision, point.decision_index)
            lower = point.lower if decision is None else None
            return [(served, setting.locate_point(point.point, point.point_index), _value(y), lower)]
        named = None if decision is None else setting.locate_decision(decision)
        rows = _rows(point, y, sum(block.shape[1] for block in setting.blocks))
        if rows is None:
            return [(named, setting.locate_point(point), _value(y), None)]
        if decision is not None:
            raise ValueError("expected a decision with a single point only: tell the points one by one")
        values = [_value(v) for v in np.asanyarray(y)]
        return [(None, setting.locate_point(row), v, None) for row, v in zip(rows, values, strict=True)]


def _warn_of_surprise(before: State, last: Round) -> None:
    """Say so if a value is one that the model all but excluded: then its bounds are wrong too."""
    posterior, at = before.posterior, last.point_index
    spread = math.sqrt(posterior.variance[at] + posterior.gp.noise_variance(posterior.prior_variance[at]))
    off = abs(last.y - posterior.mean[at]) / spread
    if off > SURPRISE:
        warnings.warn(
            f"y = {last.y:.4g} is {off:.0f} standard deviations from what the model expected there, so its bounds are "
            "wrong: choose mean, variance, lengthscales and noise of the prior by what f is like (docs/priors.md)",
            stacklevel=3,
        )


def _rows(points: ArrayLike, y: ArrayLike, dim: int) -> Array | None:
    """Several points as rows, or None if it is one point; on a line, a flat list with as many values is rows too."""
    try:
        depth = np.ndim(points)
    except ValueError:
        raise ValueError(f"expected a point, or rows of points of one length, got {points!r:.200}") from None
    if depth <= 1 and not (depth == dim == np.ndim(y) and np.size(points)):
        return None
    rows = np.asarray(points) if depth > 1 else np.asarray(points)[:, None]
    if rows.ndim != 2 or np.shape(y) != rows.shape[:1]:
        raise ValueError(f"expected rows of points (m, p) and m values, got shapes {rows.shape} and {np.shape(y)}")
    return rows


def _value(y: ArrayLike) -> float:
    if np.ndim(y) != 0 or np.ma.is_masked(y) or np.asarray(y).dtype.kind not in "iuf":
        raise ValueError(f"expected one number as the value y of one point, got {y!r}")
    value = float(y)  # type: ignore[arg-type]
    if not math.isfinite(value):
        raise ValueError(f"expected a finite value y, got {value}: leave failed evaluations out")
    return value


def _json(decision: Decision) -> Any:
    return decision.tolist() if isinstance(decision, np.ndarray) else decision


def _readable(value: Decision) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    shown = [f"{v:.4g}" for v in (value if len(value) <= 12 else value[:6])]
    return f"[{', '.join(shown)}{', ...' if len(value) > 12 else ''}]"
