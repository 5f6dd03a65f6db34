"""Promises of constraints: the rules are their formulas in every setting, and what is called certified is feasible.

The reference has dense linear algebra and lists: a posterior per quantity, from the rounds in which it was measured.
"""

import json
import math

import numpy as np
import pytest
from helpers.adversaries import adversary
from helpers.cases import extra
from helpers.refusals import refused, table
from helpers.settings import SETTINGS, objective

from stableopt import GP, SE, Algorithm, Ball, Constraint, Grid, Learned, Measurement, Optimizer, Space
from stableopt.loop import BayesianFinite, BestIntersected, BestOfAll, OptimisticPessimistic, play
from stableopt.theory import sample_prior

SAFE = Algorithm("StableOpt", OptimisticPessimistic(), BestOfAll())


def stress(z):
    return math.cos(3 * z[0]) + z[-1]


def strain(z):
    return math.sin(4 * z[-1]) - z[0]


def run(name, rounds=12, **options):
    """An optimiser after some rounds, in which now and then something was not measured."""
    domain, uncertainty = SETTINGS[name]
    constraints = [
        Constraint("stress", upper=1.1, model=GP(SE(0.5), noise=0.1)),
        Constraint("strain", lower=-1.2, upper=0.9, model=GP(2.0 * SE(0.4), noise=0.2)),
    ]
    gp = GP(SE(0.4), noise=0.1)
    optimizer = Optimizer(domain, uncertainty, gp, algorithm=SAFE, constraints=constraints, **options)
    for t in range(rounds):
        query = optimizer.ask()
        z = query.point
        measured = {"stress": stress(z) if t % 3 else None, "strain": strain(z) if t % 4 else math.nan}
        optimizer.tell(query, objective(z) if t % 5 != 4 else None, measured=measured)
    return optimizer


