"""Training of encoders: noise, penalties, a shared decoder; the objectives on pairs.

Every mini-batch of pairs holds as many translations as autoencodings (Kim et al. 2019, section
3.2). Letters: n sentences, t positions, w width of a subword vector.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bitextfilter.arrays import Indices, Integers
from bitextfilter.encoders.base import Inputs, Network, Padded
from bitextfilter.errors import SettingsError
from bitextfilter.models.layers import padding_mask, rows_of
from bitextfilter.models.recurrent import RecurrentDecoder
from bitextfilter.text.ragged import PIECES
from bitextfilter.text.vocabulary import END
from bitextfilter.training.data import (
    Corpus,
    Sentences,
    endless_batches,
    inputs_of,
    search_negatives,
    sharing,
)
from bitextfilter.training.loop import LazyAdam, Learner, Stream
from bitextfilter.training.multilingual import MultilingualCorpus
from bitextfilter.training.objectives import (
    HardNegatives,
    OutputLayer,
    contrastive_loss,
    cosine_loss,
    hardest_negatives,
    margin_loss,
    random_partners,
    ranking_loss,
    taken,
)
from bitextfilter.training.settings import TrainingSettings, run_length


def scrambled(
    ids: Tensor, lengths: Tensor, probability: float, generator: torch.Generator
) -> Tensor:
    """Put the tokens of some sentences into random order (Wieting & Gimpel 2018, section 4).

    *ids* are padded, ``(n, t)``, and so is the new tensor; padding stays behind a sentence's end.
    *probability*: of each sentence to be scrambled; theirs is 0.3. The *generator* may lie
    on another device.
    """
    count, longest = ids.shape
    chance = torch.rand(count, longest + 1, generator=generator, device=generator.device)
    chance = chance.to(ids.device)
    position = torch.arange(longest, device=ids.device)
    moved = (chance[:, :1] < probability) & (position < lengths[:, None])
    # Tokens that move have keys below 1, all others keep their place behind or among themselves.
    order = torch.where(moved, chance[:, 1:], 1.0 + position).argsort(dim=1, stable=True)
    return ids.gather(1, order)


def variational_mask(n: int, width: int, rate: float, generator: torch.Generator) -> Tensor:
    """Dropout mask that is the same at every position of a sentence (Gal & Ghahramani 2016).

    ``(n, 1, width)``: 0 for a share of *rate*, in [0, 1), of the numbers, else 1 / (1 - rate), so
    that the expected value stays. It lies on the generator's device.
    """
    kept = torch.rand(n, 1, width, generator=generator, device=generator.device) >= rate
    return kept / (1 - rate)


def squared_norm(parameters: Iterable[Tensor]) -> Tensor:
    """Sum of the squares of at least one parameter."""
    return torch.stack([parameter.square().sum() for parameter in parameters]).sum()


class VariationalDropout(nn.Module):
    """Dropout by :func:`variational_mask`."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, vectors: Tensor) -> Tensor:
        """``(n, t, w)`` → the same shape."""
        if not self.training or not self.rate:
            return vectors
        mask = variational_mask(len(vectors), vectors.shape[2], self.rate, torch.default_generator)
        return vectors * mask.to(vectors)


