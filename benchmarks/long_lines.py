"""Time of rules, repairs and the like on one long line of hostile text.

    python benchmarks/long_lines.py --bytes 1000000
    python benchmarks/long_lines.py repetition urls --least 0

A line repeats a unit. Each function gets lines of growing length in a process of its own, until
the longest or the limit of seconds. The table has the worst units of each function, the seconds of
the processor for the longest line, and the exponent by which they grow: 1 is linear.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import resource
import signal
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np

from bitextfilter.corpus.duplicate_keys import DedupSettings
from bitextfilter.corpus.near_duplicates import NearTexts
from bitextfilter.corpus.repair import REPAIRS, Repairer
from bitextfilter.damage.noise import NOISE_KINDS, NoiseSettings, noisy_pairs
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.registry import RULES, parse_rule
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.wording import IGNORED, normaliser
from bitextfilter.text.words import split_sentences, word_forms

Work = Callable[[str, str], object]
"""Does the work on one pair."""

UNITS = (
    *"aAé1-.,(<>&@:/%{\\'\"|=_",
    "_a",
    *("a.", "a@", "a-", "aB", "ab", "a1", "1.", "1,", "1 ", "1/", "1-", "a ", "A ", " ", ". "),
    *("a a@a.", "a.B", "a.Ba", "aa.", "a-b.", "1:1 ", "1 2", "1a", "&a", "&#", "&amp;", "&amp"),
    *("http://", "www.", "www.a", "a@b.", "a@b.c", ".com", "a.com/", "%s", "%1", "%a", "{a", "{{"),
    *("<a", "<a ", "<!--", "</", "<a b='", "<!", "<?", "<![", "%c3", "\\x", "\\u", "<u+"),
    *("\u3000", "\u00a0", "\u0300", "a\u0300", "ｗ", "😀", "日本", "日", "ไทย", "한", "\u202e"),
    *("\u200b", "\u00ad", "a\u00ad", "\ufeff", "\x1b[", "\x1b[1;", "\x01", "\x85", "\r", "\u2028"),
    *("Ã", "Ã©", "â€", "РС", "С", "Ă", "√", "ß", "İ", "ﬁ", "٣", "½", "²", "km2", "ﷺ", "\U000e0001"),
    *("not ", "n't ", "ne ", "ne a ", "d'", "one ", "one and ", "hundred", "twenty-", "cent "),
    *("1 May ", "May ", "May", "mai", "5 km ", "5 km to ", "5 to 5", "$5", "IV ", "IVXLCDM", "MM"),
    *("Mr. ", "a | ", "| ", "a b ", "ab ab. ", "cookie ", "log in ", "© ", "copyright "),
    *("share on facebook ", "all rights ", "10:00 ", "a.m. ", "1990 ", "1,000 ", "COVID-19 "),
)


def text(unit: str, size: int) -> str:
    """A line of at most *size* bytes that repeats *unit*."""
    return unit * (size // len(unit.encode()))


def mixed(size: int, seed: int) -> str:
    """A line of units in random order."""
    chooser = random.Random(seed)
    found: list[str] = []
    while size > 0:
        found += [chooser.choice(UNITS) * chooser.choice((1, 1, 2, 9))]
        size -= len(found[-1].encode())
    return "".join(found)


def pairs() -> dict[str, Callable[[int], tuple[str, str]]]:
    """Makers of hostile pairs of some bytes, by name."""

    def equal(unit: str, size: int) -> tuple[str, str]:
        return (text(unit, size // 2),) * 2

    def moved(unit: str, size: int) -> tuple[str, str]:
        one = text(unit, size // 2)
        return f"x{one[: len(one) // 2]}q1{one[len(one) // 2 :]}", f"{one}z 2"

    def alone(unit: str, size: int) -> tuple[str, str]:
        return text(unit, size), "a B. 7"

    found: dict[str, Callable[[int], tuple[str, str]]] = {
        f"{unit!a} {make.__name__}": partial(make, unit)
        for unit in UNITS
        for make in (equal, moved, alone)
    }
    found["mixed equal"] = lambda size: (mixed(size // 2, 1),) * 2
    found["mixed"] = lambda size: (mixed(size // 2, 1), mixed(size // 2, 2))
    return found


@cache
def _files() -> dict[str, str]:
    folder = Path(tempfile.mkdtemp())
    (folder / "words.txt").write_text("gratis\nfree of charge\na a a b\n赌场\n", "utf-8")
    (folder / "patterns.txt").write_text("free\tfree of charge\n", "utf-8")
    (folder / "a.arpa").write_text(
        "\\data\\\nngram 1=4\nngram 2=1\n\n\\1-grams:\n-3\t<unk>\n0\t<s>\t-0.1\n-1\t</s>\n"
        "-1\ta\t-0.3\n\n\\2-grams:\n-0.5\ta a\n\n\\end\\\n",
        "utf-8",
    )
    return {path.stem: str(path) for path in folder.iterdir()}


def rules() -> dict[str, str]:
    """Every rule, in the syntax of the command."""
    files = _files()
    both = f"source={files['a']},target={files['a']}"
    more = {
        "boilerplate": f":file={files['patterns']}",
        "perplexity": f":{both},maximum=9",
        "cross-entropy": f":{both},maximum=9,units=characters",
        "cross-entropy-gap": f":{both}",
        "cross-entropy-difference": f":{both},source-general={files['a']},"
        f"target-general={files['a']}",
        "language-model-classifier": f":{both}",
        "regular-expression": r":pattern=\b(\w+) \1 \1\b",
        "unwanted-words": f":words={files['words']}",
        "sentence-bleu": ":maximum=none,minimum=0",
    }
    specs = {name: name + more.get(name, "") for name in RULES}
    for name, more_specs in {
        "length": ("tokens", "bytes"),
        "similarity": ("words",),
    }.items():
        specs |= {f"{name} {count}": f"{name}:count={count}" for count in more_specs}
    specs["similarity lowercase"] = "similarity:lowercase=yes"
    specs["language cld2"] = "language:identifier=cld2"
    specs["repetition long"] = "repetition:shortest=1,longest=300"
    specs["repeated-words 1"] = "repeated-words:shortest=1"
    return specs


def checked(spec: str, source: str, target: str) -> None:
    """Apply a rule to a pair, and write its reason."""
    rule = parse_rule(spec)
    rule.prepare(("en", "de"))
    found = rule.check(Pairs([source], [target], ("en", "de")))
    if not found.keep[0]:
        found.reason(0)


def near(source: str, target: str) -> None:
    """Compare two near duplicates."""
    with NearTexts(DedupSettings(match="near")) as texts:
        texts.add(np.arange(1, 3), [(source, target), (source + "a", target + "a")])
        texts.similar(1, 2)


def damaged(kind: str, source: str, target: str) -> None:
    """Damage a pair by a kind of noise."""
    settings = NoiseSettings(("en", "fr"), ("un deux trois",), (1, 1 << 30))
    pairs = [(source, target), ("Ann has 2 b", "c d 2"), (target, source)]
    list(noisy_pairs(pairs, {kind: 1.0}, 1, settings))


def works() -> dict[str, Work]:
    """Everything that is measured, by name."""

    def of_texts(function: Callable[[str], object]) -> Work:
        return lambda source, target: (function(source), function(target))

    found: dict[str, Work] = {name: partial(checked, spec) for name, spec in rules().items()}
    found |= {f"fix {name}": of_texts(Repairer([name])) for name in REPAIRS}
    found["fix all"] = of_texts(Repairer(list(REPAIRS)))
    found["dedup normalised"] = of_texts(normaliser(IGNORED))
    found["dedup near"] = near
    for name in ("plain", "apart", "punctuation", "tokenise"):
        settings = Normalisation() if name == "plain" else Normalisation(**{name: True})
        found[f"normalise {name}"] = of_texts(partial(settings.__call__, language="en"))
    found |= {f"noise {kind}": partial(damaged, kind) for kind in NOISE_KINDS}
    found["words"] = of_texts(word_forms)
    found["sentences"] = of_texts(partial(split_sentences, language="en"))
    return found


def curves(work: Work, sizes: list[int], limit: float) -> list[list[tuple[int, float]]]:
    """Seconds by size for each hostile pair, infinite at the size that takes longer."""
    makers = list(pairs().values())
    found: list[list[tuple[int, float]]] = [[] for _ in makers]
    cases = [(place, size) for place in range(len(makers)) for size in sizes]
    while cases:
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            with os.fdopen(writing, "w") as out:
                resource.setrlimit(resource.RLIMIT_AS, (12 << 30,) * 2)
                for place, size in cases:
                    texts = makers[place](size)
                    signal.setitimer(signal.ITIMER_PROF, limit)  # it ends the process
                    began = time.process_time()
                    work(*texts)
                    print(time.process_time() - began, file=out, flush=True)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as told:
            for line in told:
                place, size = cases.pop(0)
                found[place].append((size, float(line)))
        os.waitpid(child, 0)
        if cases:  # the first of them took too long
            place, size = cases[0]
            found[place].append((size, math.inf))
            cases = [case for case in cases if case[0] != place]
    return found


def exponent(seconds: list[tuple[int, float]]) -> float:
    """The growth between the last two sizes."""
    if len(seconds) < 2 or not seconds[-2][1] or math.isinf(seconds[-1][1]):
        return math.nan
    (a, s), (b, t) = seconds[-2:]
    return math.log(t / s) / math.log(b / a) if t else math.nan


def main() -> None:
    """Print the table."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    reader.add_argument("names", nargs="*", help="what to measure, by name; default: everything")
    reader.add_argument("--bytes", type=int, default=1_000_000, help="both sides of the row")
    reader.add_argument("--limit", type=float, default=10.0, help="seconds of the processor")
    reader.add_argument("--least", type=float, default=0.2, help="no line for fewer seconds")
    reader.add_argument("--worst", type=int, default=3, help="units to show for each name")
    options = reader.parse_args()
    sizes = [options.bytes // 16, options.bytes // 4, options.bytes]
    known = works()
    for work in known.values():
        work("warm up a@b.c 1 May 2020 < >", "a")
    print("| what | unit | bytes | CPU seconds | exponent |\n|---|---|---:|---:|---:|")
    for name in options.names or known:
        found = zip(pairs(), curves(known[name], sizes, options.limit), strict=True)
        rows = [(seconds[-1][1], pair, seconds) for pair, seconds in found]
        rows.sort(key=lambda row: -row[0])
        for last, pair, seconds in rows[: options.worst]:
            if last >= options.least:
                size = seconds[-1][0]
                print(
                    f"| {name} | {pair} | {size:,} | {last:.2f} | {exponent(seconds):.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
