"""A parameter that an objective suggests, as a variable of a space; and its values, there and back.

Optuna's ranges are where an objective can be evaluated. Decisions may be kept to a narrower range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from stableopt.base.checks import is_number
from stableopt.sets.variables import Category, Float, Integer, Variable

_MOST = 10**6  # steps that a variable tells apart


@dataclass(frozen=True)
class Parameter:
    """What Optuna knows of a parameter, and the variable that it is for us."""

    distribution: BaseDistribution
    variable: Variable

    @classmethod
    def of(cls, name: str, distribution: BaseDistribution, decisions: tuple[float, float] | None) -> Parameter:
        """The parameter of this name; ``decisions`` is the range of decisions where it is a narrower one."""
        if decisions is not None and not isinstance(distribution, FloatDistribution):
            raise ValueError(f"expected ranges of parameters that are floats, got one for {name!r}: {distribution}")
        if isinstance(distribution, CategoricalDistribution):
            return cls(distribution, Category(_labels(distribution)))
        if isinstance(distribution, FloatDistribution):
            return cls(distribution, _float(name, distribution, decisions))
        if isinstance(distribution, IntDistribution):
            return cls(distribution, _integer(distribution))
        raise ValueError(f"expected a float, an integer or a category as {name!r}, got {distribution}")

    def seen(self, value: Any) -> Any:
        """A value of Optuna's as the space sees it."""
        if isinstance(self.distribution, CategoricalDistribution):
            assert isinstance(self.variable, Category)
            return self.variable.values[int(self.distribution.to_internal_repr(value))]
        return value

    def value(self, seen: Any) -> Any:
        """A value of the space as Optuna takes it: on a step, between the ends, and of its type."""
        d = self.distribution
        if isinstance(d, CategoricalDistribution):
            assert isinstance(self.variable, Category)
            return d.choices[list(self.variable.values).index(seen)]
        assert isinstance(d, FloatDistribution | IntDistribution)
        number = float(seen)
        if d.step is not None:
            number = d.low + round((number - d.low) / d.step) * d.step
        number = min(max(number, d.low), d.high)
        return round(number) if isinstance(d, IntDistribution) else number


def _labels(d: CategoricalDistribution) -> list[Any]:
    """The choices; where a category cannot be one of them (None, or 1 beside True), all as text."""
    plain = all(isinstance(c, str | bool) or is_number(c) for c in d.choices)
    if plain and len(set(d.choices)) == len(d.choices):
        return list(d.choices)
    texts = [str(c) for c in d.choices]
    return texts if len(set(texts)) == len(texts) else [f"{i}: {text}" for i, text in enumerate(texts)]


def _integer(d: IntDistribution) -> Variable:
    if d.step == 1 and d.high - d.low < _MOST:
        return Integer(d.low, d.high, d.log)
    return Float(d.low, d.high, d.log, step=None if d.log else _step(d))


def _float(name: str, d: FloatDistribution, decisions: tuple[float, float] | None) -> Float:
    if decisions is None:
        return Float(d.low, d.high, d.log, step=_step(d))
    low, high = decisions
    if d.step is not None:  # decisions are on steps of the objective
        low = d.low + math.ceil(round((low - d.low) / d.step, 9)) * d.step
    if not d.low <= low < high <= d.high:
        raise ValueError(
            f"expected a range of decisions within the range {d.low:g} to {d.high:g} of {name!r}, got {decisions}"
        )
    return Float(low, high, d.log, evaluate=(d.low, d.high), step=_step(d))


def _step(d: FloatDistribution | IntDistribution) -> float | None:
    """The step, where there are few enough of them to be told apart; proposals are on a step in any case."""
    return None if d.step is None or d.high - d.low > _MOST * d.step else d.step


def internal(params: Mapping[str, Any], space: Mapping[str, BaseDistribution]) -> dict[str, float]:
    """Values as storages hold them: numbers, whatever the choices are."""
    return {name: float(d.to_internal_repr(params[name])) for name, d in space.items()}
