"""Attention, against torch's own."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from bitextfilter.models.layers import MultiHeadAttention, plain_attention


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_plain_attention_is_torchs(masked: bool, causal: bool) -> None:
    torch.manual_seed(1)
    queries, keys, values = (torch.randn(3, 2, 5, 8, dtype=torch.float64) for _ in range(3))
    mask = torch.arange(5) < torch.tensor([5, 2, 3])[:, None] if masked else torch.ones(3, 5) > 0
    both = mask[:, None, None] & (torch.ones(5, 5).tril() > 0 if causal else torch.ones(5, 5) > 0)
    expected = scaled_dot_product_attention(queries, keys, values, attn_mask=both)
    given = mask[:, None, None] if masked else None
    torch.testing.assert_close(plain_attention(queries, (keys, values), given, causal), expected)


def test_training_and_inference_agree() -> None:
    torch.manual_seed(2)
    layer = MultiHeadAttention(16, 4)
    rows = torch.randn(3, 6, 16)
    memory = layer.project(rows)
    for causal in (False, True):
        trained = layer.train()(rows, memory, causal=causal)
        torch.testing.assert_close(trained, layer.eval()(rows, memory, causal=causal))
