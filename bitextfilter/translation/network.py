"""What every translation network gives; sentences in blocks of fixed shapes; search.

Letters: n sentences, k hypotheses of each, t source positions, T target positions, q positions of
the decoder, w width of a decoder state, c clues, v vocabulary.

A length is rounded up to one of a few fixed lengths, and all blocks of one length have the same
number of rows, some empty: so the shape of a computation depends on its sentence alone.

Copying from the source (See, Liu & Manning 2017, "Get To The Point", equations 8 and 9):
P(w) = p_gen P_vocab(w) + (1 - p_gen) Σ a_i over the source positions i that hold w: the decoder
writes a piece of the vocabulary, or a piece that the source has, by its attention a to the source.
Both sides share one vocabulary of pieces: no word outside it is copied.

Greedy search, beam search and sampling are one loop with different choosers. A score is the mean
natural-log probability of a token, the end mark included.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bitextfilter.arrays import Ids, Indices, Integers
from bitextfilter.models.layers import ByteDropout, NarrowLinear, narrow_linear_layers
from bitextfilter.text.segment import UNKNOWN
from bitextfilter.text.vocabulary import BEGIN, END, PAD


class Copies(NamedTuple):
    """The choice between generating and copying at each of some positions of the decoder."""

    switch: Tensor
    """Logit of p_gen, ``(...)``."""
    attention: Tensor
    """Log of the attention to all places of a piece, where it stands first; elsewhere -inf:
    ``(..., t)``."""
    ids: Tensor
    """The pieces, ``(..., t)``."""

    def mixed(self, logs: Tensor) -> Tensor:
        """Log-probabilities of generated tokens ``(..., v)`` → of generated or copied ones (eq. 9).

        log P(w) = log p_gen + log P_vocab(w) + log(1 + copied / generated).
        """
        switch = self.switch[..., None]
        ratio = self.attention - switch - logs.gather(-1, self.ids)
        gain = -functional.logsigmoid(-ratio)
        return (logs + functional.logsigmoid(switch)).scatter_add(-1, self.ids, gain)


def first_places(ids: Tensor) -> Tensor:
    """Return whether position i of a source holds the piece that stands first at j: ``(n, t, t)``.

    ``ids (n, t)``.
    """
    same = ids[:, :, None] == ids[:, None]
    first = ~same.tril(-1).any(dim=2)
    return same & first[:, None]


class Copier(nn.Module):
    """The switch between generating and copying (eq. 8), linear in clues."""

    def __init__(self, clues: int) -> None:
        """``clues``: their number, c."""
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(clues))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, clues: Tensor, scores: Tensor, ids: Tensor) -> Copies:
        """Return the choices at ``(n, q)`` positions.

        Args:
            clues: contexts, state and input of the decoder, ``(n, q, c)``.
            scores: of the attention to the source, before the softmax, ``(n, q, t)``.
            ids: the source, ``(n, t)``.
        """
        kind = torch.promote_types(scores.dtype, torch.float32)
        with torch.autocast(scores.device.type, enabled=False):  # bfloat16 does not sum to 1
            summed = scores.to(kind).softmax(dim=2) @ first_places(ids).to(kind)
        none = summed == 0
        attention = summed.masked_fill(none, 1.0).log().masked_fill(none, float("-inf"))
        # A product with a vector would depend on the number of rows, in its last bits.
        switch = (clues * self.weight).sum(dim=2) + self.bias
        return Copies(switch, attention, ids[:, None].expand_as(scores))


class TokenRows(NamedTuple):
    """Sentences as ids ``(n, t)``, padded with 0, and their lengths ``(n,)``, at least 1."""

    ids: Tensor
    lengths: Tensor
    templates: TokenRows | None = None
    """The template symbols of each source, for networks that follow templates."""

    def cut(self, most: int) -> list[TokenRows]:
        """Split into parts of at most *most* sentences, in order."""
        parts = zip(torch.split(self.ids, most), torch.split(self.lengths, most), strict=True)
        if self.templates is None:
            return [TokenRows(*part) for part in parts]
        return [
            TokenRows(*part, more)
            for part, more in zip(parts, self.templates.cut(most), strict=True)
        ]


class Decoded(NamedTuple):
    """Positions of the decoder, and the choices to copy there, of networks that copy."""

    states: Tensor
    """``(..., w)``"""
    copies: Copies | None = None

    def at(self, places: slice | Tensor | tuple[slice, slice]) -> Decoded:
        """Return some of the positions."""
        if self.copies is None:
            return Decoded(self.states[places])
        return Decoded(self.states[places], Copies(*(part[places] for part in self.copies)))


class State(ABC):
    """``k`` hypotheses of each of ``n`` sentences while they are written."""

    @abstractmethod
    def step(self, tokens: Tensor) -> Decoded:
        """Read the last tokens ``(n, k)`` → decoder states ``(n, k, w)``."""

    @abstractmethod
    def select(self, parents: Tensor) -> None:
        """Keep these hypotheses, given by their places among the sentence's ``k``: ``(n, k)``."""


