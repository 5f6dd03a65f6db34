"""Every call that README and docs show, as a user's type checker in strict mode sees it.

Nothing here runs: `test_typed_uses.py` has mypy check this file. An example that is refused here is a bug of our types.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import stableopt as so
from stableopt import plots
from stableopt.loop import (
    BestOfAll,
    Choice,
    Index,
    LikelihoodRatio,
    OptimisticPessimistic,
    ReportingRule,
    SamplingRule,
    Schedule,
    State,
)
from stableopt.maxmin import ContinuousMaxMin, Listing, SpaceRegion
from stableopt.model import Kernel, check_kernel, fit
from stableopt.problems import PROBLEMS
from stableopt.theory import certify

Array = NDArray[np.float64]


def measured(point: dict[str, Any]) -> float:
    return float(point["temperature"]) - float(point["ph"])


def attacks() -> None:
    audit = so.audit(measured, {"temperature": 50, "ph": 5.5}, {"temperature": (20, 90), "ph": (3.0, 9.0)}, 0.1)
    worst: float = audit.worst_case.lower
    result = so.maximize(measured, {"temperature": (20, 90)}, 2.0, confirm=5)
    answer = result.done(0.1)
    chance: float = answer.probability + answer.improvement + answer.contenders[0].chance
    sure = so.minimize(measured, {"temperature": (20, 90)}, 2.0, stop_when=0.9)
    print(chance, sure.stopped)
    trial = so.Campaign({"x": (0, 1)}, 0.1).ask(attack=True)
    print(worst, result.decision["temperature"], trial.attack, isinstance(audit, so.Audit))


def one_call() -> None:
    ranges = {"temperature": (20, 90), "ph": (3.0, 9.0)}
    result = so.maximize(measured, ranges, tolerance={"temperature": 4.0, "ph": 0.3}, evaluations=25, seed=0)
    decision: dict[str, Any] = result.decision
    print(decision["temperature"], result.worst_case.lower, result.worst_case.upper, result.regret_bound)
    cost = so.minimize(lambda x: float((x[0] - 0.3) ** 2), [(0, 1)], tolerance=0.1, evaluations=12)
    row: Array = cost.decision
    print(row.round(1), cost.optimum_bound)
    grid = so.maximize(lambda x: float(x[0]), so.Grid.linspace(0, 1, 51), 0.1, model=so.GP(so.SE(0.3), noise=0.01))
    print(grid.decision, [e.value for e in grid.evaluations])
    relative = so.maximize(measured, ranges, {"temperature": "5%"}, environment={"wind": (0, 12)}, callback=enough)
    for line in relative.profile([0.0, 0.5, 1.0]):
        print(line.factor, line.worst_case.lower)
    longer = so.maximize(measured, ranges, 0.1, data=relative.evaluations, evaluations=2, progress=False)
    assessment = so.assess({"x": [0.1, 0.2], "value": [1.0, 2.0]}, {"x": (0, 1)}, 0.1)
    print(longer.stopped, assessment.decisions[0])
    so.maximize(measured, ranges, 0.1, workers=8, patience=600.0, retries=2)
    so.minimize(measured, ranges, 0.1, workers="threads")
    with ThreadPoolExecutor(4) as executor:
        so.maximize(measured, ranges, 0.1, workers=(executor, 4))


def by_hand() -> None:
    ranges = {
        "temperature": so.Float(20, 90, step=0.5),
        "ph": (3.0, 9.0),
        "cycles": [1, 2, 5],
        "stirred": [True, False],
    }
    campaign = so.Campaign(ranges, {"ph": (-0.1, 0.3)}, environment={"wind": (0, 12)}, minimize=True, file="yield.db")
    trial: so.Trial = campaign.ask()
    first, second = campaign.ask(2)
    campaign.tell(trial, 12.4)
    campaign.tell(7, 12.9, at={"temperature": 44.5}, noise=0.1)
    campaign.tell({"temperature": 44.5}, failed="crystals")
    campaign.abandon(first, "no time")
    print(campaign.correct(second.number, 12.1).history[-1].who, trial.point, campaign.open_trials)
    campaign.change(tolerance={"ph": 0.2}, ranges=ranges)
    numbers: list[int] = campaign.add("results.csv")
    mean, std = campaign.predict(trial.point)
    print(numbers, mean, std, campaign.bounds(trial.decision), campaign.result.worst_case.lower, campaign.trials[0])
    again = so.Campaign.open("yield.db", who="ann")
    print(again.to_dataframe(), again.counts["open"], again.result.decision)


def enough(result: so.Result[Any]) -> bool:
    return result.optimizer.state.t == 8


def step_by_step() -> None:
    domain = so.Grid.linspace(lower=[30, 0.0], upper=[90, 1.0], num=[61, 101])
    prior = so.GP(0.3 * so.SE(lengthscale=[5.0, 0.1]), noise=0.02, mean=0.0)
    optimizer = so.Optimizer(domain, so.Rectangle(half_widths=[2.0, 0.03]), prior)
    query = optimizer.ask()
    optimizer.tell(query, 0.5)
    optimizer.tell([50, 0.4], 0.81)
    optimizer.tell([[50, 0.4], [60, 0.5]], [0.81, None])
    first, second = optimizer.ask(2, pending=[query])
    optimizer.tell(first, None)
    optimizer.tell(second, np.float64(0.3), noise=0.1)
    report: so.Report = optimizer.report()
    print(report.decision, report.lower, report.upper, report.optimum_upper, report.regret_bound)
    again = so.Optimizer.from_json(optimizer.to_json())
    print(again.rounds[0].y, again.state.t)


def in_a_space() -> None:
    space = so.Space({"x": (0.0, 1.0), "n": so.Integer(1, 9), "kind": ["a", "b"], "rate": so.Float(1e-3, 1, log=True)})
    named = so.Optimizer(space, so.Rectangle(0.1, columns=["x"]), so.Learned(noise=0.1), explore=1.0, initial=4)
    named.tell({"x": 0.3, "n": 2, "kind": "a", "rate": 0.1}, 1.0)
    named.tell([{"x": 0.3, "n": 2, "kind": "a", "rate": 0.1}, {"x": 0.4, "n": 2, "kind": "b", "rate": 0.1}], [1.0, 2.0])
    named.tell({"x": 0.3, "n": 2, "kind": "a", "rate": 0.1}, 1.0, decision={"x": 0.2, "n": 2, "kind": "a", "rate": 0.1})
    plane = so.Optimizer(so.Space([(0, 1), (0, 1)]), so.Ball(0.1) * so.Parameters(so.Space([(0, 1)])))
    plane.tell([0.1, 0.2, 0.3], 1.0)
    print(plane.decide(), named.failures, certify(plane).lower)


def sets() -> None:
    print(so.Ball(0.1, norm=1, scales=[1.0, 2.0]), so.Relative(0.02), so.Ellipsoid([[1.0, 0.0], [0.0, 1.0]]))
    print(so.Hamming(1, columns=[0, 2]), so.Distance(lambda a, b: float(abs(a - b).max()), 0.1))
    print(so.Groups({"a": [0, 1], "b": [2]}), so.Estimate([[0.1], [0.5]], [0.5], so.Ball(0.1)))
    print(so.Within(lambda x, z: bool(abs(x - z).max() < 0.1), lambda x, z: np.clip(z, x - 0.1, x + 0.1)))


@dataclass(frozen=True, eq=False)
class LeastKnown(SamplingRule):
    def sample(self, state: State[Index], seed: int) -> Choice[Index]:
        points = state.candidates()
        point = points[int(np.argmax(state.moments(points)[1]))]
        return Choice(state.decision_of(point), point)


@dataclass(frozen=True, eq=False)
class BestMiddle(ReportingRule):
    def choose(self, state: State[Index]) -> Index:
        decisions = state.tried()
        lower, upper = state.bounds_of(decisions)
        return decisions[int(np.argmax(lower + upper))]


@dataclass(frozen=True, eq=False)
class Periodic(Kernel):
    period: float = 1.0
    lengthscale: float = 1.0
    hyperparameters = ("period",)

    def values(self, X: Array, Z: Array) -> Array:
        waves: Array = np.sin(np.pi * (X[:, None] - Z) / self.period) / self.lengthscale
        return np.asarray(np.exp(-2 * (waves**2).sum(axis=-1)))


@dataclass(frozen=True, eq=False)
class Wear(so.OwnSet):
    most: float

    def contains(self, X: Array, Z: Array) -> NDArray[np.bool_]:
        return np.asarray(((Z <= X) & (X - self.most <= Z)).all(axis=1))

    def project(self, X: Array, Z: Array) -> Array:
        return np.clip(Z, X - self.most, X)


@dataclass(frozen=True, eq=False)
class Growing(Schedule):
    first: float = 1.0

    def at(self, t: int, gain: float) -> float:
        return self.first + float(np.log(t))


def extensions() -> None:
    check_kernel(Periodic(0.7), np.random.default_rng(0).random((20, 1)))
    mine = so.Algorithm("mine", LeastKnown(), BestMiddle())
    optimizer = so.Optimizer(
        so.Grid.linspace(0, 1, 9),
        Wear(0.1),
        so.GP(Periodic() + 2.0 * so.Matern(2.5, 0.3), 0.1),
        algorithm=mine,
        beta=Growing(),
    )
    so.Optimizer.from_json(optimizer.to_json(), {"f": abs}, classes=[LeastKnown, BestMiddle, Periodic, Wear, Growing])
    guaranteed = so.Algorithm("guaranteed", OptimisticPessimistic(), BestOfAll())
    so.Optimizer(so.Points([[0.1], [0.2]]), so.Ball(0.1), algorithm=guaranteed, beta=LikelihoodRatio(1.0, 0.1))


class Waves:
    def __call__(self, Z: Array) -> Array:
        return np.sin(Z).sum(axis=1)  # type: ignore[no-any-return]

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        return self(Z), np.cos(Z)


def parts() -> None:
    found = ContinuousMaxMin(SpaceRegion(so.Space([(0, 1), (0, 1)]), so.Ball(0.15))).maximin(Waves())
    print(np.round(found.decision, 3), found.value)
    listing = Listing(so.Grid.linspace([0, 0], [1, 1], 40), so.Ball(0.15))
    best = listing.solver.maximin(np.zeros(1600))
    print(listing.decision(best.decision), listing.point(best.point))
    fitted = fit(so.GP(so.SE(0.3), 0.1), np.zeros((3, 1)), [0.0, 1.0, 2.0]).gp
    posterior = fitted.condition([[0.1], [0.2]], [1.0, 2.0])
    mean, variance = posterior([[0.3]])
    print(mean, variance, PROBLEMS["peaks"].epsilon_regret([0.5]))


def pictures() -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    optimizer = so.Optimizer(so.Space({"x": (0, 1)}), so.Ball(0.1))
    optimizer.tell({"x": 0.2}, 1.0)
    plots.belief(optimizer, ax=axes, query=optimizer.ask(), report=optimizer.report())
    plots.profile(so.assess({"x": [0.1], "value": [1.0]}, {"x": (0, 1)}, 0.1).profile(), ax=axes)
    figure.savefig("picture.png")
