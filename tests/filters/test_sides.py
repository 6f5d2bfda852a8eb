"""Texts of one side: each rule that looks at sides apart judges them as it judges that side."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.pipeline import Pipeline
from bitextfilter.filters.registry import DEFAULT, RULES, parse_rule, parse_rules, usable
from bitextfilter.filters.rule import Rule, SideBounded, SideFault

GOOD = "We are going home now."
TEXTS = [
    GOOD, "", "12 345", "Home » News | Sport · Contact » Imprint", "w o r d s apart", "cafÃ©",
    "<b>bold</b>", "Das ist leider auf Deutsch geschrieben worden.", "www.example.com",
    "ha ha ha ha ha ha ha ha", "a" * 120, "Мы идём домой.", "\\u00e9 \x07",
]  # fmt: skip
HERE = Path(__file__).parent
MODEL = HERE / "one.arpa"
NEEDS = {
    "perplexity": f"perplexity:source={MODEL},maximum=5",
    "cross-entropy": f"cross-entropy:source={MODEL},maximum=2",
    "cross-entropy-difference": (
        f"cross-entropy-difference:source={MODEL},source-general={HERE / 'two.arpa'}"
    ),
    "regular-expression": "regular-expression:pattern=[ÃW]",
    "unwanted-words": f"unwanted-words:words={HERE / 'unwanted.txt'}",
}
APART = [name for name, rule in RULES.items() if rule.sides_apart and not rule.in_row]


def rule_of(name: str) -> Rule:
    return parse_rule(NEEDS.get(name, name))


def test_rules_that_look_at_sides_apart() -> None:
    """Those of one side's values or faults do, unless they say otherwise."""
    assert {"length", "script", "language", "perplexity", "repetition"} <= set(APART)
    for name, rule in RULES.items():
        if issubclass(rule, SideBounded | SideFault) and name != "length-ratio":
            assert rule.sides_apart, name
    compare = {"length-ratio", "similarity", "identical", "numbers", "titles", "tags",
               "glued-words", "cross-entropy-gap", "language-model-classifier"}  # fmt: skip
    assert compare.isdisjoint(APART)


@pytest.mark.parametrize("name", APART)
def test_a_text_is_judged_as_the_source_of_a_good_pair(name: str) -> None:
    rule = rule_of(name)
    ((alone,), _) = usable(parse_rules([NEEDS.get(name, name)]), ("en",))
    assert alone == rule
    one = rule.check(Pairs(TEXTS, None, ("en",)))
    two = rule.check(Pairs(TEXTS, [GOOD] * len(TEXTS), ("en", "en")))
    passes = bool(rule.check(Pairs(TEXTS[:1], [GOOD], ("en", "en"))).keep[0])
    if passes:
        assert one.keep.tolist() == two.keep.tolist()
    if one.values.ndim > 1:
        assert one.values.shape == (len(TEXTS), 1)
        assert np.array_equal(one.values[:, 0], two.values[:, 0])
    for index in np.flatnonzero(~one.keep).tolist():
        said, both = one.reason(index), two.reason(index)
        assert said.startswith(f"{name}=") or said == name
        if passes:
            assert said == both.replace("(source)", "").replace("=source:", "=")


def test_the_default_rules_of_a_text() -> None:
    able, passed_over = usable(parse_rules(["default"]), ("en",))
    names = [spec.partition(":")[0] for spec in DEFAULT]
    assert [rule.name for rule in able] == [name for name in names if name in APART]
    assert passed_over == {}
    checked = Pipeline(able).check(Pairs(TEXTS[:3], None, ("en",)))
    assert checked.keep.tolist() == [True, False, False]
    assert checked.tally.words == [7]
    assert checked.tally.kept_words == [5]
    assert checked.verdict(1).startswith("length=0<1; ")


def test_the_default_rules_of_paragraphs_have_wider_bounds() -> None:
    rules, wider = (
        usable(parse_rules([spec]), ("en",))[0] for spec in ("default", "default-paragraphs")
    )
    assert [rule.name for rule in rules] == [rule.name for rule in wider]
    long = " ".join(f"The river {chr(97 + n // 26)}{chr(97 + n % 26)} is long." for n in range(60))
    texts = [long, f"She said: no, no, no, no. {GOOD}", "ha ha ha ha ha ha ha ha"]
    for given, kept in ((rules, [False] * 3), (wider, [True, True, False])):
        checked = Pipeline(given).check(Pairs(texts, None, ("en",)))
        assert checked.keep.tolist() == kept
    replaced = usable(parse_rules(["default-paragraphs", "length:maximum=80"]), ("en",))[0]
    assert Pipeline(replaced).check(Pairs(texts[:2], None, ("en",))).keep.tolist() == [False, True]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("similarity", "similarity: compares two sides"),
        ("script:target=Latin", "target is of pairs: for a text, give source"),
        (f"perplexity:target={MODEL},maximum=5", "perplexity: target is of pairs"),
        (f"cross-entropy-difference:source={MODEL},source-general={MODEL},target={MODEL},"
         f"target-general={MODEL}", "target is of pairs"),
        ("language:labels=eng_Latn,deu_Latn", "a label for each side"),
    ],
)  # fmt: skip
def test_what_only_pairs_have_is_refused(spec: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        usable(parse_rules([spec]), ("en",))


def test_every_value_is_that_of_the_verdict() -> None:
    """``accepts`` of the values of ``check`` is its verdict, for every rule and both shapes."""
    targets = TEXTS[::-1]
    for name in RULES:
        try:
            rule = rule_of(name)
        except SettingsError:
            continue
        if name == "paraphrase-score" or not dataclasses.is_dataclass(rule):
            continue
        column = lambda _: np.linspace(-1, 1, len(TEXTS))  # noqa: E731
        found = rule.check(Pairs(TEXTS, targets, ("en", "de"), column))
        assert found.values.shape in {(len(TEXTS),), (len(TEXTS), 2)}
        assert rule.accepts(found.values).tolist() == found.keep.tolist(), name
