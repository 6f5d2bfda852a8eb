"""Translator training: objective and mini-batches; from files to a model folder.

A translator may be validated by BLEU, of sacreBLEU, an extra.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from bitextfilter.arrays import Floats
from bitextfilter.errors import SettingsError, optional
from bitextfilter.evaluation.result import Bootstrap, Estimate, estimates
from bitextfilter.models.layers import padding_mask
from bitextfilter.settings import from_groups, group_rows
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.parses import TemplateSymbols
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES, Ragged
from bitextfilter.text.segment import Segmenter, SegmenterSettings, load_segmenter
from bitextfilter.training.data import Corpus, Sentences, padded, read_pairs
from bitextfilter.training.loop import Learner, Stream
from bitextfilter.training.objectives import output_loss
from bitextfilter.training.runs import Environment, NetworkConfig, TrainingFiles, TrainingRun
from bitextfilter.training.settings import TranslatorSettings, run_length
from bitextfilter.training.start import check_vectors, use_vectors
from bitextfilter.translation.network import Decoded, TokenRows, TranslationNetwork
from bitextfilter.translation.translator import (
    TEMPLATED,
    TRANSLATORS,
    SearchSettings,
    Translator,
    shifted,
)

PART = 8192
"""Positions of both sides that are computed at a time: of long pairs, a part of a mini-batch."""

ROWS = 1024
"""Rows of decoder states whose logits are held at a time, where tokens may be copied."""


class _Pairs(NamedTuple):
    """A mini-batch."""

    sources: TokenRows
    targets: TokenRows


class TranslationLearner(Learner):
    """A translation network that learns to write the target, its end mark included."""

    network: TranslationNetwork
    settings: TranslatorSettings

    def __init__(self, network: TranslationNetwork, settings: TranslatorSettings) -> None:
        super().__init__(network, settings)
        network.dropout.part = settings.dropout

    def forward(self, batch: _Pairs) -> dict[str, Tensor]:
        """The label-smoothed cross-entropy in nats a token."""
        inputs, outputs = shifted(batch.targets)
        inside = padding_mask(batch.targets.lengths + 1, inputs.shape[1])
        decoded = self.network.states(batch.sources, inputs).at(inside)
        if decoded.copies is not None:
            return {"translation": self._copying_loss(decoded, outputs[inside])}
        layer = self.network.table.weight, self.network.bias
        smoothing = self.settings.label_smoothing
        loss = output_loss(decoded.states, layer, outputs[inside], smoothing)
        return {"translation": loss}

    def _copying_loss(self, decoded: Decoded, targets: Tensor) -> Tensor:
        """The same where tokens ``(m,)`` are generated or copied.

        Memory holds the logits of some rows at a time; they are computed again for the gradients.
        """
        smoothing = self.settings.label_smoothing

        def total(rows: slice) -> Tensor:
            logs = self.network.predict(decoded.at(rows))
            hits = logs.gather(1, targets[rows, None])
            return -((1 - smoothing) * hits + smoothing * logs.mean(dim=1, keepdim=True)).sum()

        rows = (slice(start, start + ROWS) for start in range(0, len(targets), ROWS))
        totals = [
            checkpoint(total, some, use_reentrant=False, preserve_rng_state=False) for some in rows
        ]
        return torch.stack(totals).sum() / len(targets)

    def parts(self, batch: _Pairs) -> list[tuple[_Pairs, float]]:
        """See :meth:`Learner.parts`: of ``PART`` positions; shares are of the targets' tokens."""
        positions = batch.sources.ids.shape[1] + batch.targets.ids.shape[1]
        cuts = [side.cut(max(1, PART // positions)) for side in (batch.sources, batch.targets)]
        tokens = [int((target.lengths + 1).sum()) for target in cuts[1]]
        pairs = map(_Pairs, *cuts)
        return [(pair, count / sum(tokens)) for pair, count in zip(pairs, tokens, strict=True)]


def translation_stream(
    corpus: Corpus, settings: TranslatorSettings, device: torch.device
) -> Stream:
    """Mini-batches of pairs of like length, anew in each pass, by the seed."""

    def batches(skip: int) -> Iterator[_Pairs]:
        for places in corpus.batches(settings.batch_size, settings.seed, skip):
            source, target = (
                TokenRows(*padded(corpus.side(side).views[PIECES], places, device))
                for side in (0, 1)
            )
            if corpus.templates is not None:
                templates = TokenRows(*padded(corpus.templates, places, device))
                source = source._replace(templates=templates)
            yield _Pairs(source, target)

    updates, interval = run_length(settings, float(corpus.weights.sum()))
    return Stream(updates, batches, interval)


CASED: Mapping[str, Any] = {"lowercase": False}
"""Translations are written as the training text is."""
SMALL: Mapping[str, Any] = {"vocabulary_size": 8000, "merges": 8000}


@dataclass(frozen=True)
class TranslatorConfig(NetworkConfig):
    """All settings of a run: a settings file holds them, and a model folder keeps them."""

    training: TranslatorSettings

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TranslatorConfig:
        """Build from nested names and values; missing ones have their defaults.

        Raises:
            SettingsError: an unknown name, or a value that does not fit.
        """
        name = str(values.get("architecture", "transformer"))
        kinds = {
            "shape": TRANSLATORS.find(name).settings,
            "normalisation": Normalisation,
            "segmentation": SegmenterSettings,
            "training": TranslatorSettings,
        }
        usual = {"normalisation": CASED, "segmentation": SMALL}
        return cls(name, **from_groups(kinds, values, usual, ["architecture"]))

    @staticmethod
    def rows() -> list[tuple[str, str, str, str]]:
        """Every setting as a row; those of ``controlled`` without those of ``recurrent``."""
        config = TranslatorConfig.from_dict({})
        fixed, recurrent, controlled = (TRANSLATORS.find(name).settings() for name in TRANSLATORS)
        known = group_rows(recurrent, "shape", "recurrent and controlled")
        told = {row[:3] for row in known}
        shapes = [
            *group_rows(fixed, "shape", "transformer"),
            *known,
            *(r for r in group_rows(controlled, "shape", "controlled") if r[:3] not in told),
        ]
        return [
            ("architecture", f"`{config.architecture}`", ", ".join(TRANSLATORS), "the network"),
            *shapes,
            *group_rows(config.normalisation, "normalisation"),
            *group_rows(config.segmentation, "segmentation"),
            *group_rows(config.training, "training"),
        ]


class TranslatorTraining(TrainingRun):
    """Training of a translator."""

    config: TranslatorConfig

    def __init__(
        self,
        config: TranslatorConfig,
        files: TrainingFiles,
        environment: Environment,
        processor: TextProcessor | None = None,
    ) -> None:
        """Read everything that the run needs, as :class:`TrainingRun` does.

        *processor*: used instead of learning one.
        """
        self._known = processor
        super().__init__(config, files, environment)

    def check(self) -> None:
        """See :meth:`TrainingRun.check`; DeviceError where sacreBLEU is needed and missing.

        Initial vectors raise as :func:`check_vectors`.
        """
        if self.config.training.validation == "bleu":
            check_bleu()
        name, wanted = self.config.architecture, self.config.architecture in TEMPLATED
        for file in self.files.pair_files():
            given = file.target is None and bool(file.columns.last)
            if given != wanted:
                raise SettingsError(
                    f"{file.source}: the architecture {name} "
                    + ("needs a column of parses" if wanted else "follows no templates")
                    + " (--template-column)"
                )
        check_vectors(self.files.vectors, "shape.width", self.config.shape.width)

    def read(self) -> None:
        """See :meth:`TrainingRun.read`."""
        sources, targets, weights, templates = read_pairs(self.files.pairs)
        segmentation: SegmenterSettings | Segmenter = self.config.segmentation
        if self.files.segmenter is not None:
            segmentation = load_segmenter(self.files.segmenter)
        self.processor = self._known or self.learn_text((sources, targets), segmentation)
        source, target = (
            Sentences(self.processor.ids(texts, language))
            for texts, language in zip((sources, targets), self.processor.languages, strict=True)
        )
        symbols = None
        if templates:
            known = TemplateSymbols.learn(templates, self.config.shape.symbols)
            self.processor.templates = known
            symbols = Ragged.of(map(known.ids, templates))
        self.corpus = self.short(Corpus(source, target, np.array(weights), symbols))

    def make_network(self) -> TranslationNetwork:
        """See :meth:`TrainingRun.make_network`."""
        vocabulary, note = self.processor.vocabulary, self.environment.note
        network = TRANSLATORS.build(
            self.config.architecture, self.config.shape, self.processor.sizes()
        )
        parameters = sum(part.numel() for part in network.parameters())
        note(f"{len(vocabulary)} subwords, {parameters} parameters")
        use_vectors([network.table], self.files.vectors, vocabulary, note)
        return network

    def make_learner(self) -> tuple[TranslationLearner, Stream]:
        """See :meth:`TrainingRun.make_learner`."""
        learner = TranslationLearner(self.network, self.config.training).to(self._device)
        return learner, translation_stream(self.corpus, self.config.training, self._device)

    def validate(self, network: TranslationNetwork) -> float:
        """Error on the development pairs by ``training.validation``; lower is better."""
        translator = Translator(
            self.processor, network, self.environment.device, self.environment.threads
        )
        sources, targets, *others = self._development
        templates = others[0] if others else None
        if self.config.training.validation == "bleu":
            found = translator.translate(sources, SearchSettings(width=1), templates)
            return 100 - bleu([row.best for row in found], targets).score
        ids = self.processor.ids(targets, self.processor.languages[1])
        lengths = np.array([len(row) + 1 for row in ids])
        scores = translator.log_probabilities(sources, targets, templates)
        return float(-(scores * lengths).sum() / lengths.sum())

    def save(self, folder: Path, network: TranslationNetwork) -> None:
        """See :meth:`TrainingRun.save`."""
        kind = (self.config.architecture, self.config.shape)
        TRANSLATORS.save(folder, kind, network, self.processor, self.environment.bits)


class Quality(NamedTuple):
    """A score, 0 to 100, higher is better, and sacreBLEU's signature."""

    score: float
    signature: str


def check_bleu() -> Any:
    """Return sacreBLEU's metrics; DeviceError if it is not installed."""
    with optional("sacreBLEU is not installed;", "bleu"):
        from sacrebleu import metrics
    return metrics


def bleu(translations: Sequence[str], references: Sequence[str]) -> Quality:
    """BLEU of a corpus (Papineni et al. 2002; Post 2018), of detokenised text, cased."""
    return _quality(check_bleu().BLEU(), translations, references)


def chrf(translations: Sequence[str], references: Sequence[str]) -> Quality:
    """chrF2 of a corpus (Popović 2015): F-score, β = 2, of character n-grams up to 6."""
    return _quality(check_bleu().CHRF(), translations, references)


def _quality(metric: Any, translations: Sequence[str], references: Sequence[str]) -> Quality:
    score = metric.corpus_score(list(translations), [list(references)]).score
    return Quality(float(score), str(metric.get_signature()))


def bleu_difference(
    translations: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[str],
    bootstrap: Bootstrap,
) -> Estimate:
    """Return the BLEU of *translations* minus the BLEU of a *baseline*, -100 to 100.

    The 95 % interval is by paired bootstrap resampling (Koehn 2004): both get the same sentences.
    """
    ours, theirs = (_sentence_counts(side, references) for side in (translations, baseline))

    def difference(strata: Sequence[Floats]) -> Floats:
        (drawn,) = strata
        return np.array(_bleu_of(drawn @ ours) - _bleu_of(drawn @ theirs))

    return Estimate(*estimates([np.ones(len(references))], difference, bootstrap).tolist())


def _sentence_counts(translations: Sequence[str], references: Sequence[str]) -> Floats:
    """Return the counts that BLEU is made of, by sentence ``(n, 10)``.

    Matched n-grams of length 1 to 4, n-grams of these lengths, own length, reference's length.
    """
    metric = check_bleu().BLEU(effective_order=True)
    pairs = zip(translations, references, strict=True)
    found = [metric.sentence_score(text, [reference]) for text, reference in pairs]
    return np.array([[*s.counts, *s.totals, s.sys_len, s.ref_len] for s in found], np.float64)


def _bleu_of(counts: Floats) -> float:
    """BLEU of sums of sentences' counts, ``(10,)``, smoothed as :func:`bleu` does."""
    whole = counts.astype(np.int64).tolist()
    found = check_bleu().BLEU.compute_bleu(whole[:4], whole[4:8], *whole[8:], smooth_method="exp")
    return float(found.score)
