"""Compare with BoTorch and CARBO on continuous problems: regret over the rounds, seconds per suggestion."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.rivals import check, regret, speed
from benchmarks.rivals.problems import PROBLEMS

RIVALS = ("qucb16", "qlognei16-rows", "qucb64", "carbo")


def main() -> int:
    """0 if the command did what it says."""
    arguments = _arguments()
    problems = arguments.problems or list(PROBLEMS)
    match arguments.command:
        case "regret":
            seeds = range(arguments.first, arguments.first + arguments.seeds)
            if not arguments.table:
                regret.run_all(arguments.out, problems, arguments.methods, seeds, arguments.rounds)
            print(regret.table(arguments.out, problems, arguments.methods, seeds))
        case "speed":
            print(speed.measure(problems, arguments.methods, arguments.sizes, arguments.repeats, arguments.json))
        case "optimum":
            print("\n".join(check.optimum(problem) for problem in problems))
        case "check":
            lines, good = check.check(problems)
            print("\n".join(lines))
            return int(not good)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    texts = {
        "regret": "run what is not in --out yet, then print the mean regret at t = 20, 50, 100",
        "speed": "CPU seconds per suggestion; ratios are to the first method",
        "optimum": "search the stable optima again, with large effort",
        "check": "compare gradients, worst cases and stable optima with brute force, and rows.py with BoTorch",
    }
    found = {name: commands.add_parser(name, help=text, description=text) for name, text in texts.items()}
    for command in found.values():
        command.add_argument("--problems", nargs="+", choices=list(PROBLEMS), metavar="P", help=", ".join(PROBLEMS))
    named = "ours, carbo, qucbN, qlogneiN, with -boundary, -betaB or -rows behind; N perturbations"
    found["regret"].add_argument("--methods", nargs="+", default=["ours", *RIVALS], metavar="M", help=named)
    found["regret"].add_argument("--seeds", type=int, default=10, help="how many")
    found["regret"].add_argument("--first", type=int, default=0, help="the first seed")
    found["regret"].add_argument("--rounds", type=int, default=100, help="evaluations, the 10 initial ones included")
    found["regret"].add_argument("--out", type=Path, required=True, metavar="DIR", help="one file per finished run")
    found["regret"].add_argument("--table", action="store_true", help="run nothing, only print what is there")
    compared = ["ours", "carbo", "qucb16", "qlognei64"]
    found["speed"].add_argument("--methods", nargs="+", default=compared, metavar="M", help=named)
    found["speed"].add_argument("--sizes", nargs="+", type=int, default=[20, 50, 100], metavar="T")
    found["speed"].add_argument("--repeats", type=int, default=5)
    found["speed"].add_argument("--json", type=Path, metavar="PATH", help="also write the numbers to this file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
