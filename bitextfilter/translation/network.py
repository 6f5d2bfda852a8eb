"""What every translation network is to the code around it.

Letters: n sentences, k hypotheses of each, t source positions, T target positions, w width of a
decoder state, v vocabulary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from bitextfilter.models.dropout import ByteDropout
from bitextfilter.models.narrow import NarrowLinear, narrow_linear_layers

__all__ = ["Rows", "State", "TranslationNetwork"]


class Rows(NamedTuple):
    """Sentences as ids ``(n, t)``, padded with 0, and their lengths ``(n,)``, at least 1."""

    ids: Tensor
    lengths: Tensor
    templates: Rows | None = None
    """Of sources: the symbols of the template of each, for networks that follow templates."""

    def cut(self, most: int) -> list[Rows]:
        """The same in order, in parts of *most* sentences; the last may have fewer."""
        parts = zip(torch.split(self.ids, most), torch.split(self.lengths, most), strict=True)
        if self.templates is None:
            return [Rows(*part) for part in parts]
        return [
            Rows(*part, more) for part, more in zip(parts, self.templates.cut(most), strict=True)
        ]


class State(ABC):
    """``k`` hypotheses of each of ``n`` sentences while they are written."""

    @abstractmethod
    def step(self, tokens: Tensor) -> Tensor:
        """Read the latest tokens ``(n, k)`` → decoder states ``(n, k, w)``."""

    @abstractmethod
    def select(self, parents: Tensor) -> None:
        """Go on from these hypotheses, places of their sentence's ``k``: ``(n, k)``."""


class TranslationNetwork(nn.Module, ABC):
    """An encoder of the source, a decoder of the target, and one table of subword vectors.

    The table serves the source, the target, and the output layer (Press & Wolf 2017).
    """

    def __init__(self, vocabulary: int, width: int) -> None:
        """``width``: that of a subword vector and of a decoder state."""
        super().__init__()
        self.dropout = ByteDropout(0.0)
        """On vectors and the outputs of layers; its share is set by the training."""
        self.table = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.table.weight, std=width**-0.5)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self._narrow: NarrowLinear | None = None

    @abstractmethod
    def states(self, sources: Rows, inputs: Tensor) -> Tensor:
        """Decoder states ``(n, T, w)`` of given targets: ids ``(n, T)`` that begin with BEGIN."""

    @abstractmethod
    def start(self, sources: Rows, width: int) -> State:
        """``width`` hypotheses of each sentence, of which nothing is written."""

    def output(self, states: Tensor) -> Tensor:
        """States ``(..., w)`` → logits ``(..., v)`` of the token that comes next."""
        if self._narrow is not None:
            logits: Tensor = self._narrow(states)
            return logits
        return functional.linear(states, self.table.weight, self.bias)

    def narrow(self) -> None:
        """Multiply matrices in bfloat16 from now on, but those of recurrent layers: to infer."""
        narrow_linear_layers(self)
        self._narrow = NarrowLinear(self.table.weight, self.bias)
