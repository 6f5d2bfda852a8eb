"""The quick way to rows with scores against the reader's own parser."""

from __future__ import annotations

import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.io.ranking import ScoredColumns, ScoredRows, scored_windows
from bitextfilter.io.rows import Row, RowReader, number_of

FIELDS = st.sampled_from(
    [b"0.5", b"1_0", b"nan", b"-inf", b"", b" ", b"x", b"\xff", b"\0", "ä b".encode(), b"\r"]
)
TABLES = st.lists(st.lists(FIELDS, min_size=1, max_size=4).map(b"\t".join), max_size=9)
COLUMNS = st.builds(
    ScoredColumns,
    source=st.sampled_from([1, -2]),
    target=st.sampled_from([2, -1]),
    blank=st.just(True),
    score=st.sampled_from([-1, 1, 2, 3]),
    sides=st.sampled_from([(), ("source",), ("target",), ("source", "target")]),
)


def windows_of(data: bytes, columns: ScoredColumns) -> list[ScoredRows]:
    return list(scored_windows(RowReader(io.BytesIO(data), "rows.tsv", columns), columns))


@given(TABLES, COLUMNS, st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_the_same_as_row_by_row(
    table: list[bytes], columns: ScoredColumns, ending: bytes, ended: bool
) -> None:
    data = ending.join(table) + ending * ended
    lines, scores, texts, bad = [], [], [], []
    for row in RowReader(io.BytesIO(data), "rows.tsv", columns):
        if isinstance(row, Row):
            lines.append(row.line + row.ending)
            scores.append(number_of(row.texts[0].encode()))
            texts.append(row.texts[1:])
        else:
            bad.append((len(lines), row))
    found = windows_of(data, columns)
    if not data:
        assert found == []
        return
    assert len(found) == 1 and len(found[0]) == len(lines) + len(bad)
    assert (found[0].lines, found[0].bad) == (lines, bad)
    assert list(map(repr, found[0].scores)) == list(map(repr, scores))
    assert [[text.split() for text in side] for side in found[0].texts] == [
        [row[place].split() for row in texts] for place in range(len(columns.sides))
    ]


@pytest.mark.parametrize(
    ("field", "score"),
    [
        (b"0.50", 0.5),
        (b" -1e-3 ", -0.001),
        (b"inf", math.inf),
        (b"-Infinity", -math.inf),
        (b"7", 7.0),
        *((text.encode(), None) for text in ("", "NaN", "1_0", "0,5", "0x1", "١", "mlp")),
    ],
)
def test_what_is_a_score(field: bytes, score: float | None) -> None:
    ((found,),) = (window.scores for window in windows_of(b"a\tb\t" + field + b"\n", COLUMN))
    assert math.isnan(found) if score is None else found == score


COLUMN = ScoredColumns(blank=True)


def test_only_the_columns_that_are_asked_for_are_looked_at() -> None:
    (window,) = windows_of(b"\xff\0\t0.5\n", COLUMN)
    assert (window.lines, window.scores, window.bad) == ([b"\xff\0\t0.5\n"], [0.5], [])


def test_columns_by_name() -> None:
    columns = ScoredColumns("en", "de", True, "mlp", ("target",))
    reader = RowReader(io.BytesIO(b"mlp\tde\n0.5\tja\n"), "rows.tsv", columns, header=True)
    (window,) = scored_windows(reader, columns)
    assert (window.scores, window.texts) == ([0.5], [["ja\n"]])
