"""What a built site promises: every public name is in its reference, every link leads somewhere, nothing is fetched.

python docs/check.py site
"""

import importlib
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

from sphinx.util.inventory import InventoryFile

MODULES = ("stableopt", "loop", "model", "maxmin", "plots", "problems", "theory", "integrations.optuna")


class Page(HTMLParser):
    """The ids and links of a page, and what its reader's browser would fetch."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif address := given.get("src") or (given.get("href") if tag == "link" else None):
            self.fetched.append(address)


def dead_links(pages: dict[Path, Page], root: Path) -> list[str]:
    """Links within the site to what is not there, and whatever comes from elsewhere by itself."""
    found = []
    for path, page in pages.items():
        where = path.relative_to(root)
        for link in (*page.links, *page.fetched):
            if re.match(r"[a-z]+:", link) or link.startswith("//"):
                if link in page.fetched and not link.startswith("data:"):
                    found.append(f"{where} fetches {link}")
                continue
            file, anchor = urldefrag(link)
            target = (path.parent / unquote(file.partition("?")[0])).resolve() if file else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (anchor and target in pages and unquote(anchor) not in pages[target].ids):
                found.append(f"{where} links to {link}")
    return found


def missing_names(root: Path) -> list[str]:
    """Public names that the reference does not have, under any of the paths on which they can be reached."""
    with (root / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, uri: uri)
    known = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    public: dict[int, set[str]] = {}
    for module in MODULES:
        path = module if module == "stableopt" else f"stableopt.{module}"
        for name in importlib.import_module(path).__all__:
            item = getattr(importlib.import_module(path), name)
            public.setdefault(id(item), set()).add(f"{path}.{name}")
    assert len(public) > 100, "the check finds too few names to mean anything"
    return sorted(min(paths) for paths in public.values() if paths.isdisjoint(known))


def main(root: Path) -> int:
    """How much is wrong; each of it is printed."""
    pages = {path.resolve(): Page(path) for path in sorted(root.rglob("*.html"))}
    wrong = [*dead_links(pages, root.resolve()), *(f"the reference lacks {name}" for name in missing_names(root))]
    shown = (root / "jupyter.html").read_text(encoding="utf-8")
    if shown.count('src="data:image/svg+xml') < 5 or "worst case" not in shown:
        wrong.append("the notebook does not show its result")
    print("\n".join(wrong) or f"{len(pages)} pages are well")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(bool(main(Path(sys.argv[1]))))
