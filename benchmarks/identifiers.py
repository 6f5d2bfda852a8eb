"""Identifiers of languages, as the rule ``language`` uses them: errors, and microseconds.

    python benchmarks/identifiers.py TED.en-bg.tsv TED.en-cs.tsv ... [--number 600]

A file NAME.XX-YY.tsv holds pairs of real sentences in two languages, of which the second is read.
Every sentence is tested for its own language (*lost*: the share that fails) and for another of the
files' languages, drawn at random (*passed*: the share that passes). Microseconds of one core are of
a sentence in its own language; ratios are to the first identifier.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import numpy as np

from bitextfilter.filters.language import Language
from bitextfilter.filters.pairs import Pairs
from bitextfilter.text.language import IDENTIFIERS, load_identifier


def tested(rule: Language, texts: dict[str, list[str]]) -> list[bool]:
    """Return whether texts pass as the languages that they are listed under."""
    return [
        passed
        for language, some in texts.items()
        for passed in rule.check(Pairs(some, None, (language,))).keep.tolist()
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="+")
    parser.add_argument("--number", type=int, default=600, help="sentences of a file at most")
    parser.add_argument("--rounds", type=int, default=3, help="in turns; the shortest counts")
    parser.add_argument("--identifiers", nargs="+", default=[*IDENTIFIERS][::-1])
    options = parser.parse_args()
    chance = random.Random(1)
    own: dict[str, list[str]] = {}
    for path in map(Path, options.files):
        rows = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        some = chance.sample(rows, min(len(rows), options.number))
        own[path.name.split(".")[-2].split("-")[1]] = [row.split("\t")[1] for row in some]
    foreign: dict[str, list[str]] = {language: [] for language in own}
    for language, some in own.items():
        others = [other for other in own if other != language]
        for text in some:
            foreign[chance.choice(others)].append(text)
    shortest = dict.fromkeys(options.identifiers, float("inf"))
    for name in options.identifiers * options.rounds:
        shortest[name] = min(shortest[name], seconds(name, own))
    texts = sum(map(len, own.values()))
    print("identifier\tlost\tpassed\tmicroseconds\tratio")
    for name, taken in shortest.items():
        rule = Language(identifier=name)
        lost = 1 - np.mean(tested(rule, own))
        ratio = shortest[options.identifiers[0]] / taken
        passed = np.mean(tested(rule, foreign))
        print(f"{name}\t{lost:.4f}\t{passed:.4f}\t{taken / texts * 1e6:.1f}\t{ratio:.2f}")


def seconds(name: str, texts: dict[str, list[str]]) -> float:
    """Return the seconds of the processor that an identifier takes, which has seen no word yet."""
    load_identifier.cache_clear()
    rule = Language(identifier=name)
    tested(rule, {"en": ["This sentence loads the identifier and its model."]})
    start = time.process_time()
    tested(rule, texts)
    return time.process_time() - start


if __name__ == "__main__":
    main()
