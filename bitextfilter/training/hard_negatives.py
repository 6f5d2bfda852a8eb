"""The hardest negatives of many pairs: a search among some thousand vectors a side.

Letters: m pairs to seek negatives in, d width of a vector, p pairs of pairs.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from bitextfilter.arrays import Indices
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.device import one_torch_thread, product_type

_BLOCK_ROWS = 1000
"""Rows searched at a time."""
_MARGIN = 2.0**-6
"""Between two cosines of bfloat16 whose order is sure. Numbers and sums are rounded by 2^-9 each:
so a cosine is off by less than 2^-8 + 2^-9, and a difference of two by less than 0.012."""
_MOST = 1 << 24
"""Pairs of pairs that share a text, in :func:`sharing`."""


def sharing(keys: tuple[NDArray[np.int64], ...]) -> Tensor | None:
    """Return the places ``(2, p)`` of every two of m pairs that share a text, on any sides.

    Each pair shares its texts with itself. *keys*: a number of each text, by side, ``(m,)`` each.
    None for too many places to be listed.
    """
    count = len(keys[0])
    names, group = np.unique(np.concatenate(keys), return_inverse=True)
    owned = np.unique(group * count + np.tile(np.arange(count), len(keys)))  # by group
    group, owner = np.divmod(owned, count)
    sizes = np.bincount(group, minlength=len(names))
    if int((sizes * sizes).sum()) > _MOST:
        return None
    times = sizes[group]
    inside = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    starts: Indices = np.cumsum(sizes) - sizes
    others = owner[np.repeat(starts[group], times) + inside]
    return torch.from_numpy(np.stack([np.repeat(owner, times), others]))


@torch.no_grad()
def search_negatives(
    source: Tensor, target: Tensor, shared: Tensor, negatives: str, threads: int = 1
) -> tuple[Tensor, Tensor]:
    """Return places as :func:`~bitextfilter.training.objectives.hardest_negatives` does.

    Args:
        source, target: row-aligned vectors ``(m, d)``.
        shared: places ``(2, p)`` of pairs that are no negatives of each other, each pair with
            itself among them.
        negatives: ``same`` or ``other``.
        threads: blocks of rows searched side by side, on a CPU.
    """
    units = [functional.normalize(side.float(), dim=1) for side in (source, target)]
    candidates = {"same": units, "other": units[::-1]}[negatives]
    shared = shared[:, shared[0].argsort()].to(source.device)
    kind = product_type(source.device)
    rounded = [side.to(kind) for side in candidates]

    def search(block: tuple[int, int]) -> Tensor:
        side, first = block
        rows = units[side][first : first + _BLOCK_ROWS]
        bounds = torch.tensor([first, first + len(rows)], device=shared.device)
        here = slice(*torch.searchsorted(shared[0].contiguous(), bounds).tolist())
        cosines = rows.to(kind) @ rounded[side].T
        cosines[shared[0, here] - first, shared[1, here]] = float("-inf")
        if kind == torch.float32:
            return _first_highest(cosines)
        return _first_highest_of(cosines, rows, candidates[side])

    starts = range(0, len(source), _BLOCK_ROWS)
    blocks = [(side, first) for side in (0, 1) for first in starts]
    with one_torch_thread():
        found = map_blocks(search, blocks, threads)
    return torch.cat(found[: len(starts)]), torch.cat(found[len(starts) :])


def _first_highest(values: Tensor) -> Tensor:
    """Column of each row's highest value, the first of equal ones; -1 where all are -inf."""
    highest, place = values.max(dim=1)
    return place.masked_fill(highest.isneginf(), -1)


def _first_highest_of(rough: Tensor, rows: Tensor, candidates: Tensor) -> Tensor:
    """Return the same of the cosines of rows with candidates, of which *rough* are nearly."""
    highest = rough.amax(dim=1)
    near = rough >= (highest.float() - _MARGIN).to(rough.dtype)[:, None]
    near &= ~rough.isneginf()
    row, column = near.nonzero(as_tuple=True)
    cosines = (rows[row] * candidates[column]).sum(dim=1)
    best = cosines.new_full((len(rows),), float("-inf"))
    best = best.scatter_reduce(0, row, cosines, "amax")
    hit = cosines == best[row]
    nobody = len(candidates)
    place = column.new_full((len(rows),), nobody)
    place = place.scatter_reduce(0, row[hit], column[hit], "amin")
    return place.masked_fill(place == nobody, -1)
