"""The page in a real browser: it renders without a complaint, and its controls obey the mouse and the keyboard."""

import os
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from helpers import browser

import stableopt as so

NASTY = "</script><img src=x onerror=window.broken=1>"
HOW = "no browser: install Chromium (apt-get install chromium), then run pytest tests/plots/test_browser.py"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """One page for all: three parameters, one with a nasty name, a category, a failure."""
    ranges = {"temperature [°C]": (20, 90), NASTY: (0, 1), "kind": ["plain", "<b>bold</b>"]}
    campaign = so.Campaign(ranges, {"temperature [°C]": 5.0, NASTY: 0.1}, value="yield", noise=0.1)
    places = [(30, 0.2, "plain"), (60, 0.5, "<b>bold</b>"), (45, 0.9, "plain"), (80, 0.4, "plain")]
    table = [dict(zip(ranges, place, strict=True)) | {"yield": -abs(place[0] - 50) / 10} for place in places]
    campaign.add(table)
    campaign.tell(campaign.ask(), failed="<u>broken</u>")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stableopt.plots.page.pictures._FINE", 5)
        patch.setattr("stableopt.plots.page.pictures._SIDE", 4)
        patch.setattr("stableopt.plots.history._SEARCHED", 2)
        patch.setattr("stableopt.campaign.results.FACTORS", (0.0, 1.0))
        patch.setattr("stableopt.loop.space.usual_budget", lambda dim, **_: 300)
        return campaign.report(tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="module")
def chromium():
    if browser.found() is None and not os.environ.get("CI"):  # in CI this has to run
        pytest.skip(HOW)
    with browser.running() as running:
        yield running


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_renders_without_a_complaint_and_asks_for_nothing(page, chromium, width, dark, tmp_path):
    assert page.stat().st_size < 3_000_000
    chromium.open(page, width, dark=dark)
    assert chromium.complaints == []
    assert [r for r in chromium.requests if not r.startswith("data:")] == [page.as_uri()]
    assert chromium.value("document.documentElement.scrollWidth") <= width, "the page is wider than the window"
    colour = chromium.value("getComputedStyle(document.body).backgroundColor")
    assert (max(map(int, colour[4:-1].split(","))) < 60) == dark
    chromium.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 50_000
    smallest = """Math.min(...[...document.querySelectorAll(".picture text")].filter(t => t.getClientRects().length)
        .map(t => t.getBoundingClientRect()).map(b => Math.min(b.width, b.height)).filter(n => n > 0))"""
    assert chromium.value(smallest) >= 3, "a text in a picture is too small to be read"


def test_names_of_users_stay_text(page, chromium):
    chromium.open(page)
    assert chromium.value("window.broken") is None
    assert chromium.value("document.querySelectorAll('img, td b, td u').length") == 0
    assert chromium.value(f"document.body.innerText.includes({NASTY!r})")
    assert chromium.value("document.querySelector('#trials').innerText.includes('<u>broken</u>')")


def test_light_and_dark_can_be_switched(page, chromium):
    chromium.open(page)
    ground = "getComputedStyle(document.body).backgroundColor"
    before = chromium.value(ground)
    chromium.click("#theme")
    dark = chromium.value(ground)
    assert dark != before and chromium.value("document.querySelector('#theme').textContent") == "Light"
    chromium.value("document.querySelector('#theme').focus()")
    chromium.press("Enter")
    assert chromium.value(ground) == before
    chromium.press(" ")
    chromium.prefer(media="print")
    assert chromium.value(ground) == "rgb(255, 255, 255)", "paper is white"
    assert chromium.value("getComputedStyle(document.querySelector('#theme')).display") == "none"


def test_the_parameters_of_the_landscape_can_be_chosen(page, chromium):
    chromium.open(page)
    shown = "[...document.querySelectorAll('.pair')].filter(p => !p.hidden).map(p => p.dataset.pair).join()"
    every = chromium.value("[...document.querySelectorAll('.pair')].map(p => p.dataset.pair)")
    assert every == ["0-1", "0-2", "1-2"] and chromium.value(shown) in every
    seen = set()
    for which, key in [("one", "Down"), ("one", "Down"), ("other", "Down"), ("one", "Up"), ("one", "Up")]:
        chromium.value(f"document.getElementById('landscape-{which}').focus()")
        chromium.press(f"Arrow{key}")
        pair = chromium.value("['one', 'other'].map(n => document.getElementById('landscape-' + n).value)")
        assert pair[0] != pair[1] and chromium.value(shown) == "-".join(sorted(pair))
        seen.add(chromium.value(shown))
    assert seen == set(every)


def test_tables_sort_by_mouse_and_keyboard(page, chromium):
    chromium.open(page)
    names = chromium.value("[...document.querySelectorAll('#trials th')].map(h => h.textContent)")
    column = names.index("yield") + 1
    cells = f"[...document.querySelectorAll('#trials td:nth-child({column})')].map(c => c.textContent)"
    numbers = sorted(float(text) for text in chromium.value(cells) if text)
    chromium.click(f"#trials th:nth-child({column}) [role=button]")
    assert chromium.value(cells) == [*(f"{v:.6g}" for v in numbers), ""]
    chromium.value(f"document.querySelector('#trials th:nth-child({column}) [role=button]').focus()")
    chromium.press("Enter")
    assert chromium.value(cells) == [*(f"{v:.6g}" for v in reversed(numbers)), ""], "nothing comes last"
    assert chromium.value(f"document.querySelector('#trials th:nth-child({column})').ariaSort") == "descending"


def test_values_are_told_under_the_pointer_and_by_arrow_keys(page, chromium):
    chromium.open(page)
    tip = "document.querySelector('#tip').hidden ? '' : document.querySelector('#tip').textContent"
    x, _ = chromium.place("#slices svg")
    at = chromium.value("""(() => {
        const svg = document.querySelector('#slices svg'), box = svg.getBoundingClientRect();
        const marks = JSON.parse(document.getElementById('marks').textContent).slices[0];
        const p = marks.series.find(s => s.name === 'expected value').at[20], k = box.width / svg.viewBox.baseVal.width;
        return [box.left + p[0] * k, box.top + p[1] * k]; })()""")
    chromium.move(*at)
    assert "temperature [°C]: " in chromium.value(tip) and "yield: " in chromium.value(tip)
    chromium.move(x, 1)
    assert chromium.value(tip) == ""
    chromium.value("document.querySelector('#slices').focus()")
    chromium.press("ArrowRight")
    first = chromium.value(tip)
    chromium.press("ArrowRight")
    assert first and chromium.value(tip) not in ("", first)
    chromium.press("Escape")
    assert chromium.value(tip) == ""
    over = chromium.place(".pair:not([hidden]) svg")
    chromium.move(over[0] - 150, over[1] - 60)
    assert "expected: " in chromium.value(tip) or "trials" in chromium.value(tip)


def test_a_complaint_is_noticed(chromium, tmp_path):
    wrong = tmp_path / "wrong.html"
    wrong.write_text("<script>console.error('no'); undefined.x</script><img src='http://127.0.0.1:9/x.png'>")
    chromium.open(Path(wrong))
    chromium.wait("document.images[0].complete")
    assert len(chromium.complaints) >= 2 and any("127.0.0.1:9" in url for url in chromium.requests)
