"""The word-level pair network, and its coverage kernels.

The average of a sentence hardly changes with one word. Here each word looks for its counterpart on
the other side by attention, by itself and in its context, and is compared with it, as
in the decomposable attention model (Parikh et al. 2016: attend, compare, aggregate); how well the
words are covered is counted by kernel pooling (:class:`Coverage`). The comparisons, the counts, the
difference and product of the sentence vectors, and the sentences' surface features go through one
hidden layer to one logit, or two.

Everything that depends on a word alone comes first (:meth:`WordNetwork.table`), and is computed
once for each distinct word. Kinds of words are learnt; flags of spelling and rarity add to them.

Kernel pooling (Xiong et al. 2017; Dai et al. 2018): instead of one number for the best match of a
word, its position on a scale; summed over the words, that is a soft histogram. Our kernels are
triangular (no exponentials), and there is a histogram for each of some learnt kinds of words: so a
negation or a name without a counterpart is seen among many words that have one.

How familiar two neighbouring words are (:mod:`bitextfilter.text.features`) shows text that nobody
would write: words left out, added, misspelt, swapped, in another form.

Letters: n pairs, t words a sentence (rows i of either side, columns j of the other), u words,
e the encoder's width, w ours, m the width of words by themselves, k kernels, c kinds of words,
f features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, normalize, pad

from bitextfilter.arrays import Indices, Vectors
from bitextfilter.models.layers import Dropout, Outputs, padding_mask
from bitextfilter.pairs.base import (
    COSINES,
    COVERAGE_SCALARS,
    FLAGS,
    PLACES,
    SENTENCE_UNITS,
    WORD_SCALE,
    WordClassifierSettings,
    layer_inputs,
)
from bitextfilter.pairs.compiled_words import WordRows
from bitextfilter.text.features import RARITY, WORD_FLAGS


@dataclass(frozen=True)
class WordSentences:
    """One side of ``n`` pairs."""

    words: Tensor
    """``(n, t)``: places in the table of words."""
    lengths: Tensor
    """``(n,)``, float32, at least 1: numbers of words."""
    letters: Tensor
    """``(n, t)``: equal for words of the same letters, on either side."""
    figures: Tensor
    """``(n, t)``: equal for words of the same digits; 0 for none."""
    repeats: Tensor
    """``(n, t, 2)``: 1 for words, and for pairs with the word before, that are repeated."""
    spaced: Tensor
    """``(n, t)``: 1 for words at the beginning or after a space."""
    bigrams: Tensor
    """``(n, t + 1)``: keys of each word and the one before it, and of the end; -1 for unknown."""
    vectors: Tensor
    """``(n, e)``: the sentences' vectors, of length 1."""


def padded(some: WordRows, rows: Indices, size: int, vectors: Vectors) -> WordSentences:
    """Return the sentences of these *rows* of some, each filled up to *size* words.

    ``vectors (n, dim)``: of the sentences.
    """
    lengths = some.words.lengths[rows]
    inside = np.arange(size) < lengths[:, None]
    taken = some.words.places(rows)
    words = np.zeros(inside.shape, dtype=np.int64)
    words[inside] = some.words.flat[taken]
    repeated = np.zeros((*inside.shape, 2), dtype=np.float32)
    repeated[inside] = some.repeats[taken]
    spaced = np.zeros(inside.shape, dtype=np.float32)
    spaced[inside] = some.spaced[taken]
    ends = np.arange(size + 1) <= lengths[:, None]
    keys = np.full(ends.shape, -1, dtype=np.int64)
    keys[ends] = some.bigrams.take(rows).flat
    return WordSentences(
        words=torch.from_numpy(words),
        lengths=torch.from_numpy(lengths.astype(np.float32)),
        letters=torch.from_numpy(some.spelling.letters[words]),
        figures=torch.from_numpy(some.spelling.figures[words] * inside),
        repeats=torch.from_numpy(repeated),
        spaced=torch.from_numpy(spaced),
        bigrams=torch.from_numpy(keys),
        vectors=torch.from_numpy(vectors),
    )


