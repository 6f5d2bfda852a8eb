"""Real sentences, misread and repaired by ``bitext-fix``: mended, left and seen, or gone wrong.

    python benchmarks/misread.py FOLDER_OR_FILE... [--number N] [--languages]

Files and languages as for ``right_text.py``. UTF-8 is read as each encoding, once and twice, whole
or with bytes lost: C1 controls and soft hyphens dropped and no-break spaces made plain (stripped),
or bytes that the encoding lacks read as U+FFFD (replaced). A side is *mended* exactly, *left* as
it was and *seen* or *unseen* by the rule ``bad-encoding``, or *wrong*: changed to something else.
``--languages`` tells the repair the languages.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from right_text import files, texts

from bitextfilter.corpus.repair import DEFAULTS, Repairer
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.web import BadEncoding

_ENCODINGS = ("cp1252", "latin-1", "cp1250", "cp1251", "mac-roman")
_LOST = dict.fromkeys([*range(0x80, 0xA0), 0xAD]) | {0xA0: " "}


def table(encoding: str, unknown: str | None = None) -> list[str]:
    """Return the character of each byte; of those that the encoding lacks, a C1 control."""
    return [
        byte.decode(encoding, "ignore") or unknown or byte.decode("latin-1")
        for byte in (bytes([value]) for value in range(256))
    ]


def misread(text: str, encoding: str, unknown: str | None = None) -> str:
    """Return the UTF-8 of a text, read by the wrong table."""
    characters = table(encoding, unknown)
    return "".join(characters[value] for value in text.encode())


def stripped(text: str) -> str:
    """Return a text without the characters that cleaners strip."""
    return " ".join(text.translate(_LOST).split(" "))


DAMAGES: dict[str, Callable[[str, str], str]] = {
    "once": misread,
    "twice": lambda text, encoding: misread(misread(text, encoding), encoding),
    "stripped": lambda text, encoding: stripped(misread(text, encoding)),
    "replaced": lambda text, encoding: misread(text, encoding, "\ufffd"),
    "stripped, spaces": lambda text, encoding: " ".join(
        misread(text, encoding).translate(_LOST).split()
    ),
}


def main() -> None:
    """Damage, repair and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--number", type=int, default=100, help="sentences of a language")
    parser.add_argument("--rows", type=int, default=1000, help="rows of a file at most")
    parser.add_argument("--show", type=int, default=0, help="sides of a line shown, if gone wrong")
    parser.add_argument("--unseen", type=int, default=0, help="sides of a line shown, if unseen")
    parser.add_argument("--languages", action="store_true")
    options = parser.parse_args()
    own: dict[str, dict[str, None]] = {}
    others = Repairer(set(DEFAULTS) - {"mojibake"})
    for path in files(options.paths):
        for language, text in texts(path, options.rows):
            if not (text := others(text)[0]).isascii():
                own.setdefault(language, {})[text] = None
    chance = random.Random(1)
    sample = {
        language: chance.sample([*own[language]], min(len(own[language]), options.number))
        for language in sorted(own)
    }
    print("encoding\tdamage\tsides\tmended\tleft, seen\tleft, unseen\twrong\twrong, unseen")
    for encoding in _ENCODINGS:
        for name, damage in DAMAGES.items():
            counts = Counter[str]()
            shown = Counter[str]()
            for language, some in sample.items():
                repairer = Repairer(DEFAULTS, language) if options.languages else Repairer()
                _count(some, encoding, damage, repairer, counts, shown, options)
            figures = ("mended", "seen", "unseen", "wrong", "wrong, unseen")
            print(encoding, name, counts["sides"], *(counts[one] for one in figures), sep="\t")


def _count(some, encoding, damage, repairer, counts, shown, options) -> None:  # type: ignore[no-untyped-def]
    damaged = [(text, damage(text, encoding)) for text in some]
    damaged = [(text, wrong) for text, wrong in damaged if text != wrong]
    if not damaged:
        return
    outs = [repairer(wrong)[0] for _, wrong in damaged]
    kept = BadEncoding().check(Pairs(outs, ["a"] * len(outs))).keep
    for (text, wrong), out, keep in zip(damaged, outs, kept, strict=True):
        counts["sides"] += 1
        if out == text:
            counts["mended"] += 1
        elif "".join(out.split()) == "".join(wrong.split()):
            counts["unseen" if keep else "seen"] += 1
            if keep and shown["unseen"] < options.unseen:
                shown["unseen"] += 1
                print(f"  unseen: {text!r} -> {wrong!r}")
        else:
            counts["wrong"] += 1
            counts["wrong, unseen"] += keep
            if shown["wrong"] < options.show:
                shown["wrong"] += 1
                print(f"  wrong: {text!r} -> {wrong!r} -> {out!r}")


if __name__ == "__main__":
    main()
