"""The two consoles of the commands, and their progress bars. Paths, names and data are printed as they are.

To rich, ``[/b]`` is markup and ``:x:`` an emoji; here they are letters. What shall have a colour is a `Text`.
"""

from __future__ import annotations

from typing import NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn

INTERRUPTED = 130  # the exit code after Ctrl-C, as shells have it

console = Console(markup=False, emoji=False, highlight=False)
errors = Console(stderr=True, markup=False, emoji=False, highlight=False)


def say(message: str) -> None:
    """A line for a person, on the terminal as long as it is."""
    console.print(message, soft_wrap=True)


def complain(message: str) -> None:
    """The same on stderr."""
    errors.print(message, soft_wrap=True)


def refuse(message: str) -> NoReturn:
    """End the command, with what a person can put right."""
    complain(message)
    raise typer.Exit(2) from None


def bars(*times: ProgressColumn) -> Progress:
    """Progress bars that leave nothing behind."""
    what = TextColumn("{task.description}", markup=False)
    return Progress(what, BarColumn(), MofNCompleteColumn(), *times, console=console, transient=True)
