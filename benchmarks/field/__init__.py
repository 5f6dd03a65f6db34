"""The field: all methods on many problems that nobody tuned to. See docs/field.md."""

import benchmarks.rivals  # noqa: F401  (one thread each, before NumPy is imported)
