"""How a run is written as JSON and read again: its specification, and its rounds as a user sees them.

Points and decisions are written as they look, not by their indices, so that a run can be read by people too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stableopt.base.checks import is_whole, number
from stableopt.loop.measurements import Measurement, Round
from stableopt.loop.reading import measured, noise_of
from stableopt.loop.setting import Setting, Translation
from stableopt.maxmin.solver import Index
from stableopt.model.learning import Belief

FORMAT = "stableopt run 2"
VALUES = ("domain", "uncertainty", "gp", "algorithm", "beta", "explore", "learned")  # what `values.from_dict` reads
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
    if strange := sorted(run.keys() - expected):
        raise ValueError(f"expected a run as it was written, got {strange} in it")
    return run


def check_belief(belief: Any, learned: bool, setting: Setting[Index], rounds: int) -> None:
    """Refuse a model that was not learned from a run of this kind."""
    if not learned and belief is not None:
        raise ValueError(f"expected null as learned, as its GP is given, got {belief!r:.200}")
    if not learned:
        return
    if not isinstance(belief, Belief):
        raise ValueError(f"expected the model that was learned (a Belief) as learned, got {belief!r:.200}")
    if belief.t > rounds:
        raise ValueError(f"expected learned.t as at most its {rounds} rounds, got {belief.t}")
    places = np.zeros((1, setting.columns.width))
    for i, gp in enumerate(belief.gps):
        try:
            gp.kernel(places, places)
            gp.prior_mean(places)
        except ValueError as error:
            raise ValueError(f"expected a model of the run's points at learned.gps[{i}]: {error}") from None


def in_order(run: Mapping[str, Any], translation: Translation[Index]) -> list[Measurement[Index]]:
    """The rounds and the failures of a run, as they followed each other, checked as `tell` does."""
    for name in ("rounds", "failures"):
        if not isinstance(run[name], list):
            raise ValueError(f"expected a list of {name}, got {run[name]!r:.200}")
    numbered = [(t, 1, _read(translation, r, f"rounds[{t - 1}]")) for t, r in enumerate(run["rounds"], 1)]
    for i, r in enumerate(run["failures"]):
        known = _read(translation, r, f"failures[{i}]", failed=True)
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
    return {"decision": decision, "point": point, "y": y, "noise": r.noise, "lower": lower}


def _read(translation: Translation[Index], r: Any, where: str, *, failed: bool = False) -> Measurement[Index]:
    """The measurement of a round that was written; a value that failed is null."""
    keys = _ROUND | {"t"} if failed else _ROUND
    if not isinstance(r, dict) or r.keys() != keys:
        got = sorted(r) if isinstance(r, dict) else r
        raise ValueError(f"expected a round with {sorted(keys)} at {where}, got {got!r:.200}")
    try:
        y = measured(r["y"])
        if (y is None) is not failed:
            raise ValueError(f"expected y as {'null, as it failed' if failed else 'a number'}, got {y}")
        decision = None if r["decision"] is None else translation.decision_index(r["decision"])
        lower = -math.inf if r["lower"] is None else number(r["lower"], "lower as a finite number or null")
        return Measurement(translation.point_index(r["point"]), y, decision, noise_of(r["noise"]), lower)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{error} (at {where})") from None


def plain(value: Any) -> Any:
    """A decision or a point as JSON."""
    if isinstance(value, Mapping):
        return {name: list(v) if isinstance(v, tuple) else v for name, v in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value
