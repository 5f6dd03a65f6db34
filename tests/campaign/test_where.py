"""Promises of where=...: only allowed decisions are asked for and reported, the adversary is as free as before."""

import numpy as np
import pytest
from helpers.cases import extra
from helpers.refusals import refused, table

import stableopt as so
from stableopt.loop import space as search
from stableopt.maxmin.search.allowed import AllowedMaxMin, Ground
from stableopt.maxmin.search.continuous import ContinuousMaxMin
from stableopt.maxmin.spaces.region import SpaceRegion
from stableopt.sets.allowed import Allowed

CUBE = {"a": (0, 1), "b": (0, 1), "c": (0, 1)}


@pytest.fixture(scope="module", autouse=True)
def quick():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "usual_budget", lambda dim, **_: 500)
        yield


class Bowl:
    """Highest at 0.6 in every coordinate; the worst case of x within 0.05 is −Σ(|x − 0.6| + 0.05)²."""

    def __call__(self, Z):
        return -((Z - 0.6) ** 2).sum(axis=1)

    def with_gradient(self, Z):
        return self(Z), -2 * (Z - 0.6)


RULES = {
    "thin": (lambda p: abs(p["a"] + p["b"] + p["c"] - 1) <= 0.01, -3 * (0.6 - 1.01 / 3 + 0.05) ** 2),
    "all": (lambda p: p["a"] >= 0.0, -3 * 0.05**2),
}


@pytest.mark.parametrize("name", ["thin", "all"])
def test_the_search_finds_the_best_allowed_decision(name):
    rule, best = RULES[name]
    space = so.Space(CUBE)
    region = SpaceRegion(space, so.Rectangle(0.05))
    found = AllowedMaxMin(ContinuousMaxMin(region, 4000), Ground(region, Allowed(rule, space), 0)).maximin(Bowl())
    assert rule(space.decode(np.array(found.decision)))
    assert found.value == pytest.approx(best, abs=2e-3)


def test_a_rule_that_takes_no_arrays_is_asked_one_by_one():
    space = so.Space(CUBE)
    rows = space.spread(50, 1)
    chained = Allowed(lambda p: 0.2 < p["a"] < 0.8 and p["b"] < 0.5, space)
    plain = Allowed(lambda p: (p["a"] > 0.2) & (p["a"] < 0.8) & (p["b"] < 0.5), space)
    expected = [bool(0.2 < a < 0.8 and b < 0.5) for a, b, _ in rows]
    assert chained(rows).tolist() == plain(rows).tolist() == expected


def test_on_a_list_forbidden_decisions_are_masked_and_points_are_not():
    grid = so.Grid.linspace(0, 1, 21)
    f = lambda x: -abs(float(x[0]) - 0.5)  # noqa: E731
    result = so.maximize(f, grid, so.Ball(0.1), where=lambda x: x[0] >= 0.7, evaluations=8)
    assert result.decision[0] == pytest.approx(0.7)
    assert result.worst_case.point[0] == pytest.approx(0.8)
    measured = [float(e.point[0]) for e in result.evaluations]
    assert min(measured) >= 0.6 - 1e-9


def test_in_a_space_every_decision_is_allowed_and_a_file_needs_the_rule_again(tmp_path):
    file = tmp_path / "a.db"
    ranges = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
    f = lambda p: p["a"] + p["b"]  # noqa: E731
    result = so.maximize(f, ranges, 0.05, where=on_the_line, evaluations=8, file=file)
    assert on_the_line(result.decision)
    assert all(e.decision is None or on_the_line(e.decision) for e in result.evaluations)
    refused(lambda: so.Campaign.open(file), ValueError, "on_the_line", "pass functions=")
    again = so.Campaign.open(file, functions={"on_the_line": on_the_line})
    assert again.result.decision == result.decision
    text = result.optimizer.to_json()
    replayed = so.Optimizer.from_json(text, functions={"on_the_line": on_the_line})
    assert replayed.report().decision == result.decision


def on_the_line(point):
    return abs(point["a"] + point["b"] - 1) <= 0.02


def broken(point):
    raise KeyError("z")


@table(
    [
        ("raises", broken, ValueError, "expected where=... to return True or False", "KeyError"),
        ("no boolean", lambda p: 1.0, ValueError, "expected where=... to return True or False", "got 1.0"),
        ("an equation", lambda p: p["a"] + p["b"] == 1.0, ValueError, "got none among", "abs(a + b - 1) <= 0.01"),
        ("no function", "a < b", TypeError, "expected where=... as a function"),
    ]
)  # fmt: skip
def test_rules_that_cannot_be_meant_are_refused(call, error, words):
    refused(lambda: so.Campaign({"a": (0.0, 1.0), "b": (0.1, 0.95)}, 0.05, where=call), error, *words)


def test_rules_on_a_list_that_cannot_be_meant_are_refused():
    grid = so.Grid.linspace(0, 1, 11)
    refused(lambda: so.Campaign(grid, so.Ball(0.1), where=lambda x: bool(x[0] > 2)), ValueError, "got none among 11")
    refused(lambda: so.Campaign(grid, so.Ball(0.1), where=lambda x: "yes"), ValueError, "got 'yes'")


