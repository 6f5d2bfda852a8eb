"""The lines of a stream of bytes, which is read a block at a time."""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from bitextfilter.errors import BitextError, InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LINE_BYTES = 1 << 26
"""The longest line that is read, 64 MiB: a longer one is no text, or not cut into lines."""


_BLOCK_BYTES = 1 << 14
"""What is read at a time; of a damaged archive, as much may be lost before the fault."""


def lines_of(stream: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield the lines of ``line_blocks``, one by one; *stream* is read further than they are."""
    return chain.from_iterable(line_blocks(stream, name))


def line_blocks(stream: Iterable[bytes], name: str) -> Iterator[list[bytes]]:
    """Yield the lines of a binary *stream*, each with its ending, split at ``\\n`` only.

    Each list has the lines that are read at a time, one at least: nothing waits for more. Raises
    InputError naming the line where the stream cannot be read or unpacked any further, or that is
    longer than LINE_BYTES.
    """
    number = 0
    try:
        for lines in _blocks_of_lines(stream):
            yield lines
            number += len(lines)
    except _LongLineError:
        message = f"the line is longer than {LINE_BYTES >> 20} MiB"
        raise InputError(message, file=name, line=number + 1, remedy=_LONG) from None
    except BitextError:  # of a stream that names its own files
        raise
    except Exception as error:  # each unpacker has errors of its own
        message = f"cannot be read any further: {error}"
        raise InputError(message, file=name, line=number + 1) from error


class _LongLineError(Exception):
    """A line is longer than LINE_BYTES."""


def _blocks_of_lines(stream: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the lines that are read at a time; what is read may begin and end within a line.

    Without ``read1``, a *stream* has lines.
    """
    read = getattr(stream, "read1", None)
    if read is None:
        for line in stream:
            if len(line) > LINE_BYTES:
                raise _LongLineError
            yield [line]
        return
    begun, size = list[bytes](), 0
    for block in iter(partial(read, min(_BLOCK_BYTES, LINE_BYTES)), b""):
        first, *lines = io.BytesIO(block).readlines()
        begun.append(first)
        size += len(first)
        if size > LINE_BYTES:
            raise _LongLineError
        if not first.endswith(b"\n"):
            continue
        whole, begun, size = b"".join(begun), [], 0
        if lines and not lines[-1].endswith(b"\n"):
            begun = [lines.pop()]
            size = len(begun[0])
        yield [whole, *lines]
    if begun:
        yield [b"".join(begun)]


_WATCHED_BYTES = 1 << 20


def watched(
    blocks: Iterable[list[bytes]], function: Callable[[list[bytes]], object], count: int
) -> Iterator[list[bytes]]:
    """Yield blocks of lines; *function* gets the first *count* lines before the last is yielded.

    They are fewer where there are no more, or once they hold 1 MiB.
    """
    coming, first, held = iter(blocks), list[bytes](), 0
    for block in coming:
        first += block
        held += sum(map(len, block))
        if len(first) >= count or held >= _WATCHED_BYTES:
            function(first[:count])
            yield block
            break
        yield block
    else:
        function(first)
    yield from coming


class ReadStream(io.RawIOBase):
    """The base of streams of bytes that are read, ``io.BufferedReader`` around them."""

    @abstractmethod
    def next_bytes(self, most: int) -> bytes | memoryview:
        """Return *most* bytes or fewer, but one at least; none at the end."""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read bytes into *buffer*; return their number."""
        with memoryview(buffer).cast("B") as place:
            data = self.next_bytes(len(place))
            place[: len(data)] = data
        return len(data)


_LONG = "LC_ALL=C awk 'length <= 1000000' FILE leaves out lines longer than 1 MB"
