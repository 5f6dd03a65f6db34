"""Pictures of results, assessments, campaigns and optimisers. Needs matplotlib: ``pip install 'stableopt[plots]'``.

Each function draws one thing: on the axes or the figure that it is given, or on a new one, which it returns.
"""

try:
    import matplotlib  # noqa: F401
except ImportError as error:  # pragma: no cover - shown by a test in a process without matplotlib
    raise ImportError("stableopt.plots needs matplotlib: pip install 'stableopt[plots]'") from error

from stableopt.plots.allowances import allowance
from stableopt.plots.beliefs import belief
from stableopt.plots.contest import contenders
from stableopt.plots.history import progress
from stableopt.plots.landscapes import landscape
from stableopt.plots.profiles import profile
from stableopt.plots.reports import report
from stableopt.plots.residuals import calibration, health
from stableopt.plots.sections import slices
from stableopt.plots.style import share_legend
from stableopt.plots.tornado import hurts

__all__ = ["allowance", "belief", "calibration", "contenders", "health", "hurts", "landscape", "profile"]
__all__ += ["progress", "report", "share_legend", "slices"]