def flat_places(parents: Tensor) -> Tensor:
    """Return the places ``(n * k,)``, among all hypotheses, of those that *parents* ``(n, k)`` are.

    See :meth:`State.select`.
    """
    first = torch.arange(len(parents), device=parents.device)[:, None] * parents.shape[1]
    return (first + parents).flatten()


class TranslationNetwork(nn.Module, ABC):
    """An encoder of the source, a decoder of the target, and one table of subword vectors.

    The table serves the source, the target, and the output layer (Press & Wolf 2017).
    """

    def __init__(self, vocabulary: int, width: int) -> None:
        """``width``: of a subword vector and of a decoder state."""
        super().__init__()
        self.dropout = ByteDropout(0.0)
        """On vectors and the outputs of layers; the training sets its rate."""
        self.table = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.table.weight, std=width**-0.5)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self._narrow: NarrowLinear | None = None

    @abstractmethod
    def states(self, sources: TokenRows, inputs: Tensor) -> Decoded:
        """Decoder states ``(n, T, w)`` of given targets: ids ``(n, T)`` that begin with BEGIN."""

    @abstractmethod
    def start(self, sources: TokenRows, width: int) -> State:
        """Return ``width`` empty hypotheses of each sentence."""

    def output(self, states: Tensor) -> Tensor:
        """States ``(..., w)`` → logits ``(..., v)`` of the token to generate."""
        if self._narrow is not None:
            logits: Tensor = self._narrow(states)
            return logits
        return functional.linear(states, self.table.weight, self.bias)

    def predict(self, decoded: Decoded) -> Tensor:
        """Return natural-log probabilities ``(..., v)`` of the next token."""
        logs = self.output(decoded.states).to(self.bias.dtype).log_softmax(dim=-1)
        return logs if decoded.copies is None else decoded.copies.mixed(logs)

    def narrow(self) -> None:
        """Multiply matrices in bfloat16 from now on, except in recurrent layers; for inference."""
        narrow_linear_layers(self)
        self._narrow = NarrowLinear(self.table.weight, self.bias)


LADDER = np.array([8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512])
"""Lengths are rounded up to these; above the last, to its multiples."""

ROWS, FULL = 64, 64
"""Rows of a block of sentences of up to ``FULL`` tokens; halved for each doubling."""


class ShapedBlock(NamedTuple):
    """Some items of one shape."""

    items: Indices
    """Places of the items, at most ``rows``."""
    rows: int
    shape: tuple[int, ...]
    """The rounded length of each side."""


