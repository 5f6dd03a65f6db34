"""A posterior as a setting sees it: on all points of a list, or as a function of rows in a space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from stableopt.base.arrays import Array
from stableopt.maxmin.solver import AnyIndex

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    F_co = TypeVarWithDefault("F_co", covariant=True, default=object)
    Index_contra = TypeVarWithDefault("Index_contra", contravariant=True, default=AnyIndex)
else:
    F_co = TypeVar("F_co", covariant=True)
    Index_contra = TypeVar("Index_contra", contravariant=True)


class View(Protocol[Index_contra, F_co]):
    """A posterior as a setting sees it. It never changes: an update gives another one."""

    @property
    def t(self) -> int:
        """Number of observations."""

    @property
    def information_gain(self) -> float:
        """½ log det(I + σ⁻²K) of the observations."""

    @property
    def whitened(self) -> Sequence[float] | Array:
        """Each value minus what was expected after those before it, over its predictive standard deviation (t,)."""

    def bound(self, c: float) -> F_co:
        """The function mean + c·std: ucb with c = beta^{1/2}, lcb with c = −beta^{1/2}.

        With a warp it is the quantile of f that this is of its latent value.
        """

    def latent_bound(self, c: float) -> F_co:
        """The same in the units of the model's noise and prior: those of f, unless there is a warp."""

    def bounds(self, points: Sequence[Index_contra], c: float) -> tuple[Array, Array]:
        """The functions ``bound(-c)`` and ``bound(c)`` at these points, (n,) each."""

    def moments(self, points: Sequence[Index_contra]) -> tuple[Array, Array]:
        """Mean and variance of f at these points, (n,) each; with a warp, the median and a variance about it."""

    def latent(self, points: Sequence[Index_contra]) -> tuple[Array, Array]:
        """Mean and variance in the units of the model's noise and prior."""

    def update(self, point: Index_contra, y: float, noise: float | None = None) -> Self:
        """The posterior with one more observation."""
