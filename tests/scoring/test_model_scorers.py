"""Measures of translators and language models, against naive computations; rows that wait."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

import numpy as np
import pytest
from translators import CASES, network, processor

from bitextfilter.arrays import Floats
from bitextfilter.errors import SettingsError
from bitextfilter.io.rows import RowReader, row_windows
from bitextfilter.scoring import model_scorers as module
from bitextfilter.scoring.command_scores import WaitingRows
from bitextfilter.scoring.measures import TRANSLATION_MEASURES
from bitextfilter.scoring.model_scorers import (
    ModelScorers,
    SentenceScores,
    check_scorers,
)
from bitextfilter.translation.translator import Translator

RANDOM = np.random.default_rng(3)
SOURCES, TARGETS = (
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


def scorers(threads: int = 1) -> ModelScorers:
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
    sources, targets = [SOURCES[i] for i in rows], [TARGETS[i] for i in rows]
    scores = scored(scorers(), sources, targets, names)
    assert not scorers().score(sources, targets, ["overlong"])["overlong"].any()
    assert scores.shape == (43, 4) and scores.dtype == np.float32
    for place in (0, 11, 39, 41, 42):
        expected = naive(sources[place], targets[place])
        for name, score in zip(names, scores[place].tolist(), strict=True):
            assert score == pytest.approx(expected[name], rel=1e-6), name
    order = np.random.default_rng(1).permutation(43)
    mixed = scored(
        scorers(threads=2), [sources[i] for i in order], [targets[i] for i in order], names
    )
    assert np.array_equal(mixed, scores[order])
    alone = scored(scorers(), sources[5:6], targets[5:6], names[::-1])
    assert np.array_equal(alone[:, ::-1], scores[5:6])


def test_one_direction_is_enough_for_translation() -> None:
    forward, backward = (
        scored(given, SOURCES, TARGETS, ["translation"])
        for given in (ModelScorers(translator("ab", 0)), ModelScorers(backward=translator("ba", 2)))
    )
    both = scored(scorers(), SOURCES, TARGETS, ["translation"])
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
        scorers(),
        ModelScorers(translator("ab", 0)),
        ModelScorers(backward=translator("ba", 2)),
    ):
        names = ["overlong", "translation"]
        scores = scored(given, [*sources, sources[1]], [*targets, "b1"], names)
        assert scores[:, 0].tolist() == [0, 1, 1, 0, 1]
        short = scored(given, ["a1 " * 5, "a1"], ["b1", "b3 " * 5], names)
        assert not short[:, 0].any() and np.array_equal(scores[1:3, 1], short[:, 1])


def test_every_source_with_every_target() -> None:
    sentences = SentenceScores(scorers(), SOURCES[:4], TARGETS[:5])
    rows, columns = np.repeat(np.arange(4), 5), np.tile(np.arange(5), 4)
    scores = sentences.score(rows, columns, list(TRANSLATION_MEASURES))
    for place in (0, 7, 19):
        expected = naive(SOURCES[rows[place]], TARGETS[columns[place]])
        np.testing.assert_allclose(scores[place], list(expected.values()), rtol=1e-6)


def test_nothing_gives_nothing() -> None:
    assert scored(scorers(), [], [], ["dual", "translation", "overlong"]).shape == (0, 3)


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