def test_whole_numbers_are_allowed_or_not():
    """Of n = 1 to 5 as much as possible, but 4 x must leave room for it: 4, at x = 0.25."""

    class Slope:
        def __call__(self, Z):
            return 1 + 4 * Z[:, 0] - (Z[:, 1] - 0.4) ** 2

        def with_gradient(self, Z):
            return self(Z), np.column_stack([np.full(len(Z), 4.0), -2 * (Z[:, 1] - 0.4)])

    space = so.Space({"n": so.Integer(1, 5), "x": (0.0, 1.0)})
    region = SpaceRegion(space, so.Rectangle(0.05, columns=[1]))
    ground = Ground(region, Allowed(lambda p: p["n"] + 4 * p["x"] <= 5, space), 0)
    found = AllowedMaxMin(ContinuousMaxMin(region, 2000), ground).maximin(Slope())
    assert space.decode(np.array(found.decision)) == pytest.approx({"n": 4, "x": 0.25}, abs=1e-3)
    assert found.value == pytest.approx(4 - 0.2**2, abs=1e-3)


def left(p):
    return p["x"] <= 0.4


def right(p):
    return p["x"] >= 0.6


def test_another_rule_for_a_file_counts_from_now_on_and_may_not_have_the_name_of_the_one_before(tmp_path):
    plain = {"ranges": {"x": (0.0, 1.0)}, "tolerance": 0.02, "initial": 2}
    campaign = so.Campaign(**plain, where=left, file=tmp_path / "a.db")
    elsewhere = so.Campaign.open(tmp_path / "a.db", functions={"left": left})
    for _ in range(3):
        trial = campaign.ask()
        campaign.tell(trial, float(np.sin(3 * trial.point["x"])))
    trial = campaign.ask()
    campaign.change(where=right)
    assert campaign.tell(trial, 0.9).status == "done"
    assert campaign.result.decision["x"] >= 0.6 and campaign.ask().decision["x"] >= 0.6
    with pytest.raises(ValueError, match=r"pass functions=.'right'"):  # not what it was before, without a remark
        _ = elsewhere.result

    def another(p):
        return p["x"] <= 0.5

    another.__qualname__ = "right"
    campaign.change(where=lambda p: p["x"] >= 0.7)
    for rule in (another, lambda p: p["x"] <= 0.5):
        with pytest.raises(TypeError, match="use def, with a name that no other one has or had"):
            campaign.change(where=rule)
    assert campaign.ask().decision["x"] >= 0.7  # what is refused changes nothing
    campaign.change(where=right)
    numbers = [t["trial"] for t in campaign.trials]
    campaign.close()
    for again in (
        so.Campaign.open(tmp_path / "a.db", functions={"right": right}),  # rules of the past are not asked for
        so.Campaign(**plain, where=right, file=tmp_path / "a.db"),
    ):
        assert [t["trial"] for t in again.trials] == numbers and again.result.decision["x"] >= 0.6
        again.close()


def test_another_set_of_ones_own_for_a_file_counts_from_now_on(tmp_path):
    def near(x, z):
        return np.abs(x - z).max() <= 0.05

    def into(x, z):
        return np.clip(z, x - 0.05, x + 0.05)

    campaign = so.Campaign({"x": (0.0, 1.0)}, 0.02, initial=2, file=tmp_path / "a.db")
    for x in (0.2, 0.7):
        campaign.tell({"x": x}, x)
    campaign.change(tolerance=so.Within(near, into))
    assert campaign.ask().point and campaign.result.optimizer.uncertainty == so.Within(near, into)
    campaign.close()


def test_functions_of_one_name_are_refused_where_a_run_is_written(tmp_path):
    """Of a rule and of a set: each alone could be written."""

    def near(x, z):
        return np.abs(x - z).max() <= 0.05

    ranges, model, own = {"x": (0.0, 1.0)}, so.GP(so.SE(0.3), noise=0.1), lambda x, z: np.clip(z, x - 0.05, x + 0.05)
    for rule, good in ((left, True), (lambda p: p["x"] < 0.5, False)):
        optimizer = so.Optimizer(so.Space(ranges), so.Within(near, own), model, where=rule)
        if good:
            known = {"left": left, near.__qualname__: near, own.__qualname__: own}
            assert so.Optimizer.from_json(optimizer.to_json(), known).to_json() == optimizer.to_json()
            continue
        with pytest.raises(TypeError, match="use def"):
            optimizer.to_json()
        with pytest.raises(TypeError, match="use def"):
            so.Campaign(ranges, so.Within(near, own), where=rule, file=tmp_path / "a.db")
        assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize("ranges", [{"x": (0.0, 1.0)}, so.Grid.linspace(0, 1, 41)])
