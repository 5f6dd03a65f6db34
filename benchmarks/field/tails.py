"""Functions with a long tail: draws of *choose* in 2-D and 4-D as exp(1.2 f) and −exp(−1.2 f).

    python -m benchmarks.field.tails     their names
    python -m benchmarks.field run --with benchmarks.field.choices benchmarks.field.tails \\
        --problems $(python -m benchmarks.field.tails) --methods ours unwarped --seeds 2 --rounds 50 --out DIR

Max-min commutes with every increasing function, so the best decisions are those of f, and their stable optima known.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from benchmarks.field.problems import PROBLEMS, add, part
from benchmarks.rivals.problems import Array, Problem

POWERS = (1.2, -1.2)
DRAWN = ("smooth2", "wavy2", "rough2", "smooth4", "wavy4", "bumps4")


def long(name: str, power: float) -> Problem:
    """The problem with a long tail at the top (power > 0) or at the bottom; its noise is that where f is 0."""
    plain = PROBLEMS[name]

    def tail(v: Array) -> Array:
        return np.asarray(math.copysign(1.0, power) * np.exp(power * v))

    return replace(
        plain,
        name=f"{'exp' if power > 0 else 'nexp'}.{name}",
        f=lambda Z: tail(plain.f(Z)),
        stable_value=float(tail(np.array(plain.stable_value))),
        noise=abs(power) * plain.noise,
    )


NAMES = [n for n in PROBLEMS if n.split("-")[0] in DRAWN and part(n) == "choose"]
TAILS = [long(name, power) for name in NAMES for power in POWERS]
for problem in TAILS:
    add(problem)

if __name__ == "__main__":
    print(*(problem.name for problem in TAILS))
