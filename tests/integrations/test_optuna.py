"""Promises about studies in Optuna: the words, the trials of others, what is stored, and what is refused."""

import copy
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

pytest.importorskip("optuna")

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

import stableopt as so
from stableopt.integrations.optuna import (
    Certificate,
    StableOptSampler,
    assess,
    certificate,
    profile,
    stable_best,
    to_campaign,
    to_study,
)
from stableopt.integrations.optuna.learning import DECISION, FAILED, LOWER, PROPOSAL, UPPER, WORDS

optuna.logging.set_verbosity(optuna.logging.WARNING)
pytestmark = pytest.mark.usefixtures("quick")  # no promise here depends on the effort of a search
SPACE = {"x": FloatDistribution(0.0, 10.0), "wind": FloatDistribution(0.0, 4.0)}
MODEL = so.GP(so.SE(2.0), 0.05)


def f(x, wind=0.0):
    return float(np.sin(x) + 0.1 * x - 0.05 * wind * x)


def sampler(**words):
    return StableOptSampler(**{"tolerance": {"x": 0.5}, "environment": ["wind"], "model": MODEL, "initial": 4, **words})


def objective(trial):
    return f(trial.suggest_float("x", 0.0, 10.0), trial.suggest_float("wind", 0.0, 4.0))


def study_with(count=8, own=None, direction="maximize", **storage):
    """A study with trials that somebody else made."""
    study = optuna.create_study(direction=direction, sampler=own, **storage)
    rng = np.random.default_rng(1)
    for x, wind in rng.random((count, 2)) * [10.0, 4.0]:
        study.add_trial(create_trial(params={"x": x, "wind": wind}, distributions=SPACE, value=f(x, wind)))
    return study


# ---------------------------------------------------------------------------------------------------------- the words

MANY = {
    "x": FloatDistribution(0.0, 10.0),
    "lr": FloatDistribution(1e-4, 1e-1, log=True),
    "dose": FloatDistribution(0.0, 1.0, step=0.25),
    "n": IntDistribution(1, 7),
    "even": IntDistribution(2, 20, step=2),
    "kind": CategoricalDistribution(["a", "b"]),
    "wind": FloatDistribution(0.0, 4.0),
}
RANGES = {
    "x": (0.0, 10.0),
    "lr": so.Float(1e-4, 1e-1, log=True),
    "dose": so.Float(0.0, 1.0, step=0.25),
    "n": so.Integer(1, 7),
    "even": so.Float(2, 20, step=2),
    "kind": ["a", "b"],
}


@pytest.mark.parametrize(
    ("tolerance", "direction"),
    [
        ({"x": 0.5, "lr": "20%", "n": 1}, "maximize"),
        ({"x": (-0.1, 0.4), "even": 2}, "minimize"),
        (so.Ball(0.5, columns=["x", "n"]), "maximize"),
    ],
    ids=str,
)
def test_a_proposal_is_what_a_campaign_with_the_same_words_asks_for(tolerance, direction):
    study = optuna.create_study(direction=direction)
    rows, rng = [], np.random.default_rng(0)
    for i in range(9):
        params = optuna.samplers.RandomSampler(i)
        params = {n: params.sample_independent(study, None, n, d) for n, d in MANY.items()}
        rows.append({**params, "value": float(rng.normal())})
        study.add_trial(create_trial(params=params, distributions=MANY, value=rows[-1]["value"]))
    study.sampler = StableOptSampler(tolerance, environment="wind", initial=4, certify=0)
    trial = study.ask(MANY)
    words = {"environment": {"wind": (0.0, 4.0)}, "initial": 4, "minimize": direction == "minimize"}
    asked = so.Campaign(RANGES, tolerance, data=rows, **words).ask()
    assert trial.params == asked.point and trial.user_attrs[DECISION] == asked.decision
    sign = -1 if direction == "minimize" else 1
    bound = trial.user_attrs[LOWER if sign > 0 else UPPER]
    assert bound == pytest.approx(asked.lower) and trial.user_attrs[LOWER] <= trial.user_attrs[UPPER]
    assert isinstance(trial.params["even"], int) and trial.params["even"] % 2 == 0


