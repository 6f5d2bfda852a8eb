"""Training objectives as scalar tensors, in nats, their negatives, and the decoder's output layer.

Letters: m predicted tokens, or pairs to seek negatives in; d width of the decoder or of a vector,
v vocabulary, s samples, n sentence pairs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from bitextfilter.arrays import Integers
from bitextfilter.models.layers import rows_of
from bitextfilter.training.data import first_highest
from bitextfilter.training.settings import TrainingSettings


def softmax_loss(states: Tensor, targets: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Mean cross-entropy of ``targets (m,)`` over the whole vocabulary.

    ``states (m, d)``, ``weight (v, d)``, ``bias (v,)``. Kim et al. 2019, eq. 7 and 8, per token.
    """
    return functional.cross_entropy(
        _at_least_float32(functional.linear(states, weight, bias)), targets
    )


def sampled_softmax_loss(
    states: Tensor,
    targets: Tensor,
    output: tuple[Tensor, Tensor],
    samples: Tensor,
    log_expected: Tensor,
) -> Tensor:
    """Importance-sampled approximation of :func:`softmax_loss` (Jean et al. 2015, section 3).

    Args:
        states: ``(m, d)``.
        targets: ``(m,)``.
        output: weight ``(v, d)`` and bias ``(v,)``.
        samples: ids drawn with replacement, shared by all tokens, ``(s,)``.
        log_expected: log of how often each id is expected among the samples, ``(v,)``; it is
            taken off the logits so that the sampled sum estimates the whole one. A sample
            that equals the target is left out.
    """
    weight, bias = output
    offsets, drawn = bias[:, None], rows_of(weight, samples)
    right = _at_least_float32((states * rows_of(weight, targets)).sum(1))
    right = right + rows_of(offsets, targets)[:, 0]
    # Few passes over this matrix, the largest of a training.
    offset = rows_of(offsets, samples)[:, 0] - log_expected[samples]
    others = _at_least_float32(functional.linear(states, drawn, offset))
    others = others.masked_fill_(samples[None, :] == targets[:, None], float("-inf"))
    # The target stands for itself with weight 1; the samples for the rest of the vocabulary.
    return (torch.logaddexp(right, torch.logsumexp(others, dim=1)) - right).mean()


def ranking_loss(
    source: Tensor, target: Tensor, scale: Tensor, margin: float, same: Tensor | None = None
) -> Tensor:
    """Symmetric softmax over the batch on scaled cosines, with an additive margin.

    Each source has to find its own target among the batch's and the reverse; the right pair's
    cosine is lowered by ``margin`` first (Yang et al. 2019, "Improving Multilingual Sentence
    Embedding using Bi-directional Dual Encoder with Additive Margin Softmax", eq. 5 and 6).

    Args:
        source, target: row-aligned vectors ``(n, d)``.
        scale: positive scalar that multiplies every cosine.
        margin: taken off the cosine of the right pairs.
        same: ``(n, n)``, True where two pairs share a text on either side: such a pair is no
            negative and is left out.
    """
    units = [functional.normalize(_at_least_float32(side), dim=1) for side in (source, target)]
    with torch.autocast(source.device.type, enabled=False):
        cosine = units[0] @ units[1].T
    eye = torch.eye(len(source), dtype=torch.bool, device=source.device)
    logits = scale * (cosine - margin * eye)
    if same is not None:
        logits = logits.masked_fill(same & ~eye, float("-inf"))
    right = torch.arange(len(source), device=source.device)
    forward = functional.cross_entropy(logits, right)
    backward = functional.cross_entropy(logits.T, right)
    return (forward + backward) / 2


class HardNegatives(NamedTuple):
    """A negative for each of n rows, where there is one."""

    vectors: Tensor
    """``(n, d)``; of any value where there is none."""
    present: Tensor
    """Whether a row has one, bool ``(n,)``."""


def margin_loss(
    source: Tensor,
    target: Tensor,
    for_source: HardNegatives,
    for_target: HardNegatives | None,
    margin: float,
) -> Tensor:
    """Hinge on cosines: a pair's is to exceed each side's with its negative by a margin.

    The mean over the pairs of max(0, δ − cos(s, t) + cos(s, nₛ)) + max(0, δ − cos(s, t) +
    cos(t, nₜ)). With both terms it is the objective of Wieting, Mallinson & Gimpel 2017 (section
    "Training"; its regularisers are :mod:`~bitextfilter.training.encoder_learner`); the first term
    alone is the objective of Wieting & Gimpel 2018; δ = 0.4 in both. A row without a negative has
    no part in the mean of that term.

    Args:
        source, target: row-aligned vectors ``(n, d)``.
        for_source: the nₛ, such as :func:`taken` gives.
        for_target: the nₜ; None leaves the second term out.
        margin: δ, in cosine.

    Returns:
        At least 0; gradients flow into the negatives too.
    """
    right = _row_cosine(source, target)
    loss = _hinge(margin - right + _row_cosine(source, for_source.vectors), for_source.present)
    if for_target is None:
        return loss
    other = margin - right + _row_cosine(target, for_target.vectors)
    return loss + _hinge(other, for_target.present)


