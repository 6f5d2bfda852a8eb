"""Background samples: their means, their file whole or damaged, and those of an input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from toys import DIM, sentences, toy_model

from bitextfilter.arrays import Vectors
from bitextfilter.errors import ModelError, NotFoundError
from bitextfilter.io.rows import Row
from bitextfilter.io.spill import Scratch
from bitextfilter.scoring.background import BackgroundSample, InputBackground
from bitextfilter.scoring.model import Model, load
from bitextfilter.similarity.vectors import mean_similarity

GENERATOR = np.random.default_rng(0)
SOURCE = GENERATOR.standard_normal((30, 12)).astype(np.float32)
TARGET = GENERATOR.standard_normal((20, 12)).astype(np.float32)
QUERIES = GENERATOR.standard_normal((9, 12)).astype(np.float32)


def test_each_side_is_held_against_the_other_sides_sample() -> None:
    background = BackgroundSample(SOURCE, TARGET, 4)
    assert np.array_equal(background.source_means(QUERIES), mean_similarity(QUERIES, TARGET, 4))
    assert np.array_equal(background.target_means(QUERIES), mean_similarity(QUERIES, SOURCE, 4))
    assert not np.array_equal(background.source_means(QUERIES), background.target_means(QUERIES))


def test_a_mean_does_not_depend_on_its_company() -> None:
    background = BackgroundSample(SOURCE, TARGET, 4)
    whole = background.source_means(QUERIES, threads=2)
    for row in range(9):
        assert background.source_means(QUERIES[row : row + 1])[0] == whole[row]


def test_the_file_keeps_directions_and_k(tmp_path: Path) -> None:
    path = tmp_path / "neighbours.npz"
    background = BackgroundSample(SOURCE * 7, TARGET, 4)
    background.save(path)
    again = BackgroundSample.load(path, 12)
    assert (again.k, again.dim) == (4, 12)
    np.testing.assert_allclose(again.source, background.source, atol=0.005)
    np.testing.assert_allclose(
        again.target_means(QUERIES), background.target_means(QUERIES), atol=0.005
    )
    again.save(path)
    assert np.array_equal(BackgroundSample.load(path).source, again.source)


def test_sides_have_one_width() -> None:
    with pytest.raises(ValueError, match="widths 12 and 5"):
        BackgroundSample(SOURCE, TARGET[:, :5])


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "neighbours.npz"
    with pytest.raises(NotFoundError, match="no such file"):
        BackgroundSample.load(path)
    BackgroundSample(SOURCE, TARGET).save(path)
    with pytest.raises(ModelError, match="width 12, the model's are 512"):
        BackgroundSample.load(path, 512)
    whole = path.read_bytes()
    for damage in (b"", b"PK", whole[:200], whole[:-30], b"text\n" * 50):
        path.write_bytes(damage)
        with pytest.raises(ModelError, match="damaged"):
            BackgroundSample.load(path)
    path.write_bytes(whole[:120] + bytes(40) + whole[160:])
    with pytest.raises(ModelError):
        BackgroundSample.load(path)


def test_files_with_something_else(tmp_path: Path) -> None:
    path = tmp_path / "neighbours.npz"
    rows = np.ones((3, 4), np.int8)
    for arrays in (
        {"source": rows.astype(np.float32), "target": rows, "k": 3},
        {"source": rows[0], "target": rows, "k": 3},
        {"source": rows[:0], "target": rows, "k": 3},
        {"source": rows, "target": rows[:, :2], "k": 3},
        {"source": rows, "target": rows, "k": 0},
        {"source": rows, "k": 3},
        {"source": rows, "target": rows, "k": [1, 2]},
        {"source": np.array([{}], dtype=object), "target": rows, "k": 3},
    ):
        np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
        with pytest.raises(ModelError):
            BackgroundSample.load(path)


def test_the_digest_is_that_of_all_that_decides_a_margin() -> None:
    one = BackgroundSample(SOURCE, TARGET, 4)
    others = [
        BackgroundSample(TARGET, SOURCE, 4),
        BackgroundSample(SOURCE, TARGET, 5),
        BackgroundSample(SOURCE[:-1], TARGET, 4),
        BackgroundSample(SOURCE, TARGET[::-1], 4),
        BackgroundSample(np.zeros((0, 12), np.float32), TARGET, 4),
    ]
    assert len({background.digest() for background in [one, *others]}) == 6
    assert one.digest() == BackgroundSample(2 * SOURCE, TARGET, 4).digest()


SOURCES, TARGETS = sentences(50, 11)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return load(toy_model(tmp_path_factory.mktemp("models") / "toy"))


def spooled(model: Model, *windows: list[tuple[str, str]], k: int = 10) -> BackgroundSample:
    def vectors(rows: list[Row], side: int) -> Vectors:
        return model.encode_side([row.texts[side] for row in rows], side)

    with Scratch() as source, Scratch() as target:
        collected = InputBackground(vectors, model.encoder.dim, (source, target))
        for window in windows:
            collected.add([Row(1, b"", b"", pair) for pair in window])
        return collected.sample(k)


@pytest.mark.parametrize("k", [1, 10, 100])
def test_it_is_a_background_sample_of_the_distinct_sentences(model: Model, k: int) -> None:
    again = [*SOURCES[10:30], *SOURCES[:20]], [*TARGETS[5:25], *TARGETS[30:]]
    first, second = (
        list(zip(*some, strict=True)) for some in ((SOURCES[:20], TARGETS[:20]), again)
    )
    made = spooled(model, first, second, k=k)
    plain = model.sample(SOURCES[:30], [*TARGETS[:25], *TARGETS[30:]], k)
    np.testing.assert_array_equal(made.source, plain.source)
    np.testing.assert_array_equal(made.target, plain.target)
    assert not made.source.flags.writeable, "it stays in its file"
    vectors = model.encode(SOURCES, "aa")
    np.testing.assert_array_equal(made.source_means(vectors), plain.source_means(vectors))
    np.testing.assert_array_equal(made.target_means(vectors), plain.target_means(vectors))


def test_nothing_has_no_neighbours(model: Model) -> None:
    made = spooled(model, [])
    assert made.source.shape == (0, DIM)
    assert made.source_means(model.encode(SOURCES, "aa")).tolist() == [0.0] * 50
