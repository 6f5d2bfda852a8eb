"""Recovery against a naive double loop, with ties, repetitions and what is not a number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.evaluation import recovery
from bitextfilter.evaluation.recovery import distinct_pairs, recover


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
