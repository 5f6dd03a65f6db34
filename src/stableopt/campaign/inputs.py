"""Which inputs hardly matter: those without which the model would say much the same of f.

Notation
    μ, μ'   the model's mean at points all over the domain, and with the values of one input exchanged among them
    T       mean of (μ − μ')²/2, over the variance of μ: the share of the variation in which the input has a part (its
            total effect, Sobol' 2001). That of ranks counts as well, since a steep corner has most of the variation of
            values, and says nothing of the rest
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stableopt.loop.measurements import Data, Round
from stableopt.loop.outputs import Output, valued
from stableopt.loop.state import State

_POINTS = 256
EFFECT = 0.01  # T of an input that hardly matters
_UNKNOWN = 0.25  # of the variation: where so much is unknown, nothing is said of inputs


class _Effect(NamedTuple):
    """T of an input, of values and of their ranks."""

    name: str
    share: float
    ranked: float

    @property
    def matters(self) -> bool:
        return max(self.share, self.ranked) >= EFFECT


def idle(state: State) -> tuple[str, ...]:
    """The names of inputs that hardly matter, for f and for all limits; none where too little is known of f."""
    found, unknown = _effects(state, state.objective, valued(state.rounds))
    names = [effect.name for effect in found if not effect.matters]
    if unknown > _UNKNOWN or len(names) == len(found):
        return ()
    for k in state.constraints if names else ():
        needed = {effect.name for effect in _effects(state, k.output, k.rounds(state.rounds))[0] if effect.matters}
        names = [name for name in names if name not in needed]
    return tuple(names)


def effects(state: State) -> list[tuple[str, float]]:
    """T of every input by its name, of values."""
    return [(effect.name, effect.share) for effect in _effects(state, state.objective, valued(state.rounds))[0]]


def _effects(state: State, output: Output, rounds: Sequence[Round]) -> tuple[list[_Effect], float]:
    """Of a quantity that was measured in these rounds; also how much of its variation is unknown, as a share."""
    if not rounds:
        return [], math.inf
    learned, data = output.learned is not None, Data.of(rounds)
    points = state.candidates()
    X = state.setting.inputs(points[:: max(1, len(points) // _POINTS)], learned)
    y, own = output.belief.latent_values(data.y, data.noise)
    noise = output.belief.noise_of(len(rounds), own)
    posterior = output.belief.likely.condition(state.setting.inputs(data.points, learned), y, noise)
    mean, variance = posterior(X)
    spread = max(float(mean.var()), 1e-300)
    exchanged, found = np.random.default_rng(0).permutation(len(X)), []
    for name, columns in _inputs(state):
        other = X.copy()
        other[:, columns] = X[exchanged][:, columns]
        mixed = posterior(other)[0]
        ranks = np.searchsorted(np.sort(mean), [mean, mixed])
        share = 0.5 * float(((mixed - mean) ** 2).mean()) / spread
        ranked = 0.5 * float((np.diff(ranks, axis=0) ** 2).mean()) / max(float(ranks[0].var()), 1e-300)
        found.append(_Effect(name, share, ranked))
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
