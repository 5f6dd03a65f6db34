"""Promises about types: every call that the documentation shows is accepted by a type checker in strict mode."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def checked(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), str(path)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def test_documented_calls_are_accepted_in_strict_mode():
    found = checked(ROOT / "tests" / "typed_uses.py")
    assert found.returncode == 0, found.stdout


def test_a_wrong_call_is_found(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import stableopt as so\n\nso.Ball('wide').scaled(2.0).eps.upper()\nso.maximize(1, {'x': (0, 1)}, 0.1)\n"
    )
    found = checked(wrong)
    assert found.returncode == 1 and found.stdout.count("error:") >= 2, found.stdout
