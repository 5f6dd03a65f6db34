"""Certificates in many runs at once: whether they hold at every time, how loose they are, and Theorem 1 round by round.

Notation
    F, D, T      functions, decisions, rounds
    s            number of observations behind the bounds, 0..T − 1
    g            true worst case of each decision (F, D); its maximum is the stable optimum
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from stableopt.base.arrays import Array, Indices
from stableopt.loop.schedules import LikelihoodRatio, Schedule
from stableopt.paper.verification.bounds import CONTROL, EXPLORE, XI
from stableopt.paper.verification.cases import Case
from stableopt.paper.verification.checks import Check
from stableopt.paper.verification.results import Certificate, Certificates
from stableopt.theory.simulation import Game, simulate, stable_choices
from stableopt.theory.theorem1 import Played, check_chain

_ENTRIES = 1 << 22  # of the factors of the runs that go side by side


@dataclass(frozen=True)
class Betas:
    """The two β at work."""

    certify: Schedule
    factor: float = 1.0
    """Times the schedule's β: 0.01 makes a negative control."""
    explore: float | None = EXPLORE
    """β that chooses decisions; None: the one that certifies, as in Theorem 1."""

    def at(self, t: int, gains: Array) -> Array:
        """β that certifies in round t of runs with these realised gains (F,)."""
        return self.factor * np.array([self.certify.beta(t, gain) for gain in gains.tolist()])


@dataclass
class _Watch:
    """A rule for `simulate` that plays StableOpt and writes down the certificate of every time."""

    case: Case
    functions: Array
    betas: Betas
    columns: list[list[Array]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gain = np.zeros(len(self.functions))
        self.true = self.case.worst(self.functions)
        self.low, self.high = np.full(self.functions.shape, -np.inf), np.full(self.functions.shape, np.inf)

    def __call__(self, mean: Array, std: Array, rng: np.random.Generator) -> Indices:
        t, members, runs = len(self.columns) + 1, self.case.members, np.arange(len(mean))
        beta = self.betas.at(t, self.gain)
        width = np.sqrt(beta)[:, None] * std
        lcb, ucb = mean - width, mean + width
        self.low, self.high = np.maximum(self.low, lcb), np.minimum(self.high, ucb)
        row = self._certificate(lcb, ucb) + self._certificate(self.low, self.high)
        explore = self.betas.explore
        upper = ucb if explore is None else mean + math.sqrt(explore) * std
        decision, at = stable_choices(members, upper, lcb)
        best = np.take_along_axis(upper, members[decision], axis=1).min(axis=1)
        row += [self.true[runs, decision], best, lcb[runs, at], std[runs, at], beta]
        self.columns.append(row)
        self.gain = self.gain + 0.5 * np.log1p(std[runs, at] ** 2 / self.case.gp.noise**2)
        return at

    def _certificate(self, lcb: Array, ucb: Array) -> list[Array]:
        runs, members = np.arange(len(lcb)), self.case.members
        worst, best = lcb[:, members].min(axis=2), ucb[:, members].min(axis=2)
        decision = np.argmax(worst, axis=1)
        return [worst[runs, decision], best[runs, decision], best.max(axis=1), self.true[runs, decision]]


def certificates(case: Case, betas: Betas, functions: Array, rounds: int, rng: np.random.Generator) -> Certificates:
    """StableOpt on every function, with the certificates after 0 to rounds − 1 observations."""
    together = max(1, _ENTRIES // (rounds * len(case.points)))
    watches = []
    for start in range(0, len(functions), together):
        watch = _Watch(case, functions[start : start + together], betas)
        simulate(Game(case.gp, case.points, rounds, watch), watch.functions, rng)
        watches.append(watch)
    table = np.concatenate([np.array(watch.columns) for watch in watches], axis=2)  # (T, 13, F)
    columns = [np.ascontiguousarray(table[:, i].T) for i in range(table.shape[1])]
    gain = np.concatenate([watch.gain for watch in watches])
    optimum = case.worst(functions).max(axis=1)
    chains = np.stack(columns[8:], axis=2)
    return Certificates(Certificate(*columns[:4]), Certificate(*columns[4:8]), optimum, chains, gain)


def check_certificates(case: Case, count: int, rounds: int, seed: int) -> tuple[list[Check], Certificates]:
    """Certificates of the valid β and of a hundredth of it on the same functions; and those of the former."""
    functions = case.functions(count, np.random.default_rng([seed, 10]))
    schedule = LikelihoodRatio(case.norm, XI)
    valid, control = (
        certificates(case, Betas(schedule, factor), functions, rounds, np.random.default_rng([seed, 11]))
        for factor in (1.0, CONTROL)
    )
    last = valid.looseness[-1]
    note = f"certified regret is {last:.0f} times the true one at t = {rounds - 1}"
    return [
        Check.of("certificates: plain", case.name, valid.plain.holds(valid.optimum), 1 - XI, note=note),
        Check.of("certificates: intersected", case.name, valid.intersected.holds(valid.optimum), 1 - XI),
        Check.of("certificates: monotone", case.name, valid.monotone, 1.0),
        Check.of("certificates, β/100", case.name, control.plain.holds(control.optimum), 1 - XI, fails=True),
    ], valid


def chain(case: Case, count: int, rounds: int, seed: int) -> list[Check]:
    """Theorem 1 as a run: every inequality of its proof, in every round, with a valid β and with a hundredth of it."""
    functions = case.functions(count, np.random.default_rng([seed, 20]))
    variance = float(case.gp.kernel.diag(case.points).max())
    checks = []
    for factor, what in ((1.0, "Theorem 1: its proof, line by line"), (CONTROL, "Theorem 1, β/100")):
        rng = np.random.default_rng([seed, 21])
        betas = Betas(LikelihoodRatio(case.norm, XI), factor, explore=None)
        found = certificates(case, betas, functions, rounds, rng)
        runs = []
        for optimum, columns, gain in zip(found.optimum.tolist(), found.chain, found.gain.tolist(), strict=True):
            runs.append(check_chain(optimum, Played(*columns.T), gain, case.gp.noise, variance))
        ratio = np.median([run.bound / max(run.reported, 1e-12) for run in runs])
        note = f"√(C₁β_Tγ_T/T) is {ratio:.1f} times r̄ of the reported decision (median)"
        held = [run.holds for run in runs]
        checks.append(Check.of(what, case.name, held, 1 - XI, fails=factor < 1, note=note if factor == 1 else ""))
    return checks
