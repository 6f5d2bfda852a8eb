"""Where networks start: random values, tensors of another model, and vectors from a file."""

from __future__ import annotations

import math
import os
import re
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from bitextfilter.encoders.base import Network, Padded
from bitextfilter.encoders.registry import ENCODERS
from bitextfilter.errors import InputError, NotFoundError, SettingsError
from bitextfilter.io.records import write_digests
from bitextfilter.models.folders import PRETRAINED
from bitextfilter.pairs.classifier import load_classifier
from bitextfilter.pairs.word_classifier import WordClassifier
from bitextfilter.scoring.model import load
from bitextfilter.text.ragged import PIECES, TRIGRAMS
from bitextfilter.text.vocabulary import RESERVED, Vocabulary
from bitextfilter.training.start import (
    _change,
    check_vectors,
    least_squares,
    read_vectors,
    start_alike,
    start_from,
    start_matrix_,
    start_small,
    start_with_more,
    started,
    train_rows_from,
    use_vectors,
)

SIZES = {PIECES: 7, TRIGRAMS: 5}
VOCABULARY = Vocabulary(["a", "b", "c"], np.ones((3, 2), dtype=np.int64))
SHARED = {"tables": "shared", "composition": "shared"}


def network(seed: int, name: str = "word+gran,trigram", **shape: object) -> Network:
    torch.manual_seed(seed)
    return ENCODERS.build(name, ENCODERS.settings(name, {"embedding": 4, **shape}), SIZES)


ATTENTION = {"hidden": 3, "pooling": "attention"}


@pytest.mark.parametrize(
    ("name", "shared", "own", "prefix"),
    [
        ("word+gran,trigram", {}, {"tables": "separate"}, "vectors.1."),
        ("word+gran,trigram", {}, {"composition": "separate"}, "parts.1."),
        ("autoencoder", {**ATTENTION, "composition": "shared"}, ATTENTION, "encoders.1."),
    ],
)
def test_what_a_model_shares_goes_to_both_sides(
    name: str, shared: dict[str, object], own: dict[str, object], prefix: str
) -> None:
    other, made = network(1, name, **shared), network(2, name, **own)
    names = start_from(made, other)
    tensors, others = made.state_dict(), other.state_dict()
    assert names == sorted(tensors)
    assert sum(key.startswith(prefix) for key in tensors) > 1
    for key, tensor in tensors.items():
        assert torch.equal(tensor, others[key.replace(".1.", ".0.", 1)])


@pytest.mark.parametrize("shape", [SHARED, {"tables": "separate", "composition": "separate"}])
def test_the_sides_of_a_model_that_has_both_stay_apart(shape: dict[str, str]) -> None:
    other, made = network(1, **shape), network(2, **shape)
    assert start_from(made, other) == sorted(other.state_dict())
    for name, tensor in made.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name])


def test_an_autoencoder_becomes_a_part_of_a_combination_and_the_reverse() -> None:
    parts = {"composition": "shared", "standardise": True}
    other = network(1, "autoencoder", hidden=2, **parts)
    for side, standard in enumerate(other.standards):
        torch.nn.init.constant_(standard.mean, side + 0.5)
    made = network(2, "word,trigram,max-blstm", **parts)
    own = made.state_dict()
    trigrams = {name for name in own if "trigrams" in name}
    assert start_from(made, other) == sorted(set(own) - trigrams)
    assert trigrams
    ids = Padded(torch.tensor([[4, 2, 3]]), torch.tensor([3]))
    other.eval(), made.eval()
    with torch.no_grad():
        for side in (0, 1):
            expected = other({PIECES: ids}, side) / 4**0.5
            assert torch.equal(made({PIECES: ids, TRIGRAMS: ids}, side)[:, 8:], expected)
    again = network(3, "autoencoder", hidden=2, **parts)
    assert start_from(again, made) == sorted(again.state_dict())
    for name, tensor in again.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name])


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("autoencoder", {"hidden": 3, "pooling": "attention"}),
        ("autoencoder", {"hidden": 3, "composition": "shared"}),
        ("word+gran,trigram", {"tables": "separate", "composition": "separate", "gain": 0.5}),
        ("word+gran,trigram", {"tables": "separate"}),
    ],
)
def test_what_each_language_has_of_its_own_starts_alike(
    name: str, shape: dict[str, object]
) -> None:
    made = network(1, name, **shape)
    before = {name: tensor.clone() for name, tensor in made.state_dict().items()}
    start_alike(made)
    for key, tensor in made.state_dict().items():
        source = re.sub(r"^([a-z]+)\.1\.", r"\1.0.", key)
        assert torch.equal(tensor, before[source]), key


