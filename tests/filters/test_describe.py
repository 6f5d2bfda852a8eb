"""What is written about rules, against the rules themselves."""

from __future__ import annotations

import pytest
from console import ROOT

from bitextfilter.errors import SettingsError
from bitextfilter.filters.registry import RULES, defaults, make_rule, parse_rule, section, written
from bitextfilter.filters.rule import Rule
from bitextfilter.filters.sets import DEFAULT

PAGE = (ROOT / "docs" / "filters.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_the_page_says_what_the_code_says(rule: type[Rule]) -> None:
    assert section(rule) in PAGE


def test_the_page_begins_with_a_line_on_each_rule() -> None:
    """A table of the rules and the first sentences of their docstrings, which ends there."""
    first = {name: (rule.__doc__ or "").partition("\n\n")[0] for name, rule in RULES.items()}
    lines = [f"| [{n}](#{n}) | {' '.join(t.split())} |\n" for n, t in first.items()]
    table = "| rule | condition that a pair must meet |\n|---|---|\n" + "".join(lines).replace(
        "``", "`"
    )
    assert f"\n\n{table}\n" in PAGE.partition("\n## ")[0]


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_a_rule_speaks_for_itself(rule: type[Rule]) -> None:
    assert rule.unit
    assert rule.origin
    assert not rule.unit.endswith(".")
    assert rule.name == rule.name.lower().replace("_", "-")


def test_the_page_has_no_other_rules() -> None:
    heads = [line.removeprefix("### ") for line in PAGE.splitlines() if line.startswith("### ")]
    assert sorted(heads) == sorted(RULES)


def test_the_default_rules_are_on_the_page() -> None:
    assert "".join(f"{spec}\n" for spec in DEFAULT) in PAGE


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
