"""Vectors and sketches of documents, beside naive sums."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from bitextfilter.mining.document_pairs import (
    SKETCH_ROWS,
    DocumentVectors,
    SentenceCounts,
    WordCounts,
    centred,
    lay_out,
    sentence_weights,
    sketch_places,
)

GENERATOR = np.random.default_rng(5)
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
    for side, documents in enumerate(sides):
        for document in documents:
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
