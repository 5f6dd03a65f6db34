"""The ``stableopt`` command. Its packages are optional: where one is missing, `main` says what to install."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from stableopt.cli.commands import app
    except ImportError as error:
        if str(error.name).split(".")[0] == "stableopt":
            raise
        sys.exit(f"{error}\nThe command line needs more packages: pip install 'stableopt[cli]'")
    app()
