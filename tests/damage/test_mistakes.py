"""Mistakes are what their names say, on one side; negations taken out, language by language."""

from __future__ import annotations

import difflib
import random
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.damage.material import Vocabulary
from bitextfilter.damage.mistakes import MISTAKES, NEGATIONS
from bitextfilter.damage.noise import (
    CLEAN,
    REMOVABLE_NEGATIONS,
    NoiseSettings,
    noisy_pairs,
    quality_of,
    without_a_negation,
)
from bitextfilter.text.units import word_spans

Pair = tuple[str, str]

SOURCES = [
    "The old man, who lived near the river, walked to the market.",
    "She walks every day, and she never takes the bus!",
    "A walker was walking with his two dogs in the park.",
    "Is the market open today, or is it closed?",
    "They walked home; the river was high.",
    "We live in a house by the sea, and we like it.",
]
TARGETS = [
    "Der alte Mann, der am Fluss wohnte, ging zum Markt.",
    "Sie geht jeden Tag zu Fuß, und sie nimmt nie den Bus!",
    "Ein Spaziergänger ging mit seinen zwei Hunden in den Park.",
    "Ist der Markt heute offen, oder ist er geschlossen?",
    "Sie gingen nach Hause; der Fluss stand hoch.",
    "Wir wohnen in einem Haus am Meer, und wir mögen es.",
]
PAIRS: list[Pair] = list(zip(SOURCES, TARGETS, strict=True)) * 5
SETTINGS = NoiseSettings(
    ("en", "de"),
    words=(1, 60),
    related={"en": {"river": ["lake"], "market": ["shop"], "sea": ["lake"]}},
    lexicon={
        ("en", "de"): {w: [w[::-1]] for w in re.findall(r"\w+", " ".join(SOURCES).lower())},
        ("de", "en"): {w: [w[::-1]] for w in re.findall(r"\w+", " ".join(TARGETS).lower())},
    },
)


def changes(kind: str, seed: int = 1) -> Iterator[tuple[str, str, int, Pair]]:
    """The text before and after, its side, and the clean pair: of each pair that allows it."""
    seen = 0
    rows = noisy_pairs(PAIRS, {kind: 1}, seed, SETTINGS)
    for (source, target, label), clean in zip(rows, PAIRS, strict=True):
        if label == CLEAN:
            continue
        assert label == kind
        (side,) = (side for side in (0, 1) if (source, target)[side] != clean[side])
        yield clean[side], (source, target)[side], side, clean
        seen += 1
    assert seen >= 10, kind


def words(text: str) -> list[str]:
    return [text[slice(*span)].lower() for span in word_spans(text)]


def edits(before: list[str], after: list[str]) -> list[tuple[str, list[str], list[str]]]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [
        (tag, before[i:j], after[k:n])
        for tag, i, j, k, n in matcher.get_opcodes()
        if tag != "equal"
    ]


@pytest.mark.parametrize(
    ("kind", "least", "most"), [("word-left-out", 1, 1), ("words-left-out", 2, 5)]
)
def test_words_are_left_out(kind: str, least: int, most: int) -> None:
    for before, after, *_ in changes(kind):
        lost = len(words(before)) - len(words(after))
        assert least <= lost <= most
        assert "  " not in after and " ," not in after and after == after.strip()
        assert all(tag == "delete" for tag, *_ in edits(words(before), words(after)))
        assert before[0].isupper() <= after[0].isupper()


def test_clauses_are_left_out_or_added() -> None:
    for before, after, *_ in changes("clause-left-out"):
        assert len(words(before)) - len(words(after)) >= 3 and after[-1] in ".!?"
    for before, after, side, _ in changes("clause-added"):
        (change,) = edits(words(before), words(after))
        assert change[0] == "insert" and len(change[2]) >= 3
        others = [" ".join(words(text)) for text in (SOURCES, TARGETS)[side]]
        assert any(" ".join(change[2]) in other for other in others)


