"""Starting values of Sjöblom, Creutz & Aulamo 2018: small uniform vectors, Xavier matrices.

They change a tensor in place, as the trailing underscore says in torch.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

LARGEST_START = 0.01
"""Subword vectors start uniform in ±0.01."""


@torch.no_grad()
def start_embeddings_(table: Tensor, generator: torch.Generator) -> None:
    """Draw subword vectors ``(v, w)`` uniform in ±:data:`LARGEST_START`."""
    table.uniform_(-LARGEST_START, LARGEST_START, generator=generator)


def start_matrix_(matrix: Tensor, generator: torch.Generator, gates: int = 1) -> None:
    """Draw a matrix ``(out, in)`` uniform in ±√(6 / (in + out)) (Glorot & Bengio 2010, eq. 16).

    Args:
        matrix: changed in place.
        generator: on the matrix's device.
        gates: as how many matrices of equal size, one below the other, it counts: 4 for the
            weights of torch's LSTM, 3 for its GRU.
    """
    for part in matrix.chunk(gates):
        nn.init.xavier_uniform_(part, generator=generator)


def start_recurrent_(layer: nn.RNNBase, generator: torch.Generator) -> None:
    """Draw every matrix of torch's recurrent layers gate by gate; the biases start at 0."""
    for name, parameter in layer.named_parameters():
        if name.startswith("weight"):
            start_matrix_(parameter, generator, len(parameter) // layer.hidden_size)
        else:
            nn.init.zeros_(parameter)
