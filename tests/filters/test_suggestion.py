"""Bounds from clean rows: the share that is promised is kept, and no bound could be tighter."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.registry import DEFAULT, parse_rule
from bitextfilter.filters.rule import Bounded, greatest
from bitextfilter.filters.rules_file import fitted_rules, kept_share, read_rules, rules_file

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "examples" / "pairs.en-de.tsv").read_text(encoding="utf-8").splitlines()
CLEAN = [tuple(line.split("\t")[:2]) for line in LINES]


@given(
    st.lists(st.tuples(st.integers(-4, 9), st.integers(-4, 9)), min_size=1, max_size=12), st.data()
)
def test_the_greatest_value_that_may_stay(rows: list[tuple[int, int]], data: st.DataObject) -> None:
    loss = data.draw(st.integers(0, len(rows) - 1))
    bound = greatest(np.array(rows), loss)
    assert sum(max(row) > bound for row in rows) <= loss
    assert bound == min(
        value for row in rows for value in row
        if sum(max(other) > value for other in rows) <= loss
    )  # fmt: skip


VALUES = st.floats(allow_nan=False, width=64, min_value=-1e300, max_value=1e300)


@given(st.lists(VALUES, min_size=1, max_size=30), st.integers(1, 100))
def test_bounds_are_rounded_outwards(values: list[float], percent: int) -> None:
    share = Fraction(percent, 100)
    loss = math.floor((1 - share) * len(values))
    for spec in ("column:minimum=0", "column:maximum=0", "column:minimum=0,maximum=0", "-1>0.5"):
        rule = parse_rule(spec)
        fitted = rule.fitted(np.array(values), loss)
        kept = fitted.accepts(np.array(values))
        assert len(values) - kept.sum() <= loss
        assert isinstance(fitted, Bounded)
        assert (fitted.minimum is None) == ("min" not in spec and ">" not in spec)
        assert (fitted.maximum is None) == ("max" not in spec)


def test_a_column_without_numbers_keeps_its_bound() -> None:
    rule = parse_rule("column:minimum=0.5")
    assert rule.fitted(np.full(4, np.nan), 1) == rule
    some = rule.fitted(np.array([np.nan, 3, 2, 4]), 1)
    assert some == parse_rule("column:minimum=2")


@pytest.mark.parametrize("percent", ["80", "95", "100"])
def test_the_file_keeps_what_it_promises(tmp_path: Path, percent: str) -> None:
    share = Fraction(percent) / 100
    specs = [
        *(s for s in DEFAULT if s != "language"),
        "numbers",
        "html-tags",
        "terminal-punctuation",
    ]
    rules = [parse_rule(spec) for spec in specs]
    windows = []
    for part in (CLEAN[:7], CLEAN[7:]):
        sides = [pair[0] for pair in part], [pair[1] for pair in part]
        windows.append([rule.check(Pairs(*sides, ("en", "de"))).values for rule in rules])
    fitted = fitted_rules(rules, windows, share)
    file = tmp_path / "rules.toml"
    text = rules_file(fitted, share, ("en", "de"))
    file.write_text(text)
    read = read_rules(file)
    assert read.languages == ("en", "de")
    assert [one.rule for one in read.rules] == [one.rule for one in fitted if one.usable]
    pairs = Pairs([pair[0] for pair in CLEAN], [pair[1] for pair in CLEAN], ("en", "de"))
    loss = math.floor((1 - share) * len(CLEAN))
    together = np.ones(len(CLEAN), dtype=bool)
    for one in read.rules:
        keep = one.rule.check(pairs).keep
        assert len(CLEAN) - keep.sum() <= loss, one.rule
        together &= keep
    assert kept_share(fitted) == together.mean()
    assert f"# all together {100 * together.mean():.4g} %" in text


def test_bounds_are_tight() -> None:
    rule = parse_rule("length:minimum=none,count=characters")
    values = rule.check(Pairs(["a" * n for n in range(1, 101)], ["b"] * 100)).values
    assert rule.fitted(values, 5) == parse_rule("length:minimum=none,maximum=95,count=characters")
    both = parse_rule("length:count=characters")
    sides = np.stack([np.arange(1, 101)] * 2, axis=1)
    assert both.fitted(sides, 5) == parse_rule("length:minimum=3,maximum=97,count=characters")
    numbers = parse_rule("numbers")
    assert numbers.fitted(np.array([0] * 8 + [1, 5]), 1) == parse_rule("numbers:allowed=1")


def test_a_rule_without_a_number_that_drops_too_much_is_left_out(tmp_path: Path) -> None:
    rules = [parse_rule('literals:any=a" \\'), parse_rule("length:maximum=none")]
    pairs = Pairs(['a"', "b", "c", "d"], ["x"] * 4)
    values = [rule.check(pairs).values for rule in rules]
    text = rules_file(fitted_rules(rules, [values], Fraction(9, 10)), Fraction(9, 10), None)
    assert '# left out, as it drops 25 %:\n# name = "literals"\n# any = "a\\" \\\\"\n' in text
    file = tmp_path / "rules.toml"
    file.write_text(text)
    assert [one.rule for one in read_rules(file).rules] == [parse_rule("length:maximum=none")]
    fitted = fitted_rules(rules, [values], Fraction(3, 4))
    file.write_text(rules_file(fitted, Fraction(3, 4), ("en",)))
    assert [one.rule for one in read_rules(file).rules] == [one.rule for one in fitted]
    assert "4 clean texts" in file.read_text()
    assert read_rules(file).languages is None


def test_no_rows() -> None:
    with pytest.raises(SettingsError, match="no clean row"):
        fitted_rules([parse_rule("length")], [], Fraction(1, 2))
