"""The axes of pictures: what a point is made of, in the user's words, on a list and in a space alike.

A point is a product of blocks: a variable of a space, an axis of a grid, all columns of scattered points, a parameter
of the environment. One block can change while the others stay, so a picture moves along blocks and shows columns.

Notation
    flat    a point or a decision as a plain list of numbers and words, the environment last
    row     the values of one block, a part of flat
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.checks import is_whole
from stableopt.loop.setting import Setting, column_names
from stableopt.sets.candidates import Candidates
from stableopt.sets.spaces import Space
from stableopt.sets.variables import Category, Float, Integer, Range, Variable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = tuple[Any, ...]
_FEW = 12  # values on a list that are drawn as single marks
_WHOLE = 40  # whole numbers that are drawn as single marks
_ROWS = 200  # of a list that are drawn at most: the nearest
_NAME, _WORD = 26, 14  # letters of a name in one line, of a word on an axis


@dataclass(frozen=True, eq=False)
class Block:
    """Values of a point that are chosen together."""

    first: int
    """Where its columns begin in a point."""
    names: tuple[str, ...]
    decided: bool
    """Whether it is part of the decision, and not of the environment."""
    rows: tuple[Row, ...] = ()
    """All that it can be; nothing for a range."""
    range: Range | None = None
    words: tuple[tuple[Any, ...], ...] = ()
    """What each column can be if it holds no numbers."""

    @property
    def places(self) -> slice:
        """Its columns in a point."""
        return slice(self.first, self.first + len(self.names))

    @property
    def columns(self) -> list[Column]:
        """Its columns, each for an axis."""
        words = self.words or ((),) * len(self.names)
        return [Column(self.first + i, name, self, words[i]) for i, name in enumerate(self.names)]

    @property
    def shown(self) -> str:
        """How many of its rows are drawn, if not all are."""
        return f"the {_ROWS} of {len(self.rows):,} rows nearest to the decision" if self._long else ""

    @property
    def _long(self) -> bool:
        return len(self.names) > 1 and len(self.rows) > _ROWS

    def some(self, count: int, through: Row) -> list[Row]:
        """About ``count`` of its values in order, ``through`` among them; of a long list the rows nearest to it."""
        if self.range is not None:
            return sorted({*_spread(self.range, count), through})
        if len(self.names) == 1:
            return list(self.rows) if self.words else sorted(self.rows)
        if not self._long:
            return list(self.rows)
        numbers = np.column_stack([c.positions([row[i] for row in self.rows]) for i, c in enumerate(self.columns)])
        here = numbers[self.rows.index(through)]
        away = (np.abs(numbers - here) / np.maximum(np.ptp(numbers, axis=0), 1e-300)).sum(axis=1)
        return [self.rows[i] for i in np.sort(np.argsort(away, kind="stable")[:_ROWS])]


@dataclass(frozen=True, eq=False)
class Column:
    """One number or word of a point, for an axis."""

    place: int
    """Where it stands in a point."""
    name: str
    block: Block
    words: tuple[Any, ...]
    """What it can be, if it is no number."""

    @property
    def joined(self) -> bool:
        """Whether its values lie so close that a line can join what is known of them."""
        if self.words or len(self.block.names) > 1:
            return False
        if isinstance(self.block.range, Integer):
            return len(self.block.range.choices) > _WHOLE
        return self.block.range is not None or len(self.block.rows) > _FEW

    @property
    def smooth(self) -> bool:
        """Whether it can be any number of a range."""
        return isinstance(self.block.range, Float)

    @property
    def log(self) -> bool:
        """Whether its scale is logarithmic."""
        return self.block.range is not None and self.block.range.log

    def positions(self, values: Sequence[Any]) -> Array:
        """Where values are on the axis: numbers as they are, words by their number."""
        return np.array([self.words.index(v) if self.words else v for v in values], dtype=float)

    def of(self, flats: Sequence[Sequence[Any]]) -> Array:
        """Where points or decisions are on the axis."""
        return self.positions([flat[self.place] for flat in flats])

    def ends(self) -> tuple[float, float]:
        """Where its values begin and end on the axis."""
        if self.block.range is not None:
            low, high = (float(self.block.range.decode(np.array([u]))) for u in self.block.range.reachable)
            return low, high
        known = self.positions([row[self.place - self.block.first] for row in self.block.rows])
        return float(known.min()), float(known.max())

    def dress(self, axes: Axes, which: Literal["x", "y"]) -> None:
        """Name, scale and ticks of an axis."""
        from matplotlib.ticker import MaxNLocator

        if self.log:
            (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        axis = axes.xaxis if which == "x" else axes.yaxis
        axis.set_label_text(text(self.name, _NAME))
        if self.words:
            axis.set_ticks(range(len(self.words)), [text(str(w), 0) for w in self.words])
        elif isinstance(self.block.range, Integer) and not self.log:
            axis.set_major_locator(MaxNLocator("auto", integer=True))


def blocks_of(setting: Setting) -> list[Block]:
    """All blocks of a point: those of the decision, then those of the environment."""
    domain, parameters = setting.domain, setting.uncertainty.parameters
    theta = None if parameters is None else parameters.theta
    parts: list[tuple[Variable | Array, bool]] = [
        (part, True) for part in (domain.parts if isinstance(domain, Space) else domain.blocks)
    ]
    if theta is not None:
        parts += [(part, False) for part in (theta.parts if isinstance(theta, Space) else (np.asarray(theta),))]
    names = column_names(setting)
    found: list[Block] = []
    for part, decided in parts:
        first = sum(len(block.names) for block in found)
        width: int = part.shape[1] if isinstance(part, np.ndarray) else part.width
        found.append(_block(part, Block(first, tuple(names[first : first + width]), decided)))
    return found


def _block(part: Variable | Array, empty: Block) -> Block:
    """The block of a variable, or of rows of a list."""
    place = empty.first, empty.names, empty.decided
    if isinstance(part, Range):
        return Block(*place, range=part)
    if isinstance(part, Category):
        return Block(*place, rows=tuple((v,) for v in part.values), words=(tuple(part.values),))
    if isinstance(part, Candidates):
        return Block(*place, rows=tuple(part.decode(row) for row in part.choices), words=tuple(map(tuple, part.words)))
    return Block(*place, rows=tuple(map(tuple, np.asarray(part).tolist())))


def chosen(columns: Sequence[Column], wanted: Any) -> list[Column]:
    """The columns that a user names, by name or by number; all of them for None."""
    if wanted is None:
        return list(columns)
    names = [column.name for column in columns]
    found = []
    for one in [wanted] if isinstance(wanted, str) or np.ndim(wanted) == 0 else wanted:
        if is_whole(one, 0) and one < len(columns):
            found.append(columns[one])
        elif isinstance(one, str) and one in names:
            found.append(columns[names.index(one)])
        else:
            raise ValueError(f"expected parameters among {names} (or their numbers from 0), got {one!r:.200}")
    if not found or len({column.place for column in found}) < len(found):
        raise ValueError(f"expected distinct parameters, at least one, got {wanted!r:.200}")
    return found


def flat_of(value: Any) -> list[Any]:
    """A point or a decision as a plain list."""
    parts = list(value.values()) if isinstance(value, Mapping) else np.asarray(value, dtype=object).ravel().tolist()
    return [v for part in parts for v in (part if isinstance(part, tuple | list) else (part,))]


def text(name: str, width: int, most: int = _WORD) -> str:
    """A user's words in a picture: no dollar begins a formula; a long name takes several lines (width 0: it is cut)."""
    short = textwrap.fill(name, width) if width else name if len(name) <= most else name[: most - 1] + "…"
    return short.replace("$", r"\$")


def _spread(variable: Range, count: int) -> list[Row]:
    """About ``count`` values, evenly spread on their scale; whole numbers all, if they are few."""
    u = np.linspace(*variable.reachable, count)
    if isinstance(variable, Integer) and len(variable.choices) <= max(count, _WHOLE):
        u = variable.choices[:, 0]
    return sorted({(variable.decode(np.array([c])),) for c in u})
