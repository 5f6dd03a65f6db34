"""How good is the search where decisions are not just floats? Against all of them, on fine grids.

    python -m benchmarks.mixed [--cases 40]

Values at random points are drawn from a model that is given; the decision with the largest worst-case ucb is sought.
The loss is how far its worst case is below the largest on a grid: of all whole numbers and choices, of 251 values of a
float, of 41 values of each coordinate of a parameter. It is in percent of the spread of ucb, and at most 1 % in 95 % of
all cases, or the command fails.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import minimum_filter

from stableopt import GP, SE, Categorical, Integer, Optimizer, Parameters, Points, Rectangle, Space
from stableopt.base.arrays import cartesian

Array = npt.NDArray[np.float64]
LOSS, WITHIN = 0.01, 0.95
FLOAT = np.linspace(0, 1, 251)[:, None]
THETA = np.linspace(0, 1, 41)[:, None]


@dataclass(frozen=True)
class Case:
    """A space, what may happen there, a model, and the grid: coordinates along each axis, and reach in its steps."""

    space: Space
    uncertainty: Any
    gp: GP
    axes: Sequence[Array]
    steps: Sequence[int]
    """One for each axis of a decision; the axes behind them are those of a parameter."""
    observations: int = 30

    def loss(self, seed: int) -> float:
        """The loss of one search."""
        rng = np.random.default_rng(seed)
        optimizer = Optimizer(self.space, self.uncertainty, self.gp, seed=seed)
        points = optimizer.state.setting.points_space
        rows = points.rows(rng.random((self.observations, len(points.parts))))
        seen = points.natural(rows)
        root = np.linalg.cholesky(self.gp.kernel(seen, seen) + 0.05**2 * np.eye(len(seen)))
        optimizer.tell_all([points.decode(row) for row in rows], (root @ rng.standard_normal(len(seen))).tolist())
        ucb = optimizer.state._bound(optimizer.beta, +1)
        values = np.concatenate([ucb(part) for part in np.array_split(cartesian(list(self.axes)), 20)])
        values = values.reshape([len(axis) for axis in self.axes])
        worst = values.min(axis=tuple(range(len(self.steps), values.ndim)))
        worst = minimum_filter(worst, size=[2 * s + 1 for s in self.steps], mode="nearest")
        return float((worst.max() - optimizer.state.optimistic.value) / np.ptp(values))


def whole(most: int, count: int, reach: int) -> Case:
    """Several whole numbers from 0 on."""
    axis = np.linspace(0, 1, most + 1)[:, None]
    space = Space([Integer(0, most)] * count)
    return Case(space, Rectangle(float(reach)), GP(SE(0.15 * most), 0.05), [axis] * count, [reach] * count)


def cases() -> dict[str, Case]:
    """What is tried."""
    rows = np.random.default_rng(0).random((60, 2))
    names = [f"c{i}" for i in range(20)]
    candidates = Space([Points(rows), (0, 1)])
    stages = Space([Integer(0, 30), (0, 1)])
    wind, float_only = Parameters(Space([(0, 1)])), Space([(0, 1)])
    storm = Parameters(Space([(0, 1)] * 2))
    kind = GP(Categorical(0.3).on([0]) * SE(0.15).on([1]), 0.05)
    return {
        "2 whole numbers to 40, ±3": whole(40, 2, 3),
        "2 whole numbers to 200, ±10": whole(200, 2, 10),
        "3 whole numbers to 40, ±2": whole(40, 3, 2),
        "a whole number and a float": Case(
            stages,
            Rectangle([2.0, 0.08]),
            GP(SE([4.5, 0.15]), 0.05),
            [np.linspace(0, 1, 31)[:, None], FLOAT],
            [2, 20],
        ),
        "60 candidates and a float": Case(
            candidates,
            Rectangle(0.08, columns=[2]),
            GP(SE([0.25, 0.25, 0.15]), 0.05),
            [candidates.parts[0].choices, FLOAT],  # type: ignore[list-item]
            [0, 20],
        ),
        "20 categories and a float": Case(
            Space([names, (0, 1)]),
            Rectangle(0.08, columns=[1]),
            kind,
            [np.arange(20.0)[:, None], FLOAT],
            [0, 20],
        ),
        "a float, a parameter in a box": Case(
            float_only, Rectangle(0.08) * wind, GP(SE([0.2, 0.4]), 0.05), [FLOAT, THETA], [20]
        ),
        "a float, two parameters in a box": Case(
            float_only, Rectangle(0.08) * storm, GP(SE([0.2, 0.4, 0.4]), 0.05), [FLOAT, THETA, THETA], [20]
        ),
    }


def main() -> int:
    """Print the table; 0 if the loss is small in enough of all cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=40, help="of each kind")
    count = parser.parse_args().cases
    print("| decisions | cases | loss at most 1 % | largest loss |\n|---|---|---|---|")
    every: list[Array] = []
    for label, case in cases().items():
        every.append(np.array([case.loss(seed) for seed in range(count)]))
        _line(label, every[-1])
    return int(not _line("all", np.concatenate(every)))


def _line(label: str, loss: Array) -> bool:
    within = float(np.mean(loss <= LOSS))
    print(f"| {label} | {len(loss)} | {100 * within:.1f} % | {100 * max(0.0, loss.max()):.1f} % |", flush=True)
    return within >= WITHIN


if __name__ == "__main__":
    sys.exit(main())
