"""Which β explores where decisions have categories: rules against each other on random functions.

    python -m benchmarks.sorts [--functions 36] [--rules now turns]

A function has two floats with a tolerance of 0.1 and 2 to 5 categories, whose functions are correlated by 0.2 to 0.8
and have lengthscales of 0.15 to 0.5 and a standard deviation of 1; the noise is 0.05. The regret of the decision that
is reported is measured by brute force, after 15, 25 and 40 evaluations.

    now      ½, and where that tells nothing new 4, 25 and 400: the defaults without categories
    turns    the same, but 4 in every second round: the defaults with categories
    four     4 throughout
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
import numpy.typing as npt

from stableopt import Campaign
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.schedules import Constant

Array = npt.NDArray[np.float64]
RULES = {"now": FRONT_DOOR.explore, "turns": FRONT_DOOR.sorts, "four": Constant(4.0)}
MARKS, EPS, NOISE, WAVES, SIDE = (15, 25, 40), 0.1, 0.05, 300, 61


def drawn(seed: int) -> tuple[int, Callable[[Array, int], Array]]:
    """How many categories, and the values at rows of floats (n, 2) in one of them."""
    rng = np.random.default_rng([seed, 77])
    k, scale, rho = int(rng.integers(2, 6)), np.exp(rng.uniform(np.log(0.15), np.log(0.5))), rng.uniform(0.2, 0.8)
    mix = np.linalg.cholesky(rho + (1 - rho) * np.eye(k) + 1e-9 * np.eye(k))
    W, B = rng.standard_normal((k, WAVES, 2)) / scale, rng.uniform(0, 2 * np.pi, (k, WAVES))
    A = rng.standard_normal((k, WAVES)) * np.sqrt(2 / WAVES)

    def f(X: Array, category: int) -> Array:
        parts = [np.cos(X @ W[j].T + B[j]) @ A[j] for j in range(k)]
        return np.asarray(mix[category] @ np.array(parts))

    return k, f


def worst(f: Callable[[Array, int], Array], x: Array, category: int) -> float:
    """The worst case of one decision."""
    d = np.linspace(-EPS, EPS, 21)
    return float(f(np.clip(x + np.array([(a, b) for a in d for b in d]), 0, 1), category).min())


def best(k: int, f: Callable[[Array, int], Array]) -> float:
    """The best worst case on a grid."""
    g, n, found = np.linspace(0, 1, SIDE), round(EPS * (SIDE - 1)), -np.inf
    grid = np.array([(a, b) for a in g for b in g])
    for category in range(k):
        wide = np.pad(f(grid, category).reshape(SIDE, SIDE), n, constant_values=np.inf)
        windows = np.lib.stride_tricks.sliding_window_view(wide, (2 * n + 1, 2 * n + 1))
        found = max(found, float(windows.min(axis=(2, 3)).max()))
    return found


def regrets(rule: str, seed: int) -> list[float]:
    """Of one run, at the marks."""
    k, f = drawn(seed)
    rng, most, found = np.random.default_rng(seed), best(k, f), []
    ranges = {"a": (0, 1), "b": (0, 1), "c": [str(i) for i in range(k)]}
    campaign = Campaign(ranges, {"a": EPS, "b": EPS}, seed=seed, explore=RULES[rule])
    for t in range(1, MARKS[-1] + 1):
        trial = campaign.ask()
        a, b, c = trial.point.values()
        campaign.tell(trial, float(f(np.array([[a, b]]), int(c))[0] + NOISE * rng.standard_normal()))
        if t in MARKS:
            a, b, c = campaign.result.decision.values()
            found.append(most - worst(f, np.array([a, b]), int(c)))
    return found


def main() -> int:
    """Print the mean regrets."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sorts", description=__doc__.split("\n")[0])
    parser.add_argument("--functions", type=int, default=36)
    parser.add_argument("--rules", nargs="+", choices=list(RULES), default=["now", "turns"])
    chosen = parser.parse_args()
    print(f"{'rule':<8}" + "".join(f"{f'after {t}':>18}" for t in MARKS))
    for rule in chosen.rules:
        found = np.array([regrets(rule, seed) for seed in range(chosen.functions)])
        error = found.std(axis=0) / np.sqrt(len(found))
        cells = [f"{m:.3f} ± {e:.3f}" for m, e in zip(found.mean(axis=0), error, strict=True)]
        print(f"{rule:<8}" + "".join(f"{c:>18}" for c in cells), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
