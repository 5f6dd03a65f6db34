"""Every experiment end to end in a tiny setting, with the claims that are certain at that size."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("joblib")
pytest.importorskip("sklearn")

from typer.testing import CliRunner

from stableopt.cli.commands import app
from stableopt.paper.experiments import experiment, movies, robot, tuning
from stableopt.paper.experiments.base import Plan, Results
from stableopt.paper.experiments.engines import Engine
from stableopt.paper.experiments.output import save
from stableopt.paper.experiments.ratings import Ratings
from stableopt.paper.experiments.runner import run

# Inputs and outputs of the original simulation without its noise: rx, ry, rt, and where the object ends.
PUSHES = [
    (3.0, 4.0, 10.0, -0.298308, -0.397743),
    (-2.0, 1.5, 25.0, 5.444731, -4.083559),
    (5.0, 5.0, 30.0, -3.678385, -3.678385),
    (-5.0, -5.0, 1.0, 0.000000, 0.000000),
    (0.5, 0.2, 5.0, -1.694071, -0.677628),
    (4.0, -3.0, 15.0, -1.627541, 1.220656),
    (1.0, 0.0, 1.0, -0.376843, 0.000000),
    (1.0, 0.0, 30.0, -9.263776, 0.000000),
    (-0.1, 0.05, 30.0, 8.629829, -4.314915),
    (2.5, 0.0, 20.0, -5.278140, 0.000000),
    (-4.9, 0.01, 28.0, 6.072578, -0.012393),
    (0.01, -4.9, 28.0, -0.012393, 6.072578),
    (1.3, 0.0, 5.0, -1.494780, 0.000000),
    (1.31, 0.0, 5.0, -1.492615, 0.000000),
    (-1.2, -0.4, 2.55, 0.703875, 0.234625),
    (3.3, -4.7, 29.99, -3.489888, 4.970455),
    (-3.1234, 2.7182, 17.77, 2.599830, -2.262552),
    (4.4, 1.1, 8.05, -0.190020, -0.047505),
    (-0.9, -0.9, 12.34, 2.642650, 2.642650),
    (2.0, -2.0, 3.0, -0.021377, 0.021377),
    (-2.2, -3.3, 21.5, 2.622834, 3.934251),
    (0.7, 1.9, 14.2, -1.326131, -3.599492),
    (-4.0, 0.5, 9.9, 1.135023, -0.141878),
    (1.7, -0.6, 6.6, -1.571126, 0.554515),
]


def perform(name, tmp_path, *, runs, rounds, algorithms=None):
    """Run an experiment with two algorithms or more, check its files, and return results and claims."""
    kind = experiment(name)
    plan = Plan(runs, rounds, 0, tuple(algorithms or kind.algorithms[:2]))
    loaded = kind.load(plan)
    results = run(loaded, plan, tmp_path, Engine(jobs=1))
    claims = loaded.claims(results)
    files = save(loaded, results, claims, 0.0, tmp_path)
    written = json.loads((tmp_path / f"{name}.json").read_text())
    assert written["experiment"] == name and list(written["curves"]) == list(plan.algorithms)
    assert all(len(curve["mean"]) == rounds for curve in written["curves"].values())
    assert {f"{name}.png", f"{name}.pdf", f"{name}.csv"} <= {path.name for path in files}
    assert all(np.all(np.isfinite(curve)) for curve in results.curves.values())
    return results, {claim.text: claim for claim in claims}


def test_synthetic(tmp_path):
    results, claims = perform("synthetic", tmp_path, runs=1, rounds=2, algorithms=["StableOpt", "GP-UCB"])
    assert len(claims) == 2 and np.all(results.stacked("StableOpt") >= 0)


def test_the_command_writes_the_same_bytes_whatever_the_number_of_jobs(tmp_path):
    size = ["--runs", "2", "--rounds", "2", "--algorithms", "StableOpt,Stable-GP-Random"]
    written = []
    for jobs in (1, 2):
        where = ["--jobs", str(jobs), "--out", str(tmp_path / str(jobs))]
        result = CliRunner().invoke(app, ["reproduce", "synthetic", *size, *where])
        assert result.exit_code == 0, result.output
        files = {p.relative_to(tmp_path / str(jobs)): p for p in (tmp_path / str(jobs)).rglob("*") if p.is_file()}
        contents = {str(name): path.read_bytes() for name, path in files.items()}
        record = json.loads(contents.pop("synthetic.json"))
        assert record.pop("seconds") > 0, "the only thing that differs"
        written.append((record, contents))
    assert written[0] == written[1]
    assert sorted(Path(name).suffix for name in written[0][1]) == [".csv", ".json", ".npz", ".npz", ".pdf", ".png"]


def test_the_claims_about_the_polynomial_follow_the_numbers():
    synthetic = experiment("synthetic")()

    def judged(stable, other, reported):
        replicates = [
            {
                "StableOpt": {"curve": np.array([stable + 0.01 * i]), "reported": np.zeros(2)},
                "GP-UCB": {"curve": np.array([other + 0.02 * i]), "reported": np.array(reported)},
            }
            for i in range(4)
        ]
        return [c.held for c in synthetic.claims(Results(Plan(4, 1, 0, ("StableOpt", "GP-UCB")), replicates))]

    assert judged(0.0, 18.0, [2.8, 4.0]) == [True, True]
    assert judged(0.0, 18.0, [0.0, 0.3]) == [True, False]
    assert judged(18.0, 0.0, [2.8, 4.0]) == [False, True]
    assert judged(10.0, 18.0, [2.8, 4.0]) == [False, True], "below, but not far"


def test_lake(tmp_path):
    results, claims = perform("lake", tmp_path, runs=1, rounds=4)
    assert claims["The stable optimum differs from the maximiser"].held
    assert np.all(results.stacked("StableOpt") >= -1e-12)


def test_lower_bound(tmp_path):
    pytest.importorskip("stableopt.theory")
    results, claims = perform("lower-bound", tmp_path, runs=8, rounds=3)
    assert set(np.unique(results.stacked("GP-UCB", "failed"))) <= {0.0, 1.0}
    assert all(claim.held for claim in claims.values()), "three rounds are far too few for any algorithm"


def test_movies(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    truth = np.clip(rng.gamma(4.0, 0.25, (160, 4)) @ rng.gamma(4.0, 0.25, (200, 4)).T, 1, 5)
    seen = np.nonzero(rng.random(truth.shape) < 0.3)
    known = Ratings(seen[1], seen[0], np.rint(truth[seen]))
    monkeypatch.setattr(movies, "load_ratings", lambda path: known)
    results, claims = perform("movies", tmp_path, runs=3, rounds=30, algorithms=movies.Movies.algorithms)
    assert results.final("StableOpt").mean() <= results.final("GP-UCB").mean()
    assert list(claims) == ["Only StableOpt finds the optimal group"]
    with pytest.raises(movies.DataError, match="at most 180 runs"):
        movies.Movies.load(Plan(181, 1, 0, ("StableOpt",)))


def test_tuning(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "_TASKS", (("SVM", "digits"),))
    results, claims = perform("tuning", tmp_path, runs=2, rounds=3, algorithms=tuning.Tuning.algorithms)
    assert len(claims) == 2
    for name in results.plan.algorithms:
        assert np.all((results.stacked(name) > 5) & (results.stacked(name) <= 100))


def test_a_value_of_tuning_does_not_depend_on_what_was_evaluated_before():
    first, second = (tuning.Trial("SVM", "breast cancer", (0, 1, 2)) for _ in range(2))
    value = first.validate(220, 5), first.test(220)
    second.test(10)
    second.validate(11, 5)
    assert (second.validate(220, 5), second.test(220)) == value
    assert tuning.Trial("SVM", "breast cancer", (0, 2, 2)).test(220) != value[1]


@pytest.mark.parametrize(("rx", "ry", "rt", "x", "y"), PUSHES)
def test_the_pushing_simulator_agrees_with_the_original(rx, ry, rt, x, y):
    pytest.importorskip("Box2D")
    assert np.allclose(robot.push(rx, ry, rt), [x, y], atol=1e-3)


def test_the_second_target_is_uniform_in_the_l1_ball():
    rng = np.random.default_rng(0)
    drawn = np.array([robot.goals(rng) for _ in range(4000)])
    assert np.abs(drawn[:, 0]).max() <= 5
    offsets = drawn[:, 1] - drawn[:, 0]
    lengths = np.abs(offsets).sum(axis=1)
    assert lengths.max() <= 2
    # Uniform: the share within r is (r/2)², and all quadrants are alike.
    assert np.mean(lengths <= 1.0) == pytest.approx(0.25, abs=0.03)
    quadrants = np.bincount((offsets[:, 0] > 0) + 2 * (offsets[:, 1] > 0), minlength=4) / len(offsets)
    assert np.allclose(quadrants, 0.25, atol=0.03)


def test_no_push_has_a_robust_value_above_the_limit():
    pytest.importorskip("Box2D")
    rng = np.random.default_rng(1)
    for _ in range(20):
        theta, r = robot.goals(rng), rng.uniform(robot.LOWER, robot.UPPER)
        robust = robot.robust(r, theta)
        assert robust <= 5 - np.linalg.norm(theta[0] - theta[1]) / 2 + 1e-9
        assert robust == pytest.approx(min(robot.value(np.append(r, target)) for target in theta))


def test_robot(tmp_path):
    """The command as it is: physics, hyperparameters that are sampled, and a search of the whole box."""
    pytest.importorskip("Box2D")
    size = ["--runs", "1", "--rounds", "2", "--algorithms", "StableOpt,GP-UCB", "--jobs", "1"]
    result = CliRunner().invoke(app, ["reproduce", "robot", *size, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert {path.name for path in tmp_path.glob("robot.*")} == {
        f"robot.{kind}" for kind in ("json", "csv", "png", "pdf")
    }
    written = json.loads((tmp_path / "robot.json").read_text())
    assert list(written) == ["experiment", "settings", "curves", "final", "claims", "seconds", "versions"]
    assert [claim["text"] for claim in written["claims"]] == ["StableOpt's robust objective ends highest"]
    with np.load(next(tmp_path.rglob("00000.npz"))) as kept:
        for name, curve in written["curves"].items():
            theta, reported = kept[f"{name}|targets"], kept[f"{name}|reported"]
            assert np.all(reported >= robot.LOWER) and np.all(reported <= robot.UPPER)
            assert curve["mean"][-1] == written["final"][name] == pytest.approx(robot.robust(reported, theta))
            assert len(curve["mean"]) == 2 and curve["stderr"] == [0.0, 0.0] and np.all(np.isfinite(curve["mean"]))
            assert max(curve["mean"]) <= 5 - np.linalg.norm(theta[0] - theta[1]) / 2
        assert np.array_equal(kept["StableOpt|targets"], kept["GP-UCB|targets"])


def test_the_robot_s_optimiser_searches_the_whole_box():
    theta = robot.goals(np.random.default_rng(0))
    optimizer = robot.build_optimizer(theta, "StableOpt", 0)
    initial = np.column_stack([np.random.default_rng(1).uniform(robot.LOWER, robot.UPPER, (2, 3)), theta])
    optimizer.tell(initial, [1.0, 2.0])
    query = optimizer.ask()
    point = np.asarray(query.point, dtype=float)
    assert np.all(point[:3] >= robot.LOWER) and np.all(point[:3] <= robot.UPPER)
    assert any(np.allclose(point[3:], target) for target in theta)
