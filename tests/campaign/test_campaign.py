"""Promises of a campaign: the words and answers of `maximize`, by hand; nothing is lost, and nothing is erased."""
# ruff: noqa: E501 (a table is read by its rows)

import itertools
import json
import math
import sqlite3
import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers.cases import extra
from helpers.refusals import refused

import stableopt as so
from stableopt.campaign.events import Asked, Ledger, Told
from stableopt.loop import space as search

LINE = {"x": (0.0, 1.0)}
LAB = {"temperature": (20.0, 90.0), "ph": (3.0, 9.0), "cycles": so.Integer(1, 12), "solvent": ["water", "ethanol"]}
OFF = {"temperature": 4.0, "ph": 0.3, "cycles": 1}


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Searches with less effort: what is promised here does not depend on it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "usual_budget", lambda dim, **_: 500)
        yield


def hill(point):
    return -((point["x"] - 0.3) ** 2)


def lab(point):
    off = ((point["temperature"] - 45) / 20) ** 2 + (point["ph"] - 6) ** 2 + (point["cycles"] - 4) ** 2 / 20
    return 10 - off - 2 * (point["solvent"] == "water")


def plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


def brief(result):
    known = [plain(e.point) for e in result.evaluations], [e.value for e in result.evaluations]
    return known, plain(result.decision), plain(result.worst_case.point), result.worst_case[1:], result.optimum_bound


def by_hand(campaign, f, count):
    for _ in range(count):
        trial = campaign.ask()
        campaign.tell(trial, f(trial.point))
    return campaign


@pytest.fixture(params=["memory", "file"])
def place(request, tmp_path):
    """Where a campaign is kept: what is promised does not depend on it."""
    return {} if request.param == "memory" else {"file": tmp_path / "lab.db"}


# ------------------------------------------------------------------------------------- the same as maximize, by hand

PROBLEMS = {
    "a line": (hill, LINE, 0.1, {}),
    "a laboratory": (lab, LAB, OFF, {"environment": {"humidity": (20, 80)}, "initial": 5}),
    "without names": (lambda x: float(-((x[0] - 0.3) ** 2)), [(0.0, 1.0)], 0.1, {"noise": 0.01}),
    "a grid": (lambda x: float(-((x[0] - 0.3) ** 2)), so.Grid.linspace(0, 1, 21), 0.1, {"model": so.GP(so.SE(0.3), 0.1)}),
}  # fmt: skip


@pytest.mark.parametrize("minimize", [False, extra(True)])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_campaign_by_hand_is_what_maximize_does(name, minimize, tmp_path):
    f, ranges, tolerance, options = PROBLEMS[name]
    call, options = so.minimize if minimize else so.maximize, {"seed": 2, **options}
    done = call(f, ranges, tolerance, evaluations=6, **options)
    campaign = so.Campaign(ranges, tolerance, minimize=minimize, file=tmp_path / "lab.db", **options)
    assert brief(by_hand(campaign, f, 6).result) == brief(done)
    assert brief(so.Campaign.open(tmp_path / "lab.db").result) == brief(done), "a file is replayed bit for bit"


def test_nothing_shows_the_other_sign(place):
    up = by_hand(so.Campaign(LINE, 0.1, **place), hill, 6)
    down = by_hand(so.Campaign(LINE, 0.1, minimize=True), lambda p: -hill(p), 6)
    assert [row["value"] for row in down.trials] == [-row["value"] for row in up.trials]
    (mean, std), (mirrored, same) = up.predict({"x": 0.4}), down.predict({"x": 0.4})
    assert mirrored == -mean and same == std
    above, below = up.bounds({"x": 0.4}), down.bounds({"x": 0.4})
    assert below.point == above.point and (below.lower, below.upper) == (-above.upper, -above.lower)
    assert down.result.worst_case.upper == -up.result.worst_case.lower
    asked = [e.what for t in down.ledger.trials.values() for e in t.history if isinstance(e.what, Asked)]
    assert [a.lower for a in asked if a.lower is not None] == [
        -e.what.lower
        for t in up.ledger.trials.values()
        for e in t.history
        if isinstance(e.what, Asked) and e.what.lower is not None
    ]


def test_the_bounds_of_the_reported_decision_are_those_of_the_result():
    campaign = by_hand(so.Campaign(LINE, 0.1), hill, 6)
    result = campaign.result
    found = campaign.bounds(result.decision)
    assert found[1:] == pytest.approx(result.worst_case[1:], abs=1e-6)
    assert found.point == pytest.approx(result.worst_case.point, abs=1e-3)


# ------------------------------------------------------------------------------------------ what was really done counts


