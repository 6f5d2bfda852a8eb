"""Links re-scored on the way, against a plain program that knows all penalties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from bitextfilter.arrays import Integers
from bitextfilter.mining import documents
from bitextfilter.mining.documents import rescore_links
from bitextfilter.mining.monotonic import LinkSize, Span, align

LINKS = [LinkSize(1, 1), LinkSize(1, 2), LinkSize(2, 1), LinkSize(2, 2), LinkSize(3, 1)]
SKIP = 60


class Table:
    """Costs in a table: low near the diagonal, as those of translations are."""

    def __init__(self, n: int, m: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        away = np.abs(np.arange(n + 1)[:, None] * m / max(n, 1) - np.arange(m + 1)).astype(np.int64)
        self.links = LINKS
        self.prices: Integers = random.integers(0, 100, (len(LINKS), n + 1, m + 1)) + 40 * away
        self.penalties: Integers = random.integers(0, 80, self.prices.shape)
        self.skip_source, self.skip_target = np.full(n, SKIP), np.full(m, SKIP)
        self.blocks = 0

    def block(self, rows: slice, columns: slice) -> Integers:
        self.blocks += 1
        return self.prices[:, rows, columns]

    def coarser(self) -> Table:
        raise AssertionError("these are short")

    def ask(self, spans: Sequence[Span]) -> Integers:
        return np.array([self.penalties[number_of(span)] for span in spans])


def number_of(span: Span) -> tuple[int, int, int]:
    step = LinkSize(span[1] - span[0], span[3] - span[2])
    return LINKS.index(step), span.source_stop, span.target_stop


def cost_of(table: Table, path: list[Span], penalties: Integers) -> int:
    whole = [span for span in path if all(span.size)]
    left_out = sum(sum(span.size) for span in path if not all(span.size))
    return SKIP * left_out + sum(int((table.prices + penalties)[number_of(span)]) for span in whole)


def cheapest(table: Table, penalties: Integers) -> int:
    """What the cheapest of all ways costs, cell by cell."""
    n, m = len(table.skip_source), len(table.skip_target)
    best = {(0, 0): 0}

    def ways(i: int, j: int) -> Iterator[int]:
        for number, (a, b) in enumerate(LINKS):
            if i >= a and j >= b:
                yield best[i - a, j - b] + int((table.prices + penalties)[number, i, j])
        if i:
            yield best[i - 1, j] + SKIP
        if j:
            yield best[i, j - 1] + SKIP

    for i in range(n + 1):
        for j in range(m + 1):
            if i or j:
                best[i, j] = min(ways(i, j))
    return best[n, m]


@pytest.mark.parametrize("seed", range(30))
def test_no_path_is_cheaper_with_all_penalties(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_MARGIN", 100)
    monkeypatch.setattr(documents, "RESCORING_ROUNDS", 1000)
    n, m = np.random.default_rng(seed).integers(0, 45 if seed % 5 == 0 else 14, 2).tolist()
    table, asked = Table(n, m, seed), Counter[Span]()

    def ask(spans: Sequence[Span]) -> Integers:
        asked.update(spans)
        return table.ask(spans)

    found = rescore_links(table, align(table), ask)
    assert cost_of(table, found, table.penalties) == cheapest(table, table.penalties)
    assert [i for span in found for i in range(*span[:2])] == list(range(n))
    assert [j for span in found for j in range(*span[2:])] == list(range(m))
    assert set(asked.values()) <= {1}
    assert len(asked) <= n * m  # a fifth of the links there could be


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_after_some_rounds_only_known_links_are_taken(
    rounds: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "RESCORING_ROUNDS", rounds)
    table, asked = Table(20, 24, seed), list[Span]()

    def ask(spans: Sequence[Span]) -> Integers:
        asked.extend(spans)
        return table.ask(spans)

    first = align(table)
    found = rescore_links(table, first, ask)
    assert {span for span in found if all(span.size)} <= set(asked)
    costs = [cost_of(table, path, table.penalties) for path in (first, found)]
    assert costs[1] <= costs[0]


def test_without_penalties_nothing_changes_and_blocks_are_made_once() -> None:
    table = Table(40, 40, 1)
    first = align(table)
    table.blocks = 0
    assert rescore_links(table, first, lambda spans: np.zeros(len(spans), np.int64)) == first
    once = table.blocks
    rescore_links(table, first, table.ask)
    assert table.blocks <= 2 * once


def test_a_link_with_a_penalty_is_divided() -> None:
    table = Table(2, 2, 1)
    table.prices[:] = 1000
    table.prices[LINKS.index(LinkSize(2, 2)), 2, 2] = 50
    table.prices[LINKS.index(LinkSize(1, 1)), [1, 2], [1, 2]] = 30
    table.penalties[:] = 0
    table.penalties[LINKS.index(LinkSize(2, 2)), 2, 2] = 11
    first = align(table)
    assert [span.size for span in first] == [(2, 2)]
    assert [span.size for span in rescore_links(table, first, table.ask)] == [(1, 1), (1, 1)]
