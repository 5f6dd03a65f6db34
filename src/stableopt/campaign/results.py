"""What a call returns: the decision to use, the bounds on its worst case, and how they change with the tolerance.

Values are in the user's sign: for `minimize` the worst case is the largest value. Everything is computed when it is
first looked at.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.checks import numbers
from stableopt.campaign.attacks import attacked
from stableopt.campaign.done import FEWEST, Done, done
from stableopt.campaign.health import Health, health, remarks
from stableopt.campaign.kept import Kept, audited, doubted, lines, ranks
from stableopt.campaign.profile import Profile, ProfileRow, WorstCase
from stableopt.campaign.questions import Questions
from stableopt.campaign.show import pictures, table
from stableopt.loop.answers import KEPT, Report, ends, number, readable
from stableopt.loop.attacking import Confirmed
from stableopt.loop.measurements import Measurement
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.proof import proved
from stableopt.loop.reporting import report
from stableopt.loop.settings import cut_off
from stableopt.loop.state import State
from stableopt.loop.tolerances import quiet, too_wide
from stableopt.loop.updates import rescaled
from stableopt.maxmin.solver import Index
from stableopt.sets.uncertainty import Estimate

if TYPE_CHECKING:
    from typing import Self

Decision = TypeVar("Decision")
"""A decision as the user sees it."""

_SHOWN = 5  # past decisions that a printed assessment shows
FACTORS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)


class Answer(Kept, Questions, Generic[Decision]):
    """A decision with its bounds, from an optimiser and a sign."""

    label: str = "value"
    """What the values are called."""
    _compares: ClassVar[bool] = True  # whether it bounds what other decisions can reach

    def __init__(self, optimizer: Optimizer, sign: int) -> None:
        self.optimizer = optimizer
        self.sign = sign
        self._state = optimizer.state

    @property
    def state(self) -> State:
        """All that was known when this was the answer."""
        return self._state

    @cached_property
    def report(self) -> Report:
        """The optimiser's own report, which maximises."""
        return report(self._state, self.optimizer.algorithm.reporting)

    def proved(self) -> Self:
        """The same answer with bounds that are proved, not searched for: as `Optimizer.report` does with a proof."""
        if self._state.constraints:
            raise ValueError("expected an answer without constraints for a proof, got one with constraints")
        answer = copy(self)
        vars(answer)["report"] = proved(self._state, self.report)
        return answer

    @property
    def decision(self) -> Decision:
        """The decision to use: a dictionary if the ranges are named, else an array."""
        decision: Decision = self.report.decision
        return decision

    @property
    def worst_case(self) -> WorstCase:
        """Where the decision may be worst, and the bounds on the value there."""
        return _worst_case(self.report, self.sign)

    @property
    def optimum_bound(self) -> float:
        """What the worst case of no decision can surpass."""
        return self.sign * self.report.optimum_upper

    @property
    def regret_bound(self) -> float:
        """How much better the worst case of another decision can be at most."""
        return self.report.regret_bound

    @cached_property
    def health(self) -> Health:
        """How far the model can be trusted, and which values are unusual."""
        known = health(self._state, optimum=self._compares, trials=self.numbers)
        return known._replace(foretold=self.sign * known.foretold)

    @property
    def evaluations(self) -> list[Measurement[Any]]:
        """All that is known of f, in order; failed evaluations come last."""
        rounds, failures = self._state.rounds, self._state.failures
        return [
            Measurement(
                r.point,
                None if math.isnan(r.y) else self.sign * r.y,
                r.decision if r.asked else None,
                r.noise,
                measured=r.measured,
            )
            for r in (*rounds, *failures)
        ]

    def profile(self, factors: ArrayLike | None = None) -> Profile:
        """The price of robustness: the decision to use and its bounds for tolerances ``factors`` times as large.

        By default from 0 to 2, as far as a tolerance is no wider than its range. An environment stays as it is, so
        without a tolerance (or an estimate) there is no profile. Where stderr is a terminal, a line there counts.
        """
        uncertainty = self.optimizer.uncertainty
        if not uncertainty.perturbations and not isinstance(uncertainty.parameters, Estimate):
            raise ValueError(f"expected a tolerance, which can be smaller or larger, for a profile, got {uncertainty}")
        uncertainty.scaled(1.0)  # refuses a set of one's own, which has no size
        scale = np.atleast_1d(numbers(FACTORS if factors is None else factors, "factors"))
        if scale.ndim != 1 or not len(scale) or np.any(scale < 0) or not np.all(np.isfinite(scale)):
            raise ValueError(f"expected factors as numbers of at least 0, got {factors!r}")
        states: dict[float, State] = {}
        for factor in scale.tolist():
            try:
                with quiet():  # that the given tolerance is too small was said before
                    states[factor] = self._state if factor == 1 else rescaled(self._state, factor)
            except ValueError:
                if factors is None and factor > 1:
                    break
                raise too_wide(self._state.setting, factor) from None
        ends = sorted({min(states), max(states), *({1.0} & states.keys())})
        rows, shown = [], sys.stderr.isatty()
        for i, factor in enumerate(f for f in scale.tolist() if f in states):
            if shown:
                print(f"\r\033[Kstableopt profile {i + 1}/{len(scale)}", end="", file=sys.stderr, flush=True)
            state = states[factor]
            if factor not in ends:  # what is best here is near what is best, or nearly so, on either side
                above = bisect(ends, factor)
                state = replace(state, like=(states[ends[above - 1]], states[ends[above]]))
            known = self.report if factor == 1 else report(state, self.optimizer.algorithm.reporting)
            worst = _worst_case(known, self.sign)
            rows.append(ProfileRow(factor, known.decision, worst, self.sign * known.optimum_upper, known.feasible))
        if shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        return Profile(tuple(rows), self.sign, self._state.setting.columns.steps, self.label)

    def __repr__(self) -> str:
        kind, t = type(self).__name__, self._state.t
        if not self._state.objective.t:
            return f"{kind}(nothing is known yet)"
        low, high = ends(*self.worst_case[1:])
        limits = "" if self.feasible is None else f", limits: {self.feasible}"
        said = _said(self._state, self.decision)
        return f"{kind}({said}: worst case between {low} and {high}{limits}, after {t} values)"

    def _repr_html_(self) -> str:
        """The numbers that matter as a table, and the pictures, for notebooks."""
        return table((), self._lines(), type(self).__name__) + (pictures(self) if self._state.objective.t else "")

    def _lines(self) -> list[tuple[str, str]]:
        point, *bounds = self.worst_case
        low, high = ends(*bounds)
        return [
            ("decision", _said(self._state, self.decision)),
            ("worst case", f"between {low} and {high}, at {_said(self._state, point)}"),
            *self._compared(),
            *([("left out", _LEFT)] if self.report.left else []),
            *(("cut off", text) for text in cut_off(self._state.setting, self.report.decision_index)),
            ("model", self.health.words),
            *remarks(self._state, self.health, self.sign, self.numbers),
        ]

    def _compared(self) -> list[tuple[str, str]]:
        """What is known of the decision beside all others."""
        beyond = "above" if self.sign > 0 else "below"
        # A decision that breaks a limit may have a better value than all that keep them.
        better = f": at most {self.regret_bound:.4g} better" if self.regret_bound >= 0 else ""
        known = self.report
        searched = "searched: independent starts agree" if known.settled else "searched, not proved"
        how = "exact" if known.exact else "proved" if known.proved else searched
        others = "no decision" if known.feasible is None else "no decision that may keep all limits"
        most = number(self.optimum_bound, abs(self.regret_bound))
        bound = f"{others} has a worst case {beyond} {most}{better} ({how})"
        return [*lines(self), *([] if known.feasible == "impossible" else [("optimum", bound)])]


