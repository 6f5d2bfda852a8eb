"""The mean of table rows over sentences, its gradient, and a step of Adam: all rows or those read.

    python benchmarks/table_gradients.py

Prints milliseconds, medians in turns, of one mini-batch: 1,000 sentences of 90 trigrams, drawn from
12,000 by Zipf's law. One thread.
"""

from __future__ import annotations

import statistics
import time

import torch

from bitextfilter.encoders.combination import mean_of_rows
from bitextfilter.training.loop import LazyAdam

SENTENCES, TRIGRAMS, OWN, WIDTH, TURNS = 1000, 90, 12_000, 256, 7


def seconds(rows: int, *, sparse: bool) -> float:
    """The time of an update of a table of some rows."""
    generator = torch.Generator().manual_seed(1)
    table = torch.nn.Parameter(torch.randn(rows, WIDTH, generator=generator))
    own = torch.randperm(rows, generator=generator)[:OWN]
    chances = 1 / torch.arange(1, OWN + 1)
    drawn = torch.multinomial(chances, SENTENCES * TRIGRAMS, True, generator=generator)
    ids = own[drawn].view(SENTENCES, TRIGRAMS)
    lengths = torch.full((SENTENCES,), TRIGRAMS)
    optimiser = LazyAdam([table], 0.001)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        optimiser.zero_grad(set_to_none=True)
        loss = mean_of_rows(table, ids, lengths, sparse=sparse).square().sum()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measure both, in turns."""
    torch.set_num_threads(1)
    print("rows of the table\tall rows, ms\trows read, ms\tratio")
    for rows in (40_000, 140_000):
        turns = [(seconds(rows, sparse=False), seconds(rows, sparse=True)) for _ in range(TURNS)]
        every, read = (1000 * statistics.median(times) for times in zip(*turns, strict=True))
        print(f"{rows}\t{every:.0f}\t{read:.0f}\t{every / read:.1f}")


if __name__ == "__main__":
    main()
