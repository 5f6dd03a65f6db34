"""The true worst case of a decision, and the stable optimum, by brute effort on f itself (nothing of stableopt).

δ        a perturbation; the point is clip(d + δ)
scenario a δ that was the worst for some decision
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtri
from scipy.stats import qmc

from benchmarks.rivals.problems import Array, Problem


def worst_case(problem: Problem, decision: Array, starts: int = 8) -> tuple[float, Array]:
    """min over A(decision) of f and where: by descents from the lowest of some 2000 points that are apart."""
    decision = np.clip(np.asarray(decision, dtype=float), problem.lower, problem.upper)
    points = np.clip(decision + _perturbations(problem), problem.lower, problem.upper)
    values = problem.f(points)
    order = np.argsort(values)[:300]
    best, where = float(values[order[0]]), points[order[0]]
    for start in _apart(points[order], problem.eps / 3, starts):
        point = _descend(problem, decision, start)
        value = float(problem.f(point[None])[0])
        if value < best:
            best, where = value, point
    return best, where


def regret(problem: Problem, decision: Array) -> float:
    """How far the worst case of the decision is below the best possible one (the paper's ε-regret)."""
    return problem.stable_value - worst_case(problem, decision)[0]


def stable_optimum(problem: Problem, seed: int = 0, scan: int = 20000, climbs: int = 24) -> tuple[Array, float]:
    """max over decisions of the worst case: a scan, then exchange ascents from the best that are apart."""
    rng = np.random.default_rng(seed)
    decisions = problem.lower + (problem.upper - problem.lower) * rng.random((scan, problem.dimension))
    coarse = _perturbations(problem)[: 2**problem.dimension + 200]
    values = np.array([problem.f(np.clip(d + coarse, problem.lower, problem.upper)).min() for d in decisions])
    best, best_value = decisions[0], -np.inf
    for start in _apart(decisions[np.argsort(-values)], problem.eps, climbs):
        decision, value = _climb(problem, start)
        if value > best_value:
            best, best_value = decision, value
    return best, best_value


# -- inner minimum -------------------------------------------------------------------------------------------------


@cache
def _perturbations(problem: Problem) -> Array:
    """0, the corners (or 64 directions on the sphere), then points that fill the ball."""
    d = problem.dimension
    filling = qmc.Sobol(d + 1, scramble=True, rng=np.random.default_rng(0)).random_base2(11)
    if problem.norm == "linf":
        corners = np.array(list(itertools.product((-1.0, 1.0), repeat=d)))
        inside = 2 * filling[:, :d] - 1
    else:
        normal = ndtri(np.clip(filling[:, :d], 1e-9, 1 - 1e-9))
        directions = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        corners, inside = directions[:64], directions * filling[:, d:] ** (1 / d)
    return problem.eps * np.concatenate([np.zeros((1, d)), corners, inside])


def _descend(problem: Problem, decision: Array, start: Array) -> Array:
    """A local minimum of f in A(decision)."""
    reach = problem.eps
    bounds = np.stack(
        [np.maximum(problem.lower, decision - reach), np.minimum(problem.upper, decision + reach)], axis=1
    )
    ball = {
        "type": "ineq",
        "fun": lambda x: reach**2 - np.sum((x - decision) ** 2),
        "jac": lambda x: -2 * (x - decision),
    }
    found = minimize(
        lambda x: problem.f(x[None])[0],
        start,
        jac=lambda x: problem.gradient(x[None])[0],
        bounds=bounds,
        method="SLSQP" if problem.norm == "l2" else "L-BFGS-B",
        **({"constraints": [ball]} if problem.norm == "l2" else {}),
    ).x
    delta = np.clip(found, *bounds.T) - decision
    length = np.linalg.norm(delta)
    if problem.norm == "l2" and length > reach:  # SLSQP keeps its constraints to a tolerance only
        delta *= reach / length
    return decision + delta


# -- outer maximum -------------------------------------------------------------------------------------------------


def _apart(ordered: Array, distance: float, count: int) -> Array:
    """The first ``count`` rows none of which is nearer than ``distance`` to an earlier one."""
    kept = [ordered[0]]
    for row in ordered[1:]:
        if len(kept) == count:
            break
        if np.min(np.linalg.norm(np.array(kept) - row, axis=1)) > distance:
            kept.append(row)
    return np.array(kept)


def _climb(problem: Problem, decision: Array, rounds: int = 60, tolerance: float = 1e-7) -> tuple[Array, float]:
    """Exchange: maximise the least of the scenarios so far, add the worst case of that decision, repeat.

    Locally only, since f is not concave: a step stays within a radius that halves when it does not improve.
    """
    value, point = worst_case(problem, decision)
    scenarios, radius = [point - decision], problem.eps
    for _ in range(rounds):
        proposal = _raise_least(problem, decision, np.array(scenarios), radius)
        new, point = worst_case(problem, proposal)
        scenarios.append(point - proposal)
        if new > value:
            gained, decision, value = new - value, proposal, new
            if gained < tolerance and radius < 1e-4:
                break
        else:
            radius /= 2
    return decision, value


def _raise_least(problem: Problem, decision: Array, scenarios: Array, radius: float) -> Array:
    """max over d within the radius of min over scenarios δ of f(clip(d + δ)), by SLSQP in (d, level)."""

    def points(v: Array) -> Array:
        return np.clip(v[:-1] + scenarios, problem.lower, problem.upper)

    def slopes(v: Array) -> Array:
        free = (v[:-1] + scenarios > problem.lower) & (v[:-1] + scenarios < problem.upper)
        return np.column_stack([problem.gradient(points(v)) * free, -np.ones(len(scenarios))])

    start = np.append(decision, problem.f(points(np.append(decision, 0.0))).min())
    near = np.stack(
        [np.maximum(problem.lower, decision - radius), np.minimum(problem.upper, decision + radius)], axis=1
    )
    found = minimize(
        lambda v: -v[-1],
        start,
        jac=lambda v: np.append(np.zeros(problem.dimension), -1.0),
        bounds=[*near, (None, None)],
        constraints=[{"type": "ineq", "fun": lambda v: problem.f(points(v)) - v[-1], "jac": slopes}],
        method="SLSQP",
        options={"maxiter": 200, "ftol": 1e-12},
    )
    return np.clip(found.x[:-1], *near.T)
