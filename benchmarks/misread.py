"""Real sentences, misread and repaired by ``bitext-fix``: mended, left and seen, or gone wrong.

    python benchmarks/misread.py FOLDER_OR_FILE... [--number N] [--languages]

Files and languages as for ``right_text.py``. UTF-8 is read as each encoding, once and twice, whole
or with bytes lost: C1 controls and soft hyphens dropped and no-break spaces made plain (stripped),
or bytes that the encoding lacks read as U+FFFD (replaced). A side is *mended* exactly, *left* as
it was, or *wrong*: changed to something else; and *seen* or *unseen* by the rule ``bad-encoding``.
``--languages`` tells the repair the languages.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.right_text import files, texts
from bitextfilter.corpus.repair import DEFAULTS, Repairer
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.web import BadEncoding

_ENCODINGS = ("cp1252", "latin-1", "cp1250", "cp1251", "mac-roman")
_LEFT_ALONE = ("cp850", *(f"iso8859-{part}" for part in (3, 4, 6, 10, 13, 16)))
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


def sentences(options: argparse.Namespace) -> dict[str, list[str]]:
    """Return some texts of each language that are not all ASCII, repaired but for mojibake."""
    own: dict[str, dict[str, None]] = {}
    others = Repairer(set(DEFAULTS) - {"mojibake"})
    for path in files(options.paths):
        for language, raw in texts(path, options.rows):
            if not (text := others(raw)[0]).isascii():
                own.setdefault(language, {})[text] = None
    chance = random.Random(1)
    return {
        language: chance.sample([*own[language]], min(len(own[language]), options.number))
        for language in sorted(own)
    }


def outcomes(pairs: list[tuple[str, str]], repairer: Repairer) -> Iterator[tuple[str, str]]:
    """Yield the outcome for each right text with its damaged one, and the repaired one."""
    repaired = [repairer(wrong)[0] for _, wrong in pairs]
    kept = BadEncoding().check(Pairs(repaired, ["a"] * len(repaired))).keep.tolist()
    for (text, wrong), out, unseen in zip(pairs, repaired, kept, strict=True):
        if out == text:
            yield "mended", out
        elif "".join(out.split()) == "".join(wrong.split()):
            yield "left, unseen" if unseen else "left, seen", out
        else:
            yield "wrong, unseen" if unseen else "wrong, seen", out


_OUTCOMES = ("mended", "left, seen", "left, unseen", "wrong, seen", "wrong, unseen")


def main() -> None:
    """Damage, repair and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--number", type=int, default=100, help="sentences of a language")
    parser.add_argument("--rows", type=int, default=1000, help="rows of a file at most")
    parser.add_argument("--show", type=int, default=0, help="sides shown of each bad outcome")
    parser.add_argument("--languages", action="store_true", help="tell the repair the language")
    options = parser.parse_args()
    own = sentences(options)
    print("encoding", "damage", "sides", *_OUTCOMES, sep="\t")
    for encoding in (*_ENCODINGS, *_LEFT_ALONE):
        for name, damage in DAMAGES.items():
            counts: Counter[str] = Counter()
            for language, some in own.items():
                known = {"language": language} if options.languages and language != "?" else {}
                pairs = [(text, damage(text, encoding)) for text in some]
                pairs = [(text, wrong) for text, wrong in pairs if text != wrong]
                found = outcomes(pairs, Repairer(DEFAULTS, **known)) if pairs else ()
                for (text, wrong), (outcome, out) in zip(pairs, found, strict=True):
                    counts[outcome] += 1
                    if outcome in _OUTCOMES[2:] and counts[outcome] <= options.show:
                        print(f"  {outcome}: {text!r} -> {wrong!r} -> {out!r}")
            figures = (counts[one] for one in _OUTCOMES)
            print(encoding, name, counts.total(), *figures, sep="\t")


if __name__ == "__main__":
    main()
