"""Promises about the public names: exactly the intended ones, each explains itself, the docs need no others."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import stableopt

ROOT = Path(__file__).resolve().parent.parent
INTENDED = {
    "calls": {"maximize", "minimize", "assess", "audit", "ObjectiveError", "Result", "Assessment", "Audit", "Profile"}
    | {"Measurement"},
    "tolerances": {"Allowance", "Comparison", "Widest", "widest"},
    "campaigns": {"Campaign", "Trial"},
    "running": {"Constraint", "Optimizer", "Query", "Round", "Report", "ALGORITHMS", "Algorithm"},
    "domains": {"Space", "Float", "Integer", "Category", "Grid", "Points"},
    "uncertainty": {"Ball", "Rectangle", "Relative", "Ellipsoid", "Within", "Hamming", "Distance", "Parameters"}
    | {"Estimate", "Groups", "OwnSet", "Perturbation", "UncertaintySet"},
    "beliefs": {"Learned", "GP", "SE", "Matern", "Linear", "Categorical"},
}
ALL = sorted(set().union(*INTENDED.values()))
# Everything else that the documentation uses is in one of these.
MODULES = {
    "loop": {
        "ALGORITHMS",
        "Algorithm",
        "Choice",
        "Constraint",
        "Index",
        "Margin",
        "Setting",
        "Measurement",
        "Optimizer",
        "Query",
        "Report",
        "Round",
        "State",
    }
    | {"SamplingRule", "OptimisticPessimistic", "OptimisticItself", "LargestUcb", "UniformlyRandom"}
    | {"ReportingRule", "BestSoFar", "BestWhenAsked", "BestIntersected", "BestOfAll", "BestExpected", "MostPromising"}
    | {"Last", "Schedule", "Constant", "Curious", "Alternating", "LikelihoodRatio", "Rkhs", "PaperRkhs", "FixedDesign"}
    | {"BayesianFinite", "BayesianBox", "Calibrated", "Step", "play"},
    "model": {"Kernel", "SE", "Matern", "Linear", "Categorical", "Stationary", "Sum", "Product", "Scaled", "OnColumns"}
    | {"check_kernel", "GP", "LinearMean", "Posterior", "TrackedPosterior", "Mixture", "TrackedMixture", "Bound"}
    | {"fit", "sample", "log_likelihood", "param_names", "Fit", "Prior", "LogNormal", "Gamma", "LogUniform"}
    | {"default_priors", "Learned", "Belief", "Warp", "WarpedPosterior", "WarpedOnCandidates"},
    "maxmin": {"Choice", "Hints", "Solver", "Smooth", "ContinuousMaxMin", "SpaceRegion", "ListedMaxMin", "Listing"}
    | {"Decision"},
    "plots": {
        "allowance",
        "belief",
        "calibration",
        "health",
        "contenders",
        "hurts",
        "landscape",
        "profile",
        "progress",
        "report",
        "share_legend",
    }
    | {"slices"},
    "problems": {"PROBLEMS", "Problem", "alloys", "dose", "films", "kiln", "mooring", "peaks", "polynomial", "recipe"}
    | {"wind"},
    "theory": {
        "Chain",
        "GainBracket",
        "Game",
        "HardInstances",
        "Played",
        "RigorousReport",
        "RkhsFunctions",
        "Runs",
        "c1",
        "calibrate",
    }
    | {"certify", "check_chain", "consistent", "gain_rate", "information_gain", "largest_variance"}
    | {"max_information_gain", "optimistic", "plot_instances", "regret_bound", "rigorous_certificate", "rounds_needed"}
    | {
        "sample_prior",
        "sample_rkhs",
        "simulate",
        "stable",
        "stable_choices",
        "uniform",
        "Bump",
        "Rule",
        "log_spectral_density",
    }
    | {"necessary_rate", "paper_width", "valley_norm", "valley_width"},
}
# Engines of others, each of which needs a package of its own.
INTEGRATIONS = {
    "integrations.optuna": {"Certificate", "StableOptSampler", "assess", "certificate", "profile", "stable_best"}
    | {"publish", "to_campaign", "to_study"},
}


def test_the_public_names_are_exactly_the_intended_ones():
    assert sorted(stableopt.__all__) == ALL
    assert len(set(stableopt.__all__)) == len(stableopt.__all__)


@pytest.mark.parametrize("name", [*MODULES, *INTEGRATIONS])
def test_the_names_of_a_public_module_are_exactly_the_intended_ones(name):
    if name in INTEGRATIONS:
        pytest.importorskip(name.split(".")[1])
    module = importlib.import_module(f"stableopt.{name}")
    assert sorted(module.__all__) == sorted({**MODULES, **INTEGRATIONS}[name])
    assert all(hasattr(module, item) for item in module.__all__)


def imported(page: Path) -> set[tuple[str, str]]:
    """(module, name) of all that the Python blocks of a page import from the package."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    nodes = [node for block in blocks for node in ast.walk(ast.parse(block)) if isinstance(node, ast.ImportFrom)]
    return {(node.module or "", alias.name) for node in nodes for alias in node.names}


