"""Classifiers with two hyperparameters each, on data that come with scikit-learn, and how good they are.

A `Trial` fixes the split of one data set into training, validation and test parts. Everything random has a seed of
its own, so a value never depends on earlier evaluations.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stableopt.base.arrays import Array

CELLS = 21
"""Values of each hyperparameter."""
DATA = ("breast cancer", "digits")
# Range of each hyperparameter as powers of ten.
MODELS = {"SVM": ((-2.0, 4.0), (-5.0, 1.0)), "neural network": ((-4.0, 0.0), (-5.0, 1.0))}
_MOST = 450  # samples of a data set in one trial: small data are where tuning can go wrong
_SHIFT = 1.0  # standard deviations of noise on the features of the test data
_RESAMPLED = 3  # trainings of a reported cell; their accuracies are averaged


class Trial:
    """One split of a data set, and a model to be tuned on it."""

    def __init__(self, model: str, data: str, seed: tuple[int, ...]) -> None:
        X, y = _load(data)
        order = np.random.default_rng([*seed, 1]).permutation(len(y))[:_MOST]
        parts = np.split(order, [int(0.4 * len(order)), int(0.7 * len(order))])
        mean, spread = X[parts[0]].mean(axis=0), X[parts[0]].std(axis=0)
        X = (X - mean) / np.where(spread > 0, spread, 1.0)
        self._train, self._valid, self._test = ((X[part], y[part]) for part in parts)
        self._model, self._seed = model, seed
        self._known: dict[tuple[str, int], float] = {}

    def validate(self, cell: int, t: int) -> float:
        """f with its noise: accuracy on the validation data after training on a resampled set, the t-th one."""
        return self._accuracy(cell, (2, t + 1000), *self._valid)

    def valid(self, cell: int) -> float:
        """Accuracy on the validation data, averaged over training sets that were not used for tuning."""
        return self._averaged("valid", cell, *self._valid)

    def test(self, cell: int) -> float:
        """Accuracy on test data with noisier features, averaged over the same training sets."""
        X, y = self._test
        noise = np.random.default_rng([*self._seed, 3]).standard_normal(X.shape)
        return self._averaged("test", cell, X + _SHIFT * noise, y)

    def _averaged(self, what: str, cell: int, X: Array, y: NDArray[np.intp]) -> float:
        if (what, cell) not in self._known:
            values = [self._accuracy(cell, (4, i), X, y) for i in range(_RESAMPLED)]
            self._known[what, cell] = float(np.mean(values))
        return self._known[what, cell]

    def _accuracy(self, cell: int, stream: tuple[int, int], X: Array, y: NDArray[np.intp]) -> float:
        features, labels = self._train
        rng = np.random.default_rng([*self._seed, *stream])
        drawn = rng.integers(len(labels), size=len(labels))
        model = _classifier(self._model, cell, int(rng.integers(2**31)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a training that does not converge is part of the question
                model.fit(features[drawn], labels[drawn])
            return float(np.mean(model.predict(X) == y))
        except ValueError:  # the weights of the network overflowed: it knows nothing
            return float(np.bincount(y).max() / len(y))


def _classifier(model: str, cell: int, seed: int) -> Any:
    row, column = divmod(cell, CELLS)
    first, second = (
        10 ** np.interp(i, (0, CELLS - 1), ends) for i, ends in zip((row, column), MODELS[model], strict=True)
    )
    if model == "SVM":
        from sklearn.svm import SVC

        return SVC(C=first, gamma=second)
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(
        (32,), learning_rate_init=first, alpha=second, batch_size=32, max_iter=25, random_state=seed, tol=0.0
    )


@cache
def _load(data: str) -> tuple[Array, NDArray[np.intp]]:
    from sklearn import datasets

    X, y = (datasets.load_breast_cancer if data == "breast cancer" else datasets.load_digits)(return_X_y=True)
    return np.asarray(X, dtype=float), np.asarray(y, dtype=np.intp)
