"""Vectors that documents teach themselves, against sums word by word."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from bitextfilter.mining import link_costs
from bitextfilter.mining.link_costs import learned_vectors, surface_vectors
from bitextfilter.mining.monotonic import Span

SOURCE = ["der Hund bellt", "die Katze Berlin schläft", "", "der Hund und die Katze", "Ende 1999"]
TARGET = ["the dog barks", "the cat Berlin sleeps", "the dog and the cat", "end 1999", "of 1999"]
LINKS = [
    Span(0, 1, 0, 1),
    Span(1, 2, 1, 2),
    Span(2, 3, 2, 2),
    Span(3, 4, 2, 3),
    Span(4, 5, 3, 5),
]


def naive(sentences: list[str], link_of: list[int | None], vectors: np.ndarray) -> np.ndarray:
    """Word by word: the vectors of the links of the other sentences that have it."""
    bags = [set(sentence.lower().split()) for sentence in sentences]
    rows = []
    for own, bag in enumerate(bags):
        total = np.zeros(vectors.shape[1])
        for word in bag:
            holders = [i for i, other in enumerate(bags) if word in other]
            weight = math.log((1 + len(bags)) / len(holders)) / math.sqrt(len(holders))
            for i in holders:
                link = link_of[i]
                if link is not None and link != link_of[own]:
                    total += weight * vectors[link]
        rows.append(total)
    return np.array(rows)


def test_learned_vectors_by_definition() -> None:
    found = learned_vectors(SOURCE, TARGET, LINKS)
    signs = np.random.default_rng(link_costs.SEED).integers(0, 2, (6, link_costs.DIM))
    vectors = np.where(signs[:5] == 1, 1.0, -1.0)
    assert found[0] == pytest.approx(naive(SOURCE, [0, 1, None, 3, 4], vectors), abs=1e-4)
    assert found[1] == pytest.approx(naive(TARGET, [0, 1, 3, 4, 4], vectors), abs=1e-4)
    assert all(vectors.any() for vectors in found)


def test_no_link_confirms_itself_not_even_a_little() -> None:
    words = iter(range(10**6))
    source = [" ".join(f"s{next(words)}" for _ in range(8)) for _ in range(20)]
    target = [" ".join(f"t{next(words)}" for _ in range(8)) for _ in range(40)]
    target[0] += " again"
    target[1] += " again"  # in both sentences of a link, and nowhere else
    links = [Span(i, i + 1, 2 * i, 2 * i + 2) for i in range(20)]
    for vectors in learned_vectors(source, target, links):
        assert not vectors.any()


def test_a_word_of_one_link_says_nothing() -> None:
    alone = [Span(0, 1, 0, 1), Span(1, 2, 1, 2)]
    source, target = learned_vectors(["eins zwei", "drei"], ["one two", "three"], alone)
    assert not source.any()
    assert not target.any()


def test_translations_come_near_though_no_word_is_shared() -> None:
    generator = random.Random(1)
    words = [f"w{number}" for number in range(40)]
    source = [" ".join(generator.sample(words, 6)) for _ in range(80)]
    target = [line.replace("w", "t") for line in source]
    links = [Span(i, i + 1, i, i + 1) for i in range(80)]
    a, b = learned_vectors(source, target, links)
    cosines = a @ b.T / np.linalg.norm(a, axis=1)[:, None] / np.linalg.norm(b, axis=1)
    assert (cosines.argmax(axis=1) == np.arange(80)).mean() > 0.95
    surface = surface_vectors(source, target)
    assert (np.argmax(surface[0] @ surface[1].T, axis=1) == np.arange(80)).mean() < 0.2


def test_surface_vectors_see_shared_words_and_beginnings() -> None:
    a, b = surface_vectors(
        ["Nationalität 1999", "Hund Berlin", "ganz anders"],
        ["nationality of dogs", "BERLIN", "in 1999", "nothing"],
    )
    cosines = a @ b.T / np.linalg.norm(a, axis=1)[:, None] / np.linalg.norm(b, axis=1)
    likes = cosines > 0.25
    assert likes.tolist() == [
        [True, False, True, False],
        [False, True, False, False],
        [False, False, False, False],
    ]


def test_rare_words_weigh_more() -> None:
    (a, _) = surface_vectors(["the cat", "the dog", "the", "the cat is"], ["of"])
    squares = (a.astype(float) ** 2).sum(axis=1) / link_costs.DIM
    the, cat, one = (math.log(5 / count) ** 2 for count in (4, 2, 1))
    assert squares == pytest.approx([the + cat, the + one, the, the + cat + one], rel=0.3)


def test_nothing() -> None:
    for sides in (([], []), (["a"], []), ([""], [" ", "b"])):
        for vectors in (surface_vectors(*sides), learned_vectors(*sides, [])):
            assert [v.shape for v in vectors] == [(len(side), link_costs.DIM) for side in sides]


def test_the_same_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = surface_vectors(SOURCE, TARGET), learned_vectors(SOURCE, TARGET, LINKS)
    monkeypatch.setattr(link_costs, "_BLOCK_ROWS", 2)
    parts = surface_vectors(SOURCE, TARGET), learned_vectors(SOURCE, TARGET, LINKS)
    for one, other in zip(whole, parts, strict=True):
        assert all((a == b).all() for a, b in zip(one, other, strict=True))
