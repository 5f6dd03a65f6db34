"""Optuna's own tests of samplers, inherited: every class that applies to a sampler for one objective."""

import pytest

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


class TestRelative(_Ours, RelativeSamplerTestCase):
    pass


class TestSingleOnly(_Ours, SingleOnlySamplerTestCase):
    pass
