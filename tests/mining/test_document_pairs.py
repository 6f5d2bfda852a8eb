"""Candidates, evidence and choice of pairs of documents, beside naive loops."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.io.vectors import VectorFile, VectorWriter
from bitextfilter.mining import document_pairs
from bitextfilter.mining.document_pairs import (
    SketchedSide,
    beyond_others,
    candidates,
    evidence,
    one_to_one,
    probabilities,
)
from bitextfilter.similarity.vectors import NO_ROW

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
    chosen = one_to_one(pairs, scores)
    assert list(zip(chosen.source, chosen.target, strict=True)) == [(0, 0), (2, 1)]
