"""Records of runs: manifests, and work folders, by which a run can be resumed.

``plan.json`` identifies the run. A shard leaves its outputs, ``000012.output`` and
``000012.rejects``, and, written last, ``000012.json``, which marks it as finished and has their
digests. A shard whose files have changed since is done again.

Inputs are cut at line ends into shards of a number of rows; several may be read as one. Plain files
are read in place, between two byte offsets; compressed ones and streams are unpacked into a file
for each shard. Rows are numbered as if all inputs were one file (``JoinedFiles``).
"""

from __future__ import annotations

import os
import re
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.drafts import draft
from bitextfilter.io.files import (
    BOM,
    bytes_read,
    is_packed,
    is_table,
    locked,
    locked_if_free,
    make_folder,
    naming_output,
    open_input,
    open_rows,
    stream_name,
    without_ending,
    write_whole,
)
from bitextfilter.io.lines import lines_of
from bitextfilter.io.records import file_digest, json_bytes, parse_json, read_record, write_record
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
    stream.seek(place - 1)
    while (part := stream.readline(1 << 16)) and not part.endswith(b"\n"):
        pass
    return stream.tell()


def _count_lines(stream: BinaryIO, start: int, stop: int) -> int:
    """Return the number of lines in some bytes; the last may lack its newline."""
    stream.seek(start)
    count, left, last = 0, stop - start, b"\n"
    while left > 0 and (data := stream.read(min(left, 1 << 20))):
        count += data.count(b"\n")
        left -= len(data)
        last = data
    return count + (not last.endswith(b"\n"))


Fact: TypeAlias = "str | int | float | list[Fact] | dict[str, Fact] | None"
"""A JSON value."""


@dataclass(frozen=True)
class Manifest:
    """A run: version, command line, model, counts and speed."""

    version: str
    command: list[str]
    """The command line, the command's name first."""
    counts: dict[str, int]
    seconds: float
    rows_per_second: float
    facts: dict[str, Fact] = field(default_factory=dict)
    """The model and its digest, the seed, and everything else that the result depends on."""
    compiled: list[str] = field(default_factory=list)
    """The compiled libraries that were opened, by name; numpy or torch did the work of others."""

    def write(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all."""
        write_whole(path, json_bytes(asdict(self), indent=2))


PLAN = "plan.json"

_OURS = r"\.?\d{6,}\.(output|rejects|input|json)(\..+\.partial)?|\.plan\.json\..+"


def read_plan(folder: Path) -> dict[str, Any] | None:
    """Return the plan of a folder, None if it has none. Raises InputError if it is damaged."""
    try:
        return read_record(folder / PLAN, "remove the folder")
    except FileNotFoundError:
        return None


def claim(folder: Path, plan: Mapping[str, Any], ours: str = "") -> None:
    """Take a folder, new, empty, or of the same run, for the run that *plan* describes.

    Args:
        folder: made where it is missing.
        plan: all that the result depends on.
        ours: pattern of the names that may be in a folder without a plan.

    Raises:
        SettingsError: it is of another run, or holds anything else.
        InputError: its plan is damaged.
        OutputError: it cannot be written.
    """
    make_folder(folder)
    before = read_plan(folder)
    if before is not None:
        check_plan(folder, before, plan)
    elif any(not re.fullmatch(ours, other.name) for other in folder.iterdir()):
        raise SettingsError(
            f"{folder} is not empty, and holds no earlier run: name a new folder, or an empty one"
        )
    else:
        write_plan(folder, plan)


def write_plan(folder: Path, plan: Mapping[str, Any]) -> None:
    """Write the plan of a folder, whole. Raises OutputError."""
    write_record(folder / PLAN, plan)


def check_plan(folder: Path, before: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
    """Raise SettingsError, with the first name that differs, unless both plans are the same."""
    # Through JSON, where a tuple is a list.
    was, now = dict(_flat(before)), dict(_flat(parse_json(json_bytes(plan))))
    for name in sorted({*was, *now}):
        old, new = was.get(name, "not given"), now.get(name, "not given")
        if old != new:
            difference = f"{name} was {old}, now it is {new}"
            remedy = "go on with the same, or name a new folder"
            raise SettingsError(f"{folder} is of another run: {difference}; {remedy}")


def _flat(plan: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings by their whole names, such as ``training.seed``."""
    for name, value in plan.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{group}{name}.")
        else:
            yield f"{group}{name}", value


class WorkFolder:
    """The finished shards of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    def file(self, index: int, kind: str) -> Path:
        """Return the path of the ``input``, ``output`` or ``rejects`` of a shard."""
        return self.path / f"{index:06d}.{kind}"

    def finish(self, shard: Shard, record: Mapping[str, Fact]) -> None:
        """Keep the *record* of a shard whose outputs are complete. Raises OutputError."""
        known = {"digest": shard.digest, "record": record, "files": self._digests(shard.index)}
        write_record(self.file(shard.index, "json"), known)

    def _digests(self, index: int) -> dict[str, str]:
        """Return the digests of the outputs of a shard, by kind."""
        files = {kind: self.file(index, kind) for kind in ("output", "rejects")}
        return {kind: file_digest(path) for kind, path in files.items() if path.exists()}

    def finished(self, shard: Shard) -> dict[str, Fact] | None:
        """Return the record of a shard, None if it is not finished, or its files are damaged.

        Raises SettingsError if the text of the shard has changed since.
        """
        try:
            found = read_record(self.file(shard.index, "json"))
        except (FileNotFoundError, InputError):
            return None
        if found["digest"] != shard.digest:
            raise SettingsError(f"{self.path} is of another input: {shard} has changed since")
        record: dict[str, Fact] = found["record"]
        return record if found["files"] == self._digests(shard.index) else None

    def forget(self, index: int) -> None:
        """Remove all files of a shard."""
        for kind in ("json", "output", "rejects", "input"):
            self.file(index, kind).unlink(missing_ok=True)

    def empty(self) -> None:
        """Remove all files of the run, the plan last, and the folder if nothing else is in it.

        Where that is cut short, no shard without its output is left marked as finished. Another
        run that has the folder by now will empty it.
        """
        with locked_if_free(self.path) as free:
            if not free or not self.path.exists():
                return
            for path in sorted(self.path.iterdir(), key=lambda path: path.suffix != ".json"):
                if re.fullmatch(_OURS, path.name):
                    path.unlink(missing_ok=True)
            (self.path / PLAN).unlink(missing_ok=True)
            with suppress(OSError):
                self.path.rmdir()


@contextmanager
def passing_folder(beside: str) -> Iterator[WorkFolder]:
    """Make a folder beside the file *beside* and remove it when the block ends.

    It is in TMPDIR if *beside* is ``-`` or anything but a regular file, such as a device.
    """
    target = Path(beside).absolute()
    no_file = beside == "-" or (target.exists() and not target.is_file())
    if no_file or not target.parent.is_dir():
        target = Path(tempfile.gettempdir(), f"bitextfilter-{token_hex(6)}")
    with ExitStack() as stack:
        with naming_output(beside):
            path = stack.enter_context(draft(target, folder=True, ending="parts"))
        yield WorkFolder(path)


@contextmanager
def kept_folder(path: Path, plan: Mapping[str, Any]) -> Iterator[WorkFolder]:
    """Use *path*, which stays, for a new run or a resumed one with this *plan*.

    Waits for another run that is using it. Raises SettingsError if it holds the parts of another
    plan, or anything else; OutputError if it cannot be written.
    """
    folder = WorkFolder(make_folder(path))
    with locked(folder.path):
        claim(folder.path, plan, _OURS)
        yield folder
