"""Entry point of the ``stableopt`` command, which says what to install where the command line is missing."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from stableopt.cli import app
    except ImportError as error:
        if str(error.name).split(".")[0] == "stableopt":
            raise
        sys.exit(f"{error}\nThe command line needs more packages: pip install 'stableopt[cli]'")
    app()


if __name__ == "__main__":
    main()
