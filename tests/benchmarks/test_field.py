"""The field: its problems are what they say, and a reader adds a problem or a method in ten lines."""

from __future__ import annotations

import itertools
import json
import sys
from argparse import Namespace
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.field import __main__ as command
from benchmarks.field import results
from benchmarks.field.choices import Chi, stretched
from benchmarks.field.drawn import COUNTS, SETS, draw, drawn
from benchmarks.field.known import own, shared
from benchmarks.field.problems import BROUGHT, PROBLEMS, SHIPPED, STORED, at_edge, part
from benchmarks.field.tails import long
from benchmarks.rivals.methods import METHODS
from benchmarks.rivals.problems import Problem
from benchmarks.rivals.worst import stable_optimum, worst_case

MINE = """
import numpy as np
from benchmarks.field.problems import Problem, add
from benchmarks.rivals.methods import METHODS, Suggestion

f = lambda Z: -abs(Z[:, 0] - 0.5)
add(Problem("ridge", np.zeros(2), np.ones(2), "linf", eps=0.1, noise=0.01, f=f, stable_value=-0.1))

class Middle:
    remembers = False
    def __init__(self, problem, seed): self.problem, self.seed = problem, seed
    def initial(self): return self.problem.initial(self.seed)
    def tell(self, X, y): self.best = X[np.argmax(y)]
    def suggest(self): return Suggestion(np.full(2, 0.5), np.full(2, 0.5))
    def report(self, thorough): return {"best": self.best}

METHODS["middle"] = Middle
"""


def points(problem: Problem, decision: np.ndarray, steps: int) -> np.ndarray:
    """A(decision) on a grid, from the definitions."""
    axes = []
    for j, (x, reach) in enumerate(zip(decision, problem.reach, strict=True)):
        near = np.linspace(x - reach, x + reach, steps) if reach else np.array([x])
        axes.append(np.clip(near, problem.lower[j], problem.upper[j]))
    thetas = [np.linspace(a, b, steps) for a, b in problem.environment]
    rows = list(itertools.product(*axes, *thetas))
    if problem.parameters is not None:
        rows = [(*row, *theta) for row in rows for theta in problem.parameters.tolist()]
    Z = np.array(rows)
    away = (Z[:, : problem.dimension] - decision) / np.where(problem.reach > 0, problem.reach, 1.0)
    return Z[np.linalg.norm(away, axis=1) <= 1 + 1e-9] if problem.norm == "l2" else Z


@pytest.mark.parametrize("kind", SETS)
def test_the_worst_case_is_that_of_a_fine_grid(kind: str) -> None:
    number = SETS.index(kind)
    problem = draw(2, number)
    assert problem.name.split("-")[1] == kind
    for unit in np.random.default_rng(number).random((3, 2)):
        decision = problem.spread(np.array([unit]))[0][: problem.dimension]
        lowest = problem.f(points(problem, decision, 81)).min()
        value, where = worst_case(problem, decision)
        assert lowest - 2e-2 < value < lowest + 1e-9
        assert value == pytest.approx(problem.f(where[None])[0])
        inside = np.abs(where[: problem.dimension] - decision) <= problem.reach + 1e-9
        assert inside.all() and np.all(where >= problem.low - 1e-9) and np.all(where <= problem.high + 1e-9)


@pytest.mark.parametrize("name", ["branin", "sine", "hartmann3", "rough2-parameter-2", "peaks"])
def test_a_stored_optimum_is_that_of_a_fine_grid(name: str) -> None:
    problem = PROBLEMS[name]
    steps = 4001 if problem.dimension == 1 else 151
    decisions = np.array(list(itertools.product(*np.linspace(problem.lower, problem.upper, steps).T)))
    if problem.parameters is None:
        inner = np.clip(decisions + problem.reach * np.linspace(-1, 1, 101), problem.lower, problem.upper)
        worst = problem.f(inner.reshape(-1, 1)).reshape(inner.shape).min(axis=1)
    else:
        each = [
            problem.f(np.column_stack([decisions, np.tile(row, (len(decisions), 1))])) for row in problem.parameters
        ]
        worst = np.min(each, axis=0)
    spread = worst.std()
    assert worst.max() - 1e-6 * spread <= problem.stable_value + 1e-6 <= worst.max() + 0.02 * spread


