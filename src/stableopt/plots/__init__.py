"""Pictures of problems, beliefs and comparisons. Needs matplotlib: ``pip install 'stableopt[plots]'``."""

from stableopt.plots.drawing import (
    BLACK,
    BLUE,
    COLOURS,
    GREEN,
    ORANGE,
    PINK,
    RED,
    SKY,
    belief,
    colour_of,
    curves,
    objective,
    profile,
    share_legend,
    surface,
)

__all__ = ["BLACK", "BLUE", "COLOURS", "GREEN", "ORANGE", "PINK", "RED", "SKY", "belief", "colour_of", "curves"]
__all__ += ["objective", "profile", "share_legend", "surface"]
