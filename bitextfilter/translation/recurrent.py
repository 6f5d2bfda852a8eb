"""The attentional recurrent translation model, plain and controlled by a template.

By default as in Wieting & Gimpel 2018, section 6, made smaller: a bidirectional LSTM reads the
source, an LSTM of two layers writes the target with bilinear attention. With additive attention it
looks at the source as in Bahdanau et al. and in the model of Wieting et al. 2017. The decoder is
not fed its attention (Luong's input feeding), so that a whole target is trained at once.

A second, small encoder reads the symbols of the template. The decoder starts from both, attends to
both, and joins the results. Iyyer et al. read the template with an LSTM in one direction, and copy
words of the source; here the LSTM has two directions, and copying is a setting of either model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bitextfilter.models.layers import ATTENTIONS, Attention, Memory, mean_pool, padding_mask
from bitextfilter.models.recurrent import CELLS, BidirectionalRecurrent
from bitextfilter.models.registry import Architecture
from bitextfilter.settings import Settings, setting
from bitextfilter.text.ragged import PIECES
from bitextfilter.translation.network import Copier, Decoded, State, TokenRows, TranslationNetwork

Hidden = tuple[Tensor, ...]
"""Hidden state, and of an LSTM the cell: ``(layers, n, d)`` each."""


Read = tuple[Tensor, Tensor]
"""The output of an encoder: states ``(n, t, d)`` and lengths ``(n,)``."""


@dataclass(frozen=True)
class RecurrentSettings(Settings):
    """Shape: ``width`` of subword vectors; ``hidden`` of a direction of the encoder.

    The decoder is ``2 * hidden`` wide.
    """

    width: int = setting(256, "of subword vectors", within=">= 1")
    hidden: int = setting(
        256, "width of one direction of the encoder; the decoder is twice as wide", within=">= 1"
    )
    encoder_layers: int = setting(1, "layers that read", within=">= 1")
    decoder_layers: int = setting(2, "layers that write", within=">= 1")
    cell: str = setting("lstm", "the kind of recurrent unit", choices=CELLS)
    attention: str = setting("bilinear", "attention to the source", choices=ATTENTIONS)
    copy: bool = setting(
        False,
        "also write pieces of the source by the attention to them (See, Liu & Manning 2017)",
    )


class RecurrentTranslationNetwork(TranslationNetwork):
    """Bidirectional encoder, unidirectional decoder with attention."""

    def __init__(
        self, settings: RecurrentSettings, sizes: Mapping[str, int], more: int = 0
    ) -> None:
        """``sizes``: the number of ids by view; ``more``: width of a subclass's second input."""
        super().__init__(sizes[PIECES], settings.width)
        self.settings = settings
        width, dim = settings.width, 2 * settings.hidden
        self.encoder = BidirectionalRecurrent(
            settings.cell, width, settings.hidden, settings.encoder_layers
        )
        self.first = nn.Linear(dim + more, settings.decoder_layers * dim)
        self.decoder = CELLS[settings.cell](width, dim, settings.decoder_layers, batch_first=True)
        self.attention = ATTENTIONS[settings.attention](dim, dim)
        self.combine = nn.Linear(2 * dim + more, width)
        self.copier = Copier(2 * dim + more + width) if settings.copy else None

    def read(self, sources: TokenRows) -> list[Read]:
        """Encode the inputs that the decoder starts from and attends to: here only the source."""
        vectors = self.dropout(self.table(sources.ids))
        return [(self.encoder(vectors, sources.lengths), sources.lengths)]

    def attentions(self) -> list[Attention]:
        """Return one attention for each output of :meth:`read`."""
        return [self.attention]

    def encode(self, sources: TokenRows) -> tuple[list[Memory], Hidden]:
        """Return the memories of the attentions, and the decoder's first hidden state."""
        read = self.read(sources)
        memories = [
            attention.memory(states, padding_mask(lengths, states.shape[1]))
            for attention, (states, lengths) in zip(self.attentions(), read, strict=True)
        ]
        means = torch.cat([mean_pool(*each) for each in read], dim=1)
        first = torch.tanh(self.first(means))
        hidden = torch.stack(first.chunk(self.settings.decoder_layers, dim=1))
        zero = (torch.zeros_like(hidden),) if self.settings.cell == "lstm" else ()
        return memories, (hidden, *zero)

    def decode(self, vectors: Tensor, hidden: Hidden) -> tuple[Tensor, Hidden]:
        """Word vectors ``(n, T, w)`` → states ``(n, T, d)`` and the last hidden state."""
        if isinstance(self.decoder, nn.LSTM):
            states, last = self.decoder(vectors, (hidden[0], hidden[1]))
            return states, last
        states, only = self.decoder(vectors, hidden[0])
        return states, (only,)

    def attend(
        self, vectors: Tensor, states: Tensor, ids: Tensor, memories: Sequence[Memory]
    ) -> Decoded:
        """h̃ = tanh(W [c; h]) (Luong et al. 2015, eq. 5): ``(n, T, d)`` → ``(n, T, w)``.

        ``vectors (n, T, w)``, the inputs, and ``ids (n, t)``, the source, are for copying; so are
        all contexts c, and with them the template's.
        """
        pairs = zip(self.attentions(), memories, strict=True)
        looks = [attention(states, memory) for attention, memory in pairs]
        joined = torch.cat([*(context for context, _ in looks), states], dim=2)
        out: Tensor = self.dropout(torch.tanh(self.combine(joined)))
        if self.copier is None:
            return Decoded(out)
        clues, (_, scores) = torch.cat([joined, vectors], dim=2), looks[0]
        return Decoded(out, self.copier(clues, scores, ids))

    def states(self, sources: TokenRows, inputs: Tensor) -> Decoded:
        """See :meth:`TranslationNetwork.states`."""
        memories, hidden = self.encode(sources)
        vectors = self.dropout(self.table(inputs))
        states, _ = self.decode(vectors, hidden)
        return self.attend(vectors, states, sources.ids, memories)

    def start(self, sources: TokenRows, width: int) -> State:
        """See :meth:`TranslationNetwork.start`."""
        return RecurrentState(self, sources, width)


