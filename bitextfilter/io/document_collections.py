"""Collections of documents: a folder of files, JSON lines, or a list of files.

Each document has a name of its own in its collection. What cannot be read as a document is an
error in its place, for the caller to raise or to count.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from bitextfilter.errors import InputError
from bitextfilter.io.document_files import lines_of_text
from bitextfilter.io.files import BOM, lines_of, open_input, stream_name
from bitextfilter.io.json_text import parse_json

_OBJECT = 'an object has "id" and "text", or "sentences", a list'
_NO_NAME = "rename it: its name would break the rows of the output"


class ListedDocument(NamedTuple):
    """A document of a collection."""

    name: str
    """Its path, or its ``id``; without tabs and line ends."""
    place: str
    """Its name in messages."""
    text: str | list[bytes]
    """The path of its file, or its lines."""


def read_collection(
    path: str, stdin: BinaryIO | None = None
) -> Iterator[ListedDocument | InputError]:
    """Yield the documents of a collection in order, and errors in the place of others.

    A folder is read with its subfolders, in the order of names; names that begin with a dot are
    left out. A file (``-`` is *stdin*) has a JSON object or the path of a file on each line. A name
    that stands twice is an error. Raises NotFoundError if *path* cannot be opened.
    """
    seen: set[str] = set()
    found = _of_folder(Path(path)) if Path(path).is_dir() else _of_file(path, stdin)
    for document in found:
        if isinstance(document, ListedDocument):
            if document.name in seen:
                problem = f"the document {document.name} stands twice"
                yield InputError(problem, file=document.place, remedy="give each its own id")
                continue
            seen.add(document.name)
        yield document


def _of_folder(folder: Path) -> Iterator[ListedDocument | InputError]:
    """Yield the files of a folder and its subfolders; of a folder under two names the first."""
    seen: set[tuple[int, int]] = set()
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        try:
            if path.is_dir():
                status = path.stat()
                if (status.st_dev, status.st_ino) in seen:
                    remedy = "remove the link to it"
                    yield InputError(
                        "a folder that was read already", file=str(path), remedy=remedy
                    )
                    continue
                seen.add((status.st_dev, status.st_ino))
                inside = sorted(path.iterdir(), reverse=True)
                waiting += [each for each in inside if not each.name.startswith(".")]
            elif path.is_file():
                yield _named(str(path), str(path), str(path))
            else:
                yield InputError("neither a file nor a folder", file=str(path))
        except OSError as error:
            yield InputError(f"cannot be opened: {error.strerror or error}", file=str(path))


def _named(name: str, place: str, text: str | list[bytes]) -> ListedDocument | InputError:
    """Return a document, or an error if its name would break a row."""
    if not name or any(mark in name for mark in "\t\n\r\0"):
        return InputError(f"{name!r} is no name of a document", file=place, remedy=_NO_NAME)
    return ListedDocument(name, place, text)


def _of_file(path: str, stdin: BinaryIO | None) -> Iterator[ListedDocument | InputError]:
    """Yield the documents of the lines of a file."""
    name, some = stream_name(path), False
    with open_input(path, stdin) as stream:
        for document in _of_lines(stream, name):
            some = True
            yield document
    if not some:
        raise InputError("no documents", file=name)


def _of_lines(stream: Iterable[bytes], name: str) -> Iterator[ListedDocument | InputError]:
    for number, line in enumerate(lines_of(stream, name), start=1):
        text = line.removeprefix(BOM) if number == 1 else line
        if not text.strip():
            continue
        place = f"{name}:{number}"
        if text.lstrip().startswith(b"{"):
            try:
                yield _object(text, place)
            except ValueError as error:
                yield InputError(str(error), file=name, line=number, remedy=_OBJECT)
        else:
            path = os.fsdecode(text).rstrip("\r\n")
            yield _named(path, path if Path(path).exists() else place, path)


def _object(line: bytes, place: str) -> ListedDocument | InputError:
    """Read a JSON object. Raises ValueError if it is no document."""
    try:
        found = parse_json(line)
    except ValueError as problem:
        raise ValueError(f"no JSON: {problem}") from problem
    name = found.get("id")
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str):
        raise ValueError("no id")
    which = "sentences" if "sentences" in found else "text"
    return _named(name, place, lines_of_text(found.get(which), which))
