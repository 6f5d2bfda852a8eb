"""Mini-batches as tensors, with the negatives that are sought in several of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from bitextfilter.arrays import Indices
from bitextfilter.encoders.base import Inputs, Padded
from bitextfilter.training.autoencoder import Batch, BilingualTraining, NegativeBatch
from bitextfilter.training.data import Corpus, Sentences, endless_batches
from bitextfilter.training.loop import Stream
from bitextfilter.training.negatives import hardest_negatives
from bitextfilter.training.settings import TrainingSettings, count_updates, validation_interval

Search = Callable[[Sequence[Indices]], list[tuple[Indices, Indices]] | None]
"""Finds the hardest negatives of the pairs of some mini-batches, as places in the corpus of the
sentences that the sources and the targets must not be like, -1 for none; None if it need not."""


def pair_stream(model: BilingualTraining, data: tuple[Corpus, dict[int, Sentences]]) -> Stream:
    """Mini-batches of pairs, on the device that the network lies on.

    ``data``: the pairs and, by side, the sentences to autoencode instead of the pairs' side.
    """
    device = next(model.parameters()).device

    def batches(skip: int) -> Iterator[Batch]:
        search = search_in(model, data[0], device)
        found = mini_batches(data, model.settings, model.network.views, search, skip)
        return (to_device(batch, device) for batch in found)

    settings, total = model.settings, float(data[0].weights.sum())
    updates = count_updates(total, settings.passes, settings.batch_size)
    block = settings.mega_batch
    interval = settings.validate_every or validation_interval(updates, settings.passes, block)
    return Stream(updates, batches, interval, block)


def mini_batches(
    data: tuple[Corpus, dict[int, Sentences]],
    settings: TrainingSettings,
    views: Sequence[str],
    search: Search,
    skip: int,
) -> Iterator[Batch]:
    """Endless batches from the ``skip``-th on; monolingual lines are mixed with their side's."""
    corpus, monolingual = data
    lengths = np.maximum(corpus.source.lengths, corpus.target.lengths)
    pairs = endless_batches(lengths, corpus.weights, settings.batch_size, settings.seed, skip)
    extra = {
        side: endless_batches(
            sentences.lengths,
            np.ones(len(sentences)),
            settings.batch_size,
            settings.seed + 1 + side,
            skip,
        )
        for side, sentences in monolingual.items()
    }
    of_side = (0, 1) if settings.negatives == "same" else (1, 0)
    while True:
        mega = list(islice(pairs, settings.mega_batch))
        found = search(mega)
        for number, rows in enumerate(mega):
            alone = {
                side: pad(monolingual[side], next(stream), views) for side, stream in extra.items()
            }
            sides = (pad(corpus.source, rows, views), pad(corpus.target, rows, views))
            negatives = None
            if found is not None:
                negatives = (
                    negatives_at(corpus.side(of_side[0]), found[number][0], views),
                    negatives_at(corpus.side(of_side[1]), found[number][1], views),
                )
            yield Batch(sides, shared_text(corpus, rows), alone, negatives)


def negatives_at(sentences: Sentences, places: Indices, views: Sequence[str]) -> NegativeBatch:
    """Negatives by their places, -1 for none."""
    return NegativeBatch(
        pad(sentences, np.maximum(places, 0), views), torch.from_numpy(places >= 0)
    )


def shared_text(corpus: Corpus, rows: Indices) -> Tensor:
    """Whether two of these pairs share a text, on any sides: bool ``(n, n)``."""
    source, target = (torch.from_numpy(keys[rows]) for keys in corpus.keys)
    across = source[:, None] == target
    return (source[:, None] == source) | (target[:, None] == target) | across | across.T


def pad(sentences: Sentences, rows: Indices, views: Sequence[str]) -> Inputs:
    """The chosen sentences as tensors."""
    padded = {view: sentences.views[view].padded(rows) for view in views}
    return {
        view: Padded(torch.from_numpy(ids), torch.from_numpy(lengths))
        for view, (ids, lengths) in padded.items()
    }


def search_in(model: BilingualTraining, corpus: Corpus, device: torch.device) -> Search:
    """The search of a mega-batch's negatives (Wieting & Gimpel 2018, section 5)."""
    settings = model.settings

    @torch.no_grad()
    def search(mega: Sequence[Indices]) -> list[tuple[Indices, Indices]] | None:
        if not settings.triplet or settings.mega_batch == 1:
            return None
        model.eval()
        vectors = [
            torch.cat(
                [
                    model.encode(moved(pad(corpus.side(side), rows, views), device), side)
                    for rows in mega
                ]
            )
            for side in (0, 1)
        ]
        every = np.concatenate(mega)
        same = shared_text(corpus, every).to(device)
        found = hardest_negatives(vectors[0], vectors[1], same, settings.negatives)
        places = [np.where(p >= 0, every[p], -1) for p in (side.cpu().numpy() for side in found)]
        bounds = np.cumsum([len(rows) for rows in mega])[:-1]
        return list(zip(*(np.split(side, bounds) for side in places), strict=True))

    views = model.network.views
    return search


def moved(inputs: Inputs, device: torch.device) -> Inputs:
    """Sentences on a device."""
    return {
        view: Padded(part.ids.to(device), part.lengths.to(device)) for view, part in inputs.items()
    }


def to_device(batch: Batch, device: torch.device) -> Batch:
    """The batch on a device."""
    alone = {side: moved(part, device) for side, part in batch.monolingual.items()}
    sides = (moved(batch.sides[0], device), moved(batch.sides[1], device))
    negatives = batch.negatives and (
        _negatives(batch.negatives[0], device), _negatives(batch.negatives[1], device)
    )  # fmt: skip
    return Batch(sides, batch.same.to(device), alone, negatives)


def _negatives(negatives: NegativeBatch, device: torch.device) -> NegativeBatch:
    return NegativeBatch(moved(negatives.sentences, device), negatives.present.to(device))
