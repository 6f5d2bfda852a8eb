"""Files of rules that include others."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitextfilter.errors import NotFoundError, SettingsError
from bitextfilter.filters.registry import DEFAULT, parse_rule
from bitextfilter.filters.rules_file import read_rules


def write(folder: Path, **texts: str) -> Path:
    """Write files, and return the first."""
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)
    return folder / f"{next(iter(texts))}.toml"


def rule(name: str, **values: object) -> str:
    return f'[[rule]]\nname = "{name}"\n' + "".join(f"{k} = {v}\n" for k, v in values.items())


def specs(path: Path) -> list[str]:
    return [one.rule.name for one in read_rules(path).rules]


def test_later_settings_replace_earlier_ones(tmp_path: Path) -> None:
    base = 'languages = ["en", "de"]\n' + rule("length", maximum=80) + rule("numbers")
    base += rule("length", minimum=2) + rule("titles")
    path = write(
        tmp_path,
        own='include = "base.toml"\nwithout = ["titles"]\n' + rule("length", maximum=9),
        base=base,
    )
    read = read_rules(path)
    assert [one.rule for one in read.rules] == [parse_rule("numbers"), parse_rule("length:max=9")]
    assert [Path(one.file or "").name for one in read.rules] == ["base.toml", "own.toml"]
    assert read.languages == ("en", "de")
    other = write(tmp_path, other='include = ["base.toml"]\nlanguages = ["cs", "de"]\n')
    assert read_rules(other).languages == ("cs", "de")


def test_default_rules_come_from_any_file_and_once(tmp_path: Path) -> None:
    names = [spec.partition(":")[0] for spec in DEFAULT]
    base = 'default = true\nwithout = ["urls"]\n'
    assert specs(write(tmp_path, a='include = "b.toml"\n', b=base)) == [
        name for name in names if name != "urls"
    ]
    again = write(tmp_path, a='include = ["b.toml", "c.toml"]\n', b=base, c=base + rule("length"))
    assert sorted(specs(again)) == sorted([name for name in names if name != "urls"] + ["length"])
    assert specs(write(tmp_path, a='include = "b.toml"\ndefault = false\n', b=base)) == []
    more = write(tmp_path, a='include = "b.toml"\nwithout = ["tags"]\n', b=base)
    assert {"tags", "urls"}.isdisjoint(specs(more))


def test_paths_are_those_beside_the_file(tmp_path: Path) -> None:
    write(tmp_path / "deep", b='include = "../c.toml"\n')
    path = write(tmp_path, a='include = "deep/b.toml"\n', c=rule("numbers"))
    assert specs(path) == ["numbers"]


def test_two_ways_to_one_file_are_no_cycle(tmp_path: Path) -> None:
    end = 'include = "d.toml"\n'
    path = write(tmp_path, a='include = ["b.toml", "c.toml"]', b=end, c=end, d=rule("numbers"))
    assert specs(path) == ["numbers"]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"a": 'include = "a.toml"'}, r"a\.toml: included by itself: \S+a\.toml > \S+a\.toml$"),
        ({"a": 'include = "b.toml"', "b": 'include = "./a.toml"'}, r"a\.toml: \S+b\.toml: incl"),
        ({"a": "include = 3"}, r"a\.toml: include is a file"),
        ({"a": "include = [3]"}, r"a\.toml: include is a file"),
        ({"a": 'include = "b.toml"', "b": "x = 1"}, r"a\.toml: \S+b\.toml: 'x' is none of"),
    ],
)
def test_what_makes_no_sense(tmp_path: Path, texts: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError, match=said) as error:
        read_rules(write(tmp_path, **texts))
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"none\.toml"):
        read_rules(write(tmp_path, a='include = "none.toml"'))
