"""How near the search comes to the best in every cell of {scale} × {set} × {parameter} × {space}, and in 10-D.

    python -m benchmarks.accuracy [--cases 20] [--cells log,box,float] [--processes 2] [--keep results.jsonl] [--quick]

A case is a random posterior (smooth or rough, SE or Matérn, 5 to 200 observations) with a random set, see `cells`. The
reference is enumeration, zooming in, and further searches from where enumeration says, see `reference`. Per cell:

    inner     worst cases of five decisions, lcb and ucb: within 0.1 % of the spread of the bounds in 99 %
    decision  the one suggested (by ucb) and the one reported (by lcb): their worst cases within 1 % of the best known
              in 95 %
    against   reports that contradict themselves or what is known of the decisions tried: none
    claimed   where a report says that its search is settled, nothing better was found in 99 %

``--cells`` restricts to cells that have all of these words; ``--keep`` writes every finished case to a file and
continues from there. The exit code is 1 if a cell misses something.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.accuracy.cells import Cell, cells
from benchmarks.accuracy.measure import Measured, measured

QUICK = ("linear box none floats", "log ball float floats", "relative own none floats", "log box estimate whole")
MUST = {"inner": 0.99, "decision": 0.95, "claimed": 0.99}


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 0 if every cell is as it must be, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20, help="of each cell")
    parser.add_argument("--cells", default="", help="words that a cell must have, such as log,box,float")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a file that keeps finished cases")
    parser.add_argument("--quick", action="store_true", help="one case of a handful of cells")
    options = parser.parse_args(arguments)
    words = [word for word in options.cells.split(",") if word]
    chosen = [cell for cell in cells() if all(word in cell for word in words)]
    if options.quick:
        chosen, options.cases = [cell for cell in cells() if str(cell) in QUICK], 1
    if not chosen:
        parser.error(f"expected words of cells, such as log,box,float, got {options.cells}")
    tasks = [(cell, seed) for cell in chosen if not cell.refused for seed in range(options.cases)]
    found: dict[Cell, list[Measured]] = {cell: [] for cell in chosen}
    print("| cell | cases | inner | decision | against | claimed | worst inner | worst decision | |")
    print("|---|---|---|---|---|---|---|---|---|")
    good, every = True, []
    for cell, one in _results(tasks, options):
        found[cell].append(one)
        every.append(one)
        if len(found[cell]) == options.cases:
            good &= _line(str(cell), found[cell])
    for cell in chosen:
        if cell.refused:
            print(f"| {cell} | refused: {cell.refused} |")
    if len(chosen) > 1 and every:
        _line("all", every)
    return int(not good)


def _results(tasks: list[tuple[Cell, int]], options: Any) -> Iterator[tuple[Cell, Measured]]:
    """Every case with its result, from the file or computed."""
    known: dict[tuple[str, int], Measured] = {}
    if options.keep is not None and options.keep.exists():
        for line in options.keep.read_text().splitlines():
            entry = json.loads(line)
            known[entry["cell"], entry["seed"]] = Measured(**entry["found"])
    left = [(cell, seed) for cell, seed in tasks if (str(cell), seed) not in known]
    with ProcessPoolExecutor(options.processes) as pool:
        new = pool.map(_measured, left) if options.processes > 1 else map(_measured, left)
        for cell, seed in tasks:
            one = known.get((str(cell), seed))
            if one is None:
                one = next(new)
                if options.keep is not None:
                    with options.keep.open("a") as file:
                        file.write(json.dumps({"cell": str(cell), "seed": seed, "found": one._asdict()}) + "\n")
            yield cell, one


def _measured(task: tuple[Cell, int]) -> Measured:
    return measured(*task)


def _line(name: str, found: list[Measured]) -> bool:
    """Print a line of the table, and say whether the cell is as it must be."""
    inner, losses, claims = ([x for one in found for x in part(one)] for part in (_inner, _losses, _claims))
    against = sum(one.contradictions for one in found)
    shares = {"inner": _share(inner, 0.001), "decision": _share(losses, 0.01), "claimed": _share(claims, 0.001)}
    good = not against and all(shares[key] >= least for key, least in MUST.items())
    each = " | ".join([*(f"{100 * shares[k]:.1f} %" for k in ("inner", "decision")), str(against)])
    claimed = f"{100 * shares['claimed']:.1f} % of {len(claims)}"
    worst = f"{100 * max(inner):.2f} % | {100 * max(losses):.2f} %"
    print(f"| {name} | {len(found)} | {each} | {claimed} | {worst} | {'' if good else 'MISSED'} |", flush=True)
    return good


def _inner(one: Measured) -> list[float]:
    return one.inner


def _losses(one: Measured) -> list[float]:
    return one.losses


def _claims(one: Measured) -> list[float]:
    return [] if one.claim is None else [one.claim]


def _share(values: list[float], most: float) -> float:
    return sum(value <= most for value in values) / len(values) if values else 1.0


if __name__ == "__main__":
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    sys.exit(main())