def test_the_search_for_an_optimum_repeats_a_stored_one() -> None:
    problem = PROBLEMS["wavy2-parameter-7"]
    assert stable_optimum(problem, 3, scan=200, climbs=4)[1] == pytest.approx(problem.stable_value, abs=1e-5)


def test_gradients_of_drawn_functions_are_differences_of_their_values() -> None:
    for kind in range(len(SETS)):
        problem = draw(4, kind)
        Z = problem.low + (problem.high - problem.low) * np.random.default_rng(0).random((5, len(problem.low)))
        assert problem.gradient is not None
        numeric = Problem(*(getattr(problem, n) for n in ("name", "lower", "upper", "norm", "eps", "noise", "f"))).slope
        if problem.parameters is None and not problem.environment:
            np.testing.assert_allclose(problem.gradient(Z), numeric(Z), atol=1e-5)


def test_the_field_is_as_wide_as_it_says() -> None:
    names = {problem.name for problem in drawn()}
    assert len(names) == sum(COUNTS.values()) >= 40 and set(COUNTS) == {2, 4, 6}
    kinds = Counter(name.split("-")[1] for name in names)
    assert set(kinds) == set(SETS) and min(kinds.values()) >= 8
    stored = json.loads(STORED.read_text())
    names |= {problem.name for problem in (*shared(), *own())}
    assert names == set(stored) | (BROUGHT - {"robot"}), "python -m benchmarks.field optimum"
    assert sum(at_edge(PROBLEMS[name]) for name in names) >= 0.4 * len(names)


def test_the_split_never_moves() -> None:
    assert [part(name) for name in ("polynomial", "branin", "bumps4", "mooring")] == [
        "look",
        "look",
        "choose",
        "choose",
    ]
    assert min(Counter(map(part, PROBLEMS)).values()) >= 25


def test_all_methods_of_a_seed_share_points_and_noise() -> None:
    problem = PROBLEMS["rough2-whole-14"]
    assert np.array_equal(problem.initial(3), problem.initial(3))
    assert not np.array_equal(problem.initial(3), problem.initial(4))
    assert np.array_equal(problem.errors(3, 20), problem.errors(3, 50)[:20])
    assert np.array_equal(problem.initial(3)[:, 0], np.round(problem.initial(3)[:, 0]))


def test_a_problem_and_a_method_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip # noqa: E501
    (tmp_path / "mine_of_field.py").write_text(MINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    out = tmp_path / "out"
    words = ["field", "run", "--with", "mine_of_field", "--problems", "ridge", "--methods", "middle", "random"]
    monkeypatch.setattr(sys, "argv", [*words, "--seeds", "2", "--rounds", "20", "--jobs", "1", "--out", str(out)])
    monkeypatch.setattr(command, "executor", lambda chosen: _Here())
    try:
        assert command.main() == 0
        assert "| ridge |" in capsys.readouterr().out
        files = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
        assert len(files) == 4
        runs = results.load(out, ["ridge"], ["middle"])
        assert results.regrets(runs, "ridge", "middle", 20)[0] == pytest.approx(0.0, abs=1e-9)
        assert command.main() == 0  # nothing is left to do
        assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == files
    finally:
        del PROBLEMS["ridge"]


class _Here:
    """An executor that computes at once."""

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, f, job):  # type: ignore[no-untyped-def]
        from concurrent.futures import Future

        done = Future()
        done.set_result(f(job))
        return done


