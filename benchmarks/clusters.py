"""Pairs that `bitext-align --index clusters` compares for a recall, by the axes of its clusters.

    python benchmarks/mining.py ... --sizes 1000000 --dtype int8 --keep DIR
    python benchmarks/clusters.py DIR/1000000/work --dtype int8

DIR/SIZE/work has the vectors of either side. Of 1,024 of a side the nearest of the other are found
exactly; then clusters are learnt of axes as they are, and made even, and of how many each row must
be in. The share of all pairs that are then compared is estimated from 30,000 rows of a side; those
in several clusters count several times.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextfilter.commands.frame.command import steady_speed_and_memory
from bitextfilter.io.vectors import VectorFile
from bitextfilter.search import clusters
from bitextfilter.search.compiled import EvenAxes, even_axes
from bitextfilter.search.tasks import NeighbourFiles, Sides, nearest_in_file, spaced_places
from bitextfilter.similarity.vectors import unit_rows

SAMPLE, COUNTED = 1024, 30_000
RECALLS = (0.7, 0.8, 0.9, 0.95, 0.98)
MOST = 40

Rows = NDArray[np.float32]


def rows_of(sides: Sides, side: int, count: int) -> Rows:
    """Some unit rows of a side, evenly spaced."""
    file = sides.file(side)
    return unit_rows(file[spaced_places(len(file), count)])


def with_nearest(sides: Sides, side: int) -> tuple[Rows, Rows]:
    """Some rows of a side, and the nearest row of the other side to each."""
    rows, base = rows_of(sides, side, SAMPLE), sides.file(1 - side)
    nearest = nearest_in_file(rows, base, 1, sides.threads)[1][:, 0]
    return rows, unit_rows(base[nearest])


def recalls_of(router: clusters._Router, pairs: list[tuple[Rows, Rows]]) -> list[float]:
    """The lower of both sides' shares of rows that meet their nearest, by visits from 1."""
    met = []
    for side, (rows, nearest) in enumerate(pairs):
        one, other = (
            router.nearest(units, own, MOST) for units, own in ((rows, side), (nearest, 1 - side))
        )
        shared = one[:, :, None] == other[:, None, :]
        first = [shared[:, :visits, :visits].any(axis=(1, 2)) for visits in range(1, MOST + 1)]
        met.append(np.mean(first, axis=1))
    return [float(lower) for lower in np.minimum(*met)]


def compared(router: clusters._Router, sides: Sides, visits: int) -> float:
    """The share of all pairs that are compared."""
    most = len(router.centroids)
    one, other = (
        np.bincount(router.nearest(rows_of(sides, side, COUNTED), side, visits).ravel(), None, most)
        / min(COUNTED, sides.neighbours.sizes[side])
        for side in (0, 1)
    )
    return float(one @ other)


def main() -> None:
    """Measure and print."""
    steady_speed_and_memory()
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("work", type=Path, help="a folder with vectors of both sides")
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--dtype", default="int8", help="number format of the vectors")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    files = options.work / "source.vectors", options.work / "target.vectors"
    one, other = (len(VectorFile(path, options.dim, options.dtype)) for path in files)
    forms = options.dtype, options.dtype
    neighbours = NeighbourFiles(options.work, (one, other), 4)
    sides = Sides(files, options.dim, forms, neighbours, options.threads)
    pairs = [with_nearest(sides, side) for side in (0, 1)]
    print(f"{'axes':8}{'clusters':>9}" + "".join(f"{recall:>18}" for recall in RECALLS))
    plain = EvenAxes(np.zeros((2, options.dim), np.float32), np.eye(options.dim, dtype=np.float32))
    for name, learn in (("as is", lambda _: plain), ("even", even_axes)):
        vars(clusters)["even_axes"] = learn
        router = clusters._Router(sides)
        reached = recalls_of(router, pairs)
        cells = []
        for recall in RECALLS:
            visits = 1 + next((at for at, own in enumerate(reached) if own >= recall), MOST)
            share = compared(router, sides, visits) if visits <= MOST else np.nan
            cells.append(f"{visits:>7} {share * 100:>8.3f} %")
        print(f"{name:8}{len(router.centroids):>9}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
