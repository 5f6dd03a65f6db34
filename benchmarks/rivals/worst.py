"""The true worst case of a decision, and the stable optimum, by brute effort on f itself (nothing of stableopt).

δ        a perturbation; the point is clip(d + δ), then θ
scenario a pair (δ, θ)
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
    decision = problem.settled(np.asarray(decision, dtype=float)[None])[0]
    points = _points(problem, decision, scenarios(problem))
    values = problem.f(points)
    order = np.argsort(values)[:300]
    best, where = float(values[order[0]]), points[order[0]]
    if not _moves(problem).any():
        return best, where
    for start in _apart(points[order], _size(problem), 1 / 3, starts):
        point = _descend(problem, decision, start)
        value = float(problem.f(point[None])[0])
        if value < best:
            best, where = value, point
    return best, where


def regret(problem: Problem, decision: Array) -> float:
    """How far the worst case of the decision is below the best possible one (the paper's ε-regret)."""
    return problem.stable_value - worst_case(problem, decision)[0]


def stable_optimum(problem: Problem, seed: int = 0, scan: int = 20000, climbs: int = 24) -> tuple[Array, float]:
    """max over decisions of the worst case: a scan, then exchange ascents from the best that are apart.

    Every second decision of the scan is stretched beyond the ranges and put back to their ends: it lies on a face.
    """
    rng = np.random.default_rng(seed)
    unit = rng.random((scan, problem.dimension))
    unit[::2] = np.clip(0.5 + 1.6 * (unit[::2] - 0.5), 0.0, 1.0)
    inside = problem.lower + (problem.upper - problem.lower) * unit
    corners = np.array(list(itertools.product(*zip(problem.lower, problem.upper, strict=True))))
    decisions = problem.settled(np.vstack([inside, corners]))
    coarse = scenarios(problem)
    first = 2**problem.dimension + 200 if problem.parameters is None else len(coarse)
    coarse = coarse[: min(first, 500)] if problem.parameters is None else coarse[:: max(1, len(coarse) // 400)]
    values = np.array([problem.f(_points(problem, d, coarse)).min() for d in decisions])
    best, best_value = decisions[0], -np.inf
    reach = np.where(problem.reach > 0, problem.reach, 0.05 * (problem.upper - problem.lower))
    for start in _apart(decisions[np.argsort(-values)], reach, 1.0, climbs):
        decision, value = _climb(problem, start)
        if value > best_value:
            best, best_value = decision, value
    return best, best_value


# -- inner minimum -------------------------------------------------------------------------------------------------


@cache
def scenarios(problem: Problem) -> Array:
    """(n, d + e): δ = 0, corners (or 64 directions on the sphere), then δ that fill the set; each with every θ."""
    d, e = problem.dimension, len(problem.environment)
    filling = qmc.Sobol(d + e + 1, scramble=True, rng=np.random.default_rng(0)).random_base2(11)
    if problem.norm == "linf":
        corners = np.array(list(itertools.product((-1.0, 1.0), repeat=d + e)))
        inside = 2 * filling[:, : d + e] - 1
    else:
        normal = ndtri(np.clip(filling[:, :d], 1e-9, 1 - 1e-9))
        directions = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        corners, inside = directions[:64], directions * filling[:, d : d + 1] ** (1 / d)
    unit = np.concatenate([np.zeros((1, corners.shape[1])), corners, inside])
    deltas = problem.reach * unit[:, :d]
    if problem.parameters is not None:
        few = deltas[: 1 + len(corners) + 512] if problem.reach.any() else deltas[:1]
        return np.vstack([np.column_stack([few, np.tile(row, (len(few), 1))]) for row in problem.parameters])
    low, high = problem.low[d:], problem.high[d:]
    return np.column_stack([deltas, 0.5 * (low + high) + 0.5 * (high - low) * unit[:, d : d + e]])


def _points(problem: Problem, decision: Array, chosen: Array) -> Array:
    Z = chosen + np.append(decision, np.zeros(chosen.shape[1] - problem.dimension))
    return problem.settled(Z) if problem.whole else np.clip(Z, problem.low, problem.high)


@cache
def _size(problem: Problem) -> Array:
    """What is far, per coordinate of a point: eps, and half of what θ can be."""
    half = 0.5 * (problem.high - problem.low)[problem.dimension :]
    size = np.append(problem.reach, half)
    return np.where(size > 0, size, 1.0)


def _moves(problem: Problem) -> Array:
    """Which coordinates of a point a descent may change: not whole numbers, nor one of a list of θ."""
    free = np.append(problem.reach > 0, np.full(len(problem.low) - problem.dimension, problem.parameters is None))
    free[list(problem.whole)] = False
    return free


def _descend(problem: Problem, decision: Array, start: Array) -> Array:
    """A local minimum of f in A(decision), with the start's whole numbers and row of parameters."""
    d, reach, free = problem.dimension, problem.reach, _moves(problem)
    low, high = problem.low.copy(), problem.high.copy()
    low[:d], high[:d] = np.maximum(problem.lower, decision - reach), np.minimum(problem.upper, decision + reach)
    low[~free] = high[~free] = start[~free]
    scale = np.where(reach > 0, reach, 1.0)
    ball = {
        "type": "ineq",
        "fun": lambda x: 1.0 - np.sum(((x[:d] - decision) / scale) ** 2),
        "jac": lambda x: np.append(-2 * (x[:d] - decision) / scale**2, np.zeros(len(x) - d)),
    }
    found = minimize(
        lambda x: problem.f(x[None])[0],
        start,
        jac=lambda x: problem.slope(x[None])[0],
        bounds=np.stack([low, high], axis=1),
        method="SLSQP" if problem.norm == "l2" else "L-BFGS-B",
        **({"constraints": [ball]} if problem.norm == "l2" else {}),
    ).x
    found = np.clip(found, low, high)
    length = np.linalg.norm((found[:d] - decision) / scale)
    if problem.norm == "l2" and length > 1:  # SLSQP keeps its constraints to a tolerance only
        found[:d] = decision + (found[:d] - decision) / length
    return found


# -- outer maximum -------------------------------------------------------------------------------------------------


def _apart(ordered: Array, size: Array, distance: float, count: int) -> Array:
    """The first ``count`` rows none of which is nearer than ``distance``, in units of ``size``, to an earlier one."""
    kept = [ordered[0]]
    for row in ordered[1:]:
        if len(kept) == count:
            break
        if np.min(np.linalg.norm((np.array(kept) - row) / size, axis=1)) > distance:
            kept.append(row)
    return np.array(kept)


def _climb(problem: Problem, decision: Array, rounds: int = 60, tolerance: float = 1e-8) -> tuple[Array, float]:
    """Raise the least f over the scenarios found so far, and add the worst one of where that leads.

    Locally only, since f is not concave: a step stays within a radius that halves when it does not improve. It is a
    share of eps, or where eps is 0 of the range.
    """
    value, point = worst_case(problem, decision, 3)
    found, radius = [_scenario(problem, decision, point)], 1.0
    for _ in range(rounds):
        proposal = _raise_least(problem, decision, np.unique(found, axis=0), radius)
        new, point = worst_case(problem, proposal, 3)
        found.append(_scenario(problem, proposal, point))
        if new > value:
            gained, decision, value = new - value, proposal, new
            if gained < tolerance:
                break
        else:
            radius /= 2
            if radius < 1e-6:
                break
    return decision, worst_case(problem, decision)[0]


def _scenario(problem: Problem, decision: Array, point: Array) -> Array:
    return np.append(point[: problem.dimension] - decision, point[problem.dimension :])


def _raise_least(problem: Problem, decision: Array, found: Array, radius: float) -> Array:
    """max over d within the radius of min over scenarios of f, by SLSQP in (d, level); whole numbers stay."""
    d = problem.dimension
    step = radius * np.where(problem.reach > 0, problem.reach, 0.05 * (problem.upper - problem.lower))
    step[list(problem.whole)] = 0.0
    near = np.stack([np.maximum(problem.lower, decision - step), np.minimum(problem.upper, decision + step)], axis=1)

    def points(v: Array) -> Array:
        Z = found.copy()
        Z[:, :d] += v[:-1]
        return np.clip(Z, problem.low, problem.high)

    def slopes(v: Array) -> Array:
        moved = v[:-1] + found[:, :d]
        free = (moved > problem.lower) & (moved < problem.upper)
        return np.column_stack([problem.slope(points(v))[:, :d] * free, -np.ones(len(found))])

    result = minimize(
        lambda v: -v[-1],
        np.append(decision, problem.f(points(np.append(decision, 0.0))).min()),
        jac=lambda v: np.append(np.zeros(d), -1.0),
        bounds=[*near, (None, None)],
        constraints=[{"type": "ineq", "fun": lambda v: problem.f(points(v)) - v[-1], "jac": slopes}],
        method="SLSQP",
        options={"maxiter": 200, "ftol": 1e-12},
    )
    return np.clip(result.x[:-1], *near.T)
