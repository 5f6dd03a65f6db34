"""One call for everything: `maximize` and `minimize` a function of yours, `audit` a design, `assess` data.

They are loops on a `Campaign`, which has the same words, defaults and answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack, cast, overload

from stableopt.base.arrays import Array
from stableopt.base.checks import not_negative, share, whole
from stableopt.campaign.measuring import Measuring, Objective
from stableopt.campaign.results import Assessment, Audit, Result
from stableopt.campaign.words import Ranges, Words
from stableopt.loop.defaults import AUDIT, EVALUATIONS, FRONT_DOOR
from stableopt.loop.rules import Algorithm
from stableopt.loop.schedules import Schedule
from stableopt.model.gp import GP
from stableopt.model.learning import Learned
from stableopt.sets.domains import Domain
from stableopt.sets.spaces import Space

NamedDecision = dict[str, Any]
"""A decision where the ranges have names."""


class Options(TypedDict, total=False):
    """The options of `maximize` and `minimize`, for type checkers; `maximize` explains them."""

    environment: Any
    evaluations: int
    data: Any
    value: str
    constraints: Any
    where: Callable[[Any], Any] | None
    noise: float | str | None
    initial: int | None
    seconds: float | None
    target: float | None
    stop_when: float | None
    confirm: int
    seed: int
    model: GP | Learned | None
    beta: float | Schedule
    explore: float | Schedule | None
    algorithm: str | Algorithm
    progress: bool | None
    callback: Callable[[Result[Any]], Any] | None
    file: str | os.PathLike[str] | None
    workers: Any
    patience: float | None
    retries: int


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
    ranges: Ranges,
    tolerance: Any = None,
    *,
    environment: Any = None,
    evaluations: int = EVALUATIONS,
    data: Any = None,
    value: str = "value",
    constraints: Any = None,
    where: Callable[[Any], Any] | None = None,
    noise: float | str | None = None,
    initial: int | None = None,
    seconds: float | None = None,
    target: float | None = None,
    stop_when: float | None = None,
    confirm: int = 0,
    seed: int = 0,
    model: GP | Learned | None = None,
    beta: float | Schedule = FRONT_DOOR.beta,
    explore: float | Schedule | None = FRONT_DOOR.explore,
    algorithm: str | Algorithm = FRONT_DOOR.algorithm,
    progress: bool | None = None,
    callback: Callable[[Result[Any]], Any] | None = None,
    file: str | os.PathLike[str] | None = None,
    workers: Any = 1,
    patience: float | None = None,
    retries: int = 0,
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
        values in the column ``value``; the path of a CSV file with such columns; an Optuna study; or the
        ``evaluations`` of a result, to go on with another call. None or NaN where an experiment failed. Standard
        deviations of single values are a third array ``(X, y, noise)``, or the column "noise"; None or NaN where only
        the model knows. With ``evaluations=0`` the answer comes from the data alone.
    constraints: what else f returns, by name, with a lower and an upper limit each that must hold for every
        perturbation: ``{"stress": (None, 14.0)}``; or a list of `Constraint`. Then f returns a dictionary, with the
        value under its name, or the value and a dictionary; None or NaN where one was not measured.
    where: which decisions are allowed, by the inputs alone: ``lambda d: d["a"] >= 2 * d["b"]``. It is known exactly
        and costs no measurement. An equation needs some room: ``abs(d["a"] + d["b"] - 1) <= 0.01``.
    noise: standard deviation of f's noise; learned if not given. "robust": learned, and values far from what all others
        say lose their weight. ``model`` replaces the model as a whole.
    initial: how many points are spread out before the model takes over.
    seconds, target: stop as soon as this time is over, or as the bound on the regret is at most ``target``.
    stop_when: stop as soon as it is so likely that no decision is better by more than matters: see `Result.done`. A
        model that is not to be trusted stops nothing.
    confirm: so many evaluations, the last ones, attack the decision that would be reported: they measure where it may
        be worst. One that was attacked is reported then, unless another one is better for certain. They also come
        before a stop by ``target`` or ``stop_when``.
    beta, explore: the β that certifies, and the one that explores: ½, or 4 where what that
        chooses is known already, and in every fifth round more (`Curious`); with categories, 4 in every second round.
    progress: a line with the current guarantee on stderr; by default if that is a terminal.
    callback: called with the result after every evaluation from the first value on; stops if it returns True.
    file: where all of this is recorded, see `Campaign`. A call that was killed goes on when it is called again with
        the same file: what is in it counts as evaluated.
    workers: who measures: a number of processes, "threads", any `concurrent.futures.Executor`, or such as
        ``("threads", 8)``. A worker that is free gets another point at once. One that dies is a failed evaluation.
        What is under way when a limit is reached is waited for.
    patience: seconds after which a worker that does not answer is given up: that evaluation has failed.
    retries: how often an evaluation that failed is tried again.

    Ctrl-C stops, too, and returns what is known; before the first value it is raised.
    """
    words = Words(ranges, tolerance, environment, noise, model, False, value, algorithm, beta, explore, initial, seed)
    words = replace(words, constraints=constraints, where=where)
    limits = Limits(evaluations, seconds, target, confirm, stop_when)
    return _run((f, workers, patience, retries), words, limits, (progress, callback), file, data)


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
    ranges: Ranges,
    tolerance: Any = None,
    *,
    environment: Any = None,
    evaluations: int = EVALUATIONS,
    data: Any = None,
    value: str = "value",
    constraints: Any = None,
    where: Callable[[Any], Any] | None = None,
    noise: float | str | None = None,
    initial: int | None = None,
    seconds: float | None = None,
    target: float | None = None,
    stop_when: float | None = None,
    confirm: int = 0,
    seed: int = 0,
    model: GP | Learned | None = None,
    beta: float | Schedule = FRONT_DOOR.beta,
    explore: float | Schedule | None = FRONT_DOOR.explore,
    algorithm: str | Algorithm = FRONT_DOOR.algorithm,
    progress: bool | None = None,
    callback: Callable[[Result[Any]], Any] | None = None,
    file: str | os.PathLike[str] | None = None,
    workers: Any = 1,
    patience: float | None = None,
    retries: int = 0,
) -> Result[Any]:
    """The same as `maximize` where small values are good: the worst case of a decision is its largest value.

    A ``model`` that is given is one of −f.
    """
    words = Words(ranges, tolerance, environment, noise, model, True, value, algorithm, beta, explore, initial, seed)
    words = replace(words, constraints=constraints, where=where)
    limits = Limits(evaluations, seconds, target, confirm, stop_when)
    return _run((f, workers, patience, retries), words, limits, (progress, callback), file, data)


