"""Continuous problems whose true worst case is computable, so that regret is measured and not estimated.

    d        a decision, in the box [lower, upper]
    A(d)     the points within ``eps`` of d in the l2 or the l∞ norm, inside the box
    f        maximised; noise is a standard deviation
    regret   max over d' of min over A(d') of f, minus min over A(d) of f

Clipping to the box moves no coordinate further from d, so A(d) is { clip(d + δ) : ‖δ‖ ≤ eps } for both norms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from numpy.polynomial.polynomial import polyder, polyval2d
from scipy.stats import qmc

Array = npt.NDArray[np.float64]
INITIAL = 10


@dataclass(frozen=True, eq=False)
class Problem:
    """A function on a box, and how far the adversary can move a decision."""

    name: str
    lower: Array
    upper: Array
    norm: Literal["l2", "linf"]
    eps: float
    noise: float
    f: Callable[[Array], Array]
    """(n, d) points to (n,) values."""
    gradient: Callable[[Array], Array]
    """(n, d) points to (n, d) derivatives."""
    stable_decision: Array
    stable_value: float
    """Both from ``python -m benchmarks.rivals optimum``, which repeats the search."""

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.lower)

    def initial(self, seed: int) -> Array:
        """The first points of every method: a scrambled Sobol sequence."""
        sequence = qmc.Sobol(self.dimension, scramble=True, rng=np.random.default_rng([seed, 1]))
        return self.lower + (self.upper - self.lower) * sequence.random_base2(4)[:INITIAL]

    def errors(self, seed: int, rounds: int) -> Array:
        """The noise of evaluation 0, 1, ...: the same for every method."""
        return self.noise * np.random.default_rng([seed, 2]).standard_normal(rounds)


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
