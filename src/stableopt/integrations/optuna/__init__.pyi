from stableopt.integrations.optuna.answers import assess as assess
from stableopt.integrations.optuna.answers import certificate as certificate
from stableopt.integrations.optuna.answers import profile as profile
from stableopt.integrations.optuna.answers import stable_best as stable_best
from stableopt.integrations.optuna.certificates import Certificate as Certificate
from stableopt.integrations.optuna.dashboard import publish as publish
from stableopt.integrations.optuna.sampler import StableOptSampler as StableOptSampler
from stableopt.integrations.optuna.studies import to_campaign as to_campaign
from stableopt.integrations.optuna.studies import to_study as to_study

__all__ = [
    "Certificate",
    "StableOptSampler",
    "assess",
    "certificate",
    "profile",
    "publish",
    "stable_best",
    "to_campaign",
    "to_study",
]
