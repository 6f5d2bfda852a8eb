"""The default rules keep right rows, short ones and all, and drop what is like them but wrong."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.pipeline import Pipeline
from bitextfilter.filters.registry import parse_rules, usable

ROWS = [
    line.split("\t")
    for line in Path(__file__).with_name("default_rows.tsv").read_text("utf-8").splitlines()
]
"""``default``, source, target, ``keep`` or a rule that fails, and the languages."""


@functools.cache
def pipeline(languages: tuple[str, ...]) -> Pipeline:
    return Pipeline(usable(parse_rules(["default"]), languages)[0])


def verdict(pair: str, source: str, target: str) -> str:
    languages = tuple(pair.split(","))
    return pipeline(languages).check(Pairs([source], [target], languages)).verdict(0)


@pytest.mark.parametrize(("source", "target", "expected", "pair"), [row[1:] for row in ROWS])
def test_right_rows_stay_and_wrong_ones_like_them_go(
    source: str, target: str, expected: str, pair: str
) -> None:
    found = verdict(pair, source, target)
    assert found == "keep" if expected == "keep" else expected in found
