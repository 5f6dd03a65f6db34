"""Promises of the runner: the same bits from any number of jobs, nothing computed twice, nothing half-written."""

import csv
import errno
import json
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
import typer
from matplotlib.figure import Figure
from scipy import stats
from typer.testing import CliRunner

pytest.importorskip("joblib")
pytest.importorskip("sklearn")

import stableopt.paper.match as playing
from stableopt.cli import reproduce as command
from stableopt.paper.experiments import EXPERIMENTS, experiment, store
from stableopt.paper.experiments.base import DataError, Experiment, Plan, Results, far_below, paired
from stableopt.paper.experiments.engines import Engine
from stableopt.paper.experiments.illustration import Illustration
from stableopt.paper.experiments.lake import Lake
from stableopt.paper.experiments.output import draw_curves, record, save
from stableopt.paper.experiments.runner import run
from stableopt.paper.experiments.synthetic import Synthetic

PAIR = ("StableOpt", "Stable-GP-Random")
PLAN = Plan(runs=4, rounds=4, seed=7, algorithms=PAIR)


class Tiny(Illustration):
    """The illustration with one small figure, since drawing takes its time."""

    def figures(self, results):
        figure = Figure(figsize=(3, 2))
        draw_curves(figure.subplots(), self, results)
        return {"illustration": figure}

    def pictures(self, results):
        return {"illustration.gif": b"GIF89a"}


def same(one: Results, other: Results) -> bool:
    return all(np.array_equal(one.stacked(name), other.stacked(name)) for name in one.plan.algorithms)


@pytest.fixture
def computed(monkeypatch):
    """The numbers of the runs that were really computed, in order."""
    numbers = []
    original = Illustration.replicate

    def counted(self, plan, number):
        numbers.append(number)
        return original(self, plan, number)

    monkeypatch.setattr(Illustration, "replicate", counted)
    return numbers


@pytest.fixture
def app():
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(command.reproduce)
    app.command()(lambda: None)
    return lambda *arguments: CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def test_results_are_the_same_bits_whatever_the_number_of_jobs(tmp_path):
    one, two = (run(Illustration(), PLAN, tmp_path / str(jobs), Engine(jobs=jobs)) for jobs in (1, 2))
    assert same(one, two)
    other = run(Illustration(), Plan(4, 4, 8, PAIR), tmp_path / "other", Engine(jobs=1))
    assert not same(one, other), "another seed gives other results"


def test_an_interrupted_run_continues_where_it_stopped(tmp_path, computed):
    whole = run(Illustration(), PLAN, tmp_path / "whole", Engine(jobs=1))
    computed.clear()
    finished = []

    def interrupt():
        finished.append(None)
        if len(finished) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Illustration(), PLAN, tmp_path, Engine(jobs=1), interrupt)
    continued = run(Illustration(), PLAN, tmp_path, Engine(jobs=1))
    assert computed == [0, 1, 2, 3]
    assert same(continued, whole)


def test_more_runs_continue_and_other_settings_begin_anew(tmp_path, computed):
    run(Illustration(), PLAN, tmp_path, Engine(jobs=1))
    run(Illustration(), Plan(6, 4, 7, PAIR), tmp_path, Engine(jobs=1))
    assert computed == [0, 1, 2, 3, 4, 5]
    for other in (Plan(1, 5, 7, PAIR), Plan(1, 4, 8, PAIR), Plan(1, 4, 7, ("StableOpt",))):
        computed.clear()
        run(Illustration(), other, tmp_path, Engine(jobs=1))
        assert computed == [0]


def test_replicates_of_other_code_are_not_taken(tmp_path, computed, monkeypatch):
    run(Illustration(), Plan(1, 4, 7, PAIR), tmp_path, Engine(jobs=1))
    monkeypatch.setattr(store, "_source", lambda: "another state of the code")
    run(Illustration(), Plan(1, 4, 7, PAIR), tmp_path, Engine(jobs=1))
    assert computed == [0, 0]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and then nothing", b"no archive at all"])
