"""Exact search and scoring on a GPU: a check, and speed beside naive ways.

    python benchmarks/gpu.py --texts EN.txt.xz DE.txt.xz --rows 1000000 --folder /dev/shm

Lines of two files are encoded by the model into two files of float16 vectors in the folder (1 KB a
row and side for 512 dimensions); beyond them, a vector is the sum of those of two halves of lines.

- *search*: the 4 nearest of each row, both ways, as `bitext-align --device cuda` finds them;
- *check*: those of 256 rows of either side are, to the last bit, those of exhaustive search;
- *stages*: the search of a million rows at most, on the device alone, and the parts of a tile;
- *naive*: tiles of products in float16 with `torch.topk`, inexact, for some rows one way;
- *faiss*: a flat index in float16 on the GPU, likewise, where faiss for GPUs is installed;
- *score*: pairs a second, on the GPU and on the processor.

`--device cpu --rows 3000` tries the script without a GPU.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from functools import partial, reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bitextfilter import load
from bitextfilter.arrays import Vectors
from bitextfilter.io.files import read_lines
from bitextfilter.io.vectors import VectorFile, VectorWriter
from bitextfilter.io.workers import LocalEngine, map_blocks
from bitextfilter.models.device import free_memory
from bitextfilter.search.tasks import (
    NeighbourFiles,
    Sides,
    cell_tasks,
    compare_pieces,
    find_neighbours,
    in_pieces,
    piece_tasks,
)
from bitextfilter.search.torch_search import (
    GROUP,
    DeviceRows,
    highest,
    room_for,
    search_rows,
)
from bitextfilter.similarity.vectors import Neighbours, merge_neighbours, scan, unit_rows

PARTS = ("search", "stages", "naive", "faiss", "score")
K = 4
CHECKED = 256
QUERIES = 1 << 14
"""Rows that naive ways search for."""
TILE = 1 << 17
"""Rows that they compare at a time."""
CHUNK = 1 << 15
"""Rows encoded, and pairs scored, at a time."""
STAGED = 1 << 20
"""Rows of either side whose search is timed on the device alone."""
MULTIPLIED = 1 << 13
"""Rows that one call multiplies, as in the search."""
LIMIT = 15_000
"""Bits of a product in float16, 0.82: few reach it."""
SCORED = 15
"""Seconds for which pairs are scored, at least."""


def halves(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the first and the second half of each line."""
    words = [line.split() for line in lines]
    firsts = [" ".join(each[: len(each) // 2 + 1]) for each in words]
    return firsts, [" ".join(each[len(each) // 2 + 1 :]) for each in words]


def encode(options: argparse.Namespace, texts: Sequence[list[str]], folder: Path) -> Sides:
    """Write the vectors of both sides: those of lines, then the sums of two halves'."""
    model, started = load(options.model, "cpu", options.threads), time.perf_counter()
    files = folder / "source.vectors", folder / "target.vectors"
    for side, (lines, file) in enumerate(zip(texts, files, strict=True)):
        language, seed = model.languages[side], np.random.default_rng(side)
        whole = model.encode(lines[: options.rows], language)
        firsts, seconds = (model.encode(half, language) for half in halves(lines))
        sizes = [min(CHUNK, options.rows - start) for start in range(0, options.rows, CHUNK)]
        chosen = [seed.integers(len(lines), size=(2, size)) for size in sizes]

        def summed(
            one: NDArray[np.int64], firsts: Vectors = firsts, seconds: Vectors = seconds
        ) -> Vectors:
            both: Vectors = firsts[one[0]] + seconds[one[1]]
            return both

        with VectorWriter(file, model.encoder.dim) as writer:
            sums = map_blocks(summed, chosen, options.threads)
            for start, some in enumerate(sums):
                here = whole[start * CHUNK : (start + 1) * CHUNK]
                some[: len(here)] = here
                writer.append(some)
    print(f"vectors in {time.perf_counter() - started:.1f} s on the processor", flush=True)
    neighbours = NeighbourFiles(folder, (options.rows, options.rows), K)
    return Sides(files, model.encoder.dim, ("float16", "float16"), neighbours, options.threads)


def search(options: argparse.Namespace, sides: Sides) -> tuple[Neighbours, Neighbours]:
    """Time the search, with reading vectors and writing neighbours."""
    tasks = piece_tasks(cell_tasks(sides.neighbours))
    prepare = partial(compare_pieces, sides, options.device)
    run = in_pieces(LocalEngine().map)
    started = time.perf_counter()
    found = find_neighbours(sides.neighbours, tasks, prepare, run, repr)
    seconds = time.perf_counter() - started
    rate = options.rows**2 / seconds
    print(f"search, both ways: {seconds:.1f} s, {rate:.3g} pairs/s", flush=True)
    if options.device.startswith("cuda"):
        most = torch.cuda.max_memory_allocated(options.device) / 2**30
        print(f"memory of the GPU: {most:.1f} GiB")
    return found


def check(options: argparse.Namespace, sides: Sides, found: tuple[Neighbours, Neighbours]) -> None:
    """Compare the neighbours of some rows with exhaustive search."""
    rows = np.unique(np.linspace(0, options.rows - 1, CHECKED).astype(np.int64))
    starts = range(0, options.rows, TILE)
    for side, (cosines, numbers) in enumerate(found):
        queries, base = unit_rows(sides.file(side)[rows]), sides.file(1 - side)

        def block(start: int, queries: Vectors = queries, base: VectorFile = base) -> Neighbours:
            best, places = scan(queries, unit_rows(base[start : start + TILE]), K)
            return best, places + start

        expected = reduce(
            lambda one, other: merge_neighbours(one, other, K),
            map_blocks(block, starts, options.threads),
        )
        same = np.array_equal(cosines[rows], expected[0])
        same = same and np.array_equal(numbers[rows], expected[1])
        name = ("sources", "targets")[side]
        print(f"{len(rows)} {name}: {'the same' if same else 'NOT THE SAME'} as exhaustive search")


def timed(device: str, work: Callable[[], object]) -> float:
    """Return the seconds of the second call of a function."""
    seconds = 0.0
    for _ in range(2):
        started = time.perf_counter()
        work()
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)
        seconds = time.perf_counter() - started
    return seconds


def one_way(options: argparse.Namespace, what: str, work: Callable[[], object], rows: int) -> None:
    """Time a function that compares some rows with all of the other side."""
    rate = rows * options.rows / timed(options.device, work)
    both = 2 * options.rows**2 / rate
    print(f"{what}, one way: {rate:.3g} pairs/s; all rows both ways: {both:.1f} s", flush=True)


def stages(options: argparse.Namespace, sides: Sides) -> None:
    """Time the search of rows that are on the device, and what is done with all products."""
    device, parts = torch.device(options.device), []
    tile = room_for(free_memory(device), sides.dim, K).tile
    for side in (0, 1):
        rows = DeviceRows(min(STAGED, options.rows), sides.dim, device)
        for start in range(0, len(rows), TILE):
            rows.put(start, unit_rows(sides.file(side)[start : min(start + TILE, len(rows))]))
        parts.append(rows)
    seconds = timed(options.device, lambda: search_rows((parts[0], parts[1]), K, tile=tile))
    print(f"search of {len(parts[0])} rows on the device alone: {seconds:.2f} s", flush=True)
    left, right = (rows.rounded[:most] for rows, most in zip(parts, tile, strict=True))
    left = left[: len(left) // GROUP * GROUP]
    products = left.new_empty(len(left), len(right))

    def multiply() -> None:
        for first in range(0, len(left), MULTIPLIED):
            some = slice(first, first + MULTIPLIED)
            torch.mm(left[some], right.T, out=products[some])

    multiply()
    grouped = products.view(torch.int16).view(-1, GROUP, len(right))
    best = highest(grouped)
    limits = [best.new_full((size,), LIMIT) for size in best.shape]
    reaching = best >= LIMIT
    for name, work in {
        "products": multiply,
        "highest of a group": lambda: highest(grouped),
        "comparison": lambda: (best >= limits[0][:, None]).logical_or_(best >= limits[1]),
        "places": lambda: reaching.nonzero(as_tuple=True),
    }.items():
        seconds = timed(options.device, work)
        print(f"a tile of {len(left)} x {len(right)}, {name}: {1000 * seconds:.2f} ms", flush=True)


def naive(options: argparse.Namespace, sides: Sides) -> None:
    """Time products in float16 with torch.topk."""
    count = min(QUERIES, options.rows)

    def rows(file: VectorFile, first: int, last: int) -> torch.Tensor:
        return torch.from_numpy(unit_rows(file[first:last])).to(options.device).half()

    queries = rows(sides.file(0), 0, count)
    starts = range(0, options.rows, TILE)
    tiles = [rows(sides.file(1), start, start + TILE) for start in starts]

    def work() -> None:
        for first in range(0, count, 4096):
            some = queries[first : first + 4096]
            best = [torch.mm(some, tile.T).topk(min(K, len(tile)), dim=1) for tile in tiles]
            numbers = [each.indices + start for each, start in zip(best, starts, strict=True)]
            order = torch.cat([each.values for each in best], dim=1).topk(K, dim=1).indices
            torch.cat(numbers, dim=1).gather(1, order)

    one_way(options, "naive: products in float16 and torch.topk", work, count)


def with_faiss(options: argparse.Namespace, sides: Sides) -> None:
    """Time a flat index of faiss on the GPU, if there is one."""
    try:
        import faiss

        resources: Any = faiss.StandardGpuResources()
    except (ImportError, AttributeError):
        print("faiss for GPUs is not installed")
        return
    settings = faiss.GpuIndexFlatConfig()
    settings.useFloat16 = True
    index = faiss.GpuIndexFlatIP(resources, sides.dim, settings)
    for start in range(0, options.rows, TILE):
        index.add(unit_rows(sides.file(1)[start : start + TILE]))
    queries = unit_rows(sides.file(0)[: min(QUERIES, options.rows)])
    one_way(options, "faiss: flat index in float16", lambda: index.search(queries, K), len(queries))


def score(options: argparse.Namespace, texts: Sequence[list[str]], device: str) -> None:
    """Time the scores of pairs of lines."""
    model = load(options.model, device, options.threads)
    sources, targets = ((lines * (CHUNK // len(lines) + 1))[:CHUNK] for lines in texts)
    measure, count = "mlp", 0
    model.score(sources[:2048], targets[:2048], measure)
    started = time.perf_counter()
    while time.perf_counter() - started < SCORED:
        model.score(sources, targets, measure)
        count += len(sources)
    rate = count / (time.perf_counter() - started)
    print(f"score by {model.name}, {measure}, {device}: {rate:.0f} pairs/s", flush=True)


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--texts", nargs=2, required=True, help="sentences of either language")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of either side")
    parser.add_argument("--folder", help="where vectors are written")
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="all by default")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    gpu = options.device.startswith("cuda")
    name = torch.cuda.get_device_name(options.device) if gpu else "no GPU"
    print(f"{name}; torch {torch.__version__}, {options.threads} threads; {options.rows} rows")
    texts = [[line for line in read_lines(path) if line.strip()] for path in options.texts]
    with TemporaryDirectory(dir=options.folder) as folder:
        sides = encode(options, texts, Path(folder))
        if "search" in options.parts:
            check(options, sides, search(options, sides))
        if "stages" in options.parts:
            stages(options, sides)
        if "naive" in options.parts:
            naive(options, sides)
        if gpu and "faiss" in options.parts:
            torch.cuda.empty_cache()
            with_faiss(options, sides)
    if "score" in options.parts:
        for device in dict.fromkeys((options.device, "cpu")):
            score(options, texts, device)


if __name__ == "__main__":
    main()