class RecurrentState(State):
    """The decoder's hidden state."""

    def __init__(
        self, network: RecurrentTranslationNetwork, sources: TokenRows, width: int
    ) -> None:
        self._network, self._ids = network, sources.ids
        self._memories, hidden = network.encode(sources)
        self._hidden: Hidden = tuple(part.repeat_interleave(width, dim=1) for part in hidden)
        self._first = torch.arange(len(sources.ids), device=sources.ids.device)[:, None] * width

    def step(self, tokens: Tensor) -> Decoded:
        """See :meth:`State.step`."""
        network = self._network
        vectors = network.table(tokens)
        states, self._hidden = network.decode(vectors.flatten(0, 1)[:, None], self._hidden)
        states = states.reshape(*tokens.shape, -1)
        return network.attend(vectors, states, self._ids, self._memories)

    def select(self, parents: Tensor) -> None:
        """See :meth:`State.select`."""
        rows = (self._first + parents).flatten()
        self._hidden = tuple(part[:, rows] for part in self._hidden)


_LEAST = 4
"""Symbols: none, unknown and the brackets."""


@dataclass(frozen=True)
class ControlledSettings(RecurrentSettings):
    """Shape of the recurrent model and of its encoder of templates.

    ``template_width``: of a symbol's vector and of one direction of that encoder.
    """

    symbols: int = setting(
        128, "rows of the table of template symbols: the rarest of more are unknown", within=">= 4"
    )
    template_width: int = setting(
        64, "of a symbol's vector, and of one direction of the templates' encoder", within=">= 1"
    )


class ControlledNetwork(RecurrentTranslationNetwork):
    """A recurrent network whose decoder also attends to a template of the target."""

    settings: ControlledSettings

    def __init__(self, settings: ControlledSettings, sizes: Mapping[str, int]) -> None:
        width, dim = settings.template_width, 2 * settings.template_width
        super().__init__(settings, sizes, more=dim)
        self.symbols = nn.Embedding(settings.symbols, width)
        self.template_encoder = BidirectionalRecurrent(settings.cell, width, width, 1)
        self.template_attention = ATTENTIONS[settings.attention](2 * settings.hidden, dim)

    def read(self, sources: TokenRows) -> list[Read]:
        """Encode the source and the template; a missing template is the single symbol 0."""
        ids, lengths = sources.ids.new_zeros(len(sources.ids), 1), torch.ones_like(sources.lengths)
        if sources.templates is not None:
            ids, lengths = sources.templates.ids, sources.templates.lengths
        vectors: Tensor = self.dropout(self.symbols(ids))
        return [*super().read(sources), (self.template_encoder(vectors, lengths), lengths)]

    def attentions(self) -> list[Attention]:
        """Return the attentions to the source and to the template."""
        return [self.attention, self.template_attention]


RECURRENT = Architecture(RecurrentSettings, RecurrentTranslationNetwork)
CONTROLLED = Architecture(ControlledSettings, ControlledNetwork)
