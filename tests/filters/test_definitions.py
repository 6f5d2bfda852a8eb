"""Rules over arrays against definitions one pair at a time; what is written about them."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections import Counter

import numpy as np
import pytest
import regex
from console import ROOT
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import InputError, NotFoundError, SettingsError
from bitextfilter.filters.agreement import (
    NumberInconsistencies,
    Numerals,
    Parentheses,
    TerminalPunctuation,
)
from bitextfilter.filters.custom import RegularExpression, UnwantedWords
from bitextfilter.filters.language import AlphabetRatio, Letters, OnlyNumbers, OnlySymbols, Script
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.registry import DEFAULT, RULES, defaults, make_rule, parse_rule, written
from bitextfilter.filters.rule import Bounded, Rule

TEXT = st.text("aZéßДπ你ーª\u0301\u0345नि1209٣७²½.?!…。()[]（{}⟩ \u00a0_€\U0001f600", max_size=25)
PAIRS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4)


def values(rule: Bounded, pairs: list[tuple[str, str]]) -> list[list[float]]:
    sources, targets = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = rule.values(Pairs(sources, targets, ("de", "ru")))
    return np.asarray(found, dtype=float).reshape(len(pairs), -1).tolist()


def share(text: str, part: str, whole: str, of_nothing: float) -> float:
    """Of the characters that match *whole*, the share that match *part*."""
    every = regex.findall(whole, text)
    if not every:
        return of_nothing
    return sum(bool(regex.fullmatch(part, sign)) for sign in every) / len(every)


@given(PAIRS)
def test_shares(pairs: list[tuple[str, str]]) -> None:
    letter = r"\p{Alphabetic}"
    german = r"[a-zA-ZäöüßÄÖÜẞ\p{M}]"
    for rule, parts, whole, nothing in (
        (AlphabetRatio(), (letter, letter), ".", 1),
        (AlphabetRatio(exclude_whitespace=True), (letter, letter), r"\S", 1),
        (Script(source="Latin", target="Greek,Cyrillic"),
         (r"\p{Latin}", r"[\p{Greek}\p{Cyrillic}]"), letter, 1),
        (Script(), (r"[\p{Latin}\p{Common}\p{Inherited}]",
                    r"[\p{Cyrillic}\p{Common}\p{Inherited}]"), letter, 1),
        (Letters(), (german, r"[\p{Cyrillic}\p{Inherited}]"), letter, 1),
        (OnlySymbols(), (r"[^\p{L}\p{M}\p{N}\p{Alphabetic}]",) * 2, r"\S", 0),
        (OnlyNumbers(), (r"\p{Nd}",) * 2, r"[\p{Nd}\p{Alphabetic}]", 0),
    ):  # fmt: skip
        expected = [
            [share(text, part, whole, nothing) for text, part in zip(pair, parts, strict=True)]
            for pair in pairs
        ]
        assert values(rule, pairs) == expected


@given(PAIRS)
def test_digits(pairs: list[tuple[str, str]]) -> None:
    for pair, (ratio,), (missing,) in zip(
        pairs, values(Numerals(), pairs), values(NumberInconsistencies(), pairs), strict=True
    ):
        one, other = ([d for t in text if (d := unicodedata.decimal(t, -1)) >= 0] for text in pair)
        first, second = Counter(one), Counter(other)
        assert missing == ((first - second) + (second - first)).total()
        above = [[digit for digit in digits if digit] for digits in (one, other)]
        assert ratio == difflib.SequenceMatcher(None, *above).ratio()


@given(PAIRS)
def test_marks(pairs: list[tuple[str, str]]) -> None:
    kinds = ("(（", ")）"), ("[［【〔", "]］】〕"), ("{｛", "}｝"), ("⟨〈《", "⟩〉》")
    for pair, (score,), (unequal,) in zip(
        pairs, values(TerminalPunctuation(), pairs), values(Parentheses(), pairs), strict=True
    ):
        s, t = (sum(sign in ".?!…。" for sign in text) for text in pair)
        assert score == -math.log(abs(s - t) + max(s - 1, 0) + max(t - 1, 0) + 1)
        open_ = [
            [sum((c in left) - (c in right) for c in text) for left, right in kinds]
            for text in pair
        ]
        assert unequal == sum(abs(a - b) for a, b in zip(*open_, strict=True))


def test_settings_that_make_no_sense() -> None:
    for make in (
        lambda: Script(source="Elvish"),
        lambda: RegularExpression(pattern="("),
        lambda: RegularExpression(pattern="a", source="b"),
        lambda: RegularExpression().prepare(None),
        lambda: UnwantedWords().prepare(None),
        lambda: Script().prepare(None),
        lambda: Script(source="Latin").prepare(None),
        lambda: Letters().prepare(None),
    ):
        with pytest.raises(SettingsError):
            make()
    Script(source="Latin", target="Han").prepare(None)
    Script().prepare(("en", "de"))


def test_a_list_that_cannot_be_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("lists")
    with pytest.raises(NotFoundError):
        UnwantedWords(words=str(folder / "none.txt")).prepare(None)
    (folder / "latin.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(InputError, match=r"latin\.txt:1: not UTF-8"):
        UnwantedWords(target=str(folder / "latin.txt")).prepare(None)


PAGE = (ROOT / "docs" / "filters.md").read_text(encoding="utf-8")


def row(rule: type[Rule]) -> str:
    """The line of a rule in the table of the page."""
    first = " ".join((rule.__doc__ or "").partition("\n\n")[0].split()).replace("``", "`")
    settings = [
        f"`{name}`" if value is None else f"`{name}={written(value)}`"
        for name, value in defaults(rule).items()
    ]
    of_set = {name: own for name, _, own in (spec.partition(":") for spec in DEFAULT)}
    own = of_set.get(rule.name)
    default = "" if own is None else " ".join(f"`{one}`" for one in own.split(",") if one)
    default = default or ("as they are" if own is not None else "")
    cells = [f"`{rule.name}`", default, first.rstrip("."), " ".join(settings), rule.unit]
    return f"| {' | '.join(cells)} |"


def test_the_page_begins_with_a_line_on_each_rule() -> None:
    lines = [line for line in PAGE.partition("\n## ")[0].splitlines() if line[:1] == "|"]
    assert lines[0].count("|") == 6
    assert sorted(lines[2:]) == sorted(map(row, RULES.values()))


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_a_rule_speaks_for_itself(rule: type[Rule]) -> None:
    assert rule.unit
    assert rule.origin
    assert not rule.unit.endswith(".")
    assert rule.name == rule.name.lower().replace("_", "-")


def test_the_page_explains_rules_and_settings_that_exist() -> None:
    """The bullets of the sections start with names of rules; `name=` is a setting of one."""
    text = PAGE.partition("\n## ")[2]
    heads = [re.findall(r"`([a-z-]+)`", line.partition(":")[0])
             for line in text.splitlines() if line.startswith("- `")]  # fmt: skip
    assert len(heads) > 30
    assert {name for names in heads for name in names} <= set(RULES)


def test_the_default_rules_are_on_the_page() -> None:
    assert "".join(f"{spec}\n" for spec in DEFAULT) in PAGE


def test_the_page_lists_the_rules_that_compare_sides() -> None:
    part = PAGE.partition("## Texts of one language")[2].partition("pairs alone:")[2]
    named = re.findall(r"`([a-z-]+)`", part.partition("\n## ")[0])
    assert sorted(named) == sorted(name for name, rule in RULES.items() if not rule.sides_apart)


def stands_alone(name: str) -> bool:
    try:
        return bool(make_rule(name, {}))
    except SettingsError:
        return False


STANDS_ALONE = [name for name in RULES if stands_alone(name)]
"""The rules that need no parameters."""


@pytest.mark.parametrize("name", STANDS_ALONE)
def test_defaults_can_be_written_out(name: str) -> None:
    """A rule that may stand without parameters is the same with all of them written."""
    values = {key: written(value) for key, value in defaults(RULES[name]).items()}
    assert make_rule(name, values) == make_rule(name, {}) == parse_rule(name)
