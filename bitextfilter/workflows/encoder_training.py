"""Encoder training from files: text, network, loop, validation, model folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Vectors
from bitextfilter.encoders.base import Encoder, Network
from bitextfilter.encoders.registry import ENCODERS, views
from bitextfilter.errors import SettingsError
from bitextfilter.evaluation.recovery import recover
from bitextfilter.models.folders import read_config
from bitextfilter.scoring.background import BACKGROUND, BackgroundSample
from bitextfilter.settings import read_settings
from bitextfilter.similarity.neighbours import csls, margin_matrix
from bitextfilter.similarity.vectors import cosine_matrix
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import TRIGRAMS, Ragged
from bitextfilter.text.segment import load_segmenter
from bitextfilter.text.vocabulary import END, RESERVED
from bitextfilter.training.autoencoder import BilingualTraining
from bitextfilter.training.batches import pair_stream
from bitextfilter.training.data import Corpus, PairTexts, Sentences, read_monolingual, read_pairs
from bitextfilter.training.encoder_learner import EncoderLearner
from bitextfilter.training.loop import Stream
from bitextfilter.training.pivot import PivotLearner, check_settings, pivot_stream
from bitextfilter.training.start import start_from, start_small, use_vectors
from bitextfilter.workflows.encoder_config import EncoderConfig
from bitextfilter.workflows.runs import RECORD, TrainingRun

REFERENCE_ROWS = 1000
"""Sentences a side kept as the sample that CSLS and the margins are taken against."""


class EncoderTraining(TrainingRun):
    """Training of an encoder, with or without a decoder."""

    config: EncoderConfig

    def check(self) -> None:
        """See :meth:`TrainingRun.check`."""
        self.config.check_files(self.files)

    def read(self) -> None:
        """See :meth:`TrainingRun.read`."""
        sources, targets, weights, _ = read_pairs(self.files.pairs)
        self.config = self.given.fitting(sum(weights))
        self.processor = self._make_processor(sources, targets)
        sides = self._sentences(sources, 0), self._sentences(targets, 1)
        self.corpus = self.short(Corpus(*sides, np.array(weights)))
        self.monolingual = {
            side: self._make_monolingual(read_monolingual(paths), side)
            for side, paths in self.files.monolingual.items()
            if paths
        }
        self._sample = distinct_sample(sources, targets, self.config.training.seed)

    def make_learner(self) -> tuple[EncoderLearner, Stream]:
        """See :meth:`TrainingRun.make_learner`."""
        cell = getattr(self.config.shape, "cell", "lstm")
        counts, training = self._predicted_counts(), self.config.training
        model = BilingualTraining(self.network, cell, counts, training, self._one_language)
        model.to(self._device)
        return model, pair_stream(model, (self.corpus, self.monolingual))

    @property
    def _one_language(self) -> bool:
        return len(set(self.processor.languages)) == 1

    def validate(self, network: Network) -> float:
        """Error on the development pairs in percent: 0 to 100, lower is better.

        The sentence alignment recovery error, mean of both directions and of CSLS and cosine:
        two measures separate networks that one alone, in steps of a pair, does not.
        """
        sources, targets = self._development
        vectors = _both(self._encoder(network), (sources, targets))
        errors = [
            recover(sources, targets, scores).mean
            for scores in (margin_matrix(csls, *vectors), cosine_matrix(*vectors))
        ]
        return sum(errors) / len(errors)

    def save(self, folder: Path, network: Network) -> None:
        """See :meth:`TrainingRun.save`; with the background sample of CSLS."""
        kind = (self.config.architecture, self.config.shape)
        ENCODERS.save(folder, kind, network, self.processor, self.environment.quantise)
        encoder = self._encoder(ENCODERS.load(folder).network)
        BackgroundSample(*_both(encoder, self._sample)).save(folder / BACKGROUND)

    def _encoder(self, network: Network) -> Encoder:
        environment = self.environment
        return Encoder(self.processor, network, environment.device, environment.threads)

    def _make_processor(self, sources: list[str], targets: list[str]) -> TextProcessor:
        """Take the text processing of the model to start from, or learn it."""
        config, files = self.config, self.files
        if files.start is not None:
            processor = TextProcessor.load(files.start, read_config(files.start))
            groups = ["normalisation", "segmentation"]
            groups += ["trigrams"] if processor.trigrams is not None else []
            self.given.check_text(_settings_of(files.start), "--start", groups)
            if processor.languages != files.languages:
                raise SettingsError(
                    f"{files.start} is a model of {'-'.join(processor.languages)},"
                    f" not {'-'.join(files.languages)}"
                )
        else:
            known = None if files.segmenter is None else load_segmenter(files.segmenter)
            if known is not None:
                kept = {"segmentation": {"kind": known.kind}}
                self.given.check_text(kept, "--segmenter", ["segmentation"])
            processor = self.learn_text(sources, targets, known or config.segmentation)
        if TRIGRAMS not in views(config.architecture):
            processor.trigrams = None
        elif processor.trigrams is None:
            processor.learn_trigrams(sources, targets, config.trigrams)
        return processor

    def _sentences(self, sentences: list[str], side: int) -> Sentences:
        language = self.processor.languages[side]
        rows = self.processor.ids(sentences, language)
        if self.processor.trigrams is None:
            return Sentences(rows)
        return Sentences(rows, Ragged.of(self.processor.ids(sentences, language, TRIGRAMS)))

    def _make_monolingual(self, lines: list[str], side: int) -> Sentences:
        """Sentences to autoencode: the given lines and the side of the pairs themselves."""
        every = self._sentences(lines, side)
        short = every.take(np.flatnonzero(every.lengths <= self.config.training.maximum_length))
        language = self.processor.languages[side]
        self.environment.note(f"{len(short)} monolingual sentences of {language}")
        return short.followed_by(self.corpus.side(side))

    def make_network(self) -> Network:
        """See :meth:`TrainingRun.make_network`."""
        config, files, note = self.config, self.files, self.environment.note
        network = ENCODERS.build(config.architecture, config.shape, self.processor.sizes())
        if config.training.initial == "uniform":
            start_small(network, config.training.seed)
        if files.start is not None:
            taken = start_from(network, ENCODERS.load(files.start).network)
            note(f"from {files.start.name}: {', '.join(taken)}")
        if files.vectors is not None:
            vocabulary = self.processor.vocabulary
            found = use_vectors(network, files.vectors, vocabulary)
            note(f"{found} of {len(vocabulary)} initial vectors read")
        return network

    def _predicted_counts(self) -> NDArray[np.int64]:
        """Times the decoder predicts each id, ``(v,)``."""
        counts = np.zeros(len(self.processor.vocabulary), dtype=np.int64)
        for side in self.config.training.decoded_sides:
            counts[len(RESERVED) :] += self.processor.vocabulary.counts[:, side]
            counts[END] += len(self.corpus)
        return counts


def _settings_of(model: Path) -> dict[str, Any]:
    """The settings that a model was trained with; none where it does not keep them."""
    path = model / RECORD
    return read_settings(path) if path.exists() else {}


def _both(encoder: Encoder, sides: tuple[list[str], list[str]]) -> tuple[Vectors, Vectors]:
    """Vectors of sentences of the source and of the target language."""
    source, target = encoder.languages
    return encoder.encode(sides[0], source), encoder.encode(sides[1], target)


def distinct_sample(
    sources: list[str], targets: list[str], seed: int
) -> tuple[list[str], list[str]]:
    """Some distinct sentences of either side, chosen by the seed, each in the files' order."""
    random = np.random.default_rng(seed)
    sides = []
    for sentences in (sources, targets):
        distinct = list(dict.fromkeys(sentences))
        chosen = random.choice(len(distinct), min(REFERENCE_ROWS, len(distinct)), replace=False)
        sides.append([distinct[row] for row in sorted(chosen)])
    return sides[0], sides[1]


