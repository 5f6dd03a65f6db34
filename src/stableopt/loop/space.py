"""The setting in a continuous or mixed space: decisions and points are rows of coordinates, and searched for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from stableopt.base.arrays import Array, Indices, low_discrepancy, squared_distances
from stableopt.base.values import ReadOnly
from stableopt.loop.measurements import Data, Round
from stableopt.loop.setting import FINE, Columns, Intersection, Setting
from stableopt.loop.views import View
from stableopt.maxmin.search.allowed import AllowedMaxMin, Ground
from stableopt.maxmin.search.continuous import ContinuousMaxMin
from stableopt.maxmin.search.latent import LatentMaxMin
from stableopt.maxmin.search.plan import usual_budget
from stableopt.maxmin.solver import Hints, Row, Smooth
from stableopt.maxmin.spaces.region import SpaceRegion, SpaceTranslation
from stableopt.model.beliefs import Belief, Mixture, WarpedBound, WarpedPosterior
from stableopt.model.gp import Bound, Bounds, Posterior
from stableopt.model.stationary import LARGEST
from stableopt.sets.allowed import Allowed, Rule
from stableopt.sets.domains import Domain
from stableopt.sets.perturbations import Rectangle
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import Estimate, Parameters, UncertaintySet
from stableopt.sets.variables import Float

_STARTS = 32  # observed points that the search for the largest F starts from
_AFRESH = 32  # rounds after which a posterior is factorised afresh
_DRAWS = 64  # uniform ones, of which the first that is allowed counts
_OTHERS = 64  # points of one decision to choose from
_POINTS = 512  # points of the space to choose from
_REACHED = 1e-9  # up to rounding
_SAME = 1e-3  # so close in every coordinate, two points are the same to workers
_OF_REACH = 20  # parts of what the adversary can do to a number: that is how finely it is read
_MARGIN = 0.1  # of a range, at both ends: initial points keep off, as an edge tells little about the rest


@dataclass(frozen=True, eq=False)
class SpaceSetting(ReadOnly, Setting[Row, Smooth]):
    """A space with an uncertainty set. F is a function of rows with its gradient; searches are numerical."""

    domain: Space | Domain
    uncertainty: UncertaintySet
    seed: int = 0
    where: Rule | None = None
    _ground: Ground | None = field(init=False, repr=False, default=None)
    takes_hints, least_initial = True, 1

    def __post_init__(self) -> None:
        region = self.region  # a set that does not fit the space is refused here
        if self.where is not None:
            ground = Ground(region, Allowed(self.where, region.space), self.seed)
            _ = ground.anchors  # as is a rule that allows nothing
            vars(self)["_ground"] = ground

    @cached_property
    def region(self) -> SpaceRegion:
        """What the adversary can do to rows of coordinates."""
        return SpaceRegion(self.domain, self.uncertainty)

    @cached_property
    def translation(self) -> SpaceTranslation:
        """Decisions and points as rows of coordinates."""
        return SpaceTranslation(self.region)

    @cached_property
    def columns(self) -> Columns:
        space = self.region.points_space
        return Columns(space.dim, space.categories, len(space.parts), _steps(self.region))

    def solver(self, t: int, *, brief: bool = False) -> LatentMaxMin:
        """The search. With very many observations every evaluation is dear, and the search gets fewer of them."""
        found = _search(self.region, *effort(self.region, t, brief=brief), self.seed, brief)
        return LatentMaxMin(found if self._ground is None else AllowedMaxMin(found, self._ground))

    def inputs(self, points: Sequence[Row], scaled: bool) -> Array:
        Z = np.array(points).reshape(len(points), self.region.points_space.dim)
        return Z if scaled else self.region.points_space.natural(Z)

    def posterior(
        self, belief: Belief, rounds: Sequence[Round[Row]], scaled: bool, before: View[Row, Smooth] | None = None
    ) -> View[Row, Smooth] | None:
        """The posterior after all these rounds; None without any.

        How many of them enter at once depends on nothing but their number and the belief, so that a run can be
        replayed bit for bit however it was told. The number grows now and then, so that rounding errors do not.
        """
        t, view = len(rounds), before
        at_once = max(1, belief.t, t - t % _AFRESH)
        if t == 0:
            return None
        if view is None or at_once > view.t:
            first = Data.of(rounds[:at_once])
            space = self.region.points_space
            view = SpacePosterior(
                belief.condition(self.inputs(first.points, scaled), first.y, first.noise), space, scaled
            )
        for r in rounds[view.t :]:
            view = view.update(r.point_index, r.y, r.noise)
        return view

    def intersection(self, lower: Smooth, upper: Smooth) -> Intersection:
        """Refused: the intersection of many bounds has no simple form in a space."""
        raise ValueError(
            f"expected a finite domain for bounds that are intersected over the rounds (BestIntersected), got "
            f"{self.domain!r:.200}: in a space use BestSoFar(), BestOfAll() or BestExpected()"
        )

    def avoids(self, decision: Row, points: Sequence[Row], measured: Sequence[Row]) -> bool:
        """Whether none of these points is reached, up to rounding, nor closest to anything that is reached.

        What can be measured says nothing of its surroundings where something that cannot be is closer.
        """
        Z = np.array(points)
        X = np.repeat([decision], len(Z), axis=0)
        reached = self.region.points(X, self.region.scenario_of(X, Z))
        if np.abs(reached - Z).max(axis=1).min() <= _REACHED:
            return False
        own = np.array(self.candidates(decision, settable=False))
        away, known = (squared_distances(own, np.array(P)).min(axis=1) for P in (Z, measured))
        return bool((known <= away).all())

    def is_taken(self, point: Row, points: Sequence[Row]) -> bool:
        """Whether the point is within a thousandth of every range of one of these."""
        return len(points) > 0 and not len(_apart(np.array([point]), points))

    def home(self, decision: Row, F: Smooth, hints: Hints[Row]) -> Row:
        """The decision itself; with a parameter that may be anything, where F is smallest."""
        parameters = self.uncertainty.parameters
        if not isinstance(parameters, Parameters):
            return self.region.point_index(self.region.base(np.array([decision]))[0])
        budget, least = effort(self.region, len(hints.points), brief=True)
        return _search(SpaceRegion(self.domain, parameters), budget, least, self.seed).worst(decision, F, hints).point

    def peak(self, F: Smooth, hints: Hints[Row]) -> Row:
        """The largest F where nobody perturbs; a parameter that may be anything is chosen as well as possible."""
        parameters = self.uncertainty.parameters
        region = SpaceRegion(self.region.space, Rectangle(0.0))
        if isinstance(parameters, Parameters):
            region = SpaceRegion(self.region.points_space, Rectangle(0.0))
        elif isinstance(parameters, Estimate):
            region = SpaceRegion(self.domain, replace(parameters, within=Rectangle(0.0)))
        last = [point[: region.dim] for point in hints.points[-_STARTS:]]
        budget, least = effort(self.region, len(hints.points), brief=True)
        search: ContinuousMaxMin | AllowedMaxMin = _search(region, budget, least, self.seed)
        if (ground := self._ground) is not None and isinstance(search, ContinuousMaxMin):
            d = self.region.dim
            search = AllowedMaxMin(search, Ground(region, lambda X: ground.allowed(X[:, :d]), self.seed))
        return self.region.point_index(np.array(search.maximin(F, Hints(last)).point))

    def design(self, number: int) -> Row:
        """Point ``number`` of an evenly spread sequence, which leaves out the edges of a decision's ranges."""
        unit = low_discrepancy(number + 1, len(self.region.points_space.parts), self.seed)[-1:]
        inner = [j for j, variable in enumerate(self.region.space.parts) if variable.choices is None]
        unit[:, inner] = _MARGIN + (1 - 2 * _MARGIN) * unit[:, inner]
        Z = self.region.points_space.rows(unit)
        if self._ground is not None:
            Z[:, : self.region.dim] = self._ground.anchors[number % len(self._ground.anchors)]
        return _allowed(self.region, Z)

    def random(self, rng: np.random.Generator) -> Row:
        space, d = self.region.points_space, self.region.dim
        Z = space.rows(rng.random((1 if self._ground is None else _DRAWS, len(space.parts))))
        if self._ground is not None:
            good = np.flatnonzero(self._ground.allowed(Z[:, :d]))
            Z = Z[good[:1]] if len(good) else Z[:1]
            if not len(good):  # too thin for so few draws
                Z[:, :d] = self._ground.anchors[rng.integers(len(self._ground.anchors))]
        return _allowed(self.region, Z)

    def candidates(
        self, decision: Row | None = None, *, without: Sequence[Row] = (), draw: int = 0, settable: bool = True
    ) -> Sequence[Row]:
        """Evenly spread points of the space, of its allowed decisions, or of what the decision can turn into."""
        region, space, seed = self.region, self.region.points_space, self.seed + draw
        if decision is None:
            Z = space.spread(_POINTS, seed)
            if self._ground is not None:  # of decisions that are allowed
                Z[:, : region.dim] = self._ground.anchors[np.arange(len(Z)) % len(self._ground.anchors)]
            Z = region.points(Z[:, : region.dim], region.scenario_of(Z[:, : region.dim], Z))
        else:
            S = region.scenarios(_OTHERS, seed)
            X = np.tile(decision, (len(S), 1))
            Z = region.points(X, region.project(X, S))
        Z = space.settable(Z) if settable else Z
        found = [tuple(z) for z in space.settled(_apart(Z, without) if len(without) else Z).tolist()]
        return found if settable else list(dict.fromkeys(found))  # whole numbers that move little are often the same


