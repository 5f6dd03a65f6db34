"""Evidence for the guarantees: how often bounds and certificates hold on sampled functions, and how loose they are.

The experiments behind ``stableopt verify``. Each returns `Check` values, which judge a frequency by the binomial
distribution, and the curves that the figures show.
"""

from stableopt.verification.bounds import coverage
from stableopt.verification.boxes import boxes
from stableopt.verification.cases import CASES, Case, case
from stableopt.verification.certificates import Certificates, certificates, chain
from stableopt.verification.checks import Check
from stableopt.verification.hard import HardResults, hard_experiment
from stableopt.verification.reports import reports
from stableopt.verification.tradeoff import Tradeoff, tradeoff

__all__ = [
    "CASES",
    "Case",
    "Certificates",
    "Check",
    "HardResults",
    "Tradeoff",
    "boxes",
    "case",
    "certificates",
    "chain",
    "coverage",
    "hard_experiment",
    "reports",
    "tradeoff",
]
