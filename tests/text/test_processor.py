"""The text side of a model as a whole."""

from pathlib import Path

import numpy as np
import pytest

from bitextfilter.errors import ModelError, NotFoundError, SettingsError
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import UNKNOWN, SegmenterSettings
from bitextfilter.text.trigrams import TrigramSettings

SOURCES = ["The house is big.", "A small house", "the  Tree"] * 20
TARGETS = ["Das Haus ist groß.", "Ein kleines Haus", "der Baum", "Haus"] * 20


@pytest.fixture(params=["unigram", "none"])
def processor(request: pytest.FixtureRequest) -> TextProcessor:
    settings = SegmenterSettings(request.param, vocabulary_size=60)
    return TextProcessor.learn(SOURCES, TARGETS, ("en", "de"), Normalisation(), settings)


def test_ids_are_those_of_normalised_pieces(processor: TextProcessor) -> None:
    pieces = processor.segmenter.segment("das haus ist groß.")
    (ids,) = processor.ids(["  DAS Haus\tist groß. "], "de")
    assert ids.tolist() == processor.vocabulary.ids(pieces).tolist()
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

    processor.learn_trigrams(SOURCES, TARGETS, TrigramSettings(size=2))
    small = read("haus", "de")
    assert small[0] == processor.ids(["haus"], "de")[0].tolist()
    processor.learn_trigrams(SOURCES, TARGETS, TrigramSettings(size=60))
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
