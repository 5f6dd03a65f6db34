"""Promises of answers with constraints: what is certified holds over the whole tolerance, against brute force."""

import itertools
import json
import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import stableopt as so
from stableopt.campaign import kept
from stableopt.campaign.health import Health
from stableopt.campaign.kept import Limit, plain, sentence
from stableopt.loop.answers import readable

TRUSS = {"stress": (None, 2.0)}
EPS = 0.05


def weight(a, b):
    return 2 * np.sqrt(2) * a + b


def stress(a, b, load=2.0):
    return load * (np.sqrt(2) * a + b) / (np.sqrt(2) * a**2 + 2 * a * b)


def truss(point, load=2.0):
    """The three-bar truss: its weight and its largest stress."""
    a, b = point.values() if isinstance(point, dict) else point
    return {"weight": weight(a, b), "stress": stress(a, b, load)}


def lightest(**options):
    return so.minimize(truss, {"a": (0.3, 1.2), "b": (0.3, 1.2)}, EPS, value="weight", constraints=TRUSS, **options)


def true_stress(decision, low=0.3, high=1.2, load=2.0):
    """The largest stress over the tolerance, on a fine grid of it."""
    ends = [np.clip(np.linspace(v - EPS, v + EPS, 41), low, high) for v in decision]
    return float(stress(*np.meshgrid(*ends), load).max())


@pytest.fixture(scope="module")
def found():
    return lightest(evaluations=16)


def test_the_lightest_truss_keeps_its_limit_under_every_perturbation(found):
    assert found.feasible == "certified"
    decision, known = list(found.decision.values()), found.constraints["stress"]
    true = true_stress(decision)
    assert known.highest[0] - 1e-6 <= true <= known.highest[1] + 1e-6 <= 2.0 + 2e-6
    assert known.margin == pytest.approx((2.0 - known.highest[1], 2.0 - known.highest[0]))
    assert math.isnan(known.lowest[0])
    low, high = ({name: min(max(v + e, 0.3), 1.2) for name, v in found.decision.items()} for e in (-EPS, EPS))
    assert found.worst_case.point == pytest.approx(high, abs=1e-3)
    # The thinnest bar has the highest stress; how thin the other one is matters less than what is known there.
    assert known.point["a"] == pytest.approx(low["a"], abs=1e-3) and low["b"] <= known.point["b"] <= high["b"]
    grid = [
        {"a": a, "b": b} for a in np.linspace(low["a"], high["a"], 21) for b in np.linspace(low["b"], high["b"], 21)
    ]
    mean, variance = found.state.constraints[0].output.posterior.moments(
        [found.state.setting.translation.point_index(z) for z in grid]
    )
    assert (mean + 2.5 * np.sqrt(variance)).max() == pytest.approx(known.highest[1], abs=1e-4)
    every = np.array(list(itertools.product(np.linspace(0.3, 1.2, 181), repeat=2)))
    allowed = every[stress(*np.clip(every - EPS, 0.3, 1.2).T) <= 2.0]
    best = weight(*np.clip(allowed + EPS, 0.3, 1.2).T).min()
    assert found.worst_case.upper <= best + 0.1 and found.optimum_bound <= best + 1e-3


def test_the_answer_says_so_in_plain_words(found):
    text = str(found)
    known = found.constraints["stress"]
    assert "limits      certified: all limits hold for every perturbation" in text
    assert f"stress stays below {known.highest[1]:.5g} (limit 2, margin {known.margin[0]:.2g}), worst at" in text
    assert f"worst at {readable(known.point)}" in text
    assert "no decision that may keep all limits" in text and "limits: certified" in repr(found)
    assert "stress stays below" in found._repr_html_()
    assert found.healths["stress"].trusted
    assert json.loads(json.dumps(plain(found.constraints)))["stress"]["lowest"] is None


def test_a_certificate_of_models_in_doubt_says_so(found, monkeypatch):
    monkeypatch.setattr(kept, "health_of", lambda *_: Health(False, "too early to trust"))
    assert "certified, if the models were right: all limits hold for every perturbation" in str(found)
    assert "the model of stress: too early to trust" in str(found)


