"""The command line shows what it promises, and says what to do when it cannot."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from typer.testing import CliRunner

import stableopt
from stableopt.cli.commands import app
from stableopt.loop.rules import ALGORITHMS
from stableopt.paper import demo as demonstration
from stableopt.paper.demo import compare, play
from stableopt.paper.verification.checks import Check
from stableopt.problems import PROBLEMS


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return CliRunner().invoke(app, ["demo", "--runs", "2", "--out", str(folder)]), folder


def test_demo_compares_all_algorithms_on_both_problems(demo):
    result, _ = demo
    assert result.exit_code == 0, result.output
    for name in ALGORITHMS:
        assert result.output.count(f"│ {name} ") == 2
    assert "peaks: mean ε-regret over 2 runs" in result.output
    assert "polynomial: mean ε-regret over 2 runs" in result.output


@pytest.mark.parametrize("name", ["figure-1.png", "execution.png", "polynomial.png"])
def test_demo_writes_pictures_that_are_not_blank(demo, name):
    image = matplotlib.image.imread(demo[1] / name)
    assert image.shape[0] > 300 and image.shape[1] > 1000
    assert len(np.unique(image[::4, ::4].reshape(-1, image.shape[-1]), axis=0)) > 100


def test_demo_refuses_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "file")])
    assert result.exit_code == 2
    assert "choose another with --out" in result.output
    assert (tmp_path / "file").read_text() == "not a folder"


def test_demo_refuses_zero_runs(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--runs", "0", "--out", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert not (tmp_path / "none").exists()


@pytest.fixture
def read_only(tmp_path, monkeypatch):
    """A folder with a file that nobody may write to: not even root, whom its permissions do not hold back."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    folder.chmod(0o555)
    if os.access(folder, os.W_OK):
        for name in ("mkdir", "write_bytes"):
            original = getattr(Path, name)

            def refuse(path, *args, original=original, **options):
                if folder in path.parents and not path.exists():
                    raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
                return original(path, *args, **options)

            monkeypatch.setattr(Path, name, refuse)
    yield folder
    folder.chmod(0o755)


@pytest.mark.parametrize("out", [".", "new/folder"])
def test_a_read_only_folder_ends_with_exit_code_2_and_nothing_written(read_only, monkeypatch, out):
    pytest.importorskip("joblib")
    monkeypatch.setattr(
        "stableopt.paper.experiments.engines.compute", lambda *_: pytest.fail("computed what cannot be kept")
    )
    size = ["--runs", "1", "--rounds", "1", "--jobs", "1"]
    result = CliRunner().invoke(app, ["reproduce", "illustration", *size, "--out", str(read_only / out)])
    assert result.exit_code == 2, result.output
    assert f"cannot write {read_only}" in result.stderr and "--out" in result.stderr
    assert [path.name for path in read_only.iterdir()] == ["mine"]


