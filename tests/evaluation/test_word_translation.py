"""Word translation against a naive double loop."""

from __future__ import annotations

import numpy as np
import pytest

from bitextfilter.errors import InputError
from bitextfilter.evaluation.neighbourhood import (
    PRECISION_RANKS,
    WORD_SIMILARITIES,
    Lexicon,
    Translations,
    translate_words,
)
from bitextfilter.evaluation.result import Bootstrap


def lexicon(letter: str, n: int, seed: int) -> Lexicon:
    vectors = np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32)
    return Lexicon([f"{letter}{i}" for i in range(n)], vectors)


def noisy() -> tuple[Lexicon, Lexicon]:
    """Two languages, word by word much alike."""
    source, other = lexicon("s", 140, 1), lexicon("t", 142, 2)
    other.vectors[:140] = 0.3 * other.vectors[:140] + source.vectors
    return source, other


def dictionary(seed: int = 3) -> list[tuple[str, str]]:
    """Entries with repeated sources, repeated entries, and words that have no vector."""
    generator = np.random.default_rng(seed)
    entries = [(f"s{a}", f"t{b}") for a, b in generator.integers(0, 145, (60, 2))]
    entries += [(f"s{a}", f"t{a}") for a in range(145)]
    return [*entries, entries[0], ("x", "t1"), ("s0", "y"), ("x", "y"), ("z", "t2")]


def naive(source: Lexicon, target: Lexicon, k: int) -> dict[tuple[str, int], float]:
    """Precisions by the definitions, one word at a time."""

    def cosine(i: int, j: int) -> float:
        a, b = source.vectors[i].astype(float), target.vectors[j].astype(float)
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    n, m = len(source.words), len(target.words)
    table = [[cosine(i, j) for j in range(m)] for i in range(n)]
    columns = [sum(sorted(row[j] for row in table)[-k:]) / k for j in range(m)]
    right: dict[str, set[str]] = {}
    for one, other in dictionary():
        if one in source.words and other in target.words:
            right.setdefault(one, set()).add(other)
    found = {}
    for name in WORD_SIMILARITIES:
        for rank in PRECISION_RANKS:
            hits = 0
            for word, answers in right.items():
                row = table[source.words.index(word)]
                mean = sum(sorted(row)[-k:]) / k
                scores = [
                    c if name == "cosine" else 2 * c - mean - columns[j] for j, c in enumerate(row)
                ]
                best = sorted(range(m), key=lambda j, s=scores: -s[j])[:rank]  # type: ignore[misc]
                hits += any(target.words[j] in answers for j in best)
            found[name, rank] = 100 * hits / len(right)
    return found


def test_precisions_against_a_double_loop() -> None:
    source, target = noisy()
    result = translate_words(source, target, dictionary(), 3)
    asked = {one for one, _ in dictionary()}
    assert result.words + result.without == len(asked)
    expected = naive(source, target, 3)
    assert len(set(expected.values())) == len(expected)
    found = {(row.similarity, row.rank): row.precision for row in result.precisions}
    assert {kind: figure.value for kind, figure in found.items()} == pytest.approx(expected)
    assert all(f.low <= f.value <= f.high and f.low < f.high for f in found.values())


def values(result: Translations) -> list[float]:
    return [row.precision.value for row in result.precisions]


def test_a_perfect_lexicon_is_right_and_the_interval_is_a_point() -> None:
    source = lexicon("s", 30, 1)
    target = Lexicon([word.replace("s", "t") for word in source.words], 3 * source.vectors)
    entries = [(f"s{i}", f"t{i}") for i in range(10)]
    result = translate_words(source, target, entries)
    assert values(result) == [100] * 4
    assert result.precisions[0].precision == (100, 100, 100)
    assert (result.words, result.without) == (10, 0)
    one_of_two = translate_words(source, target, [("s1", "t1"), ("s1", "t2"), ("s2", "t1")])
    assert values(one_of_two)[0] == 50


def test_the_interval_is_that_of_words_drawn_anew() -> None:
    source, target = noisy()
    figures = [
        translate_words(source, target, dictionary(), 3, Bootstrap(400, seed)).precisions[0]
        for seed in (1, 1, 2)
    ]
    assert figures[0] == figures[1]
    assert figures[0].precision[1:] != figures[2].precision[1:]
    p, n = figures[0].precision.value / 100, translate_words(source, target, dictionary(), 3).words
    width = figures[0].precision.high - figures[0].precision.low
    assert width == pytest.approx(2 * 196 * (p * (1 - p) / n) ** 0.5, rel=0.2)


def test_nothing_to_measure() -> None:
    source, target = lexicon("s", 5, 1), lexicon("t", 5, 2)
    with pytest.raises(InputError, match="no entry of the dictionary has a vector on both sides"):
        translate_words(source, target, [("s9", "t1")])
    narrow = Lexicon(target.words, target.vectors[:, :3])
    with pytest.raises(InputError, match="of 4 numbers, target vectors of 3"):
        translate_words(source, narrow, [("s1", "t1")])