def test_settings_that_are_left_out_are_as_asked_for(place):
    campaign = so.Campaign(LAB, OFF, **place)
    first = campaign.ask()
    told = campaign.tell(1, 1.0, at={"temperature": first.point["temperature"] + 1.0})
    assert told.settings == first.point | {"temperature": first.point["temperature"] + 1.0}
    assert campaign.correct(1, at={"ph": 5.0}).settings == told.settings | {"ph": 5.0}, "as they were told"
    refused(lambda: campaign.correct(1, at={"pH": 5.0}), ValueError, "expected a point with the names", "'pH'")


def test_a_trial_is_told_by_itself_by_its_number_or_by_its_settings(place):
    campaign = so.Campaign(LAB, OFF, **place)
    first, second, third, fourth = campaign.ask(4)
    assert [t.number for t in (first, second, third, fourth)] == [1, 2, 3, 4]
    assert campaign.tell(first, 1.0).values == {"value": 1.0}
    assert campaign.tell(2, {"value": 2}).values == {"value": 2.0}
    rounded = third.point | {"temperature": round(third.point["temperature"]), "ph": round(third.point["ph"], 1)}
    told = campaign.tell(rounded, 3.0)
    assert told.number == 3 and told.status == "done" and told.settings == rounded and told.point == third.point
    within = fourth.point | {"temperature": fourth.point["temperature"] + 3.9}
    assert campaign.tell(4, 4.0, at=within, noise=0.5).at == within
    assert campaign.open_trials == []
    rounds = campaign.result.optimizer.rounds
    assert [r.point["temperature"] for r in rounds][2:] == [rounded["temperature"], within["temperature"]]
    assert [r.decision for r in rounds] == [t.decision for t in (first, second, third, fourth)] and rounds[
        3
    ].noise == 0.5


def test_settings_answer_the_nearest_open_trial():
    campaign = so.Campaign(LINE, 0.3)
    trials = campaign.ask(3)
    for trial in reversed(trials):
        assert campaign.tell({"x": trial.point["x"] + 1e-3}, 1.0).number == trial.number


@pytest.mark.parametrize("name", ["temperature", "solvent", "cycles"])
def test_settings_far_from_all_open_trials_are_data_of_their_own_and_it_says_so(name):
    campaign = so.Campaign(LAB, OFF)
    trial = campaign.ask()
    was = trial.point[name]
    others = {"temperature": [20.0, 90.0], "solvent": ["water", "ethanol"], "cycles": [1, 12]}[name]
    far = trial.point | {name: next(v for v in others if v != was and (name == "solvent" or abs(v - was) > 5))}
    with pytest.warns(UserWarning, match=r"not near .* recorded as trial 2, data of its own; still open: \[1\]"):
        told = campaign.tell(far, 1.0)
    assert told.number == 2 and told.decision is None and campaign.trial(1).status == "open"
    with pytest.warns(UserWarning, match="recorded for trial 1 as data of its own"):
        assert campaign.tell(1, 2.0, at=far).settings == far
    assert [r.asked for r in campaign.result.optimizer.rounds] == [False, False]


