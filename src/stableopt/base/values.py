"""Frozen values that are nothing but their fields: compared, hashed and written as JSON by them.

Kernels, domains, uncertainty sets and rules are such values, so the specification of a run is one nested
dictionary, and reading it back gives an equal value. Nothing here knows what the values mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np

_KINDS: dict[str, type[Value]] = {}


class ReadOnly:
    """Base of values whose arrays are read-only, also in copies: pickling alone would make them writeable."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for item in state.values():
            for part in item if isinstance(item, tuple) else (item,):
                if isinstance(part, np.ndarray):
                    part.flags.writeable = False


class Value(ReadOnly):
    """Base of every frozen dataclass of this library that belongs to a run's specification."""

    def __init_subclass__(cls) -> None:
        _KINDS[_kind(cls)] = cls

    def to_dict(self) -> dict[str, Any]:
        """The value as JSON-ready data: its class under "kind", then its fields."""
        content: dict[str, Any] = _plain(self, partial(_by_name, {}))
        return content

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and bool(_plain(self, _itself) == _plain(other, _itself))

    def __hash__(self) -> int:
        scalars = (getattr(self, name) for name in _fields(type(self)))
        return hash((_kind(type(self)), *(item for item in scalars if isinstance(item, int | float | str))))


def _kind(cls: type) -> str:
    """The name of a class in JSON; those of other packages carry their module, so that they replace none of ours."""
    return cls.__name__ if cls.__module__.split(".")[0] == "stableopt" else f"{cls.__module__}.{cls.__qualname__}"


def _fields(cls: type) -> list[str]:
    if not is_dataclass(cls):
        raise TypeError(f"expected {cls.__name__} to be a dataclass, to compare and store it: @dataclass(frozen=True)")
    return [field.name for field in fields(cls)]


def from_dict(
    data: Any, functions: Mapping[str, Callable[..., Any]] | None = None, classes: Iterable[type[Value]] = ()
) -> Any:
    """What `Value.to_dict` wrote. A function in it is looked up by its name in ``functions``.

    classes: classes of other packages, which are found by their name, whatever module they are in now.
    """
    named = {cls.__qualname__: cls for cls in classes}
    return _read(data, functions or {}, named)


def _read(data: Any, functions: Mapping[str, Callable[..., Any]], classes: Mapping[str, type[Value]]) -> Any:
    if isinstance(data, list):
        return [_read(item, functions, classes) for item in data]
    if not isinstance(data, dict):
        return data
    if "function" in data:
        return _function(data["function"], functions)
    cls = _class(data.get("kind"), classes)
    return cls(**{key: _read(item, functions, classes) for key, item in data.items() if key != "kind"})


def _class(kind: Any, classes: Mapping[str, type[Value]]) -> type[Value]:
    """The class of this name: one of ours, one that was named, or one that is imported anyway."""
    own = isinstance(kind, str) and "." in kind  # not of this package
    found = [cls for name, cls in classes.items() if own and f".{kind}".endswith(f".{name}")]
    if found:
        return found[0]
    if kind in _KINDS:
        return _KINDS[kind]
    if own:
        name = kind.rsplit(".", 1)[-1]
        raise ValueError(f"the run uses the class {kind!r}, which is not known here: pass classes=[{name}]")
    raise ValueError(f"expected one of {sorted(_KINDS)} as a kind of value, got {kind!r}")


def _plain(item: Any, function: Callable[[Any], Any], where: str = "a value") -> Any:
    """Lists and dictionaries of numbers and strings; ``function`` says what stands for a function in them."""
    if isinstance(item, Value):
        cls = type(item)
        content = {name: _plain(getattr(item, name), function, f"{cls.__name__}.{name}") for name in _fields(cls)}
        return {"kind": _kind(cls)} | content
    if isinstance(item, np.ndarray | np.generic):
        return item.tolist()
    if isinstance(item, list | tuple):
        return [_plain(part, function, where) for part in item]
    if item is None or isinstance(item, bool | int | float | str):
        return item
    if callable(item):
        return function(item)
    raise TypeError(
        f"expected {where} to be a number, a string, a list of these, a value of this library or a function, so that "
        f"to_dict can write it, got {item!r:.200}"
    )


def _itself(function: Any) -> Any:
    return function


def _by_name(known: dict[str, Any], function: Any) -> dict[str, str]:
    """A function as its name, which no other one of those that are known may have: all lambdas share theirs."""
    name = getattr(function, "__qualname__", None)
    if name is None or known.setdefault(name, function) != function:
        raise TypeError(
            f"expected functions with names of their own, so that a run can be stored, got {function!r}: use def"
        )
    return {"function": name}


def _function(name: str, functions: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    if name not in functions:
        raise ValueError(
            f"the run uses the function {name!r}, which JSON cannot hold: pass functions={{{name!r}: ...}}, "
            f"got {sorted(functions)}"
        )
    return functions[name]
