"""Promises of the continuous max-min search, against brute force over dense sets of decisions and scenarios.

The regions here are written from the definitions and share nothing with the library's own.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.cases import extra

from benchmarks.accuracy.cells import case_of, cells
from stableopt import GP, SE, Ball, Float, Integer, Rectangle, Space, Within
from stableopt.maxmin.search.continuous import ContinuousMaxMin
from stableopt.maxmin.search.exchange import Exchange
from stableopt.maxmin.search.front import Front
from stableopt.maxmin.search.inner import Descent
from stableopt.maxmin.search.oracle import Oracle
from stableopt.maxmin.search.plan import Budget
from stableopt.maxmin.search.steps import Planes, lowest, lowest_apart, onto_simplex, proximal_step, spread_out
from stableopt.maxmin.solver import Hints
from stableopt.maxmin.spaces.region import SpaceRegion

# ------------------------------------------------------------------------------------------------------- regions


class BallRegion:
    """x' = clip(x + eps s) in the unit box with s in the unit ball of a norm."""

    exact = False  # a ball, then clipped: not always the nearest
    curved = False

    def __init__(self, dim, eps, norm=2):
        self.dim = self.width = dim
        self.eps, self.norm = eps, norm

    def decisions(self, count, seed):
        return np.random.default_rng(seed).random((count, self.dim))

    def scenarios(self, count, seed):
        axes = np.vstack([np.eye(self.dim), -np.eye(self.dim)])
        directions = np.random.default_rng(seed).standard_normal((count, self.dim))
        return np.vstack([np.zeros(self.dim), axes, self.project(None, directions)])[:count]

    def clip(self, X):
        return np.clip(X, 0.0, 1.0)

    def project(self, X, S):
        if self.norm == math.inf:
            return np.clip(S, -1.0, 1.0)
        if self.norm == 2:
            return S / np.maximum(1.0, np.linalg.norm(S, axis=1, keepdims=True))
        size = -np.sort(-np.abs(S), axis=1)
        shrink = ((np.cumsum(size, axis=1) - 1) / np.arange(1, S.shape[1] + 1)).max(axis=1, keepdims=True)
        return np.sign(S) * np.maximum(np.abs(S) - np.maximum(shrink, 0), 0)

    def pace(self, X):
        return np.ones((len(X), self.width))

    def project_inside(self, X, S):
        return self.project(X, (1 - 1e-10) * self.scenario_of(X, self.points(X, S)))

    def points(self, X, S):
        return np.clip(X + self.eps * S, 0.0, 1.0)

    def pull(self, X, S, G):
        U = X + self.eps * S
        G = np.where((U < 0) | (U > 1), 0.0, G)
        return G, self.eps * G

    def scenario_of(self, X, Z):
        return self.project(X, (Z - X) / self.eps)

    def reach(self, X):
        return self.points(X, -np.ones(X.shape)), self.points(X, np.ones(X.shape))

    def filling(self, X, unit):
        rows = np.repeat(X, len(unit), axis=0)
        return self.project(rows, np.tile(2 * unit - 1, (len(X), 1))).reshape(len(X), *unit.shape)

    @property
    def moved(self):
        return np.ones(self.dim, dtype=bool)

    def near(self, X, Z):
        rows = np.repeat(X, Z.shape[1], axis=0)
        return self.scenario_of(rows, Z.reshape(-1, Z.shape[2])).reshape(*Z.shape[:2], self.width)

    relaxed, count, few, choices = None, math.inf, True, 1.0

    def decision_index(self, row):
        return tuple(row.tolist())

    point_index = decision_index

    def other_decisions(self, x):
        return np.empty((0, self.dim))

    def other_scenarios(self, x, s, most):
        return np.empty((0, self.width))

    def dense(self, n=25):
        """Many scenarios, inner and extreme ones."""
        grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, n)] * self.dim), axis=-1).reshape(-1, self.dim)
        order = self.norm
        if order == math.inf:
            return grid
        length = np.linalg.norm(grid, ord=order, axis=1, keepdims=True)
        largest = np.abs(grid).max(axis=1, keepdims=True)
        return grid * np.where(length > 0, largest / np.where(length > 0, length, 1), 1)  # the cube, pulled in