@dataclass(frozen=True, eq=False)
class SpacePosterior(ReadOnly):
    """A posterior as a function of rows of coordinates, for a model that may see the user's units."""

    model: Posterior | Mixture | WarpedPosterior
    space: Space
    scaled: bool
    """Whether the model sees coordinates; else it sees the user's units."""

    @property
    def t(self) -> int:
        return self.model.t

    @property
    def information_gain(self) -> float:
        return self.model.information_gain

    @property
    def whitened(self) -> Array:
        return self.model.whitened

    def bound(self, c: float) -> Smooth:
        bound = self.model.bound(c)
        if self.scaled or isinstance(bound, WarpedBound):  # a warp is learned, in coordinates
            return bound
        return _InUsersUnits(bound, self.space.span, self.space.natural)

    def latent_bound(self, c: float) -> Smooth:
        bound = self.bound(c)
        return bound.latent if isinstance(bound, WarpedBound) else bound

    def bounds(self, points: Sequence[Row], c: float) -> tuple[Array, Array]:
        mean, variance = self.latent(points)
        width = c * np.sqrt(variance)
        if isinstance(self.model, WarpedPosterior):
            return self.model.warp.inverse(mean - width), self.model.warp.inverse(mean + width)
        return mean - width, mean + width

    def moments(self, points: Sequence[Row]) -> tuple[Array, Array]:
        return self.model(self._inputs(points))

    def latent(self, points: Sequence[Row]) -> tuple[Array, Array]:
        model = self.model.latent if isinstance(self.model, WarpedPosterior) else self.model
        return model(self._inputs(points))

    def update(self, point: Row, y: float, noise: float | None = None) -> SpacePosterior:
        return replace(self, model=self.model.update(self._inputs([point])[0], y, noise))

    def _inputs(self, points: Sequence[Row]) -> Array:
        try:
            Z = np.array(points, dtype=float).reshape(len(points), self.space.dim)
        except (TypeError, ValueError):
            rows = f"rows of {self.space.dim} coordinates, as the state gives them out"
            raise ValueError(f"expected {rows}, got {points!r:.200}") from None
        return Z if self.scaled else self.space.natural(Z)


