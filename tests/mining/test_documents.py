"""The three ways to align documents, end to end."""

from __future__ import annotations

import functools
import random
from typing import Any

import numpy as np
import pytest

from bitextfilter.arrays import Vectors
from bitextfilter.mining import documents, link_costs
from bitextfilter.mining.documents import (
    Alignment,
    DocumentModel,
    align_by_given_vectors,
    align_by_lengths,
    align_by_vectors,
    align_by_words,
    mean_scores,
)
from bitextfilter.mining.link_costs import LinkSettings, VectorLinkCosts
from bitextfilter.mining.monotonic import Document, Link, Span, align
from bitextfilter.similarity.vectors import unit_rows

DIM = 128
SETTINGS = LinkSettings()


@functools.cache
def word_vector(word: str, own: float) -> Vectors:
    """What the same word of the other side (s1 and t1) shares, and a part that is its own."""
    number = int(word[1:])
    shared, other = (
        np.random.default_rng(seed).standard_normal(DIM, np.float32)
        for seed in (number, 10**6 * ord(word[0]) + number)
    )
    return shared + np.float32(own) * other


def encoded(texts: list[str], own: float = 0.8) -> Vectors:
    words = [[word_vector(word, own) for word in text.split()] for text in texts]
    return np.array([np.sum(row, axis=0) for row in words]).reshape(len(texts), DIM)


def translated(n: int, seed: int, words: int) -> tuple[list[str], list[str], list[tuple[int, int]]]:
    """Documents of so many different words; of each pair of sentences, how many are of a side."""
    generator = random.Random(seed)
    source, target, sizes = [], [], []
    for _ in range(n):
        parts = [
            " ".join(f"s{generator.randrange(words)}" for _ in range(generator.randrange(4, 20)))
            for _ in range(2)
        ]
        a, b = generator.choice([(2, 2)] * 6 + [(1, 2), (2, 1)])
        other = [part.replace("s", "t") for part in parts]
        source += parts if a == 2 else [" ".join(parts)]
        target += other if b == 2 else [" ".join(other)]
        sizes += [(1, 1), (1, 1)] if (a, b) == (2, 2) else [(a, b)]
    return source, target, sizes


def sizes_of(links: list[Link]) -> list[tuple[int, int]]:
    return [(len(link.source), len(link.target)) for link in links]


def agreement(found: Alignment, sizes: list[tuple[int, int]]) -> float:
    """The part of the links that end where they should, and are of the right size."""
    ends, right = (0, 0), set()
    for a, b in sizes:
        ends = ends[0] + a, ends[1] + b
        right.add((*ends, a, b))
    got = {(x.source.stop, x.target.stop, len(x.source), len(x.target)) for x in found.links}
    return len(right & got) / len(right)


@pytest.mark.parametrize("seed", range(3))
def test_by_vectors(seed: int) -> None:
    source, target, sizes = translated(40, seed, 5000)
    found = align_by_vectors(source, target, DocumentModel((encoded, encoded)), SETTINGS)
    assert agreement(found, sizes) > 0.95
    assert found.distance is not None
    assert 0.2 < found.distance < 0.6


def test_given_vectors_of_any_length() -> None:
    """The score of a link is the cosine of means of unit vectors."""
    generator = np.random.default_rng(3)
    units = unit_rows(generator.standard_normal((9, DIM)).astype(np.float32))
    lengths = generator.permutation(9)[:, None].astype(np.float32) + 0.1
    joined = np.concatenate([units[:4], units[4:5] + units[5:6], units[6:]])
    noisy = joined + 0.05 * generator.standard_normal(joined.shape).astype(np.float32)
    texts = [f"s{n} and some words" for n in range(9)]
    others = [*texts[:4], f"{texts[4]} {texts[5]}", *texts[6:]]
    links, distance = align_by_given_vectors(texts, others, (units * lengths, noisy), SETTINGS)
    pairs = [([*link.source], [*link.target]) for link in links]
    assert pairs == [
        *(([n], [n]) for n in range(4)),
        ([4, 5], [4]),
        *(([n], [n - 1]) for n in range(6, 9)),
    ]
    for link in links:
        one, other = units[[*link.source]].sum(axis=0), noisy[[*link.target]].sum(axis=0)
        cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
        assert link.score == pytest.approx(cosine, abs=1e-5)
    assert distance is not None and distance < 0.3


