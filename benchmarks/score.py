"""Speed and memory of bitext-score, beside encoders of the shape of LaBSE and LASER.

    python benchmarks/score.py PAIRS.tsv.gz [--model en-de --model FOLDER ...]

PAIRS is a TSV of real sentence pairs: repeated sentences would be encoded once, and flatter the
figures. A shorter file is measured as it is. Each model scores them as a user would have it: a
process of its own that reads, segments, encodes, scores and writes. The encoders beside it
(shapes.py) have random weights: only their speed counts. They get pairs of the same lengths,
without the cost of reading and segmenting, and compute no scores, so the ratios favour them.

Everything uses the same number of threads, in turns; the median of the turns counts.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from itertools import islice, product
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

LAUNCHER = Path(__file__).parents[1] / "bin" / "bitext-score"
LOAD = "import sys, bitextfilter; bitextfilter.load(sys.argv[1])"
SHAPES = ("LaBSE-shaped, 12 x 768", "LASER-shaped, 5 x BiLSTM 512")
PRECISIONS = ("fp32", "bf16", "int8")


class Cost(NamedTuple):
    """Time and memory of a process, its start included."""

    seconds: float
    mebibytes: float


def copy_pairs(source: str, target: Path, number: int) -> int:
    """Write the first rows of a TSV to a plain file; returns how many there were."""
    from bitextfilter.io.files import open_input

    with open_input(source) as lines, target.open("wb") as out:
        written = 0
        for line in islice(lines, number):
            out.write(line)
            written += 1
    return written


def measure(line: list[str]) -> Cost:
    """Run Python on some arguments in a process of its own; measure its time and memory.

    The peak of a child counts the memory of its parent at birth: torch stays out of this one.
    """
    assert "torch" not in sys.modules
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, *line])
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(child.returncode)
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(seconds, usage.ru_maxrss * unit / 2**20)


class Models:
    """The models, and their time so far."""

    def __init__(self, files: dict[Path, int], settings: argparse.Namespace) -> None:
        """``files``: how many pairs each holds."""
        self.files, self.settings = files, settings
        self.loads: dict[str, list[Cost]] = defaultdict(list)
        self.runs: dict[tuple[str, int], list[Cost]] = defaultdict(list)

    def turn(self) -> None:
        """Measure each model once more: its loading, and every file."""
        for model in self.settings.models:
            self.loads[model].append(measure(["-c", LOAD, model]))
            for file, pairs in self.files.items():
                options = ["--model", model, "--threads", str(self.settings.threads)]
                if self.settings.similarity:
                    options += ["--similarity", self.settings.similarity]
                line = [str(LAUNCHER), "--quiet", "-i", str(file), "-o", os.devnull, *options]
                self.runs[model, pairs].append(measure(line))

    def report(self) -> dict[str, float]:
        """Print the medians; returns each model's pairs a second on the largest file."""
        print(f"\n{'model':<20} {'pairs':>9} {'seconds':>9} {'pairs/s':>9} {'peak MiB':>9}")
        speeds: dict[str, float] = {}
        for (model, pairs), costs in self.runs.items():
            seconds = median(cost.seconds for cost in costs)
            peak = max(cost.mebibytes for cost in costs)
            speeds[model] = pairs / seconds
            print(f"{short(model):<20} {pairs:9} {seconds:9.2f} {speeds[model]:9.0f} {peak:9.0f}")
        for model in self.settings.models:
            self._report_growth(model)
        return speeds

    def _report_growth(self, model: str) -> None:
        """Print the time of the start, and of more pairs."""
        load = median(cost.seconds for cost in self.loads[model])
        print(f"{short(model)}: Python, import and loading {load:.2f} s", end="")
        runs = {pairs: costs for (name, pairs), costs in self.runs.items() if name == model}
        first, last = min(runs), max(runs)
        if last > first:
            seconds = [median(cost.seconds for cost in runs[pairs]) for pairs in (first, last)]
            peaks = [max(cost.mebibytes for cost in runs[pairs]) for pairs in (first, last)]
            rate = (last - first) / max(seconds[1] - seconds[0], 1e-9)
            print(f"; from {first} to {last} pairs {rate:.0f} pairs/s", end="")
            print(f" and {peaks[1] - peaks[0]:+.0f} MiB at peak", end="")
        print()


def short(model: str) -> str:
    """The name a model is printed under."""
    return Path(model).name[:20]


def in_shapes(function: str, *arguments: Any) -> Any:
    """Call a function of shapes.py, which imports torch."""
    return getattr(import_module("shapes"), function)(*arguments)


class Shapes:
    """The encoders beside, in a process that lives on, and their speed so far."""

    def __init__(self, file: Path, settings: argparse.Namespace) -> None:
        """Take the lengths of the sample from the *file*, by the pieces of the first model."""
        self.threads = settings.threads
        self.pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        sample = (str(file), settings.sample, settings.models[0])
        self.lengths, self.mean = self.pool.submit(in_shapes, "sample_lengths", *sample).result()
        self.speeds: dict[tuple[str, str], list[float]] = defaultdict(list)

    def turn(self) -> None:
        """Measure each once more."""
        for name in product(SHAPES, PRECISIONS):
            job = ("sentences_a_second", *name, self.lengths, self.threads)
            self.speeds[name].append(self.pool.submit(in_shapes, *job).result() / 2)

    def report(self, models: dict[str, float]) -> None:
        """Print the medians, and how many times as fast the models are."""
        sample = sum(self.lengths) / len(self.lengths)
        print(f"\n{len(self.lengths) // 2} pairs, {sample:.1f} tokens a sentence", end="")
        print(f" (all: {self.mean:.1f}); random weights, vectors only")
        titles = "".join(f" {short(model) + ' is':>16}" for model in models)
        print(f"{'encoder':<34} {'pairs/s':>9}{titles}")
        for (shape, precision), speeds in self.speeds.items():
            speed = median(speeds)
            if math.isnan(speed):
                print(f"{shape + ', ' + precision:<34}   this torch has no such quantisation")
                continue
            ratios = "".join(f" {rate / speed:10.1f} times" for rate in models.values())
            print(f"{shape + ', ' + precision:<34} {speed:9.1f}{ratios}")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("pairs", help="TSV of real sentence pairs, .gz and the like unpacked")
    parser.add_argument("--model", action="append", dest="models", help="may be repeated")
    parser.add_argument("--similarity", help="as of bitext-score  [default: the model's]")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 60_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sample", type=int, default=128, help="pairs for the encoders; 0: none")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    settings = parser.parse_args()
    settings.models = settings.models or ["en-de"]
    return settings


def main() -> None:
    """Measure bitext-score and the encoders beside it in turns, and print both."""
    settings = arguments()
    print(f"bitext-score --threads {settings.threads} on {Path(settings.pairs).name},", end="")
    print(f" {settings.rounds} rounds", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for size in sorted(settings.sizes):
            file = Path(folder) / f"{size}.tsv"
            files[file] = copy_pairs(settings.pairs, file, size)
        models = Models(files, settings)
        shapes = Shapes(next(iter(files)), settings) if settings.sample else None
        for _ in range(settings.rounds):
            models.turn()
            if shapes:
                shapes.turn()
        speeds = models.report()
        if shapes:
            shapes.report(speeds)


if __name__ == "__main__":
    main()
