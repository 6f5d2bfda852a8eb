"""Sentences in blocks of fixed shapes, so that no row's arithmetic depends on its company.

A length is rounded up to a rung of a ladder, and all blocks of one rung have as many rows, with
empty ones where there are too few sentences: what is computed for a sentence then has a shape
that follows from the sentence alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from bitextfilter.translation.network import Rows

__all__ = ["Block", "Ids", "blocks_of", "rows_of"]

Ids = NDArray[np.int32]

LADDER = np.array([8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512])
"""Lengths that shorter ones are rounded up to; longer ones are multiples of the last."""

ROWS, FULL = 64, 64
"""Rows of a block of sentences up to ``FULL`` tokens; half as many for each doubling."""


class Block(NamedTuple):
    """Some items of one shape."""

    items: NDArray[np.int64]
    """Their places, at most ``rows``."""
    rows: int
    shape: tuple[int, ...]
    """The rounded length of each side."""


def rounded(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rungs of lengths."""
    top = int(LADDER[-1])
    rungs = LADDER[np.minimum(np.searchsorted(LADDER, lengths), len(LADDER) - 1)]
    return np.where(lengths > top, -(-lengths // top) * top, rungs)


def blocks_of(lengths: NDArray[np.int64], most: int = ROWS) -> list[Block]:
    """Blocks of items with these lengths of their sides, ``(n, sides)``.

    Long ones first, so that threads end together; each of ``range(n)`` stands in exactly one.
    """
    if not len(lengths):
        return []
    shapes, group = np.unique(rounded(lengths), axis=0, return_inverse=True)
    order = np.lexsort((lengths.sum(1), group.reshape(-1)))
    bounds = np.searchsorted(group.reshape(-1)[order], np.arange(len(shapes) + 1))
    blocks = []
    for number, shape in enumerate(shapes.tolist()):
        rows = max(1, most >> max(0, -(-max(shape) // FULL) - 1).bit_length())
        items = order[bounds[number] : bounds[number + 1]]
        starts = range(0, len(items), rows)
        blocks += [Block(items[i : i + rows], rows, tuple(shape)) for i in starts]
    return sorted(blocks, key=lambda block: -sum(block.shape))


def rows_of(sentences: Sequence[Ids], block: Block, side: int, device: torch.device) -> Rows:
    """One side of a block, filled up; an empty row is a single token 0."""
    ids = np.zeros((block.rows, block.shape[side]), dtype=np.int64)
    lengths = np.ones(block.rows, dtype=np.int64)
    for row, item in enumerate(block.items):
        ids[row, : len(sentences[item])] = sentences[item]
        lengths[row] = len(sentences[item])
    return Rows(torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device))
