"""Unpackers that ask for a bounded amount of memory, for any file.

A small file may declare a window of gigabytes, which its unpacker must then hold.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, BinaryIO, cast

if TYPE_CHECKING:
    from lzma import LZMADecompressor

    from _typeshed import WriteableBuffer

WINDOW = 1 << 27
"""The largest window, 128 MiB; the strongest usual settings, ``xz -9``, need half of it."""

_CHUNK, _OVERHEAD = 1 << 16, 1 << 20


def open_xz(source: str | BinaryIO) -> BinaryIO:
    """Open a file that xz packed, by its path or its bytes, for reading bytes.

    Raises OSError if it cannot be opened. Reading raises ``lzma.LZMAError`` for a damaged file or
    too large a window, and EOFError for a truncated one.
    """
    packed = open(source, "rb") if isinstance(source, str) else source
    return cast(BinaryIO, io.BufferedReader(_Xz(packed), _CHUNK))


def open_zst(source: str | BinaryIO) -> BinaryIO:
    """Open a file that zstd packed, by its path or its bytes, for reading bytes.

    Raises OSError if it cannot be opened. Reading raises ``ZstdError`` for a damaged file or too
    large a window, and EOFError for a truncated one.
    """
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    options = {int(zstd.DecompressionParameter.window_log_max): WINDOW.bit_length() - 1}
    return cast(BinaryIO, io.BufferedReader(zstd.ZstdFile(source, options=options), _CHUNK))


class _Xz(io.RawIOBase):
    """Unpacks the streams of a file, which may have zeros between and after them."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed, self._rest = packed, b""
        self._unpacker = _unpacker()

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._packed.fileno()

    def close(self) -> None:
        self._packed.close()
        super().close()

    def readinto(self, buffer: WriteableBuffer) -> int:
        with memoryview(buffer).cast("B") as place:
            while not self._unpacker.eof or self._begin():
                if self._unpacker.needs_input and not self._rest:
                    self._rest = self._packed.read(_CHUNK)
                    if not self._rest:
                        raise EOFError("it is truncated")
                data, self._rest = self._unpacker.decompress(self._rest, len(place)), b""
                if data:
                    place[: len(data)] = data
                    return len(data)
            return 0

    def _begin(self) -> bool:
        """Begin the next stream, and return whether there is one."""
        rest = self._unpacker.unused_data
        while not (found := rest.lstrip(b"\0")) and (rest := self._packed.read(_CHUNK)):
            pass
        self._rest, self._unpacker = found, _unpacker() if found else self._unpacker
        return bool(found)


def _unpacker() -> LZMADecompressor:
    import lzma

    return lzma.LZMADecompressor(memlimit=WINDOW + _OVERHEAD)
