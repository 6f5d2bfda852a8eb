"""bitext-rank and bitext-dedup over several files: as over one, by their own names."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from bitextfilter.commands import dedup, rank

BOM = b"\xef\xbb\xbf"
HEADER = b"source\ttarget\tscore\n"


def rows(count: int) -> list[bytes]:
    """Rows with duplicates, equal scores, and some that are bad."""
    chooser = random.Random(3)
    out = []
    for _ in range(count):
        a, b = (" ".join(chooser.choices("abc", k=chooser.randint(1, 3))) for _ in "st")
        out.append(f"{a}\t{b}\t{chooser.randint(0, 9) / 10}\n".encode())
    for place in (3, 40, 41):
        out[place] = b"bad\xff\tbad\xff\tbad\xff\n"
    return out


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, list[Path]]:
    """One file, and the same rows in four, each with the header."""
    lines = rows(90)
    whole, *parts = (tmp_path / name for name in ("whole", "1.tsv", "2.tsv.gz", "3.tsv", "4.tsv"))
    whole.write_bytes(BOM + HEADER + b"".join(lines))
    parts[0].write_bytes(BOM + HEADER + b"".join(lines[:30]))
    parts[1].write_bytes(gzip.compress(BOM + HEADER + b"".join(lines[30:65])[:-1]))
    parts[2].write_bytes(HEADER)
    parts[3].write_bytes(HEADER.replace(b"\n", b"\r\n") + b"".join(lines[65:]))
    return whole, parts


def call(command: click.Command, *words: object) -> Result:
    return CliRunner().invoke(command, ["--header", *map(str, words)])


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (rank.main, ["--top-words", "60"]),
        (rank.main, ["--order", "input", "--top-fraction", "0.4"]),
        (rank.main, ["--sample", "20"]),
        (dedup.main, []),
        (dedup.main, ["--match", "normalised", "--by", "either", "--keep", "best"]),
        (dedup.main, ["--groups", "GROUPS", "--batch-size", "7"]),
    ],
)
def test_several_files_give_what_one_gives(
    files: tuple[Path, list[Path]], tmp_path: Path, command: click.Command, options: list[str]
) -> None:
    whole, parts = files
    found = []
    for name, inputs in (("one", ["-i", whole]), ("many", parts)):
        place = tmp_path / name
        place.mkdir()
        words = [str(place / "groups") if word == "GROUPS" else word for word in options]
        outputs = ["-o", place / "out", "--rejects", place / "bad", "--on-error", "reject"]
        result = call(command, *words, *inputs, *outputs)
        assert result.exit_code == 0, result.output
        assert "90 rows, 3 rejected" in result.stderr
        found.append({path.name: path.read_bytes() for path in place.iterdir()})
    assert found[0] == found[1]
    assert len(found[0]["out"]) > 100 and found[0]["bad"].count(b"\n") > 3


@pytest.mark.parametrize("command", [rank.main, dedup.main])
def test_a_bad_row_is_named_by_its_own_file(
    files: tuple[Path, list[Path]], command: click.Command
) -> None:
    _, (one, two, three, _) = files
    one.write_bytes(HEADER + rows(90)[0])
    result = call(command, one, three, two)
    assert result.exit_code == 65
    assert f": {two}:12: " in result.stderr  # its header, and row 40, the eleventh from row 30 on
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [rank.main, dedup.main])
def test_files_that_are_missing_or_of_another_kind(
    files: tuple[Path, list[Path]], tmp_path: Path, command: click.Command
) -> None:
    _, parts = files
    result = call(command, *parts, tmp_path / "no.tsv")
    assert (result.exit_code, result.stdout_bytes) == (66, b"")
    parts[3].write_bytes(b"source\ttarget\tmlp\na\tb\t0.3\n")
    result = call(command, *parts, "--on-error", "reject")
    assert result.exit_code == 65
    assert f"{parts[3]}:1: the header differs from the one of {parts[0]}" in result.stderr
