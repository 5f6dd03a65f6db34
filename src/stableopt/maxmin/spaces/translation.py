"""Decisions and points of a space as a user sees them, and as rows of coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stableopt.base.arrays import Array
from stableopt.maxmin.solver import Choice, Row
from stableopt.maxmin.spaces.decisions import SpaceDecisions
from stableopt.sets.spaces import Point


@dataclass(frozen=True)
class SpaceTranslation:
    """Between the values of a user (dictionaries, or arrays without names) and the indices of a solver."""

    region: SpaceDecisions

    @property
    def names(self) -> dict[str, int] | None:
        """The keys of a point, if it has any, and how many columns each of them has."""
        space = self.region.points_space
        if space.names is None:
            return None
        return {
            name: v.width if isinstance(key, str) else 1
            for key, v in zip(space.names, space.parts, strict=True)
            for name in ((key,) if isinstance(key, str) else key)
        }

    def decision(self, index: Row) -> Point:
        """What a decision looks like to the user."""
        return self.region.space.decode(np.asarray(index, dtype=float))

    def point(self, index: Row) -> Point:
        """What a point looks like to the user."""
        return self.region.points_space.decode(np.asarray(index, dtype=float))

    def decision_index(self, value: Any) -> Row:
        """The row of a decision."""
        row = self.region.space.encode(value, "decision")
        if np.any(((row < 0) | (row > 1)) & ~self.region.discrete):
            raise ValueError(f"expected a decision within its ranges, got {value!r:.200}")
        return tuple(row.tolist())

    def point_index(self, value: Any) -> Row:
        """The row of a point."""
        return tuple(self.region.points_space.encode(value, "point").tolist())

    def decision_of(self, point: Row) -> Row:
        """The decision that a point on its own stands for: its columns of the decision, clipped to the ranges."""
        region = self.region
        return region.decision_index(region.clip(np.array([point[: region.dim]]))[0])

    def canonical(self, choice: Choice[Row]) -> Choice[Row]:
        """The choice with its rows as they come back from a user; an error if they are none of this space."""
        decision = self._row(choice.decision, self.region.dim)
        point = self._row(choice.point, self.region.points_space.dim)
        return choice._replace(decision=self.region.decision_index(decision), point=self.region.point_index(point))

    def _row(self, index: Row, width: int) -> Array:
        try:
            row = np.asarray(index, dtype=float)
        except (TypeError, ValueError):
            row = np.empty(0)
        if row.shape != (width,) or not np.all(np.isfinite(row)):
            raise ValueError(f"expected {width} finite coordinates, got {index!r:.200}")
        return row
