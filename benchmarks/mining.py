"""Mining two large collections, end to end, beside a naive flat search; and estimates for more.

    python benchmarks/mining.py --planted TEST.tsv... --source EN.txt TRAIN.tsv:1 ... \
        --target DE.txt TRAIN.tsv:2 ... --sizes 50000 100000 200000 500000 1000000 --check 350000

Planted pairs (source, target) are hidden among real sentences of either side; where those do not
suffice, generated ones follow, each of the first half of one and the second half of another. For
each size `bitext-align` runs as a process of its own, from two files of text to ranked pairs:
seconds up to the search (reading, encoding), seconds of search, of choosing and writing, peak
memory, disk.

Beside it, brute force in numpy (float32 products of all with all, the highest of each row) for a
sample of the planted sources, with its time scaled up to all rows of both sides; recall: the share
of the sample's nearest neighbours by brute force that `bitext-align` found, too; and the share of
planted pairs in the output.

From the sizes a model of cost is fitted, and held against `--check`; then the times and the bill of
`--plan` are printed, at `--core-hour` euros.

With `--keep DIR` the texts and the work of `bitext-align` stay in DIR/SIZE: the same command goes
on where a killed one was. Its times are then of the last run alone. To remove DIR is up to you.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.commands.frame.command import steady_speed_and_memory
from bitextfilter.io.files import read_lines

ALIGN = [sys.executable, "-c", "from bitextfilter.commands.align import main; main()"]


PART = 1 << 17
"""Rows that brute force reads at a time."""


class Cost(NamedTuple):
    """Time and memory of one size."""

    rows: float
    encoding: float
    searching: float
    writing: float
    cpu: float
    mebibytes: float
    disk: float
    """GB."""

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.encoding + self.searching + self.writing


def column(name: str) -> Iterator[str]:
    """The lines of FILE, or the cells of FILE:COLUMN."""
    path, _, number = name.rpartition(":")
    if not path:
        yield from read_lines(name)
        return
    for line in read_lines(path):
        yield line.split("\t")[int(number) - 1]


def spliced(lines: list[str], seed: int) -> Iterator[str]:
    """Sentences of two halves, without end."""
    generator = random.Random(seed)
    while True:
        first, second = (generator.choice(lines).split() for _ in "ab")
        yield " ".join([*first[: len(first) // 2 + 1], *second[len(second) // 2 :]])


def filled(planted: Iterable[str], names: list[str], rows: int, seed: int) -> list[str]:
    """Distinct sentences, the planted ones first: then real ones, then spliced ones."""
    found = dict.fromkeys(planted)
    real = {line for name in names for line in column(name) if line.strip() and "\0" not in line}
    order = sorted(real - found.keys())
    random.Random(seed).shuffle(order)
    found.update(dict.fromkeys(islice(order, max(0, rows - len(found)))))
    made = spliced(order, seed)
    while len(found) < rows:
        found.setdefault(next(made))
    return list(found)


def shuffled(path: Path, lines: list[str], seed: int) -> None:
    """Write lines in no order."""
    order = list(lines)
    random.Random(seed).shuffle(order)
    path.write_text("".join(f"{line}\n" for line in order), encoding="utf-8")


def resident(process: int) -> int:
    """The most memory that a process had so far, in KiB.

    (What wait4 says of it has that of its parent in it.)
    """
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.split("\n") if "VmHWM" in line), 0)


def align(files: list[Path], folder: Path, options: argparse.Namespace) -> tuple[Cost, Path]:
    """Run bitext-align on two files; the times are from its messages."""
    output, work = folder / "pairs.tsv", folder / "work"
    words = [*map(str, files), "-o", str(output), "--resume", str(work), "--model", options.model]
    words += ["--index", options.index, "--dtype", options.dtype]
    words += [] if options.index == "exact" else ["--recall", str(options.recall)]
    words += ["--similarity", "csls", "--min-score", "none", "--threads", str(options.threads)]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    said: list[tuple[float, str]] = []
    child = subprocess.Popen([*ALIGN, *words], stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    stream = child.stderr

    def listen() -> None:
        for line in stream:
            said.append((time.monotonic() - started, line.rstrip()))
            if options.keep is not None:
                print(f"  {said[-1][0]:.0f} s: {said[-1][1]}", flush=True)

    listener = threading.Thread(target=listen)
    listener.start()
    kibibytes = 0
    while child.poll() is None:
        kibibytes = max(kibibytes, resident(child.pid))
        time.sleep(0.1)
    ended = time.monotonic() - started
    listener.join()
    assert child.returncode == 0, said
    begun = re.compile("sentences, each|making|dividing")
    starts = (at for at, line in said if begun.search(line))
    searching = next(starts, 0.0)
    found = max(path.stat().st_mtime for path in work.glob("nearest.*/*.nearest.*"))
    writing = max(0.0, output.stat().st_mtime - found)
    disk = sum(path.stat().st_size for path in work.rglob("*")) / 1e9
    for _, line in said:
        if "lists" in line or "clusters (" in line or "finds" in line:
            print(f"  {line}", flush=True)
    with files[0].open("rb") as text:
        rows = sum(1 for _ in text)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    times = searching, ended - searching - writing, writing, cpu
    cost = Cost(rows, *times, kibibytes / 1024, disk)
    return cost, output


class Naive(NamedTuple):
    """Time of brute force, and the recall against it."""

    seconds: float
    """For all rows of both sides, from a sample."""
    recall: float


def naive(folder: Path, planted: list[str], rows: int, options: argparse.Namespace) -> Naive:
    """Search for the nearest of some sources by products of all with all."""
    from bitextfilter.io.spill import SentenceFile
    from bitextfilter.io.vectors import VectorFile
    from bitextfilter.scoring.model import load
    from bitextfilter.search.tasks import NeighbourFiles

    dim = load(options.model).encoder.dim
    wanted = set(planted[: options.sample])
    sources = SentenceFile(folder / "source.sentences")
    asked = np.array([place for place, text in enumerate(sources) if text in wanted])
    base = VectorFile(folder / "target.vectors", dim, options.dtype)
    queries = normalised(VectorFile(folder / "source.vectors", dim, options.dtype)[asked])
    best, seconds = np.full(len(queries), -np.inf, np.float32), 0.0
    for start in range(0, len(base), PART):
        part = normalised(base[start : start + PART])
        started = time.monotonic()
        for first in range(0, len(queries), 64):
            highest = (queries[first : first + 64] @ part.T).max(axis=1)
            best[first : first + 64] = np.maximum(best[first : first + 64], highest)
        seconds += time.monotonic() - started
    (searched,) = folder.glob("nearest.*")
    found, _ = NeighbourFiles(searched, (len(sources), len(base)), 4).read_side(0)
    recall = float((found[asked, 0] >= best - 1e-5).mean())
    return Naive(seconds * (2 * rows / len(queries)), recall)


def normalised(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length 1."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def planted_pairs(paths: list[str]) -> list[tuple[str, str]]:
    """The first two columns of the files, each sentence in one pair at most."""
    lines = (line.split("\t") for path in paths for line in read_lines(path))
    by_target = {target: source for source, target, *_ in lines}
    by_source = {source: target for target, source in by_target.items()}
    return list(by_source.items())


def texts_of(
    folder: Path, pairs: list[tuple[str, str]], rows: int, options: argparse.Namespace
) -> list[Path]:
    """The two files of sentences, made unless they are there."""
    files = [folder / "source.txt", folder / "target.txt"]
    for side, names in enumerate((options.source, options.target)):
        if not files[side].exists():
            texts = filled((pair[side] for pair in pairs), names, rows, side)
            new = files[side].with_suffix(".new")
            shuffled(new, texts, side)
            new.rename(files[side])
    return files


def measured(rows: int, options: argparse.Namespace) -> Cost:
    """Make two files of this size, mine them, and print a row of the table."""
    pairs = planted_pairs(options.planted)[: rows // 4]
    with ExitStack() as stack:
        if options.keep is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder)))
        else:
            folder = Path(options.keep) / str(rows)
            folder.mkdir(parents=True, exist_ok=True)
        files = texts_of(folder, pairs, rows, options)
        cost, output = align(files, folder, options)
        known = set(pairs)
        lines = (line.split("\t")[:2] for line in read_lines(output))
        found = sum((source, target) in known for source, target in lines)
        flat = naive(folder / "work", [source for source, _ in pairs], rows, options)
    print(
        f"{rows:>9}{cost.encoding:10.1f}{cost.searching:10.1f}{cost.writing:9.1f}"
        f"{cost.seconds:9.1f}{cost.cpu:9.0f}{cost.mebibytes:9.0f}{cost.disk:8.2f}{flat.seconds:10.0f}"
        f"{flat.seconds / cost.searching:8.1f}{flat.recall:9.4f}{len(pairs):9}"
        f"{found / len(pairs):8.4f}",
        flush=True,
    )
    return cost


def estimated(rows: float, costs: list[Cost]) -> Cost:
    """Cost of a size: a + b rows + c rows² for times, a + b rows for the rest.

    The factors are those of least relative error for the costs of other sizes.
    """
    known = np.array(costs, np.float64)
    design = known[:, :1] ** [0, 1, 2]
    found = [float(rows)]
    for column, values in list(zip(Cost._fields, known.T, strict=True))[1:]:
        powers = 2 if column in ("mebibytes", "disk") else 3
        relative = design[:, :powers] / values[:, None]
        factors = np.linalg.lstsq(relative, np.ones(len(costs)), rcond=None)[0]
        found.append(float(factors @ [rows**power for power in range(powers)]))
    return Cost(*found)


def plan(rows: float, costs: list[Cost], price: float) -> str:
    """The estimate of a size in words; *price* is that of a core's hour, in euros."""
    cost = estimated(rows, costs)
    hours = cost.cpu / 3600
    return (
        f"{rows:>12,.0f} rows: {cost.seconds:10.0f} s = {cost.seconds / 3600:.2f} h here,"
        f" {hours:.2f} core hours = {hours * price:.2f} euros, {cost.mebibytes / 1024:.1f} GiB"
        f" with mapped files, {cost.disk:.1f} GB of disk"
    )


