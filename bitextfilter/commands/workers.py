"""What a process does that works for a command, perhaps on another machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

from bitextfilter import __version__
from bitextfilter.commands.process import prepare
from bitextfilter.errors import WorkerError

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model

__all__ = ["Place", "loaded"]


@dataclass(frozen=True)
class Place:
    """Where a command was started, and in which version."""

    folder: str
    """Where relative paths start from."""
    version: str

    @classmethod
    def here(cls) -> Place:
        """Return that of this process."""
        return cls(str(Path.cwd()), __version__)

    def go(self, *needed: Path) -> None:
        """Make a worker's process ready: in the folder, with steady speed and memory.

        Raises WorkerError if this is another version, or a folder is missing, one of those
        *needed* or the one to go to.
        """
        if self.version != __version__:
            message = f"{gethostname()} has bitextfilter {__version__}, not {self.version}"
            raise WorkerError(f"{message}: workers need the same")
        for path in (Path(self.folder), *needed):
            if not path.is_dir():
                message = f"{path} is not on {gethostname()}: workers need a shared file system"
                raise WorkerError(message)
        os.chdir(self.folder)
        prepare()


@lru_cache(maxsize=1)
def loaded(name: str, device: str, threads: int) -> Model:
    """Load a model, as ``scoring.model.load`` does, but once a process."""
    from bitextfilter.scoring.model import load

    return load(name, device=device, threads=threads)
