"""Translator training from files: plan, text, network, loop, validation, model folder."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.evaluation.bleu import bleu, check_bleu
from bitextfilter.io.rows import TemplatedColumns
from bitextfilter.models.device import resolve_device
from bitextfilter.models.folders import check_replaceable, writing_folder
from bitextfilter.settings import check_groups, from_mapping, group_rows
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.parses import TemplateSymbols
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES, Ragged
from bitextfilter.text.segment import SegmenterSettings, load_segmenter
from bitextfilter.training.data import Corpus, Sentences, read_templated
from bitextfilter.training.loop import Hooks, Progress, learn, start_torch
from bitextfilter.training.settings import TranslatorSettings
from bitextfilter.training.translator import TranslationLearner, translation_stream
from bitextfilter.translation.network import TranslationNetwork
from bitextfilter.translation.registry import TEMPLATED, TRANSLATORS
from bitextfilter.translation.translator import SearchSettings, Translator
from bitextfilter.workflows.encoder_config import Environment, TrainingFiles
from bitextfilter.workflows.resuming import begin_state, check_resumable

CASED: Mapping[str, Any] = {"lowercase": False}
"""Translations are written as the training text is."""
SMALL: Mapping[str, Any] = {"vocabulary_size": 8000, "merges": 8000}


@dataclass(frozen=True)
class TranslatorConfig:
    """What a settings file holds, and a model folder keeps."""

    architecture: str = "transformer"
    shape: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the architecture, by name."""
    normalisation: Normalisation = field(default_factory=lambda: Normalisation(**CASED))
    segmentation: SegmenterSettings = field(default_factory=lambda: SegmenterSettings(**SMALL))
    training: TranslatorSettings = field(default_factory=TranslatorSettings)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TranslatorConfig:
        """Build from nested names and values; what is left out has its default.

        Raises:
            SettingsError: an unknown name, or a value that does not fit.
        """
        check_groups([part.name for part in dataclasses.fields(cls)], values)
        name = str(values.get("architecture", "transformer"))
        shape = TRANSLATORS.find(name).settings
        return cls(
            name,
            dataclasses.asdict(from_mapping(shape, values.get("shape", {}), "shape")),
            from_mapping(Normalisation, values.get("normalisation", {}), "normalisation", CASED),
            from_mapping(SegmenterSettings, values.get("segmentation", {}), "segmentation", SMALL),
            from_mapping(TranslatorSettings, values.get("training", {}), "training"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Every setting, nested, as :meth:`from_dict` takes it."""
        return dataclasses.asdict(self)


def settings_rows() -> list[tuple[str, str, str, str]]:
    """Every setting of a translator's training."""
    plan = TranslatorConfig.from_dict({})
    shapes = [
        row
        for name in TRANSLATORS
        for row in group_rows(TRANSLATORS.find(name).settings(), "shape", name)
    ]
    return [
        ("architecture", plan.architecture, ", ".join(TRANSLATORS), "the network"),
        *shapes,
        *group_rows(plan.normalisation, "normalisation"),
        *group_rows(plan.segmentation, "segmentation"),
        *group_rows(plan.training, "training"),
    ]


class TranslatorTraining:
    """One run: reads the material, trains, and writes the model folder at every best error."""

    def __init__(
        self,
        plan: TranslatorConfig,
        material: TrainingFiles,
        where: Environment,
        processor: TextProcessor | None = None,
    ) -> None:
        """Read everything that the run needs; a given *processor* is used instead of learning one.

        Raises:
            SettingsError: settings do not fit, or are not those of the run to resume.
            NotFoundError, InputError: a file is missing or bad.
            DeviceError: the device, or sacreBLEU for validation by BLEU, is not there.
            OutputError: something other than a model stands at the output.
        """
        self.plan, self.material, self.where = plan, material, where
        self.settings = TRANSLATORS.settings(plan.architecture, plan.shape)
        self._device = resolve_device(where.device)
        check_replaceable(where.output)
        if plan.training.validation == "bleu":
            check_bleu()
        _check_templates(plan, material)
        if where.resume:
            check_resumable(where, self._described())
        start_torch(plan.training.seed, where.threads)
        self._development = [list(side) for side in zip(*material.development.texts(), strict=True)]
        if not self._development:
            raise InputError("no pairs to validate on", file=material.development.source)
        sources, targets, weights, templates = read_templated(material.pairs)
        self.processor = processor or self._learn_text(sources, targets)
        if templates:
            self.processor.templates = TemplateSymbols.learn(templates, self.settings.symbols)
        self.corpus = self._make_corpus((sources, targets), weights, templates)
        sizes = self.processor.sizes()
        self.network = TRANSLATORS.build(plan.architecture, self.settings, sizes)
        parameters = sum(part.numel() for part in self.network.parameters())
        where.note(f"{sizes[PIECES]} subwords, {parameters} parameters")

    def run(self) -> Progress:
        """Train to the end, or on from where an interrupted run was last validated."""
        learner = TranslationLearner(self.network, self.plan.training)
        learner.to(self._device)
        if not self.where.resume:
            begin_state(self.where, self._described())
        stream = translation_stream(self.corpus, self.plan.training, self._device)
        hooks = Hooks(self.validate, self.keep, self.where.report)
        return learn(learner, stream, hooks, self.where.state, self.where.resume)

    def validate(self, network: TranslationNetwork) -> float:
        """Error on the development pairs by ``training.validation``; lower is better."""
        translator = Translator(self.processor, network, self.where.device, self.where.threads)
        sources, targets, *others = self._development
        templates = others[0] if others else None
        if self.plan.training.validation == "bleu":
            found = translator.translate(sources, SearchSettings(width=1), templates)
            return 100 - bleu([row.best for row in found], targets).score
        ids = self.processor.ids(targets, self.processor.languages[1])
        lengths = np.array([len(row) + 1 for row in ids])
        scores = translator.log_probabilities(sources, targets, templates)
        return float(-(scores * lengths).sum() / lengths.sum())

    def keep(self, network: TranslationNetwork, progress: Progress) -> None:
        """Write the model folder: the network with the lowest error so far."""
        described = {"material": self.material.described(), **self.plan.to_dict()}
        described |= {"validation": progress.history}
        with writing_folder(self.where.output) as folder:
            kind = (self.plan.architecture, self.settings)
            TRANSLATORS.save(folder, kind, network, self.processor, self.where.quantise)
            _write_json(folder / "training.json", described)

    def _learn_text(self, sources: list[str], targets: list[str]) -> TextProcessor:
        """Learn the segmentation, unless one is given, and the vocabulary."""
        self.where.note("learning the segmentation and the vocabulary")
        given, plan = self.material.segmenter, self.plan
        segmentation = plan.segmentation if given is None else load_segmenter(given)
        languages = self.material.languages
        return TextProcessor.learn(sources, targets, languages, plan.normalisation, segmentation)

    def _described(self) -> dict[str, Any]:
        """Return the plan and the files, by name."""
        return {**self.plan.to_dict(), "material": self.material.described()}

    def _make_corpus(
        self, sides: tuple[list[str], list[str]], weights: list[float], templates: list[str]
    ) -> Corpus:
        """The pairs as ids; those that are too long are left out, and counted."""
        languages, longest = self.processor.languages, self.plan.training.maximum_length
        source, target = (
            Sentences(self.processor.ids(texts, language))
            for texts, language in zip(sides, languages, strict=True)
        )
        kept = np.flatnonzero(np.maximum(source.lengths, target.lengths) <= longest)
        left = len(weights) - len(kept)
        self.where.note(f"{len(kept)} pairs, {left} left out for more than {longest} subwords")
        if not len(kept):
            raise SettingsError(f"every pair is longer than training.maximum_length={longest}")
        symbols = None
        if (known := self.processor.templates) is not None:
            symbols = Ragged.of(known.ids(templates[row]) for row in kept)
        return Corpus(source.take(kept), target.take(kept), np.array(weights)[kept], symbols)


def _check_templates(plan: TranslatorConfig, material: TrainingFiles) -> None:
    """Raise SettingsError unless all files have templates, or none, as the architecture wants."""
    wanted = plan.architecture in TEMPLATED
    for file in (*material.pairs, material.development):
        given = file.target is None and isinstance(file.columns, TemplatedColumns)
        if given != wanted:
            raise SettingsError(
                f"{file.source}: the architecture {plan.architecture} needs a column of parses"
                " (--template-column)" if wanted else
                f"the architecture {plan.architecture} follows no templates (--template-column)"
            )  # fmt: skip


def _write_json(path: Path, described: object) -> None:
    text = json.dumps(described, indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")
