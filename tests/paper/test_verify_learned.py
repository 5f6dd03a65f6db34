"""Promises of `stableopt verify --learned`: what it calls true is true, functions are new for every seed, a third of
the families is held out, finished runs are not repeated, and a model that pretends is found out."""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from stableopt.cli import learned, verify
from stableopt.loop.optimizer import Optimizer
from stableopt.model.learning import Learned
from stableopt.paper.verification.families import FAMILIES, ListedTask
from stableopt.paper.verification.learned import (
    CONTROL,
    DEFAULTS,
    MARKS,
    Measurements,
    Row,
    checks,
    confident,
    run,
    summaries,
    width_ratio,
    widths,
)

ROW = Row("rough 1-D", 0, 20, lower=0.0, upper=1.0, optimum=2.0, worst=0.5, best=1.5, trusted=True)


def test_a_third_of_the_families_is_held_out_and_enough_kinds_are_there():
    held = [name for name, family in FAMILIES.items() if family.held_out]
    assert len(FAMILIES) >= 15 and len(held) == len(FAMILIES) // 3
    for some in (held, set(FAMILIES) - set(held)):
        assert any(FAMILIES[name].smooth for name in some)
    assert MARKS == (20, 40, 80)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_seed_has_a_function_of_its_own_and_truth_is_that_of_brute_force(name):
    family = FAMILIES[name]
    task, again, other = family.task(3), family.task(3), family.task(4)
    optimizer = Optimizer(task.domain, task.uncertainty, Learned(), seed=0)
    index = optimizer.ask().point_index
    assert task.value(index) == again.value(index) != other.value(index)
    assert task.optimum == again.optimum
    assert np.isfinite(task.noise(np.linspace(0.01, 0.99, 5))).all()
    if isinstance(task, ListedTask):
        members = [optimizer.state.setting.solver(0).members(d) for d in (0, 5)]
        for d, own in zip((0, 5), members, strict=True):
            assert task.worst(SimpleNamespace(decision_index=d)) == task.values[own].min() <= task.optimum
        return
    x, rng = np.linspace(0, 1, 20_001), np.random.default_rng(0)
    for choice in task.curves:
        decision = {"choice": choice, "x": float(rng.random())}
        steps = list(task.curves).index(choice) - np.arange(len(task.curves))
        near = [c for c, step in zip(task.curves, steps, strict=True) if abs(step) <= task.neighbours]
        reached = x[np.abs(x - decision["x"]) <= task.eps]
        expected = min(task.curves[c](reached).min() for c in near)
        found = task.worst(SimpleNamespace(decision=decision))
        assert found == pytest.approx(expected, abs=1e-3) and found <= task.optimum + 1e-4


def test_a_statement_is_true_up_to_rounding_and_kept_if_the_summary_warned():
    assert ROW.true == (True, True, True) and ROW.regret == 1.0 and ROW.width == 2.0
    wrong = replace(ROW, lower=0.6, upper=0.4, optimum=1.4)
    assert wrong.true == (False, False, False)
    assert replace(ROW, lower=0.5 + 1e-12).true[0]
    assert [check.held for check in checks([wrong], [ROW])] == [0] * 6
    assert [check.held for check in checks([replace(wrong, trusted=False)], [ROW])] == [1] * 6


def test_a_control_that_holds_and_bounds_that_are_wide_are_not_as_they_should_be():
    rows = [replace(ROW, family="smooth 2-D", seed=seed) for seed in range(600)]
    wide = [replace(row, optimum=9.0) for row in rows]
    assert widths(wide, rows) == [4.5]
    assert [check.ok for check in checks(wide, rows)][-2:] == [False, False]
    pretending = [replace(row, optimum=1.0) for row in rows]
    assert [check.ok for check in checks(rows, pretending)][-1]


def test_widths_are_compared_function_by_function():
    rows = [replace(ROW, family="smooth 2-D", seed=seed, lower=0.0, optimum=1.0) for seed in range(3)]
    others = [replace(row, optimum=optimum) for row, optimum in zip(rows, (0.5, 2.0, 2.0), strict=True)]
    assert width_ratio(rows, others) == 0.5 and width_ratio(rows, others[:2]) == 1.25
    assert math.isnan(width_ratio(rows, []))


def test_a_run_is_what_an_optimizer_with_the_defaults_reports():
    row = run("smooth 1-D", 1, DEFAULTS, 20)[0]
    task = FAMILIES["smooth 1-D"].task(1)
    errors = task.noise(np.random.default_rng([1, 1]).random(20))
    optimizer = Optimizer(
        task.domain,
        task.uncertainty,
        Learned(warp=None),
        algorithm="StableOpt",
        beta=DEFAULTS.beta,
        explore=DEFAULTS.explore,
        seed=1,
    )
    for error in errors:
        query = optimizer.ask()
        optimizer.tell(query, task.value(query.point_index) + error)
    assert optimizer.report().optimum_upper == row.optimum and row.best == task.optimum


def test_finished_runs_are_kept_and_not_repeated(tmp_path, monkeypatch):
    plan = Measurements(["smooth 1-D", "groups"], [0], 20, folder=tmp_path)
    first = list(itertools.chain.from_iterable(plan(DEFAULTS)))
    monkeypatch.setattr("stableopt.paper.verification.learned.run", None)
    assert list(itertools.chain.from_iterable(plan(DEFAULTS))) == first
    with pytest.raises(TypeError):
        list(plan(CONTROL))


def test_the_mixture_is_truer_than_the_most_likely_model_alone_on_rough_functions():
    plan = Measurements(["rough 2-D"], range(4), 20)
    true = [
        np.mean([row.true for row in itertools.chain.from_iterable(plan(method))]) for method in (DEFAULTS, CONTROL)
    ]
    assert true[0] > true[1]


def test_the_command_prints_both_models_and_judges(monkeypatch, tmp_path):
    def gather(measurements, step):
        assert list(measurements.seeds) == [5, 6, 7] and measurements.rounds == 40 and measurements.folder == tmp_path
        rows = [replace(ROW, family=name) for name in FAMILIES]
        step("a run")
        return learned.LearnedEvidence(rows, rows, checks(rows, rows))

    monkeypatch.setattr(learned, "gather", gather)
    app = typer.Typer()
    app.command()(verify.verify)
    result = CliRunner().invoke(
        app, ["--learned", "--seed", "5", "--runs", "3", "--out", str(tmp_path)], env={"COLUMNS": "200"}
    )
    assert result.exit_code == 0, result.output
    assert "held out" in result.output and "everything is as it should be" in result.output
    assert (tmp_path / "verify-learned.json").exists()
    assert {name for name, _ in summaries([ROW])} == {"rough 1-D", "chosen on", "all"}


def test_runs_that_were_sure_are_compared_with_the_truth():
    sure = replace(ROW, eta=0.5, sure=0.95)
    assert not sure.good, "the best decision is better by 1"
    right = replace(sure, eta=1.0)
    assert right.good
    rows = [sure, right, replace(right, sure=0.8), replace(right, trusted=False), ROW]
    assert confident(rows) == [False, True]
