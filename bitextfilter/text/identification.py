"""Which language is a sentence in? Several identifiers behind one interface.

An identifier says how probable it is that a sentence is in a given language. Packages are
imported when an identifier is made; models come with the packages, or, for fastText, as a file.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Protocol

import numpy as np

from bitextfilter.errors import DeviceError, ModelError, NotFoundError, SettingsError

__all__ = ["IDENTIFIERS", "Identifier", "load_identifier"]


class Identifier(Protocol):
    """Says how probable a language is."""

    minimum: float
    """Below this probability a sentence is hardly in the language, as measured on clean text."""

    def knows(self, language: str) -> bool:
        """Say whether *language* (ISO 639-1, or what a fastText model calls it) is known."""

    def probability(self, sentence: str, language: str) -> float:
        """Return the probability that *sentence* is in *language*: 0 to 1, higher is better.

        1 where there is too little text to tell.
        """


class Langid:
    """py3langid (Lui & Baldwin 2012): the posterior of naive Bayes over byte n-grams."""

    minimum = 1e-4

    def __init__(self) -> None:
        """Load the model of the package."""
        module = _module("py3langid.langid", "py3langid")
        self._model = module.LanguageIdentifier.from_model_file(module.MODEL_FILE)
        self._labels = frozenset(self._model.labels)

    def knows(self, language: str) -> bool:
        """Say whether *language* is one of the model's."""
        return language in self._labels

    def probability(self, sentence: str, language: str) -> float:
        """Return the posterior of *language* under equal priors."""
        scores = dict(self._model.rank(sentence))
        logs = np.fromiter(scores.values(), dtype=np.float64)
        return float(np.exp(scores[language] - np.logaddexp.reduce(logs)))


class Cld2:
    """CLD2: the share of the text that is in the language, told which one is expected."""

    minimum = 0.01
    _NAMES: ClassVar = {"he": "iw", "nb": "no"}

    def __init__(self) -> None:
        """Load the library."""
        self._library = _module("pycld2", "pycld2")
        self._known = {code for _, code in self._library.LANGUAGES}

    def knows(self, language: str) -> bool:
        """Say whether *language* is one that CLD2 detects."""
        name: str = self._NAMES.get(language, language)
        return name in self._known

    def probability(self, sentence: str, language: str) -> float:
        """Return the share of *language*, 1 where CLD2 is not sure or cannot read the text."""
        name: str = self._NAMES.get(language, language)
        try:
            reliable, _, details = self._library.detect(
                sentence, isPlainText=True, bestEffort=True, hintLanguage=name
            )
        except self._library.error:
            return 1.0
        if not reliable or details[0][1] == "un":
            return 1.0
        return float(sum(share for _, code, share, _ in details if code == name) / 100)


class Lingua:
    """Lingua: its confidence, over all languages it knows (slow, good at short text)."""

    minimum = 0.01

    def __init__(self) -> None:
        """Load the library; models of languages are read when they are first needed."""
        self._library = _module("lingua", "lingua-language-detector")
        languages = self._library.Language.all()
        self._languages = {each.iso_code_639_1.name.lower(): each for each in languages}
        builder = self._library.LanguageDetectorBuilder.from_languages(*languages)
        self._detector = builder.build()

    def knows(self, language: str) -> bool:
        """Say whether *language* is one of Lingua's."""
        return language in self._languages

    def probability(self, sentence: str, language: str) -> float:
        """Return the confidence; 1 for text without letters."""
        values = self._detector.compute_language_confidence_values(sentence)
        if not any(value.value for value in values):
            return 1.0
        wanted = self._languages[language]
        return float(next(value.value for value in values if value.language == wanted))


class FastText:
    """A fastText model that the user gives: its probability of the label of the language."""

    minimum = 0.01
    _PREFIX = "__label__"

    def __init__(self, path: str) -> None:
        """Load the model at *path*. Raises NotFoundError, and ModelError for another file."""
        if not Path(path).is_file():
            raise NotFoundError(f"{path}: no such file")
        library = _module("fasttext", "fasttext-numpy2")
        try:
            self._model = library.load_model(path)
            labels = self._model.get_labels()
        except ValueError as error:
            raise ModelError(f"{path}: not a fastText model: {error}") from error
        self._labels = frozenset(label.removeprefix(self._PREFIX) for label in labels)

    def knows(self, language: str) -> bool:
        """Say whether the model has such a label, or just one like ``eng_Latn`` for ``eng``."""
        return self._label(language) is not None

    def probability(self, sentence: str, language: str) -> float:
        """Return the probability of the label; 1 for text without words."""
        if not sentence.split():
            return 1.0
        labels, values = self._model.predict(" ".join(sentence.split()), k=-1)
        found: dict[str, float] = dict(zip(labels, map(float, values), strict=True))
        return min(1.0, found.get(f"{self._PREFIX}{self._label(language)}", 0.0))

    def _label(self, language: str) -> str | None:
        if language in self._labels:
            return language
        like = [label for label in self._labels if label.startswith(f"{language}_")]
        return like[0] if len(like) == 1 else None


IDENTIFIERS: dict[str, Callable[[], Identifier]] = {
    "py3langid": Langid,
    "cld2": Cld2,
    "lingua": Lingua,
}
"""The identifiers that bring their own models; any other name is the path of a fastText model."""


@functools.cache
def load_identifier(name: str) -> Identifier:
    """Return the identifier called *name*, or the fastText model at that path.

    Raises DeviceError where its package is not installed, NotFoundError and ModelError for a
    fastText model, SettingsError for a name that is neither.
    """
    if name in IDENTIFIERS:
        return IDENTIFIERS[name]()
    if "/" not in name and not name.endswith((".bin", ".ftz")) and not Path(name).exists():
        known = ", ".join(IDENTIFIERS)
        raise SettingsError(f"{name!r} is none of {known}, nor a fastText model (.bin, .ftz)")
    return FastText(name)


def _module(name: str, package: str) -> Any:
    """Import a module of an optional *package*."""
    try:
        module: ModuleType = importlib.import_module(name)
    except ImportError as error:
        raise DeviceError(f"{package} is not installed: pip install {package}") from error
    return module
