"""Regret over the rounds: one JSON file for every finished run, and the table of all that are there.

t counts every evaluation, the initial ones included. All methods of a seed have the same initial points and the same
errors in the same order.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rivals.methods import Method, start
from benchmarks.rivals.problems import INITIAL, PROBLEMS, Array, Problem
from benchmarks.rivals.worst import regret

CHECKPOINTS = (20, 50, 100)
EVERY = 5
"""Rounds between two reports: a report takes BoTorch as long as a cheap suggestion."""


def run_all(out: Path, problems: Sequence[str], methods: Sequence[str], seeds: Iterable[int], rounds: int) -> None:
    """Every run that is not there yet: all problems and methods of a seed, then the next seed."""
    out.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        for method in methods:
            for problem in problems:
                path = out / f"{problem}.{method}.{seed}.json"
                if path.exists() and json.loads(path.read_text())["rounds"] >= rounds:
                    continue
                record = run(PROBLEMS[problem], method, seed, rounds)
                unfinished = path.with_suffix(".unfinished")
                unfinished.write_text(json.dumps(record) + "\n")
                unfinished.replace(path)  # a file that is there is whole
                print(f"{path.name}: {sum(record['seconds']):.0f} s of suggestions", file=sys.stderr, flush=True)


def run(problem: Problem, name: str, seed: int, rounds: int) -> dict[str, Any]:
    """One run: what it reported when, the regret of that, and the CPU seconds of every suggestion."""
    method, X, errors = start(name, problem, seed), problem.initial(seed), problem.errors(seed, rounds)
    y = problem.f(X) + errors[:INITIAL]
    seconds: list[float] = []
    reports: list[dict[str, Any]] = []
    while True:
        t = len(y)
        if t == rounds:
            method.tell(X, y)
            reports.append(_report(problem, method, t))
            break
        began = time.process_time()
        method.tell(X, y)
        fitted = time.process_time()
        if t % EVERY == 0:
            reports.append(_report(problem, method, t))
        again = time.process_time()
        point, _ = method.suggest()
        seconds.append(time.process_time() - again + fitted - began)
        X = np.vstack([X, point])
        y = np.append(y, problem.f(point[None]) + errors[t])
    return {
        "problem": problem.name,
        "method": name,
        "seed": seed,
        "rounds": rounds,
        "reports": reports,
        "points": np.round(X, 6).tolist(),
        "seconds": [round(s, 4) for s in seconds],
        "versions": _versions(),
    }


def _report(problem: Problem, method: Method, t: int) -> dict[str, Any]:
    decisions = method.report(thorough=t in CHECKPOINTS)
    return {
        "t": t,
        "decisions": {rule: np.round(decision, 6).tolist() for rule, decision in decisions.items()},
        "regret": {rule: round(regret(problem, decision), 6) for rule, decision in decisions.items()},
    }


def table(out: Path, problems: Sequence[str], methods: Sequence[str], seeds: Iterable[int]) -> str:
    """Mean regret ± its standard error at the checkpoints, for each reporting rule, over the seeds that are there."""
    titles = "".join(f"{f't = {t}':>16}" for t in CHECKPOINTS)
    lines = [f"{'problem':<12}{'method':<20}{'report':<10}{'runs':>5}{titles}{'s/suggestion':>14}"]
    wanted = list(seeds)
    for problem in problems:
        for method in methods:
            paths = [out / f"{problem}.{method}.{seed}.json" for seed in wanted]
            records = [json.loads(path.read_text()) for path in paths if path.exists()]
            lines += [_line(problem, method, rule, records) for rule in _rules(records)]
    return "\n".join(lines)


def _rules(records: Sequence[dict[str, Any]]) -> list[str]:
    rules = {rule: None for record in records for report in record["reports"] for rule in report["regret"]}
    return list(rules)


def _line(problem: str, method: str, rule: str, records: Sequence[dict[str, Any]]) -> str:
    cells = ""
    for t in CHECKPOINTS:
        regrets = np.array([at["regret"][rule] for r in records for at in r["reports"] if at["t"] == t])
        cells += f"{_mean(regrets):>16}"
    seconds = np.median([s for record in records for s in record["seconds"]])
    return f"{problem:<12}{method:<20}{rule:<10}{len(records):>5}{cells}{seconds:>14.3f}"


def _mean(values: Array) -> str:
    if not len(values):
        return "-"
    error = f" ± {values.std(ddof=1) / len(values) ** 0.5:.3f}" if len(values) > 1 else ""
    return f"{values.mean():.3f}{error}"


def _versions() -> dict[str, str]:
    found = {}
    for package in ("stableopt", "botorch", "gpytorch", "torch", "numpy", "scipy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
