"""The page: the answer in words at the top, then the pictures, the trials, and all that the answer rests on."""

from __future__ import annotations

import base64
import datetime
import hashlib
import math
from collections.abc import Sequence
from dataclasses import fields
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from stableopt.plots.page import tables
from stableopt.plots.page.html import Content, Html, data, element, joined
from stableopt.plots.page.pictures import Album
from stableopt.plots.page.words import said
from stableopt.plots.subject import Subject, answer_of, subject_of

_CITED = (
    "@inproceedings{bogunovic2018adversarially,\n"
    "  title     = {Adversarially Robust Optimization with {Gaussian} Processes},\n"
    "  author    = {Bogunovic, Ilija and Scarlett, Jonathan and Jegelka, Stefanie and Cevher, Volkan},\n"
    "  booktitle = {Advances in Neural Information Processing Systems},\n"
    "  volume    = {31},\n"
    "  year      = {2018}\n"
    "}"
)
_COMPARED = 6  # contenders


def page_of(source: Any, label: str | None = None) -> str:
    """The page as text."""
    answer = answer_of(source)
    if not answer.state.objective.t:
        return _written("Nothing is known yet", _nothing(source), {})
    subject = subject_of(source, label)
    album = Album(subject)
    parts = _sections(subject, album, source)
    title = "Report" if subject.label == "value" else f"Report: {subject.label}"
    return _written(title, joined(_answer(subject), _contents(parts), _all(parts)), album.marks)


Section = tuple[str, str, Content]
"""Its id, its title, and what is in it."""


def _sections(subject: Subject, album: Album, source: Any) -> list[Section]:
    return [
        ("decision", "The decision", [tables.decision(subject), tables.constraints(subject), _bounds(subject)]),
        ("landscape-section", "Landscape", album.landscape()),
        ("slices-section", "Slices", album.picture("slices")),
        ("hurts-section", "What hurts most", album.picture("hurts")),
        ("contenders-section", "Contenders", [album.picture("contenders"), tables.contenders(subject, _COMPARED)]),
        ("progress-section", "Progress", album.picture("progress")),
        ("profile-section", "The price of robustness", album.picture("profile")),
        ("health", "Is the model right?", [_health(subject), album.picture("calibration")]),
        ("trials", "Trials", tables.trials(_rows(subject, source))),
        ("settings", "Settings", tables.facts(_settings(source))),
        ("cite", "How to cite", _cite()),
    ]


def _answer(subject: Subject) -> Html:
    """The head of the page."""
    words, health = said(subject), subject.answer.health
    sound = health.trusted and not subject.report.contradictory
    doubt = "" if sound and subject.report.feasible in (None, "certified") else "doubtful"
    return element(
        "section",
        element("p", "Best so far, but not yet to be relied on:" if doubt else "The answer", class_="kicker"),
        element("h1", words.use),
        element("p", f"{words.promise} {words.limit}", class_="promise"),
        element("p", words.kept, class_="promise") if words.kept else None,
        element("p", words.sure, class_="remark"),
        element("p", _sentence(health.words), class_="remark" if health.trusted else "doubt"),
        id="answer",
        class_=doubt or None,
    )


def _nothing(source: Any) -> Html:
    """The page before the first value."""
    trials = getattr(source, "trials", [])
    parts: list[Section] = [("trials", "Trials", tables.trials(trials))] if trials else []
    parts += [("settings", "Settings", tables.facts(_settings(source))), ("cite", "How to cite", _cite())]
    head = element("h1", "Nothing is known yet.")
    remark = element("p", "It is too early to say anything: tell at least one value first.", class_="doubt")
    return joined(element("section", head, remark, id="answer", class_="doubtful"), _contents(parts), _all(parts))


def _bounds(subject: Subject) -> Html:
    """The numbers behind the answer."""
    answer = subject.answer
    worst = answer.worst_case
    pairs = [(f"worst-case {subject.label}", f"between {worst.lower:.6g} and {worst.upper:.6g}")]
    if math.isfinite(answer.optimum_bound):
        pairs += [("what no decision can surpass", f"{answer.optimum_bound:.6g}")]
        pairs += [("what another decision can gain at most", f"{answer.regret_bound:.4g}")]
    printed = "" if type(answer).__str__ is object.__str__ else str(answer)  # an optimiser has no summary
    summary = element("details", element("summary", "The summary, as it is printed"), element("pre", printed))
    return joined(tables.facts(pairs), summary if printed else None)


def _health(subject: Subject) -> Html:
    health, state = subject.answer.health, subject.state
    unusual = f"Unusual values: trials {', '.join(map(str, health.unusual))}." if health.unusual else ""
    counted = f"{state.t} values{f', {len(state.failures)} failed' if state.failures else ''}."
    return joined(
        element("p", f"{_sentence(health.words)} {counted}", class_=None if health.trusted else "doubt"),
        element("p", unusual) if unusual else None,
    )


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _rows(subject: Subject, source: Any) -> tables.Rows:
    trials = getattr(source, "trials", None)
    return tables.trial_rows(subject) if trials is None else trials


def _settings(source: Any) -> list[tuple[str, Any]]:
    """What was asked for: in the words of a campaign, or as the optimiser has it."""
    ledger = getattr(source, "ledger", None)
    if ledger is not None:
        words = ledger.said
        return [(f.name, value) for f in fields(words) if (value := getattr(words, f.name)) is not None]
    answer = answer_of(source)
    known = answer.optimizer
    shown: list[tuple[str, Any]] = [("small values are good", "yes")] if answer.sign < 0 else []
    shown += [("domain", known.domain), ("uncertainty", known.uncertainty), ("model", known.gp)]
    shown += [("algorithm", known.algorithm), ("beta", known.schedule), ("explore", known.exploring)]
    shown += [("initial", known.initial), ("seed", known.seed), ("stopped by", getattr(answer, "stopped", None))]
    return [(name, value) for name, value in shown if value not in (None, "")]


def _cite() -> Html:
    text = f"The method is that of this paper; the numbers are those of stableopt {version('stableopt')}."
    return joined(element("p", text), element("pre", _CITED, tabindex="0"))


# ------------------------------------------------------------------------------------------------------------ the frame


def _contents(parts: Sequence[Section]) -> Html:
    links = [element("li", element("a", title, href=f"#{name}")) for name, title, _ in parts]
    return element("nav", element("ul", links), aria_label="Contents")


def _all(parts: Sequence[Section]) -> Html:
    return joined(element("section", element("h2", title), content, id=name) for name, title, content in parts)


def _written(title: str, content: Html, marks: Any) -> str:
    """A whole document. Its policy lets nothing in from outside, and runs no script but its own."""
    folder = files("stableopt.plots.page")
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    own = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{own}'"
    made = f"{datetime.date.today().isoformat()}, stableopt {version('stableopt')}"
    switch = element("button", "Dark", type="button", id="theme", class_="needs-script")
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Html(f"<style>{style}</style>"),
    )
    body = joined(
        element("header", element("span", title), element("span", made, class_="made"), switch),
        element("main", content),
        element("div", id="tip", role="status", hidden=True),
        data("marks", marks),
        Html(f"<script>{script}</script>"),
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'
