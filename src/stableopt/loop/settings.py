"""Which of the two settings a domain and an uncertainty set make: the only place that asks."""

from __future__ import annotations

from typing import cast

from stableopt.loop.listed import ListedSetting
from stableopt.loop.setting import Setting
from stableopt.loop.space import SpaceSetting
from stableopt.sets.domains import Domain
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import UncertaintySet, continuous


def setting_of(domain: Domain | Space, uncertainty: UncertaintySet, seed: int = 0) -> Setting:
    """The setting of a run. Its indices and its functions of points go back to it alone, so their kind is its own."""
    if isinstance(domain, Space) or continuous(uncertainty):
        return cast("Setting", SpaceSetting(domain, uncertainty, seed))
    return cast("Setting", ListedSetting(domain, uncertainty, seed))
