"""The text processing of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bitextfilter.errors import ModelError, NotFoundError, SettingsError
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor, TokenCache
from bitextfilter.text.ragged import PIECES, TRIGRAMS, Ragged, View
from bitextfilter.text.segment import SEGMENTERS, UNKNOWN, SegmenterSettings
from bitextfilter.text.trigrams import TrigramSettings

SOURCES = ["The house is big.", "A small house", "the  Tree"] * 20
TARGETS = ["Das Haus ist groß.", "Ein kleines Haus", "der Baum", "Haus"] * 20


@pytest.fixture(params=["unigram", "none"])
def processor(request: pytest.FixtureRequest) -> TextProcessor:
    settings = SegmenterSettings(request.param, vocabulary_size=60)
    return TextProcessor.learn((SOURCES, TARGETS), ("en", "de"), Normalisation(), settings)


def test_ids_are_those_of_normalised_pieces(processor: TextProcessor) -> None:
    pieces = processor.segmenter.segment_all(["das haus ist groß."])[0]
    (ids,) = processor.ids(["  DAS Haus\tist groß. "], "de")
    assert ids.tolist() == [processor.vocabulary.index.get(piece, UNKNOWN) for piece in pieces]
    assert ids.dtype == np.int32
    assert UNKNOWN not in ids


def test_many_sentences_are_read_as_one_by_one(processor: TextProcessor) -> None:
    many = [TARGETS[number % 4] for number in range(8192 + 3)]
    alone = [processor.ids([sentence], "de")[0].tolist() for sentence in TARGETS[:4]]
    assert [ids.tolist() for ids in processor.ids(many, "de")] == [
        alone[number % 4] for number in range(len(many))
    ]


def test_no_sentence_is_empty(processor: TextProcessor) -> None:
    assert [ids.tolist() for ids in processor.ids(["", " \u200b"], "en")] == [[UNKNOWN]] * 2
    assert processor.ids([], "en") == []


def test_what_is_remembered_is_of_one_language_one_view_and_these_trigrams(
    processor: TextProcessor,
) -> None:
    def read(text: str, language: str) -> list[list[int]]:
        views = processor.read([text], language, ("pieces", "trigrams"))
        return [view.ids().flat.tolist() for view in views.values()]

    processor.learn_trigrams((SOURCES, TARGETS), TrigramSettings(size=2))
    small = read("haus", "de")
    assert small[0] == processor.ids(["haus"], "de")[0].tolist()
    processor.learn_trigrams((SOURCES, TARGETS), TrigramSettings(size=60))
    large = read("haus", "de")
    assert large[0] == small[0]
    assert len(large[1]) > len(small[1])
    assert [row.tolist() for row in processor.ids(["haus"], "en", "trigrams")] == [large[1]]


def test_unknown_language(processor: TextProcessor) -> None:
    with pytest.raises(SettingsError, match="en and de, not 'fr'"):
        processor.ids(["le chat"], "fr")


def test_vocabulary_counts_both_sides(processor: TextProcessor) -> None:
    counts = dict(
        zip(processor.vocabulary.pieces, processor.vocabulary.counts.tolist(), strict=True)
    )
    whole = [piece for piece in counts if piece.strip("▁") == "haus"]
    assert sum(counts[piece][1] for piece in whole) == 60
    assert sum(counts[piece][0] for piece in whole) == 0


def test_saved_and_loaded_is_equal(processor: TextProcessor, tmp_path: Path) -> None:
    processor.save(tmp_path)
    loaded = TextProcessor.load(tmp_path, processor.config())
    for language in ("en", "de"):
        for one, other in zip(
            processor.ids(TARGETS, language), loaded.ids(TARGETS, language), strict=True
        ):
            np.testing.assert_array_equal(one, other)
    assert loaded.config() == processor.config()


@pytest.mark.parametrize(
    "change",
    [
        {"languages": ["en"]},
        {"languages": None},
        {"normalisation": {"lowercase": 1}},
        {"segmentation": "bpe"},
    ],
)
def test_config_that_does_not_fit(
    processor: TextProcessor, tmp_path: Path, change: dict[str, object]
) -> None:
    processor.save(tmp_path)
    with pytest.raises(ModelError):
        TextProcessor.load(tmp_path, processor.config() | change)


def test_missing_files(processor: TextProcessor, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="missing"):
        TextProcessor.load(tmp_path, processor.config())


Ids = dict[str, list[list[int]]]


class Looker:
    """Two views of a token: its characters, and its length if that is odd."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, tokens: list[str]) -> Mapping[str, Ragged]:
        if "bad" in tokens:
            raise ValueError("bad")
        self.seen += tokens
        return {
            "characters": Ragged.of_lists([[ord(mark) for mark in token] for token in tokens]),
            "odd": Ragged.of_lists([[len(token)] * (len(token) % 2) for token in tokens]),
        }


def lists(read: tuple[Ragged, Mapping[str, Ragged]]) -> Ids:
    """The ids of each sentence."""
    rows, views = read
    return {view: [row.tolist() for row in View(rows, ids).ids()] for view, ids in views.items()}


def seen(tokens: list[str]) -> Ids:
    return {view: [row.tolist() for row in ids] for view, ids in Looker()(tokens).items()}


