"""What runs say: tables, paired comparisons, and two figures.

Runs are files in a directory. Those that are worth keeping are also rows of ``kept.csv`` beside this file, so that a
table can be made, and a new method be compared with rivals, without running these again for hours.

regret    of a method on a problem at t: the mean over seeds; of a rival, by the best of its reporting rules; of ours
          and its variations, by its own
ratio     our regret over the best rival's, from the seeds that both have
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.field.problems import PROBLEMS, SHIPPED, part
from benchmarks.rivals.problems import Array

MARKS = (10, 20, 50, 100)
LATER = MARKS[1:]
FLOOR = 1e-4
"""Of what f varies at 200 points: a smaller regret is as good as none, so that ratios say something."""

KEPT = Path(__file__).with_name("kept.csv")
GENEROUS = ("paper", "random")  # ours by another name, and rivals in the tables: they get the best of their rules
_KEY = ("problem", "method", "seed", "rule", "optimum")

Runs = dict[tuple[str, str, int], dict[str, dict[int, float]]]
"""By problem, method and seed: of every reporting rule, the regret at t."""


def path(out: Path, problem: str, method: str, seed: int) -> Path:
    """The file of a run."""
    return out / f"{problem}.{method}.{seed}.json"


def load(out: Path | None, problems: Iterable[str], methods: Iterable[str], file: Path = KEPT) -> Runs:
    """What is there, and what is kept of runs that are not; behind a colon, a method may have a reporting rule."""
    wanted = [(p, m) for p in problems for m in dict.fromkeys(_named(name)[0] for name in methods)]
    runs = {key: rules for key, rules in kept(file).items() if key[:2] in set(wanted)}
    for problem, method in wanted if out is not None else ():
        for run in sorted(out.glob(f"{problem}.{method}.*.json")):  # type: ignore[union-attr]
            record = json.loads(run.read_text())
            key, rules = (problem, method, record["seed"]), _rules(record)
            if length(rules) >= length(runs.get(key, {})):  # of two, the longer run says more
                runs[key] = rules
    order = {pair: i for i, pair in enumerate(wanted)}
    return dict(sorted(runs.items(), key=lambda item: (order[item[0][:2]], item[0][2])))


def _rules(record: dict[str, Any]) -> dict[str, dict[int, float]]:
    """Of every reporting rule of a run, the regret at t, against the best optimum that is known now."""
    better = PROBLEMS[record["problem"]].stable_value - record["stable_value"]
    rules: dict[str, dict[int, float]] = {}
    for at in record["reports"]:
        for rule, regret in at["regret"].items():
            rules.setdefault(rule, {})[at["t"]] = regret + better
    return rules


def length(rules: dict[str, dict[int, float]]) -> int:
    """The last report of a run."""
    return max((t for at in rules.values() for t in at), default=0)


def kept(file: Path = KEPT) -> Runs:
    """The runs that are kept, of the problems of this folder."""
    found: Runs = {}
    for row in _rows(file):
        better = PROBLEMS[row["problem"]].stable_value - float(row["optimum"])
        at = {t: float(row[str(t)]) + better for t in MARKS if row[str(t)]}
        found.setdefault((row["problem"], row["method"], int(row["seed"])), {})[row["rule"]] = at
    return found


def keep(out: Path, file: Path = KEPT) -> int:
    """Keep the runs of a directory, in place of the same ones that are kept and no longer; how many these are.

    Those of one's own problems are left out: without their module, nobody could read them.
    """
    before, runs = kept(file), {}
    for run in sorted(out.glob("*.json")):
        record = json.loads(run.read_text())
        key = record["problem"], record["method"], record["seed"]
        if key[0] in SHIPPED and length(_rules(record)) >= length(before.get(key, {})):
            runs[(*key[:2], str(key[2]))] = record
    rows = [row for row in _rows(file) if tuple(row[name] for name in _KEY[:3]) not in runs]
    for key, record in runs.items():
        for rule in dict.fromkeys(rule for at in record["reports"] for rule in at["regret"]):
            row = dict(zip(_KEY, (*key, rule, repr(record["stable_value"])), strict=True))
            regrets = {at["t"]: at["regret"].get(rule) for at in record["reports"]}
            rows.append(row | {str(t): "" if regrets.get(t) is None else f"{regrets[t]:.6g}" for t in MARKS})
    rows.sort(key=lambda row: (row["problem"], row["method"], int(row["seed"])))  # a method's own rule stays the first
    with file.open("w", newline="") as written:
        writer = csv.DictWriter(written, [*_KEY, *map(str, MARKS)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return len(runs)


def _rows(file: Path) -> list[dict[str, str]]:
    """The rows of a file of kept runs, in their order; none if there is no file."""
    if not file.exists():
        return []
    with file.open(newline="") as read:
        return list(csv.DictReader(read))


def _named(name: str) -> tuple[str, str]:
    """The method, and the reporting rule if there is a word behind a colon; numbers belong to the method."""
    method, _, rule = name.rpartition(":")
    return (method, rule) if rule.isalpha() and method else (name, "")


def regrets(runs: Runs, problem: str, method: str, t: int) -> dict[int, float]:
    """By seed. Ours and its variations have their own rule; a rival gets, on every problem, the best of its rules.

    "ours:expected" is ``ours``, scored by what another rule would have reported of the same runs.
    """
    method, rule = _named(method)
    own = {seed: rules for (p, m, seed), rules in runs.items() if (p, m) == (problem, method)}
    if not own:
        return {}
    names = list(next(iter(own.values())))
    if rule or (names[0] == "own" and method not in GENEROUS):
        names = [rule or names[0]]
    by_rule = [{s: rules[n][t] for s, rules in own.items() if t in rules.get(n, {})} for n in names]
    known = [found for found in by_rule if found]
    return min(known, key=lambda found: float(np.mean(list(found.values())))) if known else {}


def floor(problem: str) -> float:
    """A regret that is as good as none."""
    p = PROBLEMS[problem]
    return FLOOR * float(p.f(p.spread(np.random.default_rng(0).random((200, p.width)))).std())


def ratios(runs: Runs, ours: str, others: Sequence[str], t: int) -> dict[str, tuple[float, str]]:
    """Of every problem, our mean regret over the best rival's, and who that is."""
    found = {}
    for problem in dict.fromkeys(p for p, _, _ in runs):
        mine, least = regrets(runs, problem, ours, t), floor(problem)
        compared = []
        for other in others:
            theirs = regrets(runs, problem, other, t)
            both = sorted(set(mine) & set(theirs))
            if both:
                a, b = (max(float(np.mean([each[s] for s in both])), least) for each in (mine, theirs))
                compared.append((a / b, other))
        if compared:
            found[problem] = max(compared)
    return found


