"""The user's words for a problem: ranges, a tolerance, an environment; and the domain and sets that they mean.

ranges        {"temperature": (20, 90)}, [(20, 90)], or a domain
tolerance     how far a decision may be off: 2.0, "2%", {"temperature": (-1.0, 2.0)}, or an uncertainty set
environment   what can be set in the experiment but not afterwards: {"wind": (0, 12)}, or a list of scenarios
constraints   what else is measured, and its limits: {"stress": (None, 14.0), "deflection": (-2.0, 2.0)}, or a list of
              `Constraint` where one has a model or a noise of its own
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stableopt.base.checks import is_number
from stableopt.loop.constraints import Constraint
from stableopt.model.gp import GP
from stableopt.model.learning import Learned
from stableopt.sets.candidates import Candidates
from stableopt.sets.domains import Domain
from stableopt.sets.perturbations import Rectangle, Relative
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import Parameters, UncertaintySet, continuous
from stableopt.sets.variables import Range

MODEL = Learned(warp=None)
"""How f is learned where nothing is said of its model."""

Ranges = Mapping[str, Any] | Sequence[Any] | Space | Domain
"""What `maximize` and a campaign take as ranges."""

_FORMS = 'constraints such as {"stress": (None, 14.0), "deflection": (-2.0, 2.0)}'


@dataclass(frozen=True)
class Words:
    """What a user says about a problem, and what it means."""

    ranges: Any
    tolerance: Any = None
    environment: Any = None
    noise: float | str | None = None
    """Standard deviation of f's noise; learned if it is not given. "robust": learned, and with heavy tails."""
    model: GP | Learned | None = None
    """A model in place of the learned one; where values are minimised, of −f."""
    minimize: bool = False
    """Whether small values are good."""
    value: str = "value"
    """What the values are called in tables."""
    algorithm: Any = None
    beta: Any = None
    explore: Any = None
    initial: int | None = None
    seed: int = 0
    decision: Any = None
    """The decision that an audit attacks; None: the best one is searched for."""
    constraints: Any = None
    where: Any = None
    """Which decisions are allowed: a function of a decision; None: all of the ranges."""

    def __post_init__(self) -> None:
        if not isinstance(self.minimize, bool | np.bool_):
            raise ValueError(f"expected minimize=True or minimize=False, got {self.minimize!r:.200}")
        if not isinstance(self.value, str) or not self.value:
            raise ValueError(f"expected value=... as the name of the values, got {self.value!r:.200}")

    @cached_property
    def limits(self) -> tuple[Constraint, ...]:
        """What else is measured, with its limits."""
        parameters = self.uncertainty.parameters
        spaces = self.domain, None if parameters is None else parameters.theta
        names = [name for space in spaces if isinstance(space, Space) for name in space.flat_names or ()]
        return constraints_of(self.constraints, [self.value, *names])

    @property
    def outputs(self) -> tuple[str, ...]:
        """What is measured, by name: the value first."""
        return self.value, *(constraint.name for constraint in self.limits)

    @property
    def sign(self) -> int:
        """+1, or −1 where small values are good: everything inside maximises."""
        return -1 if self.minimize else 1

    def read(self, name: str, text: str) -> Any:
        """The value that a text stands for in a table, such as 44.5 for "44.5"; the text itself if it is none."""
        parameters = self.uncertainty.parameters
        for space in (self.domain, None if parameters is None else parameters.theta):
            if isinstance(space, Space) and name in space.labels:
                column = space.column(name)
                owner, first = next((v, c[0]) for v, c in zip(space.parts, space.columns, strict=True) if column in c)
                return owner.read(text, column - first)
        return text

    @cached_property
    def domain(self) -> Space | Domain:
        """Where decisions live."""
        return self.ranges if isinstance(self.ranges, Space | Domain) else Space(self.ranges)

    @cached_property
    def uncertainty(self) -> UncertaintySet:
        """What can go wrong: the tolerance and the environment together."""
        around = None if self.environment is None else parameters(self.environment)
        _check_decided(self.tolerance, around)
        parts = tolerances(self.domain, self.tolerance)
        if around is not None:
            parts.append(around)
            if len(parts) > 1 and not isinstance(self.domain, Space) and continuous(parts[-1]):
                raise ValueError(
                    "expected rows of numbers as scenarios, such as [[2.0], [6.0]], beside a tolerance on a finite "
                    f"domain, got {self.environment!r:.200}: or give ranges in place of the grid"
                )
        if not parts:
            raise ValueError(
                'expected a tolerance such as {"x": 0.1} or an environment, got neither: pass tolerance=0 if nothing '
                "is uncertain (categories and candidates cannot be a little off)"
            )
        combined = parts[0]
        for part in parts[1:]:
            combined = combined * part
        return combined

    @property
    def prior(self) -> GP | Learned:
        """The model of f."""
        if self.model is not None and self.noise is not None:
            remedy = ": Learned(robust=True) is such a model" if self.noise == "robust" else ""
            raise ValueError(f"expected noise or a model with its own noise, got both{remedy}")
        if self.model is None:
            if isinstance(self.noise, str) and self.noise != "robust":
                raise ValueError(f'expected noise as a standard deviation above 0, or "robust", got {self.noise!r:.80}')
            if self.noise is None:
                return MODEL
            return Learned(robust=True) if isinstance(self.noise, str) else Learned(noise=self.noise)
        return self.model


