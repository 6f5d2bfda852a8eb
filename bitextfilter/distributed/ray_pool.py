"""Actors of Ray that do tasks, and what becomes of a task when one dies.

A worker is prepared once and has one task at a time. Where it dies, by itself or with its node,
its task goes to another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import ray

from bitextfilter.distributed.engine import TaskError
from bitextfilter.errors import BitextError, WorkerError

__all__ = ["Pool", "Worker"]

TRIES = 3
"""How many workers may fail at one task, or fail to start one after the other."""

AHEAD = 4
"""How many tasks are asked for, for each worker, beyond the last whose result has been taken."""

PATIENCE = 0.5
"""Seconds after which signals are looked for."""

Task = TypeVar("Task")
Result = TypeVar("Result")


class Worker:
    """What lives in a worker's process."""

    def __init__(self, prepare: Callable[[], Callable[[Any], Any]]) -> None:
        """Make one that *prepare* will prepare."""
        self._prepare = prepare

    def start(self) -> BitextError | None:
        """Prepare; returns an error that any other worker would have, too."""
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
    """A task on its way."""

    index: int
    task: Task
    failed: int = 0


class Pool(Generic[Task, Result]):
    """Workers and what they are doing."""

    def __init__(self, start: Callable[[], Any], workers: int) -> None:
        """Have up to so many *workers*, actors of a Worker that *start* makes."""
        self._start, self._most = start, workers
        self._starting: dict[Any, Any] = {}
        self._idle: list[Any] = []
        self._busy: dict[Any, tuple[Any, _Turn[Task]]] = {}
        self._waiting: deque[_Turn[Task]] = deque()
        self._answers: dict[int, Any] = {}
        self._asked = self._given = self._failed_starts = 0
        self._more = True

    def results(self, tasks: Iterator[Task | TaskError]) -> Iterator[Result]:
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
        """Ask for tasks, up to some ahead of the results that are awaited."""
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
        """Keep an answer; after an error no more is asked for."""
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
        """Wait until something has happened, and see what."""
        pending = [*self._starting, *self._busy]
        if not pending:
            return
        done, _ = ray.wait(pending, num_returns=1, timeout=PATIENCE)
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
    """Return what went wrong, in one line."""
    cause = getattr(failure, "cause", None)
    if isinstance(cause, Exception):
        return f"{type(cause).__name__}: {cause}".split("\n")[0]
    return str(failure).strip().split("\n")[0] or type(failure).__name__
