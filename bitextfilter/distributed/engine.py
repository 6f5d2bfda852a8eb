"""Engines map tasks in order; the local one uses processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from bitextfilter.io.workers import map_in_order

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Engine(Protocol):
    """Runs tasks in order."""

    def map(
        self, prepare: Callable[[], Callable[[Task], Answer]], tasks: Iterable[Task]
    ) -> Iterator[Answer]:
        """Yield the result of each task, in the order of the tasks.

        Args:
            prepare: called once in each worker: returns the function of a task. It, the tasks and
                their results travel between processes, so it must be a module's function, or an
                object with ``__call__``.
            tasks: requested as workers become free, a few ahead of the results. ``str(task)`` is
                a task's name in messages.

        Raises the error of a task in its turn, and that of requesting the next task after all
        results before it.
        """


@dataclass(frozen=True)
class TaskError:
    """Stands for a task that could not be requested."""

    error: Exception


def until_error(tasks: Iterable[Task]) -> Iterator[Task | TaskError]:
    """Yield tasks, and a TaskError last if requesting one raises."""
    try:
        yield from tasks
    except Exception as error:  # noqa: BLE001 - raised in its turn
        yield TaskError(error)


class LocalEngine:
    """An Engine of one or more processes of this machine."""

    def __init__(self, processes: int = 1) -> None:
        """Use a number of *processes*; only this one if it is 1."""
        self._processes = processes

    def map(
        self, prepare: Callable[[], Callable[[Task], Answer]], tasks: Iterable[Task]
    ) -> Iterator[Answer]:
        """Yield the result of each task, as ``Engine.map``; each is tried once."""
        return map_in_order(_Prepared(prepare), until_error(tasks), self._processes)


class _Prepared:
    """Runs tasks; prepares at the first."""

    def __init__(self, prepare: Callable[[], Callable[[Any], Any]]) -> None:
        self._prepare = prepare
        self._work: Callable[[Any], Any] | None = None

    def __call__(self, task: Any) -> Any:
        if isinstance(task, TaskError):
            raise task.error
        self._work = self._work or self._prepare()
        return self._work(task)
