"""Training objectives: pure functions that return a scalar tensor, in nats.

Letters: m predicted tokens, d width of the decoder, v vocabulary, s samples, n sentence pairs.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


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
    right = _at_least_float32((states * weight[targets]).sum(1)) + bias[targets]
    others = _at_least_float32(functional.linear(states, weight[samples], bias[samples]))
    others = others - log_expected[samples]
    others = others.masked_fill(samples[None, :] == targets[:, None], float("-inf"))
    # The target stands for itself with weight 1; the samples for the rest of the vocabulary.
    total = torch.logsumexp(torch.cat([right[:, None], others], dim=1), dim=1)
    return (total - right).mean()


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
            wrong answer and is left out.
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


def _at_least_float32(values: Tensor) -> Tensor:
    """Sums of many terms need more than bfloat16."""
    return values if values.dtype == torch.float64 else values.float()
