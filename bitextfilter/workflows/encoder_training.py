"""Encoder training from files: text, network, loop, validation, model folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Vectors
from bitextfilter.encoders.base import Encoder, Network, NetworkEncoder
from bitextfilter.encoders.registry import ENCODERS, views
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.evaluation.recovery import recover
from bitextfilter.models.device import resolve_device
from bitextfilter.models.folders import check_replaceable, read_config, writing_folder
from bitextfilter.scoring.background import BACKGROUND, BackgroundSample
from bitextfilter.settings import read_settings
from bitextfilter.similarity.margins import csls_matrix
from bitextfilter.similarity.vectors import cosine_matrix
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import TRIGRAMS, Ragged
from bitextfilter.text.segment import load_segmenter
from bitextfilter.text.vocabulary import END, RESERVED
from bitextfilter.training.autoencoder import BilingualTraining
from bitextfilter.training.batches import pair_stream
from bitextfilter.training.data import Corpus, Sentences, read_monolingual, read_pairs
from bitextfilter.training.encoder_learner import EncoderLearner
from bitextfilter.training.loop import Hooks, Progress, Stream, learn, start_torch
from bitextfilter.training.pivot import PivotLearner, check_settings, pivot_stream
from bitextfilter.training.start import start_from, start_small, use_vectors
from bitextfilter.workflows.encoder_config import EncoderConfig, Environment, TrainingFiles
from bitextfilter.workflows.resuming import begin_state, check_resumable

_RECORD = "training.json"
"""The file of a model folder that says how its encoder was trained."""

REFERENCE_ROWS = 1000
"""Sentences a side kept as the sample that CSLS and the margins are taken against."""


class EncoderTraining:
    """One run: reads the material, trains, and writes the model folder at every best error."""

    def __init__(self, plan: EncoderConfig, material: TrainingFiles, where: Environment) -> None:
        """Read everything that the run needs.

        Raises:
            SettingsError: settings do not fit, or are not those of the run to resume.
            NotFoundError, InputError: a file is missing or bad.
            DeviceError: the device is not there.
            OutputError: something other than a model stands at the output.
        """
        self.given = self.plan = plan
        self.material, self.where = material, where
        self.settings = ENCODERS.settings(plan.architecture, plan.shape)
        plan.check_files(material)
        self._device = resolve_device(where.device)
        check_replaceable(where.output)
        if where.resume:
            check_resumable(where, self._described())
        start_torch(plan.training.seed, where.threads)
        self._development = list(material.development.read())
        if not self._development:
            raise InputError("no pairs to validate on", file=material.development.source)
        self._read()
        self.network = self._make_network()

    def _read(self) -> None:
        """Read what is trained on."""
        sources, targets, weights = read_pairs(self.material.pairs)
        self.plan = self.given.fitting(sum(weights))
        self.processor = self._make_processor(sources, targets)
        sides = self._sentences(sources, 0), self._sentences(targets, 1)
        self.corpus = self._short(Corpus(*sides, np.array(weights)))
        self.monolingual = {
            side: self._make_monolingual(read_monolingual(paths), side)
            for side, paths in self.material.monolingual.items()
            if paths
        }
        self._sample = distinct_sample(sources, targets, self.plan.training.seed)

    def run(self) -> Progress:
        """Train to the end, or on from where an interrupted run was last validated."""
        model, stream = self._learning()
        if not self.where.resume:
            begin_state(self.where, self._described())
        hooks = Hooks(self.validate, self.keep, self.where.report)
        return learn(model, stream, hooks, self.where.state, self.where.resume)

    def _learning(self) -> tuple[EncoderLearner, Stream]:
        """The network on its device, with what its training needs, and the mini-batches."""
        model = BilingualTraining(
            self.network,
            getattr(self.settings, "cell", "lstm"),
            self._predicted_counts(),
            self.plan.training,
            self._one_language,
        ).to(self._device)
        return model, pair_stream(model, (self.corpus, self.monolingual))

    @property
    def _one_language(self) -> bool:
        return len(set(self.processor.languages)) == 1

    def validate(self, network: Network) -> float:
        """Error on the development pairs in percent: 0 to 100, lower is better.

        The sentence alignment recovery error, mean of both directions and of CSLS and cosine:
        two measures tell networks apart that one alone, in steps of a pair, does not.
        """
        encoder = self._encoder(network)
        sources, targets = ([pair[side] for pair in self._development] for side in (0, 1))
        vectors = _both(encoder, (sources, targets))
        errors = [
            recover(sources, targets, matrix(*vectors)).mean
            for matrix in (csls_matrix, cosine_matrix)
        ]
        return sum(errors) / len(errors)

    def keep(self, network: Network, progress: Progress) -> None:
        """Write the model folder: the network with the lowest error so far."""
        described = {"material": self.material.described(), **self.plan.to_dict()}
        described |= {"validation": progress.history}
        with writing_folder(self.where.output) as folder:
            ENCODERS.save(
                folder,
                (self.plan.architecture, self.settings),
                network,
                self.processor,
                self.where.quantise,
            )
            text = json.dumps(described, indent=2, ensure_ascii=False) + "\n"
            (folder / _RECORD).write_text(text, encoding="utf-8")
            encoder = self._encoder(ENCODERS.load(folder).network)
            BackgroundSample(*_both(encoder, self._sample)).save(folder / BACKGROUND)

    def _encoder(self, network: Network) -> NetworkEncoder:
        where = self.where
        return NetworkEncoder(self.processor, network, where.device, where.threads)

    def _described(self) -> dict[str, Any]:
        """Return the plan and the files, by name."""
        return {**self.given.to_dict(), "material": self.material.described()}

    def _make_processor(self, sources: list[str], targets: list[str]) -> TextProcessor:
        """That of the model to start from, or one learnt from the training text.

        It has trigrams if the architecture reads them.
        """
        plan, material = self.plan, self.material
        if material.start is not None:
            processor = TextProcessor.load(material.start, read_config(material.start))
            groups = ["normalisation", "segmentation"]
            groups += ["trigrams"] if processor.trigrams is not None else []
            self.given.check_text(_settings_of(material.start), "--start", groups)
            if processor.languages != material.languages:
                raise SettingsError(
                    f"{material.start} is a model of {'-'.join(processor.languages)},"
                    f" not {'-'.join(material.languages)}"
                )
        else:
            given = material.segmenter
            known = None if given is None else load_segmenter(given)
            if known is not None:
                kept = {"segmentation": {"kind": known.kind}}
                self.given.check_text(kept, "--segmenter", ["segmentation"])
            self.where.note("learning the segmentation and the vocabulary")
            processor = TextProcessor.learn(
                sources, targets, material.languages, plan.normalisation, known or plan.segmentation
            )
        if TRIGRAMS not in views(plan.architecture):
            processor.trigrams = None
        elif processor.trigrams is None:
            processor.learn_trigrams(sources, targets, plan.trigrams)
        return processor

    def _sentences(self, sentences: list[str], side: int) -> Sentences:
        language = self.processor.languages[side]
        rows = self.processor.ids(sentences, language)
        if TRIGRAMS not in self.processor.views:
            return Sentences(rows)
        return Sentences(rows, Ragged.of(self.processor.ids(sentences, language, TRIGRAMS)))

    def _short(self, corpus: Corpus, kind: str = "") -> Corpus:
        """Leave out, and count, pairs that are too long; ``kind``: what they are called."""
        longest = self.plan.training.maximum_length
        short = corpus.up_to(longest)
        left = len(corpus) - len(short)
        self.where.note(
            f"{len(short)} {kind}pairs, {left} left out for more than {longest} subwords"
        )
        if not len(short):
            raise SettingsError(
                f"every {kind}pair is longer than training.maximum_length={longest}"
            )
        return short

    def _make_monolingual(self, lines: list[str], side: int) -> Sentences:
        """Sentences to autoencode: the given lines and the side of the pairs themselves."""
        every = self._sentences(lines, side)
        short = every.take(np.flatnonzero(every.lengths <= self.plan.training.maximum_length))
        language = self.processor.languages[side]
        self.where.note(f"{len(short)} monolingual sentences of {language}")
        return short.followed_by(self.corpus.side(side))

    def _make_network(self) -> Network:
        """A network at its starting point."""
        plan, material, note = self.plan, self.material, self.where.note
        network = ENCODERS.build(plan.architecture, self.settings, self.processor.sizes())
        if plan.training.initial == "uniform":
            start_small(network, plan.training.seed)
        if material.start is not None:
            taken = start_from(network, ENCODERS.load(material.start).network)
            note(f"from {material.start.name}: {', '.join(taken)}")
        if material.vectors is not None:
            vocabulary = self.processor.vocabulary
            found = use_vectors(network, material.vectors, vocabulary)
            note(f"{found} of {len(vocabulary)} initial vectors read")
        return network

    def _predicted_counts(self) -> NDArray[np.int64]:
        """How often the decoder predicts each id, ``(v,)``."""
        counts = np.zeros(len(self.processor.vocabulary), dtype=np.int64)
        for side in self.plan.training.decoded_sides:
            counts[len(RESERVED) :] += self.processor.vocabulary.counts[:, side]
            counts[END] += len(self.corpus)
        return counts


def _settings_of(model: Path) -> dict[str, Any]:
    """The settings that a model was trained with; none where it does not keep them."""
    path = model / _RECORD
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


_Pairs = tuple[list[str], list[str], list[float]]
"""Sentences of one side, the same in the pivot, and weights."""


class PivotTraining(EncoderTraining):
    """A run of the architecture pivot.

    The pivot has a segmentation and a vocabulary of its own, which go with the decoder: nothing
    of that language is in the model folder.
    """

    def _read(self) -> None:
        """Read what is trained on."""
        pivot = self.material.pivot
        assert pivot is not None, "check_files has seen to it"
        check_settings(self.plan.training)
        of_source, of_target = (read_pairs(files) for files in pivot.sides)
        self.plan = self.given.fitting(sum(map(sum, (of_source[2], of_target[2]))) / 2)
        self.processor = self._make_processor(of_source[0], of_target[0])
        self.pivot = TextProcessor.learn(
            [*of_source[1], *of_target[1]],
            [],
            (pivot.language, pivot.language),
            self.plan.normalisation,
            self.plan.segmentation,
        )
        self.corpora = self._make_corpus(of_source, 0), self._make_corpus(of_target, 1)
        self._sample = distinct_sample(of_source[0], of_target[0], self.plan.training.seed)

    def _make_corpus(self, pairs: _Pairs, side: int) -> Corpus:
        """Pairs with the pivot, as ids."""
        texts, pivots, weights = pairs
        language = self.pivot.languages[0]
        written = Sentences(self.pivot.ids(pivots, language))
        corpus = Corpus(self._sentences(texts, side), written, np.array(weights))
        return self._short(corpus, f"{self.processor.languages[side]}-{language} ")

    def _learning(self) -> tuple[EncoderLearner, Stream]:
        """See :meth:`EncoderTraining._learning`."""
        counts = self._predicted_counts()
        model = PivotLearner(
            self.network, self.settings.cell, counts, self.plan.training, self._one_language
        ).to(self._device)
        views = self.network.views
        return model, pivot_stream(self.corpora, self.plan.training, views, self._device)

    def _predicted_counts(self) -> NDArray[np.int64]:
        """How often the decoder predicts each id of the pivot's vocabulary, ``(v,)``."""
        counts = np.zeros(len(self.pivot.vocabulary), dtype=np.int64)
        counts[len(RESERVED) :] = self.pivot.vocabulary.counts.sum(axis=1)
        counts[END] = sum(map(len, self.corpora))
        return counts
