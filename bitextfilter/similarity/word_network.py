"""A network that reads a pair word by word, and says how probably it is a translation.

The average of a sentence hardly changes with one word. Here each word looks for its counterpart on
the other side by attention, by itself and in its context, and is compared with what it found, as
in the decomposable attention model (Parikh et al. 2016: attend, compare, aggregate); how well the
words are covered is counted by kernel pooling (:mod:`bitextfilter.similarity.coverage`). What was
compared and counted, the sentence vectors' difference and product, and what the sentences look
like go through one hidden layer to one logit, or two.

What depends on a word alone comes first (:meth:`WordNetwork.table`), so that it need be computed
only once for each distinct word.

Kinds of words are learnt; beside them stand the traits that their spelling tells, and rarity.

Letters: n pairs, t words a sentence, u words, e the encoder's width, w ours, m that of words by
themselves, c kinds of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, normalize, pad

from bitextfilter.models.dropout import Dropout
from bitextfilter.similarity.coverage import (
    FEATURES,
    SCALARS,
    Covering,
    Extent,
    covering,
    density,
    pooled,
    swapped,
)
from bitextfilter.similarity.word_settings import WordClassifierSettings
from bitextfilter.text.spelling import LOOKS, TRAITS

__all__ = ["Sentences", "WordNetwork"]

_SENTENCE_UNITS = 96
_WORD_SCALE, _SENTENCE_SCALE, _COSINE_SCALE = 6.0, 10.0, 3.0
"""Factors that bring numbers of unit vectors near 1, where networks learn best."""
_DROPOUT = 0.1
_TRAITS = TRAITS.stop - TRAITS.start


@dataclass(frozen=True)
class Sentences:
    """One side of ``n`` pairs."""

    words: Tensor
    """``(n, t)``: places in the table of words."""
    lengths: Tensor
    """``(n,)``, float32, at least 1: how many of the t are words."""
    letters: Tensor
    """``(n, t)``: equal for words of the same letters, on either side."""
    figures: Tensor
    """``(n, t)``: equal for words of the same digits; 0 for none."""
    repeats: Tensor
    """``(n, t, 2)``: 1 for words that the sentence had before, alone and with the one before."""
    vectors: Tensor
    """``(n, e)``: the sentences' vectors, of length 1."""


@dataclass(frozen=True)
class _Read:
    """The words of n sources and, behind them, of n targets, in numbers."""

    extent: Extent
    meanings: Tensor
    """``(2 n, t, m)``, of length 1: of words by themselves."""
    states: Tensor
    """``(2 n, t, w)``: of words in their contexts."""
    queries: Tensor
    """``(2 n, t, w)``, of length 1: the same, to find each other by."""
    kinds: Tensor
    """``(2 n, t, c)``, from 0 to 1."""
    looks: Tensor
    """``(2 n, t, LOOKS)``."""


