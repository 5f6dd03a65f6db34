"""What a dashboard shows of a study beside its trials: the certificate in words, and pictures of the run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Unpack

from optuna.artifacts import upload_artifact
from optuna.study import Study

from stableopt.integrations.optuna.certificates import Certificate
from stableopt.integrations.optuna.said import StudyWords

CERTIFICATE = "stableopt:certificate"
PICTURES = ("landscape", "contenders", "progress")


def publish(
    study: Study,
    store: Any = None,
    tolerance: Any = None,
    *,
    pictures: Iterable[str] = PICTURES,
    **words: Unpack[StudyWords],
) -> Certificate:
    """Show the stable decision on the page of a study: its certificate as an attribute, pictures as artifacts.

    store: Optuna's artifact store of the dashboard, such as ``FileSystemArtifactStore("artifacts")``; without one there
        are no pictures.
    tolerance and words: as in `stable_best`.
    pictures: names of `stableopt.plots` that need no more than an answer.
    """
    from stableopt.integrations.optuna.answers import stable_best

    best = stable_best(study, tolerance, **words)
    found = Certificate.of(best.report, best.sign)
    wanted = list(pictures) if store is not None else []
    unknown = [name for name in wanted if name not in (*PICTURES, "hurts", "slices", "calibration")]
    if unknown:
        raise ValueError(f"expected pictures such as {list(PICTURES)}, got {unknown}")
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            path = Path(folder) / f"{name}.png"
            _draw(name, best, path)
            upload_artifact(artifact_store=store, file_path=str(path), study_or_trial=study, mimetype="image/png")
    study.set_user_attr(CERTIFICATE, str(found))
    return found


def _draw(name: str, best: Any, path: Path) -> None:
    from stableopt import plots

    drawn = getattr(plots, name)(best)
    figure = drawn if hasattr(drawn, "savefig") else drawn.get_figure()
    figure.savefig(path, dpi=110)
    from matplotlib import pyplot

    pyplot.close(figure)
