"""The pictures of an answer for a notebook: those that are drawn in the time that a reader waits for a cell."""

from __future__ import annotations

from typing import Any

from stableopt.plots.page.figures import drawing, image
from stableopt.plots.page.html import Html, element
from stableopt.plots.subject import Subject, subject_of

_DRAWN = {"landscape": "Landscape", "slices": "Slices", "hurts": "What hurts most"}
_FOLDED = {"contenders": "Contenders", "calibration": "Is the model right?"}
_INK, _PAPER = "#1b1f24", "#ffffff"  # a picture brings its own paper, since a notebook may be dark


def cell(source: Any) -> Html:
    """Each picture with its title, which folds it away."""
    subject = subject_of(source)
    return element("div", [_picture(subject, name) for name in (*_DRAWN, *_FOLDED)])


def _picture(subject: Subject, name: str) -> Html | None:
    from stableopt import plots

    title = (_DRAWN | _FOLDED)[name]
    with drawing(_INK, _PAPER):
        try:
            drawn = getattr(plots, name)(subject)
        except ValueError:  # a group has no tolerance that could hurt
            return None
        address = image(drawn if hasattr(drawn, "savefig") else drawn.figure, name)
    picture = element("img", alt=title, src=address, style=f"max-width: 100%; background: {_PAPER}")
    return element("details", element("summary", title), picture, open=name in _DRAWN)
