"""The notebook's file: a TOML file that a person can read and edit, beside the database with all that happened.

Editing it is a change of mind: the next command notices, and the campaign records it or refuses it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from stableopt.base.checks import is_number_text, nearest

HEAD = """# The notebook of a campaign. Change ranges, tolerance, environment, limits, noise: the next command notices.
#   temperature = [20, 90]                             a range
#   temperature = {low = 20, high = 90, step = 0.5}    also: log = true, integer = true, evaluate = [10, 95]
#   solvent = ["water", "ethanol"]                     choices; of numbers: {choices = [1, 2, 5]}
#   stress = {upper = 14.0}                            a constraint; also: lower = 2.0, noise = 0.1
"""
TABLES = ("ranges", "tolerance", "environment", "constraints")
FIXED = ("value", "minimize", "seed")
KNOWN = ("file", *FIXED, "noise", *TABLES)
_WORDS = ("log", "integer")  # that may follow a range


def words_of(page: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a campaign that a page means."""
    unknown = [name for name in page if name not in KNOWN]
    if unknown or not isinstance(page.get("ranges"), Mapping):
        raise ValueError(f"expected some of {list(KNOWN)} with a table [ranges], got {list(page)}")
    words: dict[str, Any] = {name: page[name] for name in (*FIXED, "noise") if name in page}
    words["ranges"] = {name: _range(given, name) for name, given in page["ranges"].items()}
    for part, read in (("tolerance", _tolerance), ("environment", _range), ("constraints", _limits)):
        table = page.get(part)
        if table is not None and not isinstance(table, Mapping):
            raise ValueError(f"expected a table [{part}] with a line for each name, got {part} = {table!r}")
        words[part] = {name: read(given, name) for name, given in table.items()} if table else None
    if words["tolerance"] is None and words["environment"] is None:
        words["tolerance"] = 0
    return words


def _tolerance(given: Any, name: str) -> Any:
    return tuple(given) if isinstance(given, list) else given


def _limits(given: Any, name: str) -> Any:
    """What a line means: two limits, or one of them, and the noise of what is measured."""
    from stableopt.loop.constraints import Constraint

    if not isinstance(given, Mapping):
        return given
    unknown = [option for option in given if option not in ("lower", "upper", "noise")]
    if unknown:
        raise ValueError(f"expected {name} with lower, upper or noise, got {sorted(given)}")
    return Constraint(name, **given)


def _range(given: Any, name: str) -> Any:
    """What a line means: a range, choices, or one of these with more about it."""
    from stableopt.sets.variables import Category, Float, Integer

    if not isinstance(given, Mapping):
        return tuple(given) if isinstance(given, list) and len(given) == 2 else given
    options = dict(given)
    try:
        if "choices" in options:
            return Category(options.pop("choices"), **options)
        kind = Integer if options.pop("integer", False) else Float
        if "evaluate" in options:
            options["evaluate"] = tuple(options["evaluate"])
        return kind(**options)
    except TypeError:
        allowed = "low, high, and step, log, integer or evaluate; or choices"
        raise ValueError(f"expected {name} with {allowed}, got {sorted(given)}") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def read(path: Path) -> dict[str, Any]:
    """A page; an error tells the line."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ValueError(f"expected a notebook, got {path}, which is not there: stableopt init begins one") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"expected TOML in {path}: {error}") from None


def check(page: Mapping[str, Any]) -> None:
    """Refuse what no campaign can mean."""
    from stableopt.campaign.campaign import Campaign

    Campaign(**words_of(page))


def opened(path: Path, who: str | None) -> tuple[Any, str]:
    """The campaign of a notebook, and a note if the file says something else.

    What was said last counts: the file if somebody has written it since, else what was changed in Python.
    """
    from stableopt.campaign.campaign import Campaign
    from stableopt.campaign.words import Words
    from stableopt.campaign.written import as_data

    page = read(path)
    words, file = words_of(page), path.parent / str(page.get("file", path.with_suffix(".db").name))
    if not file.exists():
        return Campaign(file=file, who=who, **words), ""
    campaign = Campaign.open(file, who=who)
    given, known = as_data(Words(**words)), as_data(campaign.ledger.said)
    other = [name for name in (*FIXED, "noise", *TABLES) if given.get(name) != known.get(name)]
    fixed = [name for name in other if name in FIXED]
    if fixed:
        what = ", ".join(f"{name} = {_value(known[name])}" for name in fixed)
        raise ValueError(f"expected {what} in {path} as when it began: another {fixed[0]} needs another notebook")
    changed, names = campaign.ledger.changed, ", ".join(other)
    if not other:
        return campaign, ""
    if changed and path.stat().st_mtime < datetime.fromisoformat(changed).timestamp():
        said = f"{names} changed since {path} was written, and what is recorded counts"
        return campaign, f"{said}: write it into the file, too, or change it there"
    try:
        campaign.change(**{name: words.get(name) for name in other})  # type: ignore[arg-type]
    except ValueError as error:
        raise ValueError(f"{path} contradicts what is recorded: {error}") from None
    return campaign, f"{path} has changed: another {names} from now on, which is recorded"


def written(page: Mapping[str, Any]) -> str:
    """A page as text."""
    lines = [HEAD]
    lines += [f"{_key(name)} = {_value(item)}" for name, item in page.items() if name not in TABLES]
    for table in TABLES:
        if page.get(table):
            lines += ["", f"[{table}]", *(f"{_key(name)} = {_value(item)}" for name, item in page[table].items())]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(item: Any) -> str:
    if isinstance(item, Mapping):
        return "{" + ", ".join(f"{_key(name)} = {_value(part)}" for name, part in item.items()) + "}"
    if isinstance(item, list | tuple):
        return "[" + ", ".join(map(_value, item)) + "]"
    if isinstance(item, str):
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")  # a string of JSON is one of TOML
    return str(item).lower() if isinstance(item, bool) else repr(item)


# ------------------------------------------------------------------------------------------------ what is typed in


def number(text: str) -> int | float:
    """A number as a person types it."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        comma = re.fullmatch(r"[+-]?\d+,\d+", text.strip())
        remedy = f": decimals have a point, as in {text.replace(',', '.')}" if comma else ""
        raise ValueError(f"expected a number, got {text!r}{remedy}") from None


