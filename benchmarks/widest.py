"""How far from a specification's critical radius is what is reported: `widest`, and StableOpt with a wrong tolerance?

The specification is the stable optimum of a problem, so the right tolerance is the problem's own: the factor 1. Who
knows only the specification has to guess: half of it, or four times. The score is the largest factor of the tolerance
up to which the reported decision truly keeps the specification, over the largest that any decision keeps: 1 is best, 0
says that it misses the specification even if nothing is perturbed.

    python -m benchmarks.widest [--seeds 5] [problem ...]

Peaks, within-model and the polynomial have a model that is given. Branin, eggholder, sine and Hartmann-3 are the
functions of the field, of all their inputs, on a grid over their ranges with a ball as the tolerance; their model is
learned. The parameters that an adversary chooses from a list there have no size that could be scaled.
"""

from __future__ import annotations

import argparse

import numpy as np

import stableopt as so
from benchmarks.field.problems import PROBLEMS as FIELD
from stableopt.loop.play import play
from stableopt.loop.radius import LargestFactor, OptimisticFactor
from stableopt.loop.rules import BestOfAll, OptimisticPessimistic
from stableopt.maxmin import Listing
from stableopt.problems import PROBLEMS

ROUNDS = {
    "peaks": (15, 30),
    "within-model": (20, 40),
    "polynomial": (30, 60),
    "sine": (15, 30),
    "branin": (20, 40),
    "hartmann3": (20, 40),
    "eggholder": (40, 80),
}
# Of a function of the field: the ends of its inputs, steps of the grid in each, and the ball's radius, of the ranges.
GRIDS = {
    "sine": ([(0.05, 1.1)], 151, 0.04),
    "branin": ([(-5, 10), (0, 15)], 31, 0.1),
    "hartmann3": ([(0, 1)] * 3, 17, 0.15),
    "eggholder": ([(-512, 512)] * 2, 41, 0.05),
}
STABLE = so.Algorithm("StableOpt", OptimisticPessimistic(), BestOfAll())


class Case:
    """A function on a list, its tolerance as a ball, and its stable optimum as the specification."""

    def __init__(self, name: str, seed: int) -> None:
        if name == "within-model":  # SE with lengthscale 0.1 and variance 1 on the unit square
            self.domain, self.eps, self.noise = so.Grid.linspace([0, 0], [1, 1], 26), 0.08, 0.03
            self.gp = so.GP(so.SE([0.1, 0.1]), noise=self.noise, mean=0.0)
            points = self.domain.points
            root = np.linalg.cholesky(self.gp.kernel(points, points) + 1e-8 * np.eye(len(points)))
            self.values = root @ np.random.default_rng([seed, 77]).standard_normal(len(points))
        elif name in GRIDS:
            ends, steps, self.eps = GRIDS[name]
            low, high = np.array(ends, dtype=float).T
            self.domain = so.Grid.linspace(np.zeros(len(low)), np.ones(len(low)), steps)
            Z = low + (high - low) * self.domain.points
            if name == "sine":  # of x + θ; here all of it may be perturbed
                Z = np.column_stack([Z, 0 * Z])
            self.noise, self.gp, self.values = FIELD[name].noise, so.Learned(), FIELD[name].f(Z)
        else:
            problem = PROBLEMS[name]() if callable(PROBLEMS[name]) else PROBLEMS[name]
            self.domain, self.eps, self.noise = problem.domain, problem.uncertainty.eps, problem.noise
            self.gp, self.values = problem.gp, problem.values
        self.goal = float(Listing(self.domain, so.Ball(self.eps)).solver.maximin(self.values).value)

    def factor(self, decision: np.ndarray) -> float:
        """The largest factor up to which a decision truly keeps the specification."""
        bad = self.domain.points[self.values < self.goal]
        return float(np.linalg.norm(bad - decision, axis=1).min() / self.eps)

    def best(self) -> float:
        """The largest such factor of all decisions."""
        from scipy.spatial import KDTree

        bad = self.domain.points[self.values < self.goal]
        return float(KDTree(bad).query(self.domain.points)[0].max() / self.eps)

    def run(self, algorithm: so.Algorithm, factor: float, seed: int, rounds: tuple[int, ...]) -> list[float]:
        """The scores of what is reported after so many rounds."""
        optimizer = so.Optimizer(self.domain, so.Ball(factor * self.eps), self.gp, algorithm=algorithm, seed=seed)
        rng, best, scores = np.random.default_rng([seed, 5]), self.best(), []
        for i in np.random.default_rng([seed, 6]).choice(len(self.domain), 3, replace=False):
            optimizer.tell(self.domain.points[i], float(self.values[i] + self.noise * rng.standard_normal()))
        for step in play(
            optimizer, lambda q: self.values[q.point_index] + self.noise * rng.standard_normal(), max(rounds)
        ):
            if step.query.t - 3 in rounds:
                scores.append(self.factor(np.asarray(optimizer.decide())) / best)
        return scores


def main() -> None:
    """A row for each problem and budget: mean scores, and how many runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("problems", nargs="*", default=list(ROUNDS))
    given = parser.parse_args()
    print("problem, evaluations: widest | StableOpt at ½, 1 and 4 times the right tolerance")
    for name in given.problems:
        scores = []
        for seed in range(given.seeds):
            case = Case(name, seed)
            own = so.Algorithm("Widest", OptimisticFactor(case.goal), LargestFactor(case.goal))
            ways = [(own, 1.0), (STABLE, 0.5), (STABLE, 1.0), (STABLE, 4.0)]
            scores.append([case.run(algorithm, factor, seed, ROUNDS[name]) for algorithm, factor in ways])
        for rounds, row in zip(ROUNDS[name], np.mean(scores, axis=0).T, strict=True):
            print(f"{name}, {rounds}: " + " | ".join(f"{v:.2f}" for v in row) + f"  ({given.seeds} runs)", flush=True)


if __name__ == "__main__":
    main()