class EncoderLearner(Learner):
    """An encoder network with the noise, the penalties and perhaps the decoder of its training.

    Subclasses add the losses.
    """

    network: Network
    settings: TrainingSettings

    def __init__(self, network: Network, settings: TrainingSettings, one_language: bool) -> None:
        """With ``one_language`` both sides are read as the source is."""
        super().__init__(network, settings)
        self.read_as = (0, 0) if one_language else (0, 1)
        dropout = VariationalDropout if settings.dropout_kind == "variational" else nn.Dropout
        network.dropout = dropout(settings.dropout)
        self.lazy = {id(table.weight) for table in network.piece_tables()}
        """Tables whose rows are updated only by mini-batches that hold them; of trigrams, which are
        fewer, all rows are."""
        for table in network.tables():
            table.sparse = settings.optimiser == "lazy-adam"
        if settings.fixed_updates:
            self.register_buffer("seen", torch.zeros((), dtype=torch.int64))  # updates so far
        for number, table in enumerate(network.tables() if settings.drift else ()):
            self.register_buffer(f"initial{number}", table.weight.detach().clone())

    def add_decoder(self, cell: str, counts: Integers, languages: int) -> None:
        """Make a decoder of several languages, each with a begin mark of its own.

        ``counts (v,)``: times it writes each id, for the samples. SettingsError if the
        network has no vectors of pieces.
        """
        if not self.network.piece_tables():
            raise SettingsError(
                "a decoder needs vectors of pieces, and this architecture has none; set"
                " training.translation and training.autoencoding to 0, or add a part that"
                " reads pieces, such as word"
            )
        width = self.network.piece_tables()[0].embedding_dim
        wide = self.settings.decoder_width
        hidden = wide or self.network.dim
        self.start = nn.Linear(self.network.dim, hidden) if wide else nn.Identity()
        self.decoder = RecurrentDecoder(cell, width + hidden * self.settings.feed, hidden)
        self.begin = nn.Parameter(torch.randn(languages, width) * width**-0.5)
        self.output = OutputLayer(hidden, counts, self.settings)

    def encode(self, sentences: Inputs, side: int) -> Tensor:
        """Sentence vectors ``(n, d)`` of one side, with the noise of training while it trains.

        A third language is read as the target is.
        """
        if self.training and self.settings.scramble and PIECES in sentences:
            ids, lengths = sentences[PIECES].ids, sentences[PIECES].lengths
            mixed = scrambled(ids, lengths, self.settings.scramble, torch.default_generator)
            sentences = {**sentences, PIECES: Padded(mixed, lengths)}
        vectors: Tensor = self.network(sentences, self.read_as[min(side, 1)])
        return vectors

    def written(
        self, embedding: Tensor, sentences: Padded, table: nn.Embedding, language: int
    ) -> Tensor:
        """Cross-entropy of writing sentences from vectors, in nats, end marks included.

        It is the mean over all tokens, or with ``loss=sum`` the mean over sentences of their sums.

        Args:
            embedding: vectors ``(n, d)``, from which the decoder starts.
            sentences: its targets, ``(n, t)``.
            table: vectors of its inputs, the tokens before.
            language: whose begin mark it starts from.
        """
        ids, lengths = sentences.ids, sentences.lengths
        state = self.start(embedding)
        first = self.begin[language].expand(len(ids), 1, -1)
        inputs = torch.cat([first, self._seen(table(ids))], dim=1)
        if self.settings.feed:
            every = state[:, None].expand(-1, inputs.shape[1], -1)
            inputs = torch.cat([inputs, every], dim=2)
        states = self.decoder(state, inputs)
        targets = torch.cat([ids, torch.zeros_like(ids[:, :1])], dim=1)
        targets = targets.scatter(1, lengths[:, None], END)
        inside = padding_mask(lengths + 1, targets.shape[1])
        loss: Tensor = self.output(states[inside], targets[inside])
        return loss if self.settings.loss == "mean" else loss * (inside.sum() / len(ids))

    def _seen(self, vectors: Tensor) -> Tensor:
        """Hide some vectors ``(n, t, w)`` from the decoder in training: zeros in their place."""
        rate = self.settings.decoder_dropout
        if not self.training or not rate:
            return vectors
        kept = torch.rand(vectors.shape[:2], device=vectors.device) >= rate
        return vectors * kept[:, :, None]

    def gradients(self, batch: Any) -> dict[str, float]:
        """See :meth:`Learner.gradients`; at first, token vectors may have none."""
        if not self.settings.fixed_updates:
            return super().gradients(batch)
        fixed = bool(self.get_buffer("seen") < self.settings.fixed_updates)
        self.get_buffer("seen").add_(1)
        weights = [table.weight for table in self.network.tables()]
        nothing_else = len(weights) == len([*self.parameters()])  # to have a gradient
        for weight in weights:
            weight.requires_grad_(nothing_else or not fixed)
        losses = super().gradients(batch)
        for weight in weights if fixed else ():
            weight.grad = None
        return losses

    def penalties(self) -> dict[str, Tensor]:
        """The penalties of the parameters themselves, unweighted.

        ‖W_initial − W‖² of the vectors of tokens and ‖W_c‖² of all other parameters (Wieting,
        Mallinson & Gimpel 2017; their weights are 0 in all their experiments).
        """
        tables, penalties = self.network.tables(), {}
        if self.settings.drift:
            penalties["drift"] = squared_norm(
                table.weight - self.get_buffer(f"initial{number}")
                for number, table in enumerate(tables)
            )
        if self.settings.composition:
            aside = {id(table.weight) for table in tables}
            rest = [p for p in self.network.parameters() if id(p) not in aside]
            if rest:
                penalties["composition"] = squared_norm(rest)
        return penalties

    def weighted(self, losses: dict[str, Tensor]) -> Tensor:
        """The one number to minimise: each objective times its weight."""
        return torch.stack([self.weight(name) * loss for name, loss in losses.items()]).sum()

    def optimiser(self) -> torch.optim.Optimizer:
        """See :meth:`Learner.optimiser`."""
        if self.settings.optimiser != "lazy-adam":
            return super().optimiser()
        tables = (table.weight for table in self.network.tables())
        whole = (weight for weight in tables if id(weight) not in self.lazy)
        return LazyAdam(self.parameters(), self.settings.learning_rate, whole)

    def weight(self, name: str) -> float:
        """The weight of an objective or a penalty; a taught mini-batch has one, of weight 1."""
        return 1.0 if name == "taught" else float(getattr(self.settings, name))


