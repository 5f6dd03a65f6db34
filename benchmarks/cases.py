"""The cases, each meant to run in a process of its own: a function that returns rows of the table.

A round is ask + tell + report. The two sides alternate and the medians of their CPU times are compared: on a busy
machine the wall time of a long call grows and that of a short one does not, which would flatter the shorter side.
"""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.table import Row
from stableopt import (
    GP,
    SE,
    Ball,
    Grid,
    Groups,
    Learned,
    Matern,
    Measurement,
    Optimizer,
    Parameters,
    Points,
    Query,
    Rectangle,
    Report,
    Space,
)
from stableopt.model.beliefs import Belief
from stableopt.model.fit import log_likelihood

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Function = Callable[[Array], float]
NAIVE_ROUNDS, BATCH = 21, 7  # the sides take turns after a batch of rounds, which follow each other as in use
FLOOR_ROUNDS = 9
HUGE = 3162  # values on each of two axes: 10^7 points
STREAMED = 10**8  # numbers that are streamed through memory at once


def polynomial() -> list[Row]:
    """The paper's synthetic function."""
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    domain, ball, lengthscale = Grid.linspace([-0.95, -0.45], [3.2, 4.4], 100), Ball(0.5), [0.7, 0.8]

    def f(z: Array) -> float:
        x, y = z.tolist()
        powers = -2 * x**6 + 12.2 * x**5 - 21.2 * x**4 + 6.4 * x**3 + 4.7 * x**2 - 6.2 * x
        powers += -(y**6) + 11 * y**5 - 43.3 * y**4 + 74.8 * y**3 - 56.9 * y**2 + 10 * y
        return float(powers + 4.1 * x * y + 0.1 * x**2 * y**2 - 0.4 * x * y**2 - 0.4 * x**2 * y)

    optimizer = Optimizer(domain, ball, GP(400.0 * SE(lengthscale), noise=0.1))
    kernel, lists = ConstantKernel(400.0) * RBF(lengthscale), _neighbours(domain.points, ball.eps)
    return [_against_naive("polynomial", optimizer, kernel, lists, f, 40.0)]


def scattered() -> list[Row]:
    """10^4 points in 5-D with about 50 neighbours each."""
    from sklearn.gaussian_process.kernels import RBF

    points = np.random.default_rng(0).random((10_000, 5))
    optimizer = Optimizer(Points(points), Ball(0.27), GP(SE(0.5), noise=0.1))
    return [_against_naive("scattered", optimizer, RBF(0.5), _neighbours(points, 0.27), _waves(5), 15.0)]


def parameters() -> list[Row]:
    """10^3 points × 10 values of an unknown parameter."""
    from sklearn.gaussian_process.kernels import RBF

    points = np.random.default_rng(0).random((1000, 3))
    prior = GP(SE(0.3).on([0, 1, 2]) * SE(0.4).on([3]), noise=0.1)
    optimizer = Optimizer(Points(points), Parameters(np.linspace(0, 1, 10)), prior)
    lists = list(np.arange(10_000).reshape(1000, 10))
    return [_against_naive("parameters", optimizer, RBF([0.3, 0.3, 0.3, 0.4]), lists, _waves(4), 15.0)]


def groups() -> list[Row]:
    """1682 points with 15 features in 80 groups, linear kernel: the size of the paper's movie experiment."""
    from sklearn.gaussian_process.kernels import DotProduct

    rng = np.random.default_rng(0)
    labels = rng.permutation(1682) % 80
    points = rng.normal(size=(80, 15))[labels] + 0.5 * rng.normal(size=(1682, 15))
    root = np.tril(rng.normal(size=(15, 15))) / 4 + np.eye(15) / 2
    weights = rng.normal(size=15) / 4
    u = weights + root @ rng.normal(size=15)
    optimizer = Optimizer(Points(points), Groups.from_labels(labels), GP.linear(weights, root @ root.T, noise=0.3))
    lists = [np.flatnonzero(labels == label) for label in range(80)]
    kernel = DotProduct(sigma_0=1e-10)  # on features times the root of Σ, hence xᵀ Σ z
    row = _against_naive(
        "groups", optimizer, kernel, lists, lambda x: float(x @ u), 15.0, points @ root, points @ weights
    )
    return [row]


def rectangle() -> list[Row]:
    """10^6 points and a kernel that is no product: the posterior has to store and read t·n numbers."""
    t, n = 200, 1000
    cells = 20 / (n - 1)
    domain = Grid.linspace([0, 0], [1, 1], n)
    optimizer = Optimizer(domain, Rectangle([cells, cells]), GP(Matern(2.5, 0.2), noise=0.1))
    time, memory = _against_floor("rectangle", optimizer, _waves(2), t, 2.5)
    return [
        time,
        Row("rectangle", f"peak memory, t = {t}", "8·t·n bytes", "B", memory, 8.0 * t * n**2, "<=", 1.2),
    ]