def test_on_a_list_the_certified_decision_is_that_of_brute_force():
    rows = np.array(list(itertools.product(np.linspace(0.3, 1.2, 19), repeat=2)))
    result = so.minimize(truss, so.Points(rows), so.Rectangle(EPS), value="weight", constraints=TRUSS, evaluations=25)
    near = (np.abs(rows[:, None] - rows[None]) <= EPS + 1e-9).all(axis=2)
    worst = np.array([[stress(*rows[n].T).max(), weight(*rows[n].T).max()] for n in near])
    allowed = np.flatnonzero(worst[:, 0] <= 2.0)
    best = rows[allowed[np.argmin(worst[allowed, 1])]]
    assert result.feasible == "certified" and np.allclose(result.decision, best)


@pytest.mark.usefixtures("quick")
def test_whole_numbers_and_an_environment():
    """n equal bars of thickness w under a load that nobody knows."""

    def bars(point):
        n, w, load = point["n"], point["w"], point["load"]
        return n * w**2, {"stress": load / (n * w**2)}

    ranges = {"n": so.Integer(1, 4), "w": (0.5, 2.0)}
    points = itertools.product((1, 2, 3, 4), np.linspace(0.5, 2.0, 6), (1.0, 2.0, 3.0))
    rows = [dict(zip(("n", "w", "load"), point, strict=True)) for point in points]
    data = [row | {"value": bars(row)[0], "stress": bars(row)[1]["stress"]} for row in rows]
    options = {"environment": {"load": (1.0, 3.0)}, "constraints": {"stress": (None, 1.0)}}
    result = so.minimize(bars, ranges, {"w": 0.1}, **options, data=data, evaluations=2)
    n, w = result.decision["n"], result.decision["w"]
    assert isinstance(n, int) and result.feasible == "certified"
    assert 3.0 / (n * (w - 0.1) ** 2) <= 1.0 + 1e-6
    assert result.constraints["stress"].point["load"] == pytest.approx(3.0)
    best = min(k * (max(math.sqrt(3.0 / k) + 0.1, 0.5) + 0.1) ** 2 for k in range(1, 5) if 3.0 / k <= 1.9**2)
    assert n * (w + 0.1) ** 2 <= best * 1.3


def test_two_limits_and_what_is_not_measured():
    """Half of the stresses are missing, and some values: the rest is learned from."""
    count = itertools.count()

    def f(point):
        i, x = next(count), float(point[0])
        return {"value": None if i % 6 == 4 else x, "tilt": None if i % 2 else 2 * x - 1}

    grid, tilt = so.Grid.linspace(0, 1, 101), {"tilt": (-0.5, 0.5)}
    result = so.maximize(f, grid, so.Ball(0.05), constraints=tilt, evaluations=20)
    assert result.feasible == "certified" and 0.6 < result.decision[0] <= 0.7 + 1e-9
    known = result.constraints["tilt"]
    assert known.lowest[0] >= -0.5 and known.highest[1] <= 0.5
    between = f"between {known.lowest[0]:.5g} and {known.highest[1]:.5g}"
    assert f"tilt stays {between} (limits -0.5 and 0.5, margin" in str(result)
    seen = result.evaluations
    assert sum(e.value is None for e in seen) == 3 and sum("tilt" in (e.measured or {}) for e in seen) == 10
    assert not result.errors
    again = so.assess(seen, grid, so.Ball(0.05), constraints=tilt)
    assert again.feasible == "certified" and again.decision == result.decision
    said = re.findall(r"\[(0\.\d+)\]: .*, (breaks a limit|keeps all limits)", str(again))
    assert said and all((float(x) <= 0.7) == (word == "keeps all limits") for x, word in said)


@pytest.mark.parametrize("broken", [True, False])
def test_a_run_leaves_where_a_limit_cannot_be_measured(broken):
    """The best values are where the stress has no value: the run finds the best design that can be known to keep it.

    The control has as many values missing, anywhere: then the best decision is found as without.
    """
    count = itertools.count()

    def f(point):
        x = float(point[0])
        missing = x >= 0.5 if broken else next(count) % 3 == 1
        return {"value": -((x - 0.8) ** 2), "stress": None if missing else x}

    limits = {"stress": (None, 0.45)}
    result = so.maximize(f, [(0, 1)], 0.1, constraints=limits, evaluations=16)
    assert result.feasible == "certified" and 0.33 <= result.decision[0] <= 0.35 + 1e-6
    assert not broken or sum(float(e.point[0]) >= 0.5 for e in result.evaluations) <= 10


