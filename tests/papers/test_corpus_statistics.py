"""Statistics of corpora and of single sentences against naive ones, of any text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.papers import corpus_statistics
from bitextfilter.papers.corpus_statistics import (
    SENTENCE_FIGURES,
    CorpusStatistics,
    CorpusTally,
    SentenceTally,
)
from bitextfilter.text.words import TokenUnits

WORDS = st.sampled_from(["a", "of", "the", "cat", "dogs", ",", "Äpfel"]) | st.text(max_size=4)
SENTENCES = st.lists(st.lists(WORDS, max_size=12).map(" ".join), min_size=1, max_size=12)


def tally(sentences: Sequence[str], size: int = 1000, unit: str = "words") -> CorpusTally:
    made = CorpusTally(TokenUnits(unit))
    for first in range(0, len(sentences), size):
        made.add(sentences[first : first + size])
    return made


def entropy(counts: Counter[str] | Counter[tuple[str, ...]]) -> float | None:
    total = counts.total()
    if not total:
        return None
    return -sum(n / total * math.log2(n / total) for n in counts.values())


def again(rows: list[list[tuple[str, ...]]]) -> float | None:
    """Per cent of the items that stood earlier in their row, by looking back."""
    seen = [item in row[:place] for row in rows for place, item in enumerate(row)]
    return 100 * sum(seen) / len(seen) if seen else None


def naive(sentences: list[str], others: list[str]) -> CorpusStatistics:
    """In the words of the definitions."""
    rows = [TokenUnits()(sentence) for sentence in sentences]
    other = [set(TokenUnits()(sentence)) for sentence in others]
    tokens = [token for row in rows for token in row]
    trigrams = [list(zip(row, row[1:], row[2:], strict=False)) for row in rows]
    df = {token: max(1, sum(token in row for row in other)) for token in set(tokens)}
    unigram_entropy = entropy(Counter(tokens))
    assert unigram_entropy is not None
    return CorpusStatistics(
        sentences=len(sentences),
        tokens=len(tokens),
        vocabulary=len(set(tokens)),
        length=sum(map(len, rows)) / len(rows),
        idf=sum(math.log(len(others) / df[token]) for token in tokens) / len(tokens),
        entropy=unigram_entropy,
        trigram_entropy=entropy(Counter(gram for row in trigrams for gram in row)),
        repetition=again([[(t,) for t in row if len(t) >= 3] for row in rows]),
        trigram_repetition=again(trigrams),
    )


def same(found: CorpusStatistics, expected: CorpusStatistics) -> None:
    for name, value in vars(expected).items():
        if value is None:
            assert getattr(found, name) is None, name
        else:
            assert getattr(found, name) == pytest.approx(value, abs=1e-9), name


@given(SENTENCES, st.integers(1, 5))
def test_formulas(sentences: list[str], size: int) -> None:
    made = tally(sentences, size)
    if not any(TokenUnits()(sentence) for sentence in sentences):
        with pytest.raises(ValueError, match="no tokens"):
            made.statistics()
        return
    same(made.statistics(), naive(sentences, sentences))
    assert made.statistics() == tally(sentences).statistics()  # to the last bit


@given(SENTENCES, SENTENCES)
def test_frequencies_of_other_sentences(sentences: list[str], others: list[str]) -> None:
    if any(TokenUnits()(sentence) for sentence in sentences):
        found = tally(sentences).statistics(tally(others, 3))
        same(found, naive(sentences, others))


def test_by_hand() -> None:
    """Two sentences; "the" and "cat" repeated in the first, and one trigram of seven."""
    made = tally(["the cat sees the cat sees", "a a b"]).statistics()
    assert (made.sentences, made.tokens, made.vocabulary) == (2, 9, 5)
    assert (made.length, made.idf) == (4.5, pytest.approx(math.log(2)))
    assert made.repetition == 50  # three of the six long tokens
    assert made.trigram_repetition == 20  # one of five
    assert made.entropy == pytest.approx(-sum(n / 9 * math.log2(n / 9) for n in (2, 2, 2, 2, 1)))


def test_nothing_to_count_is_no_number() -> None:
    made = tally(["a b", "c"]).statistics()
    assert (made.trigram_entropy, made.repetition, made.trigram_repetition) == (None, None, None)


def test_trigrams_are_counted_in_bounded_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits is never much more than what is there, and nothing is lost on the way."""
    monkeypatch.setattr(corpus_statistics, "_PENDING", 4)
    sentences = [f"a b c d{n % 7} e{n % 3}" for n in range(60)]
    made = CorpusTally(TokenUnits())
    for sentence in sentences:
        made.add([sentence])
        assert made._trigrams._waiting < max(4, len(made._trigrams._keys))
    same(made.statistics(), naive(sentences, sentences))


def test_trigrams_are_told_apart() -> None:
    """Every order of three tokens out of forty has bits of its own."""
    words = [f"w{n}" for n in range(40)]
    sentences = [f"{a} {b} {c}" for a in words for b in words for c in words]
    made = tally(sentences).statistics()
    assert made.trigram_entropy == pytest.approx(math.log2(40**3))


SOME_WORDS = ["a", "an", "the", "tree", "trees", "in", "wood"]


def repeated(items: list[object]) -> float:
    """Per cent of the items that came before."""
    again = sum(item in items[:place] for place, item in enumerate(items))
    return 100 * again / len(items) if items else math.nan


def naive_figures(sentences: list[str]) -> dict[str, list[float]]:
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


@given(st.lists(st.lists(st.sampled_from(SOME_WORDS), max_size=12).map(" ".join), min_size=1))
def test_against_counts_by_hand(sentences: list[str]) -> None:
    found, expected = figures(sentences), naive_figures(sentences)
    assert tuple(found) == SENTENCE_FIGURES
    for name in SENTENCE_FIGURES:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-12)


def test_windows_make_no_difference() -> None:
    random = np.random.default_rng(1)
    sentences = [" ".join(random.choice(SOME_WORDS, n)) for n in random.integers(0, 15, 40)]
    whole, parts = figures(sentences), figures(sentences[:7], sentences[7:8], sentences[8:])
    for name in SENTENCE_FIGURES:
        np.testing.assert_array_equal(whole[name], parts[name])


def test_a_known_sentence() -> None:
    found = figures(["the tree the tree the tree", "wood"])
    assert found["repetition"].tolist() == [pytest.approx(400 / 6), 0.0]
    assert found["trigram_repetition"][0] == 50.0 and np.isnan(found["trigram_repetition"][1])
    assert found["idf"].tolist() == pytest.approx([math.log(2), math.log(2)])
