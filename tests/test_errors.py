"""The error tree: what a user reads."""

from __future__ import annotations

import copy

import pytest

from bitextfilter import errors
from bitextfilter.errors import BitextError, InputError


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({}, "1 column"),
        ({"file": "pairs.tsv"}, "pairs.tsv: 1 column"),
        ({"line": 812}, "line 812: 1 column"),
        ({"file": "pairs.tsv", "line": 812}, "pairs.tsv:812: 1 column"),
        ({"file": "pairs.tsv", "line": 1, "remedy": "add one"}, "pairs.tsv:1: 1 column; add one"),
    ],
)
def test_an_input_error_says_where_and_what_to_do(where: dict[str, str], text: str) -> None:
    error = InputError("1 column", **where)  # type: ignore[arg-type]
    assert str(error) == text
    assert str(copy.copy(error)) == text


KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and kind.__module__ == errors.__name__
]


@pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])
def test_every_error_is_a_bitext_error_with_its_message(kind: type[Exception]) -> None:
    error = kind("what is wrong")
    assert isinstance(error, BitextError)
    assert str(error) == "what is wrong"
