"""Every Python block of README.md and docs/ runs, prints what the page says, and no link of a page is dead.

The blocks of a page run in order in one namespace, like one session at the prompt.

    <!-- not executed: why -->    before a python block: it is skipped, for that reason
    <!-- output -->               between a python block and the ```text block that shows what it prints
"""

import contextlib
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(r"^(?P<indent> *)(?P<marks>`{3,}|~{3,}) *(?P<language>[^\s`]*)[^`]*$")
SKIP = re.compile(r"<!--\s*not executed\b[\s:,.;-]*(?P<reason>[^>]*?)\s*-->\s*\Z")
OUTPUT = re.compile(r"<!--\s*output\s*-->")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)|^ *\[[^\]]+\]:\s*<?([^\s>]+)|\b(?:src|href)=[\"']([^\"']+)", re.MULTILINE)


@dataclass
class Block:
    """A fenced block, the line of its first row of content (from 1), and the text between the last block and it."""

    language: str
    line: int
    before: str
    source: str = ""


def parse(text: str) -> tuple[list[Block], str]:
    """The fenced blocks of a page, and the page without them."""
    blocks: list[Block] = []
    prose: list[str] = []
    between: list[str] = []
    closing = ""  # the marks that end the open block
    indent = 0
    for number, row in enumerate(text.splitlines(), start=1):
        fence = FENCE.match(row)
        if closing:
            if fence and not fence["language"] and fence["marks"].startswith(closing):
                closing = ""
            else:
                blocks[-1].source += row[min(indent, len(row) - len(row.lstrip(" "))) :] + "\n"
        elif fence:
            closing, indent = fence["marks"], len(fence["indent"])
            blocks.append(Block(fence["language"], number + 1, "\n".join(between).strip()))
            between = []
        else:
            between.append(row)
            prose.append(row)
    if closing:
        raise ValueError(f"the block that begins on line {blocks[-1].line - 1} has no end")
    return blocks, "\n".join(prose)


def stripped(text: str) -> str:
    return "\n".join(row.rstrip() for row in text.splitlines()).rstrip()


def without_inline_code(prose: str) -> str:
    return re.sub(r"`[^`\n]*`", "", prose)


def run(page: Path, text: str, namespace: dict[str, object]) -> int:
    """Execute the Python blocks of a page, check the outputs it shows, and return how many blocks ran."""
    blocks, prose = parse(text)
    executed = compared = 0
    printed: str | None = None  # what the block just before printed, if it was a Python block that ran
    for block in blocks:
        where = f"{page.name}, line {block.line}"
        if block.language == "text" and printed is not None and OUTPUT.fullmatch(block.before):
            assert stripped(printed) == stripped(block.source), f"{where}: the page shows another output"
            compared += 1
        printed = None
        if block.language.lower() in {"py", "python3", "pycon", "ipython"}:
            raise ValueError(f"{where}: expected a block of python, got {block.language}, which would not be executed")
        if block.language != "python":
            continue
        if skip := SKIP.search(block.before):
            if not skip["reason"]:
                raise ValueError(f"{where}: expected a reason, as in <!-- not executed: needs a laboratory -->")
            continue
        # Empty rows in front make a traceback show the line of the page.
        code = compile("\n" * (block.line - 1) + block.source, str(page), "exec", dont_inherit=True)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(code, namespace)
        printed = output.getvalue()
        executed += 1
    if compared != (claimed := len(OUTPUT.findall(without_inline_code(prose)))):
        raise ValueError(
            f"{page.name}: expected every <!-- output --> alone between a python block that runs and a text block, "
            f"got {compared} of {claimed} there"
        )
    return executed


@pytest.fixture
def session(tmp_path, monkeypatch):
    """An empty namespace that is `__main__`, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    yield vars(main)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


# plt.show() under Agg warns on a machine with a screen.
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive:UserWarning")
@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_examples_run_and_print_what_the_page_says(page, session):
    executed = run(page, page.read_text(encoding="utf-8"), session)
    assert executed or page != README, "README.md shows no python block that runs"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=page_id)
def test_relative_links_lead_somewhere(page):
    assert dead_links(page, page.read_text(encoding="utf-8")) == []


def dead_links(page: Path, text: str) -> list[str]:
    """Links and images of a page that are neither an address nor a file of this repository."""
    links = ["".join(groups) for groups in LINK.findall(without_inline_code(parse(text)[1]))]
    relative = [link for link in links if not re.match(r"[a-z][a-z0-9+.-]*:|#|//", link, re.IGNORECASE)]

    def leads_somewhere(link: str) -> bool:
        target = (page.parent / unquote(re.split("[#?]", link)[0])).resolve()
        return target.exists() and target.is_relative_to(ROOT)

    return [link for link in relative if not leads_somewhere(link)]


def page_of(*parts: str) -> str:
    """A page from blocks written as "language|source" and comments."""
    return "\n\n".join("```{}\n{}\n```".format(*p.split("|")) if "|" in p else p for p in parts)


def test_blocks_share_a_namespace_and_their_output_is_compared(session):
    page = page_of("python|x = 1", "python|print(x + 1)", "<!-- output -->", "text|2  ", "text|not compared")
    assert run(README, page, session) == 2


def test_a_block_with_a_reason_is_skipped(session):
    assert run(README, page_of("<!-- not executed: needs a laboratory -->", "python|1 / 0"), session) == 0


@pytest.mark.parametrize(
    ("page", "error"),
    [
        (page_of("python|1 / 0"), ZeroDivisionError),
        (page_of("python|x = 1", "<!-- not executed -->", "python|x"), ValueError),
        (page_of("<!-- not executed: why -->", "Prose in between.", "python|1 / 0"), ZeroDivisionError),
        (page_of("python|print(1)", "<!-- output -->", "text|2"), AssertionError),
        (page_of("python|print(1)", "<!-- output -->", "console|1"), ValueError),
        (page_of("python|print(1)", "text|other", "<!-- output -->", "text|1"), ValueError),
        (page_of("python|print(1)", "Prose.", "<!-- output -->", "text|1"), ValueError),
        (page_of("python|print(1)", "<!-- output -->", "Prose.", "text|1"), ValueError),
        (page_of("python|print(1)", "<!-- output -->"), ValueError),
        (page_of("py|1"), ValueError),
        ("```python\n1", ValueError),
    ],
)
def test_a_wrong_page_is_refused(page, error, session):
    with pytest.raises(error):
        run(README, page, session)


def test_dead_links_are_found():
    page = "[a](LICENSE) ![b](no.png) [c](https://a.b) [d](#part) `[e](no)`\n\n[f]: no.md#part\n<img src='no.svg'>\n"
    assert dead_links(README, page + page_of("python|'[g](no)'")) == ["no.png", "no.md#part", "no.svg"]


if __name__ == "__main__":  # with the names of pages: the pictures that they draw are drawn anew
    for name in sys.argv[1:]:
        page = Path(name).resolve()
        with contextlib.chdir(page.parent):
            run(page, page.read_text(encoding="utf-8"), {"__name__": "__main__"})
