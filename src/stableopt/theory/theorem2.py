"""Theorem 2: the hard functions of its proof, to be evaluated. Every algorithm fails on them for a while.

Notation (the paper's supplement, after Scarlett, Bogunovic and Cevher 2017)
    H, h     the bump exp(−1/(1 − ‖ξ‖²)) of the unit ball, and its inverse Fourier transform: smooth, radial, with its
             maximum h(0), and decaying faster than any power
    ζ        radius beyond which |h| < h(0)/2
    g        the valley −(2η/h(0)) h(xζ/w): depth 2η at 0, above −η outside the width w (property 2)
    K        spectral density of the kernel, so that ‖g‖_k² = ∫ |G(ξ)|²/K(ξ) dξ with G the Fourier transform of g
    f_m      g shifted to the centre of cell m of a grid with ⌊1/w⌋ cells per axis of [0, 1]^p; there are M
    v̄_m^j    the largest |f_m| on cell j
    C_1, C_2 the constants of eq. (claim1) and (claim2)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.linalg import norm as euclidean
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array, cartesian
from stableopt.base.checks import is_number, positive, share, whole
from stableopt.base.values import ReadOnly
from stableopt.model.algebra import Kernel, Scaled
from stableopt.model.kernels import SE, Matern

_NODES = 384  # of the quadrature over the radius of the bump; exact to 1e-13 for radii up to the one below
_FAR = 100  # beyond it, |h| is below 1e-12·h(0) and taken to be 0


def necessary_rate(kernel: Kernel, eta: float, norm: float, noise: float, dim: int) -> float:
    """The growth of the necessary number of rounds in Theorem 2, without its constant.

    σ²/η² (log(B/η))^{p/2} for SE and σ²/η² (B/η)^{p/ν} for Matérn.
    """
    _, base = _split(kernel)
    _check_positive(eta=eta, norm=norm, noise=noise)
    if eta >= norm:
        raise ValueError(f"expected eta below the norm bound, for which Theorem 2 is stated, got {eta} and {norm}")
    factor = (math.log(norm / eta)) ** (dim / 2) if isinstance(base, SE) else (norm / eta) ** (dim / base.nu)
    return float((noise / eta) ** 2 * factor)


@dataclass(frozen=True, eq=False)
class Bump:
    """h in p dimensions: by quadrature over the radius u of H in Fourier space, tabulated and interpolated.

    The table has 40 points per unit, with a spline of degree 7: as no frequency of h is above 1, it is exact to 1e-12.
    """

    dim: int

    def __call__(self, radius: ArrayLike) -> Array:
        """h/h(0) at these distances from the origin; any shape."""
        rho = np.asarray(radius, dtype=float)
        return np.where(rho < _FAR, self._spline(np.minimum(rho, _FAR)), 0.0)

    @cached_property
    def _spline(self) -> Callable[[Array], Array]:
        from scipy.interpolate import make_interp_spline

        u, weights = self._quadrature
        grid = np.arange(-10, 40 * _FAR + 10) / 40  # h is even: a few points below 0 keep the spline smooth there
        parts = np.array_split(np.abs(grid), 16)
        values = [_radial_wave(self.dim, 2 * np.pi * np.multiply.outer(part, u)) @ weights for part in parts]
        return make_interp_spline(grid, np.concatenate(values) / weights.sum(), k=7)

    @cached_property
    def _quadrature(self) -> tuple[Array, Array]:
        """Nodes u in (0, 1), and weights of ∫ H(u) S u^{p−1} (·) du with S the area of the unit sphere."""
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        u = (nodes + 1) / 2
        sphere = 2 * math.pi ** (self.dim / 2) / math.gamma(self.dim / 2)
        return u, np.asarray(weights / 2 * sphere * u ** (self.dim - 1) * np.exp(-1 / (1 - u**2)))

    @cached_property
    def height(self) -> float:
        """h(0) = ∫ H."""
        return float(self._quadrature[1].sum())

    @cached_property
    def half_radius(self) -> float:
        """ζ, the largest distance at which |h| reaches h(0)/2."""
        grid = np.linspace(0.0, 4.0, 2001)
        low = float(grid[np.flatnonzero(np.abs(self(grid)) >= 0.5)[-1]])
        high = low + float(grid[1])
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if float(self(middle)) >= 0.5 else (low, middle)
        return high

    @cached_property
    def _envelope(self) -> tuple[Array, Array]:
        """A fine grid of distances, and the largest |h|/h(0) from each on."""
        grid = np.linspace(0.0, _FAR, 20_001)
        values = np.abs(self(grid))
        values[:-1] = np.maximum(values[:-1], values[1:])
        between = (2 * np.pi * grid[1]) ** 2 / 8  # since |h''| <= (2π)² h(0)
        return grid, np.minimum(np.maximum.accumulate(values[::-1])[::-1] + between, 1.0)

    def largest_beyond(self, radius: Array) -> Array:
        """The largest |h|/h(0) at this distance or any greater one, rounded up by 1e-4."""
        grid, envelope = self._envelope
        return np.asarray(envelope[np.clip(np.searchsorted(grid, radius, side="right") - 1, 0, len(grid) - 1)])

    def squared_norm(self, kernel: Kernel, stretch: float) -> float:
        """‖h(·stretch)/h(0)‖_k² in R^p: ∫ H(u)²/K(u·stretch) du / (h(0)² stretch^p), over the unit ball.

        It is infinite in floating point where the function is far too narrow for the kernel.
        """
        u, weights = self._quadrature
        inner = weights > 0  # close to the sphere, H is 0 in floating point
        u, weights = u[inner], weights[inner]
        logs = np.log(weights) - 1 / (1 - u**2) - log_spectral_density(kernel, u * stretch, self.dim)
        top = float(logs.max())
        total = top + math.log(float(np.exp(logs - top).sum())) - self.dim * math.log(stretch)
        total -= 2 * math.log(self.height)
        return math.exp(total) if total < 700 else math.inf


def log_spectral_density(kernel: Kernel, frequency: ArrayLike, dim: int) -> Array:
    """log K(ξ) at these |ξ|, with k(x) = ∫ K(ξ) exp(2πi xᵀξ) dξ, for SE and Matérn kernels with one lengthscale."""
    variance, base = _split(kernel)
    squared, l = np.asarray(frequency, dtype=float) ** 2, float(base.lengthscale)  # type: ignore[arg-type] # noqa: E741
    if isinstance(base, SE):
        return np.asarray(math.log(variance) + dim / 2 * math.log(2 * math.pi * l**2) - 2 * math.pi**2 * l**2 * squared)
    nu = base.nu
    constant = dim * math.log(2) + dim / 2 * math.log(math.pi) + math.lgamma(nu + dim / 2) - math.lgamma(nu)
    constant += nu * math.log(2 * nu) - 2 * nu * math.log(l) + math.log(variance)
    return np.asarray(constant - (nu + dim / 2) * np.log(2 * nu / l**2 + 4 * math.pi**2 * squared))


def valley_norm(kernel: Kernel, eta: float, width: float, dim: int) -> float:
    """RKHS norm in R^p of the valley with depth 2η and this width; on [0, 1]^p it is at most that."""
    _check_positive(eta=eta, width=width)
    bump = _bump(dim)
    return 2 * eta * math.sqrt(bump.squared_norm(kernel, bump.half_radius / width))


def valley_width(kernel: Kernel, eta: float, norm: float, dim: int) -> float:
    """The smallest width w at which the valley of depth 2η has norm B at most: wider valleys are smoother."""
    _check_positive(eta=eta, norm=norm)
    low, high = 1e-6, 1e-6
    while valley_norm(kernel, eta, high, dim) > norm:
        low, high = high, 2 * high
        if high > 1e6:
            raise ValueError(f"expected eta small against the norm {norm}, got {eta}: no valley so deep has that norm")
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if valley_norm(kernel, eta, middle, dim) <= norm else (middle, high)
    return high


def paper_width(kernel: Kernel, eta: float, norm: float, dim: int) -> float:
    """The width w behind the paper's M (eqs. M_se and M_matern on [0, 1]^p), from cruder bounds on the norm.

    SE: ζπl / √log(B(2πl²)^{p/4}h(0)/2η). Matérn: ζ(2η(8π²)^{(ν+p/2)/2} c_2^{1/2}/B)^{1/ν} with c_2 = ‖H‖²/(h(0)²c),
    where the spectral density is c(2ν/l² + 4π²‖ξ‖²)^{−ν−p/2}; it needs ‖ξ‖ = ζ/w >= √(2ν)/2πl.
    """
    _check_positive(eta=eta, norm=norm)
    variance, base = _split(kernel)
    bump, length = _bump(dim), float(base.lengthscale)  # type: ignore[arg-type]
    zeta, norm = bump.half_radius, norm * math.sqrt(variance)
    if isinstance(base, SE):
        inside = norm * (2 * math.pi * length**2) ** (dim / 4) * bump.height / (2 * eta)
        if inside <= 1:
            raise ValueError(
                f"expected eta small against the norm, got eta={eta}: the paper's formula needs a larger B"
            )
        return zeta * math.pi * length / math.sqrt(math.log(inside))
    nu = base.nu
    u, weights = bump._quadrature
    energy = float(np.sum(weights * np.exp(-1 / (1 - u**2))))  # ‖H‖²
    log_c = float(log_spectral_density(base, 0.0, dim)) + (nu + dim / 2) * math.log(2 * nu / length**2)
    c_2 = energy / bump.height**2 * math.exp(-log_c)
    return float(zeta * (2 * eta * (8 * math.pi**2) ** ((nu + dim / 2) / 2) * math.sqrt(c_2) / norm) ** (1 / nu))


@dataclass(frozen=True, eq=False)
class HardInstances(ReadOnly):
    """The functions f_1, ..., f_M of Theorem 2 on [0, 1]^p, each of norm B at most; call it to evaluate all of them.

    Whatever is measured, f_m looks like 0 except around its own valley; yet every decision within eps of the valley's
    bottom is at least η worse than the best one.
    """

    kernel: Kernel
    eta: float
    norm: float
    eps: float
    dim: int = 1

    def __post_init__(self) -> None:
        _check_positive(eta=self.eta, norm=self.norm, eps=self.eps)
        whole(self.dim, 1, "a dimension of 1 or more")
        if self.eps + self.width > 0.5:
            raise ValueError(
                f"expected eps + width <= 1/2, so that some decision avoids the valley, got {self.eps} + "
                f"{self.width:.3g}: use a smaller eps, or a narrower valley: a smaller eta/norm or lengthscale"
            )

    @cached_property
    def width(self) -> float:
        """w, the smallest that the norm allows."""
        return valley_width(self.kernel, self.eta, self.norm, self.dim)

    @cached_property
    def centres(self) -> Array:
        """The minimisers (M, p), in the middle of the cells."""
        per_axis = math.floor(1 / self.width)
        axis = (np.arange(per_axis) + 0.5)[:, None] / per_axis
        return cartesian([axis] * self.dim)

    def __len__(self) -> int:
        return int(math.floor(1 / self.width) ** self.dim)

    def __call__(self, X: ArrayLike) -> Array:
        """The values (M, n) at the rows of X."""
        bump, distances = _bump(self.dim), self._distances(X)
        return np.asarray(-2 * self.eta * bump(distances * bump.half_radius / self.width))

    def bad(self, X: ArrayLike) -> Array:
        """Whether x lies within eps of the minimiser of f_m, so that r_ε(x) >= η (eq. r_lb), (M, n)."""
        return np.asarray(self._distances(X) <= self.eps)

    def _distances(self, X: ArrayLike) -> Array:
        points = np.asarray(X, dtype=float)
        if points.ndim != 2 or points.shape[1] != self.dim:
            raise ValueError(f"expected points as an (n, {self.dim}) array, got shape {points.shape}")
        return np.asarray(euclidean(self.centres[:, None] - points[None], axis=2))

    @cached_property
    def constants(self) -> tuple[float, float]:
        """C_1 of eq. (claim1) and C_2 of eq. (claim2), computed for these functions.

        C_1 is the smallest share of valleys that a whole cell lies within eps of. C_2² = max_j Σ_m (v̄_m^j)²/4η²: the
        divergences are v̄²/2σ², and Pinsker's inequality halves them (the paper drops that half).
        """
        half, bump = 0.5 / math.floor(1 / self.width), _bump(self.dim)
        fallen, squares = 1.0, 0.0
        for cells in np.array_split(self.centres, 1 + len(self) ** 2 // 2**20):
            gaps = np.abs(cells[:, None] - self.centres[None])
            fallen = min(fallen, float((euclidean(gaps + half, axis=2) <= self.eps).mean(axis=1).min()))
            nearest = np.asarray(euclidean(np.maximum(gaps - half, 0.0), axis=2), dtype=float)
            values = 2 * bump.largest_beyond(nearest * bump.half_radius / self.width)  # v̄_m^j/η
            squares = max(squares, float((values**2).sum(axis=1).max()))
        return fallen, math.sqrt(squares / 4)

    def failure_probability(self, rounds: int, noise: float) -> float:
        """A lower bound on P(r_ε >= η) after so many rounds, averaged over f_1..f_M, for every algorithm.

        C_1 − C_2 (η/σ) √(T/M), or 0 (eqs. rT_step3 to second_term_7).
        """
        _check_positive(noise=noise)
        fallen, spread = self.constants
        return max(0.0, fallen - spread * self.eta / noise * math.sqrt(rounds / len(self)))

    def rounds_necessary(self, xi: float, noise: float) -> int:
        """Rounds below which no algorithm reaches r_ε < η with probability 1 − ξ on all of these functions."""
        share(xi, "xi strictly between 0 and 1")
        _check_positive(noise=noise)
        fallen, spread = self.constants
        if fallen <= xi:
            raise ValueError(
                f"expected xi below {fallen:.3g}, the share of valleys that every decision may fall into, got {xi}: "
                "use a smaller xi or a larger eps"
            )
        return math.ceil(len(self) * ((fallen - xi) * noise / (spread * self.eta)) ** 2)


def plot_instances(instances: HardInstances, shaded: int | None = None, ax: Any = None) -> Any:
    """The functions in one dimension, with the region where decisions are bad for one of them (needs matplotlib)."""
    if instances.dim != 1:
        raise ValueError(f"expected instances in one dimension, got {instances.dim}")
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(7, 3), layout="constrained")[1]
    x = np.linspace(0, 1, 1001)[:, None]
    m = len(instances) // 2 if shaded is None else shaded
    centre = float(instances.centres[m, 0])
    ax.axvspan(max(0.0, centre - instances.eps), min(1.0, centre + instances.eps), color="0.88", lw=0)
    for i, values in enumerate(instances(x)):
        ax.plot(x[:, 0], values, lw=2.2 if i == m else 1.0, color="C0" if i == m else "0.55")
    ax.set(xlabel="x", ylabel="f(x)", xlim=(0, 1))
    ax.set_title(f"{len(instances)} hard functions; shaded: decisions that are bad for one of them", fontsize=10)
    return ax


@cache
def _bump(dim: int) -> Bump:
    return Bump(dim)


def _radial_wave(dim: int, z: Array) -> Array:
    """Mean of exp(i z·direction) over the unit sphere: cos, J_0, sin(z)/z, ... for p = 1, 2, 3, ..."""
    if dim == 1:
        return np.cos(z)
    if dim == 3:
        return np.sinc(z / np.pi)
    from scipy.special import gamma, j0, jv

    if dim == 2:
        return np.asarray(j0(z))
    order = dim / 2 - 1
    small = np.maximum(z, 1e-8)  # the limit at 0 is 1, reached to 1e-16
    return np.asarray(gamma(dim / 2) * (2 / small) ** order * jv(order, small))


def _split(kernel: Kernel) -> tuple[float, SE | Matern]:
    """Variance and kernel; Theorem 2 knows SE and Matérn with one lengthscale."""
    variance = 1.0
    while isinstance(kernel, Scaled):
        variance, kernel = variance * kernel.variance, kernel.kernel
    if not isinstance(kernel, SE | Matern) or not is_number(kernel.lengthscale):
        raise TypeError(f"expected an SE or Matern kernel with one lengthscale, as in Theorem 2, got {kernel!r}")
    return variance, kernel


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        positive(value, f"{name} above 0")
