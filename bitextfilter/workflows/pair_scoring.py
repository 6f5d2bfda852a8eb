"""Scores of sentence pairs by a model, in any of its languages, and of pairs made noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from bitextfilter.arrays import Scores
from bitextfilter.corpus.noise import CLEAN, NOISE_KINDS, NoiseSettings, even_rates, noisy_pairs
from bitextfilter.errors import SettingsError
from bitextfilter.evaluation.filtering import LabelledRows
from bitextfilter.scoring.model import Model, check_measures
from bitextfilter.similarity.vectors import cosine_pairs, euclidean_pairs
from bitextfilter.text.language import check_columns

_ANY_LANGUAGES = {"cosine": cosine_pairs, "euclidean": euclidean_pairs}
"""The measures for pairs in any of the model's languages."""

NOISE_RATE = 0.5
"""The part of the clean pairs that is made noise."""

_DIGITS = 4
"""Decimals that scores are rounded to, as bitext-score writes them."""


def model_languages(model: Model, chosen: tuple[str, ...] | None) -> tuple[str, str]:
    """Return the languages of both kinds of text: those chosen, or the model's.

    Raises SettingsError for one that the model does not know.
    """
    first, *_, second = 2 * (chosen or model.languages)
    for language in (first, second):
        if language not in model.languages:
            known = " and ".join(dict.fromkeys(model.languages))
            raise SettingsError(f"the model's languages are {known}, not {language!r} (--language)")
    return first, second


def looks_foreign(model: Model, language: str, sentences: Sequence[str]) -> bool:
    """Whether *sentences* do not look like a *language* of the model; False if in doubt."""
    first = language == model.languages[0]
    columns: tuple[Sequence[str], Sequence[str]] = (sentences, []) if first else ([], sentences)
    return check_columns(*columns, model.processor) is not None


class PairMeasure:
    """A measure of a model, for pairs in its two languages or others of them."""

    def __init__(self, model: Model, measure: str, languages: tuple[str, ...] | None) -> None:
        """Raise SettingsError for a language or a measure that the model lacks."""
        self._model, self._measure = model, measure
        self._languages = model_languages(model, languages)
        check_measures(model, [measure], model.background)
        self._usual = self._languages == model.languages
        if not self._usual and measure not in _ANY_LANGUAGES:
            known = " and ".join(_ANY_LANGUAGES)
            raise SettingsError(f"--language goes with {known}, not with {measure}")

    def __call__(self, sources: Sequence[str], targets: Sequence[str]) -> Scores:
        """Score ``n`` sources and targets → ``(n,)``."""
        if self._usual:
            return self._model.score(sources, targets, [self._measure])[self._measure]
        similarity = _ANY_LANGUAGES[self._measure]
        return similarity(*map(self._model.encode, (sources, targets), self._languages))

    def doubt(self, sources: Sequence[str], targets: Sequence[str]) -> str | None:
        """Return a warning if sources and targets do not look like their languages."""
        if self._usual:
            return check_columns(sources, targets, self._model.processor)
        sides = zip(("source", "target"), (sources, targets), self._languages, strict=True)
        for name, side, language in sides:
            if looks_foreign(self._model, language, side):
                return f"the {name} column does not look like {language}"
        return None


@dataclass(frozen=True)
class NoiseTest:
    """Settings of scored pairs, half of them made noise."""

    measure: str | None
    """The model's default if None."""
    sides: tuple[str, ...]
    """``source``, ``target`` or both: the sides whose words are counted."""
    seed: int = 1
    batch_size: int = 8192
    """Pairs held in memory at a time; no result depends on it."""


def noise_test(
    model: Model,
    pairs: Iterable[tuple[str, str]],
    test: NoiseTest,
    note: Callable[[str], None],
) -> LabelledRows:
    """Make half of the clean *pairs* noise and score all; *note* reports kinds left out.

    Raises SettingsError, DeviceError or ModelError where the model lacks the measure.
    """
    measures = [test.measure] if test.measure else []
    check_measures(model, measures, model.background)
    settings = NoiseSettings(languages=model.languages)
    rates = even_rates(NOISE_RATE, settings)
    if lacking := [kind for kind in NOISE_KINDS if kind not in rates]:
        note(f"without the noise {', '.join(lacking)}: see bitext-noise and --labels")
    collected = LabelledRows(CLEAN)
    noisy = noisy_pairs(iter(pairs), rates, test.seed, settings)
    while window := list(islice(noisy, test.batch_size)):
        sources, targets, labels = zip(*window, strict=True)
        (scores,) = model.score(sources, targets, measures).values()
        sides = {"source": sources, "target": targets}
        counted = zip(*(sides[side] for side in test.sides), strict=True)
        for score, label, texts in zip(scores.tolist(), labels, counted, strict=True):
            collected.add(round(score, _DIGITS), label, texts)
    return collected
