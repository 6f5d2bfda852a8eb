"""Train the reference/translation classifier of Wieting, Mallinson & Gimpel 2017, sections 5.5–5.7.

Each reference is a positive and one of its translations a negative: a random one, drawn anew in
each epoch, or the one that the network finds most like a reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from bitextfilter.arrays import Indices
from bitextfilter.encoders.base import Padded
from bitextfilter.encoders.reference_classifier import ReferenceNetwork
from bitextfilter.settings import setting
from bitextfilter.text.ragged import PIECES, Ragged
from bitextfilter.training.data import padded
from bitextfilter.training.encoder_learner import squared_norm
from bitextfilter.training.loop import Learner, Stream
from bitextfilter.training.settings import LoopSettings

NEGATIVES = ("random", "hardest")

_TOGETHER = 1024
"""Translations that are read at a time while the hardest are looked for."""


@dataclass(frozen=True)
class ReferenceTraining(LoopSettings):
    """Settings of the training: the paper's, but for the batch size, which it does not state."""

    negatives: str = setting(
        "random",
        "of several translations of a reference, one by chance or the most reference-like",
        choices=NEGATIVES,
    )
    epochs: int = setting(10, "times over the references; the best is kept", within=">= 1")
    batch_size: int = setting(
        100, "references of a mini-batch, each with one translation", within=">= 1"
    )
    learning_rate: float = setting(0.001, "of Adam", within="> 0")
    penalty: float = setting(
        0.0,
        "weight of the token vectors' squared norm in the loss (Wieting et al. 2017: one of 1e-5,"
        " 1e-6, 1e-7, 1e-8 and 0)",
        within=">= 0",
    )
    held_out: float = setting(
        0.1,
        "part of the references to measure on, and as much to choose the epoch by",
        within="> 0, < 0.5",
    )
    seed: int = setting(1, "of everything that is drawn", within=">= 0")


@dataclass(frozen=True)
class ReferenceCorpus:
    """``n`` references as ids, and behind each other the translations of each, one at least."""

    references: Ragged
    translations: Ragged
    counts: Indices
    """Number of translations of each reference, ``(n,)``."""

    @property
    def firsts(self) -> Indices:
        """The place of the first translation of each reference, ``(n,)``."""
        firsts: Indices = np.cumsum(self.counts) - self.counts
        return firsts

    def drawn(self, places: Indices, random: np.random.Generator) -> Indices:
        """Draw a translation of each of these references: ``(places,)``."""
        chosen: Indices = self.firsts[places] + random.integers(0, self.counts[places])
        return chosen

    def every(self, places: Indices) -> Indices:
        """Return all translations of these references."""
        counts = self.counts[places]
        inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        found: Indices = np.repeat(self.firsts[places], counts) + inside
        return found


class ReferenceBatch(NamedTuple):
    """A mini-batch: ``n`` references, and ``m`` translations to choose one of each from."""

    references: Padded
    translations: Padded
    owners: Tensor
    """Place of each translation's reference, ``(m,)``, ascending."""


class ReferenceLearner(Learner):
    """A network that learns to tell references from translations."""

    network: ReferenceNetwork
    settings: ReferenceTraining

    def __init__(self, network: ReferenceNetwork, settings: ReferenceTraining) -> None:
        super().__init__()
        self.network = network
        self.settings = settings

    def forward(self, batch: ReferenceBatch) -> dict[str, Tensor]:
        """The mean cross-entropy of both classes in nats, and the penalty if there is one."""
        chosen = self.hardest(batch)
        translations = Padded(batch.translations.ids[chosen], batch.translations.lengths[chosen])
        person, machine = (
            self.network({PIECES: rows}) for rows in (batch.references, translations)
        )
        logits = torch.cat([person, machine])
        labels = torch.cat([torch.ones_like(person), torch.zeros_like(machine)])
        losses = {"classification": binary_cross_entropy_with_logits(logits, labels)}
        if self.settings.penalty:
            vectors = [table.weight for table in self.network.tables()]
            losses["penalty"] = self.settings.penalty * squared_norm(vectors)
        return losses

    @torch.no_grad()
    def hardest(self, batch: ReferenceBatch) -> Tensor:
        """Return the place of each reference's most reference-like translation, ``(n,)``.

        Of equally likely ones the first.
        """
        owners, m = batch.owners, len(batch.owners)
        places = torch.arange(m, device=owners.device)
        if m == len(batch.references.ids):
            return places
        rows = batch.translations
        parts = zip(
            *(torch.split(part, _TOGETHER) for part in (rows.ids, rows.lengths)), strict=True
        )
        logits = torch.cat([self.network({PIECES: Padded(*part)})[:, 0] for part in parts])
        none = logits.new_full((len(batch.references.ids),), float("-inf"))
        top = none.scatter_reduce(0, owners, logits, "amax")
        candidates = places.masked_fill(logits < top[owners], m)
        return torch.full_like(top, m, dtype=torch.int64).scatter_reduce(
            0, owners, candidates, "amin"
        )


def reference_stream(
    corpus: ReferenceCorpus, settings: ReferenceTraining, device: torch.device
) -> Stream:
    """Mini-batches of all references in an order drawn for each epoch, by the seed."""
    count_all, size = len(corpus.references), settings.batch_size

    def examples() -> Iterator[ReferenceBatch]:
        for epoch in count():
            random = np.random.default_rng([settings.seed, epoch])
            order = random.permutation(count_all)
            for start in range(0, len(order), size):
                yield _examples(corpus, order[start : start + size], settings, random, device)

    epoch = -(-count_all // size)
    return Stream(settings.epochs * epoch, lambda skip: islice(examples(), skip, None), epoch)


def _examples(
    corpus: ReferenceCorpus,
    places: Indices,
    settings: ReferenceTraining,
    random: np.random.Generator,
    device: torch.device,
) -> ReferenceBatch:
    """Return some references with one translation each, or with all where the hardest is sought."""
    if settings.negatives == "hardest":
        chosen, counts = corpus.every(places), corpus.counts[places]
    else:
        chosen, counts = corpus.drawn(places, random), np.ones(len(places), dtype=np.int64)
    sides = ((corpus.references, places), (corpus.translations, chosen))
    rows = [Padded(*padded(side, some, device)) for side, some in sides]
    owners = torch.from_numpy(np.repeat(np.arange(len(places)), counts)).to(device)
    return ReferenceBatch(rows[0], rows[1], owners)
