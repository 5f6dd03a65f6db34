"""The file of a campaign: an SQLite database with one table of events, one transaction for what one call records.

    application_id, user_version   what the file is, and the version of its format
    events                         seq, time, who, kind, body (JSON)

What was recorded survives a kill at any moment: the log is written ahead and synchronised before a call returns. Many
processes may have the file open. Whatever cannot be used is refused with the reason, and stays as it is.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stableopt.base.checks import destination, no_folder
from stableopt.base.locks import Lock
from stableopt.campaign.events import Event, Happening
from stableopt.campaign.store import Append, now
from stableopt.campaign.written import Reader, text_of

APPLICATION = 0x53744F70  # "StOp"
FORMAT = 1
PATIENCE = 60.0  # seconds that a call waits for others who write

_HEADER = b"SQLite format 3\x00"
_TABLE = """CREATE TABLE events (
    seq INTEGER PRIMARY KEY, time TEXT NOT NULL, who TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL)"""
_INSERT = "INSERT INTO events (time, who, kind, body) VALUES (?, ?, ?, ?)"
_reading = Lock()
_descriptors: dict[tuple[int, int, int], int] = {}  # by process and file


class File:
    """The events of a campaign in a file. A process that was forked gets a connection of its own."""

    def __init__(self, path: Path, reader: Reader) -> None:
        """The file must be there; `create` makes one."""
        self.path, self._reader = path, reader
        _check_header(path)
        self._db = self._connected()
        with self._explained("read"):
            wrong = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if wrong != "ok":
            raise _damaged(path, wrong)

    def _connected(self) -> sqlite3.Connection:
        self._owner = os.getpid()
        with self._explained("opened"):
            db = sqlite3.connect(
                f"{self.path.resolve().as_uri()}?mode=rw",
                uri=True,
                timeout=PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )
            db.execute("PRAGMA synchronous = FULL")
            return db

    def read(self, after: int) -> list[Event]:
        if self._owner != os.getpid():
            self._db = self._connected()
        with self._explained("read"):
            rows = self._db.execute(
                "SELECT seq, time, who, kind, body FROM events WHERE seq > ? ORDER BY seq", (after,)
            ).fetchall()
        last = max((seq for seq, _, _, kind, _ in rows if kind in ("created", "changed")), default=0)
        return [self._event(*row, past=row[0] < last) for row in rows]

    def _event(self, seq: int, time: str, who: str, kind: str, body: str, *, past: bool) -> Event:
        try:
            return Event(seq, time, who, self._reader.read(kind, body, past=past))
        except (KeyError, AttributeError) as error:
            raise _damaged(self.path, f"event {seq} ({kind!r:.40}) cannot be read: {error!r:.100}") from None

    @contextmanager
    def writing(self) -> Iterator[Append]:
        if self._owner != os.getpid():
            self._db = self._connected()
        db = self._db

        def append(whats: Sequence[Happening], who: str) -> None:
            rows = [(now(), who, *text) for text in self._reader.written(whats)]
            with self._explained("written"):
                db.executemany(_INSERT, rows)

        with self._explained("written"):
            db.execute("BEGIN IMMEDIATE")
        try:
            yield append
            with self._explained("written"):
                db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                with contextlib.suppress(sqlite3.Error):  # a full disk has rolled back already
                    db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        if self._owner == os.getpid():
            self._db.close()

    @contextmanager
    def _explained(self, verb: str) -> Iterator[None]:
        """What the database says, in words, with what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise _explanation(self.path, verb, error) from error


def create(path: Path, what: Happening, who: str) -> None:
    """A new file with its first event. It appears whole or not at all; where another process was faster, its own."""
    kind, body = text_of(what)
    destination(path, "the file of a campaign")
    if path.exists() and path.stat().st_size:
        raise FileExistsError(f"expected a new file, got {path}, which is there")
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {FORMAT}")
            db.execute(_TABLE)
            db.execute(_INSERT, (now(), who, kind, body))
        if path.exists():  # empty
            new.replace(path)
        else:
            _appear(new, path)
    except sqlite3.Error as error:
        raise _explanation(path, "created", error) from error
    finally:
        for left in (new, Path(f"{new}-wal"), Path(f"{new}-shm"), Path(f"{new}-journal")):
            left.unlink(missing_ok=True)


def _appear(new: Path, path: Path) -> None:
    """Give the file its name, unless somebody has just done so."""
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        new.replace(path)


def _head(path: Path) -> bytes:
    """The first bytes of a file. They are read once in a process, and its descriptor is never closed.

    POSIX takes all locks that a process has on a file when it closes any descriptor of it: then another process would
    take itself for the last one, delete the write-ahead log, and what connections here write would be lost.
    """
    with _reading:
        there = path.stat()
        key = os.getpid(), there.st_dev, there.st_ino
        if key not in _descriptors:
            _descriptors[key] = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        os.lseek(_descriptors[key], 0, os.SEEK_SET)
        return os.read(_descriptors[key], 100)


def _check_header(path: Path) -> None:
    """Refuse what is no campaign, without touching it."""
    if not no_folder(path, "the file of a campaign").is_file():
        raise FileNotFoundError(
            f"expected the file of a campaign, got {path}, which is not there: Campaign(..., file=...)"
        )
    try:
        head = _head(path)
    except OSError as error:
        raise OSError(f"{path} cannot be read: {error.strerror}") from error
    if len(head) < 100 and head[:16] == _HEADER[: len(head[:16])]:
        raise _damaged(path, f"it has {len(head)} bytes")
    version, application = struct.unpack(">I4xI", head[60:72]) if head[:16] == _HEADER else (0, 0)
    if application != APPLICATION:
        raise ValueError(f"expected the file of a campaign, got {path}, which is another program's: it stays as it is")
    if version != FORMAT:
        raise ValueError(
            f"expected a campaign in format {FORMAT}, got {path} in format {version}: use the version of stableopt "
            "that wrote it"
        )


def _damaged(path: Path, why: str) -> ValueError:
    return ValueError(f"the file {path} is damaged ({why}): take a copy of it, and go on with a backup")


def _explanation(path: Path, verb: str, error: sqlite3.Error) -> Exception:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "no such table" in str(error):
        return _damaged(path, str(error))
    if "closed database" in str(error):
        return ValueError(f"this campaign was closed: Campaign.open({str(path)!r}) goes on with it")
    reasons = {
        "SQLITE_FULL": "the disk is full: make room and try again",
        "SQLITE_READONLY": "it is read-only: change its permissions, or copy it",
        "SQLITE_BUSY": f"another process has been writing for {PATIENCE:.0f} s: try again",
        "SQLITE_CANTOPEN": "the file or its folder cannot be opened: look at their permissions",
        "SQLITE_IOERR": "the disk reports an error, or is full: make room and try again",
    }
    reason = next((text for key, text in reasons.items() if name.startswith(key)), str(error))
    return OSError(f"{path} cannot be {verb}, and nothing was recorded: {reason}")
