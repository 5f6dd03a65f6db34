"""One call for everything: `maximize` and `minimize` a function of yours, or `assess` the data that you have.

They build the same `Optimizer` that ask and tell use and hand it back with the result. Only here is a sign flipped: the
rest of the library maximises.
"""

from __future__ import annotations

import copy
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack, overload

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.checks import LARGEST_VALUE, is_value, not_negative, whole
from stableopt.campaign.results import Assessment, Result
from stableopt.campaign.tables import experiments
from stableopt.campaign.words import Words
from stableopt.loop.answers import Query, readable
from stableopt.loop.defaults import EVALUATIONS, FRONT_DOOR, MOST_FAILURES
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.rules import Algorithm
from stableopt.loop.schedules import Schedule
from stableopt.model.gp import GP
from stableopt.model.learning import Learned
from stableopt.sets.domains import Domain
from stableopt.sets.spaces import Space

Objective = Callable[[Any], Any]
NamedDecision = dict[str, Any]
"""A decision where the ranges have names."""


class Options(TypedDict, total=False):
    """The options of `maximize` and `minimize`, for type checkers; `maximize` explains them."""

    environment: Any
    evaluations: int
    data: Any
    value: str
    noise: float | None
    initial: int | None
    seconds: float | None
    target: float | None
    seed: int
    model: GP | Learned | None
    beta: float | Schedule
    explore: float | Schedule | None
    algorithm: str | Algorithm
    progress: bool | None
    callback: Callable[[Result[Any]], Any] | None


class ObjectiveError(RuntimeError):
    """The function failed too often in a row.

    result: what was known by then; None if there was no value at all.
    errors: what went wrong, and at which points, as in `Result`.
    """

    result: Result[Any] | None = None
    errors: tuple[str, ...] = ()


@overload
def maximize(
    f: Objective, ranges: Mapping[str, Any], tolerance: Any = None, **options: Unpack[Options]
) -> Result[NamedDecision]: ...
@overload
def maximize(
    f: Objective, ranges: Sequence[Any], tolerance: Any = None, **options: Unpack[Options]
) -> Result[Array]: ...
@overload
def maximize(
    f: Objective, ranges: Space | Domain, tolerance: Any = None, **options: Unpack[Options]
) -> Result[Any]: ...
def maximize(
    f: Objective,
    ranges: Mapping[str, Any] | Sequence[Any] | Space | Domain,
    tolerance: Any = None,
    *,
    environment: Any = None,
    evaluations: int = EVALUATIONS,
    data: Any = None,
    value: str = "value",
    noise: float | None = None,
    initial: int | None = None,
    seconds: float | None = None,
    target: float | None = None,
    seed: int = 0,
    model: GP | Learned | None = None,
    beta: float | Schedule = FRONT_DOOR.beta,
    explore: float | Schedule | None = FRONT_DOOR.explore,
    algorithm: str | Algorithm = FRONT_DOOR.algorithm,
    progress: bool | None = None,
    callback: Callable[[Result[Any]], Any] | None = None,
) -> Result[Any]:
    """Find the decision whose worst case is best, from at most ``evaluations`` calls of f.

    f: takes a point (a dictionary if the ranges are named, else an array) and returns a number. If it raises an
        exception or returns NaN (or what is beyond ±1e140), the evaluation counts as failed and another point is
        tried; five failures in a row raise `ObjectiveError`. Whatever exception ends the call has the result so far
        as its ``result`` (None if there is no value yet), and what went wrong before as its ``errors``.
    ranges: ``{"temperature": (20, 90)}`` or ``[(20, 90)]``; see `Space` for log scales, integers and categories.
    tolerance: how far a decision may be off, in your units: a number each (``{"temperature": 2.0}``), a percentage of
        the value ("2%"), or any uncertainty set such as ``Ball(0.5)``.
    environment: what can be set in the experiment but not afterwards: ranges by name, or a list of scenarios.
    data: earlier experiments: points and values ``(X, y)``, the columns of an array X in the order of the ranges and
        then of the environment; or a table (a dictionary of columns, a DataFrame, a list of dictionaries) with the
        values in the column ``value``; or the ``evaluations`` of a result, to go on with another call. None or NaN
        where an experiment failed. Standard deviations of single values
        are a third array ``(X, y, noise)``, or the column "noise"; None or NaN where only the model knows. With
        ``evaluations=0`` the answer comes from the data alone.
    noise: standard deviation of f's noise; learned if not given. ``model`` replaces the model as a whole.
    initial: how many points are spread out before the model takes over.
    seconds, target: stop as soon as this time is over, or as the bound on the regret is at most ``target``.
    beta, explore: the β that certifies, and the one that explores: ½, and 4 in every fifth round from the 25th on.
    progress: a line with the current guarantee on stderr; by default if that is a terminal.
    callback: called with the result after every evaluation from the first value on; stops if it returns True.

    Ctrl-C stops, too, and returns what is known; before the first value it is raised.
    """
    words = Words(ranges, tolerance, environment, noise, model)
    optimizer = _optimizer(words, algorithm, beta, explore, initial, seed)
    limits = Limits(evaluations, seconds, target)
    return Call(f, optimizer, 1, limits, progress, callback).run(data, value)


