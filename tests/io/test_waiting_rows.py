"""Rows that wait, in memory and on the disk, come back as they were."""

from __future__ import annotations

import io

import pytest

from bitextfilter.io.rows import RowReader, row_windows
from bitextfilter.scoring.command_scores import WaitingRows

DATA = b"\xef\xbb\xbfa\tb\r\nalone\n\xff\tx\nc\rd\te\x0bf\xe2\x80\xa8g\n\t\nlast\tone"


@pytest.mark.parametrize("most", [0, 1000, 1 << 20])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_windows_come_back(most: int, size: int) -> None:
    reader = RowReader(io.BytesIO(DATA), "rows.tsv")
    windows = list(row_windows(reader, size))
    with WaitingRows(reader.parser, most) as waiting:
        for _ in range(2):
            numbers = [waiting.add(window) for window in windows]
            for number, window in [*zip(numbers, windows, strict=True)][::-1]:
                assert waiting.get(number) == window
            assert (waiting._scratch is None) == (most > 1000)
            assert [waiting.take(number) for number in numbers] == windows
            assert waiting._scratch is None and waiting._held == 0
