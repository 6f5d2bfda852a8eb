"""Speed of the steps of a recurrent encoder, beside torch's own layer and bare products.

    python benchmarks/recurrent.py PAIRS.tsv.gz --model MODEL

The model is one of the `autoencoder` architecture with LSTM cells. Its bidirectional layer reads
the source sentences of the first pairs, from subword ids to max-pooled vectors, in four ways:
torch's LSTM over packed batches of 32 sentences of like length, and the steps of this package in
blocks of 32 to 256; each with products in float32 and in bfloat16. Only operations of the recurrent
products of the tokens count, 2 x 2 x h x 4h a token: padding, projections, look-ups and gates are
overhead. Bare products are the speed of the machine for matrices of that shape alone. All use the
same number of threads; medians of the rounds, taken in turns.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import islice
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from bitextfilter import load
from bitextfilter.encoders.base import LONG, LONGEST, blocks_by_length
from bitextfilter.io.files import read_lines
from bitextfilter.io.workers import map_blocks
from bitextfilter.models import recurrent
from bitextfilter.models.device import one_torch_thread
from bitextfilter.models.layers import max_pool
from bitextfilter.models.pooling import MaxPooling
from bitextfilter.models.recurrent import BidirectionalRecurrent, CachedRecurrent
from bitextfilter.text.ragged import Ragged

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
ROWS = (32, 64, 128, 256)
Way = Callable[[], Tensor]
"""Encodes all sentences, in the order of their lengths."""


class Bench:
    """A layer, its word vectors, and the sentences it reads."""

    def __init__(self, layers: BidirectionalRecurrent, table: nn.Embedding, rows: Ragged) -> None:
        self.layers, self.rows = layers, rows
        self.tokens, places = torch.unique(torch.from_numpy(rows.flat), return_inverse=True)
        self.places = Ragged(places.numpy(), rows.lengths)
        self.vectors = table(self.tokens)
        self.hidden = layers.directions(0)[0].hidden_size

    def batches(self, rows: int, full: bool) -> list[tuple[Tensor, Tensor, int]]:
        """Places and lengths of sentences in blocks, as in the encoder if *full*."""
        sizes = ((LONG, rows), (LONGEST, rows // 8)) if full else ((1 << 30, rows),)
        batches = []
        for block in blocks_by_length(self.rows.lengths, sizes):
            ids, lengths = map(torch.from_numpy, self.places.padded(block.items))
            missing = block.rows - len(ids) if full else 0
            ids = torch.cat([ids, ids.new_zeros(missing, ids.shape[1])])
            batches.append((ids, torch.cat([lengths, lengths.new_ones(missing)]), len(block.items)))
        return batches

    def torch_layer(self, kind: torch.dtype) -> Way:
        """Torch's LSTM of both directions, on packed batches."""
        layer = nn.LSTM(self.vectors.shape[1], self.hidden, batch_first=True, bidirectional=True)
        for side, cells in enumerate(self.layers.directions(0)):
            for name, value in cells.state_dict().items():
                getattr(layer, name + ("_reverse" if side else "")).data.copy_(value)
        layer, vectors = layer.to(kind).eval(), self.vectors.to(kind)
        batches = self.batches(32, full=False)

        def encode(ids: Tensor, lengths: Tensor) -> Tensor:
            packed = nn.utils.rnn.pack_padded_sequence(vectors[ids], lengths, True, False)
            states, _ = nn.utils.rnn.pad_packed_sequence(layer(packed)[0], batch_first=True)
            return max_pool(states, lengths).float()

        return lambda: torch.cat([encode(ids, lengths) for ids, lengths, _ in batches])

    def steps(self, kind: torch.dtype, rows: int, threads: int) -> Way:
        """The steps of this package, blocks side by side."""
        batches = self.batches(rows, full=True)

        def run() -> Tensor:
            setattr(recurrent, "product_type", lambda _: kind)  # noqa: B010
            with one_torch_thread():
                folded, highest = CachedRecurrent(self.layers, self.vectors), MaxPooling(0)

                def encode(batch: tuple[Tensor, Tensor, int]) -> Tensor:
                    with torch.inference_mode():
                        states = folded.states(*batch[:2])
                        return highest.of_steps(states, batch[1])[: batch[2]]

                return torch.cat(map_blocks(encode, batches, threads))

        return run

    def bare(self, kind: torch.dtype, rows: int, threads: int) -> float:
        """Operations a second, in billions, of products of the shape of a step's."""
        number = 4_000_000 // (rows * self.hidden) + 1

        def run(_: int) -> None:
            left = torch.randn(rows, self.hidden).to(kind)
            right = torch.randn(self.hidden, 4 * self.hidden).to(kind)
            out = torch.empty(rows, 4 * self.hidden, dtype=kind)
            for _ in range(number):
                torch.mm(left, right, out=out)

        with one_torch_thread():
            run(0)
            start = time.perf_counter()
            map_blocks(run, range(threads), threads)
            seconds = time.perf_counter() - start
        return 8e-9 * rows * self.hidden**2 * number * threads / seconds

    def operations(self) -> float:
        """Billions of those that the recurrent products of all tokens take, both directions."""
        return float(2 * 8e-9 * self.hidden**2 * self.rows.lengths.sum())


