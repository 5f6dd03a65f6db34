"""The paper's theory as running code: promises, limits, and evidence for both.

information     how much observations tell about f
theorem1        rounds that suffice, and the proof checked on a run
theorem2        rounds that are necessary: the hard functions
sampling        random functions from the classes of the theorems
simulation      many runs at once: how often bounds hold, and smaller bounds from that
covering        certificates on boxes that are proved
"""

from stableopt.theory.covering import RigorousReport, certify, rigorous_certificate
from stableopt.theory.information import GainBracket, gain_rate, information_gain, max_information_gain
from stableopt.theory.sampling import RkhsFunctions, sample_prior, sample_rkhs
from stableopt.theory.simulation import (
    Game,
    Rule,
    Runs,
    calibrate,
    consistent,
    largest_variance,
    optimistic,
    simulate,
    stable,
    stable_choices,
    uniform,
)
from stableopt.theory.theorem1 import Chain, Played, c1, check_chain, regret_bound, rounds_needed
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
    "Game",
    "HardInstances",
    "Played",
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
    "stable_choices",
    "uniform",
    "valley_norm",
    "valley_width",
]
