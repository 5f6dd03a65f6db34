"""How often confidence bounds hold everywhere and in all rounds, and each schedule's promise."""

from __future__ import annotations

import numpy as np

from stableopt.base.arrays import Array
from stableopt.loop.schedules import BayesianFinite, FixedDesign, LikelihoodRatio, PaperRkhs, Rkhs, Schedule
from stableopt.paper.verification.cases import Case
from stableopt.paper.verification.checks import Check
from stableopt.theory.simulation import Game, Runs, calibrate, simulate, stable, uniform

XI = 0.1
EXPLORE = 1.0  # β that chooses the points of a run: bounds must hold however points are chosen
CONTROL = 0.01  # of the right β: a negative control


def coverage(case: Case, count: int, rounds: int, seed: int, *, simulated: int = 400) -> list[Check]:
    """Bounds of every schedule on ``count`` functions of the case, in runs of StableOpt and at random points.

    A schedule with a proof has a negative control: a hundredth of its β. The printed lemma is expected to fail.
    """
    rng = [np.random.default_rng([seed, i]) for i in range(7)]
    gp, norm, n = case.gp, case.norm, len(case.points)
    ours, at_random = (Game(gp, case.points, rounds, rule) for rule in (stable(case.members, EXPLORE), uniform))
    functions = case.functions(count, rng[0])
    adaptive = simulate(ours, functions, rng[1])
    random = simulate(at_random, functions, rng[2])
    drawn = simulate(ours, case.draws(count, rng[3]), rng[4])
    tuned = [calibrate(game, norm, XI, rng[5], runs=simulated) for game in (ours, at_random)]
    return [
        *_proved(LikelihoodRatio(norm, XI), adaptive, case.name),
        *_proved(Rkhs(norm, XI), adaptive, case.name),
        _check("Lemma 1 as printed", PaperRkhs(norm, gp.noise, XI), adaptive, case.name, fails=True),
        _check("calibrated β, StableOpt", tuned[0], adaptive, case.name),
        *_proved(FixedDesign(n, norm, XI), random, case.name),
        _check("calibrated β, random points", tuned[1], random, case.name),
        *_proved(BayesianFinite(n, XI), drawn, f"{case.name}, f from the prior"),
    ]


def _proved(schedule: Schedule, runs: Runs, setting: str) -> list[Check]:
    name = type(schedule).__name__
    return [
        _check(name, schedule, runs, setting),
        _check(f"{name}, β/100", schedule, runs, setting, CONTROL, fails=True),
    ]


def _check(
    what: str, schedule: Schedule, runs: Runs, setting: str, factor: float = 1.0, *, fails: bool = False
) -> Check:
    last = schedule.beta(runs.error.shape[1], float(runs.gain[:, -1].mean())) * factor
    needed = float(np.median(runs.error.max(axis=1)))
    note = f"β^½ = {last**0.5:.1f} at the end; {needed:.1f} would do in half of the runs"
    return Check.of(f"bounds: {what}", setting, held(runs, schedule, factor), 1 - XI, fails=fails, note=note)


def held(runs: Runs, schedule: Schedule, factor: float) -> Array:
    """Whether bounds with ``factor`` times the schedule's β held, everywhere and in all rounds (F,)."""
    beta = [[factor * schedule.beta(s + 1, gain) for s, gain in enumerate(gains)] for gains in runs.gain.tolist()]
    return np.asarray(np.all(runs.error <= np.sqrt(beta), axis=1))
