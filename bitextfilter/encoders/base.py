"""What every encoder promises, and the one way sentences are run through a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bitextfilter.encoders.network import Network
from bitextfilter.io.batches import blocks_by_length, map_blocks
from bitextfilter.models.device import one_torch_thread, resolve_device
from bitextfilter.text.processor import TextProcessor

Vectors = NDArray[np.float32]

BLOCK_ROWS = 64
BLOCK_TOKENS = 4096


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


def block_rows(length: int) -> int:
    """Rows of a block of sentences of ``length`` tokens, a power of two: known by the length."""
    rows = max(1, min(BLOCK_ROWS, BLOCK_TOKENS // length))
    return 1 << (rows.bit_length() - 1)


class NetworkEncoder:
    """An encoder that runs a torch network block by block.

    A block holds sentences of one length and always has the same shape for that length (missing
    rows are filled up), and each is computed by one thread: so a row's arithmetic is the same in
    any company. Long sentences are encoded whole.
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

        def run(block: tuple[int, NDArray[np.int64]]) -> None:
            length, members = block
            padded = np.zeros((block_rows(length), length), dtype=np.int64)
            padded[: len(members)] = np.stack([rows[member] for member in members])
            with torch.inference_mode():
                vectors = encode(torch.from_numpy(padded).to(self.device))
            out[members] = vectors[: len(members)].float().cpu().numpy()

        blocks = blocks_by_length(lengths, block_rows)
        with one_torch_thread():
            map_blocks(run, reversed(blocks), self.threads if self.device.type == "cpu" else 1)
        return out

    def _folded(self, tokens: NDArray[np.int32], side: int) -> Callable[[Tensor], Tensor]:
        return self.network.fold(torch.from_numpy(tokens.astype(np.int64)).to(self.device), side)
