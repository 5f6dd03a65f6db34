"""What is tried: a cell is a kind of scale, set, parameter and space; a case is one random problem of a cell.

A problem has a space, an uncertainty set, a model and data. Beside the set of the library stands a `Reach`: the same
set once more, in a form that can be enumerated, written without a look at the library's movers.
"""

from __future__ import annotations

import itertools
import warnings
import zlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.accuracy.reach import Reach, Theta
from stableopt import (
    GP,
    SE,
    Ball,
    Categorical,
    Ellipsoid,
    Estimate,
    Float,
    Integer,
    Matern,
    Optimizer,
    Parameters,
    Points,
    Rectangle,
    Relative,
    Space,
    Within,
)
from stableopt.sets.variables import Range

Array = npt.NDArray[np.float64]
Generator = np.random.Generator

SCALES = ("linear", "log", "relative")
SETS = ("box", "ball", "ellipsoid", "own")
PARAMETERS = ("none", "float", "whole", "rows", "estimate")
KINDS = ("floats", "whole", "category", "candidates")
WIDE = {"6-D": 6, "10-D": 10}
OTHERS = ("whole-200", "default-linear", "default-log", "6-D", "10-D")


class Cell(NamedTuple):
    """One line of the table; a cell of OTHERS has its name as ``kind`` and nothing else."""

    scale: str
    set: str
    parameter: str
    kind: str

    def __str__(self) -> str:
        return " ".join(part for part in self if part)

    @property
    def refused(self) -> str:
        """Why the library has no such set; empty if it has."""
        if self.scale == "relative" and self.set in ("ball", "ellipsoid"):
            return "a relative tolerance is a box: one share for each number"
        return ""


def cells() -> list[Cell]:
    """All that are tried, and those that the library refuses."""
    regular = [Cell(*parts) for parts in itertools.product(SCALES, SETS, PARAMETERS, KINDS)]
    return regular + [Cell("", "", "", name) for name in OTHERS]


@dataclass(frozen=True)
class Case:
    """An optimiser with data, and what the adversary can reach, to be enumerated (None: too many dimensions)."""

    optimizer: Optimizer
    reach: Reach | None
    label: str = field(default="")


def case_of(cell: Cell, seed: int) -> Case:
    """Case number ``seed`` of a cell."""
    rng = np.random.default_rng([zlib.crc32(str(cell).encode()), seed])
    if cell.kind in WIDE:
        return _wide(WIDE[cell.kind], rng)
    if cell.kind == "whole-200":
        space = Space([Integer(0, 200)] * 2)
        reach = Reach(space, None, [0, 1], np.array([10.0, 10.0]), np.zeros(2), ball=False)
        return _told(space, Rectangle(10.0), None, reach, rng)
    if cell.kind.startswith("default"):
        log = cell.kind.endswith("log")
        return _regular(Cell("log" if log else "linear", "box", "float" if seed % 2 else "none", "floats"), rng, True)
    return _regular(cell, rng)


def _regular(cell: Cell, rng: Generator, learned: bool = False) -> Case:
    count = 2 if cell.set != "box" or rng.random() < 0.5 else 1
    whole_moves = cell.kind == "whole" and cell.set in ("box", "ball")  # other sets are for floats only
    moved: list[Range] = [_float(cell.scale, rng) for _ in range(1 if whole_moves else count)]
    parts: list[Any] = list(moved)
    if cell.kind == "whole":
        whole = Integer(1, int(rng.integers(8, 40)), log=cell.scale == "log" and bool(rng.random() < 0.5))
        parts.append(whole)
        if whole_moves:
            moved.append(whole)
    elif cell.kind == "category":
        parts.append([f"c{i}" for i in range(int(rng.integers(2, 9)))])
    elif cell.kind == "candidates":
        parts.append(Points(rng.random((int(rng.integers(6, 40)), 2))))
    space = Space(parts)
    uncertainty, reach = _set(cell, moved, space, rng)
    if cell.parameter != "none":
        parameters, reach = _parameter(cell, reach, rng)
        uncertainty = uncertainty * parameters
    return _told(space, uncertainty, "learned" if learned else None, reach, rng)