def rounded(lengths: Integers) -> Integers:
    """Round lengths up."""
    top = int(LADDER[-1])
    rungs = LADDER[np.minimum(np.searchsorted(LADDER, lengths), len(LADDER) - 1)]
    return np.where(lengths > top, -(-lengths // top) * top, rungs)


def shaped_blocks(lengths: Integers, most: int = ROWS) -> list[ShapedBlock]:
    """Sort items into blocks by the lengths of their sides, ``(n, sides)``.

    Long ones come first, so that threads end together; each item is in exactly one block.
    """
    if not len(lengths):
        return []
    shapes, group = np.unique(rounded(lengths), axis=0, return_inverse=True)
    order = np.lexsort((lengths.sum(1), group.reshape(-1)))
    bounds = np.searchsorted(group.reshape(-1)[order], np.arange(len(shapes) + 1))
    blocks = []
    for number, shape in enumerate(shapes.tolist()):
        rows = max(1, most >> max(0, -(-max(shape) // FULL) - 1).bit_length())
        items = order[bounds[number] : bounds[number + 1]]
        starts = range(0, len(items), rows)
        blocks += [ShapedBlock(items[i : i + rows], rows, tuple(shape)) for i in starts]
    return sorted(blocks, key=lambda block: -sum(block.shape))


def token_rows(
    sentences: Sequence[Ids], block: ShapedBlock, side: int, device: torch.device
) -> TokenRows:
    """Return one side of a block, padded; an empty row is a single token 0."""
    ids = np.zeros((block.rows, block.shape[side]), dtype=np.int64)
    lengths = np.ones(block.rows, dtype=np.int64)
    for row, item in enumerate(block.items):
        ids[row, : len(sentences[item])] = sentences[item]
        lengths[row] = len(sentences[item])
    return TokenRows(torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device))


class Hypotheses(NamedTuple):
    """The state of ``(n, k)`` hypotheses while they are written."""

    sums: Tensor
    """Log-probabilities of all tokens; -inf: no hypothesis."""
    lengths: Tensor
    """Tokens, the end mark included."""
    ended: Tensor

    def taken(self, parents: Tensor) -> Hypotheses:
        """Return the hypotheses at the places *parents*, ``(n, k)``, of each sentence."""
        return Hypotheses(*(part.gather(1, parents) for part in self))


class SearchResult(NamedTuple):
    """Translations ``(n, k)``, best first."""

    ids: Tensor
    """``(n, k, T)``, without begin mark; from the end mark on, PAD."""
    scores: Tensor
    """-inf: no hypothesis."""
    whole: Tensor
    """True where it ended by itself, False where it reached the greatest length."""


class Beam:
    """The best ``k`` hypotheses by score, ended or not; with k = 1 greedy search.

    The first is always the one of greedy search, so that no beam finds worse than that does.
    """

    def __init__(self, width: int) -> None:
        """``width``: k."""
        self.width = width

    def begin(self, rows: int, device: torch.device) -> Tensor:
        """Sums ``(n, k)`` of hypotheses with no token: one hypothesis, and room for more."""
        sums = torch.full((rows, self.width), float("-inf"), device=device)
        sums[:, 0] = 0
        return sums

    def choose(self, now: Hypotheses, steps: Tensor, position: int) -> tuple[Tensor, Tensor]:
        """Parents and tokens, ``(n, k)`` each, from log-probabilities ``steps (n, k, v)``.

        Forbidden tokens have -inf; an ended hypothesis goes on with PAD, at no cost.
        """
        if steps.device.type == "cpu":  # numpy takes a tenth of the time
            greedy = torch.from_numpy(steps[:, 0].numpy().argmax(axis=1))[:, None]
        else:
            greedy = steps[:, 0].argmax(dim=1)[:, None]
        if self.width == 1:
            return torch.zeros_like(greedy), greedy
        lengths = (now.lengths + ~now.ended)[:, :, None]
        candidates = ((now.sums[:, :, None] + steps) / lengths).flatten(1)
        chosen = candidates.scatter(1, greedy, float("inf")).topk(self.width, dim=1).indices
        return chosen // steps.shape[2], chosen % steps.shape[2]


class Sampler:
    """Independent samples from the model, by the inverse of the cumulative distribution."""

    def __init__(self, chances: Tensor, temperature: float = 1.0) -> None:
        """``chances (n, k, T)``: float64 numbers in [0, 1) of each sentence and position."""
        self.width = chances.shape[1]
        self._chances = chances
        self._temperature = temperature

    def begin(self, rows: int, device: torch.device) -> Tensor:
        """See :meth:`Beam.begin`; here all of them."""
        return torch.zeros(rows, self.width, device=device)

    def choose(self, now: Hypotheses, steps: Tensor, position: int) -> tuple[Tensor, Tensor]:
        """See :meth:`Beam.choose`."""
        shares = (steps.double() / self._temperature).softmax(dim=2)
        sums = shares.cumsum(dim=2)
        wanted = self._chances[:, :, position, None] * sums[:, :, -1:]
        last = sums.argmax(dim=2)  # the first place of the highest sum: later ones have no share
        tokens = torch.minimum((sums <= wanted).sum(dim=2), last)
        parents = torch.arange(self.width, device=tokens.device).expand_as(tokens)
        return parents, tokens


@dataclass(frozen=True)
class Limits:
    """Limits of a translation: its length, and no words without a letter."""

    longest: int
    """Tokens, without the end mark."""
    start: int | None = None
    """The piece that only marks the start of a word, if there is one."""
    starting: Tensor | None = None
    """Pieces that cannot follow it, ``(v,)``: those that start a word, and the end mark."""


def search_translations(
    network: TranslationNetwork,
    sources: TokenRows,
    real: Tensor,
    chooser: Beam | Sampler,
    limits: Limits,
) -> SearchResult:
    """Search translations within limits.

    ``real (n,)``: False for the empty rows of a block, which get no translation.
    """
    longest = limits.longest
    state = network.start(sources, chooser.width)
    rows, device = len(sources.ids), sources.ids.device
    tokens = torch.full((rows, chooser.width), BEGIN, device=device)
    ended = (~real)[:, None].expand(rows, chooser.width)
    now = Hypotheses(chooser.begin(rows, device), ended.long(), ended)
    ids = tokens.new_zeros(rows, chooser.width, longest + 1)
    whole = torch.ones_like(ended)
    for position in range(longest + 1):
        steps = network.predict(state.step(tokens)).float()
        forbid(steps, now.ended, tokens, position, limits)
        parents, tokens = chooser.choose(now, steps, position)
        flat = parents * steps.shape[2] + tokens
        now = now.taken(parents)
        sums = now.sums + steps.flatten(1).gather(1, flat)
        ended = now.ended | (tokens == END) | sums.isneginf()
        now = Hypotheses(sums, now.lengths + ~now.ended, ended)
        if chooser.width > 1:
            state.select(parents)
            ids = ids.gather(1, parents[:, :, None].expand_as(ids))
        ids[:, :, position] = tokens
        if position == longest:
            whole = tokens == PAD
        elif now.ended.all():
            break
    scores = now.sums / now.lengths
    order = scores.sort(dim=1, descending=True, stable=True).indices
    ids = ids.masked_fill(ids == END, PAD).gather(1, order[:, :, None].expand_as(ids))
    return SearchResult(ids, scores.gather(1, order), whole.gather(1, order))


def forbid(steps: Tensor, ended: Tensor, before: Tensor, position: int, limits: Limits) -> None:
    """Set log-probabilities ``(n, k, v)`` of impossible next tokens to -inf, in place.

    Marks and unknown pieces are never written, nor is an empty translation or an empty word; a
    hypothesis of the greatest length must end; PAD follows the end. ``before (n, k)``: the last
    tokens.
    """
    never = [PAD, BEGIN, UNKNOWN] + ([] if position else [END])
    steps[:, :, never] = float("-inf")
    if limits.start is not None and limits.starting is not None:
        hollow = before == limits.start
        if hollow.any():
            steps[hollow] = steps[hollow].masked_fill(limits.starting, float("-inf"))
        if position == limits.longest - 1:
            steps[:, :, limits.start] = float("-inf")
    if position == limits.longest:
        steps[:, :, :END] = float("-inf")
        steps[:, :, END + 1 :] = float("-inf")
    steps[ended] = float("-inf")
    steps[:, :, PAD].masked_fill_(ended, 0.0)
