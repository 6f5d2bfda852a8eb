"""A model as its users see it: found by name, loaded, then asked for vectors and scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextfilter.encoders.base import Encoder
from bitextfilter.encoders.registry import load_encoder
from bitextfilter.errors import ModelError
from bitextfilter.models.checkpoint import digest
from bitextfilter.models.folders import find
from bitextfilter.scoring import reference as neighbours
from bitextfilter.scoring.description import default_measure
from bitextfilter.scoring.reference import Reference
from bitextfilter.scoring.scorers import distinct, score_pairs
from bitextfilter.similarity.classifier import Classifier
from bitextfilter.similarity.vectors import Scores, Vectors
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.surface import describe

PairScorer = Callable[[NDArray[np.int64], NDArray[np.int64]], Scores]


@dataclass(frozen=True)
class Model:
    """A loaded model folder. Made by :func:`load`."""

    name: str
    """As asked for: a shipped model's name, or the folder."""
    folder: Path
    digest: str
    """Twelve hexadecimal digits over the folder's files: results carry it."""
    encoder: Encoder
    classifier: Classifier | None
    reference: Reference | None
    threads: int = 1

    @property
    def languages(self) -> tuple[str, str]:
        """The languages of the source and the target side."""
        return self.encoder.languages

    @property
    def default_measure(self) -> str:
        """The measure used where none is asked for: ``mlp`` if it can, else ``cosine``."""
        return default_measure(self.classifier is not None)

    @property
    def processor(self) -> TextProcessor:
        """The text side of the model."""
        return self.encoder.processor

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """Encode ``n`` sentences of one of the model's languages → float32 ``(n, dim)``.

        Raises SettingsError for a language that the model does not know.
        """
        return self.encoder.encode(sentences, language)

    def classifier_rows(self, vectors: Vectors, sentences: Sequence[str]) -> Vectors:
        """Return what the classifier takes of *sentences* with these vectors, ``(n, width)``.

        That is the vectors, and a description of each sentence's surface where it wants one.
        """
        if self.classifier is None or not self.classifier.settings.surface:
            return vectors
        return np.hstack([vectors, describe(sentences)])

    def pair_scorer(self, *sides: tuple[Vectors, Sequence[str]]) -> PairScorer | None:
        """Return what gives the classifier's probabilities of pairs by their places.

        *sides* are the vectors and sentences of source and target; None without a classifier.
        """
        if (classifier := self.classifier) is None:
            return None
        source, target = (self.classifier_rows(*side) for side in sides)
        return lambda i, j: classifier.probabilities(source[i], target[j], self.threads)

    def score(
        self, sources: Sequence[str], targets: Sequence[str], measures: Sequence[str] = ()
    ) -> dict[str, Scores]:
        """Score ``n`` sentence pairs → each measure's scores ``(n,)``; higher is better.

        Args:
            sources: sentences of the first language.
            targets: sentences of the second, as many.
            measures: names in ``scorers.MEASURES``; none for ``default_measure``.

        Raises:
            SettingsError: a measure is unknown, or the model lacks what it needs.
            ValueError: the sides differ in number.
        """
        names = tuple(measures) or (self.default_measure,)
        return dict(zip(names, score_pairs(self, sources, targets, names).T, strict=True))

    def sample(self, sources: Sequence[str], targets: Sequence[str], k: int) -> Reference:
        """Encode sentences of both sides, in any number, as neighbours: each distinct one once."""
        sides = zip((sources, targets), self.languages, strict=True)
        source, target = (
            self.encode(distinct(sentences)[0], language) for sentences, language in sides
        )
        return Reference(source, target, k)


def load(name_or_folder: str | Path, device: str = "cpu", threads: int = 1) -> Model:
    """Load a model by the name of a shipped one, or from its folder.

    Args:
        name_or_folder: such as ``en-de``, or a path.
        device: ``cpu`` or ``cuda[:n]``: where sentences are encoded.
        threads: how many blocks are computed side by side.

    Raises:
        NotFoundError: no such model, or a file of it is missing; names the models there are.
        ModelError: the model is damaged, or of a newer version.
        DeviceError: the device is not there.
    """
    folder = find(name_or_folder)
    encoder = load_encoder(folder, device, threads)
    classifier = Classifier.load(folder)
    if classifier is not None and classifier.settings.dim != encoder.dim:
        raise ModelError(
            f"{folder}: the classifier takes vectors of width {classifier.settings.dim},"
            f" the encoder's are {encoder.dim}"
        )
    path = folder / neighbours.FILE
    reference = Reference.load(path, encoder.dim) if path.exists() else None
    return Model(
        str(name_or_folder), folder, digest(folder), encoder, classifier, reference, threads
    )