def test_lengths_help_whatever_is_usual() -> None:
    def poorly(texts: list[str]) -> Vectors:
        return encoded(texts, 2.2)

    source, target, sizes = translated(100, 9, 5000)
    for wide in (target, [line.replace("t", 20 * "\t" + "t") for line in target]):
        agreements = [
            agreement(
                align_by_vectors(source, wide, DocumentModel((poorly, poorly)), settings), sizes
            )
            for settings in (SETTINGS, LinkSettings(length=0))
        ]
        assert agreements[0] > agreements[1] + 0.02


@pytest.mark.parametrize("seed", range(3))
def test_by_words_learns_words_that_look_nothing_alike(seed: int) -> None:
    source, target, sizes = translated(100, seed, 60)
    # A number here and there is the only word that both sides write alike.
    for place in range(0, len(sizes), 6):
        stop = [sum(size[side] for size in sizes[: place + 1]) for side in (0, 1)]
        source[stop[0] - 1] += f" {1000 + place}"
        target[stop[1] - 1] += f" {1000 + place}"
    found = align_by_words(source, target, SETTINGS)
    assert agreement(found, sizes) > 0.85
    first = align_by_words(source, [line.replace("t", "x") for line in target], SETTINGS)
    assert sizes_of(first.links) == sizes_of(found.links)


def test_unrelated_documents_are_far_apart() -> None:
    source = translated(40, 1, 5000)[0]
    target = [line.replace("t", "t9") for line in translated(40, 2, 5000)[1]]
    found = align_by_vectors(source, target, DocumentModel((encoded, encoded)), SETTINGS)
    assert found.distance is not None
    assert found.distance > 0.75


def test_by_lengths() -> None:
    source, target, sizes = translated(60, 4, 5000)
    found = align_by_lengths(source, target)
    assert agreement(found, sizes) > 0.9
    assert found.distance is None
    assert all(0 <= link.score <= 1 for link in found.links if link.score is not None)


def test_the_background_counts_in_both_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def spy(*given: Any) -> VectorLinkCosts:
        seen.append(given[2:])
        return VectorLinkCosts(*given)

    monkeypatch.setattr(documents, "VectorLinkCosts", spy)
    background = encoded(["s1"]), encoded(["t1"])
    source, target = ["s1 s2", "s3"], ["t1 t2", "t3"]
    align_by_vectors(source, target, DocumentModel((encoded, encoded), background), SETTINGS)
    assert [(given[0], given[2]) for given in seen] == [(SETTINGS, background)] * 2
    assert seen[0][1] is None
    assert seen[1][1].ratio == 1.0
    assert seen[1][1].coverage.masses[0].shape == (2,)


def test_the_ratio_of_lengths_is_that_of_what_is_linked() -> None:
    ends = np.array([0, 300, 600, 700]), np.array([0, 100, 200, 900])
    links = [
        Link(range(2), range(2), 0.5),
        Link(range(2, 3), range(0), None),
        Link(range(0), range(2, 3), None),
    ]
    assert documents._length_ratio(links, *ends) == pytest.approx((200 + 200) / (600 + 200))
    assert documents._length_ratio([], *ends) == 1


def test_words_are_learnt_twice_beside_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def spy(*given: Any) -> VectorLinkCosts:
        seen.append(given)
        return VectorLinkCosts(*given)

    monkeypatch.setattr(documents, "VectorLinkCosts", spy)
    source, target, _ = translated(30, 1, 60)
    found = align_by_words(source, [*target, "s1"], SETTINGS)
    surface = link_costs.surface_vectors(source, [*target, "s1"])
    assert len(seen) == 3

    def vectors(side: Document) -> Vectors:
        return side.groups(1, np.arange(1, len(side) + 1))

    assert vectors(seen[0][0]) == pytest.approx(unit_rows(surface[0]), abs=1e-6)
    half = link_costs.DIM
    for source_side, target_side, *_ in seen[1:]:
        for side in (source_side, target_side):
            norms = np.linalg.norm(vectors(side)[:, :half], axis=1)
            others = np.linalg.norm(vectors(side)[:, half:], axis=1)
            both = (norms > 0) & (others > 0)
            assert both.any()
            assert norms[both] == pytest.approx(others[both], abs=1e-6)
    links = align(VectorLinkCosts(*seen[-1]))
    assert seen[-1][3] is not None
    assert len(links) > 0
    assert found.distance is not None


