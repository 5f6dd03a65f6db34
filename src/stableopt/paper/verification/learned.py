"""How honest bounds are where the model is learned: the defaults of the front door on families of functions.

A run is what `maximize` does with a function that it does not know. After 20, 40 and 80 evaluations three statements
are compared with the truth: the lower and the upper bound of the reported decision's worst case, and the bound that no
decision exceeds. A statement is kept if it is true, or if the summary said that the model is not to be trusted.

The negative control is what the defaults were before: the most likely model alone, a narrow prior, and β = 4.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from stableopt.campaign.done import done
from stableopt.campaign.health import health
from stableopt.campaign.words import MODEL
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.play import play
from stableopt.loop.schedules import Alternating, Constant, Schedule
from stableopt.model.hyperparameters import LogNormal
from stableopt.model.learning import Learned
from stableopt.paper.verification.checks import Check
from stableopt.paper.verification.families import FAMILIES

MARKS = (20, 40, 80)
STATEMENTS = ("lower", "upper", "optimum")
WIDEST = 1.5  # times the width of the control, on smooth families
_ROUNDING = 1e-9
_EVERY_FAMILY, _ALL = 0.9, 0.95
_MANY = 500  # rows of the control: with fewer, neither its failures nor medians of widths are plain


class Method(NamedTuple):
    """How a model is learned, and the two β."""

    name: str
    model: Callable[[int], Learned]
    """For so many inputs that are numbers."""
    beta: Schedule
    explore: Schedule | None


def _pretending(p: int) -> Learned:
    """One model alone, whose prior takes lengthscales nearly for granted."""
    return Learned(method="map", priors={"lengthscale": LogNormal(0.15 * math.sqrt(p), 0.35)})


def _usual(p: int) -> Learned:
    """What a user gets who says nothing."""
    return MODEL


DEFAULTS = Method("defaults", _usual, FRONT_DOOR.beta, FRONT_DOOR.explore)
CONTROL = Method("control", _pretending, Constant(4.0), Alternating(0.5, 4.0))


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
    eta: float = math.nan
    """The difference that does not matter to "are we done?"."""
    sure: float = math.nan
    """How likely no decision is better by more than that, as the run said."""

    @property
    def true(self) -> tuple[bool, bool, bool]:
        """Which of the three statements are true, up to rounding."""
        off = _ROUNDING * (1 + abs(self.best))
        return self.lower <= self.worst + off, self.worst <= self.upper + off, self.best <= self.optimum + off

    @property
    def regret(self) -> float:
        return self.best - self.worst

    @property
    def good(self) -> bool:
        """Whether no decision is better by more than η."""
        return self.regret <= self.eta + _ROUNDING * (1 + abs(self.best))

    @property
    def width(self) -> float:
        """The certified bound on the regret: from the lower bound to that of the optimum."""
        return self.optimum - self.lower


def run(family: str, seed: int, method: Method, rounds: int = MARKS[-1]) -> list[Row]:
    """One run, seen at the marks up to ``rounds``. All methods of a seed have the same function and noise."""
    task = FAMILIES[family].task(seed)
    errors = task.noise(np.random.default_rng([seed, 1]).random(rounds))
    options: Any = {"algorithm": FRONT_DOOR.algorithm, "beta": method.beta, "explore": method.explore}
    optimizer = Optimizer(task.domain, task.uncertainty, method.model(task.numeric), **options, seed=seed)
    rows, seconds = [], 0.0
    start = process_time()
    for step in play(optimizer, lambda query: task.value(query.point_index) + float(errors[query.t - 1]), rounds):
        t = step.query.t
        seconds += process_time() - start
        if t in MARKS:
            said, known = optimizer.report(), health(optimizer.state)
            bounds, truth = (said.lower, said.upper, said.optimum_upper), (task.worst(said), task.optimum)
            answer = done(optimizer.state, said.decision_index, known, None)
            sure = answer.eta, answer.probability
            rows.append(Row(family, seed, t, *bounds, *truth, known.trusted, seconds, *sure))
        start = process_time()
    return rows


def _job(job: tuple[str, int, Method, int]) -> list[Row]:
    return run(*job)


class Measurements(NamedTuple):
    """Which runs are made, and where finished ones are kept."""

    families: Sequence[str]
    seeds: Sequence[int]
    rounds: int = MARKS[-1]
    jobs: int = 1
    folder: Path | None = None
    """Finished runs are kept there, and not repeated."""

    def __call__(self, method: Method) -> Iterator[list[Row]]:
        """All runs of a method, as they are done."""
        kept = None if self.folder is None else self.folder / f"learned-{method.name}.jsonl"
        wanted = [(family, seed) for seed in self.seeds for family in self.families]
        marks = [t for t in MARKS if t <= self.rounds]
        done: dict[tuple[str, int], list[Row]] = {}
        for row in _read(kept):
            if row.t in marks:
                done.setdefault((row.family, row.seed), []).append(row)
        missing = [each for each in wanted if len(done.get(each, ())) < len(marks)]
        yield from (done[each] for each in wanted if each not in set(missing))
        jobs = [(*each, method, self.rounds) for each in missing]
        for rows in _made(jobs, self.jobs):
            if kept is not None:
                with kept.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(asdict(row)) + "\n" for row in rows)
            yield rows


def _read(path: Path | None) -> Iterator[Row]:
    lines = path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []
    return (Row(**json.loads(line)) for line in lines)


def _made(jobs: Sequence[tuple[str, int, Method, int]], processes: int) -> Iterator[list[Row]]:
    if processes == 1:
        yield from map(_job, jobs)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(_job, jobs)


# ------------------------------------------------------------------------------------------------------------ judgement


def checks(rows: Sequence[Row], control: Sequence[Row]) -> list[Check]:
    """Every statement in every family and in all; the width on smooth families; and the control, which must fail."""
    found = []
    for j, statement in enumerate(STATEMENTS):
        what = f"learned: {statement} is true"
        for family in dict.fromkeys(row.family for row in rows):
            mine = [row for row in rows if row.family == family]
            found.append(Check.of(what, family, _kept(mine, j), _EVERY_FAMILY))
        found.append(Check.of(what, "all families", _kept(rows, j), _ALL))
    if len(control) < _MANY:
        return found
    if right := confident(rows):
        found.append(Check.of("learned: done, where that is 90 % sure", "all families", right, _EVERY_FAMILY))
    narrow = [ratio <= WIDEST for ratio in widths(rows, control)]
    found.append(Check.of(f"learned: at most {WIDEST} times as wide", "smooth families", narrow, 1.0))
    true = [row.true[2] for row in control]  # it is the bound of the optimum that was wrong
    found.append(Check.of("learned: optimum is true, control", "all families", true, _ALL, fails=True))
    return found


def _kept(rows: Iterable[Row], statement: int) -> list[bool]:
    return [row.true[statement] or not row.trusted for row in rows]


def widths(rows: Sequence[Row], control: Sequence[Row]) -> list[float]:
    """The width over the control's on smooth families, at each mark."""
    smooth = [row for row in rows if FAMILIES[row.family].smooth]
    marks = dict.fromkeys(row.t for row in smooth)
    ratios = [width_ratio([row for row in smooth if row.t == t], control) for t in marks]
    return [ratio for ratio in ratios if not math.isnan(ratio)]