def test_a_damaged_replicate_is_computed_again(tmp_path, computed, content):
    whole = run(Illustration(), PLAN, tmp_path, Engine(jobs=1))
    next(tmp_path.rglob("00002.npz")).write_bytes(content)
    computed.clear()
    assert same(run(Illustration(), PLAN, tmp_path, Engine(jobs=1)), whole)
    assert computed == [2]


def test_algorithms_of_a_run_share_initial_points_and_noise(monkeypatch):
    told = {}

    class Spy(playing.Optimizer):
        def tell(self, point, y, *rest):
            told.setdefault(self.algorithm.name, []).append((point, y))
            super().tell(point, y, *rest)

    monkeypatch.setattr(playing, "Optimizer", Spy)
    synthetic = Synthetic()
    monkeypatch.setattr(Synthetic, "_model", lambda self, rng: self.problem.gp)
    synthetic.replicate(Plan(1, 3, 5, ("StableOpt", "GP-UCB")), 2)
    (first, *ours), (other, *theirs) = told["StableOpt"], told["GP-UCB"]
    assert np.array_equal(first[0], other[0]) and np.array_equal(first[1], other[1]) and len(first[0]) == 10
    f = synthetic.problem.f
    noise = [[y - f(np.array([query.point]))[0] for query, y in rounds] for rounds in (ours, theirs)]
    assert np.allclose(*noise, atol=1e-9) and np.std(noise[0]) > 0


def test_paired_intervals_agree_with_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 12))
    interval = stats.ttest_rel(a, b).confidence_interval(0.95)
    difference = paired(a - b)
    assert np.allclose([difference.low, difference.high], [interval.low, interval.high])
    assert difference.mean == pytest.approx(np.mean(a) - np.mean(b))
    assert paired(np.array([1.0])).high == np.inf


def test_far_below_is_half_of_every_other_and_beyond_chance():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=50)
    own, high = 1.0 + 0.1 * noise, 4.0 + 0.1 * noise
    assert far_below(own, []) and far_below(own, [high, high + 1])
    assert not far_below(own, [high, 1.9 + 0.1 * noise]), "less, but not by half"
    assert not far_below(own, [high, 4.0 + 40 * rng.normal(size=50)]), "half, but by chance"
    assert not far_below(high, [own])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    results = run(Tiny(), Plan(2, 3, 0, ("StableOpt", "GP-UCB")), out, Engine(jobs=1))
    claims = Tiny().claims(results)
    return results, claims, save(Tiny(), results, claims, 1.5, out), out


def test_the_json_has_exactly_the_promised_form(finished):
    results, claims, _, out = finished
    written = json.loads((out / "illustration.json").read_text())
    assert written == json.loads(json.dumps(record(Illustration(), results, claims, 1.5)))
    assert list(written) == ["experiment", "settings", "curves", "final", "claims", "seconds", "versions"]
    assert list(written["curves"]) == list(written["final"]) == ["StableOpt", "GP-UCB"]
    for name, curve in written["curves"].items():
        assert list(curve) == ["mean", "stderr"]
        assert curve["mean"][-1] == written["final"][name]
        assert np.allclose(curve["mean"], results.stacked(name).mean(axis=0))
        assert np.allclose(curve["stderr"], results.stacked(name).std(axis=0, ddof=1) / np.sqrt(2))
    assert all(list(claim) == ["text", "held", "evidence"] for claim in written["claims"])
    assert written["settings"]["runs"] == 2 and written["settings"]["seed"] == 0
    assert {"python", "stableopt", "numpy", "scipy"} <= set(written["versions"])


def test_the_csv_has_the_curves_and_their_paired_differences(finished):
    results, _, _, out = finished
    rows = list(csv.DictReader((out / "illustration.csv").read_text().splitlines()))
    assert len(rows) == 2 * 3
    last = rows[-1]
    assert (last["algorithm"], last["round"]) == ("GP-UCB", "3")
    difference = results.final("GP-UCB") - results.final("StableOpt")
    assert float(last["paired_difference"]) == pytest.approx(difference.mean())


