"""Thresholds and background samples in a model folder, whole or damaged."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toys import DIM, sentences, toy_model

from bitextfilter.arrays import Vectors
from bitextfilter.errors import ModelError, NotFoundError
from bitextfilter.io.rows import Row
from bitextfilter.io.spill import Scratch
from bitextfilter.models.folders import THRESHOLDS
from bitextfilter.scoring.background import BackgroundSample, InputBackground
from bitextfilter.scoring.measures import THRESHOLD_MEASURES
from bitextfilter.scoring.model import Model, load
from bitextfilter.scoring.thresholds import (
    Threshold,
    merge_thresholds,
    printable_line,
    read_thresholds,
    write_thresholds,
)
from bitextfilter.similarity.vectors import mean_similarity

ONE = Threshold(
    use="filtering",
    measure="mlp",
    threshold=0.25,
    goal="f1",
    precision=0.5,
    recall=1,
    f1=2 / 3,
    noise_share=0.3,
    rows=200,
    file="clean.tsv",
    command="bitext-evaluate filtering --suggest-threshold clean.tsv",
    model="0123456789ab",
    version="0.1.0",
)
MINED = replace(ONE, use="mining", measure="csls", threshold=-0.1, noise_share=None)


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    write_thresholds(tmp_path, [ONE, MINED])
    assert read_thresholds(tmp_path) == [ONE, MINED]


def test_a_folder_without_the_file_has_none(tmp_path: Path) -> None:
    assert read_thresholds(tmp_path) == []
    write_thresholds(tmp_path, [])
    assert read_thresholds(tmp_path) == []


PARTS = st.floats(0, 1)


@given(
    st.floats(allow_nan=False, allow_infinity=False), PARTS, st.sampled_from(THRESHOLD_MEASURES),
    st.text().map(printable_line), st.integers(min_value=1),
)  # fmt: skip
def test_any_threshold_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    threshold: float, part: float, measure: str, text: str, rows: int,
) -> None:  # fmt: skip
    made = replace(
        ONE, measure=measure, threshold=threshold, recall=part, rows=rows % 10**9 + 1, file=text
    )
    folder = tmp_path_factory.mktemp("any")
    write_thresholds(folder, [made])
    assert read_thresholds(folder) == [made]


def test_the_newer_of_two_is_kept_in_the_order_of_uses_and_measures() -> None:
    newer, other = replace(ONE, threshold=0.5), replace(ONE, goal="precision>=0.99")
    cosine = replace(ONE, measure="cosine")
    assert merge_thresholds([ONE, MINED, cosine], [other, newer]) == [cosine, newer, other, MINED]


def test_printable() -> None:
    assert printable_line("a\tb\nc\udcffé") == "a?b?c?é"
    assert printable_line("") == "?"


def record(**changes: Any) -> dict[str, Any]:
    return {"format": 1, "thresholds": [asdict(ONE), {**asdict(MINED), **changes}]}


def without(name: str) -> dict[str, Any]:
    whole = record()
    del whole["thresholds"][1][name]
    return whole


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "unreadable thresholds"),
        ('{"format": 1, "thresholds": [', "unreadable thresholds"),
        (b"\xff", "unreadable thresholds"),
        ("[" * 100_000, "unreadable thresholds"),
        ("[]", "not a file of thresholds"),
        ({}, "not a file of thresholds"),
        ({"format": 1}, "not a file of thresholds"),
        ({"format": True, "thresholds": []}, "not a file of thresholds"),
        ({"format": 1, "thresholds": {}}, "not a file of thresholds"),
        ({"format": 2, "thresholds": []}, "format 2 is newer than 1"),
        ({"format": 1, "thresholds": [3]}, "threshold 1: not an object"),
        (record(use="aligning"), "threshold 2: use 'aligning' is none of filtering, mining"),
        (record(use=["mining"]), "threshold 2: use ['mining'] is none of"),
        (record(measure="bleu"), "threshold 2: measure 'bleu' is none of cosine"),
        (record(threshold="0.5"), "threshold 2: threshold '0.5' is no number"),
        (record(threshold=True), "threshold 2: threshold True is no number"),
        (record(threshold=float("nan")), "threshold 2: threshold nan is no number"),
        (record(threshold=float("inf")), "threshold 2: threshold inf is no number"),
        (record(threshold=10**400), "threshold 2: threshold 1000"),
        (record(precision=1.01), "threshold 2: precision 1.01 is no number from 0 to 1"),
        (record(f1=None), "threshold 2: f1 None is no number from 0 to 1"),
        (record(noise_share=0.5), "threshold 2: noise_share is not of mining"),
        (record(use="filtering"), "threshold 2: noise_share None is no number from 0 to 1"),
        (record(rows=0), "threshold 2: rows 0 is no number of rows"),
        (record(rows=2.5), "threshold 2: rows 2.5 is no number of rows"),
        (record(file=""), "threshold 2: file '' is no line of text"),
        (record(command="a\nb"), "threshold 2: command 'a\\nb' is no line of text"),
        (record(model=7), "threshold 2: model 7 is no line of text"),
        (record(languages="en"), "threshold 2: languages 'en' are not two"),
        (record(colour="red"), "threshold 2: 'colour' is unknown"),
        (without("goal"), "threshold 2: goal is missing"),
        (record(**asdict(ONE)), "threshold 2: filtering mlp f1 stands twice"),
    ],
)
def test_damage_is_named(tmp_path: Path, content: Any, message: str) -> None:
    text = json.dumps(content) if isinstance(content, dict) else content
    path = tmp_path / THRESHOLDS
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ModelError) as raised:
        read_thresholds(tmp_path)
    (line,) = str(raised.value).splitlines()
    assert line.startswith(f"{path}: {message}")


def test_a_folder_in_its_place_is_damage(tmp_path: Path) -> None:
    (tmp_path / THRESHOLDS).mkdir()
    with pytest.raises(ModelError, match="unreadable thresholds"):
        read_thresholds(tmp_path)


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
