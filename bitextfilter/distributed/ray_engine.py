"""The engine that works on a Ray cluster, which it joins or starts."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray

from bitextfilter.distributed.engine import until_error
from bitextfilter.distributed.ray_pool import Pool, Worker
from bitextfilter.errors import DeviceError

__all__ = ["RayEngine"]

STORE_BYTES = 1 << 27
"""The shared memory of a cluster started here: tasks and results are small."""

Task = TypeVar("Task")
Result = TypeVar("Result")


class RayEngine:
    """An Engine of workers on a Ray cluster, which a context joins or starts, and leaves."""

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        cpus: int = 1,
        gpus: int = 0,
    ) -> None:
        """Say where to work, and what for.

        Args:
            address: of the cluster; by default RAY_ADDRESS, or one is started on this machine.
            workers: how many, by default as many as fit into the cluster.
            cpus: that each of them takes.
            gpus: that each of them takes.
        """
        self._address = address or os.environ.get("RAY_ADDRESS") or None
        self._workers, self._cpus, self._gpus = workers, cpus, gpus
        self._share = {"num_cpus": cpus, "num_gpus": gpus, "scheduling_strategy": "SPREAD"}
        self._joined = False

    def __enter__(self) -> RayEngine:
        """Join the cluster, or start one. Raises DeviceError if that cannot be done."""
        if not ray.is_initialized():
            self._join()
        try:
            self._count = self._workers or self._room()
            if not self._room():
                wanted = f"{self._cpus} CPUs" + f" and {self._gpus} GPUs" * bool(self._gpus)
                raise DeviceError(f"no node of the cluster has {wanted} for a worker (--threads)")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the cluster; one that was started here ends."""
        if self._joined:
            ray.shutdown()
            self._joined = False

    def map(
        self, prepare: Callable[[], Callable[[Task], Result]], tasks: Iterable[Task]
    ) -> Iterator[Result]:
        """Yield the result of each task, as ``Engine.map``.

        A task that fails, but for a BitextError, is given to another worker, up to three in all.
        Raises WorkerError if they all fail, or if no worker can be started.
        """
        start = ray.remote(Worker).options(**self._share).remote
        pool: Pool[Task, Result] = Pool(lambda: start(prepare), self._count)
        try:
            yield from pool.results(until_error(tasks))
        finally:
            pool.end()

    def _join(self) -> None:
        """Start or join a cluster, quietly; SIGTERM stays ours."""
        handler = signal.getsignal(signal.SIGTERM)
        here: dict[str, Any] = {"address": "local", "object_store_memory": STORE_BYTES}
        if not self._address:
            _share_package()
        if self._workers:
            here["num_cpus"] = self._workers * self._cpus
        where = {"address": self._address} if self._address else here
        _check_reachable(self._address)
        try:
            ray.init(**where, include_dashboard=None if self._address else False, **_QUIET)
            self._joined = True
        except (ConnectionError, RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split())[:200]
            place = f"the Ray cluster at {self._address}" if self._address else "a Ray cluster"
            raise DeviceError(f"{place} cannot be reached: {reason}") from error
        finally:
            with suppress(ValueError):  # not in the main thread, where Ray leaves it alone
                signal.signal(signal.SIGTERM, handler)

    def _room(self) -> int:
        """Return how many workers the nodes have room for when nothing else runs there."""
        known: Callable[[], list[dict[str, Any]]] = ray.nodes
        nodes = [node["Resources"] for node in known() if node["Alive"]]
        wanted = {"CPU": self._cpus, "GPU": self._gpus}
        return sum(
            min(int(node.get(name, 0) // need) for name, need in wanted.items() if need)
            for node in nodes
        )


def _share_package() -> None:
    """Let processes that this one starts find this package, wherever it was found here."""
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "CRITICAL"}


def _check_reachable(address: str | None) -> None:
    """Raise DeviceError where nobody listens at HOST:PORT: Ray itself would wait for minutes."""
    host, _, port = (address or "").rpartition(":")
    if not host or "/" in host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except OSError as error:
        message = f"the Ray cluster at {address} cannot be reached: {error.strerror or error}"
        raise DeviceError(message) from error
