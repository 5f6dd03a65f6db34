"""Problems whose true worst case is computable, so that regret is measured and not estimated.

    d        a decision, in the box [lower, upper]; the coordinates ``whole`` are whole numbers
    z        a point: d as the adversary moved it, then a parameter θ where there is one; f sees points
    A(d)     the points within ``eps`` of d in the l2 or the l∞ norm, inside the box, with every θ
    θ        a row of ``parameters``, or anywhere in the box ``environment``
    f        maximised; noise is a standard deviation
    regret   max over d' of min over A(d') of f, minus min over A(d) of f

Clipping to the box moves no coordinate further from d, so d turns into { clip(d + δ) : ‖δ‖ ≤ eps } for both norms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from numpy.polynomial.polynomial import polyder, polyval2d
from scipy.stats import qmc

Array = npt.NDArray[np.float64]
INITIAL = 10


@dataclass(frozen=True, eq=False)
class Problem:
    """A function on a box, and what the adversary can do to a decision."""

    name: str
    lower: Array
    upper: Array
    norm: Literal["l2", "linf"]
    eps: float | Array
    """How far each coordinate can be moved; with "l2", the half-axes of an ellipse."""
    noise: float
    f: Callable[[Array], Array]
    """(n, d + e) points to (n,) values."""
    gradient: Callable[[Array], Array] | None = None
    """(n, d + e) points to (n, d + e) derivatives; None: by differences."""
    stable_decision: Array | None = None
    stable_value: float = np.nan
    """Both from a command ``optimum``, which repeats the search."""
    whole: tuple[int, ...] = ()
    parameters: Array | None = None
    """(k, e): what θ can be; with an ``environment``, there are none."""
    environment: tuple[tuple[float, float], ...] = ()

    @property
    def dimension(self) -> int:
        """The number of coordinates of a decision."""
        return len(self.lower)

    @cached_property
    def reach(self) -> Array:
        """eps of every coordinate (d,)."""
        return np.broadcast_to(np.asarray(self.eps, dtype=float), self.lower.shape)

    @cached_property
    def low(self) -> Array:
        """The smallest point (d + e,)."""
        least = [a for a, _ in self.environment] if self.parameters is None else self.parameters.min(axis=0)
        return np.append(self.lower, least)

    @cached_property
    def high(self) -> Array:
        """The largest point (d + e,)."""
        most = [b for _, b in self.environment] if self.parameters is None else self.parameters.max(axis=0)
        return np.append(self.upper, most)

    def settled(self, Z: Array) -> Array:
        """Points (n, d + e) or decisions (n, d) that exist: inside the box, whole numbers, θ the nearest row."""
        Z = np.clip(np.array(Z, dtype=float), self.low[: Z.shape[1]], self.high[: Z.shape[1]])
        Z[:, list(self.whole)] = np.round(Z[:, list(self.whole)])
        if self.parameters is not None and Z.shape[1] > self.dimension:
            span = np.where(np.ptp(self.parameters, axis=0) > 0, np.ptp(self.parameters, axis=0), 1.0)
            away = (Z[:, None, self.dimension :] - self.parameters) / span
            Z[:, self.dimension :] = self.parameters[np.argmin((away**2).sum(axis=2), axis=1)]
        return Z

    def spread(self, unit: Array) -> Array:
        """Points from rows of the unit cube (n, width)."""
        if self.parameters is None:
            return self.settled(self.low + (self.high - self.low) * unit)
        rows = self.parameters[np.minimum((unit[:, -1] * len(self.parameters)).astype(int), len(self.parameters) - 1)]
        return self.settled(np.column_stack([self.lower + (self.upper - self.lower) * unit[:, :-1], rows]))

    @property
    def width(self) -> int:
        """The numbers from 0 to 1 that make a point: one for each coordinate; a row of parameters takes one."""
        return len(self.low) if self.parameters is None else self.dimension + 1

    def initial(self, seed: int) -> Array:
        """The first points of every method: a scrambled Sobol sequence."""
        sequence = qmc.Sobol(self.width, scramble=True, rng=np.random.default_rng([seed, 1]))
        return self.spread(sequence.random_base2(4)[:INITIAL])

    def errors(self, seed: int, rounds: int) -> Array:
        """The noise of evaluation 0, 1, ...: the same for every method."""
        return self.noise * np.random.default_rng([seed, 2]).standard_normal(rounds)

    def slope(self, Z: Array) -> Array:
        """Derivatives of f at points (n, d + e)."""
        if self.gradient is not None:
            return self.gradient(Z)
        steps = np.diag(1e-6 * np.where(self.high > self.low, self.high - self.low, 1.0))
        return np.stack([(self.f(Z + h) - self.f(Z - h)) / (2 * h.sum()) for h in steps], axis=1)


# -- the bumps -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bumps:
    """A gentle slope plus Gaussian bumps: Σ h_i exp(−‖x − c_i‖² / 2 w_i²) + slope·x."""

    height: Array
    centre: Array
    width: Array
    slope: Array

    def values(self, X: Array) -> Array:
        """(n, d) to (n,)."""
        return self._parts(X)[0].sum(axis=1) + X @ self.slope

    def gradients(self, X: Array) -> Array:
        """(n, d) to (n, d)."""
        parts, away = self._parts(X)
        return self.slope - np.einsum("ni,nid->nd", parts / self.width**2, away)

    def _parts(self, X: Array) -> tuple[Array, Array]:
        away = X[:, None, :] - self.centre
        return self.height * np.exp(-0.5 * np.sum(away**2, axis=2) / self.width**2), away


def _on_cube(
    name: str, bumps: Bumps, eps: float, noise: float, stable_decision: list[float], stable_value: float
) -> Problem:
    d = len(bumps.slope)
    return Problem(
        name=name,
        lower=np.zeros(d),
        upper=np.ones(d),
        norm="linf",
        eps=eps,
        noise=noise,
        f=bumps.values,
        gradient=bumps.gradients,
        stable_decision=np.array(stable_decision),
        stable_value=stable_value,
    )


def bumps4() -> Problem:
    """Four dimensions: the highest bump is narrow, on the flank of a wider decoy; the best worst case is elsewhere."""
    bumps = Bumps(
        height=np.array([1.6, 1.0, 1.5, 1.1]),
        centre=np.array(
            [[0.28, 0.70, 0.30, 0.66], [0.34, 0.60, 0.42, 0.58], [0.68, 0.36, 0.64, 0.32], [0.76, 0.80, 0.26, 0.74]]
        ),
        width=np.array([0.11, 0.24, 0.27, 0.20]),
        slope=np.array([0.05, -0.05, 0.10, 0.0]),
    )
    return _on_cube(
        "bumps4",
        bumps,
        eps=0.1,
        noise=0.025,
        stable_decision=[0.65319, 0.38006, 0.62495, 0.34444],
        stable_value=1.290215,
    )


def bumps6() -> Problem:
    """The same idea in six dimensions, where bumps must be wider to be found in 100 evaluations."""
    bumps = Bumps(
        height=np.array([1.7, 1.0, 1.6, 1.2]),
        centre=np.array(
            [
                [0.30, 0.68, 0.32, 0.66, 0.62, 0.36],
                [0.38, 0.60, 0.42, 0.58, 0.56, 0.44],
                [0.68, 0.36, 0.64, 0.34, 0.38, 0.66],
                [0.72, 0.76, 0.28, 0.70, 0.30, 0.28],
            ]
        ),
        width=np.array([0.13, 0.30, 0.34, 0.26]),
        slope=np.array([0.05, -0.05, 0.10, 0.0, 0.0, 0.05]),
    )
    return _on_cube(
        "bumps6",
        bumps,
        eps=0.1,
        noise=0.025,
        stable_decision=[0.62639, 0.41756, 0.59166, 0.39998, 0.41248, 0.60709],
        stable_value=1.512712,
    )


# -- the paper's polynomial ------------------------------------------------------------------------------------------


def _coefficients() -> Array:
    """Of x^i y^j in row i and column j."""
    C = np.zeros((7, 7))
    C[:, 0] = [0, -6.2, 4.7, 6.4, -21.2, 12.2, -2]
    C[0, :] = [0, 10, -56.9, 74.8, -43.3, 11, -1]
    C[1, 1], C[2, 2], C[1, 2], C[2, 1] = 4.1, 0.1, -0.4, -0.4
    return C


def polynomial() -> Problem:
    """The paper's polynomial, on its box and not on a grid: an l2 ball of 0.5."""
    C = _coefficients()
    by_x, by_y = polyder(C, axis=0), polyder(C, axis=1)
    return Problem(
        name="polynomial",
        lower=np.array([-0.95, -0.45]),
        upper=np.array([3.2, 4.4]),
        norm="l2",
        eps=0.5,
        noise=0.1,
        f=lambda X: polyval2d(*X.T, C),
        gradient=lambda X: np.stack([polyval2d(*X.T, by_x), polyval2d(*X.T, by_y)], axis=1),
        stable_decision=np.array([-0.1812871, 0.2915740]),
        stable_value=-4.282785,
    )


PROBLEMS = {problem.name: problem for problem in (polynomial(), bumps4(), bumps6())}
