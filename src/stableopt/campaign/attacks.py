"""What came out of attacks on a decision: measurements where it may be worst, not where something may be better."""

from __future__ import annotations

from stableopt.loop.answers import Report, readable
from stableopt.loop.outputs import valued
from stableopt.loop.settings import reaches
from stableopt.loop.state import State


def attacked(state: State, report: Report, sign: int) -> list[tuple[str, str]]:
    """A line: how often the decision was measured where the adversary can turn it to, and the worst of these values."""
    rounds = valued(state.rounds)
    reached = reaches(state.setting, report.decision_index, [r.point_index for r in rounds])
    own = [r for r, hit in zip(rounds, reached.tolist(), strict=True) if hit]
    if not own:
        return [("attacked", "nothing was measured where it can end up")]
    worst = min(own, key=lambda r: r.y)
    values = f"{len(own)} value{'s' if len(own) > 1 else ''} where it can end up"
    where = readable(worst.point, state.setting.columns.steps)
    return [("attacked", f"{values}, the worst {sign * worst.y:.4g} at {where}")]