class FixedRegion(BallRegion):
    """Nobody perturbs anything."""

    def __init__(self, dim):
        super().__init__(dim, 1.0)
        self.width = 0

    def scenarios(self, count, seed):
        return np.zeros((1, 0))

    def project(self, X, S):
        return S

    def points(self, X, S):
        return X.copy()

    def pull(self, X, S, G):
        return G, np.zeros((len(X), 0))

    def scenario_of(self, X, Z):
        return np.zeros((len(X), 0))

    def dense(self, n=1):
        return np.zeros((1, 0))


class MixedRegion(BallRegion):
    """A decision (a number, one of ``kinds``), an interval around the number, and one of ``thetas``; P = 3."""

    def __init__(self, eps, kinds, thetas):
        self.dim, self.width, self.eps, self.norm = 2, 2, eps, math.inf
        self.kinds, self.thetas = kinds, thetas

    def decisions(self, count, seed):
        rng = np.random.default_rng(seed)
        return np.column_stack([rng.random(count), rng.integers(self.kinds, size=count)])

    def scenarios(self, count, seed):
        offsets = [0.0, 1.0, -1.0, 0.5, -0.5]
        return np.array([[o, k] for o in offsets for k in range(self.thetas)])[:count]

    def clip(self, X):
        return np.column_stack([np.clip(X[:, 0], 0, 1), X[:, 1]])

    def project(self, X, S):
        return np.column_stack([np.clip(S[:, 0], -1, 1), np.clip(np.rint(S[:, 1]), 0, self.thetas - 1)])

    def points(self, X, S):
        return np.column_stack([np.clip(X[:, 0] + self.eps * S[:, 0], 0, 1), X[:, 1], np.rint(S[:, 1])])

    def pull(self, X, S, G):
        U = X[:, 0] + self.eps * S[:, 0]
        g = np.where((U < 0) | (U > 1), 0.0, G[:, 0])
        zero = np.zeros(len(g))
        return np.column_stack([g, zero]), np.column_stack([self.eps * g, zero])

    def scenario_of(self, X, Z):
        return self.project(X, np.column_stack([(Z[:, 0] - X[:, 0]) / self.eps, Z[:, 2]]))

    @property
    def moved(self):
        return np.array([True, False, False])

    def reach(self, X):
        low, high = (self.points(X, np.tile(ends, (len(X), 1))) for ends in ([-1.0, 0.0], [1.0, self.thetas - 1.0]))
        return low, high

    def filling(self, X, unit):
        row = np.column_stack([2 * unit[:, 0] - 1, np.floor(self.thetas * unit[:, 1])])
        return np.broadcast_to(row, (len(X), *row.shape))

    def other_decisions(self, x):
        return np.array([[x[0], k] for k in range(self.kinds) if k != x[1]])

    def other_scenarios(self, x, s, most):
        return np.array([[s[0], k] for k in range(self.thetas) if k != round(s[1])])

    def dense(self, n=201):
        return np.array([[o, k] for o in np.linspace(-1, 1, n) for k in range(self.thetas)])


# ------------------------------------------------------------------------------------------------------ functions


class Waves:
    """A sum of random cosines: smooth, with many local optima; ``size`` and ``offset`` change its units."""

    def __init__(self, dim, seed, frequency=6.0, terms=8, size=1.0, offset=0.0):
        rng = np.random.default_rng(seed)
        self.w = frequency * rng.standard_normal((terms, dim))
        self.b, self.a = rng.uniform(0, 2 * np.pi, terms), rng.standard_normal(terms)
        self.size, self.offset, self.evaluated = size, offset, 0

    def __call__(self, Z):
        self.evaluated += len(Z)
        return self.offset + self.size * (np.cos(Z @ self.w.T + self.b) @ self.a)

    def with_gradient(self, Z):
        value = self(Z)
        self.evaluated += len(Z)
        return value, -self.size * (np.sin(Z @ self.w.T + self.b) * self.a) @ self.w