FAR = -1e4
"""Added to the scores of padding: 0 after a softmax."""

_ATTENTION_SCALE = 2.0
"""Factor of the scores in the attention."""
_SPREAD = 6.0
"""Factor of the lag, which is in parts of a sentence."""
_FARTHEST = 4.0
"""Words from which a step counts as no longer."""


class Extent:
    """The lengths of ``n`` sentences of at most ``t`` words, as masks."""

    def __init__(self, lengths: Tensor, words: int) -> None:
        """``lengths (n,)``, at least 1; ``words``: t."""
        self.lengths = lengths
        self.inside = padding_mask(lengths, words).to(lengths.dtype)
        """``(n, t)``: 1 for a word, 0 for none."""
        self.outside = (1 - self.inside) * FAR
        """``(n, t)``: 0 for a word, ``FAR`` for none."""
        edges = pad(self.inside, (1, 1))
        self.first = self.inside - edges[:, :-2] * self.inside
        self.last = self.inside - edges[:, 2:] * self.inside


@dataclass(frozen=True)
class Coverage:
    """Coverage of the words of one side by the words of the other."""

    attention: Tensor
    """``(n, t, t)``: from each word to each word of the other side; rows add up to 1."""
    features: Tensor
    """``(n, t, COVERAGE_FEATURES)``, from 0 to 1."""
    scalars: Tensor
    """``(n, t, COVERAGE_SCALARS)``, from -6 to 6."""


def coverage(scores: Tensor, alike: Tensor, side: Extent, other: Extent) -> Coverage:
    """Compute the coverage of the words of one side.

    Args:
        scores: match of word i with word j, ``(n, t, t)``.
        alike: ``(4, n, t, t)``: 1 where words are spelt alike; 1 where their figures are; the
            cosines of words by themselves, and in their contexts.
        side: lengths of the sentences of this side.
        other: lengths of the other side's.
    """
    outside, cosines = other.outside[:, None, :], alike[2:]
    attention = torch.softmax(_ATTENTION_SCALE * scores + outside, dim=2)
    spelling, figures = alike[:2].amax(dim=3)
    nearest = [*(cosines + outside).amax(dim=3), *(cosines * attention).sum(dim=3)]
    places = torch.arange(attention.shape[2], device=attention.device, dtype=attention.dtype)
    expected = attention @ places
    # From each word's counterpart to the next one's, in words; and its lag behind the word, as
    # parts of their sentences.
    step = torch.cat([expected.diff(dim=1) * side.inside[:, 1:], expected[:, :1] * 0], dim=1)
    lag = (expected / other.lengths[:, None] - places / side.lengths[:, None]) * _SPREAD
    sure = attention.amax(dim=2)
    far = step.abs().clamp(max=_FARTHEST) / _FARTHEST
    features = [_triangular(torch.stack(nearest, dim=2), COSINES).flatten(2)]
    features.append(_triangular(torch.stack([step, lag], dim=2), PLACES).flatten(2))
    features.append(torch.stack([spelling, figures, sure, far], dim=2))
    scalars = [spelling, figures, sure, lag.clamp(-6, 6), step.clamp(-3, 3), *nearest]
    return Coverage(attention, torch.cat(features, dim=2), torch.stack(scalars, dim=2))


def _triangular(values: Tensor, scale: tuple[float, float, int]) -> Tensor:
    """Apply triangular kernels at the points of an even scale to values ``(...)`` → ``(..., k)``.

    Between two points both are above 0, in sum 1; beyond the ends the last one is 1.
    """
    first, last, points = scale
    at = (values - first) * ((points - 1) / (last - first))
    at = at.clamp(0, points - 1)[..., None]
    numbers = torch.arange(points, device=values.device, dtype=values.dtype)
    return torch.relu(1 - (at - numbers).abs())


def density(kinds: Tensor) -> Tensor:
    """Count the words of each kind ``(n, t, c)`` → log(1 + count), ``(n, c)``."""
    return torch.log1p(kinds.sum(dim=1))


