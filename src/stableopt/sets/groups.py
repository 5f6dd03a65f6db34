"""Decisions that are groups of points: the adversary picks any member."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stableopt.base.checks import whole
from stableopt.sets.uncertainty import UncertaintySet

_MEMBERS = "members of groups as numbers of points, 0, 1, 2, ..."


@dataclass(frozen=True, eq=False, repr=False)
class Groups(UncertaintySet):
    """The decision is a group and the adversary picks its worst member.

    ``members`` lists the numbers of the points in each group, as a list of lists or a dictionary by name. Every point
    belongs to a group at least; where it belongs to several, the first one is "its" group.
    """

    members: Mapping[str, Iterable[int]] | Sequence[Iterable[int]]
    names: Sequence[str | int] | None = None

    def __post_init__(self) -> None:
        members = self.members
        if isinstance(members, Mapping):
            object.__setattr__(self, "names", tuple(members))
            members = list(members.values())
        if any(isinstance(group, str) or not isinstance(group, Iterable) for group in members):
            raise ValueError(
                f"expected a list of members for each group, got {members!r:.200}; labels: from_labels(...)"
            )
        groups = tuple(tuple(sorted({whole(i, 0, _MEMBERS) for i in group})) for group in members)
        names = tuple(range(len(groups))) if self.names is None else tuple(_name(name) for name in self.names)
        if not groups or len(names) != len(groups) or len(set(names)) != len(names):
            raise ValueError(f"expected at least one group and one distinct name each, got {len(groups)} and {names}")
        for name, group in zip(names, groups, strict=True):
            if not group:
                raise ValueError(f"expected members in every group, got an empty group {name!r}: leave it out")
        object.__setattr__(self, "members", groups)
        object.__setattr__(self, "names", names)

    @classmethod
    def from_labels(cls, labels: Sequence[Any] | NDArray[Any]) -> Groups:
        """Groups from one label per point, in the order of the sorted labels."""
        if np.ndim(labels) != 1:
            raise ValueError(f"expected one label per point in a flat list, got shape {np.shape(labels)}")
        kinds = {type(label.item() if isinstance(label, np.generic) else label) for label in labels}
        if len(kinds) != 1:
            raise ValueError(
                f"expected labels of one kind, such as all strings, got {sorted(k.__name__ for k in kinds)}"
            )
        found, inverse, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)
        members = np.split(np.argsort(inverse, kind="stable"), np.cumsum(counts)[:-1])
        names = found.tolist() if found.dtype.kind in "iuU" else [str(label) for label in found]
        return cls([group.tolist() for group in members], names)

    @property
    def lists(self) -> list[list[int]]:
        """The numbers of the points in each group, increasing."""
        groups = self.members.values() if isinstance(self.members, Mapping) else self.members
        return [list(group) for group in groups]

    def __repr__(self) -> str:
        return f"Groups({len(self.lists)} groups)"


def _name(name: Any) -> str | int:
    if isinstance(name, str):
        return str(name)
    if isinstance(name, bool) or not isinstance(name, int | np.integer):
        raise TypeError(f"expected names of groups as strings or whole numbers, got {name!r}")
    return int(name)
