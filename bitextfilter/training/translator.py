"""A translator as it is trained: its objective and its mini-batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from bitextfilter.models.layers import padding_mask
from bitextfilter.text.ragged import PIECES
from bitextfilter.training.data import Corpus, padded
from bitextfilter.training.loop import Learner, Stream
from bitextfilter.training.objectives import output_loss
from bitextfilter.training.settings import TranslatorSettings, run_length
from bitextfilter.translation.network import Decoded, TokenRows, TranslationNetwork
from bitextfilter.translation.translator import shifted

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
        super().__init__()
        self.network = network
        self.settings = settings
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
