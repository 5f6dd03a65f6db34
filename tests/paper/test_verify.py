"""Promises of `stableopt verify`: what it measures is what reports say, its lines are judged by the binomial, and the
quick setting, which is run here, finds everything as it should be."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from stableopt import ALGORITHMS, Optimizer
from stableopt.cli import verify
from stableopt.loop.rules import Algorithm, BestIntersected, OptimisticPessimistic
from stableopt.loop.schedules import Constant, LikelihoodRatio
from stableopt.paper.hard import HardGame
from stableopt.paper.verification.cases import CASES, GUARANTEED, case
from stableopt.paper.verification.certificates import Betas, certificates
from stableopt.paper.verification.checks import Check
from stableopt.paper.verification.hard import check_hard, hard_experiment
from stableopt.theory.simulation import consistent
from stableopt.theory.theorem2 import HardInstances

SETTINGS = pytest.mark.parametrize("name", CASES)


@pytest.fixture(scope="module")
def quick():
    seen = []
    found = verify.gather(verify.QUICK, 0, seen.append)
    assert len(seen) == verify.steps()
    return found


def test_everything_is_as_it_should_be_in_the_quick_setting(quick):
    assert [check for check in quick.checks if not check.ok] == []


def test_every_promise_has_a_negative_control_that_visibly_fails(quick):
    controls = [check for check in quick.checks if not check.must_hold]
    assert len(controls) == 10 + 2 * len(CASES)
    assert all(check.held < 0.2 * check.runs for check in controls), "far from the 90 % that are promised"
    for part in ("bounds", "certificates", "Theorem 1"):
        assert any(check.what.startswith(part) for check in controls)


def test_all_settings_of_the_paper_are_checked(quick):
    for part in ("certificates: plain", "certificates: intersected", "certificates: monotone", "reports", "Theorem 1:"):
        assert {check.setting for check in quick.checks if check.what.startswith(part)} == set(CASES)


def test_certificates_are_loose_but_come_down(quick):
    for found in quick.certificates.values():
        bound = found.plain.regret_bound.mean(axis=0)
        assert np.all(found.looseness > 1) and bound[-1] < 0.7 * bound[0]


def test_exploring_with_a_small_beta_finds_the_optimum_but_cannot_certify_it(quick):
    small, large = quick.tradeoff
    assert (small.explore, large.explore) == (1.0, 2.0)
    assert small.regret[0, -1] == large.regret[0, -1] == 0
    assert large.bound[0, -1] < 0.5 < 3 < small.bound[0, -1]


@SETTINGS
def test_what_is_measured_side_by_side_is_what_an_optimizer_reports(name):
    each, rounds, schedule = case(name), 12, LikelihoodRatio(1.0, 0.1)
    f = each.functions(3, np.random.default_rng(5))[2]
    found = certificates(each, Betas(schedule), f[None], rounds, np.random.default_rng(6))
    optimizer = Optimizer(each.domain, each.uncertainty, each.gp, algorithm=GUARANTEED, beta=schedule, explore=1.0)
    noise = np.random.default_rng(6)
    for s in range(1, rounds):
        query = optimizer.ask()
        optimizer.tell(query, f[query.point_index] + each.gp.noise * noise.standard_normal(1)[0])
        report = optimizer.report()
        expected = [found.plain.lower[0, s], found.plain.upper[0, s], found.plain.optimum_upper[0, s]]
        assert [report.lower, report.upper, report.optimum_upper] == pytest.approx(expected, abs=1e-8)
        worst = each.listing.solver.worst(report.decision_index, f).value
        assert found.plain.worst[0, s] == pytest.approx(worst)


@SETTINGS
def test_the_intersection_is_that_of_an_optimizer(name):
    each, rounds = case(name), 12
    f = each.functions(3, np.random.default_rng(5))[1]
    found = certificates(each, Betas(Constant(4.0), explore=None), f[None], rounds, np.random.default_rng(6))
    algorithm = Algorithm("StableOpt", OptimisticPessimistic(), BestIntersected())
    optimizer = Optimizer(each.domain, each.uncertainty, each.gp, algorithm=algorithm, beta=4.0)
    noise = np.random.default_rng(6)
    for s in range(1, rounds):
        query = optimizer.ask()
        optimizer.tell(query, f[query.point_index] + each.gp.noise * noise.standard_normal(1)[0])
        assert optimizer.report().optimum_upper == pytest.approx(found.intersected.optimum_upper[0, s], abs=1e-8)
    assert found.monotone.all()


@SETTINGS
def test_sampled_functions_have_the_norm_that_the_bounds_assume(name):
    each = case(name)
    f, K = each.functions(6, np.random.default_rng(0)), each.gp.kernel(each.points, each.points)
    # The norm of the interpolant at the points is at most that of the function.
    squared = np.sum(f * np.linalg.solve(K + 1e-8 * np.eye(len(K)), f.T).T, axis=1)
    assert np.all(squared <= each.norm**2 * (1 + 1e-6)) and np.all(squared > 0.5 * each.norm**2)


def test_a_line_is_judged_by_the_binomial_distribution():
    promise = Check("bounds", "SE", 85, 100, 0.9)
    assert promise.ok and consistent(85, 100, 0.9)
    assert not replace(promise, held=70).ok and replace(promise, held=70, must_hold=False).ok
    assert not replace(promise, must_hold=False).ok, "a control that holds is not what it should be"
    assert Check.of("x", "y", [True, True, False], 1.0).held == 2 and not Check.of("x", "y", [True, False], 1.0).ok


def test_every_algorithm_fails_on_hard_functions_before_the_bound():
    results = hard_experiment(runs=16, rounds=20, seed=1)
    assert set(results.success) == set(ALGORITHMS) and results.bound > 20
    for share in results.success.values():
        assert share.shape == (20,) and share[-1] < 0.95
    assert all(check.ok for check in check_hard(results))
    impossible = replace(results, runs=100, success={name: np.ones(20) for name in results.success})
    assert not any(check.ok for check in check_hard(impossible)), "who always succeeds contradicts Theorem 2"


def test_hard_functions_become_easy_when_the_noise_is_small():
    results = hard_experiment(HardGame(noise=0.02), runs=4, rounds=30, algorithms=["StableOpt"])
    assert results.success["StableOpt"][-1] == 1.0


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="expected a case, one of"):
        case("nothing")
    with pytest.raises(ValueError, match="at least one round"):
        hard_experiment(rounds=0)
    two = HardInstances(CASES["SE"].gp.kernel, eta=0.05, norm=1.0, eps=0.15, dim=2)
    with pytest.raises(ValueError, match="one dimension, got 2"):
        hard_experiment(HardGame(two), rounds=1)


def run(*arguments):
    app = typer.Typer()
    app.command()(verify.verify)
    return CliRunner().invoke(app, list(arguments))


def test_the_command_writes_table_numbers_and_figures(quick, monkeypatch, tmp_path):
    monkeypatch.setattr(verify, "gather", lambda plan, seed, step: quick)
    result = run("--out", str(tmp_path / "new"))
    assert result.exit_code == 0 and "everything is as it should be" in result.output
    with (tmp_path / "new" / "verify.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(quick.checks) and {row["ok"] for row in rows} == {"True"}
    content = json.loads((tmp_path / "new" / "verify.json").read_text(encoding="utf-8"))
    assert content["ok"] and content["plan"]["functions"] == verify.QUICK.functions
    figures = sorted(path.name for path in (tmp_path / "new").glob("*.png"))
    names = ("coverage", "looseness", "lower-bound", "tradeoff")
    assert figures == [f"verify-{name}.png" for name in names]


def test_the_command_fails_if_a_line_is_not_as_it_should_be(quick, monkeypatch):
    wrong = replace(quick.checks[0], held=0)
    monkeypatch.setattr(verify, "gather", lambda plan, seed, step: replace(quick, checks=[wrong, *quick.checks[1:]]))
    result = run()
    assert (
        result.exit_code == 1
        and "1 of 66 lines are not as they should be" in result.output
        and "FAILS" in result.output
    )


def test_the_command_refuses_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    result = run("--out", str(tmp_path / "file"))
    assert result.exit_code == 2 and "choose another" in result.output


def test_full_measures_a_thousand_functions():
    assert verify.FULL.functions >= 1000 and verify.FULL.rounds > verify.QUICK.rounds