def test_words_are_added_or_replaced() -> None:
    for before, after, *_ in changes("word-added"):
        ((tag, _, added),) = edits(words(before), words(after))
        assert tag == "insert" and len(added) == 1 and added[0] not in words(before)
    for before, after, *_ in changes("other-word"):
        ((tag, lost, new),) = edits(words(before), words(after))
        assert (tag, len(lost), len(new)) == ("replace", 1, 1)


def test_other_forms_share_their_beginning() -> None:
    for before, after, *_ in changes("other-form"):
        ((_, [old], [new]),) = edits(words(before), words(after))
        assert old[:3] == new[:3] and old != new
    found = Vocabulary.of(["walk walked walking walker talk wall"])
    assert found.forms("walks") == ["walk", "wall", "walked", "walker"]
    assert found.forms("12") == found.forms("xy") == []


def test_tables_are_used() -> None:
    for _, after, side, _ in changes("related-word"):
        assert side == 0 and {"lake", "shop"} & set(words(after))
    for _, after, side, clean in changes("word-by-word"):
        expected = [word[::-1].casefold() for word in words(clean[1 - side])]
        assert [word.casefold() for word in words(after)] == expected
    assert NoiseSettings(("en", "de")).lacks("related-word") == (
        "related words (--related) of one of the --languages"
    )
    assert "--lexicon" in str(NoiseSettings(("en", "de")).lacks("word-by-word"))
    assert NoiseSettings(("xx", "yy")).lacks("negation-added") is not None


def test_frequent_words_and_negations() -> None:
    for before, after, *_ in changes("function-word"):
        ((_, lost, new),) = edits(words(before), words(after))
        assert len(lost) <= 1 and len(new) <= 1
    for before, after, side, _ in changes("negation-added"):
        ((tag, _, new),) = edits(words(before), words(after))
        assert tag == "insert" and new == [NEGATIONS[SETTINGS.languages[side]]]


def test_words_move_and_repeat() -> None:
    for before, after, *_ in changes("swapped-words"):
        assert sorted(words(before)) == sorted(words(after)) and words(before) != words(after)
    for before, after, *_ in changes("repeated-word"):
        assert set(words(before)) == set(words(after)) and len(after) > len(before)


def test_letters_and_marks() -> None:
    for before, after, *_ in changes("misspelt"):
        ((_, [old], [new]),) = edits(words(before), words(after))
        assert difflib.SequenceMatcher(None, old, new).ratio() > 0.7
    for before, after, *_ in changes("letter-case"):
        assert before.lower() == after.lower()
    for before, after, *_ in changes("punctuation"):
        assert words(before) == words(after) and abs(len(before) - len(after)) <= 1
    for before, after, *_ in changes("spacing"):
        assert before.replace(" ", "") == after.replace(" ", "")


def test_text_of_the_other_side() -> None:
    for before, after, side, clean in changes("code-mixed"):
        new = [word for _, _, some in edits(words(before), words(after)) for word in some]
        assert new and set(new) <= set(words(clean[1 - side]))
    for before, after, side, clean in changes("untranslated"):
        new = [word for _, _, some in edits(words(before), words(after)) for word in some]
        assert set(new) <= set(words(clean[1 - side]))


def test_remarks_hold_the_text_or_refuse() -> None:
    held = [before in after for before, after, *_ in changes("remark")]
    assert 0.4 < sum(held) / len(held) < 1


@pytest.mark.parametrize("kind", MISTAKES)
def test_scripts_without_spaces_get_none(kind: str) -> None:
    if kind in ("related-word", "word-by-word", "negation-added", "remark", "misspelt"):
        return
    rows = [
        (f"我{n}住在北京，大房子里。", f"私は東京、家{n}に住んでいます。") for n in "一二三四五六"
    ]
    made = noisy_pairs(rows * 3, {kind: 1}, 1, NoiseSettings(("zh", "ja"), words=(1, 60)))
    damaged = [row for row in made if row[2] == kind]
    assert damaged or kind in ("letter-case", "other-form", "function-word")
    if kind not in ("spacing", "repeated-word", "clause-added"):
        assert not any(" " in row[0] + row[1] for row in damaged)


