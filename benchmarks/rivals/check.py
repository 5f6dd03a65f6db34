"""Are the problems what they say? Gradients, worst cases and stable optima against brute force; rows.py, too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.rivals.problems import PROBLEMS, Array, Problem
from benchmarks.rivals.speed import observations
from benchmarks.rivals.worst import stable_optimum, worst_case

POINTS = 1_000_000


def optimum(name: str) -> str:
    """The stable optimum by two independent large searches, in the digits that problems.py has."""
    problem = PROBLEMS[name]
    first, second = (stable_optimum(problem, seed) for seed in (0, 1))
    decision, value = max(first, second, key=lambda found: found[1])
    where = ", ".join(f"{x:.7f}" for x in decision)
    return f"{name}: {value:.6f} at [{where}], and {min(first[1], second[1]):.6f} by the other of two searches"


def check(names: Sequence[str]) -> tuple[list[str], bool]:
    """A line for every problem, and whether all is well."""
    lines, good = [], True
    for name in names:
        problem = PROBLEMS[name]
        slope = _gradient_error(problem)
        missed, loose = _worst_case_error(problem)
        value = worst_case(problem, problem.stable_decision)[0]
        better = _best_of_many(problem) - problem.stable_value
        fine = slope < 1e-5 and missed < 1e-6 and abs(value - problem.stable_value) < 1e-4 and better < 1e-4
        good &= fine
        lines.append(
            f"{name}: gradient off by {slope:.1e} of its size; {POINTS:,} points per decision are at most {missed:.1e} "
            f"below the worst case, which is up to {loose:.1e} below them; stable value {value:.6f}, stored "
            f"{problem.stable_value}; of 2000 decisions around it the best is {better:+.1e} better: "
            f"{'ok' if fine else 'WRONG'}"
        )
        line, fine = check_rows(name)
        good &= fine
        lines.append(line)
    return lines, good


def check_rows(name: str, t: int = 60) -> tuple[str, bool]:
    """The values and gradients of rows.py against those of BoTorch itself, and whether they agree."""
    import torch

    from benchmarks.rivals.rival import BoTorch, Settings

    problem, found = PROBLEMS[name], []
    X, y = observations(problem, t, seed=0)
    for method in ("qlognei16", "qlognei16-rows"):
        run = BoTorch(problem, 0, Settings.of(method))
        run.tell(X, y)
        far = torch.rand(10, 1, problem.dimension, generator=torch.Generator().manual_seed(1))
        candidates = torch.cat([far, (run.X[:10, None] + 0.01 * far).clamp(0, 1)]).requires_grad_()
        torch.manual_seed(2)
        values = run._acquisition()(candidates)
        found.append((values.detach(), torch.autograd.grad(values.sum(), candidates)[0]))
    (value, slope), (own_value, own_slope) = found
    errors = float((value - own_value).abs().max()), float((slope - own_slope).abs().max() / slope.abs().max())
    good = max(errors) < 1e-5
    told = f"values off by {errors[0]:.1e}, gradients by {errors[1]:.1e} of the largest"
    return f"{name}: qlognei16-rows has the numbers of qlognei16: {told}: {'ok' if good else 'WRONG'}", good


def _gradient_error(problem: Problem) -> float:
    X = _decisions(problem, 200, seed=1)
    step = 1e-6 * np.eye(problem.dimension)
    numeric = np.stack([(problem.f(X + e) - problem.f(X - e)) / 2e-6 for e in step], axis=1)
    exact = problem.gradient(X)
    return float(np.max(np.abs(numeric - exact)) / np.max(np.abs(exact)))


def _worst_case_error(problem: Problem, decisions: int = 20) -> tuple[float, float]:
    """By how much random points are below what we call the worst case, and above it, at most."""
    gaps = []
    for decision in np.vstack([problem.stable_decision, _decisions(problem, decisions, seed=2)]):
        rng = np.random.default_rng(3)
        if problem.norm == "linf":
            deltas = rng.uniform(-1, 1, (POINTS, problem.dimension))
        else:
            deltas = rng.standard_normal((POINTS, problem.dimension))
            deltas /= np.linalg.norm(deltas, axis=1, keepdims=True)
            deltas *= rng.random((POINTS, 1)) ** (1 / problem.dimension)
        points = np.clip(decision + problem.eps * deltas, problem.lower, problem.upper)
        lowest = min(problem.f(part).min() for part in np.array_split(points, 50))
        gaps.append(worst_case(problem, decision)[0] - lowest)
    return max(gaps), -min(gaps)


def _best_of_many(problem: Problem) -> float:
    """The best worst case of decisions around the stable one, near and far."""
    rng = np.random.default_rng(4)
    scale = (problem.upper - problem.lower) * 10.0 ** rng.uniform(-4, -0.5, (2000, 1))
    around = problem.stable_decision + scale * rng.standard_normal((2000, problem.dimension))
    return max(worst_case(problem, decision)[0] for decision in around)


def _decisions(problem: Problem, count: int, seed: int) -> Array:
    spread = problem.upper - problem.lower
    return problem.lower + spread * np.random.default_rng(seed).random((count, problem.dimension))
