"""Pairing of documents: what is found among documents cut from sentence pairs, time and memory.

    python benchmarks/pair_documents.py --quality DATA
    python benchmarks/pair_documents.py PAIRS.tsv [PAIRS.tsv.gz...] --documents 10000 20000

With `--quality`: precision and recall of the pairs at the default cut and without one. Sets are
the whole documents of DATA/dev/align, and documents made of the pairs of DATA: of shuffled pairs,
each document has `lines` in a row; three in ten stand on one side only; one sentence in seven is
left out; and four of twelve lines that a site repeats stand first.

With PAIRS: documents of 20 sentences a side, each a pair of PAIRS by chance, nine in ten with a
partner. Seconds of reading, encoding, searching and comparing, those of all
processors together, peak memory, disk, and figures.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bitextfilter.commands.frame.command import steady_speed_and_memory

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model

Pair = tuple[str, str]
Document = tuple[str, list[str]]


class Made(NamedTuple):
    """Documents of both sides; those of one name belong together."""

    sources: list[Document]
    targets: list[Document]


def table(path: Path, languages: tuple[str, str], count: int) -> list[Pair]:
    """The first pairs of a table of many languages."""
    found = []
    with lzma.open(path, "rt", encoding="utf-8") as stream:
        names = next(stream).rstrip("\n").split("\t")
        columns = [names.index(language) for language in languages]
        for line in stream:
            cells = line.rstrip("\n").split("\t")
            source, target = (cells[column] for column in columns)
            if source and target:
                found.append((source, target))
            if len(found) == count:
                break
    return found


def rows(paths: list[str]) -> Iterator[Pair]:
    """The pairs of files."""
    from bitextfilter.io.files import read_lines

    for path in paths:
        for line in read_lines(path):
            source, target = line.split("\t")[:2]
            if source.strip() and target.strip():
                yield source, target


def whole(path: Path) -> Made:
    """The whole documents of a file: a name, and both texts as JSON strings."""
    sides: tuple[list[Document], list[Document]] = [], []
    for line in lines_of_file(path):
        name, *texts = line.split("\t")
        for side, text in zip(sides, texts, strict=True):
            lines = [part.strip() for part in json.loads(text).split("\n")]
            side.append((name, [part for part in lines if part]))
    return Made(*sides)


def lines_of_file(path: Path) -> Iterator[str]:
    """The lines of a file."""
    from bitextfilter.io.files import read_lines

    return read_lines(path)


def cut(
    pairs: list[Pair], languages: tuple[str, str], lines: tuple[int, int], seed: int = 11
) -> Made:
    """Documents made of pairs, see above."""
    from bitextfilter.damage.material import boilerplate_line

    chooser = random.Random(seed)
    chooser.shuffle(pairs)
    site = [[boilerplate_line(chooser, language) for _ in range(12)] for language in languages]
    made, place = Made([], []), 0
    while place < len(pairs):
        part = pairs[place : place + chooser.randint(*lines)]
        name, place, fate = str(place), place + len(part), chooser.random()
        for number, side in enumerate(made):
            body = [pair[number] for pair in part if chooser.random() > 1 / 7]
            if not (0.15 * number <= fate < 0.15 * (number + 1)):
                side.append(
                    (name, [*chooser.sample(site[number], 4), *(body or [part[0][number]])])
                )
    chooser.shuffle(made.targets)
    return made


def large(pairs: list[Pair], count: int, seed: int = 12) -> Made:
    """*count* documents a side, nine in ten with a partner."""
    chooser, made = random.Random(seed), Made([], [])
    for number in range(count * 10 // 9):
        part, fate = chooser.sample(pairs, 20), number % 10
        for side, documents in enumerate(made):
            if fate != side:
                body = [pair[side] for pair in part if chooser.random() > 1 / 7]
                documents.append((str(number), body or [part[0][side]]))
    chooser.shuffle(made.targets)
    return made


def measure(model: Model, made: Made, threads: int, times: bool = False) -> list[str]:
    """The figures of the pairs found, and perhaps times."""
    from bitextfilter.mining.document_pairing import (
        DocumentPairer,
        PairingHooks,
        PairingSettings,
    )
    from bitextfilter.mining.document_pairs import BALANCED_SCORE

    phases = [("reading", time.perf_counter(), time.process_time())]

    def begin(_: int, unit: str) -> None:
        phases.append((unit, time.perf_counter(), time.process_time()))

    with tempfile.TemporaryDirectory() as folder:
        settings = PairingSettings(threads=threads)
        pairer = DocumentPairer(model, Path(folder, "work"), settings, PairingHooks(begin))
        stores = pairer.gather(made)
        chosen = pairer.pair()
        disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    phases.append(("", time.perf_counter(), time.process_time()))
    names = [[set(names) for names in store.names] for store in stores]
    # Copies of a text are one document: any of their names is right.
    there = {name for name, _ in made.targets}
    whole = sum(bool(copies & there) for copies in names[0])
    right = [
        bool(names[0][i] & names[1][j]) for i, j in zip(chosen.source, chosen.target, strict=True)
    ]
    figures = [f"{len(stores[0])} {len(stores[1])} {whole}"]
    for least in (BALANCED_SCORE, 0.0):
        kept = [good for good, score in zip(right, chosen.score, strict=True) if score >= least]
        figures.append(f"P {sum(kept) / max(1, len(kept)):.4f} R {sum(kept) / whole:.4f}")
    if times:
        for (name, start, used), (_, end, used_then) in pairwise(phases):
            figures.append(f"{name} {end - start:.1f} s ({used_then - used:.1f} of processors)")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        figures.append(f"peak {peak} MiB disk {disk >> 20} MiB")
    return figures


def sets(data: Path) -> Iterator[tuple[str, str, Made]]:
    """Name, model and documents of each set."""
    for path in sorted((data / "dev/align").glob("*.en-de.jsonl.tsv.gz")):
        yield path.name.partition(".")[0], "en-de", whole(path)
    for other, model in (
        *(("de", "en-de"), ("fr", "en-fr")),
        *((code, f"multi:en,{code}") for code in ("it", "ro", "pl")),
    ):
        for lines in ((20, 100), (5, 20), (1, 4)):
            pairs = list(rows([str(data / f"dev/ted.en-{other}.tsv")]))
            yield f"ted {other} {lines}", model, cut(pairs, ("en", other), lines)
    for first, second, model in (
        ("en", "de", "en-de"),
        ("de", "fr", "de-fr"),
        ("en", "ru", "multi:en,ru"),
        ("es", "tr", "multi:es,tr"),
    ):
        for lines in ((20, 100), (5, 20), (1, 4)):
            pairs = table(data / "train/multi/manuals.tsv.xz", (first, second), 30_000)[-8000:]
            yield f"manuals {first}-{second} {lines}", model, cut(pairs, (first, second), lines)


def main() -> None:
    """Measure, and print a line for each set or size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", nargs="*")
    parser.add_argument("--quality", type=Path, metavar="DATA")
    parser.add_argument("--documents", type=int, nargs="+", default=[10_000])
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    steady_speed_and_memory()
    from bitextfilter.scoring.model import load

    models: dict[str, Model] = {}
    for name, of, made in sets(arguments.quality) if arguments.quality else ():
        models[of] = models.get(of) or load(of, threads=arguments.threads)
        print(name, of, *measure(models[of], made, arguments.threads), sep="\t", flush=True)
    if arguments.pairs:
        model = load(arguments.model, threads=arguments.threads)
        pairs = list(dict.fromkeys(islice(rows(arguments.pairs), 1_000_000)))
        for count in arguments.documents:
            made = large(pairs, count)
            print(*measure(model, made, arguments.threads, True), sep="\t", flush=True)


if __name__ == "__main__":
    main()
