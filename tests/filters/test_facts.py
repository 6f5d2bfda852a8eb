"""Facts of sentences, and many rules together: any batch, compiled or not, as pair by pair."""

from __future__ import annotations

import copy
import functools
import unicodedata
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitextfilter.errors import SettingsError
from bitextfilter.filters import facts
from bitextfilter.filters.facts import FactReader, Sort
from bitextfilter.filters.pairs import BatchSide, Pairs
from bitextfilter.filters.pipeline import PASSED, Pipeline, Tally
from bitextfilter.filters.registry import RULES, parse_rule
from bitextfilter.filters.rule import Cost, Rule
from bitextfilter.io.columns import Utf8Texts, utf8_of
from bitextfilter.io.compiled import NO_COMPILED
from bitextfilter.text import characters
from tests.filters.test_sides import NEEDS

PIECES = [
    *"aAbEzIi019 .:,;!?…@/<>%{}\\&#x-'\"()[]|»·éÃÂÄß©İıſKΣςъЯ語かカรกلअ\u0301\u05b0²Ⅷ",
    *"\x00\x07\x85\xa0\u2028\u3000\u00ad\ufeff\ufffd\ue000\ufffc\u0378😀𝔄𞤀\U0010ffff",
    *("  ", "word ", "w o r d", "McDonald", "end.Next", "www.a.com", "x@y.de", "http://a.b/c"),
    *("<b>", "</b>", "L<x>", "%s", "%1$d", "{name}", "cafÃ©", "â€™", "РїСЂРё", "\\u00e9", "&#233;"),
    *("all rights reserved", "Home » News | Log in · Help", "you are here:", "LOGİN", "12.5 km"),
    *("3/4/2020", "ha ha ha ", "abcabcabc", "!!! !!! !!!", "漢字漢字漢字", "เเเเเเ", "12 345"),
]
TEXTS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=6).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.tuples(st.sampled_from(PIECES), st.integers(90, 600)).map(lambda two: two[0] * two[1]),
).map(lambda text: text.translate({9: " ", 10: " ", 13: " "}))


def alike(source: str) -> st.SearchStrategy[tuple[str, str]]:
    """A pair of the same text, of nearly the same, or of two texts."""
    changes: list[Callable[[str], str]] = [str, str.upper, lambda text: text[1:] + "e"]
    same = st.sampled_from(changes).map(lambda change: (source, change(source)))
    return st.one_of(same, TEXTS.map(lambda target: (source, target)))


BATCHES = st.lists(TEXTS.flatmap(alike), min_size=1, max_size=5)
SORTS: dict[str, Sort] = {
    "aA.": "aA.",
    "L": characters.in_category("L"),
    "Han": characters.in_script("Han"),
    "space": characters.is_space(),
}


