"""A test of a kernel of one's own: `check_kernel` says which method is wrong, by how much, and where.

Notation (see `algebra`)
    X   (n, p)   points on which the kernel is tested
    K   (n, n)   the matrix k(X, X)
"""

from __future__ import annotations

import json
from dataclasses import fields

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array
from stableopt.base.checks import matrix
from stableopt.base.values import from_dict
from stableopt.model.algebra import Kernel, OnColumns, Wrt, slopes
from stableopt.model.derived import finite

_ROUNDING = 1e-9  # of the largest value: what may differ between two ways to compute the same
_NEGATIVE = 1e-8  # of the largest variance: an eigenvalue so far below 0 is still taken for rounding, as in a posterior
_SLOPE = 1e-4  # of the largest derivative: what central differences may be off
_FLAT = 1e-7  # of the largest value: the same where the kernel does not vary


def check_kernel(kernel: Kernel, X: ArrayLike) -> None:
    """Raise an error that names the class and the method if a kernel is wrong on the points X (n, p).

    The values must be finite, symmetric and positive semi-definite, and depend on one pair of points at a time. A given
    gradient must agree with differences of the values, except where two points coincide: there, a kernel may have a
    kink. The kernel must survive being written as JSON. Parts of a sum, product or scaled kernel are checked first.
    Twenty random points from your domain are a good choice of X.
    """
    points = matrix(X, "points")
    if len(points) < 2:
        raise ValueError(f"expected at least 2 points to check a kernel on, got {len(points)}: 20 random ones will do")
    if not isinstance(kernel, Kernel):
        raise TypeError(f"expected a kernel, got {kernel!r:.200}: subclass stableopt.model.Kernel")
    name, parameters = type(kernel).__name__, getattr(kernel, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        raise TypeError(f"expected {name} as a frozen dataclass, got {kernel!r:.200}: write @dataclass(frozen=True)")
    again = kernel.with_params(kernel.params).params
    _compare(f"the same hyperparameters from {name}.with_params", again, kernel.params, _ROUNDING)
    seen = points[:, kernel.columns] if isinstance(kernel, OnColumns) else points
    for field in fields(kernel):  # type: ignore[arg-type]
        part, distinct = getattr(kernel, field.name), np.unique(seen, axis=0)
        if isinstance(part, Kernel) and len(distinct) > 1:
            check_kernel(part, distinct)
    _check_values(kernel, points)
    for wrt in ("inputs", "params"):
        _check_gradient(kernel, points, wrt)
    _check_json(kernel)


def check_own_values(kernel: Kernel, X: Array) -> None:
    """Refuse a kernel of one's own, or one with such a part, if its values on the points X are wrong."""
    if kernel._own:
        _check_values(kernel, np.unique(X, axis=0))
    seen = X[:, kernel.columns] if isinstance(kernel, OnColumns) else X
    for _, part in kernel._learnable():
        if isinstance(part, Kernel):
            check_own_values(part, seen)


def _check_json(kernel: Kernel) -> None:
    name = type(kernel).__name__
    copy = from_dict(json.loads(json.dumps(kernel.to_dict())))
    if type(copy) is not type(kernel):
        remedy = "make the kernel again from the class that you have now"
        raise ValueError(f"expected one class {name} in its module, got another one that was defined later: {remedy}")
    if copy != kernel:
        got = f"{copy!r:.200} for {kernel!r:.200}"
        remedy = "use numbers, strings and tuples as fields, and @dataclass(frozen=True, eq=False)"
        raise ValueError(f"expected {name} to be the same after it was written as JSON, got {got}: {remedy}")


def _check_values(kernel: Kernel, X: Array) -> None:
    name = f"{type(kernel).__name__}.values"
    K = kernel(X, X)
    close = _ROUNDING * float(np.abs(K).max())
    _compare(f"the same k(x, z) from {name}, whichever other rows X has,", kernel(X[:1], X), K[:1], close)
    _compare(f"the same k(x, z) from {name}, whichever other rows Z has,", kernel(X, X[:-1]), K[:, :-1], close)
    _compare(f"a symmetric matrix from {name}", K, K.T, close)
    _compare(f"the diagonal of {name} from {type(kernel).__name__}.diag", kernel.diag(X), K.diagonal(), close)
    lowest = float(np.linalg.eigvalsh(K).min())
    if lowest < -_NEGATIVE * float(K.diagonal().max()):
        got = f"an eigenvalue {lowest:.3g} with variances up to {K.diagonal().max():.3g}"
        remedy = "this is no kernel, look for a wrong sign or distance"
        raise ValueError(f"expected a positive semi-definite matrix from {name}, got {got}: {remedy}")


def _check_gradient(kernel: Kernel, X: Array, wrt: Wrt) -> None:
    apart = ~np.eye(len(X), dtype=bool)
    differences = [slope * apart for slope in slopes(kernel, X, X, wrt)]
    if not differences:
        return
    given = kernel.gradient(X, X, wrt)
    if given is not None:
        name = f"{type(kernel).__name__}.gradient"
        exact = finite(name, given, (*apart.shape, len(differences))) * apart[:, :, None]
        expected = np.stack(differences, axis=-1)
    else:  # a sum with weights, which is what the kernels of this package give
        name = f"{type(kernel).__name__}.with_pullback"
        weights = np.random.default_rng(0).uniform(0.5, 1.5, apart.shape) * apart
        exact = kernel.with_pullback(X, X)[1](weights, wrt)
        sums = [(weights * slope).sum(axis=1 if wrt == "inputs" else None) for slope in differences]
        expected = np.stack(sums, axis=-1)
    spans = np.ptp(X, axis=0) if wrt == "inputs" else np.ones(1)
    spans = np.where(spans > 0, spans, 1.0)  # in units of the span, derivatives by all columns can be compared
    close = (_SLOPE * np.abs(expected * spans).max() + _FLAT * np.abs(kernel(X, X)).max()) / spans
    _compare(f"derivatives by {wrt!r} from {name} that agree with differences of the values", exact, expected, close)


def _compare(what: str, given: Array, expected: Array, tolerance: float | Array) -> None:
    gaps = np.abs(given - expected)
    if np.any(gaps > tolerance):
        at = tuple(int(i) for i in np.unravel_index(np.argmax(gaps / tolerance), gaps.shape))
        got = f"where the deviation of {gaps[at]:.3g} is largest: check its formula"
        raise ValueError(f"expected {what}, got {given[at]:.6g} instead of {expected[at]:.6g} at {list(at)}, {got}")
