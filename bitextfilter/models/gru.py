"""The gated recurrent unit of Sjöblom et al. 2018, which is not what torch's GRU computes.

    r = σ(W_r x + U_r h),  z = σ(W_z x + U_z h)
    c = z ⊙ f(W_h x + U_h (r ⊙ h) + b)
    h' = (1 − z) ⊙ h + c

with a leaky ReLU f. Letters: n rows, t positions, e input width, h hidden width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

SLOPE = 0.01
"""Of the leaky ReLU below 0: torch's default; the paper states none."""


class LeakyGru(nn.Module):
    """One layer, read from left to right."""

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
        new = leaky_relu(inputs[:, 2 * size :] + self.candidate(reset * hidden), SLOPE)
        return (1 - update) * hidden + update * new

    def forward(self, vectors: Tensor) -> Tensor:
        """``(n, t, e)`` → states ``(n, t, h)``."""
        hidden = vectors.new_zeros(len(vectors), self.hidden)
        states = []
        for inputs in self.inward(vectors).unbind(1):
            hidden = self.step(inputs, hidden)
            states.append(hidden)
        return torch.stack(states, dim=1)