def table(runs: Runs, methods: Sequence[str]) -> str:
    """Of both parts, how the first method fares against the others; then every problem."""
    ours, others = methods[0], list(methods[1:])
    lines = [
        f"| part | t | problems | median ratio of {ours} to the best other | below ½ | above 1 |",
        "|---" * 6 + "|",
    ]
    every = {t: ratios(runs, ours, others, t) for t in LATER}
    for wanted in ("choose", "look"):
        for t in LATER:
            values = np.array([r for p, (r, _) in every[t].items() if part(p) == wanted])
            if len(values):
                shares = f"{np.mean(values <= 0.5):.0%} | {np.mean(values > 1):.0%}"
                lines.append(f"| {wanted} | {t} | {len(values)} | {np.median(values):.2f} | {shares} |")
    lines += [
        "",
        "| problem | part | " + " | ".join(f"{m}, {' / '.join(map(str, LATER))}" for m in methods) + " | ratio |",
    ]
    lines.append("|---" * (3 + len(methods)) + "|")
    for problem in dict.fromkeys(p for p, _, _ in runs):
        cells = [
            " / ".join(_mean(regrets(runs, problem, m, t)) for t in LATER) + _count(runs, problem, m) for m in methods
        ]
        shown = " / ".join(f"{every[t][problem][0]:.2g}" if problem in every[t] else "–" for t in LATER)
        lines.append(f"| {problem} | {part(problem)} | {' | '.join(cells)} | {shown} |")
    if found := beaten(runs):
        lines.append(f"\nBetter than the stored optimum, so search again (optimum --first 1): {', '.join(found)}")
    return "\n".join(lines)


