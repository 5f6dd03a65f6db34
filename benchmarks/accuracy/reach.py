"""What an adversary can turn a decision into, in a form that can be enumerated.

One number after the other is chosen: each has an interval, given those before it, and a share says where in it. So all
that can be reached is the image of a cube of shares, times finitely many discrete choices. Intervals are in the
model's coordinates, where the function varies at its own pace, also on log scales.

Notation
    w          the unit of the set: the user's, or its log (`factors`)
    x'         w(x') = w(x) + shift + (fixed + share·|x|) · (root s), with s in the l2 unit ball or in the unit cube
    U (n, m)   shares of the numbers that vary continuously; D (n, k) whole steps and the number of a parameter
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from stableopt.base.arrays import cartesian
from stableopt.sets.spaces import Space
from stableopt.sets.variables import Integer, Range

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Theta:
    """A parameter: between two coordinates, or one of some rows of coordinates."""

    low: float = 0.0
    high: float = 0.0
    choices: Array | None = None


@dataclass(frozen=True)
class Reach:
    """The points of every decision."""

    space: Space
    theta_space: Space | None
    columns: list[int]
    fixed: Array
    share: Array
    ball: bool
    root: Array | None = None
    shift: Array | float = 0.0
    factors: bool = False
    theta: Theta | None = field(default=None)

    def with_theta(self, space: Space, theta: Theta) -> Reach:
        return replace(self, theta_space=space, theta=theta)

    @property
    def points_space(self) -> Space:
        return self.space if self.theta_space is None else self.space.joined(self.theta_space)

    @property
    def _variables(self) -> list[Range]:
        owners = {c[0]: v for v, c in zip(self.space.parts, self.space.columns, strict=True)}
        return [owners[c] for c in self.columns]  # type: ignore[misc]

    @property
    def width(self) -> int:
        """m, how many shares there are."""
        floats = sum(not isinstance(v, Integer) for v in self._variables)
        return floats + (self.theta is not None and self.theta.choices is None)

    def combinations(self) -> Array:
        """All D: whole steps that some decision may take, and the numbers of parameters."""
        largest = [self.fixed[j] + self.share[j] * max(abs(v.low), abs(v.high)) for j, v in enumerate(self._variables)]
        parts = [
            np.arange(-np.floor(most + 1e-9), np.floor(most + 1e-9) + 1)[:, None]
            for most, v in zip(largest, self._variables, strict=True)
            if isinstance(v, Integer)
        ]
        if self.theta is not None and self.theta.choices is not None:
            parts.append(np.arange(float(len(self.theta.choices)))[:, None])
        return cartesian(parts) if parts else np.empty((1, 0))

    def points(self, X: Array, U: Array, D: Array) -> tuple[Array, Mask]:
        """The points of decisions X (n, d), and whether they can be reached at all."""
        n = len(X)
        Z, inside, room = X.copy(), np.ones(n, dtype=bool), np.ones(n)
        root = np.eye(len(self.columns)) if self.root is None else self.root
        shift = np.zeros(len(self.columns)) + self.shift
        S, shares, steps = np.zeros((n, len(self.columns))), iter(U.T), iter(D.T)
        whole = [isinstance(v, Integer) for v in self._variables]
        for j in np.argsort(np.logical_not(whole), kind="stable").tolist():  # whole numbers first
            v, c = self._variables[j], self.columns[j]
            x = v.value(X[:, c])
            size = self.fixed[j] + self.share[j] * np.abs(x)
            if isinstance(v, Integer):
                moved = np.rint(x) + next(steps)
                S[:, j] = (moved - np.rint(x)) / np.where(size > 0, size, np.inf)
                inside &= (moved >= v.low) & (moved <= v.high) & (np.abs(moved - np.rint(x)) <= size * (1 + 1e-9))
                Z[:, c] = v.coordinate(np.clip(moved, v.low, v.high))
            else:
                start = (np.log(x) if self.factors else x) + shift[j]
                along = S @ root[j]  # what the numbers before have decided
                far = root[j, j] * (np.sqrt(np.maximum(room, 0.0)) if self.ball else 1.0)
                low, high = start + size * (along - far), start + size * (along + far)
                if self.factors:
                    low, high = np.exp(low), np.exp(high)
                inside &= (low <= v.high) & (high >= v.low)
                low, high = v.coordinate(np.clip(low, v.low, v.high)), v.coordinate(np.clip(high, v.low, v.high))
                Z[:, c] = low + next(shares) * (high - low)
                at = v.value(Z[:, c])
                at = np.log(at) if self.factors else at
                S[:, j] = ((at - start) / size - along) / root[j, j]
            room = room - S[:, j] ** 2
            inside &= (room >= -1e-9) | (not self.ball)
        if self.theta is None:
            return Z, inside
        if self.theta.choices is not None:
            return np.hstack([Z, self.theta.choices[next(steps).astype(int)]]), inside
        theta = self.theta.low + next(shares) * (self.theta.high - self.theta.low)
        return np.column_stack([Z, theta]), inside

    def allowed(self, Z: Array) -> Array:
        """Points with the nearest parameter that the adversary may choose."""
        if self.theta is None or self.theta.choices is not None:
            return Z
        Z = Z.copy()
        Z[:, -1] = np.clip(Z[:, -1], self.theta.low, self.theta.high)
        return Z
