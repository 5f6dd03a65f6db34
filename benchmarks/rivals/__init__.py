"""The comparison with BoTorch on continuous problems, in an environment of its own: see README.md here."""

import os

# Before a module of this package imports NumPy or torch: one thread on both sides, or the ratios say how threads wait.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"
