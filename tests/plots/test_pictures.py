"""Promises of the pictures of an answer: what is drawn is what state and solver say, for every kind of problem."""

import warnings
from functools import cache

import numpy as np
import pytest
from helpers.cases import extra

pytest.importorskip("matplotlib")

import matplotlib.pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import stableopt as so
from stableopt import plots
from stableopt.campaign.results import Answer
from stableopt.loop.play import play

LONG = "temperature at the outlet of the second reactor [°C]"
EXPECTED, GUARANTEED, POSSIBLE = "expected value", "guaranteed worst case", "what no decision can surpass"
TURNED, WORST, NOMINAL = "what it can turn into", "where it may be worst", "best if nothing goes wrong"
BREAKS = "breaks a limit"
FIGURES, AXES = ["landscape", "slices", "calibration", "health"], ["hurts", "contenders", "progress", "profile"]
RNG = np.random.default_rng(3)
ROWS = RNG.random((12, 2))


def hill(X):
    X = np.atleast_2d(np.asarray(X, dtype=float))
    return -((X - 0.55) ** 2).sum(axis=1) + 0.3 * np.sin(7 * X[:, 0])


def assessed(n, dim, tolerance=0.1, **options):
    X = np.random.default_rng(dim).random((n, dim))
    return so.assess((X, hill(X)), {f"p{i}": (0, 1) for i in range(dim)}, tolerance, **options)


def mixed():
    ranges = {
        LONG: (20, 90),
        "blades": so.Integer(1, 6),
        "catalyst": ["platinum", "palladium on carbon", "none"],
        "rate": so.Float(0.001, 1, log=True),
        "n": so.Integer(1, 300),
        "price in $ per $": (0, 1),
    }
    rng, words = np.random.default_rng(5), ranges["catalyst"]
    drawn = [
        (20 + 70 * u, 1 + int(6 * v), words[int(3 * w)], 10 ** (-3 * u), 1 + int(99 * v), w)
        for u, v, w in rng.random((8, 3))
    ]
    rows = [dict(zip(ranges, values, strict=True)) for values in drawn]
    table = [row | {"yield": row["blades"] - (row["catalyst"] == "none") - row[LONG] / 50} for row in rows]
    tolerance = {LONG: 3.0, "blades": 1, "rate": "20%", "n": 20}
    return so.assess(table, ranges, tolerance, value="yield")


def listed(domain, uncertainty, columns, rounds=6):
    optimizer = so.Optimizer(domain, uncertainty, so.GP(so.SE([0.3] * columns), noise=0.05), seed=2)
    list(play(optimizer, lambda query: float(hill(query.point)[0]), rounds))
    return optimizer


def failing():
    def f(point):
        if point["a"] > 0.6:
            raise RuntimeError("the pump was off")
        return float(hill([point["a"], point["b"]])[0])

    return so.maximize(f, {"a": (0, 1), "b": (0, 1)}, 0.1, evaluations=8)


def in_wind():
    X = np.random.default_rng(1).random((9, 3)) * [1, 12, 1]
    y = 1 - (X[:, 0] - 0.3 - 0.02 * X[:, 1]) ** 2 - 0.1 * X[:, 2] * X[:, 0]
    environment = {"wind": (0, 12), "load": (0, 1)}
    return so.assess((X, y), {"angle": (0, 1)}, {"angle": 0.1}, environment=environment)


SOURCES = {
    "one": lambda: assessed(6, 1),
    "two": lambda: assessed(12, 2),
    "six, with a category": mixed,
    "fifteen": lambda: assessed(8, 15),
    "two observations": lambda: assessed(2, 2),
    "one observation": lambda: assessed(1, 1),
    "all values equal": lambda: so.assess((ROWS[:4], np.ones(4)), {"a": (0, 1), "b": (0, 1)}, 0.1),
    "minimize": lambda: assessed(12, 2, minimize=True),
    "failures": failing,
    "environment": in_wind,
    "without names": lambda: so.assess((ROWS[:6], hill(ROWS[:6])), [(0, 1), (0, 1)], 0.1),
    "grid": lambda: listed(so.Grid.linspace([0, 0], [1, 1], [15, 9]), so.Ball(0.2), 2),
    "line": lambda: listed(so.Grid.linspace(0, 1, 31), so.Ball(0.1), 1),
    "scattered": lambda: listed(so.Points(ROWS), so.Ball(0.6), 2),
    "groups": lambda: listed(so.Points(ROWS), so.Groups({"left": range(5), "right": range(5, 12)}), 2),
    "parameters": lambda: listed(so.Grid.linspace(0, 1, 21), so.Ball(0.1) * so.Parameters([[0.0], [0.4], [1.0]]), 2),
    "estimate": lambda: so.assess(
        (ROWS, hill(ROWS)),
        {"x": (0, 1)},
        so.Estimate(so.Space({"theta": (0, 1)}), {"theta": 0.5}, so.Ball(0.1)),
    ),
}

