"""The compiled network of words: torch's numbers, the same in any company; its library and code."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from compiler import build
from numpy.typing import NDArray

from bitextfilter.io.compiled import NO_COMPILED
from bitextfilter.pairs import compiled_words, word_classifier
from bitextfilter.pairs.base import WordClassifierSettings, word_tensors
from bitextfilter.pairs.compiled_words import CompiledNetwork, SideRows, WordRows, lanes
from bitextfilter.pairs.scoring import network_weights
from bitextfilter.pairs.word_classifier import TorchWords, WordClassifier
from bitextfilter.pairs.word_network import WordSentences, padded
from bitextfilter.text.features import spellings
from bitextfilter.text.ragged import Ragged

SMALL = WordClassifierSettings(
    10, width=8, meaning=6, word_kinds=3, hidden=12, buckets=500, spacing=True, bigrams=4000
)
WIDE = WordClassifierSettings(
    33, width=20, meaning=35, word_kinds=18, hidden=50, buckets=9, minor_error_quality=0.1
)
SETTINGS = [
    SMALL,
    WIDE,
    replace(SMALL, spacing=False, width=1, meaning=1, word_kinds=1, hidden=1, dim=1),
    replace(WIDE, bigrams=77, multilingual=True, width=64, word_kinds=8),
]
LANES = [4, 8, 16]


def classifier_of(settings: WordClassifierSettings) -> WordClassifier:
    torch.manual_seed(3)
    classifier = WordClassifier(settings)
    with torch.no_grad():
        for parameter in classifier.parameters():
            parameter.copy_(torch.randn(parameter.shape) * min(0.3, 1 / parameter.shape[-1] ** 0.5))
    if classifier.bigrams is not None:
        classifier.bigrams.copy_(torch.randint(0, 256, classifier.bigrams.shape))
    return classifier.eval()


def windows_of(classifier: WordClassifier, longest: int = 1000) -> list[SideRows]:
    """Sentences of one to many words, some unknown, repeated or of figures, in 90 pairs."""
    chance = np.random.default_rng(4)
    lengths = [[1, 1, longest, 2, 150, 33], [1, 17, 40, longest // 5, 3, 16]]
    words = ["", *(f"{word}{n if n % 3 else ''}" for n in range(40) for word in ("a", "Ü.", "b"))]
    spelling, found = spellings(words), []
    for side in range(2):
        sizes = np.array([*lengths[side], *chance.integers(1, 30, 40)])
        flat = chance.integers(0, len(words), int(sizes.sum())).astype(np.int32)
        spaced = chance.integers(0, 2, len(flat)).astype(np.float32)
        vectors = torch.from_numpy(chance.standard_normal((len(words), classifier.settings.dim)))
        features = torch.from_numpy(classifier.features(side, spelling))
        with torch.no_grad():
            table = classifier.table(vectors.float(), features).half()
        table[0] = 0
        places = np.concatenate([np.arange(6), chance.integers(0, len(sizes), 84)])
        sentences = chance.standard_normal((len(sizes), classifier.settings.dim))
        rows = WordRows(Ragged(flat, sizes), spaced, spelling)
        found.append(SideRows(places, table.numpy(), rows, sentences.astype(np.float32)))
    return found


def compiled_logits(
    classifier: WordClassifier,
    windows: list[SideRows],
    pairs: NDArray[np.int64],
    lanes: int,
    threads: int = 1,
) -> NDArray[np.float32]:
    sides = [replace(window, rows=window.rows[pairs]) for window in windows]
    return compiled_network(classifier, lanes).logits(sides, threads)


def compiled_network(classifier: WordClassifier, lanes: int) -> CompiledNetwork:
    state = {name: tensor.numpy() for name, tensor in classifier.state_dict().items()}
    return CompiledNetwork(classifier.settings, network_weights(state), lanes)


def exact_logits(classifier: WordClassifier, windows: list[SideRows]) -> NDArray[np.float32]:
    """Torch's, in float64."""

    def twice(words: WordRows, rows: Any, size: int, vectors: Any) -> WordSentences:
        side = padded(words, rows, size, vectors)
        names = "lengths", "repeats", "spaced", "vectors"
        return replace(side, **{name: getattr(side, name).double() for name in names})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_classifier, "padded", twice)
        patch.setattr(torch.Tensor, "float", torch.Tensor.double)
        return TorchWords(copy.deepcopy(classifier).double()).logits(windows)