def width_ratio(rows: Iterable[Row], control: Iterable[Row]) -> float:
    """The median of widths over the control's for the same function; NaN if it had none of these.

    Widths differ by orders of magnitude between functions, so medians of both sides apart would hardly be known.
    """
    others = {(row.family, row.seed, row.t): row.width for row in control}
    pairs = [(row.width, others.get((row.family, row.seed, row.t))) for row in rows]
    ratios = [mine / other for mine, other in pairs if other]
    return float(np.median(ratios)) if ratios else math.nan


def confident(rows: Iterable[Row], least: float = 0.9) -> list[bool]:
    """Of the runs that could be trusted and were so sure that they are done: which of them were right."""
    return [row.good for row in rows if row.trusted and row.sure >= least]


class Summary(NamedTuple):
    """Rows at one mark in a few numbers: shares of runs, and mean regret."""

    runs: int
    true: tuple[float, ...]
    untrusted: float
    regret: float

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Summary:
        true = tuple(np.mean([row.true for row in rows], axis=0).tolist())
        untrusted = float(np.mean([not row.trusted for row in rows]))
        return cls(len(rows), true, untrusted, float(np.mean([row.regret for row in rows])))


def summaries(rows: Sequence[Row]) -> Mapping[tuple[str, int], Summary]:
    """By family and mark."""
    return {key: Summary.of(some) for key, some in groups(rows).items()}


def groups(rows: Sequence[Row]) -> Mapping[tuple[str, int], Sequence[Row]]:
    """Rows by family and mark; "chosen on", "held out" and "all" are families of families."""
    found: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        split = "held out" if FAMILIES[row.family].held_out else "chosen on"
        for name in (row.family, split, "all"):
            found.setdefault((name, row.t), []).append(row)
    return found
