"""The defaults and their reasons: those of the front door, and those of the paper, side by side.

`maximize`, `minimize` and `assess` have the first, `Optimizer` has the second. `docs/defaults.md` has the measurements.

                       front door                              paper
    model              learned, long tails warped (`words`)    learned
    reported           the best guarantee of all decisions     ... of the decisions tried
    β that certifies   6.25: two and a half std                4
    β that explores    ½, or 4 where that tells nothing new;   the one that certifies
                       in every fifth round the smallest of
                       these, 25 and 400 that does
    β that attacks     4                                       the one that certifies
    initial points     2 more than variables, at least 4       the same; a model that is given on a list needs none

Why the front door differs: the best guarantee of all is never a worse one and had less regret early. A small β finds a
good decision sooner, and larger ones lead on from it as soon as it is known. Certifying with a larger β keeps promises
where the model is learned (`stableopt verify --learned`); where to measure a decision is still best chosen with the
paper's. With limits, the larger ones look in every fifth round from the 25th on; with categories, 4 does in every
second round.
"""

from __future__ import annotations

from typing import NamedTuple

from stableopt.loop.rules import ALGORITHMS, Algorithm, BestOfAll, OptimisticPessimistic
from stableopt.loop.schedules import Alternating, Constant, Curious, Schedule
from stableopt.loop.setting import Setting
from stableopt.sets.spaces import Space


class Defaults(NamedTuple):
    """What is used where a user says nothing."""

    algorithm: Algorithm
    beta: Schedule
    """β that certifies."""
    explore: Schedule | None
    """β that explores; None: the one that certifies."""
    limited: Schedule | None
    """The same where there are limits, of constraints or of a specification."""
    sorts: Schedule | None
    """The same where decisions have categories and there are no limits."""

    def exploring(self, domain: object, limits: bool) -> Schedule | None:
        """β that explores, where nobody said it."""
        if limits:
            return self.limited
        return self.sorts if isinstance(domain, Space) and domain.categories else self.explore


FRONT_DOOR = Defaults(
    Algorithm("StableOpt", OptimisticPessimistic(attack=4.0), BestOfAll()),
    beta=Constant(6.25),
    # What is known already is not measured again: the paper's β compares it with what may be better, nearby and on
    # other hills. If that is known, too, a larger one doubts what the model says of these, now and then.
    explore=Curious(0.5, (4.0, 25.0, 400.0), every=5),
    # At a limit it always pays to know more: the better it is known, the closer to it is what can be guaranteed.
    limited=Alternating(0.5, 6.25, widest=25.0),
    # What is true of one category says little of another: there, a small β stays with the first good one for long.
    sorts=Curious(0.5, (4.0, 25.0, 400.0), turns=True),
)
PAPER = Defaults(ALGORITHMS["StableOpt"], beta=Constant(4.0), explore=None, limited=None, sorts=None)

EVALUATIONS = 40  # of one call
AUDIT = 15  # evaluations of an audit
MOST_FAILURES = 5  # in a row: then the function itself is broken, most likely


def initial_points(setting: Setting, learned: bool) -> int:
    """How many points are spread out before the model is asked.

    A model that is learned needs more points than variables to tell them apart. One that is given can be asked at once
    on a list; in a space, it is asked about the surroundings of points that are there.
    """
    return max(4, setting.columns.variables + 2) if learned else setting.least_initial