def beaten(runs: Runs) -> list[str]:
    """Problems of which some run found a decision that is better than the stored optimum, by more than nothing."""
    least: dict[str, float] = {}
    for (problem, _, _), rules in runs.items():
        found = min(regret for at in rules.values() for regret in at.values())
        least[problem] = min(least.get(problem, 0.0), found)
    return [problem for problem, value in least.items() if value < -floor(problem)]


def _mean(found: dict[int, float]) -> str:
    return f"{np.mean(list(found.values())):.2g}" if found else "–"


def _count(runs: Runs, problem: str, method: str) -> str:
    seeds = sum((p, m) == (problem, method) for p, m, _ in runs)
    return f" ({seeds})" if seeds else ""


def compare(runs: Runs, before: str, after: str) -> str:
    """The second method against the first, paired by problem and seed.

    A pair is the log of the ratio of regrets, each at least what is as good as none; a problem's is the mean over its
    seeds, and the error is that of the mean over problems. Below 1, the second is better.
    """
    lines = ["| t | problems | runs | ratio | from, to (one standard error) | better / worse |", "|---" * 6 + "|"]
    for t in LATER:
        by_problem, count = {}, 0
        for problem in dict.fromkeys(p for p, _, _ in runs):
            a, b, least = regrets(runs, problem, before, t), regrets(runs, problem, after, t), floor(problem)
            both = sorted(set(a) & set(b))
            if both:
                by_problem[problem] = float(np.mean([np.log(max(b[s], least) / max(a[s], least)) for s in both]))
                count += len(both)
        if len(by_problem) > 1:
            logs = np.array(list(by_problem.values()))
            error = logs.std(ddof=1) / len(logs) ** 0.5
            ends = f"{np.exp(logs.mean() - error):.2f}, {np.exp(logs.mean() + error):.2f}"
            won = f"{(logs < -1e-9).sum()} / {(logs > 1e-9).sum()}"
            lines.append(f"| {t} | {len(logs)} | {count} | {np.exp(logs.mean()):.2f} | {ends} | {won} |")
    return "\n".join(lines)


def ranks(runs: Runs, methods: Sequence[str], t: int) -> dict[str, Array]:
    """Of every method, its ranks on the problems and seeds that all of them have; 1 is best, equal ones share."""
    from scipy.stats import rankdata

    rows = []
    for problem in dict.fromkeys(p for p, _, _ in runs):
        each = [regrets(runs, problem, m, t) for m in methods]
        for seed in sorted(set.intersection(*map(set, each))):
            rows.append(rankdata([max(found[seed], floor(problem)) for found in each]))
    found = np.array(rows).reshape(-1, len(methods))
    return {m: found[:, i] for i, m in enumerate(methods)}


def draw(runs: Runs, methods: Sequence[str], folder: Path) -> None:
    """The two figures."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for method in methods:
        at = [(t, r) for t in MARKS if len(r := ranks(runs, methods, t)[method])]
        means = [r.mean() for _, r in at]
        errors = [r.std(ddof=1) / len(r) ** 0.5 if len(r) > 1 else 0.0 for _, r in at]
        axes.errorbar([t for t, _ in at], means, errors, marker="o", capsize=2, label=method)
    axes.set(xscale="log", xlabel="evaluations", ylabel="mean rank, 1 is best", xticks=MARKS, xticklabels=MARKS)
    axes.minorticks_off()
    axes.legend(fontsize="small")
    figure.savefig(folder / "field-ranks.png", dpi=150)
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for t in LATER:
        for wanted, style in (("choose", "--"), ("look", "-")):
            found = ratios(runs, methods[0], methods[1:], t).items()
            values = np.sort([r for p, (r, _) in found if part(p) == wanted])
            if len(values):
                share = (np.arange(len(values)) + 0.5) / len(values)
                axes.plot(share, values, style, color=f"C{LATER.index(t)}", label=f"{t} evaluations, {wanted}")
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set(yscale="log", xlabel="share of the problems", ylabel=f"regret of {methods[0]} / best other's")
    axes.legend(fontsize="small")
    figure.savefig(folder / "field-ratios.png", dpi=150)
    plt.close("all")
