"""The lab notebook: a campaign from the command line. A table for people, ``--json`` for programs.

Exit code 2 and one line on stderr for whatever is refused; then nothing was recorded.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stableopt.base.checks import destination
from stableopt.cli import answers, page
from stableopt.cli.screen import complain, console, refuse, say

Campaign = Any  # stableopt's: a command imports what it needs, so that the others start fast
Trial = Any
Book = Annotated[Path, typer.Option("--notebook", "-b", help="The notebook's file.")]
Json = Annotated[bool, typer.Option("--json", help="JSON for programs, in place of a table.")]
Who = Annotated[str | None, typer.Option("--who", help="Who does this; by default the user.")]
At = Annotated[list[str], typer.Option("--at", help="A setting that was really used: name=value.")]
Failed = Annotated[str | None, typer.Option("--failed", help="Why there is no value.")]
Noise = Annotated[float | None, typer.Option("--noise", help="The standard deviation of this value.")]
Number = Annotated[int, typer.Argument(metavar="TRIAL", help="The number of the trial.")]

BOOK = Path("stableopt.toml")
_NUMBERS = {"ignore_unknown_options": True}  # -3.2 is a value


def register(app: typer.Typer) -> None:
    """Add the commands of the notebook."""
    for command in (init, ask, tell, correct, abandon, export, status, report, predict):
        app.command(context_settings=_NUMBERS, rich_help_panel="Lab notebook")(command)
    app.command("import", rich_help_panel="Lab notebook")(import_)


@contextmanager
def _refusing() -> Iterator[None]:
    """What cannot be done is said in a line, and remarks are lines as well."""
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        try:
            yield
        except (ValueError, TypeError, OSError) as error:
            refuse(_as_commands(" ".join(str(error).split())))
    for remark in remarks:
        complain(f"note: {remark.message}")


def _as_commands(words: str) -> str:
    """What an error recommends, such as correct(2, failed='why'), None or Category([1, 5]), as it is typed."""
    words = re.sub(r"\bfailed=('why'|\.\.\.)", "--failed 'why'", words)
    words = re.sub(r"stableopt\.Category\((\[.*?\])\)", r"{choices = \1}", words)
    words = re.sub(r": None (if .* was not measured)", r": none \1", words)
    return re.sub(r"\b(tell|correct)\((\d+), ([^)]*)\)", r"stableopt \1 \2 \3", words)


@contextmanager
def _opened(book: Path, who: str | None = None) -> Iterator[Campaign]:
    with _refusing():
        campaign, note = page.opened(book, who)
        if note:
            complain(f"note: {note}")
        try:
            yield campaign
        finally:
            campaign.close()


def init(
    book: Book = BOOK,
    ranges: Annotated[
        list[str], typer.Option("--range", help="20:90, 20:90:0.5, 1:12:integer, 0.1:9:log, or a,b,c, after name=.")
    ] = [],  # noqa: B006
    tolerance: Annotated[
        list[str], typer.Option(help="How far a setting may be off: name=4, name=2%, name=-0.1:0.3.")
    ] = [],  # noqa: B006
    environment: Annotated[list[str], typer.Option(help="What can be set only in the experiment, like a range.")] = [],  # noqa: B006
    value: Annotated[str, typer.Option(help="What the values are called.")] = "value",
    constraint: Annotated[
        list[str], typer.Option(help="What else is measured, and its limits: name=:14, name=2:, name=-2:2.")
    ] = [],  # noqa: B006
    minimize: Annotated[bool, typer.Option("--minimize", help="Small values are good.")] = False,
) -> None:
    """Begin a notebook: asks for ranges and tolerances, or takes them as options."""
    with _refusing():
        database = book.with_suffix(".db")
        for there in (book, database):
            if there.exists():
                raise ValueError(f"expected a new notebook, got {there}, which is there: use another --notebook")
        if ranges:
            tables = _typed(ranges, tolerance, environment, constraint)
        else:
            tables, value, minimize = _asked_for()
        content = {"file": database.name, "value": value, "minimize": minimize, **tables}
        text = page.written(content)
        page.check(tomllib.loads(text))
        with book.open("x", encoding="utf-8") as file:
            file.write(text)
        say(f"wrote {book}; stableopt ask proposes the first experiment")


def _typed(*given: Sequence[str]) -> dict[str, Any]:
    """The tables of a page from what was typed for each of them."""
    read_as = (page.typed_range, page.typed_tolerance, page.typed_range, page.typed_limits)
    tables: dict[str, Any] = {}
    for table, texts, read in zip(page.TABLES, given, read_as, strict=True):
        tables[table] = {}
        for text in texts:
            name, rest = page.pair(text)
            if name in tables[table]:
                raise ValueError(f"expected {name!r} once in {table}, got it twice")
            try:
                tables[table][name] = read(rest)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
    return tables


def _asked_for() -> tuple[dict[str, Any], str, bool]:
    """What a person answers."""
    try:
        tables: dict[str, Any] = {table: {} for table in page.TABLES}
        while name := _answer("A setting that you decide (empty: that was all)"):
            tables["ranges"][name] = _until_good(
                "  its range (20:90, 1:12:integer), or choices (a,b,c)", page.typed_range
            )
            if not _are_choices(tables["ranges"][name]):
                off = _until_good("  how far it may be off (4, or 2%; empty: not at all)", _optional_tolerance)
                tables["tolerance"] |= {} if off is None else {name: off}
        while name := _answer("What can be set in the experiment, but not afterwards (empty: nothing more)"):
            tables["environment"][name] = _until_good("  its range", page.typed_range)
        value = _answer("What is measured") or "value"
        while name := _answer("What else is measured, and has limits (empty: nothing more)"):
            tables["constraints"][name] = _until_good("  its limits (:14, 2: or -2:2)", page.typed_limits)
        return tables, value, typer.confirm("Are small values good?", default=False)
    except (typer.Abort, EOFError):
        raise ValueError(
            "expected answers, or options such as --range temperature=20:90: nothing was written"
        ) from None


def _are_choices(given: Any) -> bool:
    return isinstance(given, list) and isinstance(given[0], str)


def _answer(question: str) -> str:
    return str(typer.prompt(question, default="", show_default=False)).strip()


def _optional_tolerance(text: str) -> Any:
    return page.typed_tolerance(text) if text else None


def _until_good(question: str, read: Callable[[str], Any]) -> Any:
    while True:
        try:
            return read(_answer(question))
        except ValueError as error:
            complain(str(error))


def ask(
    n: Annotated[int, typer.Option("-n", min=1, help="How many.")] = 1,
    book: Book = BOOK,
    as_json: Json = False,
    who: Who = None,
) -> None:
    """Propose the next experiments: open trials, until they are told."""
    with _opened(book, who) as campaign:
        _show_trials(campaign.ask(n), campaign, as_json)


def tell(
    trial: Annotated[str, typer.Argument(help='The number of the trial; "new" for settings that nobody asked for.')],
    values: Annotated[
        list[str] | None, typer.Argument(help="What was measured: 12.4, or by name: cost=12.4 stress=13.")
    ] = None,
    at: At = [],  # noqa: B006
    failed: Failed = None,
    noise: Noise = None,
    book: Book = BOOK,
    as_json: Json = False,
    who: Who = None,
) -> None:
    """Record what came out of a trial."""
    with _opened(book, who) as campaign:
        y = page.typed_values(values or [], campaign.ledger.said.outputs)
        if trial == "new":
            told = campaign.tell(_settings(campaign, at), y, noise=noise, failed=failed)
        else:
            number = page.trial_number(trial)
            told = campaign.tell(number, y, at=_settings(campaign, at) or None, noise=noise, failed=failed)
        _show_trials([told], campaign, as_json)


def correct(
    trial: Number,
    values: Annotated[
        list[str] | None, typer.Argument(help="The right value, or values by name; none: it was not measured.")
    ] = None,
    at: At = [],  # noqa: B006
    failed: Failed = None,
    noise: Noise = None,
    book: Book = BOOK,
    as_json: Json = False,
    who: Who = None,
) -> None:
    """Replace the outcome of a trial; the earlier one stays in its history."""
    with _opened(book, who) as campaign:
        y = page.typed_values(values or [], campaign.ledger.said.outputs)
        where = _settings(campaign, at) or None
        _show_trials([campaign.correct(trial, y, at=where, noise=noise, failed=failed)], campaign, as_json)


def abandon(
    trial: Number,
    why: Annotated[str, typer.Option(help="The reason.")] = "",
    book: Book = BOOK,
    as_json: Json = False,
    who: Who = None,
) -> None:
    """Give up an open trial: it will not be made."""
    with _opened(book, who) as campaign:
        _show_trials([campaign.abandon(trial, why)], campaign, as_json)


def import_(
    file: Annotated[Path, typer.Argument(help="A CSV file with a column for every setting and one for the values.")],
    book: Book = BOOK,
    as_json: Json = False,
    who: Who = None,
) -> None:
    """Add earlier experiments from a CSV file; one that was added before is not added again."""
    with _opened(book, who) as campaign:
        numbers = campaign.add(file, again=False)
        if as_json:
            _print_json({"added": numbers})
        elif numbers:
            say(f"added {len(numbers)} experiments as trials {numbers[0]} to {numbers[-1]}")
        else:
            say(f"{file} was added before: nothing is new")


def export(
    out: Annotated[Path | None, typer.Option(help="The CSV file to write; by default it is printed.")] = None,
    book: Book = BOOK,
    as_json: Json = False,
) -> None:
    """All trials as CSV."""
    with _opened(book) as campaign:
        rows = campaign.trials
        text = json.dumps(rows, ensure_ascii=False, indent=1) + "\n" if as_json else _csv(rows)
        if out is None:
            typer.echo(text, nl=False)
        else:
            out.write_text(text, encoding="utf-8")
            say(f"wrote {len(rows)} trials to {out}")


def status(book: Book = BOOK, as_json: Json = False) -> None:
    """How many trials there are, and which are open."""
    with _opened(book) as campaign:
        if as_json:
            _print_json({"counts": campaign.counts, "open": [_row(t, campaign) for t in campaign.open_trials]})
            return
        say(", ".join(f"{count} {status}" for status, count in campaign.counts.items()))
        if campaign.open_trials:
            _show_trials(campaign.open_trials, campaign, False)


def report(
    book: Book = BOOK,
    as_json: Json = False,
    html: Annotated[bool, typer.Option("--html", help="A page with all pictures, in place of lines.")] = False,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
) -> None:
    """The decision to use now, and the bounds on its worst case."""
    with _opened(book) as campaign:
        if not campaign.ledger.known:
            raise ValueError("expected at least one value to go by, got none: stableopt tell records one")
        if html:
            destination(out, "the page of a report")
            complain("note: the pictures are being drawn, which may take a minute")
            say(f"wrote {campaign.report(out)}")
        elif as_json:
            _print_json(answers.reported(campaign, campaign.result))
        else:
            say(str(campaign.result))


def predict(
    settings: Annotated[list[str], typer.Argument(help="The settings: name=value, one for each.")],
    book: Book = BOOK,
    as_json: Json = False,
) -> None:
    """What to expect at settings, and the bounds on their worst case as a decision."""
    with _opened(book) as campaign:
        if not campaign.ledger.known:
            raise ValueError("expected at least one value to go by, got none: stableopt tell records one")
        point = _settings(campaign, settings)
        decided = list(page.words_of(page.read(book))["ranges"])
        answer = answers.predicted(campaign, point, decided)
        if as_json:
            _print_json(answer)
            return
        for line in answers.sentences(answer):
            say(line)


def _settings(campaign: Campaign, texts: Sequence[str]) -> dict[str, Any]:
    """Settings that were typed."""
    words = campaign.ledger.said
    return {name: words.read(name, value) for name, value in map(page.pair, texts)}


# ------------------------------------------------------------------------------------------------------- what is shown


def _row(trial: Trial, campaign: Campaign) -> dict[str, Any]:
    row: dict[str, Any] = {"trial": trial.number, "status": trial.status, "settings": trial.settings}
    value, *others = campaign.ledger.said.outputs
    names = {value: value if value not in row else "value"}
    names |= {name: name if name not in (*row, "why") else f"the {name}" for name in others}
    return row | {shown: trial.values.get(name) for name, shown in names.items()} | {"why": trial.why}


def _show_trials(trials: Sequence[Trial], campaign: Campaign, as_json: bool) -> None:
    if as_json:
        _print_json([_row(trial, campaign) for trial in trials])
        return
    rows = []
    for trial, settings in zip(trials, answers.settings(campaign, trials), strict=True):
        cells = {"trial": trial.number, **settings, **trial.values} | ({"why": trial.why} if trial.why else {})
        rows.append({name: answers.cell(cell) for name, cell in (cells | {"status": trial.status}).items()})
    _show(rows)


def _show(rows: Sequence[Mapping[str, str]]) -> None:
    """A table; where it is too wide for the terminal, one line for every cell."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table()
    for name in names:
        table.add_column(Text(name), justify="left" if name in ("why", "status") else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(row.get(name, "")) for name in names))
    wide = console.measure(table, options=console.options.update(max_width=100_000)).maximum
    if not console.is_terminal:
        Console(width=wide, markup=False, emoji=False, highlight=False).print(table)  # a pipe has no width
    elif wide <= console.width:
        console.print(table)
    else:
        width = max(len(name) for name in names)
        for row in rows:
            for name, cell in row.items():
                say(f"{name:<{width}}  {cell}")
            say("")


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    if rows:
        table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    return text.getvalue()


def _print_json(content: Any) -> None:
    typer.echo(json.dumps(content, ensure_ascii=False, default=lambda array: array.tolist()))
