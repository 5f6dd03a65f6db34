"""Tables for notebooks, as HTML. Whatever comes from a user is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """A table; numbers are shortened, None is empty. Without a header, the first column is one."""
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = f"<thead><tr>{''.join(f'<th>{_text(h)}</th>' for h in header)}</tr></thead>" if header else ""
    body = "".join(f"<tr>{_cells(row, bool(header))}</tr>" for row in rows)
    return f"<table>{title}{head}<tbody>{body}</tbody></table>"


def _cells(row: Sequence[Any], plain: bool) -> str:
    tags = ["td" if plain or i else "th" for i in range(len(row))]
    return "".join(f"<{tag}>{_text(cell)}</{tag}>" for tag, cell in zip(tags, row, strict=True))


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    return escape(f"{cell:.6g}" if isinstance(cell, float) else str(cell))
