"""How events are written as JSON and read again.

The words of a campaign hold values of this library, and dictionaries of them: a dictionary is written as a list of its
items, so that it cannot be taken for a value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from stableopt.base.values import Functions, Value, from_dict, named
from stableopt.campaign.events import Abandoned, Asked, Changed, Created, Happening, Imported, Told
from stableopt.campaign.words import Words

KINDS: dict[str, type[Happening]] = {
    c.__name__.lower(): c for c in (Created, Changed, Asked, Told, Abandoned, Imported)
}

_FIXED = (
    "value",
    "minimize",
    "initial",
    "seed",
    "decision",
)  # words that stay as they are as long as a campaign goes on
_LATER = (
    "constraints",
    "where",
)  # words that files of earlier versions do not have: they are written where they are used


Names = dict[str, Callable[..., Any]]
"""Functions of the user, which JSON cannot hold, by the names under which words have them."""


def text_of(what: Happening, names: Names | None = None) -> tuple[str, str]:
    """The kind of an event, and its content as JSON; the functions of its words are added to ``names``."""
    if isinstance(what, Created | Changed):
        assert what.words is not None  # only what is read can be without
        return type(what).__name__.lower(), json.dumps({"words": as_data(what.words, names)}, allow_nan=False)
    content = asdict(what)
    return type(what).__name__.lower(), json.dumps(content, allow_nan=False)


class Reader:
    """What reads events from their JSON, and knows the functions of the words that it read and wrote."""

    def __init__(
        self, functions: Functions | None = None, classes: Iterable[type[Value]] = (), words: Words | None = None
    ) -> None:
        """functions, classes: those of the user. words: taken where they are those of the file."""
        self._names, self._classes = dict(functions or {}), list(classes)
        self._words, self._same = words, None if words is None else as_data(words, self._names)

    def read(self, kind: str, text: str, *, past: bool = False) -> Happening:
        """An event from its kind and its JSON; the functions of ``past`` words are not needed any more."""
        content = json.loads(text)
        if kind in ("created", "changed"):
            return KINDS[kind](None if past else self._said(content["words"]))  # type: ignore[call-arg, arg-type]
        if kind == "imported":
            return Imported(content["first"], tuple((p, v, s) for p, v, s in content["rows"]))
        return KINDS[kind](**content)

    def written(self, whats: Sequence[Happening]) -> list[tuple[str, str]]:
        """The kinds and the JSON of events. A function may not have the name of another one that is or was known.

        Who has the file open elsewhere, or opens it later, knows functions by their names alone.
        """
        names = dict(self._names)
        texts = [text_of(what, names) for what in whats]
        self._names = names
        return texts

    def _said(self, data: Mapping[str, Any]) -> Words:
        if self._words is not None and self._same == data:
            return self._words
        return Words(**{name: _item(item, self._names, self._classes, name) for name, item in data.items()})


def as_data(words: Words, names: Names | None = None) -> dict[str, Any]:
    """The words as JSON-ready data; functions with names of their own, which are added to those that are known."""
    names = {} if names is None else names
    given = {f.name: getattr(words, f.name) for f in fields(Words)} | {"ranges": words.domain}
    given["constraints"] = words.limits or None
    return {name: _data(item, name, names) for name, item in given.items() if item is not None or name not in _LATER}


def check_same(words: Words, known: Words, path: Path, unsaid: Sequence[str] = ()) -> None:
    """A file goes on with the words that it has; others are refused, since they would be lost without a remark.

    unsaid: names of words that are only defaults, which may have been others when the file was begun.
    """
    given, there = as_data(words), as_data(known)
    names = [name for name in {**given, **there} if name not in unsaid]
    other = [name for name in names if given.get(name) != there.get(name)]
    if other:
        fixed = [name for name in other if name in _FIXED]
        remedy = f"another {fixed[0]} needs another file" if fixed else "change(...) changes them"
        raise ValueError(
            f"expected the words of the campaign in {path}, got another {', '.join(other)}: Campaign.open(file) goes "
            f"on with its own, and {remedy}"
        )


def _data(item: Any, name: str, names: Names) -> Any:
    if isinstance(item, Value):
        return item.to_dict(names)
    if isinstance(item, Mapping):
        return {"items": [[_data(k, name, names), _data(v, name, names)] for k, v in item.items()]}
    if isinstance(item, np.ndarray | np.generic):
        return item.tolist()
    if isinstance(item, bool | int | float | str) or item is None:
        return item
    if name == "where" and callable(item):
        return {"function": named(item, names, name)}
    if isinstance(item, list | tuple):
        return [_data(part, name, names) for part in item]
    raise TypeError(f"expected {name} as something that a file can hold, got {item!r:.200}")


def _item(data: Any, functions: Functions, classes: list[type[Value]], where: str) -> Any:
    if isinstance(data, list):
        return [_item(part, functions, classes, where) for part in data]
    if not isinstance(data, dict):
        return data
    if "items" in data:
        return {_key(k): _item(v, functions, classes, where) for k, v in data["items"]}
    return from_dict(data, functions, classes, where)


def _key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