def test_what_does_not_fit_stays_and_one_that_nothing_fits_is_refused() -> None:
    made, before = network(2), network(2).state_dict()
    assert start_from(made, network(1, "word")) == ["vectors.0.pieces.weight"]
    changed = {name for name, tensor in made.state_dict().items() if not tensor.equal(before[name])}
    assert changed == {"vectors.0.pieces.weight"}
    with pytest.raises(SettingsError, match="no tensor that fits"):
        start_from(made, network(1, "word", embedding=6))


def test_vectors_of_pieces_are_read_and_the_first_of_each_counts(tmp_path: Path) -> None:
    """Those of other pieces are not held."""
    (tmp_path / "v.vec").write_text("4 2\nc 1 2\nother 7 7\na 3 4 \nc 5 6\n")
    ids, vectors = read_vectors(tmp_path / "v.vec", VOCABULARY)
    assert ids.tolist() == [len(RESERVED) + 2, len(RESERVED)]
    assert (vectors.tolist(), vectors.dtype) == ([[1, 2], [3, 4]], torch.float32)
    lines = [f"x{n}{' 0.5' * 40}\n" for n in range(3000)]
    (tmp_path / "v.vec").write_text("".join([*lines, f"a{' 0.5' * 40}\n"]))
    tracemalloc.start()
    try:
        assert len(read_vectors(tmp_path / "v.vec", VOCABULARY)[0]) == 1
        assert tracemalloc.get_traced_memory()[1] < 3000 * 40 * 4 / 2
    finally:
        tracemalloc.stop()


READ = "v.vec:2: expected a word and 2 numbers; remove the line"
WIDTH = "v.vec: vectors of 3 numbers, expected 2; set shape.width=3, or"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 2\nb 1\n", READ),
        ("a 1 2\nx 1 nan\n", READ),
        ("a 1 2\nb 1 y\n", READ),
        ("x 1 2\n", "v.vec: no vector is of a piece of the vocabulary; segment the text"),
        ("2 3\na 1 2 3\n", WIDTH),
        ("x 1 2 3\n", WIDTH),
        ("9 2\n", "v.vec: no word vectors"),
        ("", "v.vec: no word vectors"),
        ("a 1 b\n", "v.vec:1: expected a word and some numbers; remove the line"),
    ],
)
def test_what_is_no_file_of_vectors_of_pieces(text: str, message: str, tmp_path: Path) -> None:
    """The first vector tells the width."""
    (tmp_path / "v.vec").write_text(text)

    def read() -> None:
        check_vectors(tmp_path / "v.vec", "shape.width", 2)
        read_vectors(tmp_path / "v.vec", VOCABULARY)

    with pytest.raises(InputError, match=re.escape(message)):
        read()


def test_vectors_in_no_file(tmp_path: Path) -> None:
    check_vectors(None, "shape.width", 2)
    with pytest.raises(NotFoundError):
        check_vectors(tmp_path / "v.vec", "shape.width", 2)
    os.mkfifo(tmp_path / "v.vec")
    with pytest.raises(InputError, match=r"v\.vec: a pipe, which cannot be read twice"):
        check_vectors(tmp_path / "v.vec", "shape.width", 2)


