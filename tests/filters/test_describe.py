"""What is written about rules, against the rules themselves."""

from __future__ import annotations

import re

import pytest
from console import ROOT

from bitextfilter.errors import SettingsError
from bitextfilter.filters.registry import DEFAULT, RULES, defaults, make_rule, parse_rule, written
from bitextfilter.filters.rule import Rule

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