class Reference:
    """Bounds of every quantity on all points, and of every decision, from the definitions."""

    def __init__(self, optimizer):
        listing = optimizer.state.setting.translation
        self.Z = np.array([listing.point(i) for i in range(listing.solver.n_points)])
        self.sets = adversary(optimizer.domain, optimizer.uncertainty)
        self.places = [r.point_index for r in optimizer.rounds]
        self.f = self.posterior(optimizer.gp, [r.y for r in optimizer.rounds])
        self.limits = []
        for k in optimizer.constraints:
            y = [(r.measured or {}).get(k.name, math.nan) for r in optimizer.rounds]
            mean, std = self.posterior(k.model, y)
            scale = math.sqrt(float(k.model.kernel.diag(self.Z[:1])[0]))
            for sign, limit in ((1, k.lower), (-1, k.upper)):
                if limit is not None:
                    self.limits.append((k.name, sign * (mean - limit) / scale, std / scale))

    def posterior(self, gp, y):
        known = [i for i, value in enumerate(y) if not math.isnan(value)]
        X, y = self.Z[[self.places[i] for i in known]], np.array(y)[known]
        K = gp.kernel(X, X) + gp.noise**2 * np.eye(len(X))
        cross = gp.kernel(self.Z, X)
        variance = gp.kernel.diag(self.Z) - np.einsum("ij,ij->i", cross, np.linalg.solve(K, cross.T).T)
        return cross @ np.linalg.solve(K, y), np.sqrt(np.maximum(variance, 0))

    def bound(self, which, c):
        mean, std = which
        return mean + c * std

    def minima(self, values):
        return np.array([values[members].min() for members in self.sets])

    def best(self, c):
        """The best decision with bounds c standard deviations off, and its smallest margin."""
        f = self.minima(self.bound(self.f, c))
        margins = np.min([self.minima(mean + c * std) for _, mean, std in self.limits], axis=0)
        feasible = np.flatnonzero(margins >= 0)
        return int(feasible[np.argmax(f[feasible])]) if len(feasible) else int(np.argmax(margins)), f, margins

    def reached(self, guaranteed=None):
        """The best worst-case ucb of decisions that may keep all limits, one of them for certain; −∞ without any."""
        signs = [-1 if k == guaranteed else 1 for k in range(len(self.limits))]
        limits = zip(self.limits, signs, strict=True)
        margins = np.min([self.minima(mean + 2 * sign * std) for (_, mean, std), sign in limits], axis=0)
        return self.minima(self.bound(self.f, 2.0))[margins >= 0].max(initial=-np.inf)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_rules_are_their_formulas_in_every_setting(name):
    optimizer = run(name)
    reference, state, report = Reference(optimizer), optimizer.state, optimizer.report()
    optimistic, f, margins = reference.best(2.0)
    assert state.optimistic.decision == optimistic
    assert state.optimistic.margin == pytest.approx(margins[optimistic], abs=1e-8)
    members = np.array(reference.sets[optimistic])

    def lowest(mean, std):
        point = int(members[np.argmin((mean - 2 * std)[members])])
        return point, float((mean - 2 * std)[point]), float(std[point])

    places = [lowest(mean, std) for _, mean, std in reference.limits]
    if margins[optimistic] < 0:
        expected = min(places, key=lambda place: place[1])[0]
    else:
        own, best = lowest(*reference.f), reference.reached()
        ucb, lcb = (reference.minima(reference.bound(reference.f, c)) for c in (2.0, -2.0))
        priced = [(best - ucb[np.argmax(np.where(margins >= 0, lcb, -np.inf))], 0.0, own[0])]
        for k, (point, lower, width) in enumerate(places):
            if lower < 0:
                priced.append((best - reference.reached(k), width, point))
        expected = max(priced)[2]
    assert optimizer.ask().point_index == expected

    safest, guaranteed, sure = reference.best(-2.0)
    if sure[safest] >= 0:
        assert (report.decision_index, report.feasible) == (safest, "certified")
        assert report.lower == pytest.approx(guaranteed[safest], abs=1e-8)
    elif margins[optimistic] < 0:
        assert report.feasible == "impossible"
    else:
        scores = [mean / (2 * std + 1e-3) for _, mean, std in reference.limits]
        joint = np.min([reference.minima(score) for score in scores], axis=0)
        assert joint[report.decision_index] == pytest.approx(joint.max(), abs=1e-8)
        means = min(reference.minima(mean)[report.decision_index] for _, mean, _ in reference.limits)
        assert report.feasible == ("likely" if means >= 0 else "unknown")
    if margins[optimistic] >= 0:
        assert report.optimum_upper == pytest.approx(f[optimistic], abs=1e-8)
    else:
        assert math.isnan(report.optimum_upper)


def test_the_margins_of_a_report_are_in_the_users_units():
    optimizer = run("ball on a grid", 15)
    report, reference = optimizer.report(), Reference(optimizer)
    members = np.array(reference.sets[report.decision_index])
    y = [(r.measured or {}).get("strain", math.nan) for r in optimizer.rounds]
    mean, std = (part[members] for part in reference.posterior(optimizer.constraints[1].model, y))
    strain = report.constraints[1]
    assert strain.name == "strain"
    assert strain.lowest == pytest.approx(((mean - 2 * std).min(), (mean + 2 * std).min()), abs=1e-8)
    assert strain.highest == pytest.approx(((mean - 2 * std).max(), (mean + 2 * std).max()), abs=1e-8)
    lower = min(strain.lowest[0] + 1.2, 0.9 - strain.highest[1])
    upper = min(strain.lowest[1] + 1.2, 0.9 - strain.highest[0])
    assert strain.margin == pytest.approx((lower, upper), abs=1e-8)
    at = int(np.argmin(np.minimum(mean - 2 * std + 1.2, 0.9 - mean - 2 * std)))
    assert strain.point.tolist() == reference.Z[members[at]].tolist()
    assert all(math.isnan(v) for v in report.constraints[0].lowest), "stress has no lower limit"


