"""What each compiled library saves: the same commands with it and without it, in turns.

    python benchmarks/compiled.py PAIRS.tsv [--rows 50000] [--turns 3]

PAIRS is a TSV of real sentence pairs, English and German. Each library is taken away alone, as
``BITEXTFILTER_NO_COMPILED=1`` takes all, and the CPU time of what it is for is compared, on one
thread, without the start. A ratio of 1.5 means that numpy, torch or Python needs half as much
again.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np

import bitextfilter
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.pipeline import Pipeline
from bitextfilter.filters.registry import parse_rules, usable
from bitextfilter.io.compiled import CompiledLibrary
from bitextfilter.io.files import open_input
from bitextfilter.search.bidirectional import bidirectional_search
from bitextfilter.similarity.vectors import cosine_pairs, unit_rows
from bitextfilter.text.identifier import load_ngram_identifier
from bitextfilter.text.ragged import TokenTable

Work = Callable[[], Any]


def work_of(pairs: list[tuple[str, str]]) -> Iterator[tuple[str, str, Work]]:
    """Yield libraries, what they are for, and a call of it."""
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    some = sources[:10_000], targets[:10_000]
    languages = ("en", "de")

    def rules(*names: str) -> Work:
        chosen = usable(parse_rules(names), languages)[0]
        return lambda: Pipeline(chosen).check(Pairs(sources, targets, languages))

    def score(measure: str) -> Work:
        return lambda: bitextfilter.load("en-de", threads=1).score(*some, measure)

    def embed() -> Any:
        return bitextfilter.load("en-de", threads=1).encode(sources, "en")

    model = bitextfilter.load("en-de", threads=1)
    identifier = load_ngram_identifier()
    words = sorted({word for text in sources for word in text.split()})
    a, b = (
        model.encode(list(dict.fromkeys(side)), language)
        for side, language in zip((sources, targets), languages, strict=True)
    )
    yield "facts", "the default rules", rules("default")
    yield "ngrams", "n-grams of words", lambda: identifier.evidence(words)
    yield "ngrams", "identification", rules("language")
    yield "tokens", "tokens", lambda: TokenTable().read(sources)
    yield "tokens", "vectors", embed
    yield "tokens", "mlp", score("mlp")
    yield "averages", "vectors", embed
    yield "vectors", "cosine, of vectors", lambda: cosine_pairs(a[:10_000], b[:10_000])
    yield "vectors", "cosine", score("cosine")
    yield "word_network", "mlp", score("mlp")
    yield (
        "nearest_rows",
        "mining, of vectors",
        lambda: bidirectional_search(unit_rows(a), unit_rows(b), 4, 1),
    )


@contextmanager
def without(name: str) -> Iterator[None]:
    """Take one library away."""
    there = CompiledLibrary.open

    def others(library: CompiledLibrary) -> Any:
        return None if library.name == name else there(library)

    with mock.patch.object(CompiledLibrary, "open", others):
        yield


def seconds(work: Work) -> float:
    """Return the CPU time of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    with open_input(options.pairs) as lines:
        rows = (line.decode().rstrip("\n").split("\t") for line in lines)
        pairs = [(row[0], row[1]) for row in islice(rows, options.rows)]
    np.seterr(all="ignore")
    print("| library | work | with, s | without, s | ratio |\n|---|---|---:|---:|---:|")
    for name, what, work in work_of(pairs):
        work()
        turns = []
        for _ in range(options.turns):
            with_it = seconds(work)
            with without(name):
                turns.append((with_it, seconds(work)))
        one, other = (median(turn[place] for turn in turns) for place in (0, 1))
        print(f"| {name} | {what} | {one:.2f} | {other:.2f} | {other / one:.2f} |", flush=True)


if __name__ == "__main__":
    main()
