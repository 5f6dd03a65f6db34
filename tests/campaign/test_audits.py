"""Promises of audits: a design is measured where it may be worst, and what is reported has been attacked."""

import math

import numpy as np
import pytest
from helpers.refusals import refused

import stableopt as so
from stableopt.loop import space as search
from stableopt.loop.attacking import Confirmed, Given
from stableopt.loop.rules import BestOfAll

RANGES = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
DESIGN = {"x": 0.4, "y": 0.6}
TOLERANCE = 0.1


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Searches with less effort: what is promised here does not depend on it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "usual_budget", lambda dim, **_: 2000)
        yield


def waves(p):
    return float(np.sin(5 * p["x"]) + np.cos(7 * p["y"]) + p["x"] * p["y"])


def truth(design=DESIGN):
    """The worst case by brute force."""
    x, y = np.meshgrid(*(np.linspace(design[name] - TOLERANCE, design[name] + TOLERANCE, 201) for name in ("x", "y")))
    return float((np.sin(5 * x) + np.cos(7 * y) + x * y).min())


@pytest.mark.parametrize("sign", [1, -1])
def test_an_audit_finds_the_worst_case_and_bounds_it_in_either_direction(sign):
    audit = so.audit(lambda p: sign * waves(p), DESIGN, RANGES, TOLERANCE, minimize=sign < 0)
    worst = audit.worst_case
    assert isinstance(audit, so.Audit) and audit.decision == DESIGN and audit.stopped == "budget"
    assert worst.lower - 1e-6 <= sign * truth() <= worst.upper + 1e-6
    assert worst.upper - worst.lower < 0.05
    assert min(sign * e.value for e in audit.evaluations) == pytest.approx(truth(), abs=0.02)
    assert all(abs(e.point[name] - DESIGN[name]) <= TOLERANCE + 1e-9 for e in audit.evaluations for name in RANGES)
    assert math.isinf(audit.optimum_bound), "it says nothing about other decisions"
    assert "15 values where it can end up" in str(audit) and "optimum" not in str(audit)


def test_an_audit_measures_where_it_may_be_worst_and_not_anywhere_near():
    """Against random points of the same set: the lowest value that was seen is closer to the worst case."""
    rng = np.random.default_rng(0)
    random = [waves({n: DESIGN[n] + TOLERANCE * u for n, u in zip(RANGES, row, strict=True)})
              for row in rng.uniform(-1, 1, (12, 2))]  # fmt: skip
    audit = so.audit(waves, DESIGN, RANGES, TOLERANCE, evaluations=12)
    assert min(e.value for e in audit.evaluations) - truth() < 0.2 * (min(random) - truth())


def test_an_audit_on_a_list_is_exact_and_knows_environments_and_workers():
    grid = so.Grid.linspace(0, 1, 41)
    audit = so.audit(lambda z: float(np.sin(9 * z[0])), [0.5], grid, so.Ball(0.1), evaluations=9, workers="threads")
    assert audit.report.exact and audit.worst_case.upper < -0.98
    windy = so.audit(lambda p: p["x"] * p["w"], {"x": 0.5}, {"x": (0, 1)}, 0.1, environment={"w": (-1, 1)})
    assert windy.worst_case.point["w"] == pytest.approx(-1) and windy.worst_case.point["x"] == pytest.approx(0.6)
    assert windy.worst_case.lower - 1e-9 <= -0.6 <= windy.worst_case.upper + 1e-9


def test_an_audit_goes_on_from_its_file_and_from_data(tmp_path):
    file, calls = tmp_path / "audit.stableopt", []

    def counted(p):
        calls.append(p)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return waves(p)

    first = so.audit(counted, DESIGN, RANGES, TOLERANCE, evaluations=8, file=file)
    assert first.stopped == "interrupted" and len(first.evaluations) == 4
    second = so.audit(counted, DESIGN, RANGES, TOLERANCE, evaluations=8, file=file)
    assert len(second.evaluations) == 8 and len(calls) == 9
    reopened = so.Campaign.open(file).result
    assert isinstance(reopened, so.Audit) and reopened.worst_case == second.worst_case
    known = so.audit(waves, DESIGN, RANGES, TOLERANCE, evaluations=0, data=second.evaluations)
    assert known.decision == DESIGN and known.worst_case.upper == pytest.approx(second.worst_case.upper, abs=0.05)
    with pytest.raises(ValueError, match="another decision"):
        so.audit(waves, {"x": 0.5, "y": 0.5}, RANGES, TOLERANCE, file=file)


@pytest.mark.parametrize(
    "decision", [None, {"x": 1.4, "y": 0.6}, {"x": 0.4}, {"x": "a", "y": 0.6}, [0.4, 0.6], math.nan, "design"]
)
def test_what_is_no_decision_within_its_ranges_is_refused_before_anything_is_measured(decision, tmp_path):
    def forbidden(p):
        raise AssertionError("measured")

    file = tmp_path / "audit.stableopt"
    refused(lambda: so.audit(forbidden, decision, RANGES, TOLERANCE, file=file), ValueError, "expected")
    assert not file.exists()


@pytest.mark.parametrize("confirm", [-1, 2.5, "5", None, True, 41, math.inf])
def test_a_confirmation_is_a_number_of_evaluations(confirm):
    def forbidden(p):
        raise AssertionError("measured")

    refused(lambda: so.maximize(forbidden, RANGES, TOLERANCE, confirm=confirm), ValueError, "confirm")


