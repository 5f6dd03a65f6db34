"""Promises of the package as a whole: what importing it costs, and which way its imports point."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import stableopt

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "stableopt"

# A room may import the rooms to its left. Only leaves may use the public names of `stableopt` itself.
CORE = [
    "_arrays",
    "_value",
    "schedules",
    "_algebra",
    "_radial",
    "kernels",
    "_factors",
    "_stationary",
    "gp",
    "priors",
    "_hyperparameters",
    "fit",
    "mixtures",
    "learning",
    "domains",
]
CORE += [
    "variables",
    "spaces",
    "uncertainty",
    "maxmin",
    "state",
    "finite",
    "search",
    "rules",
    "answers",
    "_told",
    "_runs",
    "optimizer",
    "results",
    "tables",
    "calls",
]
LEAVES = [
    "theory",
    "problems",
    "plots",
    "demo",
    "verification",
    "verify",
    "experiments",
    "reproduce",
    "cli",
    "__main__",
]
ROOMS = CORE + LEAVES
# These two groups meet only in the rooms to the right of both.
BELIEFS = {"_algebra", "_radial", "kernels", "_factors", "_stationary", "gp"}
BELIEFS |= {"priors", "_hyperparameters", "fit", "mixtures", "learning"}
SETS = {"domains", "variables", "spaces", "uncertainty", "maxmin"}

HEAVY = ["matplotlib", "typer", "rich", "sklearn"]
HEAVY += [f"scipy.{part}" for part in ("spatial", "special", "optimize", "stats", "sparse")]


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    return set(json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout))


def heavy(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if any(f"{name}.".startswith(f"{package}.") for package in HEAVY))


def test_import_is_light():
    free = modules_after("import numpy, scipy.linalg")
    assert heavy(modules_after("import stableopt") - free) == []
    assert heavy(modules_after("import scipy.stats") - free), "the check finds nothing where there is something"


def test_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert stableopt.__version__ == project["version"]


def room_of(path: Path) -> str:
    """The room that a file of the package belongs to; "" is the package's own `__init__`."""
    first = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def imported_rooms(source: str, path: Path) -> Iterator[tuple[int, str]]:
    """(line, room) of every import of stableopt in the file, also those inside functions."""
    package = ["stableopt", *path.relative_to(SOURCE).parent.parts]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            targets = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            targets = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for target in targets:
            if target[0] == "stableopt":
                room = target[1] if len(target) > 1 else ""
                yield node.lineno, room if room in ROOMS else ""


def wrong_imports(source: str, path: Path) -> list[str]:
    room = room_of(path)
    if room == "":  # the package's own __init__ collects the public names
        return [f"{path.name}:{line} imports {other}" for line, other in imported_rooms(source, path) if other == "cli"]

    def allowed(other: str) -> bool:
        if other == "":
            return room in LEAVES
        return ROOMS.index(other) <= ROOMS.index(room) and not (room in SETS and other in BELIEFS)

    where = path.relative_to(SOURCE)
    return [
        f"{where}:{line} imports {other or 'stableopt itself'}"
        for line, other in imported_rooms(source, path)
        if not allowed(other)
    ]


FILES = sorted(SOURCE.rglob("*.py"))


def test_every_file_has_a_room():
    homeless = sorted({room_of(path) for path in FILES} - {"", *ROOMS})
    assert not homeless, f"{homeless} have no place in the order of imports: add them to CORE or LEAVES in this test"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_imports_point_one_way(path):
    assert wrong_imports(path.read_text(encoding="utf-8"), path) == []


@pytest.mark.parametrize(
    ("file", "source", "good"),
    [
        ("gp.py", "from stableopt.kernels import SE", True),
        ("gp.py", "from .kernels import SE", True),
        ("gp.py", "from stableopt.domains import Grid", False),
        ("gp.py", "from . import uncertainty", False),
        ("gp.py", "import stableopt", False),
        ("gp.py", "from stableopt import Optimizer", False),
        ("maxmin/finite.py", "from .continuous import descend", True),
        ("maxmin/finite.py", "from ..uncertainty import Ball", True),
        ("maxmin/finite.py", "from ..gp import Posterior", False),
        ("maxmin/__init__.py", "from . import finite", True),
        ("maxmin/__init__.py", "from ..kernels import SE", False),
        ("rules.py", "def later():\n    import stableopt.optimizer as o", False),
        ("optimizer.py", "import numpy, stableopt.gp", True),
        ("optimizer.py", "from stableopt.plots import plot", False),
        ("cli.py", "from stableopt import Optimizer, plots", True),
        ("plots.py", "from .cli import main", False),
        ("__init__.py", "from .problems import polynomial", True),
        ("__init__.py", "from .cli import main", False),
    ],
)
def test_the_check_of_imports_tells_right_from_wrong(file, source, good):
    assert (wrong_imports(source, SOURCE / file) == []) == good


MACHINE_PATH = re.compile(rb"(?<![\w.~/:-])(/(home|root|work|opt|tmp|mnt|Users|private)/|[A-Z]:\\Users\\)")


def test_no_file_names_a_path_of_one_machine():
    if not (shutil.which("git") and (ROOT / ".git").exists()):
        pytest.skip("not a git checkout")
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    files = [ROOT / name for name in names if name and (ROOT / name).is_file()]
    assert Path(__file__) in files
    guilty = [
        f"{path.relative_to(ROOT)}: {hit[0]}" for path in files if (hit := MACHINE_PATH.search(path.read_bytes()))
    ]
    assert guilty == []


@pytest.mark.parametrize(("text", "found"), [("out=/{}/me/x", True), ("https://a.b/{}/x", False), ("src/{}/x", False)])
def test_the_check_of_paths_tells_right_from_wrong(text, found):
    assert bool(MACHINE_PATH.search(text.format("home").encode())) == found
