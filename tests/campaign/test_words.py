"""Promises about the user's words: what they mean, without an optimiser."""

import pytest
from helpers.refusals import refused

import stableopt as so
from stableopt.campaign.words import Words

RANGES = {"temperature": (20, 90), "ph": (3.0, 9.0), "kind": ["a", "b"]}
SPACE = so.Space(RANGES)


@pytest.mark.parametrize(
    ("tolerance", "means"),
    [
        (2.0, so.Rectangle([2.0, 2.0], columns=[0, 1])),
        ({"ph": 0.3}, so.Rectangle([0.3], columns=[1])),
        ([2.0, 0.3], so.Rectangle([2.0, 0.3], columns=[0, 1])),
        ("2%", so.Relative([0.02, 0.02], columns=[0, 1])),
        ({"temperature": "5 %", "ph": 0.1}, so.Rectangle([0.1], columns=[1]) * so.Relative([0.05], columns=[0])),
        ({"ph": (-0.1, 0.3)}, so.Rectangle([(-0.1, 0.3)], columns=[1])),
        ([2.0, (0, 0.3)], so.Rectangle([2.0, (0.0, 0.3)], columns=[0, 1])),
        ((-0.1, 0.3), so.Rectangle([(-0.1, 0.3), (-0.1, 0.3)], columns=[0, 1])),
        ((0, 0.3), so.Rectangle([0.0, 0.3], columns=[0, 1])),
        (("-1%", "2%"), so.Relative([(-0.01, 0.02), (-0.01, 0.02)], columns=[0, 1])),
        (0, so.Rectangle(0)),
        (so.Ball(0.1, columns=["ph"]), so.Ball(0.1, columns=["ph"])),
    ],
)
def test_a_tolerance_means_a_set(tolerance, means):
    assert Words(RANGES, tolerance).uncertainty == means
    assert Words(SPACE, tolerance).uncertainty == means
    assert Words(RANGES, tolerance).domain == SPACE


@pytest.mark.parametrize(
    ("environment", "means"),
    [
        ({"wind": (0, 12)}, so.Parameters(so.Space({"wind": (0, 12)}))),
        (so.Space({"wind": (0, 12)}), so.Parameters(so.Space({"wind": (0, 12)}))),
        ([[2.0], [6.0]], so.Parameters([[2.0], [6.0]])),
        (so.Parameters([[2.0], [6.0]]), so.Parameters([[2.0], [6.0]])),
    ],
)
def test_an_environment_means_parameters(environment, means):
    assert Words(RANGES, None, environment).uncertainty == means
    both = Words(RANGES, 2.0, environment).uncertainty
    assert both.parameters == means and both.perturbations == [so.Rectangle([2.0, 2.0], columns=[0, 1])]


def test_scenarios_with_names_may_have_words():
    theta = Words(RANGES, None, [{"sky": "clear", "wind": 2.0}, {"sky": "rain", "wind": 6.0}]).uncertainty.parameters
    assert theta.theta.labels == ["sky", "wind"] and theta.theta.categories == (0,)


def test_the_model_is_learned_unless_it_is_given():
    assert Words(RANGES, 1.0).prior == so.Learned(warp=None)
    assert Words(RANGES, 1.0, noise=0.1).prior == so.Learned(noise=0.1)
    assert Words(RANGES, 1.0, model=so.GP(so.SE(1.0), 0.1)).prior == so.GP(so.SE(1.0), 0.1)
    both = Words(RANGES, 1.0, noise=0.1, model=so.Learned())
    refused(lambda: both.prior, ValueError, "noise or a model", "got both")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (Words(RANGES), "expected a tolerance"),
        (Words(RANGES, {"temprature": 1.0}), "did you mean 'temperature'?"),
        (Words(RANGES, {"ph": -1.0}), "a number of at least 0"),
        (Words(RANGES, {"ph": (0.1, 0.3)}), "two ends such as (-0.1, 0.3)"),
        (Words(RANGES, {"ph": ("-1%", 0.3)}), "two ends such as (-0.1, 0.3)"),
        (Words(RANGES, {"ph": (-0.1, 0.2, 0.3)}), "two ends such as (-0.1, 0.3)"),
        (Words(RANGES, [1.0]), "one for each of 2 numbers"),
        (Words(RANGES, {"kind": 1.0}), "expected"),
        (Words(RANGES, None, 5.0), "expected an environment"),
        (Words(RANGES, None, (0, 12)), "expected a range by name"),
        (Words(so.Grid.linspace(0, 1, 5), [0.1, 0.2]), "for a finite domain"),
    ],
)
def test_words_that_cannot_be_meant_are_refused(words, message):
    with pytest.raises(ValueError, match="expected") as caught:
        so.Optimizer(words.domain, words.uncertainty)
    assert message in str(caught.value)
