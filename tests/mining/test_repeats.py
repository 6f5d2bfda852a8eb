"""Repeated sentences in documents: a link never holds one twice for nothing."""

from __future__ import annotations

import pytest

from bitextfilter.mining import documents
from bitextfilter.mining.chunks import LinkSettings
from bitextfilter.mining.documents import Repeats, _echo, aligner
from bitextfilter.mining.monotonic import LinkSize
from bitextfilter.scoring.model import Model, load

ENGLISH = [
    "The cat sleeps on the sofa.", "* * *", "The dog is in the garden.", "No, no!",
    "We are going to the cinema tomorrow.",
]  # fmt: skip
GERMAN = [
    "Die Katze schläft auf dem Sofa.", "***", "Der Hund ist im Garten.", "Nein!",
    "Wir gehen morgen ins Kino.",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0), ("never more", 0), ("no no", 1), ("so no no no", 1), ("the cat and the dog", 0),
        ("never more never more", 2), ("he said never more never more", 2),
        ("one two three one two four", 0),
    ],
)  # fmt: skip
def test_words_that_stand_twice_in_a_row(text: str, words: int) -> None:
    assert _echo(text.split()) == words


def impossible(source: list[str], target: list[str]) -> bool:
    size = LinkSize(len(source), len(target))
    repeats = Repeats((source, target), max(size))
    found = repeats.impossible(
        size, slice(len(source), len(source) + 1), slice(len(target), len(target) + 1)
    )
    return bool(found[0, 0])


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (["A cat."], ["Eine Katze."], False),
        (["A cat."], ["Eine Katze.", "Eine  KATZE!"], True),
        (["A cat.", "A cat."], ["Eine Katze."], True),
        (["A cat.", "A cat."], ["Eine Katze.", "Eine Katze."], False),
        (["A cat, a cat."], ["Eine Katze.", "Eine Katze."], False),
        (["* * *"], ["***", "***"], True),
        (["No."], ["Nein.", "Nein."], True),
        (["No, no."], ["Nein.", "Nein."], False),
        (["The cat of the house."], ["Die Katze des Hauses.", "Die Katze des Hauses."], True),
        (["A cat."], ["Eine Katze.", "Ein Hund.", "Eine Katze."], False),
    ],
)
def test_links_that_a_repeat_alone_makes(
    source: list[str], target: list[str], expected: bool
) -> None:
    assert impossible(source, target) is expected
    assert impossible(target, source) is expected


@pytest.fixture(scope="module")
def model() -> Model:
    return load("en-de")


@pytest.mark.parametrize("classifier", [False, True])
@pytest.mark.parametrize("place", [0, 1, 2, 4])
@pytest.mark.parametrize("side", [0, 1])
def test_a_repeat_is_left_out(model: Model, side: int, place: int, classifier: bool) -> None:
    sides = [list(ENGLISH), list(GERMAN)]
    sides[side][place:place] = [sides[side][place]] * 2
    align = aligner("model", LinkSettings(), model, classifier)
    links = [link for link in align(*sides).links if link.score is not None]
    texts = [
        tuple(" ".join(text[n] for n in part) for text, part in zip(sides, link[:2], strict=True))
        for link in links
    ]
    assert texts == list(zip(ENGLISH, GERMAN, strict=True))


def test_a_translation_that_repeats_itself_is_linked_whole(model: Model) -> None:
    target = [*GERMAN[:3], "Nein!", "Nein!", GERMAN[4]]
    links = aligner("model", LinkSettings(), model)(ENGLISH, target).links
    assert [(list(link.source), list(link.target)) for link in links][3] == ([3], [3, 4])


@pytest.mark.parametrize("way", ["lengths", "words"])
def test_other_ways_leave_repeats_out(way: str) -> None:
    target = [text for text in GERMAN for _ in range(2)]
    if way == "lengths":
        links = documents.align_by_lengths(ENGLISH, target).links
    else:
        links = documents.align_by_words(ENGLISH, target, LinkSettings()).links
    for link in links:
        if len(link.source) == 1 and link.source[0] != 3:
            assert len({target[place] for place in link.target}) == len(link.target)
