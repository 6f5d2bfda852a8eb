"""Encoder training from files: recipe, text, network, loop, validation, model folder.

The encoders of two models may stand side by side in one folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bitextfilter.arrays import Integers, Vectors, drawn
from bitextfilter.encoders.base import Encoder, Network
from bitextfilter.encoders.expressions import CombinationSettings
from bitextfilter.encoders.protocol import SentenceEncoder
from bitextfilter.encoders.registry import ENCODERS, PIVOT, sees_order, views
from bitextfilter.errors import SettingsError
from bitextfilter.evaluation.recovery import recover
from bitextfilter.models.folders import SECOND, read_config
from bitextfilter.scoring.background import BACKGROUND, BackgroundSample
from bitextfilter.settings import from_groups, group_rows, read_settings
from bitextfilter.similarity.vectors import cosine_matrix, csls, margin_matrix
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES, TRIGRAMS, Ragged
from bitextfilter.text.segment import SegmenterSettings, load_segmenter
from bitextfilter.text.trigrams import TrigramSettings
from bitextfilter.text.vocabulary import END, RESERVED
from bitextfilter.training.data import Corpus, Sentences, read_monolingual, read_pairs
from bitextfilter.training.encoder_learner import BilingualLearner, EncoderLearner, pair_stream
from bitextfilter.training.loop import Stream
from bitextfilter.training.multilingual import (
    LanguageTexts,
    MultilingualCorpus,
    check_taught,
    check_width,
    read_multilingual,
    taught_corpora,
)
from bitextfilter.training.runs import RECORD, NetworkConfig, TrainingFiles, TrainingRun
from bitextfilter.training.settings import TrainingSettings, count_updates, validation_interval
from bitextfilter.training.start import (
    check_vectors,
    start_alike,
    start_from,
    start_small,
    use_vectors,
)

RECIPE: Mapping[str, Any] = {
    "architecture": "word,trigram",
    "shape": {"embedding": 256},
    "normalisation": {"apart": True},
    "segmentation": {"vocabulary_size": 0, "sample_size": 400_000},
    "trigrams": {"size": 40_000},
    "training": {
        "translation": 0.0,
        "autoencoding": 0.0,
        "ranking": 0,
        "triplet": 1,
        "mega_batch": 40,
        "batch_size": 100,
        "passes": 0,
        "maximum_length": 0,
        "optimiser": "lazy-adam",
        "schedule": "constant",
        "warmup": 0,
        "clip": 0,
    },
}
"""The default architecture and its defaults: the recipe of the shipped models."""


def _whole(least: int, number: float, most: int) -> int:
    """The whole number at or below a number, within bounds."""
    return int(min(max(number, least), most))


@dataclass(frozen=True)
class EncoderConfig(NetworkConfig):
    """All settings of a run: a settings file holds them, and a model folder keeps them."""

    trigrams: TrigramSettings
    """For architectures that read the trigrams of words."""
    training: TrainingSettings

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> EncoderConfig:
        """Build from nested names and values; missing ones have their defaults.

        There is no decoder by default where none is needed. Raises SettingsError for an unknown
        name, or a value that does not fit.
        """
        name = str(values.get("architecture", RECIPE["architecture"]))
        without = () if name in ENCODERS else ("translation", "autoencoding")
        if name == PIVOT:
            without = ("autoencoding", "ranking")
        usual: Mapping[str, Any] = {"training": dict.fromkeys(without, 0.0)}
        if name == RECIPE["architecture"]:
            usual = RECIPE
        kinds = {
            "shape": ENCODERS.find(name).settings,
            "normalisation": Normalisation,
            "segmentation": SegmenterSettings,
            "trigrams": TrigramSettings,
            "training": TrainingSettings,
        }
        config = cls(name, **from_groups(kinds, values, usual, ["architecture"]))
        config._check_architecture()
        return config

    @staticmethod
    def rows() -> list[tuple[str, str, str, str]]:
        """Every setting as a row; in brackets the default of other architectures."""
        config = EncoderConfig.from_dict({})
        meaning = "parts such as word+lstm,trigram, autoencoder, pivot or averaging"
        return [
            ("architecture", f"`{config.architecture}`", "", meaning),
            *group_rows(config.shape, "shape", "parts", CombinationSettings()),
            *group_rows(ENCODERS.find("autoencoder").settings(), "shape", "autoencoder and pivot"),
            *group_rows(ENCODERS.find("averaging").settings(), "shape", "averaging"),
            *group_rows(config.normalisation, "normalisation", other=Normalisation()),
            *group_rows(config.segmentation, "segmentation", other=SegmenterSettings()),
            *group_rows(config.trigrams, "trigrams", other=TrigramSettings()),
            *group_rows(config.training, "training", other=TrainingSettings()),
        ]

    def _check_architecture(self) -> None:
        """Raise SettingsError for settings that have no effect on this architecture."""
        if TRIGRAMS not in views(self.architecture) and self.trigrams != TrigramSettings():
            raise SettingsError(
                f"trigrams have no effect: the architecture {self.architecture} reads none; leave"
                " the settings of trigrams out"
            )
        recurrent = {"training.scramble": self.training.scramble}
        recurrent["shape.gain"] = getattr(self.shape, "gain", 0)
        recurrent["shape.standardise"] = getattr(self.shape, "standardise", False)
        for name, value in recurrent.items():
            if value and not sees_order(self.architecture):
                raise SettingsError(
                    f"{name} has no effect: the architecture {self.architecture} does not see the"
                    " order of pieces; leave it out"
                )

    def fitting(self, pairs: float) -> EncoderConfig:
        """Return the same with the settings that depend on the number of pairs.

        The sizes are from trials of 5,000 to 437,842 pairs (docs/train-your-own.md).
        """
        segmentation, training = self.segmentation, self.training
        vocabulary = segmentation.vocabulary_size or 1000 * _whole(
            2, 4 * (pairs / 5000) ** 0.4 + 0.5, 24
        )
        passes = training.passes or _whole(3, 500_000 / max(pairs, 1), 10)
        longest = training.maximum_length or max(60, 108 - vocabulary // 500)
        updates = training.updates or count_updates(pairs, passes, training.batch_size)
        if training.updates:  # which the setting of passes has no say in
            passes = training.passes
        read = updates * training.batch_size / max(pairs, 1)
        every = training.validate_every or validation_interval(updates, read, training.mega_batch)
        return replace(
            self,
            segmentation=replace(segmentation, vocabulary_size=vocabulary),
            training=replace(training, passes=passes, maximum_length=longest, validate_every=every),
        )

    def check_files(self, files: TrainingFiles) -> None:
        """Raise SettingsError for files or languages that the architecture cannot use.

        Initial vectors raise as :func:`check_vectors`.
        """
        usual = type(self.shape)()
        separate = [
            name
            for name, value in vars(self.shape).items()
            if value == "separate" and getattr(usual, name) == "shared"
        ]
        if separate and len(set(files.languages)) == 1:
            raise SettingsError(
                f"shape.{separate[0]} is separate, but both sides are {files.languages[0]}:"
                " one of the two would never be used"
            )
        if (self.architecture == PIVOT) != (files.pivot is not None):
            raise SettingsError(
                "the architecture pivot, and no other, is trained on pairs with a third language,"
                " which bitext-train-encoder takes"
            )
        for side, option in enumerate(("--source-text", "--target-text")):
            written = side in self.training.decoded_sides and self.training.autoencoding
            if files.monolingual.get(side) and not written:
                raise SettingsError(
                    f"{option} has no effect: nothing autoencodes it; set training.autoencoding"
                    f" above 0 and training.decode to {option[2:8]} or both, or leave it out"
                )
        if files.multilingual is None:
            self._check_two_languages()
        if files.starts and files.segmenter is not None:
            raise SettingsError(
                "--segmenter has no effect with --start, whose segmentation is taken; leave one out"
            )
        if files.vectors is not None and PIECES not in views(self.architecture):
            raise SettingsError(
                f"--embeddings has no effect: the architecture {self.architecture} has no vectors"
                " of pieces; add a part that reads pieces, such as word, or leave it out"
            )
        check_vectors(files.vectors, "shape.embedding", self.shape.embedding)

    def _check_two_languages(self) -> None:
        """Raise SettingsError for settings that choose among pairs of languages."""
        for name in ("language_exponent", "without_first", "three_way"):
            if getattr(self.training, name) != getattr(TrainingSettings(), name):
                raise SettingsError(
                    f"training.{name} has no effect with two languages; leave it out"
                )

    def check_text(self, kept: Mapping[str, Any], option: str, groups: Sequence[str]) -> None:
        """Raise SettingsError for settings of the text that a model or a segmenter replaces.

        Args:
            kept: the settings that it was made with, as far as they are known.
            option: names it.
            groups: the names of the groups that it replaces.
        """
        usual = EncoderConfig.from_dict({"architecture": self.architecture})
        for group in groups:
            values, defaults = (asdict(getattr(p, group)) for p in (self, usual))
            theirs = {**defaults, **kept.get(group, {})}
            for name, value in values.items():
                if value not in (defaults[name], theirs[name]):
                    raise SettingsError(
                        f"{group}.{name}={json.dumps(value)} has no effect with {option}, which"
                        " brings its own; leave it out"
                    )


BACKGROUND_ROWS = 1000
"""Sentences of each side in the background sample, which margins are measured against."""


class EncoderTraining(TrainingRun):
    """Training of an encoder, with or without a decoder."""

    config: EncoderConfig

    def check(self) -> None:
        """See :meth:`TrainingRun.check`."""
        self.config.check_files(self.files)
        check_taught(self.config.training, bool(self.files.taught))

    def read(self) -> None:
        """See :meth:`TrainingRun.read`."""
        sources, targets, weights, _ = read_pairs(self.files.pairs)
        self.config = self.given.fitting(sum(weights))
        lessons = read_multilingual((), self.files.languages, self.files.taught)
        self.processor = self._make_processor(
            *(side + more for side, more in zip((sources, targets), lessons.texts, strict=True))
        )
        languages = self.processor.languages
        sides = self.as_ids(sources, languages[0]), self.as_ids(targets, languages[1])
        self.corpus = self.short(Corpus(*sides, np.array(weights)))
        self.taught = self._taught(lessons)
        self.monolingual = {}
        for side, paths in self.files.monolingual.items():
            if paths:
                every = self.as_ids(read_monolingual(paths), languages[side])
                longest = self.config.training.maximum_length
                short = every.take(np.flatnonzero(every.lengths <= longest))
                self.environment.note(f"{len(short)} monolingual sentences of {languages[side]}")
                self.monolingual[side] = short.followed_by(self.corpus.side(side))
        self._sample = distinct_sample(sources, targets, self.config.training.seed)

    def make_learner(self) -> tuple[EncoderLearner, Stream]:
        """See :meth:`TrainingRun.make_learner`."""
        cell = getattr(self.config.shape, "cell", "lstm")
        counts, training = self._predicted_counts(), self.config.training
        model = BilingualLearner(self.network, cell, counts, training, self._one_language)
        pairs: Corpus | MultilingualCorpus = self.corpus
        if self.taught:
            model.add_scale()
            source, target = self.processor.languages
            of_pair = {(source, target): self.corpus}
            pairs = MultilingualCorpus(of_pair, source, taught=self.taught)
        check_width(self.taught, self.network.dim)
        model.to(self._device)
        return model, pair_stream(model, (pairs, self.monolingual))

    def _taught(self, lessons: LanguageTexts) -> list[Corpus]:
        """Return the text that is taught. SettingsError for vectors of another width."""
        read = zip(lessons.texts, self.processor.languages, strict=True)
        every = [self.as_ids(texts, language) for texts, language in read]
        taught = taught_corpora(lessons, every, self.config.training.maximum_length)
        if taught:
            self.environment.note(f"{sum(map(len, taught))} taught rows")
        return taught

    @property
    def _one_language(self) -> bool:
        return len(set(self.processor.languages)) == 1

    def validate(self, network: Network) -> float:
        """Error on the development pairs in percent: 0 to 100, lower is better.

        The sentence alignment recovery error, mean of both directions and of CSLS and cosine:
        two measures separate networks that one alone, in steps of a pair, does not.
        """
        sources, targets = self._development
        encoder = self._encoder(network)
        return validation_error(encoder, encoder.languages, sources, targets)

    def save(self, folder: Path, network: Network) -> None:
        """See :meth:`TrainingRun.save`; with the background sample of CSLS."""
        encoder = self.saved(folder, network)
        BackgroundSample(*both_sides(encoder, self._sample)).save(folder / BACKGROUND)

    def saved(self, folder: Path, network: Network) -> Encoder:
        """Write network and text processing, and return the encoder that is read from there."""
        kind = (self.config.architecture, self.config.shape)
        ENCODERS.save(folder, kind, network, self.processor, self.environment.bits)
        return self._encoder(ENCODERS.load(folder).network)

    def _encoder(self, network: Network) -> Encoder:
        environment = self.environment
        return Encoder(self.processor, network, environment.device, environment.threads)

    def _make_processor(self, sources: list[str], targets: list[str]) -> TextProcessor:
        """Take the text processing of the model to start from, or learn it."""
        config, files = self.config, self.files
        if files.starts:
            processor = self._started_processor()
        else:
            known = None if files.segmenter is None else load_segmenter(files.segmenter)
            if known is not None:
                kept = {"segmentation": {"kind": known.kind}}
                self.given.check_text(kept, "--segmenter", ["segmentation"])
            processor = self.learn_text((sources, targets), known or config.segmentation)
        if TRIGRAMS not in views(config.architecture):
            processor.trigrams = None
        elif processor.trigrams is None:
            processor.learn_trigrams((sources, targets), config.trigrams)
        return processor

    def _started_processor(self) -> TextProcessor:
        """Take the text processing of the model to start from.

        SettingsError for settings that it replaces, and for a further model with other subwords.
        """
        processor = self._processor_of(self.files.starts[0])
        groups = ["trigrams"] if processor.trigrams is not None else []
        self._check_replaced([*groups, "normalisation", "segmentation"])
        first, *others = self.files.starts
        for other in others:
            if self._processor_of(other).vocabulary.pieces != processor.vocabulary.pieces:
                raise SettingsError(
                    f"{other} has other subwords than {first}, so that their vectors cannot be"
                    " mixed; train one from the other with --start"
                )
        return processor

    def _check_replaced(self, groups: Sequence[str]) -> None:
        """Raise SettingsError for settings of these groups that the model to start from brings."""
        record = self.files.starts[0] / RECORD
        kept = read_settings(record) if record.exists() else {}
        self.given.check_text(kept, "--start", groups)

    def _processor_of(self, folder: Path) -> TextProcessor:
        """Load the text processing of a model.

        SettingsError if it is of other languages, or has two encoders.
        """
        config = read_config(folder)
        if SECOND in config:
            raise SettingsError(
                f"{folder} has two encoders; start from {folder / SECOND}, or from a model with one"
            )
        processor = TextProcessor.load(folder, config)
        wanted = self.files.languages
        if processor.counted != wanted:
            raise SettingsError(
                f"{folder} is a model of {'-'.join(processor.counted)}, not {'-'.join(wanted)}"
            )
        return processor

    def as_ids(self, sentences: list[str], language: str) -> Sentences:
        """Sentences of a language as ids of every view."""
        rows = self.processor.ids(sentences, language)
        if self.processor.trigrams is None:
            return Sentences(rows)
        return Sentences(rows, Ragged.of(self.processor.ids(sentences, language, TRIGRAMS)))

    def make_network(self) -> Network:
        """See :meth:`TrainingRun.make_network`."""
        config, files, note = self.config, self.files, self.environment.note
        network = ENCODERS.build(config.architecture, config.shape, self.processor.sizes())
        if config.training.initial == "uniform":
            start_small(network, config.training.seed)
        start_alike(network)
        for folder in reversed(files.starts):
            taken = start_from(network, ENCODERS.load(folder).network)
            note(f"from {folder.name}: {', '.join(taken)}")
        use_vectors(network.piece_tables(), files.vectors, self.processor.vocabulary, note)
        return network

    def _predicted_counts(self) -> Integers:
        """Times the decoder predicts each id, ``(v,)``."""
        counts = np.zeros(len(self.processor.vocabulary), dtype=np.int64)
        for side in self.config.training.decoded_sides:
            counts[len(RESERVED) :] += self.processor.vocabulary.counts[:, side]
            counts[END] += len(self.corpus)
        return counts


def validation_error(
    encoder: SentenceEncoder, languages: tuple[str, str], sources: list[str], targets: list[str]
) -> float:
    """Sentence alignment recovery error in percent, the mean of CSLS and cosine; 0 to 100."""
    sides = zip((sources, targets), languages, strict=True)
    source, target = (encoder.encode(sentences, language) for sentences, language in sides)
    errors = [
        recover(sources, targets, scores).mean
        for scores in (margin_matrix(csls, source, target), cosine_matrix(source, target))
    ]
    return sum(errors) / len(errors)


def both_sides(
    encoder: SentenceEncoder, sides: tuple[list[str], list[str]]
) -> tuple[Vectors, Vectors]:
    """Encode sentences of the source, ``(n, dim)``, and of the target language, ``(m, dim)``."""
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
        sides.append([distinct[row] for row in drawn(len(distinct), BACKGROUND_ROWS, random)])
    return sides[0], sides[1]
