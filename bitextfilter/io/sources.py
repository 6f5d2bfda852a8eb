"""Bytes of files elsewhere, as ``s3://bucket/pairs.tsv``, and of packed ones.

A file elsewhere is read as a stream, and written whole or not at all. Only this module needs
fsspec, whose protocols are those of the packages that are installed. Sources:
https://filesystem-spec.readthedocs.io, on transactions.

Unpackers ask for a bounded amount of memory, for any file: a small one may declare a window of
gigabytes, which its unpacker must then hold.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from bitextfilter.errors import BitextError, DeviceError, InputError
from bitextfilter.io.lines import ReadStream

if TYPE_CHECKING:
    from lzma import LZMADecompressor

    from _typeshed import ReadableBuffer

_BUFFER = 1 << 17
_URL = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.-]+::)*[A-Za-z][A-Za-z0-9+.-]+:)//?")
"""The beginning of a URL; a ``Path`` has made one slash of two."""


def is_remote(path: str | Path) -> bool:
    """Return whether *path* is a URL, as ``s3://bucket/name``. ``./s3://name`` is a file here."""
    return _URL.match(str(path)) is not None


def _file_system(path: str | Path) -> tuple[Any, str]:
    """Return the file system of a URL, and the name in it.

    Raises DeviceError if a package is missing or nobody knows the protocol.
    """
    url = _URL.sub(r"\1//", str(path), count=1)
    protocol = url.partition(":")[0]
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        remedy = "pip install 'bitextfilter[remote]'"
        raise DeviceError(f"{url}: URLs need fsspec: {remedy}") from error
    try:
        with _as_os_errors():
            # an instance of its own, whose transaction no other file shares
            found: tuple[Any, str] = url_to_fs(url, skip_instance_cache=True)
    except ImportError as error:
        raise DeviceError(f"{url}: {error} (pip install)") from error
    except OSError as error:
        if isinstance(error.__cause__, ValueError):  # an unknown protocol
            remedy = f"./{url} is a file here"
            raise DeviceError(f"{url}: nothing reads {protocol}://: {remedy}") from error
        raise
    return found


@contextmanager
def _as_os_errors() -> Iterator[None]:
    """Raise any error of a file system's package as an OSError."""
    try:
        yield
    except (OSError, ImportError, BitextError, MemoryError):
        raise
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {error}") from error


class _Source(ReadStream):
    """The bytes of a file elsewhere."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def seekable(self) -> bool:
        return bool(self._stream.seekable())

    def next_bytes(self, most: int) -> bytes:
        with _as_os_errors():
            data: bytes = self._stream.read(most)
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        with _as_os_errors():
            return int(self._stream.seek(offset, whence))

    def tell(self) -> int:
        return int(self._stream.tell())

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def open_remote(path: str | Path) -> BinaryIO:
    """Open a URL for reading bytes. Raises OSError, and DeviceError where a package is missing."""
    system, name = _file_system(path)
    with _as_os_errors():
        return cast(BinaryIO, io.BufferedReader(_Source(system.open(name, "rb")), _BUFFER))


class Upload(io.RawIOBase):
    """A file elsewhere that does not exist before it is published. Raises OSError."""

    def __init__(self, path: str | Path) -> None:
        """Begin to write the file at a URL."""
        system, name = _file_system(path)
        with _as_os_errors():
            self._transaction = system.start_transaction()
            self._stream = system.open(name, "wb")
        self._ended = False

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: ReadableBuffer) -> int:
        """Take all bytes of *data*."""
        with _as_os_errors():
            self._stream.write(data)
        return memoryview(data).nbytes

    def publish(self) -> None:
        """Put the file, which is complete, in its place."""
        with _as_os_errors():
            self._stream.close()
            self._ended = True
            self._transaction.complete(commit=True)

    def discard(self) -> None:
        """Drop the file, unless it was published."""
        if self._ended:
            return
        self._ended = True
        from fsspec.spec import AbstractBufferedFile

        with _as_os_errors():
            if isinstance(self._stream, AbstractBufferedFile):
                self._transaction.complete(commit=False)
                self._stream.closed = True  # else closing it would finish the upload
            else:
                self._stream.close()
                self._transaction.complete(commit=False)


@contextmanager
def uploading(path: str | Path) -> Iterator[Upload]:
    """Begin to write a URL; what is not published by then is discarded."""
    upload = Upload(path)
    try:
        yield upload
    finally:
        with suppress(OSError):  # the error before counts
            upload.discard()


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


class _Xz(ReadStream):
    """Unpacks the streams of a file, which may have zeros between and after them."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed, self._rest = packed, b""
        self._unpacker = _unpacker()

    def fileno(self) -> int:
        return self._packed.fileno()

    def close(self) -> None:
        self._packed.close()
        super().close()

    def next_bytes(self, most: int) -> bytes:
        while not self._unpacker.eof or self._begin():
            if self._unpacker.needs_input and not self._rest:
                self._rest = self._packed.read(_CHUNK)
                if not self._rest:
                    raise EOFError("it is truncated")
            data, self._rest = self._unpacker.decompress(self._rest, most), b""
            if data:
                return data
        return b""

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
