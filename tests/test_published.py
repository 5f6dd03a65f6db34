"""What is published says the same thing everywhere."""

import re
import tomllib
from pathlib import Path

import stableopt

ROOT = Path(__file__).parents[1]


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_one_version_everywhere():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert {project()["version"], cited and cited[1]} == {stableopt.__version__}


def test_the_workflow_tests_every_python_that_is_named_with_the_command_of_a_newcomer():
    workflow = (ROOT / ".github/workflows/test.yml").read_text()
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(project()["classifiers"]))
    tested = re.search(r"python: \[(.+)\]", workflow)
    assert tested and re.findall(r"3\.\d+", tested[1]) == named
    assert "run: make test\n" in workflow


def test_the_tests_that_every_change_leaves_out_run_once_a_week():
    workflow = (ROOT / ".github/workflows/thorough.yml").read_text()
    assert "schedule:" in workflow and "run: make thorough\n" in workflow


def test_the_core_needs_numpy_and_scipy_only():
    assert sorted(re.split(r"\W", d)[0] for d in project()["dependencies"]) == ["numpy", "scipy"]
