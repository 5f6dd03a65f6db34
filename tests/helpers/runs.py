"""Runs as plain data, ready to be compared."""

import dataclasses

import numpy as np


def content(value):
    """All fields of a query, round or report, ready to be compared."""
    fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return {name: item.tolist() if isinstance(item, np.ndarray) else item for name, item in fields.items()}
