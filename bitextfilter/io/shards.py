"""Several inputs read as one, and inputs cut at line ends into shards of a number of rows.

Plain files are read in place, between two byte offsets; compressed ones and streams are unpacked
into a file for each shard. Rows are numbered as if all inputs were one file (``JoinedFiles``).
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import (
    BOM,
    bytes_read,
    is_packed,
    is_table,
    lines_of,
    open_input,
    open_rows,
    stream_name,
    without_ending,
    write_whole,
)
from bitextfilter.io.rows import windows


class _Head(NamedTuple):
    """The bytes before the rows of a file."""

    bom: bytes = b""
    header: bytes = b""
    """The header line with its ending, without the BOM; empty if there is none."""

    @property
    def size(self) -> int:
        """Its bytes."""
        return len(self.bom) + len(self.header)


class _Heads:
    """Takes the heads off the files of one corpus, whose headers must be the same."""

    def __init__(self, header: bool) -> None:
        self._header = header
        self._first: tuple[str, bytes] | None = None

    def take(self, lines: Iterator[bytes], name: str) -> tuple[_Head, Iterator[bytes]]:
        """Return the head of the file called *name*, and its rows as lines.

        Raises InputError if a header is missing, or differs from the first file's.
        """
        line = next(lines, b"")
        bom = BOM if line.startswith(BOM) else b""
        line = line[len(bom) :]
        if not self._header:
            return _Head(bom, b""), chain([line] if line else [], lines)
        if not line:
            raise InputError("empty, expected a header line", file=name)
        names = without_ending(line)
        self._first = self._first or (name, names)
        if names != self._first[1]:
            message = f"the header differs from the one of {self._first[0]}"
            raise InputError(message, file=name, line=1)
        return _Head(bom, line), lines


def _check_inputs(paths: Sequence[str]) -> None:
    """Raise NotFoundError at once if a file cannot be opened."""
    for path in paths:
        if path != "-" and not Path(path).is_fifo():
            with open_rows(path):
                pass


class JoinedFiles:
    """The lines of several files as if they were one file, to be read once.

    The BOM and header of the first come first. A last line without a newline gets one, except in
    the last file.
    """

    def __init__(self, paths: Sequence[str], header: bool) -> None:
        """Read the files at *paths*. Raises NotFoundError if one of them cannot be opened."""
        _check_inputs(paths)
        self.name = paths[0]
        self._paths = paths
        self._heads = _Heads(header)
        self._starts: list[int] = []
        self._shifts: list[int] = []
        self._stream: BinaryIO | None = None
        """The file that is read."""

    def lines(self) -> Generator[bytes, None, None]:
        """Yield the lines. Raises InputError for a header that differs from the first file's."""
        count, before = 0, b""
        for index, path in enumerate(self._paths):
            last = index == len(self._paths) - 1
            with open_rows(path) as self._stream:
                head, rows = self._heads.take(lines_of(self._stream, path), path)
                if index == 0:
                    before = head.bom
                    rows = chain([head.header] if head.header else [], rows)
                self._starts.append(count + 1)
                self._shifts.append(count - (index > 0 and bool(head.header)))
                for line in rows:
                    count += 1
                    yield before + line if last or line.endswith(b"\n") else before + line + b"\n"
                    before = b""
        if before:
            yield before

    def bytes_read(self) -> tuple[int, int] | None:
        """Return how many bytes are read, and of how many, as ``files.bytes_read``."""
        now = None if self._stream is None else bytes_read(self._stream)
        if now is None or not self._sizes:
            return None
        return sum(self._sizes[: len(self._starts) - 1]) + now[0], sum(self._sizes)

    @cached_property
    def _sizes(self) -> list[int]:
        """Bytes of each file; none if one is not plain."""
        paths = [Path(path) for path in self._paths]
        return [path.stat().st_size for path in paths] if all(map(Path.is_file, paths)) else []

    def place(self, number: int) -> tuple[str, int]:
        """Return file and line of a line that was read, given its number over all files."""
        index = bisect_right(self._starts, number) - 1
        return self._paths[index], number - self._shifts[index]


SHARD_BYTES = 1 << 26
"""A shard ends early once its lines hold 64 MiB."""


_NOTHING = _Head()