def _float(scale: str, rng: Generator) -> Float:
    if scale == "log" or (scale == "relative" and rng.random() < 0.5):
        return Float(1.0, float(10 ** rng.uniform(1, 5)), log=True)
    low = float(rng.uniform(0.2, 1.0)) if scale == "relative" else float(rng.uniform(-2, 0))
    return Float(low, low + float(rng.uniform(1, 4)))


def _set(cell: Cell, moved: list[Range], space: Space, rng: Generator) -> tuple[Any, Reach]:
    """The set of the library, and the same to be enumerated."""
    k, columns = len(moved), list(range(len(moved)))
    if cell.scale == "relative":
        share = rng.uniform(0.05, 0.6, k)
        reach = Reach(space, None, columns, np.zeros(k), share, ball=cell.set == "own")
        return (Relative(share.tolist(), columns) if cell.set == "box" else _own(reach)), reach
    size = np.array([(v.high - v.low) * np.exp(rng.uniform(np.log(0.02), np.log(0.3))) for v in moved])
    size = np.maximum(size, [1.0 if isinstance(v, Integer) else 0.0 for v in moved])
    if cell.set == "box":
        return Rectangle(size.tolist(), columns), Reach(space, None, columns, size, np.zeros(k), ball=False)
    if cell.set == "ball":
        eps = float(size[0])
        ball = Ball(eps, scales=(size / eps).tolist(), columns=columns)
        return ball, Reach(space, None, columns, size, np.zeros(k), ball=True)
    tilt = float(rng.uniform(-0.95, 0.95))
    root = np.array([[1.0, 0.0], [tilt, np.sqrt(1 - tilt**2)]])
    reach = Reach(space, None, columns, size, np.zeros(k), True, root)
    if cell.set == "ellipsoid":
        R = size[:, None] * root
        return Ellipsoid((R @ R.T).tolist(), columns), reach
    if cell.scale == "log" and rng.random() < 0.5:  # a factor up and down, in both together
        factors = np.exp(rng.uniform(np.log(0.03), np.log(0.4), k)) * [np.log(v.high / v.low) for v in moved]
        reach = Reach(space, None, columns, factors, np.zeros(k), True, factors=True)
    else:
        reach = Reach(space, None, columns, size, np.zeros(k), True, shift=0.5 * size * rng.uniform(-1, 1, k))
    return _own(reach), reach


def _own(reach: Reach) -> Within:
    """The set as a user would write it: a test of membership, and a projection found by bisection or in closed form."""

    def unit(x: Array) -> Array:
        return np.log(x) if reach.factors else x

    def ends(X: Array) -> tuple[Array, Array]:
        return unit(X) + reach.shift, reach.fixed + reach.share * np.abs(X)

    def contains(X: Array, Z: Array) -> Any:
        centre, size = ends(X)
        return (((unit(Z) - centre) / size) ** 2).sum(axis=1) <= 1 + 1e-9

    def project(X: Array, Z: Array) -> Array:
        centre, size = ends(X)
        Z = np.maximum(Z, 1e-300) if reach.factors else Z
        moved = centre + _nearest_in_ellipse(unit(Z) - centre, size)
        return np.asarray(np.exp(moved) if reach.factors else moved)

    return Within(contains, project, vectorized=True, columns=reach.columns)


def _nearest_in_ellipse(D: Array, size: Array) -> Array:
    """The nearest points with |d/size| <= 1, axes aligned: d_j size_j²/(size_j² + μ), with μ by Newton's method.

    1/length − 1 is nearly linear in μ (as in trust-region methods), so that few steps are enough.
    """
    size = np.broadcast_to(size, D.shape)
    outside = ((D / size) ** 2).sum(axis=1) > 1
    mu = np.zeros((len(D), 1))
    for _ in range(8 if outside.any() else 0):
        part = (size * D / (size**2 + mu)) ** 2
        length = np.sqrt(part.sum(axis=1, keepdims=True))
        slope = (part / (size**2 + mu)).sum(axis=1, keepdims=True)
        mu = np.maximum(mu + np.where(slope > 0, length**2 * (length - 1) / np.maximum(slope, 1e-300), 0.0), 0.0)
    inside = D * size**2 / (size**2 + mu)
    inside /= np.maximum(1.0, np.sqrt(((inside / size) ** 2).sum(axis=1, keepdims=True)))
    return np.where(outside[:, None], inside, D)


