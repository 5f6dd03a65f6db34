"""The field: ours, the paper's StableOpt and rivals on many problems that nobody tuned to.

    python -m benchmarks.field run --out DIR       every run that is not there yet, then the table
    python -m benchmarks.field table [--out DIR]   the table and the two figures of what is kept, and of what is there
    python -m benchmarks.field keep --out DIR      keep what is there, in kept.csv of this folder
    python -m benchmarks.field compare --out DIR --methods A B    B against A, paired by problem and seed
    python -m benchmarks.field problems            the problems, their parts and stable optima
    python -m benchmarks.field optimum             search the stable optima again, and store them

A run is (problem, method, seed): one file with its reports at 10, 20, 50 and 100 evaluations, the 10 initial ones
included. What is there is skipped, so it can be interrupted; so is what is kept of rivals, whose runs do not depend on
this code. All methods of a seed share initial points and noise.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.field import results
from benchmarks.field.problems import BROUGHT, PROBLEMS, STORED, at_edge, optimum, part
from benchmarks.rivals.regret import run

RIVALS = ("carbo", "qucb16", "qlognei16-rows", "qvar16-rows")
METHODS = ("ours", "random", "paper", *RIVALS)


class Job(NamedTuple):
    """A run that is not there yet."""

    problem: str
    method: str
    seed: int
    rounds: int
    shorter: dict[str, Any] | None
    modules: tuple[str, ...]
    stable_value: float


def work(job: Job) -> dict[str, Any]:
    """In a worker, perhaps on another machine: the whole run."""
    for module in job.modules:
        importlib.import_module(module)
    problem = replace(PROBLEMS[job.problem], stable_value=job.stable_value)
    *_, last = run(problem, job.method, job.seed, job.rounds, job.shorter, results.MARKS)
    return last


def missing(chosen: argparse.Namespace) -> Iterator[Job]:
    """All problems and methods of a seed, then the next seed: a table of part of the seeds is paired."""
    kept = {key: results.length(rules) for key, rules in results.kept().items()}
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        for method in chosen.methods:
            for problem in chosen.problems:
                if method in RIVALS and kept.get((problem, method, seed), 0) >= chosen.rounds:
                    continue
                path = results.path(chosen.out, problem, method, seed)
                shorter = json.loads(path.read_text()) if path.exists() else None
                if shorter is None or shorter["rounds"] < chosen.rounds:
                    stable = PROBLEMS[problem].stable_value
                    yield Job(problem, method, seed, chosen.rounds, shorter, tuple(chosen.modules), stable)


def executor(chosen: argparse.Namespace) -> Executor:
    """All cores of this machine, or a cluster of Dask."""
    if chosen.scheduler is None:
        return ProcessPoolExecutor(chosen.jobs)
    from distributed import Client

    return Client(chosen.scheduler).get_executor()  # type: ignore[no-any-return]


def run_all(chosen: argparse.Namespace) -> None:
    """Workers compute, and only this process writes."""
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name in chosen.problems:  # of one's own, as a rule
        if np.isnan(PROBLEMS[name].stable_value):
            print(f"{name}: searching for its stable optimum; pass stable_value to save this", file=sys.stderr)
            PROBLEMS[name] = optimum(PROBLEMS[name])
    jobs = list(missing(chosen))
    with executor(chosen) as pool:
        waiting = {pool.submit(work, job): job for job in jobs}
        for number, done in enumerate(as_completed(waiting), start=1):
            job = waiting[done]
            if (error := done.exception()) is not None:
                print(f"{job.problem} {job.method} {job.seed} failed: {error}", file=sys.stderr, flush=True)
                continue
            record = done.result()
            path = results.path(chosen.out, job.problem, job.method, job.seed)
            path.with_suffix(".new").write_text(json.dumps(record) + "\n")
            path.with_suffix(".new").replace(path)  # a file that is there is whole
            own = ", ".join(f"{at['t']}: {next(iter(at['regret'].values())):.3g}" for at in record["reports"])
            print(
                f"{number}/{len(jobs)} {path.stem}: {own} ({sum(record['seconds']):.0f} s)", file=sys.stderr, flush=True
            )


def store_optima(names: list[str], seed: int) -> None:
    """Search for the stable optima of these problems again; a better one is stored."""
    for name in names:
        stored = json.loads(STORED.read_text())
        found = optimum(PROBLEMS[name], seed)
        if name in stored and stored[name]["value"] >= found.stable_value:
            print(f"{name}: {found.stable_value}, not above {stored[name]['value']}, which is stored", flush=True)
            continue
        stored[name] = {"value": found.stable_value, "decision": found.stable_decision.tolist()}  # type: ignore[union-attr]
        lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(stored[key])}" for key in sorted(stored))
        STORED.write_text("{\n" + lines + "\n}\n")
        print(f"{name}: {found.stable_value} at {stored[name]['decision']}", flush=True)


def main() -> int:
    """0 if the command did what it says."""
    chosen = _arguments()
    if chosen.command == "problems":
        for name in chosen.problems:
            problem = PROBLEMS[name]
            edge = "  at an edge" if at_edge(problem) else ""
            print(f"{name:<26}{part(name):<8}{problem.dimension}-D  {problem.stable_value:.6g}{edge}")
    elif chosen.command == "optimum":
        store_optima([name for name in chosen.problems if name not in BROUGHT], chosen.first)
    elif chosen.command == "keep":
        print(f"kept {results.keep(chosen.out)} runs in {results.KEPT.name}")
    else:
        if chosen.command == "run":
            run_all(chosen)
        found = results.load(chosen.out, chosen.problems, chosen.methods)
        if chosen.command == "compare":
            print(results.compare(found, *chosen.methods))
        else:
            print(results.table(found, chosen.methods))
        if chosen.figures is not None:
            results.draw(found, chosen.methods, chosen.figures)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.field", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "table", "keep", "compare", "problems", "optimum"))
    parser.add_argument("--with", dest="modules", nargs="+", default=[], metavar="M", help="modules of yours to import")
    parser.add_argument("--problems", nargs="+", metavar="P", help="names, or choose, look: a part")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), metavar="M", help=", ".join(METHODS))
    parser.add_argument("--seeds", type=int, default=10, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--rounds", type=int, choices=results.MARKS[1:], default=100)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a cluster of Dask, instead of processes")
    parser.add_argument("--out", type=Path, metavar="DIR", help="one file per run")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="draw field-ranks.png and field-ratios.png here")
    chosen = parser.parse_args()
    for module in chosen.modules:
        importlib.import_module(module)
    wanted = chosen.problems or list(PROBLEMS)
    chosen.problems = [name for name in PROBLEMS if name in wanted or part(name) in wanted]
    if unknown := set(wanted) - {"choose", "look"} - set(PROBLEMS):
        parser.error(f"expected names of problems, got {sorted(unknown)}: python -m benchmarks.field problems")
    if chosen.command in ("run", "keep") and chosen.out is None:
        parser.error("expected --out DIR")
    if chosen.command == "compare" and len(chosen.methods) != 2:
        parser.error("expected two --methods")
    return chosen


if __name__ == "__main__":
    sys.exit(main())
