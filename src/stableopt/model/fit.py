"""A GP with better hyperparameters: the most likely ones given data and priors, or samples of their posterior.

Everything in a GP is learned (each hyperparameter of its kernel, its noise, a constant mean), unless it is fixed by
name. All of it is bounded: likelihood alone ran to a signal variance of 7e10 on the paper's polynomial.

Notation
    X, y             observed points (t, p) and their values (t,)
    K, L             kernel matrix of the observed points plus the noise, (t, t), and its Cholesky factor
    m, α             constant mean, and K⁻¹(y - m)
    W                ½(ααᵀ - K⁻¹), the derivative of the log likelihood by the entries of K
    u      (q + 2,)  coordinates: the q `params` of the kernel (logs, logits), log σ of the noise σ, and m
    v                a positive hyperparameter in its natural unit, log v being its coordinate
    s                root mean square of y - m, the unit of the outputs; that of the prior where they do not vary

For given K the likelihood is a parabola in m, so its best m within bounds is a weighted average, clipped. The search
therefore never sees m: no start, step or unit can be wrong for it. By the envelope theorem, the gradient by the other
coordinates is the partial one. Samples treat m as one more coordinate.

The keys of bounds, priors and ``fixed`` are the names of `param_names(gp)`, or less specific: see `hyperparameters`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack

from stableopt.base.arrays import Array
from stableopt.base.checks import numbers, vector, whole
from stableopt.model import hyperparameters as named
from stableopt.model.derived import NotFiniteError
from stableopt.model.factors import NOISE_FLOOR
from stableopt.model.gp import GP, LinearMean
from stableopt.model.hyperparameters import Prior

Data = tuple[Array, Array, Array | None]  # points, values and, where it is known, their noise
Bounds = Mapping[str, tuple[float, float]]


class Fit(NamedTuple):
    """The result of a search for hyperparameters."""

    gp: GP
    log_likelihood: float
    """Log marginal likelihood of the data; -inf if no K could be factorised, and then ``gp`` is as it was."""
    objective: float
    """The largest value found of the log likelihood plus the log densities of the priors."""
    evaluations: int
    """How often the likelihood was computed, over all starts."""
    converged: bool
    """Whether the best search ended because nothing improved any more, and not at its limit of iterations."""


def param_names(gp: GP) -> tuple[str, ...]:
    """The names of all hyperparameters, in the order of the gradient of `log_likelihood`."""
    return (*named.natural_names(gp.kernel), "noise", "mean")


def log_likelihood(gp: GP, X: ArrayLike, y: ArrayLike, noise: ArrayLike | None = None) -> tuple[float, Array]:
    """Log marginal likelihood of the data, and its gradient by the kernel's params, log noise and a constant mean.

    ``noise``: one standard deviation per observation instead of the GP's; NaN is the GP's. Where K cannot be factorised
    in floating point, the value is -inf and the gradient 0.
    """
    return _evidence(gp, *_data(gp, X, y, noise))[:2]


def fit(
    gp: GP,
    X: ArrayLike,
    y: ArrayLike,
    *,
    priors: Mapping[str, Prior] | None = None,
    fixed: Iterable[str] = (),
    bounds: Bounds | None = None,
    noise: ArrayLike | None = None,
    starts: int = 5,
    iterations: int = 200,
    seed: int | Sequence[int] = 0,
) -> Fit:
    """The GP whose hyperparameters make the data most likely, times the priors where there are any.

    The first search starts at the values of ``gp``: pass the last fit, and ``starts=1`` is a quick refit. The second
    one starts at the modes of the priors, or where the spread of the data suggests; the others at random around it.
    ``noise``: a known standard deviation per observation. Where it is NaN, the observation has the noise of the GP,
    which is learned from such observations only. ``iterations``: the largest number of steps of each search.
    Without priors, a handful of observations drives hyperparameters to their bounds: see `default_priors`.
    """
    whole(starts, 1, "starts as a whole number of at least 1")
    whole(iterations, 1, "iterations as a whole number of at least 1")
    target = _target(gp, _data(gp, X, y, noise), priors or {}, fixed, bounds or {})
    best, *others = tries = [_climb(target, u, iterations) for u in target.starts(starts, np.random.default_rng(seed))]
    for found in others:
        if found.objective > best.objective + 1e-6:  # the known values stay where all are equally good
            best = found
    return best._replace(evaluations=sum(found.evaluations for found in tries))


def sample(
    gp: GP,
    X: ArrayLike,
    y: ArrayLike,
    n: int = 10,
    *,
    burn_in: int = 50,
    thin: int = 3,
    priors: Mapping[str, Prior] | None = None,
    fixed: Iterable[str] = (),
    bounds: Bounds | None = None,
    noise: ArrayLike | None = None,
    seed: int | Sequence[int] = 0,
) -> list[GP]:
    """n GPs whose hyperparameters are drawn from their posterior given the data, by slice sampling.

    The chain starts at the values of ``gp``, drops ``burn_in`` sweeps over the coordinates and keeps every thin-th.
    The mean, and each log v without a prior, is uniform within its bounds; the default ones depend on the data.
    """
    for what, count, least in (("n", n, 1), ("burn_in", burn_in, 0), ("thin", thin, 1)):
        whole(count, least, f"{what} as a whole number of at least {least}")
    target = _target(gp, _data(gp, X, y, noise), priors or {}, fixed, bounds or {})
    rng = np.random.default_rng(seed)
    u, gps = target.first, []
    for sweep in range(1, burn_in + n * thin + 1):
        u = _sweep(target, u, rng)
        if sweep > burn_in and (sweep - burn_in) % thin == 0:
            gps.append(target.gp_at(u))
    return gps


@np.errstate(all="ignore")
def _evidence(
    gp: GP, X: Array, y: Array, noise: Array | None, mean: tuple[float, float] | None = None, slopes: bool = True
) -> tuple[float, Array, float]:
    """Log likelihood, its gradient by u if wanted, and m: the best one between two bounds, or else that of the GP."""
    t, m = len(y), min(max(float(y.mean()), mean[0]), mean[1]) if mean else 0.0
    shared = np.ones(t, dtype=bool) if noise is None else np.isnan(noise)  # observations with the noise of the GP
    prior = gp.kernel.diag(X)
    variance = gp.noise_variance(prior, noise)
    K, pull = gp.kernel.with_pullback(X, X) if slopes else (gp.kernel(X, X), None)
    K.flat[:: t + 1] += variance
    L, failed = lapack.dpotrf(K.T, lower=1, overwrite_a=1)  # the transpose is in LAPACK's order: no copy
    residual = y - (m if mean else gp.prior_mean(X))
    solved, _ = lapack.dpotrs(L, np.column_stack([residual, np.ones(t)]), lower=1)
    alpha, weights = solved.T  # K⁻¹(y - m), K⁻¹1
    if mean and weights.sum() > 0:
        best = min(max(m + float(alpha.sum() / weights.sum()), mean[0]), mean[1])
        m, residual, alpha = best, residual - (best - m), alpha - (best - m) * weights
    value = float(-0.5 * residual @ alpha - np.log(L.diagonal()).sum() - 0.5 * t * math.log(2 * math.pi))
    if failed or not math.isfinite(value):
        return -math.inf, np.zeros(len(gp.kernel.params) + 2), m
    if pull is None:
        return value, np.empty(0), m
    # W, but with what belongs to both triangles of ½K⁻¹ in one of them: all that W meets is symmetric.
    inverse, _ = lapack.dpotri(L, lower=1, overwrite_c=1)  # fills one triangle; the other is 0
    W = -inverse.T
    W.flat[:: t + 1] *= 0.5
    W += np.multiply.outer(0.5 * alpha, alpha)
    by_kernel, by_noise = pull(W, "params"), W.diagonal()
    floored = variance == NOISE_FLOOR**2 * prior  # there the noise is a fraction of the prior variance
    if floored.any():
        pull_prior = gp.kernel.with_pullback(X)[1]
        by_kernel = by_kernel + pull_prior(np.where(floored, NOISE_FLOOR**2 * by_noise, 0.0), "params")
    learned = np.where(shared & ~floored, gp.noise**2, 0.0)
    return value, np.array([*by_kernel, 2 * learned @ by_noise, alpha.sum()]), m


class _Target(NamedTuple):
    """The posterior density of the free hyperparameters, as a function of u."""

    gp: GP
    data: Data
    free: NDArray[np.bool_]
    lower: Array
    typical: Array
    """Where priors or data suggest to start."""
    upper: Array
    priors: Sequence[Prior | None]

    @property
    def first(self) -> Array:
        """u of the GP itself; free coordinates are moved into their bounds."""
        mean = 0.0 if isinstance(self.gp.mean, LinearMean) else self.gp.mean
        return self._within(np.array([*self.gp.kernel.params, math.log(self.gp.noise), mean]))

    def _within(self, u: Array) -> Array:
        return np.where(self.free, np.clip(u, self.lower, self.upper), u)

    def starts(self, count: int, rng: np.random.Generator) -> Iterator[Array]:
        """Where to start searches."""
        yield self.first
        for i in range(1, count if self.free[:-1].any() else 1):
            away = min(i - 1, 3) * rng.standard_normal(len(self.free))  # farther and farther
            yield self._within(np.where(self.free, self.typical + away, self.first))

    def gp_at(self, u: Array) -> GP:
        """The GP with the free hyperparameters from u."""
        kernel = self.gp.kernel.with_params(u[:-2]) if self.free[:-2].any() else self.gp.kernel
        noise = math.exp(u[-2]) if self.free[-2] else self.gp.noise
        return replace(self.gp, kernel=kernel, noise=noise, mean=float(u[-1]) if self.free[-1] else self.gp.mean)

    def __call__(self, u: Array, slopes: bool = True) -> tuple[float, Array, float, float]:
        """Log posterior density but for a constant, its gradient if wanted, the log likelihood alone, and the mean.

        With slopes, as the search wants them, a free mean is the best one, and not that of u.
        """
        mean = (float(self.lower[-1]), float(self.upper[-1])) if slopes and self.free[-1] else None
        try:
            likelihood, gradient, m = _evidence(self.gp_at(u), *self.data, mean, slopes)
        except NotFiniteError:  # values of a kernel of one's own, far from where it was meant to be
            likelihood, gradient, m = -math.inf, np.zeros(len(u)), float(u[-1])
        log_prior, by_prior = named.joint_log_density(self.priors, u)
        return likelihood + log_prior, gradient + by_prior if slopes else gradient, likelihood, m


def _climb(target: _Target, start: Array, iterations: int) -> Fit:
    """The best hyperparameters uphill of a start."""
    from scipy.optimize import minimize

    searched = target.free & (np.arange(len(start)) < len(start) - 1)  # all but the mean
    u, evaluations, converged = start.copy(), 2, True
    first, gradient, *_ = target(u)
    # In a box, L-BFGS-B begins with a full gradient step, perhaps into a far corner: in this unit it is at most 1 long.
    unit = max(1.0, float(np.linalg.norm(gradient[searched])))

    def loss(v: Array) -> tuple[float, Array]:
        u[searched] = v
        value, gradient, *_ = target(u)
        if math.isfinite(value) and np.all(np.isfinite(gradient)):
            return -value / unit, -gradient[searched] / unit
        return (abs(first) - first) / unit + 1.0, np.zeros(len(v))  # worse than the start: the line search steps back

    if searched.any() and math.isfinite(first):
        box = list(zip(target.lower[searched], target.upper[searched], strict=True))
        options: Any = {"maxiter": iterations, "maxls": 10, "ftol": 1e-5 / unit, "gtol": 1e-4 / unit}
        found = minimize(loss, start[searched], jac=True, method="L-BFGS-B", bounds=box, options=options)
        u[searched], evaluations, converged = found.x, found.nfev + 2, found.status != 1
    objective, _, likelihood, u[-1] = target(u)
    if likelihood == -math.inf:
        return Fit(target.gp, likelihood, objective, evaluations, False)
    return Fit(target.gp_at(u), likelihood, objective, evaluations, converged)


def _sweep(target: _Target, u: Array, rng: np.random.Generator) -> Array:
    """One update of every free coordinate; each leaves the posterior invariant."""
    u, widths = u.copy(), np.append(np.ones(len(u) - 1), (target.upper[-1] - target.lower[-1]) / 10)
    for i in np.flatnonzero(target.free).tolist():

        def log_density(x: float, i: int = i) -> float:
            moved = u.copy()
            moved[i] = x
            return target(moved, slopes=False)[0]

        u[i] = _slice(log_density, float(u[i]), float(target.lower[i]), float(target.upper[i]), float(widths[i]), rng)
    return u


def _slice(
    log_density: Callable[[float], float], x: float, lower: float, upper: float, width: float, rng: np.random.Generator
) -> float:
    """A slice-sampling update of x within bounds: stepping out, then shrinkage (Neal 2003, figures 3 and 5)."""
    level = log_density(x) - rng.exponential()
    left = x - width * rng.random()
    right = left + width
    while left > lower and log_density(left) > level:
        left -= width
    while right < upper and log_density(right) > level:
        right += width
    left, right = max(left, lower), min(right, upper)
    while right - left > 1e-12 * width:
        candidate = left + (right - left) * rng.random()
        if log_density(candidate) >= level:
            return candidate
        left, right = (candidate, right) if candidate < x else (left, candidate)
    return x


def check_search(gp: GP, priors: Mapping[str, Prior], fixed: Iterable[str], bounds: Bounds) -> None:
    """Refuse names that no hyperparameter of the GP has, bounds that are none, and priors that are none."""
    names = param_names(gp)
    named.check_names(names, fixed=fixed, bounds=bounds, priors=priors)
    for name, prior in priors.items():
        if not isinstance(prior, Prior) or named.kind(name) == "mean":
            expected = "priors such as LogNormal(0.5, 1.0), none of the mean"
            raise TypeError(f"expected {expected}, got {prior!r} for {name!r}")
    for name in names:
        named.interval(name, named.lookup(bounds, name))


def _target(gp: GP, data: Data, priors: Mapping[str, Prior], fixed: Iterable[str], bounds: Bounds) -> _Target:
    """The posterior density, with the user's choices and defaults for the rest."""
    X, y, noise = data
    names, held = param_names(gp), dict.fromkeys(named.fixed_names(fixed), True)
    priors, bounds = named.by_name(priors, "priors", named.PRIORS), named.by_name(bounds, "bounds", named.BOUNDS)
    check_search(gp, priors, held, bounds)
    held |= {"noise": True} if noise is not None and not np.isnan(noise).any() else {}
    held |= {"mean": True} if isinstance(gp.mean, LinearMean) else {}
    free = [not named.lookup(held, name) for name in names]
    chosen = [named.lookup(priors, name) if learned else None for name, learned in zip(names, free, strict=True)]
    residual = y - (y.mean() if free[-1] else gp.prior_mean(X))
    s = named.output_unit(y, residual, math.sqrt(float(gp.kernel.diag(X).mean())) or gp.noise)
    scales = [*named.units(gp.kernel, X, s**2), (s, s)]
    given = [named.interval(name, named.lookup(bounds, name)) for name in names]
    ranges = [named.search_range(*each) for each in zip(names[:-1], given[:-1], chosen[:-1], scales, strict=True)]
    low, high = given[-1] or (float(y.min()) - s, float(y.max()) + s)
    lower, typical, upper = np.array([*ranges, (low, 0.5 * (low + high), high)]).T
    return _Target(gp, data, np.array(free), lower, typical, upper, chosen)


def _data(gp: GP, X: ArrayLike, y: ArrayLike, noise: ArrayLike | None) -> Data:
    """The observations as arrays, checked against each other and against the GP."""
    points = numbers(X, "X")
    if points.ndim != 2 or points.size == 0:
        raise ValueError(f"expected X of shape (t, p) with t, p >= 1, got {points.shape}: for one input, X[:, None]")
    if not np.all(np.isfinite(points)):
        raise ValueError("expected finite X, got NaN or infinity: leave failed evaluations out")
    values = vector(y, len(points), "y")
    gp.kernel(points[:1], points)  # refuses a wrong number of columns, as the mean does
    gp.prior_mean(points[:1])
    if noise is None:
        return points, values, None
    deviations = numbers(noise, "noise")
    known = ~np.isnan(deviations)
    vector(np.where(known, deviations, 1.0), len(points), "noise, one standard deviation per observation,")
    if deviations.min(where=known, initial=math.inf) <= 0:
        remedy = "use a tiny standard deviation if there is none"
        raise ValueError(f"expected noise above 0, got {deviations[known].min()}: {remedy}")
    return points, values, deviations