def audit(
    f: Objective,
    decision: Any,
    ranges: Ranges,
    tolerance: Any = None,
    *,
    environment: Any = None,
    evaluations: int = AUDIT,
    data: Any = None,
    value: str = "value",
    constraints: Any = None,
    minimize: bool = False,
    noise: float | str | None = None,
    initial: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    model: GP | Learned | None = None,
    beta: float | Schedule = FRONT_DOOR.beta,
    progress: bool | None = None,
    callback: Callable[[Result[Any]], Any] | None = None,
    file: str | os.PathLike[str] | None = None,
    workers: Any = 1,
    patience: float | None = None,
    retries: int = 0,
) -> Audit[Any]:
    """How bad can a design that exists become? Its worst case, from evaluations where it may be worst.

    decision: the design, in the form that `maximize` returns: a dictionary if the ranges are named, else an array.

    Some points are spread over all that it can turn into. Then f is measured where its lower bound is smallest, or
    where it may break a limit, if less is known there. The other arguments are those of `maximize`; ``minimize=True``
    where small values are good. Nothing is said about other decisions.
    """
    if decision is None:
        raise ValueError(
            "expected a decision to audit, got None: maximize finds one, and assess compares those of data"
        )
    words = Words(
        ranges, tolerance, environment, noise, model, minimize, value, None, beta, None, initial, seed, decision
    )
    words = replace(words, constraints=constraints)
    limits = Limits(evaluations, seconds)
    return cast("Audit[Any]", _run((f, workers, patience, retries), words, limits, (progress, callback), file, data))


def assess(
    data: Any,
    ranges: Ranges,
    tolerance: Any = None,
    *,
    environment: Any = None,
    value: str = "value",
    constraints: Any = None,
    where: Callable[[Any], Any] | None = None,
    minimize: bool = False,
    noise: float | str | None = None,
    seed: int = 0,
    model: GP | Learned | None = None,
    beta: float | Schedule = FRONT_DOOR.beta,
) -> Assessment[Any]:
    """How stable is what you have? Bounds on the worst case of every past decision, and of the best one of all.

    The arguments are those of `maximize`; nothing is evaluated.
    """
    words = Words(
        ranges,
        tolerance,
        environment,
        noise,
        model,
        minimize,
        value,
        beta=beta,
        explore=FRONT_DOOR.explore,
        seed=seed,
        constraints=constraints,
        where=where,
    )
    from stableopt.campaign.evaluating import assessed

    return assessed(words, data)


@dataclass(frozen=True)
class Limits:
    """When a call ends: after so many evaluations, so many seconds, or as soon as the regret is known to be small."""

    evaluations: int
    seconds: float | None
    target: float | None = None
    confirm: int = 0
    """How many of the evaluations attack the decision that is reported."""
    stop_when: float | None = None
    """How likely the decision has to be good enough."""

    def __post_init__(self) -> None:
        whole(self.evaluations, 0, "evaluations as a whole number of at least 0")
        if whole(self.confirm, 0, "confirm as a whole number of at least 0") > self.evaluations:
            most = f"confirm as at most all {self.evaluations} evaluations, of which they are the last"
            raise ValueError(f"expected {most}, got {self.confirm}")
        if self.stop_when is not None:
            share(self.stop_when, "stop_when as a probability between 0 and 1, such as 0.9")
        for name, limit in (("seconds", self.seconds), ("target", self.target)):
            if limit is not None:
                not_negative(limit, f"{name} as a number of at least 0")


Shown = tuple[bool | None, Callable[[Result[Any]], Any] | None]
"""Whether a line shows the progress, and what is called after every evaluation."""


def _run(
    work: tuple[Objective, Any, float | None, int],
    words: Words,
    limits: Limits,
    shown: Shown,
    file: str | os.PathLike[str] | None,
    data: Any,
) -> Result[Any]:
    from stableopt.campaign.evaluating import Call  # which knows campaigns, as they know what a call returns
    from stableopt.campaign.team import Work

    f, *options = work
    return Call(Work(Measuring(f, words.outputs), *options), words, limits, shown, file).run(data)
