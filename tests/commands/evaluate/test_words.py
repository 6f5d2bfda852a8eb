"""bitext-evaluate words through its streams."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from bitextfilter.commands.evaluate import main
from bitextfilter.io.vectors import write_word_vectors

DICTIONARY = b"haus\thouse\nbaum\ttree\nbaum\twood\nweg\tway\nfremd\tforeign\n"
ENGLISH = ["house", "tree", "way", "wood", "the"]
GERMAN = ["haus", "baum", "weg", "der"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Vectors where haus is house, baum is wood rather than tree, and weg is the."""
    places = {"target": [[1, 0], [0, 1], [-1, 0], [0.2, 1], [-1, -0.5]]}
    places["source"] = [[1, 0.1], [0.3, 1], [-1, -0.6], [0, -1]]
    for side, words in (("source", GERMAN), ("target", ENGLISH)):
        with open(tmp_path / f"{side}.vec", "wb") as file:
            write_word_vectors(file, words, np.array(places[side], dtype=np.float32))
    (tmp_path / "words.tsv").write_bytes(DICTIONARY)
    return tmp_path


def words(home: Path, *more: str | Path, text: bytes = b"") -> Result:
    line = ["words", "--source", home / "source.vec", "--target", home / "target.vec", *more]
    return CliRunner().invoke(main, [str(word) for word in line], input=text)


def test_table_and_counts(home: Path) -> None:
    done = words(home, home / "words.tsv")
    assert done.exit_code == 0, done.output
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0] == [
        *("similarity", "rank", "precision", "low", "high", "words", "without", "signature")
    ]
    assert [row[:2] for row in rows[1:]] == [
        ["cosine", "1"],
        ["cosine", "5"],
        ["csls", "1"],
        ["csls", "5"],
    ]
    assert [row[2] for row in rows[1:]][:2] == ["66.67", "100.00"]
    assert {(row[5], row[6]) for row in rows[1:]} == {("3", "1")}
    assert rows[1][7].startswith("precision@1 = 66.67 | n=3 without:1 sim:cosine boot:1000 seed:1 ")
    assert " sim:csls k:10 " in rows[3][7]
    assert "5 rows, 0 rejected, 3 words, 1 without vectors" in done.stderr


def test_json_says_the_same(home: Path) -> None:
    table = words(home, "-q", home / "words.tsv", "--neighbours", "2", "--bootstrap", "50")
    found = json.loads(
        words(
            home, "-q", "--json", "-", "--neighbours", "2", "--bootstrap", "50", text=DICTIONARY
        ).stdout
    )
    assert (found["task"], found["words"], found["without"]) == ("words", 3, 1)
    for line, record in zip(table.stdout.splitlines()[1:], found["results"], strict=True):
        cells = line.split("\t")
        assert cells[:2] == [record["similarity"], str(record["rank"])]
        assert cells[2:5] == [f"{record[name]:.2f}" for name in ("precision", "low", "high")]
        assert cells[7] == record["signature"]


def test_bad_rows_and_columns(home: Path, tmp_path: Path) -> None:
    swapped = b"de\ten\n" + DICTIONARY + b"only\n"
    stopped = words(home, "--header", "-", text=swapped)
    assert (stopped.exit_code, stopped.stdout) == (65, "")
    assert "stdin:7: 1 column, expected at least 2 (--tcol 2)" in stopped.stderr
    options = ("--header", "--scol", "de", "--tcol", "en", "--on-error", "reject")
    done = words(home, "-q", *options, "-", text=swapped)
    assert done.stdout == words(home, "-q", "-", text=DICTIONARY).stdout


@pytest.mark.parametrize(
    ("vectors", "entries", "code", "message"),
    [
        ("haus 1 2\nbaum 3\n", DICTIONARY, 65, "source.vec:2: expected a word and 2 numbers"),
        ("haus 1 2 3\n", DICTIONARY, 65, "source vectors of 3 numbers, target vectors of 2"),
        ("haus 1 2\n", b"weg\tway\n", 65, "no entry of the dictionary has a vector on both sides"),
        (None, DICTIONARY, 66, "source.vec: cannot be opened"),
    ],
)
def test_what_cannot_be_measured(
    home: Path, vectors: str | None, entries: bytes, code: int, message: str
) -> None:
    (home / "source.vec").unlink()
    if vectors is not None:
        (home / "source.vec").write_text(vectors)
    failed = words(home, "-", text=entries)
    assert (failed.exit_code, failed.stdout) == (code, "")
    assert message in failed.stderr
    assert "Traceback" not in failed.stderr
