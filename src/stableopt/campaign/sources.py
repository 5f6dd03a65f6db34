"""Where tables come from: a CSV file, or a study of Optuna's. Each row comes with its place, for errors."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

from stableopt.campaign.words import Words

Rows = tuple[list[dict[str, Any]], list[str]]
"""Rows, and where each of them was found."""


def from_csv(file: str | os.PathLike[str]) -> Rows:
    """The rows of a CSV file with a header. Commas, semicolons or tabs separate; after semicolons, 1,5 is 1.5."""
    path = Path(file)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"expected data, or the path of a CSV file that can be read, got {str(file)!r}: {error}"
        ) from None
    first = text.split("\n", 1)[0]
    separator = max(",;\t", key=first.count)
    lines = csv.reader(text.splitlines(), delimiter=separator)
    header = [name.strip() for name in next(lines, [])]
    if not all(header) or len(set(header)) < len(header):
        raise ValueError(f"expected distinct names in line 1 of {path.name}, got {header}")
    rows, places = [], []
    for cells in lines:
        if not any(cell.strip() for cell in cells):
            continue
        place = f"line {lines.line_num} of {path.name}"
        if len(cells) != len(header):
            raise ValueError(f"expected {len(header)} values, {header}, got {len(cells)} (in {place})")
        rows.append(dict(zip(header, (_cell(cell, separator) for cell in cells), strict=True)))
        places.append(place)
    if not rows:
        raise ValueError(f"expected rows below the header of {path.name}, got none")
    return rows, places


def _cell(text: str, separator: str) -> str | None:
    text = text.strip()
    if separator == ";" and "." not in text and text.count(",") == 1:
        number = text.replace(",", ".")
        try:
            float(number)
        except ValueError:
            return text
        return number
    return text or None


def is_study(data: Any) -> bool:
    """Whether it looks like a study of Optuna's."""
    return hasattr(data, "trials") and hasattr(data, "directions") and hasattr(data, "get_trials")


def from_study(study: Any, words: Words) -> Rows:
    """The finished trials of a study: values of those that are complete, and those that failed."""
    directions = [direction.name.lower() for direction in study.directions]
    wanted = ["minimize" if words.minimize else "maximize"]
    if directions != wanted:
        raise ValueError(f"expected a study with directions {wanted}, got {directions}: is minimize=... right?")
    made = [t for t in study.trials if t.state.name == "COMPLETE" or (t.state.name == "FAIL" and t.params)]
    rows = [{**t.params, words.value: t.value if t.state.name == "COMPLETE" else None} for t in made]
    rows = [r | {name: t.user_attrs.get(name) for name in words.outputs[1:]} for r, t in zip(rows, made, strict=True)]
    return rows, [f"trial {t.number} of the study" for t in made]
