"""Several functions of points in one batch: a decision and a point carry the number of the function that counts there.

So the scan, the ascent and the search for worst cases, which know rows and nothing of their neighbours, work on all
functions at once. Decisions compete with those of their own number only (`Oracle.groups`).

Notation
    K           number of functions
    X, Z        decisions (n, d + 1) and points (n, P + 1) with the number as their last coordinate
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from stableopt.base.arrays import Array, Indices
from stableopt.maxmin.search.attacked import Carrying, by_number, numbered
from stableopt.maxmin.search.inner import InnerSearch
from stableopt.maxmin.search.looking import padded
from stableopt.maxmin.search.oracle import Oracle, in_parts, paired
from stableopt.maxmin.search.plan import Budget, Plan
from stableopt.maxmin.solver import Region, Row, Smooth, Together


class OneByOne(NamedTuple):
    """Functions that have nothing in common."""

    functions: Sequence[Smooth]

    def each(self, Z: Array) -> Array:
        return np.array([F(Z) for F in self.functions])

    def at(self, Z: Array, which: Indices) -> Array:
        out = np.empty(len(Z))
        for k, own in by_number(which):
            out[own] = self.functions[k](Z[own])
        return out

    def with_gradient(self, Z: Array, which: Indices) -> tuple[Array, Array]:
        out, G = np.empty(len(Z)), np.empty(Z.shape)
        for k, own in by_number(which):
            out[own], G[own] = self.functions[k].with_gradient(Z[own])
        return out, G


def together(functions: Sequence[Smooth]) -> Together:
    """The functions, evaluated at once if they know how."""
    join = getattr(functions[0], "together", None)
    found: Together | None = None if join is None else join(functions)
    return OneByOne(functions) if found is None else found


class _ByNumber(NamedTuple):
    """Functions as one function of numbered points."""

    functions: Together

    def __call__(self, Z: Array) -> Array:
        return self.functions.at(Z[:, :-1], Z[:, -1].astype(np.intp))

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        v, G = self.functions.with_gradient(Z[:, :-1], Z[:, -1].astype(np.intp))
        return v, numbered(G, 0.0)


class NumberedDecisions(Carrying):
    """The decisions of a region, once for each of several functions."""

    @property
    def dim(self) -> int:
        return self.region.dim + 1

    @property
    def relaxed(self) -> Region | None:
        return None  # the search of the region itself has one

    def decisions(self, count: int, seed: int) -> Array:
        return numbered(self.region.decisions(count, seed), 0.0)

    def clip(self, X: Array) -> Array:
        return numbered(self.region.clip(X[:, :-1]), X[:, -1])

    def other_decisions(self, x: Array) -> Array:
        return numbered(self.region.other_decisions(x[:-1]), x[-1])

    def rounded(self, x: Array) -> Array:
        return numbered(self.region.rounded(x[:-1]), x[-1])

    def decision_index(self, row: Array) -> Row:
        return self.region.decision_index(row[:-1])

    def point_index(self, row: Array) -> Row:
        return self.region.point_index(row[:-1])


class Numbered(NumberedDecisions):
    """A region whose decisions and points carry a number; its scenarios know nothing of that."""

    @cached_property
    def width(self) -> int:
        return self.region.width

    def pace(self, X: Array) -> Array:
        return self.region.pace(X[:, :-1])

    def reach(self, X: Array) -> tuple[Array, Array]:
        low, high = self.region.reach(X[:, :-1])
        return numbered(low, X[:, -1]), numbered(high, X[:, -1])

    def scenarios(self, count: int, seed: int) -> Array:
        return self.region.scenarios(count, seed)

    def filling(self, X: Array, unit: Array) -> Array:
        return self.region.filling(X[:, :-1], unit)

    def near(self, X: Array, Z: Array) -> Array:
        return self.region.near(X[:, :-1], Z[:, :, :-1])

    def other_scenarios(self, x: Array, s: Array, most: int) -> Array:
        return self.region.other_scenarios(x[:-1], s, most)

    def project(self, X: Array, S: Array) -> Array:
        return self.region.project(X[:, :-1], S)

    def project_inside(self, X: Array, S: Array) -> Array:
        return self.region.project_inside(X[:, :-1], S)

    def points(self, X: Array, S: Array) -> Array:
        return numbered(self.region.points(X[:, :-1], S), X[:, -1])

    def pull(self, X: Array, S: Array, G: Array) -> tuple[Array, Array]:
        by_decision, by_scenario = self.region.pull(X[:, :-1], S, G[:, :-1])
        return numbered(by_decision, 0.0), by_scenario

    def scenario_of(self, X: Array, Z: Array) -> Array:
        return self.region.scenario_of(X[:, :-1], Z[:, :-1])


class Budgets(Budget):
    """The budgets of several functions, each of which pays for its own."""

    def __init__(self, parts: Sequence[Budget]) -> None:
        super().__init__(parts[0].total, parts[0].least)
        self.parts = parts

    def left(self, share: float = 1.0) -> int:
        return min(part.left(share) for part in self.parts)

    def reserve(self, share: float) -> None:
        for part in self.parts:
            part.reserve(share)


class NumberedOracle(Oracle):
    """Several functions on a region; each pays, and knows what is much or little, as if it were alone."""

    def __init__(self, region: Numbered, oracles: Sequence[Oracle]) -> None:
        self.functions, self.oracles = together([oracle.F for oracle in oracles]), oracles
        super().__init__(region, _ByNumber(self.functions), Budgets([oracle.budget for oracle in oracles]))

    def scale_of(self, rows: Array) -> Array | float:
        return np.array([oracle.scale for oracle in self.oracles])[rows[:, -1].astype(np.intp)]

    def groups(self, X: Array) -> Sequence[Indices]:
        return [np.flatnonzero(X[:, -1] == k) for k in range(len(self.oracles))]

    def coordinates(self, rows: Array) -> Array:
        return rows[:, :-1]

    def for_all(self, X: Array, S: Array) -> tuple[Array, Array, Array]:
        """The same points for all functions, which may share most of the work."""
        V = in_parts(self.functions.each, self.region.region.points(*paired(X, S)))  # type: ignore[attr-defined]
        for v, oracle in zip(V, self.oracles, strict=True):
            oracle.saw(v, 1)
        K = len(self.oracles)
        return for_each_number(X, K), np.tile(S, (K, 1, 1)), V.reshape(K * len(X), -1)

    def _saw(self, v: Array, each: int, Z: Array) -> None:
        for k, oracle in enumerate(self.oracles):
            oracle.saw(v[Z[:, -1] == k], each)


def for_each_number(X: Array, count: int) -> Array:
    """All rows with the number 0, then with 1, and so on."""
    return np.concatenate([numbered(X, k) for k in range(count)])


class NumberedInner(InnerSearch):
    """min over scenarios of several functions; each of them remembers its own low points."""

    def __init__(self, oracle: NumberedOracle, plan: Plan, spread: Array, known: Array) -> None:
        self.parts = [InnerSearch(own, plan, spread, known) for own in oracle.oracles]
        super().__init__(oracle, plan, spread, np.empty((0, known.shape[-1] + 1)))

    def remember(self, Z: Array, v: Array) -> None:
        for k, part in enumerate(self.parts):
            own = Z[:, -1] == k
            part.remember(Z[own, :-1], v[own])

    def near_low_points(self, X: Array, count: int) -> Array:
        groups = self.oracle.groups(X)
        parts = [part.near_low_points(X[rows, :-1], count) for part, rows in zip(self.parts, groups, strict=True)]
        most = max(S.shape[1] for S in parts)
        found = np.zeros((len(X), most, self.region.width))
        for rows, S in zip(groups, parts, strict=True):
            if S.shape[1]:
                found[rows] = padded(S, most)  # each remembers as many as it met
        return found
