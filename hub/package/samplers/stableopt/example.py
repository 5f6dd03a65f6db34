"""A narrow peak and a broad hill: the best trial is on the peak, the stable decision on the hill."""

import optuna
import optunahub

module = optunahub.load_module("samplers/stableopt")


def objective(trial: optuna.Trial) -> float:
    """A peak that is lost if x is a little off, and a hill that is not."""
    x = trial.suggest_float("x", 0.0, 10.0)
    return float(3.0 * 2.0 ** -((x - 2.0) ** 2 / 0.02) + 2.0 * 2.0 ** -((x - 7.0) ** 2 / 4.0))


if __name__ == "__main__":
    sampler = module.StableOptSampler({"x": 0.5}, seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=15)
    print(module.stable_best(study))
