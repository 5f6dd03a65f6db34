"""The paper's running example, as it is played and drawn: Figure 1, and StableOpt round by round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from stableopt.loop.answers import Query, Report
from stableopt.loop.play import play as rounds_of
from stableopt.loop.state import State
from stableopt.paper.drawing import objective
from stableopt.paper.match import Match
from stableopt.plots.beliefs import belief
from stableopt.problems.base import Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UCB_ROUND = 20
"""When Figure 1 shows where GP-UCB is."""


@dataclass(frozen=True)
class Step:
    """One round as it was played: the state before it, the query, and the report after it."""

    before: State
    query: Query
    report: Report
    regret: float


def play(problem: Problem, algorithm: str, *, rounds: int, initial: int, seed: int) -> Iterator[Step]:
    """Rounds of one algorithm on a problem; the seed fixes the initial points and the noise for all algorithms."""
    match = Match.drawn(problem, np.random.default_rng([seed, 0]), initial=initial, rounds=rounds, seed=seed)
    optimizer = match.optimizer(algorithm)
    for step in rounds_of(optimizer, match.measure, match.rounds):
        report = optimizer.report()
        yield Step(step.before, step.query, report, problem.epsilon_regret(report.decision))


def figure_1(problem: Problem, *, seed: int, initial: int) -> Figure:
    """The paper's Figure 1: the maximiser of f, the stable optimum, and where GP-UCB is after 20 rounds."""
    figure = Figure(figsize=(13.5, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3, sharey=True)
    left.set_ylabel("$f$")
    objective(left, problem)
    left.set_title("The best point on paper")
    objective(middle, problem, robust=True)
    middle.set_title(f"The best point when it may move by {problem.uncertainty.eps}")  # type: ignore[attr-defined]
    *_, step = play(problem, "GP-UCB", rounds=UCB_ROUND, initial=initial, seed=seed)
    belief(step.before, ax=right, f=problem.f, report=step.report)
    right.set_title(f"What GP-UCB reports at t = {UCB_ROUND}")
    return figure


def draw_step(axes: Axes, problem: Problem, step: Step) -> None:
    """A round: the belief before it, the decision, the sampled point, and the report after it."""
    belief(step.before, ax=axes, f=problem.f, query=step.query, report=step.report)