def test_every_table_starts_from_the_vectors_and_their_share_of_the_text_is_told(
    tmp_path: Path,
) -> None:
    (tmp_path / "v.vec").write_text("c 1 2\nother 7 7\na 3 4\n")
    vocabulary = Vocabulary(["a", "b", "c"], np.array([[1, 0], [7, 3], [0, 1]]))
    tables, notes = [torch.nn.Embedding(7, 2), torch.nn.Embedding(7, 2)], []
    before = [table.weight.detach().clone() for table in tables]
    use_vectors(tables, None, vocabulary, notes.append)
    assert [table.weight.tolist() for table in tables] == [rows.tolist() for rows in before]
    use_vectors(tables, tmp_path / "v.vec", vocabulary, notes.append)
    for table, rows in zip(tables, before, strict=True):
        rows[len(RESERVED)], rows[len(RESERVED) + 2] = torch.tensor([3, 4]), torch.tensor([1, 2])
        assert table.weight.tolist() == rows.tolist()
    told = "12.5 % of the source text, 25.0 % of the target text"
    assert notes == [f"initial vectors of 2 of 3 pieces: {told}"]


def test_more_rows_start_small_behind_the_others() -> None:
    settings = ENCODERS.settings("word,trigram", {"embedding": 4})
    other = ENCODERS.build("word,trigram", settings, SIZES)
    made = ENCODERS.build("word,trigram", settings, {**SIZES, TRIGRAMS: 9})
    assert start_with_more(made, other) == {"vectors.0.trigrams.weight": 5}
    tensors, known = made.state_dict(), other.state_dict()
    for name, tensor in tensors.items():
        assert torch.equal(tensor[: len(known[name])], known[name])
    new = tensors["vectors.0.trigrams.weight"][5:].norm(dim=1)
    assert 0.1 < float(new.median() / known["vectors.0.trigrams.weight"].norm(dim=1).median()) < 4
    for sizes in ({**SIZES, TRIGRAMS: 3}, {PIECES: 2, TRIGRAMS: 9}):
        with pytest.raises(SettingsError, match="the model to start from has no "):
            start_with_more(ENCODERS.build("word,trigram", settings, sizes), other)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_that_stay(sparse: bool) -> None:
    table = torch.nn.Embedding(6, 3, sparse=sparse)
    before = table.weight.detach().clone()
    train_rows_from(table.weight, 4)
    table(torch.tensor([0, 4, 4, 5])).sum().backward()
    gradient = table.weight.grad
    assert gradient is not None
    assert gradient.is_sparse == sparse
    assert gradient.to_dense().sum(dim=1).tolist() == [0, 0, 0, 0, 6, 3]
    torch.optim.SGD([table.weight], lr=0.1).step()
    assert torch.equal(table.weight[:4], before[:4])
    assert not torch.isclose(table.weight[4:], before[4:]).any()


def test_least_squares_is_ridge_regression() -> None:
    """The same as with a row of each unit vector added, whose target is zero (numpy's lstsq)."""
    random = np.random.default_rng(1)
    x, z, r = (random.normal(size=shape) for shape in ((30, 4), (30, 6), (4, 7)))
    ridge = 0.01 * (x * x).sum() / 4
    more = np.concatenate([x, np.sqrt(ridge) * np.eye(4)])
    expected = np.linalg.lstsq(more, np.concatenate([z, np.zeros((4, 6))]), rcond=None)[0]
    assert least_squares(x, z) == pytest.approx(expected, abs=1e-10)
    assert least_squares(x, x @ r) == pytest.approx(r, rel=0.05, abs=0.05)


def test_a_map_between_vectors_that_are_alike_is_near_to_none() -> None:
    """What the ridge pulls to is no change, and to zero where vectors differ or are narrower."""
    random = np.random.default_rng(1)
    other = random.normal(size=(9, 6)).astype(np.float32)  # rank 6, two directions weak
    other[:, 4:] *= 1e-6
    near = other + 0.1 * random.normal(size=other.shape).astype(np.float32) * (other[:1] != 0)
    change, alike = _change(other, other)
    assert alike
    assert change == pytest.approx(np.eye(6), abs=1e-6)
    change, alike = _change(near, other)
    assert alike
    assert np.abs(near @ change - other).max() < np.abs(near - other).max()
    for far in (random.normal(size=(9, 6)).astype(np.float32), other[:, :5]):
        change, alike = _change(far, other)
        assert not alike
        assert change == pytest.approx(least_squares(far, other))


