"""bitext-dedup --against: rows of other files go, with the file and line where they occur."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from click.testing import Result
from console import invoke

PAIRS = b"""\
Good morning!\tGuten Morgen!\t0.8
GOOD MORNING\tMoin\t0.9
Good evening!\tGuten Abend!\t0.7
Good evening!\tGuten Abend!\t0.7
We saw the old house by the river.\tWir sahen das Haus am Fluss.\t0.5
"""
ROWS = PAIRS.splitlines(keepends=True)
OTHERS = b"""\
Hello!\tHallo!
Good morning\tMahlzeit
Then we saw the old house by the lake.\tDann sahen wir das alte Haus am See.
Good evening!\tServus!
"""
HEADER = b"en\tde\tscore\n"


def call(folder: Path, *words: str, data: bytes = PAIRS) -> Result:
    (folder / "test.tsv").write_bytes(OTHERS)
    (folder / "named.tsv").write_bytes(b"id\ten\tde\n1\tGood morning!\tGuten Morgen!\n")
    (folder / "de.txt.gz").write_bytes(gzip.compress(b"\nGuten Abend!\r\n"))
    (folder / "near.en").write_bytes(b"Then we saw the old house by the river &#124; lake .\n")
    (folder / "same.tsv").write_bytes(b"Good Evening .\tGuten Abend !\n")
    words = tuple(word.replace("@", str(folder)) for word in words)
    return invoke("bitext-dedup", *words, data=data)


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("--against @/test.tsv", [1, 2, 3]),
        ("--against @/test.tsv --only-against", [1, 2, 3, 4]),
        ("--against @/near.en", [1, 2, 3]),
        ("--against @/near.en --match near", [1, 2, 3]),
        ("--against @/near.en --match near --by source --keep best", [2, 3]),
        ("--against @/near.en --against-match normalised", [1, 2, 3, 5]),
        ("--against @/near.en --ngram 9", [1, 2, 3, 5]),
        ("--against @/near.en --against-words 3,9,9", [1, 2, 3, 5]),
        ("--against @/near.en --against-by source", [1, 2, 3]),
        ("--against-source @/near.en --only-against", [1, 2, 3, 4]),
        ("--against-target @/near.en", [1, 2, 3, 5]),
        ("--against @/test.tsv --against-words 1,6,8", []),
        ("--against @/test.tsv --overlap 0.9", [1, 2, 3, 5]),
        ("--against @/test.tsv --against-words 1,6,8 --against-match exact", [1, 2, 5]),
        ("--against @/test.tsv --against-by pair", [1, 2, 3, 5]),
        ("--against @/same.tsv --against-by pair", [1, 2, 5]),
        ("--against @/same.tsv --against-by pair --against-match exact", [1, 2, 3, 5]),
        ("--against @/same.tsv --against-by either", [1, 2, 5]),
        ("--against @/same.tsv", [1, 2, 5]),
        ("--against @/same.tsv --by either --match normalised", [1, 5]),
        ("--against @/same.tsv --memory 1", [1, 2, 5]),
        ("--against @/de.txt.gz --against-words 1,6,8", [1, 2, 5]),
        ("--against @/near.en --against-match near --overlap 0.5 --ngram 4", [1, 2, 3]),
    ],
)
def test_which_rows_are_kept(tmp_path: Path, words: str, lines: list[int]) -> None:
    result = call(tmp_path, *words.split())
    assert result.stdout_bytes.splitlines(keepends=True) == [ROWS[line - 1] for line in lines]


def test_the_rejects_name_file_and_line(tmp_path: Path) -> None:
    words = "--against @/test.tsv --against @/near.en --against-words 1,6,8"
    wanted = [
        (1, b"occurs in test.tsv:2"),
        (2, b"occurs in test.tsv:2"),
        (3, b"occurs in test.tsv:4"),
        (4, b"occurs in test.tsv:4"),
        (5, b"shares n-grams with test.tsv:3"),
    ]
    for more in ("", "--memory 1", "--only-against", "--groups @/groups", "--match near"):
        result = call(tmp_path, *words.split(), "--rejects", "@/gone", *more.split())
        assert "0 kept, 5 dropped, 5 in other files, " in result.stderr
        gone = (tmp_path / "gone").read_bytes().replace(os.fsencode(tmp_path) + b"/", b"")
        rows = zip(wanted, ROWS, strict=True)
        assert gone == b"".join(b"%d\t%s\t" % said + row for said, row in rows)
    assert (tmp_path / "groups").read_bytes() == b""


def test_columns_of_a_header_are_found_in_each_file(tmp_path: Path) -> None:
    words = "--header --scol en --tcol de --against @/named.tsv --rejects @/gone --manifest @/run"
    for more in ("", "--against-by pair --against-match exact"):
        result = call(tmp_path, *words.split(), *more.split(), data=HEADER + PAIRS)
        assert result.stdout_bytes == HEADER + b"".join(ROWS[1:3] + ROWS[4:])
        gone = b"2\toccurs in %s/named.tsv:2\t" % os.fsencode(tmp_path)
        assert gone in (tmp_path / "gone").read_bytes()
    facts = json.loads((tmp_path / "run").read_bytes())["facts"]
    assert facts["against"] == [f"{tmp_path}/named.tsv"]
    assert (facts["against_match"], facts["against_by"]) == ("exact", "pair")


def test_what_is_found_depends_on_the_languages(tmp_path: Path) -> None:
    (tmp_path / "tr").write_text("IŞIK IŞIK IŞIK\n")
    data = "light light light\tışık ışık ışık\n".encode()
    for more, lines in (("", 1), ("--languages en-US,tr_TR", 0)):
        result = call(tmp_path, "--against", "@/tr", *more.split(), data=data)
        assert len(result.stdout_bytes.splitlines()) == lines
