"""Bidirectional recurrent layers over padded batches, the pooling over their states, and the
decoder. Letters: n rows, t positions, e input width, h hidden width a direction, d = 2h."""

from __future__ import annotations

import torch
from torch import Tensor, nn

CELLS: dict[str, type[nn.LSTM] | type[nn.GRU]] = {"lstm": nn.LSTM, "gru": nn.GRU}


def padding_mask(lengths: Tensor, positions: int) -> Tensor:
    """True where a position lies inside its sentence: ``(n, t)`` from lengths ``(n,)``."""
    return torch.arange(positions, device=lengths.device) < lengths[:, None]


def reverse_padded(values: Tensor, lengths: Tensor) -> Tensor:
    """Reverse each row of ``(n, t, e)`` within its length; padding stays at the end."""
    positions = torch.arange(values.shape[1], device=values.device)
    mirrored = lengths[:, None] - 1 - positions
    index = torch.where(mirrored >= 0, mirrored, positions)
    return values.gather(1, index[:, :, None].expand_as(values))


def max_pool(states: Tensor, lengths: Tensor) -> Tensor:
    """Element-wise maximum over the positions of a sentence (Kim et al. 2019, eq. 6).

    ``(n, t, d)``, ``(n,)`` → ``(n, d)``.
    """
    mask = padding_mask(lengths, states.shape[1])
    return states.masked_fill(~mask[:, :, None], float("-inf")).amax(dim=1)


def mean_pool(states: Tensor, lengths: Tensor) -> Tensor:
    """Mean over the positions of a sentence: ``(n, t, d)``, ``(n,)`` → ``(n, d)``."""
    mask = padding_mask(lengths, states.shape[1])
    return (states * mask[:, :, None]).sum(dim=1) / lengths[:, None]


class BidirectionalRecurrent(nn.Module):
    """Layers of a forward and a backward LSTM or GRU whose states are concatenated.

    The directions are separate modules: on a padded batch the backward one reads each sentence
    reversed within its length, which is faster on a CPU than packing and sees no padding.
    """

    def __init__(self, cell: str, width: int, hidden: int, layers: int) -> None:
        super().__init__()
        widths = [width] + [2 * hidden] * (layers - 1)
        self.forwards = nn.ModuleList(CELLS[cell](e, hidden, batch_first=True) for e in widths)
        self.backwards = nn.ModuleList(CELLS[cell](e, hidden, batch_first=True) for e in widths)

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self.forwards)

    def directions(self, layer: int) -> tuple[nn.LSTM | nn.GRU, nn.LSTM | nn.GRU]:
        """The forward and the backward cells of a layer."""
        ahead, back = self.forwards[layer], self.backwards[layer]
        assert isinstance(ahead, (nn.LSTM, nn.GRU)) and isinstance(back, (nn.LSTM, nn.GRU))
        return ahead, back

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """``(n, t, e)``, ``(n,)`` → states ``(n, t, 2h)``; those beyond a length mean nothing."""
        for layer in range(self.depth):
            ahead, back = self.directions(layer)
            right = ahead(vectors)[0]
            left = reverse_padded(back(reverse_padded(vectors, lengths))[0], lengths)
            vectors = torch.cat([right, left], dim=2)
        return vectors


class RecurrentDecoder(nn.Module):
    """One unidirectional recurrent layer started from the sentence embedding, no attention.

    The embedding is the initial hidden state (and, for an LSTM, the initial cell), as in Kim et
    al. 2019, section 3; the decoder does not learn which encoder it came from.
    """

    def __init__(self, cell: str, width: int, hidden: int) -> None:
        super().__init__()
        self.cells = CELLS[cell](width, hidden, batch_first=True)

    def forward(self, embedding: Tensor, inputs: Tensor) -> Tensor:
        """``(n, d)`` and word vectors ``(n, t, e)`` → hidden states ``(n, t, d)``."""
        state = embedding[None].contiguous()
        if isinstance(self.cells, nn.LSTM):
            return self.cells(inputs, (state, state))[0]  # type: ignore[no-any-return]
        return self.cells(inputs, state)[0]  # type: ignore[no-any-return]