def pooled(kinds: Tensor, features: Tensor, lengths: Tensor) -> Tensor:
    """Average the features ``(n, t, f)`` over the words of each kind ``(n, t, c)`` → ``(n, c f)``.

    Averages of rare kinds are drawn to 0: a twentieth of the ``lengths (n,)`` is added to the
    number of their words.
    """
    sums = kinds.transpose(1, 2) @ features
    words = kinds.sum(dim=1)[:, :, None]
    return (sums / (words + 0.05 * lengths[:, None, None])).flatten(1)


def swapped(rows: Tensor) -> Tensor:
    """Put the second half of the rows before the first."""
    first, second = rows.chunk(2)
    return torch.cat([second, first])


_SENTENCE_SCALE, _COSINE_SCALE = 10.0, 3.0
"""Factors that bring numbers of unit vectors near 1, as ``WORD_SCALE`` does."""
_DROPOUT = 0.1


@dataclass(frozen=True)
class _Read:
    """The encoded words of n sources and, behind them, of n targets."""

    extent: Extent
    meanings: Tensor
    """``(2 n, t, m)``, of length 1: of words by themselves."""
    states: Tensor
    """``(2 n, t, w)``: of words in their contexts."""
    queries: Tensor
    """``(2 n, t, w)``, of length 1: projections of the states that words are matched by."""
    kinds: Tensor
    """``(2 n, t, c)``, from 0 to 1."""
    features: Tensor
    """``(2 n, t, f)``."""
    fluency: Tensor
    """``(2 n, t, 4)``, or with a last dimension of 0."""


def fluency(familiar: Tensor, rarity: Tensor, extent: Extent) -> Tensor:
    """Describe words by the bigrams on their left and right.

    Args:
        familiar: how familiar the bigrams are, 0 to 1, ``(n, t + 1)``.
        rarity: of the words, 0 to 1, ``(n, t)``.
        extent: the lengths of the sentences.

    Returns:
        ``(n, t, 4)``, from 0 to 1; 0 beyond the end. How familiar both bigrams are; and how odd,
        which is the more so, the more frequent both words are and the less familiar they are
        together.
    """
    common = (1 - rarity) * extent.inside
    before = pad(common, (1, 0)) + pad(extent.first, (0, 1))
    after = pad(common, (0, 1)) + pad(extent.last, (1, 0))
    odd = (1 - familiar) * before * after
    four = torch.stack([familiar[:, :-1], familiar[:, 1:], odd[:, :-1], odd[:, 1:]], dim=2)
    return four * extent.inside[:, :, None]


