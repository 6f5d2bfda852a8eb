"""Arrays that are written row by row: the bytes of numpy.save, wherever they go."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.io.files import open_output
from bitextfilter.io.vectors import ArrayWriter

GENERATOR = np.random.default_rng(3)


def expected(rows: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, rows)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["<f4", "<f2"])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (9, 512), (4000, 300)])
def test_bytes_are_those_of_numpy(tmp_path: Path, shape: tuple[int, int], kind: str) -> None:
    rows = GENERATOR.standard_normal(shape).astype(kind)
    paths = [tmp_path / "plain.npy", tmp_path / "packed.npy.gz"]
    pipe = io.BytesIO()
    pipe.seekable = lambda: False  # type: ignore[method-assign]
    with open_output(paths[0]) as plain, open_output(paths[1]) as packed:
        for output in (plain, packed, pipe):
            with ArrayWriter(output, tmp_path) as array:
                for part in np.array_split(rows, 3):
                    array.rows.write(part.tobytes())
                array.finish(shape, rows.dtype)
    found = [paths[0].read_bytes(), gzip.decompress(paths[1].read_bytes()), pipe.getvalue()]
    assert found == [expected(rows)] * 3
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_a_packed_output_cannot_be_sought(tmp_path: Path) -> None:
    with open_output(tmp_path / "x.gz") as output:
        assert not output.seekable()
        with pytest.raises(io.UnsupportedOperation, match=r"x\.gz is written from its start"):
            output.seek(0)