def compiles(classifier: WordClassifier) -> bool:
    return isinstance(classifier.scoring()._network, CompiledNetwork)


def widths() -> list[int]:
    """The numbers of lanes that this processor has."""
    if not lanes():
        pytest.skip("the network was not compiled")
    return [width for width in LANES if width <= lanes()]


@pytest.mark.gate(2)
@pytest.mark.parametrize("settings", SETTINGS)
def test_the_logits_are_torchs(settings: WordClassifierSettings) -> None:
    available = widths()
    classifier = classifier_of(settings)
    windows = windows_of(classifier)
    expected = exact_logits(classifier, windows)
    assert expected.shape == (90, settings.logits) and np.ptp(expected) > 0.01
    for width in available:
        found = compiled_logits(classifier, windows, np.arange(90), width)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_table_of_words_is_torchs(settings: WordClassifierSettings) -> None:
    available = widths()
    classifier, chance = classifier_of(settings), np.random.default_rng(6)
    shapes = (300, settings.dim), (300, settings.word_features)
    vectors, features = (chance.random(shape, dtype=np.float32) for shape in shapes)
    vectors[7] = 0
    expected = TorchWords(classifier).table(vectors, features)
    for width in available:
        network = compiled_network(classifier, width)
        found = network.table(vectors, features)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        for some in (slice(3, 4), slice(5, 50), slice(0, 0)):
            assert np.array_equal(network.table(vectors[some], features[some]), found[some])


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_tensors_have_the_networks_shapes(settings: WordClassifierSettings) -> None:
    state = WordClassifier(settings).state_dict()
    assert word_tensors(settings) == {name: tuple(each.shape) for name, each in state.items()}


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_pair_has_the_same_logits_in_any_company(settings: WordClassifierSettings) -> None:
    available = widths()
    classifier = classifier_of(settings)
    windows = windows_of(classifier, 300)
    chance = np.random.default_rng(5)
    for width in available:
        whole = compiled_logits(classifier, windows, np.arange(90), width)
        for pairs in [chance.integers(0, 90, 700), np.arange(0), *np.arange(90)[:20, None]]:
            found = compiled_logits(classifier, windows, pairs, width, threads=2)
            assert np.array_equal(found, whole[pairs])


def test_what_is_not_a_number_stays_so() -> None:
    """An encoder of another library may return such vectors; a kernel's place comes of them."""
    available = widths()
    classifier = classifier_of(SMALL)
    windows = windows_of(classifier, 20)
    windows[0].table[5] = float("nan")
    expected = np.isnan(TorchWords(classifier).logits(windows))
    for width in available:
        found = np.isnan(compiled_logits(classifier, windows, np.arange(90), width))
        assert expected.any() and not expected.all() and np.array_equal(found, expected)


def test_without_a_library_torch_computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = classifier_of(SMALL)
    assert compiles(classifier) == (lanes() > 0)
    (tmp_path / "text.so").write_text("no library")
    for name in ("none.so", "text.so"):
        monkeypatch.setattr(compiled_words.LIBRARY, "path", tmp_path / name)
        assert lanes() == 0 and not compiles(classifier)


def test_the_environment_turns_the_library_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NO_COMPILED, "1")
    assert lanes() == 0 and not compiles(classifier_of(SMALL))


def test_a_library_of_another_layout_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old.c"
    functions = ("network_layout", "network_lanes", "logits", "table")
    old.write_text("".join(f"long word_{name}(void) {{ return 16; }}\n" for name in functions))
    monkeypatch.setattr(
        compiled_words.LIBRARY, "path", build(tmp_path / "old.so", old, "-shared", "-fPIC")
    )
    assert lanes() == 0