class WordNetwork(nn.Module):
    """From both sides of pairs to answers."""

    def __init__(self, settings: WordClassifierSettings) -> None:
        super().__init__()
        dim, width, kinds = settings.dim, settings.width, settings.word_kinds
        meaning, hidden = settings.meaning, settings.hidden
        self.meaning = nn.Linear(dim, meaning, bias=False)
        self.contexts = nn.Linear(dim + LOOKS, 3 * width, bias=False)
        self.kinds = nn.Linear(dim + LOOKS, kinds)
        self.places = nn.Linear(4, width + kinds, bias=False)
        self.sides = nn.Parameter(torch.zeros(2, width))
        self.wider = nn.Linear(3 * width, width)
        self.kinds_in_context = nn.Linear(width, kinds, bias=False)
        self.query = nn.Linear(width, width)
        self.weights = nn.Parameter(torch.tensor([1.0, 1.0, 10.0, 4.0]))
        self.compare = nn.Linear(4 * width + kinds + _TRAITS + SCALARS, width)
        self.compared = nn.Linear(width, width)
        self.sentence = nn.Linear(2 * dim, _SENTENCE_UNITS)
        side = (kinds + _TRAITS + 1) * FEATURES + kinds + 2 * width + 3 * LOOKS + 1
        self.hidden = nn.Linear(2 * side + LOOKS + _SENTENCE_UNITS + 1, hidden)
        self.out = nn.Linear(hidden, settings.answers)
        self.dropout = Dropout(_DROPOUT)
        self._columns = [3 * width, meaning, kinds, LOOKS]

    def table(self, vectors: Tensor, looks: Tensor) -> Tensor:
        """Word vectors ``(u, e)`` of about length 1, and looks ``(u, LOOKS)`` → ``(u, columns)``.

        A row is what the network takes of a word, of that word alone. A row of zeros stands for
        no word.
        """
        words = torch.cat([vectors * _WORD_SCALE, looks], dim=1)
        meanings = normalize(self.meaning(vectors), dim=1)
        return torch.cat([self.contexts(words), meanings, self.kinds(words), looks], dim=1)

    def forward(self, tables: Sequence[Tensor], pairs: Sequence[Sentences]) -> Tensor:
        """Both sides' tables of words, and both sides of n pairs → answers ``(n, 1 or 2)``.

        The sources, and behind them the targets, are read together: half as many steps.
        """
        rows = [embedding(some.words, table) for table, some in zip(tables, pairs, strict=True)]
        both = self._read(
            torch.cat(rows).float(),
            torch.cat([some.lengths for some in pairs]),
            torch.cat([some.repeats for some in pairs]),
        )
        sides = self._sides(both, self._covering(both, pairs)).chunk(2)
        source, target = density(both.looks).chunk(2)
        seen = torch.cat([*sides, self._sentences(*pairs), (source - target).abs()], dim=1)
        answers: Tensor = self.out(self.dropout(torch.relu(self.hidden(seen))))
        return answers

    def _read(self, rows: Tensor, lengths: Tensor, repeats: Tensor) -> _Read:
        """Rows of the tables, ``(2 n, t, columns)``, and so on → words in their contexts."""
        extent = Extent(lengths, rows.shape[1])
        inside = extent.inside[:, :, None]
        contexts, meanings, kinds, looks = torch.split(rows, self._columns, dim=2)
        edges = torch.stack([extent.first, extent.last], dim=2)
        places = self.places(torch.cat([repeats, edges], dim=2))
        sides, width = self.sides.repeat_interleave(len(rows) // 2, dim=0), self.sides.shape[1]
        before, here, after = contexts.chunk(3, dim=2)
        states = here + _shifted(before, 1) + _shifted(after, -1) + places[:, :, :width]
        states = torch.relu(states + sides[:, None]) * inside
        around = torch.cat([_shifted(states, 1), states, _shifted(states, -1)], dim=2)
        states = states + torch.relu(self.wider(around)) * inside
        kinds = kinds + places[:, :, width:] + self.kinds_in_context(states)
        queries = normalize(self.query(states), dim=2) * inside
        return _Read(
            extent, meanings, self.dropout(states), queries, torch.sigmoid(kinds) * inside, looks
        )

    def _covering(self, both: _Read, pairs: Sequence[Sentences]) -> Covering:
        """How the sources are covered by the targets, and behind that the other way."""
        source, target = pairs
        inside = both.extent.inside.chunk(2)
        alike = [
            _equal(source.letters, target.letters) * inside[0][:, :, None] * inside[1][:, None],
            _equal(source.figures, target.figures) * (source.figures != 0)[:, :, None],
            _products(*both.meanings.chunk(2)),
            _products(*both.queries.chunk(2)),
        ]
        one_way = torch.stack(alike)
        ways = torch.cat([one_way, one_way.transpose(2, 3)], dim=1)
        scores = torch.tensordot(self.weights, ways, dims=1)
        return covering(scores, ways, both.extent, both.extent.swapped())

    def _sides(self, both: _Read, covered: Covering) -> Tensor:
        """What is counted and compared of each side's words, and its looks → ``(2 n, width)``."""
        extent = both.extent
        kinds = torch.cat([both.kinds, both.looks[:, :, TRAITS]], dim=2)
        found = covered.attention @ swapped(both.states)
        words = [both.states, found, (both.states - found).abs(), both.states * found]
        compared = torch.relu(self.compare(torch.cat([*words, kinds, covered.scalars], dim=2)))
        compared = torch.relu(self.compared(compared)) * extent.inside[:, :, None]
        mean = compared.sum(dim=1) / extent.lengths[:, None]
        every = torch.cat([kinds, extent.inside[:, :, None]], dim=2)
        last = (both.looks * extent.last[:, :, None]).sum(dim=1)
        parts = [pooled(every, covered.features, extent.lengths), density(both.kinds), mean]
        parts += [compared.amax(dim=1), density(both.looks), both.looks[:, 0], last]
        return torch.cat([*parts, extent.lengths.log()[:, None]], dim=1)

    def _sentences(self, source: Sentences, target: Sentences) -> Tensor:
        """Difference and product of sentence vectors, and their cosine → ``(n, units + 1)``."""
        a, b = source.vectors, target.vectors
        both = torch.cat([(a - b).abs(), a * b], dim=1) * _SENTENCE_SCALE
        cosine = (a * b).sum(dim=1, keepdim=True) * _COSINE_SCALE
        return torch.cat([torch.relu(self.sentence(both)), cosine], dim=1)


def _shifted(rows: Tensor, places: int) -> Tensor:
    """Each word's numbers ``(n, t, w)`` at the next place, 1, or the one before, -1."""
    return pad(rows, (0, 0, places, -places))


def _equal(source: Tensor, target: Tensor) -> Tensor:
    """``(n, t)`` twice → ``(n, t, t)``, 1 where they are equal."""
    return (source[:, :, None] == target[:, None, :]).to(torch.float32)


def _products(source: Tensor, target: Tensor) -> Tensor:
    """``(n, t, w)`` twice → the products of all words, ``(n, t, t)``."""
    return source @ target.transpose(1, 2)
