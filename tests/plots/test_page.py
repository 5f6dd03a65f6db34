"""Promises of the page: one file for every kind of answer, in the user's words, with nothing from outside in it."""

import json
import math
import re
import tempfile
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import extra

pytest.importorskip("matplotlib")

import matplotlib.pyplot as plt
from helpers.refusals import refused

import stableopt as so
from stableopt import plots
from stableopt.loop.play import play
from stableopt.plots.page.figures import drawing, inline, marks_of
from stableopt.plots.page.html import Html, data, element
from stableopt.plots.page.tables import constraints, trial_rows
from stableopt.plots.page.words import named, safe, said
from stableopt.plots.subject import subject_of

NASTY = "</script><img src=x onerror=alert(1)> & \"'`"
RNG = np.random.default_rng(3)
ROWS = RNG.random((10, 2))


@pytest.fixture(autouse=True, scope="module")
def _quick():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stableopt.plots.page.pictures._FINE", 5)
        patch.setattr("stableopt.plots.page.pictures._SIDE", 4)
        patch.setattr("stableopt.plots.sections._ACROSS", 7)
        patch.setattr("stableopt.plots.history._SEARCHED", 2)
        patch.setattr("stableopt.campaign.results.FACTORS", (0.0, 1.0))
        patch.setattr("stableopt.loop.space.usual_budget", lambda dim, **_: 300)
        yield


def hill(X):
    return -((np.atleast_2d(X) - 0.55) ** 2).sum(axis=1)


def assessed(n, dim, **options):
    X = np.random.default_rng(dim).random((n, dim))
    return so.assess((X, hill(X)), {f"p{i}": (0, 1) for i in range(dim)}, 0.1, **options)


def listed(domain, uncertainty, columns):
    optimizer = so.Optimizer(domain, uncertainty, so.GP(so.SE([0.3] * columns), noise=0.05), seed=2)
    list(play(optimizer, lambda query: float(hill(query.point)[0]), 5))
    return optimizer


def nasty():
    ranges = {NASTY: (0, 1), "kind": ["<b>bold</b>", "b"]}
    campaign = so.Campaign(ranges, {NASTY: 0.1}, value="<i>yield</i> [%]", who="<script>")
    campaign.tell({NASTY: 0.5, "kind": "b"}, 1.0)
    campaign.tell({NASTY: 0.9, "kind": "<b>bold</b>"}, failed="<u>broken</u>")
    return campaign


SOURCES = {
    "few values": lambda: assessed(2, 1),
    "all values equal": lambda: so.assess((ROWS[:4], np.ones(4)), {"a": (0, 1), "b": (0, 1)}, 0.1),
    "nasty names": nasty,
    "nothing yet": lambda: so.Campaign({NASTY: (0, 1)}, 0.1),
    "environment": lambda: so.assess(
        (ROWS, hill(ROWS)), {"angle": (0, 1)}, {"angle": 0.1}, environment={"wind [m/s]": (0, 1)}, value="lift [N]"
    ),
    "groups": lambda: listed(so.Points(ROWS), so.Groups({"left": range(5), "right": range(5, 10)}), 2),
    "minimize": lambda: assessed(6, 2, minimize=True),
    "nothing goes wrong": lambda: so.assess((ROWS, hill(ROWS)), {"a": (0, 1), "b": (0, 1)}, 0),
}


@cache
def source(name):
    return SOURCES[name]()


@cache
def written(name):
    """The page of a source, from which many tests read."""
    before = plt.get_fignums()
    with tempfile.TemporaryDirectory() as folder:
        text = plots.report(source(name), Path(folder) / "report.html").read_text(encoding="utf-8")
    assert plt.get_fignums() == before, "a figure stays open"
    return text


