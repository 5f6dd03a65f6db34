# ruff: noqa: E501 (a problem is read in a line)
"""Problems with a name: those that papers on robust optimisation share, the package's own, and those of the rivals.

Costs and min-max problems are negated: everything is maximised. Domains are continuous where papers have grids.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.util import find_spec

import numpy as np

from benchmarks.field.drawn import Waves
from benchmarks.rivals.problems import PROBLEMS as RIVALS
from benchmarks.rivals.problems import Array, Problem
from stableopt.problems import PROBLEMS as OURS


def _branin(Z: Array) -> Array:
    x, y = Z.T
    return -((y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10)


def _eggholder(Z: Array) -> Array:
    x, y = Z.T
    return (y + 47) * np.sin(np.sqrt(np.abs(x / 2 + y + 47))) + x * np.sin(np.sqrt(np.abs(x - y - 47)))


def _sine(Z: Array) -> Array:
    z = Z.sum(axis=1)
    return -(np.sin(5 * np.pi * z**2) + 0.5 * z)


_A = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
_P = 1e-4 * np.array([[3689.0, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])


def _hartmann(Z: Array) -> Array:
    return -np.exp(-np.einsum("ij,nij->ni", _A, (Z[:, None] - _P) ** 2)) @ np.array([1.0, 1.2, 3.0, 3.2])


def shared() -> list[Problem]:
    """Those of several papers; see the head of Robust Entropy Search (Weichert et al. 2024) for their sources."""
    one = np.zeros(1), np.ones(1)
    within = Waves.of(np.random.default_rng([18, 0]), 2, 0.1, matern=False, slope=0.0)
    other = Waves.of(np.random.default_rng([18, 1]), 2, 0.1, matern=False, slope=0.0)
    return [
        Problem("branin", np.array([-5.0]), np.array([10.0]), "linf", 0.0, 0.5, _branin, parameters=np.array([[0.0], [4], [8], [12]])),
        Problem("eggholder", np.array([-512.0]), np.array([512.0]), "linf", 0.0, 3.0, _eggholder, parameters=np.array([[-512.0], [0], [185]])),
        Problem("sine", *one, "linf", 0.0, 0.01, _sine, parameters=np.array([[0.05], [0.1]])),
        Problem("hartmann3", np.zeros(2), np.ones(2), "linf", 0.0, 0.01, _hartmann, parameters=np.array([[0.2], [0.5], [0.9]])),
        Problem("within-ball", np.zeros(2), np.ones(2), "l2", 0.1, 0.001, within.values, within.gradients),
        Problem("within-parameter", *one, "linf", 0.0, 0.001, other.values, other.gradients, environment=((0.0, 1.0),)),
    ]  # fmt: skip


def _pushed(Z: Array) -> Array:
    return np.array([5.0 - np.hypot(*(np.array(_push(*z[:3].tolist())) - z[3:])) for z in Z])


@cache
def _push(x: float, y: float, t: float) -> tuple[float, float]:
    from stableopt.paper.experiments.pushing import push

    return push(x, y, t)


def robot() -> list[Problem]:
    """Two targets, of which nobody knows the true one; it needs Box2D (the extra ``experiments``).

    No decision is better than one that pushes the object to the middle of both; a push comes within 1e-4 of that.
    """
    if find_spec("Box2D") is None:
        return []
    from stableopt.paper.experiments.pushing import LOWER, UPPER, goals

    theta = goals(np.random.default_rng(18))
    best = 5.0 - 0.5 * float(np.linalg.norm(theta[0] - theta[1]))
    return [Problem("robot", LOWER, UPPER, "linf", 0.0, 0.05, _pushed, parameters=theta, stable_value=best)]


def own() -> list[Problem]:
    """The package's problems in continuous ranges, and those of the rivals.

    Without three that are lists by nature: alloys, films and recipe. No rival has their sets (an l1 ball among
    scattered points, groups, categories).
    """
    polynomial = RIVALS["polynomial"]
    theta = np.array(
        [[c, v] for c in (3.0, 5.0, 7.0) for v in (28.0, 40.0, 52.0) if abs(c - 5) / 2 + abs(v - 40) / 12 <= 1]
    )
    return [
        *RIVALS.values(),
        replace(polynomial, name="polynomial-box", norm="linf", stable_decision=None, stable_value=np.nan),
        Problem("peaks", np.zeros(1), np.ones(1), "linf", 0.06, 0.02, OURS["peaks"].f),
        Problem("mooring", np.array([0.0, 1.0]), np.array([30.0, 41.0]), "linf", np.array([1.5, 4.0]), 0.05, OURS["mooring"].f),
        Problem("wind", np.array([0.0, 6.0]), np.array([20.0, 16.0]), "linf", 0.0, 0.05, OURS["wind"].f, parameters=np.linspace(6.0, 18.0, 7)[:, None]),
        Problem("wind-any", np.array([0.0, 6.0]), np.array([20.0, 16.0]), "linf", 0.0, 0.05, OURS["wind"].f, environment=((6.0, 18.0),)),
        Problem("dose", np.array([100.0, 4.0]), np.array([600.0, 16.0]), "linf", 0.0, 0.02, OURS["dose"].f, parameters=theta),
        Problem("kiln", np.array([900.0, 2.0]), np.array([1200.0, 12.0]), "l2", np.array([20.0, 0.75]), 0.05, OURS["kiln"].f, parameters=np.array([[0.5], [0.6], [0.7], [0.8]])),
    ]  # fmt: skip
