"""CPU seconds per suggestion, model fitting included: the sides take turns in one process with one thread.

Both sides see the same data: half of it fills the domain, half lies around the stable optimum, as after some rounds of
any method. All but the last observation are told before the clock starts; the last one, the fit and the suggestion are
timed. What was suggested and what would be reported is judged by its true worst case.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import qmc

from benchmarks.rivals.methods import start
from benchmarks.rivals.problems import PROBLEMS, Array, Problem
from benchmarks.rivals.worst import regret


def observations(problem: Problem, t: int, seed: int) -> tuple[Array, Array]:
    """t noisy observations: half space-filling, half normal around the stable decision."""
    rng = np.random.default_rng([seed, t, 3])
    spread = problem.upper - problem.lower
    filling = problem.lower + spread * qmc.Sobol(problem.dimension, rng=rng).random_base2(7)[: t - t // 2]
    near = problem.stable_decision + 0.1 * spread * rng.standard_normal((t // 2, problem.dimension))
    X = np.clip(np.vstack([filling, near]), problem.lower, problem.upper)
    X = X[rng.permutation(t)]
    return X, problem.f(X) + problem.noise * rng.standard_normal(t)


def measure(
    problems: Sequence[str], methods: Sequence[str], sizes: Sequence[int], repeats: int, out: Path | None
) -> str:
    """The table: median seconds, ratio to the first method, and mean regret of what is suggested and reported."""
    rows: list[dict[str, Any]] = []
    for problem in problems:
        for t in sizes:
            found = {method: [] for method in methods}
            for repeat in range(repeats):
                for method in methods:
                    found[method].append(_once(PROBLEMS[problem], method, t, repeat))
            rows += [{"problem": problem, "t": t, "method": m, **_summary(found[m])} for m in methods]
            print("\n".join(_text(row, rows) for row in rows[-len(methods) :]), file=sys.stderr, flush=True)
    if out:
        out.write_text(json.dumps(rows, indent=1) + "\n")
    heading = f"{'problem':<12}{'t':>4}  {'method':<20}{'seconds':>9}{'ratio':>8}{'suggested':>12}{'reported':>12}"
    return "\n".join([heading, *(_text(row, rows) for row in rows)])


def _once(problem: Problem, name: str, t: int, seed: int) -> tuple[float, float, float]:
    X, y = observations(problem, t, seed)
    method = start(name, problem, seed)
    method.tell(X[:-1], y[:-1])
    began = time.process_time()
    method.tell(X, y)
    suggestion = method.suggest()
    seconds = time.process_time() - began
    decision = next(iter(method.report(thorough=False).values()))
    return seconds, regret(problem, suggestion.decision), regret(problem, decision)


def _summary(found: list[tuple[float, float, float]]) -> dict[str, float]:
    seconds, suggested, reported = np.array(found).T
    return {"seconds": float(np.median(seconds)), "suggested": suggested.mean(), "reported": reported.mean()}


def _text(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> str:
    first = next(r for r in rows if (r["problem"], r["t"]) == (row["problem"], row["t"]))
    ratio = row["seconds"] / first["seconds"]
    numbers = f"{row['seconds']:>9.3f}{ratio:>8.1f}{row['suggested']:>12.3f}{row['reported']:>12.3f}"
    return f"{row['problem']:<12}{row['t']:>4}  {row['method']:<20}{numbers}"
