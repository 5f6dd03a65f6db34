"""Constraints against rivals: what is kept of runs, and the table of it."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.constraints import __main__ as command
from benchmarks.constraints.problems import PROBLEMS, SLACK


def record(method, seed, **told):
    report = {"t": 30, "rule": "own", "decision": [0.123456789], "word": "", "regret": 0.5, "violation": -0.1}
    return {
        "problem": "truss",
        "method": method,
        "seed": seed,
        "rounds": 30,
        "seconds": 1.0,
        "reports": [report | told],
    }


def test_a_run_that_is_there_comes_before_the_same_one_that_is_kept(tmp_path):
    out, file = tmp_path / "out", tmp_path / "kept.jsonl"
    out.mkdir()
    runs = [record("ours", 0, word="certified"), record("ours", 1, word="certified", violation=0.2), record("carbo", 0)]
    for run in runs:
        (out / f"truss.{run['method']}.{run['seed']}.json").write_text(json.dumps(run))
    assert command.load(None, file) == []
    assert command.keep(out, file) == 3 == command.keep(out, file)
    assert command.load(None, file)[0]["reports"][0]["decision"] == [0.123457]
    table = command.table(command.load(None, file))
    assert "| truss | ours | 1/2 (2 certified, 1 wrong), 0.5 | – | – |" in table
    assert "| truss | carbo | 1/1, 0.5 | – | – |" in table
    (out / "truss.carbo.0.json").write_text(json.dumps(record("carbo", 0, violation=2 * SLACK)))
    assert "| truss | carbo | 0/1 | – | – |" in command.table(command.load(out, file))


def test_what_is_kept_is_what_the_problems_say():
    kept = command.load(None)
    assert len(kept) >= 50
    for run in kept:
        problem = PROBLEMS[run["problem"]]
        assert run["method"] in command.METHODS and {told["t"] for told in run["reports"]} <= set(command.CHECKPOINTS)
        told = run["reports"][-1]
        value, violation = problem.worst(told["decision"])
        assert abs(problem.best - value - told["regret"]) <= 1e-3 * (1 + abs(told["regret"]))
        assert (violation <= SLACK) == (told["violation"] <= SLACK) or abs(violation) < 1e-4


def test_the_page_shows_what_is_kept():
    page = (Path(__file__).parents[2] / "docs" / "constraints.md").read_text(encoding="utf-8")
    rows = command.table(command.load(None)).splitlines()[2:]
    assert sum("| ours |" in row for row in rows) == len(PROBLEMS) and "\n".join(rows) in page
