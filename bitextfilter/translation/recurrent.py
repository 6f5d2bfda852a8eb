"""The attentional recurrent model (Bahdanau et al. 2015; Luong et al. 2015).

By default that of Wieting & Gimpel 2018, section 6, made smaller: a bidirectional LSTM reads the
source, an LSTM of two layers writes the target with bilinear attention. Wieting et al. 2017
translated with such a model, too. The decoder is not fed its attention (Luong's input feeding), so
that a whole target is trained at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bitextfilter.errors import SettingsError
from bitextfilter.models.attention import BilinearAttention
from bitextfilter.models.recurrent import (
    CELLS,
    BidirectionalRecurrent,
    mean_pool,
    padding_mask,
)
from bitextfilter.models.sizes import check_sizes
from bitextfilter.translation.network import Rows, State, TranslationNetwork

__all__ = ["RecurrentSettings", "RecurrentTranslationNetwork"]

Hidden = tuple[Tensor, ...]
"""Hidden state, and of an LSTM the cell: ``(layers, n, d)`` each."""


@dataclass(frozen=True)
class RecurrentSettings:
    """Shape: ``width`` of subword vectors; ``hidden`` of a direction of the encoder.

    The decoder is ``2 * hidden`` wide.
    """

    width: int = 256
    hidden: int = 256
    encoder_layers: int = 1
    decoder_layers: int = 2
    cell: str = "lstm"

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        if self.cell not in CELLS:
            raise SettingsError(f"cell {self.cell!r} is none of {', '.join(CELLS)}")
        check_sizes(**{name: size for name, size in vars(self).items() if name != "cell"})


class RecurrentTranslationNetwork(TranslationNetwork):
    """Bidirectional encoder, unidirectional decoder, bilinear attention."""

    def __init__(self, settings: RecurrentSettings, vocabulary: int) -> None:
        super().__init__(vocabulary, settings.width)
        self.settings = settings
        width, dim = settings.width, 2 * settings.hidden
        self.encoder = BidirectionalRecurrent(
            settings.cell, width, settings.hidden, settings.encoder_layers
        )
        self.first = nn.Linear(dim, settings.decoder_layers * dim)
        self.decoder = CELLS[settings.cell](width, dim, settings.decoder_layers, batch_first=True)
        self.attention = BilinearAttention(dim, dim)
        self.combine = nn.Linear(2 * dim, width)

    def encode(self, sources: Rows) -> tuple[Tensor, Tensor, Hidden]:
        """States ``(n, t, d)``, their mask ``(n, t)``, and where the decoder starts."""
        vectors = self.dropout(self.table(sources.ids))
        states = self.encoder(vectors, sources.lengths)
        inside = padding_mask(sources.lengths, sources.ids.shape[1])
        first = torch.tanh(self.first(mean_pool(states, sources.lengths)))
        hidden = torch.stack(first.chunk(self.settings.decoder_layers, dim=1))
        zero = (torch.zeros_like(hidden),) if self.settings.cell == "lstm" else ()
        return states, inside, (hidden, *zero)

    def decode(self, vectors: Tensor, hidden: Hidden) -> tuple[Tensor, Hidden]:
        """Word vectors ``(n, T, w)`` → states ``(n, T, d)`` and the last of them."""
        if isinstance(self.decoder, nn.LSTM):
            states, last = self.decoder(vectors, (hidden[0], hidden[1]))
            return states, last
        states, only = self.decoder(vectors, hidden[0])
        return states, (only,)

    def attend(self, states: Tensor, memory: Tensor, inside: Tensor) -> Tensor:
        """h̃ = tanh(W [c; h]) (Luong et al. 2015, eq. 5): ``(n, T, d)`` → ``(n, T, w)``."""
        context = self.attention(states, memory, inside)
        out: Tensor = self.dropout(torch.tanh(self.combine(torch.cat([context, states], dim=2))))
        return out

    def states(self, sources: Rows, inputs: Tensor) -> Tensor:
        """See :meth:`TranslationNetwork.states`."""
        memory, inside, hidden = self.encode(sources)
        states, _ = self.decode(self.dropout(self.table(inputs)), hidden)
        return self.attend(states, memory, inside)

    def start(self, sources: Rows, width: int) -> State:
        """See :meth:`TranslationNetwork.start`."""
        return RecurrentState(self, sources, width)


class RecurrentState(State):
    """The decoder's hidden state."""

    def __init__(self, network: RecurrentTranslationNetwork, sources: Rows, width: int) -> None:
        self._network = network
        self._memory, self._inside, hidden = network.encode(sources)
        self._hidden: Hidden = tuple(part.repeat_interleave(width, dim=1) for part in hidden)
        self._first = torch.arange(len(sources.ids), device=sources.ids.device)[:, None] * width

    def step(self, tokens: Tensor) -> Tensor:
        """See :meth:`State.step`."""
        network = self._network
        vectors = network.table(tokens.reshape(-1, 1))
        states, self._hidden = network.decode(vectors, self._hidden)
        return network.attend(states.reshape(*tokens.shape, -1), self._memory, self._inside)

    def select(self, parents: Tensor) -> None:
        """See :meth:`State.select`."""
        rows = (self._first + parents).flatten()
        self._hidden = tuple(part[:, rows] for part in self._hidden)
