"""Starting points of a network: random values, word vectors from a file, another model."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bitextfilter.encoders.base import Network
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.vector_file import word_lines
from bitextfilter.text.vocabulary import Vocabulary


def start_matrix_(matrix: Tensor, generator: torch.Generator, gates: int = 1) -> None:
    """Draw a matrix ``(out, in)`` uniform in ±√(6 / (in + out)) (Glorot & Bengio 2010, eq. 16).

    It counts as several matrices of equal size, one below the other: *gates*, 4 for the weights of
    torch's LSTM, 3 for its GRU.
    """
    for part in matrix.chunk(gates):
        nn.init.xavier_uniform_(part, generator=generator)


_SOURCE = re.compile(r"^(vectors|parts)\.0\.")
"""Prefix of a combination's tensors of the source language, or of both."""


def start_from(network: Network, other: Network) -> list[str]:
    """Copy every tensor of ``other`` whose name and shape fit; returns their names.

    A tensor that both languages share in ``other`` goes to both where ``network`` has two. Raises
    SettingsError if nothing fits.
    """
    own, others = network.state_dict(), other.state_dict()
    of_both = {_SOURCE.sub(r"\1.1.", name): tensor for name, tensor in others.items()}
    fitting = {
        name: tensor
        for name, tensor in {**of_both, **others}.items()
        if name in own and own[name].shape == tensor.shape
    }
    if not fitting:
        raise SettingsError("the model to start from has no tensor that fits this network")
    network.load_state_dict({**own, **fitting})
    return sorted(fitting)


def read_vectors(path: Path, vocabulary: Vocabulary, width: int) -> tuple[Tensor, Tensor]:
    """Read word vectors in the text format of word2vec and fastText.

    Vectors of pieces that the vocabulary lacks are passed over.

    Returns:
        Ids ``(m,)`` and their vectors, float32 ``(m, width)``; of a repeated piece the first.

    Raises:
        InputError: a line is no piece and ``width`` numbers, or none is of the vocabulary.
    """
    found: dict[int, NDArray[np.float32]] = {}
    for number, piece, vector in word_lines(path):
        if len(vector) != width:
            raise InputError(
                f"expected a piece and {width} numbers",
                file=str(path),
                line=number,
                remedy=f"set shape.embedding to the width of the vectors ({len(vector)})",
            )
        if piece in vocabulary.index:
            found.setdefault(vocabulary.index[piece], vector)
    if not found:
        raise InputError(
            "no vector is of a piece of the vocabulary",
            file=str(path),
            remedy="segment the text before learning the vectors (bitext-segment apply)",
        )
    return torch.tensor(list(found)), torch.from_numpy(np.stack(list(found.values())))


def use_vectors(network: Network, path: Path, vocabulary: Vocabulary) -> int:
    """Start the vectors of pieces from a file (:func:`read_vectors`); how many were there.

    Raises SettingsError if the network has none.
    """
    tables = network.piece_tables()
    if not tables:
        raise SettingsError(
            "this architecture has no vectors of pieces to start from a file; add a part that"
            " reads pieces, such as word"
        )
    ids, vectors = read_vectors(path, vocabulary, tables[0].embedding_dim)
    with torch.no_grad():
        for table in tables:
            table.weight[ids] = vectors.to(table.weight)
    return len(ids)


def start_small(network: nn.Module, seed: int) -> None:
    """Start as Sjöblom, Creutz & Aulamo 2018: vectors within 0.01, Xavier matrices.

    Matrices of recurrent layers are drawn gate by gate; biases start at 0.
    """
    generator = torch.Generator().manual_seed(seed)
    for module in network.modules():
        if isinstance(module, nn.Embedding):
            nn.init.uniform_(module.weight, -0.01, 0.01, generator)
        elif isinstance(module, nn.RNNBase):
            for name, parameter in module.named_parameters():
                if name.startswith("weight"):
                    start_matrix_(parameter, generator, len(parameter) // module.hidden_size)
                else:
                    nn.init.zeros_(parameter)
        elif isinstance(module, nn.Linear):
            square = max(1, module.out_features // module.in_features)
            start_matrix_(module.weight, generator, square)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
