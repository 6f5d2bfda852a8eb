"""Means of token vectors without torch: loops, numpy, ``averages.c`` and the networks agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from bitextfilter.arrays import Vectors
from bitextfilter.encoders import averages
from bitextfilter.encoders.averages import AverageEncoder, VectorTable, means
from bitextfilter.encoders.base import Encoder
from bitextfilter.encoders.registry import ENCODERS, load_encoder, views
from bitextfilter.errors import ModelError
from bitextfilter.io.compiled import NO_COMPILED
from bitextfilter.models.checkpoint import load_tensors, save_tensors
from bitextfilter.models.tensor_file import open_tensors
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import TRIGRAMS, Ragged
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.text.trigrams import TrigramSettings

BITS = [32, 8, 4, 3]


@pytest.fixture(params=["compiled", "numpy"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the library, where there is one, and without."""
    if request.param == "numpy":
        monkeypatch.setenv(NO_COMPILED, "1")


def ragged(lengths: list[int], below: int, seed: int = 0) -> Ragged:
    sizes = np.array(lengths, dtype=np.int64)
    numbers = np.random.default_rng(seed).integers(0, below, int(sizes.sum()))
    return Ragged(numbers.astype(np.int32), sizes)


def table_of(bits: int, width: int, path: Path) -> tuple[VectorTable, Vectors]:
    """A table as it is saved, and its numbers as torch reads them."""
    torch.manual_seed(1)
    file = path / f"{bits}-{width}.safetensors"
    save_tensors(file, {"table": torch.randn(50, width)}, bits)
    return VectorTable(open_tensors(file)["table"]), load_tensors(file)["table"].numpy()


def in_turn(rows: Vectors) -> Vectors:
    """The sum, rounded to float32 after each row."""
    total = np.zeros(rows.shape[1], dtype=np.float32)
    for row in rows:
        total = total + row
    return total


TOKENS = [1, 3, 1, 0, 5000, 2, 257, *[1, 2, 4] * 20]


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("width", [1, 8, 40])
@pytest.mark.usefixtures("either")
def test_sums_of_ids_are_in_the_order_of_the_text(bits: int, width: int, tmp_path: Path) -> None:
    table, numbers = table_of(bits, width, tmp_path)
    tokens = ragged(TOKENS, 50)
    weights = np.random.default_rng(2).random(50, dtype=np.float32)
    assert np.array_equal(table[np.array([3, 0])], numbers[[3, 0]])
    for factors in (None, weights):
        given = numbers if factors is None else numbers * factors[:, None]
        expected = np.stack([in_turn(given[row]) for row in tokens])
        for threads in (1, 3):
            assert np.array_equal(table.sums(tokens, factors, threads), expected)
    assert table.sums(ragged([], 50)).shape == (0, width)


@pytest.mark.usefixtures("either")
def test_means_divide_by_the_number_of_ids() -> None:
    chance = np.random.default_rng(3)
    sums = chance.standard_normal((70, 24), dtype=np.float32)
    ids = chance.integers(1, 9, 70)
    sentences = ragged([1, 2, 9000, 300, *range(1, 90)], 70)
    out = np.full((len(sentences), 50), 7, dtype=np.float32)
    means(sums, ids, sentences, out[:, 10:34], threads=2)
    assert (out[:, :10] == 7).all() and (out[:, 34:] == 7).all()
    for row, found in zip(sentences, out[:, 10:34], strict=True):
        count = np.float32(len(row))
        exact = in_turn(sums[row]) / count / (np.float32(ids[row].sum()) / count)
        assert np.array_equal(found, exact)
        mean = sums[row].astype(np.float64).sum(0) / ids[row].sum()
        np.testing.assert_allclose(found, mean, rtol=1e-3, atol=1e-5)


WORDS = [f"w{number}" for number in range(200)]
SHAPES: dict[str, tuple[str, dict[str, object]]] = {
    "averaging": ("averaging", {"embedding": 48}),
    "side by side": ("word,trigram", {"embedding": 40}),
    "added": ("word+trigram", {"embedding": 40}),
    "one each": (
        "word,weighted+trigram",
        {"embedding": 16, "tables": "separate", "composition": "separate"},
    ),
}


def texts() -> list[str]:
    chance = np.random.default_rng(5)
    lengths = [*np.minimum(chance.geometric(0.1, 200), 90), 700]
    return ["", "other w1", *(" ".join(chance.choice(WORDS, int(length))) for length in lengths)]


def saved(shape: str, folder: Path, bits: int = 32) -> Path:
    """A random model."""
    name, values = SHAPES[shape]
    torch.manual_seed(3)
    both = WORDS, WORDS
    processor = TextProcessor.learn(both, ("aa", "ba"), Normalisation(), SegmenterSettings("none"))
    if TRIGRAMS in views(name):
        processor.learn_trigrams(both, TrigramSettings())
    settings = ENCODERS.settings(name, values)
    network = ENCODERS.build(name, settings, processor.sizes())
    for key, parameter in network.named_parameters():
        if "log_weight" in key:
            torch.nn.init.normal_(parameter)
    ENCODERS.save(folder, (name, settings), network, processor, bits)
    return folder


@pytest.mark.gate(16)
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.usefixtures("either")
def test_vectors_are_the_networks(shape: str, bits: int, tmp_path: Path) -> None:
    folder = saved(shape, tmp_path, bits)
    model, encoder = ENCODERS.load(folder), load_encoder(folder)
    assert isinstance(encoder, AverageEncoder)
    network = Encoder(model.processor, model.network)
    for language in ("aa", "ba"):
        found, expected = (each.encode(texts(), language) for each in (encoder, network))
        if "weight" in SHAPES[shape][0] or shape == "averaging":  # torch fuses products and sums
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        else:
            assert np.array_equal(found, expected)


def test_the_compiled_vectors_are_numpys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = load_encoder(saved("one each", tmp_path, 8), threads=2)
    compiled = encoder.encode(texts(), "ba")
    monkeypatch.setenv(NO_COMPILED, "1")
    assert np.array_equal(encoder.encode(texts(), "ba"), compiled)


def change(folder: Path, name: str, tensor: torch.Tensor | None) -> Path:
    """Put a tensor in the place of one, or take it away."""
    path = folder / "encoder.safetensors"
    tensors = {**load_tensors(path), **({} if tensor is None else {name: tensor})}
    save_tensors(
        path, {key: one for key, one in tensors.items() if tensor is not None or key != name}
    )
    return path


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("vectors.0.pieces.weight", None, "tensor vectors.0.pieces.weight is missing"),
        ("vectors.0.pieces.weight", torch.zeros(3, 40), "has shape (3, 40), the configuration"),
        ("vectors.0.pieces.weight", torch.zeros(203), "has shape (203,), the configuration"),
        ("more", torch.zeros(1), "unknown tensor more"),
        ("vectors.0.pieces.weight", torch.full((203, 40), torch.nan), "not finite"),
    ],
)
def test_tensors_that_do_not_fit_are_named_as_torch_names_them(
    name: str, tensor: torch.Tensor | None, message: str, tmp_path: Path
) -> None:
    path = change(saved("side by side", tmp_path), name, tensor)
    said = []
    for load in (ENCODERS.load, load_encoder):
        with pytest.raises(ModelError) as error:
            load(tmp_path)
        said.append(str(error.value))
    assert said[0] == said[1] and message in said[0] and str(path) in said[0]


def test_a_library_of_another_layout_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(averages.LIBRARY, "layout", 99)
    assert averages.LIBRARY.open() is None
