"""Engines of others that can run stableopt; each needs its own package, and is imported by its own name."""