def tolerances(domain: Space | Domain, tolerance: Any) -> list[UncertaintySet]:
    """The perturbations that a tolerance means: a rectangle, and what is relative to the value."""
    if tolerance is None or isinstance(tolerance, UncertaintySet):
        return [] if tolerance is None else [tolerance]
    if is_number(tolerance) and (tolerance == 0 or not isinstance(domain, Space)):
        return [Rectangle(tolerance)]
    if not isinstance(domain, Space):
        raise ValueError(f"expected an uncertainty set such as Ball(0.1) for a finite domain, got {tolerance!r}")
    sizes = {c: _tolerance(given, domain.labels[c]) for c, given in _by_column(domain, tolerance).items()}
    fixed = {c: size for c, (size, relative) in sizes.items() if not relative}
    moving = {c: size for c, (size, relative) in sizes.items() if relative}
    owners = {c[0]: v for v, c in zip(domain.parts, domain.columns, strict=True)}
    for c, size in moving.items():
        v = owners.get(c)
        most = max(np.abs(size).tolist()) if isinstance(size, tuple) else size
        if isinstance(v, Range) and most * max(abs(v.low), abs(v.high)) > v.high - v.low:
            raise ValueError(
                f"expected a tolerance no wider than its range, got ±{most:.3g} times the value for "
                f"{domain.labels[c]!r} from {v.low:g} to {v.high:g}: is the unit right?"
            )
    found: list[UncertaintySet] = []
    if fixed:
        found.append(Rectangle(list(fixed.values()), columns=list(fixed)))
    if moving:
        found.append(Relative(list(moving.values()), columns=list(moving)))
    return found


def _check_decided(tolerance: Any, environment: UncertaintySet | None) -> None:
    """Only what is decided has a tolerance."""
    known = None if environment is None else environment.parameters
    if isinstance(tolerance, Mapping) and known is not None and isinstance(known.theta, Space):
        wrong = [name for name in tolerance if name in (known.theta.flat_names or ())]
        if wrong:
            raise ValueError(
                f"expected tolerances of what is decided, got one of {wrong[0]!r}, which is an environment: leave it "
                "out, since all of the environment counts"
            )


def _by_column(domain: Space, tolerance: Any) -> dict[int, Any]:
    """Which column has which tolerance."""
    if isinstance(tolerance, Mapping):
        return {domain.column(name): given for name, given in tolerance.items()}
    several = isinstance(tolerance, list | tuple) or (isinstance(tolerance, np.ndarray) and tolerance.ndim > 0)
    if not several or _is_pair(tolerance):
        return dict.fromkeys(domain.numeric, tolerance)
    if len(tolerance) == len(domain.numeric):
        return dict(zip(domain.numeric, tolerance, strict=True))
    raise ValueError(f"expected one tolerance, or one for each of {len(domain.numeric)} numbers, got {tolerance!r}")


def _is_pair(tolerance: Any) -> bool:
    """Whether it says how far down and up for all numbers: two ends, the first of them below 0."""
    first: Any = tolerance[0] if len(tolerance) == 2 else 0.0
    return (is_number(first) and first < 0) or (isinstance(first, str) and first.strip().startswith("-"))


Size = float | tuple[float, float]