def _parameter(cell: Cell, reach: Reach, rng: Generator) -> tuple[Any, Reach]:
    """A parameter of the library, and all its values in coordinates."""
    if cell.parameter == "rows":
        rows = rng.random((int(rng.integers(3, 12)), 2))
        variable = Space([Points(rows)]).parts[0]
        return Parameters(rows), reach.with_theta(Space([variable]), Theta(choices=variable.choices))
    if cell.parameter == "whole":
        theta = Space([Integer(0, int(rng.integers(2, 13)))])
        return Parameters(theta), reach.with_theta(theta, Theta(choices=theta.parts[0].choices))
    value = Float(0.1, 10.0, log=True) if cell.scale == "log" and rng.random() < 0.5 else Float(0.0, 1.0)
    theta = Space([value])
    if cell.parameter == "float":
        return Parameters(theta), reach.with_theta(theta, Theta(0.0, 1.0))
    centre = float(value.value(rng.uniform(0.1, 0.9, 1))[0])
    radius = float(rng.uniform(0.05, 0.4)) * (value.high - value.low)
    ends = value.coordinate(np.clip([centre - radius, centre + radius], value.low, value.high))
    return Estimate(theta, [centre], Ball(radius)), reach.with_theta(theta, Theta(float(ends[0]), float(ends[1])))


def _wide(dim: int, rng: Generator) -> Case:
    space, norm = Space([(0.0, 1.0)] * dim), (1, 2, "inf")[rng.integers(3)]
    eps = float(np.exp(rng.uniform(np.log(0.03), np.log(0.3)))) * (dim**0.5 if norm == 1 else 1.0)
    return _told(space, Ball(min(eps, 1.0), norm=norm), None, None, rng, shortest=0.1 * dim**0.35)


def _told(
    space: Space, uncertainty: Any, model: str | None, reach: Reach | None, rng: Generator, shortest: float = 0.1
) -> Case:
    """An optimiser with a random model and data: a draw from its prior, or values that have nothing to do with it."""
    points = space if reach is None else reach.points_space
    t = round(np.exp(rng.uniform(np.log(5), np.log(200 if model is None else 40))))
    scales = shortest * 10 ** rng.uniform(0.0, 1.0, points.dim)
    if rng.random() < 0.5:
        scales[:] = scales[0]
    scales = scales * points.span
    smooth = [c for c in range(points.dim) if c not in points.categories]
    kernel: Any = (SE if rng.random() < 0.5 else (lambda s: Matern(2.5, s)))(scales[smooth].tolist())
    if points.categories:
        kernel = kernel.on(smooth) * Categorical(0.3).on(list(points.categories))
    gp = GP(kernel, noise=float(10 ** rng.uniform(-3, -1)))
    Z = points.rows(rng.random((t, len(points.parts))))
    if reach is not None:  # a parameter must be one that the adversary may choose
        Z = reach.allowed(Z)
    y = rng.standard_normal(t)
    if model is not None or rng.random() < 0.5:
        seen = points.natural(Z)
        y = np.linalg.cholesky(kernel(seen, seen) + (gp.noise**2 + 1e-8) * np.eye(t)) @ y
    beta = float(rng.choice([1.0, 4.0]))
    optimizer = Optimizer(space, uncertainty, gp if model is None else None, beta=beta, seed=int(rng.integers(1000)))
    with warnings.catch_warnings():  # values that have nothing to do with the model surprise it
        warnings.simplefilter("ignore")
        optimizer.tell([points.decode(z) for z in Z], y.tolist())
    return Case(optimizer, reach)
