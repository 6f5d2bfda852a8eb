"""Scores that need no model, or several: a score a line, for English and German on stdin.

    python baselines.py levenshtein < noisy.tsv
    python baselines.py languages en.arpa.gz de.arpa.gz < noisy.tsv
    python baselines.py sum FILE FILE...

``levenshtein``: 1 - edit distance / length of the longer side, in lower-cased characters, 0 to 1.
``languages``: natural-log probability of a token, the end mark included, by a language model of
each side, both added. ``sum``: the scores of several files, line by line; empty if one is.
"""

import sys
from collections.abc import Iterator
from itertools import islice
from math import log

from rapidfuzz.distance import Levenshtein

from bitextfilter.filters.fluency import load_language_model


def pairs() -> Iterator[list[str]]:
    """Return the two sides of each line of stdin."""
    for line in sys.stdin.buffer:
        yield line.decode().rstrip("\n").split("\t")[:2]


def levenshtein() -> Iterator[float]:
    """Return the similarity of each pair in letters."""
    for sides in pairs():
        yield Levenshtein.normalized_similarity(*(side.lower() for side in sides))


def languages(*paths: str) -> Iterator[float]:
    """Return how fluent both sides of each pair are."""
    models, waiting = [load_language_model(path) for path in paths], pairs()
    while some := list(islice(waiting, 8192)):
        sides = zip(models, zip(*some, strict=True), strict=True)
        scores = [log(10) * scores / counts for scores, counts in (m.scores(s) for m, s in sides)]
        yield from sum(scores)


def added(*paths: str) -> Iterator[float | None]:
    """Return the sum of the numbers on the same line of some files."""
    for cells in zip(*map(open, paths), strict=True):
        yield sum(map(float, cells)) if all(map(str.strip, cells)) else None


for score in {"levenshtein": levenshtein, "languages": languages, "sum": added}[sys.argv[1]](
    *sys.argv[2:]
):
    print("" if score is None else f"{score:.6f}")
