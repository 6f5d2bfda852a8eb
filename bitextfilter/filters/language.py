"""Rules of language: is each side in the language that it should be in?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs, Side
from bitextfilter.filters.rule import Bounded, Cost, Languages
from bitextfilter.text.language import load_identifier


@dataclass(frozen=True)
class Language(Bounded):
    """Each side is in its language, as an identifier sees it: py3langid, cld2, lingua, or a file.

    The file is a fastText model; ``labels=eng_Latn,deu_Latn`` says what it calls the languages
    where it has other names for them. Without ``minimum``, each identifier has its own, low
    enough for names and short text: it drops what is hardly possible, not what is doubtful. A
    side with fewer letters than ``letters`` is let be.
    """

    name = "language"
    unit = "0 to 1: probability of the language, of each side"
    origin = "OpusFilter's Langid, Cld2, Lingua and FastText filters; Bicleaner no_wrong_language"
    cost = Cost.MODEL
    needs_languages = True

    identifier: str = "py3langid"
    labels: str | None = None
    letters: int = 8

    def prepare(self, languages: Languages) -> None:
        """Raise what ``load_identifier`` does, and SettingsError for a language it lacks."""
        super().prepare(languages)
        identifier = load_identifier(self.identifier)
        for language in self._names(languages):
            if language is not None and not identifier.knows(language):
                raise SettingsError(
                    f"{self.name}: {self.identifier} does not know the language {language!r}"
                )

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds, with the identifier's own minimum where none is given."""
        low, high = super().bounds
        return (load_identifier(self.identifier).minimum if self.minimum is None else low), high

    def __post_init__(self) -> None:
        """Raise SettingsError for labels that are not two, or bounds that exclude each other."""
        if self.minimum is not None:
            super().__post_init__()
        if self.labels is not None and len(self.labels.split(",")) != 2:
            raise SettingsError(f"{self.name}: labels are two, as eng_Latn,deu_Latn")

    def values(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the probabilities."""
        names = self._names(pairs.languages)
        sides = zip(pairs.sides, names, strict=True)
        return np.stack([self._probabilities(side, name) for side, name in sides], axis=1)

    def _names(self, languages: Languages) -> tuple[str | None, ...]:
        if self.labels is not None:
            return tuple(self.labels.split(","))
        return languages or (None, None)

    def _probabilities(self, side: Side, language: str | None) -> NDArray[np.float64]:
        values = np.ones(len(side))
        if language is None:
            return values
        identifier = load_identifier(self.identifier)
        for index in np.flatnonzero(side.count(side.category_in("L")) >= self.letters).tolist():
            values[index] = identifier.probability(side.sentences[index], language)
        return values
