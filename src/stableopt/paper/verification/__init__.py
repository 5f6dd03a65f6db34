"""Evidence for the guarantees: how often bounds and certificates hold on sampled functions, and how loose they are.

These are the experiments behind ``stableopt verify``, one file each:

    bounds         how often confidence bounds hold, for every schedule
    certificates   certificates of many runs at once, and the proof of Theorem 1 round by round
    reports        the same promises for `Optimizer.report()`
    boxes          proved certificates in a continuous space
    hard           Theorem 2: how often algorithms fail on hard functions
    tradeoff       a small β finds the optimum sooner, a large one certifies it sooner

Each returns `checks.Check` values, which judge a frequency by the binomial distribution. `cases` has the settings,
`figures` draws the curves.
"""
