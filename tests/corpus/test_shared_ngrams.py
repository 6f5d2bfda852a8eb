"""Texts that share n-grams, against loops over all pairs of texts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.corpus import other_texts
from bitextfilter.corpus.other_texts import Likeness, SharedNgrams, word_count
from bitextfilter.errors import SettingsError

WORDS = st.sampled_from(["a", "b", "c", "d", "ä", "漢字", "%"])
TEXTS = st.lists(st.lists(WORDS, max_size=9).map(" ".join), max_size=12)
LIKENESS = st.builds(
    Likeness,
    ngram=st.integers(1, 3),
    overlap=st.sampled_from([0.01, 0.5, 0.7, 1.0]),
    alike=st.integers(1, 4),
    within=st.integers(1, 6),
)


def words(text: str) -> list[str]:
    """The words of a text; each Chinese character is one."""
    for character in "漢字":
        text = text.replace(character, f" {character} ")
    return text.split()


def ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    """The n-grams of a text, one by one; a shorter text is one."""
    found = words(text)
    return {tuple(found[i : i + n]) for i in range(max(1, len(found) - n + 1))} if found else set()


def count(text: str) -> int:
    """The words of a text that are no signs; two Chinese characters are one."""
    return len([word for word in text.split() if word != "%"])


def are_like(text: str, other: str, like: Likeness) -> bool:
    """Whether a text shares enough with one that was added."""
    if count(other) < min(like.alike, like.within):
        return False
    one, two = ngrams(text, like.ngram), ngrams(other, like.ngram)
    shared = len(one & two)
    if not shared or shared < like.overlap * min(len(one), len(two)) - 1e-6:
        return False
    signs = max(1.0, len(words(other)) / count(other))
    least = min(like.within, like.alike if 2 * shared > len(one | two) else like.within)
    return shared >= least * signs - like.ngram + 1


@given(texts=TEXTS, others=TEXTS, like=LIKENESS, block=st.integers(1, 5))
def test_texts_are_found_as_by_loops(
    texts: Sequence[str], others: Sequence[str], like: Likeness, block: int
) -> None:
    known = SharedNgrams(like)
    cut = len(others) // 2
    known.add(others[:cut], np.arange(1, cut + 1))
    known.add(others[cut:], np.arange(cut + 1, len(others) + 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(other_texts, "_BLOCK", block)
        found = known.find(texts).tolist()
    numbered = [*enumerate(others, 1)]
    assert found == [
        next((number for number, other in numbered if are_like(text, other, like)), 0)
        for text in texts
    ]


def test_ngrams_differ_in_words_order_and_ends() -> None:
    """All texts of three words out of four, and shorter ones: no two share an n-gram of 3."""
    texts = [" ".join(some) for n in (1, 2, 3) for some in itertools.product("abcd", repeat=n)]
    known = SharedNgrams(Likeness(3, 1.0, 1, 1))
    known.add(texts, np.arange(1, len(texts) + 1))
    assert known.find(texts).tolist() == list(range(1, len(texts) + 1))
    assert known.find(["e", "a b e", "e a b c"]).tolist() == [0, 0, texts.index("a b c") + 1]


SENTENCE = "the mayor opened the new bridge over the river on monday"


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        (f"breaking news {SENTENCE}", True),
        (f"as we heard today from the people in town {SENTENCE} and then he left us again", True),
        (SENTENCE.replace("new", "old"), True),
        (SENTENCE.removesuffix(" on monday"), True),
        (SENTENCE.replace("new", "old").replace("river", "lake"), False),
        ("the mayor opened the new", False),
        (" ".join(sorted(SENTENCE.split())), False),
    ],
)
def test_which_copies_of_a_sentence_are_found(text: str, is_found: bool) -> None:
    known = SharedNgrams(Likeness())
    known.add([SENTENCE], np.array([7]))
    assert known.find([text]).tolist() == [7 * is_found]


def test_words_are_counted_as_people_count_them() -> None:
    texts = ["", "50 %", "c + +", "a b c", "漢字漢", "ทดสอบ", "हिन्दी में"]
    assert [word_count(text) for text in texts] == [0, 1, 1, 3, 2, 3, 2]


@pytest.mark.parametrize("wrong", [{"ngram": 0}, {"overlap": 0}, {"overlap": 1.5}, {"alike": 0}])
def test_likeness_that_there_is_not(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError):
        Likeness(**wrong)  # type: ignore[arg-type]