LINES = st.text(st.characters(exclude_characters="\n"), max_size=40)


@given(LINES, LINES, st.sampled_from([*MISTAKES]), st.integers(0, 99))
def test_any_text_is_taken(source: str, target: str, kind: str, seed: int) -> None:
    pairs = [(source, target), ("A cat, a dog.", "Eine Katze, ein Hund.")]
    for some, clean in zip(noisy_pairs(pairs, {kind: 1}, seed, SETTINGS), pairs, strict=True):
        assert some[2] == CLEAN or some[:2] != clean
        assert "\n" not in some[0] + some[1]


def test_the_worth_of_a_mistake() -> None:
    assert quality_of(CLEAN) == 1 and quality_of("shuffled") == 0 < quality_of("name") < 0.05
    assert all(0 < mistake.worth < 1 for mistake in MISTAKES.values())
    assert quality_of("punctuation") > quality_of("word-left-out") > quality_of("untranslated")


def test_the_same_seed_makes_the_same_mistakes() -> None:
    rates = dict.fromkeys(MISTAKES, 1 / len(MISTAKES))
    one, two, other = (list(noisy_pairs(PAIRS, rates, seed, SETTINGS)) for seed in (1, 1, 2))
    assert one == two != other


CASES = [
    ("cs", "To není pravda.", "To je pravda."),
    ("cs", "Nebyla doma a my nemůžeme čekat.", "Byla doma a my nemůžeme čekat."),
    ("cs", "Nebe je nemocné.", None), ("da", "Det er ikke sandt.", "Det er sandt."),
    ("de", "Das weiß ich nicht.", "Das weiß ich."), ("de", "Keine Angst", "Angst"),
    ("de", "Er ist kein Nichtraucher und keinem bekannt", "Er ist Nichtraucher und keinem bekannt"),
    ("de", "Niemand nickte, nichtig.", None),
    ("en", "It is not, I say, here.", "It is, I say, here."), ("en", "Not all of it", "All of it"),
    ("en", "We can't go.", "We can go."), ("en", "We cannot go.", "We can go."),
    ("en", "I won’t go.", "I will go."), ("en", "Shan't!", "Shall!"),
    ("en", "She doesn't know", "She does know"), ("en", "There is no time.", "There is time."),
    ("en", "No, thanks: No. 5, a nothing knot, do-not-call", None),
    ("es", "No es verdad.", "Es verdad."), ("es", "No, gracias.", None),
    ("fr", "Ce n'est pas vrai.", "Ce est vrai."), ("fr", "Ne pas ouvrir !", "Ouvrir !"),
    ("fr", "Il ne le sait plus.", "Il le sait."), ("fr", "Pas encore, un pas de plus.", None),
    ("it", "Non lo so.", "Lo so."), ("nb", "Jeg vet aldri.", "Jeg vet."),
    ("nl", "Er is geen tijd.", "Er is tijd."), ("pl", "Nie wiem.", "Wiem."), ("pl", "Nie!", None),
    ("pt", "Eu não sei.", "Eu sei."), ("ru", "Я не знаю, что небо.", "Я знаю, что небо."),
    ("sv", "Jag vet inte.", "Jag vet."), ("uk", "Я не знаю.", "Я знаю."), ("xx", "not nicht", None),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "expected"), CASES)
def test_negations(language: str, text: str, expected: str | None) -> None:
    results = {without_a_negation(text, language, random.Random(seed)) for seed in range(30)}
    assert expected in results
    assert (results == {None}) == (expected is None)


def test_every_language_is_tested() -> None:
    assert {language for language, _, expected in CASES if expected} == set(REMOVABLE_NEGATIONS)


def test_each_negation_may_go() -> None:
    text = "not here and not there"
    results = {without_a_negation(text, "en", random.Random(seed)) for seed in range(30)}
    assert results == {"here and not there", "not here and there"}
