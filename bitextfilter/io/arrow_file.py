"""Tables in Parquet and Arrow files: their columns as text, a batch of rows at a time.

Only this module needs pyarrow. Fields of structures have dots in their names, as
``translation.en``.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy
import numpy.typing as npt

from bitextfilter.errors import DeviceError, InputError
from bitextfilter.io.files import SPACES, is_packed, naming_input, open_bytes
from bitextfilter.io.lines import ReadStream
from bitextfilter.io.rows import UNFIT, WINDOW_BYTES

_BATCH = 4096
"""Rows in memory at a time, when a file is read."""
_BUFFER = 1 << 20
"""Bytes of a column that are read at a time."""
_GROUP = 1 << 16
"""Rows of a row group, unless they hold WINDOW_BYTES before."""
GROUP_ROWS = 1 << 20
"""Rows of a row group of numbers."""
_SHOWN = 20


def arrow() -> Any:
    """Return pyarrow. Raises DeviceError if it is not installed."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        remedy = "pip install 'bitextfilter[parquet]'"
        raise DeviceError(f"Parquet and Arrow need pyarrow: {remedy}") from error
    return pyarrow


class ArrowTable:
    """A Parquet file, an Arrow file or an Arrow stream, told apart by the content.

    ``names`` are those of all columns, in order. Use it as a context manager.
    """

    def __init__(self, path: str) -> None:
        """Open the file at *path*.

        Raises NotFoundError, InputError for anything else than a table, DeviceError without
        pyarrow.
        """
        self._pa = arrow()
        self._path = path
        here = Path(path)
        if path == "-" or (here.exists() and not here.is_file() and not here.is_dir()):
            message = "a table is read from both ends, which a pipe does not have"
            file = "stdin" if path == "-" else path
            raise InputError(message, file=file, remedy="write it to a file, and name that")
        with naming_input(path):
            self._stream = open_bytes(path)
        try:
            self._open()
        except BaseException:
            self._stream.close()
            raise

    def _open(self) -> None:
        magic = self._stream.read(8)
        self._stream.seek(0)
        self._parquet = magic.startswith(b"PAR1")
        opened = self._pa.ipc.open_file if magic.startswith(b"ARROW1") else self._pa.ipc.open_stream
        with self._reading():
            if self._parquet:
                self._file = self._pa.parquet.ParquetFile(
                    self._stream,
                    buffer_size=_BUFFER,
                    pre_buffer=False,
                    page_checksum_verification=True,
                )
                schema = self._file.schema_arrow
            elif not magic:
                raise InputError("empty, not a Parquet or Arrow file", file=self._path)
            elif opened is self._pa.ipc.open_stream and is_packed(self._path):
                raise InputError("a compressed table", file=self._path, remedy="unpack it first")
            else:
                self._file = opened(self._stream)
                schema = self._file.schema
        self._types = dict(_leaves(self._pa, schema))
        self.names = [name for name, _ in _leaves(self._pa, schema)]
        if len(self._types) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InputError(f"two columns are called {twice!r}", file=self._path)

    def __enter__(self) -> ArrowTable:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._stream.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise the errors of pyarrow as an InputError."""
        try:
            yield
        except (self._pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = str(error).partition("\n")[0]
            message = f"cannot be read as Parquet or Arrow: {reason}"
            raise InputError(message, file=self._path) from error

    def check(self, names: Sequence[str]) -> None:
        """Raise InputError if a column is missing, or holds no texts or numbers."""
        for name in names:
            if name not in self._types:
                shown = ", ".join(self.names[:_SHOWN]) or "none"
                raise InputError(f"no column {name!r}: it has {shown}", file=self._path)
            if not _is_plain(self._pa, self._types[name]):
                kind = f"column {name!r} is of the type {self._types[name]}"
                raise InputError(f"{kind}, which is no text", file=self._path)

    def batches(self, names: Sequence[str]) -> Iterator[list[Any]]:
        """Yield the columns *names* of some rows at a time: an array of bytes or None each.

        Raises InputError where the file is damaged.
        """
        self.check(names)
        return self._columns(names, lambda column: _as_bytes(self._pa, column))

    def _columns(self, names: Sequence[str], read: Callable[[Any], Any]) -> Iterator[list[Any]]:
        """Yield the columns *names* of some rows at a time, *read* as they should be."""
        batches = self._batches(list(names))
        while True:
            with self._reading():
                batch = next(batches, None)
                if batch is None:
                    return
                columns = [read(_column(self._pa, batch, name)) for name in names]
            yield columns

    def texts(self, whole: Sequence[Any], others: Sequence[Any]) -> Iterator[Any] | None:
        """Return the rows of columns of :meth:`batches` as texts; a null is empty in *others*.

        None if there is a null in the *whole* columns, or bytes that are not UTF-8.
        """
        if any(column.null_count for column in whole):
            return None
        try:
            columns = [column.cast(self._pa.large_string()) for column in (*whole, *others)]
        except self._pa.ArrowInvalid:
            return None
        lists = (column.fill_null("").to_pylist() for column in columns)
        return zip(*lists, strict=True)

    def _batches(self, names: list[str]) -> Iterator[Any]:
        if self._parquet:
            yield from self._file.iter_batches(_BATCH, columns=names, use_threads=False)
            return
        count = getattr(self._file, "num_record_batches", None)
        found = iter(self._file) if count is None else map(self._file.get_batch, range(count))
        for batch in found:
            for start in range(0, batch.num_rows, _BATCH):
                yield batch.slice(start, _BATCH)

    @property
    def rows(self) -> int:
        """The number of rows of a Parquet file."""
        return int(self._file.metadata.num_rows)

    def fact(self, name: str) -> bytes | None:
        """Return a value of the metadata of a Parquet file by its name; None if there is none."""
        found = self._file.metadata.metadata if self._parquet else None
        value: bytes | None = (found or {}).get(name.encode())
        return value

    def numbers(self, kinds: Mapping[str, npt.DTypeLike]) -> Iterator[list[npt.NDArray[Any]]]:
        """Yield columns of numbers, of these *kinds* by name, some rows at a time.

        Raises InputError for a column that is missing, of another type or with nulls, and where
        the file is damaged.
        """
        for name, kind in kinds.items():
            found, wanted = self._types.get(name), self._pa.from_numpy_dtype(kind)
            if found != wanted:
                message = f"column {name!r} is {found or 'missing'}, expected {wanted}"
                raise InputError(message, file=self._path)
        for columns in self._columns(list(kinds), lambda column: column):
            if any(column.null_count for column in columns):
                raise InputError("a column of numbers has nulls", file=self._path)
            yield [numpy.from_dlpack(column) for column in columns]  # to_numpy imports pandas

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of a TSV with a header: all columns as text, empty for null.

        Raises InputError for a column that is no text, or a name with a tab or line break.
        """
        self.check(self.names)
        for name in self.names:
            if any(character in name for character in "\t\n\r\0"):
                raise InputError(f"the column {name!r} has no name for a TSV", file=self._path)
        yield "\t".join(self.names).encode() + b"\n"
        for columns in self.batches(self.names):
            with self._reading():
                rows = _joined(self._pa, columns)
            if _has_breaks(rows, len(columns) * len(columns[0])):
                texts = zip(*(column.to_pylist() for column in columns), strict=True)
                yield b"".join(map(_row, texts))
            else:
                yield rows


