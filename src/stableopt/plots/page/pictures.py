"""The pictures of a page, each with its caption; what cannot be drawn is said in a sentence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stableopt.plots.landscapes import important, over
from stableopt.plots.page.figures import Marks, drawing, inline
from stableopt.plots.page.html import Html, element
from stableopt.plots.parameters import Column
from stableopt.plots.subject import Subject

CAPTIONS = {
    "slices": (
        "One panel for each parameter, through the decision. The line is the expected value with its band, the shaded "
        "strip is what the decision can turn into, and the dashed line is the guaranteed worst case of every decision "
        "on the way. Circles are trials: the stronger, the nearer."
    ),
    "hurts": (
        "How much of the worst case each tolerance costs, the dearest at the top. A full bar shows what would be "
        "gained if this alone were exact, a hatched one what is lost if only this goes wrong."
    ),
    "contenders": (
        "The best decisions, one line each, with the bounds on their worst cases at the right. The reported one is 1."
    ),
    "progress": (
        "What was guaranteed, and what no decision could surpass, after more and more values. Between the two lines is "
        "all that can still be gained."
    ),
    "profile": "What is guaranteed for smaller and larger tolerances, each with the decision that is best for it.",
    "calibration": (
        "Each value against what the model foretells of it from all others: 95 % of the bars should cross the dashed "
        "line. At the right, how far off it is in standard deviations."
    ),
}
LANDSCAPE = (
    "Expected value and guaranteed worst case over two parameters, all others as decided. Light is good. The outline "
    "is what the decision can turn into, the triangle is where it may be worst, and the diamond is what would be best "
    "if nothing went wrong."
)
_LONE = (
    "Expected value and guaranteed worst case along the only parameter. The diamond is what would be best if nothing "
    "went wrong."
)
_CHOICE = 6  # parameters that can be chosen for a landscape: the most important ones
_SIDE = 13  # values of each of two parameters that were not the first choice
_FINE = 27


@dataclass
class Album:
    """Pictures of one answer as elements of a page, and what is where in each of them."""

    subject: Subject
    marks: dict[str, Marks] = field(default_factory=dict)

    def picture(self, name: str) -> Html:
        """One of the pictures with its caption."""
        from stableopt import plots

        draw, hover = getattr(plots, name), name != "contenders"
        try:
            return self._figure(name, lambda: draw(self.subject), CAPTIONS[name], hover=hover)
        except ValueError as error:
            return element("p", f"There is no such picture here: {error}.", class_="remark")

    def landscape(self) -> Html:
        """The landscape over the most important parameters, and over all others that can be chosen."""
        if len(self.subject.columns) == 1:
            return self._figure("landscape", lambda: over(self.subject, self.subject.columns), _LONE)
        first = important(self.subject)
        first = first if len(first) == 2 else self.subject.columns[:2]  # the other one is of the environment
        shown = {c.place: c for c in (*first, *important(self.subject, _CHOICE, decided=False))}
        columns = [shown[place] for place in sorted(shown)]
        wanted = tuple(column.place for column in first)
        figures = []
        for pair in itertools.combinations(columns, 2):
            places = tuple(column.place for column in pair)
            figures.append(self._over(pair, places == wanted))
        return Html("".join([_choice(columns, wanted) if len(figures) > 1 else "", *figures]))

    def _over(self, pair: Sequence[Column], first: bool) -> Html:
        places = "-".join(str(column.place) for column in pair)
        side = _FINE if first else _SIDE
        drawn = self._figure(f"landscape-{places}", lambda: over(self.subject, pair, side=side), LANDSCAPE)
        return element("div", drawn, class_="pair", data_pair=places, hidden=not first)

    def _figure(self, name: str, draw: Callable[[], Any], caption: str, *, hover: bool = True) -> Html:
        with drawing():
            drawn = draw()
            figure = drawn if hasattr(drawn, "savefig") else drawn.figure
            svg, marks = inline(figure, name)
        if hover:
            self.marks[name] = marks
        about = {
            "role": "img",
            "aria_label": caption.partition(".")[0],
            "style": f"--wide: {72 * figure.get_figwidth():.0f}",
        }
        box = element("div", svg, class_="picture", tabindex="0", id=name, **about)
        return element("figure", box, element("figcaption", caption))


def _choice(columns: Sequence[Column], first: Sequence[int]) -> Html:
    """Two lists from which the parameters of the landscape are chosen."""
    lists = []
    for text, name, chosen in zip(("Parameters of the landscape", "and"), ("one", "other"), first, strict=True):
        options = [element("option", c.name, value=c.place, selected=c.place == chosen) for c in columns]
        lists.append(element("label", text, " ", element("select", options, id=f"landscape-{name}")))
    return element("p", lists, class_="choice needs-script")
