"""Frozen values that are nothing but their fields: compared, hashed and written as JSON by them.

Kernels, domains, uncertainty sets and rules are such values: a run's specification is one nested dictionary of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np

Functions = Mapping[str, Callable[..., Any]]
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
    """Base of whatever belongs to a run's specification: frozen dataclasses, and classes without fields."""

    def __init_subclass__(cls) -> None:
        _KINDS[_kind(cls)] = cls

    def to_dict(self, functions: dict[str, Callable[..., object]] | None = None) -> dict[str, Any]:
        """The value as JSON-ready data: its class under "kind", then its fields.

        functions: by the names that they have already, for values that are written together; others are added.
        """
        return dict(_plain(self, {} if functions is None else functions))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and bool(_plain(self) == _plain(other))

    def __hash__(self) -> int:
        scalars = (getattr(self, name) for name in _fields(self))
        return hash((_kind(type(self)), *(item for item in scalars if isinstance(item, int | float | str))))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _kind(cls: type) -> str:
    """The name of a class in JSON; those of other packages carry their module, so that they replace none of ours."""
    return cls.__name__ if cls.__module__.split(".")[0] == "stableopt" else f"{cls.__module__}.{cls.__qualname__}"


def _fields(value: Value) -> list[str]:
    """The names of its fields. A class without any, such as a rule that only has a method, is a value as it is."""
    if is_dataclass(value):
        return [field.name for field in fields(value)]
    if vars(value):
        name = type(value).__name__
        raise TypeError(f"expected {name} to be a dataclass, to compare and store it: @dataclass(frozen=True)")
    return []


def from_dict(
    data: Any, functions: Functions | None = None, classes: Iterable[type[Value]] = (), where: str = "the data"
) -> Any:
    """What `Value.to_dict` wrote. A function in it is looked up by its name in ``functions``.

    classes: classes of other packages, which are found by their name, whatever module they are in now.
    where: what the data are called in errors, which say where in them something is wrong.
    """
    known, named = functions or {}, _listed(classes)

    def read(item: Any, where: str) -> Any:
        if isinstance(item, list):
            return [read(part, f"{where}[{i}]") for i, part in enumerate(item)]
        if not isinstance(item, dict):
            return item
        if "function" in item:
            if isinstance(name := item["function"], str) and name in known:
                return known[name]
            remedy = f"pass functions={{{name!r}: ...}} when you open it, got {sorted(known)}"
            raise ValueError(f"the run uses the function {name!r} at {where}, which JSON cannot hold: {remedy}")
        cls = _class(item.get("kind"), named, where)
        return _made(cls, {key: read(part, f"{where}.{key}") for key, part in item.items() if key != "kind"}, where)

    try:
        return read(data, where)
    except RecursionError:
        raise ValueError(f"expected {where} as it was written, got values nested too deeply") from None


def _made(cls: type[Value], content: dict[str, Any], where: str) -> Value:
    """The value with this content; an error that says where it was."""
    own: tuple[Field[Any], ...] = fields(cls) if is_dataclass(cls) else ()
    expected = {field.name: field.default is MISSING and field.default_factory is MISSING for field in own}
    missing, strange = [key for key in expected if expected[key] and key not in content], content.keys() - expected
    if missing or strange:
        got = f"{sorted(content)}{f' without {missing}' if missing else ''}"
        raise ValueError(f"expected the fields {list(expected)} of {cls.__name__} at {where}, got {got}")
    try:
        return cls(**content)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:  # of any class's own check
        raise ValueError(f"expected a {cls.__name__} at {where}: {error}") from error


def _listed(classes: Iterable[type[Value]]) -> list[type[Value]]:
    found = list(classes) if isinstance(classes, Iterable) else [classes]
    if not all(isinstance(cls, type) and issubclass(cls, Value) for cls in found):
        raise TypeError(
            f"expected classes=[...] with classes of rules, kernels, sets or schedules, got {classes!r:.200}"
        )
    return found


def _class(kind: Any, classes: Sequence[type[Value]], where: str) -> type[Value]:
    """The class of this name: one of ours, one that was named (it may be in another module now), or one imported."""
    own = isinstance(kind, str) and "." in kind  # not of this package
    named = [cls for cls in classes if own and f".{kind}".endswith(f".{cls.__qualname__}")]
    exact = [cls for cls in named if _kind(cls) == kind]
    if len(exact or named) > 1:
        raise ValueError(f"expected one class for {kind!r}, got {exact or named}: leave out all but the right one")
    if isinstance(kind, str) and not own and kind not in _KINDS:
        _ = import_module("stableopt").Optimizer  # any public name: then all classes of this package are loaded
    if found := next(iter(exact or named), _KINDS.get(kind) if isinstance(kind, str) else None):
        return found
    if own:
        remedy = f"pass classes=[{kind.rsplit('.', 1)[-1]}]"
        raise ValueError(f"the run uses the class {kind!r}, which is not known here: {remedy}")
    ours = sorted(known for known in _KINDS if "." not in known)
    raise ValueError(f"expected the kind of value at {where} as one of {ours}, got {kind!r:.200}")


def _plain(item: Any, names: dict[str, Any] | None = None, where: str = "a value") -> Any:
    """Lists and dictionaries of numbers and strings; a function is itself, or its name, which is added to ``names``."""
    if isinstance(item, Value):
        cls = type(item)
        content = {name: _plain(getattr(item, name), names, f"{cls.__name__}.{name}") for name in _fields(item)}
        return {"kind": _kind(cls)} | content
    if isinstance(item, np.ndarray | np.generic):
        return item.tolist()
    if isinstance(item, list | tuple):
        return [_plain(part, names, where) for part in item]
    if item is None or isinstance(item, bool | int | float | str):
        return item
    if callable(item):
        return item if names is None else {"function": named(item, names)}
    expected = "a number, a string, a list of these, a value of this library or a function"
    raise TypeError(f"expected {where} to be {expected}, so that to_dict can write it, got {item!r:.200}")


def named(function: Any, known: dict[str, Any], usual: str | None = None) -> str:
    """The name of a function, which no other one of those that are known may have: all lambdas share theirs.

    usual: the name of a function that has none of its own, such as a partial one.
    """
    for own, other in known.items():
        if other == function:
            return own
    name: str | None = getattr(function, "__qualname__", usual)
    if name is None or name in known:
        expected = "functions with names of their own, so that a run can be stored"
        raise TypeError(f"expected {expected}, got {function!r}: use def, with a name that no other one has or had")
    known[name] = function
    return name
