"""Where replicates are computed: here, on all cores, or on a cluster that is already running (Dask, Ray).

Every engine yields (run, replicate) as they are finished, in any order. A worker uses one thread for linear algebra, so
that sums are added up in the same order however many workers there are.
"""

from __future__ import annotations

import logging
import socket
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from stableopt.paper.experiments.base import Experiment, Plan, Replicate

ENGINES = ("local", "dask", "ray")
_PATIENCE = 20  # seconds to wait for a cluster
_RETRIES = 3  # of a replicate whose worker died, on Ray; Dask has its own


class EngineError(Exception):
    """A cluster does not answer, or a package for it is missing."""


@dataclass(frozen=True)
class Engine:
    """An engine by name, with a number of jobs at once (0: one for each core), and the address of its cluster."""

    name: str = "local"
    jobs: int = 0
    address: str | None = None

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise EngineError(f"expected one of the engines {', '.join(ENGINES)}, got {self.name!r}")
        if self.name == "local" and self.address is not None:
            raise EngineError("expected an address together with --backend dask or --backend ray, got it alone")
        if self.name == "ray" and self.address is not None:
            _host_and_port(self.address)

    def compute(self, experiment: Experiment, plan: Plan, runs: Sequence[int]) -> Iterator[tuple[int, Replicate]]:
        """The replicates with these numbers, as they are finished."""
        if self.name == "local" and (self.jobs == 1 or len(runs) == 1):
            yield from (compute(experiment, plan, run) for run in runs)
            return
        if self.name == "ray":
            with _ray(self.address) as ray:
                yield from _on_ray(ray, self.jobs, experiment, plan, runs)
            return
        from joblib import Parallel, delayed

        with self._configured():
            parallel = Parallel(n_jobs=self.jobs or -1, batch_size=1, return_as="generator_unordered")
            yield from parallel(delayed(compute)(experiment, plan, run) for run in runs)

    @contextmanager
    def _configured(self) -> Iterator[None]:
        """The settings of joblib for this engine."""
        from joblib import parallel_config

        if self.name == "local":
            with parallel_config("loky", inner_max_num_threads=1):
                yield
        else:
            with _dask(self.address), parallel_config("dask", wait_for_workers_timeout=_PATIENCE):
                yield


def compute(experiment: Experiment, plan: Plan, run: int) -> tuple[int, Replicate]:
    """One replicate, in a worker."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        # The models are the paper's. Observations that surprise them are part of the experiment.
        warnings.filterwarnings("ignore", message=".* standard deviations from what the model expected")
        warnings.filterwarnings("ignore", message=".* reaches less than one step")
        return run, experiment.replicate(plan, run)


@contextmanager
def _dask(address: str | None) -> Iterator[None]:
    try:
        from distributed import Client
    except ImportError:
        raise EngineError("--backend dask needs a package that is missing: pip install 'dask[distributed]'") from None
    if address is None:
        raise EngineError("expected the address of the scheduler with --backend dask: --scheduler tcp://HOST:8786")
    try:
        client: Any = Client(address, timeout=_PATIENCE, set_as_default=True)
    except (OSError, TimeoutError, ValueError) as error:
        raise EngineError(
            f"no Dask scheduler answers at {address} ({error}): start one with `dask scheduler`, and workers for it "
            f"with `dask worker {address}`"
        ) from None
    try:
        if not client.scheduler_info()["workers"]:
            raise EngineError(
                f"the Dask scheduler at {address} has no workers: start some with `dask worker {address}`"
            )
        yield
    finally:
        client.close()


@contextmanager
def _ray(address: str | None) -> Iterator[Any]:
    try:
        import ray
    except ImportError:
        raise EngineError("--backend ray needs a package that is missing: pip install 'ray[default]'") from None
    try:
        place = None if address is None else _host_and_port(address)
        if place is not None and "://" not in str(address):  # Ray itself would try for minutes
            socket.create_connection(place, timeout=_PATIENCE).close()
        # One of our own needs no pages about itself, which take longer to start than all the rest.
        own = {"include_dashboard": False} if address in (None, "local") else {}
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (OSError, ValueError, RuntimeError) as error:  # Ray's own are built-in ones: other versions, no answer
        where = "here" if address is None else f"at {address}"
        raise EngineError(f"no Ray cluster answers {where} ({error}): start one with `ray start --head`") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _on_ray(
    ray: Any, jobs: int, experiment: Experiment, plan: Plan, runs: Sequence[int]
) -> Iterator[tuple[int, Replicate]]:
    """A task for each replicate, some at a time. One whose worker dies is computed again."""
    task = ray.remote(max_retries=_RETRIES)(compute)
    most = jobs or 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
    rest = iter(runs)
    waiting: list[Any] = []
    while True:
        waiting += [task.remote(experiment, plan, run) for run in islice(rest, most - len(waiting))]
        if not waiting:
            return
        done, waiting = ray.wait(waiting)
        yield from (ray.get(one) for one in done)


def _host_and_port(address: str) -> tuple[str, int] | None:
    """Where the address of a Ray cluster points; None for the words that Ray itself knows the meaning of."""
    if address in ("auto", "local"):
        return None
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or "/" in host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise EngineError(
            f"expected --address auto, local, HOST:PORT or ray://HOST:PORT, got {address!r}: `ray start --head` shows "
            "the address of the cluster that it starts"
        )
    return host.strip("[]"), int(port)  # brackets are around the numbers of IPv6
