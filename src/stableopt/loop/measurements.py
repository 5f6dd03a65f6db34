"""What was measured: a value at a point, for a decision or for none; and such a measurement as a round of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.values import ReadOnly
from stableopt.maxmin.solver import Index

Place = TypeVar("Place")
"""A decision or a point: as a user sees it, or as an index."""


class Measurement(NamedTuple, Generic[Place]):
    """One value of f, or an attempt that failed."""

    point: Place
    value: float | None
    """None: the measurement failed, or only constraints were measured."""
    decision: Place | None = None
    """The decision it was made for; None: for none, as in data that were there before."""
    noise: float | None = None
    """Standard deviation of this value's noise, where it is not the model's."""
    lower: float | None = None
    """The bound on the decision's worst case when the point was chosen (Theorem 1), if it was noted."""
    measured: Mapping[str, float | None] | None = None
    """What was measured of the constraints there, by their names. With some of it, a value of None did not fail."""


@dataclass(frozen=True, eq=False)
class Round(ReadOnly, Generic[Index]):
    """A measurement in a run: y was measured at ``point``, on behalf of ``decision``."""

    t: int
    decision: Any
    """The decision of the round; of mere data, the one that the point stands for itself."""
    point: Any
    y: float
    """The value; NaN where the measurement failed, or only constraints were measured."""
    lower: float
    """min over A(decision) of the lcb that was known when the point was chosen (Theorem 1); −∞ of mere data."""
    asked: bool
    """Whether the round served a decision, as opposed to data that were there anyway."""
    decision_index: Index
    point_index: Index
    noise: float | None = None
    """Standard deviation of this value's noise, where it is not the model's."""
    measured: Mapping[str, float] | None = None
    """What was measured of the constraints in this round."""


class Data(NamedTuple, Generic[Index]):
    """The rounds as a model sees them."""

    points: Sequence[Index]
    y: Array
    noise: Array | None
    """Standard deviations, NaN where it is the model's; None if it is the model's everywhere."""

    @classmethod
    def of(cls, rounds: Sequence[Round[Index]]) -> Data[Index]:
        """The data of these rounds."""
        own = [np.nan if r.noise is None else r.noise for r in rounds]
        noise = None if all(r.noise is None for r in rounds) else np.array(own)
        return cls([r.point_index for r in rounds], np.array([r.y for r in rounds]), noise)
