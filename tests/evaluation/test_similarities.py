"""Rows of scores against one pair at a time."""

from __future__ import annotations

import numpy as np
import pytest

from bitextfilter.evaluation import recovery
from bitextfilter.evaluation.recovery import (
    BASELINES,
    MATRICES,
    baseline,
    vector_scorer,
)

generator = np.random.default_rng(5)
A = generator.standard_normal((7, 6)).astype(np.float32)
B = generator.standard_normal((9, 6)).astype(np.float32)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def margins(a: np.ndarray, b: np.ndarray, k: int) -> tuple[float, float]:
    row = sorted((cosine(a, other) for other in B), reverse=True)[:k]
    column = sorted((cosine(other, b) for other in A), reverse=True)[:k]
    return sum(row) / len(row), sum(column) / len(column)


def probabilities(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return (A[rows, 0] - 2 * B[columns, 1]).astype(np.float32)


NAIVE = {
    "cosine": cosine,
    "euclidean": lambda a, b: -np.sqrt(((a - b) ** 2).sum()),
    "csls": lambda a, b: 2 * cosine(a, b) - sum(margins(a, b, 3)),
    "ratio": lambda a, b: cosine(a, b) / (sum(margins(a, b, 3)) / 2),
    "distance": lambda a, b: cosine(a, b) - sum(margins(a, b, 3)) / 2,
    "mlp": lambda a, b: a[0] - 2 * b[1],
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("part", [slice(0, 7), slice(2, 5)])
def test_rows_are_as_pair_by_pair(name: str, part: slice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "_PAIRS", 20)
    rows = vector_scorer(name, A, B, probabilities, k=3)(part)
    expected = [[NAIVE[name](a, b) for b in B] for a in A[part]]
    np.testing.assert_allclose(rows, expected, rtol=1e-5, atol=1e-6)
    assert rows.dtype == np.float32


def test_unknown_names_and_a_missing_classifier() -> None:
    for name in ("hamming", "mlp"):
        with pytest.raises(KeyError):
            vector_scorer(name, A, B)
    with pytest.raises(KeyError):
        baseline("hamming", [], [], 1)


def edits(a: str, b: str) -> int:
    """Edit distance by its recursion, row by row."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        last, row = row, [i + 1]
        for j, y in enumerate(b):
            row.append(min(last[j] + (x != y), last[j + 1] + 1, row[j] + 1))
    return row[-1]


def test_levenshtein() -> None:
    sources, targets = ["Haus", "house", "", "Tür zu"], ["HOUSE", "maus", "", "a"]
    rows = baseline("levenshtein", sources, targets, 1)(slice(0, 4))
    expected = [
        [1 - edits(a.lower(), b.lower()) / (max(len(a), len(b)) or 1) for b in targets]
        for a in sources
    ]
    np.testing.assert_allclose(rows, expected, atol=1e-6)


def test_random_is_seeded_and_does_not_depend_on_blocks() -> None:
    texts = [str(i) for i in range(50)]
    whole = baseline("random", texts, texts, 1)(slice(0, 50))
    np.testing.assert_array_equal(baseline("random", texts, texts, 1)(slice(20, 23)), whole[20:23])
    assert not np.array_equal(baseline("random", texts, texts, 2)(slice(0, 50)), whole)
    assert abs(whole.mean() - 0.5) < 0.05
    assert set(BASELINES) == {"levenshtein", "random"}
