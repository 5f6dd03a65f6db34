"""What must hold besides a good value: a measured quantity stays within limits, whatever the adversary does."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from stableopt.base.checks import listed, number, positive
from stableopt.base.values import Value
from stableopt.loop.outputs import Side
from stableopt.model.gp import GP
from stableopt.model.learning import Learned


@dataclass(frozen=True, eq=False)
class Constraint(Value):
    """Limits on a quantity that is measured together with the value; they must hold for every perturbation."""

    name: str
    """What its measurements are told under."""
    lower: float | None = None
    """The smallest allowed value, in the user's units; None: there is no such limit."""
    upper: float | None = None
    """The largest allowed value; None: there is no such limit."""
    model: GP | Learned | None = None
    """Its own prior, in its own units, or how it is learned; None: it is learned as `Learned()` does."""
    noise: float | None = None
    """Standard deviation of its measurements where the model is learned; None: it is learned, too."""

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name):
            raise TypeError(f"expected the name of a constraint, such as 'stress', got {self.name!r:.200}")
        limits = [limit for limit in (self.lower, self.upper) if limit is not None]
        for limit in limits:
            number(limit, f"a limit of {self.name!r} as a finite number, or None where there is none")
        if not limits:
            raise ValueError(f"expected a limit for {self.name!r}, got none: pass lower=..., upper=... or both")
        if len(limits) == 2 and not limits[0] < limits[1]:
            raise ValueError(
                f"expected the lower limit of {self.name!r} below the upper one, got {limits[0]:g} and {limits[1]:g}"
            )
        if not (self.model is None or isinstance(self.model, GP | Learned)):
            prior = "a prior such as GP(SE(0.2), noise=0.1), Learned() or None"
            raise TypeError(f"expected {prior} as the model of {self.name!r}, got {self.model!r:.200}")
        if self.noise is not None:
            positive(self.noise, f"the noise of {self.name!r} as a standard deviation above 0, or None to learn it")
            if isinstance(self.model, GP) or (self.model is not None and self.model.noise is not None):
                raise ValueError(f"expected one noise for {self.name!r}, got another one in its model: leave out one")

    @property
    def prior(self) -> GP | Learned:
        """The model that is given, or how it is learned."""
        if isinstance(self.model, GP):
            return self.model
        model = self.model or Learned()
        return model if self.noise is None else replace(model, noise=self.noise)

    @property
    def sides(self) -> tuple[Side, ...]:
        """Its limits, one by one."""
        limits = ((1.0, self.lower), (-1.0, self.upper))
        return tuple(Side(sign, float(limit)) for sign, limit in limits if limit is not None)


def checked_constraints(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """The constraints of a run, each with a name of its own."""
    expected = 'constraints as a list, such as [Constraint("stress", upper=14.0)]'
    found = listed(constraints, expected)
    for constraint in found:
        if not isinstance(constraint, Constraint):
            raise TypeError(f"expected {expected}, got {constraint!r:.200} in it")
    names = [constraint.name for constraint in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"expected constraints with different names, got {twice[0]!r} twice")
    return tuple(found)


def is_missing(value: object) -> bool:
    """Whether a measurement was not made: None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))
