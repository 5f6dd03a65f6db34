# ruff: noqa: E501 (a problem is read in a line)
"""Engineering problems with limits that must hold for every perturbation, and their true worst cases by brute effort.

d       a decision in the box [lower, upper]; the coordinates ``whole`` are whole numbers
z       a point: clip(d + δ) with |δ| ≤ eps in every coordinate, then the environment, anywhere in its box
f       maximised; costs are negated
g       quantities of which each must be at most 0 at every point: value − limit
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.stats import qmc

from stableopt.problems import PROBLEMS as OURS

Array = npt.NDArray[np.float64]
INITIAL = 10
SLACK = 1e-6  # of a quantity's spread: what is violated by less is rounding


@dataclass(frozen=True, eq=False)
class Problem:
    """What is maximised, what is limited, and what the adversary can do."""

    name: str
    lower: Array
    upper: Array
    eps: Array
    f: Callable[[Array], Array]
    """(n, d + e) points to (n,) values."""
    g: Callable[[Array], Array]
    """(n, d + e) points to (n, k) quantities that must be at most 0."""
    noise: Array
    """Standard deviations (1 + k,) of a measured value and of the quantities."""
    best: float
    """The best worst case of a decision that keeps all limits, from ``python -m benchmarks.constraints optimum``."""
    whole: tuple[int, ...] = ()
    environment: tuple[tuple[float, float], ...] = ()

    @property
    def dimension(self) -> int:
        return len(self.lower)

    @property
    def low(self) -> Array:
        """The smallest point."""
        return np.append(self.lower, [a for a, _ in self.environment])

    @property
    def high(self) -> Array:
        return np.append(self.upper, [b for _, b in self.environment])

    def settled(self, Z: Array) -> Array:
        """Points that can be measured: within the box, whole numbers rounded."""
        Z = np.clip(Z, self.low, self.high)
        Z[..., list(self.whole)] = np.round(Z[..., list(self.whole)])
        return Z

    def initial(self, seed: int) -> Array:
        """The first points of every method: a scrambled Sobol sequence."""
        sequence = qmc.Sobol(len(self.low), scramble=True, rng=np.random.default_rng([seed, 1]))
        return self.settled(self.low + (self.high - self.low) * sequence.random_base2(4)[:INITIAL])

    def measured(self, Z: Array, seed: int, first: int) -> Array:
        """What is measured at points (n, 1 + k), as evaluations first, first + 1, ...: all methods have the same noise."""
        errors = np.random.default_rng([seed, 2]).standard_normal((first + len(Z), len(self.noise)))[first:]
        return np.column_stack([self.f(Z), self.g(Z)]) + self.noise * errors

    # -------------------------------------------------------------------------------------------------- worst cases

    def worst(self, decision: Array) -> tuple[float, float]:
        """The smallest f over A(decision), and the largest violation in units of each quantity's spread (≤ 0: none)."""
        decision = self.settled(np.append(decision, self.low[self.dimension :]))[: self.dimension]
        ends = self._ends(decision)
        Z = ends[0] + (ends[1] - ends[0]) * _unit(len(self.low))
        value = _smallest(self.f, Z, ends)
        spread = _spread(self)
        k = len(self.noise) - 1
        violation = max(-_smallest(lambda P, j=j: -self.g(P)[:, j], Z, ends) / spread[j] for j in range(k))
        return value, violation

    def _ends(self, decision: Array) -> Array:
        """The lower and the upper end of A(decision) (2, d + e)."""
        near = np.clip([decision - self.eps, decision + self.eps], self.lower, self.upper)
        return np.column_stack([near, np.array(self.environment).T.reshape(2, -1)])


@cache
def _unit(d: int) -> Array:
    """Corners, centres of faces, and points that fill the unit cube."""
    corners = np.array(list(itertools.product((0.0, 0.5, 1.0), repeat=d)))
    return np.vstack([corners, qmc.Sobol(d, scramble=True, rng=np.random.default_rng(0)).random_base2(10)])


@cache
def _spread(problem: Problem) -> Array:
    Z = problem.settled(problem.low + (problem.high - problem.low) * _unit(len(problem.low)))
    return np.maximum(problem.g(Z).std(axis=0), 1e-12)


