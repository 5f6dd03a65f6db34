"""What the notebook answers, ready for JSON: the decision to use, and what to expect at settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

Campaign = Any


def reported(campaign: Campaign, result: Any) -> dict[str, Any]:
    """The decision to use now, and what is known of it; NaN is no JSON."""
    from stableopt.campaign.kept import plain

    worst = result.worst_case
    answer = {
        "decision": result.decision,
        "worst_case": {"at": worst.point, "lower": worst.lower, "upper": worst.upper},
        "optimum_bound": result.optimum_bound,
        "regret_bound": result.regret_bound,
        "model": {"trusted": result.health.trusted, "words": result.health.words},
        "counts": campaign.counts,
    }
    if result.feasible is not None:
        answer |= {"feasible": result.feasible, "constraints": plain(result.constraints)}
    return answer | ({"optimum_bound": None, "regret_bound": None} if result.feasible == "impossible" else {})


def predicted(campaign: Campaign, point: Mapping[str, Any], decided: Collection[str]) -> dict[str, Any]:
    """What to expect at settings, and as a decision in the worst case; of every constraint as well."""
    from stableopt.campaign.kept import plain

    answer: dict[str, Any] = {}
    whole = set(point) != set(decided) or campaign.ledger.said.environment is None
    if whole:
        answer |= campaign.predict(point)._asdict()
    decision = {name: point[name] for name in decided if name in point}
    worst = campaign.bounds(decision)
    answer |= {"worst_case": {"at": worst.point, "lower": worst.lower, "upper": worst.upper}}
    for name in campaign.ledger.said.outputs[1:]:
        known = plain({name: campaign.bounds(decision, of=name)})[name]
        if whole and known["margin"] != [None, None]:
            known |= campaign.predict(point, of=name)._asdict()
        answer.setdefault("constraints", {})[name] = known
    return answer


def sentences(answer: Mapping[str, Any]) -> list[str]:
    """What `predicted` found, in lines."""
    from stableopt.loop.answers import ends

    worst, lines = answer["worst_case"], []
    if "mean" in answer:
        lines.append(f"expected    {answer['mean']:.4g} ± {answer['std']:.2g} (one standard deviation, without noise)")
    where = ", ".join(f"{name} = {cell(v)}" for name, v in worst["at"].items())
    low, high = ends(worst["lower"], worst["upper"])
    lines.append(f"worst case  between {low} and {high}, at {where}")
    for name, known in answer.get("constraints", {}).items():
        expected = f"{known['mean']:.4g} ± {known['std']:.2g}; " if "mean" in known else ""
        low, high = known["margin"]
        margin = "never measured" if low is None else f"worst margin between {low:.4g} and {high:.4g}"
        lines.append(f"{name:<11} {expected}{margin}")
    return lines


def settings(campaign: Campaign, trials: Sequence[Any]) -> list[dict[str, Any]]:
    """The settings of trials for a table: numbers as finely as it matters."""
    from stableopt.campaign.record import optimizer_of
    from stableopt.loop.answers import number

    steps = optimizer_of(campaign.ledger.said).state.setting.columns.steps
    shown = [zip(trial.settings.items(), steps, strict=True) for trial in trials]
    return [{name: number(v, s, 6) if isinstance(v, float) else v for (name, v), s in each} for each in shown]


def cell(value: Any) -> str:
    """A number or a word in a table."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
