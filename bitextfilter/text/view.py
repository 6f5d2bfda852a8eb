"""Sentences as tokens, and each distinct token as ids: what stands often is looked at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from bitextfilter.text.ragged import Ragged

__all__ = ["PIECES", "TRIGRAMS", "View", "numbered", "split"]

PIECES, TRIGRAMS = "pieces", "trigrams"
"""What a sentence can be read as: the pieces it is segmented into, or its words' trigrams."""


@dataclass(frozen=True)
class View:
    """Some sentences read in one way: their tokens, and the ids that each distinct token is.

    A token is what stands between white space, or, :meth:`one_by_one`, an id.
    """

    rows: Ragged
    """Places in ``tokens`` of the tokens of each sentence; at least one."""
    tokens: Ragged
    """Ids of each distinct token; at least one."""

    def ids(self) -> Ragged:
        """Return the ids of each sentence, those of all its tokens together."""
        return self.tokens.take(self.rows.flat).merged(self.rows.lengths)

    def one_by_one(self) -> View:
        """Return the same sentences with a token for each id."""
        ids = self.ids()
        tokens, places = np.unique(ids.flat, return_inverse=True)
        return View(Ragged(places, ids.lengths), Ragged(tokens, np.ones(len(tokens), np.int64)))


class _Numbers(dict[str, int]):
    """Numbers words in the order they come."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


_BETWEEN = "\0"
"""Stands between sentences as a word; a control character, which within one is white space."""


def numbered(sentences: Sequence[str]) -> tuple[Ragged, list[str]]:
    """Return the words of each sentence, as places among the distinct words, and those.

    The first of the distinct words is the empty one, and is in no sentence.
    """
    text = f" {_BETWEEN} ".join(sentences)
    if text.count(_BETWEEN) >= max(len(sentences), 1):
        text = f" {_BETWEEN} ".join(sentence.replace(_BETWEEN, " ") for sentence in sentences)
    words = text.split()
    number = _Numbers({_BETWEEN: 0})
    places = np.fromiter(map(number.__getitem__, words), dtype=np.int64, count=len(words))
    bounds = np.concatenate([[-1], np.flatnonzero(places == 0), [len(places)]])
    lengths = np.diff(bounds)[: len(sentences)] - 1
    return Ragged(places[places > 0], lengths), ["", *islice(number, 1, None)]


def split(normalised: Sequence[str]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return the words of normalised sentences in one list, and how many each sentence has.

    A list for each would keep the garbage collector busy.
    """
    counts = (sentence.count(" ") + 1 if sentence else 0 for sentence in normalised)
    return " ".join(normalised).split(), np.fromiter(counts, np.int64, len(normalised))
