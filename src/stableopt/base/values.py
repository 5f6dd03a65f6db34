"""Frozen values that are nothing but their fields: compared, hashed and written as JSON by them.

Kernels, domains, uncertainty sets and rules are such values, so the specification of a run is one nested
dictionary, and reading it back gives an equal value. Nothing here knows what the values mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
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
        scalars = (getattr(self, f.name) for f in fields(self))  # type: ignore[arg-type]
        return hash((_kind(type(self)), *(item for item in scalars if isinstance(item, int | float | str))))


def _kind(cls: type) -> str:
    """The name of a class in JSON; those of other packages carry their module, so that they replace none of ours."""
    return cls.__name__ if cls.__module__.split(".")[0] == "stableopt" else f"{cls.__module__}.{cls.__qualname__}"


def from_dict(data: Any, functions: Mapping[str, Callable[..., Any]] | None = None) -> Any:
    """What `Value.to_dict` wrote; a function in it is looked up by its name in ``functions``."""
    if isinstance(data, list):
        return [from_dict(item, functions) for item in data]
    if not isinstance(data, dict):
        return data
    if "function" in data:
        return _function(data["function"], functions or {})
    if data.get("kind") not in _KINDS:
        raise ValueError(f"expected one of {sorted(_KINDS)} as a kind of value, got {data.get('kind')!r}")
    return _KINDS[data["kind"]](**{key: from_dict(item, functions) for key, item in data.items() if key != "kind"})


def _plain(item: Any, function: Callable[[Any], Any]) -> Any:
    """Lists and dictionaries of numbers and strings; ``function`` says what stands for a function in them."""
    if isinstance(item, Value):
        content = {f.name: _plain(getattr(item, f.name), function) for f in fields(item)}  # type: ignore[arg-type]
        return {"kind": _kind(type(item))} | content
    if isinstance(item, np.ndarray | np.generic):
        return item.tolist()
    if isinstance(item, list | tuple):
        return [_plain(part, function) for part in item]
    return function(item) if callable(item) else item


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
