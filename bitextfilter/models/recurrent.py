"""Bidirectional recurrent layers over padded batches, the decoder, and a leaky GRU.

Letters: n rows, t positions, e input width, h hidden width a direction, d = 2h.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from bitextfilter.errors import SettingsError

CELLS: dict[str, type[nn.LSTM] | type[nn.GRU]] = {"lstm": nn.LSTM, "gru": nn.GRU}


def reverse_padded(values: Tensor, lengths: Tensor) -> Tensor:
    """Reverse each row of ``(n, t, e)`` within its length; padding stays at the end."""
    positions = torch.arange(values.shape[1], device=values.device)
    mirrored = lengths[:, None] - 1 - positions
    index = torch.where(mirrored >= 0, mirrored, positions)
    return values.gather(1, index[:, :, None].expand_as(values))


class BidirectionalRecurrent(nn.Module):
    """Layers of a forward and a backward LSTM or GRU whose states are concatenated.

    The directions are separate modules. The backward one reads each sentence of a padded batch
    reversed within its length: it sees no padding, and is faster on a CPU than packing.
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
        """Return the forward and the backward cells of a layer."""
        ahead, back = self.forwards[layer], self.backwards[layer]
        assert isinstance(ahead, (nn.LSTM, nn.GRU)) and isinstance(back, (nn.LSTM, nn.GRU))
        return ahead, back

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """``(n, t, e)``, ``(n,)`` → states ``(n, t, 2h)``; ignore those beyond a length."""
        for layer in range(self.depth):
            ahead, back = self.directions(layer)
            right = ahead(vectors)[0]
            left = reverse_padded(back(reverse_padded(vectors, lengths))[0], lengths)
            vectors = torch.cat([right, left], dim=2)
        return vectors


class RecurrentDecoder(nn.Module):
    """One unidirectional recurrent layer that starts from the sentence embedding, no attention.

    The embedding is the initial hidden state (and cell of an LSTM): Kim et al. 2019, section 3.
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


_SLOPE = 0.01
"""The slope of the leaky ReLU below 0: torch's default; the paper states none."""


class LeakyGru(nn.Module):
    """One layer, read from left to right, with a leaky ReLU f:

    r = σ(W_r x + U_r h),  z = σ(W_z x + U_z h)
    c = z ⊙ f(W_h x + U_h (r ⊙ h) + b)
    h' = (1 − z) ⊙ h + c
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.inward = nn.Linear(width, 3 * hidden)
        """W_r, W_z, W_h stacked; the paper has a bias for the last only, ours are all learnt."""
        self.gates = nn.Linear(hidden, 2 * hidden, bias=False)
        self.candidate = nn.Linear(hidden, hidden, bias=False)

    def step(self, inputs: Tensor, hidden: Tensor) -> Tensor:
        """Projected inputs ``(n, 3h)`` and states ``(n, h)`` → the next states ``(n, h)``."""
        size = self.hidden
        gates = torch.sigmoid(inputs[:, : 2 * size] + self.gates(hidden))
        reset, update = gates.chunk(2, dim=1)
        new = leaky_relu(inputs[:, 2 * size :] + self.candidate(reset * hidden), _SLOPE)
        return (1 - update) * hidden + update * new

    def forward(self, vectors: Tensor) -> Tensor:
        """``(n, t, e)`` → states ``(n, t, h)``."""
        hidden = vectors.new_zeros(len(vectors), self.hidden)
        states = []
        for inputs in self.inward(vectors).unbind(1):
            hidden = self.step(inputs, hidden)
            states.append(hidden)
        return torch.stack(states, dim=1)


def check_sizes(**sizes: int) -> None:
    """Raise SettingsError for a size that is no whole number of at least 1."""
    for name, size in sizes.items():
        if type(size) is not int or size < 1:
            raise SettingsError(f"{name} must be a whole number of at least 1, not {size!r}")
