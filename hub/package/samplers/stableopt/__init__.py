"""The package of OptunaHub's registry: the sampler is that of `pip install stableopt`, whatever version it has."""

from stableopt.integrations.optuna import Certificate, StableOptSampler, certificate, stable_best

__all__ = ["Certificate", "StableOptSampler", "certificate", "stable_best"]