def test_data_without_open_trials_need_no_remark():
    campaign = so.Campaign(LINE, 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert campaign.tell({"x": 0.5}, 1.0).number == 1
        assert campaign.tell(np.array([0.5]) if False else {"x": 0.6}, 1.0).decision is None


def test_environments_have_to_be_as_asked_up_to_rounding():
    campaign = so.Campaign(LINE, 0.1, environment={"wind": (0, 10)})
    trial = campaign.ask()
    other = trial.point | {"wind": (trial.point["wind"] + 5) % 10}
    with pytest.warns(UserWarning, match="not near"):
        assert campaign.tell(other, 1.0).number == 2
    assert campaign.tell(trial.point | {"wind": round(trial.point["wind"], 1)}, 1.0).number == 1


def test_on_a_list_a_neighbour_within_the_tolerance_answers_a_trial_and_others_do_not():
    campaign = so.Campaign(so.Grid.linspace(0, 1, 21), 0.1)
    trial = campaign.ask()
    x = trial.point[0]
    near, far = (x + 0.1 if x < 0.5 else x - 0.1), (x + 0.4 if x < 0.5 else x - 0.4)
    with pytest.warns(UserWarning, match="not near"):
        assert campaign.tell([far], 1.0).number == 2
    assert campaign.tell([near], 1.0).number == 1


def test_members_of_a_group_are_not_near_each_other():
    campaign = so.Campaign(so.Points([0.0, 0.1, 0.2, 0.3]), so.Groups([[0, 1], [2, 3]]))
    trial = campaign.ask()
    other = next(x for x in (0.0, 0.1, 0.2, 0.3) if x != trial.point[0])
    with pytest.warns(UserWarning, match="not near"):
        campaign.tell([other], 1.0)
    assert campaign.tell(trial.point, 2.0).number == trial.number


# ---------------------------------------------------------------------------------------------- failures, corrections


def test_what_failed_was_abandoned_or_corrected_stays_in_the_history(place):
    campaign = so.Campaign(LINE, 0.1, who="ann", **place)
    campaign.ask(4)
    campaign.tell(1, 1.0)
    campaign.tell(2, failed="crystals")
    campaign.abandon(3, "no time")
    campaign.who = "bob"
    campaign.correct(1, 1.5)
    campaign.correct(2, 0.5)
    campaign.tell(4, 0.7)
    campaign.correct(4, failed="wrong bottle")
    assert campaign.counts == {"done": 2, "failed": 1, "open": 0, "abandoned": 1}
    assert campaign.result.errors == ("wrong bottle",)
    for again in [campaign, so.Campaign.open(place["file"])] if place else [campaign]:
        one, two, three, four = (again.trial(n) for n in (1, 2, 3, 4))
        assert [(e.kind, e.who) for e in one.history] == [("asked", "ann"), ("told", "ann"), ("corrected", "bob")]
        assert [e.what.values for e in one.history[1:]] == [{"value": 1.0}, {"value": 1.5}]
        assert two.status == "done" and [e.kind for e in two.history] == ["asked", "failed", "corrected"]
        assert three.why == "no time" and four.status == "failed" and four.values == {}
        times = [e.time for t in (one, two, three, four) for e in t.history]
        assert all(len(time) == 25 and time.endswith("+00:00") for time in times)
    assert [r.y for r in campaign.result.optimizer.rounds] == [1.5, 0.5]


def test_a_correction_is_as_if_it_had_been_told_like_that():
    told = so.Campaign(LINE, 0.1)
    for x, y in [(0.1, 1.0), (0.5, 2.0), (0.9, 0.5)]:
        told.tell({"x": x}, y)
    wrong = so.Campaign(LINE, 0.1)
    for x, y in [(0.1, 1.0), (0.5, 20.0), (0.9, 0.5)]:
        wrong.tell({"x": x}, y)
    before = wrong.result.decision
    wrong.correct(2, 2.0)
    assert wrong.result.decision != before and wrong.result.decision == pytest.approx(told.result.decision, abs=1e-2)
    wrong.correct(2, at={"x": 0.6}, noise=0.1)
    last = wrong.trial(2)
    assert last.values == {"value": 2.0} and last.settings == {"x": 0.6} and last.noise == 0.1


def test_the_second_who_tells_a_trial_is_told_who_was_first(place):
    campaign = so.Campaign(LINE, 0.1, who="ann", **place)
    trial = campaign.ask()
    campaign.tell(trial, 1.25)
    second = so.Campaign.open(place["file"], who="bob") if place else campaign
    refused(lambda: second.tell(1, 3.0), ValueError, "expected an open trial", "told by ann on 20", "1.25", "correct(1")
    assert campaign.trial(1).values == {"value": 1.25} and len(campaign.trial(1).history) == 2
    campaign.ask()
    campaign.tell(2, failed="crystals")
    refused(lambda: second.tell(2, 3.0), ValueError, "told by ann", "it failed: crystals")


def test_an_abandoned_trial_that_was_made_after_all_counts():
    campaign = so.Campaign(LINE, 0.1)
    campaign.ask()
    campaign.abandon(1)
    assert campaign.tell(1, 2.0).status == "done" and campaign.result.optimizer.rounds[0].asked


# --------------------------------------------------------------------------------------------------------- open trials


def test_open_trials_are_avoided_and_known_after_a_restart(tmp_path):
    file = tmp_path / "lab.db"
    campaign = by_hand(so.Campaign(LINE, 0.1, file=file), hill, 5)
    night = campaign.ask(2)
    campaign.close()
    again = so.Campaign.open(file)
    assert [t.point for t in again.open_trials] == [t.point for t in night]
    third = again.ask()
    points = [t.point["x"] for t in (*night, third)]
    assert min(abs(a - b) for a, b in itertools.combinations(points, 2)) > 1e-3 and third.number == 8


def test_two_people_who_open_one_file_get_different_points(tmp_path):
    file = tmp_path / "lab.db"
    ann = by_hand(so.Campaign(LINE, 0.1, file=file), hill, 5)
    bob = so.Campaign.open(file)
    asked = [person.ask() for person in (ann, bob, ann, bob)]
    assert [t.number for t in asked] == [6, 7, 8, 9] and len({t.point["x"] for t in asked}) == 4


def test_a_suggestion_that_was_overtaken_is_searched_for_again(tmp_path, monkeypatch):
    file = tmp_path / "lab.db"
    ann = by_hand(so.Campaign(LINE, 0.1, file=file), hill, 5)
    bob, ask, calls = so.Campaign.open(file), so.Optimizer.ask, itertools.count()

    def slow(self, *args, **options):
        found = ask(self, *args, **options)
        if next(calls) in (0, 2):
            bob.ask()  # while ann's suggestion is searched for
        return found

    monkeypatch.setattr(so.Optimizer, "ask", slow)
    trial = ann.ask()
    points = [t.point["x"] for t in ann.open_trials]
    assert len(points) == len(set(points)) == 3 and trial.number == 8


# ------------------------------------------------------------------------------------------------------ changes of mind


def test_a_change_keeps_all_data_and_is_recorded(place):
    campaign = by_hand(so.Campaign(LINE, 0.1, **place), hill, 6)
    before = campaign.result
    campaign.change(tolerance={"x": (0.2)})
    after = campaign.result
    assert [e.value for e in after.evaluations] == [e.value for e in before.evaluations]
    assert after.worst_case.lower < before.worst_case.lower
    assert after.optimizer.uncertainty == so.Rectangle([0.2], columns=[0])
    campaign.change(ranges={"x": (-1.0, 1.0)})
    assert campaign.result.optimizer.domain == so.Space({"x": (-1.0, 1.0)})
    if place:
        again = so.Campaign.open(place["file"])
        assert brief(again.result) == brief(campaign.result)
        kinds = sqlite3.connect(place["file"]).execute("SELECT kind FROM events").fetchall()
        assert [k for (k,) in kinds].count("changed") == 2
    campaign.tell({"x": -0.5}, -1.0)
    assert len(campaign.trials) == 7


def test_a_change_that_contradicts_data_is_refused_with_the_trials(place):
    campaign = so.Campaign(LINE, 0.1, **place)
    for x in (0.1, 0.5, 0.9):
        campaign.tell({"x": x}, x)
    before = campaign.ledger
    words = "expected words that fit all trials", "got 1", "nothing was changed", "trial 3: expected x between", "0.9"
    refused(lambda: campaign.change(ranges={"x": (0.0, 0.6)}), ValueError, *words, "evaluate=")
    refused(lambda: campaign.change(environment={"wind": (0, 1)}), ValueError, "trial 1", "'wind'")
    refused(lambda: campaign.change(tolerance={"y": 1}), ValueError, "expected one of the names ['x']")
    refused(lambda: campaign.change(), TypeError, "expected some of")
    refused(lambda: campaign.change(seed=3), TypeError, "expected some of", "seed")
    assert campaign.ledger == before
    campaign.change(ranges={"x": so.Float(0.0, 0.6, evaluate=(0.0, 1.0))})
    assert campaign.result.decision["x"] <= 0.6 and len(campaign.result.evaluations) == 3


def test_decisions_of_the_time_before_a_change_may_be_none_any_more():
    campaign = by_hand(so.Campaign(LINE, 0.1), hill, 5)
    campaign.change(ranges={"x": so.Float(0.4, 0.6, evaluate=(0.0, 1.0))})
    rounds = campaign.result.optimizer.rounds
    assert len(rounds) == 5 and [r.asked for r in rounds] == [0.4 <= r.point["x"] <= 0.6 for r in rounds]
    assert campaign.ask().number == 6


# ------------------------------------------------------------------------------------------------------- about anything


@pytest.fixture(scope="module")
def known():
    rng = np.random.default_rng(0)
    campaign = so.Campaign(LAB, OFF)
    rows = [campaign.ask().point | {"temperature": t} for t in rng.uniform(20, 90, 8).tolist()]
    for number, row in enumerate(rows, 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            campaign.tell(number, lab(row), at=row)
    return campaign


def test_predictions_are_those_of_the_model(known):
    point = {"temperature": 45.0, "ph": 6.0, "cycles": 4, "solvent": "ethanol"}
    state = known.result.optimizer.state
    mean, variance = state.moments([state.setting.translation.point_index(point)])
    assert known.predict(point) == (mean[0], math.sqrt(variance[0]))


def test_one_or_many_as_dictionaries_arrays_or_a_table(known):
    pandas = pytest.importorskip("pandas")
    names = list(LAB)
    rows = [[45.0, 6.0, 4, "ethanol"], [50.0, 5.0, 3, "water"]]
    dicts = [dict(zip(names, row, strict=True)) for row in rows]
    columns = {name: [d[name] for d in dicts] for name in names}
    forms = [dicts, rows, np.array(rows, dtype=object), columns, pandas.DataFrame(dicts).assign(note="x")]
    wanted = [known.predict(d) for d in dicts]
    cases = [known.bounds(d) for d in dicts]
    assert all(isinstance(w.mean, float) for w in wanted)
    for form in forms:
        found = known.predict(form)
        assert found.mean == pytest.approx([w.mean for w in wanted]) and found.std == pytest.approx(
            [w.std for w in wanted]
        )
        assert np.array([c[1:] for c in known.bounds(form)]) == pytest.approx(
            np.array([c[1:] for c in cases]), rel=1e-3
        )
    assert known.predict(rows[0]) == wanted[0]


def test_on_a_line_without_names_numbers_are_points():
    campaign = so.Campaign([(0.0, 1.0)], 0.1)
    campaign.tell([0.5], 1.0)
    campaign.tell(0.25, 2.0)
    assert campaign.predict([[0.3], [0.4]]).mean.shape == (2,)
    assert campaign.predict(np.array([0.3, 0.4])).mean.shape == (2,)
    assert campaign.predict([0.3]) == campaign.predict(0.3)
    assert len(campaign.bounds([[0.3], [0.4]])) == 2 and campaign.bounds([0.3]).lower < 2


# -------------------------------------------------------------------------------------------------------- tables


def test_trials_are_rows_with_a_column_for_every_parameter(place):
    pandas = pytest.importorskip("pandas")
    campaign = so.Campaign(LAB, OFF, value="yield", **place)
    first, second = campaign.ask(2)
    campaign.tell(first, 1.0, noise=0.1)
    campaign.tell(second.point, failed="crystals")
    campaign.ask()
    rows = campaign.trials
    names = ["trial", "status", *LAB, "yield", "noise", "why", "asked", "told", "who"]
    assert [list(row) for row in rows] == [names] * 3
    assert [row["status"] for row in rows] == ["done", "failed", "open"]
    assert rows[0]["yield"] == 1.0 and rows[1]["why"] == "crystals" and rows[2]["yield"] is None
    assert campaign.to_dataframe().equals(pandas.DataFrame(rows))
    copied = so.Campaign(LAB, OFF, value="yield", data=rows)
    assert copied.counts == {"done": 1, "failed": 1, "open": 0, "abandoned": 0}


def test_columns_of_a_trial_give_way_to_parameters_of_the_same_name():
    campaign = so.Campaign({"status": (0.0, 1.0)}, 0.1)
    campaign.tell({"status": 0.5}, 1.0)
    assert campaign.trials[0]["status"] == 0.5 and campaign.trials[0]["trial status"] == "done"


def test_the_next_experiments_from_a_spreadsheet(tmp_path):
    sheet = tmp_path / "results.csv"
    sheet.write_text("temperature;ph;cycles;solvent;yield\n45,5;6;4;water;1,25\n50;5,5;3;ethanol;\n60;7;2;water;0,5\n")
    campaign = so.Campaign(LAB, OFF, data=sheet, value="yield")
    assert [t["yield"] for t in campaign.trials] == [1.25, None, 0.5] and campaign.trials[0]["temperature"] == 45.5
    assert len(campaign.ask(3)) == 3


CSV = "temperature,ph,cycles,solvent,yield\n"
WRONG_SHEETS = {
    "a wrong column": ("temp,ph,cycles,solvent,yield\n45,6,4,water,1\n", "got none for ['temperature']", "'temp'"),
    "no values": ("temperature,ph,cycles,solvent\n45,6,4,water\n", "column 'yield'", "got the columns ['temperature'"),
    "a unit": (CSV + "45,6,4,water,1\n44.5 C,6,4,water,1\n", "number for temperature", "'44.5 C'", "line 3 of lab.csv"),
    "another unit": (CSV + "45,6,4,water,1\n\n113,6,4,water,1\n", "between 20.0 and 90.0", "got 113", "line 4 of lab.csv"),
    "a wrong word": (CSV + "45,6,4,beer,1\n", "one of ['water', 'ethanol']", "'beer'", "line 2 of lab.csv"),
    "a part of a whole": (CSV + "45,6,4.5,water,1\n", "a whole number for cycles", "line 2 of lab.csv"),
    "a value with a unit": (CSV + "45,6,4,water,1 g\n", "values as numbers", "'1 g'", "line 2 of lab.csv"),
    "a short line": (CSV + "45,6,4,water,1\n45,6,4,water\n", "expected 5 values", "got 4", "line 3 of lab.csv"),
    "a long line": (CSV + "45,6,4,water,1,7\n", "expected 5 values", "got 6", "line 2 of lab.csv"),
    "a header twice": ("ph,ph\n1,2\n", "distinct names in line 1", "lab.csv"),
    "nothing": ("", "expected rows below the header"),
    "no rows": (CSV, "expected rows below the header of lab.csv"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_SHEETS)
def test_a_wrong_sheet_is_refused_with_its_line_and_nothing_changes(name, tmp_path, place):
    text, *words = WRONG_SHEETS[name]
    sheet = tmp_path / "lab.csv"
    sheet.write_text(text)
    campaign = so.Campaign(LAB, OFF, value="yield", **place)
    campaign.ask()
    before = campaign.ledger
    refused(lambda: campaign.add(sheet), ValueError, *words)
    assert campaign.ledger == before


def test_a_sheet_that_is_not_there_is_said():
    refused(lambda: so.Campaign(LINE, 0.1, data="nowhere.csv"), ValueError, "the path of a CSV file", "nowhere.csv")


def test_numbers_as_text_are_read_wherever_they_are():
    ranges = {"x": (0.0, 1.0), "n": so.Integer(1, 9), "k": so.Category([1, 2, 5]), "b": so.Category([True, False])}
    rows = [{"x": "0.5", "n": "3", "k": "2", "b": "True", "value": "1.5", "noise": "0.1"}]
    campaign = so.Campaign(ranges, {"x": 0.1}, data=rows)
    row = campaign.trials[0]
    assert [row[name] for name in (*ranges, "value", "noise")] == [0.5, 3, 2, True, 1.5, 0.1]
    assert type(row["n"]) is int and row["b"] is True


def test_an_optuna_study_can_be_given_where_data_can():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial):
        x, kind = trial.suggest_float("x", 0, 1), trial.suggest_categorical("kind", ["a", "b"])
        trial.suggest_int("unrelated", 1, 3)
        if trial.number == 2:
            raise RuntimeError("broken")
        if trial.number == 3:
            raise optuna.TrialPruned
        return (x - 0.3) ** 2 + (kind == "a")

    study = optuna.create_study(direction="minimize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=8, catch=(RuntimeError,))
    ranges = {"x": (0.0, 1.0), "kind": ["a", "b"]}
    campaign = so.Campaign(ranges, {"x": 0.1}, data=study, minimize=True)
    assert campaign.counts == {"done": 6, "failed": 1, "open": 0, "abandoned": 0}
    assert [r["value"] for r in campaign.trials if r["status"] == "done"] == [t.value for t in study.trials if t.value is not None]  # fmt: skip
    refused(lambda: so.assess(study, ranges, {"x": 0.1}), ValueError, "directions ['maximize']", "minimize=...")
    narrow = {"x": (0.0, 0.1), "kind": ["a", "b"]}
    refused(lambda: so.assess(study, narrow, 0.01, minimize=True), ValueError, "expected x between", "of the study")


# ------------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("ranges", "tolerance"), [({"n": so.Integer(0, 9)}, {"n": 0.5}), (so.Grid.linspace(0, 9, 10), 0.5)]
)
def test_a_tolerance_of_less_than_a_step_is_remarked_on_once(ranges, tolerance, place):
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        campaign = so.Campaign(ranges, tolerance, **place)
        campaign.tell(campaign.ask(), 1.0)
        assert campaign.result.decision is not None
    assert ["less than one step" in str(remark.message) for remark in remarks] == [True]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c.tell(1), ["expected a value, got none", "failed='why'"]),
        (lambda c: c.tell(1, math.nan), ["expected a finite value", "failed='why'"]),
        (lambda c: c.tell(1, {"yield": 1.0}), ["expected values for ['value']", "yield"]),
        (lambda c: c.tell(1, "3.5"), ["expected one number as the value y", "got '3.5': failed='why' in place of a value"]),
        (lambda c: c.tell(1, 1e200), ["expected a value y of at most 1e+140", "(failed='why' in place of a value"]),
        (lambda c: c.tell(1, 1.0, failed="no"), ["expected a value or failed=..., got both"]),
        (lambda c: c.tell(1, 1.0, noise=0.0), ["expected noise as a standard deviation above 0"]),
        (lambda c: c.tell(7, 1.0), ["expected a trial of this campaign (open: [1])", "got 7"]),
        (lambda c: c.tell(0, 1.0), ["expected a trial of this campaign"]),
        (lambda c: c.tell(True, 1.0), ["expected a trial of this campaign"]),
        (lambda c: c.tell(None, 1.0), ["expected a trial of this campaign"]),
        (lambda c: c.tell({"y": 1}, 1.0), ["expected a point with the names ['x']"]),
        (lambda c: c.tell({"x": 5.0}, 1.0), ["expected x between 0.0 and 1.0"]),
        (lambda c: c.tell(1, 1.0, at={"x": 5.0}), ["expected x between 0.0 and 1.0"]),
        (lambda c: c.tell({"x": 0.1}, 1.0, at={"x": 0.1}), ["expected settings once"]),
        (lambda c: c.tell(replace(c.trial(1), point={"x": 0.123}), 1.0), ["as it was asked for", "at=..."]),
        (lambda c: c.correct(1, 2.0), ["expected a trial with an outcome", "which is open"]),
        (lambda c: c.correct(2), ["expected a trial of this campaign"]),
        (lambda c: c.abandon(5), ["expected a trial of this campaign"]),
        (lambda c: c.ask(0), ["expected a number of trials"]),
        (lambda c: c.add([]), ["expected data with at least one value"]),
        (lambda c: c.predict({"x": 0.1}), ["nothing is known yet"]),
        (lambda c: c.result.decision, ["nothing to report yet"]),
    ],
)  # fmt: skip
def test_bad_input_is_refused_and_changes_nothing(call, words, place):
    campaign = so.Campaign(LINE, 0.1, **place)
    campaign.ask()
    before = campaign.ledger
    refused(lambda: call(campaign), ValueError, *words)
    assert campaign.ledger == before


