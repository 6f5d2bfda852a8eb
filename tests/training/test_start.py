"""Where networks start: which tensors of another model they take over."""

from __future__ import annotations

import pytest
import torch

from bitextfilter.encoders.network import Network
from bitextfilter.encoders.registry import architecture_settings, build_network
from bitextfilter.errors import SettingsError
from bitextfilter.text.processor import PIECES, TRIGRAMS
from bitextfilter.training.start import start_from

SIZES = {PIECES: 7, TRIGRAMS: 5}
SHARED = {"tables": "shared", "composition": "shared"}


def network(seed: int, name: str = "word+gran,trigram", **shape: object) -> Network:
    torch.manual_seed(seed)
    return build_network(name, architecture_settings(name, {"embedding": 4, **shape}), SIZES)


@pytest.mark.parametrize("twice", ["tables", "composition"])
def test_what_a_model_shares_goes_to_both_sides(twice: str) -> None:
    other, made = network(1), network(2, **{twice: "separate"})
    names = start_from(made, other)
    own, others = made.state_dict(), other.state_dict()
    assert names == sorted(own)
    one = {"tables": "vectors.1.", "composition": "parts.1."}[twice]
    assert sum(name.startswith(one) for name in own) > 1
    for name, tensor in own.items():
        assert torch.equal(tensor, others[name.replace(".1.", ".0.", 1)])


@pytest.mark.parametrize("shape", [SHARED, {"tables": "separate", "composition": "separate"}])
def test_the_sides_of_a_model_that_has_both_stay_apart(shape: dict[str, str]) -> None:
    other, made = network(1, **shape), network(2, **shape)
    assert start_from(made, other) == sorted(other.state_dict())
    for name, tensor in made.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name])


def test_what_does_not_fit_stays_and_one_that_nothing_fits_is_refused() -> None:
    made, before = network(2), network(2).state_dict()
    assert start_from(made, network(1, "word")) == ["vectors.0.pieces.weight"]
    changed = {name for name, tensor in made.state_dict().items() if not tensor.equal(before[name])}
    assert changed == {"vectors.0.pieces.weight"}
    with pytest.raises(SettingsError, match="no tensor that fits"):
        start_from(made, network(1, "word", embedding=6))
