"""An engine maps tasks in order; the one here works on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from bitextfilter.io.workers import map_in_order

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Engine(Protocol):
    """Does tasks somewhere."""

    def map(
        self, prepare: Callable[[], Callable[[Task], Answer]], tasks: Iterable[Task]
    ) -> Iterator[Answer]:
        """Yield the result of each task, in the order of the tasks.

        Args:
            prepare: called once in each worker: returns the function that does a task. It, the
                tasks and their results travel between processes, so it has to be a function of
                a module, or an object with ``__call__``.
            tasks: asked for as workers become free, a few ahead of the results. ``str(task)``
                names one in messages.

        Raises what doing a task raised, in its turn, and, when all before are done, what asking
        for the next one raised.
        """


@dataclass(frozen=True)
class TaskError:
    """Stands for a task, where asking for it failed."""

    error: Exception


def until_error(tasks: Iterable[Task]) -> Iterator[Task | TaskError]:
    """Yield tasks, and a TaskError last, if there is none because asking raises."""
    try:
        yield from tasks
    except Exception as error:  # noqa: BLE001 - it is raised in its turn
        yield TaskError(error)


class LocalEngine:
    """An Engine of this process, or of some others on this machine."""

    def __init__(self, processes: int = 1) -> None:
        """Work in so many *processes*; in this one if it is one."""
        self._processes = processes

    def map(
        self, prepare: Callable[[], Callable[[Task], Answer]], tasks: Iterable[Task]
    ) -> Iterator[Answer]:
        """Yield the result of each task, as ``Engine.map``; each is tried once."""
        return map_in_order(_Prepared(prepare), until_error(tasks), self._processes)


class _Prepared:
    """Does tasks, prepared at the first."""

    def __init__(self, prepare: Callable[[], Callable[[Any], Any]]) -> None:
        self._prepare = prepare
        self._work: Callable[[Any], Any] | None = None

    def __call__(self, task: Any) -> Any:
        if isinstance(task, TaskError):
            raise task.error
        self._work = self._work or self._prepare()
        return self._work(task)
