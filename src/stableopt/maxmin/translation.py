"""Between what a user sees and the rows of coordinates that the search in a space uses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stableopt.base.values import ReadOnly
from stableopt.maxmin.region import SpaceRegion
from stableopt.maxmin.solver import Choice, Row


@dataclass(frozen=True, eq=False)
class SpaceTranslation(ReadOnly):
    """Decisions and points of a region as rows of coordinates, and as a user sees them."""

    region: SpaceRegion

    @cached_property
    def names(self) -> dict[str, int] | None:
        """The names of a point's values, if they have any, and how many columns each of them has."""
        space = self.region.points_space
        if space.names is None:
            return None
        return {
            name: v.width if isinstance(key, str) else 1
            for key, v in zip(space.names, space.parts, strict=True)
            for name in ((key,) if isinstance(key, str) else key)
        }

    def decision(self, index: Row) -> Any:
        return self.region.space.decode(np.array(index))

    def point(self, index: Row) -> Any:
        return self.region.points_space.decode(np.array(index))

    def decision_index(self, value: Any) -> Row:
        return tuple(self.region.locate_decision(value).tolist())

    def point_index(self, value: Any) -> Row:
        return tuple(self.region.locate_point(value).tolist())

    def decision_of(self, point: Row) -> Row:
        return tuple(self.region.decision_of(np.array(point)).tolist())

    def known(self, choice: Choice[Row]) -> Choice[Row]:
        widths = self.region.space.dim, self.region.points_space.dim
        rows = []
        for index, width in zip((choice.decision, choice.point), widths, strict=True):
            row = np.asarray(index, dtype=float)
            if row.shape != (width,) or not np.all(np.isfinite(row)):
                raise ValueError(f"expected {width} finite coordinates, got {index!r:.200}")
            rows.append(row)
        return choice._replace(decision=self.region.decision_index(rows[0]), point=self.region.point_index(rows[1]))
