"""Toxic words on one side: counted as by a plain search, in every list; lists that are missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import InputError, NotFoundError, SettingsError
from bitextfilter.filters import custom
from bitextfilter.filters.custom import OneSidedWords, UnwantedWords, _toxic_lists
from bitextfilter.filters.pairs import Pairs
from bitextfilter.io.files import read_toml

SHIPPED = Path(custom.__file__).with_name("toxic_words.toml")
LIST = str(Path(__file__).with_name("unwanted.txt"))
LISTED = ["ass", "gratis testen", "gratis", "赌场", "赌"]
PIECES = [*LISTED, "ASS", "assess", "Scunthorpe", "testen", "开", "x-y"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=6).map(" ".join)


def plain_count(text: str) -> int:
    """The number of listed words, the longest first."""
    return len(re.findall(r"\bgratis testen\b|\bgratis\b|赌场?|\bass\b", text.lower()))


@given(source=TEXTS, other=st.sampled_from(["nothing", "bad"]))
def test_words_are_counted_as_by_a_plain_search(
    source: str, other: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "source.txt").write_text("\n".join(["", *LISTED]), encoding="utf-8")
    (folder / "target.txt").write_text("bad", encoding="utf-8")
    lists = {side: str(folder / f"{side}.txt") for side in ("source", "target")}
    pairs, count, bad = Pairs([source], [other]), plain_count(source), int(other == "bad")
    difference = abs(count - bad)
    alone, both = OneSidedWords(**lists), OneSidedWords(**lists, alone=False)
    assert alone.values(pairs).tolist() == [0 if count and bad else difference]
    assert both.values(pairs).tolist() == [difference]
    result = both.check(pairs)
    assert bool(result.keep[0]) == (difference == 0)
    if difference:
        said = [int(number) for number in re.findall(r" (\d+)(?=,| |$)", result.reason(0))]
        assert sum(said) == count + bad


@pytest.mark.parametrize("language", sorted(_toxic_lists()))
def test_each_word_of_a_list_is_found_by_it(language: str) -> None:
    words = " ".join(read_toml(SHIPPED)["words"][language].split()).split("; ")
    assert len(words) == len({*words}) >= 10
    for word in words:
        assert next(_toxic_lists()[language].found(f"({word})!"), None), word


def test_the_licence_goes_with_the_lists() -> None:
    for part in ("LDNOOBW", "Shutterstock", "Attribution 4.0", "Changed:"):
        assert part in SHIPPED.read_text(encoding="utf-8").partition("[words]")[0]


@pytest.mark.parametrize(
    ("lists", "languages", "said"),
    [
        ({}, None, "an unknown language: give source=FILE, .*, or --languages of ar, cs"),
        ({"source": LIST}, None, "an unknown language: give target=FILE"),
        ({}, ("bg", "en"), "no list of bg: give source=FILE, a word or phrase a line"),
        ({}, ("en", "und"), "no list of und: give target=FILE"),
    ],
)
def test_a_side_without_a_list(
    lists: dict[str, str], languages: tuple[str, str] | None, said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        OneSidedWords(**lists).prepare(languages)


def test_any_spelling_of_a_language_and_a_missing_file() -> None:
    OneSidedWords().prepare(("eng", "nb-NO"))
    with pytest.raises(NotFoundError, match=r"none\.txt"):
        OneSidedWords(source="none.txt").prepare(("en", "de"))


@pytest.mark.parametrize(("text", "line"), [("bad\n\n*** 🖕\n", ":3"), ("\n \n", ""), ("", "")])
@pytest.mark.parametrize("rule", [OneSidedWords, UnwantedWords])
def test_a_list_that_would_find_nothing(
    rule: type[OneSidedWords | UnwantedWords], text: str, line: str, tmp_path: Path
) -> None:
    path = tmp_path / "list.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rf"list\.txt{line}: no word; write a word or phrase"):
        rule(source=str(path), target=LIST).prepare(None)


def test_case_and_composition_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("pic\nso\u0308t\nsık", encoding="utf-8")
    rule = UnwantedWords(words=str(path))
    texts = ["SÖT", "so\u0308t", "PİC", "PIC", "sik", "sik\u0307"]
    assert rule.check(Pairs(texts, [""] * 6)).keep.tolist() == [False] * 4 + [True, True]