def test_what_is_done_can_only_be_corrected_with_something_and_not_abandoned():
    campaign = so.Campaign(LINE, 0.1)
    campaign.tell({"x": 0.1}, 1.0)
    refused(lambda: campaign.correct(1), ValueError, "expected what to correct")
    refused(lambda: campaign.abandon(1), ValueError, "which is done", "correct(1, failed=...)")


def test_words_that_cannot_be_meant_leave_no_file(tmp_path):
    file = tmp_path / "lab.db"
    refused(lambda: so.Campaign(LINE, {"y": 1}, file=file), ValueError, "expected one of the names ['x']")
    refused(lambda: so.Campaign(LINE, 0.1, minimize="yes", file=file), ValueError, "minimize=True or minimize=False")
    with pytest.raises(TypeError, match="evaluations"):
        so.Campaign(LINE, 0.1, evaluations=3)
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------------------- threads


def test_eight_threads_that_tell_one_optimizer_lose_nothing():
    optimizer = so.Optimizer(so.Grid.linspace(0, 1, 401), so.Ball(0.01), so.GP(so.SE(0.3), 0.1))
    tell_from_threads(lambda i: optimizer.tell([i / 400], 0.0))
    assert sorted(r.point_index for r in optimizer.rounds) == list(range(400))


def test_eight_threads_that_tell_one_campaign_lose_nothing(place):
    campaign = so.Campaign(LINE, 0.1, **place)
    tell_from_threads(lambda i: campaign.tell({"x": i / 400}, float(i)))
    assert sorted(t["value"] for t in campaign.trials) == list(range(400))
    assert [t["trial"] for t in campaign.trials] == list(range(1, 401))


