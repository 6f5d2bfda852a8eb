"""The table of a tuning: always whole, sorted, and read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitextfilter.errors import InputError, OutputError, SettingsError
from bitextfilter.training.encoder_training import EncoderConfig
from bitextfilter.tuning.trials import Point, PointResult, ResultTable


def empty_point(**values: object) -> Point:
    return Point(values, EncoderConfig.from_dict({}), ())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tuning.tsv"


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("figure", "order"), [("recovery_error", "bda"), ("pearson", "adb")])
def test_the_best_comes_first_and_what_has_no_figure_last(
    path: Path, figure: str, order: str
) -> None:
    table = ResultTable(path, figure, ["seed"])
    found = {"a": 30.0, "b": 4.5, "c": None, "d": 12.25}
    for key, value in found.items():
        note = "" if value is not None else "diverged\nat\tonce"
        table.add(empty_point(seed=1), PointResult(key, value, 10, 20, 1.26, note))
        assert len(rows(path)) == 1 + len(table.best_first())
    assert [row[0] for row in rows(path)] == ["point", *order, "c"]
    assert rows(path)[0] == ["point", figure, "trained_pairs", "update", "seconds", "note", "seed"]
    assert rows(path)[-1] == ["c", "", "10", "20", "1.3", "diverged at once", "1"]
    again = ResultTable(path, figure, ["seed"])
    assert [again.finished(key) for key in "abcde"] == [True, True, False, True, False]
    before = path.read_bytes()
    again.add(empty_point(seed=1), PointResult("c", None, 10, 20, 1.26, "diverged at once"))
    assert path.read_bytes() == before


def test_lines_of_another_grid_stay(path: Path) -> None:
    ResultTable(path, "pearson", ["seed"]).add(empty_point(seed=1), PointResult("a", 1.0))
    table = ResultTable(path, "pearson", ["margin"])
    table.add(empty_point(margin="wide\tand\nodd"), PointResult("b", 2.0))
    assert [row[6:] for row in rows(path)] == [["margin", "seed"], ["wide and odd", ""], ["", "1"]]


def test_a_point_without_a_figure_is_replaced(path: Path) -> None:
    table = ResultTable(path, "pearson", [])
    table.add(empty_point(), PointResult("a", None, note="diverged"))
    table.add(empty_point(), PointResult("a", 2.0))
    assert [row[:2] for row in rows(path)[1:]] == [["a", "2.0000"]]


def test_two_runs_on_one_table_lose_nothing(path: Path) -> None:
    one, other = ResultTable(path, "pearson", ["seed"]), ResultTable(path, "pearson", ["margin"])
    one.add(empty_point(seed=1), PointResult("a", 1.0))
    other.add(empty_point(margin=0.5), PointResult("b", 2.0))
    one.add(empty_point(seed=2), PointResult("c", 3.0))
    one.add(empty_point(margin=0.5), PointResult("b", None, note="no memory"))
    assert [row[:2] for row in rows(path)[1:]] == [
        ["c", "3.0000"],
        ["b", "2.0000"],
        ["a", "1.0000"],
    ]
    assert [row[6:] for row in rows(path)] == [
        ["seed", "margin"],
        ["2", ""],
        ["", "0.5"],
        ["1", ""],
    ]
    assert [row["point"] for row in one.best_first()] == ["c", "b", "a"]
    path.write_text("something else")
    with pytest.raises(SettingsError, match="no table of pearson"):
        one.add(empty_point(seed=3), PointResult("d", 4.0))
    assert path.read_text() == "something else"
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_table_that_cannot_be_written_is_found_beforehand(path: Path) -> None:
    ResultTable(path, "pearson", []).try_folder()
    assert list(path.parent.iterdir()) == []
    with pytest.raises(OutputError, match=r"nowhere/x.tsv: cannot be written"):
        ResultTable(path.parent / "nowhere" / "x.tsv", "pearson", []).try_folder()


@pytest.mark.parametrize("text", ["", "a\tb\n", "point\trecovery_error\tpairs\n"])
def test_another_file_is_not_taken_for_a_table(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"tuning.tsv: no table of pearson; name another file"):
        ResultTable(path, "pearson", [])
    assert path.read_text() == text


def test_a_damaged_line_is_named(path: Path) -> None:
    ResultTable(path, "pearson", []).add(empty_point(), PointResult("a", 2.0))
    path.write_text(path.read_text() + "b\t3\n")
    with pytest.raises(InputError, match=r"tuning.tsv:3: 2 columns, expected 6"):
        ResultTable(path, "pearson", [])
    for cell in ("2.0O00", "nan", "1e999"):
        ResultTable(path.with_name("other.tsv"), "pearson", []).add(
            empty_point(), PointResult("a", 2.0)
        )
        whole = path.with_name("other.tsv").read_text()
        path.write_text(whole.replace("2.0000", cell))
        with pytest.raises(InputError, match=r"tuning.tsv:2: pearson is no number; mend the table"):
            ResultTable(path, "pearson", [])