def test_the_documentation_imports_public_names_only():
    assert len(MODULES) <= 6
    public = {("stableopt", name) for name in [*ALL, *MODULES]}
    public |= {(f"stableopt.{module}", name) for module, names in (MODULES | INTEGRATIONS).items() for name in names}
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    used = {item for page in pages for item in imported(page) if item[0].split(".")[0] == "stableopt"}
    assert used and used - public == set()


def test_every_public_name_is_in_the_reference():
    """`make docs` checks the same of the site that it builds; this takes no time."""
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    written = set(re.findall(r"^\.\. [\w:]+:: ([\w.]+)$", pages, re.MULTILINE))
    paths: dict[int, set[str]] = {}  # a name may be reached in several ways, and is described once
    for module, names in {"": ALL, **MODULES, **INTEGRATIONS}.items():
        where = f"stableopt.{module}".rstrip(".")
        try:
            there = importlib.import_module(where)
        except ImportError:  # its engine is not installed
            continue
        for name in names:
            paths.setdefault(id(getattr(there, name)), set()).add(f"{where}.{name}")
    assert [min(some) for some in paths.values() if some.isdisjoint(written)] == [], "add it to docs/reference"


def test_a_star_import_gives_just_them():
    names: dict[str, object] = {}
    exec("from stableopt import *", names)
    assert sorted(set(names) - {"__builtins__"}) == ALL


def test_nothing_else_that_looks_public_is_in_the_way():
    submodules = {module.name for module in pkgutil.iter_modules(stableopt.__path__)}
    visible = {name for name in dir(stableopt) if not name.startswith("_")}
    assert visible - submodules == set(ALL)


def test_type_checkers_find_every_name_where_it_is_loaded_from():
    tree = ast.parse(Path(stableopt.__file__).read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    told = {node.module: {alias.name for alias in node.names} for node in nodes if node.module.startswith("stableopt.")}
    assert told == {f"stableopt.{file}": set(names.split(", ")) for file, names in stableopt._FILES.items()}


def test_values_are_read_before_a_name_of_the_package_was_used():
    code = "from stableopt.base.values import from_dict; print(from_dict({'kind': 'LargestFactor', 'at_least': 1.0}))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "LargestFactor(at_least=1.0)"


def test_a_name_that_does_not_exist_is_missing_as_everywhere():
    assert not hasattr(stableopt, "Maximize")
    with pytest.raises(ImportError, match="cannot import name 'Maximize'"):
        exec("from stableopt import Maximize")


@pytest.mark.parametrize("name", sorted(set(ALL) - {"ALGORITHMS"}))
def test_every_public_class_says_what_it_is(name):
    item = getattr(stableopt, name)
    own = item.__doc__ if inspect.isfunction(item) else vars(item).get("__doc__")
    assert own and not own.startswith(f"{name}("), "a dataclass writes its signature where there is no docstring"


@pytest.mark.parametrize("name", sorted(set(ALL) - {"ALGORITHMS"}))
def test_every_public_method_says_what_it_does(name):
    item = getattr(stableopt, name)
    silent = [
        member
        for member, value in inspect.getmembers(item)
        if not member.startswith("_")
        and (inspect.isroutine(value) or isinstance(value, property))
        and not inspect.getdoc(value)
    ]
    assert silent == []


@pytest.mark.parametrize("name", ALL)
def test_every_public_name_lives_where_its_module_says(name):
    item = getattr(stableopt, name)
    if name != "ALGORITHMS":
        assert getattr(importlib.import_module(item.__module__), name) is item
        assert item.__module__.startswith("stableopt.")
    assert name in dir(stableopt)
