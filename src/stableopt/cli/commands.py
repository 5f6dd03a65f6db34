"""The command line: its commands, tables and progress bars."""

from __future__ import annotations

import time
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.progress import TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from stableopt.base.arrays import Array
from stableopt.cli import notebook
from stableopt.cli.reproduce import reproduce
from stableopt.cli.screen import INTERRUPTED, bars, complain, console, say
from stableopt.cli.verify import make_folder, verify
from stableopt.loop.rules import ALGORITHMS

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(verify)
app.command()(reproduce)
notebook.register(app)

# (problem, initial points, rounds, rounds that the table shows)
_PLAYS = (("peaks", 3, 30, (5, 15, 30)), ("polynomial", 10, 100, (20, 50, 100)))


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Find decisions that stay good when they are perturbed."""
    if version:
        console.print(f"stableopt {version_of('stableopt')}")
        raise typer.Exit


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("demo-output"),
    runs: Annotated[int, typer.Option(min=1, help="Runs of every algorithm on each problem.")] = 10,
) -> None:
    """Compare the paper's five algorithms on its running example and its polynomial; draw the figures."""
    from stableopt.paper import demo as demonstration
    from stableopt.problems import PROBLEMS

    make_folder(out)
    started = time.perf_counter()
    names = list(ALGORITHMS)
    curves: dict[str, dict[str, Array]] = {}
    figures: list[Path] = []
    stopped = False
    try:
        with bars(TimeRemainingColumn()) as progress:
            bar = progress.add_task("playing", total=len(_PLAYS) * runs * len(names))
            for name, initial, rounds, _ in _PLAYS:
                progress.update(bar, description=f"playing {name}")
                curves[name] = demonstration.compare(
                    PROBLEMS[name],
                    names,
                    rounds=rounds,
                    initial=initial,
                    runs=runs,
                    played=lambda: progress.advance(bar),
                )
                if len(curves[name][names[0]]) < runs:
                    raise KeyboardInterrupt
            progress.update(bar, description="drawing")
            for path in demonstration.draw(PROBLEMS["peaks"], PROBLEMS["polynomial"], curves["polynomial"], out):
                figures.append(path)
    except KeyboardInterrupt:
        stopped = True
    for name, _, _, shown in _PLAYS:
        if name in curves and len(curves[name][names[0]]):
            console.print(_comparison(name, curves[name], shown))
    say(
        "ε-regret: how much worse the reported decision is than the stable optimum, both at their worst. "
        "± is one standard error over the runs, which share their initial points and their noise."
    )
    for path in figures:
        say(f"wrote {path}")
    say(f"{time.perf_counter() - started:.0f} s")
    if stopped:
        complain("stopped early: only the runs that were finished are shown, and not all figures were drawn")
        raise typer.Exit(INTERRUPTED)


def _comparison(name: str, curves: dict[str, Array], shown: tuple[int, ...]) -> Table:
    runs = len(next(iter(curves.values())))
    table = Table(title=f"{name}: mean ε-regret over {runs} runs (0 is best)", title_justify="left")
    table.add_column("algorithm")
    for t in shown:
        table.add_column(f"t = {t}", justify="right")
    best = [min(regrets[:, t - 1].mean() for regrets in curves.values()) for t in shown]
    for algorithm, regrets in curves.items():
        table.add_row(algorithm, *(_cell(regrets[:, t - 1], b) for t, b in zip(shown, best, strict=True)))
    return table


def _cell(regrets: Array, best: float) -> Text:
    mean = regrets.mean()
    error = regrets.std(ddof=1) / np.sqrt(len(regrets)) if len(regrets) > 1 else 0.0
    text = f"{mean:.2f} ± {error:.2f}"
    return Text(text, style="bold green" if mean <= best else "")
