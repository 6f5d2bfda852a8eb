"""Time of each stage of bitext-score, and its distance from a limit.

    python benchmarks/profile_score.py PAIRS.tsv.gz [--model en-de]

The command runs here, in this process, on the first pairs of the file, with a stopwatch between
its parts: time inside another part is the other's. The medians of the rounds are printed. The
time of imports is without torch, which averages do not need: see ``start.py``. The
limit of reading and writing is a bare copy of the file, line by line; the limit of a recurrent
encoder is its matrix products alone, of the same shapes and number types, with the same number
side by side: the distance is the cost of gates, look-ups and Python.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ONCE = ("import", "load", "check columns")
STAGES = (*ONCE, "read", "normalise and segment", "encode", "score", "write")


class Times(NamedTuple):
    """Seconds on the clock, and seconds of all cores together."""

    clock: float
    cpu: float


def now() -> Times:
    """Times since some moment."""
    return Times(time.perf_counter(), time.process_time())


def medians(times: Iterable[Times]) -> Times:
    """The median of either."""
    return Times(*map(median, zip(*times, strict=True)))


class Stopwatch:
    """Times of each stage; a stage that is entered stops the one around it."""

    def __init__(self) -> None:
        self.times: dict[str, Times] = defaultdict(lambda: Times(0.0, 0.0))
        self._stages: list[str] = []
        self._since = now()

    def _turn(self) -> None:
        then, self._since = self._since, now()
        if self._stages:
            before = self.times[self._stages[-1]]
            parts = zip(before, self._since, then, strict=True)
            self.times[self._stages[-1]] = Times(*(had + end - start for had, end, start in parts))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time inside as the stage's."""
        self._turn()
        self._stages.append(name)
        try:
            yield
        finally:
            self._turn()
            self._stages.pop()

    def on(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, counted as the stage's."""

        @wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:
            with self.stage(name):
                return function(*arguments, **named)

        return timed

    def on_each(self, name: str, function: Callable[..., Iterator[Any]]) -> Callable[..., Any]:
        """Return the generator function, its time for each item counted as the stage's."""

        @wraps(function)
        def timed(*arguments: Any, **named: Any) -> Iterator[Any]:
            items = function(*arguments, **named)
            end = object()
            while True:
                with self.stage(name):
                    item = next(items, end)
                if item is end:
                    return
                yield item

        return timed


@contextmanager
def patched(owner: Any, name: str, wrap: Callable[[Any], Any]) -> Iterator[None]:
    """Replace an attribute for a while."""
    before = getattr(owner, name)
    setattr(owner, name, wrap(before))
    try:
        yield
    finally:
        setattr(owner, name, before)


Shape = tuple[int, int, int, Any]
"""Rows, inputs and outputs of a matrix product, and its number type."""


def noting(shapes: list[Shape]) -> Callable[[Any], Any]:
    """Wrap ``Product.add_to`` so that the shape of each product is noted, in any thread."""

    def wrap(add_to: Any) -> Any:
        def counted(product: Any, sums: Any, rows: Any) -> Any:
            shapes.append((len(rows), *product.matrix.shape, product.matrix.dtype))
            return add_to(product, sums, rows)

        return counted

    return wrap


def score(file: Path, options: list[str]) -> tuple[dict[str, Times], Counter[Shape]]:
    """Run bitext-score once; returns times by stage, and its recurrent products."""
    watch = Stopwatch()
    products: list[Shape] = []
    with watch.stage("import"):
        from bitextfilter.commands.frame.run import Run
        from bitextfilter.commands.score import main as command
        from bitextfilter.encoders.averages import AverageEncoder
        from bitextfilter.scoring.model import Model
        from bitextfilter.text import language
        from bitextfilter.text.processor import TextProcessor
    from bitextfilter.encoders.base import Encoder
    from bitextfilter.models.recurrent import Product

    line = ["--quiet", "-i", str(file), "-o", os.devnull, *options]
    with (
        patched(Run, "model", lambda f: watch.on("load", f)),
        patched(Run, "windows", lambda f: watch.on_each("read", f)),
        patched(TextProcessor, "read", lambda f: watch.on("normalise and segment", f)),
        patched(Encoder, "encode", lambda f: watch.on("encode", f)),
        patched(AverageEncoder, "encode", lambda f: watch.on("encode", f)),
        patched(language, "check_columns", lambda f: watch.on("check columns", f)),
        patched(Model, "score", lambda f: watch.on("score", f)),
        patched(Product, "add_to", noting(products)),
        watch.stage("write"),
    ):
        command(line, standalone_mode=False)
    return watch.times, Counter(products)


def copy_pairs(source: str, target: Path, number: int) -> int:
    """Write the first rows of a TSV to a plain file; returns how many there were."""
    from bitextfilter.io.files import open_input

    with open_input(source) as lines, target.open("wb") as out:
        return sum(bool(out.write(line)) for line in islice(lines, number))


def copying(file: Path) -> float:
    """Seconds of a bare copy, line by line."""
    start = time.perf_counter()
    with file.open("rb") as lines, open(os.devnull, "wb") as out:
        for line in lines:
            out.write(line)
    return time.perf_counter() - start


def multiplying(products: Counter[Shape], threads: int, share: float = 0.1) -> float:
    """Seconds of these products alone, on threads side by side; *share* of them are made."""
    import torch

    from bitextfilter.io.workers import map_blocks
    from bitextfilter.models.device import one_torch_thread

    def run(job: tuple[Shape, int]) -> None:
        (rows, inputs, outputs, kind), number = job
        left, right = (torch.randn(shape).to(kind) for shape in ((rows, inputs), (inputs, outputs)))
        out = torch.empty(rows, outputs, dtype=kind)
        for _ in range(number):
            torch.mm(left, right, out=out)

    jobs = [(shape, round(n * share / threads)) for shape, n in products.items()] * threads
    with one_torch_thread():
        start = time.perf_counter()
        map_blocks(run, jobs, threads)
        return (time.perf_counter() - start) / share


def report(rounds: list[dict[str, Times]], pairs: int) -> dict[str, float]:
    """Print the median times and share of each stage; returns the seconds on the clock."""
    stages = {name: medians(times[name] for times in rounds) for name in STAGES}
    stages["import"] = rounds[0]["import"]
    work = sum(times.clock for name, times in stages.items() if name not in ONCE)
    cpu = sum(times.cpu for name, times in stages.items() if name not in ONCE)
    print(f"{'stage':<24} {'seconds':>9} {'CPU s':>9} {'share':>7} {'us a pair':>10}")
    for name, (seconds, cores) in stages.items():
        share = (
            "   once" if name in ONCE else f" {seconds / work:6.1%} {1e6 * seconds / pairs:10.1f}"
        )
        print(f"{name:<24} {seconds:9.3f} {cores:9.3f}{share}")
    print(f"{'all that is not once':<24} {work:9.3f} {cpu:9.3f} {1:6.1%}", end="")
    print(f" {1e6 * work / pairs:10.1f}   {pairs / work:.0f} pairs/s")
    return {name: times.clock for name, times in stages.items()}


def report_limits(seconds: dict[str, float], copy: float, products: Counter[Shape],
                  bare: float) -> None:  # fmt: skip
    """Print the distances of the stages from their limits."""
    files = seconds["read"] + seconds["write"]
    print(f"\nread and write: {files:.3f} s; a bare copy of the file {copy:.3f} s")
    if not products:
        return
    work = sum(2e-9 * rows * e * g * n for (rows, e, g, _), n in products.items())
    kinds = " and ".join(sorted({str(kind).removeprefix("torch.") for *_, kind in products}))
    print(f"encode: {work:.0f} billion operations in the products of its steps, {kinds}:")
    print(f"  {work / seconds['encode']:.0f} GOP/s of the stage's time;", end=" ")
    print(f"the bare products take {bare:.3f} s: {work / bare:.0f} GOP/s,", end=" ")
    print(f"so the stage is at {bare / seconds['encode']:.0%} of them")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("pairs", help="TSV of real sentence pairs, .gz and the like unpacked")
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--similarity", help="measures, as of bitext-score")
    parser.add_argument("--number", type=int, default=30_000, help="pairs at most")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    settings = parser.parse_args()
    options = ["--model", settings.model, "--threads", str(settings.threads)]
    options += ["--similarity", settings.similarity] if settings.similarity else []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pairs.tsv"
        number = copy_pairs(settings.pairs, file, settings.number)
        print(f"bitext-score {' '.join(options)}: {number} pairs", flush=True)
        rounds, copies, bare = [], [], [0.0]
        for _ in range(settings.rounds):
            times, products = score(file, options)
            rounds.append(times)
            copies.append(copying(file))
            if products:
                bare.append(multiplying(products, settings.threads))
        limits = median(copies), products, median(bare[1:] or bare)
        report_limits(report(rounds, number), *limits)


if __name__ == "__main__":
    main()
