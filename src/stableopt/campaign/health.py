"""How far a model can be trusted, in one line of words: from what it says of each value, given all others.

Notation
    t, q    values, and numbers that the model learns from them: its hyperparameters, noise, mean and variance
    r       leave-one-out residuals: about standard normal if the model is right (see `stableopt.model.residuals`)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stableopt.base.arrays import Array
from stableopt.loop.measurements import Data
from stableopt.loop.state import State
from stableopt.model.residuals import leave_one_out, most_unusual

_FEWEST = 3  # values, to say anything; and values for each number that is learned
_UNUSUAL = 0.001  # the chance of a residual that is called unusual, among as many as there are
_WRONG = 1.5  # times as large as expected, residuals say that the model is wrong
_CHECKED = 2000  # values at most are compared with all others: that takes t³ steps
_DRIFT = 4.0  # standard deviations of a correlation with time


class Health(NamedTuple):
    """What can be said of a model."""

    trusted: bool
    """Whether its bounds can be taken at their word."""
    words: str
    unusual: tuple[int, ...] = ()
    """Trials, from 1, whose values are far from what all others say of them; the most surprising one first."""
    off: float = 0.0
    """How many standard deviations the first of these is off."""


def health(state: State) -> Health:
    """How far the model of a state can be trusted."""
    t, learned = state.t, state.objective.learned is not None
    if t < _FEWEST:
        return Health(False, f"too early to say: {t} value{'s' if t != 1 else ''} so far")
    if t > _CHECKED:
        return Health(True, "too many values to compare each of them with all others")
    likely = state.belief.likely
    data = Data.of(state.rounds)
    seen = state.setting.inputs(data.points, learned), data.y, state.belief.noise_of(t, data.noise)
    residuals = leave_one_out(likely.condition(*seen))
    sizes, far = np.abs(residuals), _far(t)
    # One outlier may widen a mixture so far that it is nothing unusual there.
    single = state.belief.single
    most = most_unusual(residuals if single is None else leave_one_out(single.condition(*seen)))
    unusual = [int(i) for i in np.argsort(-sizes, kind="stable") if sizes[i] > far or i == most]
    named = tuple(i + 1 for i in unusual), float(sizes[unusual[0]]) if unusual else 0.0
    doubt = _too_early(t, len(likely.kernel.params) + 2) if learned else ""
    doubt = doubt or _wrong(residuals, unusual)
    if doubt:
        return Health(False, doubt, *named)
    if unusual:
        what = "an unusual value at trial {} widens" if len(unusual) == 1 else "unusual values at trials {} widen"
        return Health(True, what.format(" and ".join(map(str, named[0]))) + " all bounds", *named)
    return Health(True, "the model explains the data well")


def _too_early(t: int, q: int) -> str:
    return f"too early to trust: {t} values for a model that learns {q} numbers" if t < _FEWEST * q else ""


def _wrong(residuals: Array, unusual: Sequence[int]) -> str:
    """Why the model is not to be trusted, if it is not."""
    t, usual = len(residuals), np.delete(residuals, unusual)
    size = math.sqrt(float(np.mean(usual**2))) if len(usual) else math.inf
    if abs(_trend(residuals)) > _DRIFT:
        return "not to be trusted: values drift with time, which it does not know"
    if len(unusual) > max(1, t // 20):
        return f"not to be trusted: {len(unusual)} of {t} values are far from what it expects"
    if size > _WRONG:
        return f"not to be trusted: its errors are {size:.1f} times as large as it expects"
    return ""


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
