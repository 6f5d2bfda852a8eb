"""What every encoder promises, and the one way sentences are run through a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from bitextfilter.io.batches import blocks_by_length, map_blocks
from bitextfilter.models.device import resolve_device
from bitextfilter.text.processor import TextProcessor

Vectors = NDArray[np.float32]

BLOCK_ROWS = 64
BLOCK_TOKENS = 8192


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
    """Rows of a block of sentences of ``length`` tokens: a function of the length alone."""
    return max(1, min(BLOCK_ROWS, BLOCK_TOKENS // length))


class NetworkEncoder:
    """An encoder that runs a torch network block by block.

    A block holds sentences of one length and always has the same shape for that length (missing
    rows are filled up), and each is computed by one thread: so a row's arithmetic is the same in
    any company. Long sentences are encoded whole.
    """

    def __init__(
        self,
        processor: TextProcessor,
        network: nn.Module,
        dim: int,
        device: str = "cpu",
        threads: int = 1,
    ) -> None:
        self.processor = processor
        self.languages = processor.languages
        self.dim = dim
        self.threads = threads
        self.device = resolve_device(device)
        self.network = network.to(self.device).eval()

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """See :meth:`Encoder.encode`. Raises SettingsError for a language the model lacks."""
        ids = self.processor.ids(sentences, language)
        side = self.languages.index(language)
        out = np.empty((len(ids), self.dim), dtype=np.float32)

        def run(block: tuple[int, NDArray[np.int64]]) -> None:
            length, rows = block
            out[rows] = self._block([ids[row] for row in rows], length, side)

        blocks = blocks_by_length([len(row) for row in ids], block_rows)
        with one_torch_thread():
            map_blocks(run, reversed(blocks), self.threads if self.device.type == "cpu" else 1)
        return out

    def _block(self, rows: list[NDArray[np.int32]], length: int, side: int) -> Vectors:
        """Vectors of rows of one length, computed in a block of the length's full shape."""
        padded = np.zeros((block_rows(length), length), dtype=np.int64)
        padded[: len(rows)] = np.stack(rows)
        with torch.inference_mode():
            ids = torch.from_numpy(padded).to(self.device)
            lengths = torch.full((len(padded),), length, device=self.device)
            vectors = self.network(ids, lengths, side)
        return vectors[: len(rows)].float().cpu().numpy()  # type: ignore[no-any-return]


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let each torch operation run on one thread; blocks run side by side instead."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
