"""Train a reference/translation classifier from text: split, train, measure, write the model."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
from bitextfilter.training.loop import Progress, learn_in_memory, start_torch
from bitextfilter.training.references import (
    ReferenceCorpus,
    ReferenceLearner,
    ReferenceTraining,
    reference_stream,
)
from bitextfilter.workflows.runs import RECORD, Environment

_LANGUAGES = ("und", "und")
"""Undetermined (ISO 639-2): nothing that is done to the text depends on its language."""

_Translations = Mapping[str, Sequence[str]]
"""Distinct references, each with its distinct translations, the best first."""

_Sides = tuple[Sequence[str], Sequence[str]]


RESULTS = ("references", "translations", "epoch", "development", "test")
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


@dataclass(frozen=True)
class Accuracy:
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
        return {**dataclasses.asdict(self), "total": self.total}


def accuracy_of(
    classifier: ReferenceClassifier, references: Sequence[str], translations: Sequence[str]
) -> Accuracy:
    """Measure decisions: a probability above 1/2 decides for a reference."""
    person, machine = (classifier.probabilities(side) > 0.5 for side in (references, translations))
    return Accuracy(100 * float(person.mean()), 100 * float((~machine).mean()), len(person))


def train_references(
    data: _Translations, config: ReferenceConfig, environment: Environment
) -> dict[str, Any]:
    """Train a classifier, write its model folder, and return how that went.

    The references are split by the seed into a part to train on, one to choose the epoch by, and
    one to measure on; translations stand where their reference does. Of the last two parts, the
    first translation of each reference counts.

    Raises InputError where there are too few references for each part to have one.
    """
    parts, settings = _parts(data, config.training), config.training
    check_replaceable(environment.output)
    start_torch(settings.seed, environment.threads)
    processor = _processor(data, parts[0], config)
    network = ReferenceNetwork(config.shape, processor.sizes())
    development, test = ((part, [data[each][0] for each in part]) for part in parts[1:])

    def measure(trained: ReferenceNetwork, sides: _Sides) -> Accuracy:
        return accuracy_of(
            ReferenceClassifier(processor, trained, environment.device, environment.threads), *sides
        )

    device = resolve_device(environment.device)
    progress = learn_in_memory(
        ReferenceLearner(network.to(device), settings),
        reference_stream(_corpus(processor, data, parts[0]), settings, device),
        lambda trained: 100 - measure(trained, development).total,
        environment.report,
    )
    record = {
        **dataclasses.asdict(config),
        "references": [len(part) for part in parts],
        "translations": sum(map(len, data.values())),
        **_course(progress),
        "test": measure(network, test).to_dict(),
    }
    _write(environment.output, network, processor, record)
    return record


def _parts(data: _Translations, settings: ReferenceTraining) -> list[list[str]]:
    """Return the references to train on, to choose the epoch by, and to measure on."""
    references = list(data)
    parts = split_groups(references, settings.held_out, settings.seed)
    if not all(map(len, parts)):
        raise InputError(f"{len(references)} references are too few to train on and to measure on")
    return [[references[place] for place in part] for part in parts]


def _write(
    output: Path, network: ReferenceNetwork, processor: TextProcessor, record: dict[str, Any]
) -> None:
    """Write the model folder, with how it was trained."""
    with writing_folder(output) as folder:
        save_reference_classifier(folder, network, processor)
        (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _course(progress: Progress) -> dict[str, Any]:
    """Return the epoch that was kept, from 1, and the accuracy after each, in percent."""
    errors = [row["error"] for row in progress.history]
    kept = len(errors) - errors[::-1].index(min(errors))
    return {"epoch": kept, "development": [100 - error for error in errors]}


def _processor(
    data: _Translations, training: Sequence[str], config: ReferenceConfig
) -> TextProcessor:
    """Learn the vocabulary of some references and their translations."""
    machine = [text for reference in training for text in data[reference]]
    words = SegmenterSettings("none", vocabulary_size=config.vocabulary_size)
    return TextProcessor.learn(training, machine, _LANGUAGES, Normalisation(apart=True), words)


def _corpus(
    processor: TextProcessor, data: _Translations, references: Sequence[str]
) -> ReferenceCorpus:
    """Return some references and their translations as ids."""
    machine = [text for reference in references for text in data[reference]]
    one, other = (Ragged.of(processor.ids(side, _LANGUAGES[0])) for side in (references, machine))
    return ReferenceCorpus(one, other, np.array([len(data[reference]) for reference in references]))