def test_what_was_not_measured_is_not_learned():
    """A quantity knows the rounds in which it was measured, whatever was told of the others."""
    grid, gp = Grid.linspace(0, 1, 11), GP(SE(0.3), noise=0.1)
    optimizer = Optimizer(grid, Ball(0.1), gp, constraints=[Constraint("h", lower=0.0, model=gp)])
    optimizer.tell([0.2], 1.0)
    optimizer.tell([0.4], None, measured={"h": 2.0})
    optimizer.tell([0.6], 3.0, measured={"h": None})
    optimizer.tell([0.8], None)
    optimizer.tell([[0.1], [0.3]], [5.0, None], measured={"h": [math.nan, 6.0]})
    state = optimizer.state
    assert [r.measured for r in optimizer.rounds] == [None, {"h": 2.0}, None, None, {"h": 6.0}]
    assert [r.point.tolist() for r in optimizer.failures] == [[0.8]], "only where nothing was measured"
    points = np.array([2, 5, 8])
    for view, X, y in (
        (state.posterior, [[0.2], [0.6], [0.1]], [1.0, 3.0, 5.0]),
        (state.constraints[0].output.posterior, [[0.4], [0.3]], [2.0, 6.0]),
    ):
        mean, variance = gp.condition(X, y)(grid.points[points])
        assert view.moments(points)[0] == pytest.approx(mean)
        assert view.moments(points)[1] == pytest.approx(variance)


def test_rows_of_data_carry_what_was_measured():
    grid, gp = Grid.linspace(0, 1, 11), GP(SE(0.3), noise=0.1)
    one, two = (Optimizer(grid, Ball(0.1), gp, constraints=[Constraint("h", lower=0.0, model=gp)]) for _ in range(2))
    one.tell_all([Measurement([0.2], 1.0, measured={"h": 3.0}), Measurement([0.5], 2.0)])
    two.tell([[0.2], [0.5]], [1.0, 2.0], measured={"h": [3.0, None]})
    assert one.to_json() == two.to_json()


# --------------------------------------------------------------------------------------------------------------- spaces


def test_in_a_space_as_on_a_fine_list():
    """The same data, told to both: bounds, words and decisions agree up to the steps of the list."""
    models = {"model": GP(SE(0.4), noise=0.05)}
    constraints = [Constraint("a", upper=1.1, **models), Constraint("b", lower=-0.6, upper=0.5, **models)]
    points = np.random.default_rng(1).uniform(0, 1, (14, 2)).round(2)
    reports = []
    for domain in (Grid.linspace([0, 0], [1, 1], [101, 101]), Space([(0.0, 1.0)] * 2)):
        optimizer = Optimizer(
            domain, Ball(0.1), GP(SE(0.3), noise=0.05), algorithm=SAFE, constraints=constraints, initial=1
        )
        measured = {"a": points.sum(axis=1).tolist(), "b": (points[:, 1] - 0.3).tolist()}
        optimizer.tell(points, np.sin(5 * points[:, 0]) + points[:, 1], measured=measured)
        reports.append((optimizer.report(), optimizer.state.optimistic))
    (dense, high), (found, optimistic) = reports
    assert found.feasible == dense.feasible == "certified"
    assert dense.lower - 1e-3 <= found.lower <= dense.lower + 0.05
    assert found.optimum_upper == pytest.approx(dense.optimum_upper, abs=0.05)
    assert optimistic.value == pytest.approx(high.value, abs=0.05)
    assert all(m.margin[0] >= 0 for m in found.constraints)


def test_in_a_space_a_quantity_that_was_never_measured_is_unknown():
    space, gp = Space({"x": (0.0, 1.0)}), GP(SE(0.3), noise=0.1)
    optimizer = Optimizer(space, Ball(0.1), gp, constraints=[Constraint("h", lower=0.0, model=gp)])
    optimizer.tell({"x": 0.4}, 1.0)
    report = optimizer.report()
    assert report.feasible == "unknown"
    assert report.constraints[0].margin == (-math.inf, math.inf)
    optimizer.tell({"x": 0.6}, None, measured={"h": 3.0})
    assert optimizer.report().feasible in ("likely", "certified")


