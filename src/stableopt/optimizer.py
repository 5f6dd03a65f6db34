"""The loop that a user drives: ask for a point, measure it, tell the value, and have a decision reported.

`ask` and `report` change nothing; `tell` replaces the state as a whole or, if it refuses, not at all. A run is its
specification plus its rounds, so it can be written as JSON and replayed bit for bit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stableopt._arrays import Array, ReadOnly
from stableopt._value import from_dict
from stableopt.domains import Domain
from stableopt.gp import GP
from stableopt.maxmin import Decision, Setting
from stableopt.rules import Algorithm, algorithm
from stableopt.state import Round, State
from stableopt.uncertainty import UncertaintySet


@dataclass(frozen=True, eq=False)
class Query(ReadOnly):
    """What to measure next: f at ``point``, on behalf of ``decision``."""

    t: int
    decision: Decision
    point: Array
    lower: float
    """min over A(decision) of lcb_{t−1}."""
    optimum_upper: float
    """max over decisions of the min over A of ucb_{t−1}: an upper bound on the robust optimum."""
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
    """Upper bound on the robust optimum: what no decision can exceed."""
    exact: bool
    decision_index: int
    worst_point_index: int

    @property
    def regret_bound(self) -> float:
        """Upper bound on the ε-regret: how much better another decision could be at most."""
        return self.optimum_upper - self.lower

    @property
    def contradictory(self) -> bool:
        """Whether the bounds exclude each other, as only intersected ones can: beta is too small or the prior wrong."""
        return self.lower > self.upper

    def __str__(self) -> str:
        if self.contradictory:
            return (
                f"decision {_readable(self.decision)} after {self.t} rounds, but the bounds of different rounds "
                f"exclude each other ({self.lower:.4g} > {self.upper:.4g}): a larger beta or another prior is needed"
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
        if isinstance(beta, bool) or not (math.isfinite(beta) and beta > 0):
            raise ValueError(f"expected beta above 0 (the paper's 2 standard deviations are beta=4.0), got {beta}")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ValueError(f"expected a seed 0, 1, 2, ..., got {seed!r}")
        self.algorithm = _algorithm(algorithm)
        self.gp = gp
        self.seed = int(seed)
        setting = Setting(domain, uncertainty)
        state = State(setting, gp.track(setting.blocks), float(beta))
        self._state = state.with_intersection() if self.algorithm.reporting.intersects else state

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

        A point that was not asked for serves the decision that it stands for itself (its x, or its group), unless
        ``decision`` says otherwise. Existing data can be told at once: rows of points and as many values.
        """
        if isinstance(point, Query):
            setting = self._state.setting
            served = setting.locate_decision(point.decision if decision is None else decision, point.decision_index)
            observations = [(served, setting.locate_point(point.point, point.point_index), _value(y))]
        else:
            observations = self._observations(point, y, decision)
        state = self._state
        for served, index, value in observations:
            state = state.after(served, index, value)
        self._state = state

    def report(self) -> Report:
        """The decision to use now, by the algorithm's reporting rule, with the bounds on its worst case."""
        state = self._state
        if not state.rounds:
            raise ValueError("nothing to report yet: tell at least one value first")
        solver = state.setting.solver
        decision = self.algorithm.reporting.choose(state)
        if state.intersected is None:
            upper, optimum, worst = state.ucb, state.optimistic, state.pessimistic(decision)
        else:
            lower, upper = state.intersected
            optimum, worst = solver.maximin(upper), solver.worst(decision, lower)
        return Report(
            state.t,
            state.setting.decision(decision),
            state.setting.point(worst.point),
            worst.value,
            solver.worst(decision, upper).value,
            optimum.value,
            worst.exact and optimum.exact,
            decision,
            worst.point,
        )

    def to_json(self) -> str:
        """The run as JSON: its specification and its rounds."""
        setting = self._state.setting
        rounds = [{"decision": _json(r.decision), "point": r.point.tolist(), "y": r.y} for r in self.rounds]
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
        run = json.loads(text)
        if not isinstance(run, dict) or run.get("format") != "stableopt run 1":
            raise ValueError(
                "expected a run written by Optimizer.to_json (format 'stableopt run 1'), got something else"
            )
        domain, uncertainty, gp, chosen = (
            from_dict(run[key], functions) for key in ("domain", "uncertainty", "gp", "algorithm")
        )
        optimizer = cls(domain, uncertainty, gp, algorithm=chosen, beta=run["beta"], seed=run["seed"])
        for r in run["rounds"]:
            optimizer.tell(r["point"], r["y"], r["decision"])
        return optimizer

    def _observations(self, points: ArrayLike, y: ArrayLike, decision: Any) -> list[tuple[int, int, float]]:
        setting = self._state.setting
        if _depth(points) <= 1:
            index = setting.locate_point(points)
            served = setting.decision_of(index) if decision is None else setting.locate_decision(decision)
            return [(served, index, _value(y))]
        if decision is not None:
            raise ValueError("expected a decision with a single point only: tell the points one by one")
        if np.ndim(points) != 2 or np.shape(y) != np.shape(points)[:1]:
            shapes = f"{np.shape(points)} and {np.shape(y)}"
            raise ValueError(f"expected rows of points (m, p) and m values, got shapes {shapes}")
        values = [_value(v) for v in np.asarray(y)]
        indices = [setting.locate_point(row) for row in np.asarray(points)]
        return [(setting.decision_of(i), i, v) for i, v in zip(indices, values, strict=True)]


_algorithm = algorithm


def _value(y: ArrayLike) -> float:
    if np.ndim(y) != 0 or np.asarray(y).dtype.kind not in "iuf":
        raise ValueError(f"expected one number as the value y of one point, got {y!r}")
    value = float(y)  # type: ignore[arg-type]
    if not math.isfinite(value):
        raise ValueError(f"expected a finite value y, got {value}: leave failed evaluations out")
    return value


def _depth(points: ArrayLike) -> int:
    try:
        return np.ndim(points)
    except ValueError:
        raise ValueError(f"expected a point, or rows of points of one length, got {points!r:.200}") from None


def _json(decision: Decision) -> Any:
    return decision.tolist() if isinstance(decision, np.ndarray) else decision


def _readable(value: Decision) -> str:
    return np.array2string(value, precision=4, separator=", ") if isinstance(value, np.ndarray) else repr(value)
