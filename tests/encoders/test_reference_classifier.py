"""The classifier of references against its definition, in any company, saved and read back."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from bitextfilter.encoders.base import LONG, LONGEST, Padded
from bitextfilter.encoders.reference_classifier import (
    READERS,
    ReferenceClassifier,
    ReferenceNetwork,
    ReferenceSettings,
    load_reference_classifier,
    save_reference_classifier,
)
from bitextfilter.errors import ModelError, NotFoundError, SettingsError
from bitextfilter.models.device import one_torch_thread
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.segment import SegmenterSettings

WORDS = [f"w{i}" for i in range(60)]


def sentences(count: int, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    lengths = np.minimum(random.geometric(0.08, count), 70)
    return [" ".join(random.choice(WORDS, length)) for length in lengths]


def made(architecture: str) -> tuple[TextProcessor, ReferenceNetwork]:
    text = TextProcessor.learn(
        (WORDS, WORDS), ("und", "und"), Normalisation(apart=True), SegmenterSettings("none")
    )
    torch.manual_seed(5)
    network = ReferenceNetwork(ReferenceSettings(architecture, 24), text.sizes())
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(2.0)
    return text, network


@pytest.fixture(scope="module", params=list(READERS))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("model")
    text, network = made(request.param)
    save_reference_classifier(path, network, text)
    return path


def squashed(number: float) -> float:
    return 1 / (1 + math.exp(-number))


def naive(network: ReferenceNetwork, ids: list[int]) -> float:
    """One token and one number at a time, in float64."""
    weights = {name: value.double().numpy() for name, value in network.state_dict().items()}
    vectors = [weights["embedding.weight"][number] for number in ids]
    width = len(vectors[0])
    read = sum(vectors) / len(vectors)
    if network.settings.architecture == "lstm":
        hidden, cell = np.zeros(width), np.zeros(width)
        for vector in vectors:
            gates = (
                weights["reader.cells.weight_ih_l0"] @ vector
                + weights["reader.cells.bias_ih_l0"]
                + weights["reader.cells.weight_hh_l0"] @ hidden
                + weights["reader.cells.bias_hh_l0"]
            )
            for place in range(width):
                i, f, g = (gates[gate * width + place] for gate in range(3))
                cell[place] = squashed(f) * cell[place] + squashed(i) * math.tanh(g)
            hidden = np.array(
                [squashed(gates[3 * width + p]) * math.tanh(cell[p]) for p in range(width)]
            )
        read = hidden
    logit = float(read @ weights["output.weight"][0] + weights["output.bias"][0])
    return math.exp(logit) / (math.exp(logit) + math.exp(0.0))  # a softmax over two classes


def test_probabilities_are_the_definition(folder: Path) -> None:
    kind = json.loads((folder / "config.json").read_text())["reference_classifier"]["architecture"]
    text, network = made(kind)
    texts = sentences(20)
    found = load_reference_classifier(folder).probabilities(texts)
    ids = [row.tolist() for row in text.ids(texts, "und")]
    expected = [naive(network, row) for row in ids]
    np.testing.assert_allclose(found, expected, atol=0.02)  # the LSTM may compute in bfloat16
    assert found.dtype == np.float64 and found.std() > 0.03
    padded, lengths = Ragged.of(text.ids(texts, "und")).padded(np.arange(20))
    with one_torch_thread(), torch.inference_mode():
        rows = Padded(torch.from_numpy(padded), torch.from_numpy(lengths))
        logits = network({"pieces": rows})[:, 0].tolist()
    np.testing.assert_allclose([squashed(logit) for logit in logits], expected, atol=1e-5)


def test_a_probability_does_not_depend_on_its_company(folder: Path) -> None:
    one, both = load_reference_classifier(folder), load_reference_classifier(folder, threads=2)
    random = np.random.default_rng(2)
    long = [" ".join(random.choice(WORDS, n)) for n in (LONG, LONG + 1, LONGEST + 1)]
    texts = [*sentences(300), *long]
    found = one.probabilities(texts)
    np.testing.assert_array_equal(found, both.probabilities(texts))
    order = random.permutation(len(texts))
    np.testing.assert_array_equal(found[order], one.probabilities([texts[i] for i in order]))
    for place in [*range(0, 300, 37), 300, 301, 302]:
        assert found[place] == one.probabilities([texts[place]])[0]
    assert one.probabilities([]).shape == (0,)


def test_a_saved_model_is_read_back(folder: Path) -> None:
    kind = json.loads((folder / "config.json").read_text())["reference_classifier"]["architecture"]
    text, network = made(kind)
    texts = sentences(50, seed=3)
    before = ReferenceClassifier(text, network).probabilities(texts)
    np.testing.assert_array_equal(load_reference_classifier(folder).probabilities(texts), before)


def test_what_cannot_be_loaded(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        load_reference_classifier(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    for section, message in (({"embedding": 0}, "unusable"), (None, "no reference classifier")):
        changed = {**config, "reference_classifier": section}
        if section is None:
            del changed["reference_classifier"]
        (tmp_path / "config.json").write_text(json.dumps(changed))
        with pytest.raises(ModelError, match=message):
            load_reference_classifier(tmp_path)
    with pytest.raises(SettingsError):
        ReferenceSettings("transformer")
