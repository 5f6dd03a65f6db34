"""The files and the table of an experiment: JSON, curves (CSV), and figures (PNG and PDF)."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stableopt.base.arrays import Array
from stableopt.paper import drawing
from stableopt.paper.experiments.base import Claim, Experiment, Plan, Results, stderr
from stableopt.paper.experiments.store import versions, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NO_DATES: dict[str, Any] = {"CreationDate": None}  # files of the same numbers are the same bytes


def record(experiment: Experiment, results: Results, claims: list[Claim], seconds: float) -> dict[str, Any]:
    """Everything needed to check an experiment."""
    curves = results.curves
    return {
        "experiment": experiment.name,
        "settings": {**described(results.plan), **experiment.settings},
        "curves": {
            name: {"mean": runs.mean(axis=0).tolist(), "stderr": stderr(runs).tolist()} for name, runs in curves.items()
        },
        "final": {name: float(runs[:, -1].mean()) for name, runs in curves.items()},
        "claims": [asdict(claim) for claim in claims],
        "seconds": round(seconds, 3),
        "versions": versions(),
    }


def described(plan: Plan) -> dict[str, Any]:
    """The plan as JSON. Of a file of data, only its name is kept, since its folder is private."""
    data = None if plan.data is None else plan.data.name
    return {**asdict(plan), "algorithms": list(plan.algorithms), "data": data}


def save(experiment: Experiment, results: Results, claims: list[Claim], seconds: float, out: Path) -> list[Path]:
    """Write all files of an experiment, or none."""
    name = experiment.name
    files = {
        f"{name}.json": json.dumps(record(experiment, results, claims, seconds), indent=1, allow_nan=False).encode(),
        f"{name}.csv": _csv(results),
    }
    for figure_name, figure in experiment.figures(results).items():
        files[f"{figure_name}.png"] = image(figure, "png", dpi=110)
        figure.set_layout_engine("none")  # it has been laid out, which takes most of the time
        files[f"{figure_name}.pdf"] = image(figure, "pdf", metadata=_NO_DATES, dpi=150)
    files |= experiment.pictures(results)
    write({out / file: content for file, content in files.items()})
    return [out / file for file in files]


def image(figure: Figure, kind: str, **options: Any) -> bytes:
    """A figure as the content of a file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, **options)
    return buffer.getvalue()


def _csv(results: Results) -> bytes:
    """One row per algorithm and round: mean, standard error, and the paired difference from StableOpt."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["algorithm", "round", "mean", "stderr", "paired_difference", "paired_stderr"])
    curves = results.curves
    reference = curves.get("StableOpt")
    for name, runs in curves.items():
        gap = None if reference is None else runs - reference
        columns = [runs.mean(axis=0), stderr(runs)] + ([] if gap is None else [gap.mean(axis=0), stderr(gap)])
        for t, row in enumerate(np.array(columns).T.tolist(), start=1):
            table.writerow([name, t, *map(repr, row), *[""] * (4 - len(row))])
    return text.getvalue().encode()


def draw_curves(axes: Axes, experiment: Experiment, results: Results) -> None:
    """Mean of the experiment's measure over the rounds, by algorithm, with a band of one standard error."""
    bottom = None if experiment.larger_is_better else 0.0
    drawing.curves(axes, results.curves, f"mean {experiment.measure}", bottom)
    axes.set_title(f"mean over {results.plan.runs} runs, band: one standard error")


def rows(experiment: Experiment, results: Results) -> list[list[str]]:
    """The table: algorithm, mean ± standard error, paired difference from StableOpt with its interval."""
    table = []
    for name in results.plan.algorithms:
        final = results.final(name)
        mean = f"{final.mean():.3f} ± {float(stderr(final)):.3f}"
        gap = ""
        if name in results.others():
            difference = results.difference(name, "StableOpt")
            gap = f"{difference.mean:+.3f}"
            if math.isfinite(difference.low):
                gap += f" [{difference.low:+.3f}, {difference.high:+.3f}]"
        table.append([name, mean, gap])
    return table


def header(experiment: Experiment, plan: Plan) -> list[str]:
    """The head of the table."""
    return ["algorithm", f"{experiment.measure} at t = {plan.rounds}", "minus StableOpt, paired [95 % interval]"]


def best(experiment: Experiment, results: Results) -> str:
    """The algorithm with the best mean at the end."""
    sign = 1.0 if experiment.larger_is_better else -1.0
    means: dict[str, Array] = {name: sign * results.final(name).mean() for name in results.plan.algorithms}
    return max(means, key=lambda name: float(means[name]))
