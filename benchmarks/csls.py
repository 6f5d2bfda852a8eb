"""CSLS between two large sets of sentences, beside its bare products.

    python benchmarks/csls.py SOURCE.txt.gz TARGET.txt.gz --rows 100000

SOURCE and TARGET are plain text of the model's two languages: real sentences, for random vectors
have no neighbours. Of each the first distinct ones are encoded. Then, in turns in one run:

- the bare products of all with all in bfloat16, tile by tile, thrown away; and in float32;
- CSLS: the 10 nearest of either side, exactly, the means of their cosines, each line's best match;
- the 10 nearest of a sample of either side by exhaustive search in float64, and its estimated time
  for all. The results must be the same as the search's, to the last bit.

The shortest of the turns counts, and ratios are to the bare products in bfloat16. CPU seconds are
of all threads.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from bitextfilter.arrays import Vectors

if TYPE_CHECKING:
    from torch import dtype


K = 10
ROWS, COLUMNS = 1024, 4096
"""A tile of products."""


class Cost(NamedTuple):
    """Time of a run."""

    seconds: float
    cpu: float


def measure(function: Callable[[], Any]) -> tuple[Cost, Any]:
    """Run it once; also return its result."""
    start, cpu = time.perf_counter(), time.process_time()
    result = function()
    return Cost(time.perf_counter() - start, time.process_time() - cpu), result


def distinct_lines(path: str, number: int) -> list[str]:
    """The first distinct lines of a file that are not empty."""
    from bitextfilter.io.files import read_lines

    found: dict[str, None] = {}
    for line in read_lines(path):
        if len(found) == number:
            break
        if line:
            found[line] = None
    return list(found)


def encoded(options: argparse.Namespace) -> tuple[Vectors, Vectors]:
    """Unit vectors of both files."""
    import bitextfilter
    from bitextfilter.similarity.vectors import unit_rows

    model = bitextfilter.load(options.model, threads=options.threads)
    source, target = (
        unit_rows(model.encode(distinct_lines(path, options.rows), language))
        for path, language in zip((options.source, options.target), model.languages, strict=True)
    )
    return source, target


def bare_products(a: Vectors, b: Vectors, form: dtype, threads: int) -> None:
    """Multiply all rows with all, one thread a block, and keep nothing."""
    import torch

    from bitextfilter.io.workers import map_blocks
    from bitextfilter.models.device import one_torch_thread

    left, right = torch.from_numpy(a).to(form), torch.from_numpy(b).to(form)

    def multiply(first: int) -> None:
        rows = left[first : first + ROWS]
        room = left.new_empty(len(rows) * COLUMNS)
        for start in range(0, len(right), COLUMNS):
            columns = right[start : start + COLUMNS]
            out = room[: len(rows) * len(columns)].view(len(rows), len(columns))
            torch.mm(rows, columns.T, out=out)

    with one_torch_thread():
        map_blocks(multiply, range(0, len(left), ROWS), threads)


def csls_of_all(a: Vectors, b: Vectors, threads: int) -> Any:
    """The nearest of either side, and each row's best match by CSLS."""
    import numpy as np

    from bitextfilter.search.bidirectional import bidirectional_search
    from bitextfilter.similarity.vectors import csls, highest_means

    forward, backward = bidirectional_search(a, b, K, threads)
    means = highest_means(forward[0], K), highest_means(backward[0], K)
    scores = csls(forward[0], means[0][:, None], means[1][forward[1]])
    best = np.take_along_axis(forward[1], scores.argmax(axis=1)[:, None], axis=1)
    return forward, backward, best


def check_sample(a: Vectors, b: Vectors, found: Any, options: argparse.Namespace) -> Cost:
    """Search exhaustively for a sample of either side; return the estimated time for all."""
    import numpy as np

    from bitextfilter.similarity.vectors import scan

    costs = []
    for queries, base, (cosines, rows) in ((a, b, found[0]), (b, a, found[1])):
        sample = np.linspace(0, len(queries) - 1, min(options.sample, len(queries))).astype(int)
        cost, exact = measure(lambda: scan(queries[sample], base, K, options.threads))  # noqa: B023
        assert np.array_equal(exact[0], cosines[sample]), "the cosines differ"
        assert np.array_equal(exact[1], rows[sample]), "the neighbours differ"
        costs.append(Cost(*(part * len(queries) / len(sample) for part in cost)))
    return Cost(*(sum(part) for part in zip(*costs, strict=True)))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--rows", type=int, default=100_000, help="distinct lines a side at most")
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--sample", type=int, default=512, help="rows searched for exhaustively")
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    import torch

    options = arguments()
    a, b = encoded(options)
    print(f"{len(a)} x {len(b)} sentences of {a.shape[1]} dimensions, {options.threads} threads")
    runs = {
        "bare products, bfloat16": lambda: bare_products(a, b, torch.bfloat16, options.threads),
        "CSLS, exact": lambda: csls_of_all(a, b, options.threads),
        "bare products, float32": lambda: bare_products(a, b, torch.float32, options.threads),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in runs}
    found = None
    for _ in range(options.turns):
        for name, run in runs.items():
            cost, result = measure(run)
            costs[name].append(cost)
            found = result or found
    best = {name: Cost(*map(min, zip(*turns, strict=True))) for name, turns in costs.items()}
    best["exhaustive in float64"] = check_sample(a, b, found, options)
    bare = next(iter(best.values()))
    print(f"{'':<26}{'seconds':>9}{'CPU s':>9}{'ratio s':>9}{'CPU':>7}")
    for name, cost in best.items():
        ratios = cost.seconds / bare.seconds, cost.cpu / bare.cpu
        print(f"{name:<26}{cost.seconds:9.2f}{cost.cpu:9.2f}{ratios[0]:9.2f}{ratios[1]:7.2f}")
    print(f"{options.sample} rows a side are equal to exhaustive search, to the last bit")


if __name__ == "__main__":
    main()
