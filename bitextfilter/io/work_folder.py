"""Work folders: finished parts of a run and its plan, so that it can be resumed.

``plan.json`` says whose run it is. Of each shard there are its outputs, ``000012.output`` and
``000012.rejects``, and, written last, ``000012.json``, by which it is finished.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from bitextfilter.errors import InputError, OutputError, SettingsError
from bitextfilter.io.files import draft, write_whole
from bitextfilter.io.locks import locked
from bitextfilter.io.manifest import Fact
from bitextfilter.io.shards import Shard

PLAN = "plan.json"


def read_plan(folder: Path) -> dict[str, Any] | None:
    """Return the plan of a folder, None if it has none. Raises InputError if it is damaged."""
    path = folder / PLAN
    try:
        plan = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        plan = None
    if not isinstance(plan, dict):
        raise InputError("damaged", file=str(path), remedy="remove the folder")
    return plan


def write_plan(folder: Path, plan: Mapping[str, Any]) -> None:
    """Write the plan of a folder, whole. Raises OutputError."""
    text = json.dumps(plan, ensure_ascii=False, indent=2) + "\n"
    write_whole(folder / PLAN, text.encode())


def check_plan(folder: Path, before: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
    """Raise SettingsError, with the first name that differs, unless both plans are the same.

    Groups of settings are compared name by name.
    """
    # Through JSON, where a tuple is a list.
    was, now = dict(_flat(before)), dict(_flat(json.loads(json.dumps(plan))))
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


_OURS = re.compile(r"\.?\d{6,}\.(output|rejects|input|json)(\..+\.partial)?|\.plan\.json\..+")


class WorkFolder:
    """The parts of a run."""

    def __init__(self, path: Path) -> None:
        """Use the folder *path*, which exists."""
        self.path = path.resolve()

    def file(self, index: int, kind: str) -> Path:
        """Return the path of the ``input``, ``output`` or ``rejects`` of a shard."""
        return self.path / f"{index:06d}.{kind}"

    def finish(self, shard: Shard, record: Mapping[str, Fact]) -> None:
        """Keep the *record* of a shard whose outputs are complete. Raises OutputError."""
        text = json.dumps({"digest": shard.digest, "record": record}, ensure_ascii=False)
        write_whole(self.file(shard.index, "json"), text.encode())

    def finished(self, shard: Shard) -> dict[str, Fact] | None:
        """Return the record of a shard, None if it is not finished.

        Raises SettingsError if the shard has another text than when it was finished.
        """
        try:
            found = json.loads(self.file(shard.index, "json").read_bytes())
        except FileNotFoundError:
            return None
        if found["digest"] != shard.digest:
            raise SettingsError(f"{self.path} is of another input: {shard} is not what it was")
        record: dict[str, Fact] = found["record"]
        return record

    def forget(self, index: int) -> None:
        """Remove all files of a shard."""
        for kind in ("json", "output", "rejects", "input"):
            self.file(index, kind).unlink(missing_ok=True)

    def empty(self) -> None:
        """Remove every file that a run made here, the plan last, and the folder if that is all."""
        for path in self.path.iterdir():
            if _OURS.fullmatch(path.name):
                path.unlink(missing_ok=True)
        (self.path / PLAN).unlink(missing_ok=True)
        with suppress(OSError):
            self.path.rmdir()


@contextmanager
def passing_folder(beside: str) -> Iterator[WorkFolder]:
    """Make a folder beside the file *beside*, gone when the block ends.

    For ``-``, and for what is no file, such as a device, it is in TMPDIR.
    """
    target = Path(beside).absolute()
    no_file = beside == "-" or (target.exists() and not target.is_file())
    if no_file or not target.parent.is_dir():
        target = Path(tempfile.gettempdir(), f"bitextfilter-{token_hex(6)}")
    with ExitStack() as stack:
        try:
            path = stack.enter_context(draft(target, folder=True, ending="parts"))
        except OSError as error:
            raise OutputError(f"{beside}: cannot be written: {error.strerror or error}") from error
        yield WorkFolder(path)


@contextmanager
def kept_folder(path: Path, plan: Mapping[str, Any]) -> Iterator[WorkFolder]:
    """Use *path* for a run with this *plan*, a new one or one that goes on; it stays as it is.

    Waits for another run that is using it. Raises SettingsError if it holds the parts of another
    plan, or anything else; OutputError if it cannot be written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    folder = WorkFolder(path)
    with locked(folder.path):
        _check(folder.path, plan)
        yield folder


def _check(path: Path, plan: Mapping[str, Any]) -> None:
    """See that *path* belongs to a run with this plan, or give it to it."""
    before = read_plan(path)
    if before is not None:
        check_plan(path, before, plan)
    elif any(not _OURS.fullmatch(other.name) for other in path.iterdir()):
        raise SettingsError(f"{path} is no folder of parts: name a new one, or an empty one")
    else:
        write_plan(path, plan)