class Outline(HTMLParser):
    """The elements, attributes and texts of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.names, self.ids, self.links, self.text = [], set(), [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href") and value]

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize(
    "name", ["few values", extra("all values equal"), "nasty names", "nothing yet", "environment", extra("groups")]
)
def test_every_kind_of_answer_becomes_one_file_that_asks_for_nothing(name):
    text = written(name)
    page = Outline(text)
    assert len(text) < 3_000_000
    assert [link for link in page.links if not re.match("#|data:image/png", link)] == []
    assert len(page.ids) == len(set(page.ids)), "two elements have one id"
    assert not any(attribute.startswith("on") for attribute in page.names), "an attribute runs a script"
    assert page.tags.count("script") == 2 and set(page.tags).isdisjoint({"iframe", "object", "embed", "link"})
    assert {"trials", "settings", "cite", "answer"} - set(page.ids) <= ({"trials"} if name == "nothing yet" else set())
    marks = json.loads(re.search(r'id="marks">(.*?)</script>', text)[1])
    assert bool(marks) == (name != "nothing yet")
    assert re.search(r"\bnan\b", page.text.partition('"use strict"')[0]) is None


def test_what_users_write_stays_text():
    page = Outline(written("nasty names"))
    assert NASTY in page.text and "<u>broken</u>" in page.text and "<i>yield</i>" in page.text
    assert set(page.tags).isdisjoint({"img", "u", "i", "b"})
    assert str(element("a", "<", None, [Html("<b>")], class_="x\"'", data_n=3, hidden=True, open=False)) == (
        '<a class="x&quot;&#x27;" data-n="3" hidden>&lt;<b></a>'
    )
    inside = data("d", {"x": "</script><!--"})
    assert inside.count("<") == 2 and json.loads(re.sub("<.*?>", "", inside)) == {"x": "</script><!--"}


# ---------------------------------------------------------------------------------------------------------------- words


def test_the_answer_is_in_the_words_of_the_user():
    subject = subject_of(source("environment"))
    words, report = said(subject), source("environment").report
    assert re.fullmatch(r"Use angle\u00a0[\d.]+\.", words.use)
    promise = r"Within the tolerances and whatever the wind may be the lift stays above (-?[\d.]+)\u00a0N\."
    found = re.fullmatch(promise, words.promise)
    limit = re.fullmatch(r"No decision can promise more than (-?[\d.]+)\u00a0N\.", words.limit)
    assert float(found[1]) <= report.lower < report.optimum_upper <= float(limit[1])


@pytest.mark.parametrize(
    ("name", "begins", "beyond"),
    [
        ("minimize", "Within the tolerances the value stays below", "less"),
        ("groups", "For each of its members the value stays above", "more"),
        ("nothing goes wrong", "If all is as decided the value stays above", "more"),
    ],
)
def test_the_promise_says_what_may_go_wrong(name, begins, beyond):
    words = said(subject_of(source(name)))
    assert words.promise.startswith(begins) and f"promise {beyond} than" in words.limit


def test_constraints_and_audits_are_put_into_words():
    steep = so.Constraint("steep", upper=0.5, model=so.GP(so.SE(0.3), noise=0.01))
    model = so.GP(so.SE(0.3), noise=0.05)
    optimizer = so.Optimizer(so.Grid.linspace(0, 1, 11), so.Ball(0.1), model, constraints=[steep])
    for _ in range(6):
        query = optimizer.ask()
        optimizer.tell(query, float(query.point[0]), measured={"steep": float(query.point[0])})
    subject, report = subject_of(optimizer), optimizer.report()
    words = said(subject)
    assert report.feasible == "certified" and words.kept == "It keeps all limits, whatever goes wrong."
    assert words.limit.startswith("No decision that keeps all limits can promise more than")
    optimizer.tell(optimizer.ask(), None, measured={"steep": 0.25})  # only the constraint was measured
    rows = trial_rows(subject_of(optimizer))
    assert [row["value"] is None for row in rows] == [False] * 6 + [True] and rows[-1]["steep"] == 0.25
    shown = Outline(str(constraints(subject))).text
    assert "steep" in shown and f"{report.constraints[0].margin[0]:.6g}" in shown
    audit = so.audit(lambda x: -float(x[0]), [0.5], [(0, 1)], 0.1, evaluations=3, noise=0.1)
    words = said(subject_of(audit))
    assert words.use.startswith("The given decision: ") and words.limit.startswith("It cannot promise more than")


@pytest.mark.parametrize(
    ("value", "other", "up", "text"),
    [
        (0.7149, 0.7411, False, "0.714"),
        (0.7411, 0.7149, True, "0.742"),
        (-12.3456, 20.0, False, "-13"),
        (100.5, 100.5022, False, "100.5000"),
        (1e12, 3e12, True, "1.0e+12"),
        (0.0, 1.0, False, "0.0"),
        (2.0, 2.0, False, "2.0000"),
        (math.inf, 0.0, True, "any number"),
    ],
)
def test_bounds_are_rounded_to_the_safe_side(value, other, up, text):
    assert safe(value, other, up=up) == text
    if math.isfinite(value):
        assert float(text) >= value if up else float(text) <= value


def test_units_are_told_from_indices():
    assert named("temperature [°C]") == ("temperature", "\u00a0°C")
    assert named("x[0]") == ("x[0]", "")


def test_what_is_too_early_is_said():
    early = Outline(written("few values")).text
    assert "not yet to be relied on" in early and "Too early" in early
    assert "Nothing is known yet" in Outline(written("nothing yet")).text


# ------------------------------------------------------------------------------------------------- what is drawn where


def test_marks_are_where_they_are_drawn():
    with drawing():
        figure, axes = plt.subplots()
        axes.plot([0, 1], [5, 7], "o", label="dots")
        axes.plot([0, 1], [5, 7], label="_hidden")
        axes.axhline(6, label="not a place")
        axes.set_xlabel(r"price in \$")
        svg, _ = inline(figure, "test")
        (found,) = marks_of(figure)
    assert found["x"] == "price in $" and [series["name"] for series in found["series"]] == ["dots"]
    drawn = re.findall(r'<use xlink:href="#\w+" x="([\d.]+)" y="([\d.]+)" style="fill: #1f77b4', svg)
    assert np.allclose(np.array(drawn, dtype=float), found["series"][0]["at"], atol=0.1)
    assert found["series"][0]["said"] == [["0", "5"], ["1", "7"]]
    assert "currentColor" in svg and "#0a1b2d" not in svg


# ------------------------------------------------------------------------------------------------------------ elsewhere


def test_notebooks_show_the_pictures_of_a_result():
    html = source("few values")._repr_html_()
    titles = re.findall("<summary>(.*?)</summary>", html)
    assert titles == ["Landscape", "Slices", "What hurts most", "Contenders", "Is the model right?"]
    assert html.count('src="data:image/svg+xml;base64,') == 5 and plt.get_fignums() == []


def test_a_campaign_writes_its_own_report(tmp_path):
    campaign = so.Campaign({"x": (0, 1)}, 0.1)
    text = campaign.report(tmp_path / "own.html").read_text(encoding="utf-8")
    assert "Nothing is known yet" in Outline(text).text
    with pytest.raises(TypeError, match="expected a result"):
        plots.report(3, tmp_path / "none.html")
    assert not (tmp_path / "none.html").exists()


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr("stableopt.plots.page.page.page_of", lambda *_: pytest.fail("drawn"))
    campaign = so.Campaign({"x": (0.0, 1.0)}, 0.1)
    (tmp_path / "file").touch()
    refused(lambda: campaign.report(tmp_path), IsADirectoryError, f"got {tmp_path}, which is a folder")
    words = "expected the page of a report in a folder"
    refused(lambda: campaign.report(tmp_path / "no" / "x.html"), FileNotFoundError, words, "no is not there")
    refused(lambda: campaign.report(tmp_path / "file" / "x.html"), FileNotFoundError, words, "file is a file")
    monkeypatch.setattr("os.access", lambda *_: False)  # as on a disk that is mounted for reading
    refused(lambda: campaign.report(tmp_path / "x.html"), PermissionError, "expected", "look at the permissions")


def test_very_many_trials_stay_a_small_file(tmp_path):
    X = np.random.default_rng(0).random((1200, 1))
    optimizer = so.Optimizer(so.Grid.linspace(0, 1, 11), so.Ball(0.1), so.GP(so.SE(0.3), noise=0.1))
    optimizer.tell_all([so.Measurement(np.round(x, 1), float(x[0])) for x in X])
    page = Outline(plots.report(optimizer, tmp_path / "many.html").read_text(encoding="utf-8"))
    assert "The last 1000 of 1200 trials." in page.text and page.tags.count("tr") < 1100