def tell_from_threads(tell):
    errors = []

    def some(first):
        try:
            for i in range(first, first + 50):
                tell(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=some, args=(50 * k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


# ----------------------------------------------------------------------------------------------------------- the ledger


def test_trials_are_a_function_of_the_events_alone(tmp_path):
    file = tmp_path / "lab.db"
    campaign = by_hand(so.Campaign(LINE, 0.1, file=file), hill, 3)
    campaign.correct(2, 5.0)
    campaign.ask()
    events = campaign._record.store.read(0)
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    halves = Ledger().after(events[:4]).after(events[4:])
    assert halves == Ledger().after(events) == campaign.ledger
    assert campaign.ledger.generation == next(e.seq for e in events if isinstance(e.what, Told) and e.what.corrects)
    bodies = sqlite3.connect(file).execute("SELECT body FROM events").fetchall()
    assert all(json.loads(body) for (body,) in bodies), "a person can read it"


# ---------------------------------------------------------------------------------------------------- maximize on a file


def test_a_call_that_was_killed_goes_on_where_it_was(tmp_path):
    """Killed while the fifth value is measured: it is measured again, nothing else is."""
    file, whole, calls = tmp_path / "run.db", so.maximize(hill, LINE, 0.1, evaluations=8), []

    def f(point):
        calls.append(point["x"])
        if len(calls) == 5:
            raise SystemExit
        return hill(point)

    options = {"evaluations": 8, "file": file, "data": ([{"x": 0.9}], [hill({"x": 0.9})])}
    with pytest.raises(SystemExit):
        so.maximize(f, LINE, 0.1, **options)
    result = so.maximize(f, LINE, 0.1, **options)
    assert len(calls) == 9 and calls[4] == calls[5] and len(result.evaluations) == 9, "data count once"
    assert brief(result) == brief(so.maximize(hill, LINE, 0.1, evaluations=8, data=options["data"]))
    again = so.maximize(f, LINE, 0.1, **options)
    assert len(calls) == 9 and brief(again) == brief(result) and again.stopped == "budget"
    assert len(whole.evaluations) == 8
    words = "expected the words of the campaign", "another tolerance"
    refused(lambda: so.maximize(f, LINE, 0.2, **options), ValueError, *words, "change(...)")
    campaign = so.Campaign(LINE, 0.1, file=file)
    assert campaign.counts["done"] == 9 and brief(campaign.result) == brief(result)


def test_failures_are_known_after_a_restart(tmp_path):
    def broken(point):
        raise OSError("no connection")

    for calls in (5, 1):
        with pytest.raises(so.ObjectiveError) as caught:
            so.maximize(broken, LINE, 0.1, evaluations=20, file=tmp_path / "run.db")
        assert len(caught.value.errors) == (5 if calls == 5 else 6)


# --------------------------------------------------------------------------------------------------- what is shown of it


def test_nothing_is_cut_off_silently():
    """A part at 0.95 costs 50: the ranges end at 1, so nobody looked there."""
    cost = so.minimize(lambda p: p["b"] if p["b"] >= 1 else 50.0, {"b": (1.0, 2.5)}, {"b": 0.05}, evaluations=7)
    assert cost.decision["b"] == pytest.approx(1.0, abs=1e-3)
    assert "b below 1 was not considered, but the tolerance reaches 0.95" in str(cost)
    assert "Float(1, 2.5, evaluate=(0.95, 2.5))" in str(cost)


@pytest.mark.parametrize(
    ("ranges", "tolerance", "best", "words"),
    [
        ({"x": (0.0, 1.0)}, 0.1, 0.5, []),
        ({"x": (0.0, 1.0)}, 0.1, 1.0, ["x above 1 was not considered", "reaches 1.1", "evaluate=(0, 1.1)"]),
        ({"x": (0.0, 1.0)}, {"x": (-0.1, 0)}, 1.0, []),
        ({"x": (0.0, 1.0)}, {"x": (-0.1, 0)}, 0.0, ["x below 0 was not considered", "reaches -0.1"]),
        ({"x": so.Float(0, 1, evaluate=(-1, 2))}, 0.1, 1.0, []),
        ({"x": so.Float(0.1, 1, log=True)}, 0.1, 1.0, ["x above 1", "reaches 1.1"]),
        ({"x": (0.5, 1.0)}, "10%", 1.0, ["x above 1", "reaches 1.1"]),
        ({"x": so.Integer(0, 5)}, 2, 5, ["x above 5", "reaches 7", "a wider range would"]),
        ([(0.0, 1.0)], so.Ellipsoid([[0.01]]), 1.0, ["variable 0 above 1", "reaches 1.1"]),
        (so.Grid.linspace(0, 1, 11), 0.1, 1.0, []),
    ],
)  # fmt: skip
def test_the_side_that_was_not_considered_is_named(ranges, tolerance, best, words):
    settings = np.linspace(*((0, 5) if isinstance(best, int) else (0.5, 1.0) if tolerance == "10%" else (0.1, 1.0) if "log=True" in str(ranges) else (0.0, 1.0)), 6)  # fmt: skip
    points = [{"x": x} if isinstance(ranges, dict) else [x] for x in settings.tolist()]
    model = so.GP(so.SE(2.0 if isinstance(best, int) else 0.3), 0.01)
    data = points, [-abs(x - best) for x in settings]
    text = str(so.assess(data, ranges, tolerance, model=model))
    assert all(word in text for word in words) and ("cut off" in text) == bool(words)


def test_notebooks_show_tables_and_everything_is_escaped():
    campaign = so.Campaign({"<b>x": (0.0, 1.0), "kind": ["<script>", "b"]}, {"<b>x": 0.1}, who="<img>")
    campaign.tell({"<b>x": 0.5, "kind": "<script>"}, 1.0)
    campaign.tell({"<b>x": 0.6, "kind": "b"}, failed="<i>")
    result = campaign.result
    assessment = so.assess(campaign.trials, {"<b>x": (0.0, 1.0), "kind": ["<script>", "b"]}, {"<b>x": 0.1})
    for shown in (campaign, result, result.profile([0, 1]), assessment):
        html = shown._repr_html_()
        assert html.startswith("<table>") and "&lt;" in html and len(repr(shown).splitlines()) == 1
        assert not any(tag in html for tag in ("<b>", "<script>", "<i>", "<img>"))
    assert repr(campaign) == "Campaign(in memory: 1 done, 1 failed)"
    empty = so.Campaign(LINE, 0.1)
    assert "nothing is known yet" in empty.result._repr_html_() and repr(empty.result) == "Result(nothing is known yet)"
    assert empty._repr_html_().startswith("<table>")


def test_of_a_table_that_has_grown_only_the_new_rows_are_added(tmp_path):
    ranges, tolerance = {"temp": (20, 60), "ph": (4, 9)}, {"temp": 2, "ph": 0.3}
    campaign = so.Campaign(ranges, tolerance, value="yield", seed=0)
    trial = campaign.ask()
    campaign.tell(trial, 2.5)
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("temp,ph,yield\n30,6.5,4.9\n40,5,3\n40,5,3\n")
    assert campaign.add(sheet, again=False) == [2, 3, 4]
    assert campaign.add(sheet, again=False) == []
    sheet.write_text("temp,ph,yield\n50,5,4\n30,6.5,4.9\n40,5,3\n40,5,3\n40,5,3\n")
    assert campaign.add(sheet, again=False) == [5, 6]  # one more of the same is an experiment of its own
    campaign.correct(2, 4.7)
    assert campaign.add(sheet, again=False) == []  # what was corrected is not brought back
    assert campaign.add(campaign.to_dataframe(), again=False) == []  # nor is the corrected row a new one
    assert campaign.add(sheet) == [7, 8, 9, 10, 11]
    waiting = campaign.ask()
    campaign.tell(waiting, failed="no crystals")
    rows = [{**waiting.point, "yield": None}, {"temp": 50, "ph": 5, "yield": 4}]
    assert campaign.add(rows, again=False) == []  # a failure is known, too
