"""Speed and recall of an inverted file (IVF) beside exhaustive search in a large database.

    python benchmarks/index.py de:QUERIES.txt en:DATABASE.txt de:MORE.txt --plot curve.svg

All files are plain text, real sentences, each after its language. The distinct lines of the
databases are clustered by spherical k-means into `--lists` lists; a search reads the `--probes`
lists with the centres nearest to the query. Two ways:

- faiss: IndexIVFFlat, query by query, for the first `--few` queries (`pip install faiss-cpu`);
- by list: all queries that a list concerns at once, products in bfloat16.

Beside them two exhaustive searches: faiss's IndexFlatIP, and this package's, which is exact.
Recall@1 is the share of queries for which a row as near as the nearest is found. Queries a second
are by one thread's CPU time, the choice of the lists included.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bitextfilter.arrays import Vectors
from bitextfilter.models.device import product_type
from bitextfilter.search.bidirectional import SearchRequest, bidirectional_part_search
from bitextfilter.similarity.vectors import unit_products_at, unit_rows

Rows = NDArray[np.int64]

CPU = torch.device("cpu")
BLOCK = 1024
ROUNDS = 8
"""Of k-means."""
POINTS = 64
"""Rows a list that it learns from."""


class Point(NamedTuple):
    """One search of the table."""

    way: str
    lists: int
    probes: int
    recall: float
    rate: float
    """Queries a second."""


def measure(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the CPU seconds of one call, and its result."""
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result


def nearest_centres(rows: Tensor, centres: Tensor, number: int) -> Tensor:
    """Numbers ``(n, number)`` of the nearest centres."""
    firsts = range(0, len(rows), BLOCK)
    products = ((rows[first : first + BLOCK] @ centres.T).float() for first in firsts)
    return torch.cat([torch.topk(block, number)[1] for block in products])


def cluster(base: Tensor, lists: int) -> Tensor:
    """Centres ``(lists, d)`` by spherical k-means on a sample; an empty list keeps its centre."""
    random = torch.Generator().manual_seed(1)
    sample = base[torch.randperm(len(base), generator=random)[: POINTS * lists]]
    centres = sample[:lists].clone()
    for _ in range(ROUNDS):
        nearest = nearest_centres(sample, centres, 1)[:, 0]
        sums = torch.zeros(centres.shape).index_add_(0, nearest, sample.float())
        norms = sums.norm(dim=1, keepdim=True)
        centres = torch.where(norms > 0, sums / norms, centres.float()).to(base.dtype)
    return centres


def flat(queries: Vectors, base: Vectors) -> Rows:
    """The nearest row of each query, exactly, by this package's search."""
    none = np.full(len(base), 2.0, np.float32)  # above any cosine
    wanted = SearchRequest(1, (None, none))
    return bidirectional_part_search(queries, base, wanted)[0][1][:, 0]


def grouped(numbers: Tensor, groups: int) -> list[Tensor]:
    """Places of each number from 0 to ``groups`` - 1."""
    sizes = torch.bincount(numbers, minlength=groups)
    return list(torch.tensor_split(torch.argsort(numbers, stable=True), sizes.cumsum(0)[:-1]))


class Lists:
    """The rows of a database by the list that they are in."""

    def __init__(self, base: Tensor, number: int) -> None:
        """Cluster."""
        self.centres = cluster(base, number)
        self.of = nearest_centres(base, self.centres, 1)[:, 0]
        self.rows = grouped(self.of, number)
        self.vectors = [base[rows] for rows in self.rows]

    def search(self, queries: Tensor, probes: int) -> Rows:
        """The nearest row of each query in the lists nearest to it, list after list."""
        best, found = torch.full((len(queries),), -2.0), torch.full((len(queries),), -1)
        wanted = nearest_centres(queries, self.centres, probes).ravel()
        groups = grouped(wanted, len(self.rows))
        for places, vectors, rows in zip(groups, self.vectors, self.rows, strict=True):
            if len(places) and len(rows):
                asking = places // probes
                values, columns = (queries[asking] @ vectors.T).float().max(dim=1)
                better = values > best[asking]
                best[asking[better]] = values[better]
                found[asking[better]] = rows[columns[better]]
        return found.numpy()

    def faiss_index(self, base: Vectors) -> Any:
        """The same lists in faiss."""
        import faiss

        number, dim = self.centres.shape
        self.quantizer = faiss.IndexFlatIP(dim)  # faiss does not keep it alive
        self.quantizer.add(self.centres.float().numpy())
        index = faiss.IndexIVFFlat(self.quantizer, dim, number, faiss.METRIC_INNER_PRODUCT)
        index.is_trained = True
        places = self.of.numpy().copy()
        index.add_core(len(base), faiss.swig_ptr(base), None, faiss.swig_ptr(places))
        return index


