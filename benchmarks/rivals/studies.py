"""Samplers of Optuna against each other: seconds per trial, and the ε-regret of what they report.

    python -m benchmarks.rivals.studies speed                # per trial at 50, 100 and 200 trials, in 2-D and 6-D
    python -m benchmarks.rivals.studies regret --seeds 3 --trials 50
    python -m benchmarks.rivals.studies load --trials 1000   # trials a second, 16 workers on PostgreSQL

It needs the environment of `benchmarks/rivals/README.md` (torch, optunahub), where ``STABLEOPT_CARBO`` names a copy of
OptunaHub's registry. Seconds are of the processor. Problems are those of `benchmarks/rivals/problems.py`, whose true
worst cases are computed by brute effort. GPSampler, TPE and random search report their best trial, CARBO its robust
parameters, ours `stable_best`; the column behind it is what `stable_best` makes of the same trials.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
from optuna.distributions import FloatDistribution

import stableopt as so
from benchmarks.rivals.problems import PROBLEMS, Problem
from benchmarks.rivals.worst import regret
from stableopt.integrations.optuna import StableOptSampler, stable_best

optuna.logging.set_verbosity(optuna.logging.ERROR)
SAMPLERS = ("stableopt", "CARBO", "GPSampler", "TPE", "random")


def names(problem: Problem) -> list[str]:
    return [f"x{i}" for i in range(problem.dimension)]


def space(problem: Problem) -> dict[str, Any]:
    ends = zip(names(problem), problem.lower.tolist(), problem.upper.tolist(), strict=True)
    return {name: FloatDistribution(low, high) for name, low, high in ends}


def tolerance(problem: Problem) -> Any:
    return so.Ball(problem.eps) if problem.norm == "l2" else float(problem.eps)


def sampler(kind: str, problem: Problem, seed: int) -> Any:
    if kind == "stableopt":
        return StableOptSampler(tolerance(problem), seed=seed)
    if kind == "CARBO":
        from benchmarks.rivals.carbo import _module

        return _module().CARBOSampler(seed=seed, input_noise_rads=dict.fromkeys(names(problem), float(problem.eps)))
    made: dict[str, Callable[..., Any]] = {
        "GPSampler": optuna.samplers.GPSampler,
        "TPE": optuna.samplers.TPESampler,
        "random": optuna.samplers.RandomSampler,
    }
    return made[kind](seed=seed)


def filled(problem: Problem, count: int, own: Any) -> optuna.Study:
    """A study with trials at random points."""
    study, rng = optuna.create_study(direction="maximize", sampler=own), np.random.default_rng(count)
    X = problem.lower + (problem.upper - problem.lower) * rng.random((count, problem.dimension))
    for point, value in zip(X.tolist(), problem.f(X).tolist(), strict=True):
        params = dict(zip(names(problem), point, strict=True))
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space(problem), value=value))
    return study


def one_trial(study: optuna.Study, problem: Problem, error: float = 0.0) -> None:
    trial = study.ask(space(problem))
    point = np.array([[trial.params[name] for name in names(problem)]])
    study.tell(trial, float(problem.f(point)[0] + error))


def speed(sizes: tuple[int, ...], kinds: list[str], repeats: int) -> None:
    print("| dimensions | trials | " + " | ".join(f"{kind}, s" for kind in kinds) + " |")
    print("|---|---|" + "---|" * len(kinds))
    for name in ("polynomial", "bumps6"):
        problem = PROBLEMS[name]
        for size in sizes:
            cells = []
            for kind in kinds:
                study = filled(problem, size, sampler(kind, problem, 0))
                one_trial(study, problem)  # which reads what is there
                seconds = []
                for _ in range(repeats):
                    begin = time.process_time()
                    one_trial(study, problem)
                    seconds.append(time.process_time() - begin)
                cells.append(f"{np.mean(seconds):.3f}")
            print(f"| {problem.dimension} | {size} | " + " | ".join(cells) + " |", flush=True)


def reported(kind: str, study: optuna.Study) -> dict[str, float]:
    if kind == "stableopt":
        return stable_best(study).decision
    return study.sampler.get_robust_params(study) if kind == "CARBO" else study.best_params


def regrets(problems: list[str], kinds: list[str], seeds: int, trials: int) -> None:
    header = ("problem", "sampler", f"regret after {trials} trials: median", "worst", "`stable_best` of them: median")
    print("| " + " | ".join(header) + " |")
    print("|---|---|---|---|---|")
    for name in problems:
        problem = PROBLEMS[name]
        for kind in kinds:
            own, ours = [], []
            for seed in range(seeds):
                study = optuna.create_study(direction="maximize", sampler=sampler(kind, problem, seed))
                for error in problem.errors(seed, trials).tolist():
                    one_trial(study, problem, error)
                for found, decision in (
                    (own, reported(kind, study)),
                    (ours, stable_best(study, tolerance(problem)).decision),
                ):
                    found.append(regret(problem, np.array([decision[n] for n in names(problem)])))
            cells = f"{np.median(own):.3f} | {max(own):.3f} | {np.median(ours):.3f}"
            print(f"| {name} | {kind} | {cells} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("speed", "regret", "load"))
    parser.add_argument("--samplers", nargs="+", default=list(SAMPLERS), choices=SAMPLERS)
    parser.add_argument("--problems", nargs="+", default=["polynomial", "bumps4", "bumps6"], choices=list(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 100, 200])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--workers", type=int, default=16)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.what == "speed":
        speed(tuple(arguments.sizes), arguments.samplers, arguments.repeats)
    elif arguments.what == "regret":
        regrets(arguments.problems, arguments.samplers, arguments.seeds, arguments.trials)
    else:
        from benchmarks.rivals.load import load

        load(arguments.samplers, arguments.workers, arguments.trials)


if __name__ == "__main__":
    main()
