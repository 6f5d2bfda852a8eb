"""A loaded model, and its scores of sentence pairs.

:meth:`Model.score` cuts pairs into parts, one thread each; a part is encoded and scored by each
measure; ``mlp`` goes on in ``pairs/scoring.py``, and ``probability`` in ``calibration.py``. A model
may have vectors of fewer numbers, along the principal directions of its own sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Indices, Scores, Vectors
from bitextfilter.encoders.protocol import SentenceEncoder, ShorterEncoder, principal_directions
from bitextfilter.encoders.registry import load_encoder
from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.folders import ModelName, model_digest
from bitextfilter.pairs.base import EncodedSide, PairScorer, PairScoring, Reading, SideScorer
from bitextfilter.pairs.evidence import PairEvidence
from bitextfilter.pairs.scoring import load_scoring
from bitextfilter.scoring.background import SIDES, BackgroundSample, load_background, load_samples
from bitextfilter.scoring.calibration import Calibration, calibration_inputs, load_calibration
from bitextfilter.scoring.measures import MEASURES, default_measure
from bitextfilter.settings import none_of
from bitextfilter.similarity.vectors import MARGINS, cosine_pairs_at, euclidean_pairs, unit_rows
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.words import sentence_list

Text = TypeVar("Text", str, tuple[str, str])

_FEWEST = 1024
"""Pairs that one thread scores together, at least: small parts leave no thread idle. Very few pairs
are one part. The encoder knows how many are the most."""


def distinct(texts: Sequence[Text]) -> tuple[list[Text], NDArray[np.int64]]:
    """Return the distinct sentences or pairs in order of appearance, and each one's place there.

    The places are ``(n,)``.
    """
    places: dict[Text, int] = {}
    rows = [places.setdefault(text, len(places)) for text in texts]
    return list(places), np.array(rows, dtype=np.int64)


def _part_size(pairs: int, threads: int, most: int) -> int:
    """Return the number of pairs scored together, the same for each thread."""
    if pairs < threads * _FEWEST:
        return max(1, pairs)
    parts = threads * math.ceil(pairs / (threads * most))
    return math.ceil(pairs / parts)


def vector_measures(
    sides: tuple[Vectors, Vectors],
    pairs: tuple[Indices, Indices],
    measures: Sequence[str],
    background: BackgroundSample | None,
    threads: int = 1,
) -> dict[str, Scores]:
    """Score pairs of vectors, given by their places on both sides, by those that need no more.

    Returns the scores ``(n,)`` of at least the named *measures*, but for ``mlp``. Margins need a
    *background*.
    """
    (a, b), (i, j) = sides, pairs
    margins = [name for name in measures if name in MARGINS]
    found: dict[str, Scores] = {}
    if margins or "cosine" in measures:
        found["cosine"] = cosine_pairs_at(a, b, i, j)
    if "euclidean" in measures:
        found["euclidean"] = euclidean_pairs(a[i], b[j])
    if margins:
        assert background is not None, "Model.check comes first"
        means = background.source_means(a, threads), background.target_means(b, threads)
        for name in margins:
            found[name] = MARGINS[name](found["cosine"], means[0][i], means[1][j])
    return found


@dataclass(frozen=True)
class Model:
    """A loaded model folder. Made by :func:`load`."""

    name: str
    """As asked for: a shipped model's name, or the folder."""
    folder: Path
    digest: str
    """Twelve hexadecimal digits over the folder's files, quoted in results; then ``@N`` for vectors
    of N numbers."""
    encoder: SentenceEncoder
    classifier: PairScoring | None
    background: BackgroundSample | None
    calibration: Calibration | None
    """Of a model with a classifier."""
    threads: int = 1

    @property
    def languages(self) -> tuple[str, str]:
        """The languages of the source and the target side."""
        return self.encoder.languages

    @property
    def exchanged(self) -> bool:
        """Whether the target's language is before the source's in the model's own order."""
        source, target = map(self.processor.known.index, self.languages)
        return source > target

    @property
    def reading(self) -> str:
        """The digest, and the languages where the sides are exchanged: all that vectors are of."""
        return f"{self.digest}:{','.join(self.languages)}" if self.exchanged else self.digest

    @property
    def default_measure(self) -> str:
        """See :func:`~bitextfilter.scoring.measures.default_measure`."""
        return default_measure(self.parts)

    @property
    def parts(self) -> list[str]:
        """The parts that its measures may need."""
        parts = {
            "classifier": self.classifier,
            "neighbours": self.background,
            "calibration": self.calibration,
        }
        return [name for name, part in parts.items() if part is not None]

    @property
    def processor(self) -> TextProcessor:
        """The text processing of the model."""
        return self.encoder.processor

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """Encode ``n`` sentences of one of the model's languages → float32 ``(n, dim)``.

        Raises SettingsError for a language that the model does not know, and TypeError for one
        str in place of several, or a member that is no str.
        """
        if not isinstance(language, str):
            raise SettingsError(f"language must be a str, not {language!r:.40}")
        return self.encoder.encode(sentence_list(sentences, "sentences"), language)

    def encode_side(self, sentences: Sequence[str], side: int) -> Vectors:
        """Encode ``n`` sentences of side 0, the source, or 1 → float32 ``(n, dim)``."""
        return self.encode(sentences, self.languages[side])

    @cached_property
    def _side_scorer(self) -> SideScorer | None:
        if self.classifier is None:
            return None
        cut, (source, target) = self.processor.cut, self.languages
        languages = (target, source) if self.exchanged else (source, target)

        def encode(sentences: Sequence[str], side: int) -> Vectors:
            return self.encode(sentences, languages[side])

        return self.classifier.scorer(Reading(encode, self.threads, cut, languages))

    def pair_scorer(self, source: EncodedSide, target: EncodedSide) -> PairScorer | None:
        """Return the classifier's scorer of pairs of these sides; None without a classifier.

        Each side is vectors and sentences; see ``PairScorer``. The classifier reads the sides in
        the model's own order of languages: a pair has one score, whichever side is the source.
        """
        score = self._side_scorer
        if score is None or not self.exchanged:
            return score and partial(score, source, target)
        return lambda sources, targets: score(target, source, targets, sources)

    def check(self, measures: Iterable[str]) -> None:
        """Raise SettingsError for unknown measures, and for those that need a missing part."""
        for name in measures:
            if name not in MEASURES:
                raise SettingsError(f"similarity {none_of(name, MEASURES)}")
            needs = MEASURES[name].needs
            if needs in ("classifier", "calibration") and self.classifier is None:
                if (width := ModelName.parse(self.name).width) is not None:
                    raise SettingsError(
                        f"{name} takes whole vectors; leave @{width} out of {self.name}"
                    )
                raise SettingsError(
                    f"{name} needs a classifier, and the model {self.name} has none;"
                    " bitext-train-classifier makes one"
                )
            if needs == "neighbours" and self.background is None:
                raise SettingsError(
                    f"{name} needs neighbours, and the model {self.name} stores none;"
                    " give some with --neighbours"
                )
            if needs == "calibration" and self.calibration is None:
                raise SettingsError(
                    f"{name} needs a calibration, and the model {self.name} has none;"
                    " bitext-models calibrate fits one"
                )

    def score(
        self, sources: Sequence[str], targets: Sequence[str], measures: str | Sequence[str] = ()
    ) -> dict[str, Scores]:
        """Score ``n`` sentence pairs → each measure's scores ``(n,)``; higher is better.

        A pair's scores do not depend on the other pairs, to the last bit. A repeated pair is
        scored once.

        Args:
            sources: sentences of the first language.
            targets: sentences of the second, as many.
            measures: one of ``cosine``, ``euclidean``, ``csls``, ``ratio``, ``distance``, ``mlp``
                and ``probability``, or several; none for ``default_measure``.

        Raises:
            SettingsError: a measure is unknown, or the model has no part for it.
            TypeError: a side is one str, or a member of it is no str.
            ValueError: the sides differ in number.
        """
        names = [measures] if isinstance(measures, str) else sentence_list(measures, "measures")
        if unknown := [name for name in names if name not in MEASURES]:
            raise SettingsError(f"measures {none_of(unknown[0], MEASURES)}")
        names = names or [self.default_measure]
        self.check(names)
        sources, targets = sentence_list(sources, "sources"), sentence_list(targets, "targets")
        if len(sources) != len(targets):
            raise ValueError(f"{len(sources)} source and {len(targets)} target sentences")
        pairs, places = distinct(list(zip(sources, targets, strict=True)))
        return dict(zip(names, self._score_parts(pairs, names)[places].T, strict=True))

    def _score_parts(self, pairs: Sequence[tuple[str, str]], measures: Sequence[str]) -> Scores:
        """Score distinct pairs, a part in each thread at a time → ``(n, m)``."""
        size = _part_size(len(pairs), max(1, self.threads), self.encoder.most)

        def part(first: int) -> Scores:
            return self._score_part(pairs[first : first + size], measures)

        return np.concatenate(map_blocks(part, range(0, max(1, len(pairs)), size), self.threads))

    def _score_part(self, pairs: Sequence[tuple[str, str]], measures: Sequence[str]) -> Scores:
        """Encode pairs, each distinct sentence once, and score them by each measure, ``(n, m)``."""
        (source, i), (target, j) = (distinct([pair[side] for pair in pairs]) for side in (0, 1))
        a, b = (self.encode_side(side, number) for number, side in enumerate((source, target)))
        needed = [*measures, *(("mlp", "cosine") if "probability" in measures else ())]
        found = vector_measures((a, b), (i, j), needed, self.background, self.threads)
        if "mlp" in needed:
            score = self.pair_scorer((a, source), (b, target))
            assert score is not None, "it was checked"
            found["mlp"] = score(i, j)
        if "probability" in measures:
            inputs = self._inputs((source, target), (i, j), found)
            assert self.calibration is not None, "it was checked"
            found["probability"] = self.calibration(inputs, self.languages)
        return np.stack([found[name] for name in measures], axis=1)

    @cached_property
    def _evidence(self) -> PairEvidence:
        return PairEvidence(self.languages, self.processor.cut)

    def _inputs(
        self,
        texts: tuple[Sequence[str], Sequence[str]],
        places: tuple[Indices, Indices],
        found: Mapping[str, Scores],
    ) -> Floats:
        """Return the inputs of the calibration, by the scores *found*."""
        return calibration_inputs(found["mlp"], found["cosine"], self._evidence(*texts, *places))

    def calibration_inputs(self, sources: Sequence[str], targets: Sequence[str]) -> Floats:
        """Return what a calibration reads of ``n`` pairs: ``(n, len(INPUTS))``.

        Raises SettingsError as :meth:`score` by ``mlp``.
        """
        every = np.arange(len(sources))
        found = self.score(sources, targets, ("mlp", "cosine"))
        return self._inputs((sources, targets), (every, every), found)

    def sample(self, sources: Sequence[str], targets: Sequence[str], k: int) -> BackgroundSample:
        """Encode the distinct sentences of both sides as a background sample with k neighbours."""
        sides = zip((sources, targets), self.languages, strict=True)
        source, target = (
            self.encode(distinct(sentences)[0], language) for sentences, language in sides
        )
        return BackgroundSample(source, target, k)