@dataclass(frozen=True)
class Shard:
    """Consecutive rows of an input."""

    index: int
    """Its place among all shards, from 0."""
    name: str
    """The name of its input in messages."""
    path: str
    """The file its rows are read from."""
    start: int
    """The offset of the first row there."""
    size: int
    """Bytes of the rows."""
    rows: int
    number: int
    """The number of the first row, from 1 over all inputs."""
    line: int
    """The number of its line in its own input."""
    head: _Head = _NOTHING
    """Only shard 0 has a BOM."""
    closed: bool = False
    """Another input follows, so a last row without a newline gets one."""
    digest: str = ""
    """Of the bytes of head and rows."""

    def __str__(self) -> str:
        """Return its lines as messages show them: ``pairs.tsv:50001-100000``."""
        return f"{self.name}:{self.line}-{self.line + max(self.rows, 1) - 1}"

    def place(self, number: int) -> tuple[str, int]:
        """Return the input of the row of this number, and its line there."""
        return self.name, number - self.number + self.line

    def lines(self) -> Generator[bytes, None, None]:
        """Yield the head and the rows, each with its ending.

        Raises InputError if there is less to read than there was.
        """
        before = self.head.bom
        for line in chain([self.head.header] if self.head.header else [], self._body()):
            yield before + line
            before = b""
        if before:
            yield before

    def _body(self) -> Iterator[bytes]:
        left = self.size
        with open_input(self.path) as stream:
            stream.seek(self.start)
            for line in islice(lines_of(stream, self.name), self.rows):
                left -= len(line)
                yield line + b"\n" if self.closed and not line.endswith(b"\n") else line
        if left:
            raise InputError("changed while it was read", file=self.name)


def _is_plain(path: str) -> bool:
    """Return whether *path* is a file that can be read from any offset."""
    return path != "-" and Path(path).is_file() and not (is_table(path) or is_packed(path))


def cut(
    paths: Sequence[str],
    rows: int,
    header: bool,
    spool: Callable[[int], Path],
    stdin: BinaryIO | None = None,
) -> Iterator[Shard]:
    """Cut the inputs at *paths* into shards of at most *rows* rows, at least one an input.

    The input is read once, as shards are asked for. Compressed inputs and streams are written to
    the file that *spool* names for the index of a shard. Raises the errors of opening and reading,
    and InputError for headers that differ.
    """
    _check_inputs(paths)
    heads, index, number = _Heads(header), 0, 1 + header
    for place, path in enumerate(paths, 1):
        name, followed = stream_name(path), place < len(paths)
        with open_rows(path, stdin if path == "-" else None) as stream:
            head, body = heads.take(lines_of(stream, name), name)
            plain, start, line = _is_plain(path), head.size, 1 + header
            if index:
                head = head._replace(bom=b"")
            blocks = windows(body, len, rows, SHARD_BYTES)
            for block in chain([next(blocks, [])], blocks):
                data = b"".join(block)
                file, offset = (
                    (str(Path(path).resolve()), start) if plain else (str(spool(index)), 0)
                )
                if not plain:
                    write_whole(file, data)
                shard = Shard(index, name, file, offset, len(data), len(block), number, line)
                digest = blake2b(b"".join((*head, data)), digest_size=16).hexdigest()
                yield replace(shard, head=head, closed=followed, digest=digest)
                index, start = index + 1, start + len(data)
                number, line = number + len(block), line + len(block)
                head = head._replace(bom=b"")


def nth_part(path: str, part: int, parts: int, header: bool) -> Shard:
    """Return the *part*-th, from 1, of *parts* parts of a plain file, cut by bytes at line ends.

    Some are empty if it has fewer rows. The lines before the part are counted. Raises
    SettingsError if the file is not plain, InputError for a missing header.
    """
    if not _is_plain(path):
        raise SettingsError(f"{stream_name(path)}: only a plain file can be cut by --shard")
    with open_input(path) as stream:
        head, _ = _Heads(header).take(lines_of(stream, path), path)
        size = os.fstat(stream.fileno()).st_size - head.size
        start, stop = (
            _line_start(stream, head.size, head.size + size * n // parts) for n in (part - 1, part)
        )
        before = _count_lines(stream, head.size, start)
        rows = _count_lines(stream, start, stop)
    line = 1 + header + before
    if part > 1:
        head = head._replace(bom=b"")
    return Shard(part - 1, path, path, start, stop - start, rows, line, line, head)


def _line_start(stream: BinaryIO, first: int, place: int) -> int:
    """Return the offset of the first line that begins at *place* or later."""
    if place <= first:
        return first
    start = stream.seek(place - 1)
    while data := stream.read(1 << 16):
        if found := data.find(b"\n") + 1:
            return start + found
        start += len(data)
    return start


def _count_lines(stream: BinaryIO, start: int, stop: int) -> int:
    """Return the number of lines in some bytes; the last may lack its newline."""
    stream.seek(start)
    count, left, last = 0, stop - start, b"\n"
    while left > 0 and (data := stream.read(min(left, 1 << 20))):
        count += data.count(b"\n")
        left -= len(data)
        last = data
    return count + (not last.endswith(b"\n"))
