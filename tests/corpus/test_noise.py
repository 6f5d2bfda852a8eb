"""Each kind of noise, and that the label never lies."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.corpus.noise import CLEAN, KINDS, noisy_pairs
from bitextfilter.errors import SettingsError

PAIRS = [(f"s{i} a b c d e f g", f"t{i} h i j k l m n") for i in range(30)]


def test_clean_is_left_as_it_is() -> None:
    assert list(noisy_pairs(PAIRS, [CLEAN], 1)) == [(*pair, CLEAN) for pair in PAIRS]


def test_repaired() -> None:
    for source, target, label in noisy_pairs(PAIRS, ["repaired"], 1):
        assert label == "repaired"
        assert (source, target) not in PAIRS
        assert target in {pair[1] for pair in PAIRS}


def test_neighbouring() -> None:
    steps = Counter(
        (int(target.split()[0][1:]) - int(source.split()[0][1:])) % len(PAIRS)
        for source, target, _ in noisy_pairs(PAIRS, ["neighbouring"], 1)
    )
    assert set(steps) == {1, len(PAIRS) - 1}


def test_truncated() -> None:
    sides = Counter()
    made = noisy_pairs(PAIRS, ["truncated"], 1)
    for (source, target, label), pair in zip(made, PAIRS, strict=True):
        assert label == "truncated"
        cut = [text != whole for text, whole in zip((source, target), pair, strict=True)]
        assert sum(cut) == 1
        side = cut.index(True)
        sides[side] += 1
        text = (source, target)[side]
        assert pair[side].startswith(text + " ")
        assert 2 <= len(text.split()) <= 6
    assert len(sides) == 2


def test_copied() -> None:
    made = list(noisy_pairs(PAIRS, ["copied"], 1))
    assert all(source == target and label == "copied" for source, target, label in made)
    assert {text[0] for text, _, _ in made} == {"s", "t"}


def test_kinds_are_drawn_as_often_as_they_stand() -> None:
    kinds = [CLEAN, CLEAN, CLEAN, "copied"]
    labels = Counter(label for *_, label in noisy_pairs(PAIRS * 40, kinds, 1))
    assert 0.7 < labels[CLEAN] / labels.total() < 0.8


def test_the_seed_decides() -> None:
    made = list(noisy_pairs(PAIRS, list(KINDS), 1))
    assert made == list(noisy_pairs(PAIRS, list(KINDS), 1))
    assert made != list(noisy_pairs(PAIRS, list(KINDS), 2))


TEXTS = st.text("ab ", max_size=12)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=12), st.integers(0, 5))
def test_the_label_never_lies(pairs: list[tuple[str, str]], seed: int) -> None:
    made = list(noisy_pairs(pairs, list(KINDS), seed))
    assert len(made) == len(pairs)
    for (source, target, label), pair in zip(made, pairs, strict=True):
        assert (label == CLEAN) == ((source, target) == pair)


@pytest.mark.parametrize("kinds", [[], ["clean", "translated"]])
def test_unknown_kinds(kinds: list[str]) -> None:
    with pytest.raises(SettingsError, match="noise"):
        list(noisy_pairs(PAIRS, kinds, 1))
