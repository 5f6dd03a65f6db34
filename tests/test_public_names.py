"""Promises about the public names: which ones there are, that they are few, and that each explains itself."""

import importlib
import inspect
import pkgutil

import pytest

import stableopt

INTENDED = {
    "calls": {"maximize", "minimize", "assess"},
    "running": {"Optimizer", "Query", "Round", "Report", "ALGORITHMS", "Algorithm"},
    "domains": {"Space", "Float", "Integer", "Grid", "Points"},
    "uncertainty": {"Ball", "Rectangle", "Relative", "Ellipsoid", "Within", "Hamming", "Distance", "Parameters"}
    | {"Estimate", "Groups"},
    "beliefs": {"Learned", "GP", "SE", "Matern", "Linear", "Categorical"},
}
ALL = sorted(set().union(*INTENDED.values()))


def test_the_public_names_are_exactly_the_intended_ones():
    assert sorted(stableopt.__all__) == ALL
    assert len(set(stableopt.__all__)) == len(stableopt.__all__)


def test_there_are_at_most_thirty():
    assert len(stableopt.__all__) <= 30


def test_a_star_import_gives_just_them():
    names: dict[str, object] = {}
    exec("from stableopt import *", names)
    assert sorted(set(names) - {"__builtins__"}) == ALL


def test_nothing_else_that_looks_public_is_in_the_way():
    submodules = {module.name for module in pkgutil.iter_modules(stableopt.__path__)}
    visible = {name for name in vars(stableopt) if not name.startswith("_")}
    assert visible - submodules == set(ALL)


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