def test_decisions_are_kept_to_their_ranges_and_measured_beyond_them():
    own = StableOptSampler({"x": 2.0}, environment="wind", ranges={"x": (3.0, 7.0)}, model=MODEL, certify=0)
    study = optuna.create_study(direction="maximize", sampler=own)
    for _ in range(10):
        trial = study.ask({"x": SPACE["x"], "wind": SPACE["wind"]})
        assert 3.0 <= trial.user_attrs.get(DECISION, {"x": 3.0})["x"] <= 7.0
        study.tell(trial, -0.2 * abs(trial.params["x"] - 3.0))
    assert min(t.params["x"] for t in study.trials[4:]) < 3.0
    assert 3.0 <= stable_best(study).decision["x"] <= 4.0


@pytest.mark.parametrize("choices", [(None, "a", 3), (True, 1, "1"), (float("nan"), 1.0)], ids=str)
def test_any_choice_of_a_category_is_proposed_as_it_is(choices):
    space = {"c": CategoricalDistribution(choices), "x": FloatDistribution(0.0, 1.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(sampler=StableOptSampler({"x": 0.1}, initial=3))
        for _ in range(5):
            trial = study.ask(space)
            assert any(trial.params["c"] is c for c in choices)
            study.tell(trial, trial.params["x"])
    assert stable_best(study).decision.keys() == {"c", "x"}


def test_parameters_that_cannot_vary_are_no_part_of_the_space():
    study = optuna.create_study(sampler=StableOptSampler(0.1))
    space = {"x": FloatDistribution(0.0, 1.0), "one": IntDistribution(3, 3), "y": FloatDistribution(2.0, 2.0)}
    for _ in range(3):
        study.tell(study.ask(space), 1.0)
    assert list(stable_best(study).decision) == ["x"]


# -------------------------------------------------------------------------------------------------- others at the work


def test_running_trials_are_pending_so_no_point_is_proposed_twice():
    study = study_with(6, sampler())
    points = [tuple(study.ask(SPACE).params.values()) for _ in range(6)]
    assert len(set(points)) == 6
    small = {"x": IntDistribution(0, 3), "kind": CategoricalDistribution(["a", "b"])}
    study = optuna.create_study(sampler=StableOptSampler(tolerance=0, initial=2))
    study.tell(study.ask(small), 0.0)
    points = [tuple(study.ask(small).params.values()) for _ in range(7)]
    assert len(set(points)) == 7, "there are eight points, and one of them is measured"


def test_processes_that_propose_at_the_same_moment_propose_different_points(tmp_path):
    url, space = f"sqlite:///{tmp_path / 'study.db'}", {"x": IntDistribution(0, 15)}
    study = optuna.create_study(storage=url, study_name="s", sampler=StableOptSampler({"x": 1}, initial=12))
    study.tell(study.ask(space), 0.0)
    barrier, found = threading.Barrier(4), []

    def work():  # each with a storage and a sampler of its own, as a process has them
        mine = optuna.load_study(study_name="s", storage=url, sampler=StableOptSampler({"x": 1}, initial=12))
        for _ in range(2):
            barrier.wait()
            found.append(mine.ask(space).params["x"])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(set(found)) == 8


def overtaken(monkeypatch, other_worker):
    """What a worker proposes alone, and after another one did something between its choosing and its writing; both."""
    study, written = study_with(6), StableOptSampler._propose
    alone = copy.deepcopy(study)
    alone.sampler, study.sampler = sampler(certify=0), sampler(certify=0)

    def propose(self, study, trial, learner, query):
        monkeypatch.setattr(StableOptSampler, "_propose", written)
        other_worker(self, study, learner, query)
        return written(self, study, trial, learner, query)

    first = alone.ask(SPACE).params
    monkeypatch.setattr("stableopt.integrations.optuna.sampler._MOMENT", 0.0)
    monkeypatch.setattr(StableOptSampler, "_propose", propose)
    return first, study.ask(SPACE).params, study


def test_a_worker_that_is_overtaken_between_choosing_and_writing_moves_on(monkeypatch):
    def takes_the_point(own, study, learner, query):
        other = study._storage.create_new_trial(study._study_id)
        own._propose(study, study._storage.get_trial(other), learner, query)

    first, then, _ = overtaken(monkeypatch, takes_the_point)
    assert then != pytest.approx(first)


def test_a_worker_whose_point_was_measured_while_it_thought_moves_on(monkeypatch):
    def measures_it(own, study, learner, query):
        params = learner.problem.params(query.point)
        study.add_trial(optuna.create_trial(params=params, distributions=SPACE, value=0.3))

    first, then, study = overtaken(monkeypatch, measures_it)
    assert then != pytest.approx(first)
    assert len(study.sampler._learner[1].optimizer.rounds) == 7, "the value of the other worker is learned"


def test_threads_of_one_study_share_the_sampler():
    study = optuna.create_study(direction="maximize", sampler=sampler(certify=0))
    study.optimize(objective, n_trials=10, n_jobs=3)
    points = [tuple(t.params.values()) for t in study.trials]
    assert len(set(points)) == len(points) == 10


def test_what_one_process_learns_bit_by_bit_is_what_another_learns_at_once():
    study = optuna.create_study(direction="maximize", sampler=sampler(certify=0))
    study.optimize(objective, n_trials=8)
    learned = len(study.sampler._learner[1].optimizer.rounds)
    proposed = []
    for own in (study.sampler, pickle.loads(pickle.dumps(study.sampler)), sampler(certify=0)):
        study.sampler = own
        trial = study.ask(SPACE)
        proposed.append(trial.params)
        study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)  # as if its worker had died
    assert learned == 7 and proposed[1] == proposed[0] and proposed[2] == pytest.approx(proposed[0], abs=1e-6)


def test_an_enqueued_trial_is_made_as_it_is_and_serves_no_decision():
    study = study_with(6, sampler())
    study.enqueue_trial({"x": 1.25, "wind": 3.0})
    study.optimize(objective, n_trials=2)
    first, second = study.trials[6:]
    assert first.params == {"x": 1.25, "wind": 3.0} and PROPOSAL not in first.system_attrs
    rounds = stable_best(study).state.rounds
    assert [r.asked for r in rounds[6:]] == [False, True] and DECISION in second.user_attrs


def test_a_trial_that_failed_is_avoided_and_one_whose_worker_died_is_not():
    study = study_with(6, sampler(certify=0))
    killed = study.ask(SPACE)
    study._storage.set_trial_state_values(killed._trial_id, TrialState.FAIL)  # as the heartbeat does it
    assert not stable_best(study).state.failures
    assert study.ask(SPACE).params == pytest.approx(killed.params), "it is still what should be measured next"
    failed = study.trials[-1].number
    study.tell(failed, state=TrialState.FAIL)
    assert study.trials[failed].system_attrs[FAILED] and len(stable_best(study).state.failures) == 1
    assert study.ask(SPACE).params != pytest.approx(killed.params)


def test_a_failure_that_was_repeated_with_success_is_none():
    study = study_with(6, sampler(certify=0))
    params = {"x": 5.0, "wind": 1.0}
    study.add_trial(create_trial(state=TrialState.FAIL, params=params, distributions=SPACE))
    assert len(stable_best(study).state.failures) == 1
    study.ask(SPACE)
    study.add_trial(create_trial(params=params, distributions=SPACE, value=f(5.0, 1.0)))
    assert not stable_best(study).state.failures
    study.ask(SPACE)
    assert not study.sampler._learner[1].optimizer.failures


def test_pruned_trials_are_not_proposed_again_and_have_no_value():
    def pruned(trial):
        objective(trial)
        trial.report(99.0, 1)
        raise optuna.TrialPruned

    study = study_with(6, sampler(certify=0))
    study.optimize(pruned, n_trials=3)
    assert len({tuple(t.params.values()) for t in study.trials}) == 9
    assert max(r.y for r in stable_best(study).state.rounds) < 99.0


def test_parameters_that_come_and_go_are_left_to_chance_with_one_warning():
    def conditional(trial):
        x = trial.suggest_float("x", 0.0, 10.0)
        extra = trial.suggest_float("extra", 0.0, 1.0) if trial.number % 2 else trial.suggest_int("other", 0, 5)
        return f(x) + 0.01 * extra

    study = optuna.create_study(sampler=StableOptSampler({"x": 0.5}, model=MODEL))
    with pytest.warns(UserWarning) as said:
        study.optimize(conditional, n_trials=8)
    (warning,) = [str(w.message) for w in said]
    assert "all trials share, ['x', 'other'], and not 'extra' (some lack it)" in warning
    assert all(DECISION in t.user_attrs for t in study.trials[2:])
    with pytest.warns(UserWarning, match="some trials lack"):
        assert list(stable_best(study).decision) == ["x"]


# ----------------------------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_answers_on_the_study_of_another_sampler_are_those_of_assess(direction):
    study = study_with(10, optuna.samplers.RandomSampler(0), direction)
    words = {"environment": ["wind"], "model": MODEL}
    ours = assess(study, {"x": 0.5}, **words)
    data = [{**t.params, "value": t.value} for t in study.trials]
    minimize = direction == "minimize"
    space = {"wind": (0.0, 4.0)}
    same = so.assess(data, {"x": (0, 10)}, {"x": 0.5}, environment=space, model=MODEL, minimize=minimize)
    assert ours.decision == pytest.approx(same.decision) and ours.worst_case[1:] == pytest.approx(same.worst_case[1:])
    best, promised = stable_best(study, {"x": 0.5}, **words), certificate(study, {"x": 0.5}, **words)
    assert best.decision == pytest.approx(same.decision)
    assert promised.regret == pytest.approx(same.regret_bound, rel=1e-4), "both are searched for"
    assert promised.data["values"] == 10 and promised.data["worst case"] == pytest.approx(
        [promised.lower, promised.upper]
    )
    assert best.worst_case[1:] == pytest.approx((promised.lower, promised.upper))
    rows = profile(study, {"x": 0.5}, factors=[0, 1], **words)
    assert rows[1].decision == pytest.approx(same.decision)
    better = rows[0].worst_case.lower - rows[1].worst_case.lower
    assert (-1 if minimize else 1) * better >= -1e-9, "no tolerance is never worse than some"


def test_a_study_knows_its_words_when_it_is_loaded_elsewhere(tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = study_with(5, sampler(), storage=url, study_name="s")
    study.optimize(objective, n_trials=3)
    loaded = optuna.load_study(study_name="s", storage=url)
    assert stable_best(loaded).decision == pytest.approx(stable_best(study).decision)
    assert str(certificate(loaded)) == str(certificate(study))


def test_the_certificate_is_stored_with_every_so_many_trials():
    study = study_with(6, sampler(certify=2))
    study.optimize(objective, n_trials=3)
    stored = [t.user_attrs.get("stableopt:certificate") for t in study.trials[6:]]
    assert stored[1] is None and stored[0]["values"] == 6 and stored[2]["values"] == 8
    assert stored[0]["worst case"][0] <= stored[0]["worst case"][1] <= stored[0]["optimum"] + 1e-9


def test_the_last_certificate_is_the_one_of_the_stored_trials():
    study = study_with(6, sampler(certify=1))
    before = certificate(study)
    study.ask(SPACE)
    assert study.trials[-1].user_attrs["stableopt:certificate"] == before.data
    assert isinstance(before, Certificate) and "worst case between" in str(before)


def test_a_study_becomes_a_campaign_and_a_campaign_a_study(tmp_path):
    study = study_with(7, sampler())
    study.optimize(objective, n_trials=2)
    campaign = to_campaign(study, file=tmp_path / "campaign.db")
    assert campaign.counts["done"] == 9
    assert campaign.result.worst_case[1:] == pytest.approx(stable_best(study).worst_case[1:], abs=1e-6)
    trial = campaign.ask()
    campaign.tell(trial, f(**trial.point))
    campaign.tell(campaign.ask(), failed="power cut")
    waiting = campaign.ask()
    back = to_study(campaign)
    states = [t.state.name for t in back.trials]
    assert states == ["COMPLETE"] * 10 + ["FAIL", "WAITING"]
    assert back.trials[9].user_attrs[DECISION] == trial.decision
    answer = stable_best(back)
    assert answer.decision == pytest.approx(campaign.result.decision) and len(answer.state.failures) == 1
    back.sampler = sampler()
    assert back.ask(SPACE).params == waiting.point


def test_a_campaign_without_names_or_with_fixed_candidates_is_no_study():
    with pytest.raises(ValueError, match="expected a campaign with named ranges"):
        to_study(so.Campaign([(0, 1)], 0.1))
    with pytest.raises(ValueError, match="got fixed candidates"):
        to_study(so.Campaign({("a", "b"): so.Points([[0, 1], [1, 0], [2, 2]]), "x": (0, 1)}, {"x": 0.1}))


def test_steps_and_scales_of_a_campaign_are_those_of_the_study():
    campaign = so.Campaign(RANGES, {"x": 0.1}, environment={"wind": (0.0, 4.0)})
    campaign.tell(campaign.ask(), 1.0)
    assert to_study(campaign).trials[0].distributions == {**MANY, "even": FloatDistribution(2, 20, step=2)}
    point = {**campaign.trial(1).point, "dose": 0.3}
    campaign.tell(point, 2.0)
    assert to_study(campaign).trials[1].params["dose"] == 0.3


# --------------------------------------------------------------------------------------------------------- constraints


def pulling(trial):
    """Grows with x; what must stay below 0 is 0 at x = 6, so with a tolerance of 1 the limit of decisions is 5."""
    return 0.2 * trial.suggest_float("x", 0.0, 10.0)


def test_constraints_are_kept_at_every_point_of_the_decision():
    own = StableOptSampler({"x": 1.0}, constraints_func=lambda trial: [0.3 * (trial.params["x"] - 6.0)], certify=0)
    study = optuna.create_study(direction="maximize", sampler=own)
    study.optimize(pulling, n_trials=9)
    assert study.trials[0].system_attrs["constraints"] == [0.3 * (study.trials[0].params["x"] - 6.0)]
    best = stable_best(study)
    assert best.feasible == "certified" and 4.0 < best.decision["x"] <= 5.02
    assert certificate(study).data["limits"] == "certified" and "limits: certified" in str(certificate(study))
    loaded = optuna.create_study(direction="maximize")
    loaded.add_trials(study.trials)
    assert stable_best(loaded, {"x": 1.0}).decision == pytest.approx(best.decision, abs=1e-3)
    result = to_campaign(study).result
    assert result.feasible == "certified" and result.decision == pytest.approx(best.decision, abs=0.05)


def test_a_trial_with_an_infinite_constraint_counts_as_failed():
    own = StableOptSampler(
        {"x": 1.0}, constraints_func=lambda trial: [float("inf")] * (trial.params["x"] > 6) or [-1.0]
    )
    study = optuna.create_study(direction="maximize", sampler=own)
    study.optimize(pulling, n_trials=7)
    beyond = [trial for trial in study.trials if trial.params["x"] > 6]
    evaluations = stable_best(study).evaluations
    assert beyond and sum(e.value is None for e in evaluations) == len(beyond) and len(evaluations) == 7


def test_limits_of_a_campaign_are_those_of_the_study():
    campaign = so.Campaign({"x": (0.0, 10.0)}, {"x": 1.0}, constraints={"stress": (None, 14.0)})
    for _ in range(6):
        trial = campaign.ask()
        campaign.tell(trial, {"value": trial.point["x"], "stress": 8.0 + trial.point["x"]})
    study = to_study(campaign)
    first = study.trials[0]
    assert first.user_attrs["stress"] == 8.0 + first.params["x"]
    assert first.system_attrs["constraints:stress"] == pytest.approx(first.params["x"] - 6.0)
    best = stable_best(study)
    assert best.feasible == campaign.result.feasible
    assert best.decision == pytest.approx(campaign.result.decision, abs=0.05)


@pytest.mark.skipif(not hasattr(optuna.Trial, "set_constraint"), reason="of Optuna 5")
def test_constraints_that_a_trial_sets_by_name_count():
    def objective(trial):
        value = pulling(trial)
        trial.set_constraint("pull", trial.params["x"] - 6.0)
        return value

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(0))
    study.optimize(objective, n_trials=8)
    best = stable_best(study, {"x": 1.0})
    assert [margin.name for margin in best.report.constraints] == ["pull"] and best.decision["x"] <= 5.05


def test_a_constraint_that_is_no_number_is_refused_and_the_value_is_kept():
    study = optuna.create_study(sampler=StableOptSampler(0.1, constraints_func=lambda trial: [float("nan")]))
    with pytest.raises(ValueError, match="expected constraints_func to return numbers"):
        study.optimize(pulling, n_trials=1)
    assert study.trials[0].state is TrialState.COMPLETE


def test_text_of_a_study_is_escaped_in_pages():
    evil = "<script>alert(1)</script>"
    space = {evil: FloatDistribution(0.0, 1.0), "c": CategoricalDistribution([evil, "b"])}
    study = optuna.create_study(study_name=evil, sampler=StableOptSampler(0.1))
    for value in (0.0, 1.0):
        study.tell(study.ask(space), value)
    for page in (stable_best(study), assess(study), profile(study, factors=[1]), to_campaign(study)):
        shown = page._repr_html_()
        assert "<script" not in shown and "&lt;script" in shown


# ------------------------------------------------------------------------------------------------------ what is refused


def test_a_sampler_that_would_not_be_robust_says_so():
    with pytest.raises(ValueError, match="got neither: then nothing is robust"):
        StableOptSampler()
    with pytest.raises(ValueError, match="got neither: then nothing is robust"):
        StableOptSampler(environment=[])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"tolerance": {"x": -1.0}}, "expected a tolerance of 'x'"),
        ({"tolerance": "a lot"}, "expected a tolerance of"),
        ({"tolerance": {3: 0.1}}, "expected names of parameters"),
        ({"tolerance": {"x": 0.1}, "environment": ["x"]}, "got one for the environment"),
        ({"environment": {"wind": (0, 12)}}, "expected an environment as names"),
        ({"environment": [3]}, "expected an environment as names"),
        ({"tolerance": 0.1, "ranges": {"x": 3}}, "expected ranges of decisions"),
        ({"tolerance": 0.1, "ranges": [(0, 1)]}, "expected ranges of decisions"),
        ({"tolerance": 0.1, "certify": -1}, "expected certify"),
        ({"tolerance": 0.1, "seed": "a"}, "expected a seed"),
    ],
    ids=str,
)
def test_words_that_cannot_be_meant_are_refused_before_there_is_a_study(words, error):
    with pytest.raises(ValueError, match=error):
        StableOptSampler(**words)


