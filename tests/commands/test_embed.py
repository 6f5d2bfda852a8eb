"""bitext-embed: row i for line i, whole or not at all."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from console import invoke
from toys import DIM, sentences

from bitextfilter.scoring.model import Model, load

SOURCES, TARGETS = sentences(30, 7)
TEXT = "".join(f"{line}\n" for line in SOURCES).encode()


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return load(folder)


def call(folder: Path, *words: object, data: bytes = TEXT) -> Result:
    return invoke("bitext-embed", *words, "--model", folder, data=data)


@pytest.mark.parametrize("batch", ["1", "7", "1000"])
def test_row_i_is_the_vector_of_line_i(
    folder: Path, model: Model, tmp_path: Path, batch: str
) -> None:
    path = tmp_path / "out.npy"
    result = call(folder, "--language", "aa", "-o", path, "--batch-size", batch)
    assert (result.exit_code, result.stdout_bytes) == (0, b"")
    vectors = np.load(path, allow_pickle=False)
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, model.encode(SOURCES, "aa"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.npy"]
    assert result.stderr.startswith("bitext-embed: 30 rows, 0 rejected, ")


def test_half_the_bytes(folder: Path, model: Model, tmp_path: Path) -> None:
    path = tmp_path / "out.npy"
    call(folder, "--language", "aa", "-o", path, "--dtype", "float16")
    expected = model.encode(SOURCES, "aa").astype(np.float16)
    np.testing.assert_array_equal(np.load(path), expected, strict=True)


def test_a_column_of_a_tsv_to_standard_output(folder: Path, model: Model) -> None:
    rows = zip(SOURCES, TARGETS, strict=True)
    data = b"x\ty\r\n" + "".join(f"{s}\t{t}\r\n" for s, t in rows).encode()
    words = ("--language", "ba", "--header", "-o", "-", "--column")
    by_name = call(folder, *words, "y", data=data)
    by_number = call(folder, *words, "-1", data=data)
    assert by_name.stdout_bytes == by_number.stdout_bytes
    vectors = np.load(io.BytesIO(by_name.stdout_bytes))
    np.testing.assert_array_equal(vectors, model.encode(TARGETS, "ba"))


def test_an_empty_input_is_an_empty_array(folder: Path, tmp_path: Path) -> None:
    call(folder, "--language", "aa", "-o", tmp_path / "out.npy", data=b"")
    assert np.load(tmp_path / "out.npy").shape == (0, DIM)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_rejected_line_is_no_vector(
    folder: Path, model: Model, tmp_path: Path, dtype: str
) -> None:
    path, rejects = tmp_path / "out.npy", tmp_path / "bad.tsv"
    words = ("--language", "aa", "-o", path, "--dtype", dtype, "--on-error", "reject")
    result = call(folder, *words, "--rejects", rejects, data=b"a1\n\na2\na3\0\n")
    vectors = np.load(path)
    assert np.isnan(vectors).all(axis=1).tolist() == [False, True, False, True]
    np.testing.assert_array_equal(vectors[::2], model.encode(["a1", "a2"], "aa").astype(dtype))
    assert rejects.read_bytes() == b"2\tthe line is empty\t\n4\tNUL byte in the line\ta3\0\n"
    assert "4 rows, 2 rejected, " in result.stderr


def test_the_manifest_says_what_the_array_is(folder: Path, model: Model, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    call(folder, "--language", "aa", "-o", tmp_path / "out.npy", "--manifest", path)
    manifest = json.loads(path.read_bytes())
    assert manifest["counts"] == {"rows": 30, "rejected": 0}
    assert manifest["facts"]["digest"] == model.digest
    assert manifest["facts"]["language"] == "aa"


def test_to_a_url(folder: Path, model: Model, tmp_path: Path) -> None:
    call(folder, "--language", "aa", "-o", f"file://{tmp_path}/out.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), model.encode(SOURCES, "aa"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.npy"]
