"""The reference/translation classifier of Wieting, Mallinson & Gimpel 2017, sections 5.5–5.7.

Each reference is a positive and one of its translations a negative: a random one, drawn anew in
each epoch, or the one that the network finds most like a reference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from bitextfilter.arrays import Indices
from bitextfilter.encoders.base import Padded
from bitextfilter.encoders.reference_classifier import (
    ReferenceClassifier,
    ReferenceNetwork,
    ReferenceSettings,
    save_reference_classifier,
)
from bitextfilter.errors import InputError
from bitextfilter.models.device import resolve_device
from bitextfilter.models.folders import check_replaceable, writing_folder
from bitextfilter.settings import (
    Settings,
    from_0,
    from_1,
    from_groups,
    from_mapping,
    group_rows,
    setting,
)
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES, Ragged
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.training.classifier import split_groups
from bitextfilter.training.data import padded
from bitextfilter.training.encoder_learner import squared_norm
from bitextfilter.training.loop import Course, Learner, Stream, learn_in_memory, start_torch
from bitextfilter.training.runs import RECORD, Environment
from bitextfilter.training.settings import LoopSettings
from bitextfilter.training.start import check_vectors, use_vectors

NEGATIVES = ("random", "hardest")

_TOGETHER = 1024
"""Translations that are read at a time while the hardest are looked for."""


@dataclass(frozen=True)
class ReferenceTraining(LoopSettings):
    """Settings of the training: the paper's, but for the batch size, which it does not state."""

    negatives: str = setting(
        "random",
        "of several translations of a reference, one by chance or the most reference-like",
        choices=NEGATIVES,
    )
    epochs: int = from_1(10, "times over the references; the best is kept")
    batch_size: int = from_1(100, "references of a mini-batch, each with one translation")
    learning_rate: float = setting(0.001, "of Adam", within="> 0")
    penalty: float = from_0(
        0.0,
        "weight of the token vectors' squared norm in the loss (Wieting et al. 2017: one of 1e-5,"
        " 1e-6, 1e-7, 1e-8 and 0)",
    )
    held_out: float = setting(
        0.1,
        "part of the references to measure on, and as much to choose the epoch by",
        within="> 0, < 0.5",
    )
    seed: int = from_0(1, "of everything that is drawn")


@dataclass(frozen=True)
class ReferenceCorpus:
    """``n`` references as ids, and behind each other the translations of each, one at least."""

    references: Ragged
    translations: Ragged
    counts: Indices
    """Number of translations of each reference, ``(n,)``."""

    @cached_property
    def owned(self) -> Ragged:
        """The places of the translations of each reference."""
        return Ragged(np.arange(len(self.translations)), self.counts)


class ReferenceBatch(NamedTuple):
    """A mini-batch: ``n`` references, and ``m`` translations to choose one of each from."""

    references: Padded
    translations: Padded
    owners: Tensor
    """Place of each translation's reference, ``(m,)``, ascending."""


class ReferenceLearner(Learner):
    """A network that learns to tell references from translations."""

    network: ReferenceNetwork
    settings: ReferenceTraining

    def forward(self, batch: ReferenceBatch) -> dict[str, Tensor]:
        """The mean cross-entropy of both classes in nats, and the penalty if there is one."""
        chosen = self.hardest(batch)
        translations = Padded(batch.translations.ids[chosen], batch.translations.lengths[chosen])
        person, machine = (
            self.network({PIECES: rows}) for rows in (batch.references, translations)
        )
        logits = torch.cat([person, machine])
        labels = torch.cat([torch.ones_like(person), torch.zeros_like(machine)])
        losses = {"classification": binary_cross_entropy_with_logits(logits, labels)}
        if self.settings.penalty:
            vectors = [table.weight for table in self.network.tables()]
            losses["penalty"] = self.settings.penalty * squared_norm(vectors)
        return losses

    @torch.no_grad()
    def hardest(self, batch: ReferenceBatch) -> Tensor:
        """Return the place of each reference's most reference-like translation, ``(n,)``.

        Of equally likely ones the first.
        """
        owners, m = batch.owners, len(batch.owners)
        places = torch.arange(m, device=owners.device)
        if m == len(batch.references.ids):
            return places
        rows = batch.translations
        parts = zip(
            *(torch.split(part, _TOGETHER) for part in (rows.ids, rows.lengths)), strict=True
        )
        logits = torch.cat([self.network({PIECES: Padded(*part)})[:, 0] for part in parts])
        none = logits.new_full((len(batch.references.ids),), float("-inf"))
        top = none.scatter_reduce(0, owners, logits, "amax")
        candidates = places.masked_fill(logits < top[owners], m)
        return torch.full_like(top, m, dtype=torch.int64).scatter_reduce(
            0, owners, candidates, "amin"
        )


def reference_stream(
    corpus: ReferenceCorpus, settings: ReferenceTraining, device: torch.device
) -> Stream:
    """Mini-batches of all references in an order drawn for each epoch, by the seed."""
    count_all, size = len(corpus.references), settings.batch_size

    def examples() -> Iterator[ReferenceBatch]:
        for epoch in count():
            random = np.random.default_rng([settings.seed, epoch])
            order = random.permutation(count_all)
            for start in range(0, len(order), size):
                yield _examples(corpus, order[start : start + size], settings, random, device)

    epoch = -(-count_all // size)
    return Stream(settings.epochs * epoch, lambda skip: islice(examples(), skip, None), epoch)


def _examples(
    corpus: ReferenceCorpus,
    places: Indices,
    settings: ReferenceTraining,
    random: np.random.Generator,
    device: torch.device,
) -> ReferenceBatch:
    """Return some references with one translation each, or with all where the hardest is sought."""
    if settings.negatives == "hardest":
        chosen, counts = corpus.owned.take(places).flat, corpus.counts[places]
    else:
        chosen = corpus.owned.starts[places] + random.integers(0, corpus.counts[places])
        counts = np.ones(len(places), dtype=np.int64)
    sides = ((corpus.references, places), (corpus.translations, chosen))
    rows = [Padded(*padded(side, some, device)) for side, some in sides]
    owners = torch.from_numpy(np.repeat(np.arange(len(places)), counts)).to(device)
    return ReferenceBatch(rows[0], rows[1], owners)


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
    vocabulary_size: int = from_1(
        20_000,
        "most frequent words and marks, which have a vector each; all others have one together,"
        " which rare words of the training text teach",
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
    """Part of the sentences that is decided rightly, in percent.

    A probability above 1/2 decides for a reference.
    """

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
        sides = references, [data[each][0] for each in references]
        person, machine = (classifier.probabilities(side) > 0.5 for side in sides)
        of_each = 100 * float(person.mean()), 100 * float((~machine).mean())
        return _Accuracy(*of_each, len(references))

    learner = ReferenceLearner(network.to(resolve_device(device)), settings)
    stream = reference_stream(corpus, settings, learner.device)
    course = Course(environment.report)
    progress = learn_in_memory(
        learner, stream, lambda net: 100 - measure(net, development).total, course
    )
    record = {
        "material": {"vectors": None if vectors is None else vectors.name},
        **asdict(config),
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
