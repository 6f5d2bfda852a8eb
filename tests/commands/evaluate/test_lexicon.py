"""bitext-evaluate lexicon: its table, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bitextfilter.commands.evaluate import main

LEXICON = """big\tlarge\t9\t1.0\t0.6\t0.5
big\tgreat\t3\t3.0\t0.3\t0.2
big dog\tlarge hound\t3\t9.0\t0.9\t0.9
dog\tbest friend\t2\t4.0\t0.1\t0.9
"""
PAIRS = ["A big dog\ta great hound", "the BIG one .\tThe large one !", "a dog\tmy best friend"]


def call(home: Path, *words: object, lexicon: str = LEXICON, code: int = 0) -> Result:
    (home / "lexicon.tsv").write_text(lexicon)
    (home / "held.tsv").write_text("".join(f"{pair}\n" for pair in PAIRS))
    arguments = ["lexicon", "--lexicon", home / "lexicon.tsv", *(words or [home / "held.tsv"])]
    result = CliRunner().invoke(main, [str(word) for word in arguments])
    assert result.exit_code == code, result.output
    return result


def test_what_differs_and_is_explained(tmp_path: Path) -> None:
    """Five words differ: big (great), dog; big (large); a, dog (best friend)."""
    header, *lines = call(tmp_path).stdout.splitlines()
    assert header == "order\trank\trecall\tlow\thigh\trandom\twords\tsignature"
    rows = {tuple(cells[:2]): cells[2:] for cells in (line.split("\t") for line in lines)}
    assert rows["probability", "1"][0] == "40.00"
    assert rows["pmi", "1"][0] == "40.00"
    assert rows["probability", "5"][0] == rows["pmi", "10"][0] == "60.00"
    assert {cells[4] for cells in rows.values()} == {"5"}
    assert all(float(c[1]) <= float(c[0]) <= float(c[2]) for c in rows.values())
    assert rows["probability", "1"][5].startswith(
        "recall@1 = 40.00 | n=3 order:probability boot:1000 seed:1 v:"
    )


@pytest.mark.parametrize("line", ["a\tb", "a\tb\t1\tx\t1\t1", "\udcff\tb\t1\t1\t1\t1"])
def test_a_lexicon_that_is_none(tmp_path: Path, line: str) -> None:
    (tmp_path / "held.tsv").write_text("a\tb\n")
    (tmp_path / "bad.tsv").write_bytes((LEXICON + line + "\n").encode("utf-8", "surrogateescape"))
    arguments = ["lexicon", "--lexicon", str(tmp_path / "bad.tsv"), str(tmp_path / "held.tsv")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 65 and "bad.tsv:5: expected 6 columns" in result.stderr


def test_too_few_pairs_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "one.tsv").write_text("a\tb\n")
    assert "fewer than two pairs" in call(tmp_path, tmp_path / "one.tsv", code=65).stderr
    call(tmp_path, tmp_path / "none.tsv", code=66)
