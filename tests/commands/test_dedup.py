"""bitext-dedup: one of each kind of row, in input order, byte for byte; the rest accounted for.

Of --against: rows of other files go, with the file and line where they occur.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from console import invoke, says_one_line
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bitextfilter.commands import dedup

PAIRS = b"""\
Good morning!\tGuten Morgen!\tx\t0.5
Good evening!\tGuten Abend!\tx\t0.5
Good morning!\tGuten Morgen!\ty\t0.9
GOOD MORNING\tGuten Morgen\tz\t0.7
Good morning!\tMoin!\tz\t0.1
The morning is rather good today.\tDer Morgen ist heute ziemlich gut.\tz\t0.2
The morning is rather good today, Bob.\tDer Morgen ist heute ziemlich gut, Bob.\tz\t0.3
"""
ROWS = PAIRS.splitlines(keepends=True)


def call(*words: object, data: bytes = PAIRS, code: int = 0) -> Result:
    return invoke("bitext-dedup", *words, data=data, code=code)


def kept(*words: object, data: bytes = PAIRS) -> list[bytes]:
    return call(*words, data=data).stdout_bytes.splitlines(keepends=True)


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("", [1, 2, 4, 5, 6, 7]),
        ("--match normalised", [1, 2, 5, 6, 7]),
        ("--match normalised --ignore case,space", [1, 2, 4, 5, 6, 7]),
        ("--match near", [1, 2, 5, 6]),
        ("--match near --similarity 0.95", [1, 2, 5, 6, 7]),
        ("--match near --similarity 0.9 --shingle 1", [1, 2, 5, 6]),
        ("--by source", [1, 2, 4, 6, 7]),
        ("--by source --match normalised", [1, 2, 6, 7]),
        ("--by target", [1, 2, 4, 5, 6, 7]),
        ("--by target --match normalised", [1, 2, 5, 6, 7]),
        ("--by either", [1, 2, 4, 6, 7]),
        ("--by either --match normalised", [1, 2, 6, 7]),
        ("--by either --match near --similarity 0.75", [1, 2, 6]),
        ("--scol 3 --tcol 3", [1, 3, 4]),
        ("--scol 1 --tcol -2", [1, 2, 3, 4, 5, 6, 7]),
        ("--keep best", [2, 3, 4, 5, 6, 7]),
        ("--keep best --match normalised", [2, 3, 5, 6, 7]),
        ("--keep best --by either --match normalised", [2, 3, 6, 7]),
        ("--keep best --match near --similarity 0.75", [2, 3, 5, 7]),
        ("--keep best --column 3", [1, 2, 4, 5, 6, 7]),
    ],
)
def test_which_rows_are_kept(words: str, lines: list[int]) -> None:
    assert kept(*words.split()) == [ROWS[line - 1] for line in lines]


@pytest.mark.parametrize("match", ["normalised", "near"])
def test_the_capitals_of_languages(match: str) -> None:
    data = "light\tIŞIK\nlight\tışık\nlight\tişik\n".encode()
    rows = data.splitlines(keepends=True)
    assert kept("--match", match, data=data) == rows[:2]
    for codes in ("en,tr", "eng,tr_TR", "en-US,az-Latn"):
        found = kept("--match", match, "--languages", codes, data=data)
        assert found == [rows[0], rows[2]]


def test_languages_without_effect_are_warned_of(tmp_path: Path) -> None:
    test = tmp_path / "test.tsv"
    test.write_text("no\trow\n")
    said = "warning: --languages has no effect: --match exact compares capitals as they are"
    exact = ("--against", test, "--against-match", "exact")
    for words, count in (((), 1), (exact, 1), (exact[:2], 0), (("--match", "normalised"), 0)):
        assert call("--languages", "en,tr", *words).stderr.count(said) == count
    assert said not in call().stderr


def test_what_is_dropped_names_what_it_duplicates(tmp_path: Path) -> None:
    rejects = tmp_path / "gone.tsv"
    words = ("--match", "normalised", "--by", "either", "--rejects", rejects)
    assert len(kept(*words)) == 4
    assert rejects.read_bytes() == b"".join(
        f"{line}\tduplicate of line 1\t".encode() + ROWS[line - 1] for line in (3, 4, 5)
    )


def test_summary_and_manifest(tmp_path: Path) -> None:
    manifest, groups = tmp_path / "run.json", tmp_path / "groups.tsv"
    words = ("--match", "near", "--similarity", "0.75", "--keep", "best", "--manifest", manifest)
    result = call(*words, "--groups", groups, data=PAIRS + b"a\tb\n")
    counts = "8 rows, 0 rejected, 5 kept, 3 dropped, 1 unscored, 2 groups, "
    assert counts in result.stderr
    facts = json.loads(manifest.read_bytes())["facts"]
    assert facts["match"] == "near" and facts["similarity"] == 0.75 and facts["shingle"] == 4
    assert facts["by"] == "pair" and facts["keep"] == "best"
    assert facts["ignore"] == "case,punctuation,space"
    assert facts["rensa"][0].isdigit()


def test_groups(tmp_path: Path) -> None:
    """In the order of what is kept, each with its rows in input order."""
    groups = tmp_path / "groups.tsv"
    words = ("--match", "near", "--similarity", "0.75", "--groups", groups, "--header")
    first = b"\xef\xbb\xbfen\tde\r\n"
    data = first + PAIRS.replace(b"\n", b"\r\n")
    assert kept(*words, data=data)[0] == first
    assert groups.read_bytes() == b"".join(
        f"{group}\t{line}\t{fate}\t".encode() + ROWS[line - 2]
        for group, line, fate in [
            (1, 2, "kept"),
            (1, 4, "dropped"),
            (1, 5, "dropped"),
            (2, 7, "kept"),
            (2, 8, "dropped"),
        ]
    )


@pytest.mark.parametrize("words", ["", "--keep best", "--match near", "--memory 1"])
def test_bytes_come_back_as_they_were(words: str) -> None:
    data = "\ufeff\ufeffen\tde\r\na\rb\tc\u2028d\r\na\rb\tc\u2028d\tx\n\ufeffa\tb\n\x0ca\x85\tb"
    rows = data.encode().split(b"\n")
    words_ = ["--header", "--scol", "\ufeffen", "--tcol", "de", *words.split()]
    expected = b"\n".join([rows[0], rows[1], rows[3], rows[4]])
    if "near" in words:
        expected = b"\n".join([rows[0], rows[1], rows[3], b""])
    assert call(*words_, data=data.encode()).stdout_bytes == expected


def test_names_of_columns() -> None:
    data = b"score\ten\tde\n0.5\ta\tb\n0.7\ta\tb\n"
    words = ("--header", "--scol", "en", "--tcol", "de")
    assert kept(*words, data=data)[1:] == [b"0.5\ta\tb\n"]
    assert kept(*words, "--keep", "best", "--column", "score", data=data)[1:] == [b"0.7\ta\tb\n"]
    call(*words, "--keep", "best", "--column", "mlp", data=data, code=65)


def test_one_column_is_enough_to_compare_one() -> None:
    assert kept("--by", "source", data=b"b\na\nb\n") == [b"b\n", b"a\n"]
    assert kept("--by", "target", "--tcol", "-1", data=b"b\na\nb\n") == [b"b\n", b"a\n"]


def test_rows_without_a_score_come_last() -> None:
    data = b"a\tb\t\na\tb\tnone\na\tb\t-inf\na\tb\tnan\na\tb\t-inf\nc\td\t\nc\td\t1_0\n"
    result = call("--keep", "best", data=data)
    assert result.stdout_bytes == b"a\tb\t-inf\nc\td\t\n"
    assert "2 kept, 5 dropped, 5 unscored, " in result.stderr
    assert "warning" not in result.stderr
    result = call("--keep", "best", data=b"a\tb\nc\td\n")
    assert "warning: no row has a score: --column names theirs" in result.stderr
    assert result.stdout_bytes == b"a\tb\nc\td\n"


WAYS = ["", "--keep best", "--match near", "--memory 1", "--match normalised --by either"]


SIDES = st.sampled_from([b"a", b"A", b"a!", b"b", b"b c", "\u00e4".encode(), b"", b"\xff", b"1"])
LINES = st.lists(
    st.lists(SIDES | st.binary(max_size=3), max_size=4).map(b"\t".join), max_size=30
).map(b"\n".join)


@pytest.mark.gate(3)
@pytest.mark.parametrize("by", ["pair", "source", "either"])
@pytest.mark.parametrize("match", ["exact", "normalised", "near"])
@given(data=LINES, keep=st.sampled_from(["first", "best"]))
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_row_is_accounted_for(
    tmp_path: Path, match: str, by: str, data: bytes, keep: str
) -> None:
    """Whatever comes in, and neither memory, nor batches, nor waiting change what comes out."""
    assume(not data.startswith(b"\xef\xbb\xbf"))
    rows = data.split(b"\n")
    rows = rows[:-1] if rows[-1] == b"" else rows
    words = ("--match", match, "--by", by, "--keep", keep, "--on-error", "reject")
    outputs = set()
    for more in ([], ["--memory", "1"], ["--batch-size", "2", "--groups", tmp_path / "g"]):
        rejects = tmp_path / "gone"
        result = call(*words, "--rejects", rejects, *more, data=data)
        outputs.add((result.stdout_bytes, rejects.read_bytes()))
    ((out, gone),) = outputs
    numbers = {}
    for line in gone.split(b"\n")[:-1]:
        number, reason, row = line.split(b"\t", 2)
        numbers[int(number)] = reason
        ended = int(number) < len(rows) or data.endswith(b"\n")
        assert row == rows[int(number) - 1].removesuffix(b"\r" if ended else b"")
    left = [row for number, row in enumerate(rows, 1) if number not in numbers]
    assert b"".join(row + b"\n" for row in left) == out + b"\n" * (out[-1:] not in (b"", b"\n"))
    for reason in numbers.values():
        if reason.startswith(b"duplicate of line "):
            assert int(reason.split()[-1]) not in numbers


def test_all_that_waits_is_gone_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for words in WAYS:
        call(*words.split())
        assert list(tmp_path.iterdir()) == []
    assert f"rows wait in {tmp_path} until all are read" in call("--memory", "1").stderr


def test_a_full_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    result = call("--keep", "best", "-o", tmp_path / "out", code=74)
    says_one_line(result, 74, "; TMPDIR names another folder\n")
    assert list(tmp_path.iterdir()) == []


def test_the_first_rows_are_written_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    write = dedup._write

    def noting(run: Any, output: Any, window: list[Any], *others: Any) -> None:
        written.append(len(window))
        write(run, output, window, *others)

    monkeypatch.setattr(dedup, "_write", noting)
    assert len(kept("--batch-size", "3")) == 6
    assert written == [3, 3, 1]
    assert "rows wait" not in call("--batch-size", "3").stderr


def test_nothing_at_all() -> None:
    for words in WAYS:
        assert call(*words.split(), data=b"").stdout_bytes == b""


def test_near_without_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delitem(sys.modules, "bitextfilter.corpus.near_duplicates", raising=False)
    monkeypatch.setitem(sys.modules, "rensa", None)
    result = call("--match", "near", "-o", tmp_path / "out", code=69)
    says_one_line(result, 69, "rensa", "pip install 'bitextfilter[near]'")
    assert list(tmp_path.iterdir()) == []
    call("--match", "normalised")


LEAKING = b"""\
Good morning!\tGuten Morgen!\t0.8
GOOD MORNING\tMoin\t0.9
Good evening!\tGuten Abend!\t0.7
Good evening!\tGuten Abend!\t0.7
We saw the old house by the river.\tWir sahen das Haus am Fluss.\t0.5
"""
LEAKING_ROWS = LEAKING.splitlines(keepends=True)
OTHERS = b"""\
Hello!\tHallo!
Good morning\tMahlzeit
Then we saw the old house by the lake.\tDann sahen wir das alte Haus am See.
Good evening!\tServus!
"""
HEADER = b"en\tde\tscore\n"


def against(folder: Path, *words: str, data: bytes = LEAKING) -> Result:
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
def test_rows_of_other_files_go(tmp_path: Path, words: str, lines: list[int]) -> None:
    found = against(tmp_path, *words.split()).stdout_bytes.splitlines(keepends=True)
    assert found == [LEAKING_ROWS[line - 1] for line in lines]


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
        result = against(tmp_path, *words.split(), "--rejects", "@/gone", *more.split())
        assert "0 kept, 5 dropped, 5 in other files, " in result.stderr
        gone = (tmp_path / "gone").read_bytes().replace(os.fsencode(tmp_path) + b"/", b"")
        rows = zip(wanted, LEAKING_ROWS, strict=True)
        assert gone == b"".join(b"%d\t%s\t" % said + row for said, row in rows)
    assert (tmp_path / "groups").read_bytes() == b""


def test_columns_of_a_header_are_found_in_each_file(tmp_path: Path) -> None:
    words = "--header --scol en --tcol de --against @/named.tsv --rejects @/gone --manifest @/run"
    for more in ("", "--against-by pair --against-match exact"):
        result = against(tmp_path, *words.split(), *more.split(), data=HEADER + LEAKING)
        assert result.stdout_bytes == HEADER + b"".join(LEAKING_ROWS[1:3] + LEAKING_ROWS[4:])
        gone = b"2\toccurs in %s/named.tsv:2\t" % os.fsencode(tmp_path)
        assert gone in (tmp_path / "gone").read_bytes()
    facts = json.loads((tmp_path / "run").read_bytes())["facts"]
    assert facts["against"] == [f"{tmp_path}/named.tsv"]
    assert (facts["against_match"], facts["against_by"]) == ("exact", "pair")


def test_what_is_found_depends_on_the_languages(tmp_path: Path) -> None:
    (tmp_path / "tr").write_text("IŞIK IŞIK IŞIK\n")
    data = "light light light\tışık ışık ışık\n".encode()
    for more, lines in (("", 1), ("--languages en-US,tr_TR", 0)):
        result = against(tmp_path, "--against", "@/tr", *more.split(), data=data)
        assert len(result.stdout_bytes.splitlines()) == lines