class Polynomial:
    """The paper's polynomial on its box as the unit square, with its gradient."""

    low, high = np.array([-0.95, -0.45]), np.array([3.2, 4.4])
    x_powers = np.polynomial.Polynomial([0, -6.2, 4.7, 6.4, -21.2, 12.2, -2])
    y_powers = np.polynomial.Polynomial([0, 10, -56.9, 74.8, -43.3, 11, -1])

    def __call__(self, Z):
        return self.with_gradient(Z)[0]

    def with_gradient(self, Z):
        x, y = (self.low + Z * (self.high - self.low)).T
        value = self.x_powers(x) + self.y_powers(y) + 4.1 * x * y + 0.1 * x**2 * y**2 - 0.4 * x * y**2 - 0.4 * x**2 * y
        by_x = self.x_powers.deriv()(x) + 4.1 * y + 0.2 * x * y**2 - 0.4 * y**2 - 0.8 * x * y
        by_y = self.y_powers.deriv()(y) + 4.1 * x + 0.2 * x**2 * y - 0.8 * x * y - 0.4 * x**2
        return value, np.stack([by_x, by_y], axis=1) * (self.high - self.low)

    def solved(self, budget=10_000, seed=0):
        """The stable optimum in the paper's units."""
        region = SpaceRegion(Space(list(zip(self.low.tolist(), self.high.tolist(), strict=True))), Ball(0.5))
        found = ContinuousMaxMin(region, budget, seed).maximin(self)
        return self.low + found.decision * (self.high - self.low), found.value


class Constant:
    def __call__(self, Z):
        return np.full(len(Z), 3.0)

    def with_gradient(self, Z):
        return self(Z), np.zeros(Z.shape)


def brute_minima(region, F, X, n):
    """min over dense scenarios, decision by decision."""
    S = region.dense(n)
    return np.array([F(region.points(np.tile(x, (len(S), 1)), S)).min() for x in X])


def grid(dim, n):
    return np.stack(np.meshgrid(*[np.linspace(0, 1, n)] * dim), axis=-1).reshape(-1, dim)


def spread(F, dim):
    return np.ptp(F(grid(dim, {1: 2001, 2: 101, 3: 22}[dim])))


def check_allowed(region, found, F):
    """The parts of an answer belong together: a decision, a point that it can become, and the value there."""
    assert all(isinstance(number, float) for row in (found.decision, found.point) for number in row)
    x, z = np.array([found.decision]), np.array([found.point])
    np.testing.assert_allclose(region.points(x, region.scenario_of(x, z)), z, atol=1e-9)
    np.testing.assert_allclose(F(z)[0], found.value, rtol=1e-12, atol=1e-300)
    np.testing.assert_array_equal(region.clip(x), x)
    assert found.gap >= 0 and not found.exact


def rows(X):
    """Decisions or points as a solver takes them."""
    return [tuple(x) for x in np.asarray(X, dtype=float).tolist()]


# ---------------------------------------------------------------------------------------------------------- tests

NORMS = (1, 2, math.inf)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", [0, *map(extra, range(1, 4))])
def test_the_decision_is_as_good_as_the_best_of_brute_force(norm, seed):
    for dim, eps, n, m in ((1, 0.07, 601, 101), (2, 0.12, 61, 17)):
        region, F = BallRegion(dim, eps, norm), Waves(dim, seed)
        found = ContinuousMaxMin(region).maximin(F)
        check_allowed(region, found, F)
        size = spread(F, dim)
        assert found.value >= brute_minima(region, F, grid(dim, n), m).max() - 2e-3 * size  # theirs is over few points
        true = brute_minima(region, F, [found.decision], 401 if dim == 1 else 161)[0]
        assert found.value <= true + 1e-6 * size
        assert true - found.value < 0.01 * size
        assert found.gap < 1e-3 * size


def test_a_brief_search_is_about_as_good():
    lost = []
    for seed in range(12):
        dim = 2 + seed % 2
        region, F = BallRegion(dim, 0.12, NORMS[seed % 3]), Waves(dim, seed)
        thorough = ContinuousMaxMin(region)
        brief, best = ContinuousMaxMin(region, brief=True).maximin(F), thorough.maximin(F)
        lost.append((best.value - thorough.worst(brief.decision, F).value) / spread(F, dim))
    assert np.mean(np.array(lost) > 0.01) <= 1 / 12 and np.median(lost) < 1e-4


def test_a_brief_search_finds_whole_numbers_of_few_values():
    region = SpaceRegion(Space([(0, 1), Integer(1, 30)]), Rectangle([0.05, 1.0]))
    step = 1 / 29
    x, k = np.linspace(0, 1, 101), np.arange(30)
    lost = []
    for seed in range(5):
        F = Waves(2, seed)
        values = F(np.array([(a, b * step) for a in x for b in k])).reshape(101, 30)
        near = [values[max(0, i - 5) : i + 6].min(axis=0) for i in range(101)]
        worst = np.array([[row[max(0, j - 1) : j + 2].min() for j in k] for row in near])
        brief = ContinuousMaxMin(region, brief=True)
        found = brief.maximin(F).decision
        lost.append((worst.max() - ContinuousMaxMin(region).worst(found, F).value) / spread(F, 2))
    assert max(lost) < 0.01


