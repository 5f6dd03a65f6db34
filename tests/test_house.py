"""Promises of the house: folders are layers, imports point one way, and its rooms stay small enough to be read."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import stableopt

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "stableopt"


@cache
def nodes(source: str) -> list[ast.AST]:
    """All nodes of a file, which is parsed once for all that is asked about it."""
    return list(ast.walk(ast.parse(source)))


# What each room may import besides itself. The model and the sets do not know each other: they meet in the loop.
LAYERS = {
    "base": set(),
    "model": {"base"},
    "sets": {"base"},
    "maxmin": {"base", "sets"},
    "loop": {"base", "model", "sets", "maxmin"},
    "campaign": {"base", "model", "sets", "maxmin", "loop"},
}
CORE = set(LAYERS)
# Leaves know the core and not each other. The paper's experiments are built from three of them, the commands from all;
# engines of others show pictures of a run.
LEAVES = {
    "theory": CORE,
    "problems": CORE,
    "plots": CORE,
    "paper": CORE | {"theory", "problems", "plots"},
    "integrations": CORE | {"plots"},
    "cli": CORE | {"theory", "problems", "plots", "paper"},
}
ROOMS = LAYERS | LEAVES
# What belongs to no room: what collects the public names, and what runs the commands.
DOORS = {"__init__.py": CORE, "__main__.py": {"cli"}}

HEAVY = ["matplotlib", "typer", "rich", "sklearn", "optuna"]
HEAVY += [f"scipy.{part}" for part in ("spatial", "special", "optimize", "stats", "sparse")]


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    return set(json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout))


def heavy(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if any(f"{name}.".startswith(f"{package}.") for package in HEAVY))


def test_import_is_light():
    free = modules_after("import numpy, scipy.linalg")
    assert heavy(modules_after("from stableopt import *") - free) == []
    assert "numpy" not in modules_after("import stableopt"), "names are loaded when they are asked for"
    assert heavy(modules_after("import scipy.stats") - free), "the check finds nothing where there is something"


def test_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert stableopt.__version__ == project["version"]


# What users bring themselves, if they have it; `typing_extensions` is for type checkers only.
BROUGHT = {"distributed", "ray", "typing_extensions"}
CALLED = {"sklearn": "scikit-learn", "PIL": "pillow"}  # packages that are imported by another name


def test_every_package_that_is_imported_is_installed_for_users():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(each for name in ("plots", "cli", "experiments", "optuna") for each in extras[name])]  # fmt: skip # noqa: E501
    declared = {re.split(r"[\[<>=;~ ]", each)[0] for each in wanted}
    missing = {}
    for path in FILES:
        for node in nodes(path.read_text(encoding="utf-8")):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            for package in {name.split(".")[0] for name in names} - sys.stdlib_module_names - BROUGHT - {"stableopt"}:
                if CALLED.get(package, package) not in declared:
                    missing.setdefault(package, []).append(path.name)
    assert missing == {}


# ------------------------------------------------------------------------------------------------------------- imports

FILES = sorted(SOURCE.rglob("*.py"))
MODULES = {
    ".".join(("stableopt", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in FILES
}


def imports(source: str, path: Path, *, top: bool = False) -> Iterator[tuple[int, str]]:
    """(line, module) of every import of stableopt in a file; with ``top``, of those outside functions only."""
    package = ["stableopt", *path.relative_to(SOURCE).parent.parts]
    inner = {
        id(part)
        for node in nodes(source)
        if top and isinstance(node, ast.FunctionDef)
        for part in ast.walk(node)
        if isinstance(part, ast.Import | ast.ImportFrom)
    }
    for node in nodes(source):
        if top and id(node) in inner:
            continue
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            targets = [n if (n := f"{module}.{alias.name}") in MODULES else module for alias in node.names]
        else:
            continue
        yield from ((node.lineno, target) for target in targets if target.split(".")[0] == "stableopt")


def wrong_imports(source: str, path: Path) -> list[str]:
    parts = path.relative_to(SOURCE).parts
    allowed = DOORS[parts[0]] if len(parts) == 1 else ROOMS[parts[0]] | {parts[0]}
    found = [(line, [*target.split("."), ""][1]) for line, target in imports(source, path)]
    where = path.relative_to(SOURCE)
    return [f"{where}:{line} imports {room or 'stableopt itself'}" for line, room in found if room not in allowed]


def test_every_entry_of_the_package_is_a_room():
    entries = {path.name for path in SOURCE.iterdir() if path.name != "__pycache__"}
    assert entries == {*ROOMS, *DOORS, "py.typed"}
    assert len(entries - {"py.typed"}) <= 14  # which is empty: it says that there are types


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_imports_point_one_way(path):
    assert wrong_imports(path.read_text(encoding="utf-8"), path) == []


@pytest.mark.parametrize(
    ("file", "source", "good"),
    [
        ("model/gp.py", "from stableopt.model.kernels import SE", True),
        ("model/gp.py", "from .kernels import SE", True),
        ("model/gp.py", "from stableopt.base import arrays", True),
        ("model/gp.py", "from stableopt.sets.domains import Grid", False),
        ("model/gp.py", "from ..sets import domains", False),
        ("model/gp.py", "import stableopt", False),
        ("model/gp.py", "from stableopt import Optimizer", False),
        ("maxmin/finite.py", "from ..sets.perturbations import Ball", True),
        ("maxmin/finite.py", "from ..model.gp import Posterior", False),
        ("sets/__init__.py", "from ..model.kernels import SE", False),
        ("loop/rules.py", "def later():\n    import stableopt.campaign.calls as c", False),
        ("loop/rules.py", "import numpy, stableopt.model.gp", True),
        ("loop/rules.py", "from stableopt import plots", False),
        ("plots/drawing.py", "from stableopt.problems import PROBLEMS", False),
        ("theory/sampling.py", "from stableopt.plots import belief", False),
        ("paper/demo.py", "from stableopt import plots", True),
        ("paper/demo.py", "from stableopt.cli.commands import app", False),
        ("cli/commands.py", "from stableopt.paper import demo", True),
        ("__init__.py", "from .loop.rules import Last", True),
        ("__init__.py", "from .plots import belief", False),
        ("__main__.py", "from .cli import main", True),
        ("__main__.py", "from .plots import belief", False),
    ],
)
def test_the_check_of_imports_tells_right_from_wrong(file, source, good):
    assert (wrong_imports(source, SOURCE / file) == []) == good


def longest_chain() -> list[str]:
    """The longest way from a module down to one that imports no other."""
    graph = {
        name: {t for _, t in imports(path.read_text(encoding="utf-8"), path, top=True)}
        for name, path in MODULES.items()
    }
    known: dict[str, list[str]] = {}

    def chain(name: str) -> list[str]:
        if name not in known:
            known[name] = [name, *max((chain(t) for t in graph[name] if t in graph and t != name), key=len, default=[])]
        return known[name]

    return max((chain(name) for name in graph), key=len)


def test_no_chain_of_imports_is_long():
    chain = longest_chain()
    assert len(chain) <= 15, " > ".join(chain)


# ---------------------------------------------------------------------------------------------------------------- size


def defined(kind: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    for path in FILES:
        for node in nodes(path.read_text(encoding="utf-8")):
            if isinstance(node, kind):
                yield f"{path.relative_to(SOURCE)}: {node.name}", node


def parameters(function: ast.FunctionDef) -> int:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return len(arguments) - (bool(arguments) and arguments[0].arg in ("self", "cls"))


PUBLIC_CALLS = {"maximize", "minimize", "assess", "fit", "sample", "reproduce", "calibrate", "check_chain"}


def test_few_functions_have_many_parameters():
    many = [f"{where} has {n}" for where, f in defined(ast.FunctionDef) if (n := parameters(f)) > 6]
    assert len([name for name in many if name.split(": ")[1].split()[0] not in PUBLIC_CALLS]) <= 5, many


def test_few_classes_have_many_methods():
    sizes = {where: sum(isinstance(part, ast.FunctionDef) for part in c.body) for where, c in defined(ast.ClassDef)}
    large = {where: size for where, size in sizes.items() if size > 15}
    assert len(large) <= 4, large


def test_no_file_is_long():
    lengths = {str(path.relative_to(SOURCE)): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: n for name, n in lengths.items() if n > 400} == {}


def test_the_loop_says_which_types_it_has():
    """No `Any` where rules and settings meet: what an index is depends on the setting, and the type says so."""
    for name in ("state", "setting", "optimizer"):
        words = re.findall(r"\bAny\b", (SOURCE / "loop" / f"{name}.py").read_text(encoding="utf-8"))
        assert not words, name


# --------------------------------------------------------------------------------------------------------------- paths

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
