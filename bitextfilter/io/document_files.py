"""Files of document alignment: lists of documents, and links between their sentences.

The format of vecalign: indices of source and target sentences, from 0, and perhaps a score.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bitextfilter.errors import InputError
from bitextfilter.io.files import BOM, lines_of
from bitextfilter.io.json_text import parse_json

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
    return ListedPair(source, target, None if output == "-" else output)


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


def link_line(source: Sequence[int], target: Sequence[int], score: str) -> bytes:
    """Return a link as a line; ``score`` may be empty."""
    sides = ":".join(f"[{','.join(map(str, side))}]" for side in (source, target))
    return f"{sides}:{score}\n".encode()


def read_links(stream: Iterable[bytes], name: str) -> list[LinkedIndices]:
    """Return the links of a binary stream, called *name* in messages; blank lines are skipped.

    Raises InputError for a line that is no link, or if the stream cannot be read.
    """
    links = []
    for number, line in enumerate(lines_of(stream, name), start=1):
        found = _LINK.fullmatch(line.removeprefix(BOM) if number == 1 else line)
        if found is not None:
            source, target = (
                tuple(sorted(map(int, re.findall(rb"\d+", side)))) for side in found.groups()
            )
            links.append((source, target))
        elif line.strip():
            message = f"no link: {line[:40].decode(errors='replace').rstrip()!r}"
            remedy = "a link is written [0]:[0,1] or [0]:[0,1]:0.83"
            raise InputError(message, file=name, line=number, remedy=remedy)
    return links
