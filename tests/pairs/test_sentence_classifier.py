"""The classifier: its formula, its files, one score of two logits in any company."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
import torch

from bitextfilter.arrays import Vectors
from bitextfilter.errors import ModelError, NotFoundError, SettingsError
from bitextfilter.models.checkpoint import load_tensors, save_tensors
from bitextfilter.models.folders import read_config, write_config
from bitextfilter.pairs.base import (
    PAIR_FEATURES,
    SentenceClassifierSettings,
    WordClassifierSettings,
    expected_quality,
    sigmoid,
)
from bitextfilter.pairs.classifier import (
    SentenceClassifier,
    build_classifier,
    load_classifier,
    save_classifier,
)

DIM = 24


def make(
    features: str, hidden: int = 32, dim: int = DIM, layers: int = 2, quality: float = 0.0
) -> SentenceClassifier:
    """A classifier with random weights, large enough for scores of all sizes."""
    torch.manual_seed(0)
    classifier = SentenceClassifier(
        SentenceClassifierSettings(
            dim, features, hidden, layers=layers, minor_error_quality=quality
        )
    )
    with torch.no_grad():
        for parameter in classifier.parameters():
            parameter.mul_(3.0)
    return classifier.eval()


def vectors(rows: int, seed: int, dim: int = DIM) -> Vectors:
    return np.random.default_rng(seed).standard_normal((rows, dim)).astype(np.float32)


def naive_probability(classifier: SentenceClassifier, x: Vectors, y: Vectors) -> float:
    """One pair, one number at a time, in the words of the definition."""
    a, b = (
        [float(v) * math.sqrt(DIM) / math.sqrt(sum(float(w) ** 2 for w in row)) for v in row]
        for row in (x, y)
    )
    hidden = a + b
    if classifier.settings.features == "products":
        hidden += [abs(v - w) for v, w in zip(a, b, strict=True)]
        hidden += [v * w for v, w in zip(a, b, strict=True)]
    for number, layer in enumerate(classifier.layers):
        weight, bias = (parameter.tolist() for parameter in layer.parameters())
        hidden = [
            sum(w * h for w, h in zip(row, hidden, strict=True)) + shift
            for row, shift in zip(weight, bias, strict=True)
        ]
        if number < classifier.settings.layers:
            hidden = [max(h, 0.0) for h in hidden]
    quality = classifier.settings.minor_error_quality
    probability = 1 / (1 + math.exp(-hidden[0]))
    if quality:
        probability *= quality + (1 - quality) / (1 + math.exp(-hidden[1]))
    odds = probability / (1 - probability)
    return 1 / (1 + odds ** (-1 / float(classifier.temperature)))


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("features", PAIR_FEATURES)
@pytest.mark.parametrize("quality", [0.0, 0.2])
def test_agrees_with_the_definition(features: str, layers: int, quality: float) -> None:
    classifier = make(features, layers=layers, quality=quality)
    assert len(classifier.layers) == layers + 1
    classifier.temperature.fill_(1.7)
    a, b = vectors(12, 1) * 5, vectors(12, 2)
    expected = [naive_probability(classifier, x, y) for x, y in zip(a, b, strict=True)]
    values = classifier.probabilities(a, b)
    np.testing.assert_allclose(values, expected, atol=2e-6)
    assert values.dtype == np.float32
    assert np.ptp(values) > 0.2


@pytest.mark.parametrize("features", PAIR_FEATURES)
def test_training_and_scoring_compute_the_same(features: str) -> None:
    classifier = make(features)
    a, b = vectors(50, 3), vectors(50, 4)
    logits = classifier(torch.from_numpy(a), torch.from_numpy(b))
    assert logits.shape == (50, 1)
    expected = torch.sigmoid(logits[:, 0]).detach().numpy()
    np.testing.assert_allclose(classifier.probabilities(a, b), expected, atol=1e-5)


@pytest.mark.parametrize("features", PAIR_FEATURES)
def test_a_pair_does_not_depend_on_its_company(features: str) -> None:
    classifier = make(features, 64, 128)
    a, b = vectors(1100, 5, 128), vectors(1100, 6, 128)
    whole = classifier.probabilities(a, b)
    generator = np.random.default_rng(7)
    for size in (1, 2, 7, 512, 1100):
        rows = generator.permutation(1100)[:size]
        for threads in (1, 2):
            assert np.array_equal(classifier.probabilities(a[rows], b[rows], threads), whole[rows])
    twice = np.repeat(np.arange(20), 5)
    assert np.array_equal(classifier.probabilities(a[twice], b[twice]), whole[twice])


def test_it_can_learn_to_tell_pairs_from_others() -> None:
    classifier = make("products")
    a = vectors(400, 8)
    b = a + 0.3 * vectors(400, 9)
    labels = torch.arange(400) % 2
    b[labels.numpy() == 0] = vectors(200, 10)
    optimiser = torch.optim.Adam(classifier.parameters(), 0.003)
    for _ in range(60):
        optimiser.zero_grad()
        logits = classifier(torch.from_numpy(a), torch.from_numpy(b))[:, 0]
        torch.nn.functional.binary_cross_entropy_with_logits(logits, labels.float()).backward()
        optimiser.step()
    assert ((classifier.probabilities(a, b) > 0.5) == labels.numpy()).mean() > 0.95


def test_extremes() -> None:
    classifier = make("concatenation")
    classifier.get_parameter("layers.2.bias").data.fill_(1e6)
    assert classifier.probabilities(vectors(1, 1), vectors(1, 2))[0] == 1.0
    classifier.get_parameter("layers.2.bias").data.fill_(-1e6)
    assert classifier.probabilities(vectors(1, 1), vectors(1, 2))[0] == pytest.approx(0.0)
    assert classifier.probabilities(vectors(0, 1), vectors(0, 2)).shape == (0,)
    zeros = np.zeros((1, DIM), np.float32)
    assert np.isfinite(classifier.probabilities(zeros, zeros)).all()


def test_shapes_are_checked() -> None:
    classifier = make("products")
    with pytest.raises(ValueError, match="expected two"):
        classifier.probabilities(vectors(2, 1), vectors(3, 1))
    with pytest.raises(ValueError, match="expected two"):
        classifier.probabilities(vectors(2, 1, 5), vectors(2, 1, 5))


@pytest.mark.parametrize("features", PAIR_FEATURES)
def test_files_round_trip(features: str, tmp_path: Path) -> None:
    write_config(tmp_path, {"languages": ["en", "de"]})
    assert load_classifier(tmp_path) is None
    classifier = make(features)
    classifier.temperature.fill_(2.5)
    save_classifier(classifier, tmp_path)
    again = load_classifier(tmp_path)
    assert again is not None
    a, b = vectors(30, 1), vectors(30, 2)
    assert np.array_equal(again.probabilities(a, b), classifier.probabilities(a, b))
    assert read_config(tmp_path)["languages"] == ["en", "de"]
    save_classifier(classifier, tmp_path, bits=8)
    small = load_classifier(tmp_path)
    assert small is not None
    np.testing.assert_allclose(small.probabilities(a, b), classifier.probabilities(a, b), atol=0.03)


def test_damaged_files(tmp_path: Path) -> None:
    write_config(tmp_path, {})
    save_classifier(make("products"), tmp_path)
    file = tmp_path / "classifier.safetensors"
    tensors = load_tensors(file)
    save_tensors(file, {**tensors, "temperature": torch.zeros(())})
    with pytest.raises(ModelError, match="temperature"):
        load_classifier(tmp_path)
    save_tensors(file, {**tensors, "layers.0.bias": torch.zeros(3)})
    with pytest.raises(ModelError, match=r"layers\.0\.bias"):
        load_classifier(tmp_path)
    file.write_bytes(b"nothing")
    with pytest.raises(ModelError, match="damaged"):
        load_classifier(tmp_path)
    file.unlink()
    with pytest.raises(NotFoundError, match="missing"):
        load_classifier(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    for section in ({"dim": 3, "features": "odd"}, {"dim": 0}, {"width": 3}, [1], {"dim": "3"}):
        write_config(tmp_path, {**config, "classifier": section})
        with pytest.raises(ModelError, match="classifier is unusable"):
            load_classifier(tmp_path)


def test_settings_are_checked() -> None:
    with pytest.raises(SettingsError, match="concatenation, products"):
        SentenceClassifierSettings(3, "sums")
    with pytest.raises(SettingsError, match="hidden"):
        SentenceClassifierSettings(3, hidden=0)
    for layers in (0, 17):
        with pytest.raises(SettingsError, match="layers"):
            SentenceClassifierSettings(3, layers=layers)


def test_a_folder_from_before_there_was_a_choice_of_layers(tmp_path: Path) -> None:
    write_config(tmp_path, {})
    save_classifier(make("products"), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["classifier"]["layers"]
    write_config(tmp_path, config)
    loaded = load_classifier(tmp_path)
    assert loaded is not None
    assert loaded.settings == make("products").settings
    assert len(loaded.layers) == 3


def test_a_folder_with_a_former_name_of_a_setting(tmp_path: Path) -> None:
    write_config(tmp_path, {})
    save_classifier(
        SentenceClassifier(SentenceClassifierSettings(3, minor_error_quality=0.2)), tmp_path
    )
    config = json.loads((tmp_path / "config.json").read_text())
    config["classifier"]["worth"] = config["classifier"].pop("minor_error_quality")
    write_config(tmp_path, config)
    loaded = load_classifier(tmp_path)
    assert loaded is not None and loaded.settings.minor_error_quality == 0.2


def test_the_only_answer_is_the_logit() -> None:
    """Of the same type: what it is divided by rounds as it always did."""
    logits = np.array([[-2.5], [0], [1000]], dtype=np.float32)
    logits = expected_quality(logits, 0.0)
    assert (logits.tolist(), logits.dtype) == ([-2.5, 0, 1000], np.float32)


@pytest.mark.parametrize("quality", [0.0, 0.05, 0.4])
def test_the_logit_of_two_is_that_of_the_expected_quality(quality: float) -> None:
    """A translation with a small mistake has that quality, one without 1, anything else nothing."""
    grid = [-40.0, -3.0, -0.25, 0.0, 0.5, 9.0, 40.0, 250.0]
    logits = np.array([(c, f) for c in grid for f in grid])
    with localcontext() as context:
        context.prec = 400
        for found, (c, f) in zip(expected_quality(logits, quality), logits.tolist(), strict=True):
            right, whole = (1 / (1 + (-Decimal(logit)).exp()) for logit in (c, f))
            score = right * whole + right * (1 - whole) * Decimal(quality)
            assert found == pytest.approx(float((score / (1 - score)).ln()), rel=1e-9, abs=1e-12)


def test_more_of_either_is_never_less_whatever_the_size() -> None:
    far = np.array([-1e30, -400, -30, 0, 30, 400, 1e30], dtype=np.float32)
    for other in far:
        for columns in ((far, np.full(7, other)), (np.full(7, other), far)):
            found = expected_quality(np.stack(columns, axis=1), 0.05)
            assert found.dtype == np.float64
            assert np.isfinite(found).all() and (np.diff(found) >= 0).all()


@pytest.mark.parametrize("quality", [0.0, 0.01, 0.4])
@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_the_sum_of_both_logits_counts_besides(quality: float, weight: float) -> None:
    shape = SentenceClassifierSettings(3, hidden=4, minor_error_quality=quality, sum_weight=weight)
    grid = [-30.0, -3.0, -0.25, 0.0, 0.5, 9.0, 30.0]
    logits = np.array([(c, f) for c in grid for f in grid])
    classifier = build_classifier(shape)
    found = classifier.joined(logits)
    np.testing.assert_allclose(
        found,
        (expected_quality(logits, quality) + weight * logits.sum(axis=1)) / (1 + 2 * weight),
        rtol=1e-12,
    )
    numbers = torch.from_numpy(logits).requires_grad_()
    if quality:
        same = classifier.joined_with_gradients(numbers)
        np.testing.assert_allclose(same.detach().numpy(), found, rtol=1e-9, atol=1e-12)
        (slopes,) = torch.autograd.grad(same.sum(), numbers)
        assert (slopes.numpy() > -1e-9).all()
    assert classifier.joined(logits[:, :1]).tolist() == logits[:, 0].tolist()


@pytest.mark.parametrize("quality", [-0.1, -1e-9, 0.5, 0.6, float("nan"), "0.1", None, True])
def test_a_quality_that_cannot_be(quality: object) -> None:
    with pytest.raises(SettingsError, match="minor_error_quality"):
        WordClassifierSettings(3, minor_error_quality=quality)  # type: ignore[arg-type]


@pytest.mark.parametrize("quality", [0, 0.0, 1e-9, 0.3, 0.4999])
def test_a_quality_that_can_be(quality: float) -> None:
    assert WordClassifierSettings(3, minor_error_quality=quality).logits == 1 + (quality > 0)


def test_sigmoid() -> None:
    logits = np.array([-1e30, -1000, -80, -3, -0.5, 0, 0.25, 2, 15, 1000, 1e30], dtype=np.float32)
    found = sigmoid(logits)
    assert found.dtype == np.float32
    with localcontext() as context:
        context.prec = 400
        exact = [1 / (1 + (-Decimal(max(min(x, 2000), -2000))).exp()) for x in logits.tolist()]
    np.testing.assert_allclose(found, [float(x) for x in exact], rtol=1e-7, atol=0)
    assert sigmoid(logits[:0]).shape == (0,)
    assert sigmoid(np.array([-np.inf, np.inf])).tolist() == [0.0, 1.0]
