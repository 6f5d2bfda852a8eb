"""Folder of a search: sentences, vectors and neighbours of both sides, for this run and the next.

Beside the sentences and vectors of either side it has a folder for each search of their
neighbours, and the plan of the run: everything that the result depends on.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bitextfilter.errors import OutputError, SettingsError
from bitextfilter.io.sentence_file import SentenceFile, gather
from bitextfilter.io.work_folder import check_plan, read_plan, write_plan

_SIDES = ("source", "target")


class Workspace:
    """A folder of one search, which goes on with the work of a run that was killed."""

    def __init__(self, folder: Path, plan: Mapping[str, Any]) -> None:
        """Take a folder, which need not exist, for the search that *plan* describes.

        Raises SettingsError where it is of another search, OutputError where it cannot be made.
        """
        self.folder, self._plan = folder, plan
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise OutputError(f"{folder}: cannot be made a folder: {reason}") from error
        _remove_drafts(folder)
        self._known = read_plan(folder)
        if self._known is None:
            if any(folder.iterdir()):
                raise SettingsError(f"{folder}: is not empty, and holds no search; choose another")
            write_plan(folder, plan)
        self._check(plan)

    def gather(self, sides: Sequence[Iterable[Sequence[str]]]) -> list[SentenceFile]:
        """Keep the distinct sentences of each side, window by window.

        Raises SettingsError where the folder has other sentences.
        """
        kept = [self.folder / f"{name}.sentences" for name in _SIDES[: len(sides)]]
        if self._known is None or f"{_SIDES[0]} text" not in self._known:
            found = list(map(gather, kept, sides))
            write_plan(self.folder, {**self._plan, **_digests(found)})
            return found
        with tempfile.TemporaryDirectory(prefix=".again.", dir=self.folder) as again:
            paths = [Path(again, path.name) for path in kept]
            self._check(_digests(list(map(gather, paths, sides))))
        return list(map(SentenceFile, kept))

    def vectors(self, side: int) -> Path:
        """Return the file of the vectors of a side, 0 or 1."""
        return self.folder / f"{_SIDES[side]}.vectors"

    def search(self, name: str) -> Path:
        """Return the folder of a search of these sentences, made if it is not there."""
        folder = self.folder / f"nearest.{name}"
        folder.mkdir(exist_ok=True)
        _remove_drafts(folder)
        return folder

    def _check(self, plan: Mapping[str, Any]) -> None:
        """Raise SettingsError where the plan of the folder has another value of these names."""
        if self._known is not None:
            known = {name: self._known[name] for name in plan if name in self._known}
            check_plan(self.folder, known, plan)


def _remove_drafts(folder: Path) -> None:
    """Remove the half-written files of a run that was killed."""
    for draft in [*folder.glob(".*.partial"), *folder.glob(".again.*")]:
        if draft.is_dir():
            shutil.rmtree(draft)
        else:
            draft.unlink()


def _digests(sides: Sequence[SentenceFile]) -> dict[str, str]:
    return {f"{name} text": side.digest() for name, side in zip(_SIDES, sides, strict=False)}