LARGEST_SCALE = 100.0
"""Bound of the learnt scale of the cosines (Radford et al. 2021, section 2.5)."""


@dataclass(frozen=True)
class NegativeBatch:
    """A negative for each pair of a mini-batch, found among other pairs, if there is one."""

    sentences: Inputs
    """Of any text where there is none."""
    present: Tensor
    """Whether a pair has one, bool ``(n,)``."""


@dataclass(frozen=True)
class Batch:
    """One mini-batch: pairs, a matrix of those that share a text, and monolingual sentences."""

    sides: tuple[Inputs, ...]
    """Two, or three, of which any two are pairs; or one that has ``taught``."""
    same: Tensor
    monolingual: dict[int, Inputs]
    """By side; a side without an entry autoencodes its half of the pairs."""
    negatives: Sequence[NegativeBatch] = ()
    """Of the sources and of the targets; empty: they are searched for among the pairs."""
    taught: Tensor | None = None
    """Vectors of a teacher, ``(n, d)``."""
    first: int = 0
    """The side that the first of ``sides`` is of."""


class BilingualLearner(EncoderLearner):
    """An encoder network that learns from pairs: the losses of their two sides."""

    def __init__(
        self,
        network: Network,
        cell: str,
        counts: Integers,
        settings: TrainingSettings,
        one_language: bool = False,
    ) -> None:
        """``counts (v,)``: how often each vocabulary entry is predicted, for the samples.

        With ``one_language`` both sides of a pair are read as the source is. SettingsError if
        the network has no vectors of pieces, and a decoder is to write them.
        """
        super().__init__(network, settings, one_language)
        self.negative_sides = (0, 1) if settings.negatives == "same" else (1, 0)
        if settings.ranking:
            self.add_scale()
        if settings.decodes:
            self.add_decoder(cell, counts, languages=2)

    def add_scale(self) -> None:
        """Add the learnt scale of cosines that are ranked, if there is none yet."""
        if not hasattr(self, "log_scale"):
            self.log_scale = nn.Parameter(torch.tensor(math.log(self.settings.scale)))

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The unweighted objectives that take part, by name, as scalars."""
        settings, losses = self.settings, dict[str, list[Tensor]]()
        sides = enumerate(batch.sides, batch.first)
        vectors = [self.encode(sentences, side) for side, sentences in sides]
        if batch.taught is not None:
            return {"taught": self._ranking([*vectors, batch.taught], batch.same)}
        if settings.ranking:
            losses["ranking"] = [self._ranking(vectors, batch.same)]
        if settings.triplet:
            losses["triplet"] = [self._triplet(batch, vectors)]
        if settings.cosine:
            losses["cosine"] = [cosine_loss(vectors[0], vectors[1])]
        if settings.contrastive:
            losses["contrastive"] = [self._contrastive(batch, vectors)]
        for side in settings.decoded_sides if settings.decodes else ():
            for name, loss in self._decoding(batch, vectors, side).items():
                losses.setdefault(name, []).append(loss)
        return {name: torch.stack(values).mean() for name, values in losses.items()} | (
            self.penalties()
        )

    def _ranking(self, vectors: Sequence[Tensor], same: Tensor) -> Tensor:
        """Return the mean ranking loss of every two of some sides ``(n, d)``."""
        scale, margin = self.log_scale.exp().clamp(max=LARGEST_SCALE), self.settings.margin
        every = [ranking_loss(*two, scale, margin, same) for two in combinations(vectors, 2)]
        return torch.stack(every).mean()

    def _triplet(self, batch: Batch, vectors: list[Tensor]) -> Tensor:
        """The margin loss, with negatives from the batch or searched for among the pairs."""
        settings = self.settings
        sides = (0, 1) if settings.triplet_sides == "both" else (0,)
        if batch.negatives:
            found = [
                HardNegatives(self.encode(each.sentences, self.negative_sides[side]), each.present)
                for side, each in zip(sides, batch.negatives, strict=False)
            ]
        else:
            places = hardest_negatives(vectors[0], vectors[1], batch.same, settings.negatives)
            found = [taken(vectors[self.negative_sides[side]], places[side]) for side in sides]
        second = found[1] if len(found) > 1 else None
        return margin_loss(vectors[0], vectors[1], found[0], second, settings.triplet_margin)

    def _contrastive(self, batch: Batch, vectors: list[Tensor]) -> Tensor:
        """The contrastive loss; each pair has one random negative."""
        partners = random_partners(batch.same, torch.default_generator)
        found = partners >= 0
        source = torch.cat([vectors[0], vectors[0][found]])
        target = torch.cat([vectors[1], rows_of(vectors[1], partners[found])])
        positive = torch.arange(len(source), device=source.device) < len(vectors[0])
        return contrastive_loss(source, target, positive, self.settings.contrastive_margin)

    def _decoding(self, batch: Batch, vectors: list[Tensor], side: int) -> dict[str, Tensor]:
        """Translation into and autoencoding of one side, over the decoded share of the pairs."""
        settings = self.settings
        every = round(1 / settings.decoded_share)
        written = batch.sides[side][PIECES].every(every)
        losses = {}
        if settings.translation:
            losses["translation"] = self._decoded(vectors[1 - side][::every], written, side)
        if settings.autoencoding and side in batch.monolingual:
            other = {view: rows.every(every) for view, rows in batch.monolingual[side].items()}
            vectors_of_other = self.encode(other, side)
            losses["autoencoding"] = self._decoded(vectors_of_other, other[PIECES], side)
        elif settings.autoencoding:
            losses["autoencoding"] = self._decoded(vectors[side][::every], written, side)
        return losses

    def _decoded(self, embedding: Tensor, sentences: Padded, side: int) -> Tensor:
        """Loss of writing ``sentences`` of a side from ``embedding (n, d)``."""
        table = self.network.piece_tables()[-self.read_as[side]]  # -1: of side 1, or of both
        return self.written(embedding, sentences, table, side)


PairsAndLines = tuple[Corpus | MultilingualCorpus, dict[int, Sentences]]
"""Training pairs and, by side, the sentences to autoencode instead of the pairs' side."""


