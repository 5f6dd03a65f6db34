"""How far a model can be trusted, in one line of words: from what it says of each value, given all others.

Notation
    t, q    values, and numbers that the model learns from them: its hyperparameters, noise, mean and variance
    r       leave-one-out residuals: about standard normal if the model is right (see `stableopt.model.residuals`)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stableopt.base.arrays import Array
from stableopt.loop.measurements import Data
from stableopt.loop.state import State
from stableopt.model.residuals import leave_one_out

_FEWEST = 3  # values, to say anything; and values for each number that is learned
_UNUSUAL = 0.001  # the chance of a residual that is called unusual, among as many as there are
_WRONG = 1.5  # times as large as expected, residuals say that the model is wrong
_DRIFT = 4.0  # standard deviations of a correlation with time


class Health(NamedTuple):
    """What can be said of a model."""

    trusted: bool
    """Whether its bounds can be taken at their word."""
    words: str
    unusual: tuple[int, ...] = ()
    """Trials, from 1, whose values are far from what all others say of them; the most surprising one first."""


def health(state: State) -> Health:
    """How far the model of a state can be trusted."""
    t, learned = state.t, state.objective.learned is not None
    likely = state.belief.gps[int(np.argmax(state.belief.weights))] if state.belief.weights else state.belief.gps[-1]
    q = len(likely.kernel.params) + 2
    if t < _FEWEST:
        return Health(False, f"too early to say: {t} value{'s' if t != 1 else ''} so far")
    data = Data.of(state.rounds)
    posterior = likely.condition(state.setting.inputs(data.points, learned), data.y, data.noise)
    residuals = leave_one_out(posterior)
    far = _far(t)
    unusual = tuple(int(i) + 1 for i in np.argsort(-np.abs(residuals)) if abs(residuals[i]) > far)
    usual = np.abs(residuals) <= far
    size = math.sqrt(float(np.mean(residuals[usual] ** 2))) if usual.any() else math.inf
    if learned and t < _FEWEST * q:
        return Health(False, f"too early to trust: {t} values for a model that learns {q} numbers", unusual)
    if len(unusual) > max(1, t // 20):
        return Health(False, f"not to be trusted: {len(unusual)} of {t} values are far from what it expects", unusual)
    if size > _WRONG:
        return Health(False, f"not to be trusted: its errors are {size:.1f} times as large as it expects", unusual)
    if abs(_trend(residuals)) > _DRIFT:
        return Health(False, "not to be trusted: values drift with time, which it does not know", unusual)
    if unusual:
        trials = " and ".join(str(trial) for trial in unusual)
        values = f"an unusual value at trial {trials} widens" if len(unusual) == 1 else f"unusual values at trials {trials} widen"
        return Health(True, f"{values} all bounds", unusual)
    return Health(True, "the model explains the data well")


def _far(t: int) -> float:
    """How large the largest of t standard normal residuals is with the chance of an unusual one."""
    from scipy.special import ndtri

    return float(-ndtri(0.5 * _UNUSUAL / t))


def _trend(residuals: Array) -> float:
    """The rank correlation of residuals with time, over its standard deviation if there is none."""
    ranks = np.argsort(np.argsort(residuals)).astype(float)
    time = np.arange(len(ranks), dtype=float)
    if len(ranks) < 2 * _FEWEST:
        return 0.0
    return float(np.corrcoef(ranks, time)[0, 1] * math.sqrt(len(ranks) - 1))