def contrastive_loss(source: Tensor, target: Tensor, positive: Tensor, margin: float) -> Tensor:
    """Pull positive pairs together and push negative ones beyond a margin of cosine distance.

    The mean of y·d + (1 − y)·max(0, m − d)², d = 1 − cos(s, t), y = 1 for a positive pair: the
    objective of Sjöblom, Creutz & Aulamo 2018, whose printed formula has y and 1 − y swapped,
    which would separate paraphrases.

    Args:
        source, target: row-aligned vectors ``(n, d)``, of positive and negative pairs (see
            :func:`random_partners`).
        positive: whether a row is a positive pair, bool ``(n,)``.
        margin: m, a distance from 0 to 2.
    """
    distance = 1 - _row_cosine(source, target)
    beyond = (margin - distance).clamp(min=0).square()
    return torch.where(positive, distance, beyond).mean()


def cosine_loss(source: Tensor, target: Tensor) -> Tensor:
    """Return the mean of 1 − cos(s, t), 0 to 2, over row-aligned vectors ``(n, d)``.

    The additional objective that Kim et al. 2019 propose as future work.
    """
    return (1 - _row_cosine(source, target)).mean()


def _row_cosine(one: Tensor, other: Tensor) -> Tensor:
    """Cosine of each row with the other's, ``(n,)``; 0 with a vector of zeros."""
    units = [functional.normalize(_at_least_float32(side), dim=1) for side in (one, other)]
    return (units[0] * units[1]).sum(1)


def _hinge(values: Tensor, present: Tensor) -> Tensor:
    """Mean of the positive parts over the rows with a negative; 0 without any."""
    return values.clamp(min=0).masked_fill(~present, 0).sum() / present.sum().clamp(min=1)


def _at_least_float32(values: Tensor) -> Tensor:
    """Sums of many terms need more than bfloat16."""
    return values if values.dtype == torch.float64 else values.float()


_BLOCK_ROWS = 4096
"""Rows searched at a time: a mega-batch of 40 times 100 pairs is one block of 64 MB."""


@torch.no_grad()
def hardest_negatives(
    source: Tensor, target: Tensor, same: Tensor, negatives: str = "same"
) -> tuple[Tensor, Tensor]:
    """Places of the hardest negative of each source and of each target: the highest cosine.

    In a mega-batch (Wieting & Gimpel 2018) the search is over all its mini-batches, which are then
    trained on one by one, each with the negatives found for its rows.

    Args:
        source, target: row-aligned vectors ``(m, d)``.
        same: ``(m, m)``, True where two pairs share a text: neither is a negative of the other.
            Nor is a pair ever its own.
        negatives: ``same``: of the same side, and so language, as in Wieting, Mallinson &
            Gimpel 2017; ``other``: of the other side, as translations are searched for.

    Returns:
        For each source a place among the sources (``same``) or targets (``other``), and for each
        target the reverse: int64 ``(m,)`` each, of equal cosines the first, -1 without a negative.
    """
    units = [functional.normalize(side.float(), dim=1) for side in (source, target)]
    candidates = {"same": units, "other": units[::-1]}[negatives]
    rows = torch.arange(len(source), device=source.device)
    places: tuple[list[Tensor], list[Tensor]] = ([], [])
    for block in torch.split(rows, _BLOCK_ROWS):
        own = same[block] | (block[:, None] == rows)
        for side in (0, 1):
            with torch.autocast(source.device.type, enabled=False):
                cosine = units[side][block] @ candidates[side].T
            places[side].append(first_highest(cosine.masked_fill(own, float("-inf"))))
    return torch.cat(places[0]), torch.cat(places[1])


def taken(vectors: Tensor, places: Tensor) -> HardNegatives:
    """The negatives that stand at ``places (n,)`` of ``vectors (m, d)``."""
    return HardNegatives(rows_of(vectors, places.clamp(min=0)), places >= 0)


def random_partners(same: Tensor, generator: torch.Generator) -> Tensor:
    """A random wrong partner for each of the pairs: one negative a positive.

    Every allowed partner is as likely as any other, and drawn anew for each row (Sjöblom, Creutz &
    Aulamo 2018). ``same (m, m)`` is True where two pairs share a text; a row is never its own
    partner. The generator may lie on another device.

    Returns int64 ``(m,)``, -1 for a row that has no possible partner.
    """
    size = len(same)
    chance = torch.rand(size, size, generator=generator, device=generator.device).to(same.device)
    own = torch.eye(size, dtype=torch.bool, device=same.device)
    return first_highest(chance.masked_fill(same | own, float("-inf")))


