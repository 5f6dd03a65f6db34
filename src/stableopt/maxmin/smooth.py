from stableopt.maxmin.continuous import Smooth  # noqa