@pytest.mark.parametrize(("cosine", "alike"), [(0.24, False), (0.26, True)])
def test_vectors_are_alike_from_a_mean_cosine_of_a_quarter_on(cosine: float, alike: bool) -> None:
    random = np.random.default_rng(1)
    other, more = (random.normal(size=(200, 50)) for _ in "ab")
    other /= np.linalg.norm(other, axis=1)[:, None]
    more -= (more * other).sum(1)[:, None] * other  # at right angles, row by row
    more /= np.linalg.norm(more, axis=1)[:, None]
    own = 3 * (cosine * other + math.sqrt(1 - cosine**2) * more)
    assert _change(own.astype(np.float32), other.astype(np.float32))[1] == alike


@pytest.mark.parametrize(("flipped", "kept"), [(False, True), (True, False)])
def test_a_classifier_keeps_its_sentence_layer_for_an_encoder_that_was_trained_on(
    tmp_path: Path, flipped: bool, kept: bool
) -> None:
    """Factors of the rows, .5 to 1.5, or of either sign, stand for a training."""
    shutil.copytree(PRETRAINED / "de-fr", tmp_path / "model")
    path, random = tmp_path / "model" / "encoder.safetensors", torch.Generator().manual_seed(1)
    tensors = load_file(path)
    for name in tensors:
        if name.endswith(".row_scale"):
            factors = torch.empty_like(tensors[name]).uniform_(0.5, 1.5, generator=random)
            flips = torch.empty_like(factors).uniform_(-1, 1, generator=random).sign()
            tensors[name] *= factors * (flips if flipped else 1)
    save_file(tensors, path, metadata={"format": "1"})
    write_digests(tmp_path / "model")
    start, model = load("de-fr"), load(tmp_path / "model")
    assert start.classifier is not None
    texts = [
        f"{one} {other}"
        for one in ["der", "die", "das", "ein", "rot", "Haus"]
        for other in ["und", "am", "zu"]
    ]
    carried = started(start, model, start.classifier.settings, (texts, texts))
    own = load_classifier(start.folder)
    assert isinstance(carried, WordClassifier) and isinstance(own, WordClassifier)
    weights = (each.network.sentence.weight for each in (carried, own))
    assert torch.equal(*weights) == kept


def assert_uniform(values: Tensor, bound: float) -> None:
    """Within the bound, near it, with the variance bound² / 3."""
    assert bound * 0.99 < values.abs().max().item() <= bound
    assert values.var().item() == pytest.approx(bound**2 / 3, rel=0.1)


def test_embeddings_and_matrices_start_within_their_bounds() -> None:
    table, again = nn.Embedding(200, 20), nn.Embedding(200, 20)
    start_small(table, 1), start_small(again, 1)
    assert_uniform(table.weight, 0.01)
    assert table.weight.requires_grad and table.weight.grad_fn is None
    assert again.weight.equal(table.weight)
    for gates in (1, 3, 4):
        matrix = nn.Parameter(torch.zeros(gates * 60, 40))
        start_matrix_(matrix, torch.Generator().manual_seed(1), gates)
        assert_uniform(matrix, math.sqrt(6 / (60 + 40)))


@pytest.mark.parametrize(("kind", "gates"), [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)])
def test_recurrent_layers_start_gate_by_gate(kind: type[nn.RNNBase], gates: int) -> None:
    layer = kind(30, 50, bidirectional=True)  # type: ignore[call-arg, arg-type]
    start_small(layer, 1)
    named = dict(layer.named_parameters())
    assert len(named["weight_ih_l0"]) == gates * 50
    assert_uniform(named["weight_ih_l0"], math.sqrt(6 / 80))
    assert_uniform(named["weight_hh_l0_reverse"], math.sqrt(6 / 100))
    assert all(not values.any() for name, values in named.items() if name.startswith("bias"))