def test_version_is_the_package_s():
    result = subprocess.run(
        [sys.executable, "-m", "stableopt", "--version"], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["stableopt", stableopt.__version__]


@pytest.mark.parametrize("missing", ["typer", "rich", "matplotlib"])
def test_a_missing_package_is_named_together_with_the_remedy(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; from stableopt.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert missing in result.stderr and "pip install 'stableopt[cli]'" in result.stderr
    assert "Traceback" not in result.stderr


def test_algorithms_of_a_run_share_initial_points_and_noise():
    problem = PROBLEMS["peaks"]
    first = {name: next(iter(play(problem, name, rounds=1, initial=3, seed=4))) for name in ALGORITHMS}
    observed = {name: [(r.point_index, r.y) for r in step.before.rounds] for name, step in first.items()}
    assert len({tuple(rounds) for rounds in observed.values()}) == 1
    other = next(iter(play(problem, "StableOpt", rounds=1, initial=3, seed=5)))
    assert [(r.point_index, r.y) for r in other.before.rounds] != observed["StableOpt"]


def test_a_comparison_can_be_repeated_exactly():
    settings = {"rounds": 4, "initial": 3, "runs": 2, "played": lambda: None}
    once, again = (compare(PROBLEMS["peaks"], ["StableOpt", "Stable-GP-Random"], **settings) for _ in range(2))
    assert all(np.array_equal(once[name], again[name]) for name in once)


def test_a_comparison_that_is_interrupted_keeps_the_runs_that_were_finished():
    played = []

    def interrupt():
        played.append(None)
        if len(played) == 5:
            raise KeyboardInterrupt

    settings = {"rounds": 4, "initial": 3, "runs": 10}
    whole = compare(PROBLEMS["peaks"], ["StableOpt", "GP-UCB"], played=lambda: None, **settings)
    part = compare(PROBLEMS["peaks"], ["StableOpt", "GP-UCB"], played=interrupt, **settings)
    assert {name: curve.shape for name, curve in part.items()} == {"StableOpt": (2, 4), "GP-UCB": (2, 4)}
    assert all(np.array_equal(part[name], whole[name][:2]) for name in part)


def test_an_interrupted_demo_shows_what_it_has(tmp_path, monkeypatch):
    played = []

    def stop(*args, **kwargs):
        played.append(None)
        if len(played) == 12:
            raise KeyboardInterrupt
        return iter(play(*args, **kwargs))

    monkeypatch.setattr(demonstration, "play", stop)
    result = CliRunner().invoke(app, ["demo", "--runs", "3", "--out", str(tmp_path)])
    assert result.exit_code == 130
    assert "peaks: mean ε-regret over 2 runs" in result.output and "stopped early" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_demo_that_is_interrupted_while_it_draws_keeps_its_runs_and_the_figures_so_far(tmp_path, monkeypatch):
    def stop(*drawn, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(demonstration, "execution", stop)
    monkeypatch.setattr("stableopt.cli.commands._PLAYS", (("peaks", 3, 2, (1, 2)), ("polynomial", 3, 2, (1, 2))))
    result = CliRunner().invoke(app, ["demo", "--runs", "1", "--out", str(tmp_path)])
    assert result.exit_code == 130 and "stopped early" in result.stderr
    assert "peaks: mean ε-regret over 1 runs" in result.output and "polynomial: mean" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["figure-1.png"]
    assert f"wrote {tmp_path / 'figure-1.png'}" in result.output


@pytest.mark.parametrize("done", [0, 1, 2])
def test_an_interrupted_verification_shows_and_keeps_what_it_has(tmp_path, monkeypatch, done):
    steps = []

    def stop(case, *plan):
        steps.append(case.name)
        if len(steps) > done:
            raise KeyboardInterrupt
        return [Check(f"promise {len(steps)}", case.name, 10, 10, 0.9)]

    monkeypatch.setattr("stableopt.paper.verification.bounds.coverage", stop)
    monkeypatch.setattr("stableopt.paper.verification.certificates.check_certificates", stop)
    result = CliRunner().invoke(app, ["verify", "--out", str(tmp_path / "out")])
    assert result.exit_code == 130
    assert "stopped early" in result.stderr and f"({done} lines, " in result.stderr
    assert [f"promise {i}" in result.output for i in range(1, 5)] == [i <= done for i in range(1, 5)]
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == (["verify.csv", "verify.json"] if done else [])
    if done:
        assert json.loads((tmp_path / "out" / "verify.json").read_text())["stopped"] is True


STRANGE = ["o[/b]", "[red]x[/red]", "a:x:b", "[link=1]", "\\[b]", "温度🔥", "x" * 100]


@pytest.mark.parametrize("name", STRANGE)
def test_paths_are_printed_as_they_are(tmp_path, monkeypatch, name):
    monkeypatch.setattr("stableopt.cli.commands._PLAYS", (("peaks", 3, 2, (1, 2)), ("polynomial", 3, 2, (1, 2))))
    monkeypatch.setattr(demonstration, "draw", lambda *drawn: iter([drawn[-1] / "figure.png"]))
    result = CliRunner().invoke(app, ["demo", "--runs", "1", "--out", str(tmp_path / name)])
    assert result.exit_code == 0, result.output
    assert f"wrote {tmp_path / name / 'figure.png'}" in result.output


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("command", [["demo"], ["verify"], ["reproduce", "illustration", "--runs", "1"]], ids=" ".join)
def test_a_path_that_is_refused_is_printed_as_it_is(tmp_path, command, name):
    pytest.importorskip("joblib")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("not a folder")
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / name)])
    assert result.exit_code == 2 and str(tmp_path / name) in result.stderr, result.output
    assert (tmp_path / name).read_text() == "not a folder"


@pytest.mark.parametrize("name", STRANGE)
def test_names_that_are_refused_are_printed_as_they_are(name):
    for arguments in ([name], ["illustration", "--algorithms", name], ["lake", "--data", name]):
        result = CliRunner().invoke(app, ["reproduce", *arguments])
        assert result.exit_code == 2 and name.lower() in result.stderr.lower().replace("\n", ""), result.output
