"""The paraphrase score: how near the two sides' vectors are."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.rule import Bounded, Cost, Languages

if TYPE_CHECKING:
    from bitextfilter.encoders.base import Encoder

__all__ = ["ParaphraseScore"]


@dataclass(frozen=True)
class ParaphraseScore(Bounded):
    """The cosine of the sides' vectors, by an averaging model or any other (``model``).

    Source and target are encoded as the model's first and second language: a model of one
    language has it on both sides.
    """

    name = "paraphrase-score"
    unit = "-1 to 1: cosine of the two sentence vectors"
    origin = "Wieting & Gimpel 2018, section 4 (cosine of averaged word vectors)"
    cost = Cost.MODEL

    minimum: float | None = 0.5
    model: str = "en-de"

    def prepare(self, languages: Languages) -> None:
        """Raise NotFoundError or ModelError where the model cannot be loaded."""
        super().prepare(languages)
        _encoder(self.model)

    def values(self, pairs: Pairs) -> NDArray[np.float32]:
        """Return the cosines."""
        from bitextfilter.similarity.vectors import cosine_pairs

        encoder = _encoder(self.model)
        vectors = (
            encoder.encode(side.sentences, language)
            for side, language in zip(pairs.sides, encoder.languages, strict=True)
        )
        return cosine_pairs(*vectors)


@functools.lru_cache(maxsize=4)
def _encoder(model: str) -> Encoder:
    from bitextfilter.encoders.registry import load_encoder
    from bitextfilter.models.folders import find

    return load_encoder(find(model))
