"""Studies of Optuna: a sampler that is robust, and the stable decision of any study.

    from stableopt.integrations.optuna import StableOptSampler, stable_best

Names are found when they are first used; `__init__.pyi` tells type checkers where.
"""

from importlib import import_module
from typing import Any

try:
    import optuna as _optuna  # noqa: F401
except ImportError:
    raise ImportError(
        "expected Optuna for stableopt.integrations.optuna, got none: pip install 'stableopt[optuna]'"
    ) from None

_HOMES = {
    "answers": ("assess", "certificate", "profile", "stable_best"),
    "certificates": ("Certificate",),
    "dashboard": ("publish",),
    "sampler": ("StableOptSampler",),
    "studies": ("to_campaign", "to_study"),
}
__all__ = sorted(name for names in _HOMES.values() for name in names)


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
