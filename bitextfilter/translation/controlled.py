"""The recurrent model with a template for what it writes (SCPN: Iyyer et al. 2018, section 3).

A second, small encoder reads the symbols of the template. The decoder starts from both, attends to
both, and joins what it finds. Iyyer et al. read the template with an LSTM in one direction and copy
words of the source; here the LSTM has two directions, and subwords stand for copying.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bitextfilter.models.attention import ATTENTIONS, Attention
from bitextfilter.models.recurrent import BidirectionalRecurrent
from bitextfilter.settings import setting
from bitextfilter.translation.network import Rows
from bitextfilter.translation.recurrent import (
    Read,
    RecurrentSettings,
    RecurrentTranslationNetwork,
)

__all__ = ["ControlledNetwork", "ControlledSettings"]


LEAST = 4
"""Symbols: none, unknown and the brackets."""


@dataclass(frozen=True)
class ControlledSettings(RecurrentSettings):
    """Shape: besides that of the recurrent model, that of what reads templates.

    ``template_width`` of a symbol's vector and of a direction of the encoder.
    """

    symbols: int = setting(
        128, "rows of the table of template symbols: the rarest of more are unknown", within=">= 4"
    )
    template_width: int = setting(
        64, "of a symbol's vector, and of one direction of the templates' encoder", within=">= 1"
    )


class ControlledNetwork(RecurrentTranslationNetwork):
    """A source, and a template of the target."""

    settings: ControlledSettings

    def __init__(self, settings: ControlledSettings, vocabulary: int) -> None:
        width, dim = settings.template_width, 2 * settings.template_width
        super().__init__(settings, vocabulary, more=dim)
        self.symbols = nn.Embedding(settings.symbols, width)
        self.template_encoder = BidirectionalRecurrent(settings.cell, width, width, 1)
        self.template_attention = ATTENTIONS[settings.attention](2 * settings.hidden, dim)

    def read(self, sources: Rows) -> list[Read]:
        """The source, and the template: where there is none, that of the single symbol 0."""
        ids, lengths = sources.ids.new_zeros(len(sources.ids), 1), torch.ones_like(sources.lengths)
        if sources.templates is not None:
            ids, lengths = sources.templates.ids, sources.templates.lengths
        vectors: Tensor = self.dropout(self.symbols(ids))
        return [*super().read(sources), (self.template_encoder(vectors, lengths), lengths)]

    def attentions(self) -> list[Attention]:
        """Of the source and of the template."""
        return [self.attention, self.template_attention]