_LEFT = (
    "better decisions can turn into settings that failed, or into what is closest to some: "
    "measure there again, or correct the trial"
)

Named = TypeVar("Named", bound=Answer[Any])


def named(answer: Named, label: str, trials: Sequence[int] = ()) -> Named:
    """An answer with a name for its values, and numbers for its trials."""
    answer.label, answer.numbers = label, trials
    return answer


class Result(Answer[Decision]):
    """What `maximize` and `minimize` return.

    stopped: why it ended: "budget", "time", "target", "confidence", "callback" or "interrupted"; "failures" or "error"
        if it belongs to an exception, "running" if it is one that a callback sees; empty if it is that of a campaign.
    errors: what went wrong in failed evaluations, and at which points.
    optimizer: the optimiser itself, to go on with ask and tell or to write as JSON.
    """

    def __init__(self, optimizer: Optimizer, sign: int, stopped: str, errors: tuple[str, ...] = ()) -> None:
        super().__init__(optimizer, sign)
        self.stopped = stopped
        self.errors = errors

    def done(self, eta: float | None = None) -> Done:
        """Are we done? How likely no decision is better by more than ``eta``, and how likely more evaluations help.

        eta: the difference between worst cases that does not matter: 1 % of the spread of the values by default, or
        the noise of one of them, if that is larger. It is what the model says, from joint draws of the worst cases of
        all contenders; how often it is right was measured (docs/trust.md). With constraints, it is about decisions that
        keep all limits, this one included.
        """
        return self._done if eta is None else self._done_with(eta)

    @cached_property
    def _done(self) -> Done:
        """With the difference that is usual: every summary says it, and its draws take longer than a report."""
        return self._done_with(None)

    def _done_with(self, eta: float | None) -> Done:
        early = self._state.objective.t < FEWEST
        return done(self._state, None if early else self.report.decision_index, doubted(self), eta)

    def but(self, stopped: str) -> Result[Decision]:
        """The same result with another reason why it ended."""
        return named(type(self)(self.optimizer, self.sign, stopped, self.errors), self.label, self.numbers)

    def _lines(self) -> list[tuple[str, str]]:
        state = self._state
        failed = f", {len(state.failures)} failed" if state.failures else ""
        by = "" if self.stopped == "interrupted" else "stopped by "
        stopped = f" ({by}{self.stopped})" if self.stopped else ""
        known = (
            super()._lines()
            if state.objective.t
            else [("decision", "nothing is known yet: tell at least one value first")]
        )
        return [*known, ("after", f"{state.t} value{'s' if state.t != 1 else ''}{failed}{stopped}")]

    def __str__(self) -> str:
        lines = self._lines()
        return "\n".join(f"{name:<12}{text}" for name, text in lines)

    def _compared(self) -> list[tuple[str, str]]:
        confirmed = isinstance(self.optimizer.algorithm.reporting, Confirmed)
        known = [*super()._compared(), ("done", str(self.done()))]
        return [*known, *(attacked(self._state, self.report, self.sign) if confirmed else ())]