def _tolerance(given: Any, name: str) -> tuple[Size, bool]:
    """How far off (in both directions, or down and up), and whether that is a fraction of the value."""
    pair = isinstance(given, tuple | list) and len(given) == 2
    read = [_end(end) for end in (given if pair else (given,))]
    sizes = [size for size, _ in read]
    if len({relative for _, relative in read}) == 1 and not any(map(math.isnan, sizes)):
        if not pair and sizes[0] >= 0:
            return sizes[0], read[0][1]
        if pair and sizes[0] <= 0 <= sizes[1]:
            return (sizes[0], sizes[1]), read[0][1]
    raise ValueError(
        f'expected a tolerance of {name!r} as a number of at least 0, as "2%" (below 100%), or as two ends such as '
        f"(-0.1, 0.3), got {given!r}"
    )


def _end(given: Any) -> tuple[float, bool]:
    """A number or a percentage, NaN if it is neither; and whether it is a percentage."""
    if isinstance(given, str) and given.strip().endswith("%"):
        try:
            size = float(given.strip()[:-1]) / 100
        except ValueError:
            size = math.nan
        return (size if -1 < size < 1 else math.nan), True
    return (float(given) if is_number(given) else math.nan), False


def parameters(environment: Any) -> UncertaintySet:
    """The parameters that an environment means: ranges, or rows of scenarios."""
    if isinstance(environment, UncertaintySet):
        return environment
    if isinstance(environment, Mapping | Space):
        return Parameters(environment if isinstance(environment, Space) else Space(environment))
    rows = list(environment) if isinstance(environment, Sequence | np.ndarray) else []
    if rows and all(isinstance(row, Mapping) for row in rows):
        return _named_scenarios(rows)
    if rows and not any(isinstance(row, str) for row in rows):
        pair = isinstance(environment, tuple) and len(rows) == 2 and all(map(is_number, rows))
        if len(rows) == 1 or pair:  # a range, as it is written elsewhere
            raise ValueError(
                'expected a range by name, such as {"wind": (0, 12)}, or a list of at least two scenarios, got '
                f"{environment!r:.200}"
            )
        return Parameters(environment)
    raise ValueError(
        'expected an environment such as {"wind": (0, 12)} or a list of scenarios [{"wind": 3.0}, {"wind": 9.0}], got '
        f"{environment!r:.200}"
    )


def _named_scenarios(rows: list[Mapping[str, Any]]) -> Parameters:
    names = tuple(rows[0])
    if any(set(row) != set(names) for row in rows):
        raise ValueError(f"expected scenarios with the same names, got {[sorted(row) for row in rows]}")
    values = [[row[name] for name in names] for row in rows]
    for name, column in zip(names, zip(*values, strict=True), strict=True):
        if len({isinstance(v, str) for v in column}) > 1:
            raise ValueError(f"expected a word or a number for {name!r} in all scenarios, got {column!r:.200}")
    if any(row in values[:i] for i, row in enumerate(values)):
        raise ValueError(f"expected distinct scenarios, got {rows!r:.200}")
    return Parameters(Space([Candidates.listed(values)], [names]))


def constraints_of(given: Any, taken: Collection[str]) -> tuple[Constraint, ...]:
    """The constraints that a user means. ``taken``: the names of the value and of parameters."""
    if given is None:
        return ()
    if isinstance(given, Mapping):
        found = tuple(_constraint(name, limits) for name, limits in given.items())
    elif isinstance(given, Sequence) and not isinstance(given, str) and all(isinstance(c, Constraint) for c in given):
        found = tuple(given)
    else:
        raise ValueError(f"expected {_FORMS}, got {given!r:.200}")
    names = [constraint.name for constraint in found]
    wrong = [name for i, name in enumerate(names) if name in taken or name in names[:i]]
    if wrong:
        others = f"the value and the parameters, {list(taken)}, and of each other"
        raise ValueError(f"expected constraints with other names than those of {others}, got {wrong}")
    return found


def _constraint(name: Any, limits: Any) -> Constraint:
    if not isinstance(name, str) or not name:
        raise ValueError(f"expected {_FORMS}, with names as keys, got {name!r:.200}")
    if isinstance(limits, Constraint):
        if limits.name != name:
            raise ValueError(f"expected one name for a constraint, got {name!r} for {limits.name!r}")
        return limits
    if isinstance(limits, str) or not isinstance(limits, Sequence) or len(limits) != 2:
        raise ValueError(f"expected a lower and an upper limit of {name!r}, such as (None, 14.0), got {limits!r:.200}")
    return Constraint(name, *limits)
