"""Documents and their alignment: collections, sentences kept on disk, and files of links.

A collection is a folder of files, JSON lines, or a list of files; each document has a name of its
own in it. What cannot be read as a document is an error in its place, for the caller to raise or to
count. Sentences on disk take some 200 bytes of memory a document, and its names.

Links have the format of vecalign: indices of source and target sentences, from 0, and perhaps a
score.
"""

from __future__ import annotations

import hashlib
import os
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from bitextfilter.errors import InputError
from bitextfilter.io.files import BOM, naming_input, naming_output, open_input, stream_name
from bitextfilter.io.lines import lines_of
from bitextfilter.io.records import parse_json

if TYPE_CHECKING:
    from bitextfilter.arrays import Integers

_ROW = "a row has a source file, a target file, and perhaps a score or a file for the result"
_SCORE = re.compile(r"[01](\.\d{1,9})?")
"""A number from 0 to 1; ``./1`` is a file of that name."""
_OBJECT = 'an object has "source" and "target", each a text or a list of sentences'


class ListedPair(NamedTuple):
    """Two documents, each the path of a file or its lines, and the file of the result."""

    source: str | list[bytes]
    target: str | list[bytes]
    output: str | None = None
    """None for the output of the run."""
    document: str | None = None
    """Its name, if it has one of its own."""


def read_document_list(
    stream: Iterable[bytes], name: str
) -> Iterator[tuple[int, ListedPair | InputError]]:
    """Yield the entry of each line of a list, or its error, with the line number from 1.

    Blank lines are skipped. Raises InputError if there is no other.
    """
    some = False
    for number, line in enumerate(lines_of(stream, name), start=1):
        text = line.removeprefix(BOM) if number == 1 else line
        if not text.strip():
            continue
        some = True
        is_object = text.lstrip().startswith(b"{")
        try:
            found: ListedPair | InputError = (_object if is_object else _row)(text)
        except ValueError as error:
            remedy = _OBJECT if is_object else _ROW
            found = InputError(str(error), file=name, line=number, remedy=remedy)
        yield number, found
    if not some:
        raise InputError("no documents", file=name)


def _row(line: bytes) -> ListedPair:
    """Read a row of files; a score, as bitext-pair-documents writes it, is no file.

    Raises ValueError with the reason.
    """
    columns = os.fsdecode(line).rstrip("\r\n").split("\t")
    if len(columns) > 2 and _SCORE.fullmatch(columns[2]):
        del columns[2]
    if len(columns) not in (2, 3):
        raise ValueError(f"{len(columns)} columns")
    source, target, output = (*map(_path, columns), None)[:3]
    assert source is not None
    assert target is not None
    return ListedPair(source, target, None if output == "-" else output)


def _path(name: object) -> str:
    """Return the name of a file. Raises ValueError if it is none."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise ValueError(f"{name!r} is no name of a file")
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise ValueError(f"{name!r} is no name of a file") from None
    return name


def _object(line: bytes) -> ListedPair:
    """Read a JSON object. Raises ValueError with the reason."""
    try:
        found = parse_json(line)
    except ValueError as problem:
        raise ValueError(f"no JSON: {problem}") from problem
    source, target = (lines_of_text(found.get(side), side) for side in ("source", "target"))
    output = None if found.get("output") is None else _path(found["output"])
    name = found.get("document", found.get("source_id"))
    document = str(name) if type(name) in (str, int) and name != "" else None
    return ListedPair(source, target, None if output == "-" else output, document)


def lines_of_text(text: object, name: str) -> list[bytes]:
    """Return the lines of a text or the sentences of a list, each with an ending.

    Raises ValueError, with the *name* of the member, for anything else, or no lines.
    """
    lines = text.removesuffix("\n").split("\n") if isinstance(text, str) and text else text or []
    if not isinstance(text, str | list) or not isinstance(lines, list):
        raise ValueError(f"no {name}")
    if not all(isinstance(line, str) for line in lines):
        raise ValueError(f"no {name}")
    if any("\n" in line for line in lines):
        raise ValueError(f"a sentence of the {name} has a line end in it")
    return [f"{line}\n".encode("utf-8", "surrogatepass") for line in lines]


class FileUses:
    """The files that a run reads and writes: an output is not read, and is written once."""

    def __init__(self, written: Iterable[str | None], read: Iterable[str]) -> None:
        """Begin with the files that are written and read for any documents."""
        self._written = {_place(path) for path in written} - {None, _STDIN}
        self._read = {_place(path) for path in read}

    def conflict(self) -> bool:
        """Return whether one of the first files is read and written."""
        return bool(self._written & self._read)

    def problem(self, pair: ListedPair) -> str | None:
        """Return the conflict of a pair's files, None if there is none, and remember them."""
        for side in (pair.source, pair.target):
            if not isinstance(side, str):
                continue
            place = _place(side)
            if place in self._written:
                return f"{side} is written by this run"
            if place == _STDIN and place in self._read:
                return "stdin can be read once only"
            self._read.add(place)
        place = _place(pair.output)
        if place is not None and place in self._read:
            return f"{pair.output} is read by this run"
        if place is not None and place in self._written:
            return f"{pair.output} would be written twice"
        self._written |= {place} - {None}
        return None


_STDIN = "-"


def _place(path: str | None) -> str | None:
    """Return the real path of a file, None for anything but a regular file."""
    if path is None or path == _STDIN:
        return path
    if Path(path).exists() and not Path(path).is_file():
        return None
    return os.path.realpath(path)