def test_an_unknown_word_is_refused():
    with pytest.raises(TypeError, match=r"expected some of .* as words, got \['tolerence'\]"):
        StableOptSampler(0.1, tolerence=3)


@pytest.mark.parametrize(
    "words", [{"tolerance": {"y": 0.1}}, {"environment": ["wund"]}, {"ranges": {"z": (0, 1)}}], ids=str
)
def test_words_about_what_the_objective_never_suggests_are_refused_after_the_first_trial(words):
    study = optuna.create_study(sampler=sampler(**words))
    with pytest.raises(ValueError, match=r"expected words about parameters that the objective suggests, .*'x'"):
        study.optimize(objective, n_trials=5)
    assert [t.state.name for t in study.trials] == ["COMPLETE"], "its value is kept, and no other trial was begun"
    with (
        pytest.raises(ValueError, match="did you mean 'wind'") if "environment" in words else pytest.raises(ValueError)
    ):
        stable_best(study)


def test_a_study_with_several_objectives_is_refused():
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler())
    for call in (stable_best, assess, certificate, profile, to_campaign):
        with pytest.raises(ValueError, match="expected a study with one objective, got 2"):
            call(study, 0.1)
    with pytest.raises(ValueError, match="expected a study with one objective"):
        study.optimize(lambda t: (objective(t), 0.0), n_trials=1)
    assert not study.user_attrs


