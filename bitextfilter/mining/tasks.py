"""Parts of a long work, and who does them: this process, or others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

__all__ = ["Do", "Task", "in_turn"]

Task = tuple[int, int]
"""What a part is about, as whoever cuts the work likes."""

Result = TypeVar("Result")


class Do(Protocol):
    """Does tasks, wherever."""

    def __call__(
        self, prepare: Callable[[], Callable[[Task], Result]], tasks: Iterable[Task], /
    ) -> Iterator[Result]:
        """Yield the result of each task, in order.

        Args:
            prepare: is called wherever tasks are done, and returns what does one; it may be sent
                to other processes.
            tasks: are asked for as they can be done.
        """


def in_turn(
    prepare: Callable[[], Callable[[Task], Result]], tasks: Iterable[Task], /
) -> Iterator[Result]:
    """Do tasks here, one after another."""
    return map(prepare(), tasks)
