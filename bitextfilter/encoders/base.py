"""What every encoder promises, and the one way sentences are run through a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from bitextfilter.encoders.network import Folded, Network, Padded, Tokens
from bitextfilter.io.batches import Block, blocks_by_length, map_blocks
from bitextfilter.models.device import one_torch_thread, resolve_device
from bitextfilter.text.processor import TextProcessor, View
from bitextfilter.text.ragged import Ragged

Vectors = NDArray[np.float32]

LONG, LONGEST = 128, 1024
"""Sentences of more than ``LONG`` tokens come in smaller blocks, for few are of like length; of
more than ``LONGEST``, they are encoded by themselves: a function of the sentence alone."""


class Encoder(Protocol):
    """Turns sentences of two languages into vectors of one space."""

    dim: int
    languages: tuple[str, str]
    processor: TextProcessor
    device: torch.device

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """Encode ``n`` sentences of one language → float32 ``(n, dim)``.

        A row depends on its sentence alone, to the last bit: not on the others, their number or
        order, nor on the number of threads.
        """
        ...


class NetworkEncoder:
    """An encoder that runs a torch network block by block.

    A block holds sentences of like length, always as many of such a length (missing rows are
    filled up), and is computed by one thread: so a row's arithmetic is the same in any company.
    Long sentences are encoded whole.
    """

    def __init__(
        self,
        processor: TextProcessor,
        network: Network,
        device: str = "cpu",
        threads: int = 1,
    ) -> None:
        """Move the network to the device. Raises DeviceError where that is missing."""
        self.processor = processor
        self.languages = processor.languages
        self.dim = network.dim
        self.threads = threads
        self.device = resolve_device(device)
        self.network = network.to(self.device).eval()
        self.network.threads = threads if self.device.type == "cpu" else 1

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """See :meth:`Encoder.encode`. Raises SettingsError for a language the model lacks."""
        views = self._read(sentences, language)
        lengths = next(iter(views.values())).rows.lengths
        out = np.empty((len(lengths), self.dim), dtype=np.float32)
        if not len(out):
            return out
        with one_torch_thread(), torch.inference_mode():
            encode = self._folded(views, self.languages.index(language))

        def run(block: Block) -> None:
            with torch.inference_mode():
                inputs = {name: self._padded(view.rows, block) for name, view in views.items()}
                vectors = encode(inputs)
            out[block.items] = vectors[: len(block.items)].float().cpu().numpy()

        rows = self.network.block_rows
        blocks = blocks_by_length(lengths, ((LONG, rows), (LONGEST, rows // 8)))
        with one_torch_thread():
            map_blocks(run, reversed(blocks), self.threads if self.device.type == "cpu" else 1)
        return out

    def _read(self, sentences: Sequence[str], language: str) -> dict[str, View]:
        read = self.processor.read(sentences, language, self.network.views)
        sequences = self.network.sequences
        return {name: v.one_by_one() if name in sequences else v for name, v in read.items()}

    def _folded(self, views: dict[str, View], side: int) -> Folded:
        tokens = {
            name: Tokens(
                torch.from_numpy(view.tokens.flat.astype(np.int64)).to(self.device),
                torch.from_numpy(view.tokens.lengths).to(self.device),
            )
            for name, view in views.items()
        }
        return self.network.fold(tokens, side)

    def _padded(self, sentences: Ragged, block: Block) -> Padded:
        """The rows of a block, filled up; a missing row is one token 0."""
        ids, lengths = sentences.padded(block.items)
        padded = np.zeros((block.rows, ids.shape[1]), dtype=np.int64)
        sizes = np.ones(block.rows, np.int64)
        padded[: len(ids)], sizes[: len(ids)] = ids, lengths
        return Padded(
            torch.from_numpy(padded).to(self.device), torch.from_numpy(sizes).to(self.device)
        )
