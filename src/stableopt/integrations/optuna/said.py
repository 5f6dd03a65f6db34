"""What a user says about the objective of a study, in the words of `maximize`; and the problem that it means.

The ranges come from the objective itself: it suggests them. So the words are a tolerance by name, and the names of the
parameters that are the environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypedDict

from optuna.distributions import BaseDistribution

from stableopt.base.checks import is_number
from stableopt.campaign.words import Words, tolerances
from stableopt.integrations.optuna.parameters import Parameter
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.rules import Algorithm
from stableopt.loop.schedules import Schedule
from stableopt.model.gp import GP
from stableopt.model.learning import Learned
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import UncertaintySet


class Options(TypedDict, total=False):
    """The words that may be left out, for type checkers; `maximize` explains them."""

    noise: float | None
    model: GP | Learned | None
    algorithm: str | Algorithm
    beta: float | Schedule
    explore: float | Schedule | None
    initial: int | None
    seed: int


class StudyWords(Options, total=False):
    """All words about a study but the tolerance, for type checkers; `StableOptSampler` explains them."""

    environment: str | Iterable[str] | None
    ranges: Mapping[str, tuple[float, float]] | None


@dataclass(frozen=True)
class Problem:
    """The words of a campaign, and the parameters of the objective that they are about."""

    words: Words
    parameters: Mapping[str, Parameter]

    def point(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The point of f that belongs to the values of a trial."""
        return {name: p.seen(params[name]) for name, p in self.parameters.items()}

    def params(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a trial at a point, or those of a decision, which has fewer."""
        return {name: p.value(point[name]) for name, p in self.parameters.items() if name in point}


@dataclass(frozen=True)
class Said:
    """A tolerance and an environment, by the names of parameters."""

    tolerance: Any = None
    environment: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, tolerance: Any, words: Mapping[str, Any]) -> Said:
        """What a user passed, checked as far as it can be before the objective is known."""
        options = dict(words)
        environment, ranges = options.pop("environment", None), options.pop("ranges", None)
        unknown = [name for name in options if name not in Options.__annotations__]
        if unknown:
            raise TypeError(f"expected some of {[*StudyWords.__annotations__]} as words, got {unknown}")
        said = cls(tolerance, _names(environment), _pairs(ranges), options)
        if tolerance is None and not said.environment:
            raise ValueError(
                'expected a tolerance such as {"x": 0.5} or an environment such as ["wind"], got neither: then nothing '
                "is robust. Pass tolerance=0 if nothing is uncertain"
            )
        both = [name for name in said._named if name in said.environment]
        if both:
            raise ValueError(f"expected a tolerance for decisions only, got one for the environment {both}")
        if isinstance(tolerance, Mapping | str) or is_number(tolerance):
            tolerances(Space(dict.fromkeys(said._named or ["x"], (0.0, 1.0))), tolerance)  # refuses what is malformed
        return said

    @property
    def _named(self) -> list[str]:
        """The parameters for which there is a tolerance of their own."""
        if not isinstance(self.tolerance, Mapping):
            return []
        if not all(isinstance(name, str) for name in self.tolerance):
            raise ValueError(f"expected names of parameters in the tolerance, got {list(self.tolerance)!r:.200}")
        return list(self.tolerance)

    @property
    def names(self) -> list[str]:
        """Every parameter that is named."""
        return list(dict.fromkeys([*self._named, *self.environment, *self.ranges]))

    def check(self, names: Iterable[str]) -> None:
        """Refuse words about a parameter that the objective does not suggest."""
        known = list(names)
        missing = [name for name in self.names if name not in known]
        if not missing:
            return
        close = get_close_matches(missing[0], known, n=1)
        hint = f": did you mean {close[0]!r}?" if close else ": correct the name, or let the objective suggest it"
        raise ValueError(f"expected words about parameters that the objective suggests, {known}, got {missing}{hint}")

    def problem(self, space: Mapping[str, BaseDistribution], *, minimize: bool, limits: Iterable[str] = ()) -> Problem:
        """The problem on these parameters; what is said of others is left out.

        limits: the names of constraints, each of which is kept where it is at most 0.
        """
        parameters = {name: Parameter.of(name, d, self.ranges.get(name)) for name, d in space.items()}
        decisions = {n: p.variable for n, p in parameters.items() if n not in self.environment}
        environment = {n: p.variable for n, p in parameters.items() if n in self.environment}
        if not decisions:
            raise ValueError(
                f"expected a parameter to decide on beside the environment {list(environment)}, got none that all "
                "trials share"
            )
        domain = Space(decisions)
        limited = dict.fromkeys(limits, (None, 0.0)) or None
        words: dict[str, Any] = {"explore": FRONT_DOOR.exploring(domain, bool(limited)), **self.options}
        words |= {"minimize": minimize, "constraints": limited}
        tolerance = self._on(domain)
        if tolerance is None and not environment:
            tolerance = 0
        order = [*decisions, *environment]
        return Problem(
            Words(domain, tolerance, environment or None, **words), {name: parameters[name] for name in order}
        )

    def _on(self, domain: Space) -> Any:
        """The tolerance on these decisions."""
        if isinstance(self.tolerance, Mapping):
            return {name: size for name, size in self.tolerance.items() if name in domain.labels} or None
        if self.tolerance is None or isinstance(self.tolerance, UncertaintySet) or domain.numeric:
            return self.tolerance
        return 0  # categories cannot be a little off


def _names(environment: Any) -> tuple[str, ...]:
    if environment is None:
        return ()
    names = [environment] if isinstance(environment, str) else environment
    names = list(names) if isinstance(names, Iterable) else [names]
    if not all(isinstance(name, str) for name in names) or isinstance(environment, Mapping):
        raise ValueError(
            'expected an environment as names of parameters, such as ["wind"], whose ranges the objective suggests, '
            f"got {environment!r:.200}"
        )
    return tuple(dict.fromkeys(names))


def _pairs(ranges: Any) -> dict[str, tuple[float, float]]:
    if ranges is None:
        return {}
    good = isinstance(ranges, Mapping) and all(isinstance(name, str) for name in ranges)
    pairs = {name: tuple(ends) for name, ends in ranges.items() if isinstance(ends, tuple | list)} if good else {}
    if not good or len(pairs) < len(ranges) or not all(len(p) == 2 and all(map(is_number, p)) for p in pairs.values()):
        raise ValueError(f'expected ranges of decisions such as {{"x": (1.0, 9.0)}}, got {ranges!r:.200}')
    return pairs
