"""Many workers with an instant objective on PostgreSQL: trials a second, and how the cost of a proposal grows."""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import optuna
from optuna.study import MaxTrialsCallback
from optuna.trial import TrialState

from benchmarks.rivals.problems import PROBLEMS
from benchmarks.rivals.studies import names, sampler, space

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tests"))

from helpers.studies import served

PROBLEM = PROBLEMS["polynomial"]
SHOWN = (50, 100, 200, 500, 1000)


def objective(trial: optuna.Trial) -> float:
    begin = time.process_time()
    row = [trial.suggest_float(name, d.low, d.high) for name, d in space(PROBLEM).items()]
    trial.set_user_attr("seconds", time.process_time() - begin)
    return float(PROBLEM.f(np.array([row]))[0])


def work(url: str, kind: str, seed: int, trials: int) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(study_name=kind, storage=url, sampler=sampler(kind, PROBLEM, seed))
    study.optimize(objective, callbacks=[MaxTrialsCallback(trials, states=(TrialState.COMPLETE,))])


def load(kinds: Sequence[str], workers: int, trials: int) -> None:
    """A table for these samplers, one after the other on one server."""
    marks = [mark for mark in SHOWN if mark <= trials]
    print("| sampler | trials a second | " + " | ".join(f"s at {mark}" for mark in marks) + " | same point twice |")
    print("|---" * (len(marks) + 3) + "|")
    context = multiprocessing.get_context("spawn")  # torch cannot be forked
    with tempfile.TemporaryDirectory() as folder, served("postgresql", Path(folder)) as (url, _):
        for kind in kinds:
            study = optuna.create_study(study_name=kind, storage=url, direction="maximize")
            # As users do it, all workers have the same seed, but for samplers that would then all do the same.
            seeds = [0 if kind == "stableopt" else i for i in range(workers)]
            crew = [context.Process(target=work, args=(url, kind, seed, trials)) for seed in seeds]
            for worker in crew:
                worker.start()
            for worker in crew:
                worker.join()
            done = sorted(study.get_trials(states=[TrialState.COMPLETE]), key=lambda t: t.datetime_complete)
            assert all(set(t.params) == set(names(PROBLEM)) for t in done)
            took = (done[-1].datetime_complete - done[0].datetime_start).total_seconds()
            costs = []
            for mark in marks:  # of the trials around it
                near = [t.user_attrs["seconds"] for t in done[max(0, mark - 15) : mark]]
                costs.append(f"{np.median(near):.3f}")
            points = [tuple(t.params.values()) for t in done]
            repeated = len(points) - len(set(points))
            print(f"| {kind} | {len(done) / took:.2f} | " + " | ".join(costs) + f" | {repeated} |", flush=True)