def ball() -> list[Row]:
    """10^6 points and a kernel that is a product over the axes."""
    t, n = 200, 1000
    domain = Grid.linspace([0, 0], [1, 1], n)
    optimizer = Optimizer(domain, Ball(20 / (n - 1)), GP(SE(0.1), noise=0.1))
    time, memory = _against_floor("ball", optimizer, _waves(2), t, 4.0)
    return [time, Row("ball", f"peak memory, t = {t}", "0.6 GB", "B", memory, 0.6e9, "<=", 1.0)]


def huge_rectangle() -> list[Row]:
    """10^7 points and a kernel that is no product: t·n numbers would be 16 GB."""
    domain, cells = Grid.linspace([0, 0], [1, 1], HUGE), 20 / (HUGE - 1)
    optimizer = Optimizer(domain, Rectangle([cells, cells]), GP(Matern(2.5, 0.2), noise=0.1))
    time, memory = _against_floor("huge rectangle", optimizer, _waves(2), 200, 4.0, at_once=True)
    return [time, Row("huge rectangle", "peak memory, t = 200", "2 GB", "B", memory, 2e9, "<=", 1.0)]


def huge_ball() -> list[Row]:
    """10^7 points and a kernel that is a product over the axes."""
    domain = Grid.linspace([0, 0], [1, 1], HUGE)
    optimizer = Optimizer(domain, Ball(20 / (HUGE - 1)), GP(SE(0.1), noise=0.1))
    time, memory = _against_floor("huge ball", optimizer, _waves(2), 200, 1.0, at_once=True)
    return [time, Row("huge ball", "peak memory, t = 200", "1.5 GB", "B", memory, 1.5e9, "<=", 1.0)]


def large() -> list[Row]:
    """A suggestion after 2,000 observations in 10-D against one likelihood with its gradient; a refit has dozens."""
    t, p = 2000, 10
    rng = np.random.default_rng(0)
    X = rng.random((t, p))
    y = np.sin(3 * X).sum(axis=1) + 0.1 * rng.normal(size=t)
    optimizer = Optimizer(Space([(0.0, 1.0)] * p), Ball(0.1), Learned(), explore=1.0, initial=1)
    optimizer.tell(X, y)
    gp = optimizer.state.belief.gps[0]

    def suggestion() -> float:
        start = process_time()
        query = optimizer.ask()
        optimizer.tell(query, float(np.sin(3 * np.asarray(query.point)).sum()))
        return process_time() - start

    def likelihood() -> float:
        start = process_time()
        log_likelihood(gp, X, y)
        return process_time() - start

    ours, theirs = _alternate(suggestion, likelihood, rounds=FLOOR_ROUNDS)
    return [Row("large", f"suggestion, t = {t} in {p}-D", "likelihood and gradient", "s", ours, theirs, "<=", 3.0)]


def experiments() -> list[Row]:
    """The paper's experiments at their full size, on all cores, in wall time; of the robot's 30 pairs one per core."""
    pairs = min(30, os.cpu_count() or 1)
    limits = {"synthetic": 120.0, "lake": 120.0, "movies": 120.0, "robot": 3600.0}
    rows = []
    for name, limit in limits.items():
        few = ["--runs", str(pairs)] if name == "robot" else []
        with TemporaryDirectory() as out:
            command = [sys.executable, "-m", "stableopt", "reproduce", name, "--full", "--out", out, *few]
            start = perf_counter()
            subprocess.run(command, check=True, stdout=sys.stderr)
            seconds = perf_counter() - start
        what = f"30 pairs, from {pairs}" if few else "the paper's size"
        seconds *= math.ceil(30 / pairs) if few else 1
        rows.append(Row(name, what, f"{limit / 60:.0f} minutes", "s", seconds, limit, "<=", 1.0))
    return rows


def imports() -> list[Row]:
    """`import stableopt` in a fresh interpreter against what it needs anyway, both with bytecode as after pip."""
    with TemporaryDirectory() as bytecode:
        sides = [partial(_import_time, modules, bytecode) for modules in ("stableopt", "numpy, scipy.linalg")]
        _alternate(*sides, rounds=1)  # writes the bytecode
        ours, theirs = _alternate(*sides, rounds=21)
    return [Row("imports", "import stableopt", "import numpy, scipy.linalg", "s", ours, theirs, "<=", 1.25)]


