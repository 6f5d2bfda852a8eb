"""JSON of bounded depth, and digests that find damage: of records in JSON, and of a folder's files.

A record is an object in JSON that holds the SHA-256 of its file's name and its other members.
``digests.json``, written last, lists the SHA-256 of each file of a finished folder.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bitextfilter.errors import InputError
from bitextfilter.io.files import in_utf_8, naming_input, write_whole

DIGESTS = "digests.json"
"""The file of digests of a folder."""

MISSING, NEW = "missing", f"new: {DIGESTS} does not list it"

_SHARED = "shared"
"""The member of ``digests.json`` with files of a folder beside it."""

_OWN = "sha256"
"""The member of a record with its digest."""


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits. Raises NotFoundError."""
    with naming_input(path):
        status = Path(path).stat()
        times = status.st_mtime_ns, status.st_ctime_ns
        return _content(str(path), status.st_ino, status.st_size, *times)


@functools.cache
def _content(path: str, *_: int) -> str:
    """Read a file once for as long as it is the same."""
    total = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            total.update(block)
    return total.hexdigest()


def pair_bytes(source: bytes, target: bytes) -> bytes:
    """Return 8 bytes that stand for a pair: the first of the SHA-256 of both, a tab between."""
    return hashlib.sha256(b"%b\t%b" % (source, target)).digest()[:8]


def write_record(path: Path, values: Mapping[str, Any]) -> None:
    """Write an object in JSON with its digest, whole or not at all. Raises OutputError."""
    plain = json.loads(json.dumps(values))
    text = json.dumps({**plain, _OWN: _digest(path, plain)}, indent=1)
    write_whole(path, f"{text}\n".encode())


def read_record(path: Path, remedy: str | None = None) -> dict[str, Any]:
    """Return the object that :func:`write_record` wrote.

    Raises FileNotFoundError, and InputError with the *remedy* where it is damaged.
    """
    try:
        values: dict[str, Any] = json.loads(path.read_bytes())
        if values.pop(_OWN) == _digest(path, values):
            return values
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(path) from None
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        pass
    raise InputError("damaged", file=str(path), remedy=remedy)


def _digest(path: Path, values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([path.name, values], sort_keys=True).encode()).hexdigest()


def paths_within(folder: Path) -> list[Path]:
    """Return all files and folders of a folder and its subfolders, sorted; none if it is not there.

    Raises NotFoundError for a folder that cannot be listed, which ``Path.rglob`` takes for empty.
    """

    def fail(error: OSError) -> None:
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            raise error

    with naming_input(folder):
        walked = list(os.walk(folder, onerror=fail))
    return sorted(Path(base, name) for base, *names in walked for some in names for name in some)


def folder_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder and its subfolders by name, sorted, but for ``digests.json``.

    With those that it shares: see :func:`file_of`. Raises NotFoundError as :func:`paths_within`.
    """
    own = {path.relative_to(folder).as_posix(): path for path in paths_within(folder)}
    found = sorted((_shared(folder) | own).items())
    return {name: path for name, path in found if path.is_file() and name != DIGESTS}


def file_of(folder: Path, name: str) -> Path:
    """Return the path of a file of a folder, or of the folder beside it that has the same file.

    ``digests.json`` names that folder, so that large files of shipped models are there once.
    """
    own = folder / name
    return own if own.exists() else _shared(folder).get(name, own)


def _shared(folder: Path) -> dict[str, Path]:
    """Return the files that a folder has in folders beside it."""
    with suppress(FileNotFoundError, InputError):
        named = read_record(folder / DIGESTS).get(_SHARED)
        beside = folder.resolve().parent
        if isinstance(named, dict) and all(map(_is_name, [*named, *named.values()])):
            return {name: beside / other / name for name, other in named.items()}
    return {}


def _is_name(text: Any) -> bool:
    """Whether a text is a name within a folder, and leads nowhere else."""
    return isinstance(text, str) and text not in ("", ".", "..") and Path(text).name == text


def write_digests(folder: Path) -> None:
    """Write the digests of all files of a folder, with those that it shares. Raises OutputError."""
    files = {name: file_digest(path) for name, path in folder_files(folder).items()}
    shared = {name: path.parent.name for name, path in _shared(folder).items()}
    write_record(
        folder / DIGESTS, {"files": files, _SHARED: shared} if shared else {"files": files}
    )


def changed_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the fault of each file that is not as ``digests.json`` says.

    A folder without digests, as older versions wrote it, has no faults. A fault is ``MISSING``,
    ``NEW``, unless the name begins with a dot, or damage.
    """
    try:
        known: dict[str, str] = read_record(folder / DIGESTS)["files"]
    except FileNotFoundError:
        return
    except InputError as error:
        yield DIGESTS, error.message
        return
    found = folder_files(folder)
    for name in sorted({*known, *found}):
        if name not in found:
            yield name, MISSING
        elif name in known and file_digest(found[name]) != known[name]:
            yield name, "damaged: it has changed since it was saved"
        elif name not in known and not Path(name).name.startswith("."):
            yield name, NEW


MOST_LEVELS = 100
"""The deepest nesting that is read."""

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]')
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


def parse_json(text: str | bytes, **parsers: Any) -> Any:
    """Return the value of a JSON text; *parsers* are those of ``json.loads``.

    Raises ValueError for any other text, and for lists and objects more than MOST_LEVELS deep.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text))
    try:
        found = json.loads(text, **parsers)
    except RecursionError:
        raise ValueError(_DEEP) from None
    if text.count("[") + text.count("{") > MOST_LEVELS and _is_deep(text):
        raise ValueError(_DEEP)
    return found


_DEEP = f"its lists and objects are more than {MOST_LEVELS} deep"


def _is_deep(text: str) -> bool:
    """Return whether a text, known to be JSON, is nested too deep."""
    level = 0
    for token in _TOKEN.finditer(text):
        level += _STEP.get(token[0], 0)
        if level > MOST_LEVELS:
            return True
    return False


def json_bytes(value: Any, indent: int | None = None) -> bytes:
    """Return *value* as a line of JSON, encoded as ``in_utf_8`` does."""
    return in_utf_8(json.dumps(value, ensure_ascii=False, indent=indent) + "\n")
