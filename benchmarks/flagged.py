"""Pairs that a rule drops, by set, language and people's label; words put into one side, found.

    python benchmarks/flagged.py DATA RULE [--sets NAME...] [--most ROWS] [--insert] [--show NUMBER]

DATA holds parallel text: see ``SETS``. Of a set and pair of languages the first ROWS are read.
``--insert`` puts a word of the shipped toxic list into one side of right pairs of ParaCrawl.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.registry import parse_rule
from bitextfilter.io.files import open_input, read_toml

SETS = {
    "crawl": "dev/crawl/paracrawl.*.tsv",
    "quality": "dev/quality/catastrophic.*.tsv",
    "talks": "dev/ted.*.tsv",
    "news": "dev/newstest*.tsv",
    "Tatoeba": "test/tatoeba/*-eng.tsv",
    "PUD": "test/pud.*.tsv",
    "docs": "train/multi/msdocs.tsv.xz",
    "manuals": "train/multi/manuals.tsv.xz",
    "Bible": "train/multi/bible.tsv.xz",
    "everyday": "train/everyday/en-*.tsv.xz",
}
TEXTS = {"crawl": (2, 3), "quality": (2, 3)}
Row = tuple[str, tuple[str, str], tuple[str, str]]
"""Label or nothing, languages, sides."""


def rows_of(name: str, path: Path) -> Iterator[Row]:
    """Yield the pairs of a file, each with its label, if it has one."""
    with open_input(path) as file:
        lines = (line.decode().rstrip("\n").split("\t") for line in file)
        if name in ("docs", "manuals", "Bible"):
            _, *others = next(lines)
            for english, *texts in lines:
                for language, text in zip(others, texts, strict=True):
                    if english and text:
                        yield "", ("en", language), (english, text)
            return
        second, first = path.name.split(".")[name not in ("Tatoeba", "everyday")].split("-")[::-1]
        for fields in lines:
            at, other = TEXTS.get(name, (0, 1))
            yield fields[0] * (name in TEXTS), (first, second), (fields[at], fields[other])


def batches(name: str, data: Path, most: int) -> dict[tuple[str, ...], list[tuple[str, str]]]:
    """Return the pairs of a set by label and languages."""
    found: dict[tuple[str, ...], list[tuple[str, str]]] = defaultdict(list)
    for path in sorted(data.glob(SETS[name])):
        for label, languages, sides in rows_of(name, path):
            key = (label, *languages)
            if len(found[key]) < most:
                found[key].append(sides)
    return found


def with_word(pair: tuple[str, str], side: int, word: str, at: float) -> tuple[str, str]:
    """Return a pair with a word between two of a side."""
    words = pair[side].split()
    words.insert(round(at * len(words)), word)
    return (" ".join(words), pair[1]) if side == 0 else (pair[0], " ".join(words))


def inserted(data: Path, spec: str) -> None:
    """Print how many right pairs are dropped once a side has a toxic word, by language."""
    toxic = read_toml(Path(parse_rule.__code__.co_filename).with_name("toxic_words.toml"))["words"]
    draw, found = random.Random(1), Counter[str]()
    for (label, *languages), pairs in batches("crawl", data, 10**6).items():
        codes = ["no" if language == "nb" else language for language in languages]
        if label != "V" or not toxic.keys() >= {*codes}:
            continue
        words = [" ".join(toxic[code].split()).split("; ") for code in codes]
        sides = [draw.randrange(2) for _ in pairs]
        made = [
            with_word(pair, side, draw.choice(words[side]), draw.random())
            for pair, side in zip(pairs, sides, strict=True)
        ]
        sources, targets = zip(*made, strict=True)
        keep = parse_rule(spec).check(Pairs(sources, targets, tuple(languages))).keep
        found.update(pairs=len(pairs), found=int((~keep).sum()))
    print(f"a word put into one side: {found['found']} of {found['pairs']} pairs are dropped")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("rule")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--most", type=int, default=20_000)
    parser.add_argument("--insert", action="store_true")
    parser.add_argument("--show", type=int, default=0)
    given = parser.parse_args()
    rule = parse_rule(given.rule)
    for name in given.sets:
        totals: dict[str, Counter[str]] = defaultdict(Counter)
        parts: dict[str, list[str]] = defaultdict(list)
        for (label, *languages), pairs in batches(name, given.data, given.most).items():
            sources, targets = zip(*pairs, strict=True)
            both = (languages[0], languages[1])
            try:
                rule.prepare(both)
            except SettingsError:
                continue
            keep, reason, _ = rule.check(Pairs(sources, targets, both))
            dropped = [index for index in range(len(pairs)) if not keep[index]]
            totals[label].update(rows=len(pairs), dropped=len(dropped))
            parts[label].append(f"{'-'.join(both)} {len(dropped)}/{len(pairs)}")
            for index in random.Random(1).sample(dropped, min(given.show, len(dropped))):
                print(label, "-".join(both), reason(index), *pairs[index], sep="\t")
        for label, total in sorted(totals.items()):
            part, whole = total["dropped"], total["rows"]
            share = f"{part} of {whole} ({part / whole:.3%})"
            print(f"{name} {label}: {share}: {', '.join(parts[label])}", flush=True)
    if given.insert:
        inserted(given.data, given.rule)


if __name__ == "__main__":
    main()
