"""The three ways to align documents; vectors of documents, candidates and choice of their pairs."""

from __future__ import annotations

import functools
import math
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitextfilter.arrays import Vectors
from bitextfilter.io.vectors import VectorFile, VectorWriter
from bitextfilter.mining import document_pairs, documents, link_costs
from bitextfilter.mining.chunks import LinkSettings
from bitextfilter.mining.comparable import Mined
from bitextfilter.mining.document_pairs import (
    SKETCH_ROWS,
    DocumentVectors,
    SentenceCounts,
    SketchedSide,
    WordCounts,
    beyond_others,
    candidates,
    centred,
    evidence,
    lay_out,
    probabilities,
    sentence_weights,
    sketch_places,
)
from bitextfilter.mining.documents import (
    Alignment,
    DocumentModel,
    align_by_given_vectors,
    align_by_lengths,
    align_by_vectors,
    align_by_words,
    mean_scores,
)
from bitextfilter.mining.link_costs import VectorLinkCosts
from bitextfilter.mining.monotonic import Document, Link, Span, align
from bitextfilter.similarity.vectors import NO_ROW, unit_rows

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
    path = [Span(0, 2, 0, 2), Span(2, 3, 2, 2), Span(3, 3, 2, 3)]
    assert documents._length_ratio(path, *ends) == pytest.approx((200 + 200) / (600 + 200))
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
    assert seen[-1][3] is not None
    assert align(VectorLinkCosts(*seen[-1]))
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


GENERATOR = np.random.default_rng(6)
WEIGHTS = GENERATOR.random(30).astype(np.float32)
"""Of each word, on both sides."""
SIZES = [1, 3, 5, 2], [2, 4, 1]


def sketched(folder: Path, side: int) -> SketchedSide:
    rows = GENERATOR.integers(-127, 128, (sum(SIZES[side]), 8)).astype(np.float32)
    rows[:, 0] = 127
    with VectorWriter(folder / str(side), 8, "int8") as writer:
        writer.append(rows)
    shares = GENERATOR.random(len(rows)).astype(np.float32) / 4
    means = GENERATOR.random(len(rows)).astype(np.float32) / 2
    words = np.sort(GENERATOR.permutation(30)[: 3 * len(SIZES[side])].reshape(-1, 3), axis=1)
    return SketchedSide(
        VectorFile(folder / str(side), 8, "int8"),
        np.linalg.norm(rows, axis=1).astype(np.float32),
        np.concatenate([[0], np.cumsum(SIZES[side])]),
        *(shares, means),
        np.arange(0, words.size + 1, 3),
        words.ravel(),
        WEIGHTS[words.ravel()],
    )


def words_of(side: SketchedSide, number: int) -> dict[int, float]:
    part = range(int(side.word_starts[number]), int(side.word_starts[number + 1]))
    return {int(side.words[place]): float(side.word_weights[place]) for place in part}


def naive_match(one: SketchedSide, other: SketchedSide, i: int, j: int) -> float:
    first = range(int(one.starts[i]), int(one.starts[i + 1]))
    second = range(int(other.starts[j]), int(other.starts[j + 1]))

    def margin(a: int, b: int) -> float:
        x, y = one.rows[a : a + 1][0], other.rows[b : b + 1][0]
        cosine = float(x @ y) / math.hypot(*x) / math.hypot(*y)
        return cosine - (float(one.means[a]) + float(other.means[b])) / 2

    total = 0.0
    for a in first:
        b = max(second, key=lambda place: margin(a, place))
        if max(first, key=lambda place: margin(place, b)) == a:
            total += min(one.shares[a], other.shares[b]) * max(0.0, margin(a, b))
    return total


@pytest.mark.parametrize("together", [1, 256])
def test_evidence_is_that_of_naive_loops(
    tmp_path: Path, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_pairs, "_TOGETHER", together)
    sides = sketched(tmp_path, 0), sketched(tmp_path, 1)
    pairs = np.array([0, 0, 1, 1, 2, 3, 3]), np.array([0, 2, 1, 2, 1, 0, 1])
    counted: list[int] = []
    matches, words = evidence(sides, pairs, counted.append)
    assert counted == [2, 2, 1, 2]
    for place, (i, j) in enumerate(zip(*pairs, strict=True)):
        assert matches[place] == pytest.approx(naive_match(*sides, i, j), abs=1e-6)
        known = [words_of(side, k) for side, k in zip(sides, (i, j), strict=True)]
        common = sum(float(w) for word, w in known[0].items() if word in known[1])
        whole = math.sqrt(sum(map(float, known[0].values())) * sum(map(float, known[1].values())))
        assert words[place] == pytest.approx(common / whole, abs=1e-6)


def test_products_are_exact_for_any_width() -> None:
    assert document_pairs._FLOAT32_DIM * 127**2 < 2**24


def test_documents_without_words_share_nothing(tmp_path: Path) -> None:
    one, other = (
        replace(
            sketched(tmp_path, side),
            word_starts=np.zeros(len(SIZES[side]) + 1, np.int64),
            words=np.zeros(0, np.int64),
            word_weights=np.zeros(0, np.float32),
        )
        for side in (0, 1)
    )
    assert evidence((one, other), (np.array([0]), np.array([0])))[1].tolist() == [0]


def test_values_beyond_those_of_others() -> None:
    rows = GENERATOR.integers(0, 9, (60, 2))
    rows = np.unique(rows, axis=0)
    values = GENERATOR.integers(-5, 5, len(rows)).astype(np.float32)
    found = beyond_others(values, (rows[:, 0], rows[:, 1]))
    for place, (i, j) in enumerate(rows.tolist()):
        best = []
        for column, number in ((0, i), (1, j)):
            others = [
                float(values[other])
                for other in range(len(rows))
                if other != place and rows[other, column] == number
            ]
            best.append(max(others, default=0.0))
        assert found[place] == float(values[place]) - max(best)


