"""Encoders of more than two languages: trained, graded, extended by a language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from bitextfilter.arrays import drawn
from bitextfilter.encoders.base import Network
from bitextfilter.encoders.registry import ENCODERS, PIVOT, views
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.evaluation.recovery import distinct_pairs, recover
from bitextfilter.languages import find_language
from bitextfilter.models.checkpoint import bits_in, restore_rows
from bitextfilter.models.folders import (
    ATTRIBUTION,
    CALIBRATION,
    GRADES,
    SECOND,
    copy_files,
    read_config,
    write_config,
)
from bitextfilter.scoring.background import BACKGROUND, load_background, load_samples, save_samples
from bitextfilter.scoring.model import Model
from bitextfilter.scoring.thresholds import Grade
from bitextfilter.similarity.vectors import NEIGHBOURS, csls, margin_matrix
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import TRIGRAMS
from bitextfilter.text.segment import Segmenter, learn_segmenter, load_segmenter
from bitextfilter.text.trigrams import TrigramSettings
from bitextfilter.training.encoder_learner import BilingualLearner, EncoderLearner, pair_stream
from bitextfilter.training.encoder_training import EncoderTraining, validation_error
from bitextfilter.training.loop import Stream
from bitextfilter.training.multilingual import (
    LanguageFile,
    LanguagePair,
    MultilingualCorpus,
    check_multilingual,
    check_width,
    pair_corpora,
    read_multilingual,
    taught_corpora,
)
from bitextfilter.training.start import start_with_more, train_rows_from

SAMPLE_ROWS = 200
"""Sentences of each language in the background sample."""


class MultilingualTraining(EncoderTraining):
    """Training of one encoder for more than two languages, which share all of it."""

    def check(self) -> None:
        """See :meth:`TrainingRun.check`."""
        super().check()
        check_multilingual(self.config.training, bool(self.files.taught))
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
        read = read_multilingual(multilingual.pairs, known, self.files.taught)
        count = sum((rows[:, 0] >= 0).sum() * weight for rows, weight in read.rows)
        self.config = self.given.fitting(float(count))
        self._learn(read.texts)
        sentences, self._samples = [], dict[str, list[str]]()
        for number, texts in enumerate(read.texts):
            sentences.append(self.as_ids(texts, known[number]))
            self._sample_of(number, texts)
            read.texts[number] = []  # frees memory
        longest = self.config.training.maximum_length
        pairs = pair_corpora(read, sentences, known, longest)
        wanted = self.config.training.three_way > 0
        three = pair_corpora(read, sentences, known, longest, wanted) if wanted else {}
        if wanted and not three:
            raise SettingsError("training.three_way has no effect: no row is in three languages")
        taught = taught_corpora(read, sentences, longest)
        self.corpora = MultilingualCorpus(pairs, known[0], three, taught)
        own = len([pair for pair in pairs if known[0] in pair])
        self.environment.note(
            f"{self.corpora.rows:.0f} weighted pairs with {known[0]} in {own} pairs of languages,"
            f" and {len(pairs) - own} pairs of languages without it; sentences of more than"
            f" {longest} subwords, left out: {sum((s.lengths > longest).sum() for s in sentences)}"
            + (f"; taught rows: {sum(map(len, taught))}" if taught else "")
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
            rows = drawn(len(own), count, random)
            chosen += [self.config.normalisation(own[row], language) for row in rows]
        return chosen

    def _sample_of(self, number: int, texts: list[str]) -> None:
        """Choose sentences of a language for the background sample."""
        rows = drawn(len(texts), SAMPLE_ROWS, [self.config.training.seed, number])
        self._samples[self.files.languages[number]] = [texts[row] for row in rows]

    def make_learner(self) -> tuple[EncoderLearner, Stream]:
        """See :meth:`TrainingRun.make_learner`."""
        nothing = np.zeros(len(self.processor.vocabulary), dtype=np.int64)
        check_width(self.corpora.taught, self.network.dim)
        model = BilingualLearner(
            self.network, "lstm", nothing, self.config.training, one_language=True
        )
        if self.corpora.taught:
            model.add_scale()
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
        encoder = self.saved(folder, network)
        samples = {name: encoder.encode(own, name) for name, own in self._samples.items()}
        save_samples(folder / BACKGROUND, samples)


def grade_languages(
    model: Model, files: Sequence[LanguageFile], weak_above: float
) -> Iterator[Grade]:
    """Yield the grade of the language of each file beside the model's first.

    Args:
        model: opened for any two of its languages.
        files: each names two of its languages, of which one is its first.
        weak_above: a language with a higher error, in percent, is weak.

    Raises:
        SettingsError: a file names other languages.
        InputError, NotFoundError: a file is bad, or has no pairs.
    """
    known = model.processor.known
    for file in files:
        named = [find_language(name, known) or name for name in file.languages if name != "-"]
        if len(named) != 2 or known[0] not in named or not set(named) <= set(known):
            raise SettingsError(
                f"{file.source}: name {known[0]} and one other language of the model, as"
                f" {known[0]},{known[1]}=FILE"
            )
        (language,) = (name for name in named if name != known[0])
        rows = [dict(cells) for cells in file.texts(known) if len(cells) == 2]
        sides = [[row[known.index(name)] for row in rows] for name in (known[0], language)]
        kept = distinct_pairs(*sides)
        own, other = ([side[place] for place in kept] for side in sides)
        if not kept:
            raise InputError("no pairs", file=file.source)
        similarity = margin_matrix(csls, model.encode(own, known[0]), model.encode(other, language))
        found = recover(own, other, similarity)
        error = round(found.mean, 2)
        yield Grade(language, error, error > weak_above, found.pairs, Path(file.source).name)


_ENCODER, _CLASSIFIER = "encoder", "classifier"
_TENSORS = f"{_ENCODER}.safetensors"
_COPIED = (f"{_CLASSIFIER}.safetensors", f"{_CLASSIFIER}.json", CALIBRATION, GRADES, ATTRIBUTION)


class LanguageAddition(MultilingualTraining):
    """Training of the n-grams of further languages; all else of the model stays as it is.

    Sentences of the other languages keep their vectors, to the last bit.
    """

    def check(self) -> None:
        """See :meth:`TrainingRun.check`."""
        super().check()
        self._start, *others = self.files.starts
        if self.files.vectors is not None:
            raise SettingsError("--embeddings has no effect: new n-grams alone are trained")
        base, chosen = read_config(self._start), self.files.languages
        self._known = tuple(base["languages"])
        self._new = [language for language in chosen if language not in self._known]
        name = self._start.name
        if others:
            raise SettingsError("a language is added to one model: give one --start")
        if chosen[0] in self._new or len(self._new) == len(chosen):
            raise SettingsError(f"the first of --languages is one that {name} has, as en,xx")
        if not self._new:
            raise SettingsError(
                f"{name} has {' and '.join(chosen)} already: name a language that it lacks"
            )
        own, kept = self.config.architecture, base.get("encoder", {}).get("architecture")
        if own != kept:
            raise SettingsError(
                f"the architecture is {own}, and that of {name} is {kept}:"
                f" give --architecture {kept}"
            )
        if SECOND in base:
            raise SettingsError(f"{name} has two encoders, and a language is added to one")
        bits = bits_in(self._start / _TENSORS)
        if self.environment.bits != bits:
            form = "leave --bits out" if bits == 32 else f"give --bits {bits}"
            raise SettingsError(f"the numbers of {name} have {bits} bits, which must stay: {form}")

    def _learn(self, texts: Sequence[list[str]]) -> None:
        """Take the text processing of the model, with more n-grams and the new languages."""
        self._check_replaced(["normalisation", "segmentation"])
        usual = replace(TrigramSettings(), size=self.config.trigrams.size)
        if self.config.trigrams != usual:
            raise SettingsError("of trigrams, trigrams.size alone has an effect here: the new ones")
        base = TextProcessor.load(self._start, read_config(self._start))
        of_language = dict(zip(self.files.languages, texts, strict=True))
        size = self.config.trigrams.size
        self.processor = base.extended({name: of_language[name] for name in self._new}, size)

    def make_network(self) -> Network:
        """See :meth:`TrainingRun.make_network`."""
        model = ENCODERS.load(self._start).network
        network = ENCODERS.build(
            self.config.architecture, self.config.shape, self.processor.sizes()
        )
        self._old_rows = start_with_more(network, model)
        added = ", ".join(f"{name} from row {rows}" for name, rows in self._old_rows.items())
        self.environment.note(f"{self._start.name} is kept; trained are {added or 'no rows'}")
        return network

    def make_learner(self) -> tuple[EncoderLearner, Stream]:
        """See :meth:`TrainingRun.make_learner`."""
        model, stream = super().make_learner()
        for name, parameter in model.network.named_parameters():
            train_rows_from(parameter, self._old_rows.get(name, len(parameter)))
        return model, stream

    def save(self, folder: Path, network: Network) -> None:
        """See :meth:`TrainingRun.save`; with the classifier and the grades of the model."""
        kind = (self.config.architecture, self.config.shape)
        ENCODERS.save(folder, kind, network, self.processor, self.environment.bits)
        restore_rows(folder / _TENSORS, self._start / _TENSORS)
        encoder = self._encoder(ENCODERS.load(folder).network)
        samples = load_samples(self._start)
        for name in self._new:
            samples[name] = encoder.encode(self._samples[name], name)
        first = load_background(self._start, names=self._known[:2])
        save_samples(folder / BACKGROUND, samples, NEIGHBOURS if first is None else first.k)
        copy_files(self._start, folder, _COPIED)
        config, base = read_config(folder), read_config(self._start)
        parts = {part: base[part] for part in (_CLASSIFIER,) if part in base}
        write_config(folder, {**config, **parts})
