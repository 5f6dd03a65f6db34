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
from typing import Any

import numpy as np

from stableopt.base.checks import is_number, not_negative, whole
from stableopt.campaign.results import Assessment, Result
from stableopt.campaign.tables import experiments
from stableopt.loop.answers import Query
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.rules import Algorithm, BestOfAll, OptimisticPessimistic
from stableopt.loop.schedules import Alternating, Schedule
from stableopt.model.gp import GP
from stableopt.model.learning import Learned
from stableopt.sets.domains import Domain
from stableopt.sets.perturbations import Rectangle, Relative
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import Parameters, UncertaintySet, continuous
from stableopt.sets.variables import Candidates, Range

DEFAULT = Algorithm("StableOpt", OptimisticPessimistic(), BestOfAll())
EXPLORE = Alternating(0.5, 4.0)
MOST_FAILURES = 5


class ObjectiveError(RuntimeError):
    """The function failed too often in a row.

    result: what was known by then; None if there was no value at all.
    errors: what went wrong, and at which points, as in `Result`.
    """

    result: Result | None = None
    errors: tuple[str, ...] = ()


def maximize(
    f: Callable[[Any], float],
    ranges: Mapping[str, Any] | Sequence[Any] | Space | Domain,
    tolerance: Any = None,
    *,
    environment: Any = None,
    evaluations: int = 40,
    data: Any = None,
    value: str = "value",
    noise: float | None = None,
    initial: int | None = None,
    seconds: float | None = None,
    target: float | None = None,
    seed: int = 0,
    model: GP | Learned | None = None,
    beta: float | Schedule = 4.0,
    explore: float | Schedule | None = EXPLORE,
    algorithm: str | Algorithm = DEFAULT,
    progress: bool | None = None,
    callback: Callable[[Result], Any] | None = None,
) -> Result:
    """Find the decision whose worst case is best, from at most ``evaluations`` calls of f.

    f: takes a point (a dictionary if the ranges are named, else an array) and returns a number. If it raises an
        exception or returns NaN, the evaluation counts as failed and another point is tried; five failures in a row
        raise `ObjectiveError`. Whatever exception ends the call has the result so far as its ``result`` (None if
        there is no value yet), and what went wrong before as its ``errors``.
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
    optimizer = _optimizer(ranges, tolerance, environment, noise, initial, seed, model, beta, explore, algorithm)
    return _run(f, optimizer, 1, evaluations, data, value, seconds, target, progress, callback)


def minimize(
    f: Callable[[Any], float],
    ranges: Mapping[str, Any] | Sequence[Any] | Space | Domain,
    tolerance: Any = None,
    *,
    environment: Any = None,
    evaluations: int = 40,
    data: Any = None,
    value: str = "value",
    noise: float | None = None,
    initial: int | None = None,
    seconds: float | None = None,
    target: float | None = None,
    seed: int = 0,
    model: GP | Learned | None = None,
    beta: float | Schedule = 4.0,
    explore: float | Schedule | None = EXPLORE,
    algorithm: str | Algorithm = DEFAULT,
    progress: bool | None = None,
    callback: Callable[[Result], Any] | None = None,
) -> Result:
    """The same as `maximize` where small values are good: the worst case of a decision is its largest value.

    A ``model`` that is given is one of −f.
    """
    optimizer = _optimizer(ranges, tolerance, environment, noise, initial, seed, model, beta, explore, algorithm)
    return _run(f, optimizer, -1, evaluations, data, value, seconds, target, progress, callback)


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
    beta: float | Schedule = 4.0,
) -> Assessment:
    """How stable is what you have? Bounds on the worst case of every past decision, and of the best one of all.

    The arguments are those of `maximize`; nothing is evaluated.
    """
    optimizer = _optimizer(ranges, tolerance, environment, noise, None, seed, model, beta, None, DEFAULT)
    sign = -1 if minimize else 1
    _tell_data(optimizer, data, value, sign)
    return Assessment(optimizer, sign)


def _run(
    f: Callable[[Any], float],
    optimizer: Optimizer,
    sign: int,
    evaluations: int,
    data: Any,
    value: str,
    seconds: float | None,
    target: float | None,
    progress: bool | None,
    callback: Callable[[Result], Any] | None,
) -> Result:
    """The loop of `maximize` and `minimize`."""
    if not callable(f):
        raise TypeError(f"expected a function of a point, got {f!r}")
    whole(evaluations, 0, "evaluations as a whole number of at least 0")
    for name, limit in (("seconds", seconds), ("target", target)):
        if limit is not None:
            not_negative(limit, f"{name} as a number of at least 0")
    if callback is not None and not callable(callback):
        raise TypeError(f"expected a callback that takes a result, got {callback!r}")
    if data is not None:
        _tell_data(optimizer, data, value, sign)
    if not evaluations and not optimizer.rounds:
        raise ValueError("expected evaluations of at least 1, or data: there is nothing to go by")
    shown = sys.stderr.isatty() if progress is None else progress
    stopped, errors, start, row = "budget", [], time.monotonic(), 0

    def reached(result: Result) -> bool:
        return target is not None and bool(optimizer.rounds) and result.regret_bound <= target

    try:
        for done in range(evaluations):
            if done == 0 and reached(Result(optimizer, sign, "running")):
                stopped = "target"
                break
            if seconds is not None and time.monotonic() - start >= seconds and optimizer.rounds:
                stopped = "time"
                break
            query = optimizer.ask()
            y, error = _measure(f, copy.copy(query.point))  # a copy, since f may change it
            errors += [error] if error else []
            _tell(optimizer, query, None if y is None else sign * y)
            row = row + 1 if y is None else 0
            result = Result(optimizer, sign, "running", tuple(errors))
            if row >= MOST_FAILURES or (row == evaluations and not optimizer.rounds):
                given = f"; f gets the whole point, a {type(query.point).__name__}" if not optimizer.rounds else ""
                raise ObjectiveError(f"{row} evaluations in a row failed, the last one with: {error}{given}")
            if shown:
                _show(result, done + 1, evaluations)
            answer = callback(result) if callback is not None and optimizer.rounds else None
            if isinstance(answer, bool | np.bool_) and answer:
                stopped = "callback"
                break
            if reached(result):
                stopped = "target"
                break
    except BaseException as error:
        if not isinstance(error, KeyboardInterrupt) or not optimizer.rounds:
            why = "failures" if isinstance(error, ObjectiveError) else "error"
            _keep(error, Result(optimizer, sign, why, tuple(errors)))
            raise
        stopped = "interrupted"
    finally:
        if shown:
            print(file=sys.stderr)
    return Result(optimizer, sign, stopped, tuple(errors))


def _tell(optimizer: Optimizer, query: Query, y: float | None) -> None:
    """An interrupt while the model is learned waits until it knows the value, which may have taken a day to measure."""
    before = optimizer.state
    try:
        optimizer.tell(query, y)
    except KeyboardInterrupt:
        if optimizer.state is before:
            optimizer.tell(query, y)
        raise


def _keep(error: BaseException, result: Result) -> None:
    """Nothing is lost: what is known goes with the exception that ends a call, unless its class has such a thing."""
    known = {"result": result if result.optimizer.rounds else None, "errors": result.errors}
    for name, what in known.items():
        if isinstance(error, ObjectiveError) or not hasattr(type(error), name):
            setattr(error, name, what)


def _measure(f: Callable[[Any], float], point: Any) -> tuple[float | None, str]:
    """One value of f, or None and why there is none."""
    where = point.tolist() if isinstance(point, np.ndarray) else copy.copy(point)  # f may change the point
    try:
        y = f(point)
    except Exception as error:  # what a user's function may raise is not for us to know
        return None, f"{type(error).__name__}: {error} (at {where})"
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
    if not math.isfinite(number):
        return None, f"the value {number} (at {where})"
    return number, ""


def _show(result: Result, done: int, evaluations: int) -> None:
    """One line that tells how good the answer is by now."""
    line = f"stableopt {done}/{evaluations}"
    if result.optimizer.rounds:
        worst, better = result.worst_case, result.regret_bound
        sign = "≥" if result.sign > 0 else "≤"
        bound = worst.lower if result.sign > 0 else worst.upper
        line += f"  worst case {sign} {bound:.4g}, the best possible is at most {better:.3g} better"
    print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def _optimizer(
    ranges: Any,
    tolerance: Any,
    environment: Any,
    noise: float | None,
    initial: int | None,
    seed: int,
    model: GP | Learned | None,
    beta: float | Schedule,
    explore: float | Schedule | None,
    algorithm: str | Algorithm,
) -> Optimizer:
    """The optimiser that a user's words describe."""
    domain = ranges if isinstance(ranges, Space | Domain) else Space(ranges)
    uncertainty = _uncertainty(domain, tolerance, environment)
    if model is not None and noise is not None:
        raise ValueError("expected noise or a model with its own noise, got both")
    prior = Learned(noise=noise) if model is None else model
    return Optimizer(
        domain, uncertainty, prior, algorithm=algorithm, beta=beta, explore=explore, initial=initial, seed=seed
    )


