"""Limits that must hold for every perturbation, against CARBO, BoTorch and a penalty of our own.

    python -m benchmarks.constraints run --out DIR      every run that is not there yet, then the table
    python -m benchmarks.constraints table [--out DIR]  the table of what is kept, and of what is there
    python -m benchmarks.constraints keep --out DIR     keep what is there, in kept.jsonl of this folder
    python -m benchmarks.constraints optimum            search the stable optima again

A run is (problem, method, seed): one file with its reports at 30, 60 and 100 evaluations, the 10 initial ones included.
It is written at every checkpoint, and what is there is skipped; so is what is kept of rivals, whose runs do not depend
on this code. All methods of a seed share initial points and noise.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.constraints.problems import PROBLEMS, SLACK, Problem, optimum

CHECKPOINTS = (30, 60, 100)
RIVALS = ("carbo", "botorch")
METHODS = ("ours", "penalty", *RIVALS)
KEPT = Path(__file__).with_name("kept.jsonl")


def start(method: str, problem: Problem, seed: int) -> Any:
    """A method that knows no observation."""
    if method in ("ours", "penalty"):
        from benchmarks.constraints.ours import Ours

        return Ours(problem, seed, penalty=method == "penalty")
    from benchmarks.constraints import rivals

    return {"carbo": rivals.Carbo, "botorch": rivals.BoTorch}[method](problem, seed)


def run(problem: Problem, method: str, seed: int, rounds: int, path: Path) -> None:
    """One run, written at every checkpoint."""
    side, began = start(method, problem, seed), time.process_time()
    Z = problem.initial(seed)
    Y = problem.measured(Z, seed, 0)
    record: dict[str, Any] = {"problem": problem.name, "method": method, "seed": seed, "reports": []}
    while True:
        side.tell(Z, Y)
        if len(Z) in CHECKPOINTS:
            for rule, (decision, word) in side.report().items():
                value, violation = problem.worst(decision)
                told = {"t": len(Z), "rule": rule, "decision": np.round(decision, 9).tolist(), "word": word}
                record["reports"].append(told | {"regret": problem.best - value, "violation": violation})
            record |= {"rounds": len(Z), "seconds": round(time.process_time() - began, 1)}
            path.with_suffix(".new").write_text(json.dumps(record) + "\n")
            path.with_suffix(".new").replace(path)
            told = ", ".join(f"{r['rule']} {r['word']} {r['violation']:+.3g} {r['regret']:.3g}" for r in record["reports"] if r["t"] == len(Z))  # fmt: skip # noqa: E501
            print(f"{path.stem} t = {len(Z)}: {told} ({record['seconds']} s)", file=sys.stderr, flush=True)
        if len(Z) >= rounds:
            return
        z = problem.settled(side.suggest()[None])
        Z, Y = np.vstack([Z, z]), np.vstack([Y, problem.measured(z, seed, len(Z))])


def load(out: Path | None, file: Path = KEPT) -> list[dict[str, Any]]:
    """The runs that are there and those that are kept; of the same one, the longer."""
    lines = file.read_text().splitlines() if file.exists() else []
    lines += [] if out is None else [path.read_text() for path in sorted(out.glob("*.json"))]
    runs: dict[tuple[str, str, int], dict[str, Any]] = {}
    for run in map(json.loads, lines):
        key = run["problem"], run["method"], run["seed"]
        if key not in runs or run["rounds"] >= runs[key]["rounds"]:  # of two, the longer one says more
            runs[key] = run
    return [runs[key] for key in sorted(runs)]


def keep(out: Path, file: Path = KEPT) -> int:
    """Keep all runs of a directory, in place of the same ones that are kept and no longer; how many are kept now."""
    records = load(out, file)
    for record in records:
        for told in record["reports"]:
            told |= {name: float(f"{told[name]:.6g}") for name in ("regret", "violation")}
            told["decision"] = [float(f"{x:.6g}") for x in told["decision"]]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return len(records)


def table(records: list[dict[str, Any]]) -> str:
    """Of each problem, method and rule: the share that is truly feasible, certified and wrong, and the mean regret."""
    keys = sorted({(r["problem"], r["method"], p["rule"]) for r in records for p in r["reports"]}, key=_order)
    head = "| problem | method | " + " | ".join(f"{t}" for t in CHECKPOINTS) + " |"
    lines = [head, "|---|---|" + "---|" * len(CHECKPOINTS)]
    for problem, method, rule in keys:
        cells = []
        for t in CHECKPOINTS:
            found = [
                p
                for r in records
                if (r["problem"], r["method"]) == (problem, method)
                for p in r["reports"]
                if p["t"] == t and p["rule"] == rule
            ]
            cells.append(_cell(found))
        name = method if rule == "own" else f"{method}, {rule}"
        lines.append(f"| {problem} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _order(key: tuple[str, str, str]) -> tuple[int, int, str]:
    return list(PROBLEMS).index(key[0]), METHODS.index(key[1]), key[2]


def _cell(found: list[dict[str, Any]]) -> str:
    if not found:
        return "–"
    good = [p for p in found if p["violation"] <= SLACK]
    certified = [p for p in found if p["word"] == "certified"]
    wrong = sum(p["violation"] > SLACK for p in certified)
    cell = f"{len(good)}/{len(found)}"
    if any(p["word"] for p in found):
        cell += f" ({len(certified)} certified{f', {wrong} wrong' if wrong else ''})"
    return cell + (f", {np.mean([p['regret'] for p in good]):.3g}" if good else "")


def main() -> int:
    """0 if the command did what it says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.constraints", description=__doc__)
    parser.add_argument("command", choices=("run", "table", "keep", "optimum"))
    parser.add_argument("--problems", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS), metavar="P")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, metavar="M")
    parser.add_argument("--seeds", type=int, default=10, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--rounds", type=int, choices=CHECKPOINTS, default=CHECKPOINTS[-1])
    parser.add_argument("--quick", action="store_true", help="two seeds, 30 evaluations, without the 4-D problems")
    parser.add_argument("--out", type=Path, metavar="DIR", help="one file per run")
    chosen = parser.parse_args()
    if chosen.command == "optimum":
        for name in chosen.problems:
            (first, value), (_, other) = (optimum(PROBLEMS[name], seed) for seed in (0, 1))
            print(
                f"{name}: {value:.5f} at {np.round(first, 4).tolist()}, and {other:.5f} by another search", flush=True
            )
        return 0
    if chosen.out is None and chosen.command != "table":
        parser.error("expected --out DIR")
    if chosen.command == "keep":
        print(f"{keep(chosen.out)} runs are in {KEPT.name}")
        return 0
    if chosen.command == "run":
        chosen.out.mkdir(parents=True, exist_ok=True)
        if chosen.quick:
            chosen.seeds, chosen.rounds = min(2, chosen.seeds), CHECKPOINTS[0]
            chosen.problems = [name for name in chosen.problems if PROBLEMS[name].dimension == 2]
        kept = {(r["problem"], r["method"], r["seed"]): r["rounds"] for r in load(None) if r["method"] in RIVALS}
        for seed in range(chosen.first, chosen.first + chosen.seeds):
            for problem in chosen.problems:
                for method in chosen.methods:
                    if kept.get((problem, method, seed), 0) >= chosen.rounds:
                        continue
                    path = chosen.out / f"{problem}.{method}.{seed}.json"
                    if not path.exists() or json.loads(path.read_text())["rounds"] < chosen.rounds:
                        run(PROBLEMS[problem], method, seed, chosen.rounds, path)
    print(table(load(chosen.out)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