class WordNetwork(nn.Module):
    """Both sides of pairs → logits."""

    def __init__(self, settings: WordClassifierSettings) -> None:
        super().__init__()
        dim, width, kinds = settings.dim, settings.width, settings.word_kinds
        meaning, hidden = settings.meaning, settings.hidden
        self._widths = layer_inputs(settings)
        reads = {name: sum(parts) for name, parts in self._widths.items()}
        self.meaning = nn.Linear(dim, meaning, bias=False)
        features, self._spacing = settings.word_features, settings.spacing
        self._fluency = settings.bigrams > 0
        self.contexts = nn.Linear(reads["contexts"], 3 * width, bias=False)
        self.kinds = nn.Linear(reads["kinds"], kinds)
        self.places = nn.Linear(reads["places"], width + kinds, bias=False)
        self.sides = nn.Parameter(torch.zeros(2, width))
        self.wider = nn.Linear(3 * width, width)
        self.kinds_in_context = nn.Linear(width, kinds, bias=False)
        self.query = nn.Linear(width, width)
        self.weights = nn.Parameter(torch.tensor([1.0, 1.0, 10.0, 4.0]))
        self.compare = nn.Linear(4 * width + kinds + FLAGS + COVERAGE_SCALARS, width)
        self.compared = nn.Linear(width, width)
        self.sentence = nn.Linear(2 * dim, SENTENCE_UNITS)
        self.hidden = nn.Linear(reads["hidden"], hidden)
        self.out = Outputs(hidden, settings.logits)
        self.dropout = Dropout(_DROPOUT)
        self._columns = [3 * width, meaning, kinds, features]

    def start_from(self, other: WordNetwork, change: Tensor | None, alike: bool = False) -> None:
        """Take the weights of another network, which may read less: what it lacks counts for 0.

        With ``change (e, e of the other)``, it is over vectors of another encoder: what reads words
        reads ``vectors @ change``. The layer of the sentence vectors stays new, and silent at
        first, unless the vectors of both are *alike*: differences and products of their numbers
        say nothing about those of others.
        """
        silent = change is not None and not alike
        weights, own = other.state_dict(), self.state_dict()
        if change is not None:
            for name in ("meaning.weight", "contexts.weight", "kinds.weight"):
                vectors, rest = weights[name].tensor_split([len(change.T)], dim=1)
                weights[name] = torch.cat([vectors @ change.T, rest], dim=1)
        if silent:
            weights |= {name: own[name] for name in ("sentence.weight", "sentence.bias")}
        for name, widths in self._widths.items():
            parts = torch.split(weights[f"{name}.weight"], _read_by(other, name, change), dim=1)
            wider = [
                pad(part, (0, width - part.shape[1]))
                for part, width in zip(parts, widths, strict=True)
            ]
            if silent and name == "hidden":
                wider[_OF_SENTENCES] = torch.zeros_like(wider[_OF_SENTENCES])
            weights[f"{name}.weight"] = torch.cat(wider, dim=1)
        self.load_state_dict(weights)

    def table(self, vectors: Tensor, features: Tensor) -> Tensor:
        """Word vectors ``(u, e)`` of length 1 or so, features ``(u, f)`` → ``(u, columns)``.

        A row holds everything that depends on the word alone. A row of zeros stands for no word.
        """
        words = torch.cat([vectors * WORD_SCALE, features], dim=1)
        meanings = normalize(self.meaning(vectors), dim=1)
        return torch.cat([self.contexts(words), meanings, self.kinds(words), features], dim=1)

    def forward(
        self, tables: Sequence[Tensor], pairs: Sequence[WordSentences], familiar: Sequence[Tensor]
    ) -> Tensor:
        """Both sides' tables of words, and both sides of n pairs → logits ``(n, 1 or 2)``.

        *familiar*: how familiar both sides' bigrams are, 0 to 1, ``(n, t + 1)``; empty for a
        network that does not see it. Sources and targets are read together, which halves the
        number of steps.
        """
        rows = [embedding(side.words, table) for table, side in zip(tables, pairs, strict=True)]
        both = self._read(
            torch.cat(rows).float(),
            torch.cat([side.lengths for side in pairs]),
            torch.cat([self._places(side) for side in pairs]),
            torch.cat(list(familiar)) if self._fluency else None,
        )
        sides = self._sides(both, self._covering(both, pairs)).chunk(2)
        a, b = (side.vectors for side in pairs)
        compared = torch.cat([(a - b).abs(), a * b], dim=1) * _SENTENCE_SCALE
        cosine = (a * b).sum(dim=1, keepdim=True) * _COSINE_SCALE
        source, target = density(both.features).chunk(2)
        parts = [*sides, torch.relu(self.sentence(compared)), cosine, (source - target).abs()]
        seen = torch.cat(parts, dim=1)
        logits: Tensor = self.out(self.dropout(torch.relu(self.hidden(seen))))
        return logits

    def _places(self, side: WordSentences) -> Tensor:
        """Features of words in their places, ``(n, t, 2 or 3)``."""
        spaced = [side.spaced[:, :, None]] if self._spacing else []
        return torch.cat([side.repeats, *spaced], dim=2)

    def _read(
        self, rows: Tensor, lengths: Tensor, repeats: Tensor, familiar: Tensor | None
    ) -> _Read:
        """Rows of the tables, ``(2 n, t, columns)``, and so on → words in their contexts."""
        extent = Extent(lengths, rows.shape[1])
        inside = extent.inside[:, :, None]
        contexts, meanings, kinds, features = torch.split(rows, self._columns, dim=2)
        edges = torch.stack([extent.first, extent.last], dim=2)
        seen, fluent = [repeats, edges], features[:, :, :0]
        if familiar is not None:
            fluent = fluency(familiar, features[:, :, RARITY], extent)
            seen.append(fluent)
        places = self.places(torch.cat(seen, dim=2))
        sides, width = self.sides.repeat_interleave(len(rows) // 2, dim=0), self.sides.shape[1]
        before, here, after = contexts.chunk(3, dim=2)
        states = here + _shifted(before, 1) + _shifted(after, -1) + places[:, :, :width]
        states = torch.relu(states + sides[:, None]) * inside
        around = torch.cat([_shifted(states, 1), states, _shifted(states, -1)], dim=2)
        states = states + torch.relu(self.wider(around)) * inside
        kinds = kinds + places[:, :, width:] + self.kinds_in_context(states)
        queries = normalize(self.query(states), dim=2) * inside
        kinds = torch.sigmoid(kinds) * inside
        return _Read(extent, meanings, self.dropout(states), queries, kinds, features, fluent)

    def _covering(self, both: _Read, pairs: Sequence[WordSentences]) -> Coverage:
        """Coverage of the sources by the targets and, behind it, of the targets by the sources."""
        source, target = pairs
        inside = both.extent.inside.chunk(2)
        letters = source.letters[:, :, None] == target.letters[:, None]
        figures = source.figures[:, :, None] == target.figures[:, None]
        meanings, queries = both.meanings.chunk(2), both.queries.chunk(2)
        alike = [
            letters * inside[0][:, :, None] * inside[1][:, None],
            (figures & (source.figures != 0)[:, :, None]).float(),
            meanings[0] @ meanings[1].mT,
            queries[0] @ queries[1].mT,
        ]
        one_way = torch.stack(alike)
        ways = torch.cat([one_way, one_way.transpose(2, 3)], dim=1)
        scores = torch.tensordot(self.weights, ways, dims=1)
        other = Extent(swapped(both.extent.lengths), len(ways[0, 0]))
        return coverage(scores, ways, both.extent, other)

    def _sides(self, both: _Read, covered: Coverage) -> Tensor:
        """The compared and counted words of each side, and its features → ``(2 n, width)``."""
        extent = both.extent
        kinds = torch.cat([both.kinds, both.features[:, :, WORD_FLAGS]], dim=2)
        found = covered.attention @ swapped(both.states)
        words = [both.states, found, (both.states - found).abs(), both.states * found]
        compared = torch.relu(self.compare(torch.cat([*words, kinds, covered.scalars], dim=2)))
        compared = torch.relu(self.compared(compared)) * extent.inside[:, :, None]
        mean = compared.sum(dim=1) / extent.lengths[:, None]
        every = torch.cat([kinds, extent.inside[:, :, None]], dim=2)
        last = (both.features * extent.last[:, :, None]).sum(dim=1)
        parts = [pooled(every, covered.features, extent.lengths), density(both.kinds), mean]
        parts += [compared.amax(dim=1), density(both.features), both.features[:, 0], last]
        parts.append(extent.lengths.log()[:, None])
        if self._fluency:
            fluent = both.fluency
            parts += [fluent.sum(dim=1) / extent.lengths[:, None], fluent.amax(dim=1)]
        return torch.cat(parts, dim=1)


_OF_SENTENCES = -3
"""The part of what the hidden layer reads that is of the sentence vectors."""


def _read_by(network: WordNetwork, name: str, change: Tensor | None) -> list[int]:
    """Return the widths of the parts that a layer of a network reads, with changed vectors."""
    widths = list(network._widths[name])
    if change is not None and name in ("contexts", "kinds"):
        widths[0] = len(change)
    return widths


def _shifted(rows: Tensor, places: int) -> Tensor:
    """Each word's numbers ``(n, t, w)`` at the next place, 1, or the one before, -1."""
    return pad(rows, (0, 0, places, -places))