def test_another_range_than_before_is_refused_where_words_are_about_it():
    study = study_with(5, sampler())
    wide = {**SPACE, "x": FloatDistribution(0.0, 20.0)}
    study.add_trial(create_trial(params={"x": 15.0, "wind": 1.0}, distributions=wide, value=0.0))
    before = study.trials
    for call in (lambda: study.sampler.infer_relative_search_space(study, None), lambda: stable_best(study)):
        with pytest.raises(ValueError, match=r"expected one range of 'x' in all trials, got .*10.0.* and .*20.0"):
            call()
    assert study.trials == before
    known = stable_best(study, {"x": 0.5}, environment=["wind"], model=MODEL, ranges={"x": (0.0, 10.0)})
    assert known.state.t == 6 and known.decision["x"] <= 10.0
    study.sampler = sampler(ranges={"x": (0.0, 20.0)})
    study.optimize(lambda t: f(t.suggest_float("x", 0.0, 20.0), t.suggest_float("wind", 0.0, 4.0)), n_trials=2)
    assert DECISION in study.trials[-1].user_attrs


def test_another_range_that_no_word_is_about_is_left_to_chance():
    study = study_with(5, StableOptSampler({"x": 0.5}, model=MODEL))
    with pytest.warns(UserWarning, match="its range is not always the same"):
        study.optimize(lambda t: f(t.suggest_float("x", 0, 10), t.suggest_float("wind", 0, 9)), n_trials=2)
    with pytest.raises(ValueError, match="expected one range of 'wind'"):
        stable_best(study)


