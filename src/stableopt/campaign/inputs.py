"""Which inputs hardly matter: those without which the model would say much the same of f.

Notation
    μ, μ'   the model's mean at points all over the domain, and with the values of one input exchanged among them
    T       mean of (μ − μ')²/2, over the variance of μ: the share of the variation in which the input has a part (its
            total effect, Sobol' 2001)
"""

from __future__ import annotations

import numpy as np

from stableopt.loop.measurements import Data
from stableopt.loop.outputs import valued
from stableopt.loop.state import State

_POINTS = 256
EFFECT = 0.01  # T of an input that hardly matters
_UNKNOWN = 0.25  # of the variation: where so much is unknown, nothing is said of inputs


def idle(state: State) -> tuple[str, ...]:
    """The names of inputs that hardly matter; none where too little is known of f."""
    found, unknown = effects(state)
    names = tuple(name for name, effect in found if effect < EFFECT)
    return names if unknown <= _UNKNOWN and len(names) < len(found) else ()


def effects(state: State) -> tuple[list[tuple[str, float]], float]:
    """T of every input by its name, and how much of the variation of f is unknown, as a share of what is known."""
    learned, data = state.objective.learned is not None, Data.of(valued(state.rounds))
    points = state.candidates()
    X = state.setting.inputs(points[:: max(1, len(points) // _POINTS)], learned)
    noise = state.belief.noise_of(state.objective.t, data.noise)
    posterior = state.belief.likely.condition(state.setting.inputs(data.points, learned), data.y, noise)
    mean, variance = posterior(X)
    spread = max(float(mean.var()), 1e-300)
    exchanged, found = np.random.default_rng(0).permutation(len(X)), []
    for name, columns in _inputs(state):
        other = X.copy()
        other[:, columns] = X[exchanged][:, columns]
        found.append((name, 0.5 * float(((posterior(other)[0] - mean) ** 2).mean()) / spread))
    return found, float(variance.mean()) / spread


def _inputs(state: State) -> list[tuple[str, list[int]]]:
    """Names of inputs, with the columns that a model sees of each."""
    names, width = state.setting.translation.names, state.setting.columns.width
    if names is None or sum(names.values()) != width:
        return [(f"input {column + 1}", [column]) for column in range(width)]
    found, first = [], 0
    for name, count in names.items():
        found.append((name, list(range(first, first + count))))
        first += count
    return found
