"""The exchange of worst cases: a decision climbs on its active replies, meets a worse one, makes it active, climbs on.

Notation
    x, v, s     the decision so far, the lowest value found over its scenarios, and that scenario
    T (m, P)    targets of the active replies (see `oracle`): for every decision they say what the adversary would do
    x', u       a trial decision, and its smallest value over the active replies (`trial`, `above`)
    r           radius of the box around x in which x' is sought

Algorithm
    repeat
        climb       x', u = argmax over |x' − x| <= r of min over active replies of F
        give up     if u <= the value of a rival, or hardly above it where the rival ended: it does not promise to win
        if x' is not x, u is above v, and budget is left
            look    s' = worst scenario of x', with a sound inner search
            accept  x' if F(x', s') > v, with a larger r if it kept a good part of its promise u − v
            shrink  r otherwise
        else
            look    s' = worst scenario of x, with the full inner search
            go on   from x if s' is worse than s
            escape  from the kink at x by steps of all lengths
            finish  if there is no way out, or no budget
        activate    the scenarios that were found and lie below u

Where it comes from
    max over x of min over scenarios of F is a semi-infinite program: maximise τ with one constraint for each of
    infinitely many scenarios. An exchange method (Blankenship and Falk, 1976) solves it with a few of them, adds the
    one that is violated most, and repeats. It is Kelley's method of cutting planes, with smooth functions in place of
    planes: u is the value with a few constraints, v the value with all of them, and the two meet.
    F is not concave, so a cut says little about decisions far from where it was made. Hence the box, whose radius grows
    and shrinks as that of a trust region.
    To move away from all bad scenarios in the neighbourhood, again and again, is the robust local search of Bertsimas,
    Nohadani and Teo (2010). They move along one direction; the climb follows the replies to where they balance.

At the end of the file is what exchanges are for: `polish` sends the best few decisions of a front on alone, then
discrete neighbours of the winner are tried, and at last what was scanned and may be better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stableopt.base.arrays import Array, Mask
from stableopt.maxmin.search.front import SAME, Bounded
from stableopt.maxmin.search.inner import POLLED
from stableopt.maxmin.search.looking import Look, Looking, Minima, Place
from stableopt.maxmin.search.oracle import Evaluated, Oracle, paired
from stableopt.maxmin.search.plan import SCREEN, Effort
from stableopt.maxmin.search.steps import Planes, climb, highest, norms, proximal_step
from stableopt.maxmin.solver import Row

_TURNS = 40  # at most; the last one is checked with the full inner search
_NEAR = 1e-3  # of the spread of F: an exchange that comes to where a better one ended and promises less than this ends
_STILL = 1e-9  # a decision that moves less stays where it is: looking again would find nothing new
_AGAIN = 1e-6  # two scenarios this close are one
_LEAPS = np.geomspace(0.001, 0.5, 8)  # lengths of the steps of an escape
_FEW, _NEXT = 4, 4  # turns for a suggestion, and from where a search for almost the same function ended
_LOOKS = 6  # at decisions that were scanned and may be better
_OPEN, _JUDGED = 128, 8  # of these are screened and judged at a time
_EACH = 0.1  # of the budget: what the decision of another hill has to climb with, at least
_JUMPS = 20  # from one decision to a discrete neighbour, at most


class Candidate(NamedTuple):
    """A decision, its worst scenario, the value there, and how far the two sides of its search are apart."""

    x: Array  # (d,)
    s: Array  # (q,)
    value: float
    gap: float = 0.0
    agreed: bool = False  # whether all of several starts led here
    others: Sequence[Row] = ()  # decisions that the search met, far apart


class Exchange:
    """The way of one decision to a local max-min, see the head of this file."""

    def __init__(self, place: Place, start: Candidate, T: Array) -> None:
        """From a decision with the lowest value found for it, and with replies that have the targets T (m, P)."""
        self.oracle, self.region, self.plan = place.oracle, place.region, place.plan
        self.start, self.T = start, T
        self.radius = self.plan.radius
        self.x, self.s, self.v = start.x, start.s, start.value
        self.towards = start.x  # where the last climb led
        self.turn, self.cut = 0, False  # how many there were, and whether the budget ended them

    def run(self, rival: Candidate | None, leave: int = 0) -> Looking[Candidate | None]:
        """The decision at the end, or None once it does not promise to beat its rival; some budget is left."""
        while True:
            self.turn += 1
            self.towards, above = trial, _ = self._climb()
            if self._loses(rival, above):
                return None
            self.cut = self.oracle.budget.left() < leave
            spent = self.cut or self.turn >= _TURNS
            if not (spent or self._arrived(trial, above)):
                active, found = yield from self._look_for_worse(trial, self.plan.sound)
                self._accept_or_shrink(trial, above, found)
                self._activate(trial, above, active, found)
                continue
            active, found = yield from self._look_for_worse(self.x, self.plan.full(1))
            overrated = yield from self._correct_value(found)
            if spent:
                break
            if not overrated:
                escaped = yield from self._escape_from_kink(active, found)
                if escaped is None:
                    break
                # Nothing was climbed to get here, so there is no u yet: all that was found becomes active.
                found, above = escaped, np.inf
            self._activate(self.x, above, active, found)
        return Candidate(self.x, self.s, self.v, max(above - self.v, 0.0))

    def few(self, turns: int, rival: Candidate | None = None) -> Looking[Candidate | None]:
        """The same after a few turns, without a last look: near enough for a suggestion."""
        for self.turn in range(1, 1 + turns):
            self.towards, above = trial, _ = self._climb()
            if self._loses(rival, above):
                return None
            if self._arrived(trial, above):
                break
            active, found = yield from self._look_for_worse(trial, self.plan.sound)
            self._accept_or_shrink(trial, above, found)
            self._activate(trial, above, active, found)
        return Candidate(self.x, self.s, self.v)

    def _climb(self) -> tuple[Array, float]:
        """x' and u: the best decision of the box on the active replies. Of these, the lowest at x' stay active."""
        # The first turns need few steps, as a worse case will soon change the replies; the last ones converge.
        trial, above, order = climb(self.oracle, self.x, self.T, self.radius, 4 + 2 * self.turn)
        self.T = self.T[order[: self.plan.replies]]
        return trial, above

    def _loses(self, rival: Candidate | None, above: float) -> bool:
        """Whether it does not promise to win: u is not above the value of a rival, or hardly where the rival ended."""
        if rival is None:
            return False
        return max(above, self.start.value) <= rival.value or self._joins(rival, above)

    def _joins(self, rival: Candidate, above: float) -> bool:
        """Whether the climb led to where the rival ended, and promises hardly more."""
        there = same_hill(self.oracle, self.towards, rival.x)
        return bool(there and above <= rival.value + _NEAR * self.oracle.scale)

    def _arrived(self, trial: Array, above: float) -> bool:
        """Whether nothing is to be gained on the active replies: x' is x, or u is v."""
        still = self.radius < 1e-6 or float(np.abs(trial - self.x).max(initial=0.0)) < _STILL
        return still or above <= self.v + self.plan.close * self.oracle.scale

    def _look_for_worse(self, x: Array, effort: Effort) -> Looking[tuple[Array, Minima]]:
        """The worst scenarios of a decision, and the active ones (1 + m, q) that were tried: s, then the replies."""
        active = np.vstack([self.s, self.region.scenario_of(np.repeat(x[None], len(self.T), axis=0), self.T)])
        return active, (yield Look(x[None], effort, active[None]))

    def _accept_or_shrink(self, trial: Array, above: float, found: Minima) -> None:
        """Go to the trial if its worst case is better, else look nearer: the two moves of a trust region."""
        value = float(found.V[0, 0])
        if value > self.v:
            self.radius *= 2.0 if value - self.v > 0.25 * (above - self.v) else 1.0  # a quarter of the promise
            self.x, self.v, self.s = trial, value, found.S[0, 0]
        else:
            self.radius = 0.5 * min(self.radius, float(np.abs(trial - self.x).max()))

    def _correct_value(self, found: Minima) -> Looking[bool]:
        """Take over a lower value that the full inner search found at x; say whether x was clearly overrated.

        Then the last decision that had been looked at in full may be better, or the start: so back there.
        """
        value, before = float(found.V[0, 0]), self.v
        if value < self.v:
            self.v, self.s = value, found.S[0, 0]
        if self.v < self.start.value and self.x is not self.start.x:
            V, S, _ = yield Look(self.start.x[None], self.plan.full(1), found.S)
            self.start = Candidate(self.start.x, S[0, 0], float(V[0, 0]))
            if self.start.value > self.v:
                self.radius = 0.5 * float(np.abs(self.x - self.start.x).max())
                self.x, self.s, self.v = self.start[:3]
        else:
            self.start = Candidate(self.x, self.s, self.v)
        return value < before - self.plan.close * self.oracle.scale

    def _activate(self, x: Array, above: float, active: Array, found: Minima) -> None:
        """Make the scenarios found at x that lie below u active; replies that came to the same scenario leave."""
        lower = found.V[0] < above
        S = found.S[:, lower]
        again = np.abs(active[1:, None] - S).max(axis=2, initial=0.0).min(axis=1, initial=1.0) < _AGAIN
        self.T = np.vstack([self.oracle.anchored(x[None], S, found.T[:, lower])[0], self.T[~again]])

    def _escape_from_kink(self, active: Array, found: Minima) -> Looking[Minima | None]:
        """Leap to a decision further away that is clearly better, and return its local minima; None if none is.

        A climb on replies can end too early: replies that stay where they are make plateaus, and edges of the domain
        make kinks. So here either all scenarios go along with the decision, or the decision moves straight away from
        its worst point (the direction of Bertsimas, Nohadani and Teo), by steps of all lengths. Neither leads along an
        axis on which nothing changes nearby, as where the set reaches beyond the domain: so that is tried, too.
        """
        region, n, enough = self.region, len(_LEAPS), self.v + POLLED * self.oracle.scale
        X, S = np.repeat(self.x[None], n, axis=0), np.repeat(found.S, n, axis=0)
        S = region.project_inside(*paired(X, S)).reshape(S.shape)
        at = self.oracle.gradients(X, S)
        along, _, _ = proximal_step(region, X, Planes(at.v, at.g), _LEAPS, np.full(at.v.shape, 1 / at.v.shape[1]))
        back = region.points(X, region.project(X, 0 * S[:, 0])) - region.points(X, S[:, 0])
        away = region.pull(X, S[:, 0], back)[0]
        flat = np.eye(len(self.x))[self.oracle.movable & ~at.g.any(axis=(0, 1))]
        axes = np.multiply.outer(_LEAPS, np.vstack([flat, -flat])).reshape(-1, len(self.x))
        trials = region.clip(self.x + np.vstack([along, _LEAPS[:, None] * away / norms(away), axes]))
        worse = np.vstack([S[0], active])[None]
        rough = yield Look(trials, SCREEN, np.repeat(worse, len(trials), axis=0))
        # What a quick look finds is never below the worst case. So where that is not better, a thorough look is not.
        promising = highest(rough.V[:, 0], 1)
        if rough.V[promising[0], 0] <= enough:
            return None
        trials = trials[promising]
        there = yield Look(trials, self.plan.full(2), worse)
        if there.V[0, 0] <= enough:
            return None
        self.x, self.v, self.s, self.radius = trials[0], float(there.V[0, 0]), there.S[0, 0], self.plan.radius
        return there


