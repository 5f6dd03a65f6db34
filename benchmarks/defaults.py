"""The table behind the defaults: mean ε-regret of problems × choices, one choice changed at a time.

    python -m benchmarks.defaults [--seeds 5] [--rounds 60] [--problems polynomial bumps4 bumps6] [--out FILE]

Everything is `maximize` with its defaults but for the choice that the row names. t counts every evaluation, the ten
initial ones included; all rows of a seed share their initial points (but for the row of our own design) and the noise.
Finished runs are kept in a directory beside the table, so that it can be interrupted and continued.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

CHOICES = {
    "the defaults": "ours",
    "initial points of its own design": "ours-design=own",
    "SE instead of Matérn-5/2": "ours-kernel=se",
    "Matérn-3/2": "ours-kernel=matern32",
    "signal variance learned": "ours-signal=learned",
    "maximum likelihood": "ours-method=ml",
    "maximum likelihood, β = 4": "ours-method=ml-explore=4",
    "lengthscale prior 4.1√d, spread √3": "ours-length=4.1:1.73",
    "lengthscale prior 0.15√d, spread ½": "ours-length=0.15:0.5",
    "lengthscale prior 0.15√d, spread 1": "ours-length=0.15:1.0",
    "lengthscale prior 0.3√d": "ours-length=0.3:0.35",
    "exploring with β = ½ throughout": "ours-explore=0.5",
    "exploring with β = ¼": "ours-explore=0.25:4",
    "exploring with β = 1": "ours-explore=1:4",
    "exploring with β = 4": "ours-explore=4",
    "reporting the best expectation": "ours-report=expected",
    "reporting among tried decisions": "ours-report=tried",
}
MARKS = (20, 30, 50, 60, 100)


def one(job: tuple[str, str, int, int, str]) -> None:
    """A run that is not there yet."""
    problem, method, seed, rounds, out = job
    from benchmarks.rivals.problems import PROBLEMS
    from benchmarks.rivals.regret import run

    path = Path(out) / f"{problem}.{method}.{seed}.{rounds}.json"
    if not path.exists():
        *_, last = run(PROBLEMS[problem], method, seed, rounds)
        record = json.dumps(last)
        path.with_suffix(".unfinished").write_text(record)
        path.with_suffix(".unfinished").replace(path)


def table(problems: list[str], seeds: int, rounds: int, out: Path) -> str:
    """Mean regret ± standard error at the marks, of the runs that are there."""
    marks = [t for t in MARKS if t <= rounds]
    lines = [
        "| problem | choice | runs | " + " | ".join(f"t = {t}" for t in marks) + " |",
        "|---" * (3 + len(marks)) + "|",
    ]
    for problem in problems:
        for label, method in CHOICES.items():
            found = [out / f"{problem}.{method}.{seed}.{rounds}.json" for seed in range(seeds)]
            runs = [json.loads(path.read_text())["reports"] for path in found if path.exists()]
            if not runs:
                continue
            regret = [[next(r["regret"]["own"] for r in run if r["t"] == t) for t in marks] for run in runs]
            mean = np.mean(regret, axis=0)
            error = np.std(regret, axis=0, ddof=min(1, len(runs) - 1)) / np.sqrt(len(runs))
            cells = " | ".join(f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True))
            lines.append(f"| {problem} | {label} | {len(runs)} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=["polynomial", "bumps4", "bumps6"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=60, help="a multiple of 10")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("defaults-output"))
    arguments = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # a worker a core
    arguments.out.mkdir(parents=True, exist_ok=True)
    out = str(arguments.out)
    jobs = [
        (problem, method, seed, arguments.rounds, out)
        for seed in range(arguments.seeds)
        for problem in arguments.problems
        for method in CHOICES.values()
    ]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for done, _ in enumerate(pool.map(one, jobs), start=1):
            print(f"\r{done}/{len(jobs)} runs", end="", flush=True)
    text = table(arguments.problems, arguments.seeds, arguments.rounds, arguments.out)
    (arguments.out / "table.md").write_text(text + "\n")
    print("\n" + text)


if __name__ == "__main__":
    main()