@pytest.fixture(params=["", "1"], ids=["compiled", "numpy"])
def reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read facts by the library, and by numpy."""
    monkeypatch.setenv(NO_COMPILED, request.param)


SAME = settings(
    max_examples=min(25, settings.default.max_examples),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@functools.cache
def every_rule() -> list[Rule]:
    """One of each rule but those of models, which read sentences one by one."""
    rules = [parse_rule(NEEDS.get(name, name)) for name in RULES if RULES[name].cost < Cost.MODEL]
    rules += [parse_rule(spec) for spec in MORE]
    for rule in rules:
        rule.prepare(("en", "zh"))
    return rules


MORE = (
    "similarity:maximum=0.5", "repetition:shortest=1,repeats=1", "repetition:shortest=5,longest=7",
    "space-noise:maximum=0", "glued-words:maximum=0", "length:count=tokens", "length:count=letters",
    "length:count=bytes", "length:count=characters", "numerals:maximum=0.9",
)  # fmt: skip


@functools.cache
def pipeline() -> Pipeline:
    """All rules, and a reader that knows what they ask for."""
    made = Pipeline(every_rule())
    made.check(Pairs(["語 a. B", "x"], ["b. c", "漢"], ("en", "zh")), valued=False)
    return made


def single(rule: Rule, pair: tuple[str, str]) -> str:
    """The reason of a rule against a pair by itself, without any reader; empty: it passes."""
    keep, reason, _ = rule.check(Pairs([pair[0]], [pair[1]], ("en", "zh")))
    return "" if keep[0] else reason(0)


@SAME
@pytest.mark.usefixtures("reading")
@given(batch=BATCHES, as_bytes=st.booleans())
def test_a_batch_is_judged_as_its_pairs(batch: list[tuple[str, str]], as_bytes: bool) -> None:
    sides = [[pair[place] for pair in batch] for place in (0, 1)]
    texts = [Utf8Texts(utf8_of(side)) for side in sides] if as_bytes else sides
    made = pipeline()
    checked = made.check(Pairs(texts[0], texts[1], ("en", "zh")), valued=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(NO_COMPILED, "1")
        said = [[single(rule, pair) for rule in made.rules] for pair in batch]
    for index, reasons in enumerate(said):
        cleaned = [reason.translate(str.maketrans("\t\n\r", "   ")) for reason in reasons if reason]
        expected = "; ".join(reason.replace("; ", ", ") for reason in cleaned)
        assert checked.verdict(index) == (expected or PASSED)
    for place, label in enumerate(made.labels):
        assert checked.tally.dropped[label] == sum(bool(reasons[place]) for reasons in said)


def naive(sort: Sort, character: str) -> bool:
    """Whether a character is of a sort."""
    return character in sort if isinstance(sort, str) else bool(sort[ord(character)])


def words_of(text: str, spaced: bool) -> list[str]:
    """The words of a text; *spaced*: scripts without spaces are spaces."""
    unspaced = characters.in_script(*characters.UNSPACED)
    return "".join(" " if spaced and unspaced[ord(c)] else c for c in text).split()


@SAME
@pytest.mark.usefixtures("reading")
@given(texts=st.lists(st.one_of(TEXTS, st.text(max_size=5)), max_size=5))
def test_facts(texts: list[str]) -> None:
    """Surrogates and line ends may be in texts of the Python API."""
    reader = FactReader()
    for _ in range(2):  # the second time, the reader knows what is asked
        side = BatchSide(texts)
        side.reader = reader
        assert side.lengths.tolist() == [*map(len, texts)]
        assert side.word_counts.tolist() == [len(text.split()) for text in texts]
        longest = [max(map(len, words_of(text, True)), default=0) for text in texts]
        assert side.longest_words.tolist() == longest
        for sort in SORTS.values():
            of = functools.partial(naive, sort)
            assert side.counted(sort).tolist() == [sum(map(of, text)) for text in texts]
            words = [sum(any(map(of, word)) for word in text.split()) for text in texts]
            assert side.words_holding(sort).tolist() == words
            lone = [sum(len(w) == 1 and of(w) for w in text.split()) for text in texts]
            assert side.lone_words(sort).tolist() == lone
            for other in SORTS.values():
                met = [
                    any(of(a) and naive(other, b) for a, b in pairwise(text + "\n"))
                    for text in texts
                ]
                assert side.meeting(sort, other).tolist() == met


def test_more_is_asked_than_one_pass_reads() -> None:
    """What is left out is computed in numpy."""
    letters = [chr(code) for code in range(0x61, 0x61 + 200)]
    reader, text = FactReader(), "".join(letters) * 2
    for _ in range(2):
        side = BatchSide([text, "a"])
        side.reader = reader
        for letter in letters:
            assert side.counted(letter).tolist() == [2, int(letter == "a")]
            assert side.meeting(letter, letter).tolist() == [False, False]


def test_kinds_of_characters_are_few() -> None:
    """The sorts of all rules are read in one pass."""
    if not facts.is_compiled():
        pytest.skip("needs the compiled library")
    names = [chr(place) for place in range(0x4E00, 0x4E00 + 20)]
    side = BatchSide(["".join(names)])
    side.reader = FactReader()
    for name in names:
        side.counted(name)
    again = BatchSide(side.sentences)
    again.reader = side.reader
    known = again._facts
    assert known is not None
    assert all(known.count("characters", name) is not None for name in names)


@given(pair=st.tuples(TEXTS, TEXTS))
def test_bounds_of_the_edit_distance(pair: tuple[str, str]) -> None:
    from rapidfuzz.distance import Levenshtein

    sides = (utf8_of([text]) for text in pair)
    bound = facts.distance_bounds(*sides, np.ones(1, dtype=bool))
    if bound is not None:
        assert 0 <= bound[0] <= Levenshtein.distance(*pair)


def test_a_reader_goes_to_another_process_without_what_it_learnt() -> None:
    made = Pipeline(every_rule()[:3])
    made.check(Pairs(["a"], ["b"]))
    again = copy.deepcopy(made)
    assert again.check(Pairs(["a"], ["b"])).keep.tolist() == [True]


def test_no_letter_but_one_grows_in_small_letters() -> None:
    """On this rests the look-up of key words before a text is put into small letters."""
    grown = {chr(code) for code in range(0x110000) if len(chr(code).lower()) > 1}
    assert grown == {"İ"}
    assert {c for c in map(chr, range(0x110000)) if c.lower() in "ae"} - {""} == set("aAeE")
    assert all(
        unicodedata.category(chr(code).lower()) == "Nd"
        for code in range(0x110000)
        if unicodedata.category(chr(code)) == "Nd"
    )


SPECS = ["length:maximum=3", "length-ratio:maximum=2", "long-word:maximum=4", "letter-words"]


def reasons_of(specs: list[str], pair: tuple[str, str]) -> list[str]:
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
    expected = [reasons_of(SPECS, pair) for pair in pairs]
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