def test_files_of_the_same_results_are_the_same_bytes(finished, tmp_path):
    results, claims, files, _ = finished
    again = save(Tiny(), results, claims, 1.5, tmp_path)
    assert [path.name for path in files] == [path.name for path in again]
    assert {path.suffix for path in files} == {".json", ".csv", ".png", ".pdf", ".gif"}
    assert all(one.read_bytes() == other.read_bytes() for one, other in zip(files, again, strict=True))


def test_of_several_files_all_are_written_or_none(tmp_path, monkeypatch):
    store.write({tmp_path / "a": b"old"})
    synced = []

    def full(descriptor):
        synced.append(descriptor)
        if len(synced) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        store.write({tmp_path / "a": b"new", tmp_path / "b": b"new"})
    assert [path.name for path in tmp_path.iterdir()] == ["a"] and (tmp_path / "a").read_bytes() == b"old"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_says_what_it_is(name):
    kind = experiment(name)
    assert issubclass(kind, Experiment) and kind.name == name
    assert set(kind.sizes) == {"quick", "default", "full"}
    assert kind.title and kind.paper and "StableOpt" in kind.algorithms


def test_the_command_writes_and_judges(app, tmp_path):
    size = ["--runs", 2, "--rounds", 20, "--jobs", 1]
    result = app("illustration", *size, "--algorithms", "gp-ucb,STABLEOPT", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "│ StableOpt " in result.output and "│ GP-UCB " in result.output
    assert result.output.count("Held: ") == 2, "both claims are certain on this function"
    written = json.loads((tmp_path / "illustration.json").read_text())
    assert list(written["final"]) == ["StableOpt", "GP-UCB"]
    assert all(claim["held"] for claim in written["claims"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["syntetic"], "did you mean 'synthetic'"),
        (["synthetic", "--runs", 0], "--runs"),
        (["synthetic", "--rounds", -1], "--rounds"),
        (["synthetic", "--jobs", -1], "--jobs"),
        (["synthetic", "--algorithms", "StableOpt,EI"], "expected --algorithms from StableOpt"),
        (["synthetic", "--algorithms", ","], "expected --algorithms"),
        (["synthetic", "--quick", "--full"], "choose one"),
        (["synthetic", "--data", "file.csv"], "expected --data only with lake or movies"),
        (["all", "--data", "file.csv"], "with the name of one experiment"),
        (["synthetic", "--backend", "spark"], "local, dask, ray"),
        (["synthetic", "--scheduler", "tcp://a:1"], "--backend dask"),
        (["synthetic", "--address", "a:1"], "--backend ray"),
        (["illustration", "--backend", "dask"], "the address of the scheduler"),
        (["lake", "--data", "missing.csv"], "cannot read missing.csv"),
        (["movies", "--data", "missing.zip"], "cannot read missing.zip"),
    ],
)
def test_bad_input_ends_with_exit_code_2_and_nothing_written(app, tmp_path, arguments, message):
    result = app(*arguments, "--out", tmp_path / "new" / "folder")
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.stderr.split()) and result.stdout.strip() == ""
    assert not (tmp_path / "new").exists()


def test_a_malformed_file_of_ratings_is_located_by_the_command(app, tmp_path):
    (tmp_path / "bad.data").write_text("1\t2\t3\t4\n1\t2\tx\t4\n")
    result = app("movies", "--data", tmp_path / "bad.data", "--out", tmp_path / "out")
    assert result.exit_code == 2 and "bad.data, line 2, column 3: expected a rating" in result.stderr
    assert not (tmp_path / "out").exists()


def test_an_output_folder_that_is_a_file_is_refused(app, tmp_path):
    (tmp_path / "file").write_text("mine")
    result = app("illustration", "--runs", 1, "--rounds", 1, "--out", tmp_path / "file")
    assert result.exit_code == 2 and "--out" in result.stderr
    assert (tmp_path / "file").read_text() == "mine"