def test_probability_is_a_logistic_of_the_evidence() -> None:
    pairs = np.array([0]), np.array([0])
    match, words = np.array([0.1], np.float32), np.array([0.5], np.float32)
    logit = 14 * 0.1 + 48 * 0.1 + 2.4 * 0.5 - 4.6
    assert probabilities(match, words, pairs)[0] == pytest.approx(1 / (1 + math.exp(-logit)))


def test_candidates_are_the_nearest_of_either() -> None:
    targets, sources = np.array([[1, 0], [1, NO_ROW]]), np.array([[0], [1], [0]])
    none = np.zeros((3, 2), np.float32)
    found = candidates(((none[:2], targets), (none[:, :1], sources)))
    assert list(zip(*map(np.ndarray.tolist, found), strict=True)) == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 1),
    ]


def test_pairs_are_chosen_best_first() -> None:
    pairs = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 1])
    scores = np.array([0.9, 0.8, 0.9, 0.1, 0.2], np.float32)
    chosen = Mined(*pairs, scores).one_to_one()
    assert list(zip(chosen.source, chosen.target, strict=True)) == [(0, 0), (2, 1)]


DOCUMENTS = [
    [
        f"sentence {n} {'x' * int(GENERATOR.integers(0, 40))}"
        for n in GENERATOR.integers(0, 60, size)
    ]
    for size in (1, 4, 31, 32, 33, 200)
]


def test_sentences_are_counted_once_a_document() -> None:
    counts, naive = SentenceCounts(), Counter[str]()
    for document in DOCUMENTS:
        counts.add(document)
        naive.update(set(document))
    wanted = [naive[sentence] for sentence in (*DOCUMENTS[5], "of none")]
    assert counts.of([*DOCUMENTS[5], "of none"]).tolist() == wanted


def test_weights_are_roots_of_length_over_documents() -> None:
    lengths, counts = np.array([1, 10, 90, 4, 0]), np.array([1, 1, 10, 100_000_000, 1])
    found = sentence_weights(lengths, counts)
    assert found[:3] == pytest.approx([1, math.sqrt(10), 3], abs=1 / 512)
    assert (found > 0).all()


@pytest.mark.parametrize("document", DOCUMENTS, ids=len)
def test_sketches_are_parts_of_equal_length(document: list[str]) -> None:
    places = sketch_places(np.array(list(map(len, document))))
    if len(document) <= SKETCH_ROWS:
        assert places.tolist() == list(range(len(document)))
        return
    whole, before, wanted = sum(map(len, document)), 0, []
    for sentence in document:
        wanted.append(int((before + len(sentence) / 2) * SKETCH_ROWS / whole))
        before += len(sentence)
    numbers = {part: number for number, part in enumerate(sorted(set(wanted)))}
    assert places.tolist() == [numbers[part] for part in wanted]


def test_vectors_are_weighted_means_and_do_not_depend_on_batches() -> None:
    counts = GENERATOR.integers(1, 9, sum(map(len, DOCUMENTS)))
    layout = lay_out(DOCUMENTS, counts)
    vectors = GENERATOR.standard_normal((len(counts), 16)).astype(np.float32)
    vectors[3] = 0
    found = []
    for size in (1, 7, 1000):
        sums = DocumentVectors(layout, 16)
        for first in range(0, len(vectors), size):
            sums.add(vectors[first : first + size])
        found.append((sums.vectors(), sums.sketches()))
    assert all((one == found[0][part]).all() for each in found for part, one in enumerate(each))
    first, row = 0, 0
    for number, document in enumerate(DOCUMENTS):
        part = slice(first, first + len(document))
        norms = np.maximum(np.linalg.norm(vectors[part], axis=1, keepdims=True), 1e-9)
        weighted = layout.weights[part, None] * vectors[part] / norms
        mean = weighted.sum(axis=0)
        assert found[0][0][number] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
        places = sketch_places(np.array(list(map(len, document))))
        for place in range(int(layout.sizes[number])):
            one = weighted[places == place].sum(axis=0)
            scaled = one / max(np.abs(one).max(), 1e-9) * 127
            assert found[0][1][row + place] == pytest.approx(scaled, abs=0.501)
            share = layout.weights[part][places == place].sum() / layout.weights[part].sum()
            assert layout.shares[row + place] == pytest.approx(share, rel=1e-5)
        first, row = part.stop, row + int(layout.sizes[number])
    assert row == len(layout.shares) == len(found[0][1])


def test_few_documents_keep_their_mean() -> None:
    rows = GENERATOR.standard_normal((2, 4)).astype(np.float32)
    assert (centred(rows[:1], rows[0], 1) == rows[:1]).all()
    assert centred(rows, rows.mean(axis=0), 1_000_000) == pytest.approx(
        rows - rows.mean(axis=0), abs=1e-4
    )


def test_rare_words_of_both_sides_are_kept() -> None:
    sides = ([["Anna, 42 the"], ["the Bert"], ["the"]], [["ANNA das"], ["42 die das"], ["the das"]])
    counts = WordCounts()
    for side, texts in enumerate(sides):
        for document in texts:
            counts.add(document, side)
    words, weights = counts.rarest(["anna and the 42, and Anna das"])
    assert sorted(weights.tolist()) == pytest.approx(
        sorted([math.log(1 / 4) ** 2, math.log(1 / 4) ** 2, math.log(3 / 4) ** 2])
    )
    assert words.tolist() == sorted(words.tolist())
    many = [" ".join(f"w{n}" for n in range(100))]
    for side in (0, 1):
        counts.add(many, side)
    assert len(counts.rarest(many)[0]) == 64
