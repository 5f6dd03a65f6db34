"""Tables and pictures for notebooks, as HTML, and a page of its own. Whatever comes from a user is escaped.

Pictures are a leaf of the house, which the core does not import: like pandas, they are looked up when they are wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """A table; numbers are shortened, None is empty. Without a header, the first column is one."""
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = f"<thead><tr>{''.join(f'<th>{_text(h)}</th>' for h in header)}</tr></thead>" if header else ""
    body = "".join(f"<tr>{_cells(row, bool(header))}</tr>" for row in rows)
    return f"<table>{title}{head}<tbody>{body}</tbody></table>"


def pictures(answer: Any) -> str:
    """The pictures of an answer; nothing where there is no matplotlib to draw them."""
    if find_spec("matplotlib") is None:
        return ""
    return str(import_module("stableopt.plots.page.cells").cell(answer))


def page(source: Any, file: Any) -> Path:
    """One file with all that is known, for `Campaign.report`."""
    path: Path = import_module("stableopt.plots").report(source, file)
    return path


def _cells(row: Sequence[Any], plain: bool) -> str:
    tags = ["td" if plain or i else "th" for i in range(len(row))]
    return "".join(f"<{tag}>{_text(cell)}</{tag}>" for tag, cell in zip(tags, row, strict=True))


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    return escape(f"{cell:.6g}" if isinstance(cell, float) else str(cell))
