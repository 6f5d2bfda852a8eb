"""What every encoder's network is to the code around it.

Letters: n sentences, t positions, u distinct tokens. ``side`` is 0 for the source language, 1 for
the target. A sentence can be read in several ways, its *views*: the pieces it is segmented into,
the trigrams of its words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from bitextfilter.text.processor import PIECES


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

Folded = Callable[[Inputs], Tensor]
"""From places in the distinct tokens, padded, to sentence vectors ``(n, dim)``."""


class Network(nn.Module, ABC):
    """Token vectors of both languages, and the way from them to a sentence vector."""

    views: tuple[str, ...] = (PIECES,)
    """What it reads of a sentence."""
    sequences: tuple[str, ...] = (PIECES,)
    """Of these, those it reads id by id; of others the ids of a word may come together."""
    block_rows = 128
    """Sentences encoded together: always as many, but for long ones."""

    def __init__(self, dim: int) -> None:
        """``dim``: the width of a sentence vector."""
        super().__init__()
        self.dim = dim
        self.dropout: nn.Module = nn.Dropout(0.0)
        """On the token vectors; its share is set by the training."""
        self.threads = 1
        """How many may do once what depends on a token alone."""

    @abstractmethod
    def piece_tables(self) -> tuple[nn.Embedding, ...]:
        """The vectors of pieces: one table for both sides, one for each, or none."""

    def tables(self) -> tuple[nn.Embedding, ...]:
        """All tables of token vectors: what is not composition."""
        return self.piece_tables()

    @abstractmethod
    def forward(self, inputs: Inputs, side: int) -> Tensor:
        """Sentences, by view → sentence vectors ``(n, dim)``."""

    @abstractmethod
    def fold(self, tokens: Mapping[str, Tokens], side: int) -> Folded:
        """Do once what depends on a token alone.

        Args:
            tokens: the distinct tokens of a window, by view.
            side: as in :meth:`forward`.

        Returns:
            The function from sentences, as places in ``tokens``, to vectors: the same numbers
            as :meth:`forward`'s, but for rounding, and each row's the same for one ``n``
            whatever the other rows are.
        """


def piece_vectors(vocabulary: int, width: int) -> nn.Embedding:
    """A fresh table of that many vectors, normally distributed, of an expected norm of 1."""
    table = nn.Embedding(vocabulary, width)
    nn.init.normal_(table.weight, std=width**-0.5)
    return table
