"""Training sentences as arrays of ids, and the mini-batches made of them.

Everything is a function of the seed and the pass, so that a resumed run sees the very batches
an uninterrupted one would have seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.text.processor import PIECES, TRIGRAMS
from bitextfilter.text.ragged import Ragged

Ids = NDArray[np.int32]

POOL_BATCHES = 32
"""Batches that are sorted by length together: neighbours in length, yet mixed anew each pass."""


class Sentences:
    """Many sentences as ids: those of their pieces, and of their words' trigrams if needed."""

    def __init__(self, rows: Iterable[Ids], trigrams: Ragged | None = None) -> None:
        self.views = {PIECES: Ragged.of(rows)}
        if trigrams is not None:
            self.views[TRIGRAMS] = trigrams
        self.lengths = self.views[PIECES].lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def texts(self) -> Iterator[tuple[bytes, ...]]:
        """What is read of each sentence."""
        for rows in zip(*self.views.values(), strict=True):
            yield tuple(row.tobytes() for row in rows)

    def take(self, rows: NDArray[np.int64]) -> Sentences:
        """The sentences of these places."""
        trigrams = self.views.get(TRIGRAMS)
        return Sentences(self.views[PIECES].take(rows), trigrams and trigrams.take(rows))

    def followed_by(self, other: Sentences) -> Sentences:
        """These sentences and then the others."""
        trigrams = [each.views[TRIGRAMS] for each in (self, other) if TRIGRAMS in each.views]
        rows = [*self.views[PIECES], *other.views[PIECES]]
        return Sentences(
            rows, Ragged.of(r for each in trigrams for r in each) if trigrams else None
        )


@dataclass(frozen=True)
class Corpus:
    """Parallel sentences, row-aligned, each row with the weight of its file."""

    source: Sentences
    target: Sentences
    weights: NDArray[np.float64]
    """How often a row is read in a pass, ``(n,)``; a fraction is a chance drawn each pass."""
    templates: Ragged | None = None
    """Symbols of the template of each target, for translators that follow templates."""

    def __len__(self) -> int:
        return len(self.source)

    def side(self, side: int) -> Sentences:
        """Source (0) or target (1)."""
        return self.target if side else self.source

    def up_to(self, length: int) -> Corpus:
        """Those pairs of which neither side is longer, in pieces."""
        longer = np.maximum(self.source.lengths, self.target.lengths)
        kept = np.flatnonzero(longer <= length)
        templates = self.templates and self.templates.take(kept)
        return Corpus(self.source.take(kept), self.target.take(kept), self.weights[kept], templates)

    @cached_property
    def keys(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of the texts of both sides, ``(n,)`` each: equal for texts that read the same.

        A text that stands on both sides, as those of paraphrases do, has one number. Where there
        are trigrams, they tell texts apart of whose pieces the vocabulary knows none.
        """
        seen: dict[tuple[bytes, ...], int] = {}
        source, target = (
            np.array([seen.setdefault(text, len(seen)) for text in side.texts()], np.int64)
            for side in (self.source, self.target)
        )
        return source, target


def rows_of_pass(weights: NDArray[np.float64], seed: int, number: int) -> NDArray[np.int64]:
    """Row numbers read in a pass, repeated by weight and shuffled."""
    random = np.random.default_rng([seed, number])
    whole = np.floor(weights)
    times = whole + (random.random(len(weights)) < weights - whole)
    rows = np.repeat(np.arange(len(weights)), times.astype(np.int64))
    return random.permutation(rows)


def batches_of_pass(
    lengths: NDArray[np.int64], weights: NDArray[np.float64], size: int, seed: int, number: int
) -> list[NDArray[np.int64]]:
    """Row numbers of a pass, cut into mini-batches of similar length in random order.

    The last batch may be smaller than ``size``; every drawn row stands in exactly one batch.
    """
    rows = rows_of_pass(weights, seed, number)
    batches: list[NDArray[np.int64]] = []
    for start in range(0, len(rows), size * POOL_BATCHES):
        pool = rows[start : start + size * POOL_BATCHES]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[i : i + size] for i in range(0, len(pool), size)]
    order = np.random.default_rng([seed, number, 1]).permutation(len(batches))
    return [batches[i] for i in order]


def endless_batches(
    lengths: NDArray[np.int64], weights: NDArray[np.float64], size: int, seed: int, skip: int = 0
) -> Iterator[NDArray[np.int64]]:
    """Mini-batches pass after pass, from the ``skip``-th on."""
    number = 0
    if not weights.sum() > 0:
        raise SettingsError("no sentences to train on: every weight is 0")
    while True:
        batches = batches_of_pass(lengths, weights, size, seed, number)
        yield from batches[skip:]
        skip = max(0, skip - len(batches))
        number += 1