def test_where_no_decision_keeps_the_limits_the_answer_says_so():
    grid = so.Grid.linspace([0.3, 0.3], [1.2, 1.2], [19, 19])
    hopeless = so.minimize(
        truss, grid, so.Rectangle(EPS), value="weight", constraints={"stress": (None, 0.5)}, evaluations=16
    )
    assert hopeless.feasible == "impossible" and "impossible: no decision can keep all limits" in str(hopeless)
    assert math.isnan(hopeless.optimum_bound) and "optimum" not in str(hopeless)
    assert "stress goes above 0.5 (limit 0.5)" in str(hopeless)


@pytest.mark.usefixtures("quick")
def test_a_target_counts_only_for_a_certified_decision(found):
    seen = []
    result = lightest(evaluations=17, target=1e9, data=found.evaluations[:7], callback=seen.append)
    assert result.stopped == "target" and result.feasible == "certified"
    assert seen[0].feasible != "certified"
    # Nor does one count where a model that was learned is in doubt.
    assert not any(earlier.feasible == "certified" and earlier.healths["stress"].trusted for earlier in seen[:-1])


def test_a_campaign_goes_on_from_its_file_and_predicts_constraints(tmp_path):
    file = tmp_path / "truss.db"
    words = {"value": "weight", "constraints": TRUSS}
    grid, tolerance = so.Grid.linspace([0.3, 0.3], [1.2, 1.2], [19, 19]), so.Rectangle(EPS)
    found = so.minimize(truss, grid, tolerance, **words, evaluations=8, file=file, workers="threads")
    campaign = so.Campaign.open(file)
    assert campaign.counts["done"] == 8 and campaign.result.feasible == found.feasible
    assert np.array_equal(
        so.Campaign(grid, tolerance, file=file, minimize=True, **words).result.decision, found.decision
    )
    point = [0.8, 0.5]
    mean, std = campaign.predict(point, of="stress")
    assert abs(mean - stress(0.8, 0.5)) <= 4 * std + 0.05 and campaign.predict(point, of="weight") == campaign.predict(
        point
    )
    known = campaign.bounds(point, of="stress")
    assert known.highest[0] <= known.highest[1] and campaign.bounds([point], of="stress")[0].name == "stress"
    with pytest.raises(ValueError, match="expected the name of the value or of a constraint"):
        campaign.predict(point, of="strain")
    campaign.change(constraints={"stress": (None, 0.5)})
    assert campaign.result.constraints["stress"].margin[0] < found.constraints["stress"].margin[0]


@pytest.mark.usefixtures("quick")
def test_a_constraint_that_was_never_measured_is_said(found):
    campaign = so.Campaign(
        {"x": (0.0, 1.0)},
        0.1,
        constraints={"stress": (None, 1.0)},
        data={"x": [0.2, 0.5, 0.9], "value": [1.0, 2.0, 1.5], "stress": [None] * 3},
    )
    assert campaign.result.feasible == "unknown"
    assert "stress was never measured (limit 1)" in str(campaign.result)
    with pytest.raises(ValueError, match="nothing is known of stress yet"):
        campaign.predict({"x": 0.5}, of="stress")


def test_a_broken_limit_is_named_with_its_side():
    limit = Limit("tilt", -2.0, 2.0)
    known = type(
        "Known", (), {"lowest": (-3.0, -2.5), "highest": (1.0, 1.5), "point": {"x": 0.5}, "margin": (-1.0, -0.5)}
    )
    assert sentence(limit, known) == "tilt goes below -2 (limits -2 and 2), by 0.5 or more, worst at x = 0.5"
    known.lowest, known.highest, known.margin = (-1.0, -0.5), (1.5, 2.5), (-0.5, 0.5)
    assert (
        sentence(limit, known)
        == "tilt may go above 2 (limits -2 and 2): its worst value is between 1.5 and 2.5, worst at x = 0.5"
    )


def growing(beyond):
    """A stress that can be measured up to 0.6, and is something else beyond."""
    return lambda x: {"v": float(x[0]), "s": 1 + float(x[0]) if x[0] <= 0.6 else beyond}


LINE = {"value": "v", "constraints": {"s": (None, 5.0)}, "evaluations": 12, "seed": 0}


def test_an_infinite_quantity_is_a_failure_and_nothing_unknown():
    found = so.maximize(growing(math.inf), so.Grid.linspace(0, 1, 41), 0.05, **LINE)
    assert found.errors and all("s inf" in error for error in found.errors)
    assert found.decision[0] + 0.05 <= 0.61 and all(e.value is None for e in found.evaluations if e.point[0] > 0.61)
    rows = [{"x": 0.1, "v": 1.0, "s": 2.0}, {"x": 0.9, "v": 1.0, "s": math.inf}]
    known = so.assess(rows, {"x": (0, 1)}, 0.05, value="v", constraints=LINE["constraints"]).evaluations
    assert [e.value for e in known] == [1.0, None]


