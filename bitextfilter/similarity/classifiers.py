"""The kinds of classifiers by name, and their part of a model folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.models.checkpoint import load_into, load_tensors, save_tensors
from bitextfilter.models.folders import read_config, write_config
from bitextfilter.similarity.classifier import Classifier, ClassifierSettings
from bitextfilter.similarity.word_classifier import WordClassifier
from bitextfilter.similarity.word_network import WordClassifierSettings

PairClassifier = Classifier | WordClassifier
Shape = ClassifierSettings | WordClassifierSettings

_SHAPES: dict[str, type[Shape]] = {
    Classifier.kind: ClassifierSettings,
    WordClassifier.kind: WordClassifierSettings,
}
_TENSORS = "classifier.safetensors"
_SECTION = "classifier"


def build(shape: Shape) -> PairClassifier:
    """Return a classifier of that shape, fresh from torch's generator of chance."""
    if isinstance(shape, ClassifierSettings):
        return Classifier(shape)
    return WordClassifier(shape)


def save(classifier: PairClassifier, folder: Path, quantise: bool = False) -> None:
    """Write the tensors (``quantise``: as int8) and add the shape to the folder's config."""
    save_tensors(folder / _TENSORS, classifier.state_dict(), quantise)
    section = {"kind": classifier.kind, **asdict(classifier.settings)}
    write_config(folder, {**read_config(folder), _SECTION: section})


def load(folder: Path) -> PairClassifier | None:
    """Read the classifier of a model folder; None if its configuration names none.

    Raises:
        NotFoundError: no model there, or the tensors are missing.
        ModelError: the model is damaged, or of a newer version.
    """
    section = read_config(folder).get(_SECTION)
    if section is None:
        return None
    try:
        shape = dict(section)
        kind = _SHAPES[shape.pop("kind", Classifier.kind)]
        classifier = build(kind(**shape))
    except (TypeError, ValueError, KeyError, SettingsError) as error:
        raise ModelError(
            f"{folder}: the configuration's classifier is unusable: {error}"
        ) from error
    except RuntimeError as error:
        raise ModelError(f"{folder}: its classifier cannot be held in memory") from error
    path = folder / _TENSORS
    load_into(classifier, load_tensors(path), path)
    if not float(classifier.temperature) > 0:
        raise ModelError(f"{path}: the temperature must be above 0")
    return classifier.eval()
