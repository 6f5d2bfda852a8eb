"""What is trained on: rows that pass, byte for byte, and samples of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.filters.registry import parse_rule
from bitextfilter.io.rows import Columns
from bitextfilter.tuning import subsets
from bitextfilter.tuning.subsets import rule_columns, sample_lines, select_pairs

ROWS = [
    b"a b c\td e f\t0.1\r\n",
    b"a\tb\t0.9\n",
    "é è\tx\u2028y z\t-2\n".encode(),
    b"g h\ti j\t0.3",
]


def chosen(path: Path, *rules: str, columns: Columns | None = None) -> list[bytes]:
    made = [parse_rule(rule) for rule in rules]
    return list(select_pairs(str(path), columns or Columns(), made, ("en", "de")))


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(subsets, "WINDOW_ROWS", 3)
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"".join(ROWS))
    return path


def test_rows_that_pass_are_as_they_were(table: Path) -> None:
    every = [*ROWS[:3], ROWS[3] + b"\n"]
    assert chosen(table) == every
    assert chosen(table, "length:minimum=2") == [every[0], *every[2:]]
    assert chosen(table, "length:minimum=2", "column:column=3,maximum=0.2") == [every[0], every[2]]
    assert chosen(table, "column:column=-1,minimum=0.5") == [every[1]]
    assert chosen(table, "length:maximum=1", columns=Columns(3, 1)) == [every[1]]


def test_a_bad_row_stops(table: Path) -> None:
    table.write_bytes(b"a\tb\nc\n")
    with pytest.raises(InputError, match=r"pairs.tsv:2: .*mend the row"):
        chosen(table)


@pytest.mark.parametrize("name", ["score", "0", "1.5"])
def test_columns_are_numbers(name: str) -> None:
    with pytest.raises(SettingsError, match=f"column '{name}' is no number"):
        rule_columns([parse_rule(f"column:column={name}")])


def test_samples_are_of_the_seed_and_in_order() -> None:
    lines = [f"{number:03}\n".encode() for number in range(200)]
    samples = [sample_lines(lines, 50, seed) for seed in (1, 1, 2)]
    assert samples[0] == samples[1] != samples[2]
    assert len(set(samples[0])) == 50 and samples[0] == sorted(samples[0])
    assert sample_lines(lines, None, 1) == sample_lines(lines, 200, 1) == lines
