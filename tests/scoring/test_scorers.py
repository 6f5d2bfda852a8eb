"""Every measure of a window of pairs: right, and the same in any company."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toys import score_table, sentences, toy_model, toy_words_model

from bitextfilter.errors import SettingsError
from bitextfilter.scoring import model as scorers
from bitextfilter.scoring.background import BackgroundSample
from bitextfilter.scoring.measures import MEASURES
from bitextfilter.scoring.model import Model, distinct, load
from bitextfilter.similarity.vectors import cosine_pairs, euclidean_pairs

SOURCES, TARGETS = sentences(600, 5)
TARGETS = [*TARGETS[:300], *TARGETS[301:], TARGETS[300]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return load(toy_model(tmp_path_factory.mktemp("models") / "toy"))


def test_each_measure_is_what_it_says(model: Model) -> None:
    a, b = model.encode(SOURCES, "aa"), model.encode(TARGETS, "ba")
    assert model.background is not None
    assert model.classifier is not None
    cosines = cosine_pairs(a, b)
    means = model.background.source_means(a) + model.background.target_means(b)
    expected = {
        "cosine": cosines,
        "euclidean": euclidean_pairs(a, b),
        "csls": 2 * cosines - means,
        "ratio": cosines / (means / 2),
        "distance": cosines - means / 2,
        "mlp": model.classifier.probabilities(a, b),
    }
    scores = score_table(model, SOURCES, TARGETS, list(MEASURES))
    assert scores.dtype == np.float32
    for name, column in zip(MEASURES, scores.T, strict=True):
        np.testing.assert_allclose(column, expected[name], rtol=1e-4, atol=1e-6)


def test_ranges_are_as_said(model: Model) -> None:
    scores = score_table(model, SOURCES, TARGETS, list(MEASURES))
    for name, column in zip(MEASURES, scores.T, strict=True):
        low, high = (float(bound) for bound in MEASURES[name].range.split(" to "))
        assert (column >= low).all()
        assert (column <= high).all()


@pytest.fixture(scope="module")
def words_model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return load(toy_words_model(tmp_path_factory.mktemp("models") / "words"))


@pytest.mark.parametrize("threads", [1, 2])
def test_words_do_not_depend_on_their_company(words_model: Model, threads: int) -> None:
    whole = score_table(words_model, SOURCES, TARGETS, ["mlp"])
    assert np.ptp(whole) > 0.001
    other = replace(words_model, threads=threads)
    order = np.random.default_rng(3).permutation(600)
    mixed = score_table(other, [SOURCES[i] for i in order], [TARGETS[i] for i in order], ["mlp"])
    assert np.array_equal(mixed, whole[order])
    for row in range(0, 600, 97):
        alone = score_table(other, SOURCES[row : row + 1], TARGETS[row : row + 1], ["mlp"])
        assert np.array_equal(alone, whole[row : row + 1])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_pair_does_not_depend_on_its_company(model: Model, threads: int) -> None:
    names = list(MEASURES)
    whole = score_table(model, SOURCES, TARGETS, names)
    model = replace(model, threads=threads)
    order = np.random.default_rng(3).permutation(600)
    for size in (1, 7, 512, 600):
        for first in range(0, 600 if size > 1 else 40, size):
            rows = order[first : first + size]
            part = score_table(model, [SOURCES[i] for i in rows], [TARGETS[i] for i in rows], names)
            assert np.array_equal(part, whole[rows])
    twice = [i for i in range(30) for _ in range(3)]
    part = score_table(model, [SOURCES[i] for i in twice], [TARGETS[i] for i in twice], names)
    assert np.array_equal(part, whole[twice])


@pytest.mark.parametrize("threads", [0, 1, 2, 3])
def test_parts_come_in_their_order(
    model: Model, words_model: Model, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for some in (model, words_model):
        measures = ["mlp", "cosine"]
        whole = score_table(some, SOURCES[:530], TARGETS[:530], measures)
        assert np.ptp(whole, axis=0).min() > 0.01
        monkeypatch.setattr(scorers, "_FEWEST", 50)
        monkeypatch.setattr(some.encoder, "most", 100)
        parts = score_table(replace(some, threads=threads), SOURCES[:530], TARGETS[:530], measures)
        assert np.array_equal(parts, whole)


def test_parts_are_of_one_size_and_busy_every_thread() -> None:
    def sizes(threads: int, *pairs: int) -> list[int]:
        return [scorers._part_size(number, threads, 8192) for number in pairs]

    assert sizes(1, 0, 5, 8192, 8193) == [1, 5, 8192, 4097]
    assert sizes(2, 12288, 20000, 2047, 2048) == [6144, 5000, 2047, 1024]


def test_a_pair_that_comes_again_is_scored_once(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    score = Model._score_part

    def counted(model: Model, pairs: Sequence[tuple[str, str]], *rest: Any) -> np.ndarray:
        sizes.append(len(pairs))
        return score(model, pairs, *rest)

    monkeypatch.setattr(Model, "_score_part", counted)
    order = [0, 1, 0, 0, 2, 1]
    pairs = [SOURCES[i] for i in order], [TARGETS[i] for i in order]
    scores = score_table(model, *pairs, ["cosine"])
    assert sizes == [3]
    assert np.array_equal(scores, score_table(model, SOURCES, TARGETS, ["cosine"])[order])


def test_other_neighbours_change_the_margins_alone(model: Model) -> None:
    a, b = model.encode(SOURCES[:50], "aa"), model.encode(TARGETS[:50], "ba")
    names = list(MEASURES)
    own = score_table(model, SOURCES, TARGETS, names)
    other = score_table(model, SOURCES, TARGETS, names, BackgroundSample(a, b, 3))
    for name, one, two in zip(names, own.T, other.T, strict=True):
        assert np.array_equal(one, two) == (MEASURES[name].needs != "neighbours")


def test_translations_score_higher(model: Model) -> None:
    names = [name for name in MEASURES if name != "mlp"]  # the toy's classifier is untrained
    scores = score_table(model, SOURCES, TARGETS, names)
    assert (scores[:300].min(axis=0) > scores[300:].max(axis=0)).all()


def test_distinct() -> None:
    found, rows = distinct(["b", "a", "b", "", "a"])
    assert found == ["b", "a", ""]
    assert rows.tolist() == [0, 1, 0, 2, 1]


def test_no_pairs(model: Model) -> None:
    assert score_table(model, [], [], list(MEASURES)).shape == (0, len(MEASURES))
    with pytest.raises(ValueError, match="2 source and 1 target"):
        score_table(model, ["a1", "a2"], ["b1"], ["cosine"])


def test_what_a_model_lacks(model: Model) -> None:
    with pytest.raises(SettingsError, match="'cos' is none of cosine, euclidean"):
        model.check(["cosine", "cos"])
    bare = replace(model, classifier=None, background=None)
    with pytest.raises(SettingsError, match="bitext-train-classifier"):
        score_table(bare, ["a1"], ["b1"], ["mlp"])
    with pytest.raises(SettingsError, match="--neighbours"):
        score_table(bare, ["a1"], ["b1"], ["ratio"])
    bare.check(["cosine", "euclidean"])


def test_the_default_measure(model: Model, tmp_path: Path) -> None:
    assert model.default_measure == "mlp"
    assert list(model.score(["a1"], ["b1"])) == ["mlp"]
    bare = load(toy_model(tmp_path / "bare", classifier=False, background=False))
    assert list(bare.score(["a1"], ["b1"])) == ["cosine"]
    both = model.score(["a1", "a2"], ["b1", "b2"], ["csls", "cosine"])
    assert {name: scores.shape for name, scores in both.items()} == {"csls": (2,), "cosine": (2,)}


def test_a_sample_holds_each_distinct_sentence_once(model: Model) -> None:
    sample = model.sample(["a1", "a2", "a1"], ["b1"], 3)
    assert (sample.source.shape, sample.target.shape, sample.k) == ((2, 32), (1, 32), 3)
