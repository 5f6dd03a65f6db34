"""The polish: the best few decisions of a front, each with an exchange of its own to the end.

Discrete neighbours of the winner are tried next, as no climb leads to them. At last the winner is compared with the
decisions that the search began with.
"""

from __future__ import annotations

import numpy as np

from stableopt.base.arrays import Array
from stableopt.maxmin.search.batches import highest
from stableopt.maxmin.search.efforts import SCREEN
from stableopt.maxmin.search.exchange import Candidate, Exchange, Start
from stableopt.maxmin.search.front import Front
from stableopt.maxmin.search.inner import InnerSearch, Minima

_SAME = 0.01  # a decision that begins this close to where a better one ended is on the same hill
_JUMPS = 20  # from one decision to a discrete neighbour, at most


def polish(inner: InnerSearch, front: Front) -> Candidate:
    """The best decision after exchanges from the best few of a front."""
    oracle, order = inner.oracle, highest(front.V.min(axis=1), inner.plan.decisions(4))
    X, S, T = front.X[order], front.S[order], front.T[order]
    found = inner.minima(X, inner.plan.sound, S)
    targets = oracle.anchored(X, np.concatenate([found.S, S], axis=1), np.concatenate([found.T, T], axis=1))
    best: Candidate | None = None
    for i in highest(found.V[:, 0], len(X)):
        if best is not None and found.V[i, 0] <= best.value:
            away = np.abs(X[i] - best.x)
            same = away.max(initial=0.0) < _SAME and not away[~oracle.movable].any()
            if same or oracle.budget.left() < 0:  # it would end on the same hill, or it could not climb any more
                continue
        best = _exchanged(inner, _start(X, found, targets, i), best)
    assert best is not None  # a front has at least one decision, and the first exchange has no rival
    return best


def with_discrete_neighbours(inner: InnerSearch, best: Candidate) -> Candidate:
    """The best decision after jumps to neighbours in discrete coordinates, while one wins.

    The two most promising neighbours get an exchange of their own.
    """
    for _ in range(_JUMPS):
        X = inner.region.other_decisions(best.x)
        if not len(X):
            return best
        X = X[highest(inner.minima(X, SCREEN).V[:, 0], 8)]
        found = inner.minima(X, inner.plan.sound)
        targets, last = inner.oracle.anchored(X, found.S, found.T), best
        for i in highest(found.V[:, 0], 2):
            best = _exchanged(inner, _start(X, found, targets, i), best)
        if best is last or inner.oracle.budget.left() < 0:
            return best
    return best


def not_below(inner: InnerSearch, best: Candidate, X: Array) -> Candidate:
    """The best decision, or a better one of X (n, d), the first decisions: then after an exchange from there.

    On the way up a decision is judged by few active scenarios, so an overrated one may outlive a good one.
    """
    above = inner.minima(X, SCREEN).V[:, 0]
    X = X[highest(above, 4)]
    if above.max() <= best.value:
        return best
    found = inner.minima(X, inner.plan.sound)
    i = int(np.argmax(found.V[:, 0]))
    if found.V[i, 0] <= best.value:
        return best
    targets = inner.oracle.anchored(X, found.S, found.T)
    inner.oracle.budget.reserve(0.2)  # the rest of the search may have left nothing for this exchange
    return _exchanged(inner, _start(X, found, targets, i), best)


def _start(X: Array, found: Minima, targets: Array, i: int) -> Start:
    return Start(X[i], float(found.V[i, 0]), found.S[i, 0], targets[i])


def _exchanged(inner: InnerSearch, start: Start, best: Candidate | None) -> Candidate:
    """The best decision so far, or where an exchange leads if that is better."""
    found = Exchange(inner, start).run(best)
    if best is None or (found is not None and found.value > best.value):
        assert found is not None  # only a rival ends an exchange early
        return found
    return best
