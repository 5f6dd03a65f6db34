"""HTML that is safe by construction: a text is escaped wherever it goes, unless it is known to be HTML."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

_EMPTY = ("meta", "img")
_IN_JSON = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


class Html(str):
    """A text that is HTML already."""

    __slots__ = ()


Content = str | Iterable["Content"] | None


def element(tag: str, *content: Content, **attributes: Any) -> Html:
    """An element; an underscore ends names that are Python's (``class_``) and stands for a hyphen elsewhere.

    An attribute that is True has no value, one that is None or False is left out.
    """
    given = [
        (name.rstrip("_").replace("_", "-"), v) for name, v in attributes.items() if v is not None and v is not False
    ]
    inside = "".join(f" {name}" if v is True else f' {name}="{escape(str(v))}"' for name, v in given)
    if tag in _EMPTY:
        return Html(f"<{tag}{inside}>")
    return Html(f"<{tag}{inside}>{joined(*content)}</{tag}>")


def joined(*content: Content) -> Html:
    """Several parts, one after the other."""
    return Html("".join(_one(part) for part in content))


def _one(part: Content) -> str:
    if part is None:
        return ""
    if isinstance(part, str):
        return part if isinstance(part, Html) else escape(part)
    return joined(*part)


def data(name: str, content: Any) -> Html:
    """JSON for the script of a page. No text in it can end the element: JSON may write its letters as numbers."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_IN_JSON)
    return Html(f'<script type="application/json" id="{escape(name)}">{text}</script>')
