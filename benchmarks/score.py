"""Speed and memory of bitext-score, beside encoders of the shape of LaBSE and LASER.

    python benchmarks/score.py PAIRS.tsv.gz

PAIRS is a TSV of real sentence pairs, for sentences that repeat would be encoded once and
flatter the figures. If it holds fewer than asked, what it holds is measured. The encoders
beside it have random weights: their speed means something, their vectors nothing. They get
the same sentences as ids, cut into batches of similar length, without the cost of making
them, so the ratios favour them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

LAUNCHER = Path(__file__).parents[1] / "bin" / "bitext-score"
BATCH = 32


class Cost(NamedTuple):
    """What one run of bitext-score took: whole process, start and model loading included."""

    pairs: int
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


def measure(pairs: Path, number: int, options: list[str]) -> Cost:
    """Score a file in a process of its own and ask the system what that took.

    The peak of a child counts the memory of its parent at birth, so this has to run before
    torch is imported here.
    """
    assert "torch" not in sys.modules
    line = [sys.executable, str(LAUNCHER), "--quiet", "-i", str(pairs), "-o", os.devnull, *options]
    start = time.perf_counter()
    child = subprocess.Popen(line)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(child.returncode)
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(number, seconds, usage.ru_maxrss * unit / 2**20)


def report_score(costs: list[Cost]) -> float:
    """Print the runs, and what grows from the smallest to the largest; returns pairs/s."""
    print(f"{'pairs':>9} {'seconds':>9} {'pairs/s':>9} {'peak MiB':>9}")
    for cost in costs:
        speed = cost.pairs / cost.seconds
        print(f"{cost.pairs:9} {cost.seconds:9.2f} {speed:9.0f} {cost.mebibytes:9.0f}")
    first, last = costs[0], costs[-1]
    print(f"peak memory grew by {last.mebibytes - first.mebibytes:.0f} MiB")
    if last.seconds > first.seconds + 1:
        rate = (last.pairs - first.pairs) / (last.seconds - first.seconds)
        print(f"without the start of the process: {rate:.0f} pairs/s")
    return last.pairs / last.seconds


def labse_shaped() -> Callable[[Tensor, Tensor], Tensor]:
    """Return a transformer of 12 layers of 768 with 12 heads: the vector of the first token.

    Its vocabulary is 30,000 rather than 501,153: a look-up costs the same, the table does not.
    """
    from torch import arange, nn

    layer = nn.TransformerEncoderLayer(768, 12, 3072, activation="gelu", batch_first=True)
    layers = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).eval()
    table, places, head = nn.Embedding(30_000, 768), nn.Embedding(512, 768), nn.Linear(768, 768)

    def encode(ids: Tensor, lengths: Tensor) -> Tensor:
        place = arange(ids.shape[1])
        states = layers(
            table(ids) + places(place.clamp(max=511)),
            src_key_padding_mask=place[None] >= lengths[:, None],
        )
        vectors: Tensor = head(states[:, 0]).tanh()
        return vectors

    return encode


def laser_shaped() -> Callable[[Tensor, Tensor], Tensor]:
    """Return a bidirectional LSTM of 5 layers of 512 over 320, max-pooled over positions."""
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    table = nn.Embedding(30_000, 320)
    layers = nn.LSTM(320, 512, num_layers=5, bidirectional=True, batch_first=True).eval()

    def encode(ids: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(table(ids), lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(
            layers(packed)[0], batch_first=True, padding_value=float("-inf")
        )
        return states.amax(dim=1)

    return encode


def encoder_speed(encode: Callable[[Tensor, Tensor], Tensor], lengths: list[int]) -> float:
    """Sentences a second of a random-weight encoder, in length-sorted batches."""
    import torch

    ordered = sorted(lengths)
    parts = [torch.tensor(ordered[i : i + BATCH]) for i in range(0, len(ordered), BATCH)]
    batches = [(torch.randint(30_000, (len(part), int(part.max()))), part) for part in parts]
    with torch.inference_mode():
        encode(*batches[0])
        start = time.perf_counter()
        for ids, part in batches:
            encode(ids, part)
    return len(lengths) / (time.perf_counter() - start)


def compare(pairs: Path, number: int, speed: float, settings: argparse.Namespace) -> None:
    """Print how fast the encoders are on the first pairs, and how bitext-score compares."""
    import torch

    import bitextfilter

    torch.set_num_threads(settings.threads)
    torch.manual_seed(0)
    model = bitextfilter.load(settings.model, threads=settings.threads)
    rows = pairs.read_text(encoding="utf-8").split("\n")[:number]
    columns = zip(*(row.split("\t")[:2] for row in rows if row), strict=True)
    lengths = [
        len(ids)
        for sentences, language in zip(columns, model.languages, strict=True)
        for ids in model.processor.ids(sentences, language)
    ]
    mean = sum(lengths) / len(lengths)
    print(f"\n{len(lengths)} sentences of {mean:.1f} tokens in the mean; random weights")
    print(f"{'encoder':<28} {'sentences/s':>12} {'pairs/s':>9} {'bitext-score is':>16}")
    shapes = {
        "LaBSE-shaped, 12 x 768": labse_shaped,
        "LASER-shaped, 5 x BiLSTM 512": laser_shaped,
    }
    for name, make in shapes.items():
        rate = encoder_speed(make(), lengths)
        print(f"{name:<28} {rate:12.1f} {rate / 2:9.1f} {speed / (rate / 2):10.1f} times")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("pairs", help="TSV of real sentence pairs, .gz and the like unpacked")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 200_000])
    parser.add_argument("--sample", type=int, default=256, help="pairs for the encoders")
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def main() -> None:
    """Measure bitext-score at each size, then the encoders beside it."""
    settings = arguments()
    options = ["--model", settings.model, "--threads", str(settings.threads)]
    print(f"bitext-score {' '.join(options)} on {settings.pairs}")
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{size}.tsv" for size in sorted(settings.sizes)]
        sizes = [copy_pairs(settings.pairs, file, int(file.stem)) for file in files]
        costs = [measure(file, n, options) for file, n in zip(files, sizes, strict=True)]
        speed = report_score(costs)
        compare(files[0], settings.sample, speed, settings)


if __name__ == "__main__":
    main()