@pytest.mark.parametrize("norm", NORMS)
def test_inner_minima_are_those_of_brute_force_also_at_bounds(norm):
    region, F = BallRegion(2, 0.2, norm), Waves(2, 7, frequency=9.0)
    X = np.vstack([region.decisions(20, 3), [[0, 0], [1, 0], [0.5, 1], [0.03, 0.97], [0, 0.4]]])
    solver = ContinuousMaxMin(region)
    choices = solver.minima(rows(X), F)
    assert [choice.decision for choice in choices] == rows(X)
    for choice in choices:
        check_allowed(region, choice, F)
    values = np.array([choice.value for choice in choices])
    true = brute_minima(region, F, X, 201)
    assert np.all(values <= true + 1e-6 * spread(F, 2))
    assert np.all(values >= true - 5e-3 * spread(F, 2))  # brute force is coarse
    for x, value in zip(X[-5:], true[-5:], strict=True):
        found = solver.worst(tuple(x.tolist()), F)
        assert found.decision == tuple(x)
        check_allowed(region, found, F)
        assert found.value <= value + 1e-6 * spread(F, 2)


def test_best_is_the_best_of_the_minima():
    region, F = BallRegion(2, 0.1, math.inf), Waves(2, 11)
    X = region.decisions(60, 5)
    found = ContinuousMaxMin(region).best(rows(X), F)
    true = brute_minima(region, F, X, 61)
    assert true[rows(X).index(found.decision)] >= true.max() - 1e-3 * spread(F, 2)
    check_allowed(region, found, F)


def test_the_leading_decisions_are_those_with_the_largest_minima():
    region, F = BallRegion(2, 0.1, math.inf), Waves(2, 11)
    X = region.decisions(200, 5)
    found = ContinuousMaxMin(region).leading(rows(X), F, 5)
    true, slack = brute_minima(region, F, X, 61), 1e-3 * spread(F, 2)
    values = [choice.value for choice in found]
    assert len({choice.decision for choice in found}) == 5 and values == sorted(values, reverse=True)
    np.testing.assert_allclose([true[rows(X).index(c.decision)] for c in found], np.sort(true)[:-6:-1], atol=slack)
    assert len(ContinuousMaxMin(region).leading(rows(X[:3]), F, 5)) == 3
    assert [c.decision for c in ContinuousMaxMin(region).leading(rows(X), F, 5, above=values[2])] == [
        c.decision for c in found[:2]
    ]
    assert ContinuousMaxMin(region).leading(rows(X), F, 5, above=values[0]) == []


def test_best_solves_few_of_many_decisions():
    region, F = BallRegion(2, 0.1), Waves(2, 12)
    X = region.decisions(400, 5)
    ContinuousMaxMin(region).best(rows(X), F)
    few = F.evaluated
    F.evaluated = 0
    for x in rows(X[:20]):
        ContinuousMaxMin(region).worst(x, F)
    assert few < 400 / 20 * F.evaluated / 3


def test_without_scenarios_it_is_a_maximum():
    region, F = FixedRegion(2), Waves(2, 3)
    found = ContinuousMaxMin(region).maximin(F)
    assert found.value >= F(grid(2, 401)).max() - 1e-9
    assert found.point == found.decision
    choices = ContinuousMaxMin(region).minima(rows(grid(2, 5)), F)
    assert [choice.value for choice in choices] == F(grid(2, 5)).tolist()
    assert [choice.point for choice in choices] == rows(grid(2, 5))


@pytest.mark.parametrize("seed", range(4))
def test_discrete_coordinates_of_decisions_and_scenarios_are_searched(seed):
    region, F = MixedRegion(0.08, kinds=7, thetas=5), Waves(3, seed, frequency=2.0)
    found = ContinuousMaxMin(region, budget=4000).maximin(F)
    check_allowed(region, found, F)
    X = np.array([[x, k] for x in np.linspace(0, 1, 201) for k in range(7)])
    true = brute_minima(region, F, X, 41)
    assert found.value >= true.max() - 3e-3 * np.ptp(true)
    assert found.value <= brute_minima(region, F, [found.decision], 401)[0] + 1e-6
    assert found.decision[1] in range(7) and found.point[2] in range(5)