def faiss_search(index: Any, queries: Vectors, probes: int) -> Rows:
    """The nearest row of each query in faiss."""
    if probes:
        index.nprobe = probes
    found: Rows = index.search(queries, 1)[1][:, 0]
    return found


def points(queries: Vectors, base: Vectors, options: argparse.Namespace) -> Iterator[Point]:
    """Measure every search."""
    import faiss

    seconds, nearest = measure(flat, queries, base)
    assert (nearest >= 0).all(), "left to a scan: this is not a database of real sentences"
    highest = unit_products_at(queries, base, nearest[:, None])

    def point(way: str, lists: int, probes: int, cost: tuple[float, Rows]) -> Point:
        found = cost[1]
        cosines = unit_products_at(queries[: len(found)], base, found[:, None])
        recall = float((cosines >= highest[: len(found)]).mean())
        return Point(way, lists, probes, recall, len(found) / cost[0])

    yield point("flat, this package", 0, 0, (seconds, nearest))
    few = queries[: options.few]
    index = faiss.IndexFlatIP(base.shape[1])
    index.add(base)
    yield point("flat, faiss", 0, 0, measure(faiss_search, index, few, 0))
    del index
    form = product_type(CPU)
    rounded, asked = torch.from_numpy(base).to(form), torch.from_numpy(queries).to(form)
    for number in options.lists:
        lists = Lists(rounded, number)
        for probes in options.probes:
            yield point("IVF by list", number, probes, measure(lists.search, asked, probes))
        index = lists.faiss_index(base)
        for probes in options.probes:
            yield point("IVF, faiss", number, probes, measure(faiss_search, index, few, probes))
        del lists, index


def plot(found: list[Point], path: str) -> None:
    """Draw queries a second over recall."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4), layout="constrained")
    axes = figure.add_subplot()
    for way, lists in dict.fromkeys((point.way, point.lists) for point in found):
        some = [point for point in found if (point.way, point.lists) == (way, lists)]
        label = f"{way}, {lists} lists" if lists else way
        axes.plot([p.recall for p in some], [p.rate for p in some], marker="o", label=label)
    axes.set(xlabel="recall@1", ylabel="queries a second, one core", yscale="log")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


def encoded(paths: list[str], number: int, model: str) -> Vectors:
    """Unit vectors of the first distinct lines of some files."""
    import bitextfilter
    from bitextfilter.io.files import read_lines

    loaded = bitextfilter.load(model, threads=1)
    lines: dict[str, str] = {}
    for path in paths:
        language, _, name = path.partition(":")
        for line in read_lines(name):
            if line and len(lines) < number:
                lines.setdefault(line, language)
    parts = [
        unit_rows(loaded.encode([line for line, its in lines.items() if its == language], language))
        for language in dict.fromkeys(lines.values())
    ]
    return np.concatenate(parts)


def main() -> None:
    """Measure, print and draw."""
    import faiss

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("queries", help="LANGUAGE:FILE")
    parser.add_argument("database", nargs="+", help="LANGUAGE:FILE")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the databases at most")
    parser.add_argument("--number", type=int, default=4000, help="queries")
    parser.add_argument("--few", type=int, default=400, help="queries for faiss")
    parser.add_argument("--lists", type=int, nargs="+", default=[1024, 4096])
    parser.add_argument("--probes", type=int, nargs="+", default=[1, 4, 16, 64, 256])
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--plot", metavar="FILE", help="draw the curves: .svg, .png")
    options = parser.parse_args()
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    base = encoded(options.database, options.rows, options.model)
    queries = encoded([options.queries], options.number, options.model)
    print(f"{len(queries)} queries, {len(base)} rows of {base.shape[1]} dimensions", flush=True)
    print(f"{'':<20}{'lists':>7}{'probes':>8}{'recall@1':>10}{'queries/s':>11}{'to flat':>9}")
    found: list[Point] = []
    for point in points(queries, base, options):
        found.append(point)
        sizes = f"{point.way:<20}{point.lists or '':>7}{point.probes or '':>8}"
        ratio = point.rate / found[0].rate
        print(f"{sizes}{point.recall:10.4f}{point.rate:11.1f}{ratio:9.2f}", flush=True)
    if options.plot:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
