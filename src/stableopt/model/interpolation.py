"""How far the points of a box are from their interpolation between its corners, in the geometry of a kernel.

Notation
    φ(z)       k(z, ·), the point z as an element of the kernel's Hilbert space
    h_j, l_j   width of a box along axis j, and the kernel's lengthscale there
    ω          a frequency, drawn from the kernel's spectral measure along one axis
    ρ_j        bound on the distance of φ from its linear interpolation along axis j

Interpolating along one axis after the other, ‖φ(z) − Σ_v λ_v(z) φ(v)‖ <= Σ_j ρ_j, since interpolation takes averages.
Along one axis, k is the mean of k(0) cos(ω(z − z')), and exp(iωz), interpolated between two ends h apart, is off by
at most 2 min(1, x, x²) <= 2 x^{n/2} with x = |ω|h/4, for all n in [0, 4]: the three are two points of the unit disc,
2λ(1 − λ)|ω|h, and ω²h²/8. So

    ρ_j² <= 4 k(0) E|ω h_j/4|^n,    ω l_j ~ N(0, 1) for SE, and Student's t with 2ν degrees of freedom for Matérn

where n < 2ν. For SE and ν > 2, n = 4 makes ρ_j of second order in h_j.
"""

from __future__ import annotations

import math

import numpy as np

from stableopt.base.arrays import Array
from stableopt.model.algebra import Kernel, OnColumns, Product, Scaled, Sum
from stableopt.model.kernels import SE, Matern, Stationary


def interpolation_error(kernel: Kernel, widths: Array) -> Array:
    """ρ_j² for boxes with these widths (n, p): how far φ is at most from its interpolation along each axis (n, p)."""
    if not np.any(widths):
        return np.zeros(widths.shape)
    if isinstance(kernel, Scaled):
        return kernel.variance * interpolation_error(kernel.kernel, widths)
    if isinstance(kernel, Sum):
        return interpolation_error(kernel.left, widths) + interpolation_error(kernel.right, widths)
    if isinstance(kernel, OnColumns):
        errors = np.zeros(widths.shape)
        columns = list(kernel.columns)
        errors[:, columns] = interpolation_error(kernel.kernel, widths[:, columns])
        return errors
    if isinstance(kernel, Product):
        left, right = interpolation_error(kernel.left, widths), interpolation_error(kernel.right, widths)
        if not np.any((left > 0) & (right > 0)):
            sizes = [part.diag(np.zeros((1, widths.shape[1])))[0] for part in (kernel.left, kernel.right)]
            return np.asarray(left * sizes[1] + right * sizes[0])
    if isinstance(kernel, SE | Matern):
        return _stationary_error(kernel, widths)
    raise TypeError(
        f"expected SE and Matern kernels, their sums, and products on separate columns, got {kernel!r:.200}: no bound "
        "for boxes is known for it"
    )


def _stationary_error(kernel: Stationary, widths: Array) -> Array:
    """4 min_n E|ωh/4|^n over some n."""
    x = widths / np.asarray(kernel.lengthscale) / 4
    freedom = 2 * kernel.nu if isinstance(kernel, Matern) else math.inf
    orders = [n for n in (0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 0.7 * freedom, 0.9 * freedom) if n <= 4 and n < freedom]
    return np.asarray(4 * np.min([_moment(n, freedom) * x**n for n in orders], axis=0))


def _moment(order: float, freedom: float) -> float:
    """E|T|^n for Student's t with these degrees of freedom; the normal distribution if there are infinitely many."""
    common = math.gamma((order + 1) / 2) / math.sqrt(math.pi)
    if freedom > 300:  # the normal limit, with an allowance: the moments come down to it from above
        return common * float(2 ** (order / 2)) * (1.0 if freedom == math.inf else 1 + 8 / freedom)
    return common * float(freedom ** (order / 2)) * math.gamma((freedom - order) / 2) / math.gamma(freedom / 2)