def test_one_choice_of_discrete_values_does_not_take_all_places_of_a_front():
    front = object.__new__(Front)
    X = np.array([[0.1 * i, 0.0] for i in range(6)] + [[0.3, 1.0], [0.7, 1.0]])
    v = np.array([8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
    front.X, front.at = X, SimpleNamespace(v=v[:, None])
    front.oracle = SimpleNamespace(movable=np.array([True, False]))
    assert front._best(np.arange(8), 4).tolist() == [0, 1, 6, 7], "half of them, though six are higher than all others"
    front.oracle.movable = np.array([True, True])
    assert front._best(np.arange(8), 4).tolist() == [0, 1, 2, 3]


def test_discrete_neighbours_are_reached_where_the_scan_never_was():
    class OneKindOnly(MixedRegion):
        def decisions(self, count, seed):
            return np.column_stack([super().decisions(count, seed)[:, 0], np.zeros(count)])

    class Hill(Waves):
        def with_gradient(self, Z):
            x, kind, theta = Z.T
            g = -2 * (x - 0.4 - 0.1 * kind)
            return -((x - 0.4 - 0.1 * kind) ** 2) + 0.1 * kind - 0.05 * theta, np.column_stack([g, 0 * x, 0 * x])

        def __call__(self, Z):
            return self.with_gradient(Z)[0]

    found = ContinuousMaxMin(OneKindOnly(0.05, kinds=4, thetas=4)).maximin(Hill(3, 0))
    np.testing.assert_allclose(found.decision, [0.7, 3.0], atol=1e-3)
    assert found.value == pytest.approx(0.3 - 0.15 - 0.05**2, abs=1e-6)
    assert found.point[2] == 3.0


def test_a_constant_function_is_no_problem():
    for region in (BallRegion(3, 0.1), FixedRegion(2), MixedRegion(0.1, 3, 3)):
        solver = ContinuousMaxMin(region, budget=2000)
        found = solver.maximin(Constant())
        assert (found.value, found.gap) == (3.0, 0.0)
        assert np.all(np.isfinite([*found.decision, *found.point]))
        assert solver.worst(found.decision, Constant()).value == 3.0


@pytest.mark.parametrize(("size", "offset"), [extra(1e8, 0.0), (1e-8, 0.0), extra(1.0, 1e6), (1e8, -1e10)])
def test_the_unit_of_the_values_does_not_matter(size, offset):
    region = BallRegion(2, 0.1)
    usual = ContinuousMaxMin(region).maximin(Waves(2, 1))
    other = ContinuousMaxMin(region).maximin(Waves(2, 1, size=size, offset=offset))
    assert other.value == pytest.approx(offset + size * usual.value, abs=1e-4 * size)


def test_starts_and_known_points_are_used():
    class Needle(Waves):
        """One narrow deep hole, and one narrow high hill on the other side."""

        def with_gradient(self, Z):
            away, hill = Z - [0.31, 0.62], Z - [0.8, 0.2]
            hole = -5 * np.exp(-0.5 * np.sum(away**2, axis=1) / 2e-5**2)
            top = 9 * np.exp(-0.5 * np.sum(hill**2, axis=1) / 0.0005**2)
            return hole + top, -away * (hole / 2e-5**2)[:, None] - hill * (top / 0.0005**2)[:, None]

        def __call__(self, Z):
            return self.with_gradient(Z)[0]

    F, solver = Needle(2, 0), ContinuousMaxMin(BallRegion(2, 0.1), budget=2000)
    x, hole = (0.337, 0.604), Hints(points=[(0.31, 0.62), (0.9, 0.9)])
    assert solver.worst(x, F).value > -4.99, "found without a hint: then this test shows nothing"
    assert solver.worst(x, F, hole).value < -4.99
    assert solver.minima([x], F, hole)[0].value < -4.99
    assert solver.best([x], F, hole).value < -4.99
    narrow = ContinuousMaxMin(BallRegion(2, 5e-5), budget=2000)
    assert narrow.maximin(F).value < 8.0, "found without a hint: then this test shows nothing"
    assert narrow.maximin(F, Hints(decisions=[(0.8003, 0.2003), (0.1, 0.1)])).value > 8.0


def test_of_many_hinted_points_the_near_ones_and_the_low_ones_are_tried():
    """For the worst case of one decision the nearest ones, for all decisions those with the smallest values."""

    class Seen(Constant):
        points = ()

        def __call__(self, Z):
            self.points = self.points or rows(Z)  # the first that is evaluated
            return super().__call__(Z)

    rng, solver = np.random.default_rng(0), ContinuousMaxMin(BallRegion(2, 0.1), budget=500)
    points, values, x = rng.random((300, 2)), rng.random(300), (0.25, 0.75)
    hints, near, low = Hints((), rows(points), values.tolist()), Seen(), Seen()
    solver.worst(x, near, hints)
    assert near.points == rows(sorted(points, key=lambda z: np.abs(z - x).max())[:100])
    solver.minima([x], low, hints)
    assert low.points == rows(points[np.argsort(values)[:100]])
    for ask in (lambda F: solver.best([x], F, hints), lambda F: solver.maximin(F, hints)):
        ask(seen := Seen())
        assert seen.points == low.points
    solver.minima([x], unsorted := Seen(), hints._replace(values=()))
    assert unsorted.points == rows(points)


def test_no_decisions_have_no_minima_and_no_best():
    solver = ContinuousMaxMin(BallRegion(1, 0.1), budget=500)
    assert solver.minima([], Constant()) == []
    with pytest.raises(ValueError, match="at least one decision"):
        solver.best([], Constant())


def test_the_same_seed_gives_the_same_answer():
    region, F = BallRegion(3, 0.1), Waves(3, 2)
    first, second = (ContinuousMaxMin(region, seed=4).maximin(F) for _ in range(2))
    assert first == second


def test_the_budget_is_kept_and_less_of_it_costs_little():
    region, losses = BallRegion(3, 0.12), []
    for seed in range(3):
        values = []
        for budget in (500, 3_000, 20_000):
            F = Waves(3, seed)
            values.append(ContinuousMaxMin(region, budget).maximin(F).value)
            assert F.evaluated < 1.6 * budget + 2500  # the last inner minimum may go beyond it
        losses.append((max(values) - np.array(values)) / np.ptp(F(region.decisions(4000, 0))))
    assert np.mean(losses, axis=0)[0] < 0.2
    assert np.mean(losses, axis=0)[1] < 0.03


def test_a_budget_is_asked_spent_and_reserved():
    budget = Budget(1000, least=8)
    budget.spend(100)
    budget.spend(100, each=2)
    assert (budget.used, budget.left(), budget.left(0.5)) == (300, 700, 200)
    budget.spend(3, each=2)
    assert budget.used == 316, "a small batch counts as the least"
    budget.reserve(0.6)
    assert budget.left() == 684, "more is left than that"
    budget.spend(900)
    assert budget.left() == -216
    budget.reserve(0.75)
    assert budget.left() == 750


def test_a_budget_below_one_is_refused():
    with pytest.raises(ValueError, match="budget of at least 1"):
        ContinuousMaxMin(BallRegion(1, 0.1), budget=0)


def test_onto_simplex_is_the_nearest_point_of_it():
    W = np.random.default_rng(0).standard_normal((200, 5)) * 3
    P = onto_simplex(W)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert np.all(P >= 0)
    corners = np.eye(5)  # nearest: no direction into the simplex makes an acute angle with W - P
    assert np.all(np.einsum("nj,knj->nk", W - P, corners[:, None] - P) <= 1e-9)


def test_the_step_of_decisions_solves_its_proximal_problem():
    region, rng = BallRegion(2, 0.1), np.random.default_rng(1)
    X, V, G = rng.random((6, 2)), 0.05 * rng.random((6, 3)), rng.standard_normal((6, 3, 2))
    length = np.full(6, 0.1)
    p, promised, _ = proximal_step(region, X, Planes(V, G), length, np.full((6, 3), 1 / 3), steps=3000)
    for i in range(6):
        delta = 0.1 / np.linalg.norm(G[i], axis=1).max()
        steps = grid(2, 401) - X[i]
        values = (V[i] + steps @ G[i].T).min(axis=1) - np.sum(steps**2, axis=1) / (2 * delta)
        ours = (V[i] + p[i] @ G[i].T).min() - p[i] @ p[i] / (2 * delta)
        assert ours >= values.max() - 1e-5
        assert promised[i] == pytest.approx((V[i] + p[i] @ G[i].T).min() - V[i].min())
        assert np.all((X[i] + p[i] >= 0) & (X[i] + p[i] <= 1))


def test_descent_ends_in_stationary_scenarios():
    region, F = BallRegion(2, 0.3), Waves(2, 9)
    X, S = region.decisions(50, 1), region.scenarios(50, 2)
    descent = Descent(Oracle(region, F, Budget(10**6)), X, S)
    before = descent.v.copy()
    descent.advance(100, 1e-12)
    assert np.all(descent.v <= before)
    for angle in np.linspace(0, 2 * np.pi, 16):
        near = region.project(X, descent.S + 1e-3 * np.array([np.cos(angle), np.sin(angle)]))
        assert np.all(F(region.points(X, near)) >= descent.v - 1e-4)


class Saddle:
    """pull·z − curve·y²/2 on z, y around (½, ½): along the circle, the worst case has almost no curvature."""

    def __init__(self, curve, pull):
        self.curve, self.pull = curve, pull

    def __call__(self, Z):
        return self.with_gradient(Z)[0]

    def with_gradient(self, Z):
        z, y = (Z - 0.5).T
        values = self.pull * z - self.curve * y**2 / 2
        return values, np.column_stack([np.full(len(z), self.pull), -self.curve * y])


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_descent_along_an_edge_does_not_slow_down(share):
    """At (−R, 0) a step leaves this share of the distance, however long it is: |curve|·R of the pull."""
    region = SpaceRegion(Space([(0, 1), (0, 1)]), Ball(0.3))
    F, X, S = Saddle(share / 0.3, 1.0), np.full((1, 2), 0.5), np.array([[-1.0, 0.5]])
    oracle = Oracle(region, F, Budget(10**6))
    descent = Descent(oracle, X, S)
    oracle.at(np.random.default_rng(0).random((100, 2)))  # so that the spread is that of the whole domain
    used = oracle.budget.used
    descent.advance(100, 1e-10)
    assert descent.S[0] == pytest.approx([-1.0, 0.0], abs=2e-3)
    assert (oracle.budget.used - used) / 2 <= 15


def disc(radius):
    """All points within a radius in the user's units, and the nearest of them: also in the user's units."""

    def project(X, Z):
        away = np.linalg.norm(Z - X, axis=1, keepdims=True)
        return X + (Z - X) * np.minimum(1.0, radius / np.maximum(away, 1e-300))

    return Within(lambda X, Z: np.linalg.norm(Z - X, axis=1) <= radius * (1 + 1e-9), project, vectorized=True)


@pytest.mark.parametrize("log", [False, True])
def test_a_descent_in_a_set_of_ones_own_knows_no_unit(log):
    """A step against the slope, projected to what is the nearest in other units, may lead up, however short it is."""
    space = Space([Float(1.0, 500.0, log), Float(1.0, 15.0)])
    region, x = SpaceRegion(space, disc(5.0)), space.encode([60.0, 8.0])
    angles = np.linspace(0, 2 * np.pi, 4001)
    edge = np.array(
        [space.encode(p) for p in np.array([60.0, 8.0]) + 5 * np.column_stack([np.cos(angles), np.sin(angles)])]
    )
    for seed in range(6):
        F = Waves(2, seed, frequency=2.0)
        oracle = Oracle(region, F, Budget(10**6))
        oracle.at(np.random.default_rng(0).random((100, 2)))
        starts = edge[::400] - x
        descent = Descent(oracle, np.tile(x, (len(starts), 1)), starts)
        descent.advance(60, 1e-8)
        around = [x + s + 1e-3 * np.column_stack([np.cos(angles), np.sin(angles)])[::40] for s in descent.S]
        reached = [[tuple(space.decode(z)) for z in some if np.all((z >= 0) & (z <= 1))] for some in around]
        for v, some in zip(descent.v, reached, strict=True):
            inside = [space.encode(p) for p in some if np.hypot(p[0] - 60.0, p[1] - 8.0) <= 5.0]
            assert F(np.array(inside)).min() > v - 1e-4 * spread(F, 2)


def test_spread_out_takes_the_highest_of_every_hill():
    rng = np.random.default_rng(0)
    X = np.vstack([centre + 0.01 * rng.standard_normal((50, 2)) for centre in ([0.2, 0.2], [0.8, 0.3], [0.5, 0.9])])
    v = np.concatenate([3 + rng.random(50), 2 + rng.random(50), 1 + rng.random(50)])
    chosen = spread_out(X, v, 3)
    assert sorted(chosen // 50) == [0, 1, 2]
    assert chosen[0] == np.argmax(v)
    assert sorted(spread_out(np.zeros((9, 2)), np.arange(9.0), 4)) == [5, 6, 7, 8]


# ------------------------------------------------------------------------------------------------ the polynomial


def test_the_polynomial_has_its_stable_optimum():
    decision, value = Polynomial().solved()
    assert value == pytest.approx(-4.2828, abs=1e-3)
    np.testing.assert_allclose(decision, [-0.1813, 0.2916], atol=1e-3)


def test_the_polynomial_of_the_benchmark_is_that_of_the_problem_and_its_gradient_is_right():
    from stableopt.problems.perturbed import _polynomial

    F, Z = Polynomial(), np.random.default_rng(0).random((20, 2))
    value, gradient = F.with_gradient(Z)
    np.testing.assert_allclose(value, _polynomial(F.low + Z * (F.high - F.low)), rtol=1e-10)
    for j in range(2):
        step = 1e-6 * np.eye(2)[j]
        np.testing.assert_allclose(gradient[:, j], (F(Z + step) - F(Z - step)) / 2e-6, rtol=1e-4, atol=1e-4)


def test_scenarios_that_meet_count_once():
    V = np.array([[3.0, 1.0, 1.0, 2.0], [0.0, 4.0, 4.0, 5.0]])
    S = np.array([[[0.3], [0.1], [0.1], [0.2]], [[0.0], [0.4], [0.9], [0.5]]])
    assert lowest(V, 3).tolist() == [[1, 2, 3], [0, 1, 2]]
    assert lowest(V, 3, S).tolist() == [[1, 3, 0], [0, 1, 2]]
    assert lowest(V, 4, S).tolist() == [[1, 3, 0, 2], [0, 1, 2, 3]]


def test_starts_are_the_lowest_of_every_basin_before_all_others():
    Z = np.linspace(0, 1, 101)[None, :, None]
    V = np.cos(6 * np.pi * Z[:, :, 0]) + 0.5 * Z[:, :, 0]  # three valleys, the left one the deepest
    starts = Z[0, lowest_apart(V, 2 * Z, Z, 4)[0], 0]
    np.testing.assert_allclose(starts[:3], [0.16, 0.5, 0.83], atol=0.02)
    assert lowest_apart(V, 2 * Z, Z, 1)[0, 0] == np.argmin(V) == lowest_apart(V, 2 * Z, Z, 4)[0, 0]


def test_of_many_whole_numbers_a_search_with_real_ones_finds_the_hill():
    """Whole numbers of few values each have very many combinations: jumps from one to the next end on the way."""
    region, rng = SpaceRegion(Space([Integer(1, 10)] * 8), Rectangle(2.0)), np.random.default_rng(1)
    Z = region.points_space.rows(rng.random((30, 8)))
    F = GP(SE([0.5] * 8), 0.05).condition(Z, rng.standard_normal(30)).bound(-0.5)
    solver = ContinuousMaxMin(region, 25_000)
    assert solver.relaxed is not None and solver.maximin(F).value > 0.4
    assert ContinuousMaxMin(SpaceRegion(Space([(0, 1), Integer(1, 20)]), Rectangle([0.1, 1.0]))).relaxed is None


def test_no_decision_that_was_scanned_is_climbed_from_again_and_again(monkeypatch):
    """A start whose climb leads nowhere keeps its promise: it must not take the place of others that have one."""
    begun, begin = [], Exchange.__init__
    monkeypatch.setattr(Exchange, "__init__", lambda self, *a: (begun.append(tuple(a[1].x)), begin(self, *a))[1])
    for cell, seed in (("log own none floats", 3), ("linear ball rows whole", 1)):
        state = case_of(next(c for c in cells() if str(c) == cell), seed).optimizer.state
        for F in (state.lcb, state.ucb):
            begun.clear()
            state.setting.solver(state.t).maximin(F, state._hints)
            assert max(map(begun.count, begun)) <= 2, "from the front, and when it is looked at again"


@pytest.mark.parametrize("start", [(0.5,), (0.5, 0.45)])
def test_a_search_leaves_a_plateau_where_the_set_reaches_beyond_the_domain(start):
    """On a log scale, ±3000 reaches the lower end from most decisions: their worst case is the same."""

    class Rising:
        def __call__(self, Z):
            return Z.sum(axis=1)

        def with_gradient(self, Z):
            return Z.sum(axis=1), np.ones(Z.shape)

    space = Space([Float(1, 1e4, log=True)] * len(start))
    search = ContinuousMaxMin(SpaceRegion(space, Rectangle([3000.0] * len(start))))
    assert search.maximin(Rising(), Hints([start], enough=True)).decision == pytest.approx([1.0] * len(start))
