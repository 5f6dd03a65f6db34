"""The knobs of a space: a float on a linear or log scale, an integer, a category; `candidates` has fixed ones.

Each translates between the user's value and coordinates, in which every range goes from 0 to 1.

Notation
    value        what the user sees, in the user's own unit
    coordinate   (w(value) − w(low)) / (w(high) − w(low)), where w is the identity, or log on a log scale;
                 of a category its number 0, 1, 2, ...
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from stableopt.base.arrays import Array, between, frozen
from stableopt.base.checks import is_number, positive
from stableopt.base.values import Value

_END = 1e-9  # coordinates this close to an end are the end
_MOST = 10**6  # values of an integer that are told apart


class Variable(Value, ABC):
    """One knob: a range or a list of choices."""

    numeric: bool = True
    """Whether its value is one number, which a tolerance can change."""

    @property
    def width(self) -> int:
        """How many coordinates it has."""
        return 1

    @property
    def categories(self) -> Sequence[int]:
        """Which of its coordinates are numbers of categories, without an order."""
        return ()

    @property
    @abstractmethod
    def choices(self) -> Array | None:
        """All values it can have as rows of coordinates (m, width); None if it varies continuously."""

    @property
    def settings(self) -> Array | None:
        """What can be set, as rows of coordinates; None if anything in between can. A perturbation knows no steps."""
        return self.choices

    @property
    def reachable(self) -> tuple[float, float]:
        """Smallest and largest coordinate at which f can be evaluated."""
        return 0.0, 1.0

    @abstractmethod
    def encode(self, value: Any, name: str) -> Sequence[float]:
        """The coordinates of a value; an error that tells what it could be."""

    @abstractmethod
    def decode(self, coordinates: Array) -> Any:
        """The value at these coordinates, or the nearest one that it can have."""

    def decoded(self, coordinates: Array) -> list[Any]:
        """The values at these coordinates (n, width)."""
        return [self.decode(row) for row in coordinates]

    def settled(self, coordinates: Array) -> Array:
        """The coordinates of the values at these (n, width): what `encode` makes of what `decode` says."""
        return np.array([self.encode(self.decode(row), "it") for row in coordinates]).reshape(coordinates.shape)

    def natural(self, coordinates: Array) -> Array:
        """The coordinates (n, width) in the user's unit, or its log on a log scale: what a kernel of the user sees."""
        return coordinates

    def read(self, text: str, column: int = 0) -> Any:
        """The value that a text stands for in a table (of one of its columns); the text itself if it is no number."""
        try:
            return float(text)
        except ValueError:
            return text


