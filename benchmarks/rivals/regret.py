"""Regret over the rounds: one JSON file for every finished run, and the table of all that are there.

t counts every evaluation, the initial ones included. All methods of a seed have the same initial points (but for
``ours-design=own``) and the same errors in the same order. A method that fits its model to all observations anew in
every round (``remembers`` is False) goes on where a shorter run of it ended; any other is run from the beginning.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rivals.methods import Method, start
from benchmarks.rivals.problems import PROBLEMS, Array, Problem
from benchmarks.rivals.worst import regret

CHECKPOINTS = (20, 50, 100)
EVERY = 5
"""Rounds between two reports: a report takes BoTorch as long as a cheap suggestion."""
KEPT = 10
"""Rounds between two writings of an unfinished run that can be continued."""


def run_all(out: Path, problems: Sequence[str], methods: Sequence[str], seeds: Iterable[int], rounds: int) -> None:
    """Every run that is not there yet: all problems and methods of a seed, then the next seed."""
    out.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        for method in methods:
            for problem in problems:
                path = out / f"{problem}.{method}.{seed}.json"
                shorter = json.loads(path.read_text()) if path.exists() else None
                if shorter and shorter["rounds"] >= rounds:
                    continue
                for record in run(PROBLEMS[problem], method, seed, rounds, shorter):
                    unfinished = path.with_suffix(".unfinished")
                    unfinished.write_text(json.dumps(record) + "\n")
                    unfinished.replace(path)  # a file that is there is whole
                print(f"{path.name}: {sum(record['seconds']):.0f} s of suggestions", file=sys.stderr, flush=True)


def run(
    problem: Problem,
    name: str,
    seed: int,
    rounds: int,
    shorter: dict[str, Any] | None = None,
    marks: Collection[int] | None = None,
) -> Iterator[dict[str, Any]]:
    """One run: what it reported when, the regret of that, and the CPU seconds of every suggestion.

    It reports after every fifth evaluation, or at the ``marks``. The last record is the run. Those before it, every
    ``KEPT`` rounds, are of a method that can go on from them.
    """
    method, errors = start(name, problem, seed), problem.errors(seed, rounds)
    if shorter is None or method.remembers:
        shorter = {"points": method.initial(), "reports": [], "seconds": []}
    X = np.array(shorter["points"])
    y = problem.f(X) + errors[: len(X)]
    seconds: list[float] = list(shorter["seconds"])
    reports: list[dict[str, Any]] = [report for report in shorter["reports"] if report["t"] < len(X)]

    def record() -> dict[str, Any]:
        return {
            "problem": problem.name,
            "method": name,
            "seed": seed,
            "rounds": len(y),
            "stable_value": problem.stable_value,
            "reports": reports,
            "points": np.round(X, 12).tolist(),
            "seconds": [round(s, 4) for s in seconds],
            "versions": _versions(),
        }

    while True:
        t = len(y)
        began = time.process_time()
        method.tell(X, y)
        fitted = time.process_time()
        if (t % EVERY == 0 or t == rounds) if marks is None else t in marks:
            reports.append(_report(problem, method, t))
        if t == rounds or (t % KEPT == 0 and not method.remembers):
            yield record()
        if t == rounds:
            return
        again = time.process_time()
        point, _ = method.suggest()
        seconds.append(time.process_time() - again + fitted - began)
        X = np.vstack([X, point])
        y = np.append(y, problem.f(point[None]) + errors[t])


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
    for package in ("stableopt", "botorch", "gpytorch", "torch", "optuna", "numpy", "scipy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
