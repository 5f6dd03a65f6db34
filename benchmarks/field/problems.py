"""All problems by name, their stored stable optima, and the rule that splits them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.field.drawn import drawn
from benchmarks.field.known import own, robot, shared
from benchmarks.rivals.problems import Problem
from benchmarks.rivals.worst import stable_optimum

STORED = Path(__file__).with_name("optima.json")
SCAN, CLIMBS = 4000, 12


def part(name: str) -> str:
    """ "choose": choices may be made on this problem; "look": it is only looked at, at the end."""
    return ("choose", "look")[hashlib.sha256(name.encode()).digest()[0] % 2]


def add(problem: Problem) -> None:
    """Take a problem in, with its stored stable optimum unless it brings its own."""
    stored = json.loads(STORED.read_text()).get(problem.name)
    if np.isnan(problem.stable_value) and stored is not None:
        problem = replace(problem, stable_value=stored["value"], stable_decision=np.array(stored["decision"]))
    PROBLEMS[problem.name] = problem


def optimum(problem: Problem, seed: int = 0) -> Problem:
    """With the best worst case of all decisions, by brute effort."""
    decision, value = stable_optimum(problem, seed, SCAN, CLIMBS)
    return replace(problem, stable_value=round(value, 7), stable_decision=np.round(decision, 6))


def at_edge(problem: Problem) -> bool:
    """Whether the stable decision is at an end of a range, or as near to it as what the adversary can do."""
    span, reach = problem.upper - problem.lower, problem.reach
    if problem.stable_decision is None:
        return False
    ends = np.minimum(problem.stable_decision - problem.lower, problem.upper - problem.stable_decision)
    return bool((ends <= np.maximum(reach, 0.02 * span) * 1.001).any())


PROBLEMS: dict[str, Problem] = {}
_ALL = (*shared(), *own(), *robot(), *drawn())
BROUGHT = {problem.name for problem in _ALL if not np.isnan(problem.stable_value)}
"""Those whose stable optimum is known otherwise."""
SHIPPED = {problem.name for problem in _ALL}
"""Those of this folder; one's own are not among them."""
for _problem in _ALL:
    add(_problem)
