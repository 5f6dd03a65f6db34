"""How a run is written as JSON and read again: its specification, and its rounds as a user sees them.

Points and decisions are written as they look, not by their indices, so that a run can be read by people too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from stableopt.base.checks import is_whole, number
from stableopt.loop.constraints import Constraint
from stableopt.loop.measurements import Measurement, Round
from stableopt.loop.outputs import Limited
from stableopt.loop.reading import measured, noise_of, with_measured
from stableopt.loop.setting import Setting, Translation
from stableopt.loop.state import State
from stableopt.maxmin.solver import Index
from stableopt.model.beliefs import Belief

FORMAT = "stableopt run 2"
VALUES = ("domain", "uncertainty", "gp", "algorithm", "beta", "explore", "learned")  # what `values.from_dict` reads
LIMITED = ("constraint", "learned")  # of each constraint, the same
_ROUND = {"decision", "point", "y", "noise", "lower"}


def parsed(text: str) -> dict[str, Any]:
    """A run that `Optimizer.to_json` wrote, if it is whole."""
    if not isinstance(text, str | bytes):
        raise TypeError(f"expected the text that Optimizer.to_json wrote, got {text!r:.200}")
    try:
        run = json.loads(text)
    except (RecursionError, ValueError) as error:
        raise ValueError(f"expected the text that Optimizer.to_json wrote, not a path: {error}") from None
    if not isinstance(run, dict) or run.get("format") != FORMAT:
        raise ValueError(f"expected a run written by Optimizer.to_json (format {FORMAT!r}), got something else")
    expected = {*VALUES, "format", "initial", "seed", "rounds", "failures"}
    if missing := sorted(expected - run.keys()):
        raise ValueError(f"expected a whole run, got one without {missing}")
    if strange := sorted(run.keys() - expected - {"constraints", "where"}):
        raise ValueError(f"expected a run as it was written, got {strange} in it")
    limited = run.get("constraints", [])
    if not isinstance(limited, list) or not all(isinstance(k, dict) and k.keys() == {*LIMITED} for k in limited):
        raise ValueError(f"expected constraints as a list of {{{', '.join(LIMITED)}}}, got {limited!r:.200}")
    return run


def check_beliefs(beliefs: Sequence[Any], state: State[Index], known: Sequence[Measurement[Index]]) -> None:
    """Refuse models that were not learned from a run of this kind: of the value, then of each constraint."""
    outputs = [("", state.objective), *((f" of {k.name!r}", k.output) for k in state.constraints)]
    for belief, (of, output), counts in zip(beliefs, outputs, _counts(known, state.constraints), strict=True):
        _check_belief(belief, output.learned is not None, state.setting, counts[-1], of)


def _check_belief(belief: Any, learned: bool, setting: Setting[Index], rounds: int, of: str) -> None:
    if not learned and belief is not None:
        raise ValueError(f"expected null as learned{of}, as its GP is given, got {belief!r:.200}")
    if not learned:
        return
    if not isinstance(belief, Belief):
        raise ValueError(f"expected the model that was learned (a Belief) as learned{of}, got {belief!r:.200}")
    if belief.t > rounds:
        raise ValueError(f"expected learned.t{of} as at most its {rounds} rounds, got {belief.t}")
    places = np.zeros((1, setting.columns.width))
    for i, gp in enumerate(belief.gps):
        try:
            gp.kernel(places, places)
            gp.prior_mean(places)
        except ValueError as error:
            raise ValueError(f"expected a model of the run's points at learned.gps[{i}]{of}: {error}") from None


def _counts(known: Sequence[Measurement[Index]], constraints: Sequence[Limited[Index]]) -> list[list[int]]:
    """How many values of the objective and of each constraint there are before and after each measurement."""
    names = [k.name for k in constraints]
    seen = [[m.value is not None for m in known]]
    seen += [[(m.measured or {}).get(name) is not None for m in known] for name in names]
    return [list(accumulate(row, initial=0)) for row in seen]


def learned_from(
    known: Sequence[Measurement[Index]], beliefs: Sequence[Belief | None], constraints: Sequence[Limited[Index]]
) -> int:
    """How many of the first measurements all these models were learned from."""
    return max(
        sum(count <= belief.t for count in counts) - 1
        for belief, counts in zip(beliefs, _counts(known, constraints), strict=True)
        if belief is not None
    )


def in_order(
    run: Mapping[str, Any], translation: Translation[Index], constraints: Sequence[Constraint] = ()
) -> list[Measurement[Index]]:
    """The rounds and the failures of a run, as they followed each other, checked as `tell` does."""
    for name in ("rounds", "failures"):
        if not isinstance(run[name], list):
            raise ValueError(f"expected a list of {name}, got {run[name]!r:.200}")
    numbered = [(t, 1, _read(translation, r, f"rounds[{t - 1}]", constraints)) for t, r in enumerate(run["rounds"], 1)]
    for i, r in enumerate(run["failures"]):
        known = _read(translation, r, f"failures[{i}]", constraints, failed=True)
        if not is_whole(r["t"], 1) or r["t"] > len(run["rounds"]) + 1:
            most = len(run["rounds"]) + 1
            raise ValueError(f"expected t from 1 to {most} at failures[{i}], got {r['t']!r:.200}")
        numbered.append((r["t"], 0, known))
    return [measurement for *_, measurement in sorted(numbered, key=lambda n: n[:2])]


def written(translation: Translation[Index], r: Round[Index]) -> dict[str, Any]:
    """A round as JSON, by its indices: its dictionaries are the user's, who may have changed them."""
    decision = plain(translation.decision(r.decision_index)) if r.asked else None
    y, lower = None if math.isnan(r.y) else r.y, None if math.isinf(r.lower) else r.lower
    point = plain(translation.point(r.point_index))
    found = {"decision": decision, "point": point, "y": y, "noise": r.noise, "lower": lower}
    return found if r.measured is None else found | {"measured": dict(r.measured)}


def written_constraint(constraint: Constraint, limited: Limited[Index]) -> dict[str, Any]:
    """A constraint as JSON, with the model that was learned of it."""
    learned = None if limited.output.learned is None else limited.output.belief.to_dict()
    return dict(zip(LIMITED, (constraint.to_dict(), learned), strict=True))


def _read(
    translation: Translation[Index], r: Any, where: str, constraints: Sequence[Constraint], *, failed: bool = False
) -> Measurement[Index]:
    """The measurement of a round that was written; a value that failed is null."""
    keys = _ROUND | {"t"} if failed else _ROUND
    if not isinstance(r, dict) or r.keys() - ({"measured"} if constraints and not failed else {}) != keys:
        got = sorted(r) if isinstance(r, dict) else r
        raise ValueError(f"expected a round with {sorted(keys)} at {where}, got {got!r:.200}")
    try:
        y, others = measured(r["y"]), r.get("measured")
        if (y is None) is not failed and not (y is None and others):
            raise ValueError(f"expected y as {'null, as it failed' if failed else 'a number'}, got {y}")
        decision = None if r["decision"] is None else translation.decision_index(r["decision"])
        lower = -math.inf if r["lower"] is None else number(r["lower"], "lower as a finite number or null")
        found = Measurement(translation.point_index(r["point"]), y, decision, noise_of(r["noise"]), lower)
        return with_measured([found], others, constraints)[0]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{error} (at {where})") from None


def plain(value: Any) -> Any:
    """A decision or a point as JSON."""
    if isinstance(value, Mapping):
        return {name: list(v) if isinstance(v, tuple) else v for name, v in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value
