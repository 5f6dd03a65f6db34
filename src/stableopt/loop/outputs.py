"""What is measured at a point: the objective and the constraints, each with a model and a posterior of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic

import numpy as np

from stableopt.base.values import ReadOnly
from stableopt.loop.constraints import Constraint
from stableopt.loop.measurements import Round
from stableopt.loop.setting import Setting, View
from stableopt.maxmin.solver import Index
from stableopt.model.learning import Belief, Learned


@dataclass(frozen=True, eq=False)
class Output(ReadOnly, Generic[Index]):
    """A measured quantity: how its model is learned, what is believed of it, and the posterior."""

    belief: Belief
    """The model, given or learned."""
    learned: Learned | None
    """How the model is learned; None: it is given, in the user's units."""
    posterior: View[Index] | None
    """None where nothing can be said before the first observation."""

    @property
    def t(self) -> int:
        """Number of its observations."""
        return 0 if self.posterior is None else self.posterior.t

    @property
    def information_gain(self) -> float:
        """½ log det(I + σ⁻²K) of its observations."""
        return 0.0 if self.posterior is None else self.posterior.information_gain

    def imagining(self, lows: Sequence[tuple[Index, float]]) -> Output[Index]:
        """The quantity as if these points had given what is expected, or less where there is a largest value."""
        posterior = self.posterior
        for point, most in lows if posterior is not None else ():
            assert posterior is not None
            posterior = posterior.update(point, min(float(posterior.moments([point])[0][0]), most))
        return replace(self, posterior=posterior)

    def scale(self, setting: Setting[Index], points: Sequence[Index]) -> float:
        """The prior's standard deviation, in the mean over these points: what is much or little for this quantity."""
        if not len(points):
            return 1.0
        kernel = (self.belief.single or self.belief.gps[0]).kernel
        scale = math.sqrt(float(np.mean(kernel.diag(setting.inputs(points, self.learned is not None)))))
        return scale if scale > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Limited(ReadOnly, Generic[Index]):
    """A constraint with what is known of its quantity."""

    constraint: Constraint
    output: Output[Index]
    beta: float
    """β that certifies it."""
    explore: float
    """β that explores it."""

    def rounds(self, rounds: Sequence[Round[Index]]) -> list[Round[Index]]:
        """The rounds in which it was measured, with its values."""
        name = self.constraint.name
        return [replace(r, y=r.measured[name], noise=None) for r in rounds if r.measured and name in r.measured]


def valued(rounds: Sequence[Round[Index]]) -> Sequence[Round[Index]]:
    """The rounds in which the objective was measured."""
    return rounds if all(r.y == r.y for r in rounds) else [r for r in rounds if not math.isnan(r.y)]
