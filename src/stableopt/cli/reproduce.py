"""``stableopt reproduce NAME``: run an experiment of the paper, show and save its results, and judge its claims.

Bad input ends with exit code 2 before anything is written; an interrupted run keeps its finished parts and continues
when the same command is given again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from stableopt.cli.screen import INTERRUPTED, bars, complain, console, refuse, say
from stableopt.paper.experiments import EXPERIMENTS, experiment

if TYPE_CHECKING:
    from stableopt.paper.experiments.base import Experiment, Performed, Plan
    from stableopt.paper.experiments.engines import Engine


class _RefusedError(Exception):
    """A mistake that a person can put right; shown without a traceback."""


@dataclass(frozen=True)
class Request:
    """The options of the command, before they are applied to an experiment."""

    runs: int | None
    rounds: int | None
    seed: int
    algorithms: str | None
    size: str
    data: Path | None
    out: Path


def reproduce(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(EXPERIMENTS)}, or all.")],
    runs: Annotated[int | None, typer.Option(min=1, help="Number of runs (test users, pairs of targets).")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Number T of rounds in each run.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bits.")] = 0,
    algorithms: Annotated[str | None, typer.Option(help="Which algorithms, separated by commas.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for figures, tables and JSON.")] = Path("reproduced"),
    jobs: Annotated[int, typer.Option(min=0, help="Processes at once; 0 is one for each core.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="A small setting that ends within a minute.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The paper's own numbers.")] = False,
    data: Annotated[Path | None, typer.Option(help="A file of data for lake (CSV) or movies.")] = None,
    backend: Annotated[str, typer.Option(help="Where runs are computed: local, dask or ray.")] = "local",
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    address: Annotated[str | None, typer.Option(help="Address of a Ray cluster.")] = None,
) -> None:
    """Reproduce an experiment of the paper: table, figures, curves, JSON, and whether its claims hold."""
    size = "quick" if quick else "full" if full else "default"
    request = Request(runs, rounds, seed, algorithms, size, data, out)
    with _kind_errors(out):
        if quick and full:
            raise _RefusedError("expected --quick or --full, got both: choose one")
        engine = _engine(backend, jobs, scheduler, address)
        if name == "all":
            _perform_all(*_all(request), out, engine)
        else:
            _perform(*_one(name, request), out, engine)


def _one(name: str, request: Request) -> tuple[type[Experiment], Plan]:
    """The experiment of this name with its plan."""
    try:
        kind = experiment(name)
    except ValueError as error:
        raise _RefusedError(str(error)) from None
    return kind, _plan(kind, request, _algorithms(request.algorithms, kind.algorithms))


def _all(request: Request) -> tuple[list[tuple[type[Experiment], Plan]], list[str]]:
    """The experiments that have any of the algorithms, each with its plan; and of the others, why they have no part."""
    if request.data is not None:
        raise _RefusedError("expected --data together with the name of one experiment, got it with all")
    kinds = [experiment(each) for each in EXPERIMENTS]
    known = tuple(dict.fromkeys(algorithm for kind in kinds for algorithm in kind.algorithms))
    wanted = _algorithms(request.algorithms, known)
    chosen, without = [], []
    for kind in kinds:
        if own := tuple(algorithm for algorithm in kind.algorithms if algorithm in wanted):
            chosen.append((kind, _plan(kind, request, own)))
        else:
            without.append(f"{kind.name}: it compares {', '.join(kind.algorithms)}, not {', '.join(wanted)}")
    return chosen, without


def _plan(kind: type[Experiment], request: Request, algorithms: tuple[str, ...]) -> Plan:
    from stableopt.paper.experiments.base import Plan

    if request.data is not None and not kind.takes_data:
        raise _RefusedError(f"expected --data only with lake or movies, got it with {kind.name}")
    size = kind.sizes[request.size]
    runs, rounds = request.runs or size.runs, request.rounds or size.rounds
    return Plan(runs, rounds, request.seed, algorithms, request.size, request.data)


def _algorithms(given: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if given is None:
        return known
    by_name = {name.lower(): name for name in known}
    wanted = [part.strip().lower() for part in given.split(",") if part.strip()]
    unknown = [part for part in wanted if part not in by_name]
    if unknown or not wanted:
        raise _RefusedError(f"expected --algorithms from {', '.join(known)}, got {', '.join(unknown) or 'none'}")
    return tuple(name for name in known if name.lower() in wanted)


def _engine(backend: str, jobs: int, scheduler: str | None, address: str | None) -> Engine:
    from stableopt.paper.experiments.engines import Engine

    if scheduler is not None and backend != "dask":
        raise _RefusedError("expected --scheduler together with --backend dask")
    if address is not None and backend != "ray":
        raise _RefusedError("expected --address together with --backend ray")
    return Engine(backend, jobs, scheduler or address)


def _perform(kind: type[Experiment], plan: Plan, out: Path, engine: Engine) -> Performed:
    """Run an experiment, show its table and verdicts, and write its files."""
    from threadpoolctl import threadpool_limits

    from stableopt.paper.experiments import output
    from stableopt.paper.experiments.base import Performed
    from stableopt.paper.experiments.runner import run

    started = time.perf_counter()
    with bars(TimeElapsedColumn(), TimeRemainingColumn()) as progress:
        bar = progress.add_task(f"{kind.name}: loading", total=plan.runs)
        with threadpool_limits(1):  # as in the workers: models fitted here enter the results, too
            loaded = kind.load(plan)
        done: list[None] = []

        def count() -> None:
            done.append(None)
            progress.advance(bar)

        progress.update(bar, description=kind.name)
        try:
            with _folder(out):
                results = run(loaded, plan, out, engine, count)
        except KeyboardInterrupt:
            progress.stop()
            complain(f"stopped: {len(done)} of {plan.runs} runs are finished and kept; the same command continues")
            raise typer.Exit(INTERRUPTED) from None
        progress.update(bar, description=f"{kind.name}: drawing")
        claims = loaded.claims(results)
        files = output.save(loaded, results, claims, time.perf_counter() - started, out)
    performed = Performed(loaded, results, claims, files, time.perf_counter() - started)
    _show(performed)
    return performed


def _perform_all(chosen: list[tuple[type[Experiment], Plan]], without: list[str], out: Path, engine: Engine) -> None:
    """Run the experiments one after the other and write the page. The page names those left out, with the reason.

    without: the experiments that have none of the algorithms. They are no error; missing data are one.
    """
    from stableopt.paper.experiments.base import DataError
    from stableopt.paper.experiments.page import page
    from stableopt.paper.experiments.store import write

    finished, missed = [], []
    for each in without:
        say(f"left out {each}")
    for kind, plan in chosen:
        try:
            finished.append(_perform(kind, plan, out, engine))
        except DataError as error:
            missed.append(f"{kind.name}: {error}")
            say(f"left out {missed[-1]}")
    write({out / "index.html": page(finished, [*missed, *without]).encode()})
    say(f"wrote {out / 'index.html'}")
    if missed:
        raise _RefusedError(f"left out {'; '.join(missed)}")


def _show(performed: Performed) -> None:
    from stableopt.paper.experiments import output

    kind, results = performed.experiment, performed.results
    table = Table(title=f"{kind.title}: {results.plan.runs} runs, mean ± standard error", title_justify="left")
    for heading in output.header(kind, results.plan):
        table.add_column(heading, justify="left" if heading == "algorithm" else "right")
    best = output.best(kind, results)
    for row in output.rows(kind, results):
        table.add_row(*row, style="bold green" if row[0] == best else None)
    console.print(table)
    for claim in performed.claims:
        console.print(claim.verdict, style="green" if claim.held else "yellow")
    if not performed.claims:
        console.print("No claim of the paper can be checked with so few algorithms or rounds.")
    for path in performed.files:
        say(f"wrote {path}")
    console.print(f"{performed.seconds:.0f} s")


@contextmanager
def _folder(out: Path) -> Iterator[None]:
    """The output folder; if nothing can be written into it, new folders are removed again."""
    missing = [folder for folder in (out, *out.parents) if not folder.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".writable"
        probe.write_bytes(b"1")
        probe.unlink()
        yield
    except BaseException:
        kept = out / ".replicates"
        for folder in [*(kept.iterdir() if kept.is_dir() else []), kept, *missing]:
            with suppress(OSError):  # whatever is not empty stays
                if not any(path.suffix == ".npz" for path in folder.iterdir()):
                    (folder / "settings.json").unlink(missing_ok=True)
                folder.rmdir()
        raise


@contextmanager
def _kind_errors(out: Path) -> Iterator[None]:
    """Errors that a person can put right end in one sentence and exit code 2."""
    try:
        yield
    except ImportError as error:
        if str(error.name).split(".")[0] == "stableopt":
            raise
        refuse(f"{error}: the experiments need more packages: pip install 'stableopt[experiments]'")
    except OSError as error:
        where = error.filename or out
        refuse(f"cannot write {where} ({error.strerror or error}): choose another folder with --out, or make room")
    except BrokenExecutor:
        complain("a worker process died (out of memory?): fewer --jobs need less; the same command continues")
        raise typer.Exit(1) from None
    except Exception as error:
        from stableopt.paper.experiments.base import DataError
        from stableopt.paper.experiments.engines import EngineError

        if isinstance(error, _RefusedError | EngineError | DataError):
            refuse(str(error))
        raise
