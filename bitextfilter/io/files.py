"""Inputs and outputs: ``-`` for the standard streams, compression by name, whole or not at all.

An output is a draft (``drafts.py``) until it is whole; then it takes its name.
"""

from __future__ import annotations

import fcntl
import io
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from bitextfilter.errors import InputError, NotFoundError, OutputError, SettingsError
from bitextfilter.io.drafts import beside, draft, is_name_of, put, rename, sync, undisturbed
from bitextfilter.io.lines import LINE_BYTES, lines_of
from bitextfilter.io.sources import (
    Upload,
    check_packed,
    is_remote,
    open_remote,
    open_xz,
    open_zst,
    uploading,
)

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


@contextmanager
def locked(path: str | Path) -> Iterator[None]:
    """Hold the lock of the file *path*, which need not exist; waits for its present holder.

    The lock is ``.NAME.lock`` beside the file (a link is followed), and is removed afterwards; one
    left by a killed process blocks nobody. Raises OutputError if it cannot be made.
    """
    lock = _lock_of(path)
    with ExitStack() as stack:
        with naming_output(path):
            while not _taken(lock, stack):
                _wait_for(lock)
        yield


@contextmanager
def locked_if_free(path: str | Path) -> Iterator[bool]:
    """Hold the lock of the file *path*, unless another process does; tells whether."""
    with ExitStack() as stack:
        with naming_output(path):
            taken = _taken(_lock_of(path), stack)
        yield taken


def _lock_of(path: str | Path) -> Path:
    return beside(Path(os.path.realpath(path)), "lock")


def _taken(lock: Path, stack: ExitStack) -> bool:
    """Take the lock until the stack is closed, unless another holds it."""
    with undisturbed(), ExitStack() as now:
        held = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        now.callback(os.close, held)
        with suppress(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_name_of(lock, held):
                now.pop_all()
                stack.callback(_release, lock, held)
                return True
    return False


def _wait_for(lock: Path) -> None:
    with suppress(FileNotFoundError), open(lock, "r+b") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)


def _release(lock: Path, held: int) -> None:
    with undisturbed():
        with suppress(OSError):  # left behind, it blocks nobody
            lock.unlink()
        os.close(held)


@contextmanager
def naming_input(path: str | Path) -> Iterator[None]:
    """Raise an OSError of the block as a NotFoundError that names *path*."""
    try:
        yield
    except OSError as error:
        raise NotFoundError(f"{path}: cannot be opened: {error.strerror or error}") from error


@contextmanager
def naming_output(name: str | Path) -> Iterator[None]:
    """Raise an OSError of the block, but for a closed pipe, as an OutputError with *name*."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"{name}: cannot be written: {error.strerror or error}") from error


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Raises NotFoundError, and SettingsError naming the file where it is not TOML.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with naming_input(path), open(path, "rb") as stream:
            text = read_small(stream, str(path)).decode()
        tables: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise SettingsError(f"{path}: its lists and tables are too deep") from None
    except ValueError as error:
        raise SettingsError(f"{path}: not TOML: {error}") from error
    return tables


COMPRESSIONS = {".gz": "gz", ".bz2": "bz2", ".xz": "xz", ".zst": "zst"}
"""Compression formats by the suffix of a file's name."""

BOM = b"\xef\xbb\xbf"


def stream_name(path: str | Path) -> str:
    """Return the name of an input for messages: its path, or ``stdin`` for ``-``."""
    return "stdin" if str(path) == "-" else str(path)


def in_utf_8(text: str) -> bytes:
    r"""Return *text* as UTF-8; a byte of a file's name that is not stands there as ``\udcff``."""
    return text.encode("utf-8", "backslashreplace")


def _xopen(file: str | BinaryIO, mode: str, form: str) -> BinaryIO:
    from xopen import xopen

    stream: BinaryIO = xopen(file, mode, threads=0, format=form)  # type: ignore[call-overload]
    return stream


@contextmanager
def open_input(path: str | Path, stdin: BinaryIO | None = None) -> Iterator[BinaryIO]:
    """Open *path* for reading bytes; ``-`` is *stdin*, if given, which is left open.

    *path* may be a URL. ``.gz .xz .bz2 .zst`` are unpacked. Raises NotFoundError if it cannot be
    opened, InputError if it is not packed as its name says.
    """
    if str(path) == "-" and stdin is not None:
        yield stdin
        return
    with naming_input(path):
        stream = _unpacked(str(path))
    with stream:
        yield stream


def _unpacked(path: str) -> BinaryIO:
    form = COMPRESSIONS.get(Path(path).suffix.lower())
    if form is None:
        return open_bytes(path)
    source = open_bytes(path)
    try:
        check_packed(cast(io.BufferedReader, source), path, form)
    except BaseException:
        source.close()
        raise
    if not is_remote(path) and Path(path).is_file():  # no pipe: its unpacker opens and closes it
        source.close()
        return _opened(path, form)
    return _opened(source, form)


