"""Promises of the lab notebook: a table for people, JSON for programs, and one clear line for what is refused."""

import csv
import io
import json
import os
import re
import shlex
import time
import tomllib
from pathlib import Path

import pytest
from helpers.cases import extra
from helpers.kills import CommandKills
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import stableopt as so
from stableopt.cli import page
from stableopt.cli.commands import app

pytestmark = pytest.mark.usefixtures("quick")  # no promise here depends on the effort of a search

PAGE = Path(__file__).resolve().parents[2] / "docs" / "notebook.md"
INIT = ["init", "--range", "temp=20:90", "--range", "solvent=water,ethanol", "--tolerance", "temp=4"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, code=0, answers=None):
    result = CliRunner().invoke(app, list(arguments), input=answers)
    assert result.exit_code == code, result.output
    assert "\x1b" not in result.output, "no control codes where nobody sees them"
    if code == 2:
        assert result.stderr.strip().count("\n") == 0 and not result.stdout, result.output
    return result.stderr.strip() if code else result.stdout


def from_json(*arguments):
    return json.loads(run(*arguments, "--json"))


@pytest.fixture
def book(folder):
    run(*INIT)
    return folder


# --------------------------------------------------------------------------------------------------------------- use


def test_the_page_shows_what_the_commands_print(folder):
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    shown = [part.split("\n", 1) for block in blocks for part in block.split("$ stableopt ")[1:]]
    assert len(shown) == 8
    for line, expected in shown:
        output = CliRunner().invoke(app, shlex.split(line)).output
        pattern = ".*".join(re.escape(part) for part in expected.strip().split("..."))
        assert not expected.strip() or re.fullmatch(pattern, output.strip()), output