@overload
def minimize(
    f: Objective, ranges: Mapping[str, Any], tolerance: Any = None, **options: Unpack[Options]
) -> Result[NamedDecision]: ...
@overload
def minimize(
    f: Objective, ranges: Sequence[Any], tolerance: Any = None, **options: Unpack[Options]
) -> Result[Array]: ...
@overload
def minimize(
    f: Objective, ranges: Space | Domain, tolerance: Any = None, **options: Unpack[Options]
) -> Result[Any]: ...
def minimize(
    f: Objective,
    ranges: Mapping[str, Any] | Sequence[Any] | Space | Domain,
    tolerance: Any = None,
    *,
    environment: Any = None,
    evaluations: int = EVALUATIONS,
    data: Any = None,
    value: str = "value",
    noise: float | None = None,
    initial: int | None = None,
    seconds: float | None = None,
    target: float | None = None,
    seed: int = 0,
    model: GP | Learned | None = None,
    beta: float | Schedule = FRONT_DOOR.beta,
    explore: float | Schedule | None = FRONT_DOOR.explore,
    algorithm: str | Algorithm = FRONT_DOOR.algorithm,
    progress: bool | None = None,
    callback: Callable[[Result[Any]], Any] | None = None,
) -> Result[Any]:
    """The same as `maximize` where small values are good: the worst case of a decision is its largest value.

    A ``model`` that is given is one of −f.
    """
    words = Words(ranges, tolerance, environment, noise, model)
    optimizer = _optimizer(words, algorithm, beta, explore, initial, seed)
    limits = Limits(evaluations, seconds, target)
    return Call(f, optimizer, -1, limits, progress, callback).run(data, value)


def assess(
    data: Any,
    ranges: Mapping[str, Any] | Sequence[Any] | Space | Domain,
    tolerance: Any = None,
    *,
    environment: Any = None,
    value: str = "value",
    minimize: bool = False,
    noise: float | None = None,
    seed: int = 0,
    model: GP | Learned | None = None,
    beta: float | Schedule = FRONT_DOOR.beta,
) -> Assessment[Any]:
    """How stable is what you have? Bounds on the worst case of every past decision, and of the best one of all.

    The arguments are those of `maximize`; nothing is evaluated.
    """
    words = Words(ranges, tolerance, environment, noise, model)
    optimizer = _optimizer(words, FRONT_DOOR.algorithm, beta, None, None, seed)
    sign = -1 if minimize else 1
    _tell_data(optimizer, data, value, sign)
    return Assessment(optimizer, sign)


def _optimizer(
    words: Words,
    algorithm: str | Algorithm,
    beta: float | Schedule,
    explore: float | Schedule | None,
    initial: int | None,
    seed: int,
) -> Optimizer:
    """The optimiser that a user's words describe."""
    problem = words.domain, words.uncertainty, words.prior
    return Optimizer(*problem, algorithm=algorithm, beta=beta, explore=explore, initial=initial, seed=seed)


@dataclass(frozen=True)
class Limits:
    """When a call ends: after so many evaluations, so many seconds, or as soon as the regret is known to be small."""

    evaluations: int
    seconds: float | None
    target: float | None

    def __post_init__(self) -> None:
        whole(self.evaluations, 0, "evaluations as a whole number of at least 0")
        for name, limit in (("seconds", self.seconds), ("target", self.target)):
            if limit is not None:
                not_negative(limit, f"{name} as a number of at least 0")


