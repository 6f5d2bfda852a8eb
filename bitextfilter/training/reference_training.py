"""Train a reference/translation classifier from text: split, train, measure, write the model."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bitextfilter.encoders.reference_classifier import (
    ReferenceClassifier,
    ReferenceNetwork,
    ReferenceSettings,
    save_reference_classifier,
)
from bitextfilter.errors import InputError
from bitextfilter.models.device import resolve_device
from bitextfilter.models.folders import check_replaceable, writing_folder
from bitextfilter.settings import Settings, from_groups, from_mapping, group_rows, setting
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.training.classifier import split_groups
from bitextfilter.training.loop import learn_in_memory, start_torch
from bitextfilter.training.references import (
    ReferenceCorpus,
    ReferenceLearner,
    ReferenceTraining,
    reference_stream,
)
from bitextfilter.training.runs import RECORD, Environment
from bitextfilter.training.start import check_vectors, use_vectors

_LANGUAGES = ("und", "und")
"""Undetermined (ISO 639-2): nothing that is done to the text depends on its language."""

_Translations = Mapping[str, Sequence[str]]
"""Distinct references, each with its distinct translations, the best first."""

RESULTS = ("material", "references", "translations", "epoch", "development", "test")
"""The names of a record that are no settings."""


@dataclass(frozen=True)
class ReferenceConfig(Settings):
    """All settings of a run."""

    shape: ReferenceSettings = field(default_factory=ReferenceSettings)
    vocabulary_size: int = setting(
        20_000,
        "most frequent words and marks, which have a vector each; all others have one together,"
        " which rare words of the training text teach",
        within=">= 1",
    )
    training: ReferenceTraining = field(default_factory=ReferenceTraining)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ReferenceConfig:
        """Build from nested names and values, or from a record; missing ones have their defaults.

        Raises SettingsError for an unknown name, or a value that does not fit.
        """
        values = {name: value for name, value in values.items() if name not in RESULTS}
        if "architecture" in values:
            values["shape"] = {**values.get("shape", {}), "architecture": values["architecture"]}
        kinds = {"shape": ReferenceSettings, "training": ReferenceTraining}
        groups = from_groups(kinds, values, others=["architecture", "vocabulary_size"])
        size = {name: values[name] for name in ("vocabulary_size",) if name in values}
        return from_mapping(cls, size, defaults=groups)

    @staticmethod
    def rows() -> list[tuple[str, str, str, str]]:
        """Every setting as a row."""
        config = ReferenceConfig()
        return [
            *group_rows(config.shape, "shape"),
            *group_rows(config),
            *group_rows(config.training, "training"),
        ]


class _Accuracy(NamedTuple):
    """Part of the sentences that is decided rightly, in percent."""

    references: float
    translations: float
    sentences: int
    """Of each kind."""

    @property
    def total(self) -> float:
        """Of both together."""
        return (self.references + self.translations) / 2

    def to_dict(self) -> dict[str, float]:
        """Return the figures by name."""
        return {**self._asdict(), "total": self.total}


def train_references(
    data: _Translations, config: ReferenceConfig, environment: Environment, vectors: Path | None
) -> dict[str, Any]:
    """Train a classifier, write its model folder, and return how that went.

    The seed splits the references into a part to train on, one to choose the epoch by, and one to
    measure on; of the last two, the first translation of each reference counts. Raises InputError
    where there are too few references for that, or the initial *vectors* of tokens do not fit.
    """
    settings = config.training
    check_vectors(vectors, "shape.embedding", config.shape.embedding)
    training, development, test = parts = _parts(data, settings)
    check_replaceable(environment.output)
    start_torch(settings.seed, environment.threads)
    processor, corpus = _read(data, training, config)
    network, device = ReferenceNetwork(config.shape, processor.sizes()), environment.device
    use_vectors(network.piece_tables(), vectors, processor.vocabulary, environment.note)

    def measure(trained: ReferenceNetwork, references: list[str]) -> _Accuracy:
        classifier = ReferenceClassifier(processor, trained, device, environment.threads)
        return _accuracy(classifier, references, [data[each][0] for each in references])

    learner = ReferenceLearner(network.to(resolve_device(device)), settings)
    stream = reference_stream(corpus, settings, learner.device)
    progress = learn_in_memory(
        learner, stream, lambda net: 100 - measure(net, development).total, environment.report
    )
    record = {
        "material": {"vectors": None if vectors is None else vectors.name},
        **dataclasses.asdict(config),
        "references": list(map(len, parts)),
        "translations": sum(map(len, data.values())),
        "epoch": progress.best_update // stream.interval,
        "development": [100 - row["error"] for row in progress.history],
        "test": measure(network, test).to_dict(),
    }
    with writing_folder(environment.output) as folder:
        save_reference_classifier(folder, network, processor)
        (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return record


def _parts(data: _Translations, settings: ReferenceTraining) -> list[list[str]]:
    """Return the references to train on, to choose the epoch by, and to measure on."""
    references = list(data)
    parts = split_groups(references, settings.held_out, settings.seed)
    if not all(map(len, parts)):
        raise InputError(f"{len(references)} references are too few to train on and to measure on")
    return [[references[place] for place in part] for part in parts]


def _accuracy(
    classifier: ReferenceClassifier, references: list[str], translations: list[str]
) -> _Accuracy:
    """Measure decisions: a probability above 1/2 decides for a reference."""
    person, machine = (classifier.probabilities(side) > 0.5 for side in (references, translations))
    return _Accuracy(100 * float(person.mean()), 100 * float((~machine).mean()), len(person))


def _read(
    data: _Translations, references: Sequence[str], config: ReferenceConfig
) -> tuple[TextProcessor, ReferenceCorpus]:
    """Learn the vocabulary of some references and their translations; return them as ids."""
    machine = [text for reference in references for text in data[reference]]
    words = SegmenterSettings("none", vocabulary_size=config.vocabulary_size)
    normal = Normalisation(apart=True)
    processor = TextProcessor.learn((references, machine), _LANGUAGES, normal, words)
    one, other = (Ragged.of(processor.ids(side, _LANGUAGES[0])) for side in (references, machine))
    counts = np.array([len(data[reference]) for reference in references])
    return processor, ReferenceCorpus(one, other, counts)
