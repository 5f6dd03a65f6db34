"""Optuna's own tests of samplers, inherited: every class that applies to a sampler for one objective."""

import pytest
from helpers.cases import extra

pytest.importorskip("optuna")

import optuna
from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase

from stableopt.integrations.optuna import StableOptSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)
# Objectives of these tests have conditional parameters, and ranges that change: that is said once, and they go on.
pytestmark = [
    pytest.mark.filterwarnings("ignore:the model knows the parameters that all trials share:UserWarning"),
    pytest.mark.usefixtures("quick"),
]


class _Ours:
    @pytest.fixture
    def sampler(self):
        return lambda: StableOptSampler(tolerance=0.1, initial=11)  # from the 12th point on, the model proposes


class TestBasic(_Ours, BasicSamplerTestCase):
    pass


NUMERICAL = RelativeSamplerTestCase.test_sample_relative_numerical
KINDS = NUMERICAL.pytestmark[0].args[1]  # of ranges
# Of all pairs, those that have each kind once as x and once as y.
PAIRS = [(x, y) if (j - i) % len(KINDS) == 1 else extra(x, y) for i, x in enumerate(KINDS) for j, y in enumerate(KINDS)]


class TestRelative(_Ours, RelativeSamplerTestCase):
    @pytest.mark.parametrize(("x_distribution", "y_distribution"), PAIRS)
    def test_sample_relative_numerical(self, sampler, x_distribution, y_distribution):
        NUMERICAL(self, sampler, x_distribution, y_distribution)


class TestSingleOnly(_Ours, SingleOnlySamplerTestCase):
    pass
