"""Every measure of a window of pairs: right, and the same in any company; rows that wait."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toys import score_table, sentences, toy_model, toy_words_model
from translators import CASES, network, processor

from bitextfilter.arrays import Floats
from bitextfilter.errors import SettingsError
from bitextfilter.io.row_reader import RowReader, row_windows
from bitextfilter.pairs.evidence import EVIDENCE, PairEvidence
from bitextfilter.scoring import model as scorers
from bitextfilter.scoring import model_scorers as module
from bitextfilter.scoring.background import BackgroundSample
from bitextfilter.scoring.calibration import CURVES
from bitextfilter.scoring.command_scores import WaitingRows
from bitextfilter.scoring.measures import MEASURES, TRANSLATION_MEASURES
from bitextfilter.scoring.model import Model, distinct, load
from bitextfilter.scoring.model_scorers import ModelScorers, SentenceScores, check_scorers
from bitextfilter.similarity.vectors import cosine_pairs, euclidean_pairs
from bitextfilter.translation.translator import Translator

SOURCES, TARGETS = sentences(600, 5)
TARGETS = [*TARGETS[:300], *TARGETS[301:], TARGETS[300]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return load(toy_model(tmp_path_factory.mktemp("models") / "toy", calibrated=True))


def test_each_measure_is_what_it_says(model: Model) -> None:
    a, b = model.encode(SOURCES, "aa"), model.encode(TARGETS, "ba")
    assert model.background is not None
    assert model.classifier is not None
    assert model.calibration is not None
    cosines = cosine_pairs(a, b)
    means = model.background.source_means(a) + model.background.target_means(b)
    expected = {
        "cosine": cosines,
        "euclidean": euclidean_pairs(a, b),
        "csls": 2 * cosines - means,
        "ratio": cosines / (means / 2),
        "distance": cosines - means / 2,
        "mlp": (mlp := model.classifier.probabilities(a, b)),
    }
    places = np.arange(len(SOURCES))
    evidence = PairEvidence(("aa", "ba"), None)(SOURCES, TARGETS, places, places)
    numbers = dict(zip(EVIDENCE, evidence.T, strict=True)) | {"cosine": cosines}
    numbers["classifier"] = np.log(mlp / (1 - mlp))
    logits = model.calibration.intercept
    for name, read in CURVES.items():
        curve = model.calibration.curves[name]
        logits = logits + sum(np.interp(numbers[each], curve.at, curve.logits) for each in read)
    expected["probability"] = 1 / (1 + np.exp(-logits))
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
    untrained = ("mlp", "probability")  # of the toy's classifier
    names = [name for name in MEASURES if name not in untrained]
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
    with pytest.raises(SettingsError, match="bitext-models calibrate"):
        score_table(replace(model, calibration=None), ["a1"], ["b1"], ["probability"])
    bare.check(["cosine", "euclidean"])


def test_the_default_measure(model: Model, words_model: Model, tmp_path: Path) -> None:
    assert model.default_measure == "probability"
    assert list(model.score(["a1"], ["b1"])) == ["probability"]
    assert list(words_model.score(["a1"], ["b1"])) == ["mlp"]
    bare = load(toy_model(tmp_path / "bare", classifier=False, background=False))
    assert list(bare.score(["a1"], ["b1"])) == ["cosine"]
    both = model.score(["a1", "a2"], ["b1", "b2"], ["csls", "cosine"])
    assert {name: scores.shape for name, scores in both.items()} == {"csls": (2,), "cosine": (2,)}


def test_a_sample_holds_each_distinct_sentence_once(model: Model) -> None:
    sample = model.sample(["a1", "a2", "a1"], ["b1"], 3)
    assert (sample.source.shape, sample.target.shape, sample.k) == ((2, 32), (1, 32), 3)


RANDOM = np.random.default_rng(3)
LINES, TRANSLATIONS = (
    [" ".join(f"{letter}{n}" for n in RANDOM.integers(0, 20, RANDOM.integers(1, 12)))
     for _ in range(40)]
    for letter in "ab"
)  # fmt: skip
WEIGHTS = (0.5, 0.2, 0.1, 0.7)


def translator(letters: str, case: int, threads: int = 1) -> Translator:
    text, (name, shape) = processor(letters=letters), CASES[case]
    return Translator(text, network(name, shape, len(text.vocabulary), case), threads=threads)


def fluency(scale: float) -> module.Fluency:
    def score(sentences: Sequence[str]) -> Floats:
        return np.array([-scale * len(sentence.split()) for sentence in sentences])

    return score


def model_scorers(threads: int = 1) -> ModelScorers:
    ways = translator("ab", 0, threads), translator("ba", 2, threads)
    return ModelScorers(*ways, (fluency(0.1), fluency(0.01)), WEIGHTS)


def scored(
    given: ModelScorers, sources: Sequence[str], targets: Sequence[str], names: Sequence[str]
) -> np.ndarray:
    found = given.score(sources, targets, names)
    return np.stack([found[name] for name in names], axis=1)


def naive(source: str, target: str) -> dict[str, float]:
    forward = float(translator("ab", 0).log_probabilities([source], [target])[0])
    backward = float(translator("ba", 2).log_probabilities([target], [source])[0])
    left, right = -0.1 * len(source.split()), -0.01 * len(target.split())
    away = abs(-forward - -backward)
    return {
        "translation": (forward + backward) / 2,
        "dual": math.exp(-(away + 0.5 * (-forward + -backward))),
        "language-model": (left + right) / 2,
        "log-linear": 0.5 * forward + 0.2 * backward + 0.1 * left + 0.7 * right,
    }


def test_each_measure_is_what_it_says_whatever_the_company() -> None:
    names = list(TRANSLATION_MEASURES)
    rows = [*range(40), 3, 3, 7]
    sources, targets = [LINES[i] for i in rows], [TRANSLATIONS[i] for i in rows]
    scores = scored(model_scorers(), sources, targets, names)
    assert not model_scorers().score(sources, targets, ["overlong"])["overlong"].any()
    assert scores.shape == (43, 4) and scores.dtype == np.float32
    for place in (0, 11, 39, 41, 42):
        expected = naive(sources[place], targets[place])
        for name, score in zip(names, scores[place].tolist(), strict=True):
            assert score == pytest.approx(expected[name], rel=1e-6), name
    order = np.random.default_rng(1).permutation(43)
    mixed = scored(
        model_scorers(threads=2), [sources[i] for i in order], [targets[i] for i in order], names
    )
    assert np.array_equal(mixed, scores[order])
    alone = scored(model_scorers(), sources[5:6], targets[5:6], names[::-1])
    assert np.array_equal(alone[:, ::-1], scores[5:6])


def test_one_direction_is_enough_for_translation() -> None:
    forward, backward = (
        scored(given, LINES, TRANSLATIONS, ["translation"])
        for given in (ModelScorers(translator("ab", 0)), ModelScorers(backward=translator("ba", 2)))
    )
    both = scored(model_scorers(), LINES, TRANSLATIONS, ["translation"])
    np.testing.assert_allclose((forward + backward) / 2, both, rtol=1e-6)


def test_one_language_model_is_enough() -> None:
    given = ModelScorers(fluency=(None, fluency(2.0)))
    scores = scored(given, ["a1"], ["b1 b2 b3"], ["language-model"])
    assert scores.tolist() == [[-6.0]]


def test_long_sentences_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 5)
    cases = [("a1 a2", "b1"), ("a1 " * 6, "b1"), ("a1", "b3 " * 7), ("a1 " * 5, "b1 " * 5)]
    sources, targets = zip(*cases, strict=True)
    for given in (
        model_scorers(),
        ModelScorers(translator("ab", 0)),
        ModelScorers(backward=translator("ba", 2)),
    ):
        names = ["overlong", "translation"]
        scores = scored(given, [*sources, sources[1]], [*targets, "b1"], names)
        assert scores[:, 0].tolist() == [0, 1, 1, 0, 1]
        short = scored(given, ["a1 " * 5, "a1"], ["b1", "b3 " * 5], names)
        assert not short[:, 0].any() and np.array_equal(scores[1:3, 1], short[:, 1])


def test_every_source_with_every_target() -> None:
    sentences = SentenceScores(model_scorers(), LINES[:4], TRANSLATIONS[:5])
    rows, columns = np.repeat(np.arange(4), 5), np.tile(np.arange(5), 4)
    scores = sentences.score(rows, columns, list(TRANSLATION_MEASURES))
    for place in (0, 7, 19):
        expected = naive(LINES[rows[place]], TRANSLATIONS[columns[place]])
        np.testing.assert_allclose(scores[place], list(expected.values()), rtol=1e-6)


def test_nothing_gives_nothing() -> None:
    assert scored(model_scorers(), [], [], ["dual", "translation", "overlong"]).shape == (0, 3)


@pytest.mark.parametrize(
    ("given", "name", "remedy"),
    [
        (ModelScorers(), "translation", "--translator DIR$"),
        (ModelScorers(translator("ab", 0)), "dual", "--translator DIR,DIR$"),
        (ModelScorers(fluency=(None, None)), "language-model", "--language-models FILE$"),
        (ModelScorers(translator("ab", 0), translator("ba", 0), (None, fluency(1.0))), "log-linear",
         "--language-models FILE,FILE$"),
    ],
)  # fmt: skip
def test_measures_say_what_they_need(given: ModelScorers, name: str, remedy: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} needs {remedy}"):
        check_scorers(given, [name])


DATA = b"\xef\xbb\xbfa\tb\r\nalone\n\xff\tx\nc\rd\te\x0bf\xe2\x80\xa8g\n\t\nlast\tone"


@pytest.mark.parametrize("most", [0, 1000, 1 << 20])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_windows_come_back(most: int, size: int) -> None:
    reader = RowReader(io.BytesIO(DATA), "rows.tsv")
    windows = list(row_windows(reader, size))
    with WaitingRows(reader.parser, most) as waiting:
        for _ in range(2):
            numbers = [waiting.add(window) for window in windows]
            for number, window in [*zip(numbers, windows, strict=True)][::-1]:
                assert waiting.get(number) == window
            assert (waiting._scratch is None) == (most > 1000)
            assert [waiting.take(number) for number in numbers] == windows
            assert waiting._scratch is None and waiting._held == 0
