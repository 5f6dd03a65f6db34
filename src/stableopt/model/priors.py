"""Priors of hyperparameters: distributions of positive numbers, by the density of their logarithms.

Notation
    v   a positive hyperparameter in its natural unit; of a correlation ρ, the odds ρ/(1 - ρ)
    u   log v, the coordinate that a search or a sampler moves: all densities are densities of u
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import final

from stableopt.base.checks import is_number
from stableopt.base.values import Value


class Prior(Value, ABC):
    """A distribution of a positive v, by the density of log v; of a correlation ρ, v is the odds ρ/(1 - ρ)."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if not (is_number(value) and value > 0):
                raise ValueError(f"expected a positive finite {field.name}, got {self}")

    @abstractmethod
    def log_density(self, u: float) -> tuple[float, float]:
        """Log density of u = log v, and its derivative by u."""

    @property
    @abstractmethod
    def mode(self) -> float | None:
        """The v at which the density of log v is highest; None if it is flat."""


@final
@dataclass(frozen=True, eq=False)
class LogNormal(Prior):
    """log v is normal around the log of the median, with standard deviation ``scale``."""

    median: float
    scale: float

    def log_density(self, u: float) -> tuple[float, float]:
        z = (u - math.log(self.median)) / self.scale
        return -0.5 * z * z - math.log(self.scale * math.sqrt(2 * math.pi)), -z / self.scale

    @property
    def mode(self) -> float | None:
        return self.median


@final
@dataclass(frozen=True, eq=False)
class Gamma(Prior):
    """v has a density proportional to v^(shape - 1) exp(-rate·v), and the mean shape / rate."""

    shape: float
    rate: float

    def log_density(self, u: float) -> tuple[float, float]:
        v = self.rate * math.exp(u)
        return self.shape * (u + math.log(self.rate)) - v - math.lgamma(self.shape), self.shape - v

    @property
    def mode(self) -> float | None:
        return self.shape / self.rate


@final
@dataclass(frozen=True, eq=False)
class LogUniform(Prior):
    """log v is uniform within the bounds, as it is where no prior is given."""

    def log_density(self, u: float) -> tuple[float, float]:
        return 0.0, 0.0

    @property
    def mode(self) -> float | None:
        return None


def default_priors(p: int) -> dict[str, Prior]:
    """Priors for p inputs scaled to the unit cube and standardised outputs; best with a kernel of fixed variance 1.

    Lengthscales grow like √p, as distances in the cube do (Hvarfner, Hellsten and Nardi, 2024, who have a median of
    4.1√p and a spread of √3). A shorter and more definite prior found stable optima sooner: `benchmarks.defaults`.
    """
    return {
        "lengthscale": LogNormal(0.15 * math.sqrt(p), 0.35),
        "variance": LogNormal(1.0, 2.0),
        "correlation": LogNormal(1.0, 1.5),
        "noise": LogNormal(0.05, 1.0),
    }