def _against_naive(
    case: str,
    optimizer: Optimizer,
    kernel: Any,
    lists: Sequence[Indices],
    f: Function,
    limit: float,
    features: Array | None = None,
    mean: Array | None = None,
) -> Row:
    """Rounds around t = 100 after random points, and both sides must agree in every one of them."""
    from benchmarks.naive import Naive

    points = optimizer.state.posterior.points
    features = points if features is None else features
    naive = Naive(kernel, optimizer.gp.noise, features, np.zeros(len(points)) if mean is None else mean, lists)
    t = 100
    f = _noisy(f, optimizer.gp.noise)
    _fill(optimizer, f, t - NAIVE_ROUNDS // 2 - 1)
    rounds = optimizer.rounds
    naive.tell_all([r.decision_index for r in rounds], [r.point_index for r in rounds], [r.y for r in rounds])
    tolerance = 1e-6 * float(np.sqrt(optimizer.state.posterior.variance.max()))
    ours, theirs = [], []
    for _ in range(0, NAIVE_ROUNDS, BATCH):
        for query, y, report, seconds in [_round(optimizer, f) for _ in range(BATCH)]:
            ours.append(seconds)
            naive.check_query(query, tolerance)
            start = process_time()
            naive.ask()
            naive.tell(query.decision_index, query.point_index, y)
            naive.report()
            theirs.append(process_time() - start)
            naive.check_report(report, tolerance)
    return Row(case, f"round, t = {t}", "naive (scikit-learn)", "s", median(ours), median(theirs), ">=", limit)


def _against_floor(
    case: str, optimizer: Optimizer, f: Function, t: int, limit: float, at_once: bool = False
) -> tuple[Row, float]:
    """Rounds after t random points against streaming t·n numbers once; and the peak memory just before."""
    f = _noisy(f, optimizer.gp.noise)
    _fill(optimizer, f, t - 2, at_once)
    for _ in range(2):
        _round(optimizer, f)
    memory = _peak_memory()
    n = len(optimizer.state.posterior.mean)
    part = min(t, max(1, STREAMED // n))  # as many rows as fit into memory; all of them take t / part times as long
    rows, weights = np.ones((part, n)), np.ones(part)

    def floor() -> float:
        start = process_time()
        weights.dot(rows)
        return (process_time() - start) * t / part

    ours, theirs = _alternate(lambda: _round(optimizer, f)[-1], floor, rounds=FLOOR_ROUNDS)
    return Row(case, f"round, t = {t}", "reading t·n numbers", "s", ours, theirs, "<=", limit), memory


def _round(optimizer: Optimizer, f: Function) -> tuple[Query, float, Report, float]:
    """One round, and the seconds that it took without f."""
    start = process_time()
    query = optimizer.ask()
    asked = process_time()
    y = f(query.point)
    measured = process_time()
    optimizer.tell(query, y)
    report = optimizer.report()
    return query, y, report, process_time() - measured + asked - start


def _alternate(ours: Callable[[], float], theirs: Callable[[], float], *, rounds: int) -> tuple[float, float]:
    """Medians of what the two sides return, called in turn."""
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    return median(a for a, _ in pairs), median(b for _, b in pairs)


def _fill(optimizer: Optimizer, f: Function, t: int, at_once: bool = False) -> None:
    """Values at t random points; each of them is a decision that the report has to consider.

    ``at_once``: by one factorisation, as in a run that is read from a file, which saves most of the time here.
    """
    setting = optimizer.state.setting.translation
    numbers = np.random.default_rng(1).integers(setting.solver.n_points, size=t).tolist()
    known = [Measurement(i, f(setting.point(i)), setting.decision_of(i)) for i in dict.fromkeys(numbers)]
    if at_once:
        optimizer._replay(known, Belief((optimizer.gp,), len(known)))
        return
    for m in known:
        optimizer.tell(setting.point(m.point), m.value, setting.decision(m.decision))


def _noisy(f: Function, noise: float) -> Function:
    rng = np.random.default_rng(2)
    return lambda x: f(x) + noise * float(rng.normal())


def _waves(p: int) -> Function:
    """A smooth function on the unit cube: a few random plane waves."""
    rng = np.random.default_rng(3)
    frequencies, phases = 4.0 * rng.normal(size=(6, p)) / math.sqrt(p), rng.uniform(0, 2 * math.pi, size=6)
    return lambda x: float(np.cos(frequencies @ x + phases).sum() / 2)


def _neighbours(points: Array, eps: float) -> list[Indices]:
    from scipy.spatial import KDTree

    lists = KDTree(points).query_ball_point(points, eps * (1 + 1e-9), return_sorted=True)
    return [np.array(members, dtype=np.intp) for members in lists]


def _import_time(modules: str, bytecode: str) -> float:
    code = f"from time import process_time as now; start = now(); import {modules}; print(now() - start)"
    environment = os.environ | {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def _peak_memory() -> float:
    """Peak resident memory of this process in bytes, interpreter and libraries included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)