def _opened(source: str | BinaryIO, form: str) -> BinaryIO:
    bounded = {"xz": open_xz, "zst": open_zst}.get(form)
    return bounded(source) if bounded else _xopen(source, "rb", form)


def open_bytes(path: str) -> BinaryIO:
    """Open a file here or elsewhere for reading its bytes as they are. Raises OSError."""
    return open_remote(path) if is_remote(path) else open(path, "rb")


def is_packed(path: str | Path) -> bool:
    """Return whether a file is compressed by its name."""
    return Path(path).suffix.lower() in COMPRESSIONS


TABLES = {".parquet", ".arrow"}
"""Suffixes of the names of tables, which are read as rows with a header."""


def is_table(path: str | Path) -> bool:
    """Return whether a file is a table by its name."""
    return Path(path).suffix.lower() in TABLES


@contextmanager
def open_rows(path: str | Path, stdin: BinaryIO | None = None) -> Iterator[BinaryIO]:
    """Open *path* for reading rows, as ``open_input`` does; a table as a TSV with a header.

    Raises InputError for a table that cannot be rows, DeviceError if pyarrow is missing.
    """
    if not is_table(path):
        with open_input(path, stdin) as stream:
            yield stream
        return
    from bitextfilter.io.arrow_file import open_as_rows

    with open_as_rows(str(path)) as stream:
        yield stream


def bytes_read(stream: BinaryIO) -> tuple[int, int] | None:
    """Return how many bytes of a plain file, perhaps packed, are read, and how many it has.

    None for another *stream*: a pipe, a file elsewhere, a table.
    """
    with suppress(OSError, ValueError, AttributeError):  # no descriptor, or closed
        found = os.fstat(stream.fileno())
        if stat.S_ISREG(found.st_mode):
            return os.lseek(stream.fileno(), 0, os.SEEK_CUR), found.st_size
    return None


def read_small(stream: BinaryIO, name: str) -> bytes:
    """Return all bytes of a stream, such as one of settings. Raises InputError for over 64 MiB."""
    data = stream.read(LINE_BYTES + 1)
    if len(data) > LINE_BYTES:
        raise InputError(f"larger than {LINE_BYTES >> 20} MiB", file=name)
    return data


SPACES = bytes.maketrans(b"\t\n\r", b"   ")
"""Makes spaces of tabs and line endings, by ``bytes.translate``."""


def without_ending(line: bytes) -> bytes:
    """Return *line* without its ``\\n``, and without a ``\\r`` just before that."""
    text = line.removesuffix(b"\n")
    return text.removesuffix(b"\r") if text != line else line


_WIDE = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16"}
_WIDE |= {b"\xfe\xff": "UTF-16"}
_FEWEST_NULS = 3


def wide_remedy(first: bytes) -> str:
    """Return the remedy for a file in UTF-16 or UTF-32, by its first line; empty for others.

    Without a byte-order mark, every other byte of the letters of most scripts is a NUL.
    """
    found = next((name for start, name in _WIDE.items() if first.startswith(start)), "")
    nuls = [first[place::2].count(0) for place in (0, 1)]
    if not found and min(nuls) == 0 and max(nuls) >= _FEWEST_NULS:
        found = "UTF-16BE" if nuls[0] else "UTF-16LE"
    return found and f"the file is in {found[:6]}: iconv -f {found} -t UTF-8 converts it"


def read_lines(path: str | Path) -> Iterator[str]:
    """Yield the sentences of a plain text file (UTF-8, one a line, split at ``\\n`` only).

    A ``\\r`` before the ``\\n`` and a BOM at the start are set aside; an empty line is an empty
    sentence. Raises NotFoundError, and InputError at the first NUL or byte that is not UTF-8.
    """
    with open_input(path) as stream:
        for number, line in enumerate(lines_of(stream, str(path)), 1):
            text = without_ending(line.removeprefix(BOM) if number == 1 else line)
            remedy = wide_remedy(line) if number == 1 else None
            if b"\0" in text:
                raise InputError("NUL byte", file=str(path), line=number, remedy=remedy)
            try:
                yield text.decode("utf-8")
            except UnicodeDecodeError as error:
                message = f"not UTF-8 at byte {error.start + 1} of the line"
                raise InputError(message, file=str(path), line=number, remedy=remedy) from error


