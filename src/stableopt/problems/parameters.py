"""Problems with a parameter θ that nobody knows when the decision is made (Section 4 of the paper).

f sees (x, θ). The stable optima were found by evaluating every decision against every θ (and every perturbation); the
test of the problems does so again, from the definitions.
"""

from __future__ import annotations

import numpy as np

from stableopt import GP, SE, Ball, Estimate, Grid, Parameters
from stableopt._arrays import Array, cartesian
from stableopt.problems.base import Problem


def wind() -> Problem:
    """A turbine whose pitch and rotor speed are set once, for all wind speeds from 6 to 18 m/s.

    Each wind has its own best set point, strong wind pays best, and a blade that is too flat in it is overloaded.
    """
    return Problem(
        name="wind",
        summary="The pitch and rotor speed of a turbine that must work at every wind speed.",
        domain=Grid.linspace([0.0, 6.0], [20.0, 16.0], [41, 31]),
        uncertainty=Parameters(np.linspace(6.0, 18.0, 7)),
        f=_turbine,
        noise=0.05,
        gp=GP(SE((6.0, 5.0, 4.5)), noise=0.05, mean=-0.5),
        stable_decision=np.zeros(2),
        stable_value=0.0,
    )


def _turbine(X: Array) -> Array:
    pitch, speed, wind = X.T
    above = wind - 6.0
    tuned = np.exp(-0.5 * ((pitch - above) / 8.0) ** 2 - 0.5 * ((speed - 8.0 - 0.5 * above) / 4.0) ** 2)
    overload = 2.0 * _sigmoid((wind - 0.8 * pitch + 0.6 * (speed - 10.0) - 10.0) / 1.5)
    stall = 0.8 * _sigmoid((pitch - above - 12.0) / 1.5)
    return (1.2 + 0.06 * above) * tuned - overload - stall


def dose() -> Problem:
    """A drug given every τ hours to a patient whose clearance and volume are estimates (robust estimation).

    One compartment in steady state: after each dose the concentration is c = dose / (V (1 − e^{−kτ})) with
    k = clearance / V, and e^{−kτ} c before the next. The lowest concentration should work, the highest must not
    poison, and a dose a day is more convenient than four. θ = (clearance in l/h, V in l); the estimate (5, 40) may
    be off by 40 % of the clearance or 30 % of the volume.
    """
    theta = cartesian((np.linspace(2.0, 8.0, 7)[:, None], np.linspace(24.0, 56.0, 5)[:, None]))
    return Problem(
        name="dose",
        summary="How much of a drug to give and how often, when the patient's clearance and volume are estimates.",
        domain=Grid.linspace([100.0, 4.0], [600.0, 16.0], [26, 25]),
        uncertainty=Estimate(theta, [5.0, 40.0], Ball(1.0, scales=[2.0, 12.0])),
        f=_benefit,
        noise=0.02,
        gp=GP(0.5 * SE((150.0, 5.0, 1.8, 18.0)), noise=0.02, mean=0.0),
        stable_decision=np.zeros(2),
        stable_value=0.0,
    )


def _benefit(X: Array) -> Array:
    amount, interval, clearance, volume = X.T
    decay = np.exp(-clearance / volume * interval)
    highest = amount / (volume * (1.0 - decay))
    lowest = highest * decay
    effect = lowest**2 / (3.0**2 + lowest**2)
    return effect - 2.0 * _sigmoid((highest - 22.0) / 1.5) + 0.3 * np.log2(interval / 4.0)


def kiln() -> Problem:
    """Firing clay of unknown composition in a kiln that holds temperature and time only roughly (both at once).

    x = (temperature in °C, hours), off by up to 20 °C or 0.75 h in a scaled l2 ball; θ = share of silica. The more
    silica, the hotter it must be fired; too much heat for too long deforms the clay.
    """
    return Problem(
        name="kiln",
        summary="The firing of clay of unknown composition in a kiln that holds temperature and time only roughly.",
        domain=Grid.linspace([900.0, 2.0], [1200.0, 12.0], [61, 41]),
        uncertainty=Ball(1.0, scales=[20.0, 0.75]) * Parameters([0.5, 0.6, 0.7, 0.8]),
        f=_strength,
        noise=0.05,
        gp=GP(SE((45.0, 2.2, 0.4)), noise=0.05, mean=0.0),
        stable_decision=np.zeros(2),
        stable_value=0.0,
    )


def _strength(X: Array) -> Array:
    temperature, hours, silica = X.T
    ideal = 1020.0 + 200.0 * (silica - 0.5)
    sintered = np.exp(-0.5 * ((temperature - ideal) / 70.0) ** 2 - 0.5 * ((hours - 6.0) / 3.0) ** 2)
    glaze = 1.6 * np.exp(-0.5 * ((temperature - 1130.0) / 25.0) ** 2 - 0.5 * ((hours - 9.0) / 1.2) ** 2)
    slump = 1.5 * _sigmoid((temperature - 1150.0 + 8.0 * (hours - 8.0) - 150.0 * (silica - 0.65)) / 12.0)
    return 2.0 * sintered + glaze - slump


def _sigmoid(x: Array) -> Array:
    values: Array = 1.0 / (1.0 + np.exp(-x))
    return values
