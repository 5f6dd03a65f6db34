"""Record complete runs, so that a change of the code can show that it changed no bit of them.

    python -m benchmarks.record before.json      # with the code before the change
    python -m benchmarks.record after.json       # with the code after it, on the same machine
    python -m benchmarks.record before.json after.json    # which runs differ, and where first

A run is what a user sees of it: queries, reports, results, and the JSON that is written of it. Numbers are written
with all their digits. One BLAS thread is used, since sums of several depend on how they are split.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402 (after the number of threads)

import stableopt as so  # noqa: E402


def named(name: str) -> Any:
    """A public name of the package, wherever this version of it has it."""
    import importlib

    for module in ("", ".model", ".fit", ".loop", ".rules", ".schedules"):
        try:
            return getattr(importlib.import_module(f"stableopt{module}"), name)
        except (ImportError, AttributeError):
            continue
    raise ImportError(f"stableopt has no {name}")


Recorder = Callable[[], Any]
RUNS: dict[str, Recorder] = {}


def run(name: str, record: Recorder) -> None:
    """Add a run to those that are recorded."""
    if name in RUNS:
        raise ValueError(f"two runs are called {name!r}")
    RUNS[name] = record


# ------------------------------------------------------------------------------------------------ what is written down


def plain(value: Any) -> Any:
    """A value of the library as JSON, floats with all their digits."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return value.hex()
    return value


def query(q: Any) -> Any:
    return plain([q.t, q.decision, q.point, q.lower])


def report(r: Any) -> Any:
    known = [r.t, r.decision, r.worst_point, r.lower, r.upper, r.optimum_upper, r.exact, r.gap, r.contradictory]
    return plain(known)


def rounds(optimizer: Any) -> Any:
    return [plain([r.t, r.decision, r.point, r.y, r.lower, r.asked, r.noise]) for r in optimizer.rounds]


def replayed(optimizer: Any, functions: Any = None) -> Any:
    """What is written, and what the run that is read back from it says."""
    text = optimizer.to_json()
    again = so.Optimizer.from_json(text, functions)
    return [text, query(again.ask()), report(again.report()) if again.rounds else None]


def played(optimizer: Any, f: Callable[[Any], float], count: int, *, every: int = 3, functions: Any = None) -> Any:
    """A run with one query at a time."""
    seen: list[Any] = []
    for i in range(count):
        q = optimizer.ask()
        seen.append(query(q))
        optimizer.tell(q, f(q.point))
        if i % every == every - 1:
            seen.append([report(optimizer.report()), plain(optimizer.decide())])
    return [seen, rounds(optimizer), replayed(optimizer, functions)]


def result(r: Any) -> Any:
    """A result or an assessment."""
    known = [plain([e.point, e.value, e.decision]) for e in r.evaluations]
    return [plain(r.decision), plain(tuple(r.worst_case)), plain(r.optimum_bound), report(r.report), known, str(r)]


def profile(p: Any) -> Any:
    return [plain([row.factor, row.decision, tuple(row.worst_case), row.optimum_bound]) for row in p]


# ----------------------------------------------------------------------------------------------------------- functions


def numbers(point: Any) -> np.ndarray:
    """The numbers of a point; a word counts by its length."""
    values = point.values() if isinstance(point, Mapping) else np.atleast_1d(np.asarray(point, dtype=object))
    return np.array([float(len(v)) if isinstance(v, str) else float(v) for v in values])


def waves(point: Any) -> float:
    x = numbers(point)
    return float(np.sum(np.sin(5 * x + np.arange(len(x))) - (x - 0.4) ** 2))


def mild(point: Any) -> float:
    x = numbers(point) / 10
    return float(np.sum(np.cos(3 * x) - 0.5 * (x - 0.3) ** 2))


def cityblock(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).sum())


def in_disc(x: np.ndarray, z: np.ndarray) -> bool:
    return bool(np.linalg.norm(z - x) <= 0.15)


