"""Are we done? How likely the decision that is reported is as good as any other, and whether more evaluations help."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from stableopt.base.checks import positive
from stableopt.campaign.health import Health
from stableopt.loop.prospects import AHEAD, Prospects, prospects
from stableopt.loop.state import State

FEWEST = 3  # values, to say anything
_MATTERS = 0.01  # of the spread of the values
_SHOWN = 5  # contenders


class Contender(NamedTuple):
    """A decision that may be the best one."""

    decision: Any
    chance: float
    """How likely its worst case is the best of all contenders'."""


@dataclass(frozen=True, eq=False)
class Done:
    """How likely the reported decision is good enough. It is what the model says: see `Result.health`."""

    eta: float
    """The difference between worst cases that does not matter."""
    health: Health
    """Of the model that says all this; with constraints, of the first one that cannot be trusted, if there is one."""
    prospects: Prospects | None
    """The draws that this comes from; None where it is too early to say."""

    @property
    def probability(self) -> float:
        """That no decision has a worst case that is better by more than ``eta``; NaN where it is too early to say.

        With constraints: that it keeps all limits, and no decision that keeps them is better by more than ``eta``.
        """
        return math.nan if self.prospects is None else self.prospects.sure(self.eta)

    @cached_property
    def improvement(self) -> float:
        """How likely ten more evaluations would lead to a decision whose worst case is better by more than ``eta``."""
        return math.nan if self.prospects is None else float(np.mean(self.prospects.gains > self.eta))

    @property
    def contenders(self) -> list[Contender]:
        """The decisions that may be the best one, the likeliest first; decisions close by share their chance."""
        if self.prospects is None:
            return []
        show, chances = self.prospects.state.setting.translation.decision, self.prospects.chances
        order = [int(i) for i in np.argsort(-chances, kind="stable") if chances[i] > 0]
        return [Contender(show(self.prospects.decisions[i]), float(chances[i])) for i in order]

    def reaches(self, probability: float | None) -> bool:
        """Whether it is at least so likely, by a model that can be trusted."""
        return probability is not None and self.health.trusted and self.probability >= probability

    def __str__(self) -> str:
        if self.prospects is None:
            return "too early to say"
        kept = "it keeps all limits and " if self.prospects.state.constraints else ""
        sure = f"{_percent(self.probability)} that {kept}no decision is more than {self.eta:.2g} better"
        more = f"{_percent(self.improvement)} that {AHEAD} more evaluations find one"
        return f"{'' if self.health.trusted else 'if the model were right, '}{sure}, {more}"

    __repr__ = __str__


def done(state: State, decision: Any, health: Health, eta: float | None) -> Done:
    """How likely a decision, given by its index, is good enough.

    eta: 1 % of the spread of the values by default, or the noise of one of them, if that is larger.
    """
    if eta is not None:
        positive(eta, "eta above 0, a difference between worst cases that does not matter")
    if min(output.t for output in (state.objective, *(k.output for k in state.constraints))) < FEWEST:
        return Done(math.nan if eta is None else float(eta), health, None)
    if eta is None:
        y = [r.y for r in state.valued]
        mean, _ = state.latent([state.certificate(decision).worst.point])  # with a warp, noise depends on the value
        eta = max(_MATTERS * (max(y) - min(y)), state.belief.noise_at(float(mean[0])))
    return Done(float(eta), health, prospects(state, decision))


def _percent(share: float) -> str:
    """In words that promise no more digits than the draws have."""
    return "above 99 %" if share > 0.99 else "below 1 %" if share < 0.01 else f"{100 * share:.0f} %"
