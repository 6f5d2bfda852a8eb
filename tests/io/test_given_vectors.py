"""Files of given vectors: every good form is read right, every other one refused in one line."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.errors import BitextError, InputError, NotFoundError
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import BadRow, Columns, Row
from bitextfilter.io.vectors import GivenRows, GivenVectors, open_sides

ROWS = np.random.default_rng(5).standard_normal((10_000, 6)).astype(np.float32)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("kind", ["<f2", "<f4", ">f4", "<f8"])
def test_arrays_of_numpy(tmp_path: Path, kind: str, order: str) -> None:
    array = np.asarray(ROWS.astype(kind), order=order)  # type: ignore[call-overload]
    np.save(tmp_path / "v.npy", array)
    found = GivenVectors(str(tmp_path / "v.npy"))
    assert (len(found), found.dim) == ROWS.shape
    assert found[:].dtype == np.float32
    assert (found[:] == array.astype(np.float32)).all()
    places = np.array([9_999, 3, 3, 4_096])
    assert (found[places] == array[places].astype(np.float32)).all()


def test_plain_numbers(tmp_path: Path) -> None:
    path = tmp_path / "laser.bin"
    ROWS.astype("<f4").tofile(path)
    assert (GivenVectors(str(path), 6)[:] == ROWS).all()
    assert (GivenVectors(str(path), 12)[:] == ROWS.reshape(-1, 12)).all()


def test_no_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", ROWS[:0])
    (tmp_path / "v.bin").write_bytes(b"")
    for found in (GivenVectors(str(tmp_path / "v.npy")), GivenVectors(str(tmp_path / "v.bin"), 6)):
        assert (len(found), found.dim) == (0, 6)


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def npz() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, ROWS[:3])
    return stream.getvalue()


WHOLE = npy(ROWS[:7])
OBJECTS = npy(np.array([[{"a": 1}, 2.0]], dtype=object))


@pytest.mark.parametrize(
    ("name", "content", "dim", "message"),
    [
        ("v.npy", OBJECTS, None, "of object"),
        ("v.npy", npy(ROWS[0]), None, "an array 6 of float32"),
        ("v.npy", npy(np.float32(1)), None, "an array one number of"),
        ("v.npy", npy(ROWS[:2].reshape(2, 3, 2)), None, "2x3x2"),
        ("v.npy", npy(ROWS[:2, :0]), None, "2x0"),
        ("v.npy", npy(np.arange(6).reshape(2, 3)), None, "of int64"),
        ("v.npy", npy(np.array([["a", "b"]])), None, "of <U1"),
        ("v.npy", WHOLE[:-1], None, "damaged"),
        ("v.npy", WHOLE + WHOLE, None, "damaged"),
        ("v.npy", WHOLE[:40], None, "not an array of NumPy"),
        ("v.npy", b"", None, "not an array of NumPy"),
        ("v.npy", npz(), None, "not an array of NumPy"),
        ("v.npy", b"\x93NUMPY\x09\x00" + WHOLE[8:], None, "not an array of NumPy"),
        ("v.npy", WHOLE.replace(b"(7, 6)", b"(-7,6)"), None, "array of NumPy|damaged|not n vec"),
        ("v.npy", WHOLE, 7, "vectors of 6 numbers, not of --dim 7"),
        ("v.bin", WHOLE, 6, "a name that ends with .npy"),
        ("v.npz", npz(), 6, "take the .npy out"),
        ("v.npy.gz", b"\x1f\x8b" + bytes(46), 6, "unpack it"),
        ("v.bin", bytes(48), None, "--dim"),
        ("v.bin", bytes(50), 6, "50 bytes are no whole vectors of 6"),
    ],
)
def test_other_files(
    tmp_path: Path, name: str, content: bytes, dim: int | None, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        GivenVectors(str(path), dim)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        GivenVectors(str(tmp_path / "none.npy"))
    with pytest.raises(BitextError, match="not a plain file"):
        GivenVectors(str(tmp_path))


def test_sides_of_other_widths(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", ROWS)
    np.save(tmp_path / "b.npy", ROWS[:, :5])
    with pytest.raises(InputError, match=r"vectors of 5 numbers, those of .*a\.npy have 6"):
        open_sides([str(tmp_path / "a.npy"), str(tmp_path / "b.npy")])


def rows_of(
    tmp_path: Path, text: bytes, vectors: np.ndarray, whole: bool = True, header: bool = False
) -> tuple[GivenRows, list[Row | BadRow]]:
    np.save(tmp_path / "v.npy", vectors)
    reader = RowReader(io.BytesIO(text), "text.tsv", Columns(), header)
    rows = GivenRows(reader, [GivenVectors(str(tmp_path / "v.npy"))], whole)
    return rows, list(rows)


@pytest.mark.parametrize("header", [False, True])
def test_rows_and_places(tmp_path: Path, header: bool) -> None:
    vectors = ROWS[:5].astype(np.float64)
    vectors[1], vectors[3, 2], vectors[4, 0] = np.nan, np.inf, 1e300
    text = b"source\ttarget\n" * header + b"".join(b"s\tt\n" for _ in range(5))
    given, rows = rows_of(tmp_path, text, vectors, header=header)
    assert [type(row) for row in rows] == [Row, BadRow, Row, BadRow, BadRow]
    reasons = [row.reason for row in rows if isinstance(row, BadRow)]
    assert [reason.split(" of ")[0] for reason in reasons] == ["row 2", "row 4", "row 5"]
    good = [row for row in rows if isinstance(row, Row)]
    assert given.places(good).tolist() == [0, 2]


@pytest.mark.parametrize("count", [0, 3, 5, 9])
def test_other_numbers_of_rows(tmp_path: Path, count: int) -> None:
    with pytest.raises(InputError, match=rf"v.npy: 4 vectors, and text.tsv has {count} rows"):
        rows_of(tmp_path, b"s\tt\n" * count, ROWS[:4])


def test_part_of_the_rows(tmp_path: Path) -> None:
    assert len(rows_of(tmp_path, b"s\tt\n" * 3, ROWS[:4], whole=False)[1]) == 3
    with pytest.raises(InputError, match="has at least 6 rows"):
        rows_of(tmp_path, b"s\tt\n" * 6, ROWS[:4], whole=False)
