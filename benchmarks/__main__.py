"""Run the cases, each in a process of its own, and print what was measured, what must be reached and whether it is."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.table import Row, table

CASES = ("polynomial", "scattered", "parameters", "groups", "rectangle", "ball", "huge_rectangle", "huge_ball", "large")
CASES += ("imports", "experiments")
# One BLAS thread on both sides: with more, a ratio on a busy machine says how threads wait for each other.
THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> int:
    """0 if everything is reached, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="case", help=f"all if none is named: {', '.join(CASES)}")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the numbers to this file")
    arguments = parser.parse_args()
    unknown = set(arguments.cases) - set(CASES)
    if unknown:
        parser.error(f"expected cases among {', '.join(CASES)}, got {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    failed: list[str] = []
    for case in arguments.cases or CASES:
        print(f"{case} ...", file=sys.stderr, flush=True)
        found = _measure(case)
        rows += found
        failed += [] if found else [case]
    print(table(rows))
    for case in failed:
        print(f"{case}: no result, see the error above")
    if arguments.json:
        numbers = [asdict(row) | {"ratio": row.ratio, "reached": row.reached} for row in rows]
        arguments.json.write_text(json.dumps({"rows": numbers, "failed": failed}, indent=2) + "\n")
    return int(bool(failed) or not all(row.reached for row in rows))


def _measure(case: str) -> list[Row]:
    """The rows of a case, or none if it failed."""
    code = (
        "import json; from dataclasses import asdict; from benchmarks import cases; "
        f"print(json.dumps([asdict(row) for row in cases.{case}()]))"
    )
    command, environment = [sys.executable, "-c", code], os.environ | THREADS
    child = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    return [Row(**row) for row in json.loads(child.stdout)] if child.returncode == 0 else []


if __name__ == "__main__":
    sys.exit(main())
