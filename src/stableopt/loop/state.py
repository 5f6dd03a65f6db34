"""What is known after t rounds: an immutable value that sampling and reporting rules look at.

A state has a setting, an objective (its model and posterior), constraints beside it, and the rounds. It answers in
indices of decisions and points, which mean nothing to rules: they only hand them back. The same state serves lists and
spaces. With constraints, the best decision is the best of those that keep all limits (`docs/constraints.md`).

Notation: the bounds of this state are lcb_t and ucb_t; the paper's round t + 1 uses them. Two β are at work: the one
that certifies (`beta`), which must be valid, and the one that explores (`explore`), which may be smaller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, final

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.values import ReadOnly
from stableopt.loop.judging import Judge, clearly_below, ends
from stableopt.loop.measurements import Data, Round
from stableopt.loop.outputs import Certificate, Level, Limited, Limits, Output, valued
from stableopt.loop.setting import Intersection, Setting
from stableopt.loop.views import View
from stableopt.maxmin.solver import Choice, Hints, Index, Solver
from stableopt.model.beliefs import Belief

_STARTS = 32  # past decisions that a search starts from
_CONTENDERS = 128  # past decisions that a search is compared with


@final
@dataclass(frozen=True, eq=False)
class State(ReadOnly, Generic[Index]):
    """The posterior after the rounds so far, as rules see it."""

    setting: Setting[Index]
    """The domain and the uncertainty set."""
    objective: Output[Index]
    """f, its model and its posterior."""
    beta: float
    """β that certifies: reports use it."""
    explore: float
    """β that explores: it chooses the decision to look at."""
    instead: tuple[float, ...] = ()
    """Larger β that explore where what this one chooses is known already; without any, that is measured again."""
    rounds: tuple[Round[Index], ...] = ()
    """The observations."""
    failures: tuple[Round[Index], ...] = ()
    """The evaluations that failed."""
    intersected: Intersection | None = None
    """The largest lcb and the smallest ucb of all states so far, if a rule wants them (footnote in Section 5)."""
    constraints: tuple[Limited[Index], ...] = ()
    """What else is measured, with its limits."""
    like: tuple[State[Index], ...] = ()
    """States that are almost the same: where their searches ended, those of this one begin, and look no further."""

    # --------------------------------------------------------------------------------------------------- what is known

    @property
    def t(self) -> int:
        """Number of observations so far: rounds in which the value or a constraint was measured."""
        return len(self.rounds)

    @property
    def belief(self) -> Belief:
        """The model of f, given or learned."""
        return self.objective.belief

    @property
    def posterior(self) -> View[Index]:
        """What the model says after the observations."""
        if self.objective.posterior is None:
            raise ValueError("nothing is known yet: tell at least one value first")
        return self.objective.posterior

    @property
    def information_gain(self) -> float:
        """½ log det(I + σ⁻²K) of the observations so far."""
        return self.objective.information_gain

    def moments(self, points: Sequence[Index]) -> tuple[Array, Array]:
        """Posterior mean and variance of f at these points, (n,) each; those of a prior that is given, before any."""
        if self.objective.posterior is None and self.objective.learned is None:
            prior, X = self.belief.gps[0], self.setting.inputs(points, scaled=False)
            return prior.prior_mean(X), prior.kernel.diag(X)
        return self.posterior.moments(points)

    def latent(self, points: Sequence[Index]) -> tuple[Array, Array]:
        """`moments` in the units of the model's noise and prior: those of f, unless there is a warp."""
        return self.moments(points) if self.objective.posterior is None else self.posterior.latent(points)

    @property
    def lcb(self) -> object:
        """lcb_t with the β that certifies: the values on all points of a list, a function of rows in a space."""
        return self._bound(-math.sqrt(self.beta))

    @property
    def ucb(self) -> object:
        """ucb_t with the β that certifies: the values on all points of a list, a function of rows in a space."""
        return self._bound(math.sqrt(self.beta))

    def bounds(self, points: Sequence[Index]) -> tuple[Array, Array]:
        """lcb and ucb at these points, with the β that certifies, (n,) each."""
        root = math.sqrt(self.beta)
        if self.objective.posterior is not None:
            return self.posterior.bounds(points, root)
        mean, variance = self.moments(points)
        return mean - root * np.sqrt(variance), mean + root * np.sqrt(variance)

    def candidates(self) -> Sequence[Index]:
        """Points to choose from: all that can be reached on a list, some hundred evenly spread ones in a space."""
        return self.setting.candidates(draw=self.t)

    def tried(self) -> list[Index]:
        """The decisions of the rounds from the first that was asked for on; without any, of all rounds.

        Data that were there before say nothing about what is to be chosen from. But a point that was told in the course
        of a run was set by somebody: the decision that it stands for is a candidate, too.
        """
        first = next((i for i, r in enumerate(self.rounds) if r.asked), 0)
        return [r.decision_index for r in self.rounds[first:]]

    def decision_of(self, point: Index) -> Index:
        """The decision that a point on its own stands for."""
        return self.setting.translation.decision_of(point)

    def avoids(self, decision: Index, points: Sequence[Index]) -> bool:
        """Whether the decision turns into none of these points, nor is one of them closest to what it turns into."""
        return self.setting.avoids(decision, points, [r.point_index for r in self.rounds])

    @cached_property
    def failing(self) -> list[Index]:
        """The points that failed and were not measured since: what came out later counts, not that it failed once."""
        later = {f.t: [r.point_index for r in self.rounds if r.t >= f.t] for f in self.failures}
        return [f.point_index for f in self.failures if not self.setting.is_taken(f.point_index, later[f.t])]

    def bolder(self, beta: float) -> State[Index]:
        """The same state, exploring with this β; it is remembered, so that its searches are made once."""
        if beta not in self._bolder:
            constraints = tuple(replace(k, explore=beta) for k in self.constraints)
            like = tuple(other.bolder(beta) for other in self.like)
            larger = tuple(other for other in self.instead if other > beta)
            self._bolder[beta] = replace(self, explore=beta, instead=larger, constraints=constraints, like=like)
        return self._bolder[beta]

    # -------------------------------------------------------------------------------------------------- decisions

    @cached_property
    def optimistic(self) -> Choice[Index]:
        """x̃_{t+1}: the decision with the largest worst-case ucb (Alg. 1, line 2), with the β that explores.

        With constraints, of those that may keep all limits; if none may, the one that comes closest (`margin` < 0).
        """
        solver = self.setting.solver(self.t, brief=not self._explores_as_it_certifies)
        return solver.maximin(self.exploring, self._from("optimistic"), self._margins("exploring"))

    def climbed(self, F: object, margins: Sequence[object], decision: Index) -> Choice[Index]:
        """The best worst case of a function where these margins are kept; in a space, as a short climb finds it."""
        return self.setting.solver(self.t, brief=True).maximin(F, self._hints, margins, decision)

    def pessimistic(self, decision: Index, beta: float | None = None) -> Choice[Index]:
        """Where this decision has its smallest lcb (Alg. 1, line 3, for x̃_{t+1}); without a β, the one that certifies.

        A small β may be right about which decision is good and blind to what could spoil it: it would measure the worst
        case that is known, again and again. Before anything is known, there is no bound.
        """
        if self.objective.posterior is None:
            return Choice(decision, self.setting.candidates(decision)[0], -math.inf)
        c = -math.sqrt(self.beta if beta is None else beta)
        if self.like:  # imagined, for another suggestion
            return self.setting.solver(self.t, brief=True).worst(decision, self._bound(c), self._hints)
        return self.judge.attacked(decision, c)

    def guarantees(self, decisions: Sequence[Index]) -> list[float]:
        """The smallest lcb of each of these decisions; of several they are found together, which takes less time."""
        return [-math.inf] * len(decisions) if self.objective.posterior is None else self.judge.lowest(decisions)

    def certificate(self, decision: Index) -> Certificate[Index]:
        """Bounds on the worst case of a decision, and on that of the best one, with the β that certifies."""
        if self.intersected is not None:
            low, high = self.intersected.lower, self.intersected.upper
            worst, upper = self._solver.worst(decision, low), self._solver.worst(decision, high).value
            return Certificate(worst, upper, self._solver.maximin(high))
        worst, upper = self.judge.bracket(decision)
        if worst.exact:
            return Certificate(worst, upper, self.optimum)
        best, optimum = self.optimum, self.optimum.value + self.optimum.gap
        # A search may miss the best decision, but must not contradict what is known of this one and of those tried.
        possible = not self.constraints or self.limits.smallest(decision, "upper") >= 0
        bounds = [optimum] * (not math.isnan(optimum)) + [upper] * possible
        tried = self.judge.better(self._possible, math.sqrt(self.beta), max(bounds, default=-math.inf))
        known = max(bounds, default=math.nan) if tried is None else tried.value
        if math.isnan(known):  # none can be feasible
            return Certificate(worst, upper, best)
        if math.isnan(optimum) or clearly_below(optimum, known):
            place = worst if tried is None else tried
            gap = 0.0 if math.isnan(optimum) else known - best.value
            best = best._replace(decision=place.decision, point=place.point, gap=gap, agreed=False)
        return Certificate(worst, upper, best._replace(value=known))

    @cached_property
    def _possible(self) -> list[Index]:
        """The decisions tried that may keep all limits."""
        if not self.constraints or not self._contenders:
            return self._contenders
        margins = self.limits.smallest_of(self._contenders, "upper").tolist()
        return [decision for decision, margin in zip(self._contenders, margins, strict=True) if margin >= 0]

    @cached_property
    def _contenders(self) -> list[Index]:
        """The decisions tried; of very many, those where the highest values were measured."""
        tried = dict.fromkeys(self.tried(), -math.inf)
        for r in self.valued:
            if r.decision_index in tried:
                tried[r.decision_index] = max(tried[r.decision_index], r.y)
        return sorted(tried, key=lambda index: -tried[index])[:_CONTENDERS] if len(tried) > _CONTENDERS else list(tried)

    @cached_property
    def optimum(self) -> Choice[Index]:
        """The decision with the largest worst-case ucb, with the β that certifies, of those that may be feasible."""
        # Another search where the β differ: a report is not worth a suggestion that nobody asked for.
        if self._explores_as_it_certifies:
            found = self.optimistic
        elif self.constraints:
            found = self._solver.maximin(self.ucb, self._from("optimum"), self._margins("upper"))
        else:
            found = self._best_of_both[1]
        return found if found.margin >= 0 else found._replace(value=math.nan)  # the best of none

    def bounds_of(self, decisions: Sequence[Index]) -> tuple[Array, Array]:
        """The smallest lcb and the smallest ucb of several decisions, with the β that certifies, (n,) each."""
        return ends(self.judge.brackets(decisions))

    def safest(self, *, tried: bool = True, intersected: bool = False) -> Index:
        """The decision with the largest worst-case lcb, among those of the rounds or (``tried=False``) all.

        Where no round was asked for yet, the decisions that the data stand for take their place. ``intersected`` uses
        the largest lcb of all states so far.

        With constraints, it is the best of all decisions whose margins are guaranteed: those of the rounds were chosen
        for what they may be, at the edge of what is possible. If there is none, the most likely feasible one.
        """
        if self.constraints:
            return self.limits.safest(self.lcb)
        if not tried:
            return self.guaranteed.decision
        bound = self.intersected.lower if intersected and self.intersected is not None else self.lcb
        best = self._solver.best(list(dict.fromkeys(self.tried())), bound, self._hints)
        if best.exact and not intersected:  # the report needs its worst case next
            self.judge.knows(best)
        return best.decision

    @cached_property
    def guaranteed(self) -> Choice[Index]:
        """The decision with the largest worst-case lcb, of all; constraints aside."""
        alone = self.constraints or self._explores_as_it_certifies
        found = self._solver.maximin(self.lcb, self._from("guaranteed")) if alone else self._best_of_both[0]
        if found.exact:
            return found
        value = min(found.value, self.judge.bracket(found.decision)[0].value)  # a report needs these next
        better = self.judge.better(self._contenders, -math.sqrt(self.beta), value)
        return found._replace(value=value) if better is None else better._replace(others=found.others)

    def expected(self) -> Index:
        """The decision with the largest worst-case posterior mean, of all whose expected margins are 0 or more."""
        return self._solver.maximin(self._bound(0.0), self._hints, self._margins("mean")).decision

    def feasible(self, decision: Index) -> str | None:
        """What is known of the limits at this decision: "certified", "likely", "unknown" or "impossible".

        None without constraints. "impossible" is about all decisions: none of them can keep all limits.
        """
        if not self.constraints:
            return None
        excluded = self.limits.smallest(decision, "upper") < 0 and self.optimum.margin < 0 and not self._possible
        return "impossible" if excluded else self.limits.feasible(decision)

    @cached_property
    def limits(self) -> Limits[Index]:
        """What is known of the constraints."""
        scales = [self.scale(k.output) for k in self.constraints]
        seen, points = self.setting.translation.point, self.setting.candidates
        founded = all(k.founded(self.rounds) for k in self.constraints)
        return Limits(self.constraints, scales, self._solver, self._hints, seen, points, founded)

    def scale(self, output: Output[Index]) -> float:
        """What is much or little for a quantity: its prior's standard deviation where it was measured."""
        places = [r.point_index for r in self.rounds] or self.setting.candidates()[:1]
        return output.scale(self.setting.inputs(places, output.learned is not None))

    # ----------------------------------------------------------------------------------------------------- points

    def unperturbed(self, decision: Index) -> Index:
        """The point that the decision stands for if nobody perturbs it; of several, the one with the smallest ucb."""
        return self.setting.home(decision, self.exploring, self._hints)

    def most_promising_point(self) -> Index:
        """The point with the largest ucb, of all that some decision stands for if nobody perturbs it."""
        return self.setting.peak(self.exploring, self._hints)

    def random_point(self, seed: int) -> Index:
        """A uniformly random point; the same for the same seed and number of rounds."""
        return self.setting.random(np.random.default_rng([seed, self.t + len(self.failures) + 1]))

    # -------------------------------------------------------------------------------------------------- inside

    @property
    def _explores_as_it_certifies(self) -> bool:
        return self.explore == self.beta and all(k.explore == k.beta for k in self.constraints)

    @cached_property
    def valued(self) -> Sequence[Round[Index]]:
        """The rounds in which the objective was measured."""
        return valued(self.rounds) if self.constraints else self.rounds

    def _margins(self, level: Level) -> Sequence[object]:
        return self.limits.margins(level) if self.constraints else ()

    @property
    def _solver(self) -> Solver[Index]:
        return self.setting.solver(self.t)

    def _bound(self, c: float) -> object:
        """The function mean + c·std, in the form that the setting's solver takes."""
        return self.judge.bound(c)

    @property
    def exploring(self) -> object:
        """ucb with the β that explores."""
        return self._bound(math.sqrt(self.explore))

    @cached_property
    def _bolder(self) -> dict[float, State[Index]]:
        return {}

    @cached_property
    def _best_of_both(self) -> list[Choice[Index]]:
        """The decisions with the largest worst-case lcb and ucb, of all: reports need both, and one search has both."""
        return self._solver.maximins([self.lcb, self.ucb], [self._from("guaranteed"), self._from("optimum")])

    @cached_property
    def judge(self) -> Judge[Index]:
        """The worst cases of decisions, with the β that certifies and others."""
        brief = self.setting.solver(self.t, brief=True)
        return Judge(self.posterior, math.sqrt(self.beta), self._solver, brief, self._hints)

    def _from(self, search: str) -> Hints[Index]:
        """Hints for one of the searches above: where those of almost equal states ended, or all there are."""
        ends: list[Choice[Index]] = [getattr(other, search) for other in self.like]
        if not ends or not all(end.others for end in ends):
            return self._hints
        starts = dict.fromkeys(d for end in ends for d in (end.decision, *end.others))
        return self._hints._replace(decisions=list(starts), enough=True)

    @cached_property
    def _hints(self) -> Hints[Index]:
        """Decisions that were good, or new, before; and what was measured where."""
        if not self.setting.takes_hints:
            return Hints()
        tried = list(dict.fromkeys(reversed(self.tried())))
        best = sorted(self.rounds, key=lambda r: (-r.lower, r.t))[: _STARTS // 2]
        # Data that nobody asked for have no such bound; what is good may be near the highest values, too.
        highest = sorted(self.valued, key=lambda r: (-r.y, r.t))[: _STARTS // 2]
        decisions = dict.fromkeys([*tried[: _STARTS // 2], *(r.decision_index for r in (*best, *highest))])
        data = Data.of(self.valued)
        return Hints(list(decisions), data.points, data.y.tolist())
