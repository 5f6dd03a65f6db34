"""The package as OptunaHub loads it, by its folder; and its example."""

import importlib.util
import runpy
import sys
from pathlib import Path
from types import ModuleType

import optuna
import pytest

HERE = Path(__file__).resolve().parent.parent
optuna.logging.set_verbosity(optuna.logging.WARNING)


@pytest.fixture
def module(monkeypatch):
    """What optunahub.load_module("samplers/stableopt") returns."""
    spec = importlib.util.spec_from_file_location("hub_stableopt", HERE / "__init__.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    stand_in = ModuleType("optunahub")
    stand_in.load_module = {"samplers/stableopt": loaded}.__getitem__
    monkeypatch.setitem(sys.modules, "optunahub", stand_in)
    return loaded


def test_the_example_prints_the_hill(module, capsys):
    runpy.run_path(str(HERE / "example.py"), run_name="__main__")
    decision = capsys.readouterr().out.splitlines()[0].split()
    assert decision[0] == "decision" and abs(float(decision[-1]) - 7.0) < 0.6


def test_the_readme_has_what_the_registry_asks_for():
    head = (HERE / "README.md").read_text(encoding="utf-8").split("---")[1]
    found = [line.split(":")[0] for line in head.strip().splitlines()]
    assert found == ["author", "title", "description", "tags", "optuna_versions", "license"]
    assert (HERE / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")


def test_the_sampler_refuses_a_study_that_would_not_be_robust(module):
    with pytest.raises(ValueError, match="nothing is robust"):
        module.StableOptSampler()
