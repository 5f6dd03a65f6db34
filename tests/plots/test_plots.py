"""Promises of the pictures: what is drawn is what the state says, on a list and in a space alike."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

import stableopt as so
from stableopt import plots
from stableopt.loop.play import play
from stableopt.plots.beliefs import _on_log_scale

DECISION = r"$\tilde{x}_t$ and what it can turn into"
SAMPLED = "sampled point, where lcb is smallest"
GP = so.GP(so.SE(0.3), noise=0.05)
LINE = np.linspace(0.0, 2.0, 41)
# domain, uncertainty set, the label of the axis, its scale
SETTINGS = {
    "list": (so.Grid.linspace(0.0, 2.0, 41), so.Ball(0.2), "$x$", "linear"),
    "scattered list": (so.Points(LINE[::-1]), so.Ball(0.2), "$x$", "linear"),
    "space without names": (so.Space([(0.0, 2.0)]), so.Ball(0.2), "$x$", "linear"),
    "space with a name": (so.Space({"dose": (0.0, 2.0)}), so.Ball(0.2), "dose", "linear"),
    "log scale": (so.Space({"rate": so.Float(0.1, 2.0, log=True)}), so.Relative(0.3), "rate", "log"),
    "whole numbers on a log scale": (so.Space({"n": so.Integer(1, 64, log=True)}), so.Ball(2.0), "n", "log"),
}


def x_of(point):
    return float(np.ravel(list(point.values()) if isinstance(point, dict) else point)[0])


def played(domain, uncertainty, rounds=5):
    optimizer = so.Optimizer(domain, uncertainty, GP, seed=2)
    steps = list(play(optimizer, lambda query: float(np.sin(3 * x_of(query.point))), rounds))
    assert len(steps) == rounds
    return optimizer


def drawn(optimizer, **options):
    axes = Figure().subplots()
    assert plots.belief(optimizer.state, ax=axes, **options) is axes
    return axes, {line.get_label(): line.get_xydata() for line in axes.lines}


@pytest.mark.parametrize(("domain", "uncertainty", "label", "scale"), SETTINGS.values(), ids=SETTINGS)
def test_a_belief_is_drawn_in_every_setting(domain, uncertainty, label, scale):
    optimizer = played(domain, uncertainty)
    query, report = optimizer.ask(), optimizer.report()
    axes, lines = drawn(optimizer, query=query, report=report)
    state, translation = optimizer.state, optimizer.state.setting.translation
    assert (axes.get_xlabel(), axes.get_xscale()) == (label, scale)
    # The mean, from left to right, is the posterior's at the points that it is drawn at.
    mean = lines["posterior mean"]
    assert len(mean) >= 40 and np.all(np.diff(mean[:, 0]) >= 0)
    assert sorted(x_of(translation.point(i)) for i in state.candidates()) == mean[:, 0].tolist()
    some = mean[:: len(mean) // 10]
    values = [{next(iter(translation.names)): x} if translation.names else [x] for x in some[:, 0].tolist()]
    points = [translation.point_index(value) for value in values]
    assert state.moments(points)[0] == pytest.approx(some[:, 1], abs=1e-6)
    band = axes.collections[0].get_paths()[0].vertices
    lcb, ucb = state.bounds(state.candidates())
    assert [band[:, 1].min(), band[:, 1].max()] == pytest.approx([lcb.min(), ucb.max()])
    # The observations, the decision, the sampled point and the report are where they are.
    assert lines["observations"].tolist() == [[x_of(r.point), r.y] for r in state.rounds]
    assert lines[DECISION][:, 0] == pytest.approx([x_of(query.decision)] * 2)
    assert lines[SAMPLED].tolist() == [[x_of(query.point), state.bounds([query.point_index])[0][0]]]
    assert lines["reported decision"][0, 0] == pytest.approx(x_of(report.decision))


@pytest.mark.parametrize("name", ["list", "space with a name"])
def test_what_a_decision_can_turn_into_is_shaded(name):
    optimizer = played(*SETTINGS[name][:2])
    query = optimizer.ask()
    axes, _ = drawn(optimizer, query=query)
    (window,) = axes.patches
    left, right = window.get_extents().transformed(axes.transData.inverted()).intervalx
    x = x_of(query.decision)
    assert [left, right] == pytest.approx([max(0.0, x - 0.2), min(2.0, x + 0.2)], abs=1e-9)


def test_without_a_round_only_what_is_known_is_drawn():
    _, lines = drawn(played(*SETTINGS["space with a name"][:2]))
    assert set(lines) == {"posterior mean", "observations"}
    _, lines = drawn(played(*SETTINGS["list"][:2]), f=lambda X: np.sin(3 * X[:, 0]))
    assert lines["$f(x)$"] == pytest.approx(np.column_stack([LINE, np.sin(3 * LINE)]))


def test_a_group_is_drawn_where_its_members_are():
    groups = so.Groups.from_labels([i % 4 for i in range(41)])
    optimizer = played(so.Points(LINE), groups)
    query, report = optimizer.ask(), optimizer.report()
    _, lines = drawn(optimizer, query=query, report=report)
    for label, decision in ((DECISION, query.decision), ("reported decision", report.decision)):
        assert np.isin(lines[label][:, 0], LINE[decision::4]).all(), "its name, a number, is no place"


@pytest.mark.parametrize(
    ("domain", "uncertainty"),
    [
        (so.Space({"x": (0, 1), "y": (0, 1)}), so.Ball(0.1)),
        (so.Grid.linspace([0.0, 0.0], [1.0, 1.0], 5), so.Ball(0.3)),
        (so.Grid.linspace(0.0, 1.0, 5), so.Parameters([0.0, 1.0])),
        (so.Space({"colour": ["red", "green"]}), so.Parameters([0.0, 1.0])),
    ],
    ids=["space", "grid", "parameter", "category"],
)
def test_points_that_are_no_single_number_are_refused_with_what_to_do(domain, uncertainty):
    optimizer = so.Optimizer(domain, uncertainty, so.GP(so.SE(0.3), noise=0.05))
    with pytest.raises(ValueError, match=r"expected points of one number, got .*draw a slice .*state\.bounds"):
        plots.belief(optimizer, ax=Figure().subplots())


def test_an_axis_is_logarithmic_only_where_the_setting_is():
    x = np.geomspace(1.0, 100.0, 20)
    assert _on_log_scale(np.linspace(0, 1, 20), x)
    assert not _on_log_scale((x - 1) / 99, x), "a list is as it is, however its points are spread"
    assert not _on_log_scale(np.linspace(0, 1, 20), np.linspace(1, 5, 20))
    assert not _on_log_scale(np.linspace(0, 1, 20), np.linspace(-1, 5, 20))
    assert not _on_log_scale(np.zeros(1), np.ones(1))


def test_a_shared_legend_takes_the_place_of_all_others():
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    optimizer = played(*SETTINGS["list"][:2])
    plots.belief(optimizer, ax=left)
    plots.belief(optimizer, ax=right, query=optimizer.ask())
    plots.share_legend(figure)
    assert left.get_legend() is None and right.get_legend() is None
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["between lcb and ucb", "posterior mean", "observations", DECISION, SAMPLED]


def test_a_missing_matplotlib_is_named_together_with_the_remedy():
    code = "import sys; sys.modules['matplotlib'] = None; import stableopt.plots"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1 and "pip install 'stableopt[plots]'" in result.stderr
