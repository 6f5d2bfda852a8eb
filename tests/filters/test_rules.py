"""One contract for every rule, and the tables of accepted and rejected pairs (rows_*.tsv)."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.registry import RULES, parse_rule
from bitextfilter.filters.rule import Bounded, Rule

LANGUAGES = ("en", "de")
HERE = Path(__file__).parent


def _meant(cell: str) -> str:
    r"""The text of a cell: ``\\`` is a backslash, ``\u0301`` a character by its number."""
    signs = re.sub(r"\\(?:\\|u(.{4})|U(.{8}))", lambda found: _sign(*found.groups()), cell)
    return signs.replace("{here}", str(HERE))


def _sign(short: str | None, long: str | None) -> str:
    code = short or long
    return chr(int(code, 16)) if code else "\\"


def _row(line: str) -> tuple[str, str, str, str, tuple[str, str] | None]:
    rule, source, target, reason, *languages = map(_meant, line.split("\t"))
    known = languages[0] if languages else ",".join(LANGUAGES)
    one, _, other = known.partition(",")
    return rule, source, target, "" if reason == "keep" else reason, (one, other) if other else None


ROWS = [
    _row(line)
    for path in sorted(HERE.glob("rows_*.tsv"))
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]
]
"""Rule, source, target, reason, and perhaps languages, ``-`` for none: else English and German.

A reason that ends in ``...`` may go on.
"""


def columns(count: int) -> Any:
    """The columns that the tables know: half, five, and nothing in any other."""
    numbers = {"half": 0.5, "five": 5.0}
    return lambda name: np.full(count, numbers.get(name, np.nan))


def batch(rows: list[tuple[str, str]], languages: tuple[str, str] | None = LANGUAGES) -> Pairs:
    sources, targets = [row[0] for row in rows], [row[1] for row in rows]
    return Pairs(sources, targets, languages, columns(len(rows)))


def reasons(rule: Rule, pairs: Pairs) -> list[str]:
    """The reason of each pair, or nothing for one that is kept."""
    verdict = rule.check(pairs)
    assert verdict.keep.shape == (len(pairs),)
    assert verdict.keep.dtype == bool
    return ["" if keep else verdict.reason(i) for i, keep in enumerate(verdict.keep.tolist())]


def as_said(said: str, reason: str) -> bool:
    return said == reason or (reason.endswith("...") and said.startswith(reason[:-3]))


def test_rows() -> None:
    wrong = []
    for rule, source, target, reason, languages in ROWS:
        (said,) = reasons(parse_rule(rule), batch([(source, target)], languages))
        wrong += [] if as_said(said, reason) else [(rule, source, target, reason, said)]
    assert wrong == []


def name_of(spec: str) -> str:
    return parse_rule(spec).name


def test_every_rule_has_rows() -> None:
    accepted = Counter(name_of(row[0]) for row in ROWS if not row[3])
    rejected = Counter(name_of(row[0]) for row in ROWS if row[3])
    assert {name for name in RULES if accepted[name] < 2 or rejected[name] < 2} == set()


SPECS = list(dict.fromkeys(row[0] for row in ROWS))
"""Every rule as the tables write it."""

SPEC_OF = {name_of(spec): spec for spec in SPECS[::-1]}
"""The first of them for each rule."""


@pytest.mark.parametrize("spec", SPECS)
def test_a_pair_is_judged_alone(spec: str) -> None:
    """Whatever its company, its place, and however the rule came to this process."""
    rule = pickle.loads(pickle.dumps(parse_rule(spec)))  # noqa: S301 - our own
    pairs = [(row[1], row[2]) for row in ROWS]
    together = reasons(rule, batch(pairs))
    assert together[::-1] == reasons(rule, batch(pairs[::-1]))
    step = max(1, len(pairs) // 15)
    assert together[::step] == [reasons(rule, batch([pair]))[0] for pair in pairs[::step]]
    assert all(
        reason.startswith((rule.name, getattr(rule, "column", "\t"), "column"))
        for reason in together
        if reason
    )


def test_nothing_to_judge() -> None:
    assert [spec for spec in SPECS if reasons(parse_rule(spec), batch([]))] == []


ODD = st.text(
    st.one_of(
        st.characters(exclude_characters="\n\t", exclude_categories=["Cs"]),
        st.sampled_from(" .,-/0123456789%{}<>&;:@aAéßДд你\u200b\u00a0\ufeff\U0001f600"),
    ),
    max_size=40,
)


@pytest.mark.parametrize("name", list(RULES))
@settings(max_examples=settings.default.max_examples // 3)
@given(pairs=st.lists(st.tuples(ODD, ODD), min_size=1, max_size=4))
def test_any_text_is_judged(name: str, pairs: list[tuple[str, str]]) -> None:
    rule = parse_rule(SPEC_OF[name])
    said = reasons(rule, batch(pairs))
    assert said == [reasons(rule, batch([pair]))[0] for pair in pairs]
    reasons(rule, batch(pairs, None if not rule.needs_languages else LANGUAGES))


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (2.0, 3.0, None, "2<3"), (12345678.0, None, 3.0, "12345678>3"), (4.2, None, 3.0, "4.2>3"),
        (4.23456, None, 3.0, "4.23>3"), (2.9999, 3.0, None, "2.9999<3"),
        (2.996, 3.0, None, "2.996<3"), (3.0001, None, 3.0, "3.0001>3"),
        (3.0000000000000004, None, 3.0, "3.0000000000000004>3"), (0.4996, 0.5, None, "0.4996<0.5"),
        (0.012345, 0.5, None, "0.0123<0.5"), (float("nan"), 0.5, None, "nan"),
    ],
)  # fmt: skip
def test_a_value_is_told_from_the_bound_it_breaks(
    value: float, low: float | None, high: float | None, said: str
) -> None:
    @dataclass(frozen=True)
    class Given(Bounded):
        name = "given"

        def values(self, pairs: Pairs) -> NDArray[Any]:
            return np.full(len(pairs), value)

    assert reasons(Given(low, high), batch([("a", "b")])) == [f"given={said}"]
