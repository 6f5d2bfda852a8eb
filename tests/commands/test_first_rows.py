"""Warnings about the first rows of an input, and several files that are read as one."""

from __future__ import annotations

import gzip
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from console import ROOT, invoke, says_one_line

from bitextfilter.io.lines import watched

PAIRS = [
    line.split("\t")[:2]
    for line in (ROOT / "examples/pairs.en-de.tsv").read_text("utf-8").splitlines()[:5]
]
COMMANDS = {
    "bitext-score": ["--similarity", "cosine"],
    "bitext-filter": ["--languages", "en,de"],
    "bitext-dedup": [],
    "bitext-fix": [],
    "bitext-split": ["--part", "a=1", "-o", "{}"],
}


def warnings(name: str, rows: Sequence[Sequence[str]], *words: str, home: Path) -> list[str]:
    """What a command warns of, given rows on stdin."""
    options = [word.replace("{}", f"{home}/{{}}") for word in COMMANDS[name]]
    text = "".join("\t".join(row) + "\n" for row in rows)
    result = invoke(name, *options, *words, data=text)
    start = f"{name}: warning: stdin: "
    lines = result.stderr.splitlines()
    return [line.removeprefix(start) for line in lines if line.startswith(start)]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_header_that_is_read_as_a_pair(name: str, tmp_path: Path) -> None:
    rows = [["source", "target"], *PAIRS]
    said = "line 1 looks like a header (source, target): --header"
    assert warnings(name, rows, home=tmp_path) == [said]
    assert warnings(name, rows, "--header", home=tmp_path) == []
    assert warnings(name, rows, "-q", home=tmp_path) == []
    assert warnings(name, PAIRS, home=tmp_path) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_columns_of_addresses(name: str, tmp_path: Path) -> None:
    rows = [[f"http://a.example/{n}", f"http://b.example/{n}", *row] for n, row in enumerate(PAIRS)]
    found = "columns 1 and 2 hold web addresses; text seems to be in columns 3 and 4"
    assert f"{found}: --scol 3 --tcol 4" in warnings(name, rows, home=tmp_path)
    assert warnings(name, rows, "--scol", "3", "--tcol", "4", home=tmp_path) == []


@pytest.mark.parametrize("added", [1, 2])
def test_columns_of_addresses_are_in_no_language(added: int, tmp_path: Path) -> None:
    rows = [
        [f"http://seite{n}.de/ueber-uns/", f"https://page{n}.com/about/the-shop/"][:added] + row
        for n, row in enumerate(PAIRS * 20)
    ]
    text = "".join("\t".join(row) + "\n" for row in rows)
    result = invoke("bitext-score", "--similarity", "cosine", data=text)
    assert result.stderr.count("warning") == 1
    assert " hold" in result.stderr and "web addresses; text seems to be in" in result.stderr


def test_the_check_of_columns_can_be_left_out(tmp_path: Path) -> None:
    rows = [[str(number), *row] for number, row in enumerate(PAIRS)]
    assert len(warnings("bitext-score", rows, home=tmp_path)) == 1
    assert warnings("bitext-score", rows, "--no-column-check", home=tmp_path) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_rows_of_unequal_columns(name: str, tmp_path: Path) -> None:
    rows = [*PAIRS[:2], [*PAIRS[2], "more"], *PAIRS[3:], [*PAIRS[4], "more"]]
    said = "line 3 has 3 columns, most have 2: is a tab in a text?"
    assert warnings(name, rows, home=tmp_path) == [said]


@pytest.mark.parametrize("count", [1, 3])
def test_swapped_columns_of_few_rows(count: int, tmp_path: Path) -> None:
    rows = [row[::-1] for row in PAIRS[:count]]
    said = (
        "the columns look swapped: the source column looks like de, the target column like en"
        " (--scol and --tcol choose columns)"
    )
    assert warnings("bitext-filter", rows, home=tmp_path) == [said]
    text = "".join("\t".join(row) + "\n" for row in rows)
    result = invoke("bitext-score", data=text)
    assert f"bitext-score: warning: {said}" in result.stderr


@pytest.mark.gate(0)
def test_a_warning_is_given_once_for_all_shards(tmp_path: Path) -> None:
    rows = [["source", "target"], *PAIRS]
    words = ["--resume", str(tmp_path / "parts"), "--shard-rows", "2"]
    said = "line 1 looks like a header (source, target): --header"
    assert warnings("bitext-filter", rows, *words, home=tmp_path) == [said]


def test_plain_sentences_of_alignment(tmp_path: Path) -> None:
    for side, name in enumerate(("en", "de")):
        lines = [name, *(row[side] for row in PAIRS)]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    files = [str(tmp_path / name) for name in ("en", "de")]
    result = invoke("bitext-align", *files)
    for path, name in zip(files, ("en", "de"), strict=True):
        said = f"warning: {path}: line 1 looks like a header ({name}): leave it out"
        assert said in result.stderr


def test_no_output_waits_for_the_first_rows() -> None:
    seen: list[list[bytes]] = []
    blocks = watched(iter([[b"a\n"], [b"b\n", b"c\n"], [b"d\n"]]), seen.append, 2)
    assert (next(blocks), seen) == ([b"a\n"], [])
    assert (next(blocks), seen) == ([b"b\n", b"c\n"], [[b"a\n", b"b\n"]])
    assert list(blocks) == [[b"d\n"]]
    assert list(watched([[b"a\n"]], seen.append, 2)) == [[b"a\n"]]
    assert seen[1:] == [[b"a\n"]]


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


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("bitext-rank", ["--top-words", "60"]),
        ("bitext-rank", ["--order", "input", "--top-fraction", "0.4"]),
        ("bitext-rank", ["--sample", "20"]),
        ("bitext-dedup", []),
        ("bitext-dedup", ["--match", "normalised", "--by", "either", "--keep", "best"]),
        ("bitext-dedup", ["--groups", "GROUPS", "--batch-size", "7"]),
    ],
)
def test_several_files_give_what_one_gives(
    files: tuple[Path, list[Path]], tmp_path: Path, command: str, options: list[str]
) -> None:
    whole, parts = files
    found = []
    for name, inputs in (("one", ["-i", whole]), ("many", parts)):
        place = tmp_path / name
        place.mkdir()
        words = [str(place / "groups") if word == "GROUPS" else word for word in options]
        outputs = ["-o", place / "out", "--rejects", place / "bad", "--on-error", "reject"]
        result = invoke(command, "--header", *words, *inputs, *outputs)
        assert "90 rows, 3 rejected" in result.stderr
        found.append({path.name: path.read_bytes() for path in place.iterdir()})
    assert found[0] == found[1]
    assert len(found[0]["out"]) > 100 and found[0]["bad"].count(b"\n") > 3


@pytest.mark.parametrize("command", ["bitext-rank", "bitext-dedup"])
def test_files_that_are_missing_or_of_another_kind(
    files: tuple[Path, list[Path]], tmp_path: Path, command: str
) -> None:
    _, parts = files
    says_one_line(invoke(command, *parts, tmp_path / "no.tsv", code=66), 66, "no.tsv")
    parts[3].write_bytes(b"source\ttarget\tmlp\na\tb\t0.3\n")
    result = invoke(command, "--header", *parts, "--on-error", "reject", code=65)
    assert f"{parts[3]}:1: the header differs from the one of {parts[0]}" in result.stderr