LinkedIndices = tuple[tuple[int, ...], tuple[int, ...]]
"""Indices of source and of target sentences."""

_SIDE = rb"\[\s*((?:\d{1,9}(?:\s*,\s*\d{1,9})*)?)\s*\]"
_LINK = re.compile(rb"\s*" + _SIDE + rb"\s*:\s*" + _SIDE + rb"\s*(?::.*)?", re.DOTALL)


_LINK_FORM = (
    "a link is written [0]:[0,1] or [0]:[0,1]:0.83",
    "a line is the name of a document, a tab and a link, as [0]:[0,1]",
)


def link_line(source: Sequence[int], target: Sequence[int], score: str) -> bytes:
    """Return a link as a line; ``score`` may be empty."""
    sides = ":".join(f"[{','.join(map(str, side))}]" for side in (source, target))
    return f"{sides}:{score}\n".encode()


def read_links(stream: Iterable[bytes], name: str) -> list[LinkedIndices]:
    """Return the links of a binary stream, called *name* in messages; blank lines are skipped.

    Raises InputError for a line that is no link, or if the stream cannot be read.
    """
    return [line.link for line in read_link_lines(stream, name)]


class LinkLine(NamedTuple):
    """A line of a file of links."""

    number: int
    """From 1."""
    document: str
    """Empty where lines do not name theirs."""
    link: LinkedIndices


def read_link_lines(
    stream: Iterable[bytes], name: str, documents: bool = False
) -> Iterator[LinkLine]:
    """Yield the lines of a file of links as :func:`read_links` does.

    With *documents*, each is the name of a document, a tab and a link.
    """
    for number, line in enumerate(lines_of(stream, name), start=1):
        text = line.removeprefix(BOM) if number == 1 else line
        if not text.strip():
            continue
        document, tab, link = text.rpartition(b"\t") if documents else (b"", b"\t", text)
        found = _LINK.fullmatch(link)
        if found is None or not tab:
            message = f"no link: {line[:40].decode(errors='replace').rstrip()!r}"
            raise InputError(message, file=name, line=number, remedy=_LINK_FORM[documents])
        source, target = (
            tuple(sorted(map(int, re.findall(rb"\d+", side)))) for side in found.groups()
        )
        yield LinkLine(number, document.decode(errors="backslashreplace"), (source, target))


_DOCUMENT = 'an object has "id" and "text", or "sentences", a list'
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
                yield _document(text, place)
            except ValueError as error:
                yield InputError(str(error), file=name, line=number, remedy=_DOCUMENT)
        else:
            path = os.fsdecode(text).rstrip("\r\n")
            yield _named(path, path if Path(path).exists() else place, path)


def _document(line: bytes, place: str) -> ListedDocument | InputError:
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


_DIGEST_BYTES = 16


class DocumentStore(AbstractContextManager["DocumentStore"]):
    """Documents by their numbers from 0; documents of equal sentences are one, with several names.

    Documents are added within a ``with`` block, and read after it.
    """

    def __init__(self, path: Path) -> None:
        """Begin a new file. Raises OutputError."""
        self.path = path
        self.names: list[list[str]] = []
        """The names of each document, in the order in which they were added."""
        self._places: dict[bytes, int] = {}
        self._starts, self._counts = array("q", [0]), array("q")
        self._whole = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        with naming_output(path):
            self._file = open(path, "wb")

    def __len__(self) -> int:
        return len(self.names)

    def __exit__(self, *_: object) -> None:
        with naming_output(self.path):
            self._file.close()

    def add(self, name: str, sentences: Sequence[str]) -> bool:
        """Add a document of at least one sentence; False if an earlier one has the same sentences.

        No sentence has a line end in it. Raises OutputError.
        """
        text = "".join(f"{sentence}\n" for sentence in sentences).encode()
        digest = hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest()
        self._whole.update(digest + f"{name}\n".encode("utf-8", "surrogateescape"))
        place = self._places.setdefault(digest, len(self.names))
        if place < len(self.names):
            self.names[place].append(name)
            return False
        with naming_output(self.path):
            self._file.write(text)
        self.names.append([name])
        self._starts.append(self._starts[-1] + len(text))
        self._counts.append(len(sentences))
        return True

    @property
    def counts(self) -> Integers:
        """The number of sentences of each document, ``(n,)``."""
        import numpy as np

        return np.array(self._counts, dtype=np.int64)

    def digest(self) -> str:
        """Return 32 hexadecimal digits over all names and sentences in order."""
        return self._whole.hexdigest()

    def windows(self, sentences: int, first: int = 0) -> Iterator[range]:
        """Yield the numbers of documents from *first* on, in parts of about as many sentences."""
        start, size = first, 0
        for number in range(first, len(self)):
            size += self._counts[number]
            if size >= sentences:
                yield range(start, number + 1)
                start, size = number + 1, 0
        if start < len(self):
            yield range(start, len(self))

    def read(self, numbers: range) -> list[list[str]]:
        """Return the sentences of each of some documents in a row. Raises NotFoundError."""
        if not numbers:
            return []
        with naming_input(self.path), open(self.path, "rb") as file:
            file.seek(self._starts[numbers[0]])
            text = file.read(self._starts[numbers[-1] + 1] - self._starts[numbers[0]])
        lines, found, first = text.decode().split("\n"), [], 0
        for number in numbers:
            found.append(lines[first : first + self._counts[number]])
            first += self._counts[number]
        return found
