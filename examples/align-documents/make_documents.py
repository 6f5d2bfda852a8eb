"""Documents with known links, made of sentence pairs: to choose an aligner's settings with.

    python make_documents.py PAIRS.tsv KIND FOLDER [--through OTHER.tsv] [--shuffle] [--seed N]

PAIRS.tsv has a source and a target sentence a row. KIND says how often neighbours are joined on a
side, a sentence is divided at a comma, a boundary is moved on a side (so that two sentences overlap
two), a sentence is left out of a side, and lines without a translation stand in between. A row of
one sentence on a side and several on the other is always divided. Writes FOLDER/source.txt,
target.txt and gold.links.

With --through, a pair is the second columns of both files where the first columns are equal:
English-German and English-French make German-French. --shuffle is for files that are sorted.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

Unit = tuple[list[str], list[str]]
"""The source and the target sentences of a link; one side may be empty."""
Pair = tuple[str, str]


class Kind(NamedTuple):
    """Shares of the rows that are changed, each in one way."""

    join: float
    """Joined with the next one, or the next two, on a side."""
    divide: float
    move: float
    leave_out: float
    insert: float
    """Rows with up to eight lines without a translation before them on a side."""


KINDS = {
    "book": Kind(0.10, 0.05, 0.01, 0.01, 0.0),
    "gaps": Kind(0.08, 0.04, 0.01, 0.10, 0.0),
    "merged": Kind(0.20, 0.10, 0.05, 0.02, 0.0),
    "noisy": Kind(0.10, 0.05, 0.02, 0.04, 0.04),
}
_ENDS = re.compile(r"(?<=[.!?…]) +(?=[\"„«“(]?[A-ZÄÖÜÀÂÉÈÊÎÔ0-9])")
_COMMAS = re.compile(r"(?<=[,;:]) +")


def read_rows(path: str) -> list[Pair]:
    """Read the first two columns."""
    rows = (line.split("\t") for line in Path(path).read_text(encoding="utf-8").split("\n") if line)
    return [(row[0].strip(), row[1].strip()) for row in rows]


def joined_through(one: list[Pair], other: list[Pair]) -> list[Pair]:
    """Return the second columns of rows whose first columns are equal."""
    known = dict(other)
    return [(text, known[key]) for key, text in dict(one).items() if key in known]


def units(pairs: Sequence[Pair], kind: Kind, rng: random.Random) -> Iterator[Unit]:
    """Yield the links of a document made of pairs, in order."""
    place = 0
    while place < len(pairs):
        name = rng.choices((*Kind._fields, "plain"), (*kind, 1 - sum(kind)))[0]
        count = {"join": rng.choice((2, 2, 3)), "move": 2}.get(name, 1)
        rows = pairs[place : place + count]
        side = rng.randrange(2)
        if name == "insert":
            for _ in range(rng.randint(1, 8)):
                yield _on_side([_junk(pairs, side, rng)], [], side)
        changed = _CHANGES[name](rows, side) if name in _CHANGES else None
        yield from map(_natural, rows) if changed is None else [changed]
        place += count


def _on_side(one: list[str], other: list[str], side: int) -> Unit:
    return (other, one) if side else (one, other)


def _natural(row: Pair) -> Unit:
    """Return one sentence against several as they are, all else as one against one."""
    source, target = (_ENDS.split(text) for text in row)
    if len(source) != len(target) and min(len(source), len(target)) == 1:
        return source, target
    return [row[0]], [row[1]]


def _join(rows: Sequence[Pair], side: int) -> Unit | None:
    texts = [row[side] for row in rows]
    return _on_side([" ".join(texts)], [row[1 - side] for row in rows], side)


def _divide(rows: Sequence[Pair], side: int) -> Unit | None:
    halves = _halves(rows[0][side])
    return None if halves is None else _on_side(halves, [rows[0][1 - side]], side)


def _move(rows: Sequence[Pair], side: int) -> Unit | None:
    """Give the second half of a sentence to the next one."""
    halves = _halves(rows[0][side])
    if halves is None or len(rows) < 2:
        return None
    texts = [halves[0], f"{halves[1]} {rows[1][side]}"]
    return _on_side(texts, [row[1 - side] for row in rows], side)


def _leave_out(rows: Sequence[Pair], side: int) -> Unit | None:
    return _on_side([rows[0][side]], [], side)


_CHANGES = {"join": _join, "divide": _divide, "move": _move, "leave_out": _leave_out}


def _halves(text: str) -> list[str] | None:
    """Divide a sentence at the comma nearest its middle; None for a short one."""
    found = _COMMAS.finditer(text)
    places = [comma for comma in found if min(comma.start(), len(text) - comma.end()) > 12]
    if not places:
        return None
    best = min(places, key=lambda comma: abs(comma.start() + comma.end() - len(text)))
    return [text[: best.start()], text[best.end() :]]


def _junk(pairs: Sequence[Pair], side: int, rng: random.Random) -> str:
    """Return a line that has no translation: a number, dots, or some words of another row."""
    if rng.random() < 0.2:
        return rng.choice((".....", "- -", str(rng.randint(1, 2000)), f"{rng.randint(1, 300)} m"))
    words = rng.choice(pairs)[side].split()
    return " ".join(words[: rng.choice((2, 3, 5, 8, 20))])


def main() -> None:
    """Write the documents and their links."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("pairs")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--through", metavar="OTHER")
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--sentences", type=int, default=800)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    pairs = read_rows(options.pairs)
    if options.through:
        pairs = joined_through(pairs, read_rows(options.through))
    if options.shuffle:
        rng.shuffle(pairs)
    write(units(pairs[: options.sentences], KINDS[options.kind], rng), options.folder)


def write(found: Iterable[Unit], folder: Path) -> None:
    """Write both documents and their links."""
    sides: tuple[list[str], list[str]] = ([], [])
    links = []
    for unit in found:
        numbers = []
        for side, new in zip(sides, unit, strict=True):
            numbers.append(list(range(len(side), len(side) + len(new))))
            side += new
        links.append(":".join(map(str, numbers)))
    folder.mkdir(parents=True, exist_ok=True)
    names = ("source.txt", "target.txt", "gold.links")
    for name, lines in zip(names, (*sides, links), strict=True):
        text = "".join(f"{line}\n" for line in lines)
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