@pytest.mark.parametrize(
    "options",
    [
        {"confirm": 4, "seed": 1},
        {"confirm": 4, "target": 1e3, "seed": 1, "model": so.GP(so.SE([0.3, 0.3]), noise=0.05)},
        {"confirm": 4, "workers": "threads"},
    ],
    ids=["budget", "target", "threads"],
)
def test_the_decision_that_is_reported_has_been_attacked(options, tmp_path):
    file = tmp_path / "run.stableopt"
    result = so.maximize(waves, RANGES, TOLERANCE, evaluations=14, file=file, **options)
    ledger = so.Campaign.open(file).ledger
    assert [t.number for t in ledger.attacks] == [t.number for t in ledger.trials.values()][-4:]
    assert result.stopped == ("target" if "target" in options else "budget")
    assert len(result.evaluations) == (14 if "target" not in options else 5)
    assert result.decision in [t.decision for t in ledger.attacks]
    assert "attacked" in str(result) and "nothing" not in str(result)
    again = so.maximize(waves, RANGES, TOLERANCE, evaluations=14, file=file, **options)
    assert (again.decision, again.worst_case) == (result.decision, result.worst_case), "nothing more is measured"


def test_who_searches_on_after_an_attack_is_told_of_the_best_decision_again():
    campaign = so.Campaign(RANGES, TOLERANCE)
    with pytest.raises(ValueError, match="no decision to attack yet"):
        campaign.ask(attack=True)
    for _ in range(6):
        trial = campaign.ask()
        campaign.tell(trial, waves(trial.point))
    best = campaign.result.decision
    attack = campaign.ask(attack=True)
    assert attack.attack and attack.decision == best
    campaign.tell(attack, waves(attack.point))
    assert isinstance(campaign.result.optimizer.algorithm.reporting, Confirmed)
    trial = campaign.ask()
    campaign.tell(trial, waves(trial.point))
    assert not isinstance(campaign.result.optimizer.algorithm.reporting, Confirmed)


def test_an_attack_that_succeeds_gives_way_to_a_decision_that_is_better_for_certain():
    """The higher of two hills has a hole: once that is known, the other one is reported, which nobody attacked."""
    grid = so.Grid.linspace(0, 1, 21)
    optimizer = so.Optimizer(grid, so.Ball(0.06), so.GP(so.SE(0.05), 0.01), beta=4.0)
    for i, x in enumerate(np.linspace(0, 1, 21)):
        optimizer.tell([x], 3.0 * (i in (14, 16)) - 3.0 * (i == 15) + 1.0 * (i in (4, 5, 6)))
    state = optimizer.state
    rule = Confirmed([15], BestOfAll())
    assert rule.choose(state) == BestOfAll().choose(state) != 15
    assert Confirmed([5], BestOfAll()).choose(state) == 5, "what is as good as the best stays"
    assert Given(7).choose(state) == 7


LINE = so.Grid.linspace(0, 1, 51)
MODELS = {"model": so.GP(so.SE([0.4]), noise=0.01)}


def heated(x):
    """A value that is best at 0.7, and a temperature that rises."""
    return 1 - (float(x[0]) - 0.7) ** 2, {"heat": 10 * float(x[0]) ** 2}


def heat(limit):
    return [so.Constraint("heat", upper=limit, model=so.GP(16.0 * so.SE([0.5]), noise=0.02, mean=3.0))]


def test_an_audit_says_whether_limits_are_kept_and_measures_where_they_may_be_broken():
    """At 0.5 ± 0.1 the heat is at most 3.6, at 0.6; the value is smallest at the other end."""
    words = {}
    for limit in (4.0, 3.62, 3.2):
        audit = so.audit(heated, [0.5], LINE, so.Ball(0.1), constraints=heat(limit), evaluations=8, **MODELS)
        words[limit], known = audit.feasible, audit.constraints["heat"]
        assert known.highest[0] - 1e-6 <= 3.6 <= known.highest[1] + 1e-6
        assert {round(float(e.point[0]), 6) for e in audit.evaluations} >= {0.4, 0.6}
        assert "limits" in str(audit) and math.isinf(audit.optimum_bound)
    assert words[4.0] == "certified" and words[3.62] in ("certified", "likely") and words[3.2] == "impossible"


def test_what_was_attacked_is_reported_only_if_it_keeps_all_limits():
    optimizer = so.Optimizer(LINE, so.Ball(0.1), MODELS["model"], constraints=heat(3.0), seed=0)
    for x in np.linspace(0, 1, 11):
        value, measured = heated([x])
        optimizer.tell([x], value, measured=measured)
    state, best = optimizer.state, BestOfAll().choose(optimizer.state)
    bad, poor = optimizer.state.decision_of(35), optimizer.state.decision_of(5)  # 0.7, and 0.1
    assert state.limits.kept([bad, poor, best]) == [False, True, True]
    assert Confirmed([bad], BestOfAll()).choose(state) == best, "the attacked one breaks a limit"
    assert Confirmed([bad, poor], BestOfAll()).choose(state) == best, "it is better for certain"
    near = best - 1
    assert Confirmed([bad, near], BestOfAll()).choose(state) == near, "none is better for certain"