def load(name_or_folder: str | Path, device: str = "cpu", threads: int = 1) -> Model:
    """Load a model by its name or from its folder, as :func:`bitextfilter.load`, with its errors.

    *name_or_folder* ends with two languages, such as ``multi:cs,pl``, where the model has more;
    ``en-de:de,en`` exchanges the sides of a model of two. ``en-de@128`` has vectors of 128 numbers,
    and no classifier: see ``encoders/protocol.py``.
    """
    name = ModelName.parse(name_or_folder)
    folder, width = name.folder, name.width
    encoder = load_encoder(folder, device, threads, name.languages)
    classifier = load_scoring(folder)
    if classifier is not None and classifier.settings.dim != encoder.dim:
        raise ModelError(
            f"{folder}: the classifier takes vectors of width {classifier.settings.dim},"
            f" the encoder's are {encoder.dim}"
        )
    background = load_background(folder, encoder.dim, _samples(encoder))
    digest = model_digest(folder)
    if width is not None:
        encoder, background = shorter(folder, encoder, background, width)
        classifier, digest = None, f"{digest}@{width}"
    calibration = None if classifier is None else load_calibration(folder)
    return Model(
        *(str(name_or_folder), folder, digest, encoder, classifier, background, calibration),
        threads=threads,
    )


