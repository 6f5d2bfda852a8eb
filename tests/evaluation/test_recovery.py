"""Recovery against a naive double loop, with ties, repetitions and what is not a number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.evaluation import recovery
from bitextfilter.evaluation.recovery import (
    BASELINES,
    MATRICES,
    baseline,
    distinct_pairs,
    recover,
    vector_scorer,
)


def naive(sources: list[str], targets: list[str], scores: np.ndarray) -> tuple[float, float, int]:
    """Errors and pairs, straight from the definition."""
    kept: list[int] = []
    for i in range(len(sources)):
        if all(sources[i] != sources[j] and targets[i] != targets[j] for j in kept):
            kept.append(i)
    forward = backward = 0
    for i in kept:
        forward += not all(scores[i][i] > scores[i][j] for j in kept if j != i)
        backward += not all(scores[i][i] > scores[j][i] for j in kept if j != i)
    return 100 * forward / len(kept), 100 * backward / len(kept), len(kept)


@given(st.data(), st.integers(1, 9))
def test_as_the_naive_count(data: st.DataObject, n: int) -> None:
    sources = data.draw(st.lists(st.sampled_from("abcdef"), min_size=n, max_size=n))
    targets = data.draw(st.lists(st.sampled_from("uvwxyz"), min_size=n, max_size=n))
    rows = st.lists(st.integers(0, 4), min_size=n, max_size=n)
    scores = np.array(data.draw(st.lists(rows, min_size=n, max_size=n)), dtype=np.float32)
    expected = naive(sources, targets, scores)
    for given_as in (scores, lambda part: scores[part]):
        result = recover(sources, targets, given_as)
        assert (result.forward, result.backward, result.pairs) == pytest.approx(expected)
        assert result.set_aside == n - result.pairs


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(3).integers(0, 30, (23, 23)).astype(np.float32)
    scores += 15 * np.eye(23, dtype=np.float32)
    sources = [str(i) for i in range(23)]
    sources[7] = sources[2]
    whole = recover(sources, sources[::-1], scores)
    monkeypatch.setattr(recovery, "_BLOCK_ROWS", 4)
    assert recover(sources, sources[::-1], scores) == whole
    assert recover(sources, sources[::-1], lambda part: scores[part]) == whole
    assert 0 < whole.forward < 100
    assert 0 < whole.backward < 100


def test_directions_are_not_mixed_up() -> None:
    scores = np.array([[2, 0, 0], [3, 2, 0], [3, 0, 2]], dtype=np.float32)
    result = recover(["a", "b", "c"], ["x", "y", "z"], scores)
    assert (result.forward, result.backward) == pytest.approx((200 / 3, 100 / 3))
    assert result.mean == pytest.approx(50)


def test_given_scores_are_left_as_they_were() -> None:
    scores = np.eye(3, dtype=np.float32)
    recover(["a", "b", "c"], ["x", "y", "z"], scores)
    np.testing.assert_array_equal(scores, np.eye(3))


def test_not_a_number_is_an_error() -> None:
    nothing = np.full((2, 2), np.nan, dtype=np.float32)
    assert recover(["a", "b"], ["x", "y"], nothing).mean == 100


def test_wrong_shapes_and_nothing_to_find() -> None:
    with pytest.raises(ValueError, match="shape"):
        recover(["a", "b"], ["x", "y"], np.eye(3, dtype=np.float32))
    with pytest.raises(ValueError, match="shape"):
        recover(["a", "b"], ["x", "y"], lambda _: np.eye(3, dtype=np.float32))
    with pytest.raises(ValueError, match="no pairs"):
        recover([], [], np.zeros((0, 0), dtype=np.float32))
    with pytest.raises(ValueError, match="zip"):
        distinct_pairs(["a"], [])


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
