"""Max-min over continuous and mixed decisions by local search: many starts, an exchange of worst cases, a polish.

In the spirit of Bertsimas, Nohadani and Teo's robust local search: the inner minimum is not smooth, but along a fixed
scenario the value is. So a decision carries a handful of active scenarios, climbs on the smallest of them, gets a new
worst case, and so on. The solver sees a function of points with its gradient; it knows nothing of models or sets.

    scan      space-filling and past decisions against more and more scenarios            `front`
    ascend    the best, spread out, climb together; the hopeless are dropped on the way   `front`
    polish    the best few go on alone, each with an exchange of worst cases              `exchange`
    inner     the worst case of a decision, which all of these need                       `inner`

Few decisions are judged one by one instead, by upper bounds first. Whole numbers have no slope. Where discrete values
have many combinations, a search in which whole numbers are real goes first, and the whole numbers around its answer are
starts of the search itself; for a suggestion only if one of them has very many values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from stableopt.base.arrays import Array, Indices
from stableopt.maxmin.search.exchange import Ascended, Candidate, nearby, not_below, polish, with_discrete_neighbours
from stableopt.maxmin.search.front import Bounded, Scan
from stableopt.maxmin.search.inner import InnerSearch
from stableopt.maxmin.search.looking import Looking, Place, alone
from stableopt.maxmin.search.oracle import Evaluated, Oracle
from stableopt.maxmin.search.plan import COMBINED, SCREEN, Budget, Plan
from stableopt.maxmin.search.steps import highest
from stableopt.maxmin.solver import Choice, Hints, Region, Row, Smooth

_HINTED = 100  # points of the hints that a search tries as worst cases
_TOGETHER = 4  # decisions that are judged at a time
_SCREENED = 64  # decisions that are bounded from above at a time
_REMEMBERED = 6  # of the first decisions, which may be good for a function that is almost the same

_NO_HINTS: Hints[Row] = Hints()


class Prepared:
    """What a search in a region prepares for all functions, and what one search and several have in common."""

    def __init__(
        self, region: Region, budget: int = 20_000, seed: int = 0, least: int = 1, *, brief: bool = False
    ) -> None:
        if budget < 1:
            raise ValueError(f"expected a budget of at least 1 evaluated point, got {budget}")
        self.region, self.budget, self.seed, self.least = region, budget, seed, least
        self.plan = Plan(region, budget, least, brief)

    # Made when they are needed: who asks for a suggestion alone never needs those of a report.

    @cached_property
    def spread(self) -> Array:
        """Scenarios that are tried for every decision."""
        return self.region.scenarios(self.plan.full(1).scan, self.seed)

    @cached_property
    def scan(self) -> Scan:
        return Scan(self.plan, self.spread, self.seed)

    @cached_property
    def all(self) -> Array | None:
        """All decisions, where they are few."""
        few = self.region.count <= self.budget // 2
        return self.region.decisions(self.budget // 2, self.seed) if few else None

    @cached_property
    def relaxed(self) -> ContinuousMaxMin | None:
        """The search in which whole numbers are real, where discrete values have many combinations.

        Where they have few, all of them are scanned; a suggestion makes do with less.
        """
        region, brief = self.region, self.plan.brief
        needed = self.all is None and region.choices > COMBINED and not (brief and region.few)
        relaxed = region.relaxed if needed else None
        return None if relaxed is None else ContinuousMaxMin(relaxed, self.budget, self.seed, self.least, brief=brief)

    def climbed(self, inner: InnerSearch, starts: Array, *, enough: bool = False) -> list[Ascended]:
        """The decisions of a front after a scan, perhaps of starts alone, and an ascent, group by group."""
        front = self.scan.front(inner, starts, enough=enough)
        first = [front.X[rows[:_REMEMBERED]] for rows in inner.oracle.groups(front.X)]
        scanned = [Bounded(*(part[rows] for part in front.scanned)) for rows in inner.oracle.groups(front.scanned.X)]
        inner.oracle.budget.reserve(0.75)  # the values of a scan come in large batches and cost little
        front.ascend()
        inner.oracle.budget.reserve(0.75)
        at = [Evaluated(*(part[rows] for part in front.at)) for rows in inner.oracle.groups(front.X)]
        ends = [front.X[rows] for rows in inner.oracle.groups(front.X)]
        return list(map(Ascended, ends, at, first, scanned))

    def finished(self, place: Place, front: Ascended) -> Looking[Candidate]:
        """The best decision that leads on from a front."""
        best = yield from with_discrete_neighbours(place, (yield from polish(place, front)))
        if not self.plan.brief:
            best = yield from not_below(place, best, front.scanned)
        return best._replace(others=as_rows(np.vstack([front.X, front.first])))

    def inner(self, F: Smooth, known: Array) -> InnerSearch:
        """The adversary for a function, with a budget that nobody has touched."""
        oracle = Oracle(self.region, F, Budget(self.budget, self.least))
        return InnerSearch(oracle, self.plan, self.spread, known)

    def choice(self, decision: Row, found: Candidate) -> Choice[Row]:
        """A decision that was found, with the point of its worst case."""
        point = self.region.points(found.x[None], found.s[None])[0]
        at = self.region.point_index(point)
        return Choice(decision, at, found.value, gap=found.gap, agreed=found.agreed, others=found.others)

    def rows(self, decisions: Sequence[Row]) -> Array:
        """Decisions as rows of coordinates (n, d)."""
        return np.array(decisions, dtype=float).reshape(len(decisions), self.region.dim)

    def known(self, hints: Hints[Row], near: Row | None = None) -> Array:
        """Hinted points that may be worst cases: of any decision the lowest, of one decision those around it."""
        Z, ranks = np.array(hints.points, dtype=float), np.array(hints.values)
        if near is not None and len(Z):
            ranks = np.abs(Z[:, : self.region.dim] - np.array(near)).max(axis=1, initial=0.0)
        return Z[np.argsort(ranks, kind="stable")[:_HINTED]] if len(ranks) else Z


class ContinuousMaxMin(Prepared):
    """max over decisions of min over scenarios of any smooth function of points, for one region: a `Solver`.

    ``budget`` is about how many points one `maximin` evaluates (a value with its gradient counts twice), where fewer
    points at a time than ``least`` count as so many. A ``brief`` search follows one start for a few turns and
    knows nothing of others: enough for a suggestion. The same seed gives the same answer.
    """

    def maximin(
        self, F: Smooth, hints: Hints[Row] = _NO_HINTS, subject_to: Sequence[Smooth] = (), near: Row | None = None
    ) -> Choice[Row]:
        """The decision with the largest worst case, and that worst case.

        ``gap`` is how far the value is below what the last climb reached on its active scenarios.
        """
        if len(subject_to):
            from stableopt.maxmin.search.constrained import climbed, constrained

            if near is None:
                return constrained(self, F, subject_to, hints)
            return climbed(self, F, subject_to, hints, near)
        found = self._search(F, self.rows(hints.decisions), self.known(hints), hints.enough)
        return self.choice(self.region.decision_index(found.x), found)

    def maximins(self, functions: Sequence[Smooth], hints: Sequence[Hints[Row]]) -> list[Choice[Row]]:
        from stableopt.maxmin.search.several import Several, best_of_each

        if self.all is not None or len(functions) == 1 or len({each.enough for each in hints}) > 1:
            return [self.maximin(F, own) for F, own in zip(functions, hints, strict=True)]
        known = np.concatenate([self.known(own) for own in {id(own): own for own in hints}.values()])
        starts = self.rows(list(dict.fromkeys(decision for own in hints for decision in own.decisions)))
        if hints[0].enough:
            found = Several(self, functions, known).best(self.region.clip(starts), enough=True)
        else:
            found = best_of_each(self, functions, starts, known)
        return [self.choice(self.region.decision_index(best.x), best) for best in found]

    def jointly(self, functions: Sequence[Smooth], hints: Hints[Row] = _NO_HINTS) -> Choice[Row]:
        """The decision with the largest worst case where the adversary also chooses which of the functions counts."""
        from stableopt.maxmin.search.constrained import jointly

        return jointly(self, functions, hints)

    def worst(self, decision: Row, F: Smooth, hints: Hints[Row] = _NO_HINTS) -> Choice[Row]:
        """The worst case of one decision, with the full effort, briefly with less. Hints near it are tried."""
        return self._minima([decision], F, self.known(hints, near=decision))[0]

    def worsts(self, decision: Row, functions: Sequence[Smooth], hints: Hints[Row] = _NO_HINTS) -> list[Choice[Row]]:
        from stableopt.maxmin.search.several import Several

        X = self.rows([decision])
        found = Several(self, functions, self.known(hints, near=decision)).minima(X)
        candidates = [Candidate(X[0], minima.S[0, 0], float(minima.V[0, 0])) for minima in found]
        return [self.choice(decision, candidate) for candidate in candidates]

    def minima(self, decisions: Sequence[Row], F: Smooth, hints: Hints[Row] = _NO_HINTS) -> list[Choice[Row]]:
        return self._minima(decisions, F, self.known(hints)) if len(decisions) else []

    def best(self, decisions: Sequence[Row], F: Smooth, hints: Hints[Row] = _NO_HINTS) -> Choice[Row]:
        """Among these decisions the one with the largest worst case: solved only where it can still win."""
        if not len(decisions):
            raise ValueError("expected at least one decision to choose from, got none")
        return self.leading(decisions, F, 1, hints)[0]

    def leading(
        self, decisions: Sequence[Row], F: Smooth, count: int, hints: Hints[Row] = _NO_HINTS, above: float = -math.inf
    ) -> list[Choice[Row]]:
        """The decisions with the largest worst cases ``above`` a value, best first: the others are only bounded."""
        found = self._leading(self.rows(decisions), F, self.known(hints), count, above)
        return [self.choice(decisions[at], candidate) for at, candidate in found]

    def _minima(self, decisions: Sequence[Row], F: Smooth, known: Array) -> list[Choice[Row]]:
        X = self.rows(decisions)
        found = self.inner(F, known).minima(X, self.plan.answer(len(X)))
        candidates = map(Candidate, X, found.S[:, 0], found.V[:, 0].tolist())
        return list(map(self.choice, decisions, candidates))

    def _search(self, F: Smooth, starts: Array, known: Array, enough: bool = False) -> Candidate:
        """The best decision; ``starts`` (k, d) may be good ones, ``known`` (t, P) may be points of worst cases."""
        if self.all is not None:
            return self._leading(self.all, F, known)[0][1]
        starts = self.region.clip(starts)
        inner = self.inner(F, known)
        if enough and self.plan.brief:
            return alone(inner.minima, nearby(inner, starts))._replace(others=as_rows(starts))
        if self.relaxed is not None and not enough:
            real = self.relaxed.inner(F, known)
            front = self.relaxed.climbed(real, self.relaxed.region.clip(starts))[0]
            x = front.best if self.relaxed.plan.brief else alone(real.minima, polish(real, front)).x
            starts = np.vstack([starts, self.region.rounded(x)])
        return alone(inner.minima, self.finished(inner, self.climbed(inner, starts, enough=enough)[0]))

    def _leading(
        self, X: Array, F: Smooth, known: Array, count: int = 1, above: float = -math.inf
    ) -> list[tuple[int, Candidate]]:
        """The rows of X with the largest worst cases above a value, best first, each with its worst case."""
        inner, last = self.inner(F, known), -min(count, len(X))
        v, S = np.full(len(X), -np.inf), np.zeros((len(X), self.region.width))
        # No worst case is above ``most``: where nothing happens for all rows, by a quick search for those that still
        # look good. The most promising rows are solved first, until none can be among the best.
        still = np.broadcast_to(self.spread[:1], (len(X), 1, self.region.width))
        most = inner.oracle.values(X, inner.oracle.project(X, still))[:, 0]

        def promising(rows: Indices) -> Indices:
            return np.asarray(rows[most[rows] > max(above, np.partition(v, last)[last])])

        order = highest(most, len(X))
        for i in range(0, len(X), _SCREENED):
            rows = promising(order[i : i + _SCREENED])
            if not len(rows):
                break
            most[rows] = inner.minima(X[rows], SCREEN).V[:, 0]
            rows = rows[highest(most[rows], len(rows))]
            for j in range(0, len(rows), _TOGETHER):
                some = promising(rows[j : j + _TOGETHER])
                if not len(some):
                    break
                found = inner.minima(X[some], self.plan.full(_TOGETHER))
                v[some], S[some] = found.V[:, 0], found.S[:, 0]
        best = highest(v, -last)
        # Every decision was looked at, so there is none that was missed.
        return [(int(at), Candidate(X[at], S[at], float(v[at]), agreed=True)) for at in best[v[best] > above]]


def as_rows(X: Array) -> list[Row]:
    """Decisions as their rows, which solvers take as hints."""
    return [tuple(x) for x in X.tolist()]
