"""How honest bounds are where the model is learned: the defaults of the front door on families of functions.

A run is what `maximize` does with a function that it does not know. After 20, 40 and 80 evaluations three statements
are compared with the truth: the lower and the upper bound of the reported decision's worst case, and the bound that no
decision exceeds. A statement counts as kept if it is true, or if the summary said that the model is not to be trusted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.optimizer import Optimizer
from stableopt.model.learning import Learned
from stableopt.paper.verification.families import FAMILIES

MARKS = (20, 40, 80)
STATEMENTS = ("lower", "upper", "optimum")
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Row:
    """What a run said after t evaluations, and what was true."""

    family: str
    seed: int
    t: int
    lower: float
    upper: float
    optimum: float
    """The bound of what no decision exceeds."""
    worst: float
    """The true worst case of the reported decision."""
    best: float
    """The true worst case of the best decision."""
    trusted: bool
    """Whether the summary took the model at its word."""
    seconds: float = 0.0
    """Processor time until then, without the reports."""

    @property
    def true(self) -> tuple[bool, bool, bool]:
        """Which of the three statements are true, up to rounding."""
        off = _ROUNDING * (1 + abs(self.best))
        return self.lower <= self.worst + off, self.worst <= self.upper + off, self.best <= self.optimum + off

    @property
    def regret(self) -> float:
        return self.best - self.worst

    @property
    def width(self) -> float:
        """The certified bound on the regret: from the lower bound to that of the optimum."""
        return self.optimum - self.lower


def run(family: str, seed: int, model: Learned, rounds: int = MARKS[-1]) -> list[Row]:
    """One run, seen at the marks up to ``rounds``."""
    task = FAMILIES[family].task(seed)
    errors = task.noise(np.random.default_rng([seed, 1]).random(rounds))
    options: Any = {"algorithm": FRONT_DOOR.algorithm, "beta": FRONT_DOOR.beta, "explore": FRONT_DOOR.explore}
    optimizer = Optimizer(task.domain, task.uncertainty, model, **options, seed=seed)
    rows, seconds = [], 0.0
    for t in range(1, rounds + 1):
        start = process_time()
        query = optimizer.ask()
        optimizer.tell(query, task.value(query.point_index) + float(errors[t - 1]))
        seconds += process_time() - start
        if t in MARKS:
            said = optimizer.report()
            bounds = said.lower, said.upper, said.optimum_upper
            rows.append(Row(family, seed, t, *bounds, task.worst(said), task.optimum, True, seconds))
    return rows


def _job(job: tuple[str, int, Learned, int]) -> list[Row]:
    return run(*job)


def measure(
    families: Iterable[str],
    seeds: Sequence[int],
    model: Learned,
    *,
    rounds: int = MARKS[-1],
    jobs: int = 1,
    kept: Path | None = None,
) -> Iterator[list[Row]]:
    """All runs, seed by seed, as they are done. ``kept``: a file of finished runs, which are not repeated."""
    done: dict[tuple[str, int], list[Row]] = {}
    for line in kept.read_text(encoding="utf-8").splitlines() if kept is not None and kept.exists() else ():
        row = Row(**json.loads(line))
        done.setdefault((row.family, row.seed), []).append(row)
    marks = sum(t <= rounds for t in MARKS)
    wanted = [(family, seed) for seed in seeds for family in families]
    missing = [each for each in wanted if len(done.get(each, ())) < marks]
    yield from (done[each][:marks] for each in wanted if each not in set(missing))
    todo = [(*each, model, rounds) for each in missing]
    pool = ProcessPoolExecutor(jobs) if jobs > 1 else None
    try:
        for rows in pool.map(_job, todo) if pool else map(_job, todo):
            if kept is not None:
                with kept.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(asdict(row)) + "\n" for row in rows)
            yield rows
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)
