"""Mini-batches: every row where it should be, the same every time."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.text.ragged import PIECES, TRIGRAMS, Ragged
from bitextfilter.training.data import (
    Corpus,
    Sentences,
    batches_of_pass,
    endless_batches,
    rows_of_pass,
)

LENGTHS = np.random.default_rng(0).integers(1, 40, 1000)


def test_sentences_pad_with_zero() -> None:
    rows = [np.array(row, dtype=np.int32) for row in ([5, 6], [7], [5, 6], [8, 9, 4])]
    sentences = Sentences(rows)
    ids, lengths = sentences.views[PIECES].padded(np.array([3, 1]))
    assert ids.tolist() == [[8, 9, 4], [7, 0, 0]]
    assert lengths.tolist() == [3, 1]
    assert [row.tolist() for row in sentences.views[PIECES]] == [row.tolist() for row in rows]


def _alike(*sides: NDArray[np.int64]) -> list[list[int]]:
    """The place of the first text, over both sides, with the same number as each."""
    numbers = np.concatenate(sides).tolist()
    return [[numbers.index(number) for number in side.tolist()] for side in sides]


def test_texts_are_numbered_across_both_sides() -> None:
    one = Sentences(np.array(row, dtype=np.int32) for row in ([5, 6], [7], [5, 6]))
    other = Sentences(np.array(row, dtype=np.int32) for row in ([7], [8], [9, 7]))
    keys = Corpus(one, other, np.ones(3)).keys
    assert _alike(*keys) == [[0, 1, 0], [1, 4, 5]]


def test_trigrams_tell_texts_of_unknown_pieces_apart() -> None:
    pieces = [np.array([1], dtype=np.int32)] * 3
    trigrams = [np.array(row, dtype=np.int32) for row in ([4, 5], [4], [4, 5])]
    same = Corpus(Sentences(pieces), Sentences(pieces), np.ones(3)).keys
    assert _alike(*same) == [[0, 0, 0], [0, 0, 0]]
    side = Sentences(pieces, Ragged.of(trigrams))
    assert _alike(*Corpus(side, side, np.ones(3)).keys) == [[0, 1, 0]] * 2


def test_sentences_are_taken_and_joined_in_every_view() -> None:
    rows = [np.array(row, dtype=np.int32) for row in ([5, 6], [7], [8, 9, 4])]
    sentences = Sentences(rows, Ragged.of(row + 10 for row in rows))
    some = sentences.take(np.array([2, 0])).followed_by(sentences.take(np.array([1])))
    assert [row.tolist() for row in some.views[PIECES]] == [[8, 9, 4], [5, 6], [7]]
    assert [row.tolist() for row in some.views[TRIGRAMS]] == [[18, 19, 14], [15, 16], [17]]
    assert some.lengths.tolist() == [3, 2, 1]


def test_pairs_with_a_longer_side_are_left_out() -> None:
    lengths = [(1, 3), (3, 1), (3, 3), (4, 1), (1, 4), (2, 2)]
    sides = [
        Sentences(
            np.full(pair[side], 10 * i + side, dtype=np.int32) for i, pair in enumerate(lengths)
        )
        for side in (0, 1)
    ]
    templates = Ragged.of(np.array([i], dtype=np.int32) for i in range(6))
    kept = Corpus(sides[0], sides[1], np.arange(6) / 2, templates).up_to(3)
    for side in (0, 1):
        first = [int(row[0]) for row in kept.side(side).views[PIECES]]
        assert first == [10 * i + side for i in (0, 1, 2, 5)]
    assert kept.weights.tolist() == [0.0, 0.5, 1.0, 2.5]
    assert kept.templates is not None
    assert [row.tolist() for row in kept.templates] == [[0], [1], [2], [5]]


def test_a_pass_holds_every_row_once_those_of_like_length_together() -> None:
    batches = batches_of_pass(LENGTHS, np.ones(1000), 16, seed=1, number=0)
    assert sorted(np.concatenate(batches)) == list(range(1000))
    assert max(map(len, batches)) == 16
    spread = np.mean([np.ptp(LENGTHS[batch]) for batch in batches])
    assert spread < 0.2 * np.ptp(LENGTHS)


def test_passes_differ_and_seeds_differ_but_nothing_else() -> None:
    def order(seed: int, number: int) -> list[int]:
        return rows_of_pass(np.ones(50), seed, number).tolist()

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_weights_are_how_often_a_row_is_read() -> None:
    weights = np.array([0.0, 0.5, 1.0, 2.0, 2.5])
    total = Counter[int]()
    for number in range(400):
        total.update(rows_of_pass(weights, 1, number).tolist())
    assert total[0] == 0
    assert total[2] == 400
    assert total[3] == 800
    assert total[1] == pytest.approx(200, abs=50)
    assert total[4] == pytest.approx(1000, abs=50)


@pytest.mark.parametrize("skip", [0, 1, 62, 63, 64, 130])
def test_skipped_batches_are_those_already_seen(skip: int) -> None:
    def stream(start: int) -> list[list[int]]:
        batches = endless_batches(LENGTHS, np.ones(1000), 16, 1, start)
        return [batch.tolist() for batch in islice(batches, 140 - start)]

    assert stream(skip) == stream(0)[skip:]


def test_weights_of_nothing_are_refused() -> None:
    with pytest.raises(SettingsError, match="every weight is 0"):
        next(endless_batches(LENGTHS, np.zeros(1000), 16, 1))
