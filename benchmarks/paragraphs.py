"""Which score finds damaged chunks of paragraph bitext?

    bitext-align-documents --as jsonl --documents LIST > documents.jsonl
    python benchmarks/paragraphs.py documents.jsonl

Takes chunks of four links or more, up to --most-words, and damages each in four ways: one target
sentence is that of another document, one is missing, two have changed places, or all are those of
the next chunk. Writes the AUC of each score for each damage: of the whole chunk, and the mean (by
words) and the lowest of the links' scores; and the shares of chunks whose lowest cosine is below
some bounds.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import bitextfilter
from bitextfilter.mining.chunks import ChunkSettings, ChunkSide, chunks_of
from bitextfilter.mining.monotonic import Link

Pairs = list[tuple[str, str]]
MEASURES = ("mlp", "cosine")
BOUNDS = (0.1, 0.2, 0.3, 0.4, 0.5)


def chunks(path: str, most: int) -> Iterator[Pairs]:
    """Yield the texts of the links of each chunk."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            document = json.loads(line)
            texts = [
                [sentence for paragraph in document[side] for sentence in paragraph]
                for side in ("source", "target")
            ]
            sides = [
                ChunkSide(
                    [n for n, part in enumerate(document[side]) for _ in part],
                    [len(text.split()) for text in texts[place]],
                )
                for place, side in enumerate(("source", "target"))
            ]
            yield from pairs_of(document["links"], texts, (sides[0], sides[1]), most)


def pairs_of(
    found: list[list[Any]], texts: list[list[str]], sides: tuple[ChunkSide, ChunkSide], most: int
) -> Iterator[Pairs]:
    """Yield the chunks of one document."""
    at = [0, 0]
    links = []
    for source, target, score in found:
        spans = [range(at[i], at[i] + len(part)) for i, part in enumerate((source, target))]
        links.append(Link(spans[0], spans[1], score))
        at = [span.stop for span in spans]
    for chunk in chunks_of(links, sides, ChunkSettings(most)):
        inside = [
            link
            for link in links
            if link.score is not None
            and chunk.source.start <= link.source.start < chunk.source.stop
        ]
        yield [
            (
                " ".join(texts[0][link.source.start : link.source.stop]),
                " ".join(texts[1][link.target.start : link.target.stop]),
            )
            for link in inside
        ]


def foreign(pairs: Pairs, chooser: random.Random, others: list[Pairs]) -> Pairs:
    """One target is a sentence of another document, of much the same length."""
    place = chooser.randrange(len(pairs))
    texts = [pair[1] for _ in range(20) for pair in chooser.choice(others)]
    length = len(pairs[place][1])
    text = min((t for t in texts if t != pairs[place][1]), key=lambda t: abs(len(t) - length))
    return [*pairs[:place], (pairs[place][0], text), *pairs[place + 1 :]]


def missing(pairs: Pairs, chooser: random.Random, _: list[Pairs]) -> Pairs:
    """One target is missing."""
    place = chooser.randrange(len(pairs))
    return [*pairs[:place], (pairs[place][0], ""), *pairs[place + 1 :]]


def exchanged(pairs: Pairs, chooser: random.Random, _: list[Pairs]) -> Pairs:
    """Two neighbouring targets have changed places."""
    place = chooser.randrange(len(pairs) - 1)
    first, second = pairs[place], pairs[place + 1]
    changed = [(first[0], second[1]), (second[0], first[1])]
    return [*pairs[:place], *changed, *pairs[place + 2 :]]


def shifted(pairs: Pairs, chooser: random.Random, others: list[Pairs]) -> Pairs:
    """All targets are those of another chunk."""
    other = chooser.choice([one for one in others if one is not pairs])
    texts = [pair[1] for pair in other]
    return [(pair[0], texts[n % len(texts)]) for n, pair in enumerate(pairs)]


DAMAGES: tuple[Callable[[Pairs, random.Random, list[Pairs]], Pairs], ...] = (
    foreign,
    missing,
    exchanged,
    shifted,
)


def measured(model: bitextfilter.Model, given: list[Pairs]) -> dict[str, np.ndarray]:
    """Return the scores of each chunk: of its whole text, and mean and lowest of its links."""
    whole = [
        tuple(" ".join(filter(None, side)) for side in zip(*pairs, strict=True)) for pairs in given
    ]
    flat = [pair for pairs in given for pair in pairs if pair[1]]
    sides = [[pair[side] for pair in whole + flat] for side in (0, 1)]
    scores = model.score(sides[0], sides[1], MEASURES)
    made: dict[str, np.ndarray] = {}
    for name in MEASURES:
        values = np.asarray(scores[name])
        made[f"{name} of the chunk"] = values[: len(whole)]
        left = iter(values[len(whole) :].tolist())
        links = [
            (
                [next(left) for pair in pairs if pair[1]],
                [len((pair[0] + " " + pair[1]).split()) for pair in pairs if pair[1]],
            )
            for pairs in given
        ]
        made[f"{name} of the links, mean"] = np.array([np.average(s, weights=w) for s, w in links])
        made[f"{name} of the links, lowest"] = np.array([min(s) for s, _ in links])
    return made


def auc(clean: np.ndarray, damaged: np.ndarray) -> float:
    """Return the share of pairs of a clean and a damaged chunk in which the clean one is higher."""
    order = np.sort(damaged)
    below = np.searchsorted(order, clean, "left") + np.searchsorted(order, clean, "right")
    return float(below.mean() / 2 / len(order))


def main() -> None:
    """Write a table: a row a score, a column a damage."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("documents")
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--most-words", type=int, default=256)
    parser.add_argument("--chunks", type=int, default=400)
    given = parser.parse_args()
    found = [pairs for pairs in chunks(given.documents, given.most_words) if len(pairs) > 3]
    chooser = random.Random(1)
    chosen = chooser.sample(found, min(given.chunks, len(found)))
    words = [sum(len(pair[0].split()) for pair in pairs) for pairs in chosen]
    print(
        f"{len(chosen)} of {len(found)} chunks, {np.mean(words):.0f} words, "
        f"{np.mean(list(map(len, chosen))):.1f} links"
    )
    score = partial(measured, bitextfilter.load(given.model))
    clean = score(chosen)
    print("score", *(damage.__name__ for damage in DAMAGES), sep="\t")
    damaged = [score([damage(p, chooser, found) for p in chosen]) for damage in DAMAGES]
    for name, values in clean.items():
        print(name, *(f"{auc(values, one[name]):.3f}" for one in damaged), sep="\t")
    print("lowest cosine below", "clean", *(damage.__name__ for damage in DAMAGES), sep="\t")
    for bound in BOUNDS:
        lowest = [one["cosine of the links, lowest"] for one in (clean, *damaged)]
        print(bound, *(f"{(values < bound).mean():.3f}" for values in lowest), sep="\t")


if __name__ == "__main__":
    main()