@dataclass
class Call:
    """One call of `maximize` or `minimize`: the loop over its evaluations."""

    f: Objective
    optimizer: Optimizer
    sign: int
    limits: Limits
    progress: bool | None
    callback: Callable[[Result[Any]], Any] | None
    errors: list[str] = field(default_factory=list)
    _in_a_row: int = 0  # failures since the last value

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise TypeError(f"expected a function of a point, got {self.f!r}")
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"expected a callback that takes a result, got {self.callback!r}")

    def run(self, data: Any, value: str) -> Result[Any]:
        """All evaluations, after the data; whatever ends them early, what is known is kept."""
        if data is not None:
            _tell_data(self.optimizer, data, value, self.sign)
        if not self.limits.evaluations and not self.optimizer.rounds:
            raise ValueError("expected evaluations of at least 1, or data: there is nothing to go by")
        shown = sys.stderr.isatty() if self.progress is None else self.progress
        try:
            stopped = self._evaluate(shown)
        except BaseException as error:
            if not isinstance(error, KeyboardInterrupt) or not self.optimizer.rounds:
                _keep(error, self._result("failures" if isinstance(error, ObjectiveError) else "error"))
                raise
            stopped = "interrupted"
        finally:
            if shown:
                print(file=sys.stderr)
        return self._result(stopped)

    def _evaluate(self, shown: bool) -> str:
        """One evaluation after the other; why they ended."""
        start, limits = time.monotonic(), self.limits
        if limits.evaluations and self._on_target(self._result("running")):
            return "target"
        for done in range(1, limits.evaluations + 1):
            if limits.seconds is not None and time.monotonic() - start >= limits.seconds and self.optimizer.rounds:
                return "time"
            self._evaluate_once()
            result = self._result("running")
            if shown:
                _show(result, done, limits.evaluations)
            answer = self.callback(result) if self.callback is not None and self.optimizer.rounds else None
            if isinstance(answer, bool | np.bool_) and answer:
                return "callback"
            if self._on_target(result):
                return "target"
        return "budget"

    def _evaluate_once(self) -> None:
        query = self.optimizer.ask()
        y, error = _measure(self.f, copy.copy(query.point))  # a copy, since f may change it
        self.errors += [error] if error else []
        try:
            _tell(self.optimizer, query, None if y is None else self.sign * y)
        except Exception as refused:  # by a model of the user's own, say: the value may have taken a day to measure
            kept = f"the value {y} at {readable(query.point)} was measured, but could not be added"
            self.errors.append(f"{kept}: {_said(refused)}")
            refused.add_note(kept)
            raise
        self._in_a_row = self._in_a_row + 1 if y is None else 0
        nothing = not self.optimizer.rounds
        if self._in_a_row >= MOST_FAILURES or (self._in_a_row == self.limits.evaluations and nothing):
            given = f"; f gets the whole point, a {type(query.point).__name__}" if nothing else ""
            raise ObjectiveError(f"{self._in_a_row} evaluations in a row failed, the last one with: {error}{given}")

    def _on_target(self, result: Result[Any]) -> bool:
        target = self.limits.target
        return target is not None and bool(self.optimizer.rounds) and result.regret_bound <= target

    def _result(self, stopped: str) -> Result[Any]:
        return Result(self.optimizer, self.sign, stopped, tuple(self.errors))


def _tell(optimizer: Optimizer, query: Query, y: float | None) -> None:
    """An interrupt while the model is learned waits until it knows the value, which may have taken a day to measure."""
    before = optimizer.state
    try:
        optimizer.tell(query, y)
    except KeyboardInterrupt:
        if optimizer.state is before:
            optimizer.tell(query, y)
        raise


def _keep(error: BaseException, result: Result[Any]) -> None:
    """Nothing is lost: what is known goes with the exception that ends a call, unless its class has such a thing."""
    known = {"result": result if result.optimizer.rounds else None, "errors": result.errors}
    for name, what in known.items():
        if isinstance(error, ObjectiveError) or not hasattr(type(error), name):
            BaseException.__setattr__(error, name, what)  # its class may refuse attributes


def _said(error: Exception) -> str:
    """What an exception says, whatever its class makes of that."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _measure(f: Objective, point: Any) -> tuple[float | None, str]:
    """One value of f, or None and why there is none."""
    where = point.tolist() if isinstance(point, np.ndarray) else copy.copy(point)  # f may change the point
    try:
        y = f(point)
    except Exception as error:  # what a user's function may raise is not for us to know
        return None, f"{_said(error)} (at {where})"
    if np.ma.is_masked(y):
        return None, f"a masked value (at {where})"
    try:
        wrong = y is None or isinstance(y, str | bytes | Sequence | Mapping) or np.asarray(y).dtype.kind not in "biufO"
        number = math.nan if wrong else float(np.asarray(y).reshape(()))
    except OverflowError:
        number, wrong = math.inf, False
    except (TypeError, ValueError):
        wrong = True
    if wrong:
        raise TypeError(
            f"expected the function to return one number (NaN where that failed), got {y!r:.200} at {where}"
        )
    if not is_value(number):
        return None, f"the value {number}{f', beyond {LARGEST_VALUE:g}' if math.isfinite(number) else ''} (at {where})"
    return number, ""


def _show(result: Result[Any], done: int, evaluations: int) -> None:
    """One line that tells how good the answer is by now."""
    line = f"stableopt {done}/{evaluations}"
    if result.optimizer.rounds:
        worst, better = result.worst_case, result.regret_bound
        sign = "≥" if result.sign > 0 else "≤"
        bound = worst.lower if result.sign > 0 else worst.upper
        line += f"  worst case {sign} {bound:.4g}, the best possible is at most {better:.3g} better"
    print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def _tell_data(optimizer: Optimizer, data: Any, value: str, sign: int) -> None:
    """Earlier experiments, told at once; rows without a value count as failed."""
    known = experiments(data, value, optimizer.state.setting.translation.names)
    optimizer.tell_all([m._replace(value=None if m.value is None else sign * m.value) for m in known])
