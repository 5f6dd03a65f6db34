"""Bounds that a search found, against enumeration: where a search was wrong once, or has many hills to miss."""

import math
import warnings

import numpy as np
import pytest
from scipy.ndimage import minimum_filter

import stableopt as so
from stableopt.loop.attacking import Confirmed
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.reporting import report


def test_two_whole_numbers_to_200_with_short_lengthscales_are_those_of_enumeration():
    g = np.stack(np.meshgrid(np.arange(201.0), np.arange(201.0), indexing="ij"), axis=-1).reshape(-1, 2)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        t = int(rng.integers(10, 80))
        prior = so.GP(so.SE([20.0, 20.0]), noise=0.3)
        space, box = so.Space([so.Integer(0, 200), so.Integer(0, 200)]), so.Rectangle([3.0, 3.0])
        optimizer = so.Optimizer(space, box, prior, algorithm=FRONT_DOOR.algorithm, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # values at random are not what this prior expects
            optimizer.tell([tuple(map(int, row)) for row in rng.integers(0, 201, (t, 2))], rng.normal(size=t))
        report = optimizer.report()
        mean, variance = optimizer.state.posterior.model(g)
        width = 2 * np.sqrt(variance)
        lower, upper = (minimum_filter(b.reshape(201, 201), 7, mode="nearest") for b in (mean - width, mean + width))
        size, (i, j) = float(np.ptp(mean - width)), (int(x) for x in report.decision)
        assert report.lower == pytest.approx(lower[i, j], abs=1e-6 * size)
        assert lower[i, j] >= lower.max() - 0.01 * size
        assert report.optimum_upper >= upper.max() - 0.02 * size


@pytest.mark.parametrize("log", [False, True])
def test_assessments_of_rough_data_with_an_environment_do_not_contradict_themselves(log):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = np.exp(rng.random(12) * math.log(1e3)) if log else rng.random(12)
        data = [{"x": float(a), "wind": float(b), "value": float(v)} for a, b, v in zip(x, rng.random(12), rng.normal(size=12), strict=True)]  # fmt: skip # noqa: E501
        ranges = {"x": so.Float(1, 1e3, log=True) if log else (0, 1)}
        prior = so.GP(so.SE([2.4, 0.5]), noise=0.05) if log else so.GP(so.SE([0.35, 0.5]), noise=0.05)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = so.assess(data, ranges, "10%" if log else 0.05, environment={"wind": (0, 1)}, model=prior)
        report, state = answer.report, answer.optimizer.state
        lower, upper = state.bounds_of(list(dict.fromkeys(state.tried())))
        slack = 1e-6 * (1 + abs(report.optimum_upper))
        assert report.lower <= report.upper <= report.optimum_upper
        assert upper.max() <= report.optimum_upper + slack and lower.max() <= report.lower + slack


def test_a_learned_model_on_a_log_scale_beside_an_environment_is_searched_as_well_as_enumerated():
    def f(point):
        return math.sin(2.5 * math.log10(point["x"]) + 2 * point["wind"]) - 0.3 * point["wind"] * math.log10(point["x"])

    settings = {"environment": {"wind": (0, 1)}, "evaluations": 14, "seed": 3}
    result = so.maximize(f, {"x": so.Float(1, 1e4, log=True)}, 30.0, **settings)
    state, report = result.optimizer.state, result.report
    lower, upper = [], []
    for x in np.geomspace(1, 1e4, 80):
        ends = math.log(max(1.0, x - 30)) / math.log(1e4), math.log(min(1e4, x + 30)) / math.log(1e4)
        Z = np.stack(np.meshgrid(np.linspace(*ends, 41), np.linspace(0, 1, 21), indexing="ij"), -1).reshape(-1, 2)
        low, high = state.bounds([tuple(z) for z in Z.tolist()])
        lower.append(low.min())
        upper.append(high.min())
    size = np.ptp(lower)
    assert report.lower >= max(lower) - 0.01 * size
    assert report.optimum_upper >= max(upper) - 0.01 * size


def limited(seed=0):
    """A run with a limit in a space, after some values."""
    limit = so.Constraint("heat", upper=0.6, model=so.GP(so.SE(0.4), noise=0.05))
    optimizer = so.Optimizer(
        so.Space([(0, 1)]), so.Rectangle(0.05), so.GP(so.SE(0.3), noise=0.05), constraints=[limit], initial=1, seed=seed
    )
    for _ in range(6):
        query = optimizer.ask()
        optimizer.tell(query, float(np.sin(4 * query.point[0])), measured={"heat": float(query.point[0])})
    return optimizer


def test_with_limits_no_tried_decision_that_may_keep_them_is_above_the_bound_of_the_optimum():
    """A search that misses the best one must not contradict what is known of those tried, nor call it impossible."""
    optimizer = limited()
    state, text = optimizer.state, optimizer.to_json()
    uppers = [state.certificate(d).upper for d in state.tried() if state.limits.smallest(d, "upper") >= 0]
    assert uppers
    for missed in (-5.0, math.nan):
        fresh = so.Optimizer.from_json(text).state
        vars(fresh)["optimum"] = fresh.optimum._replace(value=missed, margin=-1.0 if math.isnan(missed) else 1.0)
        decision = optimizer.report().decision_index
        certificate = fresh.certificate(decision)
        assert certificate.optimum.value >= max(uppers) - 1e-6 and not certificate.optimum.agreed
        assert fresh.feasible(decision) != "impossible"


def test_a_report_is_settled_only_if_the_search_for_the_decision_agreed_too():
    optimizer = so.Optimizer(
        so.Space([(0, 1)]), so.Rectangle(0.05), so.GP(so.SE(0.5), noise=0.05), algorithm=FRONT_DOOR.algorithm, initial=1
    )
    optimizer.tell(np.linspace(0, 1, 9)[:, None], -((np.linspace(0, 1, 9) - 0.4) ** 2))
    assert optimizer.report().settled
    state = optimizer.state
    vars(state)["guaranteed"] = state.guaranteed._replace(agreed=False)
    assert not optimizer.report().settled
    confirmed = Confirmed((state.guaranteed.decision,), FRONT_DOOR.algorithm.reporting)
    assert not report(state, confirmed).settled