def _leaves(pa: Any, fields: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted name and the type of each field without fields of its own."""
    for field in fields:
        if pa.types.is_struct(field.type) and field.type.num_fields:
            yield from _leaves(pa, field.type, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", field.type


def _is_plain(pa: Any, kind: Any) -> bool:
    """Return whether values of this type can be written as text."""
    try:
        pa.array([], kind).cast(pa.string())
    except (pa.ArrowException, NotImplementedError):
        return False
    return True


def _column(pa: Any, batch: Any, name: str) -> Any:
    """Return the column *name* of a batch, or of a structure in it."""
    names = batch.schema.names
    if name in names:
        return batch.column(names.index(name))
    first, _, rest = name.partition(".")
    while first not in names:
        more, _, rest = rest.partition(".")
        first = f"{first}.{more}"
    array = batch.column(names.index(first))
    inner = pa.RecordBatch.from_arrays(
        [pa.compute.struct_field(array, [n]) for n in range(array.type.num_fields)],
        names=[field.name for field in array.type],
    )
    return _column(pa, inner, rest)


def _as_bytes(pa: Any, array: Any) -> Any:
    """Return an array of any plain type as one of bytes, checked to lie within its memory.

    A text need not be UTF-8.
    """
    types = {
        pa.string(): pa.binary(),
        pa.large_string(): pa.large_binary(),
        pa.string_view(): pa.binary_view(),
    }
    if array.type in types:
        array = array.view(types[array.type])
    array.validate(full=True)
    if not pa.types.is_binary(array.type) and array.type not in types.values():
        array = array.cast(pa.string())
    return array.cast(pa.large_binary())


def _joined(pa: Any, columns: Sequence[Any]) -> bytes:
    """Return rows of columns with a tab between each two, and a line end behind."""
    end = pa.scalar(b"", pa.large_binary())
    fill = {"null_handling": "replace", "null_replacement": ""}
    compute = pa.compute
    tab, line_end = pa.scalar(b"\t", pa.large_binary()), pa.scalar(b"\n", pa.large_binary())
    last = compute.binary_join_element_wise(columns[-1], end, line_end, **fill)
    rows = compute.binary_join_element_wise(*columns[:-1], last, tab, **fill)
    size = compute.sum(compute.binary_length(rows)).as_py()
    data: bytes = rows.buffers()[2].slice(0, size).to_pybytes()
    return data


def _has_breaks(rows: bytes, count: int) -> bool:
    """Return whether rows with *count* fields have more tabs or line ends, or end in ``\\r``."""
    low = numpy.count_nonzero(numpy.frombuffer(rows, numpy.uint8) <= ord("\r"))
    return low != count and (rows.count(b"\t") + rows.count(b"\n") != count or b"\r\n" in rows)


def _row(texts: Sequence[bytes | None]) -> bytes:
    """Return a row; one with a tab or line break in a text is marked as unfit in each column."""
    fields = [text or b"" for text in texts]
    if any(b"\t" in field or b"\n" in field for field in fields) or fields[-1].endswith(b"\r"):
        fields = [UNFIT + field.translate(SPACES) for field in fields]
    return b"\t".join(fields) + b"\n"


class _Lines(ReadStream):
    """The bytes of pieces, as a stream."""

    def __init__(self, table: ArrowTable) -> None:
        self._table = table
        self._pieces = table.pieces()
        self._rest = memoryview(b"")

    def next_bytes(self, most: int) -> memoryview:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._rest = memoryview(piece)
        taken, self._rest = self._rest[:most], self._rest[most:]
        return taken

    def close(self) -> None:
        self._table.__exit__()
        super().close()


def open_as_rows(path: str) -> BinaryIO:
    """Open a table as the bytes of a TSV with a header: a stream that is closed by its user.

    A null is an empty text. A row with a tab or line break in a text, or ``\\r`` at its end, is
    marked, so that it is a bad row to all readers of rows.
    """
    return cast(BinaryIO, io.BufferedReader(_Lines(ArrowTable(path)), 1 << 17))


class _Taken(io.RawIOBase):
    """Keeps the bytes that are written, until they are taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._size += len(self._parts[-1])
        return len(self._parts[-1])

    def tell(self) -> int:
        return self._size

    def take(self) -> bytes:
        """Return the bytes since the last time."""
        data = b"".join(self._parts)
        self._parts.clear()
        return data


def write_numbers(
    stream: BinaryIO,
    kinds: Mapping[str, npt.DTypeLike],
    groups: Iterable[Sequence[npt.NDArray[Any]]],
    facts: Mapping[str, bytes],
) -> None:
    """Write columns of numbers as Parquet: ascending integers, and others with few values.

    Args:
        stream: to write to.
        kinds: of the columns by name, the ascending one first.
        groups: the columns of each row group, at most GROUP_ROWS long.
        facts: of the metadata, by name.

    Raises DeviceError without pyarrow.
    """
    pa = arrow()
    fields = [pa.field(name, pa.from_numpy_dtype(kind), False) for name, kind in kinds.items()]
    schema = pa.schema(fields, metadata=dict(facts))
    first, *others = kinds
    forms = {"use_dictionary": others, "column_encoding": {first: "DELTA_BINARY_PACKED"}}
    common = {"compression": "zstd", "write_page_checksum": True}
    with pa.parquet.ParquetWriter(stream, schema, **common, **forms) as writer:
        for columns in groups:
            buffers = ([None, pa.py_buffer(column)] for column in columns)
            each = zip(schema.types, map(len, columns), buffers, strict=True)
            arrays = [pa.Array.from_buffers(*one) for one in each]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))