SAMPLING_POWER = 0.75
"""Samples follow the unigram counts to this power (Mikolov et al. 2013, section 2.2)."""
ADAPTIVE_CUTOFFS = (2000, 10000)


class OutputLayer(nn.Module):
    """Layer from decoder states to the loss of the words they should predict."""

    def __init__(self, dim: int, counts: Integers, settings: TrainingSettings) -> None:
        super().__init__()
        self.settings = settings
        size = len(counts)
        if settings.softmax == "adaptive":
            cutoffs = [c for c in ADAPTIVE_CUTOFFS if c < size - 1] or [max(1, size // 2)]
            self.layer: nn.Module = nn.AdaptiveLogSoftmaxWithLoss(dim, size, cutoffs)
            return
        self.layer = nn.Linear(dim, size)
        shares = torch.from_numpy(counts + 1.0)
        with torch.no_grad():  # as likely as they are: the encoder need not tell that first
            self.layer.bias.copy_((shares / shares.sum()).log())
        share = shares**SAMPLING_POWER
        share = share / share.sum()
        self.register_buffer("share", share, persistent=False)
        expected = (share * settings.samples).log().float()
        self.register_buffer("log_expected", expected, persistent=False)

    def forward(self, states: Tensor, targets: Tensor) -> Tensor:
        """``(m, d)``, ``(m,)`` → mean loss in nats a token; sampled only while training."""
        layer = self.layer
        if isinstance(layer, nn.AdaptiveLogSoftmaxWithLoss):
            return layer(states.float(), targets).loss  # type: ignore[no-any-return]
        assert isinstance(layer, nn.Linear)
        if self.settings.softmax == "full" or not self.training:
            return softmax_loss(states, targets, layer.weight, layer.bias)
        share = self.get_buffer("share")
        samples = torch.multinomial(share, self.settings.samples, replacement=True)
        return sampled_softmax_loss(
            states, targets, (layer.weight, layer.bias), samples, self.get_buffer("log_expected")
        )


_ROWS = 1024
"""Rows of states whose logits are held at a time."""


def output_loss(
    states: Tensor, output: tuple[Tensor, Tensor], targets: Tensor, smoothing: float
) -> Tensor:
    """Mean cross-entropy of ``targets (m,)`` with label smoothing, from states ``(m, w)``.

    (1 - ε) (-log p_y) + ε · mean over the vocabulary of -log p (Szegedy et al. 2016, section 7).
    The gradients are computed with the loss, some rows at a time: several copies of the
    ``(m, v)`` logits would take most of the memory of a small translator's training.

    Args:
        states: of the decoder, ``(m, w)``, m of at least 1.
        output: weight ``(v, w)`` and bias ``(v,)`` of the output layer.
        targets: ids, ``(m,)``.
        smoothing: ε, from 0 to below 1.
    """
    loss: Tensor = _OutputLoss.apply(states, *output, targets, smoothing)  # type: ignore[no-untyped-call]
    return loss


class _OutputLoss(torch.autograd.Function):
    """Forward with all gradients; backward scales them."""

    @staticmethod
    def forward(context: Any, states: Tensor, *rest: Any) -> Tensor:
        weight, bias, targets, smoothing = rest
        device, kind = states.device.type, states.dtype
        if torch.is_autocast_enabled(device):
            kind = torch.get_autocast_dtype(device)
        matrix, offset = weight.to(kind), bias.to(kind)
        gradients = torch.empty_like(states), torch.zeros_like(weight), torch.zeros_like(bias)
        total = torch.zeros((), dtype=bias.dtype, device=states.device)
        with torch.autocast(device, enabled=False):
            for start in range(0, len(states), _ROWS):
                rows = slice(start, start + _ROWS)
                part, wanted = states[rows].to(kind), targets[rows, None]
                logs = torch.addmm(offset, part, matrix.t()).to(bias.dtype).log_softmax(dim=1)
                hit, mean = logs.gather(1, wanted), logs.mean(dim=1, keepdim=True)
                total -= ((1 - smoothing) * hit + smoothing * mean).sum()
                slopes = logs.exp_().sub_(smoothing / len(bias))
                slopes.scatter_add_(1, wanted, torch.full_like(hit, smoothing - 1))
                gradients[2].add_(slopes.sum(dim=0))
                narrow = slopes.to(kind)
                gradients[0][rows] = (narrow @ matrix).to(states.dtype)
                gradients[1].add_(narrow.t() @ part)
        context.save_for_backward(*(part.div_(len(states)) for part in gradients))
        return total / len(states)

    @staticmethod
    def backward(context: Any, *slope: Tensor) -> tuple[Tensor | None, ...]:
        return (*(part * slope[0].to(part.dtype) for part in context.saved_tensors), None, None)