def test_a_full_disk_ends_with_exit_code_2_and_nothing_half_written(app, tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", full)
    result = app("illustration", "--runs", 1, "--rounds", 1, "--jobs", 1, "--out", tmp_path / "out")
    assert result.exit_code == 2 and "No space left on device" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_disk_that_fills_up_at_the_end_keeps_finished_runs_and_nothing_half_written(
    app, tmp_path, monkeypatch, computed
):
    monkeypatch.setattr(command, "experiment", {"illustration": Tiny}.get)
    arguments = ["illustration", "--runs", 2, "--rounds", 1, "--jobs", 1, "--out", tmp_path / "out"]
    synced = []

    def full(descriptor):
        synced.append(descriptor)
        if len(synced) == 5:  # settings, two runs, one of the results, and then
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(store.os, "fsync", full)
        result = app(*arguments)
    assert result.exit_code == 2 and "No space left on device" in result.stderr
    kept = sorted(path.name for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert kept == ["00000.npz", "00001.npz", "settings.json"]
    assert app(*arguments).exit_code == 0 and computed == [0, 1], "with room, the same command continues"


def test_an_interrupted_command_says_how_to_continue(app, tmp_path, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("stableopt.paper.experiments.engines.compute", stop)
    result = app("illustration", "--runs", 3, "--jobs", 1, "--out", tmp_path)
    assert result.exit_code == 130
    assert "0 of 3 runs are finished" in result.stderr


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.links, self.tags = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for key, value in attributes if key in ("src", "href")]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_all_writes_one_page_and_leaves_out_what_has_no_data(app, tmp_path, monkeypatch):
    kinds = {"illustration": Tiny, "lake": Lake}
    monkeypatch.setattr(command, "EXPERIMENTS", kinds)
    monkeypatch.setattr(command, "experiment", kinds.get)

    def missing(plan):
        raise DataError("no transect: <get one>")

    monkeypatch.setattr(Lake, "load", missing)
    result = app("all", "--runs", 2, "--rounds", 2, "--jobs", 1, "--algorithms", "StableOpt,GP-UCB", "--out", tmp_path)
    assert result.exit_code == 2 and "left out lake" in result.stdout and "left out lake" in result.stderr
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.open == [] and "script" not in page.tags
    assert all(link.startswith(("#", "data:image/")) for link in page.links), "nothing is loaded from elsewhere"
    assert sum(link.startswith("data:image/gif") for link in page.links) == 1
    assert 'name="viewport"' in text and "width=device-width" in text
    assert "wider” maximum" in text and "no transect: &lt;get one&gt;" in text


def test_all_says_which_experiments_have_none_of_the_algorithms(app, tmp_path, monkeypatch):
    class Other(Tiny):
        name, algorithms = "other", ("StableOpt", "Only <here>")

    kinds = {"illustration": Tiny, "other": Other}
    monkeypatch.setattr(command, "EXPERIMENTS", kinds)
    monkeypatch.setattr(command, "experiment", kinds.get)
    size = ["--runs", 1, "--rounds", 1, "--jobs", 1, "--out", tmp_path]
    result = app("all", "--algorithms", "gp-ucb", *size)
    assert result.exit_code == 0, "it was asked for"
    assert "left out other: it compares StableOpt, Only <here>, not GP-UCB" in result.stdout
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<b>Left out:</b> other: it compares StableOpt, Only &lt;here&gt;, not GP-UCB" in text
    assert 'id="illustration"' in text and 'id="other"' not in text
    assert "--seed 0 --algorithms GP-UCB</code>" in text, "the command that makes the same"


def test_importing_the_command_loads_no_heavy_package():
    heavy = "{'joblib', 'sklearn', 'Box2D', 'matplotlib'}"
    code = f"import sys, stableopt.cli.reproduce; print(*sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == ""