def test_a_value_that_was_never_measured_cannot_be_reported():
    space, gp = Space({"x": (0.0, 1.0)}), GP(SE(0.3), noise=0.1)
    optimizer = Optimizer(space, Ball(0.1), gp, constraints=[Constraint("h", lower=0.0, model=gp)])
    optimizer.tell(optimizer.ask(), None, measured={"h": 1.0})
    refused(optimizer.report, ValueError, "nothing to report yet")
    assert optimizer.ask().point != optimizer.rounds[0].point, "the design goes on"


def test_where_no_decision_can_be_feasible_the_word_is_impossible():
    for domain in (Grid.linspace(0, 1, 21), Space([(0.0, 1.0)])):
        constraint = Constraint("h", lower=9.0, model=GP(SE(0.5), noise=0.1))
        optimizer = Optimizer(domain, Ball(0.1), GP(SE(0.3), noise=0.1), constraints=[constraint])
        for x in (0.1, 0.5, 0.9):
            optimizer.tell([x], 1.0, measured={"h": x})
        report = optimizer.report()
        assert (report.feasible, math.isnan(report.optimum_upper)) == ("impossible", True)
        assert "no decision keeps all limits" in str(report)


# ------------------------------------------------------------------------------------------------------------ certified


def test_what_is_certified_is_feasible():
    """Functions from the priors, on a list, with a valid β for ξ = 0.1: at most 4 of 40 runs say something wrong."""
    grid, kernels = Grid.linspace(0, 1, 41), (SE(0.15), SE(0.2))
    wrong = certified = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        f, h = (sample_prior(GP(kernel, 0.05), grid.blocks, 1, rng)[0] for kernel in kernels)
        constraint = Constraint("h", lower=0.2, upper=1.5, model=GP(kernels[1], noise=0.05))
        beta = BayesianFinite(len(grid), 0.1)
        optimizer = Optimizer(
            grid, Ball(0.06), GP(kernels[0], noise=0.05), beta=beta, explore=4.0, constraints=[constraint]
        )
        for _ in range(15):
            query = optimizer.ask()
            noise = 0.05 * rng.normal(size=2)
            i = query.point_index
            optimizer.tell(query, f[i] + noise[0], measured={"h": h[i] + noise[1]})
        report, sets = optimizer.report(), adversary(grid, Ball(0.06))
        feasible = [d for d in range(41) if h[sets[d]].min() >= 0.2 and h[sets[d]].max() <= 1.5]
        certified += report.feasible == "certified"
        wrong += report.feasible == "certified" and report.decision_index not in feasible
        wrong += report.feasible == "impossible" and bool(feasible)
        if report.feasible != "impossible" and feasible:
            wrong += max(f[sets[d]].min() for d in feasible) > report.optimum_upper
    assert certified >= 10, "the check would find nothing"
    assert wrong <= 4


def test_a_schedule_that_certifies_shares_its_probability():
    schedule = BayesianFinite(100, 0.1)
    constraint = Constraint("h", lower=0.0, model=GP(SE(0.3), noise=0.1))
    optimizer = Optimizer(
        Grid.linspace(0, 1, 11), Ball(0.1), GP(SE(0.3), noise=0.1), beta=schedule, constraints=[constraint]
    )
    assert optimizer.beta == BayesianFinite(100, 0.05).beta(1)
    assert schedule.shared(1) is schedule


# --------------------------------------------------------------------------------------------------------------- stored