class _Sink(io.BufferedIOBase):
    """A binary stream whose errors name the output."""

    def __init__(self, stream: BinaryIO, name: str, seekable: bool = False) -> None:
        self._stream = stream
        self._name = name
        self._seekable = seekable

    def seekable(self) -> bool:
        return self._seekable

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if not self._seekable:
            raise io.UnsupportedOperation(f"{self._name} is written from its start to its end")
        with naming_output(self._name):
            return self._stream.seek(offset, whence)

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        with naming_output(self._name), memoryview(data).cast("B") as rest:
            done = 0
            while done < len(rest):  # an unbuffered stream may take a part only
                done += self._stream.write(rest[done:])
        return done

    def flush(self) -> None:
        with naming_output(self._name):
            self._stream.flush()


@contextmanager
def _file_sink(place: Path | Upload, name: str) -> Iterator[BinaryIO]:
    """Open *place*, compressed as *name* says."""
    form = COMPRESSIONS.get(Path(name).suffix.lower())
    with naming_output(name):
        raw = cast(BinaryIO, place) if isinstance(place, Upload) else open(place, "wb")
    stream = _xopen(raw, "wb", form) if form else raw
    try:
        yield cast(BinaryIO, _Sink(stream, name, not form and raw.seekable()))
        with naming_output(name):
            if form:
                stream.close()
            raw.flush()
    finally:
        with naming_output(name):
            raw.close()


@contextmanager
def open_output(path: str | Path, stdout: BinaryIO | None = None) -> Iterator[BinaryIO]:
    """Open *path* for writing bytes, whole or not at all; ``-`` is *stdout*, if given.

    *path* may be a URL. Compressed by name. Devices and named pipes are written directly; a link is
    followed. Plain files can be sought. Raises OutputError, naming the file, if it cannot be
    written.
    """
    with open_outputs([path], stdout) as (stream,):
        yield stream


@contextmanager
def open_outputs(
    paths: Sequence[str | Path], stdout: BinaryIO | None = None
) -> Iterator[list[BinaryIO]]:
    """Open files as ``open_output`` does; no draft is renamed before all are complete."""
    with ExitStack() as drafts, ExitStack() as sinks:
        streams, renames, uploads = [], [], []
        for path in paths:
            if stdout is not None and str(path) == "-":
                streams.append(_stdout_sink(stdout))
                continue
            if is_remote(path):
                with naming_output(path):
                    upload = drafts.enter_context(uploading(path))
                uploads.append((str(path), upload))
                streams.append(_file_sink(upload, str(path)))
                continue
            target = place = Path(os.path.realpath(path))
            with naming_output(path):
                if not target.exists() or target.is_file():
                    place = drafts.enter_context(draft(target))
                    renames.append((str(path), place, target))
            streams.append(_file_sink(place, str(path)))
        yield [sinks.enter_context(stream) for stream in streams]
        sinks.close()
        for name, place, _ in renames:
            with naming_output(name):
                sync(place)
        for name, upload in uploads:
            with naming_output(name):
                upload.publish()
        for name, place, target in renames:
            with naming_output(name):
                rename(place, target)


@contextmanager
def open_folder(
    path: str | Path, names: Sequence[str], caches: str = ""
) -> Iterator[list[BinaryIO]]:
    """Open the files *names* of a new folder at *path*, whole or not at all.

    An older folder of such files, and perhaps of *caches* (a pattern of names), is replaced.
    Raises OutputError if anything else is there.
    """
    check_is_here(path)
    target = Path(path)
    with naming_output(path):
        if target.exists() and not (target.is_dir() and _has_only(target, [*names, caches])):
            raise OutputError(f"{path}: exists, with other files in it; name another")
        target.parent.mkdir(parents=True, exist_ok=True)
        with draft(target, folder=True) as new:
            with ExitStack() as sinks:
                yield [
                    sinks.enter_context(_file_sink(new / name, f"{path}/{name}")) for name in names
                ]
            put(new, target)


def _has_only(folder: Path, names: Sequence[str]) -> bool:
    return all(any(fnmatch(path.name, name) for name in names) for path in folder.iterdir())


@contextmanager
def _stdout_sink(stdout: BinaryIO) -> Iterator[BinaryIO]:
    sink = _Sink(stdout, "stdout")
    yield cast(BinaryIO, sink)
    sink.flush()


def write_whole(path: str | Path, data: bytes) -> None:
    """Write *data* to the file *path*, whole or not at all. Raises OutputError."""
    with open_output(path) as stream:
        stream.write(data)


def check_is_here(path: str | Path) -> None:
    """Raise OutputError for the URL of a folder."""
    if is_remote(path):
        raise OutputError(f"{path}: a folder can only be written here, not at a URL")


def make_folder(path: str | Path) -> Path:
    """Make a folder, and those above it, unless it is there. Raises OutputError."""
    check_is_here(path)
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be made: {error.strerror or error}") from error
    return Path(path)
