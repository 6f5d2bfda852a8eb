"""What every encoder promises, and the one way sentences are run through a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bitextfilter.encoders.network import Folded, Network
from bitextfilter.io.batches import blocks_by_length, map_blocks
from bitextfilter.models.device import one_torch_thread, resolve_device
from bitextfilter.text.processor import TextProcessor

Vectors = NDArray[np.float32]

BLOCK_ROWS = 32
LONG = 1024
"""Sentences of more tokens are encoded by themselves: a function of the sentence alone."""


class Encoder(Protocol):
    """Turns sentences of two languages into vectors of one space."""

    dim: int
    languages: tuple[str, str]

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """Encode ``n`` sentences of one language → float32 ``(n, dim)``.

        A row depends on its sentence alone, to the last bit: not on the others, their number or
        order, nor on the number of threads.
        """
        ...


class NetworkEncoder:
    """An encoder that runs a torch network block by block.

    A block holds sentences of like length, always as many (missing rows are filled up; a long
    sentence has a block of its own), and is computed by one thread: so a row's arithmetic is the
    same in any company. Long sentences are encoded whole.
    """

    def __init__(
        self,
        processor: TextProcessor,
        network: Network,
        dim: int,
        device: str = "cpu",
        threads: int = 1,
    ) -> None:
        """Move the network to the device. Raises DeviceError where that is missing."""
        self.processor = processor
        self.languages = processor.languages
        self.dim = dim
        self.threads = threads
        self.device = resolve_device(device)
        self.network = network.to(self.device).eval()

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """See :meth:`Encoder.encode`. Raises SettingsError for a language the model lacks."""
        ids = self.processor.ids(sentences, language)
        out = np.empty((len(ids), self.dim), dtype=np.float32)
        if not ids:
            return out
        lengths = np.array([len(row) for row in ids])
        tokens, numbers = np.unique(np.concatenate(ids), return_inverse=True)
        rows = np.split(numbers, np.cumsum(lengths)[:-1])
        with one_torch_thread(), torch.inference_mode():
            encode = self._folded(tokens, self.languages.index(language))

        def run(block: NDArray[np.int64]) -> None:
            size = 1 if lengths[block[0]] > LONG else BLOCK_ROWS
            padded, sizes = _padded([rows[member] for member in block], size)
            with torch.inference_mode():
                vectors = encode(padded.to(self.device), sizes.to(self.device))
            out[block] = vectors[: len(block)].float().cpu().numpy()

        blocks = blocks_by_length(lengths, BLOCK_ROWS, LONG)
        with one_torch_thread():
            map_blocks(run, reversed(blocks), self.threads if self.device.type == "cpu" else 1)
        return out

    def _folded(self, tokens: NDArray[np.int32], side: int) -> Folded:
        return self.network.fold(torch.from_numpy(tokens.astype(np.int64)).to(self.device), side)


def _padded(rows: list[NDArray[np.int64]], size: int) -> tuple[Tensor, Tensor]:
    """Rows as ``(size, t)``, and their lengths ``(size,)``; a missing row is one token 0."""
    lengths = np.ones(size, dtype=np.int64)
    lengths[: len(rows)] = [len(row) for row in rows]
    padded = np.zeros((size, int(lengths.max())), dtype=np.int64)
    for place, row in zip(padded, rows, strict=False):
        place[: len(row)] = row
    return torch.from_numpy(padded), torch.from_numpy(lengths)