def _uncertainty(domain: Space | Domain, tolerance: Any, environment: Any) -> UncertaintySet:
    parts = [*_tolerances(domain, tolerance)]
    if environment is not None:
        parts.append(_environment(environment))
        if len(parts) > 1 and not isinstance(domain, Space) and continuous(parts[-1]):
            raise ValueError(
                "expected rows of numbers as scenarios, such as [[2.0], [6.0]], beside a tolerance on a finite domain, "
                f"got {environment!r:.200}: or give ranges in place of the grid"
            )
    if not parts:
        raise ValueError(
            'expected a tolerance such as {"x": 0.1} or an environment, got neither: what can go wrong? (tolerance=0 '
            "if nothing; categories and candidates cannot be a little off)"
        )
    combined = parts[0]
    for part in parts[1:]:
        combined = combined * part
    return combined


def _tolerances(domain: Space | Domain, tolerance: Any) -> list[UncertaintySet]:
    """The perturbations that a tolerance means: a rectangle, and what is relative to the value."""
    if tolerance is None or isinstance(tolerance, UncertaintySet):
        return [] if tolerance is None else [tolerance]
    if is_number(tolerance) and (tolerance == 0 or not isinstance(domain, Space)):
        return [Rectangle(tolerance)]
    if not isinstance(domain, Space):
        raise ValueError(f"expected an uncertainty set such as Ball(0.1) for a finite domain, got {tolerance!r}")
    if isinstance(tolerance, Mapping):
        columns = {domain.column(name): given for name, given in tolerance.items()}
    elif isinstance(tolerance, str) or np.ndim(tolerance) == 0:
        columns = dict.fromkeys(domain.numeric, tolerance)
    elif len(tolerance) == len(domain.numeric):
        columns = dict(zip(domain.numeric, tolerance, strict=True))
    else:
        raise ValueError(f"expected one tolerance, or one for each of {len(domain.numeric)} numbers, got {tolerance!r}")
    parsed = {c: _tolerance(given, domain.labels[c]) for c, given in columns.items()}
    fixed = {c: size for c, (size, relative) in parsed.items() if not relative}
    moving = {c: size for c, (size, relative) in parsed.items() if relative}
    found: list[UncertaintySet] = []
    if fixed:
        found.append(Rectangle(list(fixed.values()), columns=list(fixed)))
    owners = {c[0]: v for v, c in zip(domain.parts, domain.columns, strict=True)}
    for c, size in moving.items():
        v = owners.get(c)
        if isinstance(v, Range) and size * max(abs(v.low), abs(v.high)) > v.high - v.low:
            raise ValueError(
                f"expected a tolerance no wider than its range, got ±{size:.3g} times the value for "
                f"{domain.labels[c]!r} from {v.low:g} to {v.high:g}: is the unit right?"
            )
    if moving:
        found.append(Relative(list(moving.values()), columns=list(moving)))
    return found


