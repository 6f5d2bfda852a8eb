"""The banded dynamic program against a plain one over all cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from bitextfilter.arrays import Integers
from bitextfilter.mining import monotonic
from bitextfilter.mining.monotonic import Band, LinkSize, Span, cheapest_path, whole_band

LINKS = [LinkSize(1, 1), LinkSize(1, 2), LinkSize(2, 1), LinkSize(2, 2), LinkSize(3, 1)]


class Table:
    """Costs that stand in a table, which remembers how large the blocks were."""

    def __init__(self, links: Sequence[LinkSize], n: int, m: int, most: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.links = links
        self.prices: Integers = random.integers(0, most, (len(links), n + 1, m + 1))
        self.skip_source: Integers = random.integers(0, most, n)
        self.skip_target: Integers = random.integers(0, most, m)
        self.cells: list[int] = []

    def block(self, rows: slice, columns: slice) -> Integers:
        found = self.prices[:, rows, columns]
        self.cells.append(found[0].size)
        return found


def plain(costs: Table, inside: NDArray[np.bool_]) -> tuple[list[Span], int]:
    """The same by dictionaries of cells, one by one, over the cells that are inside."""
    n, m = inside.shape[0] - 1, inside.shape[1] - 1
    best: dict[tuple[int, int], int] = {(0, 0): 0}
    step_to: dict[tuple[int, int], LinkSize] = {}
    for i, j in np.argwhere(inside)[1:].tolist():
        ways = [
            (best[i - a, j - b] + int(costs.prices[number, i, j]), number, LinkSize(a, b))
            for number, (a, b) in enumerate(costs.links)
            if (i - a, j - b) in best
        ]
        if (i - 1, j) in best:
            ways.append((best[i - 1, j] + int(costs.skip_source[i - 1]), 98, LinkSize(1, 0)))
        if (i, j - 1) in best:
            ways.append((best[i, j - 1] + int(costs.skip_target[j - 1]), 99, LinkSize(0, 1)))
        if ways:
            best[i, j], _, step_to[i, j] = min(ways)
    spans, i, j = [], n, m
    while (i, j) != (0, 0):
        step = step_to[i, j]
        spans.append(Span(i - step.source, i, j - step.target, j))
        i, j = i - step.source, j - step.target
    return spans[::-1], best[n, m]


@pytest.mark.parametrize("most", [3, 1000])  # many ties; hardly any
@pytest.mark.parametrize("seed", range(40))
def test_whole(seed: int, most: int) -> None:
    n, m = np.random.default_rng(seed).integers(0, 75 if seed % 10 == 0 else 14, 2).tolist()
    costs = Table(LINKS, n, m, most, seed)
    assert cheapest_path(costs, whole_band(n, m)) == plain(costs, np.ones((n + 1, m + 1), bool))


@pytest.mark.parametrize("seed", range(40))
def test_inside_a_band(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    n, m = random.integers(1, 50), int(random.integers(1, 50))
    middle = np.sort(random.integers(0, m + 1, n + 1))
    first, last = (middle - random.integers(0, 4)).clip(0), middle.copy()
    last[:-1] = np.maximum(last[:-1], first[1:]) + random.integers(0, 4)
    first[0], last[-1] = 0, m
    band = Band(first, np.maximum.accumulate(last.clip(0, m)))
    inside = np.array(
        [
            (np.arange(m + 1) >= low) & (np.arange(m + 1) <= high)
            for low, high in zip(band.first, band.last, strict=True)
        ]
    )
    costs = Table(LINKS, int(n), m, 50, seed)
    expected = plain(costs, inside)
    assert cheapest_path(costs, band) == expected
    monkeypatch.setattr(monotonic, "_BLOCK_CELLS", 1)  # a row at a time
    assert cheapest_path(costs, band) == expected


def test_blocks_are_small_however_long_a_row_is() -> None:
    n, m = 100, 9_000
    first, last = np.zeros(n + 1, np.int64), np.full(n + 1, m)
    first[60:] = m - 20
    last[:50] = 20
    costs = Table([LinkSize(1, 1)], n, m, 9, 1)
    cheapest_path(costs, Band(first, last))
    assert max(costs.cells) <= monotonic._BLOCK_CELLS
    assert min(costs.cells[:1]) == 21 * monotonic._BLOCK_ROWS


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ([1, 1], [1, 1]),  # does not begin at 0
        ([0, 2], [1, 3]),  # a gap
        ([0, 1, 0], [1, 1, 1]),  # falls
        ([0, 0, 0], [1, 2, 1]),
        ([0, 1], [1, 0]),  # an empty row
    ],
)
def test_what_is_no_band(first: list[int], last: list[int]) -> None:
    with pytest.raises(ValueError, match="a band begins at 0"):
        Band(np.array(first), np.array(last))
