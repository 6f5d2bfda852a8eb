"""Figures of single sentences against counts made one token at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.papers.corpus_statistics import SENTENCE_FIGURES, SentenceTally

WORDS = ["a", "an", "the", "tree", "trees", "in", "wood"]


def repeated(items: list[object]) -> float:
    """Per cent of the items that came before."""
    again = sum(item in items[:place] for place, item in enumerate(items))
    return 100 * again / len(items) if items else math.nan


def naive(sentences: list[str]) -> dict[str, list[float]]:
    rows = [sentence.split() for sentence in sentences]
    rarity = {
        word: math.log(len(rows) / sum(word in row for row in rows)) for row in rows for word in row
    }
    return {
        "repetition": [repeated([w for w in row if len(w) >= 3]) for row in rows],
        "trigram_repetition": [
            repeated([tuple(row[i : i + 3]) for i in range(len(row) - 2)]) for row in rows
        ],
        "idf": [sum(rarity[w] for w in row) / len(row) if row else math.nan for row in rows],
        "length": [float(len(row)) for row in rows],
    }


def figures(*windows: list[str]) -> dict[str, np.ndarray]:
    tally = SentenceTally(str.split)
    for window in windows:
        tally.add(window)
    return tally.figures()


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1))
def test_against_counts_by_hand(sentences: list[str]) -> None:
    found, expected = figures(sentences), naive(sentences)
    assert tuple(found) == SENTENCE_FIGURES
    for name in SENTENCE_FIGURES:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-12)


def test_windows_make_no_difference() -> None:
    random = np.random.default_rng(1)
    sentences = [" ".join(random.choice(WORDS, n)) for n in random.integers(0, 15, 40)]
    whole, parts = figures(sentences), figures(sentences[:7], sentences[7:8], sentences[8:])
    for name in SENTENCE_FIGURES:
        np.testing.assert_array_equal(whole[name], parts[name])


def test_a_known_sentence() -> None:
    found = figures(["the tree the tree the tree", "wood"])
    assert found["repetition"].tolist() == [pytest.approx(400 / 6), 0.0]
    assert found["trigram_repetition"][0] == 50.0 and np.isnan(found["trigram_repetition"][1])
    assert found["idf"].tolist() == pytest.approx([math.log(2), math.log(2)])
