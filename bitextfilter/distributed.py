"""The engine of a Ray cluster, which it joins or starts.

A worker is prepared once and has one task at a time. If it dies, alone or with its node, its task
goes to another. ``ray.util.ActorPool`` will not do: in order, it leaves a worker idle until the
results before its own are taken; out of order, it hides which task failed.
"""

from __future__ import annotations

import os
import signal
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray

from bitextfilter.errors import BitextError, DeviceError, WorkerError
from bitextfilter.io.workers import Answer, Task, TaskError, until_error

STORE_BYTES = 1 << 27
"""The shared memory of a cluster started here: tasks and results are small."""

TRIES = 3
"""The number of workers that may fail at one task, or fail to start in a row."""

AHEAD = 4
"""Tasks requested for each worker beyond the last result taken."""

_PATIENCE = 0.5
"""Seconds between two checks for signals."""


class RayEngine:
    """An Engine of workers on a Ray cluster; its context joins or starts the cluster."""

    def __init__(
        self, address: str | None = None, workers: int | None = None, cpus: int = 1, gpus: int = 0
    ) -> None:
        """Choose the cluster and its workers.

        Args:
            address: of the cluster; by default RAY_ADDRESS, or one is started on this machine.
            workers: their number, by default as many as fit into the cluster.
            cpus: CPUs of each worker.
            gpus: GPUs of each worker.
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
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster, or end it if it was started here."""
        if self._joined:
            ray.shutdown()
            self._joined = False

    def map(
        self, prepare: Callable[[], Callable[[Task], Answer]], tasks: Iterable[Task]
    ) -> Iterator[Answer]:
        """Yield the result of each task, as ``Engine.map``.

        A task that fails with another error than a BitextError goes to another worker, up to three
        in all. Raises WorkerError if all fail, or if no worker starts.
        """
        start = ray.remote(_Worker).options(**self._share).remote
        pool: _Pool[Task, Answer] = _Pool(lambda: start(prepare), self._count)
        try:
            yield from pool.results(until_error(tasks))
        finally:
            pool.end()

    def _join(self) -> None:
        """Start or join a cluster, quietly; keep our SIGTERM handler."""
        handler = signal.getsignal(signal.SIGTERM)
        here: dict[str, Any] = {"address": "local", "object_store_memory": STORE_BYTES}
        if not self._address:
            # child processes import this package from its present place
            paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
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
        """Return the number of workers that fit into the idle nodes."""
        known: Callable[[], list[dict[str, Any]]] = ray.nodes
        nodes = [node["Resources"] for node in known() if node["Alive"]]
        wanted = {"CPU": self._cpus, "GPU": self._gpus}
        return sum(
            min(int(node.get(name, 0) // need) for name, need in wanted.items() if need)
            for node in nodes
        )


_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "CRITICAL"}


def _check_reachable(address: str | None) -> None:
    """Raise DeviceError if HOST:PORT does not answer: Ray itself would wait for minutes."""
    host, _, port = (address or "").rpartition(":")
    if not host or "/" in host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except OSError as error:
        message = f"the Ray cluster at {address} cannot be reached: {error.strerror or error}"
        raise DeviceError(message) from error


class _Worker:
    """The actor in a worker's process."""

    def __init__(self, prepare: Callable[[], Callable[[Any], Any]]) -> None:
        """Start unprepared."""
        self._prepare = prepare

    def start(self) -> BitextError | None:
        """Prepare; return an error that any other worker would have, too."""
        try:
            self._work = self._prepare()
        except BitextError as error:
            return error
        return None

    def do(self, task: Any) -> Any:
        """Return the result of a task, or its BitextError."""
        try:
            return self._work(task)
        except BitextError as error:
            return TaskError(error)


@dataclass(frozen=True)
class _Turn(Generic[Task]):
    """A task in progress."""

    index: int
    task: Task
    failed: int = 0


class _Pool(Generic[Task, Answer]):
    """The workers and their tasks."""

    def __init__(self, start: Callable[[], Any], workers: int) -> None:
        """Hold up to a number of *workers*, actors that *start* makes."""
        self._start, self._most = start, workers
        self._starting: dict[Any, Any] = {}
        self._idle: list[Any] = []
        self._busy: dict[Any, tuple[Any, _Turn[Task]]] = {}
        self._waiting: deque[_Turn[Task]] = deque()
        self._answers: dict[int, Any] = {}
        self._asked = self._given = self._failed_starts = 0
        self._more = True

    def results(self, tasks: Iterator[Task | TaskError]) -> Iterator[Answer]:
        """Yield the results of tasks in order.

        Raises the error of a task in its turn, and WorkerError.
        """
        while True:
            self._ask(tasks)
            if self._given == self._asked:
                return
            self._employ()
            self._collect()
            while self._given in self._answers:
                answer = self._answers.pop(self._given)
                if isinstance(answer, TaskError):
                    raise answer.error
                self._given += 1
                yield answer

    def end(self) -> None:
        """End all workers."""
        for worker in [*self._starting.values(), *self._idle, *(w for w, _ in self._busy.values())]:
            ray.kill(worker)

    def _ask(self, tasks: Iterator[Task | TaskError]) -> None:
        """Request tasks, some ahead of the results that are awaited."""
        while self._more and self._asked < self._given + AHEAD * self._most:
            task = next(tasks, None)
            if task is None:
                self._more = False
                return
            if isinstance(task, TaskError):
                self._settle(self._asked, task)
            else:
                self._waiting.append(_Turn(self._asked, task))
            self._asked += 1

    def _settle(self, index: int, answer: Any) -> None:
        """Keep an answer; request no more after an error."""
        self._answers[index] = answer
        if isinstance(answer, TaskError):
            self._more = False

    def _employ(self) -> None:
        """Give tasks to idle workers, and start as many workers as the others need."""
        while self._waiting and self._idle:
            worker, turn = self._idle.pop(), self._waiting.popleft()
            self._busy[worker.do.remote(turn.task)] = worker, turn
        while len(self._starting) < min(len(self._waiting), self._most - len(self._busy)):
            worker = self._start()
            self._starting[worker.start.remote()] = worker

    def _collect(self) -> None:
        """Wait for workers that started or finished, and collect their results."""
        pending = [*self._starting, *self._busy]
        if not pending:
            return
        done, _ = ray.wait(pending, num_returns=1, timeout=_PATIENCE)
        for reference in done:
            if reference in self._starting:
                self._started(reference, self._starting.pop(reference))
            else:
                self._done(reference, *self._busy.pop(reference))

    def _started(self, reference: Any, worker: Any) -> None:
        try:
            error = ray.get(reference)
        except ray.exceptions.RayError as failure:
            self._failed_starts += 1
            if self._failed_starts == TRIES:
                raise WorkerError(f"no worker can be started: {_reason(failure)}") from failure
            return
        if error is not None:
            raise error
        self._failed_starts = 0
        self._idle.append(worker)

    def _done(self, reference: Any, worker: Any, turn: _Turn[Task]) -> None:
        try:
            self._settle(turn.index, ray.get(reference))
            self._idle.append(worker)
        except ray.exceptions.RayError as failure:
            ray.kill(worker)
            turn = replace(turn, failed=turn.failed + 1)
            if turn.failed < TRIES:
                self._waiting.appendleft(turn)
                return
            message = f"{turn.task}: {TRIES} workers failed at it, the last: {_reason(failure)}"
            self._settle(turn.index, TaskError(WorkerError(message)))


def _reason(failure: Exception) -> str:
    """Return the cause of a failure in one line."""
    cause = getattr(failure, "cause", None)
    if isinstance(cause, Exception):
        return f"{type(cause).__name__}: {cause}".split("\n")[0]
    return str(failure).strip().split("\n")[0] or type(failure).__name__
