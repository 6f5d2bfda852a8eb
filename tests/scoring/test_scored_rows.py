"""Lines of rows with scores; the languages of columns."""

from __future__ import annotations

import io
from itertools import chain

import numpy as np
import pytest

from bitextfilter.errors import SettingsError
from bitextfilter.io.rows import BadRow, Columns, Row, RowReader
from bitextfilter.models.folders import PRETRAINED, read_config
from bitextfilter.scoring.row_checks import (
    CHECKED_ROWS,
    checked_windows,
    first_rows,
    languages_of_rows,
    sides,
)
from bitextfilter.scoring.score_columns import ScoreLines, cell
from bitextfilter.text.processor import TextProcessor

TEXT = b"id\tsource\ttarget\n1\ta b\tc\r\n2\tbad\n3\td\t  e \n"


def test_a_small_negative_number_is_zero() -> None:
    shown = [cell(value, 2) for value in (-0.001, -0.0, 0.0, 0.004, -0.006, -12.5)]
    assert shown == ["0.00", "0.00", "0.00", "0.00", "-0.01", "-12.50"]


def test_lines_of_rows_good_and_bad() -> None:
    reader = RowReader(io.BytesIO(TEXT), "some.tsv", Columns("source", "target"), header=True)
    window = list(reader)
    good = [row for row in window if isinstance(row, Row)]
    assert sides(good) == (["a b", "d"], ["c", "  e "])
    lengths = np.array([[len(side) for side in row.texts] for row in good], np.float32)
    whole = b"1\ta b\tc\t3.0\t1.0\r\n2\tbad\t\t\n3\td\t  e \t1.0\t4.0\n"
    assert ScoreLines(1).lines(window, good, lengths) == whole
    assert ScoreLines(0, score_only=True).lines(window, good, lengths) == b"3\t1\n\t\n1\t4\n"
    form = ScoreLines(
        0, True, lambda left, right: [[f"{a}\t{b}", "!"] for a, b in zip(left, right, strict=True)]
    )
    assert form.lines(window, good, lengths) == b"3\t1\ta b c; !\n\t\t\n1\t4\td e ; !\n"


def rows_of(sources: list[str], targets: list[str]) -> list[Row | BadRow]:
    text = "".join(map("{}\t{}\n".format, sources, targets)).encode()
    return list(RowReader(io.BytesIO(text), "pairs"))


ENGLISH = [f"the cats were sleeping on the sofa in our house, for {n} days" for n in range(20)]
GERMAN = [f"die Katzen haben in unserem Haus auf dem Sofa geschlafen, {n} Tage" for n in range(20)]


def test_the_first_rows_tell_the_languages() -> None:
    rows = rows_of(ENGLISH, GERMAN)
    windows, first = first_rows(iter([rows] * 60))
    assert len(first) == CHECKED_ROWS and len(list(chain(*windows))) == 1200
    assert languages_of_rows("multi", first) == ("en", "de")
    with pytest.raises(SettingsError, match="do not tell which two"):
        languages_of_rows("multi", rows[:3])


@pytest.mark.parametrize("size", [5, 20, 50])
def test_columns_are_checked_once(size: int) -> None:
    processor = TextProcessor.load(PRETRAINED / "en-de", read_config(PRETRAINED / "en-de"))
    for left, right, warned in ((ENGLISH, GERMAN, 0), (GERMAN, ENGLISH, 1)):
        said: list[str] = []
        rows = rows_of(left, right)
        windows = [rows[start : start + size] for start in range(0, len(rows), size)]
        assert list(checked_windows(windows, processor, size, said.append)) == windows
        assert len(said) == warned
        assert all("--scol" in line for line in said)