def test_a_place_where_a_quantity_cannot_be_measured_is_left_and_the_answer_says_how_often_it_was():
    found = so.maximize(growing(None), so.Grid.linspace(0, 1, 41), 0.05, **LINE)
    places = [e.point[0] for e in found.evaluations if "s" not in (e.measured or {})]
    assert places and max(map(places.count, places)) <= 2
    assert f"s was measured in {12 - len(places)} of 12 evaluations" in str(found)
    found = so.maximize(lambda x: {"v": growing(None)(x)["s"], "s": 1.0}, so.Grid.linspace(0, 1, 41), 0.05, **LINE)
    places = [e.point[0] for e in found.evaluations if e.value is None]
    assert places and max(map(places.count, places)) <= 2


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("ranges", [so.Grid.linspace([0, 0], [1, 1], [11, 11]), [(0, 1), (0, 1)]])
def test_where_nothing_is_possible_the_decision_is_the_one_that_comes_closest(ranges):
    def f(x):
        return float(x[0]), {"s": float(10 * (x[0] + x[1]))}

    found = so.maximize(f, ranges, 0.1, constraints={"s": (None, 1.0)}, evaluations=10, seed=0)
    assert found.feasible == "impossible" and np.allclose(found.decision, 0.0, atol=0.02)


def test_a_decision_that_breaks_a_limit_is_not_called_the_likeliest(found):
    margin = found.constraints["stress"]._replace(margin=(-2.0, -1.0), highest=(3.0, 4.0))
    broken = SimpleNamespace(feasible="unknown", state=found.state, healths={}, constraints={"stress": margin})
    assert "breaks a limit, but others may keep all of them" in dict(kept.lines(broken))["limits"]


@pytest.mark.usefixtures("quick")
def test_contenders_are_those_that_may_keep_all_limits_in_every_corner():
    def f(point):
        return {"v": (np.log(point["k"]) - 0.5) ** 2 + (point["t"] - 2) ** 2, "s": point["k"] * point["t"]}

    ranges, tolerance = {"k": so.Float(0.1, 10, log=True), "t": (0.0, 5.0)}, {"k": "10%", "t": (-0.1, 0.4)}
    space, words = so.Space(ranges), {"value": "v", "constraints": {"s": (None, 2.0)}}
    known = [point | f(point) for point in map(space.decode, space.spread(14, seed=0))]
    found = so.minimize(f, ranges, tolerance, **words, data=known, evaluations=0)
    contenders = found.done().prospects.decisions[1:]
    assert len(contenders) and found.state.limits.smallest_of(contenders, "upper").min() >= 0


@pytest.mark.thorough
@pytest.mark.usefixtures("quick")
def test_what_hardly_can_keep_a_limit_is_not_chosen_for_being_unknown():
    """10/(a b) is at least 1.1, and must be at most ½: of all decisions, (3, 3) comes closest."""
    rng = np.random.default_rng(1)

    def f(point):
        return {"cost": point["a"] ** 2 + point["b"], "stress": 10 / (point["a"] * point["b"]) + 0.02 * rng.normal()}

    ranges, tolerance = {"a": (0.5, 3), "b": (0.5, 3)}, {"a": 0.1, "b": 0.1}
    limits = {"stress": (None, 0.5)}
    found = so.minimize(f, ranges, tolerance, value="cost", constraints=limits, evaluations=20, seed=1)
    assert found.feasible in ("unknown", "impossible")
    assert found.decision == pytest.approx({"a": 3.0, "b": 3.0}, abs=0.1)


GRID, GIVEN = so.Grid.linspace(0, 1, 21), so.GP(so.SE(0.2), noise=0.01)


@pytest.mark.parametrize("limits", [(None, 14.0), (5.0, None)])
def test_on_a_list_nothing_is_said_of_what_was_never_measured(limits):
    result = so.maximize(
        lambda x: (math.sin(6 * x[0]), {"s": None}),
        GRID,
        0.05,
        constraints={"s": limits},
        model=GIVEN,
        evaluations=8,
        target=0.1,
    )
    assert result.feasible == "unknown" and result.stopped == "budget" and "never measured" in str(result)
    assert result.constraints["s"].margin == (-math.inf, math.inf)
    assert "may break" in result.compare().words and "robust" not in result.compare().words