@pytest.mark.parametrize("call", [stable_best, assess, certificate, profile, to_campaign])
def test_a_study_without_words_or_values_says_what_to_do(call):
    with pytest.raises(ValueError, match=r"since another sampler ran it: stable_best\(study, tolerance=...\)"):
        call(study_with(3))
    with pytest.raises(ValueError, match="expected a study with at least one complete trial"):
        call(optuna.create_study(), 0.1)


def test_words_that_do_not_fit_the_trials_any_more_are_said_again():
    study = study_with(4)
    study.set_user_attr(WORDS, to_study(so.Campaign({"y": (0, 1)}, 0.1)).user_attrs[WORDS])
    with pytest.raises(ValueError, match="got none for \\['y'\\]: say the words again"):
        stable_best(study)


def test_a_storage_that_does_not_answer_says_so(tmp_path):
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path / 'study.db'}")
    study = study_with(3, sampler(), storage=storage)
    storage.engine.dispose()
    (tmp_path / "study.db").write_bytes(b"no database" * 500)
    with pytest.raises(optuna.exceptions.StorageInternalError) as caught:
        stable_best(study)
    assert "did not answer" in caught.value.__notes__[0]


def test_all_parameters_cannot_be_the_environment():
    study = study_with(4, StableOptSampler(environment=["x", "wind"]))
    with pytest.raises(ValueError, match="expected a parameter to decide on"):
        stable_best(study)


def test_without_optuna_the_error_says_how_to_install_it():
    code = "import sys; sys.modules['optuna'] = None; import stableopt.integrations.optuna"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'stableopt[optuna]'" in done.stderr.splitlines()[-1]
