"""Haystacks in many pairs of languages, to choose cuts for a model of many languages.

    python make_many.py DATA FOLDER

The translations are talks in 20 languages that share their English sentences, of
DATA/dev/ted.en-*.tsv: some 500 a haystack, among 5,000 other sentences a side, of talks and of
different rows of DATA/train/multi. Writes FOLDER/A-B/source.txt, target.txt and talks.tsv, for
English with each language and for 36 pairs of two others; and FOLDER/pairs/A-B.tsv, 600
translations of ten such pairs. recommend-many.sh reads them.
"""

from __future__ import annotations

import argparse
import lzma
import random
from collections.abc import Iterable
from pathlib import Path

LANGUAGES = (
    *("bg", "cs", "da", "de", "el", "es", "et", "fi", "fr", "hu"),
    *("is", "it", "lt", "lv", "no", "nl", "pl", "pt", "ro", "sv"),
)
FILTERED = (
    *("cs-pl", "de-fr", "es-pt", "fi-hu", "bg-ro"),
    *("da-sv", "et-lv", "el-it", "es-nl", "de-pl"),
)
_SHORTEST, _LONGEST = 15, 400

Talks = dict[str, dict[str, str]]
"""Languages → English sentences → theirs, none of which stands twice."""
Others = dict[str, tuple[list[str], list[str]]]
"""Languages → sentences of rows that are different for the source and the target."""


def read_talks(data: Path, language: str) -> dict[str, str]:
    """Return the English sentences of the talks in a language, and its own."""
    found: dict[str, str] = {}
    name = {"no": "nb"}.get(language, language)
    for line in (data / f"dev/ted.en-{name}.tsv").read_text(encoding="utf-8").split("\n"):
        english, _, own = line.partition("\t")
        if len(english) > _SHORTEST and own.strip():
            found.setdefault(english, own.partition("\t")[0])
    seen = {own: english for english, own in reversed(found.items())}
    return {english: own for english, own in found.items() if seen[own] == english}


def read_others(data: Path) -> Others:
    """Return other sentences of each language."""
    found: Others = {language: ([], []) for language in ("en", *LANGUAGES)}
    for name in ("manuals", "msdocs", "bible"):
        with lzma.open(data / f"train/multi/{name}.tsv.xz", "rt", encoding="utf-8") as file:
            names = file.readline().rstrip("\n").split("\t")
            for number, line in enumerate(file):
                if (number // 7) % 3:
                    continue
                for language, text in zip(names, line.rstrip("\n").split("\t"), strict=True):
                    if language in found and _SHORTEST < len(text) < _LONGEST:
                        found[language][(number // 2) % 2].append(text)
    return found


def write_haystack(folder: Path, pair: tuple[str, str], talks: Talks, others: Others) -> None:
    """Write the sentences of both sides, and the translations among them."""
    rng = random.Random(1)
    first, second = (talks[language] for language in pair)
    common = [english for english in first if english in second]
    rng.shuffle(common)
    count = min(500, len(common) * 2 // 3)
    gold = [(first[english], second[english]) for english in common[:count]]
    rest = common[count:]
    sides = [
        [first[key] for key in rest[::2]] + [first[k] for k in first if k not in second][:3000],
        [second[key] for key in rest[1::2]] + [second[k] for k in second if k not in first][:3000],
    ]
    folder.mkdir(parents=True, exist_ok=True)
    names = ("source.txt", "target.txt")
    for place, (side, language, name) in enumerate(zip(sides, pair, names, strict=True)):
        side += rng.sample(others[language][place], min(4000, len(others[language][place])))
        true = {row[place] for row in gold}
        texts = list(dict.fromkeys([text for text in side if text not in true] + list(true)))
        texts.sort()
        rng.shuffle(texts)
        write(folder / name, map(plain, texts))
    write(folder / "talks.tsv", ("\t".join(map(plain, row)) for row in gold))


def plain(text: str) -> str:
    """Return a text without characters that bitext-align refuses."""
    return text.translate(dict.fromkeys(map(ord, "\r\0\t"), " "))


def write(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def main() -> None:
    """Write the haystacks and the pairs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    talks: Talks = {each: read_talks(options.data, each) for each in LANGUAGES}
    talks["en"] = {english: english for each in LANGUAGES for english in talks[each]}
    others = read_others(options.data)
    pairs = [(a, b) for i, a in enumerate(LANGUAGES) for b in LANGUAGES[i + 1 :]]
    random.Random(5).shuffle(pairs)
    for pair in [*(("en", each) for each in LANGUAGES), *pairs[:36]]:
        write_haystack(options.folder / "-".join(pair), pair, talks, others)
    (options.folder / "pairs").mkdir(exist_ok=True)
    for name in FILTERED:
        first, second = (talks[language] for language in name.split("-"))
        common = [english for english in first if english in second]
        random.Random(1).shuffle(common)
        rows = (f"{plain(first[english])}\t{plain(second[english])}" for english in common[:600])
        write(options.folder / "pairs" / f"{name}.tsv", rows)


if __name__ == "__main__":
    main()