class _InUsersUnits(NamedTuple):
    """A confidence bound of a model that sees the user's units, as a function of coordinates."""

    bound: Bound
    scale: Array
    natural: Callable[[Array], Array]

    def __call__(self, Z: Array) -> Array:
        return self.bound(self.natural(Z))

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        values, gradient = self.bound.with_gradient(self.natural(Z))
        return values, gradient * self.scale

    def together(self, functions: Sequence[object]) -> _AllInUsersUnits | None:
        """Several bounds of the same model, if that knows how to evaluate them at once."""
        inside = [F.bound for F in functions if isinstance(F, _InUsersUnits)]
        bounds = self.bound.together(inside) if len(inside) == len(functions) else None
        return None if bounds is None else _AllInUsersUnits(bounds, self.scale, self.natural)


class _AllInUsersUnits(NamedTuple):
    """Several such bounds."""

    bounds: Bounds
    scale: Array
    natural: Callable[[Array], Array]

    def each(self, Z: Array) -> Array:
        return self.bounds.each(self.natural(Z))

    def at(self, Z: Array, which: Indices) -> Array:
        return self.bounds.at(self.natural(Z), which)

    def with_gradient(self, Z: Array, which: Indices) -> tuple[Array, Array]:
        values, gradient = self.bounds.with_gradient(self.natural(Z), which)
        return values, gradient * self.scale


def _steps(region: SpaceRegion) -> tuple[float, ...]:
    """How finely each column of a point is read: a small part of its range, and of what the adversary can do to it."""
    low, high = region.reach(region.decisions(1, 0))
    found: list[float] = []
    for v, c in zip(region.points_space.parts, region.points_space.columns, strict=True):
        if isinstance(v, Float):
            # On a log scale, a thousandth of the range says nothing about what matters at its lower end.
            reach = float(np.ptp(v.value(np.array([low[0, c[0]], high[0, c[0]]])))) / _OF_REACH
            span = math.inf if v.log else (v.high - v.low) / FINE
            found.append(min(reach, span) if reach > 0 else span if span < math.inf else 0.0)
        else:
            found += [0.0] * v.width
    return tuple(found)


def _apart(Z: Array, points: Sequence[Row]) -> Array:
    """The rows of Z that are not just where one of the points is."""
    return np.asarray(Z[(np.abs(Z[:, None] - np.array(points)[None]).max(axis=2) > _SAME).all(axis=1)])


def _allowed(region: SpaceRegion, Z: Array) -> Row:
    """The point at a row (1, P), with a parameter that the adversary may choose."""
    X = Z[:, : region.dim]
    return region.point_index(region.points(X, region.scenario_of(X, Z))[0])


def effort(region: SpaceRegion, t: int, *, brief: bool) -> tuple[int, int]:
    """How many points a search evaluates, and the smallest batch that is worth its time.

    With very many observations every evaluation is dear: a search costs about as much as learning the model. And a
    point alone takes as long as several then: to read the factor from memory takes time.
    """
    usual = usual_budget(max(region.dim, region.width), brief=brief)
    return max(1_000, int(usual * min(1.0, (75 if brief else 150) / max(1, t)))), 8 if t > LARGEST else 1


@lru_cache(maxsize=8)
def _search(region: SpaceRegion, budget: int, least: int, seed: int, brief: bool = False) -> ContinuousMaxMin:
    """The search in a region; what it prepares is the same for every function."""
    return ContinuousMaxMin(region, budget, seed, least, brief=brief)
