"""Cut inputs at line ends into shards, each of which can be read on its own.

A shard has so many rows, wherever and by however many it is worked on. Plain files are read where
they are, between two byte offsets; compressed ones and streams are unpacked into a file for each
shard. The rows are numbered as if all inputs were one file (``JoinedFiles``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import COMPRESSIONS, lines_of, open_input, stream_name, write_whole
from bitextfilter.io.joined import Head, Heads, check_inputs

__all__ = ["SHARD_BYTES", "Shard", "cut", "is_plain", "nth_part"]

SHARD_BYTES = 1 << 26
"""A shard ends early once its lines hold 64 MiB."""


_NOTHING = Head()


@dataclass(frozen=True)
class Shard:
    """Consecutive rows of an input."""

    index: int
    """Its place among all shards, from 0."""
    name: str
    """What its input is called in messages."""
    path: str
    """The file that its rows are read from."""
    start: int
    """The byte there at which the first of them begins."""
    size: int
    """How many bytes they have."""
    rows: int
    number: int
    """The number of the first row, counted from 1 over all inputs."""
    line: int
    """The number of its line in its own input."""
    head: Head = _NOTHING
    """What stands before the rows; only shard 0 has a BOM."""
    closed: bool = False
    """Whether a last row without a newline gets one, because another input follows."""
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


def is_plain(path: str) -> bool:
    """Say whether *path* is a file that can be read from anywhere within."""
    return path != "-" and Path(path).is_file() and Path(path).suffix.lower() not in COMPRESSIONS


def cut(
    paths: Sequence[str],
    rows: int,
    header: bool,
    spool: Callable[[int], Path],
    stdin: BinaryIO | None = None,
) -> Iterator[Shard]:
    """Cut the inputs at *paths* into shards of at most *rows* rows, at least one an input.

    The input is read once, as shards are asked for. What is not plain is written to the file that
    *spool* names for the index of a shard. Raises what opening and reading raise, and InputError
    for headers that differ.
    """
    check_inputs(paths)
    heads, index, number = Heads(header), 0, 1 + header
    for place, path in enumerate(paths, 1):
        name, followed = stream_name(path), place < len(paths)
        with open_input(path, stdin if path == "-" else None) as stream:
            head, body = heads.take(lines_of(stream, name), name)
            plain, start, line = is_plain(path), head.size, 1 + header
            if index:
                head = head._replace(bom=b"")
            for block in _blocks(body, rows):
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


def _blocks(lines: Iterable[bytes], rows: int) -> Iterator[list[bytes]]:
    """Yield lines by *rows*, or fewer where they hold SHARD_BYTES; one block if there are none."""
    block: list[bytes] = []
    held, none = 0, True
    for line in lines:
        block.append(line)
        held += len(line)
        if len(block) >= rows or held >= SHARD_BYTES:
            yield block
            block, held, none = [], 0, False
    if block or none:
        yield block


def nth_part(path: str, part: int, parts: int, header: bool) -> Shard:
    """Return the *part*-th, from 1, of *parts* parts of a plain file, of like numbers of bytes.

    Together the parts are the file; some are empty where it has fewer rows. Its lines before the
    part are counted. Raises SettingsError if the file is not plain, InputError for no header.
    """
    if not is_plain(path):
        raise SettingsError(f"{stream_name(path)}: only a plain file can be cut by --shard")
    with open_input(path) as stream:
        head, _ = Heads(header).take(iter(stream.readline, b""), path)
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
    """Return where the first line begins, of those that begin at *place* or later."""
    if place <= first:
        return first
    stream.seek(place - 1)
    return place - 1 + len(stream.readline())


def _count_lines(stream: BinaryIO, start: int, stop: int) -> int:
    """Return the number of lines in some bytes; the last may lack its newline."""
    stream.seek(start)
    count, left, last = 0, stop - start, b"\n"
    while left > 0 and (data := stream.read(min(left, 1 << 20))):
        count += data.count(b"\n")
        left -= len(data)
        last = data
    return count + (not last.endswith(b"\n"))
