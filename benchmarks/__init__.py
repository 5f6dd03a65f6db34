"""How fast a round is, always as a ratio to a rival that is measured in the same process: `python -m benchmarks`."""
