"""The check of the columns: quiet on what is right or unclear, clear on what is wrong."""

import functools
import random

import pytest

from bitextfilter.text.language import check_columns
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import SegmenterSettings

ENGLISH = (
    "the a small old man woman child dog house garden river sees finds buys loves and but with "
    "without behind under never always today very quickly slowly red green long short water bread"
)
GERMAN = (
    "der die das ein kleiner alter mann frau kind hund haus garten fluss sieht findet kauft liebt "
    "und aber mit ohne hinter unter niemals immer heute sehr schnell langsam rot lang kurz wasser"
)
FRENCH = (
    "le la un petit vieux homme femme enfant chien maison jardin fleuve voit trouve achète aime "
    "et mais avec sans derrière sous jamais toujours aujourd'hui très vite rouge vert eau pain"
)
RUSSIAN = "старый человек видит большой дом и зелёный сад без воды но очень быстро сегодня"


def text(words: str, rows: int, seed: int = 0) -> list[str]:
    chooser = random.Random(seed)
    return [" ".join(chooser.choices(words.split(), k=9)).capitalize() + "." for _ in range(rows)]


@functools.cache
def processor(kind: str = "unigram") -> TextProcessor:
    settings = SegmenterSettings(kind, vocabulary_size=150)
    sides = text(ENGLISH, 400, seed=8), text(GERMAN, 400, seed=9)
    return TextProcessor.learn(*sides, ("en", "de"), Normalisation(), settings)


kinds = pytest.mark.parametrize("kind", ["unigram", "none"])


@kinds
@pytest.mark.parametrize("rows", [0, 5, 20, 300])
def test_quiet_where_all_is_well(kind: str, rows: int) -> None:
    assert check_columns(text(ENGLISH, rows), text(GERMAN, rows), processor(kind)) is None


@kinds
@pytest.mark.parametrize("rows", [20, 300])
def test_swapped(kind: str, rows: int) -> None:
    found = check_columns(text(GERMAN, rows), text(ENGLISH, rows), processor(kind))
    assert found is not None
    assert "swapped" in found
    assert "source column looks like de" in found


def test_one_language_twice() -> None:
    german = text(GERMAN, 50)
    assert check_columns(german, german, processor()) == "the source column looks like de, not en"
    english = text(ENGLISH, 50)
    assert check_columns(english, english, processor()) == "the target column looks like en, not de"


def test_another_language() -> None:
    found = check_columns(text(ENGLISH, 50), text(FRENCH, 50), processor())
    assert found == "the target column looks like another language, not de"


def test_another_script() -> None:
    found = check_columns(text(RUSSIAN, 50), text(GERMAN, 50), processor())
    assert found == "the source column looks like Cyrillic script, not en"
    unspaced = ["今日はとても大きな家を見ました、ソフトウェアです。GNU"] * 20
    found = check_columns(text(ENGLISH, 20), unspaced, processor())
    assert found == "the target column looks like Hiragana script, not de"


@pytest.mark.parametrize(
    "row",
    [
        "Johann Wolfgang von Goethe",
        "12,345.67 98 2021-05-04",
        "https://example.com/haus/und/garten",
        "Haus",
        "OK!",
        "%s: %d",
    ],
)
def test_quiet_on_what_is_of_no_language(row: str) -> None:
    assert check_columns([row] * 100, [row] * 100, processor()) is None


def test_quiet_on_a_mixture() -> None:
    mixture = text(ENGLISH, 50) + text(GERMAN, 50)
    assert check_columns(mixture, mixture, processor()) is None


def test_quiet_where_the_vocabulary_saw_too_little() -> None:
    sides = text(ENGLISH, 10), text(GERMAN, 10)
    thin = TextProcessor.learn(*sides, ("en", "de"), Normalisation(), SegmenterSettings("none"))
    assert check_columns(text(GERMAN, 50), text(ENGLISH, 50), thin) is None


def test_one_language_on_both_sides_is_never_swapped() -> None:
    sides = text(ENGLISH, 400, seed=8), text(ENGLISH, 400, seed=9)
    same = TextProcessor.learn(*sides, ("en", "en"), Normalisation(), SegmenterSettings("none"))
    assert check_columns(text(ENGLISH, 50, 1), text(ENGLISH, 50, 2), same) is None
