"""Experiments by hand, over hours or weeks: ask for a point, measure it, tell the value; nothing that was told is lost.

A `Campaign` has the words, defaults and answers of `maximize`, which is a loop on one. What happens is recorded as
events, in a file if there is one; all the rest follows from them.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self, TypedDict, Unpack, overload

import numpy as np

from stableopt.base.checks import whole
from stableopt.base.values import Value
from stableopt.campaign.events import DONE, STATUSES, Changed, Created, Imported, Ledger, Told, Trial
from stableopt.campaign.kept import margins, moments
from stableopt.campaign.record import Record, confirmed, optimizer_of, settled, unsaid
from stableopt.campaign.results import Audit, Result, named, worst_cases
from stableopt.campaign.show import page, table
from stableopt.campaign.store import Memory, Store, name_of
from stableopt.campaign.tables import experiments, frame, points_of, rows_of
from stableopt.campaign.telling import Desk, Outcome, recorded_as
from stableopt.campaign.words import Ranges, Words
from stableopt.campaign.written import Reader, check_same
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.rules import Algorithm
from stableopt.loop.schedules import Schedule
from stableopt.model.gp import GP
from stableopt.model.learning import Learned

_SHOWN = 20  # trials in a notebook


class Setup(TypedDict, total=False):
    """The words that may be left out, for type checkers; `maximize` explains them."""

    environment: Any
    noise: float | str | None
    model: GP | Learned | None
    minimize: bool
    value: str
    constraints: Any
    where: Callable[[Any], Any] | None
    algorithm: str | Algorithm
    beta: float | Schedule
    explore: float | Schedule | None
    initial: int | None
    seed: int


class Changes(TypedDict, total=False):
    """What `Campaign.change` may change, for type checkers."""

    ranges: Ranges
    tolerance: Any
    environment: Any
    constraints: Any
    where: Callable[[Any], Any] | None
    noise: float | str | None
    model: GP | Learned | None
    algorithm: str | Algorithm
    beta: float | Schedule
    explore: float | Schedule | None


class Prediction(NamedTuple):
    """What the model expects of f, and its standard deviation, without the noise of a measurement."""

    mean: Any
    std: Any


class AskAndTell:
    """How a campaign begins and goes on; `Campaign` adds what is known by then."""

    def __init__(
        self,
        ranges: Ranges,
        tolerance: Any = None,
        *,
        file: str | os.PathLike[str] | None = None,
        data: Any = None,
        who: str | None = None,
        **words: Unpack[Setup],
    ) -> None:
        usual: dict[str, Any] = {
            "algorithm": FRONT_DOOR.algorithm,
            "beta": FRONT_DOOR.beta,
            "explore": FRONT_DOOR.explore,
        }
        self._begin(Words(ranges, tolerance, **{**usual, **words}), file, who)
        if data is not None:
            self.add(data, again=False)

    @classmethod
    def of(cls, words: Words, file: str | os.PathLike[str] | None = None) -> Self:
        """The campaign that these words describe."""
        campaign = cls.__new__(cls)
        campaign._begin(words, file, None)
        return campaign

    @classmethod
    def open(
        cls,
        file: str | os.PathLike[str],
        *,
        who: str | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        classes: Iterable[type[Value]] = (),
    ) -> Self:
        """The campaign of a file.

        functions, classes: those of your own that its words use, as in `Optimizer.from_json`.
        """
        from stableopt.campaign.files import File

        campaign = cls.__new__(cls)
        campaign._use(File(Path(file), Reader(functions, classes)), Path(file), who)
        try:
            _ = campaign.ledger  # refuses words whose functions are not there, and not the first question later on
        except BaseException:
            campaign._record.store.close()
            raise
        return campaign

    def _begin(self, words: Words, file: str | os.PathLike[str] | None, who: str | None) -> None:
        words = settled(words)
        fresh = words, optimizer_of(words)  # refuses what cannot be meant
        if file is None:
            self._use(Memory(), None, who, fresh)
            self._record.write(lambda ledger: [Created(words)], self.who)
            return
        from stableopt.campaign.files import File, create

        path = Path(file)
        if not path.exists() or not path.stat().st_size:
            with contextlib.suppress(FileExistsError):  # another process was faster: then its own counts
                create(path, Created(words), name_of(who))
        self._use(File(path, Reader(words=words)), path, who, fresh)
        check_same(words, self._record.words, path, unsaid(words))

    def _use(
        self, store: Store, path: Path | None, who: str | None, fresh: tuple[Words, Optimizer] | None = None
    ) -> None:
        self.file, self.who, self._record = path, name_of(who), Record(store, fresh)

    @overload
    def ask(self, n: None = None, *, attack: bool = False) -> Trial: ...
    @overload
    def ask(self, n: int, *, attack: bool = False) -> list[Trial]: ...
    def ask(self, n: int | None = None, *, attack: bool = False) -> Trial | list[Trial]:
        """What to measure next: an open trial, or a list of n, at points that differ from all open ones.

        attack: not where a better decision may be, but where the one that would be reported now may be worst. What is
            reported next is one that was attacked since the last trial of the other kind, unless another is better for
            certain.
        """
        count = 1 if n is None else whole(n, 1, "a number of trials 1, 2, 3, ...")
        trials = [self.trial(number) for number in self._record.ask(count, self.who, attack)]
        return trials[0] if n is None else trials

    def tell(
        self, trial: Any, value: Any = None, *, at: Any = None, noise: float | None = None, failed: Any = None
    ) -> Trial:
        """What came out of a trial, which is returned as it is now recorded.

        trial: the trial that `ask` returned, its number, or the settings that were used. Settings near those of an
            open trial (rounded, or within the tolerance) answer it. Others are data of their own: a warning says so.
        value: a number, or a dictionary with the number under the name of the values. With constraints, a dictionary
            with their numbers, too; one that was not measured is left out, or None.
        at: the settings that were really used, where they are not those that were asked for; of a dictionary, those
            that differ are enough.
        noise: the standard deviation of this value (constraints have that of their model).
        failed: in place of a value, why there is none.
        """
        outcome = Outcome.of(self._record.words.outputs, value, noise, failed)
        told = self._record.decide(self.who, lambda desk: desk.told(trial, outcome, at))
        recorded = self.trial(told.trial)
        if not told.serves and (remark := recorded_as(recorded, self.ledger)):
            warnings.warn(remark, stacklevel=2)
        return recorded

    def correct(
        self, trial: Any, value: Any = None, *, at: Any = None, noise: float | None = None, failed: Any = None
    ) -> Trial:
        """Another outcome in place of the one that was told; what is not given stays as it was.

        The earlier outcome stays in the history of the trial.
        """
        outcome = Outcome.of(self._record.words.outputs, value, noise, failed)
        return self.trial(self._record.decide(self.who, lambda desk: desk.corrected(trial, outcome, at)).trial)

    def abandon(self, trial: Any, why: str = "") -> Trial:
        """An open trial that will not be made. It says nothing about f, so its point may be proposed again."""
        return self.trial(self._record.decide(self.who, lambda desk: desk.abandoned(trial, why)).trial)

    def add(self, data: Any, *, again: bool = True) -> list[int]:
        """Earlier experiments, in the forms of `maximize`: each row becomes a trial, whose number is returned.

        again: whether a row counts once more if the same one was added or told before; as often as it was, if not.
        """
        words = self._record.words
        known, places = experiments(data, words, self._record.setting(self.ledger).translation.names)
        added: list[Imported] = []

        def decide(desk: Desk) -> Imported | None:
            data = desk.imported(known, places)
            added[:] = [data if again else _new(desk.ledger, data)]
            return added[0] if added[0].rows else None

        if self._record.decide(self.who, decide) is None:
            return []
        return list(range(added[0].first, added[0].first + len(added[0].rows)))

    def change(self, **words: Unpack[Changes]) -> None:
        """Other ranges, tolerance, environment or limits: what is not given stays, and all data are kept.

        It is refused where a trial does not fit, such as one outside the new ranges.
        """
        unknown = [name for name in words if name not in Changes.__annotations__]
        if unknown or not words:
            raise TypeError(f"expected some of {list(Changes.__annotations__)} to change, got {unknown}")

        def decide(desk: Desk) -> Changed:
            new = replace(self._record.words, **words)
            return desk._replace(setting=optimizer_of(new).state.setting).changed(new)

        self._record.decide(self.who, decide)

    def trial(self, number: int) -> Trial:
        """A trial by its number, with its history."""
        desk = self._record.desk(self.ledger)
        return desk.shown(desk.numbered(number))

    @property
    def ledger(self) -> Ledger:
        """All that has happened by now, also in other processes, for those who build on campaigns."""
        return self._record.ledger()


class Campaign(AskAndTell):
    """Experiments that are asked for and told one by one, or n at a time; in memory, or in a file that survives all.

    ranges, tolerance, environment, value, constraints, where, noise, initial, seed, model, beta, explore, algorithm:
        those of `maximize`.
    minimize: whether small values are good.
    data: earlier experiments, in the forms of `maximize`, or as the path of a CSV file.
    file: an SQLite database. If it is there, the campaign goes on: then the words must be the same.
    who: the name under which events are recorded; the user's, if it is not given.
    """

    @property
    def counts(self) -> dict[str, int]:
        """How many trials are done, failed, open and abandoned."""
        statuses = [trial.status for trial in self.ledger.trials.values()]
        return {status: statuses.count(status) for status in STATUSES}

    @property
    def open_trials(self) -> list[Trial]:
        """The trials that wait for an outcome."""
        return [self.trial(t.number) for t in self.ledger.open]

    @property
    def trials(self) -> list[dict[str, Any]]:
        """All trials as rows with a column for every parameter: the settings that were used, or are to be used."""
        return rows_of(self.ledger.trials.values(), self._record.words)

    def to_dataframe(self) -> Any:
        """The trials as a pandas DataFrame."""
        return frame(self.trials)

    @property
    def result(self) -> Result[Any]:
        """The decision to use now, as `maximize` returns it; computed from all that was told."""
        ledger = self.ledger
        optimizer, words = self._record.optimizer(ledger), ledger.said
        optimizer.algorithm = replace(optimizer.algorithm, reporting=confirmed(optimizer, ledger))
        kind = Result[Any] if words.decision is None else Audit[Any]
        return named(kind(optimizer, words.sign, "", ledger.errors), words.value, ledger.done)

    def report(self, file: str | os.PathLike[str]) -> Path:
        """Write all that is known as one HTML file, for people: see `stableopt.plots.report`, which draws it."""
        return page(self, file)

    def predict(self, points: Any, of: str | None = None) -> Prediction:
        """Mean and standard deviation of f at a point, or at many: dictionaries, rows of an array, or a table.

        Where values have a long tail, so that the model has a warp, it is the median and half of the range around it.
        of: the name of a constraint, whose mean and standard deviation are wanted in place of those of the value.
        """
        state, sign = self._record.optimizer().state, self._record.words.sign
        rows, one = points_of(points, state.setting)
        indices = [state.setting.translation.point_index(row) for row in rows]
        limited = self._limited(of)
        mean, variance = state.moments(indices) if limited is None else moments(state, limited, indices)
        mean, std = sign * mean if limited is None else mean, np.sqrt(variance)
        return Prediction(float(mean[0]), float(std[0])) if one else Prediction(mean, std)

    def bounds(self, decisions: Any, of: str | None = None) -> Any:
        """The bounds on the worst case of a decision, or a list of them for many: in any of the forms of `predict`.

        of: the name of a constraint; then, what is known of its limits at the decision, as in ``result.constraints``.
        """
        state, sign = self._record.optimizer().state, self._record.words.sign
        rows, one = points_of(decisions, state.setting, decisions=True)
        indices, limited = [state.setting.translation.decision_index(row) for row in rows], self._limited(of)
        found: Sequence[Any] = (
            worst_cases(state, indices, sign) if limited is None else margins(state, limited, indices)
        )
        return found[0] if one else found

    def _limited(self, of: str | None) -> int | None:
        """Which constraint has this name, from 0; None: it is that of the value, or none is given."""
        names = self._record.words.outputs
        if of is not None and of not in names:
            raise ValueError(f"expected the name of the value or of a constraint, {list(names)}, got {of!r:.200}")
        return None if of in (None, names[0]) else names.index(str(of)) - 1

    def close(self) -> None:
        """Close the file. Whatever was told is in it already."""
        self._record.store.close()

    def __repr__(self) -> str:
        where = "in memory" if self.file is None else str(self.file)
        counts = ", ".join(f"{n} {status}" for status, n in self.counts.items() if n or status == DONE)
        return f"Campaign({where}: {counts})"

    def _repr_html_(self) -> str:
        """The trials as a table, the last ones first, for notebooks."""
        rows = self.trials[::-1]
        shown = [list(row.values()) for row in rows[:_SHOWN]]
        more = f", the last {_SHOWN} of {len(rows)} trials" if len(rows) > _SHOWN else ""
        return table(list(rows[0]) if rows else ("trial",), shown, f"{self!r}{more}")


def _new(ledger: Ledger, data: Imported) -> Imported:
    """The rows that no trial has, nor had before it was corrected; each trial stands for one of them."""
    trials: dict[tuple[str, str], list[int]] = {}
    for number, trial in ledger.trials.items():
        outcomes = [e.what for e in trial.history if isinstance(e.what, Imported | Told)]
        rows = [w.rows[number - w.first] if isinstance(w, Imported) else (trial.settings, w.values) for w in outcomes]
        for key in {_key(row[0], row[1]) for row in [*rows, (trial.settings, trial.values)] if outcomes}:
            trials.setdefault(key, []).append(number)
    known: set[int] = set()
    new = []
    for row in data.rows:
        same = next((n for n in trials.get(_key(row[0], row[1]), ()) if n not in known), None)
        if same is None:
            new.append(row)
        else:
            known.add(same)
    return replace(data, rows=tuple(new))


def _key(settings: Any, values: Mapping[str, float]) -> tuple[str, str]:
    """What makes two experiments the same."""
    return repr(settings), repr(sorted(values.items()))