def _samples(encoder: SentenceEncoder) -> Sequence[str]:
    """Return the names of the background samples of an encoder's source and target."""
    known, languages = encoder.processor.known, encoder.languages
    if len(known) > 2:
        return languages
    return SIDES if languages[0] == known[0] else SIDES[::-1]


def shorter(
    folder: Path, encoder: SentenceEncoder, background: BackgroundSample | None, width: int
) -> tuple[ShorterEncoder, BackgroundSample]:
    """Return an encoder of vectors of *width* numbers, and its background sample.

    The directions are those of the samples of all languages in *folder*, so that all pairs of
    languages have them. Raises ModelError where it has no sample, and SettingsError for a width
    that is no less than the encoder's.
    """
    if background is None:
        raise ModelError(f"{folder}: stores no neighbours, by which @{width} shortens vectors")
    if width >= encoder.dim:
        raise SettingsError(
            f"@{width}: the vectors of {folder.name} have {encoder.dim} numbers; give fewer"
        )
    samples = load_samples(folder)
    first = encoder.processor.first_trigrams  # a language that was added changes no direction
    if first and first.keys() <= samples.keys():
        samples = {name: samples[name] for name in first if first[name] == min(first.values())}
    rows = unit_rows(np.concatenate(list(samples.values())))
    made = ShorterEncoder(encoder, principal_directions(rows)[:, :width])
    source, target = made.shorten(background.source), made.shorten(background.target)
    return made, BackgroundSample(source, target, background.k)
