"""The few array helpers that both halves of the library (model and max-min) need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
AnyArray = TypeVar("AnyArray", bound=NDArray[Any])


def cartesian(blocks: Sequence[Array]) -> Array:
    """Every combination of one row from each block, side by side; the last block varies fastest."""
    if len(blocks) == 1:
        return blocks[0]
    indices = np.indices([len(block) for block in blocks]).reshape(len(blocks), -1)
    return np.hstack([block[i] for block, i in zip(blocks, indices, strict=True)])


def frozen(array: AnyArray) -> AnyArray:
    """The same array, read-only from now on."""
    array.flags.writeable = False
    return array
