"""Functions that nobody chose: drawn from priors of several roughnesses, in 2-D, 4-D and 6-D.

A draw is a sum of waves whose frequencies have the kernel's spectral density, on the unit cube. Its standard deviation
is about 1. A third of them has a slope, so that their best decisions are at edges and corners as a rule; of the others
many are there as well, as in most high-dimensional boxes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.rivals.problems import Array, Problem

WAVES = 200
ROUGHNESS = {"smooth": 0.45, "wavy": 0.25, "rough": 0.14}
"""Lengthscale over √(dimension / 2), in units of a range."""
SETS = ("box", "ball", "parameter", "environment", "whole")
COUNTS = {2: 20, 4: 15, 6: 10}
STEPS = 12  # of a whole number, from 0
NOISE = 0.03


@dataclass(frozen=True, eq=False)
class Waves:
    """Σ a_i cos(w_i·x + p_i) + slope·x."""

    amplitude: Array
    frequency: Array
    phase: Array
    slope: Array

    @classmethod
    def of(cls, rng: np.random.Generator, width: int, lengthscale: float, matern: bool, slope: float) -> Waves:
        frequency = rng.standard_normal((WAVES, width)) / lengthscale
        if matern:  # Matérn-5/2: Student's t with 5 degrees of freedom
            frequency *= np.sqrt(5 / rng.chisquare(5, size=(WAVES, 1)))
        amplitude = rng.standard_normal(WAVES) * np.sqrt(2 / WAVES)
        return cls(amplitude, frequency, rng.uniform(0, 2 * np.pi, WAVES), slope * rng.standard_normal(width))

    def values(self, X: Array) -> Array:
        return np.cos(X @ self.frequency.T + self.phase) @ self.amplitude + X @ self.slope

    def gradients(self, X: Array) -> Array:
        return self.slope - (np.sin(X @ self.frequency.T + self.phase) * self.amplitude) @ self.frequency


def draw(dimension: int, number: int) -> Problem:
    """The problem of this number: roughness, set, kernel and slope go round."""
    roughness = list(ROUGHNESS)[number % 3]
    kind = SETS[number % 5]
    rng = np.random.default_rng([18, dimension, number])
    lengthscale = ROUGHNESS[roughness] * np.sqrt(dimension / 2)
    f = Waves.of(rng, dimension, lengthscale, matern=number % 2 == 1, slope=2.0 if number % 4 == 1 else 0.0)
    decisions = dimension - (kind in ("parameter", "environment"))
    top, eps = np.ones(decisions), np.full(decisions, 0.0 if kind in ("parameter", "environment") else 0.08)
    scale = np.ones(dimension)
    if kind == "whole":  # the first coordinate, which nobody moves
        top[0], scale[0], eps[0] = STEPS, 1 / STEPS, 0.0
    return Problem(
        name=f"{roughness}{dimension}-{kind}-{number}",
        lower=np.zeros(decisions),
        upper=top,
        norm="l2" if kind == "ball" else "linf",
        eps=0.08 * np.sqrt(dimension / 2) if kind == "ball" else eps,
        noise=NOISE,
        f=lambda Z: f.values(Z * scale),
        gradient=lambda Z: f.gradients(Z * scale) * scale,
        whole=(0,) if kind == "whole" else (),
        parameters=np.array([[0.1], [0.5], [0.9]]) if kind == "parameter" else None,
        environment=((0.3, 0.7),) if kind == "environment" else (),
    )


def drawn() -> list[Problem]:
    """All of them."""
    return [draw(dimension, number) for dimension, count in COUNTS.items() for number in range(count)]
