"""Which movers stand for an uncertainty set on a space: the only place that looks at the kind of a set.

A set that does not fit the space is refused here, with what would fit.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stableopt.base.arrays import Array
from stableopt.maxmin.spaces.movers import ChoiceMover, Mover, NormMover
from stableopt.maxmin.spaces.projected_movers import EllipsoidMover, OwnMover
from stableopt.sets.own import RowwiseSet
from stableopt.sets.perturbations import Ellipsoid, NormBall, Rectangle, Relative
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import Estimate, Parameters, Perturbation, UncertaintySet
from stableopt.sets.variables import Integer, Range, Variable


def movers_of(uncertainty: UncertaintySet, space: Space, theta: Space | None) -> list[Mover]:
    """The parts of the adversary: those that perturb a decision in ``space``, then those that choose a parameter."""
    parameters = uncertainty.parameters
    if not uncertainty.perturbations and parameters is None:
        raise TypeError(f"expected a perturbation or parameters on a space, got {uncertainty!r}")
    movers = [mover for p in uncertainty.perturbations for mover in _perturbing(p, space)]
    moved = [space.labels[c] for mover in movers for c in mover.columns]
    if len(set(moved)) < len(moved):
        raise ValueError(f"expected perturbations with columns of their own, got the columns {moved}")
    if theta is None or parameters is None:
        return movers
    return movers + _choosing(parameters, theta, space.dim)


def _choosing(parameters: Parameters | Estimate, theta: Space, first: int) -> list[Mover]:
    """The movers of a parameter whose columns begin at ``first``."""
    if isinstance(parameters, Parameters):
        parts = zip(theta.parts, theta.columns, strict=True)
        return [_any_value(v, [first + c for c in columns]) for v, columns in parts]
    if isinstance(parameters.theta, Space):
        around = _perturbing(parameters.within, theta)
        for mover in around:
            mover.columns = [first + c for c in mover.columns]
        return around
    # The estimate comes first: number 0 is the scenario that changes nothing.
    rows = np.asarray(theta.parts[0].choices)
    order = np.append(parameters.nominal, np.setdiff1d(parameters.allowed, parameters.nominal))
    return [ChoiceMover([first + c for c in range(theta.dim)], rows[order])]


def _any_value(variable: Variable, columns: Sequence[int]) -> Mover:
    """The mover of a parameter that may take any value of a variable."""
    if variable.choices is not None:
        return ChoiceMover(list(columns), variable.choices)
    assert isinstance(variable, Range)
    return NormMover(columns, [variable], math.inf, np.array([0.5]), scaled=True)


def _perturbing(perturbation: Perturbation, space: Space) -> list[Mover]:
    """The movers of the numbers of a space that a perturbation may change."""
    if perturbation == Rectangle(0.0):  # moves nothing, also in a space without numbers
        return []
    columns = _columns(perturbation, space)
    owners = {c[0]: v for v, c in zip(space.parts, space.columns, strict=True)}
    ranges = [v for c in columns if isinstance(v := owners[c], Range)]
    k = len(columns)
    labels = [space.labels[c] for c in columns]
    whole = [label for label, v in zip(labels, ranges, strict=True) if isinstance(v, Integer)]
    if isinstance(perturbation, Ellipsoid | RowwiseSet) and whole:
        kind = type(perturbation).__name__
        raise ValueError(f"expected floats for {kind}, got the integers {whole}: use Rectangle for them")
    if isinstance(perturbation, RowwiseSet):
        return [OwnMover(columns, ranges, perturbation.members, perturbation.projected)]
    own = replace(perturbation, columns=None)  # type: ignore[type-var]
    if isinstance(own, NormBall):
        reach = own.reach(k)
        _check_widths(reach, ranges, labels)
        return _norm(columns, ranges, own.order, reach, None)
    if isinstance(own, Relative):
        largest = np.array([max(abs(v.low), abs(v.high)) for v in ranges])
        _check_widths(own.fraction(k) * largest, ranges, labels)
        return _norm(columns, ranges, math.inf, np.zeros(k), own.fraction(k))
    if isinstance(own, Ellipsoid):
        _check_widths(np.linalg.norm(own.root(k), axis=1), ranges, labels)
        return [EllipsoidMover(columns, ranges, own.root(k))]
    raise TypeError(
        f"expected Ball, Rectangle, Relative, Ellipsoid, Within or an OwnSet on a space, got {type(own).__name__}: a "
        "distance of your own needs a projection (Within), changes of categories a finite domain (Points)"
    )


def _check_widths(reach: Array, ranges: Sequence[Range], labels: Sequence[str]) -> None:
    """A tolerance that is wider than the range itself is in another unit, most likely; so is part of a whole number."""
    for r, v, label in zip(reach, ranges, labels, strict=True):
        if r > v.high - v.low:
            raise ValueError(
                f"expected a tolerance no wider than its range, got ±{r:g} for {label!r} "
                f"from {v.low:g} to {v.high:g}: is the unit right?"
            )
        if isinstance(v, Integer) and 0 < r < 1:
            warnings.warn(
                f"a tolerance of ±{r:g} reaches less than one step of the whole numbers {label!r}: it changes nothing",
                stacklevel=2,
            )


def _norm(
    columns: Sequence[int], ranges: Sequence[Range], order: float, reach: Array, fraction: Array | None
) -> list[Mover]:
    """A norm ball without the coordinates that it cannot change, if there are others."""
    free = [i for i in range(len(columns)) if reach[i] > 0 or (fraction is not None and fraction[i] > 0)]
    part = None if fraction is None else fraction[free]
    if not free:
        return []
    return [NormMover([columns[i] for i in free], [ranges[i] for i in free], order, reach[free], part)]


def _columns(perturbation: Perturbation, space: Space) -> list[int]:
    """The columns that may change: those named, or all numbers."""
    if perturbation.columns is None:
        if not space.numeric:
            raise ValueError(f"expected floats or integers for {perturbation} to change, got {space}")
        return space.numeric
    columns = [space.column(c) for c in perturbation.columns]
    if len(set(columns)) < len(columns):
        raise ValueError(f"expected distinct columns, got {list(perturbation.columns)}: some are the same")
    wrong = [space.labels[c] for c in columns if c not in space.numeric]
    if wrong:
        raise ValueError(
            f"expected a tolerance on floats and integers only, got one on {wrong}: a category or a candidate cannot "
            "be a little off"
        )
    return columns
