"""Promises of the exploration schedules: the formulas, their order, and what they refuse."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stableopt.base.values import from_dict
from stableopt.loop.schedules import (
    Alternating,
    BayesianBox,
    BayesianFinite,
    Calibrated,
    Constant,
    Curious,
    FixedDesign,
    LikelihoodRatio,
    PaperRkhs,
    Rkhs,
    Schedule,
)

LOG10 = math.log(10)
# Each β written out once more, for ξ = 0.1, in round t = 3 after a gain of 5.
FORMULAS = {
    "constant": (Constant(4.0), 4.0),
    "alternating": (Alternating(1.0, 4.0), 1.0),
    "curious": (Curious(1.0, (4.0, 9.0)), 1.0),
    "likelihood ratio": (LikelihoodRatio(2.0, 0.1), 4 + 2 * (5 + LOG10)),
    "likelihood ratio, louder noise": (LikelihoodRatio(2.0, 0.1, noise_ratio=3.0), 4 + 18 * (5 + LOG10)),
    "likelihood ratio, bounded gain": (LikelihoodRatio(2.0, 0.1, gamma=7.0), 4 + 2 * (7 + LOG10)),
    "rkhs": (Rkhs(2.0, 0.1), (2 + math.sqrt(2 * (5 + LOG10))) ** 2),
    "rkhs, louder noise": (Rkhs(2.0, 0.1, noise_ratio=3.0), (2 + 3 * math.sqrt(2 * (5 + LOG10))) ** 2),
    "rkhs, gain as a function": (Rkhs(2.0, 0.1, gamma=lambda s: 10.0 * s), (2 + math.sqrt(2 * (20 + LOG10))) ** 2),
    "paper": (PaperRkhs(2.0, 0.3, 0.1), (2 + 0.3 * math.sqrt(2 * (5 + 1 + LOG10))) ** 2),
    "fixed design": (FixedDesign(50, 2.0, 0.1), 4 + 2 * math.log(50 * 9 * math.pi**2 / 0.6)),
    "bayesian, finite": (BayesianFinite(50, 0.1), 2 * math.log(50 * 9 * math.pi**2 / 0.6)),
    "bayesian, box": (
        BayesianBox(2, 1.5, a=1.0, b=4.0, xi=0.1),
        2 * math.log(9 * 2 * math.pi**2 / 0.3) + 4 * math.log(9 * 2 * 4 * 1.5 * math.sqrt(math.log(80))),
    ),
    "calibrated": (Calibrated(2.0, 3.0, 0.1, 0.95, 100), 13.0),
}
SCHEDULES = {name: schedule for name, (schedule, _) in FORMULAS.items()}


@pytest.mark.parametrize("name", FORMULAS)
def test_beta_is_the_stated_formula(name):
    schedule, expected = FORMULAS[name]
    assert schedule.beta(3, 5.0) == pytest.approx(expected, rel=1e-14)


def test_the_gain_bound_is_asked_for_the_observations_before_the_round():
    asked = []
    Rkhs(1.0, 0.1, gamma=lambda s: asked.append(s) or 1.0).beta(7)
    assert asked == [6]


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_says_what_it_promises(name):
    schedule = SCHEDULES[name]
    assert isinstance(schedule, Schedule) and schedule.promise and type(schedule).__doc__
    proved = isinstance(schedule, LikelihoodRatio | Rkhs | FixedDesign | BayesianFinite)
    assert schedule.certifies == proved


@pytest.mark.parametrize("name", [name for name in SCHEDULES if "function" not in name])
def test_a_schedule_is_a_value_that_json_can_hold(name):
    schedule = SCHEDULES[name]
    again = from_dict(json.loads(json.dumps(schedule.to_dict())))
    assert again == schedule and hash(again) == hash(schedule) and again.beta(3, 5.0) == schedule.beta(3, 5.0)


def test_a_function_in_a_schedule_is_stored_by_its_name():
    def bound(observations: int) -> float:
        return 2.0 * observations

    schedule = Rkhs(1.0, 0.1, gamma=bound)
    data = json.loads(json.dumps(schedule.to_dict()))
    assert from_dict(data, {bound.__qualname__: bound}) == schedule


positive = st.floats(0.01, 100)


@given(positive, st.floats(0.001, 0.999), st.floats(0.01, 10), st.integers(1, 10**6), st.floats(0, 1e3))
def test_squares_that_add_are_smaller_than_the_square_of_a_sum(norm, xi, ratio, t, gain):
    assert LikelihoodRatio(norm, xi, ratio).beta(t, gain) < Rkhs(norm, xi, ratio).beta(t, gain)


@given(positive, st.floats(1.0, 10), st.floats(0.001, 0.999), st.floats(0, 1e3))
def test_the_printed_lemma_is_on_the_safe_side_for_noise_of_one_and_more(norm, noise, xi, gain):
    assert PaperRkhs(norm, noise, xi).beta(2, gain) > Rkhs(norm, xi).beta(2, gain)


def test_the_printed_lemma_forgets_the_noise_when_it_is_small():
    assert PaperRkhs(1.0, 0.01, 0.1).beta(100, 40.0) < 1.3 < 100 < Rkhs(1.0, 0.1).beta(100, 40.0)


@pytest.mark.parametrize("name", [name for name in SCHEDULES if name not in ("calibrated", "alternating")])
def test_beta_never_decreases(name):
    schedule = SCHEDULES[name]
    betas = [schedule.beta(t, 0.5 * t) for t in range(1, 200)]
    assert betas == sorted(betas)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rkhs(1.0, 0.0), "xi strictly between 0 and 1"),
        (lambda: Rkhs(1.0, 1.0), "xi strictly between 0 and 1"),
        (lambda: Rkhs(0.0, 0.1), "norm bound B above 0"),
        (lambda: LikelihoodRatio(-1.0, 0.1), "norm bound B above 0"),
        (lambda: LikelihoodRatio(1.0, float("nan")), "xi strictly between 0 and 1"),
        (lambda: LikelihoodRatio(1.0, 0.1, noise_ratio=0.0), "noise ratio above 0"),
        (lambda: LikelihoodRatio(1.0, 0.1, gamma=-1.0), "gamma as a number >= 0"),
        (lambda: LikelihoodRatio(1.0, 0.1, gamma=lambda s: -1.0).beta(4), "for 3 observations"),
        (lambda: PaperRkhs(1.0, 0.0, 0.1), "noise standard deviation above 0"),
        (lambda: FixedDesign(0, 1.0, 0.1), "number of points n of 1 or more"),
        (lambda: BayesianFinite(2.5, 0.1), "number of points n of 1 or more"),
        (lambda: BayesianBox(0, 1.0, 1.0, 1.0, 0.1), "dimension of 1 or more"),
        (lambda: BayesianBox(1, 1.0, 0.01, 1.0, 0.1), "use a larger a"),
        (lambda: Constant(0.0), "beta above 0"),
        (lambda: Alternating(0.0, 4.0), "small above 0"),
        (lambda: Alternating(1.0, 4.0, widest=0.0), "widest above 0"),
        (lambda: Alternating(1.0, 4.0, 0), "a number of rounds 1, 2, 3, ..., got 0"),
        (lambda: Curious(0.0, (4.0,)), "small above 0"),
        (lambda: Curious(1.0, ()), "larger than 1, the small one, got"),
        (lambda: Curious(1.0, (4.0, 0.5)), "larger than 1, the small one"),
        (lambda: Curious(1.0, (4.0, float("nan"))), "larger betas as numbers above 0"),
        (lambda: Curious(1.0, (float("inf"),)), "larger betas as numbers above 0"),
        (lambda: Calibrated(1.0, 3.0, 0.1, 1.0, 10), "confidence strictly between 0 and 1"),
        (lambda: Calibrated(1.0, 3.0, 0.1, 0.95, 10).beta(12), "calibrate for more rounds"),
        (lambda: Constant(4.0).beta(0), "round t = 1, 2, ..."),
        (lambda: Constant(4.0).beta(True), "round t = 1, 2, ..."),
        (lambda: Constant(4.0).beta(1, -0.1), "information gain of 0 or more"),
        (lambda: Constant(4.0).beta(1, float("inf")), "information gain of 0 or more"),
    ],
)
def test_a_wrong_number_is_refused_with_what_was_expected(make, message):
    with pytest.raises(ValueError, match=f"(?s){message.replace('.', '[.]')}"):
        make()


def test_alternating_takes_a_wide_look_now_and_then():
    betas = [Alternating(1.0, 4.0, every=2).beta(t) for t in range(1, 8)]
    assert betas == [1.0, 1.0, 1.0, 4.0, 1.0, 4.0, 1.0]
    assert Alternating(2.0, 3.0, every=1).beta(1) == 3.0


def test_the_larger_betas_of_a_curious_schedule_come_in_their_order():
    schedule = Curious(1.0, (9.0, 4.0, 4.0, 25.0))
    assert {schedule.beta(t) for t in range(1, 5)} == {1.0}
    assert {schedule.larger_at(t) for t in range(1, 5)} == {(4.0, 9.0, 25.0)}
    assert Constant(1.0).larger_at(3) == ()


def test_every_second_wide_look_may_be_wider():
    betas = [Alternating(1.0, 4.0, every=2, widest=9.0).beta(t) for t in range(1, 11)]
    assert betas == [1.0, 1.0, 1.0, 4.0, 1.0, 9.0, 1.0, 4.0, 1.0, 9.0]


def test_by_turns_the_first_larger_beta_chooses_and_only_larger_ones_take_over():
    schedule = Curious(0.5, (25.0, 4.0), turns=True)
    assert [schedule.at(t, 0.0) for t in range(4)] == [0.5, 4.0, 0.5, 4.0]
    assert sorted(schedule.instead(0)) == [4.0, 25.0] and list(schedule.instead(1)) == [25.0]


def test_larger_ones_than_the_first_take_over_in_every_so_many_rounds():
    schedule = Curious(0.5, (25.0, 4.0, 400.0), every=3)
    assert [list(schedule.instead(t)) for t in range(4)] == [[4.0, 25.0, 400.0], [4.0], [4.0], [4.0, 25.0, 400.0]]
    assert from_dict({"kind": "Curious", "small": 0.5, "larger": [4.0], "turns": False}) == Curious(0.5, (4.0,))
    with pytest.raises(ValueError, match="every"):
        Curious(0.5, (4.0,), every=0)