class Ascended(NamedTuple):
    """Decisions (n, d) at the end of an ascent, with their active scenarios.

    Also some (r, d) with which it began, and all that were scanned before.
    """

    X: Array
    at: Evaluated
    first: Array
    scanned: Bounded

    @property
    def plain(self) -> Ascended:
        """The same without numbers of functions, where decisions and targets have them."""
        at = self.at._replace(g=self.at.g[..., :-1], T=self.at.T[..., :-1])
        scanned = self.scanned._replace(X=self.scanned.X[:, :-1])
        return Ascended(self.X[:, :-1], at, self.first[:, :-1], scanned)

    @property
    def best(self) -> Array:
        """The decision with the highest value (d,)."""
        return np.asarray(self.X[int(np.argmax(self.at.v.min(axis=1)))])


def polish(place: Place, front: Ascended) -> Looking[Candidate]:
    """The best decision after exchanges from the best few of a front; in a brief search, from the best one alone."""
    oracle, plan, order = place.oracle, place.plan, highest(front.at.v.min(axis=1), place.plan.decisions(4))
    X, S = front.X[order], front.at.S[order]
    found = yield Look(X, plan.full(len(X)) if plan.brief and plan.patient else plan.sound, S)
    T = np.concatenate([found.T, front.at.T[order]], axis=1)
    T = oracle.anchored(X, np.concatenate([found.S, S], axis=1), T)
    starts = _Starts(X, found, T)
    if plan.brief:
        return (yield from _exchanged(place, starts, int(np.argmax(found.V[:, 0])), None))
    best: Candidate | None = None
    leader: Exchange | None = None
    ends: list[Array] = []
    for i in highest(found.V[:, 0], len(X)):
        rival = best if best is not None and found.V[i, 0] <= best.value else None
        if plan.ample:
            oracle.budget.reserve(_EACH)
        if rival is not None and (same_hill(oracle, X[i], rival.x) or oracle.budget.left() < 0):
            ends.append(X[i])  # it would end on the same hill, or it could not climb any more
            continue
        exchange = starts.exchange(place, i)
        end = yield from exchange.run(rival, 2 * oracle.budget.left() // 5)  # the others have a chance, too
        ends.append(exchange.towards if end is None else end.x)
        if end is not None and (best is None or end.value > best.value):
            best, leader = end, exchange
    assert best is not None and leader is not None  # a front has a decision, and the first exchange has no rival
    if leader.cut and oracle.budget.left() > 0:
        further = yield from leader.run(None)
        best = further if further is not None and further.value > best.value else best
    return best._replace(agreed=len(ends) > 1 and all(same_hill(oracle, end, best.x) for end in ends))


def same_hill(oracle: Oracle, X: Array, other: Array) -> Mask:
    """Whether decisions (..., d) are on the same hill as another one."""
    away = np.abs(X - other)
    return np.asarray((away.max(axis=-1, initial=0.0) < SAME) & ~away[..., ~oracle.movable].any(axis=-1))


def with_discrete_neighbours(place: Place, best: Candidate) -> Looking[Candidate]:
    """The best decision after jumps to neighbours in discrete coordinates, to which no climb leads, while one wins."""
    for _ in range(_JUMPS):
        X, last = place.region.other_decisions(best.x), best
        if not len(X):
            return best
        above = (yield Look(X, SCREEN)).V[:, 0]
        starts = yield from _sound(place, X[highest(above, 8)])
        for i in highest(starts.found.V[:, 0], 2):  # the two most promising neighbours get an exchange of their own
            best = yield from _exchanged(place, starts, i, best)
        if best is last or place.oracle.budget.left() < 0:
            return best
    return best


def not_below(place: Place, best: Candidate, scanned: Bounded) -> Looking[Candidate]:
    """The best decision, or a better one that was scanned, after an exchange from there.

    With few scenarios an overrated decision outlives a good one. So those that may be better by what is known of them
    are looked at again, the most promising ones first. If some are left, nobody knows that none of them is better.
    """
    X, above = scanned.X, scanned.above.copy()
    for _ in range(_LOOKS):
        rows = highest(above, place.plan.decisions(_OPEN))
        rows = rows[above[rows] > best.value]
        if not len(rows):
            return best
        above[rows] = np.minimum(above[rows], (yield Look(X[rows], SCREEN)).V[:, 0])
        rows = rows[highest(above[rows], place.plan.decisions(_JUDGED))]
        rows = rows[above[rows] > best.value]
        if not len(rows):
            continue
        starts = yield from _sound(place, X[rows])
        above[rows] = found = starts.found.V[:, 0]
        place.remember(place.region.points(X[rows], starts.found.S[:, 0]), found)
        i = int(np.argmax(found))
        if found[i] > best.value:
            above[same_hill(place.oracle, X, X[rows[i]])] = -np.inf  # they have their chance now
            place.oracle.budget.reserve(0.2)  # the rest of the search may have left nothing for this exchange
            last, best = best, (yield from _exchanged(place, starts, i, best))
            if best is not last:
                best = yield from with_discrete_neighbours(place, best)
    return best._replace(agreed=best.agreed and bool(above.max() <= best.value))


def nearby(place: Place, X: Array) -> Looking[Candidate]:
    """A good decision near one of X (n, d), which were good for a function that is almost the same: a few turns."""
    above = (yield Look(X, SCREEN)).V[:, 0]
    starts = yield from _sound(place, X[highest(above, 4)])
    end = yield from starts.exchange(place, int(np.argmax(starts.found.V[:, 0]))).few(_NEXT)
    assert end is not None  # it has no rival
    return end


class _Starts(NamedTuple):
    """Decisions (n, d) with their worst cases, and the targets of their replies (n, m, P)."""

    X: Array
    found: Minima
    T: Array

    def exchange(self, place: Place, i: int) -> Exchange:
        """An exchange from one of them."""
        start = Candidate(self.X[i], self.found.S[i, 0], float(self.found.V[i, 0]))
        return Exchange(place, start, self.T[i])


def _sound(place: Place, X: Array) -> Looking[_Starts]:
    """Decisions with their worst cases, soundly."""
    found = yield Look(X, place.plan.sound)
    return _Starts(X, found, place.oracle.anchored(X, found.S, found.T))


def _exchanged(place: Place, starts: _Starts, i: int, best: Candidate | None) -> Looking[Candidate]:
    """The best decision so far, or where an exchange from start i leads if that is better; briefly, a few turns."""
    exchange = starts.exchange(place, i)
    end = yield from exchange.few(_FEW, best) if place.plan.short else exchange.run(best)
    if best is None or (end is not None and end.value > best.value):
        assert end is not None  # only a rival ends an exchange early
        return end
    return best
