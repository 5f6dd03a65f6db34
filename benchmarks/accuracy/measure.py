"""One case, measured: what the search says against what the reference knows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.accuracy.cells import Cell, case_of
from benchmarks.accuracy.reference import Reference
from stableopt.loop.reporting import report
from stableopt.loop.rules import BestOfAll

JUDGED = 3  # further decisions whose worst cases are compared
TRIED = 24  # decisions that a report must not contradict: more than are judged one by one
ROUNDING = 1e-9


class Measured(NamedTuple):
    """Losses in units of the spread of the bounds."""

    inner: list[float]
    """How far claimed worst cases are above the reference."""
    losses: list[float]
    """How far the suggested and the reported decision are below the best known."""
    contradictions: int
    claim: float | None
    """How far the best known decision is above what the report says none surpasses; None: it is not settled."""


def measured(cell: Cell, seed: int) -> Measured:
    """One case."""
    case = case_of(cell, seed)
    reference, state = Reference(case), case.optimizer.state
    spread = max(reference.spread(), 1e-12)
    known = report(state, BestOfAll())
    suggested = state.optimistic
    tried = list(dict.fromkeys(state.tried()))[:TRIED]
    lower, upper = state.bounds_of(tried)
    slack = ROUNDING * (1 + abs(known.optimum_upper) + abs(known.lower))
    contradictions = int(known.lower > known.upper + slack)
    contradictions += int(upper.max() > known.optimum_upper + slack) + int(lower.max() > known.lower + slack)
    rng = np.random.default_rng(seed)
    judged = [tuple(x) for x in case.optimizer.domain.spread(64, 3)[rng.integers(64, size=JUDGED)].tolist()]
    claimed = [(known.decision_index, -1, known.lower), (known.decision_index, +1, known.upper)]
    claimed.append((suggested.decision, +1, suggested.value))
    for decision in judged:
        low, high = state.bounds_of([decision])
        claimed += [(decision, -1, float(low[0])), (decision, +1, float(high[0]))]
    true = [min(reference.worst(decision, sign), value) for decision, sign, value in claimed]
    inner = [(value - worst) / spread for (_, _, value), worst in zip(claimed, true, strict=True)]
    best = {sign: max(reference.worst(d, sign) for d in reference.decisions(sign)) for sign in (-1, 1)}
    losses = [max(0.0, (best[+1] - true[2]) / spread), max(0.0, (best[-1] - true[0]) / spread)]
    claim = max(0.0, (max(best[+1], true[2]) - known.optimum_upper) / spread) if known.settled else None
    return Measured(inner, losses, contradictions, claim)
