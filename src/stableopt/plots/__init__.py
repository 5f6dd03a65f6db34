"""Pictures of beliefs and stability profiles. Needs matplotlib: ``pip install 'stableopt[plots]'``.

Functions draw on the axes given and return nothing, so figures can be composed.
"""

try:
    import matplotlib  # noqa: F401
except ImportError as error:  # pragma: no cover - shown by a test in a process without matplotlib
    raise ImportError("stableopt.plots needs matplotlib: pip install 'stableopt[plots]'") from error

from stableopt.plots.beliefs import belief
from stableopt.plots.profiles import profile
from stableopt.plots.style import share_legend

__all__ = ["belief", "profile", "share_legend"]
