"""Ratings as products of features that are not negative, R_ij ≈ m_i · u_j, from the observed ratings only.

Notation
    R        ratings (movies, users), known where O is 1; a missing rating is not a zero
    M, U     features of movies and of users, (movies, p) and (users, p)
    n_i      number of ratings of row i

Alternating least squares for Σ over observed (R_ij − m_i·u_j)² + λ(Σ n_i‖m_i‖² + Σ n_j‖u_j‖²) with M, U ≥ 0: with U
fixed, every m_i is a least-squares problem of its own, with the Gram matrix Σ_j O_ij u_j u_jᵀ + λ n_i I. All rows are
solved at once by coordinate descent, which never increases the objective.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from stableopt.base.arrays import Array

_SWEEPS = 3  # of coordinate descent within one alternation; the next one continues from there


class Observed(NamedTuple):
    """The ratings that are known: values[k] at (rows[k], columns[k])."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    values: Array


def factorise(observed: Observed, *, factors: int, penalty: float, iterations: int, seed: int) -> tuple[Array, Array]:
    """Features of rows and of columns, from the ratings that are known."""
    rows, columns, ratings = observed
    shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    R = csr_array((ratings, (rows, columns)), shape=shape)
    O = csr_array((np.ones(len(ratings)), (rows, columns)), shape=shape)  # noqa: E741
    rng = np.random.default_rng(seed)
    typical = np.sqrt(max(float(ratings.mean()), 1e-12) / factors)  # so that products start near the mean rating
    M = typical * rng.uniform(0.5, 1.5, (shape[0], factors))
    U = typical * rng.uniform(0.5, 1.5, (shape[1], factors))
    for _ in range(iterations):
        M = _solved(R, O, U, M, penalty)
        U = _solved(csr_array(R.T), csr_array(O.T), M, U, penalty)
    return M, U


def _solved(R: csr_array, O: csr_array, F: Array, W: Array, penalty: float) -> Array:  # noqa: E741
    """Better features W ≥ 0 of the rows of R, with those of its columns fixed at F."""
    p = F.shape[1]
    outer = (F[:, :, None] * F[:, None, :]).reshape(len(F), p * p)
    gram = np.asarray(O @ outer).reshape(-1, p, p)
    counts = np.asarray(O.sum(axis=1)).ravel()
    gram[:, np.arange(p), np.arange(p)] += penalty * np.maximum(counts, 1.0)[:, None]
    goal = np.asarray(R @ F)
    W = W.copy()
    for _ in range(_SWEEPS):
        for k in range(p):
            slope = np.einsum("ij,ij->i", gram[:, k], W) - goal[:, k]
            W[:, k] = np.maximum(W[:, k] - slope / gram[:, k, k], 0.0)
    return W
