"""A model as its users see it: found by name, loaded, then asked for vectors and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bitextfilter.encoders.base import Encoder
from bitextfilter.encoders.registry import load_encoder
from bitextfilter.errors import ModelError
from bitextfilter.models.checkpoint import digest
from bitextfilter.models.folders import find
from bitextfilter.scoring import reference as neighbours
from bitextfilter.scoring.description import default_measure
from bitextfilter.scoring.reference import Reference
from bitextfilter.scoring.scorers import distinct, score_pairs
from bitextfilter.similarity import classifiers
from bitextfilter.similarity.classifiers import PairClassifier
from bitextfilter.similarity.pair_classifier import PairScorer, Scoring, Side
from bitextfilter.similarity.vectors import Scores, Vectors
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.sentences import sentence_list


@dataclass(frozen=True)
class Model:
    """A loaded model folder. Made by :func:`load`."""

    name: str
    """As asked for: a shipped model's name, or the folder."""
    folder: Path
    digest: str
    """Twelve hexadecimal digits over the folder's files: results carry it."""
    encoder: Encoder
    classifier: PairClassifier | None
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

        Raises SettingsError for a language that the model does not know, and TypeError for one
        str in place of several, or a member that is no str.
        """
        return self.encoder.encode(sentence_list(sentences, "sentences"), language)

    @cached_property
    def _scoring(self) -> Scoring:
        assert self.classifier is not None, "asked for only where there is one"
        return self.classifier.scoring(
            lambda sentences, side: self.encode(sentences, self.languages[side]), self.threads
        )

    def pair_scorer(self, source: Side, target: Side) -> PairScorer | None:
        """Return what gives the classifier's probabilities of pairs by their places.

        Each side is vectors and sentences; None without a classifier.
        """
        return None if self.classifier is None else self._scoring(source, target)

    def score(
        self, sources: Sequence[str], targets: Sequence[str], measures: str | Sequence[str] = ()
    ) -> dict[str, Scores]:
        """Score ``n`` sentence pairs → each measure's scores ``(n,)``; higher is better.

        Args:
            sources: sentences of the first language.
            targets: sentences of the second, as many.
            measures: one of ``cosine``, ``euclidean``, ``csls``, ``ratio``, ``distance`` and
                ``mlp``, or several; none for ``default_measure``.

        Raises:
            SettingsError: a measure is unknown, or the model lacks what it needs.
            TypeError: a side is one str, or a member of it is no str.
            ValueError: the sides differ in number.
        """
        names = (measures,) if isinstance(measures, str) else tuple(measures)
        names = names or (self.default_measure,)
        sources, targets = sentence_list(sources, "sources"), sentence_list(targets, "targets")
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
    classifier = classifiers.load(folder)
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
