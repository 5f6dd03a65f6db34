"""The exact climb of one decision on fixed replies: a small smooth program, solved by sequential quadratic programming.

    maximise τ over (x, τ)   with   F(reply_i(x)) >= τ for i = 1..m   and   |x − x_0| <= radius

This is the master problem of an exchange method, on the constraints that are active now. A constrained version adds
M_c(reply_i(x)) >= 0 for the active worst cases of every constraint c: more rows of the same Jacobian, without τ.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from stableopt.base.arrays import Array, Indices
from stableopt.maxmin.search.oracle import Oracle


class _Enough(Exception):  # noqa: N818
    """Ends a climb: the solver has no other way to be stopped from within."""


def climb(oracle: Oracle, x: Array, T: Array, radius: float, steps: int) -> tuple[Array, float, Indices]:
    """A decision near x with a locally largest min over the replies to it, that value, and the order of the replies.

    The replies have the targets T (m, P); the lowest reply comes first in the order. The climb stays within a box of
    this radius around x. If nothing better is found, the decision is x itself.
    """
    from scipy.optimize import Bounds, minimize

    m = len(T)
    lower, upper = oracle.region.clip(x + radius * np.array([[-1.0], [1.0]]))
    lower, upper = np.where(oracle.movable, lower, x), np.where(oracle.movable, upper, x)
    v, g = oracle.replies(x, T)
    first, scale = float(v.min()), oracle.scale
    best, last = (x, v), (x, v, g)
    most = oracle.budget.used + 2 * m * (steps + 5)  # at a kink a line search would go on for long

    def evaluated(u: Array) -> tuple[Array, Array]:
        """Values and gradients at u = (x, τ); the solver asks for both one after the other."""
        nonlocal best, last
        if not np.array_equal(u[:-1], last[0]):
            y = np.clip(u[:-1], lower, upper)
            if oracle.budget.used > most:
                raise _Enough
            v, g = oracle.replies(y, T)
            last = u[:-1].copy(), v, g
            if v.min() > best[1].min():
                best = y, v
        return last[1:]

    jacobian = np.full((m, len(x) + 1), -1.0)

    def slacks(u: Array) -> Array:
        """F(reply_i(x)) − τ, in units of the spread of F, from the first value on."""
        return np.asarray((evaluated(u)[0] - first) / scale - u[-1])

    def slopes(u: Array) -> Array:
        jacobian[:, :-1] = evaluated(u)[1] / scale
        return jacobian

    down = np.append(np.zeros(len(x)), -1.0)
    settings: dict[str, Any] = {
        "jac": lambda u: down,
        "bounds": Bounds(np.append(lower, -np.inf), np.append(upper, np.inf)),
        "constraints": {"type": "ineq", "fun": slacks, "jac": slopes},
        "options": {"maxiter": steps, "ftol": 1e-8},
    }
    with contextlib.suppress(_Enough):
        minimize(lambda u: float(-u[-1]), np.append(x, 0.0), method="SLSQP", **settings)  # type: ignore[call-overload]
    return best[0], float(best[1].min()), np.argsort(best[1], kind="stable")