@pytest.mark.parametrize(("learned", "space"), [(False, False), (True, False), extra(False, True), (True, True)])
def test_a_run_is_written_and_read_back(learned, space):
    domain = Space({"x": (0.0, 1.0)}) if space else Grid.linspace(0, 1, 21)
    gp = None if learned else GP(SE(0.3), noise=0.1)
    constraint = Constraint("h", upper=0.8, model=gp, noise=0.1 if learned else None)
    optimizer = Optimizer(domain, Ball(0.05), gp, constraints=[constraint])
    for t in range(6):
        query = optimizer.ask()
        x = query.point["x"] if space else query.point[0]
        value = None if t == 4 else math.sin(5 * x)
        optimizer.tell(query, value, measured={"h": x if t != 1 else None} if t != 2 else None)
    text = optimizer.to_json()
    again = Optimizer.from_json(text)
    assert again.to_json() == text
    assert again.ask().point_index == optimizer.ask().point_index
    mine, other = again.report(), optimizer.report()
    assert (mine.decision_index, mine.lower, mine.feasible) == (other.decision_index, other.lower, other.feasible)
    assert [m.margin for m in mine.constraints] == [m.margin for m in other.constraints]


def test_a_run_without_constraints_is_written_as_before():
    optimizer = Optimizer(Grid.linspace(0, 1, 11), Ball(0.1), GP(SE(0.3), noise=0.1))
    optimizer.tell([0.2], 1.0)
    written = json.loads(optimizer.to_json())
    assert "constraints" not in written
    assert set(written["rounds"][0]) == {"decision", "point", "y", "noise", "lower"}
    assert (optimizer.report().feasible, optimizer.report().constraints) == (None, ())


# -------------------------------------------------------------------------------------------------------------- refused

GIVEN = GP(SE(0.3), noise=0.1)
H = Constraint("h", lower=0.0, upper=1.0, model=GIVEN)


def made(*constraints, **options):
    return Optimizer(Grid.linspace(0, 1, 11), Ball(0.1), GIVEN, constraints=constraints, **options)


@table(
    [
        ("no limit", lambda: Constraint("h"), ValueError, "a limit for 'h'", "lower="),
        ("wrong way round", lambda: Constraint("h", 2.0, 1.0), ValueError, "below the upper one", "2 and 1"),
        ("equal limits", lambda: Constraint("h", 1.0, 1.0), ValueError, "below the upper one"),
        ("a limit that is none", lambda: Constraint("h", math.nan), ValueError, "a limit of 'h'", "nan"),
        ("no name", lambda: Constraint(3, 1.0), TypeError, "name of a constraint", "3"),
        ("a model that is none", lambda: Constraint("h", 1.0, model=3), TypeError, "model of 'h'", "3"),
        ("two noises", lambda: Constraint("h", 1.0, model=GIVEN, noise=0.1), ValueError, "one noise"),
        ("two names", lambda: made(H, Constraint("h", 1.0)), ValueError, "different names", "'h' twice"),
        ("no constraint", lambda: made("h"), TypeError, "expected constraints", "'h'"),
        ("one constraint", lambda: Optimizer(Grid.linspace(0, 1, 3), Ball(0.1), constraints=3), ValueError, "a list"),
        ("intersected bounds", lambda: made(H, algorithm=Algorithm("a", OptimisticPessimistic(), BestIntersected())),
         ValueError, "BestOfAll", "BestIntersected"),
        ("a model of other points", lambda: made(Constraint("h", 1.0, model=GP(SE([0.1, 0.2]), 0.1))), ValueError, "2"),
    ]
)  # fmt: skip
def test_constraints_that_cannot_be_meant_are_refused(call, error, words):
    refused(call, error, *words)


