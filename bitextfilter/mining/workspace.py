"""The folder that mining works in: sentences, vectors and neighbours of both sides wait there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bitextfilter.arrays import Vectors
from bitextfilter.errors import OutputError, SettingsError
from bitextfilter.io.sentence_file import SentenceFile, gather
from bitextfilter.io.vector_file import VectorWriter
from bitextfilter.io.work_folder import check_plan, read_plan, write_plan
from bitextfilter.mining.search import Do, Task, in_turn

_SIDES = ("source", "target")

_SAFE_ROWS = 1 << 16
"""Rows that are encoded before they are made safe against a kill."""

Windows = Iterable[Sequence[str]]


class Workspace:
    """A folder of one search. One that was killed is gone on with, if it was the same search."""

    def __init__(self, folder: Path, plan: dict[str, Any]) -> None:
        """Take a folder, which need not exist, for the search that *plan* describes.

        Raises SettingsError where it is that of another search.
        """
        self.folder, self._plan = folder, plan
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise OutputError(f"{folder}: cannot be made a folder: {reason}") from error
        _sweep(folder)
        self._known = read_plan(folder)
        if self._known is None:
            if any(folder.iterdir()):
                raise SettingsError(f"{folder}: is not empty, and holds no search; choose another")
            write_plan(folder, plan)
        self._compare(plan)

    def gather(self, sides: Sequence[Windows]) -> list[SentenceFile]:
        """Write the distinct sentences of the sides, or find that they are those of the folder.

        Raises SettingsError where they are others.
        """
        kept = [self.sentences(side) for side in range(len(sides))]
        if self._known is None or _text_of(0) not in self._known:
            found = list(map(gather, kept, sides))
            write_plan(self.folder, {**self._plan, **_digests(found)})
            return found
        with tempfile.TemporaryDirectory(prefix=".again.", dir=self.folder) as again:
            paths = [Path(again, path.name) for path in kept]
            self._compare(_digests(list(map(gather, paths, sides))))
        return list(map(SentenceFile, kept))

    def sentences(self, side: int) -> Path:
        """The file of the sentences of a side, 0 or 1."""
        return self.folder / f"{_SIDES[side]}.sentences"

    def vectors(self, side: int) -> Path:
        """The file of the vectors of a side."""
        return self.folder / f"{_SIDES[side]}.vectors"

    def search(self, how: str) -> Path:
        """Return the folder of a search of these sentences, made if it is not there."""
        folder = self.folder / f"nearest.{how}"
        folder.mkdir(exist_ok=True)
        _sweep(folder)
        return folder

    def _compare(self, plan: dict[str, Any]) -> None:
        """Raise SettingsError where the folder's plan differs in any of these names."""
        if self._known is not None:
            known = {name: self._known[name] for name in plan if name in self._known}
            check_plan(self.folder, known, plan)


def _sweep(folder: Path) -> None:
    """Remove what a run that was killed had half written."""
    for draft in [*folder.glob(".*.partial"), *folder.glob(".again.*")]:
        if draft.is_dir():
            shutil.rmtree(draft)
        else:
            draft.unlink()


def _digests(sides: Sequence[SentenceFile]) -> dict[str, Any]:
    return {_text_of(number): side.digest() for number, side in enumerate(sides)}


def _text_of(side: int) -> str:
    return f"{_SIDES[side]} text"


def encode_into(
    writer: VectorWriter,
    count: int,
    window: int,
    prepare: Callable[[], Callable[[Task], Vectors]],
    do: Do = in_turn,
) -> None:
    """Append the vectors that the file lacks.

    Args:
        writer: of the file.
        count: how many it is to have.
        window: how many are encoded at a time.
        prepare: returns what encodes the sentences from one place to before another.
        do: does so.
    """
    safe = writer.rows
    firsts = range(writer.rows, count, window)
    for vectors in do(prepare, ((first, min(first + window, count)) for first in firsts)):
        writer.append(vectors)
        if writer.rows - safe >= _SAFE_ROWS:
            writer.sync()
            safe = writer.rows
