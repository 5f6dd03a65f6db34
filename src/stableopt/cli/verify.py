"""``stableopt verify``: measure on sampled functions whether all promises hold, and how loose they are.

Every line of the table is judged by the binomial distribution; negative controls must fail. Exit code 0: all lines are
as they should be; 1: some are not; 2: bad input; 130: Ctrl-C, which keeps and shows what was measured until then.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.progress import TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from stableopt.cli.screen import INTERRUPTED, bars, complain, console, refuse, say
from stableopt.paper.verification.checks import Check
from stableopt.paper.verification.results import Certificates, HardResults, Tradeoff

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    functions: int
    """For bounds and certificates, per setting."""
    rounds: int
    reports: int
    """Runs of the optimiser itself, per setting."""
    boxes: int
    """Functions on boxes, per kernel."""
    hard: tuple[int, int]
    """Runs of each algorithm on the hard functions, and their rounds."""
    polynomial: tuple[int, int]
    """Runs on the polynomial, and their rounds."""


QUICK = Plan(functions=150, rounds=40, reports=8, boxes=6, hard=(10, 40), polynomial=(1, 40))
FULL = Plan(functions=1000, rounds=100, reports=100, boxes=100, hard=(64, 400), polynomial=(10, 100))


@dataclass
class Evidence:
    """All measurements of a plan."""

    plan: Plan
    seed: int
    checks: list[Check] = field(default_factory=list)
    certificates: dict[str, Certificates] = field(default_factory=dict)
    tradeoff: list[Tradeoff] = field(default_factory=list)
    hard: HardResults | None = None
    stopped: bool = False
    """Whether Ctrl-C ended it: then only some of it was measured."""

    @property
    def ok(self) -> bool:
        """Whether every line is as it should be."""
        return all(check.ok for check in self.checks)


def gather(plan: Plan, seed: int = 0, step: Callable[[str], None] = lambda what: None) -> Evidence:
    """All measurements of a plan, or those until Ctrl-C; ``step`` is told what comes next, as often as `steps` says."""
    found = Evidence(plan, seed)
    try:
        _measure(found, step)
    except KeyboardInterrupt:
        found.stopped = True
    return found


def _measure(found: Evidence, step: Callable[[str], None]) -> None:
    from stableopt.paper.verification.bounds import coverage
    from stableopt.paper.verification.boxes import boxes
    from stableopt.paper.verification.cases import CASES
    from stableopt.paper.verification.certificates import chain, check_certificates
    from stableopt.paper.verification.hard import check_hard, hard_experiment
    from stableopt.paper.verification.reports import reports
    from stableopt.paper.verification.tradeoff import tradeoff

    plan, seed = found.plan, found.seed
    kernels = [case for case in CASES.values() if case.name in ("SE", "Matérn 5/2")]
    for case in kernels:
        step(f"bounds, {case.name}")
        found.checks += coverage(case, plan.functions, plan.rounds, seed)
    for case in CASES.values():
        step(f"certificates, {case.name}")
        checks, found.certificates[case.name] = check_certificates(case, plan.functions, plan.rounds, seed)
        found.checks += checks
    for case in CASES.values():
        step(f"reports, {case.name}")
        found.checks += reports(case, plan.reports, plan.rounds, seed)
    for case in CASES.values():
        step(f"Theorem 1, {case.name}")
        found.checks += chain(case, plan.functions // 2, plan.rounds, seed)
    step("boxes")
    found.checks += boxes(plan.boxes, 15, seed)
    step("Theorem 2")
    found.hard = hard_experiment(runs=plan.hard[0], rounds=plan.hard[1], seed=seed)
    found.checks += check_hard(found.hard)
    step("the polynomial")
    found.tradeoff = tradeoff(runs=plan.polynomial[0], rounds=plan.polynomial[1], seed=seed)


def steps() -> int:
    """How many steps `gather` has."""
    from stableopt.paper.verification.cases import CASES

    return 2 + 3 * len(CASES) + 3


def save(found: Evidence, out: Path) -> list[Path]:
    """The table as CSV, everything as JSON, and the figures, if everything was measured."""
    rows = [check.to_dict() for check in found.checks]
    table, data = out / "verify.csv", out / "verify.json"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    looseness = {name: each.looseness.tolist() for name, each in found.certificates.items()}
    content = {
        "plan": asdict(found.plan),
        "seed": found.seed,
        "ok": found.ok and not found.stopped,
        "stopped": found.stopped,
        "checks": rows,
        "looseness": looseness,
        "tradeoff": [
            {"explore": each.explore, "regret": each.regret.tolist(), "bound": each.bound.tolist()}
            for each in found.tradeoff
        ],
        "hard": {name: share.tolist() for name, share in found.hard.success.items()} if found.hard else {},
    }
    data.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
    paths = [table, data]
    for name, figure in ({} if found.stopped else figures(found)).items():
        paths.append(out / f"{name}.png")
        figure.savefig(paths[-1], dpi=100)
    return paths


def figures(found: Evidence) -> dict[str, Figure]:
    """All figures by name."""
    from stableopt.paper.verification import figures as drawing

    drawn = {
        "verify-coverage": drawing.coverage_figure(found.checks),
        "verify-looseness": drawing.looseness_figure(found.certificates),
        "verify-tradeoff": drawing.tradeoff_figure(found.tradeoff),
    }
    return drawn | ({"verify-lower-bound": drawing.hard_figure(found.hard)} if found.hard else {})


def verify(
    full: Annotated[bool, typer.Option("--full/--quick", help="A thousand functions, or enough to see it.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the table, the numbers and the figures.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="For all that is random.")] = 0,
    learned: Annotated[
        bool, typer.Option("--learned", help="Instead: bounds of models that had to be learned.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, with --learned.")] = 1,
    runs: Annotated[int | None, typer.Option(min=1, help="Functions of every family, with --learned.")] = None,
) -> None:
    """Measure whether bounds and certificates hold as often as they promise, and how loose they are."""
    if out is not None:
        make_folder(out)
    started = time.perf_counter()
    if learned:
        _conclude(_verify_learned(runs or (40 if full else 2), 80 if full else 40, out, seed, jobs), started)
        return
    with bars(TimeElapsedColumn()) as progress:
        bar = progress.add_task("verifying", total=steps(), completed=-1)

        def step(what: str) -> None:
            progress.update(bar, description=what, advance=1)

        found = gather(FULL if full else QUICK, seed, step)
    if found.checks:
        console.print(_table(found.checks))
    for part, table in ((found.certificates, _looseness), (found.tradeoff, _tradeoff)):
        if part:
            console.print(table(found))
    if out is not None and found.checks:
        for path in save(found, out):
            say(f"wrote {path}")
    _conclude(found.checks, started, stopped=found.stopped)


def _conclude(checks: list[Check], started: float, *, stopped: bool = False) -> None:
    """The last line, and the exit code."""
    wrong = [check for check in checks if not check.ok]
    verdict = "everything is as it should be"
    if wrong:
        verdict = f"{len(wrong)} of {len(checks)} lines are not as they should be"
    spent = f"{len(checks)} lines, {time.perf_counter() - started:.0f} s"
    if stopped:
        complain(f"stopped early: of what was measured until then, {verdict} ({spent})")
        raise typer.Exit(INTERRUPTED)
    say(f"{verdict} ({spent})")
    if wrong:
        raise typer.Exit(1)


def _verify_learned(runs: int, rounds: int, out: Path | None, seed: int, jobs: int) -> list[Check]:
    """How honest bounds are where the model is learned."""
    from stableopt.cli import learned
    from stableopt.paper.verification.families import FAMILIES
    from stableopt.paper.verification.learned import Measurements

    seeds = range(seed, seed + runs)
    measurements = Measurements(list(FAMILIES), seeds, rounds, jobs, out)
    with bars(TimeElapsedColumn()) as progress:
        bar = progress.add_task("verifying", total=2 * len(FAMILIES) * len(seeds))
        found = learned.gather(measurements, lambda what: progress.update(bar, description=what, advance=1))
    console.print(learned.table(found))
    console.print(_table(found.checks))
    if out is not None:
        say(f"wrote {learned.save(found, out)}")
    return found.checks


def _table(checks: list[Check]) -> Table:
    title = "How often it held, and how often it should (in brackets: controls, which must fail)"
    table = Table(title=title, title_justify="left")
    table.add_column("what", no_wrap=True)
    table.add_column("setting")
    for name in ("held", "promised"):
        table.add_column(name, justify="right")
    table.add_column("verdict", no_wrap=True)
    for check in checks:
        promised = f"≥ {check.promised:g}" if check.must_hold else f"(≥ {check.promised:g})"
        verdict = "holds" if check.kept else "fails"
        shown = Text(verdict, style="green") if check.ok else Text(verdict.upper(), style="bold red")
        table.add_row(check.what, check.setting, f"{check.held}/{check.runs}", promised, shown)
    return table


def _looseness(found: Evidence) -> Table:
    times = [int(t) for t in np.linspace(0, found.plan.rounds - 1, 5)]
    table = Table(title="Certified regret / true regret of the reported decision (means)", title_justify="left")
    table.add_column("setting")
    for t in times:
        table.add_column(f"t = {t}", justify="right")
    for name, each in found.certificates.items():
        table.add_row(name, *(f"{each.looseness[t]:.3g}" for t in times))
    return table


def _tradeoff(found: Evidence) -> Table:
    rounds = found.plan.polynomial[1]
    times = [rounds // 5, 2 * rounds // 5, rounds]
    title = f"The polynomial, {found.plan.polynomial[0]} runs: mean true regret / median certified (β^½ = 2)"
    table = Table(title=title, title_justify="left")
    table.add_column("explored with")
    for t in times:
        table.add_column(f"t = {t}", justify="right")
    for each in found.tradeoff:
        pairs = [(each.regret[:, t - 1].mean(), np.median(each.bound[:, t - 1])) for t in times]
        table.add_row(f"β^½ = {each.explore:g}", *(f"{regret:.2f} / {bound:.2f}" for regret, bound in pairs))
    return table


def make_folder(out: Path) -> None:
    """Make the folder for a command's files; if it cannot be written, the command ends here."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / ".writable").touch()
        (out / ".writable").unlink()
    except OSError as error:
        refuse(f"expected a folder that can be written, got {out} ({error.strerror}): choose another with --out")
