"""Many rules together: verdicts, totals and unique drops, against a loop over pairs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.pipeline import PASSED, Pipeline, Tally
from bitextfilter.filters.registry import parse_rule

SPECS = ["length:maximum=3", "length-ratio:maximum=2", "long-word:maximum=4", "letter-words"]


def naive(specs: list[str], pair: tuple[str, str]) -> list[str]:
    """The reasons that each rule alone has against one pair."""
    said = []
    for spec in specs:
        keep, reason, _ = parse_rule(spec).check(Pairs([pair[0]], [pair[1]]))
        said.append("" if keep[0] else reason(0))
    return said


WORDS = st.lists(st.sampled_from(["a", "bb", "12", "house", "!"]), max_size=5).map(" ".join)
PAIRS = st.lists(st.tuples(WORDS, WORDS), max_size=12)


@given(pairs=PAIRS)
def test_every_rule_judges_every_pair(pairs: list[tuple[str, str]]) -> None:
    checked = Pipeline([parse_rule(spec) for spec in SPECS]).check(
        Pairs([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    )
    expected = [naive(SPECS, pair) for pair in pairs]
    assert checked.keep.tolist() == [not any(said) for said in expected]
    for index, said in enumerate(expected):
        assert checked.verdict(index) == ("; ".join(filter(None, said)) or PASSED)
    names = [spec.partition(":")[0] for spec in SPECS]
    for place, name in enumerate(names):
        failing = [said for said in expected if said[place]]
        assert checked.tally.dropped[name] == len(failing)
        assert checked.tally.unique[name] == sum(len(list(filter(None, s))) == 1 for s in failing)
    kept = [pair for pair, said in zip(pairs, expected, strict=True) if not any(said)]
    for side in range(2):
        assert checked.tally.words[side] == sum(len(pair[side].split()) for pair in pairs)
        assert checked.tally.kept_words[side] == sum(len(pair[side].split()) for pair in kept)
    assert checked.tally.kept == len(kept)


@given(pairs=PAIRS)
def test_fast_keeps_the_same(pairs: list[tuple[str, str]]) -> None:
    rules = [parse_rule(spec) for spec in [*SPECS, "similarity:maximum=0.5", "identical"]]
    assert len({rule.cost for rule in rules}) == 2
    batch = Pairs([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    thorough, fast = Pipeline(rules).check(batch), Pipeline(rules, fast=True).check(batch)
    assert fast.keep.tolist() == thorough.keep.tolist()
    for index in range(len(pairs)):
        assert set(fast.verdict(index).split("; ")) <= set(thorough.verdict(index).split("; "))


def test_tallies_add_up() -> None:
    rules = [parse_rule(spec) for spec in SPECS]
    sources, targets = ["a", "12", "house a a a"], ["a a a", "12", "b"]
    whole = Pipeline(rules).check(Pairs(sources, targets)).tally
    total = Tally()
    for source, target in zip(sources, targets, strict=True):
        total.add(Pipeline(rules).check(Pairs([source], [target])).tally)
    assert total.dropped == whole.dropped
    assert total.unique == whole.unique
    assert total.words == whole.words
    assert total.kept == whole.kept


def test_reasons_can_be_told_apart() -> None:
    rules = [parse_rule("html-tags"), parse_rule("length:maximum=1")]
    verdict = Pipeline(rules).check(Pairs(['<a b="c; d">'], ["x"])).verdict(0)
    assert len(verdict.split("; ")) == 2


def test_no_rules_keep_everything() -> None:
    checked = Pipeline([]).check(Pairs(["a", ""], ["b", ""]))
    assert checked.keep.tolist() == [True, True]
    assert checked.verdict(1) == PASSED


def test_the_same_rule_twice_makes_no_sense() -> None:
    with pytest.raises(SettingsError, match="length"):
        Pipeline([parse_rule("length"), parse_rule("length:maximum=100")])


def test_rules_of_one_name_are_told_apart() -> None:
    pipeline = Pipeline([parse_rule("length"), parse_rule("length:maximum=3")])
    assert pipeline.labels == ["length#1", "length#2"]


def test_cheap_rules_come_first() -> None:
    costs = [rule.cost for rule in Pipeline([parse_rule(spec) for spec in SPECS]).rules]
    assert costs == sorted(costs)
