"""MovieLens-100K: found, fetched or taken from a file, and always checked by its hash. It may not be redistributed.

In this order: a file of the user's, the user's cache, GroupLens' own download, and a wheel from pip's registry with a
copy inside (recbole 1.2.1). Whatever was fetched is kept in the cache.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stableopt.base.arrays import Array
from stableopt.paper.experiments.base import DataError
from stableopt.paper.experiments.store import write

OFFICIAL = "https://files.grouplens.org/datasets/movielens/ml-100k.zip"
WHEEL = "recbole==1.2.1"
SHA256 = "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490"
_ENDINGS = ("u.data", "ml-100k.inter")  # in GroupLens' archive, in the wheel
_MOST_BYTES = 100_000_000
_COLUMNS = (
    ("the number of a user", re.compile(rb"[1-9][0-9]*")),
    ("the number of a movie", re.compile(rb"[1-9][0-9]*")),
    ("a rating of 1, 2, 3, 4 or 5", re.compile(rb"[1-5]")),
    ("a time in seconds", re.compile(rb"[0-9]+")),
)
_HELP = (
    f"MovieLens-100K is needed. Either download {OFFICIAL} and pass it (or the file u.data in it) with --data PATH, "
    f"or run `pip download --no-deps {WHEEL}` and pass the wheel with --data PATH"
)


@dataclass(frozen=True, eq=False)
class Ratings:
    """User j gave movie i the rating 1 to 5; numbers of users and movies start at 0."""

    users: NDArray[np.intp]
    movies: NDArray[np.intp]
    values: Array


def load_ratings(path: Path | None = None, *, url: str = OFFICIAL, cache: Path | None = None) -> Ratings:
    """The 100,000 ratings, from wherever they can be had."""
    if path is not None:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DataError(f"cannot read {path} ({error.strerror}). {_HELP}") from None
        try:
            return _parse(_checked(content, str(path)))
        except DataError as error:
            raise DataError(f"{error}. {_HELP}") from None
    kept = (cache or cache_folder()) / "ml-100k" / "u.data"
    try:
        return _parse(_checked(kept.read_bytes(), str(kept)))
    except (OSError, DataError):
        pass  # not there yet, or damaged: fetch it (again)
    content = _fetched(url)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write({kept: content})
    except OSError:
        pass  # a cache that cannot be written is no reason to stop
    return _parse(content)


def cache_folder() -> Path:
    """The folder where this user's programs keep downloads."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "stableopt"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "stableopt" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stableopt"


def _fetched(url: str) -> bytes:
    """u.data from the official source, or else from the wheel."""
    failures = []
    sources: list[tuple[str, Callable[[], bytes]]] = [
        (url, lambda: _download(url)),
        (f"the wheel {WHEEL}", _from_registry),
    ]
    for source, fetch in sources:
        try:
            return _checked(fetch(), "the download")
        except (OSError, DataError, subprocess.SubprocessError) as error:
            failures.append(f"{source}: {error}")
    raise DataError(f"{_HELP}. What was tried: {'; '.join(failures)}")


def _download(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=20) as response:
            content: bytes = response.read(_MOST_BYTES)
    except urllib.error.URLError as error:
        raise DataError(f"no answer ({error.reason})") from None
    return content


def _from_registry() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        tried = subprocess.run([*command, "--dest", folder, WHEEL], capture_output=True, text=True, timeout=300)
        wheels = list(Path(folder).glob("*.whl"))
        if tried.returncode or not wheels:
            raise DataError((tried.stderr.strip().splitlines() or ["pip found nothing"])[-1])
        return wheels[0].read_bytes()


def _checked(content: bytes, where: str) -> bytes:
    """u.data, which the content is or contains; an error if it is not exactly the original."""
    if zipfile.is_zipfile(io.BytesIO(content)):
        content = _unpacked(content, where)
    lines_before = 0
    if content.startswith(b"user_id"):  # the wheel's copy has one line more, a header
        content, lines_before = content.partition(b"\n")[2], 1
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256:  # only now the lines are looked at, to locate the mistake
        _check_form(content, where, lines_before)
        raise DataError(
            f"{where} is not the original u.data (expected the sha256 {SHA256[:16]}..., got {found[:16]}...): copies "
            "are often altered"
        )
    return content


def _unpacked(content: bytes, where: str) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            inside = [name for name in archive.namelist() if name.rsplit("/", 1)[-1] in _ENDINGS]
            if inside:
                return archive.read(inside[0])
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:  # damaged, or behind a password
        raise DataError(f"{where} is an archive that cannot be unpacked ({error})") from None
    raise DataError(f"{where} is an archive without {' or '.join(_ENDINGS)}")


def _check_form(content: bytes, where: str, lines_before: int) -> None:
    """An error at the first field that cannot be one of u.data."""
    if b"\0" in content:
        raise DataError(f"{where} is a binary file: expected the text file u.data, or an archive with it")
    for line, text in enumerate(content.splitlines() or [b""], start=lines_before + 1):
        cells = text.split(b"\t")
        for column, (expected, form) in enumerate(_COLUMNS, start=1):
            cell = cells[column - 1] if column <= len(cells) else None
            if cell is None or not form.fullmatch(cell):
                got = "the end of the line" if cell is None else repr(cell[:40].decode("utf-8", "backslashreplace"))
                raise DataError(
                    f"{where}, line {line}, column {column}: expected {expected}, got {got}; a line has user, movie, "
                    "rating and time, with tabs between them"
                )
        if len(cells) > len(_COLUMNS):
            raise DataError(f"{where}, line {line}, column {len(_COLUMNS) + 1}: expected the end of the line, got more")


def _parse(content: bytes) -> Ratings:
    table = np.loadtxt(io.BytesIO(content), dtype=np.intp, usecols=(0, 1, 2))
    return Ratings(table[:, 0] - 1, table[:, 1] - 1, table[:, 2].astype(float))
