"""The background sample of an input: the same as that of its distinct sentences."""

from __future__ import annotations

import numpy as np
import pytest
from toys import DIM, sentences, toy_model

from bitextfilter.arrays import Vectors
from bitextfilter.io.rows import Row
from bitextfilter.io.spill import Scratch
from bitextfilter.scoring.background import BackgroundSample, InputBackground
from bitextfilter.scoring.model import Model, load

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
