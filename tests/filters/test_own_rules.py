"""Rules of the user's own, found by their path in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.registry import RULES, listing, make_rule, parse_rule, spelling
from bitextfilter.filters.rules_file import read_rules

MODULE = '''
from dataclasses import dataclass
import numpy as np
from bitextfilter.filters.rule import PairFault, SideBounded


@dataclass(frozen=True)
class Vowels(SideBounded):
    """Each side has few vowels."""

    name = "vowels"
    unit = "vowels of each side, 0 and up"
    origin = "ours"

    maximum: float | None = 3
    letters: str = "aeiou"

    def side_values(self, side):
        return np.array([sum(map(text.count, self.letters)) for text in side.sentences])


class Nameless(SideBounded):
    def side_values(self, side):
        return side.lengths


class Other:
    name = "other"


class Same(Vowels):
    name = "length"
'''


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_rules_here.py").write_text("from __future__ import annotations\n" + MODULE)
    (tmp_path / "own_rules_wrong.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)


def test_a_rule_by_its_path(tmp_path: Path) -> None:
    rule = parse_rule("module:own_rules_here.Vowels:max=2,letters=e:=,o")
    result = rule.check(Pairs(["eo:", "b"], ["b", "eoeo="]))
    assert [result.keep[i] or result.reason(i) for i in (0, 1)] == [
        "vowels(source)=3>2",
        "vowels(target)=5>2",
    ]
    assert spelling(rule) == "module:own_rules_here.Vowels:minimum=none,maximum=2,letters=e:=,o"
    assert parse_rule(spelling(rule)) == rule
    file = tmp_path / "rules.toml"
    file.write_text('[[rule]]\nname = "module:own_rules_here.Vowels"\nmaximum = 2\n')
    assert [one.rule for one in read_rules(file).rules] == [
        make_rule("module:own_rules_here.Vowels", {"maximum": 2})
    ]
    assert "Each side has few vowels." in listing(["module:own_rules_here.Vowels"])
    assert "vowels" not in RULES


def test_a_rule_with_the_name_of_ours_is_still_its_own() -> None:
    rule = parse_rule("module:own_rules_here.Same")
    assert spelling(rule).startswith("module:own_rules_here.Same:")
    assert parse_rule("length") != rule


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("Vowels", "expected a module and a class"),
        ("own_rules_here.Vowel", "cannot be imported: AttributeError"),
        ("own_rules_none.Vowels", "cannot be imported: ModuleNotFoundError"),
        ("own_rules_wrong.Vowels", "cannot be imported: ZeroDivisionError: division by zero"),
        ("own_rules_here.Other", "not a rule"),
        ("own_rules_here.PairFault", "not a rule"),
        ("own_rules_here.np", "not a rule"),
        ("own_rules_here.Nameless", "the rule has no name, unit, origin"),
        (".Vowels", "expected a module and a class"),
        ("..Vowels", "cannot be imported: TypeError"),
        ("own_rules_here.Vowels:most=3", "no parameter 'most'"),
    ],
)
def test_what_is_no_rule(path: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said) as error:
        parse_rule(f"module:{path}")
    assert "\n" not in str(error.value)