def test_ratios_and_comparisons_are_of_what_both_have() -> None:
    a, b = "branin", "sine"
    runs: results.Runs = {
        (a, "ours", 0): {"own": {20: 1.0}, "other": {20: 0.0}},
        (a, "ours", 1): {"own": {20: 3.0}},
        (a, "x", 0): {"first": {20: 8.0}, "second": {20: 4.0}},
        (a, "y", 0): {"first": {20: 5.0}},
        (b, "ours", 0): {"own": {20: 2.0}},
        (b, "x", 0): {"first": {20: 1.0}},
    }
    found = results.ratios(runs, "ours", ["x", "y"], 20)
    assert found == {a: (0.25, "x"), b: (2.0, "x")}
    assert "| 20 | 2 | 2 | 0.71 |" in results.compare(runs, "x", "ours")  # √(¼ · 2)
    assert results.regrets(runs, a, "ours:other", 20) == {0: 0.0}
    assert results.beaten(runs) == [] and results.beaten(runs | {(b, "y", 0): {"first": {20: -0.1}}}) == [b]
    ranks = results.ranks(runs, ["ours", "x"], 20)
    assert ranks["ours"].tolist() == [1.0, 2.0] and ranks["x"].tolist() == [2.0, 1.0]


def test_choices_are_what_they_say() -> None:
    betas = np.sort([Chi().beta(t) for t in range(11, 51)])
    assert np.abs(1 - np.exp(-betas / 2) - (np.arange(40) + 0.5) / 40).max() < 0.06  # χ² with two degrees of freedom
    assert METHODS["unwarped"](PROBLEMS["bumps6"], 0)._optimizer.gp.warp is False
    assert METHODS["known-4"](PROBLEMS["bumps6"], 0)._optimizer.gp.warp is None  # as in the defaults
    problem = PROBLEMS["bumps6"]
    assert np.array_equal(stretched(problem, 5, 0.0), problem.initial(5))
    assert ((stretched(problem, 5, -0.05) % 1) == 0).any() and stretched(problem, 5, 0.1).min() >= 0.1


def test_a_long_tail_leaves_the_stable_optimum_where_it_was():
    for power in (1.2, -1.2):
        plain, tail = PROBLEMS["smooth2-box-0"], long("smooth2-box-0", power)
        Z = np.random.default_rng(0).random((50, 2))
        assert np.array_equal(np.argsort(plain.f(Z)), np.argsort(tail.f(Z)))
        assert worst_case(tail, plain.stable_decision)[0] == pytest.approx(tail.stable_value, rel=1e-3)


def test_a_colon_names_a_reporting_rule_only_before_a_word(tmp_path):
    record = {"problem": "sine", "seed": 0, "stable_value": PROBLEMS["sine"].stable_value}
    record["reports"] = [{"t": 20, "regret": {"own": 0.5, "expected": 0.25}}]
    for method in ("ours", "ours-length=0.15:0.35", "chi", "paper"):
        results.path(tmp_path, "sine", method, 0).write_text(json.dumps(record))
    both = results.load(tmp_path, ["sine"], ["chi", "paper"], tmp_path / "nothing is kept")
    assert results.regrets(both, "sine", "chi", 20)[0] == 0.5, "a variation of ours has its own rule"
    assert results.regrets(both, "sine", "paper", 20)[0] == 0.25, "a rival has the best of its rules"
    names = ["ours", "ours:expected", "ours-length=0.15:0.35", "ours-length=0.15:0.35:expected"]
    runs = results.load(tmp_path, ["sine"], names, tmp_path / "nothing is kept")
    assert [results.regrets(runs, "sine", name, 20)[0] for name in names] == [0.5, 0.25, 0.5, 0.25]


