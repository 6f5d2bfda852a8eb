"""Encoder training for more than two languages, from multi-parallel files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from bitextfilter.encoders.base import Network
from bitextfilter.encoders.registry import ENCODERS, PIVOT, views
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.scoring.background import BACKGROUND, save_samples
from bitextfilter.text.ragged import PIECES, TRIGRAMS, Ragged
from bitextfilter.text.segment import Segmenter, learn_segmenter, load_segmenter
from bitextfilter.training.data import Sentences
from bitextfilter.training.encoder_learner import BilingualLearner, EncoderLearner, pair_stream
from bitextfilter.training.encoder_training import EncoderTraining, validation_error
from bitextfilter.training.loop import Stream
from bitextfilter.training.multilingual import (
    LanguagePair,
    MultilingualCorpus,
    check_multilingual,
    pair_corpora,
    read_multilingual,
    three_way_corpora,
)

SAMPLE_ROWS = 200
"""Sentences of each language in the background sample."""


class MultilingualTraining(EncoderTraining):
    """Training of one encoder for more than two languages, which share all of it."""

    def check(self) -> None:
        """See :meth:`TrainingRun.check`."""
        super().check()
        check_multilingual(self.config.training)
        shape = vars(self.config.shape)
        if separate := [name for name, value in shape.items() if value == "separate"]:
            raise SettingsError(f"shape.{separate[0]} is separate, and here are more than two")
        if self.config.architecture == PIVOT or shape.get("standardise"):
            raise SettingsError("the pivot and shape.standardise are for two languages")

    def read_development(self) -> None:
        """See :meth:`TrainingRun.read_development`."""
        multilingual, known = self.files.multilingual, self.files.languages
        assert multilingual is not None
        self.development: dict[LanguagePair, tuple[list[str], list[str]]] = {}
        for file in multilingual.development:
            found = False
            for cells in file.texts(known):
                for (one, source), (other, target) in combinations(sorted(cells), 2):
                    pair = known[one], known[other]
                    sides = self.development.setdefault(pair, ([], []))
                    sides[0].append(source)
                    sides[1].append(target)
                    found = True
            if not found:
                raise InputError("no pairs to validate on", file=file.source)

    def read(self) -> None:
        """See :meth:`TrainingRun.read`."""
        multilingual, known = self.files.multilingual, self.files.languages
        assert multilingual is not None
        read = read_multilingual(multilingual.pairs, known)
        count = sum((rows[:, 0] >= 0).sum() * weight for rows, weight in read.rows)
        self.config = self.given.fitting(float(count))
        self._learn(read.texts)
        sentences = []
        for number, texts in enumerate(read.texts):
            sentences.append(self._as_ids(texts, known[number]))
            self._sample_of(number, texts)
            read.texts[number] = []  # frees memory
        longest = self.config.training.maximum_length
        pairs = pair_corpora(read, sentences, known, longest)
        wanted = self.config.training.three_way > 0
        three = three_way_corpora(read, sentences, known, longest) if wanted else {}
        if wanted and not three:
            raise SettingsError("training.three_way has no effect: no row is in three languages")
        self.corpora = MultilingualCorpus(pairs, known[0], three)
        own = len([pair for pair in pairs if known[0] in pair])
        self.environment.note(
            f"{self.corpora.rows:.0f} weighted pairs with {known[0]} in {own} pairs of languages,"
            f" and {len(pairs) - own} pairs of languages without it; sentences of more than"
            f" {longest} subwords, left out: {sum((s.lengths > longest).sum() for s in sentences)}"
        )

    def _learn(self, texts: Sequence[list[str]]) -> None:
        """Learn the text processing, or take that of the model to start from."""
        config, files = self.config, self.files
        if files.starts:
            self.processor = self._started_processor()
            return
        known: Segmenter
        if files.segmenter is not None:
            known = load_segmenter(files.segmenter)
        else:
            known = learn_segmenter(self._balanced(texts), config.segmentation)
        self.processor = self.learn_text(texts, known)
        if TRIGRAMS in views(config.architecture):
            self.processor.learn_trigrams(texts, config.trigrams)

    def _balanced(self, texts: Sequence[list[str]]) -> list[str]:
        """Sentences of all languages, normalised; of each as many as its power of their number."""
        training, size = self.config.training, self.config.segmentation.sample_size
        random, most = np.random.default_rng(training.seed), np.array(list(map(len, texts)))
        shares = most**training.language_exponent
        counts = np.minimum(size * shares / shares.sum(), most).astype(int)
        chosen = []
        for language, own, count in zip(self.files.languages, texts, counts, strict=True):
            rows = sorted(random.choice(len(own), count, replace=False).tolist())
            chosen += [self.config.normalisation(own[row], language) for row in rows]
        return chosen

    def _as_ids(self, texts: list[str], language: str) -> Sentences:
        read = self.processor.ids
        pieces = Ragged.of(read(texts, language, PIECES))
        if self.processor.trigrams is None:
            return Sentences(pieces)
        return Sentences(pieces, Ragged.of(read(texts, language, TRIGRAMS)))

    def _sample_of(self, number: int, texts: list[str]) -> None:
        """Choose sentences of a language for the background sample."""
        if not number:
            self._samples: dict[str, list[str]] = {}
        random = np.random.default_rng([self.config.training.seed, number])
        rows = random.choice(len(texts), min(SAMPLE_ROWS, len(texts)), replace=False)
        self._samples[self.files.languages[number]] = [texts[row] for row in sorted(rows)]

    def make_learner(self) -> tuple[EncoderLearner, Stream]:
        """See :meth:`TrainingRun.make_learner`."""
        nothing = np.zeros(len(self.processor.vocabulary), dtype=np.int64)
        model = BilingualLearner(
            self.network, "lstm", nothing, self.config.training, one_language=True
        )
        # A mini-batch holds few trigrams: those of its two languages.
        model.lazy = {id(table.weight) for table in self.network.tables()}
        return model.to(self._device), pair_stream(model, (self.corpora, {}))

    def validate(self, network: Network) -> float:
        """Mean over the development pairs of languages of :meth:`EncoderTraining.validate`."""
        encoder = self._encoder(network)
        errors = {
            "-".join(pair): validation_error(encoder, pair, *sides)
            for pair, sides in self.development.items()
        }
        self.environment.note(", ".join(f"{name} {error:.1f}" for name, error in errors.items()))
        return sum(errors.values()) / len(errors)

    def save(self, folder: Path, network: Network) -> None:
        """See :meth:`TrainingRun.save`; with a background sample of each language."""
        kind = (self.config.architecture, self.config.shape)
        ENCODERS.save(folder, kind, network, self.processor, self.environment.bits)
        encoder = self._encoder(ENCODERS.load(folder).network)
        samples = {name: encoder.encode(own, name) for name, own in self._samples.items()}
        save_samples(folder / BACKGROUND, samples)