def _smallest(f: Callable[[Array], Array], Z: Array, ends: Array) -> float:
    """The smallest value in a box: of many points, and of descents from the lowest of them."""
    values = f(Z)
    best = float(values.min())
    for i in np.argsort(values)[:3]:
        found = minimize(lambda z: float(f(z[None])[0]), Z[i], bounds=list(ends.T), method="L-BFGS-B")
        best = min(best, float(f(np.clip(found.x, *ends)[None])[0]))
    return best


def optimum(problem: Problem, seed: int = 0, scan: int = 20_000, climbs: int = 12) -> tuple[Array, float]:
    """The best decision: a coarse scan, then climbs from the best of it that hold the worst cases of a fixed set."""
    rng = np.random.default_rng(seed)
    coarse = _unit(len(problem.low))[: 3 ** len(problem.low) + 64]
    d, spread = problem.dimension, _spread(problem)

    def points(x: Array) -> Array:
        ends = problem._ends(x)
        return np.asarray(ends[0] + (ends[1] - ends[0]) * coarse)

    X = problem.low + (problem.high - problem.low) * rng.random((scan, len(problem.low)))
    X = problem.settled(X)[:, :d]
    rough = np.array([problem.f(P).min() if problem.g(P).max() <= 0 else -np.inf for P in map(points, X)])
    value, best = -np.inf, X[0]
    for x in X[np.argsort(-rough)[:climbs]]:
        for start in _neighbours(problem, x):
            found = _climbed(problem, start, points, spread)
            now, broken = problem.worst(found)
            if broken <= SLACK and now > value:
                value, best = now, found
    return best, value


def _neighbours(problem: Problem, x: Array) -> Array:
    """The decision, and those with one whole number less or more."""
    steps = np.vstack([np.zeros(len(x)), *(s * np.eye(len(x))[j] for j in problem.whole for s in (-1.0, 1.0))])
    return np.clip(x + steps, problem.lower, problem.upper)


def _climbed(problem: Problem, start: Array, points: Callable[[Array], Array], spread: Array) -> Array:
    """max over d and t of t, such that f ≥ t and g ≤ 0 at all these points of d; whole numbers stay."""
    free = [j for j in range(problem.dimension) if j not in problem.whole]
    size = max(1.0, abs(float(problem.f(points(start)).min())))

    def decision(v: Array) -> Array:
        x = start.copy()
        x[free] = v[:-1] * (problem.upper - problem.lower)[free] + problem.lower[free]
        return x

    def slack(v: Array) -> Array:
        P = points(decision(v))
        return np.concatenate([problem.f(P) / size - v[-1], (-problem.g(P) / spread).ravel()])

    first = ((start - problem.lower) / (problem.upper - problem.lower))[free]
    v = np.append(first, problem.f(points(start)).min() / size)
    found = minimize(
        lambda v: -v[-1],
        v,
        bounds=[*[(0.0, 1.0)] * len(free), (None, None)],
        constraints=[{"type": "ineq", "fun": slack}],
        method="SLSQP",
        options={"maxiter": 300, "ftol": 1e-12},
    ).x
    return decision(np.append(np.clip(found[:-1], 0.0, 1.0), found[-1]))


# ---------------------------------------------------------------------------------------------------------- the five


def _polynomial() -> Problem:
    """Bertsimas, Nohadani and Teo (2010), with their two constraints."""
    theirs = OURS["polynomial"].f

    def g(Z: Array) -> Array:
        x, y = Z.T
        return np.column_stack([(x - 1.5) ** 4 + (y - 1.5) ** 4 - 10.125, -((2.5 - x) ** 3) - (y + 1.5) ** 3 + 15.75])

    lower, upper = np.array([-0.95, -0.45]), np.array([3.2, 4.4])
    return Problem("polynomial", lower, upper, np.array([0.5, 0.5]), theirs, g, np.array([0.1, 0.1, 0.1]), -9.25954)