def test_a_run_that_is_kept_counts_as_there_until_it_is_run_again(tmp_path, monkeypatch):
    def store(method, regret, rounds=20):
        record = {"problem": "sine", "method": method, "seed": 0, "rounds": rounds, "stable_value": best - 1.0}
        record["reports"] = [{"t": 20, "regret": {"own": regret, "all": 0.25}}]
        results.path(out, "sine", method, 0).write_text(json.dumps(record))

    out, file, best = tmp_path / "out", tmp_path / "kept.csv", PROBLEMS["sine"].stable_value
    out.mkdir()
    assert results.kept(file) == {} and results.load(None, ["sine"], ["ours"], file) == {}
    store("ours", 0.5)
    store("carbo", 0.75)
    assert results.keep(out, file) == 2 and results.keep(out, file) == 2  # the second time changes nothing
    assert len(file.read_text().splitlines()) == 1 + 4
    for folder in (None, out):  # the optimum that is known now is higher by 1
        runs = results.load(folder, ["sine"], ["ours", "carbo:all"], file)
        assert results.regrets(runs, "sine", "ours", 20) == {0: pytest.approx(1.5)}
        assert results.regrets(runs, "sine", "carbo:all", 20) == {0: pytest.approx(1.25)}
    store("ours", 0.0)
    assert results.regrets(results.load(out, ["sine"], ["ours"], file), "sine", "ours", 20) == {0: pytest.approx(1.0)}
    monkeypatch.setattr(results, "kept", lambda: {("sine", "carbo", 0): {"own": {20: 0.5}}})
    chosen = Namespace(first=0, seeds=2, methods=["carbo", "random"], problems=["sine"], out=out, modules=[], rounds=20)
    results.path(out, "sine", "carbo", 0).unlink()
    assert [(job.method, job.seed) for job in command.missing(chosen)] == [("random", 0), ("carbo", 1), ("random", 1)]
    chosen.rounds = 50  # what is kept is shorter
    assert len(list(command.missing(chosen))) == 4


def test_of_a_run_that_is_kept_and_there_the_longer_one_counts(tmp_path):
    record = {"problem": "sine", "method": "carbo", "seed": 0, "stable_value": PROBLEMS["sine"].stable_value}
    file, out = tmp_path / "kept.csv", results.path(tmp_path, "sine", "carbo", 0)
    for marks, regret in (((20, 50), 0.5), ((20,), 0.25)):
        out.write_text(json.dumps(record | {"reports": [{"t": t, "regret": {"own": regret}} for t in marks]}))
        results.keep(tmp_path, file)
    results.path(tmp_path, "mine", "carbo", 0).write_text(json.dumps(record | {"problem": "mine", "reports": []}))
    assert results.keep(tmp_path, file) == 0  # a problem of one's own could not be read without its module
    for folder in (None, tmp_path):
        runs = results.load(folder, ["sine"], ["carbo"], file)
        assert results.regrets(runs, "sine", "carbo", 50) == {0: 0.5} == results.regrets(runs, "sine", "carbo", 20)


def test_what_is_kept_is_of_the_problems_and_finite():
    runs = results.kept()
    assert runs and {problem for problem, _, _ in runs} <= SHIPPED
    values = [v for rules in runs.values() for at in rules.values() for v in at.values()]
    assert np.isfinite(values).all() and not results.beaten(runs), "search again: python -m benchmarks.field optimum"


def test_the_page_shows_what_is_kept():
    """The tables of docs/field.md are those of the runs that are kept."""
    page = (Path(__file__).parents[2] / "docs" / "field.md").read_text(encoding="utf-8")
    methods = ["ours", "carbo", "qucb16", "random"]
    lines = results.table(results.load(None, PROBLEMS, methods), methods).split("\n\n")[0].splitlines()
    assert len(lines) >= 6 and all(line in page for line in lines)
    for rival, name in (("qucb16", "BoTorch, UCB-16"), ("carbo", "CARBO"), ("random", "random search"), ("paper", "β^{1/2} = 2, on our model")):  # fmt: skip # noqa: E501
        for wanted in ("choose", "look"):
            runs = results.load(None, [p for p in PROBLEMS if part(p) == wanted], [rival, "ours"])
            for line in results.compare(runs, rival, "ours").splitlines()[2:]:
                t, problems, _, ratio, ends, won = (cell.strip() for cell in line.strip("|").split("|"))
                shown = f"{name} | {wanted} | {t} | {problems} | {ratio} ({ends.replace(', ', ' to ')}) | {won} |"
                assert shown in page.replace("**", ""), shown