class PivotTraining(EncoderTraining):
    """A run of the architecture pivot.

    The pivot has a segmentation and a vocabulary of its own, which go with the decoder: nothing
    of that language is in the model folder.
    """

    def read(self) -> None:
        """See :meth:`TrainingRun.read`."""
        pivot = self.files.pivot
        assert pivot is not None, "check_files has seen to it"
        check_settings(self.config.training)
        of_source, of_target = (read_pairs(files) for files in pivot.sides)
        self.config = self.given.fitting(sum(of_source.weights + of_target.weights) / 2)
        self.processor = self._make_processor(of_source.sources, of_target.sources)
        self.pivot = TextProcessor.learn(
            of_source.targets + of_target.targets,
            [],
            (pivot.language, pivot.language),
            self.config.normalisation,
            self.config.segmentation,
        )
        self.corpora = self._make_corpus(of_source, 0), self._make_corpus(of_target, 1)
        self._sample = distinct_sample(
            of_source.sources, of_target.sources, self.config.training.seed
        )

    def _make_corpus(self, pairs: PairTexts, side: int) -> Corpus:
        """Pairs with the pivot, as ids."""
        language = self.pivot.languages[0]
        written = Sentences(self.pivot.ids(pairs.targets, language))
        texts = self._sentences(pairs.sources, side)
        corpus = Corpus(texts, written, np.array(pairs.weights))
        return self.short(corpus, f"{self.processor.languages[side]}-{language} ")

    def make_learner(self) -> tuple[EncoderLearner, Stream]:
        """See :meth:`TrainingRun.make_learner`."""
        cell, training, counts = (
            self.config.shape.cell,
            self.config.training,
            self._predicted_counts(),
        )
        model = PivotLearner(self.network, cell, counts, training, self._one_language)
        views = self.network.views
        return model.to(self._device), pivot_stream(self.corpora, training, views, self._device)

    def _predicted_counts(self) -> NDArray[np.int64]:
        """Times the decoder predicts each id of the pivot's vocabulary, ``(v,)``."""
        counts = np.zeros(len(self.pivot.vocabulary), dtype=np.int64)
        counts[len(RESERVED) :] = self.pivot.vocabulary.counts.sum(axis=1)
        counts[END] = sum(map(len, self.corpora))
        return counts
