"""How a run is written as JSON and read again: its specification, and its rounds as a user sees them.

Points and decisions are written as they look, not by their indices, so that a run can be read by people too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stableopt.loop.measurements import Measurement, Round
from stableopt.loop.setting import Translation
from stableopt.maxmin.solver import Index

FORMAT = "stableopt run 2"
VALUES = ("domain", "uncertainty", "gp", "algorithm", "beta", "explore", "learned")  # what `values.from_dict` reads


def parsed(text: str) -> dict[str, Any]:
    """A run that `Optimizer.to_json` wrote, if it is whole."""
    try:
        run = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"expected the text that Optimizer.to_json wrote, not a path: {error}") from None
    if not isinstance(run, dict) or run.get("format") != FORMAT:
        raise ValueError(f"expected a run written by Optimizer.to_json (format {FORMAT!r}), got something else")
    missing = {*VALUES, "initial", "seed", "rounds", "failures"} - run.keys()
    if missing:
        raise ValueError(f"expected a whole run, got one without {sorted(missing)}")
    return run


def in_order(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rounds and the failures of a run, as they followed each other."""
    numbered = [(t, 1, r) for t, r in enumerate(run["rounds"], 1)] + [(r["t"], 0, r) for r in run["failures"]]
    return [r for *_, r in sorted(numbered, key=lambda n: n[:2])]


def written(translation: Translation[Index], r: Round[Index]) -> dict[str, Any]:
    """A round as JSON, by its indices: its dictionaries are the user's, who may have changed them."""
    decision = _plain(translation.decision(r.decision_index)) if r.asked else None
    y, lower = None if math.isnan(r.y) else r.y, None if math.isinf(r.lower) else r.lower
    point = _plain(translation.point(r.point_index))
    return {"decision": decision, "point": point, "y": y, "noise": r.noise, "lower": lower}


def read(translation: Translation[Index], r: Mapping[str, Any]) -> Measurement[Index]:
    """The measurement of a round that was written."""
    decision = None if r["decision"] is None else translation.decision_index(r["decision"])
    lower = -math.inf if r["lower"] is None else r["lower"]
    return Measurement(translation.point_index(r["point"]), r["y"], decision, r["noise"], lower)


def _plain(value: Any) -> Any:
    """A decision or a point as JSON."""
    if isinstance(value, Mapping):
        return {name: list(v) if isinstance(v, tuple) else v for name, v in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value
