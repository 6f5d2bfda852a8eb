"""A folder, a chooser, and the commands that they run on hostile rows."""

from __future__ import annotations

import atexit
import functools
import io
import os
import re
import shutil
import tempfile
import time
import unicodedata
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import torch
import toys
import translators
from click.testing import CliRunner
from console import command
from hostile import Hostile

CODES = {0, 2, 65, 66, 69, 74, 78}
"""Exit codes that are documented, without those of bugs and signals."""

ODD_NAMES = ["ü", " ", "-", "\n", "\x1b[2J", "\udcff", "<b>", "'", "%s", ","]
"""Parts of names of files."""

SECONDS, SECONDS_PER_MB = 20.0, 5.0
"""CPU time of a run at most: so much, and so much for each MB of its input."""


@functools.cache
def models() -> Path:
    """A folder of toy models, made by one thread: a fork would lack others, and wait for them."""
    torch.set_num_threads(1)
    folder = Path(tempfile.mkdtemp(prefix="toys-"))
    atexit.register(shutil.rmtree, folder)
    toys.toy_model(folder / "toy")
    toys.toy_words_model(folder / "words")
    translators.saved(folder / "translator")
    translators.saved(folder / "back", case=2, letters="ba")
    translators.saved(folder / "same", letters="aa")
    translators.saved(folder / "controlled", case=5, letters="aa")
    return folder


@functools.cache
def references() -> Path:
    """A classifier of references, trained: what trainings import is then there for all forks."""
    pairs, model = models() / "pairs.tsv", models() / "references"
    rows = zip(*toys.sentences(40, 1), strict=True)
    pairs.write_text("".join(f"{source}\t{target}\n" for source, target in rows))
    quick = ["--set", "shape.embedding=8", "--set", "training.epochs=1", "--threads", "1"]
    words = ["train", *quick, "-o", str(model), str(pairs)]
    done = CliRunner().invoke(command("bitext-paraphrase"), words)
    assert done.exit_code == 0, done.output
    return model


class Ran(NamedTuple):
    """The end of a command."""

    words: list[str]
    code: int
    out: bytes
    err: str


class Bench:
    """A folder, a chooser, and the commands that they run."""

    def __init__(self, chooser: Random, folder: Path, rows: int, longest: int) -> None:
        """Let files have up to *rows* rows, and runs of characters up to *longest*."""
        self.chooser, self.folder = chooser, folder
        self.sizes: tuple[int, ...] = (0, 1, 2, 50, rows, rows)
        self.hostile = Hostile(chooser, longest)
        self.counts: Counter[str] = Counter()
        self.seconds = SECONDS
        self._files = 0

    def chance(self, probability: float) -> bool:
        return self.chooser.random() < probability

    def file(self, data: bytes, name: str = "") -> str:
        """A new file of these bytes, and its path."""
        self._files += 1
        odd = self.chooser.choice(ODD_NAMES) if self.chance(0.1) else ""
        path = self.folder / (name or f"in{self._files}{odd}")
        path.write_bytes(data)
        return str(path)

    def some(self) -> int:
        """A number of rows."""
        return self.chooser.choice(self.sizes)

    def run(self, name: str, *words: str | int, data: bytes = b"") -> Ran:
        """Run a command; it may fail, but only as is documented."""
        line = [*name.split(), *map(str, words)]
        (self.folder / "command").write_bytes(os.fsencode(" ".join(line)))
        began = time.process_time()
        done = CliRunner().invoke(command(line[0]), line[1:], input=data)
        spent = time.process_time() - began
        size = len(data)
        for word in line:
            with suppress(OSError):  # no file, or no name of one
                size += Path(word).stat().st_size
        told = f"{' '.join(line)}\n{done.stderr[-1500:]}"
        assert done.exit_code in CODES, f"exit {done.exit_code}: {told}"
        assert spent < self.seconds + SECONDS_PER_MB * size / 1e6, (
            f"{spent:.1f} s, {size} bytes: {told}"
        )
        if done.exit_code == 0:
            self.counts["runs"] += 1
        else:
            self.counts["refused"] += 1
            assert done.stderr.count("\n") >= 1 and "Traceback" not in done.stderr, told
        return Ran(line, done.exit_code, done.stdout_bytes, done.stderr)


def body(data: bytes) -> tuple[bytes, list[bytes]]:
    """The byte-order mark, and the lines with their endings."""
    bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    return bom, list(io.BytesIO(data[len(bom) :]))


def cut(line: bytes) -> tuple[bytes, bytes]:
    """The bytes of a line and its ending."""
    found = re.fullmatch(rb"(.*?)(\r?\n)?", line, re.DOTALL)
    assert found is not None
    return found[1], found[2] or b""


BLANKS = {"Zs", "Zl", "Zp", "Cc", "Cf"}


def good(line: bytes, places: tuple[int, ...], blank: bool) -> bool:
    """Whether a row has these columns, as text."""
    fields = line.split(b"\t")
    for place in places:
        if not -len(fields) <= place < len(fields):
            return False
        try:
            text = fields[place].decode()
        except UnicodeDecodeError:
            return False
        if "\0" in text:
            return False
        if not blank and all(unicodedata.category(c) in BLANKS for c in text):
            return False
    return True