def trial_number(text: str) -> int:
    """The number of a trial."""
    if not text.isdecimal():
        raise ValueError(f'expected the number of a trial, or "new" with all settings as --at, got {text!r}')
    return int(text)


def pair(text: str) -> tuple[str, str]:
    """What is left and right of the first =."""
    name, equals, rest = text.partition("=")
    if not (name.strip() and equals and rest.strip()):
        raise ValueError(f"expected name=value, got {text!r}")
    return name.strip(), rest.strip()


def typed_range(text: str) -> Any:
    """A range as a person types it: 20:90, 20:90:0.5 (a step), 1:12:integer, 0.1:10:log; or choices a,b,c."""
    if ":" not in text:
        choices = [part.strip() for part in text.split(",") if part.strip()]
        if len(choices) < 2 or (len(choices) == 2 and all(map(is_number_text, choices))):  # 0,1 is no choice, nor 1,5
            raise ValueError(f"expected a range such as 20:90, or choices such as water,ethanol, got {text!r}")
        return choices
    low, high, *more = (part.strip() for part in text.split(":"))
    if not more:
        return [number(low), number(high)]
    options: dict[str, Any] = {"low": number(low), "high": number(high)}
    for word in more:
        options |= {word: True} if word in _WORDS else {"step": _step(word)}
    return options


def _step(text: str) -> int | float:
    try:
        return number(text)
    except ValueError:
        meant = nearest(text, _WORDS)
        raise ValueError(f"expected a step such as 0.5, log or integer after low:high, got {text!r}{meant}") from None


def typed_limits(text: str) -> dict[str, Any]:
    """Limits as a person types them: :14 (at most), 2: (at least), -2:2 (between)."""
    lower, colon, upper = (part.strip() for part in text.partition(":"))
    if not colon:
        raise ValueError(f"expected limits such as :14 (at most), 2: (at least) or -2:2, got {text!r}")
    ends = {"lower": lower, "upper": upper}
    return {name: number(end) for name, end in ends.items() if end}


def typed_values(texts: Sequence[str], names: Sequence[str]) -> dict[str, Any] | int | float | None:
    """What was measured, as a person types it: 12.4, or cost=12.4 stress=13 (none: not measured)."""
    if not texts:
        return None
    value, *others = names
    if len(texts) == 1 and "=" not in texts[0]:
        y = number(texts[0])
        if others:
            example = f"{value}={texts[0]} {others[0]}=..."
            raise ValueError(f"expected values for {list(names)} by name, such as {example}, got {texts[0]}")
        return y
    found: dict[str, Any] = {}
    for text in texts:
        name, given = pair(text) if "=" in text else (value, text)
        if name in found:
            raise ValueError(f"expected {name} once, got it twice: {' '.join(texts)}")
        found[name] = None if given == "none" else number(given)
    return found


def typed_tolerance(text: str) -> Any:
    """4, 2%, or -0.1:0.3."""
    if text.endswith("%"):
        return text
    ends = [number(part) for part in text.split(":")]
    return ends[0] if len(ends) == 1 else ends
