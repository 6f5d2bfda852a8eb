"""Alignment of long documents, beside a plain dynamic program over all cells in float64.

    python benchmarks/documents.py PAIRS.tsv [PAIRS.tsv.gz...] --sentences 1000 10000 50000

The pairs of the files, in their order, are made one document a side: of about every fourth, two or
three sentences of a side are joined, and one in twenty (`--left-out`) is left out of a side; so the
links are known. For each size: seconds of encoding, of the classifier and of aligning (also for a
thousand sentences), peak memory so far, and the strict F1 of the links.

The plain program aligns the beginning of the documents (`--plain` sentences) by the same costs, one
cell after the other, in float64. Its path must cost the same.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Callable
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

from bitextfilter.arrays import Scores, Vectors
from bitextfilter.commands.frame.command import steady_speed_and_memory

if TYPE_CHECKING:
    from bitextfilter.io.documents import LinkedIndices
    from bitextfilter.mining.link_costs import VectorLinkCosts
    from bitextfilter.scoring.model import Model

Made = tuple[list[str], list[str], "list[LinkedIndices]"]


def read_pairs(paths: list[str], number: int) -> list[tuple[str, str]]:
    """The first distinct pairs of the files."""
    from bitextfilter.io.files import read_lines

    lines = chain.from_iterable(map(read_lines, paths))
    pairs = dict.fromkeys(tuple(line.split("\t")[:2]) for line in lines)
    return [(source, target) for source, target in islice(pairs, number)]


def made_documents(pairs: list[tuple[str, str]], left_out: float = 0.05, seed: int = 1) -> Made:
    """Two documents of these pairs, and which sentences are linked."""
    kept = 1 - left_out
    weights = kept * 14 / 19, kept * 5 / 19, left_out / 2, left_out / 2
    generator = random.Random(seed)
    source: list[str] = []
    target: list[str] = []
    links: list[LinkedIndices] = []
    place = 0
    while place < len(pairs):
        kind = generator.choices(("one", "join", "source", "target"), weights)[0]
        count = generator.choice((2, 2, 3)) if kind == "join" else 1
        texts = [list(side) for side in zip(*pairs[place : place + count], strict=True)]
        if kind == "join":
            joined = generator.randrange(2)
            texts[joined] = [" ".join(texts[joined])]
        here = [] if kind == "target" else texts[0]
        there = [] if kind == "source" else texts[1]
        ends = len(source), len(target)
        source += here
        target += there
        links.append((tuple(range(ends[0], len(source))), tuple(range(ends[1], len(target)))))
        place += count
    return source, target, links


def link_costs_of(model: Model, source: list[str], target: list[str]) -> VectorLinkCosts:
    """Costs of links by the model."""
    from bitextfilter.mining.chunks import LinkSettings
    from bitextfilter.mining.link_costs import KnownBefore, VectorLinkCosts
    from bitextfilter.mining.monotonic import Document, character_ends
    from bitextfilter.mining.word_coverage import WordCoverage, document_words
    from bitextfilter.similarity.vectors import unit_rows

    settings, sides, words = LinkSettings(), [], []
    for side, language in zip((source, target), model.languages, strict=True):
        vectors = unit_rows(model.encode(side, language))
        sides.append(Document(vectors, character_ends(side), settings.largest))
        words.append(document_words(side, partial(model.encode, language=language)))
    known = KnownBefore(1.1, WordCoverage(words[0], words[1], settings.largest))
    return VectorLinkCosts(sides[0], sides[1], settings, known)


def plain_cost(costs: VectorLinkCosts) -> float:
    """Cost of the cheapest path, one cell after the other."""
    n, m = len(costs.skip_source), len(costs.skip_target)
    prices = costs.block(slice(0, n + 1), slice(0, m + 1)).astype(float)
    skips = costs.skip_source.astype(float), costs.skip_target.astype(float)
    best = {(0, 0): 0.0}
    for i in range(n + 1):
        for j in range(m + 1):
            ways = [
                best[i - a, j - b] + prices[number, i, j]
                for number, (a, b) in enumerate(costs.links)
                if a <= i and b <= j
            ]
            if i:
                ways.append(best[i - 1, j] + skips[0][i - 1])
            if j:
                ways.append(best[i, j - 1] + skips[1][j - 1])
            if ways:
                best[i, j] = min(ways)
    return best[n, m]


def compare_with_plain(model: Model, made: Made, sentences: int) -> None:
    """Print how long both take for the beginnings of the documents."""
    from bitextfilter.mining.monotonic import cheapest_path, whole_band

    source, target = made[0][:sentences], made[1][:sentences]
    costs = link_costs_of(model, source, target)
    start = time.perf_counter()
    plain = plain_cost(costs)
    middle = time.perf_counter()
    _, cost = cheapest_path(costs, whole_band(len(source), len(target)))
    end = time.perf_counter()
    assert cost == plain, (cost, plain)
    print(
        f"{len(source)} x {len(target)} sentences, every cell: plain {middle - start:.2f} s, "
        f"ours {end - middle:.2f} s, {(middle - start) / (end - middle):.0f} times as fast"
    )


def measure(model: Model, made: Made, rescored: bool) -> None:
    """Print a row of the table."""
    from bitextfilter.evaluation.mining import compare_links, measure_alignment
    from bitextfilter.evaluation.result import Bootstrap
    from bitextfilter.mining.chunks import LinkSettings
    from bitextfilter.mining.documents import DocumentModel, align_by_vectors

    encoding = rescoring = 0.0

    def scorer(sources: list[str], targets: list[str]) -> Scores:
        nonlocal rescoring
        begin = time.perf_counter()
        scores = model.score(sources, targets, ("mlp",))["mlp"]
        rescoring += time.perf_counter() - begin
        return scores

    def encoder(language: str) -> Callable[[list[str]], Vectors]:
        def encode(texts: list[str]) -> Vectors:
            nonlocal encoding
            begin = time.perf_counter()
            vectors = model.encode(texts, language)
            encoding += time.perf_counter() - begin
            return vectors

        return encode

    source, target, links = made
    start = time.perf_counter()
    resources = DocumentModel((encoder(model.languages[0]), encoder(model.languages[1])))
    if rescored:
        resources = resources._replace(scorer=scorer)
    found = align_by_vectors(source, target, resources, LinkSettings()).links
    seconds = time.perf_counter() - start - encoding - rescoring
    compared = compare_links(links, [(tuple(link.source), tuple(link.target)) for link in found])
    strict = measure_alignment(compared, Bootstrap(1))[2].estimate.value
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    thousand = 2000 * seconds / (len(source) + len(target))
    print(
        f"{len(source):>7} {len(target):>7} {encoding:>9.1f} {rescoring:>9.1f} {seconds:>9.2f} "
        f"{thousand:>11.3f} {peak:>9.0f} {strict:>9.4f}"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--sentences", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--left-out", type=float, default=0.05, help="of the pairs, a side each")
    parser.add_argument("--plain", type=int, default=300)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--classifier", action="store_true", help="ask it about links, too")
    options = parser.parse_args()

    steady_speed_and_memory()  # one thread for numpy, as in the command
    import bitextfilter

    model = bitextfilter.load(options.model, threads=options.threads)
    pairs = read_pairs(options.files, 2 * max(options.sentences))
    if options.plain:
        compare_with_plain(model, made_documents(pairs[: 2 * options.plain]), options.plain)
    print("source  target  encode s rescore s   align s  s/thousand  peak MiB  strict F1")
    for size in options.sentences:
        made = made_documents(pairs[: round(size * 1.2)], options.left_out)
        measure(model, made, options.classifier)


if __name__ == "__main__":
    main()
