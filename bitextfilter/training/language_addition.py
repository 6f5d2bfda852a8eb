"""Training of what a model of many languages needs for further ones: more character n-grams."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bitextfilter.encoders.base import Network
from bitextfilter.encoders.registry import ENCODERS
from bitextfilter.errors import SettingsError
from bitextfilter.models.checkpoint import bits_in, restore_rows
from bitextfilter.models.folders import ATTRIBUTION, GRADES, SECOND, read_config, write_config
from bitextfilter.scoring.background import (
    BACKGROUND,
    load_background,
    load_samples,
    save_samples,
)
from bitextfilter.similarity.neighbours import NEIGHBOURS
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.trigrams import TrigramSettings
from bitextfilter.training.encoder_learner import EncoderLearner
from bitextfilter.training.loop import Stream
from bitextfilter.training.multilingual_training import MultilingualTraining
from bitextfilter.training.start import start_with_more, train_rows_from

_CLASSIFIER = "classifier"
_TENSORS = "encoder.safetensors"
_COPIED = (f"{_CLASSIFIER}.safetensors", f"{_CLASSIFIER}.json", GRADES, ATTRIBUTION)


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
        for name in _COPIED:
            if (self._start / name).exists():
                shutil.copyfile(self._start / name, folder / name)
        config, base = read_config(folder), read_config(self._start)
        parts = {part: base[part] for part in (_CLASSIFIER,) if part in base}
        write_config(folder, {**config, **parts})
