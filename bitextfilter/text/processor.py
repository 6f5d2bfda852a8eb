"""The text side of a model: sentences in, arrays of ids out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.pieces import Segmenter
from bitextfilter.text.segment import SegmenterSettings, learn, load_segmenter, save_segmenter
from bitextfilter.text.vocabulary import RESERVED, UNKNOWN, Vocabulary

__all__ = ["TextProcessor"]

_VOCABULARY = "vocabulary.tsv"
_WINDOW = 8192


class TextProcessor:
    """Normalises, segments and numbers sentences of two languages, by one vocabulary."""

    def __init__(
        self,
        languages: tuple[str, str],
        normalisation: Normalisation,
        segmenter: Segmenter,
        vocabulary: Vocabulary,
    ) -> None:
        """Put the parts together; *languages* are those of the source and target side."""
        self.languages = languages
        self.normalisation = normalisation
        self.segmenter = segmenter
        self.vocabulary = vocabulary
        self._number = segmenter.numbering(vocabulary.index)

    @classmethod
    def learn(
        cls,
        sources: Sequence[str],
        targets: Sequence[str],
        languages: tuple[str, str],
        normalisation: Normalisation,
        segmentation: SegmenterSettings | Segmenter,
    ) -> TextProcessor:
        """Learn one segmentation (or use a given one) and one vocabulary from both sides.

        They may differ in number. The vocabulary is every piece learnt that occurs, or, of
        segmentations without a fixed inventory, the ``vocabulary_size`` most frequent.
        """
        sides = [
            [normalisation(sentence, language) for sentence in sentences]
            for sentences, language in zip((sources, targets), languages, strict=True)
        ]
        everything = (sentence for side in sides for sentence in side)
        if isinstance(segmentation, SegmenterSettings):
            segmenter, settings = learn(everything, segmentation), segmentation
        else:
            segmenter, settings = segmentation, SegmenterSettings()
        known = segmenter.inventory()
        source_pieces, target_pieces = (
            ([p for p in pieces if known is None or p in known] for pieces in windows)
            for windows in (_by_windows(segmenter, side) for side in sides)
        )
        size = settings.vocabulary_size + len(RESERVED) if known is None else None
        vocabulary = Vocabulary.build(source_pieces, target_pieces, size)
        return cls(languages, normalisation, segmenter, vocabulary)

    def normalise(self, sentences: Sequence[str], language: str) -> list[str]:
        """Return *sentences* normalised; SettingsError unless *language* is one of the two."""
        if language not in self.languages:
            known = " and ".join(self.languages)
            raise SettingsError(f"the model knows {known}, not {language!r}")
        return [self.normalisation(sentence, language) for sentence in sentences]

    def ids(self, sentences: Sequence[str], language: str) -> list[npt.NDArray[np.int32]]:
        """Return the ids of each sentence, whole, without begin or end marks.

        Never empty: a sentence of which nothing is left is one ``UNKNOWN``. SettingsError
        unless *language* is one of the two.
        """
        nothing = np.array([UNKNOWN], dtype=np.int32)
        numbered = self._number(self.normalise(sentences, language))
        return [ids if len(ids) else nothing for ids in numbered]

    def config(self) -> dict[str, Any]:
        """Return the part of ``config.json`` that :meth:`load` needs."""
        return {
            "languages": list(self.languages),
            "normalisation": self.normalisation.to_dict(),
            "segmentation": self.segmenter.kind,
        }

    def save(self, folder: Path) -> None:
        """Write the segmenter and ``vocabulary.tsv`` into *folder*; the config is the caller's."""
        save_segmenter(self.segmenter, folder)
        self.vocabulary.save(folder / _VOCABULARY)

    @classmethod
    def load(cls, folder: Path, config: dict[str, Any]) -> TextProcessor:
        """Read what :meth:`save` wrote, with what :meth:`config` said.

        NotFoundError if a file is missing, ModelError if one is damaged or they disagree.
        """
        try:
            source, target = (str(language) for language in config["languages"])
            normalisation = Normalisation.from_dict(config["normalisation"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{folder}: config.json says too little about the text") from error
        except ModelError as error:
            raise ModelError(f"{folder}: {error}") from error
        segmenter = load_segmenter(folder)
        vocabulary = Vocabulary.load(folder / _VOCABULARY)
        processor = cls((source, target), normalisation, segmenter, vocabulary)
        if segmenter.kind != config.get("segmentation"):
            raise ModelError(f"{folder}: config.json and segmenter.json disagree on the kind")
        return processor


def _by_windows(segmenter: Segmenter, sentences: Sequence[str]) -> Iterator[list[str]]:
    """Yield the pieces of each sentence, some thousands of them in memory at a time."""
    for start in range(0, len(sentences), _WINDOW):
        yield from segmenter.segment_all(sentences[start : start + _WINDOW])
