"""The gate runs the cases that marks leave it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from gate import MOST, left_out, spread


@dataclass
class Case:
    """A collected case, and the mark of its test."""

    nodeid: str
    mark: pytest.MarkDecorator | None

    def iter_markers(self, name: str) -> Iterator[pytest.Mark]:
        return iter([self.mark.mark] if self.mark and name == "gate" else [])

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next(self.iter_markers(name), None)


def cases(*marks: Any) -> Any:
    """Three cases of a test, and one test without a mark."""
    mark = pytest.mark.gate(*marks)
    return [*(Case(f"f.py::test[{name}]", mark) for name in "abc"), Case("f.py::other", None)]


@pytest.mark.parametrize(
    ("count", "expected"), [(0, []), (1, ["a"]), (2, ["a", "c"]), (9, ["a", "b", "c", "d", "e"])]
)
def test_cases_are_spread(count: int, expected: list[str]) -> None:
    assert spread("abcde", count) == expected


@pytest.mark.parametrize(
    ("marks", "expected"), [((1,), "bc"), (("b", "c"), "a"), ((0,), "abc"), ((3,), "")]
)
def test_cases_are_left_out(marks: tuple[Any, ...], expected: str) -> None:
    assert left_out(cases(*marks)) == {f"f.py::test[{name}]" for name in expected}


def test_a_case_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="no such cases"):
        left_out(cases("d"))


def test_many_cases_without_a_mark_are_a_sample() -> None:
    for folder, kept in (("tests/io", MOST), ("tests/contract", 30)):
        found = [Case(f"{folder}/test_x.py::test[{number}]", None) for number in range(30)]
        out = left_out(found)
        assert len(found) - len(out) == kept and found[0].nodeid not in out