def onto_disc(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    away = z - x
    return x + away * min(1.0, 0.15 * (1 - 1e-12) / max(float(np.linalg.norm(away)), 1e-300))


OWN = {"cityblock": cityblock, "in_disc": in_disc, "onto_disc": onto_disc}

# ---------------------------------------------------------------------------------------------------------------- runs

LINE = so.Grid.linspace(0, 1, 31)
SQUARE = so.Grid.linspace([0, 0], [1, 1], [13, 11])
SCATTERED = so.Points(np.random.default_rng(0).random((60, 2)))
CODES = so.Points([[i, j, k] for i in range(3) for j in range(3) for k in range(4)])
THETA = [[0.1], [0.5], [0.8]]
PRIOR = so.GP(so.SE(0.25), noise=0.05)
MATERN = so.GP(0.8 * so.Matern(2.5, [0.3, 0.2]), noise=0.05, mean=0.1)
WITH_THETA = so.GP(so.SE([0.25, 0.25, 0.4]), noise=0.05)


def listed() -> None:
    cases: dict[str, tuple[Any, Any, Any]] = {
        "l2 ball": (SQUARE, so.Ball(0.2), PRIOR),
        "l1 ball": (SQUARE, so.Ball(0.25, norm=1), MATERN),
        "linf ball": (SQUARE, so.Ball(0.15, norm="inf"), PRIOR),
        "ball with scales": (SQUARE, so.Ball(1.0, scales=[0.1, 0.3]), MATERN),
        "rectangle": (SQUARE, so.Rectangle([0.1, 0.2]), PRIOR),
        "rectangle on one column": (SQUARE, so.Rectangle(0.2, columns=[1]), PRIOR),
        "rectangle on a line": (LINE, so.Rectangle(0.1), PRIOR),
        "scattered ball": (SCATTERED, so.Ball(0.2), PRIOR),
        "scattered rectangle": (SCATTERED, so.Rectangle([0.1, 0.2]), MATERN),
        "distance": (SCATTERED, so.Distance(cityblock, 0.25), PRIOR),
        "relative": (SCATTERED, so.Relative(0.2), PRIOR),
        "ellipsoid": (SCATTERED, so.Ellipsoid([[0.03, 0.01], [0.01, 0.02]]), PRIOR),
        "within": (SCATTERED, so.Within(in_disc), PRIOR),
        "hamming": (CODES, so.Hamming(1, columns=[0, 2]), so.GP(so.Categorical(0.4), noise=0.1)),
        "hamming on a grid": (so.Grid.linspace([0, 0, 0], [2, 2, 3], [3, 3, 4]), so.Hamming(2), PRIOR),
        "parameters": (SQUARE, so.Parameters(THETA), WITH_THETA),
        "estimate": (SQUARE, so.Estimate(THETA, [0.5], so.Ball(0.35)), WITH_THETA),
        "ball and parameters": (SQUARE, so.Ball(0.2) * so.Parameters(THETA), WITH_THETA),
        "rectangle and estimate": (SQUARE, so.Rectangle(0.1) * so.Estimate(THETA, [0.1], so.Ball(0.4)), WITH_THETA),
        "two perturbations": (SCATTERED, so.Rectangle(0.2, columns=[0]) * so.Ball(0.1, columns=[1]), PRIOR),
        "groups": (SCATTERED, so.Groups([list(range(i, 60, 9)) for i in range(9)]), PRIOR),
        "named groups": (SCATTERED, so.Groups({"a": range(30), "b": range(20, 60)}), MATERN),
        "linear kernel": (
            SCATTERED,
            so.Ball(0.2),
            so.GP.linear([0.1, 0.2], [[1.0, 0.2], [0.2, 0.5]], noise=0.1),
        ),
    }
    for name, (domain, uncertainty, gp) in cases.items():
        run(
            f"listed: {name}",
            lambda d=domain, u=uncertainty, g=gp: played(so.Optimizer(d, u, g), waves, 9, functions=OWN),
        )


NAMED = so.Space({"x": (0.0, 1.0), "y": (0.0, 2.0)})
PLAIN = so.Space([(0.0, 1.0), (0.0, 1.0)])
MIXED = so.Space({"t": so.Float(0.1, 10.0, log=True), "n": so.Integer(1, 12), "kind": ["a", "bbb"], "z": (0.0, 5.0)})
CHOSEN = so.Space({("p", "q"): so.Points([[0.1, 0.2], [0.5, 0.9], [0.8, 0.3], [0.9, 0.9]]), "z": (0.0, 1.0)})
WIDER = so.Space([so.Float(0.0, 1.0, evaluate=(-0.5, 1.5)), so.Float(0.0, 1.0)])
WIND = so.Space({"wind": (0.0, 3.0)})


def spaces() -> None:
    learned = so.Learned
    cases: dict[str, tuple[Any, Any, Any]] = {
        "l2 ball": (PLAIN, so.Ball(0.15), PRIOR),
        "l1 ball": (PLAIN, so.Ball(0.2, norm=1), PRIOR),
        "linf ball": (PLAIN, so.Ball(0.1, norm="inf"), MATERN),
        "ball with scales": (PLAIN, so.Ball(1.0, scales=[0.1, 0.2]), learned()),
        "rectangle": (NAMED, so.Rectangle([0.1, 0.2]), learned()),
        "rectangle on one column": (NAMED, so.Rectangle(0.2, columns=["y"]), learned()),
        "relative": (NAMED, so.Relative(0.1), learned()),
        "ellipsoid": (PLAIN, so.Ellipsoid([[0.02, 0.005], [0.005, 0.01]]), PRIOR),
        "within": (PLAIN, so.Within(in_disc, onto_disc), PRIOR),
        "wider ranges": (WIDER, so.Rectangle(0.2), PRIOR),
        "parameters in a range": (NAMED, so.Parameters(WIND), learned()),
        "parameters in rows": (NAMED, so.Parameters(THETA), learned()),
        "estimate in a range": (NAMED, so.Estimate(WIND, {"wind": 1.0}, so.Ball(0.5)), learned()),
        "estimate in rows": (PLAIN, so.Estimate(THETA, [0.5], so.Ball(0.35)), WITH_THETA),
        "ball and parameters": (PLAIN, so.Ball(0.1) * so.Parameters(so.Space([(0.0, 1.0)])), WITH_THETA),
        "rectangle and estimate": (NAMED, so.Rectangle(0.1) * so.Estimate(WIND, [1.0], so.Rectangle(0.3)), learned()),
        "mixed": (MIXED, so.Rectangle([0.5, 1, 0.4]), learned()),
        "mixed ball": (MIXED, so.Ball(2.0, columns=["n", "z"]) * so.Relative(0.1, columns=["t"]), learned()),
        "mixed and parameters": (MIXED, so.Rectangle([1, 0.4], columns=["n", "z"]) * so.Parameters(WIND), learned()),
        "candidates": (CHOSEN, so.Rectangle(0.1), learned()),
        "list with a parameter in a range": (
            so.Points(np.linspace(0, 1, 12)),
            so.Parameters(so.Space([(0, 1)])),
            learned(),
        ),
        "nothing moves": (NAMED, so.Rectangle(0.0), learned()),
        "one float": (so.Space([(0.0, 1.0)]), so.Rectangle(0.1), PRIOR),
        "log": (so.Space([so.Float(1e-3, 10.0, log=True)]), so.Relative(0.3), learned()),
    }
    for name, (domain, uncertainty, gp) in cases.items():
        f = mild if domain is MIXED else waves
        run(
            f"space: {name}",
            lambda d=domain, u=uncertainty, g=gp, f=f: played(so.Optimizer(d, u, g), f, 9, functions=OWN),
        )


def rules() -> None:
    places = {"grid": (SQUARE, so.Ball(0.2), PRIOR), "space": (PLAIN, so.Ball(0.15), PRIOR)}
    places["list with parameters"] = (SCATTERED, so.Ball(0.2) * so.Parameters(THETA), WITH_THETA)
    places["space with parameters"] = (PLAIN, so.Ball(0.1) * so.Parameters(THETA), WITH_THETA)
    places["space with an estimate"] = (PLAIN, so.Estimate(WIND, [1.0], so.Ball(0.5)), so.Learned())
    places["groups"] = (SCATTERED, so.Groups([list(range(i, 60, 9)) for i in range(9)]), PRIOR)
    for place, setting in places.items():
        for name in so.ALGORITHMS:
            run(f"{name}, {place}", lambda s=setting, n=name: played(so.Optimizer(*s, algorithm=n, seed=3), waves, 7))
    reporting = ("BestSoFar", "BestWhenAsked", "BestIntersected", "BestOfAll", "BestExpected", "MostPromising", "Last")
    for place in ("grid", "space"):
        for rule in reporting:
            if (place, rule) != ("space", "BestIntersected"):
                run(f"{rule}, {place}", lambda s=places[place], r=rule: played(_reporting(s, r), waves, 8))
    intersected = (LINE, so.Ball(0.1), so.Learned())
    run("BestIntersected, learned", lambda: played(_reporting(intersected, "BestIntersected"), waves, 9))


def _reporting(setting: Any, rule: str) -> Any:
    algorithm = so.Algorithm(rule, named("OptimisticPessimistic")(), named(rule)())
    return so.Optimizer(*setting, algorithm=algorithm)


def models() -> None:
    few = {"samples": 3, "burn_in": 4, "thin": 1, "every": 4}
    gamma, log_normal = named("Gamma"), named("LogNormal")
    cases = {
        "map": so.Learned(),
        "ml": so.Learned(method="ml"),
        "bayes": so.Learned(method="bayes", **few),
        "se": so.Learned("se", noise=0.05),
        "matern32": so.Learned("matern32", mean=0.0),
        "signal": so.Learned(signal="learned", priors={"lengthscale": gamma(2.0, 5.0)}),
        "own kernel": so.Learned(1.0 * so.Matern(1.5, 0.3), fixed=["noise"], noise=0.1),
        "bounds": so.Learned(bounds={"lengthscale": (0.1, 0.6)}, priors={"noise": log_normal(0.1, 0.5)}),
    }
    for name, learned in cases.items():
        for place, setting in {"grid": (SQUARE, so.Ball(0.2)), "space": (NAMED, so.Rectangle(0.1))}.items():
            run(f"learned by {name}, {place}", lambda s=setting, m=learned: played(so.Optimizer(*s, m), waves, 12))


def schedules() -> None:
    likelihood, alternating, finite = named("LikelihoodRatio"), named("Alternating"), named("BayesianFinite")
    cases = {
        "likelihood ratio": {"beta": likelihood(1.0, 0.1)},
        "alternating": {"explore": alternating(0.5, 4.0, 2)},
        "bayesian": {"beta": finite(143, 0.1), "explore": 1.0},
    }
    for name, betas in cases.items():
        for place, setting in {"grid": (SQUARE, so.Ball(0.2)), "space": (PLAIN, so.Ball(0.1))}.items():
            run(f"{name}, {place}", lambda s=setting, b=betas: played(so.Optimizer(*s, PRIOR, **b), waves, 8))


def workers() -> None:
    places = {
        "grid": (SQUARE, so.Ball(0.2)),
        "space": (NAMED, so.Rectangle(0.1)),
        "mixed": (MIXED, so.Rectangle([0.5, 1, 0.4])),
    }
    places["groups"] = (SCATTERED, so.Groups([list(range(i, 60, 9)) for i in range(9)]))
    for place, setting in places.items():
        for name, gp in {"learned": so.Learned(), "given": None}.items():
            if gp is None and place == "mixed":
                continue
            prior = PRIOR if gp is None else gp
            run(f"pending, {place}, {name}", lambda s=setting, g=prior: pending(so.Optimizer(*s, g, seed=2)))
            run(f"failures, {place}, {name}", lambda s=setting, g=prior: failing(so.Optimizer(*s, g, seed=2)))
            run(f"data, {place}, {name}", lambda s=setting, g=prior: with_data(so.Optimizer(*s, g, seed=2)))


def pending(optimizer: Any) -> Any:
    """Three workers, whose values come in another order."""
    seen, waiting = [], list(optimizer.ask(3))
    for i in range(9):
        q = waiting.pop(i % len(waiting))
        seen.append(query(q))
        optimizer.tell(q, mild(q.point))
        waiting.append(optimizer.ask(pending=waiting))
    return [
        seen,
        [query(q) for q in optimizer.ask(3, pending=waiting)],
        report(optimizer.report()),
        replayed(optimizer),
    ]


def failing(optimizer: Any) -> Any:
    """Every third evaluation fails."""
    seen = []
    for i in range(12):
        q = optimizer.ask()
        seen.append(query(q))
        optimizer.tell(q, None if i % 3 == 1 else mild(q.point))
        if optimizer.rounds:
            seen.append(report(optimizer.report()))
    return [seen, [plain([r.t, r.point]) for r in optimizer.failures], replayed(optimizer)]


def with_data(optimizer: Any) -> Any:
    """Data that nobody asked for, noise of their own, decisions that a user names."""
    seen = []
    for i in range(4):
        q = optimizer.ask()
        optimizer.tell(q.point, mild(q.point), noise=0.2 if i % 2 else None)
        seen.append(report(optimizer.report()))
    for _ in range(4):
        q = optimizer.ask()
        optimizer.tell(q.point, mild(q.point), decision=q.decision)
        seen.append([query(q), report(optimizer.report())])
    return [seen, rounds(optimizer), replayed(optimizer)]


def calls() -> None:
    ranges, tolerance = {"temperature": (20, 90), "ph": (3.0, 9.0)}, {"temperature": 4.0, "ph": 0.3}

    def f(point: Any) -> float:
        narrow = 1.3 * np.exp(-(((point["temperature"] - 78) / 2) ** 2) - ((point["ph"] - 7.5) / 0.5) ** 2)
        return float(narrow + np.exp(-(((point["temperature"] - 45) / 14) ** 2) - ((point["ph"] - 6.0) / 1.2) ** 2))

    def windy(point: Any) -> float:
        return float(f(point) - 0.02 * (point["wind"] - point["ph"]) ** 2)

    rng = np.random.default_rng(1)
    table: dict[str, Any] = {"temperature": rng.uniform(20, 90, 15).tolist(), "ph": rng.uniform(3, 9, 15).tolist()}
    table["yield"] = [f({"temperature": t, "ph": p}) for t, p in zip(table["temperature"], table["ph"], strict=True)]
    noisy = {**table, "noise": [0.01 if i % 2 else None for i in range(15)]}
    grid = so.Grid.linspace([0, 0], [1, 1], 12)
    scenarios = [{"wind": 2.0}, {"wind": 6.0}]
    counter: list[int] = []

    def sometimes(point: Any) -> float:
        counter.append(1)
        if len(counter) % 4 == 2:
            raise RuntimeError("the pump was off")
        return f(point)

    def fresh(g: Callable[..., Any]) -> Any:
        counter.clear()
        return g()

    run("maximize", lambda: result(so.maximize(f, ranges, tolerance, evaluations=18)))
    run("maximize, relative", lambda: result(so.maximize(f, ranges, {"temperature": "5%", "ph": 0.3}, evaluations=12)))
    run(
        "maximize, environment",
        lambda: result(so.maximize(windy, ranges, tolerance, environment={"wind": (0, 8)}, evaluations=12)),
    )
    run("maximize, scenarios", lambda: result(so.maximize(windy, ranges, environment=scenarios, evaluations=12)))
    run("maximize, failures", lambda: fresh(lambda: result(so.maximize(sometimes, ranges, tolerance, evaluations=14))))
    run("maximize, data", lambda: result(so.maximize(f, ranges, tolerance, data=table, value="yield", evaluations=3)))
    run("maximize, grid", lambda: result(so.maximize(waves, grid, 0.1, model=PRIOR, evaluations=10)))
    run("maximize, a set", lambda: result(so.maximize(f, ranges, so.Ball(0.2, columns=["ph"]), evaluations=12)))
    run("maximize, target", lambda: result(so.maximize(f, ranges, tolerance, evaluations=20, target=1.0)))
    run("minimize", lambda: result(so.minimize(lambda p: -f(p), ranges, tolerance, evaluations=14, seed=4)))
    run("minimize, unnamed", lambda: result(so.minimize(waves, [(0, 1), (0, 1)], 0.1, evaluations=12)))
    run("assess", lambda: assessed(so.assess(table, ranges, tolerance, value="yield")))
    run("assess, noise", lambda: assessed(so.assess(noisy, ranges, tolerance, value="yield", minimize=True)))
    run("profile", lambda: profile(so.assess(table, ranges, tolerance, value="yield").profile()))
    run(
        "profile on a grid",
        lambda: profile(so.maximize(waves, grid, 0.1, model=PRIOR, evaluations=8).profile([0, 1, 2])),
    )


def assessed(assessment: Any) -> Any:
    return [result(assessment), plain(assessment.decisions)]


def certificates() -> None:
    def certified() -> Any:
        optimizer = so.Optimizer(so.Space([(0.0, 1.0)]), so.Rectangle(0.1), so.GP(so.SE(0.3), noise=0.05))
        for _ in range(8):
            q = optimizer.ask()
            optimizer.tell(q, waves(q.point))
        from stableopt.theory.covering import certify

        return plain([getattr(certify(optimizer), name) for name in ("lower", "upper", "optimum_upper")])

    run("a certificate in a space", certified)


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Where two recorded values differ, the first place of each branch."""
    if type(before) is not type(after):
        yield f"{path}: {before!r:.80} became {after!r:.80}"
    elif isinstance(before, dict):
        for key in sorted({*before, *after}):
            yield from differences(before.get(key), after.get(key), f"{path}/{key}")
    elif isinstance(before, list):
        if len(before) != len(after):
            yield f"{path}: {len(before)} became {len(after)} items"
        for i, (a, b) in enumerate(zip(before, after, strict=False)):
            yield from differences(a, b, f"{path}/{i}")
    elif before != after:
        yield f"{path}: {before!r:.80} became {after!r:.80}"


def compare(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Say which runs differ; how many do."""
    changed = 0
    for name in sorted({*before, *after}):
        found = list(differences(before.get(name), after.get(name)))
        if found:
            changed += 1
            print(f"{name}: {len(found)} differences, first {found[0]}")
    print(f"{len(before) - changed} of {len(before)} runs are the same bit for bit")
    return changed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("--only", default="", help="the runs whose name contains this")
    arguments = parser.parse_args()
    if arguments.other is not None:
        sys.exit(bool(compare(*(json.loads(p.read_text(encoding="utf-8")) for p in (arguments.file, arguments.other)))))
    for add in (listed, spaces, rules, models, schedules, workers, calls, certificates):
        add()
    recorded = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, record in RUNS.items():
            if arguments.only in name:
                print(name, file=sys.stderr)
                try:
                    recorded[name] = record()
                except Exception as error:  # of one run: the others are recorded all the same
                    recorded[name] = f"{type(error).__name__}: {error}"
    arguments.file.write_text(json.dumps(recorded, indent=1), encoding="utf-8")
    print(f"{len(recorded)} runs recorded")


if __name__ == "__main__":
    main()
