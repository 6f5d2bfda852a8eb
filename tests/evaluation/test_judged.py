"""Pairs with a human score: complete, without a score, or wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitextfilter.errors import InputError
from bitextfilter.evaluation.judged import JudgedColumns, complete_rows, read_judged_pairs
from bitextfilter.io.rows import BadRow, ColumnPlace, RowReader


def test_a_file_is_read_without_the_rows_that_have_no_score(tmp_path: Path) -> None:
    path = tmp_path / "sts.tsv"
    path.write_text("1.5\ta\tb\textra\n\tc\td\n 2e0 \te\tf\n \tg\th\n")
    assert read_judged_pairs(str(path)) == ([1.5, 2.0], ["a", "e"], ["b", "f"], 2)


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
        read_judged_pairs(str(path))


def test_bad_rows_are_handed_on_once() -> None:
    columns = JudgedColumns(numbers=(ColumnPlace("score", "--column", 2),))
    reader = RowReader([b"x\t1\n", b"x\n", b"x\t?\n", b"x\t\n", b"x\t2\n"], "rows", columns)
    rejected: list[BadRow] = []
    found = list(complete_rows(reader, columns, "rows", rejected.append))
    assert [row and row.number for row in found] == [1, None, 5]
    assert [(bad.number, bad.file) for bad in rejected] == [(3, "rows")]
    assert "--column says where it is" in rejected[0].remedy
