"""The base of networks, and the one way sentences run through a network.

Letters: n sentences, t positions, u distinct tokens. ``side`` is 0 for the source language, 1 for
the target. A sentence can be read in several ways, its *views*: the pieces it is segmented into,
the trigrams of its words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bitextfilter.arrays import Integers, Vectors
from bitextfilter.encoders.protocol import MOST_OF_NETWORKS
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.device import arithmetic, one_torch_thread, resolve_device
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES, TRIGRAMS, Ragged


@dataclass(frozen=True)
class Padded:
    """Sentences of one side: ids ``(n, t)`` padded with 0, and lengths ``(n,)``."""

    ids: Tensor
    lengths: Tensor

    def every(self, step: int) -> Padded:
        """Every ``step``-th sentence."""
        return Padded(self.ids[::step], self.lengths[::step])


@dataclass(frozen=True)
class Tokens:
    """The distinct tokens of a window: ids ``(m,)``, and how many each token has, ``(u,)``."""

    ids: Tensor
    lengths: Tensor


Inputs = Mapping[str, Padded]
"""Sentences by view."""

CachedNetwork = Callable[[Inputs], Tensor]
"""From places in the distinct tokens, padded, to sentence vectors ``(n, dim)``."""


LOG_WEIGHT = "log_weight"
"""Name of a parameter with a number for every piece."""


class Network(nn.Module, ABC):
    """Token vectors of both languages, and the way from them to a sentence vector.

    Training calls :meth:`forward`. Encoding calls :meth:`prepare_tokens` once a window, then the
    function that it returns once a block.
    """

    views: tuple[str, ...] = (PIECES,)
    """The views of a sentence that it reads."""
    sequences: tuple[str, ...] = (PIECES,)
    """Those of the views that it reads id by id; in the others the ids of a word may be summed."""
    block_rows = 128
    """Sentences in a block; blocks of long sentences are smaller."""
    embedding: nn.Embedding
    """The vectors of pieces, of a network with one table alone."""

    def __init__(self, dim: int) -> None:
        """``dim``: the width of a sentence vector."""
        super().__init__()
        self.dim = dim
        self.dropout: nn.Module = nn.Dropout(0.0)
        """On the token vectors; the training sets its rate."""
        self.threads = 1
        """Threads for the computation that is done once for each distinct token."""

    def piece_tables(self) -> tuple[nn.Embedding, ...]:
        """The vectors of pieces: one table for both sides, one for each, or none."""
        return (self.embedding,)

    def tables(self) -> tuple[nn.Embedding, ...]:
        """All tables of token vectors; the other parameters compose them."""
        return self.piece_tables()

    def rows_by_view(self) -> dict[str, str]:
        """The view of each tensor that has a row, or a number, for every id of a view, by name."""
        pieces = {id(table.weight) for table in self.piece_tables()}
        every = {id(table.weight) for table in self.tables()}
        views = {}
        for name, parameter in self.named_parameters():
            if id(parameter) in pieces or name.endswith(f".{LOG_WEIGHT}"):
                views[name] = PIECES
            elif id(parameter) in every:
                views[name] = TRIGRAMS
        return views

    @abstractmethod
    def forward(self, inputs: Inputs, side: int) -> Tensor:
        """Sentences, by view → sentence vectors ``(n, dim)``."""

    @abstractmethod
    def prepare_tokens(self, tokens: Mapping[str, Tokens], side: int) -> CachedNetwork:
        """Compute once all that depends on a token alone.

        Args:
            tokens: the distinct tokens of a window, by view.
            side: as in :meth:`forward`.

        Returns:
            The function from sentences, as places in ``tokens``, to vectors: the same numbers
            as :meth:`forward`'s, but for rounding. For one ``n``, a row does not depend on the
            other rows.
        """


def piece_vectors(vocabulary: int, width: int) -> nn.Embedding:
    """Return a table of normally distributed vectors of an expected norm of 1."""
    table = nn.Embedding(vocabulary, width)
    nn.init.normal_(table.weight, std=width**-0.5)
    return table


LONG, LONGEST = 128, 1024
"""Sentences of more than ``LONG`` tokens come in smaller blocks, since few have similar lengths;
those of more than ``LONGEST`` tokens are encoded one by one, by recurrent networks in parts."""


class LengthBlock(NamedTuple):
    """Sentences of like length."""

    items: NDArray[np.int64]
    """Their indices."""
    rows: int
    """The number of sentences in a full block of this length."""


def blocks_by_length(lengths: Integers, sizes: Sequence[tuple[int, int]]) -> list[LengthBlock]:
    """Group sentences of like length into blocks, short ones first.

    Args:
        lengths: ``(n,)``.
        sizes: ``(longest, rows)``, ascending: the number of rows in a block of sentences up to
            that length. Longer ones get a block each.

    Returns:
        Blocks; every index is in exactly one. Of each size, all blocks but the last are full.
    """
    order = np.argsort(lengths, kind="stable")
    ends = np.searchsorted(lengths[order], [longest for longest, _ in sizes], side="right")
    blocks: list[LengthBlock] = []
    start = 0
    for end, rows in zip([*ends, len(order)], [*(rows for _, rows in sizes), 1], strict=True):
        blocks += [
            LengthBlock(order[i : min(i + rows, end)], rows) for i in range(start, end, rows)
        ]
        start = end
    return blocks


class Encoder:
    """Turns sentences of two languages into vectors of one space, block by block.

    A block holds sentences of similar length, is filled up to a fixed number of rows, and is
    computed by one thread: so the arithmetic of a row does not depend on the other rows. Nothing
    of a long sentence is left out.
    """

    most = MOST_OF_NETWORKS

    def __init__(
        self,
        processor: TextProcessor,
        network: Network,
        device: str = "cpu",
        threads: int = 1,
    ) -> None:
        """Move the network to the device. Raises DeviceError where that is missing."""
        self.processor = processor
        self.languages = processor.languages
        self.dim = network.dim
        self.threads = threads
        self.device = resolve_device(device)
        self.network = network.to(self.device).eval()
        self.network.threads = threads if self.device.type == "cpu" else 1

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """See :meth:`SentenceEncoder.encode`."""
        network = self.network
        views = self.processor.read(sentences, language, network.views)
        views |= {name: views[name].one_by_one() for name in network.sequences}
        lengths = next(iter(views.values())).rows.lengths  # in tokens of the first view
        out = np.empty((len(lengths), self.dim), dtype=np.float32)
        if not len(out):
            return out
        tokens = {
            name: Tokens(
                torch.from_numpy(view.tokens.flat.astype(np.int64)).to(self.device),
                torch.from_numpy(view.tokens.lengths).to(self.device),
            )
            for name, view in views.items()
        }
        with one_torch_thread(), torch.inference_mode():
            encode = network.prepare_tokens(tokens, self.processor.side(language))

        def run(block: LengthBlock) -> None:
            with torch.inference_mode():
                vectors = encode({n: self._padded(view.rows, block) for n, view in views.items()})
            out[block.items] = vectors[: len(block.items)].float().cpu().numpy()

        rows = network.block_rows
        blocks = blocks_by_length(lengths, ((LONG, rows), (LONGEST, rows // 8)))
        with one_torch_thread():  # the longest first, so that no thread ends long after the others
            map_blocks(run, reversed(blocks), self.threads if self.device.type == "cpu" else 1)
        return out

    def arithmetic(self) -> list[str]:
        """See :meth:`SentenceEncoder.arithmetic`."""
        return arithmetic(self.device)

    def _padded(self, sentences: Ragged, block: LengthBlock) -> Padded:
        """The rows of a block, filled up; a missing row is one token 0."""
        ids, lengths = sentences.padded(block.items)
        padded = np.zeros((block.rows, ids.shape[1]), dtype=np.int64)
        sizes = np.ones(block.rows, np.int64)
        padded[: len(ids)], sizes[: len(ids)] = ids, lengths
        return Padded(
            torch.from_numpy(padded).to(self.device), torch.from_numpy(sizes).to(self.device)
        )
