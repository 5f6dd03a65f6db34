"""Promises of a match: algorithms play under the same conditions, and all leaves play them in the same loop."""

import ast
from pathlib import Path

import numpy as np
import pytest

import stableopt
from stableopt.loop.play import play
from stableopt.paper.match import Match, number
from stableopt.problems import PROBLEMS

SOURCE = Path(stableopt.__file__).parent
LEAVES = [path for room in ("paper", "plots", "problems", "theory", "cli") for path in (SOURCE / room).rglob("*.py")]


def drawn(name="peaks", **options):
    settings = {"initial": 3, "rounds": 4, "seed": 5} | options
    return Match.drawn(PROBLEMS[name], np.random.default_rng(1), **settings)


@pytest.mark.parametrize("name", ["peaks", "dose", "films"])
def test_algorithms_share_first_points_and_errors(name):
    match, problem = drawn(name), PROBLEMS[name]
    for algorithm in ("StableOpt", "GP-UCB", "Stable-GP-Random"):
        optimizer = match.optimizer(algorithm)
        assert [r.point_index for r in optimizer.rounds] == match.initial.tolist()
        steps = list(play(optimizer, match.measure, match.rounds))
        at = [number(r.point_index) for r in optimizer.rounds]
        errors = [*match.initial_errors, *match.errors]
        assert [r.y for r in optimizer.rounds] == pytest.approx(problem.values[at] + errors, abs=1e-12)
        assert [step.y for step in steps] == [r.y for r in optimizer.rounds[3:]]


def test_first_points_are_different_and_can_be_reached():
    match = drawn("dose", initial=50)
    assert len(set(match.initial.tolist())) == 50
    assert np.isin(match.initial, PROBLEMS["dose"].listing.reachable).all()


def test_a_match_needs_no_first_points_and_can_have_another_model():
    gp = stableopt.GP(stableopt.SE(0.1), noise=0.1)
    match = drawn(initial=0, gp=gp)
    optimizer = match.optimizer("StableOpt", beta=9.0, explore=1.0)
    assert optimizer.rounds == () and optimizer.gp is gp
    assert (optimizer.beta, optimizer.state.explore) == (9.0, 1.0)


def test_coordinates_are_no_number_of_a_point():
    assert number(np.int64(3)) == 3
    with pytest.raises(TypeError, match="on a list, got the coordinates"):
        number((0.5,))


def asks(source: str) -> bool:
    """Whether some code asks an optimiser itself. To ask a campaign once, for a person, is no loop."""
    tree = ast.parse(source)
    loops = ast.For | ast.While | ast.comprehension | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    repeated = {id(part) for node in ast.walk(tree) if isinstance(node, loops) for part in ast.walk(node)}
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "ask"
        and (id(node) in repeated or ast.unparse(node.func.value) != "campaign")
        for node in ast.walk(tree)
    )


def test_no_leaf_has_a_loop_of_its_own():
    assert len(LEAVES) > 40
    assert [str(path) for path in LEAVES if asks(path.read_text(encoding="utf-8"))] == []
    assert asks("query = optimizer.ask()") and not asks("play(optimizer, measure, 3)"), "the check tells them apart"
    assert asks("while True:\n    campaign.ask()") and not asks("campaign.ask(n)")
