"""The ``stableopt`` command. Its packages are optional: where one is missing, `main` says what to install."""

import importlib.util
import sys


def main() -> None:
    """Run the command line."""
    missing = [package for package in ("typer", "rich", "matplotlib") if importlib.util.find_spec(package) is None]
    if missing:
        sys.exit(f"The command line needs {' and '.join(missing)}: pip install 'stableopt[cli]'")
    from stableopt.cli.commands import app

    app()
