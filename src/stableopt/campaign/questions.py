"""What else can be asked of an answer, without any further experiment."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from stableopt.campaign.allowance import Allowance, specification
from stableopt.campaign.comparison import Comparison
from stableopt.loop.answers import Report
from stableopt.loop.state import State

if TYPE_CHECKING:
    from stableopt.campaign.health import Health


class Known(Protocol):
    """What the answers follow from."""

    sign: int
    label: str

    @property
    def health(self) -> Health:
        """How far the model of the value can be trusted."""

    @property
    def healths(self) -> dict[str, Health]:
        """How far the model of each constraint can be trusted."""

    @property
    def state(self) -> State:
        """All that was known."""

    @property
    def report(self) -> Report:
        """The decision, as the optimiser reports it, which maximises."""


class Questions:
    """Questions about the decision of an answer."""

    def allowance(
        self: Known,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        of: str | None = None,
        decision: Any = None,
    ) -> Allowance:
        """How much tolerance the specification allows: up to which factor it is guaranteed, up to which possible.

        Also for each tolerance by itself, while the others are as given and while they are 0. Nothing is measured. An
        environment stays as it is. A model that was learned guarantees nothing beyond the given tolerance where it
        knows next to nothing, as after an audit, which measures within the tolerance only.

        at_least: what the worst case must reach; at_most for `minimize`.
        of: the name of a constraint, whose limit is the specification unless another one is given.
        decision: another one than that of the result.
        """
        from stableopt.campaign.allowing import allowance_of, bounds_of, of_constraint

        output, known = self.state.objective, self.health
        if of is None:
            goal = specification(at_least, at_most, self.sign), self.sign, bounds_of(self.state)
        else:
            goal = of_constraint(self.state, of, at_least, at_most)
            output, known = next(k.output for k in self.state.constraints if k.name == of), self.healths[of]
        translation = self.state.setting.translation
        index = self.report.decision_index if decision is None else translation.decision_index(decision)
        label, doubt = self.label if of is None else of, "" if known.trusted else known.words
        return replace(allowance_of(self.state, index, output, goal), of=of, label=label, doubt=doubt)

    def compare(
        self: Known, perturbation: Any = "uniform", *, share: float = 0.05, samples: int = 1000, seed: int = 0
    ) -> Comparison:
        """What does robustness cost? The decision, the nominal optimum and every tried one, side by side.

        For each: what the model expects if nothing is perturbed, on average, in the worst 5 % and in the worst case.
        Nothing is measured.

        perturbation: "uniform" within the tolerance, "normal" (the tolerance is two standard deviations), a function
            (rng, n) that returns n rows of perturbations, in your units and the order of the ranges, or such rows.
        share: of which share of all cases quantile and CVaR are.
        samples: how many perturbations are drawn in a space; on a list all are taken.
        """
        from stableopt.campaign.comparing import check, compared
        from stableopt.loop.perturbing import Chance

        chance = Chance(perturbation, samples, seed)
        check(self.state, chance, share)
        return compared(self.state, self.report.decision_index, chance, share, self.sign)