def _tolerance(given: Any, name: str) -> tuple[float, bool]:
    """How far off, and whether that is a fraction of the value."""
    if isinstance(given, str) and given.strip().endswith("%"):
        try:
            size = float(given.strip()[:-1]) / 100
        except ValueError:
            size = math.nan
        if 0 <= size < 1:
            return size, True
    elif is_number(given) and given >= 0:
        return float(given), False
    raise ValueError(f'expected a tolerance of {name!r} as a number of at least 0, or such as "2%", got {given!r}')


def _environment(environment: Any) -> UncertaintySet:
    """The parameters that an environment means: ranges, or rows of scenarios."""
    if isinstance(environment, UncertaintySet):
        return environment
    if isinstance(environment, Mapping | Space):
        return Parameters(environment if isinstance(environment, Space) else Space(environment))
    rows = list(environment) if isinstance(environment, Sequence | np.ndarray) else []
    if rows and all(isinstance(row, Mapping) for row in rows):
        names = tuple(rows[0])
        if any(set(row) != set(names) for row in rows):
            raise ValueError(f"expected scenarios with the same names, got {[sorted(row) for row in rows]}")
        values = [[row[name] for name in names] for row in rows]
        for name, column in zip(names, zip(*values, strict=True), strict=True):
            if len({isinstance(v, str) for v in column}) > 1:
                raise ValueError(f"expected a word or a number for {name!r} in all scenarios, got {column!r:.200}")
        if any(row in values[:i] for i, row in enumerate(values)):
            raise ValueError(f"expected distinct scenarios, got {rows!r:.200}")
        return Parameters(Space([Candidates.listed(values)], [names]))
    if rows and not any(isinstance(row, str) for row in rows):
        pair = isinstance(environment, tuple) and len(rows) == 2 and all(map(is_number, rows))
        if len(rows) == 1 or pair:  # a range, as it is written elsewhere
            raise ValueError(
                'expected a range by name, such as {"wind": (0, 12)}, or a list of at least two scenarios, got '
                f"{environment!r:.200}"
            )
        return Parameters(environment)
    raise ValueError(
        'expected an environment such as {"wind": (0, 12)} or a list of scenarios [{"wind": 3.0}, {"wind": 9.0}], got '
        f"{environment!r:.200}"
    )


def _tell_data(optimizer: Optimizer, data: Any, value: str, sign: int) -> None:
    """Earlier experiments, told at once; rows without a value count as failed."""
    known = experiments(data, value, _columns(optimizer))
    optimizer.tell_all(known.points, [None if v is None else sign * v for v in known.values], known.noise)


def _columns(optimizer: Optimizer) -> dict[str, int] | None:
    """The names of a point's values, if they have any, and how many columns each has."""
    if optimizer.names is None:
        return None
    space: Space = optimizer.state.setting.points_space
    return {
        name: v.width if isinstance(key, str) else 1
        for key, v in zip(space.names or (), space.parts, strict=True)
        for name in ((key,) if isinstance(key, str) else key)
    }
