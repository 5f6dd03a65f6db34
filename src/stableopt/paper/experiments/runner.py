"""One runner for every experiment: missing replicates are computed in parallel and kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stableopt.paper.experiments.base import Experiment, Plan, Replicate, Results
from stableopt.paper.experiments.engines import Engine
from stableopt.paper.experiments.store import Store


def run(
    experiment: Experiment,
    plan: Plan,
    out: Path,
    engine: Engine | None = None,
    finished: Callable[[], None] = lambda: None,
) -> Results:
    """All replicates of a plan; those that an earlier call finished are taken from the output folder.

    The results are the same bits whatever the engine and its jobs.

    finished: called once per replicate.
    """
    store = Store(out, experiment, plan)
    store.open()
    replicates: dict[int, Replicate] = {}
    for number in range(plan.runs):
        if (known := store.load(number)) is not None:
            replicates[number] = known
            finished()
    missing = [number for number in range(plan.runs) if number not in replicates]
    if missing:
        for number, replicate in (engine or Engine()).compute(experiment, plan, missing):
            store.save(number, replicate)
            replicates[number] = replicate
            finished()
    return Results(plan, [replicates[number] for number in range(plan.runs)])
