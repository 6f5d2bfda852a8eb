"""Unpackers that ask for a bounded amount of memory, for any file.

A small file may declare a window of gigabytes, which its unpacker must then hold.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO, cast

from bitextfilter.errors import InputError

if TYPE_CHECKING:
    from lzma import LZMADecompressor

    from _typeshed import WriteableBuffer

WINDOW = 1 << 27
"""The largest window, 128 MiB; the strongest usual settings, ``xz -9``, need half of it."""

_CHUNK, _OVERHEAD = 1 << 16, 1 << 20


PACKERS = {"gz": "gzip", "bz2": "bzip2", "xz": "xz", "zst": "zstd"}
"""Compression formats by the suffix of their names."""
_BEGINNINGS: Mapping[str, tuple[bytes, ...]] = {
    "gz": (b"\x1f\x8b",),
    "bz2": (b"BZh",),
    "xz": (b"\xfd7zXZ\0",),
    "zst": (b"\x28\xb5\x2f\xfd", *(bytes([n]) + b"\x2a\x4d\x18" for n in range(0x50, 0x60))),
}
_HEAD = 6


def packed_form(head: bytes) -> str | None:
    """Return the compression format of a file that begins with *head*; None if it has none."""
    return next((form for form, starts in _BEGINNINGS.items() if head.startswith(starts)), None)


def check_packed(stream: io.BufferedReader, path: str, form: str) -> None:
    """Raise InputError for a file that is not in *form*, as its name says; reads nothing of it."""
    head = stream.peek(_HEAD)[:_HEAD]
    found = packed_form(head)
    if found == form or any(start.startswith(head) for start in _BEGINNINGS[form]):
        return
    remedy = (
        f"it is {PACKERS[found]}: rename it to .{found}" if found else f"rename it without .{form}"
    )
    raise InputError(f"not {PACKERS[form]}, as its name says", file=path, remedy=remedy)


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