@pytest.mark.parametrize("penalty", [0, 10])
def test_a_scorer_undoes_bad_links(penalty: float) -> None:
    source = ["s1 s2 s3", "s4 s5 s6", "s7 s8 s9"]
    target = [line.replace("s", "t") for line in source]
    asked = []

    def scorer(sources: list[str], targets: list[str]) -> Vectors:
        asked.extend(zip(sources, targets, strict=True))
        return np.array([source[1] not in text for text in sources], np.float32)

    settings = LinkSettings(penalty=penalty)
    found = align_by_vectors(
        source, target, DocumentModel((encoded, encoded), None, scorer), settings
    )
    assert (source[1], target[1]) in asked
    assert len(asked) == len(set(asked))
    left_out = [(1, 0), (0, 1)] if penalty else [(1, 1)]
    assert sorted(sizes_of(found.links)) == sorted([(1, 1), (1, 1), *left_out])


def test_penalty_of_a_link() -> None:
    def scorer(sources: list[str], targets: list[str]) -> Vectors:
        assert (sources, targets) == (["a b", "c"], ["x", "y z w"])
        return np.array([0.25, 1], np.float32)

    sides = ["a", "b", "c"], ["x", "y", "z", "w"]
    spans = [Span(0, 2, 0, 1), Span(2, 3, 1, 4)]
    penalties = documents._penalties(sides, scorer, 0.5, spans)
    assert penalties.tolist() == [0.5 * 2 * 0.75 * 2**20, 0]


def test_distance_by_hand() -> None:
    source, target = ["s1 s2", "s3 s4 s5"], ["t1 t2", "t3 t4 t5", "t100 t101 t102"]
    found = align_by_vectors(source, target, DocumentModel((encoded, encoded)), LinkSettings(1))
    assert sizes_of(found.links) == [(1, 1), (1, 1), (0, 1)]
    a, b = (rows / np.linalg.norm(rows, axis=1)[:, None] for rows in map(encoded, (source, target)))
    cosines = a.astype(float) @ b.T.astype(float)
    strange = 1 - cosines.mean(axis=1), 1 - cosines.mean(axis=0)
    apart = [2 * (1 - cosines[i, i]) / (strange[0][i] + strange[1][i]) for i in (0, 1)]
    assert found.distance == pytest.approx((2 * apart[0] + 2 * apart[1] + 1) / 5, abs=1e-5)


@pytest.mark.parametrize("sides", [(0, 0), (3, 0), (0, 3), (1, 1), (2, 1)])
def test_short_documents(sides: tuple[int, int]) -> None:
    source, target = (
        [f"{letter}{i}" for i in range(n)] for letter, n in zip("st", sides, strict=True)
    )
    for found in (
        align_by_vectors(source, target, DocumentModel((encoded, encoded)), SETTINGS),
        align_by_words(source, target, SETTINGS),
        align_by_lengths(source, target),
    ):
        assert [i for link in found.links for i in link.source] == list(range(sides[0]))
        assert [j for link in found.links for j in link.target] == list(range(sides[1]))


def test_means_of_a_link_and_two_on_either_side() -> None:
    scores = [0.1, None, 0.9, 0.4, None, None, 0.2, 0.6, 0.8, 0.3]
    links = [Link(range(n, n + 1), range(n, n + 1), score) for n, score in enumerate(scores)]
    known = [score for score in scores if score is not None]
    expected = []
    for place in range(len(known)):
        near = [known[n] for n in range(len(known)) if abs(n - place) <= 2]
        expected.append(sum(near) / len(near))
    found = mean_scores(links)
    assert [mean is None for mean in found] == [score is None for score in scores]
    assert [mean for mean in found if mean is not None] == pytest.approx(expected)
    assert mean_scores([]) == []