ALIKE = {"two observations", "fifteen", "minimize", "without names", "estimate"}  # to others, in what pictures show


@cache
def source(name):
    return SOURCES[name]()


@pytest.fixture(autouse=True, scope="module")
def _quick_searches():
    """Pictures are compared with what the same solver says, so it need not be a thorough one, nor the picture fine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stableopt.plots.landscapes._SIDE", 9)
        patch.setattr("stableopt.plots.sections._ACROSS", 21)
        patch.setattr("stableopt.loop.space.usual_budget", lambda dim, **_: 500)
        yield


@pytest.fixture(autouse=True)
def _no_figures_stay():
    yield
    plt.close("all")


def lines(axes):
    return {line.get_label(): np.asarray(line.get_xydata(), dtype=float) for line in axes.lines}


def report_of(answer):
    return answer.report() if callable(answer.report) else answer.report


# ------------------------------------------------------------------------------------------------------ all pictures


@pytest.mark.parametrize("name", [extra(name) if name in ALIKE else name for name in SOURCES])
def test_every_picture_is_drawn_for_every_problem(name):
    answer = source(name)
    for what in [*FIGURES, "contenders", *(["hurts"] if name != "groups" else [])]:
        drawn = getattr(plots, what)(answer)
        figure = drawn if what in FIGURES else drawn.figure
        figure.draw_without_rendering()
        assert figure.axes and (figure.legends or figure.axes[0].get_legend()), what


@pytest.mark.parametrize(("style", "ink"), [extra("default", "black"), ("dark_background", "white")])
@pytest.mark.parametrize("what", [*FIGURES, *AXES[:3]])
def test_pictures_follow_the_page(what, style, ink):
    """What is drawn in ink, or written, is light on a dark page; nothing else depends on the page."""
    with plt.style.context(style):
        drawn = getattr(plots, what)(source("line"))
        figure = drawn if what in FIGURES else drawn.figure
        figure.draw_without_rendering()
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    colours = {to_hex(text.get_color()) for legend in legends if legend for text in legend.get_texts()}
    assert colours == {to_hex(ink)}
    other = to_hex({"black": "white", "white": "black"}[ink])
    strokes = [line for axes in figure.axes for line in axes.lines]
    assert strokes and all(to_hex(line.get_color()) != other for line in strokes)


def test_pictures_of_a_campaign_are_those_of_its_result_with_its_words():
    campaign = so.Campaign({"x": (0, 1)}, 0.1, value="yield [%]", minimize=True)
    numbers = campaign.add({"x": [0.1, 0.5, 0.9], "yield [%]": [1.0, 0.2, 0.8]})
    campaign.tell(campaign.ask(), failed="the pump was off")
    campaign.tell({"x": 0.3}, 0.4)
    campaign.correct(numbers[1], 0.3)
    for what in AXES[:2]:
        one, other = getattr(plots, what)(campaign.result), getattr(plots, what)(campaign)
        drawn = [[line.get_xydata().tolist() for line in axes.lines] for axes in (one, other)]
        assert drawn[0] == drawn[1]
    axes = plots.progress(campaign, 2)
    assert axes.get_ylabel() == "yield [%]"
    assert lines(axes)["corrected trials"].tolist() == [[2.0, 0.03]], "it is the second value"
    assert lines(axes)["failed trials"].tolist() == [[3.5, 0.03]], "it was before the fourth"
    assert plots.slices(campaign).axes[0].get_ylabel() == "yield [%]"
    assert plots.slices(campaign, label="loss").axes[0].get_ylabel() == "loss"


@pytest.mark.parametrize("what", [*FIGURES, *AXES])
def test_what_cannot_be_drawn_is_refused_in_words(what):
    draw = getattr(plots, what)
    with pytest.raises(
        TypeError, match="expected a result, an assessment, a campaign or an optimiser to draw, got int"
    ):
        draw(3)
    with pytest.raises(ValueError, match="expected at least one value to draw, got none"):
        draw(so.Optimizer(so.Space({"x": (0, 1)}), so.Ball(0.1)))
    wrong = {"figure": 3} if what in FIGURES else {"ax": 3}
    with pytest.raises(TypeError, match=r"expected .*matplotlib (figure|axes).* got (figure|ax)=3"):
        draw(source("line"), **wrong)
    assert plt.get_fignums() == [], "nothing was begun"


def test_pictures_are_drawn_where_they_should_be():
    figure = Figure(layout="constrained")
    left, right = figure.subfigures(1, 2)
    assert plots.slices(source("line"), figure=left) is left and plots.landscape(source("line"), figure=right) is right
    axes = Figure().subplots()
    assert plots.hurts(source("line"), ax=axes) is axes and plots.contenders(source("line"), ax=axes) is axes
    assert plt.get_fignums() == []
    assert plots.hurts(source("line"), label="yield in $").get_xlabel() == r"yield in \$"


@pytest.mark.parametrize("wanted", ["p7", 2, -1, True, [], ["p0", "p0"], 1.5])
@pytest.mark.parametrize("what", FIGURES[:2])
def test_parameters_that_there_are_not_are_refused(what, wanted):
    with pytest.raises(ValueError, match=r"expected (parameters among|distinct parameters)"):
        getattr(plots, what)(source("two"), wanted)


# ------------------------------------------------------------------------------------------------------------ slices


@pytest.mark.parametrize("name", ["two", "minimize", "grid", "without names"])
def test_slices_show_what_state_and_solver_say(name):
    answer = source(name)
    state, report = answer.state, report_of(answer)
    sign, translation = getattr(answer, "sign", 1), answer.state.setting.translation
    decision = np.array(list(report.decision.values()) if isinstance(report.decision, dict) else report.decision)
    for j, axes in enumerate(plots.slices(answer).axes):
        shown = lines(axes)
        some = shown[EXPECTED][::5]
        flats = [[x if i == j else v for i, v in enumerate(decision)] for x in some[:, 0]]
        values = [
            dict(zip(report.decision, flat, strict=True)) if isinstance(report.decision, dict) else flat
            for flat in flats
        ]
        points = [translation.point_index(value) for value in values]
        assert sign * state.moments(points)[0] == pytest.approx(some[:, 1], abs=1e-9)
        decisions = [translation.decision_index(value) for value in values]
        worst = sign * state.bounds_of(decisions)[0]
        assert shown[GUARANTEED][::5][:, 1] == pytest.approx(worst, abs=2e-3 * np.ptp(worst) + 1e-9)
        # At the decision itself the two lines are what the report says.
        at = np.argmin(np.abs(shown[GUARANTEED][:, 0] - decision[j]))
        assert shown[GUARANTEED][at, 1] == pytest.approx(sign * report.lower)
        assert shown["decision"][0, 0] == pytest.approx(decision[j])
        assert shown[WORST][0, 1] == pytest.approx(sign * report.lower)


def test_the_shaded_interval_is_the_tolerance_within_the_range():
    answer = source("two")
    for name, axes in zip(("p0", "p1"), plots.slices(answer).axes, strict=True):
        (span,) = axes.patches
        x = answer.decision[name]
        ends = span.get_x(), span.get_x() + span.get_width()
        assert ends == pytest.approx((max(0, x - 0.1), min(1, x + 0.1)), abs=1e-6)


def test_single_values_are_marks_and_neighbours_are_shaded():
    answer = source("six, with a category")
    panels = dict(zip(answer.decision, plots.slices(answer).axes, strict=True))
    blades, catalyst = panels["blades"], panels["catalyst"]
    assert lines(blades)[EXPECTED][:, 0].tolist() == [1, 2, 3, 4, 5, 6]
    assert [line.get_linestyle() for line in blades.lines if line.get_label() == EXPECTED] == ["None"]
    own = answer.decision["blades"]
    middles = sorted(span.get_x() + span.get_width() / 2 for span in blades.patches)
    assert middles == pytest.approx([b for b in (own - 1, own, own + 1) if 1 <= b <= 6])
    assert [tick.get_text() for tick in catalyst.get_xticklabels()] == ["platinum", "palladium on …", "none"]
    assert list(catalyst.patches) == [], "a category cannot be a little off"
    assert panels["rate"].get_xscale() == "log" and panels[LONG].get_xlabel().count("\n") >= 1
    (span,) = panels["n"].patches
    n = answer.decision["n"]
    assert (span.get_x(), span.get_x() + span.get_width()) == (max(1, n - 20), min(300, n + 20))


def test_trials_far_from_the_section_fade():
    answer = source("two")
    axes = plots.slices(answer, "p0").axes[0]
    (dots,) = [c for c in axes.collections if c.get_label() == "trials"]
    drawn = zip(dots.get_offsets().tolist(), dots.get_edgecolor(), strict=True)
    shown = {tuple(place): colour[3] for place, colour in drawn}
    trials = {(r.point["p0"], r.y): abs(r.point["p1"] - answer.decision["p1"]) for r in answer.state.rounds}
    assert set(shown) <= set(trials)
    strengths = [shown.get(trial, 0.0) for trial in sorted(trials, key=trials.get)]
    assert strengths == sorted(strengths, reverse=True) and strengths[0] > strengths[-1]


def test_the_environment_has_panels_of_its_own():
    answer = source("environment")
    angle, wind, load = plots.slices(answer).axes
    assert [axes.get_xlabel() for axes in (angle, wind, load)] == ["angle", "wind", "load"]
    worst = answer.worst_case
    assert lines(wind)[WORST].tolist() == [[worst.point["wind"], worst.lower]]
    assert set(lines(wind)[GUARANTEED][:, 1]) == {worst.lower}, "no decision is looked at but the reported one"
    base = {**worst.point, **answer.decision}
    x, mean = lines(wind)[EXPECTED][7]
    index = answer.state.setting.translation.point_index({**base, "wind": x})
    assert answer.state.moments([index])[0][0] == pytest.approx(mean)


def test_rows_of_a_list_are_marks_and_those_within_reach_are_ringed():
    optimizer = source("scattered")
    report, state = optimizer.report(), optimizer.state
    reached = state.setting.candidates(report.decision_index)
    for j, axes in enumerate(plots.slices(optimizer).axes):
        assert sorted(lines(axes)[EXPECTED][:, 0]) == sorted(ROWS[:, j])
        assert sorted(lines(axes)[TURNED][:, 0]) == sorted(ROWS[reached, j])
    for axes in plots.slices(source("groups")).axes:
        member = source("groups").report()
        assert set(lines(axes)[GUARANTEED][:, 1]) == {member.lower}, "groups have no place: their bound is a line"


# --------------------------------------------------------------------------------------------------------- landscape


def test_a_landscape_of_two_shows_expected_and_guaranteed_values_side_by_side():
    answer = source("grid")
    state, report, grid = answer.state, answer.report(), answer.domain
    left, right = plots.landscape(answer).axes[:2]
    fields = [np.array(axes.collections[0].get_array()).reshape(9, 15) for axes in (left, right)]
    everything = list(range(len(grid)))
    assert fields[0].T.ravel() == pytest.approx(state.moments(everything)[0])
    assert fields[1].T.ravel() == pytest.approx(state.bounds_of(everything)[0])
    shown = lines(left)
    assert shown["decision"].tolist() == [report.decision.tolist()] and shown[WORST].tolist() == [
        report.worst_point.tolist()
    ]
    assert sorted(map(tuple, shown[TURNED])) == sorted(
        map(tuple, grid.points[state.setting.candidates(report.decision_index)])
    )
    assert shown[NOMINAL].tolist() == [grid.points[np.argmax(state.moments(everything)[0])].tolist()]
    assert shown["trials"].tolist() == [r.point.tolist() for r in state.rounds]


@pytest.mark.parametrize(("rows", "said"), [(200, ""), (300, "the 200 of 300 rows nearest to the decision")])
def test_a_landscape_of_a_long_list_says_that_it_shows_a_part(rows, said):
    places = so.Points(np.random.default_rng(0).random((rows, 2)))
    found = so.assess((places.points[:9], np.arange(9.0)), places, 0.1)
    figure = plots.landscape(found)
    assert figure.get_suptitle() == said
    assert len(figure.axes[0].collections[0].get_offsets()) == 200


def test_a_landscape_shows_where_limits_are_broken_and_marks_the_best_within_them():
    """f = a, and the heat 10 a must stay below 6: it is broken beyond 0.6 as it is, beyond 0.5 if it is perturbed."""
    heat = so.Constraint("heat", upper=6.0, model=so.GP(400.0 * so.SE([0.8, 0.8]), noise=1e-3, mean=5.0))
    model = so.GP(4.0 * so.SE([0.8, 0.8]), noise=1e-3)
    places = so.Grid.linspace([0, 0], [1, 1], [11, 3]).points

    def answer(domain):
        optimizer = so.Optimizer(domain, so.Ball(0.1), model, constraints=[heat])
        for row in places:
            optimizer.tell(row, row[0], measured={"heat": 10 * row[0] - 0.02})
        return optimizer

    discrete = answer(so.Grid.linspace([0, 0], [1, 1], [11, 3]))
    for axes, edge in zip(plots.landscape(discrete).axes[:2], (0.6, 0.5), strict=True):
        crossed = lines(axes)[BREAKS][:, 0]
        assert crossed.min() == pytest.approx(edge + 0.1) and len(crossed) == 3 * round(10 * (1.0 - edge))
        assert lines(axes)[NOMINAL][0, 0] == pytest.approx(0.6) and lines(axes)["decision"][0, 0] == pytest.approx(0.5)
    left, right = plots.landscape(answer(so.Space([(0.0, 1.0)] * 2))).axes[:2]
    for axes, edge in ((left, 0.6), (right, 0.5)):
        hatched = next(c for c in axes.collections if getattr(c, "hatches", [None]) == ["xxx"])
        assert min(path.vertices[:, 0].min() for path in hatched.get_paths()) == pytest.approx(edge, abs=0.02)
    panel = plots.landscape(discrete, 0).axes[0]
    strips = [patch.get_x() for patch in panel.patches if patch.get_label() == BREAKS]
    assert strips == [pytest.approx(0.55)]


def test_contenders_keep_all_limits_and_progress_guarantees_nothing_before_they_do():
    """f = a, and the heat 10 a must stay below 6 within 0.1: 0.5 is the best, 0.6 and more break the limit."""
    heat = so.Constraint("heat", upper=6.0, model=so.GP(400.0 * so.SE(0.8), noise=1e-3, mean=5.0))
    grid = so.Grid.linspace(0, 1, 11)
    optimizer = so.Optimizer(grid, so.Ball(0.1), so.GP(4.0 * so.SE(0.8), noise=1e-3), constraints=[heat])
    for (a,) in grid.points[::-1]:
        optimizer.tell([a], a, measured={"heat": 10 * a - 0.02})
    axes = plots.contenders(optimizer)
    heights = [line.get_ydata()[0] for line in axes.lines if str(line.get_label())[:1].isdigit()]
    assert len(heights) > 3 and max(heights) == pytest.approx(0.5), "of a scale from 0 to 1"
    guaranteed = lines(plots.progress(optimizer))[GUARANTEED]
    assert np.isnan(guaranteed[0, 1]) and guaranteed[-1, 1] == pytest.approx(optimizer.report().lower)


@pytest.mark.parametrize("tolerance", [0.1, so.Ball(0.15), so.Ellipsoid([[0.01, 0.008], [0.008, 0.02]])])
def test_the_outline_is_the_edge_of_the_uncertainty_set(tolerance):
    answer = so.assess((ROWS, hill(ROWS)), {"a": (0, 1), "b": (0, 1)}, tolerance)
    edge = lines(plots.landscape(answer).axes[0])[TURNED]
    home = np.array(list(answer.decision.values()))
    inside = np.all((edge > 1e-6) & (edge < 1 - 1e-6), axis=1)
    off = edge[inside] - home
    assert len(off) > 10
    if isinstance(tolerance, so.Ball):
        size = np.linalg.norm(off, axis=1) / 0.15
    elif isinstance(tolerance, so.Ellipsoid):
        size = np.sqrt(np.einsum("ni,ij,nj->n", off, np.linalg.inv(tolerance.matrix), off))
    else:
        size = np.abs(off).max(axis=1) / 0.1
    assert size == pytest.approx(1.0, abs=1e-3)


def test_the_two_parameters_along_which_most_changes_are_chosen():
    X = np.random.default_rng(0).random((40, 4))
    answer = so.assess((X, 3 * X[:, 1] - 5 * (X[:, 3] - 0.5) ** 2 + 0.1 * X[:, 0]), [(0, 1)] * 4, 0.05)
    left = plots.landscape(answer).axes[0]
    assert (left.get_xlabel(), left.get_ylabel()) == ("x[1]", "x[3]")
    assert "at x[0] = " in left.figure.get_suptitle() and "x[2] = " in left.figure.get_suptitle()
    other = plots.landscape(answer, ["x[2]", 0]).axes[0]
    assert (other.get_xlabel(), other.get_ylabel()) == ("x[2]", "x[0]")
    with pytest.raises(ValueError, match=r"expected one or two parameters, got .*slices"):
        plots.landscape(answer, [0, 1, 2])


@pytest.mark.parametrize("name", ["one", "line"])
def test_a_landscape_of_one_shows_the_nominal_optimum_and_its_fall(name):
    answer = source(name)
    (axes,) = plots.landscape(answer).axes
    shown = lines(axes)
    best = shown[EXPECTED][np.argmax(shown[EXPECTED][:, 1])]
    assert shown[NOMINAL].tolist() == [best.tolist()]
    fall = next(line.get_xydata() for line in axes.lines if line.get_linestyle() == ":")
    worst = shown[GUARANTEED][np.argmax(shown[EXPECTED][:, 1])]
    assert fall.tolist() == [best.tolist(), worst.tolist()]


def test_small_is_light_where_small_is_good():
    up, down = (plots.landscape(source(name)).axes[0].collections[0] for name in ("two", "minimize"))
    assert up.get_cmap().name == "cividis" and down.get_cmap().name == "cividis_r"


# ------------------------------------------------------------------------------------------------- what hurts most


def bars(axes):
    """Left and right end of the full and of the hatched bars, by name."""
    names = [tick.get_text().replace("\n", " ") for tick in axes.get_yticklabels()]
    full, hatched = (
        dict(zip(names, (sorted([b.get_x(), b.get_x() + b.get_width()]) for b in c), strict=True))
        for c in axes.containers
    )
    return full, hatched


def brute(optimizer, decision, halves):
    """The smallest lcb around a decision of a grid, within these half widths."""
    points = optimizer.domain.points
    inside = np.all(np.abs(points - decision) <= np.array(halves) + 1e-9, axis=1)
    return float(np.asarray(optimizer.state.lcb)[inside].min())


def test_each_tolerance_costs_what_the_worst_case_without_it_gains():
    halves = [0.15, 0.26]
    optimizer = listed(so.Grid.linspace([0, 0], [1, 1], [21, 17]), so.Rectangle(halves), 2, rounds=9)
    report = optimizer.report()
    full, hatched = bars(plots.hurts(optimizer))
    for j, name in enumerate(["x[0]", "x[1]"]):
        others = [0.0 if i == j else h for i, h in enumerate(halves)]
        alone = [h if i == j else 0.0 for i, h in enumerate(halves)]
        assert full[name] == pytest.approx([report.lower, brute(optimizer, report.decision, others)])
        assert hatched[name] == pytest.approx([brute(optimizer, report.decision, n) for n in (alone, [0, 0])])


@pytest.mark.parametrize("minimize", [False, True])
def test_in_a_space_the_costs_are_those_of_other_sets(minimize):
    X = np.random.default_rng(8).random((15, 3))
    ranges, tolerance = {"a": (0, 1), "b": (0, 1), "c": (0, 1)}, {"a": 0.15, "b": 0.05, "c": 0.1}
    answer = so.assess((X, hill(X) * [1, -1][minimize]), ranges, tolerance, minimize=minimize)
    full, _ = bars(plots.hurts(answer))
    gp, sign = answer.state, answer.sign
    for name in ranges:
        setting = so.Optimizer(
            so.Space(ranges), so.Rectangle([0.0 if n == name else t for n, t in tolerance.items()])
        ).state.setting
        worst = setting.solver(15).worst(answer.report.decision_index, gp.lcb).value
        assert full[name] == pytest.approx(sorted([sign * answer.report.lower, sign * worst]), abs=1e-5)
    gains = {name: np.ptp(ends) for name, ends in full.items()}
    assert list(gains.values()) == sorted(gains.values()), "the largest is at the top"


def test_an_environment_is_as_planned_where_it_is_most_favourable_or_as_estimated():
    answer = source("environment")
    full, _ = bars(plots.hurts(answer))
    assert set(full) == {"angle", "wind", "load"}
    setting, translation = answer.state.setting, answer.state.setting.translation
    members = [translation.point(i) for i in setting.candidates(answer.report.decision_index)]
    # Where the wind is held, no member of the set with that wind is worse than what is drawn.
    best = max(
        answer.state.bounds([translation.point_index({**m, "wind": wind}) for m in members])[0].min()
        for wind in np.linspace(0, 12, 9)
    )
    assert full["wind"][1] <= best + 1e-9 and full["wind"][0] == pytest.approx(answer.report.lower)
    full, hatched = bars(plots.hurts(source("estimate")))
    assert list(full) == ["theta"] and full["theta"] == pytest.approx(hatched["theta"], abs=1e-6)


def test_where_nothing_can_hurt_that_is_said():
    for answer in (source("groups"), so.assess((ROWS, hill(ROWS)), [(0, 1), (0, 1)], 0)):
        with pytest.raises(ValueError, match="expected a tolerance or an environment that can hurt"):
            plots.hurts(answer)


# ---------------------------------------------------------------------------------------------------------- progress


@pytest.mark.parametrize("name", ["line", "groups"])
def test_progress_shows_the_reports_of_every_round(name):
    played = source(name)
    fresh = so.Optimizer(played.domain, played.uncertainty, played.gp, seed=2)
    reports = []
    for r in played.rounds:
        fresh.tell(r.point, r.y, r.decision)
        reports.append(fresh.report())
    shown = lines(plots.progress(played))
    told = [report for report in reports if report.t >= 2]
    assert shown[GUARANTEED] == pytest.approx(np.array([[report.t, report.lower] for report in told]))
    assert shown[POSSIBLE] == pytest.approx(np.array([[report.t, report.optimum_upper] for report in told]))


def test_progress_in_a_space_ends_with_the_result_marks_failures_and_is_remembered(monkeypatch):
    result = source("failures")
    axes = plots.progress(result, 3)
    shown = lines(axes)
    assert shown[GUARANTEED][-1].tolist() == [result.state.t, result.worst_case.lower]
    assert shown[POSSIBLE][-1].tolist() == [result.state.t, result.optimum_bound]
    assert len(shown[GUARANTEED]) == 3 and len(shown["failed trials"]) == len(result.state.failures) > 0
    before = [r.t - 1 for r in result.state.failures]
    assert np.floor(shown["failed trials"][:, 0]).tolist() == before

    def never(*_):
        raise AssertionError("a moment is looked at once")

    monkeypatch.setattr("stableopt.plots.history._replayed", never)
    assert lines(plots.progress(result, 3))[GUARANTEED].tolist() == shown[GUARANTEED].tolist()


def test_progress_of_a_minimum_is_the_mirror_image():
    up = so.assess((ROWS[:4], hill(ROWS[:4])), [(0, 1), (0, 1)], 0.1)
    down = so.assess((ROWS[:4], -hill(ROWS[:4])), [(0, 1), (0, 1)], 0.1, minimize=True)
    one, other = (lines(plots.progress(answer, 2)) for answer in (up, down))
    for label in (GUARANTEED, POSSIBLE):
        assert one[label][:, 1] == pytest.approx(-other[label][:, 1], rel=1e-6)
    with pytest.raises(ValueError, match="expected a number of reports"):
        plots.progress(up, 0)


# -------------------------------------------------------------------------------------------- contenders and profile


def test_contenders_are_the_best_tried_decisions_with_their_bounds():
    answer = source("six, with a category")
    axes = plots.contenders(answer, 3)
    (first, second, third) = (line for line in reversed(axes.lines) if line.get_label().split(":")[0] in "123")
    assert first.get_label() == f"1: at least {answer.worst_case.lower:.4g}" and first.get_linewidth() > 2
    d = answer.decision
    heights = [
        (d[LONG] - 20) / 70,
        (d["blades"] - 1) / 5,
        ["platinum", "palladium on carbon", "none"].index(d["catalyst"]) / 2,
    ]
    heights += [np.log10(d["rate"]) / 3 + 1, (d["n"] - 1) / 299, d["price in $ per $"]]
    assert first.get_ydata() == pytest.approx(heights)
    # The others are past decisions, the best first; one that is all but the reported one is left out.
    lower = {f"{low:.4g}" for _, low, _ in answer.decisions}
    said = [line.get_label().split()[-1] for line in (second, third)]
    assert set(said) <= lower and float(said[0]) >= float(said[1])
    words = [text.get_text() for text in axes.texts]
    assert {"platinum", "palladium on …", "none"} <= set(words)


def test_contenders_differ():
    points = [{"x": 0.5 + 0.001 * i} for i in range(5)] + [{"x": 0.1}]
    table = [point | {"value": 1.0 - point["x"] ** 2} for point in points]
    axes = plots.contenders(so.assess(table, {"x": (0, 1)}, 0.05), 6)
    places = [line.get_ydata()[0] for line in axes.lines if ":" in line.get_label()]
    assert all(abs(a - b) > 0.02 for i, a in enumerate(places) for b in places[:i])
    with pytest.raises(ValueError, match="expected a number of decisions"):
        plots.contenders(source("line"), 0)


def test_groups_are_contenders_by_name():
    axes = plots.contenders(source("groups"))
    report = source("groups").report()
    first = next(line for line in axes.lines if line.get_label().startswith("1:"))
    assert first.get_ydata().tolist() == [["left", "right"].index(report.decision)]


def test_a_profile_is_computed_where_only_an_answer_is_given():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer = source("line")
        shown = lines(plots.profile(optimizer))[GUARANTEED]
    assert dict(shown.tolist())[1.0] == optimizer.report().lower


# ------------------------------------------------------------------------------------------------------- calibration


@pytest.mark.parametrize("name", ["two", "minimize", "grid", "six, with a category"])
def test_every_value_is_foretold_from_all_others(name):
    """Against a posterior that is conditioned on all others anew, value by value."""
    answer = source(name)
    state, sign = answer.state, getattr(answer, "sign", 1)
    left, right = plots.calibration(answer).axes
    inputs = state.setting.inputs([r.point_index for r in state.rounds], state.objective.learned is not None)
    values, gps = np.array([r.y for r in state.rounds]), state.belief.gps
    y = state.belief.latent_values(values)[0]
    weights = np.array(state.belief.weights or [1 / len(gps)] * len(gps))
    bars = next(c for c in left.containers if hasattr(c, "has_yerr"))
    means = bars.lines[0].get_xydata()
    ends = [segment[:, 1] for segment in bars.lines[2][0].get_segments()]
    off = next(line.get_ydata() for line in right.lines if line.get_label().startswith("measured minus"))
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        parts = [gp.condition(inputs[others], y[others])(inputs[i : i + 1]) for gp in gps]
        noises = [gp.noise_variance(gp.kernel.diag(inputs[i : i + 1]))[0] for gp in gps]
        own, variances = (np.array([part[k][0] for part in parts]) for k in (0, 1))
        mean = weights @ own
        std = np.sqrt(weights @ (variances + noises + (own - mean) ** 2))
        low, foretold, high = state.belief.in_units(mean + np.array([-2.0, 0.0, 2.0]) * std)
        assert means[i] == pytest.approx([sign * values[i], sign * foretold], rel=1e-5, abs=1e-6)
        assert sorted(ends[i]) == pytest.approx(sorted([sign * low, sign * high]), rel=1e-5, abs=1e-6)
        assert off[i] == pytest.approx(sign * (y[i] - mean) / std, rel=1e-4, abs=1e-5)
    inside = int(np.sum(np.abs(off) <= 2))
    assert right.get_title() == f"{inside} of {len(y)} within two standard deviations"


def test_a_value_that_nothing_foretells_is_numbered():
    x = np.linspace(0, 1, 12)
    y = np.where(np.arange(12) == 7, 5.0, np.sin(3 * x))
    model = so.GP(so.SE(0.5), noise=0.05)
    axes = plots.calibration(so.assess((x[:, None], y), [(0, 1)], 0.1, model=model)).axes[1]
    assert "8" in [note.get_text() for note in axes.texts]


# ----------------------------------------------------------------------------------------------------------- allowances


@pytest.mark.parametrize("sign", [1, -1])
def test_an_allowance_is_drawn_as_it_is(sign):
    grid = so.Grid.linspace(0, 1, 21)
    optimizer = so.Optimizer(grid, so.Ball(0.1), so.GP(so.SE(0.3), noise=0.05))
    for x in (0.1, 0.5, 0.9):
        optimizer.tell([x], -((x - 0.5) ** 2))
    answer = Answer(optimizer, sign)
    value = sign * float(np.median(optimizer.state.lcb))
    found = answer.allowance(**{"at_least" if sign > 0 else "at_most": value})
    with plt.style.context("dark_background"):
        axes = plots.allowance(found, label="yield")
        shown = {line.get_label(): line for line in axes.lines}
        assert axes.get_legend().get_texts()[0].get_color() == "white"
    for name, bound in ((GUARANTEED, "guaranteed"), ("possible worst case", "possible")):
        assert shown[name].get_xydata().tolist() == [[level.factor, getattr(level, bound)] for level in found.curve]
    side = "at least" if sign > 0 else "at most"
    assert shown[f"specification: {side} {value:.4g}"].get_ydata() == [value, value]
    low = shown[f"guaranteed up to {found.factors.guaranteed:.3g}×"]
    assert low.get_xydata().tolist() == [[found.factors.guaranteed, value]]
    assert axes.get_ylabel() == "yield" and "the given tolerance" in shown
    plt.close("all")


def test_an_allowance_is_computed_where_an_answer_and_a_specification_are_given():
    result = assessed(6, 1)
    figure, axes = plt.subplots()
    assert plots.allowance(result, at_least=-100.0, ax=axes) is axes
    assert any("at least 10×" in line.get_label() for line in axes.lines)
    with pytest.raises(ValueError, match="expected at_least"):
        plots.allowance(result)
    with pytest.raises(ValueError, match="expected no specification beside an allowance"):
        plots.allowance(result.allowance(at_least=-100.0), at_least=1.0)
    with pytest.raises(TypeError, match="expected a result"):
        plots.allowance("yield", at_least=1.0)
    plt.close(figure)


# ------------------------------------------------------------------------------------------------------------ health


def test_health_shows_the_words_of_the_summary_and_the_part_of_every_input():
    rng = np.random.default_rng(0)
    X = rng.random((40, 3))
    f = 3 * X[:, 0] + np.sin(3 * X[:, 1])
    ranges = {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}
    known = so.assess((X, f), ranges, 0.1)
    figure = plots.health(known)
    effects = figure.axes[2]
    names = [label.get_text() for label in effects.get_yticklabels()]
    sizes = dict(zip(names, [bar.get_width() / 100 for bar in effects.patches], strict=True))
    a, b = 9 / 12, float(np.var(np.sin(3 * np.linspace(0, 1, 1001))))  # variances of the two terms, which add up
    assert sizes["a"] == pytest.approx(a / (a + b), abs=0.06) and sizes["b"] == pytest.approx(b / (a + b), abs=0.06)
    assert sizes["c"] < 0.01 and known.health.idle == ("c",)
    assert figure.get_suptitle() == known.health.words == "the model explains the data well"