@given(st.lists(st.lists(st.text("abc", min_size=1, max_size=4))), st.integers(0, 6))
def test_what_is_remembered_is_what_is_seen(windows: list[list[str]], most: int) -> None:
    cache = TokenCache(Looker(), most)
    for tokens in windows:
        assert lists(cache.read(tokens)) == seen(tokens)


def test_each_token_is_looked_at_once_until_there_are_too_many() -> None:
    looker = Looker()
    cache = TokenCache(looker, most=3)
    for tokens in (["a", "b"], ["b", "c", "d"], []):
        cache.read(tokens)
    assert looker.seen == ["", "a", "b", "c", "d", ""]
    assert lists(cache.read(["d"])) == {"characters": [[100]], "odd": [[1]]}
    assert looker.seen == ["", "a", "b", "c", "d", "", "d"]


def test_a_few_long_tokens_are_too_many() -> None:
    looker = Looker()
    cache = TokenCache(looker, most=10)
    for tokens in (["a"], ["b" * 11], ["a"]):
        cache.read(tokens)
    assert looker.seen == ["", "a", "b" * 11, "", "a"]


def test_what_went_wrong_is_not_remembered() -> None:
    cache = TokenCache(Looker())
    cache.read(["a"])
    for tokens in (["b", "bad"], ["bad", "c"]):
        with pytest.raises(ValueError, match="bad"):
            cache.read(tokens)
    tokens: Sequence[str] = ["c", "a", "b"]
    assert lists(cache.read(tokens)) == seen(list(tokens))


def test_rows_behind_rows() -> None:
    both = Ragged.of_lists([[1, 2], []]).followed_by(Ragged.of_lists([[3]]))
    assert [row.tolist() for row in both] == [[1, 2], [], [3]]
    assert both.lengths.dtype == np.int64


TEXT = ["Das Haus, das große.", "ein Baum", "Bäume und Häuser!", "1 + 1 = 2"] * 20
AWKWARD = ["", " ", "\0", "a\0b", "\u200b", "e \u0301", "Haus\u00a0Baum", "ΣΑΣ", "\u2581", "日本"]
sentences = st.lists(
    st.lists(st.sampled_from([*" ".join(TEXT[:4]).split(), *AWKWARD]) | st.text(max_size=4)).map(
        " ".join
    ),
    max_size=6,
)


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("apart", [True, False])
@given(text=st.text() | sentences.map(" ".join))
def test_words_are_normalised_by_themselves(text: str, lowercase: bool, apart: bool) -> None:
    normalisation = Normalisation(lowercase=lowercase, apart=apart)
    assert normalisation.by_words
    words = [word for raw in text.split() for word in normalisation(raw, "en").split()]
    assert words == normalisation(text, "en").split()


def test_sacremoses_looks_at_whole_sentences() -> None:
    assert not Normalisation(tokenise=True).by_words
    assert not Normalisation(punctuation=True).by_words


@cache
def learnt(kind: str, tokenise: bool) -> TextProcessor:
    normalisation = Normalisation(apart=not tokenise, tokenise=tokenise)
    settings = SegmenterSettings(kind, vocabulary_size=50, merges=9)
    made = TextProcessor.learn((TEXT, TEXT), ("de", "de"), normalisation, settings)
    made.learn_trigrams((TEXT, TEXT), TrigramSettings())
    return made


@pytest.mark.gate(4)
@pytest.mark.parametrize("tokenise", [False, True])
@pytest.mark.parametrize("kind", SEGMENTERS)
@given(some=sentences)
@example(some=["", "Das Haus\0Baum", "\0", "\0 \u200b", "Haus"])
def test_read_is_as_sentence_by_sentence(kind: str, tokenise: bool, some: list[str]) -> None:
    made = learnt(kind, tokenise)
    assert made.trigrams is not None
    read = made.read(some, "de", (PIECES, TRIGRAMS))
    for place, sentence in enumerate(made.normalise(some, "de")):
        (cut,) = made.segmenter.segment_all([sentence])
        pieces = [made.vocabulary.index.get(piece, UNKNOWN) for piece in cut] or [UNKNOWN]
        trigrams = [i for word in sentence.split() for i in made.trigrams([word]).flat.tolist()]
        expected = {PIECES: pieces, TRIGRAMS: trigrams or [UNKNOWN]}
        for view, ids in expected.items():
            for form in (read[view], read[view].one_by_one()):
                assert list(form.ids())[place].tolist() == ids
    assert set(read[PIECES].one_by_one().tokens.lengths.tolist()) <= {1}


@pytest.mark.parametrize("kind", ["unigram", "sentencepiece-bpe", "bpe", "none"])
def test_words_of_scripts_without_spaces_are_cut_into_pieces(kind: str) -> None:
    chinese = ["我们吃鱼", "他们吃鱼", "我们看书", "他们看书"] * 9
    english = ["we eat fish", "they eat fish", "we read", "they read"] * 9
    settings = SegmenterSettings(kind, 60, 30)
    made = TextProcessor.learn((english, chinese), ("en", "zh"), Normalisation(), settings)
    assert made.cut("fish") == ["fish"] and made.cut("naïve") == ["naïve"]
    for word in ("我们吃鱼", "他们看鱼", "ภาษาไทย", "吃x鱼鱼", "ภ"):
        parts = made.cut(word)
        assert "".join(parts) == word
        if word == "他们看鱼" and kind != "none":
            assert len(parts) > 1
