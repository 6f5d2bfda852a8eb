"""Scores of sentence pairs by an encoder or model scorers, and of pairs made noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bitextfilter.arrays import Floats, Scores
from bitextfilter.damage.noise import CLEAN, NOISE_KINDS, NoiseSettings, even_rates, noisy_pairs
from bitextfilter.errors import SettingsError
from bitextfilter.evaluation.filtering import LabelledRows
from bitextfilter.filters.fluency import load_language_model
from bitextfilter.io.records import file_digest
from bitextfilter.languages import own_language
from bitextfilter.models.folders import full_model_digest
from bitextfilter.models.foreign import LANGUAGES
from bitextfilter.scoring.model import Model
from bitextfilter.scoring.model_scorers import WEIGHTS, Fluency, ModelScorers, check_scorers
from bitextfilter.similarity.vectors import cosine_pairs, euclidean_pairs
from bitextfilter.text.language import check_columns
from bitextfilter.text.processor import TextProcessor

if TYPE_CHECKING:
    from bitextfilter.translation.translator import AnyTranslator

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
    known = model.processor.known
    return own_language(first, known), own_language(second, known)


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
        model.check([measure])
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
    model.check(measures)
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


class ScorerFiles(NamedTuple):
    """Folders of at most two translators, language models of both sides, and weights."""

    translators: Sequence[str]
    language_models: tuple[str, str]
    """Files of the source's and the target's model; empty for none."""
    weights: tuple[float, float, float, float] = WEIGHTS
    """The weights of the log-linear measure."""


class LoadedScorers(NamedTuple):
    """Model scorers, the text processing of the first translator, and names with digests."""

    scorers: ModelScorers
    processor: TextProcessor | None
    facts: dict[str, str]


def load_model_scorers(
    files: ScorerFiles,
    measures: Sequence[str],
    languages: tuple[str, str] | None,
    device: str,
    threads: int,
) -> LoadedScorers:
    """Load translators and language models for the columns of a pair.

    ``languages``: of the columns; None for the first translator's. Raises SettingsError for
    models of other languages, and for measures that lack a model.
    """
    from bitextfilter.translation.translator import load_translator  # which loads torch

    folders = files.translators
    translators = [load_translator(Path(folder), device, threads) for folder in folders]
    digests = [full_model_digest(Path(folder)) for folder in folders]
    processor = translators[0].processor if translators else None
    languages = languages or (processor.languages if processor else ("", ""))
    directions = _directions([*zip(folders, translators, strict=True)], languages)
    by_direction = dict(zip((one.processor.languages for one in translators), digests, strict=True))
    source, target = files.language_models
    contents = file_digest(source) if source else "", file_digest(target) if target else ""
    forward, backward = languages, languages[::-1]
    scorers = ModelScorers(
        forward=directions.get(forward),
        backward=directions.get(backward),
        fluency=(_language_model(source), _language_model(target)),
        weights=files.weights,
        digests=(by_direction.get(forward, ""), by_direction.get(backward, ""), *contents),
    )
    check_scorers(scorers, measures)
    named = {
        "translators": _named(folders, digests),
        "language_models": _named(files.language_models, contents),
    }
    facts = {name: text for name, text in named.items() if text}
    return LoadedScorers(scorers, processor, facts)


def _directions(
    translators: Sequence[tuple[str, AnyTranslator]], languages: tuple[str, str]
) -> dict[tuple[str, str], AnyTranslator]:
    """Return the translators of folders by their languages; SettingsError for other languages."""
    found: dict[tuple[str, str], AnyTranslator] = {}
    for folder, translator in translators:
        own = translator.processor.languages
        if not all(own):
            raise SettingsError(
                f"{folder} does not say which languages it is for: write"
                f' {{"languages": ["en", "de"]}} into its {LANGUAGES}'
            )
        left = [pair for pair in dict.fromkeys((languages, languages[::-1])) if pair not in found]
        if own not in left:
            wanted = " or ".join(f"{one} into {other}" for one, other in left)
            raise SettingsError(
                f"--translator {folder} is from {own[0]} into {own[1]}, "
                + (f"not {wanted}" if wanted else "as the first is: one is enough")
            )
        found[own] = translator
    return found


def _named(paths: Sequence[str], digests: Sequence[str]) -> str:
    """Return the names of models, without folders, with their digests."""
    pairs = zip(paths, digests, strict=True)
    return ", ".join(f"{Path(path).name} {digest[:12]}" for path, digest in pairs if path)


def _language_model(path: str) -> Fluency | None:
    """Return the mean natural-log probability of a token by a file's model; None for no file."""
    if not path:
        return None
    model = load_language_model(path)

    def fluency(sentences: Sequence[str]) -> Floats:
        logarithms, tokens = model.scores(sentences)
        return log(10) * logarithms / tokens

    return fluency
