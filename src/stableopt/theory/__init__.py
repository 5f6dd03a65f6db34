"""The paper's theory as running code: what can be promised, what cannot, and evidence for both.

information gain · Theorem 1 (rounds that suffice) · Theorem 2 (rounds that are necessary) · functions from the classes
that the theorems speak of · simulated runs, which measure how often bounds hold and calibrate smaller ones.
"""

from stableopt.theory.covering import RigorousReport, certify, rigorous_certificate
from stableopt.theory.information import GainBracket, gain_rate, information_gain, max_information_gain
from stableopt.theory.sampling import RkhsFunctions, sample_prior, sample_rkhs
from stableopt.theory.simulation import (
    Rule,
    Runs,
    calibrate,
    consistent,
    largest_variance,
    optimistic,
    simulate,
    stable,
    uniform,
)
from stableopt.theory.theorem1 import Chain, c1, check_chain, regret_bound, rounds_needed
from stableopt.theory.theorem2 import (
    Bump,
    HardInstances,
    log_spectral_density,
    necessary_rate,
    paper_width,
    plot_instances,
    valley_norm,
    valley_width,
)

__all__ = [
    "Bump",
    "Chain",
    "GainBracket",
    "HardInstances",
    "RigorousReport",
    "RkhsFunctions",
    "Rule",
    "Runs",
    "c1",
    "calibrate",
    "certify",
    "check_chain",
    "consistent",
    "gain_rate",
    "information_gain",
    "largest_variance",
    "log_spectral_density",
    "max_information_gain",
    "necessary_rate",
    "optimistic",
    "paper_width",
    "plot_instances",
    "regret_bound",
    "rigorous_certificate",
    "rounds_needed",
    "sample_prior",
    "sample_rkhs",
    "simulate",
    "stable",
    "uniform",
    "valley_norm",
    "valley_width",
]