def _truss() -> Problem:
    """Three bars under a load of 2 kN/cm²: the volume of the bars, and the stress in two of them, at most 2."""

    def f(Z: Array) -> Array:
        a, b = Z.T
        return -100 * (2 * np.sqrt(2) * a + b)

    def g(Z: Array) -> Array:
        a, b = Z.T
        under = np.sqrt(2) * a**2 + 2 * a * b
        return np.column_stack([2 * (np.sqrt(2) * a + b) / under, 2 / (np.sqrt(2) * b + a)]) - 2.0

    return Problem(
        "truss", np.full(2, 0.1), np.full(2, 1.2), np.full(2, 0.05), f, g, np.array([1.0, 0.02, 0.02]), -302.18011
    )


def _beam() -> Problem:
    """The welded beam: its cost; shear, bending and buckling as shares of what is allowed, at most 1."""

    def f(Z: Array) -> Array:
        h, length, t, b = Z.T
        return -(1.10471 * h**2 * length + 0.04811 * t * b * (14 + length))

    def g(Z: Array) -> Array:
        h, length, t, b = Z.T
        load, arm = 6000.0, 14.0
        direct = load / (np.sqrt(2) * h * length)
        radius = np.sqrt(length**2 / 4 + ((h + t) / 2) ** 2)
        inertia = 2 * np.sqrt(2) * h * length * (length**2 / 12 + ((h + t) / 2) ** 2)
        twist = load * (arm + length / 2) * radius / inertia
        shear = np.sqrt(direct**2 + direct * twist * length / radius + twist**2)
        bending = 6 * load * arm / (b * t**2)
        buckling = 64746.022 * (1 - 0.0282346 * t) * t * b**3
        return np.column_stack([shear / 13600, bending / 30000, load / buckling]) - 1.0

    lower, upper = np.array([0.2, 1.0, 5.0, 0.2]), np.array([1.0, 8.0, 10.0, 1.0])
    return Problem("beam", lower, upper, np.array([0.02, 0.1, 0.1, 0.02]), f, g, np.array([0.05, 0.01, 0.01, 0.01]), -2.23960)  # fmt: skip


def _vessel() -> Problem:
    """The pressure vessel: plates of n/16 inches, its radius and length; its cost, two thicknesses, the volume."""

    def f(Z: Array) -> Array:
        shell, head, r, length = 0.0625 * Z[:, 0], 0.0625 * Z[:, 1], Z[:, 2], Z[:, 3]
        cost = 0.6224 * shell * r * length + 1.7781 * head * r**2 + 3.1661 * shell**2 * length + 19.84 * shell**2 * r
        return -cost / 1000

    def g(Z: Array) -> Array:
        shell, head, r, length = 0.0625 * Z[:, 0], 0.0625 * Z[:, 1], Z[:, 2], Z[:, 3]
        volume = np.pi * r**2 * length + 4 / 3 * np.pi * r**3
        return np.column_stack([0.0193 * r - shell, 0.00954 * r - head, 1.296 - volume / 1e6])

    lower, upper = np.array([10.0, 5.0, 35.0, 20.0]), np.array([24.0, 14.0, 65.0, 200.0])
    return Problem("vessel", lower, upper, np.array([0.0, 0.0, 0.5, 2.0]), f, g, np.array([0.05, 0.005, 0.005, 0.01]), -6.45245, whole=(0, 1))  # fmt: skip


def _cantilever() -> Problem:
    """A cantilever under two loads that nobody knows: its area; stress and displacement as shares, at most 1."""

    def f(Z: Array) -> Array:
        return -Z[:, 0] * Z[:, 1]

    def g(Z: Array) -> Array:
        w, t, x, y = Z.T
        stress = 600 * y / (w * t**2) + 600 * x / (w**2 * t)
        displacement = 4e6 / (2.9e7 * w * t) * np.sqrt((y / t**2) ** 2 + (x / w**2) ** 2)
        return np.column_stack([stress / 40_000, displacement / 2.25]) - 1.0

    loads = ((300.0, 700.0), (800.0, 1200.0))
    lower, upper = np.full(2, 1.5), np.full(2, 4.0)
    return Problem("cantilever", lower, upper, np.full(2, 0.05), f, g, np.array([0.05, 0.02, 0.02]), -9.72009, environment=loads)  # fmt: skip


PROBLEMS = {problem.name: problem for problem in (_polynomial(), _truss(), _beam(), _vessel(), _cantilever())}
