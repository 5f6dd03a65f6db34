"""How far a model can be trusted, in one line of words: from what it says of each value, given all others.

Notation
    t, q    values, and numbers that the model learns from them: its hyperparameters, noise, mean and variance
    r       leave-one-out residuals: about standard normal if the model is right (see `stableopt.model.residuals`)
    n       places: values of which none is foretold by the others, up to a quarter of the prior's variance

Residuals check a model where there are data. Where there are none, the bound of the optimum is the prior's height. That
is an assumption as long as more of the domain is unknown than known: a hill that nobody has been near looks like no
hill. And all that data say of the prior's height they say by different places: values close together say much about the
noise, but are one look at how f varies. So where this bound lies in the unknown, there have to be as many places as
values are needed otherwise, for all numbers but the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stableopt.base.arrays import Array, Mask
from stableopt.campaign.inputs import idle
from stableopt.loop.answers import readable
from stableopt.loop.measurements import Data, Round
from stableopt.loop.outputs import Output, valued
from stableopt.loop.setting import Setting, allowed
from stableopt.loop.state import State
from stableopt.model.residuals import distinct, left_out, most_unusual

_FEWEST = 3  # values, to say anything; and values for each number that is learned
_UNUSUAL = 0.001  # the chance of a residual that is called unusual, among as many as there are
_WRONG = 1.5  # times as large as expected, residuals say that the model is wrong
_UNKNOWN = 0.5  # of the prior's variance, or of the domain: with more, more is unknown than known
_STRANGE = 0.1  # of some points: with more of them unknown, nothing is known of the worst of them
_SPREAD = 256  # points all over the domain that are asked for that
_FORETOLD = 0.25  # of the prior's variance: with less, a value is foretold by others
_CHECKED = 2000  # values at most are compared with all others: that takes t³ steps
_POWER = 0.15  # how far the decimal logarithm of a ratio may be from a whole number that explains it
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
    foretold: float = math.nan
    """What all others say of the first of these."""
    idle: tuple[str, ...] = ()
    """Inputs that hardly matter."""


def health(state: State, *, optimum: bool = True, trials: Sequence[int] = ()) -> Health:
    """How far the model of a state can be trusted.

    optimum: also with the bound that no decision surpasses. trials: the number of each round's trial, if not its own.
    """
    known = health_of(state.setting, state.objective, valued(state.rounds), trials)
    if not (known.trusted and _FEWEST <= state.objective.t <= _CHECKED):
        return known
    doubt = _unfounded(state) if optimum and state.objective.learned is not None else ""
    if not doubt:
        return known._replace(idle=idle(state))
    return known._replace(trusted=False, words=f"{known.words}; {doubt}" if known.unusual else doubt)


def health_of(setting: Setting, output: Output, rounds: Sequence[Round], trials: Sequence[int] = ()) -> Health:
    """How far the model of a quantity can be trusted, from the rounds in which it was measured; trials as in `health`.

    A campaign numbers its trials as they are asked for, and some of them fail: a round has another number then.
    """
    t, learned, belief = len(rounds), output.learned is not None, output.belief
    if t < _FEWEST:
        return Health(False, f"too early to say: {t} value{'s' if t != 1 else ''} so far")
    if learned and len({r.y for r in rounds}) == 1:
        return Health(False, f"nothing to learn from: all {t} values are equal, so check what measures them")
    if t > _CHECKED:
        return Health(True, "too many values to compare each of them with all others")
    likely = belief.likely
    data = Data.of(rounds)
    y, noise = belief.latent_values(data.y, data.noise)
    seen = setting.inputs(data.points, learned), y, belief.noise_of(t, noise)
    posterior = likely.condition(*seen)
    mean, std = left_out(posterior)
    residuals, far = (y - mean) / std, _far(t)
    usual = likely.noise if noise is None else np.where(np.isnan(noise), likely.noise, noise)
    sizes = np.abs(y - mean) / np.sqrt(np.maximum(std**2 - posterior.noise_variance, 0.0) + usual**2)
    # One outlier may widen a mixture so far that it is nothing unusual there.
    single = belief.single
    most = most_unusual(posterior if single is None else single.condition(*seen))
    unusual = [int(i) for i in np.argsort(-sizes, kind="stable") if sizes[i] > far or i == most]
    numbers = [trials[r.t - 1] if trials else r.t for r in rounds]
    first = unusual[:1]
    named = (
        tuple(numbers[i] for i in unusual),
        float(sizes[first].sum()),
        float(belief.in_units(mean[first])[0]) if first else math.nan,
    )
    doubt = _too_early(t, len(likely.kernel.params) + 2) if learned else ""
    light = {i for i, noise in enumerate(belief.noises) if noise is not None}
    heavy = [i for i in unusual if i not in light]
    doubt = doubt or _wrong(residuals, heavy)
    if doubt:
        return Health(False, doubt, *named)
    both = ([numbers[i] for i in unusual if (i in light) == lost] for lost in (False, True))
    # A model that bends to one value widens its bounds far from it, and is wrong close to it.
    bent = most is not None and most in heavy
    return Health(not bent, _words(*both) + (": not to be trusted until that is checked" if bent else ""), *named)


def remarks(state: State, known: Health, sign: int, trials: Sequence[int] = ()) -> list[tuple[str, str]]:
    """What a person should look at: a value that is unlike all others, and inputs that hardly matter."""
    lines = []
    if known.unusual:
        number = known.unusual[0]
        first, rounds = state.rounds[trials.index(number) if trials else number - 1], valued(state.rounds)
        at = next(i for i, r in enumerate(rounds) if r.t == first.t)
        light = state.belief.noise_of(at + 1)
        where = readable(first.point, state.setting.columns.steps)
        seen = f"{sign * first.y:.4g} at {where} is {known.off:.2g} standard deviations off"
        lost = light is not None and not math.isnan(light[at])
        effect = "it has lost its weight" if lost else 'it widens all bounds (noise="robust" takes its weight)'
        remedy = "correct it if it is a mistake, else measure there again"
        middle = float(np.median([r.y for r in rounds]))  # an outlier may have spoiled what others foretell
        unit = _unit(first.y, sign * known.foretold, "that") or _unit(first.y, middle, "most values")
        lines.append(("unusual", f"{seen} what all others say{unit}: {effect}; {remedy}"))
    if known.idle:
        what = "makes hardly a difference" if len(known.idle) == 1 else "make hardly a difference"
        lines.append(("inputs", f"{' and '.join(known.idle)} {what} to f, as far as was measured"))
    return lines


def _unit(y: float, foretold: float, what: str) -> str:
    """Whether a value looks as if it were in another unit than what is foretold, or had a wrong decimal point."""
    ratio = y / foretold if foretold else 0.0
    power = math.log10(ratio) if ratio > 0 else 0.0
    times = round(power)
    if times == 0 or abs(power - times) > _POWER:
        return ""
    return f", about 10^{times} times {what} (another unit, or a wrong decimal point?)"


def _words(heavy: Sequence[int], light: Sequence[int]) -> str:
    """Of a model that can be trusted: which values are unusual, and whether they still have their weight."""
    kinds = (heavy, "widens all bounds", "widen all bounds"), (light, "has lost its weight", "have lost their weight")
    said = []
    for trials, one, many in kinds:
        numbers = " and ".join(str(number) for number in trials)
        if len(trials) == 1:
            said.append(f"an unusual value at trial {numbers} {one}")
        elif trials:
            said.append(f"unusual values at trials {numbers} {many}")
    return ", ".join(said) or "the model explains the data well"


def _too_early(t: int, q: int) -> str:
    return f"too early to trust: {t} values for a model that learns {q} numbers" if t < _FEWEST * q else ""


def _unfounded(state: State) -> str:
    """Why the bound of the optimum is not to be trusted, if it lies where the data say little."""
    belief, early = state.belief, "too early to trust the bound of the optimum"
    points = allowed(state.setting, state.candidates())  # what no decision may be does not matter
    points = [state.optimum.point, *points[:: max(1, len(points) // _SPREAD)]]
    unknown = _unknown(state, state.objective, points)
    if unknown.mean() > _UNKNOWN:
        return f"{early}: more is unknown than known"
    if not unknown[0]:
        return ""
    gp, rounds = belief.likely, valued(state.rounds)
    n = distinct(gp.kernel, state.setting.inputs([r.point_index for r in rounds], scaled=True), _FORETOLD)
    needed = _FEWEST * (len(gp.kernel.params) + 1)
    said = f"{len(rounds)} values say as much about f as {n} far apart" if n < len(rounds) else f"{n} values"
    return f"{early}: {said}, and {needed} are needed" if n < needed else ""


def known_at(state: State[Any], output: Output[Any], points: Sequence[Any]) -> bool:
    """Whether a model that was learned knows something of nearly all these points; one that is given always does."""
    return output.learned is None or bool(_unknown(state, output, points).mean() <= _STRANGE)


def _unknown(state: State[Any], output: Output[Any], points: Sequence[Any]) -> Mask:
    """At which of these points a model that was learned knows less than it does not (n,)."""
    assert output.posterior is not None  # it was learned from something
    X, belief = state.setting.inputs(points, scaled=True), output.belief
    prior = np.average([gp.kernel.diag(X) for gp in belief.gps], axis=0, weights=belief.weights or None)
    return np.asarray(output.posterior.latent(points)[1] > _UNKNOWN * prior)


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
