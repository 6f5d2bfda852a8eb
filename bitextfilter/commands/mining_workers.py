"""Who does the tasks of mining: this process, or workers on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bitextfilter.commands.engines import There, engine_of
from bitextfilter.commands.frame import Run
from bitextfilter.commands.options import Common

if TYPE_CHECKING:
    from bitextfilter.mining.tasks import Do, Task
    from bitextfilter.scoring.model import Model
    from bitextfilter.similarity.vectors import Vectors

__all__ = ["Encoding", "MiningWorkers"]

Result = TypeVar("Result")


@dataclass(frozen=True)
class Encoding:
    """Encodes sentences of a file, from one place to before another."""

    model: str
    language: str
    path: Path
    common: Common

    def __call__(self) -> Callable[[Task], Vectors]:
        """Load the model, and return what encodes by it."""
        from bitextfilter.scoring.model import load

        return self.by(load(self.model, self.common.device, self.common.threads))

    def by(self, model: Model) -> Callable[[Task], Vectors]:
        """Return what encodes by a model."""
        from bitextfilter.io.sentence_file import SentenceFile

        sentences = SentenceFile(self.path)
        return lambda window: model.encode(sentences[slice(*window)], self.language)


@dataclass(frozen=True)
class _Sent:
    """What prepares a worker, sent to where it is."""

    prepare: Callable[[], Callable[[Any], Any]]
    there: There

    def __call__(self) -> Callable[[Any], Any]:
        self.there.enter()
        return self.prepare()


class MiningWorkers:
    """Does tasks by the engine of a run."""

    def __init__(self, run: Run, folder: Path) -> None:
        """Start the engine. Raises DeviceError and UsageError as :func:`engine_of`."""
        self._run, self._there = run, There(folder)
        self.elsewhere = run.scaling.engine == "ray"
        self.common, self._engine = engine_of(run)

    def told(self, size: Callable[[Task], int]) -> Do:
        """Return what does tasks, and tells the progress bar the size of each that is done."""

        def do(
            prepare: Callable[[], Callable[[Task], Result]], tasks: Iterable[Task], /
        ) -> Iterator[Result]:
            sizes: list[int] = []

            def noted() -> Iterator[Task]:
                for task in tasks:
                    sizes.append(size(task))
                    yield task

            sent = _Sent(prepare, self._there) if self.elsewhere else prepare
            for result in self._engine.map(sent, noted()):
                yield result
                self._run.progress().update(sizes.pop(0))

        return do
