"""The pair classifiers by kind, and their files in a model folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.models.checkpoint import load_parameters, save_tensors
from bitextfilter.models.folders import read_config, write_config
from bitextfilter.settings import current_names
from bitextfilter.similarity.sentence_classifier import (
    SentenceClassifier,
    SentenceClassifierSettings,
)
from bitextfilter.similarity.word_classifier import WordClassifier
from bitextfilter.similarity.word_network import WordClassifierSettings

PairClassifier = SentenceClassifier | WordClassifier
ClassifierSettings = SentenceClassifierSettings | WordClassifierSettings

_KINDS: dict[str, type[ClassifierSettings]] = {
    SentenceClassifier.kind: SentenceClassifierSettings,
    WordClassifier.kind: WordClassifierSettings,
}
_PART = "classifier"
"""The section of the configuration, and the name of the tensors' file."""


def build_classifier(settings: ClassifierSettings) -> PairClassifier:
    """Return a classifier, randomly initialised by torch's global generator."""
    if isinstance(settings, SentenceClassifierSettings):
        return SentenceClassifier(settings)
    return WordClassifier(settings)


def save_classifier(classifier: PairClassifier, folder: Path, quantise: bool = False) -> None:
    """Write the tensors (``quantise``: as int8), and add the settings to ``config.json``."""
    save_tensors(folder / f"{_PART}.safetensors", classifier.state_dict(), quantise)
    section = {"kind": classifier.kind, **asdict(classifier.settings)}
    write_config(folder, {**read_config(folder), _PART: section})


def load_classifier(folder: Path) -> PairClassifier | None:
    """Read the classifier of a model folder; None if its configuration has none.

    Raises:
        NotFoundError: no model there, or the tensors are missing.
        ModelError: the model is damaged, or of a newer version.
    """
    section = read_config(folder).get(_PART)
    if section is None:
        return None
    try:
        values = current_names(dict(section))
        settings = _KINDS[values.pop("kind", SentenceClassifier.kind)](**values)
    except (TypeError, ValueError, KeyError, SettingsError) as error:
        raise ModelError(
            f"{folder}: the configuration's classifier is unusable: {error}"
        ) from error
    classifier = load_parameters(folder, _PART, lambda: build_classifier(settings))
    if not float(classifier.temperature) > 0:
        raise ModelError(f"{folder / _PART}.safetensors: the temperature must be above 0")
    return classifier.eval()
