"""Tasks for engines: functions of a module, which other processes can import."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bitextfilter.errors import BitextError, InputError, ModelError


@dataclass(frozen=True)
class Job:
    """Doubles numbers, and leaves a file in *folder* for each time that it is prepared or does.

    Those from *waits* on wait until there is a file called ``go``.
    """

    folder: Path
    waits: int | None = None
    broken: str = ""

    def __call__(self) -> Callable[[int], int]:
        if self.broken == "data":
            raise ModelError("the model is damaged")
        if self.broken == "machine":
            raise OSError("the machine is damaged")
        (self.folder / f"prepared-{os.getpid()}").touch()
        return self.double

    def double(self, number: int) -> int:
        marks = len(list(self.folder.glob(f"done-{number}-*")))
        (self.folder / f"done-{number}-{marks}-{os.getpid()}").touch()
        if (self.folder / f"dies-{number}").exists():
            (self.folder / f"dies-{number}").unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        if (self.folder / f"always-dies-{number}").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        if (self.folder / f"fails-{number}").exists():
            raise ValueError(f"nobody can double {number}")
        if (self.folder / f"bad-{number}").exists():
            raise InputError("bad row", file="pairs.tsv", line=number, remedy="leave it out")
        while self.waits is not None and number >= self.waits and not (self.folder / "go").exists():
            time.sleep(0.02)
        return 2 * number


def until_error(results: Iterator[int]) -> tuple[list[int], BitextError | None]:
    """The results before the first error, and the error."""
    found = []
    try:
        for result in results:
            found.append(result)
    except BitextError as error:
        return found, error
    return found, None