def test_the_table_of_the_page_names_all_commands():
    named = set(re.findall(r"^\| `(\w+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)) | {"report"}
    commands = {c.name or c.callback.__name__ for c in app.registered_commands}
    assert named == commands - {"demo", "verify", "reproduce"}


def test_a_report_can_be_a_page(book):
    assert "expected at least one value to go by" in run("report", "--html", "--out", "page.html", code=2)
    assert not Path("page.html").exists(), "as without a page"
    run("tell", "new", "3", "--at", "temp=30", "--at", "solvent=water")
    assert "no is not there" in run("report", "--html", "--out", "no/page.html", code=2)
    assert run("report", "--html", "--out", "page.html").strip() == "wrote page.html"
    assert "Best so far" in Path("page.html").read_text(encoding="utf-8")


def test_from_the_first_line_to_the_decision(book):
    trials = from_json("ask", "-n", "3")
    assert [t["trial"] for t in trials] == [1, 2, 3] and len({t["settings"]["temp"] for t in trials}) == 3
    assert from_json("tell", "1", "-12.4")[0]["value"] == -12.4
    near = trials[1]["settings"]["temp"] + 0.5
    assert from_json("tell", "2", "13", "--at", f"temp={near}", "--noise", "0.5")[0]["settings"]["temp"] == near
    assert from_json("tell", "3", "--failed", "crystals")[0]["why"] == "crystals"
    assert "told by" in (again := run("tell", "1", "5", code=2)) and "stableopt correct 1 ... replaces that" in again
    assert from_json("correct", "1", "12.1")[0]["value"] == 12.1
    assert "stableopt correct 1 --failed 'why' takes its value back" in run("abandon", "1", code=2)
    four = from_json("ask")[0]
    assert from_json("status")["open"] == [four]
    assert from_json("abandon", "4", "--why", "no water")[0]["status"] == "abandoned"
    assert from_json("status")["counts"] == {"done": 2, "failed": 1, "open": 0, "abandoned": 1}
    with_all = run("tell", "new", "9", "--at", "temp=30", "--at", "solvent=water")
    assert "30" in with_all
    report = from_json("report")
    assert report["model"]["trusted"] is False and "too early" in report["model"]["words"]
    campaign = so.Campaign.open(book / "stableopt.db")
    assert report["decision"] == campaign.result.decision
    assert report["worst_case"]["lower"] == campaign.result.worst_case.lower
    assert run("report").startswith("decision")
    there = from_json("predict", "temp=45", "solvent=ethanol")
    point = {"temp": 45, "solvent": "ethanol"}
    assert (there["mean"], there["std"]) == tuple(campaign.predict(point))
    assert there["worst_case"]["upper"] == campaign.bounds(point).upper
    assert "expected" in run("predict", "temp=45", "solvent=ethanol")
    assert [int(row["trial"]) for row in csv.DictReader(io.StringIO(run("export")))] == [1, 2, 3, 4, 5]


def test_constraints_are_typed_told_and_shown_by_name(folder):
    limits = ["--constraint", "stress=:14", "--constraint", "tilt=-2:2"]
    run("init", "--range", "x=0:1", "--tolerance", "x=0.1", "--value", "cost", "--minimize", *limits)
    page_ = tomllib.loads((folder / "stableopt.toml").read_text(encoding="utf-8"))
    assert page_["constraints"] == {"stress": {"upper": 14}, "tilt": {"lower": -2, "upper": 2}}
    run("ask", "-n", "3")
    assert from_json("tell", "1", "cost=3", "stress=12", "tilt=-1.5")[0]["tilt"] == -1.5
    assert from_json("tell", "2", "2", "stress=13")[0]["tilt"] is None
    assert from_json("tell", "3", "stress=15")[0]["cost"] is None
    assert from_json("correct", "2", "stress=13.5", "tilt=0")[0]["cost"] == 2
    assert from_json("correct", "1", "tilt=none")[0]["tilt"] is None
    assert "by name, such as cost=3 stress=..., got 3" in run("correct", "1", "3", code=2)
    assert "none if cost was not measured, --failed 'why' if" in run("correct", "1", "cost=1e400", "tilt=1", code=2)
    assert "twice" in run("correct", "1", "stress=3", "stress=4", code=2)
    assert "['cost', 'stress', 'tilt']" in run("correct", "1", "strain=3", code=2)
    assert "did you mean 'stress'?" in run("correct", "1", "stres=3", code=2)
    report = from_json("report")
    assert report["feasible"] in ("likely", "unknown") and report["constraints"]["stress"]["lowest"] is None
    assert "limits" in run("report") and "stress" in run("export").splitlines()[0]
    there = from_json("predict", "x=0.5")["constraints"]
    assert set(there) == {"stress", "tilt"} and len(there["tilt"]["margin"]) == 2 and there["stress"]["std"] > 0
    assert "worst margin between" in run("predict", "x=0.5")
    text = (folder / "stableopt.toml").read_text(encoding="utf-8")
    (folder / "stableopt.toml").write_text(text.replace("upper = 14", "upper = 16"), encoding="utf-8")
    run("status")
    assert so.Campaign.open(folder / "stableopt.db").ledger.said.limits[0].upper == 16
    assert "expected limits such as" in run("init", "-b", "b.toml", "--range", "x=0:1", "--constraint", "s=14", code=2)


def test_what_is_exported_can_be_imported(book):
    run("ask", "-n", "2")
    run("tell", "1", "3.5")
    run("export", "--out", "all.csv")
    run(*INIT, "--notebook", "second.toml")
    assert from_json("import", "all.csv", "-b", "second.toml") == {"added": [1]}
    assert from_json("import", "all.csv", "-b", "second.toml") == {"added": []}


def test_init_asks_where_nothing_is_given(folder):
    answers = ["temp [°C]", "20:x", "20:90:0.5", "-0.1:0.3", "cycles", "1:12:integer", "", "solvent", "a,b", ""]
    run("init", answers="\n".join([*answers, "wind", "0:12", "", "yield", "ash", "14", ":14", "", "y", ""]))
    told = tomllib.loads((folder / "stableopt.toml").read_text(encoding="utf-8"))
    assert told["ranges"]["temp [°C]"] == {"low": 20, "high": 90, "step": 0.5}
    assert told["ranges"]["solvent"] == ["a", "b"] and told["tolerance"] == {"temp [°C]": [-0.1, 0.3]}
    assert told["environment"] == {"wind": [0, 12]} and told["minimize"] is True and told["value"] == "yield"
    assert told["constraints"] == {"ash": {"upper": 14}}


def test_init_without_answers_says_what_it_expects(folder):
    result = CliRunner().invoke(app, ["init"], input="temp\n")
    assert result.exit_code == 2 and "expected answers, or options such as --range" in result.stderr
    assert not (folder / "stableopt.toml").exists()


def test_names_are_printed_as_they_are(folder):
    names = ["größe", "[bold]x[/bold]", ":x: [/b]"]
    run("init", *(part for name in names for part in ("--range", f"{name}=0:1")))
    printed = run("ask")
    assert all(name in printed for name in names)


def test_a_pipe_gets_whole_tables(folder):
    names = [f"a rather long name of setting {i}" for i in range(9)]
    run("init", *(part for name in names for part in ("--range", f"{name}=0:1")))
    assert all(name in run("ask").splitlines()[1] for name in names)


@given(st.dictionaries(st.text(min_size=1), st.one_of(st.text(), st.booleans(), st.integers(), st.lists(st.text()))))
def test_what_is_written_is_read_again(table):
    try:
        for text in [*table, *map(str, table.values())]:
            text.encode()
    except UnicodeEncodeError:
        return
    assert tomllib.loads(page.written({"ranges": table})).get("ranges", {}) == table


# ----------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tell 1 x", "expected a number, got 'x'"),
        ("tell 1 12,4", "expected a number, got '12,4': decimals have a point, as in 12.4"),
        ("tell 1 1e400", "expected a finite value y, got inf: --failed 'why' in place of a value if there is none$"),
        ("tell 1.5 3", "expected the number of a trial"),
        ("tell 9 3", r"expected a trial of this campaign \(open: \[1, 2\]\), got 9"),
        ("tell 1", "expected a value, got none: stableopt tell 7 12.4, or stableopt tell 7 --failed 'why'"),
        ("tell 1 nan", "expected a finite value"),
        ("tell 1 3 --faild x", "unexpected extra argument|--faild"),
        ("tell 1 3 --at temp=500", "expected temp between 20.0 and 90.0, got 500"),
        ("tell 1 3 --at tmp=50", r"expected a point with the names \['temp', 'solvent'\], got .*did you mean 'temp'"),
        ("tell 1 3 --at temp", "expected name=value, got 'temp'"),
        ("tell 1 3 --failed why", "expected a value or --failed 'why', got both"),
        ("correct 1 3", "expected a trial with an outcome, got trial 1, which is open"),
        ("abandon 7", "expected a trial of this campaign"),
        ("report", "expected at least one value to go by"),
        ("predict temp=45", "expected at least one value to go by"),
        ("import none.csv", "none.csv"),
        ("init --range temp=1:2", "expected a new notebook, got stableopt.toml, which is there"),
        ("init -b n.toml --range temp=2:1", "expected low < high"),
        ("init -b n.toml --range temp", "expected name=value"),
        ("init -b n.toml --range temp=5", "expected a range such as 20:90"),
        ("init -b n.toml --range temp=1,5", "temp: expected a range such as 20:90, or choices .* got '1,5'"),
        (
            "init -b n.toml --range n=1:12:interger",
            "n: expected a step .* log or integer .*did you mean 'integer'",
        ),
        ("init -b n.toml --range n=1:1,2", "n: expected a number, got '1,2': decimals have a point"),
        ("init -b n.toml --range temp=1:2 --tolerance tmp=1", "tmp"),
        ("status -b none.toml", "stableopt init begins one"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_one_line_and_nothing_changes(book, line, words):
    run("ask", "-n", "2")
    before = so.Campaign.open(book / "stableopt.db").ledger.seq
    result = CliRunner().invoke(app, shlex.split(line))
    assert result.exit_code == 2 and re.search(words, " ".join(result.output.split())), result.output
    assert so.Campaign.open(book / "stableopt.db").ledger.seq == before
    assert not (book / "n.toml").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("temp,solvent\n30,water\n", r"expected a column 'value' .* got the columns \['temp', 'solvent'\]$"),
        ("temp,solvent,valeu\n30,water,3\n", r"got the columns \['temp', 'solvent', 'valeu'\]: did you mean 'valeu'\?"),
        ("temp,salt,value\n30,water,3\n", r"got none for \['solvent'\]"),
        ("temp,solvent,value\n30,water,3\n30,water\n", "got 2 .in line 3 of r.csv"),
        ("temp,solvent,value\n30,water,3\n300,water,3\n", "between 20.0 and 90.0, got 300.0 .in line 3 of r.csv"),
        ("temp,solvent,value\n30,water,3\n30 °C,water,3\n", "line 3 of r.csv"),
        ("temp,solvent,value\n30,water,3\n40,beer,3\n", "'beer' .in line 3 of r.csv"),
        ("temp,solvent,value\n30,water,three\n", "'three' for 'value' .in line 2 of r.csv"),
    ],
    ids=["no values", "misspelt values", "wrong column", "short line", "unit", "unit as text", "choice", "value"],
)
def test_a_wrong_table_is_refused_with_the_line_and_nothing_changes(book, content, words):
    (book / "r.csv").write_text(content, encoding="utf-8")
    assert re.search(words, run("import", "r.csv", code=2))
    assert from_json("status")["counts"]["done"] == 0


def test_the_second_who_tells_a_trial_learns_who_was_first(book):
    run("ask")
    run("tell", "1", "3", "--who", "Ada")
    assert "trial 1, which was told by Ada on" in run("tell", "1", "4", "--who", "Bo", code=2)


# -------------------------------------------------------------------------------------------------- a change of mind


def edit(book, old, new):
    text = (book / "stableopt.toml").read_text(encoding="utf-8")
    assert old in text
    (book / "stableopt.toml").write_text(text.replace(old, new), encoding="utf-8")


def test_editing_the_notebook_is_a_change_that_is_recorded(book):
    run("ask")
    edit(book, "temp = 4", "temp = 2")
    edit(book, "temp = [20, 90]", "temp = [10, 95]")
    result = CliRunner().invoke(app, ["status"])
    assert "another ranges, tolerance from now on" in " ".join(result.stderr.split())
    assert so.Campaign.open(book / "stableopt.db").ledger.said.tolerance == {"temp": 2}
    assert CliRunner().invoke(app, ["status"]).stderr == "", "it is noticed once"


def test_what_was_changed_in_python_since_the_file_was_written_counts(book):
    run("ask")
    an_hour_ago = time.time() - 3600
    os.utime(book / "stableopt.toml", (an_hour_ago, an_hour_ago))
    campaign = so.Campaign.open(book / "stableopt.db")
    campaign.change(tolerance={"temp": 1})
    events = campaign.ledger.seq
    campaign.close()
    said = " ".join(CliRunner().invoke(app, ["status"]).stderr.split())
    assert "tolerance changed since stableopt.toml was written, and what is recorded counts" in said
    known = so.Campaign.open(book / "stableopt.db").ledger
    assert known.said.tolerance == {"temp": 1} and known.seq == events, "a question writes nothing"
    edit(book, "temp = 4", "temp = 3")
    os.utime(book / "stableopt.toml", (time.time() + 5,) * 2)  # times in a file are whole seconds
    run("status")
    assert so.Campaign.open(book / "stableopt.db").ledger.said.tolerance == {"temp": 3}


def test_a_change_that_contradicts_data_is_refused_with_the_trials(book):
    run("tell", "new", "3", "--at", "temp=30", "--at", "solvent=water")
    edit(book, "temp = [20, 90]", "temp = [40, 90]")
    assert "trial 1: expected temp between 40.0 and 90.0, got 30.0" in run("tell", "new", "3", code=2)
    edit(book, "temp = [40, 90]", "temp = [20, 90]")
    assert from_json("status")["counts"]["done"] == 1


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("minimize = false", "minimize = true", "expected minimize = false in stableopt.toml as when it began"),
        ("minimize = false", "minimise = false", "expected some of .*minimise"),
        ("temp = [20, 90]", "temp = [20, 90", "expected TOML in stableopt.toml: .*line"),
        ("temp = [20, 90]", "temp = {low = 20, hihg = 90}", "expected temp with low, high"),
        (
            "temp = [20, 90]",
            'temp = ["20", "90"]',
            r"which look like numbers: \(20, 90\) is .*\{choices = \['20', '90'\]\}",
        ),
        ("[ranges]", "[range]", r"with a table \[ranges\]"),
    ],
)
def test_an_edit_that_cannot_be_meant_is_refused(book, old, new, words):
    run("ask")
    edit(book, old, new)
    assert re.search(words, run("status", code=2))


# ------------------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize("count", [4, extra(12)])
def test_commands_that_are_killed_lose_nothing_that_was_acknowledged(tmp_path, count):
    """A share of those that `python -m benchmarks.faults --commands` makes."""
    kills = CommandKills(tmp_path)
    while kills.children < count or (not kills.acknowledged and kills.children < 40):
        kills.one_more()
    assert kills.acknowledged, "nothing was acknowledged: then this test shows nothing"
    assert kills.lost == kills.damaged == kills.stuck == 0
