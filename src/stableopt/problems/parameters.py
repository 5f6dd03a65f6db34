"""Problems with a parameter θ that is unknown when the decision is made (Section 4 of the paper); f sees (x, θ).

Stable optima come from evaluating every decision at every point that it may be turned into, to all digits; the test
of the problems repeats that from the definitions. Lengthscales are of the order that maximum likelihood gives for 300
noisy values at random points; those of `dose` are shorter, since toxicity sets in steeply.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from stableopt.base.arrays import Array, cartesian, frozen
from stableopt.model.gp import GP
from stableopt.model.kernels import SE
from stableopt.problems.base import Problem
from stableopt.sets.domains import Grid
from stableopt.sets.perturbations import Ball
from stableopt.sets.uncertainty import Estimate, Parameters


@cache
def wind() -> Problem:
    """A turbine whose pitch and rotor speed are set once for all wind speeds from 6 to 18 m/s (unknown parameter).

    x = (pitch in degrees, rotor speed in rpm). Every wind has its own best set point, and strong wind pays best. But
    too small a pitch overloads the turbine in strong wind, and too large a pitch stalls it in weak wind.
    """
    return Problem(
        name="wind",
        summary="The pitch and rotor speed of a turbine that must work at every wind speed.",
        domain=Grid.linspace([0.0, 6.0], [20.0, 16.0], [41, 31]),
        uncertainty=Parameters(np.linspace(6.0, 18.0, 7)),
        f=_turbine,
        noise=0.05,
        gp=GP(SE((6.0, 5.0, 4.5)), noise=0.05, mean=-0.5),
        stable_decision=frozen(np.array([10.5, 29 / 3])),
        stable_value=0.24638589095393296,
    )


def _turbine(X: Array) -> Array:
    pitch, speed, wind = X.T
    above = wind - 6.0
    tuned = np.exp(-0.5 * ((pitch - above) / 8.0) ** 2 - 0.5 * ((speed - 8.0 - 0.5 * above) / 4.0) ** 2)
    overload = 2.0 * _sigmoid((wind - 0.8 * pitch + 0.6 * (speed - 10.0) - 10.0) / 1.5)
    stall = 0.8 * _sigmoid((pitch - above - 12.0) / 1.5)
    earnings: Array = (1.2 + 0.06 * above) * tuned - overload - stall
    return earnings


@cache
def dose() -> Problem:
    """A drug for a patient whose clearance and volume were estimated as 5 l/h and 40 l (robust estimation).

    x = (amount in mg, interval τ in h). In the steady state of one compartment with k = clearance / volume, the
    concentration is c = amount / (volume (1 − e^{−kτ})) after each dose and e^{−kτ} c before the next. The lowest
    one should be effective and the highest one not toxic, and long intervals are convenient. The true θ lies in an
    ellipse around the estimate that reaches ±2 l/h and ±12 l. Θ is larger: the adversary never chooses some points.
    """
    clearances, volumes = np.linspace(2.0, 8.0, 7), np.linspace(24.0, 56.0, 5)
    return Problem(
        name="dose",
        summary="How much of a drug to give and how often, when the patient's parameters are estimates.",
        domain=Grid.linspace([100.0, 4.0], [600.0, 16.0], [26, 25]),
        uncertainty=Estimate(
            cartesian([clearances[:, None], volumes[:, None]]), [5.0, 40.0], Ball(1.0, scales=[2.0, 12.0])
        ),
        f=_benefit,
        noise=0.02,
        gp=GP(SE((140.0, 4.5, 1.8, 16.0)), noise=0.02, mean=0.0),
        stable_decision=frozen(np.array([320.0, 7.0])),
        stable_value=0.7922105003635834,
    )


def _benefit(X: Array) -> Array:
    amount, interval, clearance, volume = X.T
    decay = np.exp(-clearance / volume * interval)
    highest = amount / (volume * (1.0 - decay))
    lowest = highest * decay
    effect = lowest**2 / (3.0**2 + lowest**2)
    benefit: Array = effect - 2.0 * _sigmoid((highest - 22.0) / 1.5) + 0.3 * np.log2(interval / 4.0)
    return benefit


@cache
def kiln() -> Problem:
    """Clay of unknown composition in a kiln that holds temperature and time only roughly (both adversaries at once).

    x = (temperature in °C, hours), off by at most 20 °C or 0.75 h on its own; θ = share of silica. More silica needs
    more heat. A glaze forms in a narrow window next to where the clay slumps.
    """
    return Problem(
        name="kiln",
        summary="The firing of clay of unknown composition in a kiln that holds temperature and time only roughly.",
        domain=Grid.linspace([900.0, 2.0], [1200.0, 12.0], [61, 41]),
        uncertainty=Ball(1.0, scales=[20.0, 0.75]) * Parameters([0.5, 0.6, 0.7, 0.8]),
        f=_strength,
        noise=0.05,
        gp=GP(SE((45.0, 2.2, 0.4)), noise=0.05, mean=0.0),
        stable_decision=frozen(np.array([1050.0, 6.0])),
        stable_value=1.5496956876248957,
    )


def _strength(X: Array) -> Array:
    temperature, hours, silica = X.T
    ideal = 1020.0 + 200.0 * (silica - 0.5)
    sintered = 2.0 * np.exp(-0.5 * ((temperature - ideal) / 70.0) ** 2 - 0.5 * ((hours - 6.0) / 3.0) ** 2)
    glaze = 1.6 * np.exp(-0.5 * ((temperature - 1130.0) / 25.0) ** 2 - 0.5 * ((hours - 9.0) / 1.2) ** 2)
    slump = 1.5 * _sigmoid((temperature - 1150.0 + 8.0 * (hours - 8.0) - 150.0 * (silica - 0.65)) / 12.0)
    strength: Array = sintered + glaze - slump
    return strength


def _sigmoid(x: Array) -> Array:
    values: Array = 1.0 / (1.0 + np.exp(-x))
    return values