class Audit(Result[Decision]):
    """What `audit` returns: where the decision may be worst, and the bounds on its worst case.

    It says nothing about other decisions: ``optimum_bound`` is infinite, and ``feasible`` is "impossible" if this one
    breaks a limit for certain. The rest is as in `Result`.
    """

    _compares = False

    @cached_property
    def report(self) -> Report:
        """The optimiser's own report on the decision, which maximises."""
        state, decision = self._state, self.optimizer.algorithm.reporting.choose(self._state)
        worst, upper = state.judge.bracket(decision)
        places = state.setting.translation.decision(decision), state.setting.translation.point(worst.point)
        bounds = worst.value, upper, math.inf
        limits = audited(state, decision) if state.constraints else (None, ())
        return Report(state.t, *places, *bounds, worst.exact, 0.0, False, False, decision, worst.point, False, *limits)

    def _compared(self) -> list[tuple[str, str]]:
        return [*lines(self, audit=True), *attacked(self._state, self.report, self.sign)]


class Assessment(Answer[Decision]):
    """What `assess` returns: the best decision of all, and what is known of each past one, best first."""

    @cached_property
    def decisions(self) -> list[tuple[Any, float, float]]:
        """Every past decision that is allowed, with the bounds on its worst case, the best guarantee first.

        Those that can turn into settings that failed come last: none of them is reported.
        """
        if self._state.constraints:
            return [self._seen(*each) for each in self._leading]
        best, first = self._leading, {index for index, _, _ in self._leading}
        others = [index for index in self._past if index not in first]
        if not others:
            return [self._seen(*each) for each in best]
        lower, upper = self._state.bounds_of(others)
        failing = np.array([index in self._failing for index in others])
        lower = np.where(failing, lower, np.minimum(lower, best[-1][1]))  # that of the best showed: these are not above
        order = np.lexsort((-lower, failing)).tolist()
        return [self._seen(*each) for each in (*best, *((others[i], lower[i], upper[i]) for i in order))]

    @cached_property
    def _past(self) -> list[Any]:
        return [decision for decision in dict.fromkeys(self._state.tried()) if self._state.setting.allows(decision)]

    @cached_property
    def _leading(self) -> list[tuple[Any, float, float]]:
        """The best of the past decisions: only these are solved for where no more are looked at.

        With constraints all of them are: those that keep the limits come first, those that break one later. What can
        turn into settings that failed is the last.
        """
        if not self._state.constraints:
            good = [index for index in self._past if index not in self._failing]
            return self._state.judge.leading(good or self._past, _SHOWN)
        ends = zip(self._past, *self._state.bounds_of(self._past), strict=True)
        return sorted(ends, key=lambda each: (each[0] in self._failing, self._ranks[each[0]], -each[1]))

    @cached_property
    def _ranks(self) -> dict[Any, int]:
        """What is known of the limits at the past decisions."""
        return dict(zip(self._past, ranks(self._state, self._past), strict=True)) if self._state.constraints else {}

    @cached_property
    def _failing(self) -> set[Any]:
        """The past decisions that can turn into settings that failed."""
        state = self._state
        return {index for index in self._past if not state.avoids(index, state.failing)} if state.failing else set()

    def _remark(self, index: Any) -> str:
        """What a person should know of a past decision beside its bounds."""
        if index in self._failing:
            return ", can turn into settings that failed, or close to some"
        return f", {KEPT[self._ranks[index]]}" if self._ranks else ""

    def _seen(self, index: Any, lower: float, upper: float) -> tuple[Any, float, float]:
        ends = (float(lower), float(upper)) if self.sign > 0 else (-float(upper), -float(lower))
        return (self._state.setting.translation.decision(index), *ends)

    def __str__(self) -> str:
        lines = [f"{name:<12}{text}" for name, text in self._lines()]
        failed, forbidden = len(self._state.failures), len(set(self._state.tried())) - len(self._past)
        left_out = [f"{failed} without a value"] if failed else []
        left_out += [f"{forbidden} that where=... does not allow"] if forbidden else []
        without = f" ({' and '.join(left_out)} left out)" if left_out else ""
        lines.append(f"{'past':<12}{len(self._past)} decisions{without}, the best guarantees first:")
        seen = [self._seen(*each) for each in self._leading[:_SHOWN]]
        limits = [self._remark(index) for index, _, _ in self._leading[:_SHOWN]]
        shown = [(_said(self._state, d), *ends(low, high)) for d, low, high in seen]
        past = [f"{decision}: worst case between {low} and {high}" for decision, low, high in shown]
        return "\n".join([*lines, *(f"{'':<12}{text}{end}" for text, end in zip(past, limits, strict=True))])

    def _repr_html_(self) -> str:
        seen = [self._seen(*each) for each in self._leading[:_SHOWN]]
        past = [(_said(self._state, d), low, high) for d, low, high in seen]
        header = ("past decision", "worst case from", "to")
        return super()._repr_html_() + table(header, past, "The best guarantees of the past")


def _said(state: State[Any], point: Any) -> str:
    """A decision or a point, as finely as it matters."""
    return readable(point, state.setting.columns.steps)


def _worst_case(report: Report, sign: int) -> WorstCase:
    ends: Sequence[float] = (report.lower, report.upper) if sign > 0 else (-report.upper, -report.lower)
    return WorstCase(report.worst_point, *ends)


def worst_cases(state: State[Index], decisions: Sequence[Index], sign: int) -> list[WorstCase]:
    """The bounds on the worst cases of several decisions, in the user's sign."""
    point = state.setting.translation.point
    found = state.judge.brackets(decisions)
    return [WorstCase(point(worst.point), *sorted((sign * worst.value, sign * upper))) for worst, upper in found]
