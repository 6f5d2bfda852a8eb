"""bitext-align-words: a line for each line, with links, whatever the row is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import Result
from console import invoke

from bitextfilter.commands.align_words import _HEURISTICS
from bitextfilter.mining.word_lexicon import SYMMETRISATIONS

EXAMPLES = Path(__file__).parents[2] / "examples" / "pairs.en-de.tsv"
ROWS = [b"\t".join(line.split(b"\t")[:2]) + b"\n" for line in EXAMPLES.read_bytes().splitlines()]
ROWS = ROWS[:60]
DATA = b"".join(ROWS)


def call(*words: object, data: bytes = DATA, code: int = 0) -> Result:
    return invoke("bitext-align-words", *words, data=data, code=code)


def aligned(*words: object, data: bytes = DATA) -> list[bytes]:
    return call(*words, data=data).stdout_bytes.split(b"\n")[:-1]


def test_every_row_gets_its_links() -> None:
    lines = aligned("--unaligned")
    assert len(lines) == len(ROWS)
    for row, line in zip(ROWS, lines, strict=True):
        assert line.startswith(row[:-1] + b"\t")
        source, target, links, unaligned = line.decode().split("\t")
        places = [tuple(map(int, link.split("-"))) for link in links.split()]
        assert places and places == sorted(set(places))
        lengths = len(source.split()), len(target.split())
        assert all(i < lengths[0] and j < lengths[1] for i, j in places)
        linked = len({i for i, _ in places}) + len({j for _, j in places})
        assert float(unaligned) == pytest.approx(1 - linked / sum(lengths), abs=1e-4)
    only = [line.split(b"\t", 2)[2] for line in lines]
    assert aligned("--unaligned", "--alignment-only") == only
    assert aligned("--batch-size", "7", "--unaligned") == lines
    assert any(line.endswith(b"\t0.0000") for line in lines)


def test_a_saved_lexicon_gives_the_same_links(tmp_path: Path) -> None:
    lexicon, manifest = tmp_path / "lexicon.zst", tmp_path / "run"
    lines = aligned("--save", lexicon, "--symmetrise", "union", "--manifest", manifest)
    assert aligned("--load", lexicon, "--symmetrise", "union") == lines
    assert json.loads(manifest.read_bytes())["facts"]["word_pairs"] > 100
    assert aligned("--load", lexicon, "--symmetrise", "union", "--batch-size", "3") == lines


def test_the_first_rows_are_learnt_from(tmp_path: Path) -> None:
    result = call("--learn-rows", "30", "--save", tmp_path / "some")
    assert "learning from 30 pairs" in result.stderr
    call("--save", tmp_path / "same", data=b"".join(ROWS[:30]))
    assert (tmp_path / "some").read_bytes() == (tmp_path / "same").read_bytes()
    result = call("--load", tmp_path / "same")
    assert result.stdout_bytes == call("--learn-rows", "30").stdout_bytes
    assert call("--iterations", "1").stdout_bytes != call().stdout_bytes


def test_ways_to_make_one_of_two() -> None:
    assert set(_HEURISTICS) == set(SYMMETRISATIONS)
    found = {
        name: [set(line.split()) for line in aligned("--alignment-only", "--symmetrise", name)]
        for name in _HEURISTICS
    }
    for names in zip(*found.values(), strict=True):
        one = dict(zip(found, names, strict=True))
        assert one["intersection"] == one["forward"] & one["backward"]
        assert one["union"] == one["forward"] | one["backward"]
        for name in ("grow-diag", "grow-diag-final-and"):
            assert one["intersection"] <= one[name] <= one["union"]


def test_rows_without_alignment(tmp_path: Path) -> None:
    """A bad row, one that is too long, and unknown words; heads and endings stay."""
    head, long = b"\xef\xbb\xbfen\tde\r\n", b"a " * 101 + b"\tb\r\n"
    data = head + DATA.replace(b"\n", b"\r\n") + b"alone\r\n" + long + b"x\ty"
    gone = tmp_path / "gone"
    words = ("--header", "--unaligned", "--on-error", "reject", "--rejects", gone)
    result = call(*words, data=data)
    lines = result.stdout_bytes.split(b"\n")
    assert lines[0] == b"\xef\xbb\xbfen\tde\talignment\tunaligned\r"
    assert lines[-3:-1] == [b"alone\t\t\r", long[:-2] + b"\t\t\r"]
    assert re.fullmatch(rb"x\ty\t(0-0)?\t[01]\.0000", lines[-1])
    assert "63 rows, 1 rejected, 1 too long" in result.stderr
    assert gone.read_bytes() == b"62\t1 column, expected at least 2 (--tcol 2)\talone\n"
    only = call(*words, "--alignment-only", data=data).stdout_bytes.split(b"\n")
    assert len(only) == 64 and only[60:62] == [b"\t", b"\t"]
    more = call("--max-words", "101", *words, data=data)
    assert "0 too long" in more.stderr and b"\tb\t0-0" in more.stdout_bytes
    stopped = call("-o", tmp_path / "out", "--save", tmp_path / "l", data=data, code=65)
    assert "stdin:62: 1 column" in stopped.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["gone"]


def test_the_filter_reads_the_share() -> None:
    scored = call("--unaligned").stdout_bytes
    found = invoke("bitext-filter", "-q", "--rule", "-1<=0.05", data=scored)
    kept = found.stdout_bytes.splitlines()
    lines = scored.splitlines()
    assert kept == [line for line in lines if float(line.rsplit(b"\t", 1)[1]) <= 0.05]
    assert 0 < len(kept) < len(lines)


def test_nothing_at_all(tmp_path: Path) -> None:
    assert aligned("--save", tmp_path / "none", data=b"") == []
    assert (tmp_path / "none").read_bytes() == b""
    assert aligned("--load", tmp_path / "none", "--alignment-only") == [b""] * len(ROWS)
