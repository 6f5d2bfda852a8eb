"""Scrambling, dropout and penalties against what they are meant to keep."""

from __future__ import annotations

import pytest
import torch

from bitextfilter.training.encoder_learner import scrambled, squared_norm, variational_mask


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def padded(count: int = 400) -> tuple[torch.Tensor, torch.Tensor]:
    """Distinct ids, and 0 or a foreign id behind the end."""
    lengths = torch.randint(0, 8, (count,), generator=generator(2))
    position = torch.arange(9)
    ids = 1 + position + 10 * torch.arange(count)[:, None]
    behind = torch.where(torch.arange(count)[:, None] % 2 == 0, 0, ids)
    return torch.where(position < lengths[:, None], ids, behind), lengths


def test_scrambling_permutes_within_the_sentence_alone() -> None:
    ids, lengths = padded()
    before = ids.clone()
    mixed = scrambled(ids, lengths, 1.0, generator())
    assert ids.equal(before) and mixed.shape == ids.shape and mixed.dtype == ids.dtype
    for row, length in enumerate(lengths.tolist()):
        assert sorted(mixed[row, :length].tolist()) == ids[row, :length].tolist()
        assert mixed[row, length:].equal(ids[row, length:])


def test_the_probability_is_of_the_sentence() -> None:
    ids, lengths = padded(4000)
    long = lengths >= 7  # where a permutation that changes nothing is rare: 1 in 5040
    changed = (scrambled(ids, lengths, 0.3, generator()) != ids).any(1)
    assert changed[long].double().mean().item() == pytest.approx(0.3, abs=0.06)
    assert scrambled(ids, lengths, 0.0, generator()).equal(ids)


def test_every_order_is_as_likely() -> None:
    ids = torch.tensor([[1, 2, 3, 0]]).expand(6000, 4)
    mixed = scrambled(ids, torch.full((6000,), 3), 1.0, generator())
    orders, counts = mixed.unique(dim=0, return_counts=True)
    assert len(orders) == 6
    assert (counts / 6000 - 1 / 6).abs().max() < 0.02


def test_the_same_seed_scrambles_alike() -> None:
    ids, lengths = padded()
    runs = [scrambled(ids, lengths, 0.5, generator(seed)) for seed in (1, 1, 2)]
    assert runs[0].equal(runs[1]) and not runs[0].equal(runs[2])


def test_a_variational_mask_keeps_the_mean_and_is_one_a_sentence() -> None:
    mask = variational_mask(500, 40, 0.25, generator())
    assert mask.shape == (500, 1, 40)
    assert mask.unique().tolist() == pytest.approx([0, 1 / 0.75])
    assert (mask == 0).double().mean().item() == pytest.approx(0.25, abs=0.01)
    assert mask.mean().item() == pytest.approx(1, abs=0.02)
    vectors = torch.ones(500, 3, 40) * mask
    assert vectors[:, 0].equal(vectors[:, 2])
    assert not mask[0].equal(mask[1])
    assert variational_mask(2, 3, 0.0, generator()).eq(1).all()


def test_the_squared_norm_sums_squares_with_their_gradients() -> None:
    torch.manual_seed(1)
    table = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(5, dtype=torch.float64, requires_grad=True)
    naive = sum(value**2 for value in [*table.flatten().tolist(), *bias.tolist()])
    assert squared_norm([table, bias]).item() == pytest.approx(naive)
    assert torch.autograd.gradcheck(lambda *both: squared_norm(both), (table, bias))