def measure(bench: Bench, settings: argparse.Namespace) -> None:
    """Time everything in turns, and print the table."""
    torch.set_num_threads(settings.threads)
    ways: dict[tuple[str, str], Way] = {}
    for name, kind in TYPES.items():
        ways["torch, packed, 32", name] = bench.torch_layer(kind)
        for rows in ROWS:
            ways[f"steps, {rows}", name] = bench.steps(kind, rows, settings.threads)
    rates: dict[Any, list[float]] = defaultdict(list)
    vectors: dict[Any, Tensor] = {}
    for _ in range(settings.rounds):
        for key, way in ways.items():
            start = time.perf_counter()
            vectors[key] = way()
            rates[key].append(bench.operations() / (time.perf_counter() - start))
            size = int(key[0].split()[-1])
            rates[size, key[1]].append(bench.bare(TYPES[key[1]], size, settings.threads))
    exact = vectors["torch, packed, 32", "fp32"]
    a_token = bench.operations() / int(bench.rows.lengths.sum())
    print(f"{'way, rows':<20} {'tokens/s':>9} {'GOP/s':>7} {'bare':>7} {'share':>6}  least cosine")
    for key in ways:
        rate, bare = median(rates[key]), median(rates[int(key[0].split()[-1]), key[1]])
        cosine = torch.cosine_similarity(vectors[key], exact).min()
        print(f"{key[0] + ', ' + key[1]:<20} {rate / a_token:9.0f} {rate:7.0f} {bare:7.0f}", end="")
        print(f" {rate / bare:6.0%}  {cosine:.6f}")


def main() -> None:
    """Read the sentences and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("pairs", help="TSV of real sentence pairs, .gz and the like unpacked")
    parser.add_argument("--model", required=True, help="an autoencoder with LSTM cells")
    parser.add_argument("--number", type=int, default=8192, help="pairs at most")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    settings = parser.parse_args()
    model = load(settings.model)
    network = getattr(model.encoder, "network")  # noqa: B009
    if not hasattr(network, "encoders") or network.settings.cell != "lstm":
        raise SystemExit(f"{settings.model} is no autoencoder of LSTM cells")
    sentences = [
        line.split("\t")[0] for line in islice(read_lines(settings.pairs), settings.number)
    ]
    rows = Ragged.of(model.processor.ids(sentences, model.languages[0]))
    with torch.inference_mode():
        bench = Bench(network.encoders[0], network.embedding, rows)
        mean = rows.lengths.mean()
        print(f"{len(rows)} sentences of {mean:.1f} tokens, {len(bench.tokens)} distinct;", end="")
        print(f" {bench.hidden} units a direction; {settings.threads} threads", flush=True)
        measure(bench, settings)


if __name__ == "__main__":
    main()
