"""A translator as it is trained: its objective and its mini-batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bitextfilter.models.layers import padding_mask
from bitextfilter.text.ragged import PIECES, Ragged
from bitextfilter.training.data import Corpus, endless_batches
from bitextfilter.training.loop import Learner, Stream
from bitextfilter.training.output import output_loss
from bitextfilter.training.settings import TranslatorSettings, count_updates, validation_interval
from bitextfilter.translation.network import TokenRows, TranslationNetwork
from bitextfilter.translation.translator import shifted

PART = 8192
"""Positions of both sides that are computed at a time: of long pairs, a part of a mini-batch."""


class _Pairs(NamedTuple):
    """A mini-batch."""

    sources: TokenRows
    targets: TokenRows


class TranslationLearner(Learner):
    """A translation network that learns to write the target, its end mark included."""

    network: TranslationNetwork
    settings: TranslatorSettings

    def __init__(self, network: TranslationNetwork, settings: TranslatorSettings) -> None:
        super().__init__()
        self.network = network
        self.settings = settings
        network.dropout.part = settings.dropout

    def forward(self, batch: _Pairs) -> dict[str, Tensor]:
        """The label-smoothed cross-entropy in nats a token."""
        inputs, outputs = shifted(batch.targets)
        states = self.network.states(batch.sources, inputs)
        inside = padding_mask(batch.targets.lengths + 1, inputs.shape[1])
        layer = self.network.table.weight, self.network.bias
        smoothing = self.settings.label_smoothing
        loss = output_loss(states[inside], layer, outputs[inside], smoothing)
        return {"translation": loss}

    def parts(self, batch: _Pairs) -> list[tuple[_Pairs, float]]:
        """See :meth:`Learner.parts`: of ``PART`` positions; shares are of the targets' tokens."""
        positions = batch.sources.ids.shape[1] + batch.targets.ids.shape[1]
        cuts = [side.cut(max(1, PART // positions)) for side in (batch.sources, batch.targets)]
        tokens = [int((target.lengths + 1).sum()) for target in cuts[1]]
        pairs = map(_Pairs, *cuts)
        return [(pair, count / sum(tokens)) for pair, count in zip(pairs, tokens, strict=True)]


def padded_rows(texts: Ragged, places: NDArray[np.int64], device: torch.device) -> TokenRows:
    """The texts of these places."""
    ids, lengths = texts.padded(places)
    return TokenRows(torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device))


def translation_stream(
    corpus: Corpus, settings: TranslatorSettings, device: torch.device
) -> Stream:
    """Mini-batches of pairs of like length, anew in each pass, by the seed."""

    def batches(skip: int) -> Iterator[_Pairs]:
        lengths = np.maximum(corpus.source.lengths, corpus.target.lengths)
        size, seed = settings.batch_size, settings.seed
        for places in endless_batches(lengths, corpus.weights, size, seed, skip):
            source, target = (
                padded_rows(corpus.side(side).views[PIECES], places, device) for side in (0, 1)
            )
            if corpus.templates is not None:
                templates = padded_rows(corpus.templates, places, device)
                source = source._replace(templates=templates)
            yield _Pairs(source, target)

    total = float(corpus.weights.sum())
    updates = settings.updates or count_updates(total, settings.passes, settings.batch_size)
    interval = settings.validate_every or validation_interval(updates, settings.passes)
    return Stream(updates, batches, interval)
