"""The recurrent layers against torch's own packed sequences."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from bitextfilter.models.recurrent import BidirectionalRecurrent, RecurrentDecoder, reverse_padded

LENGTHS = torch.tensor([4, 1, 3])


def rows(width: int = 5) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(3, 4, width)


def test_reversal_leaves_the_padding_at_the_end() -> None:
    values = torch.arange(12.0).reshape(3, 4, 1)
    reversed_ = reverse_padded(values, LENGTHS)[:, :, 0].tolist()
    assert reversed_ == [[3, 2, 1, 0], [4, 5, 6, 7], [10, 9, 8, 11]]


@pytest.mark.parametrize(("cell", "kind"), [("lstm", nn.LSTM), ("gru", nn.GRU)])
@pytest.mark.parametrize("layers", [1, 2])
def test_states_are_those_of_torch_on_packed_sequences(
    cell: str, kind: type[nn.LSTM], layers: int
) -> None:
    ours = BidirectionalRecurrent(cell, 5, 6, layers)
    theirs = kind(5, 6, layers, batch_first=True, bidirectional=True)
    weights = {}
    for layer in range(layers):
        for suffix, side in (("", ours.forwards), ("_reverse", ours.backwards)):
            for name, value in side[layer].state_dict().items():
                weights[name.replace("l0", f"l{layer}") + suffix] = value
    theirs.load_state_dict(weights)
    packed = nn.utils.rnn.pack_padded_sequence(rows(), LENGTHS, True, enforce_sorted=False)
    expected, _ = nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    states = ours(rows(), LENGTHS)
    for i, length in enumerate(LENGTHS):
        torch.testing.assert_close(states[i, :length], expected[i, :length])


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_the_decoder_sees_the_embedding_and_the_past_only(cell: str) -> None:
    torch.manual_seed(0)
    decoder = RecurrentDecoder(cell, 5, 6)
    embedding, inputs = torch.randn(3, 6), rows()
    states = decoder(embedding, inputs)
    later = inputs.clone()
    later[:, 2:] += 1
    torch.testing.assert_close(decoder(embedding, later)[:, :2], states[:, :2])
    assert not torch.allclose(decoder(embedding, later)[:, 2:], states[:, 2:])
    assert not torch.allclose(decoder(embedding + 1, inputs)[:, 0], states[:, 0])
