"""Records of runs: manifests, and work folders, by which a run can be resumed.

``plan.json`` identifies the run. A shard leaves its outputs, ``000012.output`` and
``000012.rejects``, and, written last, ``000012.json``, which marks it as finished and has their
digests. A shard whose files have changed since is done again.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeAlias

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.digests import file_digest, read_record, write_record
from bitextfilter.io.drafts import draft
from bitextfilter.io.files import (
    locked,
    locked_if_free,
    make_folder,
    naming_output,
    write_whole,
)
from bitextfilter.io.json_text import json_bytes, parse_json
from bitextfilter.io.shards import Shard

Fact: TypeAlias = "str | int | float | list[Fact] | dict[str, Fact] | None"
"""A JSON value."""


@dataclass(frozen=True)
class Manifest:
    """A run: version, command line, model, counts and speed."""

    version: str
    command: list[str]
    """The command line, the command's name first."""
    counts: dict[str, int]
    seconds: float
    rows_per_second: float
    facts: dict[str, Fact] = field(default_factory=dict)
    """The model and its digest, the seed, and everything else that the result depends on."""
    compiled: list[str] = field(default_factory=list)
    """The compiled libraries that were opened, by name; numpy or torch did the work of others."""

    def write(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all."""
        write_whole(path, json_bytes(asdict(self), indent=2))


PLAN = "plan.json"

_OURS = r"\.?\d{6,}\.(output|rejects|input|json)(\..+\.partial)?|\.plan\.json\..+"


def read_plan(folder: Path) -> dict[str, Any] | None:
    """Return the plan of a folder, None if it has none. Raises InputError if it is damaged."""
    try:
        return read_record(folder / PLAN, "remove the folder")
    except FileNotFoundError:
        return None


def claim(folder: Path, plan: Mapping[str, Any], ours: str = "") -> None:
    """Take a folder, new, empty, or of the same run, for the run that *plan* describes.

    Args:
        folder: made where it is missing.
        plan: all that the result depends on.
        ours: pattern of the names that may be in a folder without a plan.

    Raises:
        SettingsError: it is of another run, or holds anything else.
        InputError: its plan is damaged.
        OutputError: it cannot be written.
    """
    make_folder(folder)
    before = read_plan(folder)
    if before is not None:
        check_plan(folder, before, plan)
    elif any(not re.fullmatch(ours, other.name) for other in folder.iterdir()):
        raise SettingsError(
            f"{folder} is not empty, and holds no earlier run: name a new folder, or an empty one"
        )
    else:
        write_plan(folder, plan)


def write_plan(folder: Path, plan: Mapping[str, Any]) -> None:
    """Write the plan of a folder, whole. Raises OutputError."""
    write_record(folder / PLAN, plan)


def check_plan(folder: Path, before: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
    """Raise SettingsError, with the first name that differs, unless both plans are the same."""
    # Through JSON, where a tuple is a list.
    was, now = dict(_flat(before)), dict(_flat(parse_json(json_bytes(plan))))
    for name in sorted({*was, *now}):
        old, new = was.get(name, "not given"), now.get(name, "not given")
        if old != new:
            difference = f"{name} was {old}, now it is {new}"
            remedy = "go on with the same, or name a new folder"
            raise SettingsError(f"{folder} is of another run: {difference}; {remedy}")


def _flat(plan: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings by their whole names, such as ``training.seed``."""
    for name, value in plan.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{group}{name}.")
        else:
            yield f"{group}{name}", value


class WorkFolder:
    """The finished shards of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    def file(self, index: int, kind: str) -> Path:
        """Return the path of the ``input``, ``output`` or ``rejects`` of a shard."""
        return self.path / f"{index:06d}.{kind}"

    def finish(self, shard: Shard, record: Mapping[str, Fact]) -> None:
        """Keep the *record* of a shard whose outputs are complete. Raises OutputError."""
        known = {"digest": shard.digest, "record": record, "files": self._digests(shard.index)}
        write_record(self.file(shard.index, "json"), known)

    def _digests(self, index: int) -> dict[str, str]:
        """Return the digests of the outputs of a shard, by kind."""
        files = {kind: self.file(index, kind) for kind in ("output", "rejects")}
        return {kind: file_digest(path) for kind, path in files.items() if path.exists()}

    def finished(self, shard: Shard) -> dict[str, Fact] | None:
        """Return the record of a shard, None if it is not finished, or its files are damaged.

        Raises SettingsError if the text of the shard has changed since.
        """
        try:
            found = read_record(self.file(shard.index, "json"))
        except (FileNotFoundError, InputError):
            return None
        if found["digest"] != shard.digest:
            raise SettingsError(f"{self.path} is of another input: {shard} has changed since")
        record: dict[str, Fact] = found["record"]
        return record if found["files"] == self._digests(shard.index) else None

    def forget(self, index: int) -> None:
        """Remove all files of a shard."""
        for kind in ("json", "output", "rejects", "input"):
            self.file(index, kind).unlink(missing_ok=True)

    def empty(self) -> None:
        """Remove all files of the run, the plan last, and the folder if nothing else is in it.

        Where that is cut short, no shard without its output is left marked as finished. Another
        run that has the folder by now will empty it.
        """
        with locked_if_free(self.path) as free:
            if not free or not self.path.exists():
                return
            for path in sorted(self.path.iterdir(), key=lambda path: path.suffix != ".json"):
                if re.fullmatch(_OURS, path.name):
                    path.unlink(missing_ok=True)
            (self.path / PLAN).unlink(missing_ok=True)
            with suppress(OSError):
                self.path.rmdir()


@contextmanager
def passing_folder(beside: str) -> Iterator[WorkFolder]:
    """Make a folder beside the file *beside* and remove it when the block ends.

    It is in TMPDIR if *beside* is ``-`` or anything but a regular file, such as a device.
    """
    target = Path(beside).absolute()
    no_file = beside == "-" or (target.exists() and not target.is_file())
    if no_file or not target.parent.is_dir():
        target = Path(tempfile.gettempdir(), f"bitextfilter-{token_hex(6)}")
    with ExitStack() as stack:
        with naming_output(beside):
            path = stack.enter_context(draft(target, folder=True, ending="parts"))
        yield WorkFolder(path)


@contextmanager
def kept_folder(path: Path, plan: Mapping[str, Any]) -> Iterator[WorkFolder]:
    """Use *path*, which stays, for a new run or a resumed one with this *plan*.

    Waits for another run that is using it. Raises SettingsError if it holds the parts of another
    plan, or anything else; OutputError if it cannot be written.
    """
    folder = WorkFolder(make_folder(path))
    with locked(folder.path):
        claim(folder.path, plan, _OURS)
        yield folder
