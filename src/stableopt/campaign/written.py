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

from stableopt.base.values import Functions, Value, from_dict
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


def text_of(what: Happening) -> tuple[str, str]:
    """The kind of an event, and its content as JSON."""
    content = asdict(what) if not isinstance(what, Created | Changed) else {"words": as_data(what.words)}
    return type(what).__name__.lower(), json.dumps(content, allow_nan=False)


def reader(
    functions: Functions | None = None, classes: Iterable[type[Value]] = (), words: Words | None = None
) -> Callable[[str, str], Happening]:
    """What reads an event from its kind and its JSON.

    functions, classes: those of the user, which JSON cannot hold. words: taken where they are those of the file.
    """
    known, same = list(classes), None if words is None else as_data(words)

    def read(kind: str, text: str) -> Happening:
        content = json.loads(text)
        if kind in ("created", "changed"):
            found = words if same == content["words"] else _words(content["words"], functions, known)
            return KINDS[kind](found)  # type: ignore[call-arg, arg-type]
        if kind == "imported":
            return Imported(content["first"], tuple((p, v, s) for p, v, s in content["rows"]))
        return KINDS[kind](**content)

    return read


def as_data(words: Words) -> dict[str, Any]:
    """The words as JSON-ready data."""
    given = {f.name: getattr(words, f.name) for f in fields(Words)} | {"ranges": words.domain}
    given["constraints"] = words.limits or None
    return {name: _data(item, name) for name, item in given.items() if item is not None or name not in _LATER}


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


def _words(data: Mapping[str, Any], functions: Functions | None, classes: list[type[Value]]) -> Words:
    return Words(**{name: _item(item, functions, classes) for name, item in data.items()})


def _data(item: Any, name: str) -> Any:
    if isinstance(item, Value):
        return item.to_dict()
    if isinstance(item, Mapping):
        return {"items": [[_data(k, name), _data(v, name)] for k, v in item.items()]}
    if isinstance(item, np.ndarray | np.generic):
        return item.tolist()
    if isinstance(item, bool | int | float | str) or item is None:
        return item
    if name == "where" and callable(item):
        return {"function": getattr(item, "__qualname__", name)}
    if isinstance(item, list | tuple):
        return [_data(part, name) for part in item]
    raise TypeError(f"expected {name} as something that a file can hold, got {item!r:.200}")


def _item(data: Any, functions: Functions | None, classes: list[type[Value]]) -> Any:
    if isinstance(data, list):
        return [_item(part, functions, classes) for part in data]
    if not isinstance(data, dict):
        return data
    if "items" in data:
        return {_key(k): _item(v, functions, classes) for k, v in data["items"]}
    return from_dict(data, functions, classes)


def _key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