def test_what_could_be_better_is_about_allowed_decisions(ranges):
    def first(point):
        return float(point["x"] if isinstance(point, dict) else point[0])

    found = so.maximize(first, ranges, 0.05, where=lambda d: bool(first(d) <= 0.301), evaluations=10, seed=0)
    assert found.regret_bound < 0.03 and found.optimum_bound < 0.29  # the best of all would reach 0.95
    assert all(first(contender.decision) <= 0.301 for contender in found.done().contenders)
    assert found.done().probability > 0.9


def test_contenders_fill_what_a_thin_rule_allows():
    def f(point):
        return float(np.sin(7 * point["a"]) + point["b"] * point["c"])

    found = so.maximize(f, CUBE, 0.05, where=RULES["thin"][0], evaluations=8, seed=0)
    decisions = np.array([list(c.decision.values()) for c in found.done().contenders])
    assert len(decisions) > 8 and np.ptp(decisions, axis=0).min() > 0.3
    assert all(RULES["thin"][0](dict(zip(CUBE, d, strict=True))) for d in decisions.tolist())


FULL = {"list": so.Grid.linspace(0, 1, 21), "space": so.Space([(0.0, 1.0)])}
USUAL = ("StableOpt", "Stable-GP-Random")  # the others are tried on the list


@pytest.mark.parametrize(
    ("algorithm", "where"),
    [extra(a, w) if w == "space" and a not in USUAL else (a, w) for a in so.ALGORITHMS for w in FULL],
)
def test_no_algorithm_asks_for_or_reports_what_is_not_allowed(algorithm, where):
    """f rises, so that all of them would like to go where they must not."""
    domain = FULL[where]
    model = so.GP(so.SE(0.2), noise=0.05)
    optimizer = so.Optimizer(domain, so.Ball(0.05), model, where=lambda d: d[0] <= 0.35, algorithm=algorithm, seed=0)
    for _ in range(3):
        for query in optimizer.ask(4):
            assert query.decision[0] <= 0.35
            optimizer.tell(query, float(query.point[0]))
    known = optimizer.report()
    assert known.decision[0] <= 0.35 and known.lower <= known.upper <= known.optimum_upper + 1e-9


def test_workers_of_a_short_list_get_allowed_decisions():
    optimizer = so.Optimizer(
        so.Grid.linspace(0, 1, 11), so.Ball(0.1), so.GP(so.SE(0.2), 0.05), where=lambda d: d[0] < 0.35
    )
    optimizer.tell([[0.1], [0.3]], [0.0, 1.0])
    assert all(query.decision[0] < 0.35 for query in optimizer.ask(8))


def test_past_decisions_that_are_not_allowed_are_left_out_and_counted():
    x = np.linspace(0, 1, 11)
    data = {"x": x, "value": x}
    some = so.assess(data, {"x": (0, 1)}, {"x": 0.02}, where=lambda d: d["x"] <= 0.45)
    assert [d["x"] for d, _, _ in some.decisions] == pytest.approx([0.4, 0.3, 0.2, 0.1, 0.0])
    assert "5 decisions (6 that where=... does not allow left out)" in str(some)
    none = so.assess(data, {"x": (0, 1)}, {"x": 0.02}, where=lambda d: 0.41 <= d["x"] <= 0.49)
    assert none.decisions == [] and 0.41 <= none.decision["x"] <= 0.49


def test_random_points_are_uniform_where_they_are_allowed():
    domain, model = so.Space([(0.0, 1.0)] * 2), so.GP(so.SE(0.2), noise=0.05)
    optimizer = so.Optimizer(domain, so.Ball(0.05), model, where=lambda d: d[0] + d[1] <= 1)
    setting, rng = optimizer.state.setting, np.random.default_rng(0)
    Z = np.array([setting.random(rng) for _ in range(400)])
    assert len(np.unique(Z, axis=0)) == 400, "any point, not one of some that were found before"
    assert (Z.sum(axis=1) <= 1).all()
    assert np.abs(Z.mean(axis=0) - 1 / 3).max() < 4 * (1 / 18 / 400) ** 0.5, "four standard errors"


@pytest.mark.parametrize(
    "rule",
    [
        lambda x: x[0] <= 0.98 * x.sum(),
        lambda x: x[0] <= 0.98 * np.sum([x[0], x[1]]),
        lambda x: ~(x[0] > 0.98 * np.sum(x)),
    ],
    ids=["sum", "list", "not"],
)
def test_a_rule_with_a_sum_over_all_it_gets_is_asked_one_by_one(rule):
    """At most 98 % of a mixture: all at once, the sum would be that over all decisions."""
    space = so.Space([(0.0, 1.0), (0.0, 1.0)])
    rows = np.vstack([space.spread(64, 0), [[1.0, 0.0], [1.0, 0.01], [1.0, 0.03]]])
    assert Allowed(rule, space)(rows).tolist() == [bool(rule(x)) for x in rows]
    assert Allowed(lambda x: x[0] <= 0.98 * (x[0] + x[1]), space)._takes_arrays, "most rules are asked all at once"
    model = so.GP(so.SE([0.5, 0.5]), 0.05)
    words = {"where": rule, "model": model, "evaluations": 4}
    assert rule(so.maximize(lambda x: float(x[0] - 3 * x[1]), space, so.Rectangle(0.02), **words).decision)
