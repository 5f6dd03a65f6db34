"""Promises about stored runs: files of earlier versions are read, and classes of one's own are found by name.

`data/runs-of-format-2.json` was written by the first version that had this format, with what it asked and reported.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import extra

from stableopt import Optimizer

STORED = json.loads((Path(__file__).parent / "data" / "runs-of-format-2.json").read_text(encoding="utf-8"))


def cityblock(a, b):
    return float(np.abs(a - b).sum())


def plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


def as_then(now, then):
    """What is written now without the fields that there were not then, which say nothing: they are empty."""
    if isinstance(now, dict) and isinstance(then, dict):
        return {key: as_then(item, then.get(key)) for key, item in now.items() if key in then or item}
    same = isinstance(now, list) and isinstance(then, list) and len(now) == len(then)
    return [as_then(*pair) for pair in zip(now, then, strict=True)] if same else now


@pytest.mark.parametrize("name", STORED)
def test_a_file_of_an_earlier_version_is_read_and_goes_on_as_it_was(name):
    stored = STORED[name]
    optimizer = Optimizer.from_json(json.dumps(stored["run"]), {"cityblock": cityblock})
    report = optimizer.report()
    assert len(optimizer.rounds) == len(stored["run"]["rounds"])
    close = 1e-4 if name == "mixed space, learned" else 1e-6  # worst cases on a log scale are found more exactly now
    for key in ("lower", "upper", "optimum_upper"):
        assert getattr(report, key) == pytest.approx(stored[key], rel=close, abs=close)
    assert as_then(json.loads(optimizer.to_json()), stored["run"]) == stored["run"], "it is written as it was read"
    if name != "bayes":  # a search may end elsewhere on another processor
        assert plain(report.decision) == pytest.approx(stored["decision"], abs=1e-4)


OWN = """
import sys
from dataclasses import dataclass, field
import numpy as np
import stableopt as so
from stableopt.loop import Choice, ReportingRule, SamplingRule, Schedule
from stableopt.model import Kernel

@dataclass(frozen=True)
class LeastKnown(SamplingRule):
    def sample(self, state, seed):
        points = state.candidates()
        point = points[int(np.argmax(state.moments(points)[1]))]
        return Choice(state.decision_of(point), point)

@dataclass(frozen=True)
class Middle(ReportingRule):
    def choose(self, state):
        return state.tried()[int(np.argmax(sum(state.bounds_of(state.tried()))))]

@dataclass(frozen=True)
class Rational(Kernel):
    lengthscale: float = 0.3
    def values(self, X, Z):
        return 1 / (1 + ((X[:, None] - Z) ** 2).sum(axis=-1) / self.lengthscale**2)

@dataclass(frozen=True)
class Wear(so.OwnSet):
    most: float = 0.1
    def contains(self, X, Z):
        return ((Z <= X + 1e-9) & (Z >= X - self.most - 1e-9)).all(axis=1)
    def project(self, X, Z):
        return np.clip(Z, X - self.most, X)

@dataclass(frozen=True)
class Growing(Schedule):
    def at(self, t, gain):
        return 1.0 + np.log(t)

CLASSES = [LeastKnown, Middle, Rational, Wear, Growing]
"""
WRITE = """
domain = so.Space([(0.0, 1.0)]) if sys.argv[1] == "space" else so.Grid.linspace(0, 1, 21)
rule = so.Algorithm("mine", LeastKnown(), Middle())
optimizer = so.Optimizer(domain, Wear(), so.GP(2.0 * Rational(), 0.1), algorithm=rule, beta=Growing())
for _ in range(4):
    query = optimizer.ask()
    optimizer.tell(query, float(np.sin(5 * query.point[0])))
print(optimizer.to_json())
print(optimizer.ask().point.tolist(), optimizer.report())
"""
READ = """
optimizer = so.Optimizer.from_json(sys.stdin.read(), classes=CLASSES)
print(optimizer.ask().point.tolist(), optimizer.report())
"""


def run(tmp_path, script, *arguments, text=""):
    """A fresh process in which one's own classes are those of a module, or of the script itself."""
    path = tmp_path / "script.py"
    path.write_text(script)
    command = [sys.executable, "-W", "ignore", str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, input=text, cwd=tmp_path)


@pytest.mark.parametrize("where", [extra("grid"), "space"])
def test_a_run_with_classes_of_ones_own_is_read_in_a_fresh_process_by_naming_them(where, tmp_path):
    text, said = run(tmp_path, OWN + WRITE, where).stdout.splitlines()
    (tmp_path / "mine.py").write_text(OWN)
    read = run(tmp_path, "import sys\nimport stableopt as so\nfrom mine import CLASSES\n" + READ, text=text)
    assert read.stdout.strip() == said, read.stderr
    missing = run(tmp_path, "import sys\nimport stableopt as so\nCLASSES = []\n" + READ, text=text)
    assert missing.returncode == 1 and "pass classes=[Wear]" in missing.stderr, missing.stderr
