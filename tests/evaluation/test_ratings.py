"""Pairs with a human score: complete, without a score, or wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitextfilter.errors import InputError
from bitextfilter.evaluation.sts import RatedColumns, read_rated_pairs
from bitextfilter.io.rows import Row, RowReader, WantedColumn


def test_a_file_is_read_without_the_rows_that_have_no_score(tmp_path: Path) -> None:
    path = tmp_path / "sts.tsv"
    path.write_text("1.5\ta\tb\textra\n\tc\td\n 2e0 \te\tf\n \tg\th\n")
    assert read_rated_pairs(str(path)) == ([1.5, 2.0], ["a", "e"], ["b", "f"], 2)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("good\ta\tb", "the human score 'good' is no number"),
        ("inf\ta\tb", "the human score 'inf' is no number"),
        ("3\ta\t ", "the target is empty"),
        ("3\ta", r"2 columns, expected at least 3 \(column 3\)"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "sts.tsv"
    path.write_text(f"1\ta\tb\n{row}\n2\ta\tb\n3\ta\tb\n")
    with pytest.raises(InputError, match=rf"sts.tsv:2: {message}; .*mend the row"):
        read_rated_pairs(str(path))


def test_faults_of_rows() -> None:
    columns = RatedColumns(first=(WantedColumn("score", "--column", 2),))
    reader = RowReader([b"x\t1\n", b"x\t?\n", b"x\t\n"], "rows", columns)
    good, bad, blank = (row for row in reader if isinstance(row, Row))
    assert columns.fault(good) is None and columns.complete(good)
    assert columns.fault(blank) is None and not columns.complete(blank)
    reason, remedy = columns.fault(bad) or ("", "")
    assert reason == "the score '?' is no number" and "--column says where it is" in remedy
