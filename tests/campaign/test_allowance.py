"""Promises about allowances: factors are those of brute force and of closed forms, in every setting that has a size."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from helpers.refusals import refused
from helpers.settings import SETTINGS, objective

import stableopt as so
from stableopt.campaign.results import Answer
from stableopt.loop.constraints import Constraint
from stableopt.loop.play import play
from stableopt.loop.tolerances import Falling, crossing
from stableopt.maxmin import Listing

SCALABLE = {
    name: setting
    for name, setting in SETTINGS.items()
    if setting[1].perturbations or isinstance(setting[1].parameters, so.Estimate)
}
SQUARE = {"a": (0, 1), "b": (0, 1)}


def played(domain, uncertainty, rounds=12):
    width = len(Listing(domain, uncertainty).point(0))
    optimizer = so.Optimizer(domain, uncertainty, so.GP(so.SE([0.4] * width), noise=0.05), seed=1)
    list(play(optimizer, lambda query: float(objective(query.point)), rounds))
    return Answer(optimizer, 1)


def bowl(point, centre=0.5, steep=1.0):
    return 1 - (point["a"] - centre) ** 2 - steep * (point["b"] - 0.5) ** 2


def well_known(tolerance, f=bowl):
    """A model that all but knows f: then what is guaranteed is what is possible."""
    rows = [dict(zip("ab", row, strict=True)) for row in itertools.product(np.linspace(0, 1, 6), repeat=2)]
    y = [f(row) for row in rows]
    model = so.GP(4.0 * so.SE([0.8, 0.8]), noise=1e-4, mean=float(np.mean(y)))
    return so.assess([{**row, "value": v} for row, v in zip(rows, y, strict=True)], SQUARE, tolerance, model=model)


@cache
def usual():
    answer = well_known(0.1)
    return answer, answer.allowance(at_least=0.9)


@pytest.mark.parametrize("name", SCALABLE)
def test_on_a_list_both_factors_are_those_of_brute_force(name):
    domain, uncertainty = SCALABLE[name]
    answer = played(domain, uncertainty)
    state, d = answer.state, answer.report.decision_index
    levels = answer.allowance(at_least=-1e9)
    assert levels.factors.guaranteed == levels.limit and levels.exact
    ends = levels.curve[0].guaranteed, levels.curve[-1].guaranteed
    value = 0.5 * (ends[0] + ends[1])
    found = answer.allowance(at_least=value)
    for factor, F in zip(found.factors, (state.lcb, state.ucb), strict=True):
        home = Listing(domain, uncertainty.scaled(0.0)).solver.worst(d, F).value
        if factor is None:
            assert home < value
            continue
        before = Listing(domain, uncertainty.scaled(factor * (1 - 1e-9))).solver.worst(d, F).value
        assert before >= value
        if factor < found.limit:
            assert Listing(domain, uncertainty.scaled(factor * (1 + 1e-6))).solver.worst(d, F).value < value


def test_on_points_in_a_ball_the_factor_is_the_distance_to_the_nearest_bad_point():
    rng = np.random.default_rng(4)
    rows = rng.random((60, 2))
    answer = played(so.Points(rows), so.Ball(0.2))
    state, d = answer.state, answer.report.decision_index
    value = float(np.quantile(state.lcb, 0.7))
    found = answer.allowance(at_least=value, decision=rows[d])
    distances = np.linalg.norm(rows - rows[d], axis=1)
    for factor, F in zip(found.factors, (state.lcb, state.ucb), strict=True):
        bad = distances[value > F]
        expected = min(bad.min(initial=math.inf) / 0.2, found.limit)
        assert factor == pytest.approx(expected, rel=1e-6) if expected > 0 else factor is None
    assert found.limit == pytest.approx(distances.max() / 0.2, rel=1e-6)


@pytest.mark.parametrize(
    ("tolerance", "radius"),
    [
        (so.Ball(0.1), lambda level: math.sqrt(level) / 0.1),
        (0.1, lambda level: math.sqrt(level / 2) / 0.1),
        (so.Ball(0.1, 1), lambda level: math.sqrt(level) / 0.1),
        (so.Ellipsoid([[0.04, 0.0], [0.0, 0.01]]), lambda level: math.sqrt(level) / 0.2),
        (so.Relative(0.1), lambda level: math.sqrt(level / 2) / 0.05),
        ({"a": (-0.05, 0.2), "b": 0.0}, lambda level: math.sqrt(level) / 0.2),
    ],
)
def test_on_a_bowl_the_factor_is_known(tolerance, radius):
    state = well_known(tolerance).state
    decision = state.setting.translation.decision_index({"a": 0.5, "b": 0.5})
    for bound in (state.lcb, state.ucb):
        g = Falling(state, decision, bound, state.setting.uncertainty.scaled)
        holds, fails = crossing(g, 1 - 0.04, 4.9)
        assert g(holds) >= 1 - 0.04 > g(fails) and fails - holds <= 1e-3 * fails
        assert holds == pytest.approx(radius(0.04), rel=0.02)
        assert len(g.known) <= 12, "a search is dear: few of them lead to the factor"


def test_each_tolerance_by_itself_while_the_others_are_as_given_and_while_they_are_0():
    answer = well_known({"a": 0.1, "b": 0.1}, lambda p: bowl(p, steep=2.0))
    found = answer.allowance(at_least=1 - 0.06, decision={"a": 0.5, "b": 0.5})
    # (0.1 r)² + 2·0.1² = 0.06 for a with b as given, (0.1 r)² = 0.06 with b = 0; and so on.
    expected = {"a": (math.sqrt(4.0), math.sqrt(6.0)), "b": (math.sqrt(2.5), math.sqrt(3.0))}
    assert [share.name for share in found.shares] == ["a", "b"]
    for share in found.shares:
        for factors, factor in zip((share.others_as_given, share.others_exact), expected[share.name], strict=True):
            assert factors.guaranteed == pytest.approx(factor, rel=0.02)
            assert factors.possible == pytest.approx(factor, rel=0.02)
    assert found.factors.guaranteed == pytest.approx(math.sqrt(2.0), rel=0.02)


def test_a_ball_is_stretched_in_one_direction_and_its_other_ones_can_be_0():
    answer = well_known(so.Ball(0.1, scales=[1.0, 2.0]))
    found = answer.allowance(at_least=1 - 0.09, decision={"a": 0.5, "b": 0.5})
    a, b = found.shares
    assert a.others_exact.guaranteed == pytest.approx(3.0, rel=0.02)
    assert b.others_exact.guaranteed == pytest.approx(1.5, rel=0.02)
    assert a.others_as_given.guaranteed == pytest.approx(3.0, rel=0.02)  # the longest axis decides


def test_the_curve_falls_and_holds_what_a_profile_of_one_decision_would():
    answer, found = usual()
    for bound in ("guaranteed", "possible"):
        values = [getattr(level, bound) for level in found.curve]
        assert all(a >= b - 1e-9 for a, b in itertools.pairwise(values)) and values[0] > values[-1]
    one = next(level for level in found.curve if level.factor == 1.0)
    assert one.guaranteed == pytest.approx(answer.worst_case.lower, abs=1e-4)
    assert one.possible == pytest.approx(answer.worst_case.upper, abs=1e-4)
    assert {0.0, 1.0} <= {level.factor for level in found.curve}


def test_what_is_minimised_is_the_mirror_image():
    x = np.linspace(0, 1, 6)
    up = so.assess((x[:, None], 1 - (x - 0.4) ** 2), {"a": (0, 1)}, 0.1).allowance(at_least=0.9)
    down = so.assess((x[:, None], (x - 0.4) ** 2 - 1), {"a": (0, 1)}, 0.1, minimize=True).allowance(at_most=-0.9)
    assert up.factors == down.factors and [s[1:] for s in up.shares] == [s[1:] for s in down.shares]
    assert [(a.guaranteed, a.possible) for a in up.curve] == [(-b.guaranteed, -b.possible) for b in down.curve]
    assert "at most -0.9" in str(down)


def test_a_specification_that_is_missed_without_any_perturbation_is_said_in_words():
    out_of_reach = usual()[0].allowance(at_least=1.5)
    assert out_of_reach.factors == (None, None) and "missed even if nothing is perturbed" in str(out_of_reach)
    assert "never" in str(out_of_reach)
    vague = so.assess({"a": [0.2, 0.8], "b": [0.2, 0.8], "value": [0.0, 1.0]}, SQUARE, 0.1)
    between = vague.allowance(at_least=vague.worst_case.upper, decision={"a": 0.8, "b": 0.8})
    assert between.factors.guaranteed is None and between.factors.possible is not None
    assert "not guaranteed even if nothing is perturbed" in between.words


def test_what_holds_however_wide_is_at_least_the_limit():
    found = usual()[0].allowance(at_least=-100.0)
    assert found.factors == (found.limit, found.limit) and found.limit == pytest.approx(10.0)
    assert "≥ 10×" in str(found) and "all that fits" in found.words


KNOWING = so.GP(4.0 * so.SE([0.8, 0.8]), noise=1e-4, mean=0.7)


def filled(f):
    X = np.array(list(itertools.product(np.linspace(0, 1, 6), repeat=2)))
    return X, f(X)


def test_an_environment_stays_as_it_is():
    winds = {"wind": (0.0, 1.0)}
    X, y = filled(lambda X: 1 - (X[:, 0] - 0.5) ** 2 - 0.3 * X[:, 1])
    answer = so.assess((X, y), {"a": (0, 1)}, 0.1, environment=winds, model=KNOWING)
    found = answer.allowance(at_least=0.6, decision={"a": 0.5})
    assert found.curve[0].possible < 0.75, "the wind blows without a tolerance, too"
    assert [share.name for share in found.shares] == ["a"]
    assert found.factors.guaranteed == pytest.approx(math.sqrt(0.1) / 0.1, rel=0.05)


def test_an_estimate_grows_with_the_tolerance_and_has_a_share_of_its_own():
    theta = so.Space({"wind": (0.0, 1.0)})
    within = so.Rectangle(0.1) * so.Estimate(theta, {"wind": 0.5}, so.Ball(0.1))
    answer = so.assess(filled(lambda X: 1 - ((X - 0.5) ** 2).sum(axis=1)), {"a": (0, 1)}, within, model=KNOWING)
    found = answer.allowance(at_least=1 - 0.04, decision={"a": 0.5})
    assert [share.name for share in found.shares] == ["a", "wind"]
    assert found.shares[1].others_exact.guaranteed == pytest.approx(2.0, rel=0.05)
    assert found.shares[0].others_as_given.guaranteed == pytest.approx(math.sqrt(3.0), rel=0.05)


def test_sets_whose_columns_have_no_size_are_one_share():
    answer = played(*SETTINGS["two perturbations"])
    found = answer.allowance(at_least=float(np.median(answer.state.lcb)))
    assert [share.name for share in found.shares] == ["x[1]", "x[2]"]
    distance = played(*SETTINGS["distance"])
    assert [s.name for s in distance.allowance(at_least=0.0).shares] == ["x[0], x[1]"]


def test_bad_questions_are_refused_with_what_to_do():
    answer = usual()[0]
    refused(answer.allowance, ValueError, "expected at_least=... as a number", "got at_least=None")
    refused(lambda: answer.allowance(at_most=1.0), ValueError, "expected at_least", "large values are good")
    refused(lambda: answer.allowance(at_least=math.nan), ValueError, "expected at_least", "got at_least=nan")
    refused(lambda: answer.allowance(at_least=1, at_most=2), ValueError, "expected at_least", "at_most=2")
    refused(lambda: answer.allowance(at_least=0.5, decision={"a": 3, "b": 0}), ValueError, "expected a", "got")
    data = {"a": [0.1, 0.9], "b": [0.5, 0.2], "value": [1.0, 2.0]}
    exact = so.assess(data, SQUARE, 0)
    refused(lambda: exact.allowance(at_least=0.5), ValueError, "expected a tolerance above 0", "got Rectangle")
    mine = so.assess(data, SQUARE, so.Within(lambda x, z: abs(x - z).max() < 0.1, lambda x, z: x))
    refused(lambda: mine.allowance(at_least=0.5), ValueError, "expected a set with a size", "of your own")
    refused(mine.profile, ValueError, "expected a set with a size", "of your own")
    groups = played(*SETTINGS["groups"])
    refused(lambda: groups.allowance(at_least=0.5), ValueError, "expected a tolerance above 0", "got Groups")


def test_it_is_shown_as_a_table():
    found = usual()[1]
    lines = str(found).splitlines()
    assert lines[0].startswith("decision") and "searched, not proved" in lines[1]
    assert [line.split()[0] for line in lines[4:]] == ["all", "a", "b"]
    page = found._repr_html_()
    assert page.count("<table>") == 2 and "all together" in page and repr(found).startswith("Allowance(a = ")


@pytest.mark.parametrize("domain", [so.Grid.linspace(0, 1, 41), so.Space([(0.0, 1.0)])])
def test_a_constraint_is_asked_by_its_name(domain):
    """stress = x: at most 0.7 from 0.5 on is 0.2 away, at least 0.4 is 0.1 away."""
    gp = so.GP(4.0 * so.SE(0.8), noise=1e-4, mean=0.5)
    limits = [Constraint("stress", upper=0.7, model=gp)]
    optimizer = so.Optimizer(domain, so.Ball(0.05), gp, constraints=limits)
    for x in np.linspace(0, 1, 11):
        optimizer.tell([x], -((x - 0.5) ** 2), measured={"stress": x})
    answer = Answer(optimizer, 1)
    for given, expected in (({}, 4.0), ({"at_most": 0.7}, 4.0), ({"at_least": 0.4}, 2.0)):
        found = answer.allowance(of="stress", decision=[0.5], **given)
        assert found.factors.guaranteed == pytest.approx(expected, rel=0.03)
        assert found.curve[0].guaranteed == pytest.approx(0.5, abs=1e-3)
        assert found.of == "stress" and found.words.startswith("stress at ")
    refused(lambda: answer.allowance(of="strain"), ValueError, "expected of=... as the name of a constraint", "strain")
    refused(lambda: answer.allowance(of="stress", at_least=0, at_most=1), ValueError, "expected one side", "got 2")
    refused(lambda: answer.allowance(of="stress", at_least="x"), ValueError, "expected at_least", "got")


@pytest.mark.parametrize("seed", [0, 7])
def test_what_an_audit_never_measured_is_not_guaranteed(seed):
    """It measures within the tolerance only; 2 sin x falls below 0.2 at 3.7 times of it."""
    audit = so.audit(
        lambda p: 2 * math.sin(p["x"]), {"x": 2.3}, {"x": (0.0, 5.0)}, {"x": 0.2}, evaluations=12, seed=seed
    )
    found = audit.allowance(at_least=0.2)
    assert 1 <= found.factors.guaranteed <= 3.7 <= found.factors.possible


def test_an_allowance_says_if_its_model_cannot_be_trusted():
    data = {"x": [0.1, 0.4, 0.6, 0.9], "yield": [1.0, 1.2, 1.1, 0.7]}
    answer = so.assess(data, {"x": (0, 1)}, {"x": 0.1}, value="yield")
    found = answer.allowance(at_least=0.5)
    assert found.words.startswith("if the model were right, ") and "too early" in str(found)
    assert found.label == "yield" == answer.profile([0, 1]).label
