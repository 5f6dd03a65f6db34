"""``python -m stableopt`` is the ``stableopt`` command."""

from stableopt.cli import main

if __name__ == "__main__":
    main()