class Table(NamedTuple):
    """A hostile TSV, and the options that say how to read it."""

    data: bytes
    bom: bytes
    header: bytes
    lines: list[bytes]
    places: tuple[int, int]
    words: list[str]

    @property
    def first(self) -> int:
        """Number of the first row."""
        return 2 if self.header else 1

    def good(self, blank: bool = True) -> list[bool]:
        """Whether each row is good."""
        return [good(cut(line)[0], self.places, blank) for line in self.lines]


def table(bench: Bench, count: int | None = None) -> Table:
    """A TSV with any columns for the two sides, perhaps with a header."""
    hostile, chooser = bench.hostile, bench.chooser
    data = hostile.lines(bench.some() if count is None else count, hostile.pair)
    columns = chooser.choice(((1, 2), (1, 2), (1, 2), (2, 1), (-4, -3), (1, -3), (2, 2)))
    words = ["--scol", str(columns[0]), "--tcol", str(columns[1])]
    header = b""
    if bench.chance(0.25):
        header = chooser.choice((b"source\ttarget\tscore\tlabel\n", b"src\ttrg\tmlp\tkind\r\n"))
        words.append("--header")
        data = header + data.removeprefix(b"\xef\xbb\xbf")
    bom, lines = body(data)
    places = tuple(column - (column > 0) for column in columns)
    return Table(data, bom, header, lines[bool(header) :], (places[0], places[1]), words)


def rejects(path: str) -> list[tuple[int, bytes, bytes]]:
    """Numbers, reasons and rows of a file of rejects."""
    found = []
    for line in Path(path).read_bytes().split(b"\n")[:-1]:
        number, reason, row = line.split(b"\t", 2)
        assert reason.strip(), line
        found.append((int(number), reason, row))
    return found


def check_rejects(path: str, rows: Table, numbers: list[int]) -> None:
    """The rows of these numbers, and no others, are in a file of rejects, as they were."""
    found = rejects(path)
    assert sorted(number for number, _, _ in found) == numbers, (len(found), len(numbers))
    for number, _, row in found:
        assert row == cut(rows.lines[number - rows.first])[0], number


def steady(
    bench: Bench, name: str, words: list[str], file: str, out: bytes, *more: list[str]
) -> None:
    """Other batch sizes, threads and shards give the same bytes."""
    size = str(bench.chooser.choice((1, 3, 100, 5000)))
    for options in bench.chooser.sample([["--batch-size", size], *more], k=1):
        again = bench.run(name, *words, "-i", file, *options)
        assert (again.code, again.out) == (0, out), (again, difference(out, again.out))


def attempt(bench: Bench, name: str, words: list[str], rows: Table, blank: bool) -> Ran | None:
    """Run a command that rejects bad rows, or stops at the first one; None if it has stopped."""
    file = bench.file(rows.data)
    bad = [n for n, fine in enumerate(rows.good(blank), rows.first) if not fine]
    if not bench.chance(0.9):
        out = bench.folder / "out"
        stopped = bench.run(name, *words, "-i", file, "-o", str(out))
        if bad:
            assert stopped.code == 65 and not out.exists(), stopped
            assert f":{bad[0]}: " in stopped.err, (bad[0], stopped)
        return None
    reject = ["--on-error", "reject", "--rejects", str(bench.folder / "rejects")]
    done = bench.run(name, *words, *reject, "-i", file)
    assert done.code == 0, done
    bench.counts["rows"] += len(rows.lines)
    return done


def done_rejects(done: Ran) -> str:
    """The file of rejects of a run."""
    return done.words[done.words.index("--rejects") + 1]


def difference(one: bytes, other: bytes) -> Any:
    """The first lines that differ."""
    pairs = zip(one.split(b"\n"), other.split(b"\n"), strict=False)
    return next((pair for pair in pairs if pair[0] != pair[1]), (len(one), len(other)))


def check_kept(done: Ran, rows: Table, bom: bytes) -> list[int]:
    """The rows of the output and of the rejects are those of the input; numbers of those kept."""
    out = {number for number, _, _ in rejects(done_rejects(done))}
    check_rejects(done_rejects(done), rows, sorted(out))
    kept = [n for n in range(rows.first, rows.first + len(rows.lines)) if n not in out]
    expected = b"".join(rows.lines[n - rows.first] for n in kept)
    head = bom + rows.header
    assert done.out == head + expected, difference(done.out, head + expected)
    return kept


def texts(rows: Table, number: int, places: tuple[int, ...]) -> tuple[bytes, ...]:
    """The texts of a row in these columns."""
    fields = cut(rows.lines[number - rows.first])[0].split(b"\t")
    return tuple(fields[place] for place in places)


def number(text: bytes) -> float:
    """A number as in --column; NaN if it is none."""
    try:
        return float("nan") if b"_" in text else float(text)
    except ValueError:
        return float("nan")


def lines(bench: Bench, count: int | None = None) -> tuple[bytes, list[bytes]]:
    """A hostile file of sentences, and its lines."""
    hostile = bench.hostile
    side = bench.chooser.randrange(2)
    many = bench.some() if count is None else count
    data = hostile.lines(many, lambda: hostile.sentence(side))
    return data, body(data)[1]


def whole(line: bytes, blank: bool = False) -> bool:
    """Whether a line is a sentence."""
    return good(line.replace(b"\t", b" "), (0,), blank)