@pytest.mark.parametrize(
    ("point", "y", "measured", "error", "words"),
    [
        ([0.1], 1.0, {"g": 1.0}, ValueError, ["'h'", "'g'"]),
        ([0.1], 1.0, {"h": math.inf}, ValueError, ["finite", "'h'"]),
        ([0.1], 1.0, {"h": "high"}, ValueError, ["one number", "'h'"]),
        ([0.1], 1.0, {"h": [1.0, 2.0]}, ValueError, ["one value of 'h'"]),
        ([0.1], 1.0, [1.0], TypeError, ["{name: value}"]),
        ([[0.1], [0.2]], [1.0, 2.0], {"h": 1.0}, ValueError, ["2 values of 'h'"]),
        ([[0.1], [0.2]], [1.0, 2.0], {"h": [1.0]}, ValueError, ["2 values of 'h'"]),
    ],
)
def test_a_measurement_that_is_refused_changes_nothing(point, y, measured, error, words):
    optimizer = made(H)
    before = optimizer.to_json()
    refused(lambda: optimizer.tell(point, y, measured=measured), error, *words)
    rows = [Measurement([0.3], 1.0), Measurement([0.1], 1.0, measured={"g": 1.0})]
    refused(lambda: optimizer.tell_all(rows), ValueError, "'g'", "row 1")
    assert optimizer.to_json() == before


def test_a_run_without_constraints_takes_no_measurements_of_them():
    optimizer = made()
    refused(lambda: optimizer.tell([0.1], 1.0, measured={"h": 1.0}), ValueError, "constraints=[...]", "'h'")
    optimizer.tell([0.1], 1.0, measured={})
    assert len(optimizer.rounds) == 1


def test_proofs_are_refused():
    optimizer = made(H)
    optimizer.tell([0.1], 1.0)
    refused(lambda: optimizer.report(proof=True), ValueError, "without constraints")


@pytest.mark.parametrize(
    "change",
    [
        lambda run: run.update(constraints=3),
        lambda run: run["constraints"][0].pop("learned"),
        lambda run: run["constraints"][0]["constraint"].update(lower=5.0),
        lambda run: run["constraints"][0].update(learned=Learned().first(1).to_dict()),
        lambda run: run["constraints"].append(run["constraints"][0]),
        lambda run: run["rounds"][0].update(measured={"g": 1.0}),
        lambda run: run["rounds"][0].update(measured={"h": "x"}),
        lambda run: run.pop("constraints"),
    ],
)
def test_a_tampered_run_is_refused(change):
    optimizer = made(H)
    optimizer.tell([0.1], 1.0, measured={"h": 0.5})
    run = json.loads(optimizer.to_json())
    change(run)
    with pytest.raises(ValueError):
        Optimizer.from_json(json.dumps(run))


def test_queries_that_wait_are_imagined_for_every_quantity():
    """Eight workers get different points; what they measure counts for their decision."""
    optimizer = run("ball on a grid", 6)
    queries = optimizer.ask(8)
    assert len({q.point_index for q in queries}) == 8


def test_play_goes_on_with_constraints():
    optimizer = made(H)
    assert len(list(play(optimizer, lambda query: 1.0, 3))) == 3


def test_all_models_explore_weighed_by_the_data_with_constraints_and_without():
    """The most likely one alone settles on a hill that is only second best, and looks far beyond limits."""
    grid, rng = Grid.linspace(0, 1, 41), np.random.default_rng(0)
    plain, limited = (
        Optimizer(grid, Ball(0.05), Learned(), beta=6.25, explore=0.5, constraints=constraints)
        for constraints in ((), (Constraint("heat", upper=6.0),))
    )
    for x in grid.points[rng.permutation(41)[:9]]:
        plain.tell(x, float(np.sin(3 * x[0])))
        limited.tell(x, float(np.sin(3 * x[0])), measured={"heat": 10 * x[0]})
    c = np.sqrt(0.5)
    assert len(plain.state.belief.gps) > 1
    for state in (plain.state, limited.state):
        assert np.allclose(state.exploring, state.posterior.bound(c))
    heat = limited.state.constraints[0].output.posterior
    scale = limited.state.limits.scales[0]
    assert np.allclose(limited.state.limits.margins("exploring")[0], (6.0 - heat.bound(-c)) / scale)
