"""Max-min subject to constraints: max over d of min over A(d) of F, where min over A(d) of every M_k is 0 or more.

Notation
    f(d), m_k(d)    worst cases of decision d: min over A(d) of F and of M_k
    c               a level: the value of the best feasible decision so far
    ρ_k             units of F for a unit of M_k
    G_c             the merit: F for the adversary's choice 0, c + ρ_k M_k for choice k (see `attacked`)
    φ(c)            max over d of min(f(d), c + ρ_k m_k(d)): a max-min without constraints

Algorithm (a method of centres: Huard, 1967)
    scan        many decisions against few scenarios of every function, then the best with a quick search of worst cases
    climb       from the best few: an exchange on G_c, in which c rises to f(d) whenever a feasible d is reached
    jump        climb from decisions with other discrete values: those that were tried, those around the end of a climb
                in which whole numbers are real, and those one step from the best decision
    search      the whole search of `joint` for φ(c), at the level of the best decision
                if φ(c) > c, the decision found is feasible and better: climb from it, and search again
    agreed      if the last search found nothing better, and all climbs came to the best decision

Why it is exact
    If φ(c) > c, its decision has f(d) > c and all m_k(d) > 0. A decision that is feasible and better than c, and has no
    m_k of exactly 0, makes φ(c) > c. So c is the constrained optimum if and only if φ(c) = c, whatever the ρ_k are.
    They only say how fast c rises: the rest up to the optimum shrinks by about g/(g + ρh) each time, with the slopes g
    of f and h of m_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from stableopt.base.arrays import Array, Indices, Mask
from stableopt.maxmin.search.attacked import Affine, Merit
from stableopt.maxmin.search.continuous import ContinuousMaxMin
from stableopt.maxmin.search.exchange import Candidate, Exchange, same_hill
from stableopt.maxmin.search.joint import JointInnerSearch, joint
from stableopt.maxmin.search.looking import Look, Looking, Minima, alone
from stableopt.maxmin.search.oracle import Oracle, movable
from stableopt.maxmin.search.plan import SCREEN, Budget
from stableopt.maxmin.search.steps import highest, spread_out
from stableopt.maxmin.solver import Choice, Hints, Row, Smooth

_SCANNED = 512  # decisions
_GLANCED = 64  # decisions that say enough of how much the functions vary, for a climb
_SCREENED = 128  # of them get a quick search for worst cases
_STARTS = 4  # of these climb; half of them for a suggestion
_GENTLE = 8.0  # ρ of a search: the whole spread of F for an eighth of the spread of M
_STEEP = 64.0  # ρ of a climb, which needs to see no other hill
_SEARCHES = 4
_JUMPS = 4  # to other discrete values, from the best decision so far
_OTHERS = 8  # of them that are tried
_REAL = 8  # turns of a climb in which whole numbers are real; a climb with other discrete values begins as the next one
_DIGITS = 2  # of a start, where a decision's box is [0, 1]^d: two that agree in them are one
_FAR = 0.5  # radius of the first box of a climb with other discrete values
_SHORT = 3  # turns of a climb for a suggestion that compares what decisions are worth, and reports none
_GAIN = 1e-4  # of the spread of F: what is worth another search
_INSIDE = 1e-6  # of the spread of M: decisions aim at so much more than 0, as they are rounded later


class Judged(NamedTuple):
    """A decision with its worst value, where that is, and its smallest margin."""

    x: Array
    value: float
    point: Row
    margin: float


class Climb(Exchange):
    """An exchange on a merit whose level rises with the value of the decision, as long as that is feasible."""

    def __init__(self, inner: JointInnerSearch, merit: Merit, level: float, x: Array) -> None:
        """From a decision; ``level`` is that of the merit."""
        found = inner.minima(x[None], inner.plan.sound)
        T = inner.oracle.anchored(x[None], found.S, found.T)
        super().__init__(inner, Candidate(x, found.S[0, 0], float(found.V[0, 0])), T[0])
        self.merit, self.level = merit, level
        self._arrive(found)

    def _arrive(self, found: Minima) -> None:
        """Judge the decision by the worst cases of all functions that were found for it."""
        V, S, number = found.V[0], found.S[0], found.S[0, :, -1].astype(int)
        worst = int(np.argmin(np.where(number == 0, V, np.inf)))
        point = self.region.point_index(self.region.points(self.x[None], S[worst : worst + 1])[0])
        limits = [(v, self.merit.parts[k]) for v, k in zip(V.tolist(), number.tolist(), strict=True) if k]
        margin = min((v - M.constant) / M.factor for v, M in limits)
        self._lowest = float(V.min())
        self.judged = Judged(np.array(self.region.decision_index(self.x)), float(V[worst]), point, margin)

    def _accept_or_shrink(self, trial: Array, above: float, found: Minima) -> None:
        super()._accept_or_shrink(trial, above, found)
        if self.x is trial:
            self._arrive(found)

    def _correct_value(self, found: Minima) -> Looking[bool]:
        here = self.x
        overrated = yield from super()._correct_value(found)
        back = self.x is not here  # at a decision from before
        self._arrive((yield Look(self.x[None], self.plan.full(1), found.S)) if back else found)
        return overrated

    def _escape_from_kink(self, active: Array, found: Minima) -> Looking[Minima | None]:
        there = yield from super()._escape_from_kink(active, found)
        if there is not None:
            self._arrive(there)
        return there

    def _climb(self) -> tuple[Array, float]:
        """Before each climb the level rises to the value of the decision, if all its margins are 0 or more."""
        value = self.judged.value
        if value > self.level <= self._lowest:
            self.merit.raise_constraints(value - self.level)
            self.level = self.v = value
        return super()._climb()


class ConstrainedSearch:
    """One search: a function, its constraints, and what is known."""

    def __init__(
        self,
        alone: ContinuousMaxMin,
        F: Smooth,
        margins: Sequence[Smooth],
        hints: Hints[Row],
        decisions: int = _SCANNED,
    ) -> None:
        self.alone, self.functions, self.hints = alone, [F, *margins], hints
        self.joint = joint(alone, len(self.functions))
        self.known = alone.known(hints)
        self.scan = Scanned(alone, self.functions, alone.rows(hints.decisions), decisions)
        self.least = _GAIN * self.scan.spreads[0]
        self.best: Judged | None = None
        self.oracle = Oracle(alone.region, F, Budget(alone.budget))
        self.ends: list[Array] = []  # where climbs and searches led

    def run(self) -> Choice[Row]:
        """The best feasible decision; if none is found, the one that comes closest."""
        for x in self._promising():
            self._climb_from(x)
        if self.best is None:
            self._climb_from(self._search(self.scan.lowest).x)
        if self.best is None:
            closest = np.array(jointly(self.alone, self.functions[1:], self.hints).decision)
            self._climb_from(closest)
            if self.best is None:
                return self._choice(self._judged(closest))
        self._jump()
        gap, settled = 0.0, False
        for _ in range(_SEARCHES):
            before = self.best.value
            found = self._search(before, self.best.x)
            self._climb_from(found.x)
            if self.best.value > before + self.least:
                self._jump()
            gap, settled = max(found.value - self.best.value, 0.0), self.best.value <= before + self.least
            if settled:
                break
        # The last search began at the best decision, too: that it found nothing else says little. Other hills, on
        # which climbs came to a halt, say that there may be one that nobody climbed.
        agreed = settled and all(same_hill(self.oracle, end, self.best.x) for end in self.ends)
        return self._choice(self.best)._replace(gap=gap, agreed=agreed)

    def climb(self, decision: Row) -> Choice[Row]:
        """The best feasible decision that a climb from this one reaches, a short one in a brief search; or itself."""
        x = np.array(decision)
        brief = self.alone.plan.brief
        first = self._climb_from(x, _SHORT if brief else None)
        return self._choice(self.best or (first if brief else self._judged(x)))

    def _jump(self) -> None:
        """Climb from decisions with other discrete values, as long as one of them leads to a better decision.

        A climb leaves discrete values alone. With others most decisions break a limit until all else has followed, so
        the merit where they are says little: each gets a climb of its own, which may go far.
        """
        fixed = ~self.oracle.movable
        if self.best is None or not fixed.any() or self.alone.all is not None:
            return
        begun: set[tuple[float, ...]] = set()
        for _ in range(_JUMPS):
            before = self.best
            for x in np.vstack([self._tried(), self._next_to(before), self._around_real(before)]):
                key = tuple(np.round(x, _DIGITS).tolist())
                if key not in begun and (x != self.best.x)[fixed].any():
                    begun.add(key)
                    self._climb_from(x, far=True)
            if self.best.value <= before.value + self.least:
                break

    def _tried(self) -> Array:
        """The hinted decisions that look best, one for each combination of discrete values."""
        X = self.scan.X[self.scan.filling :]
        X = X[highest(self.scan.merit[self.scan.filling :], len(X))]
        same = (X[:, None] == X[None])[..., ~self.oracle.movable].all(axis=2)
        return np.asarray(X[np.argmax(same, axis=1) == np.arange(len(X))][:_STARTS]) if len(X) else X

    def _next_to(self, best: Judged) -> Array:
        """Decisions with another category; of very many, those that look best."""
        X = self.alone.region.other_decisions(best.x)
        X = X[(best.x == X)[:, self._whole].all(axis=1)]
        if len(X) > _OTHERS:
            inner = self.joint.inner(self._merit(best.value, _GENTLE), self.known)
            X = X[highest(inner.minima(X, SCREEN).V[:, 0], _OTHERS)]
        return np.asarray(X)

    def _around_real(self, best: Judged) -> Array:
        """Decisions with other whole numbers: around the end of a climb in which they are real, and one step away."""
        region, relaxed, whole = self.alone.region, real(self.alone), self._whole
        if relaxed is None:
            return best.x[None]
        merit = self._merit(best.value, _STEEP)
        inner = joint(relaxed, len(self.functions)).inner(merit, self.known)
        climb = Climb(inner, merit, best.value, best.x)
        alone(inner.minima, climb.few(_REAL))
        X = region.other_decisions(best.x)
        parts = [region.rounded(climb.x)]
        for away in (X - best.x)[:, whole].T:
            for side in (away < 0, away > 0):
                parts.append(X[side][np.argsort(np.abs(away[side]), kind="stable")[:1]])
        X = np.vstack(parts)
        return np.asarray(X[highest(-np.abs(X - climb.x)[:, whole].sum(axis=1), _OTHERS)])

    @cached_property
    def _whole(self) -> Mask:
        """The coordinates of a decision that are whole numbers (d,)."""
        region = self.alone.region
        return ~self.oracle.movable & movable(region if region.relaxed is None else region.relaxed)

    def _choice(self, best: Judged) -> Choice[Row]:
        return Choice(self.alone.region.decision_index(best.x), best.point, best.value, margin=best.margin)

    def _promising(self) -> Array:
        """A few decisions to climb from, spread out, the most promising first."""
        rows = self.scan.best(_SCREENED)
        inner = self.joint.inner(self._merit(self.scan.lowest, _GENTLE), self.known)
        X = self.scan.X[rows]
        f, *m = [part.minima(X, SCREEN).V[:, 0] for part in inner.parts]
        level = self.scan.lowest
        margins = np.min(m, axis=0) - level
        feasible = margins >= 0
        c = f[feasible].max() if feasible.any() else level
        count = _STARTS // 2 if self.alone.plan.brief else _STARTS
        return np.asarray(X[spread_out(X, np.minimum(f, c + margins), count)])

    def _climb_from(self, x: Array, turns: int | None = None, far: bool = False) -> Judged:
        """Climb from a decision, and keep where that leads if it is feasible and better than the best so far.

        Returns what is known of the decision itself. With ``turns``, a climb takes no more of them. ``far``: the way is
        long, and where it ends if it leads to nothing better says nothing of other hills.
        """
        x = np.array(self.alone.region.decision_index(x))
        level, rival = self.scan.lowest, None
        if self.best is not None:
            level = max(level, self.best.value)
            rival = Candidate(self.best.x, self.best.x, self.best.value)
        merit = self._merit(level, _STEEP)
        inner = self.joint.inner(merit, self.known)
        climb = Climb(inner, merit, level, x)
        if far:
            climb.radius, climb.turn = _FAR, _REAL
        first = climb.judged
        found = alone(inner.minima, climb.run(rival) if turns is None else climb.few(turns))
        if not far:
            self.ends.append(climb.towards if found is None else found.x)
        for end in (first, None if found is None else climb.judged):
            if end is None or (self.best is not None and end.value <= self.best.value):
                continue
            if not self.alone.plan.brief:  # a report looks once more, with the full effort
                end = self._judged(end.x)
            if end.margin >= 0 and (self.best is None or end.value > self.best.value):
                self.best = end
        return first

    def _search(self, c: float, *also: Array) -> Candidate:
        """The decision of φ(c), by the whole search."""
        starts = np.vstack([self.scan.X[self.scan.best(_STARTS)], *(x[None] for x in also)])
        return self.joint.search(self._merit(c, _GENTLE), starts, self.known)

    def _merit(self, c: float, steep: float) -> Merit:
        spread, *others = self.scan.spreads
        parts = [Affine(self.functions[0], 1.0, 0.0)]
        for M, own in zip(self.functions[1:], others, strict=True):
            rho = steep * spread / own
            parts.append(Affine(M, rho, c - rho * _INSIDE * own))
        return Merit(parts, [spread] + [steep * spread] * len(others))

    def _judged(self, x: Array) -> Judged:
        decision = self.alone.region.decision_index(x)
        worst, *margins = self.alone.worsts(decision, self.functions, self.hints)
        return Judged(np.array(decision), worst.value, worst.point, min(m.value for m in margins))


class Scanned:
    """Many decisions, with the smallest value of every function over a few scenarios."""

    def __init__(
        self, alone: ContinuousMaxMin, functions: Sequence[Smooth], also: Array, decisions: int = _SCANNED
    ) -> None:
        region = alone.region
        filling = region.decisions(decisions, alone.seed)
        self.X, self.filling = np.vstack([filling, region.clip(also)]), len(filling)
        S = alone.scan.first
        rows = np.repeat(self.X, len(S), axis=0)
        Z = region.points(rows, region.project(rows, np.tile(S, (len(self.X), 1))))
        values = [F(Z) for F in functions]
        self.lowest = float(2 * values[0].min() - values[0].max())
        self.spreads = [max(float(np.ptp(v)), 1e-12 * float(np.abs(v).max()), 1e-300) for v in values]
        self.minima = [v.reshape(len(self.X), -1).min(axis=1) for v in values]

    @property
    def _margins(self) -> Array:
        """The smallest margin of each decision, in units of their spreads."""
        return np.asarray(np.min([m / s for m, s in zip(self.minima[1:], self.spreads[1:], strict=True)], axis=0))

    @property
    def merit(self) -> Array:
        """How good decisions look: the higher the better where they seem feasible, a little less where almost."""
        margins, f = self._margins, self.minima[0]
        feasible = f[margins >= 0]
        c = float(feasible.max()) if len(feasible) else self.lowest
        return np.asarray(np.minimum(f, c + _GENTLE * self.spreads[0] * margins))

    def best(self, count: int) -> Indices:
        """The decisions that look best: in part those that seem feasible, in part those that almost do."""
        return highest(self.merit, count)


def jointly(alone: ContinuousMaxMin, functions: Sequence[Smooth], hints: Hints[Row]) -> Choice[Row]:
    """The decision with the largest smallest worst case of all functions."""
    scan = Scanned(alone, functions, alone.rows(hints.decisions))
    merit = Merit([Affine(F, 1.0, 0.0) for F in functions], scan.spreads)
    together, known = joint(alone, len(functions)), alone.known(hints)
    rows = highest(np.min(scan.minima, axis=0), _SCREENED)
    screened = together.inner(merit, known).minima(scan.X[rows], SCREEN).V[:, 0]
    starts = scan.X[rows][spread_out(scan.X[rows], screened, 2 * _STARTS)]
    found = together.search(merit, starts, known)
    return together.choice(together.region.decision_index(found.x), found)


@lru_cache(maxsize=8)
def real(alone: ContinuousMaxMin) -> ContinuousMaxMin | None:
    """The search in which whole numbers are real; None if there are none."""
    region = alone.region.relaxed
    if alone.relaxed is not None or region is None:
        return alone.relaxed
    return ContinuousMaxMin(region, alone.budget, alone.seed, alone.least, brief=alone.plan.brief)


def constrained(alone: ContinuousMaxMin, F: Smooth, margins: Sequence[Smooth], hints: Hints[Row]) -> Choice[Row]:
    """The best decision whose margins are all 0 or more; if none is found, the one that comes closest."""
    return ConstrainedSearch(alone, F, margins, hints).run()


def climbed(alone: ContinuousMaxMin, F: Smooth, margins: Sequence[Smooth], hints: Hints[Row], near: Row) -> Choice[Row]:
    """The same, as far as a climb from this decision finds it."""
    return ConstrainedSearch(alone, F, margins, hints, _GLANCED).climb(near)