def pair_stream(model: BilingualLearner, data: PairsAndLines) -> Stream:
    """Mini-batches of pairs, on the device that the network lies on."""
    block = model.settings.mega_batch
    updates, interval = run_length(model.settings, data[0].rows, block)
    return Stream(updates, partial(mini_batches, model, data), interval, block)


def mini_batches(model: BilingualLearner, data: PairsAndLines, skip: int) -> Iterator[Batch]:
    """Endless batches from the ``skip``-th on; monolingual lines are mixed with their side's."""
    (pairs, monolingual), settings = data, model.settings
    size, device = settings.batch_size, model.device
    read = partial(inputs_of, views=model.network.views, device=device)
    extra = {
        side: endless_batches(
            sentences.lengths, np.ones(len(sentences)), size, settings.seed + 1 + side, skip
        )
        for side, sentences in monolingual.items()
    }
    for corpus, mega in pairs.mega_batches(settings, skip):
        lessons = corpus.lessons
        searched = settings.triplet > 0 and settings.mega_batch > 1 and lessons is None
        found = mega_negatives(model, corpus, mega) if searched else [()] * len(mega)
        for rows, places in zip(mega, found, strict=True):
            yield Batch(
                tuple(read(side, rows) for side in corpus.sides),
                shared_text(corpus, rows).to(device),
                {side: read(monolingual[side], next(rest)) for side, rest in extra.items()},
                [
                    NegativeBatch(
                        read(corpus.side(model.negative_sides[side]), np.maximum(some, 0)),
                        torch.from_numpy(some >= 0).to(device),
                    )
                    for side, some in enumerate(places)
                ],
                None if lessons is None else lessons.at(rows).to(device),
                lessons.side if lessons else 0,
            )


def shared_text(corpus: Corpus, rows: Indices) -> Tensor:
    """Whether two of these pairs share a text, on any sides: bool ``(n, n)``."""
    keys = [torch.from_numpy(keys[rows]) for keys in corpus.keys]
    same = [one[:, None] == other for one in keys for other in keys]
    return torch.stack(same).any(dim=0)


@torch.no_grad()
def mega_negatives(
    model: BilingualLearner, corpus: Corpus, mega: Sequence[Indices]
) -> list[tuple[Indices, Indices]]:
    """Search the hardest negatives of a mega-batch's pairs (Wieting & Gimpel 2018, section 5).

    Returns:
        For each mini-batch the places in the corpus of the sentences that the sources and the
        targets must not be like, -1 for none.
    """
    model.eval()  # the next update trains again
    views, device = model.network.views, model.device
    vectors = [
        torch.cat(
            [model.encode(inputs_of(corpus.side(side), rows, views, device), side) for rows in mega]
        )
        for side in (0, 1)
    ]
    every = np.concatenate(mega)
    shared = sharing(tuple(keys[every] for keys in corpus.keys))
    if shared is None:
        shared = (shared_text(corpus, every) | torch.eye(len(every), dtype=torch.bool)).nonzero().T
    found = search_negatives(
        vectors[0], vectors[1], shared, model.settings.negatives, torch.get_num_threads()
    )
    places = [np.where(p >= 0, every[p], -1) for p in (side.cpu().numpy() for side in found)]
    bounds = np.cumsum([len(rows) for rows in mega])[:-1]
    return list(zip(*(np.split(side, bounds) for side in places), strict=True))