@dataclass(frozen=True, eq=False)
class Range(Variable):
    """A number between two ends."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        kind, name = type(self).__name__, f"{type(self).__name__}({self.low!r}, {self.high!r})"
        if not (is_number(self.low) and is_number(self.high)):
            raise ValueError(
                f"expected two finite numbers as the ends of a range, got {name}: use the smallest and the "
                "largest that you would try"
            )
        if not isinstance(self.log, bool | np.bool_):
            raise ValueError(f"expected log=True or log=False, got log={self.log!r} for {name}")
        vars(self).update(low=float(self.low), high=float(self.high), log=bool(self.log))
        if not self.low < self.high:
            swap = "swap them, or " if self.low > self.high else ""
            raise ValueError(f"expected low < high, got {name}: {swap}leave out what cannot vary")
        if self.log and self.low <= 0:
            raise ValueError(f"expected low > 0 on a log scale, got {name}: use {kind}(..., log=False) or a small low")
        for a, b in ((self.low, self.high), self.ends):  # the logs of a narrow range may be equal
            if not math.isfinite(b - a) or b - a <= 8 * np.spacing(max(abs(a), abs(b))):
                raise ValueError(f"expected a range whose width is a number of its own, got {name}: is the unit right?")

    @property
    def ends(self) -> tuple[float, float]:
        """w(low) and w(high)."""
        return (math.log(self.low), math.log(self.high)) if self.log else (float(self.low), float(self.high))

    def coordinate(self, values: Array) -> Array:
        """Coordinates of values."""
        low, high = self.ends
        return np.asarray(((np.log(values) if self.log else values) - low) / (high - low))

    def value(self, coordinates: Array) -> Array:
        """Values at coordinates, before any rounding."""
        natural = self.natural(coordinates)
        return np.asarray(np.exp(natural) if self.log else natural)

    def natural(self, coordinates: Array) -> Array:
        low, high = self.ends
        return np.asarray(low + coordinates * (high - low))


@dataclass(frozen=True, eq=False)
class Float(Range):
    """A number between low and high; ``log=True`` where ratios matter and not differences.

    evaluate: the wider range in which f can still be measured, where perturbations may go beyond low and high.
    step: what can be set is low, low + step, ...: only that is proposed and reported. It may end up in between: the
        tolerance knows no steps, and any value can be told.
    """

    evaluate: tuple[float, float] | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step is not None:
            wide = positive(self.step, "step as a number above 0") <= self.high - self.low
            if not wide or self.high - self.low > _MOST * self.step:
                raise ValueError(
                    f"expected a step of at most {self.high - self.low:g}, and at most {_MOST} of them, got "
                    f"step={self.step!r} for {self.low:g} to {self.high:g}: is the unit right?"
                )
            vars(self).update(step=float(self.step))
        if self.evaluate is None:
            return
        try:
            low, high = self.evaluate
            good = is_number(low) and is_number(high) and low <= self.low and self.high <= high
        except (TypeError, ValueError):
            good = False
        if not good or (self.log and low <= 0):
            raise ValueError(
                f"expected evaluate=(low, high) to be finite, to contain {self.low} to {self.high}"
                f"{' and to be positive' if self.log else ''}, got {self.evaluate!r}"
            )
        vars(self).update(evaluate=(float(low), float(high)))
        if not -1e9 <= self.reachable[0] <= self.reachable[1] <= 1e9:
            raise ValueError(
                f"expected evaluate=(low, high) to be less than a billion times as wide as {self.low} to {self.high}, "
                f"got {self.evaluate}: is the unit right?"
            )

    @property
    def choices(self) -> None:
        return None

    @cached_property
    def settings(self) -> Array | None:
        """The steps between low and high (m, 1), if there are any."""
        if self.step is None:
            return None
        return frozen(self.coordinate(self._step(np.arange(self._last(self.high) + 1.0)))[:, None])

    def settable(self, coordinates: Array, *, decision: bool = False) -> Array:
        """The nearest coordinates that can be set; those of a decision are between low and high."""
        if self.step is None:
            return coordinates
        low, high = (self.low, self.high) if decision or self.evaluate is None else self.evaluate
        number = np.rint((self.value(coordinates) - self.low) / self.step)
        return self.coordinate(self._step(np.clip(number, -self._last(2 * self.low - low), self._last(high))))

    def _last(self, end: float) -> int:
        """How many steps there are between low and an end above it."""
        return math.floor((end - self.low) / (self.step or 1.0) * (1 + 1e-12) + 1e-9)

    def _step(self, numbers: Array) -> Array:
        """The values of these steps, with no more digits than low and step have: 0.3, not 0.1 + 0.1 + 0.1."""
        step = self.step or 1.0
        digits = max(-int(Decimal(repr(v)).as_tuple().exponent) for v in (self.low, step))
        values = self.low + step * numbers
        return np.round(values, digits) if 0 <= digits <= 12 else values

    @property
    def reachable(self) -> tuple[float, float]:
        if self.evaluate is None:
            return 0.0, 1.0
        with np.errstate(over="ignore"):
            return tuple(self.coordinate(np.array(self.evaluate)).tolist())

    def encode(self, value: Any, name: str) -> Sequence[float]:
        low, high = self.evaluate or (self.low, self.high)
        if not is_number(value):
            raise ValueError(f"expected a finite number for {name}, got {value!r}")
        below, above = (1e-9 * low, 1e-9 * high) if self.log else (1e-9 * (high - low),) * 2
        if not low - below <= value <= high + above:
            raise ValueError(f"expected {name} between {low} and {high}, got {value}")
        u = float(self.coordinate(np.array(min(max(float(value), low), high))))
        back = self._back(u)
        if back == u:
            return [u]
        if abs(u - back) > 1e-12:  # so close to an end that it is the end
            u = back
        # The nearest coordinate whose value leads back to it bit for bit, so that a run can be replayed.
        steps = (u + k * np.spacing(u) for i in range(100) for k in ((i, -i) if i else (0,)))
        return [next((float(v) for v in steps if self._back(v) == v), u)]

    def _back(self, u: float) -> float:
        """The coordinate of the value at a coordinate: the same but for rounding."""
        return float(self.coordinate(np.array(self.decode(np.array([u])))))

    def settled(self, coordinates: Array) -> Array:
        if self.log or self.step is not None:
            return super().settled(coordinates)
        found = self.coordinate(self._values(coordinates))
        rounded = np.flatnonzero(self.coordinate(self._values(found)) != found)  # one by one, by `encode`
        found[rounded] = super().settled(coordinates[rounded])
        return found

    def decode(self, coordinates: Array) -> float:
        return self.decoded(coordinates[None])[0]

    def decoded(self, coordinates: Array) -> list[float]:
        return [self._on_step(value) for value in self._values(coordinates[:, 0]).tolist()]

    def _values(self, coordinates: Array) -> Array:
        """Values at coordinates, whatever the step is."""
        low, high = self.evaluate or (self.low, self.high)
        values = between(self.value(coordinates), low, high)
        values[(coordinates >= 0) & (coordinates < _END)] = self.low  # exactly, whatever logarithms and searches do
        values[(coordinates > 1 - _END) & (coordinates <= 1)] = self.high
        return values

    def _on_step(self, value: float) -> float:
        """The value, or the step that it is but for rounding."""
        if self.step is None:
            return value
        low, high = self.evaluate or (self.low, self.high)
        near = float(self._step(np.rint((np.array(value) - self.low) / self.step)))
        return near if abs(near - value) <= 1e-9 * (self.high - self.low) and low <= near <= high else value


class Integer(Range):
    """A whole number between low and high, both included."""

    def __post_init__(self) -> None:
        super().__post_init__()
        name = f"Integer({self.low}, {self.high}"
        if self.low != round(self.low) or self.high != round(self.high) or self.high - self.low >= _MOST:
            raise ValueError(f"expected whole numbers less than {_MOST} apart, got {name}): use Float")
        if self.log and self.high * np.spacing(self.ends[1]) > 0.1:
            raise ValueError(f"expected whole numbers whose logs differ, got {name}, True): use log=False")

    @cached_property
    def choices(self) -> Array:
        """All of them (m, 1)."""
        return frozen(self.coordinate(np.arange(self.low, self.high + 1))[:, None])

    def encode(self, value: Any, name: str) -> Sequence[float]:
        if not is_number(value) or value != round(value):
            raise ValueError(f"expected a whole number for {name}, got {value!r}")
        if not self.low <= value <= self.high:
            raise ValueError(f"expected {name} between {self.low:.0f} and {self.high:.0f}, got {value}")
        return [float(c) for c in self.choices[int(value - self.low)]]

    def settled(self, coordinates: Array) -> Array:
        return np.asarray(self.choices[(self._values(coordinates) - self.low).astype(np.intp)])

    def decode(self, coordinates: Array) -> int:
        return round(min(max(float(self.value(coordinates)[0]), self.low), self.high))

    def decoded(self, coordinates: Array) -> list[int]:
        return [int(value) for value in self._values(coordinates).tolist()]

    def _values(self, coordinates: Array) -> Array:
        """The whole numbers at coordinates (n, 1), as floats (n,)."""
        return np.rint(between(self.value(coordinates[:, 0]), self.low, self.high))


@dataclass(frozen=True, eq=False)
class Category(Variable):
    """One of several values without an order, such as names."""

    values: Sequence[str | int | float | bool]

    numeric = False

    def __post_init__(self) -> None:
        listed = isinstance(self.values, Sequence | np.ndarray) and not isinstance(self.values, str)
        values = tuple(v.item() if isinstance(v, np.generic) else v for v in self.values) if listed else ()
        if len(values) < 2 or not all(isinstance(v, str | bool) or is_number(v) for v in values):
            raise ValueError(f"expected a list of two or more strings or finite numbers, got {self.values!r:.200}")
        if len(set(values)) < len(values):
            raise ValueError(f"expected distinct categories, got {list(values)}")
        vars(self).update(values=values)

    @property
    def categories(self) -> Sequence[int]:
        return (0,)

    @property
    def choices(self) -> Array:
        return np.arange(float(len(self.values)))[:, None]

    @property
    def reachable(self) -> tuple[float, float]:
        return 0.0, float(len(self.values) - 1)

    def encode(self, value: Any, name: str) -> Sequence[float]:
        value = value.item() if isinstance(value, np.generic) else value
        same = [  # True is not 1
            isinstance(value, str | int | float) and isinstance(v, bool) is isinstance(value, bool) and v == value
            for v in self.values
        ]
        if not any(same):
            raise ValueError(f"expected {name} to be one of {list(self.values)}, got {value!r:.200}")
        return [float(same.index(True))]

    def settled(self, coordinates: Array) -> Array:
        return np.rint(coordinates)

    def decode(self, coordinates: Array) -> Any:
        return self.values[round(float(coordinates[0]))]

    def read(self, text: str, column: int = 0) -> Any:
        known = {str(v).lower(): v for v in self.values} | {str(v): v for v in self.values}
        found = known.get(text, known.get(text.lower(), super().read(text)))
        return text if isinstance(found, float) and found not in self.values else found