def test_a_constraint_that_was_added_later_is_unknown_on_a_list():
    campaign = so.Campaign(GRID, 0.05)
    for x in (0.1, 0.3, 0.5, 0.7, 0.9):
        campaign.tell([x], math.sin(3 * x))
    campaign.change(constraints={"stress": (None, 14.0)})
    assert campaign.result.feasible == "unknown"
    with pytest.raises(ValueError, match="never measured"):
        campaign.predict([0.5], of="stress")


@pytest.mark.parametrize("limit", [{"target": 0.1}, {"stop_when": 0.9}], ids=["target", "confidence"])
def test_a_model_of_a_constraint_that_cannot_be_trusted_stops_nothing(limit):
    seen = []
    result = so.maximize(
        lambda x: (math.sin(6 * x[0]), {"s": 20.0 if 0.28 < x[0] < 0.37 else 0.01 * x[0]}),
        GRID,
        0.05,
        constraints={"s": (None, 14.0)},
        model=GIVEN,
        evaluations=20,
        callback=seen.append,
        **limit,
    )
    assert result.stopped in ("target", "confidence", "budget")
    assert result.stopped == "budget" or result.healths["s"].trusted
    doubtful = [r for r in seen if not r.healths["s"].trusted and r.state.t >= 6]
    assert doubtful and all("if the model were right" in str(r.done()) for r in doubtful)


def test_of_two_limits_the_one_that_is_broken_for_certain_is_named():
    constraint = so.Constraint("c", -1.0, 0.2, model=so.GP(so.SE(0.05), noise=0.01))
    result = so.maximize(
        lambda x: (float(x[0]), {"c": -1.5}), GRID, 0.2, constraints=[constraint], model=GIVEN, evaluations=3
    )
    assert "c goes below -1 " in str(result) and "above 0.2" not in str(result)


@pytest.mark.usefixtures("quick")
def test_what_breaks_a_limit_for_certain_does_so_whatever_else_is_unknown():
    campaign = so.Campaign([(0.0, 1.0)], 0.05, constraints={"s": (None, 1.0), "t": (None, 1.0)})
    for x in (0.1, 0.3, 0.5, 0.7, 0.9, 0.2, 0.4, 0.6, 0.8, 1.0):
        campaign.tell([x], {"value": x, "s": 5 + x})
    compared = campaign.result.compare()
    assert {row.limits for row in compared} == {"breaks a limit"} and "robust" not in compared.words


@pytest.mark.parametrize("values", [[0.003], [0.003, 0.004], [0.003] * 5, [0.0] * 5])
@pytest.mark.parametrize("shift", [0.0, -5.0])
def test_nothing_is_certified_before_a_model_has_seen_how_a_quantity_varies(values, shift):
    campaign = so.Campaign({"x": (0.0, 1.0)}, 0.05, constraints={"s": (None, 2.0 + shift)}, initial=1)
    for i in range(8):
        told = {"s": values[i] + shift} if i < len(values) else {}
        campaign.tell({"x": 0.5 + 0.01 * i}, {"value": 0.5 + 0.01 * i, **told})
    assert campaign.result.feasible in ("likely", "unknown")
    assert "keeps all limits" not in {row.limits for row in campaign.result.compare()}
    given = replace(campaign.ledger.said, constraints=[so.Constraint("s", upper=2.0, model=so.GP(so.SE(5.0), 0.01))])
    campaign = so.Campaign.of(given)  # a model that is given knows how it varies
    campaign.tell({"x": 0.5}, {"value": 0.5, "s": 0.003})
    assert campaign.result.feasible == "certified"


def test_a_campaign_that_knows_only_a_constraint_can_be_looked_at(tmp_path):
    campaign = so.Campaign({"x": (0.0, 1.0)}, 0.05, constraints={"s": (None, 1.0)})
    campaign.tell(campaign.ask(), {"s": 0.4})
    assert "nothing is known yet" in campaign.result._repr_html_()
    page = campaign.report(tmp_path / "page.html").read_text()
    assert "Nothing is known yet" in page and re.search(r"<td[^>]*>0\.4</td>", page), "what was told is in the table"
    with pytest.raises(ValueError, match="nothing to compare yet: tell at least one value first"):
        campaign.result.compare()