_Tree = dict[str, Any]
"""The places of columns by name, in trees for structures."""


class ArrowWriter:
    """Makes the bytes of a Parquet file, or of an Arrow stream, of rows."""

    def __init__(self, names: Sequence[str], numbers: Sequence[str], parquet: bool) -> None:
        """Take the *names* of the columns, dotted in structures, and of those of *numbers*.

        Raises ValueError with the name that is not possible beside the others.
        """
        self._pa = arrow()
        self._tree = _tree(names)
        self._types = [self._pa.float64() if n in numbers else self._pa.string() for n in names]
        self._columns: list[list[str | float | None]] = [[] for _ in names]
        self._count = 0
        self._held = 0
        self._begun = False
        """Whether the first bytes were given out."""
        self._sink = _Taken()
        self.schema = self._pa.schema(_fields(self._pa, self._tree, self._types))
        if parquet:
            self._writer = self._pa.parquet.ParquetWriter(
                self._sink, self.schema, compression="zstd", write_page_checksum=True
            )
        else:
            self._writer = self._pa.ipc.new_stream(self._sink, self.schema)

    def features(self) -> dict[str, Any]:
        """Return the columns as the datasets library describes them."""
        return _features(self._pa, self.schema)

    def add(self, row: Sequence[str | float | None], size: int) -> bytes:
        """Take a row that holds *size* bytes; return the bytes that are complete."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        self._count += 1
        self._held += size
        if self._count >= _GROUP or self._held >= WINDOW_BYTES:
            self._flush()
        elif self._begun:
            return b""
        self._begun = True
        return self._sink.take()

    def end(self) -> bytes:
        """Return the last bytes."""
        if self._count:
            self._flush()
        self._writer.close()
        return self._sink.take()

    def _flush(self) -> None:
        columns = [
            self._pa.array(column, kind)
            for column, kind in zip(self._columns, self._types, strict=True)
        ]
        arrays = [_nested(self._pa, place, columns) for place in self._tree.values()]
        self._writer.write_batch(self._pa.RecordBatch.from_arrays(arrays, schema=self.schema))
        for column in self._columns:
            column.clear()
        self._count = self._held = 0


def _tree(names: Sequence[str]) -> _Tree:
    made: _Tree = {}
    for place, name in enumerate(names):
        *path, last = name.split(".")
        inner: Any = made
        for part in path:
            inner = inner.setdefault(part, {}) if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or last in inner:
            raise ValueError(name)
        inner[last] = place
    return made


def _fields(pa: Any, tree: Mapping[str, Any], types: Sequence[Any]) -> list[Any]:
    return [
        pa.field(
            name,
            pa.struct(_fields(pa, inner, types)) if isinstance(inner, dict) else types[inner],
        )
        for name, inner in tree.items()
    ]


def _nested(pa: Any, place: Any, columns: Sequence[Any]) -> Any:
    if not isinstance(place, dict):
        return columns[place]
    arrays = [_nested(pa, inner, columns) for inner in place.values()]
    return pa.StructArray.from_arrays(arrays, names=list(place))


def _features(pa: Any, fields: Any) -> dict[str, Any]:
    return {
        field.name: _features(pa, field.type)
        if pa.types.is_struct(field.type)
        else {"dtype": "string" if field.type == pa.string() else "float64", "_type": "Value"}
        for field in fields
    }
