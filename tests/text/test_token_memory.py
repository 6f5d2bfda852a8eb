"""Tokens are looked at once, and that changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.text.processor import TokenMemory
from bitextfilter.text.ragged import Ragged

Ids = dict[str, list[list[int]]]


class Looker:
    """Two views of a token: its characters, and its length if that is odd."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, tokens: list[str]) -> Mapping[str, Ragged]:
        if "bad" in tokens:
            raise ValueError("bad")
        self.seen += tokens
        return {
            "characters": Ragged.of_lists([[ord(mark) for mark in token] for token in tokens]),
            "odd": Ragged.of_lists([[len(token)] * (len(token) % 2) for token in tokens]),
        }


def lists(read: Mapping[str, Ragged]) -> Ids:
    return {view: [row.tolist() for row in rows] for view, rows in read.items()}


@given(st.lists(st.lists(st.text("abc", max_size=4), unique=True)), st.integers(0, 6))
def test_what_is_remembered_is_what_is_seen(windows: list[list[str]], most: int) -> None:
    memory = TokenMemory(Looker(), most)
    for tokens in windows:
        assert lists(memory.read(tokens)) == lists(Looker()(tokens))


def test_each_token_is_looked_at_once_until_there_are_too_many() -> None:
    looker = Looker()
    memory = TokenMemory(looker, most=3)
    for tokens in (["a", "b"], ["b", "c", "d"], []):
        memory.read(tokens)
    assert looker.seen == ["a", "b", "c", "d"]
    assert lists(memory.read(["d"])) == {"characters": [[100]], "odd": [[1]]}
    assert looker.seen == ["a", "b", "c", "d", "d"]


def test_a_few_long_tokens_are_too_many() -> None:
    looker = Looker()
    memory = TokenMemory(looker, most=10)
    for tokens in (["a"], ["b" * 11], ["a"]):
        memory.read(tokens)
    assert looker.seen == ["a", "b" * 11, "a"]


def test_what_went_wrong_is_not_remembered() -> None:
    memory = TokenMemory(Looker())
    memory.read(["a"])
    for tokens in (["b", "bad"], ["bad", "c"]):
        with pytest.raises(ValueError, match="bad"):
            memory.read(tokens)
    tokens: Sequence[str] = ["c", "a", "b"]
    assert lists(memory.read(tokens)) == lists(Looker()(list(tokens)))


def test_rows_behind_rows() -> None:
    both = Ragged.of_lists([[1, 2], []]).followed_by(Ragged.of_lists([[3]]))
    assert [row.tolist() for row in both] == [[1, 2], [], [3]]
    assert both.lengths.dtype == np.int64
