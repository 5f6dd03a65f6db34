"""Uncertainty sets written from their definitions, pair by pair, and random ones to compare with."""

import math

import numpy as np
from hypothesis import strategies as st

from stableopt import Ball, Distance, Estimate, Grid, Groups, Hamming, Parameters, Points, Rectangle
from stableopt.sets.uncertainty import Combined, Perturbation


def may_move(p, x, z):
    """Whether the perturbation may turn x into z, by its definition."""
    slack = 1 + 1e-9  # what lies at eps on paper is inside
    if isinstance(p, Distance):
        a, b = np.array(x), np.array(z)
        distance = p.distance(a, b[None])[0] if p.vectorized else p.distance(a, b)
        return distance <= p.eps * slack
    columns = range(len(x)) if p.columns is None else p.columns
    if any(x[c] != z[c] for c in range(len(x)) if c not in columns):
        return False
    if isinstance(p, Hamming):
        return sum(x[c] != z[c] for c in columns) <= p.radius
    if isinstance(p, Rectangle):
        return all(abs(x[c] - z[c]) <= w * slack for c, w in zip(columns, p.half_widths, strict=True))
    scales = [1.0] * len(columns) if p.scales is None else p.scales
    moves = [abs(x[c] - z[c]) / scale for c, scale in zip(columns, scales, strict=True)]
    length = {1: sum(moves), 2: math.sqrt(sum(m * m for m in moves)), "inf": max(moves)}[p.norm]
    return length <= p.eps * slack


def may_move_in_parts(parts, x, z):
    """Several perturbations at once: each has its columns, and what belongs to none stays."""
    if len(parts) < 2:
        return all(may_move(p, x, z) for p in parts) if parts else x == z
    owned = [c for p in parts for c in p.columns]
    if any(x[c] != z[c] for c in range(len(x)) if c not in owned):
        return False
    for p in parts:
        only = [x[c] if c not in p.columns else z[c] for c in range(len(x))]
        if not may_move(p, x, only):
            return False
    return True


def adversary(domain, uncertainty):
    """A(d) for every decision d, as increasing lists of point numbers."""
    if isinstance(uncertainty, Groups):
        return [sorted(group) for group in uncertainty.members]
    parts = uncertainty.parts if isinstance(uncertainty, Combined) else [uncertainty]
    moves = [p for p in parts if isinstance(p, Perturbation)]
    X = domain.points.tolist()
    reached = [[j for j, z in enumerate(X) if may_move_in_parts(moves, x, z)] for x in X]
    theta = [p for p in parts if isinstance(p, Parameters | Estimate)]
    if not theta:
        return reached
    rows = np.asarray(theta[0].theta).tolist()
    allowed = list(range(len(rows)))
    if isinstance(theta[0], Estimate):
        allowed = [k for k in allowed if may_move(theta[0].within, list(theta[0].estimate), rows[k])]
    return [[j * len(rows) + k for j in xs for k in allowed] for xs in reached]


STEPS = st.sampled_from([1.0, 0.1, 0.25, 1 / 3, 7.0])


@st.composite
def grids(draw, most=90, dims=(1, 4)):
    dim = draw(st.integers(*dims))
    longest = max(2, int(most ** (1 / dim)))
    shape = draw(st.lists(st.integers(1, longest), min_size=dim, max_size=dim))
    return Grid([draw(st.sampled_from([0.0, -1.7, 100.0])) + draw(STEPS) * np.arange(n) for n in shape])


@st.composite
def points(draw, most=40, dim=None):
    """Scattered points, many of them with equal coordinates and with distances that are exactly eps."""
    dim = dim or draw(st.integers(1, 3))
    rows = draw(st.lists(st.tuples(*[st.integers(-4, 4)] * dim), min_size=1, max_size=most, unique=True))
    return Points(np.array(rows, dtype=float) * draw(STEPS))


@st.composite
def some_columns(draw, dim):
    return draw(st.none() | st.permutations(range(dim)).flatmap(lambda p: st.integers(1, dim).map(lambda k: p[:k])))


@st.composite
def norm_balls(draw, dim):
    columns = draw(some_columns(dim))
    free = dim if columns is None else len(columns)
    reach = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0, 14.5, 1e4])
    if draw(st.booleans()):
        return Rectangle(draw(st.lists(reach, min_size=free, max_size=free)), columns)
    scales = draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=free, max_size=free))
    return Ball(draw(reach), draw(st.sampled_from([1, 2, "inf"])), scales, columns)


@st.composite
def hammings(draw, dim):
    return Hamming(draw(st.integers(0, dim + 1)), draw(some_columns(dim)))


@st.composite
def parameters(draw):
    theta = np.array(draw(st.lists(st.integers(-3, 3), min_size=1, max_size=4, unique=True)), dtype=float)[:, None]
    if draw(st.booleans()):
        return Parameters(theta)
    return Estimate(theta, theta[draw(st.integers(0, len(theta) - 1))], Ball(draw(st.sampled_from([0.0, 1.0, 2.0]))))


@st.composite
def two_perturbations(draw, dim):
    order = draw(st.permutations(range(dim)))
    cut = draw(st.integers(1, dim - 1))
    end = draw(st.integers(cut + 1, dim))
    parts = []
    for columns in (order[:cut], order[cut:end]):
        reach = st.sampled_from([0.0, 0.5, 1.0, 7.0])
        if draw(st.booleans()):
            parts.append(Hamming(draw(st.integers(0, len(columns))), columns))
        elif draw(st.booleans()):
            parts.append(Rectangle([draw(reach) for _ in columns], columns))
        else:
            parts.append(Ball(draw(reach), draw(st.sampled_from([1, 2])), None, columns))
    return parts[0] * parts[1]


def line_distance(x, z):
    """No metric: not symmetric, and below zero in one direction."""
    return float(np.sum(z - x))


def polynomial(X):
    """The paper's synthetic function (Bertsimas et al. 2010)."""
    x, y = X.T
    return (
        -2 * x**6 + 12.2 * x**5 - 21.2 * x**4 - 6.2 * x + 6.4 * x**3 + 4.7 * x**2 - y**6 + 11 * y**5
        - 43.3 * y**4 + 10 * y + 74.8 * y**3 - 56.9 * y**2
        + 4.1 * x * y + 0.1 * y**2 * x**2 - 0.4 * y**2 * x - 0.4 * x**2 * y
    )  # fmt: skip