def main() -> None:
    """Measure, print and predict."""
    steady_speed_and_memory()
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    for name in ("planted", "source", "target"):
        parser.add_argument(f"--{name}", nargs="+", required=True, metavar="FILE[:COLUMN]")
    parser.add_argument("--sizes", type=int, nargs="+", default=[50_000, 100_000, 200_000])
    parser.add_argument("--check", type=int, nargs="*", default=[])
    parser.add_argument("--plan", type=float, nargs="*", default=[1e7, 1e8])
    parser.add_argument("--core-hour", type=float, default=0.04, help="euros")
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--index", default="auto")
    parser.add_argument("--recall", default=0.95)
    parser.add_argument("--dtype", default="float16", help="number format of the vectors")
    parser.add_argument("--sample", type=int, default=1000, help="queries of brute force")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", help="where it works (TMPDIR)")
    parser.add_argument("--keep", help="where work stays, so that a killed run goes on")
    options = parser.parse_args()
    print(
        f"{'rows':>9}{'encoding':>10}{'search':>10}{'writing':>9}{'all, s':>9}{'CPU s':>9}"
        f"{'MiB':>9}{'GB':>8}"
        f"{'naive, s':>10}{'ratio':>8}{'recall@1':>9}{'planted':>9}{'found':>8}",
        flush=True,
    )
    costs = [measured(rows, options) for rows in options.sizes]
    if len(costs) < 3:
        return
    for rows in options.check:
        print(f"estimate {plan(rows, costs, options.core_hour)}", flush=True)
        real, thought = measured(rows, options), estimated(rows, costs)
        off = thought.seconds / real.seconds - 1, thought.cpu / real.cpu - 1
        print(f"the estimate is off by {off[0]:+.1%} on the clock, {off[1]:+.1%} of CPU seconds")
        costs.append(real)
    for rows in options.plan:
        print(f"estimate {plan(rows, costs, options.core_hour)}")


if __name__ == "__main__":
    main()
