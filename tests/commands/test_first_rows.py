"""Warnings about the first rows of an input, in the commands that read them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from console import ROOT, command

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
    result = CliRunner().invoke(command(name), [*options, *words], input=text)
    assert result.exit_code == 0, result.stderr
    start = f"{name}: warning: stdin: "
    lines = result.stderr.splitlines()
    return [line.removeprefix(start) for line in lines if line.startswith(start)]


@pytest.mark.parametrize("name", COMMANDS)
def test_good_rows_give_no_warning(name: str, tmp_path: Path) -> None:
    assert warnings(name, PAIRS, home=tmp_path) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_header_that_is_read_as_a_pair(name: str, tmp_path: Path) -> None:
    rows = [["source", "target"], *PAIRS]
    said = "line 1 looks like a header (source, target): --header"
    assert warnings(name, rows, home=tmp_path) == [said]
    assert warnings(name, rows, "--header", home=tmp_path) == []
    assert warnings(name, rows, "-q", home=tmp_path) == []


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
    result = CliRunner().invoke(command("bitext-score"), ["--similarity", "cosine"], input=text)
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
    result = CliRunner().invoke(command("bitext-score"), [], input=text)
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
    result = CliRunner().invoke(command("bitext-align"), files)
    for path, name in zip(files, ("en", "de"), strict=True):
        said = f"warning: {path}: line 1 looks like a header ({name}): leave it out"
        assert said in result.stderr


def test_no_output_waits_for_the_first_rows() -> None:
    from bitextfilter.io.files import watched

    seen: list[list[bytes]] = []
    lines = watched(iter([b"a\n", b"b\n", b"c\n"]), seen.append, 2)
    assert (next(lines), seen) == (b"a\n", [])
    assert (next(lines), seen) == (b"b\n", [[b"a\n", b"b\n"]])
    assert list(lines) == [b"c\n"]
    assert list(watched([b"a\n"], seen.append, 2)) == [b"a\n"]
    assert seen[1:] == [[b"a\n"]]
