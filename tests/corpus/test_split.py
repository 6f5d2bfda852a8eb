"""Parts of a corpus against plain dictionaries and searches of graphs."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.commands.split import BY
from bitextfilter.corpus.selection import SIDES, Part, SplitSettings, Splitter, row_groups
from bitextfilter.errors import SettingsError

PERCENT = Fraction(1, 100)
DEV, TEST = Part("dev", 10 * PERCENT), Part("test", 20 * PERCENT)


def naive_groups(keys: Sequence[Sequence[int]]) -> list[int]:
    """The first row of each row's group: everything that a search from the row reaches."""
    rows_of = defaultdict(list)
    for row, mine in enumerate(keys):
        for key in mine:
            rows_of[key].append(row)
    found = []
    for row in range(len(keys)):
        reached, waiting = {row}, [row]
        while waiting:
            for key in keys[waiting.pop()]:
                new = set(rows_of[key]) - reached
                reached |= new
                waiting += new
        found.append(min(reached))
    return found


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(20, 32)), max_size=25))
def test_groups_are_what_a_search_reaches(keys: list[tuple[int, int]]) -> None:
    array = np.array(keys, np.uint64).reshape(-1, 2)
    assert row_groups(array).tolist() == naive_groups(keys)


def test_a_long_chain_is_one_group() -> None:
    """Rows i and i + 1 share a key; in any order."""
    order = np.random.default_rng(1).permutation(50_000)
    chain = np.column_stack([order // 2, 10**6 + (order + 1) // 2]).astype(np.uint64)
    assert set(row_groups(chain).tolist()) == {0}


def word(number: int) -> str:
    """A word of letters, since digits are not compared."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def pairs(count: int, seed: int = 1) -> list[tuple[str, str]]:
    rng, most = random.Random(seed), 4 * count
    return [(word(rng.randrange(most)), word(rng.randrange(most))) for _ in range(count)]


def parts_of(splitter: Splitter, rows: Sequence[Sequence[str]]) -> list[int]:
    return splitter.decide(splitter.keys(rows)).parts.tolist()


def test_what_rows_have_in_common_is_one_of_the_choices() -> None:
    assert set(SIDES) == set(BY)
    with pytest.raises(SettingsError, match="by 'souce' is none of either"):
        SplitSettings((DEV,), by="souce")


@pytest.mark.parametrize("by", ["source", "target", "pair", "either"])
@pytest.mark.parametrize("parts", [(DEV, TEST), (Part("a", 300), TEST, Part("b", 57))])
def test_no_text_is_in_two_parts(by: str, parts: tuple[Part, ...]) -> None:
    rows = pairs(3000)
    sides = {"source": slice(0, 1), "target": slice(1, 2)}.get(by, slice(0, 2))
    found = parts_of(Splitter(SplitSettings(parts, by)), [row[sides] for row in rows])
    for place in {"source": (0,), "target": (1,), "either": (0, 1)}.get(by, ()):
        seen = defaultdict(set)
        for row, part in zip(rows, found, strict=True):
            seen[row[place]].add(part)
        assert max(map(len, seen.values())) == 1
    for number, part in enumerate(parts):
        size = found.count(number)
        if isinstance(part.size, int):
            assert size == part.size
        else:
            assert size == pytest.approx(len(rows) * part.size, rel=0.35)


def test_shares_are_those_asked_for() -> None:
    rows = [(word(n), word(n)) for n in range(40_000)]
    splitter = Splitter(SplitSettings((DEV, Part("few", 5), TEST, Part("x", PERCENT)), "source"))
    sizes = np.bincount(parts_of(splitter, [row[:1] for row in rows])) / len(rows)
    assert sizes == pytest.approx([0.1, 5 / 40_000, 0.2, 0.01, 0.69], abs=0.008)
    either = Splitter(SplitSettings((DEV, TEST), "either"))
    sizes = np.bincount(parts_of(either, rows)) / len(rows)
    assert sizes == pytest.approx([0.1, 0.2, 0.7], abs=0.008)


@pytest.mark.parametrize("by", ["source", "either"])
def test_parts_do_not_depend_on_the_order(by: str) -> None:
    rows = [row[: 1 if by == "source" else 2] for row in pairs(2000)]
    splitter = Splitter(SplitSettings((DEV, Part("n", 100)), by))
    found = dict(zip(rows, parts_of(splitter, rows), strict=True))
    mixed = random.Random(2).sample(rows, len(rows))
    assert dict(zip(mixed, parts_of(splitter, mixed), strict=True)) == found
    other = Splitter(SplitSettings((DEV, Part("n", 100)), by, seed=2))
    assert dict(zip(rows, parts_of(other, rows), strict=True)) != found


def test_rows_that_are_added_change_no_share() -> None:
    splitter = Splitter(SplitSettings((DEV, TEST), "source"))
    rows = [row[:1] for row in pairs(3000)]
    few, all_ = splitter.keys(rows[:1000]), splitter.keys(rows)
    assert splitter.by_share(all_)[:1000].tolist() == splitter.by_share(few).tolist()
    assert splitter.by_share(all_).tolist() == splitter.decide(all_).parts.tolist()
    # another part behind the others leaves theirs
    more = Splitter(SplitSettings((DEV, TEST, Part("more", TEST.size)), "source")).by_share(all_)
    old = splitter.by_share(all_)
    assert (more[old < 2] == old[old < 2]).all()


def test_groups_of_documents_and_texts() -> None:
    """Documents are not normalised; a text does not tie to a document of its name."""
    rows = [
        ("A!", "x", "d1"),
        ("a", "y", "d2"),
        ("b", "z", "d2"),
        ("c", "a", "D2"),
        ("d2", "u", "e"),
    ]
    keys = Splitter(SplitSettings((DEV,), "source", documents=True)).keys
    groups = [0, 0, 0, 3, 4]
    assert row_groups(keys([(row[0], row[2]) for row in rows])).tolist() == groups
    exact = Splitter(SplitSettings((DEV,), "source", documents=True, ignore=None)).keys
    assert row_groups(exact([(row[0], row[2]) for row in rows])).tolist() == [0, 1, 1, 3, 4]
    either = Splitter(SplitSettings((DEV,), "either")).keys([("a", "b"), ("b", "a"), ("c", "B.")])
    assert row_groups(either).tolist() == [0, 1, 0]


def test_a_huge_group_is_in_no_small_part() -> None:
    rows = [("same" if n < 500 else word(n), word(n)) for n in range(1000)]
    for seed in range(12):
        found = parts_of(Splitter(SplitSettings((Part("dev", Fraction(2, 5)),), seed=seed)), rows)
        assert set(found[:500]) == {1} and found.count(0) > 100


def test_numbers_are_filled_with_the_groups_that_fit() -> None:
    rows = [(name,) for name in "aaaaabbbbbcccccd"]
    for seed in range(8):
        parts = parts_of(Splitter(SplitSettings((Part("dev", 6),), "source", seed=seed)), rows)
        assert parts.count(0) == 6 and parts[-1] == 0
        parts = parts_of(Splitter(SplitSettings((Part("dev", 4),), "source", seed=seed)), rows)
        assert parts.count(0) == 1
    assert parts_of(Splitter(SplitSettings((Part("dev", 4),), "source")), []) == []


def test_settings_that_there_are_not() -> None:
    with pytest.raises(SettingsError, match="110 % together"):
        SplitSettings((DEV, Part("x", Fraction(1))))
    with pytest.raises(SettingsError, match="need documents"):
        SplitSettings((DEV,), "none")
