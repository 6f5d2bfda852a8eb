"""What every encoder promises, for every architecture: one test a promise."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from gpu import DEVICE

from bitextfilter.arrays import Vectors
from bitextfilter.encoders import registry
from bitextfilter.encoders.base import LONG, LONGEST, Encoder, Padded
from bitextfilter.encoders.expressions import PARTS
from bitextfilter.encoders.registry import ENCODERS, views
from bitextfilter.errors import DeviceError, ModelError, NotFoundError, SettingsError
from bitextfilter.models import recurrent
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import TRIGRAMS
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.text.trigrams import TrigramSettings

load_encoder = partial(registry.load_encoder, device=DEVICE)

SHAPES: dict[str, tuple[str, dict[str, object]]] = {
    "averaging": ("averaging", {"embedding": 48}),
    "lstm": ("autoencoder", {"embedding": 24, "hidden": 40}),
    "as shipped": ("autoencoder", {"embedding": 512, "hidden": 256, "average": True}),
    "gru": ("autoencoder", {"embedding": 24, "hidden": 18, "cell": "gru"}),
    "pivot": ("pivot", {"embedding": 24, "hidden": 20}),
    "deep": ("autoencoder", {"embedding": 24, "hidden": 24, "layers": 2}),
    "average": ("autoencoder", {"embedding": 48, "hidden": 24, "average": True}),
    **{
        name: ("autoencoder", {"embedding": 24, "hidden": 12, "pooling": name})
        for name in ("mean", "last", "attention")
    },
    "one for both": (
        "autoencoder",
        {"embedding": 24, "hidden": 12, "composition": "shared", "pooling": "attention"},
    ),
    "standardised": ("autoencoder", {"embedding": 24, "hidden": 12, "standardise": True}),
    **{name: (name, {"embedding": 24}) for name in PARTS},
    "side by side": ("word,trigram", {"embedding": 40}),
    "added": ("word+trigram+lstm", {"embedding": 24}),
    "both": ("word+gran,trigram,blstm", {"embedding": 20}),
    "scaled": ("word,max-blstm", {"embedding": 24, "gain": 0.3, "composition": "separate"}),
    "standardised part": ("word,max-blstm,lstm", {"embedding": 24, "standardise": True}),
    "of odd width": ("gran,gran-gru", {"embedding": 9}),
    "one each": (
        "gran-gru,trigram",
        {"embedding": 24, "tables": "separate", "composition": "separate"},
    ),
}
WORDS = [f"w{i}" for i in range(300)]


def sentences(count: int, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    lengths = np.minimum(random.geometric(0.08, count), 90)
    return [" ".join(random.choice(WORDS, length)) for length in lengths]


def cosines(one: Vectors, other: Vectors) -> Vectors:
    """Of the rows of two arrays."""
    norms = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    products: Vectors = (one * other).sum(1) / norms
    return products


Maker = Callable[..., Encoder]


@pytest.fixture(scope="module", params=SHAPES, ids=list(SHAPES))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model, saved."""
    name, values = SHAPES[request.param]
    torch.manual_seed(3)
    processor = TextProcessor.learn(
        (WORDS, WORDS), ("aa", "ba"), Normalisation(), SegmenterSettings("none")
    )
    if TRIGRAMS in views(name):
        processor.learn_trigrams((WORDS, WORDS), TrigramSettings())
    settings = ENCODERS.settings(name, values)
    network = ENCODERS.build(name, settings, processor.sizes())
    for key, parameter in network.named_parameters():
        if "log_weight" in key or "query" in key:
            torch.nn.init.normal_(parameter)
    path: Path = tmp_path_factory.mktemp("model")
    ENCODERS.save(path, (name, settings), network, processor)
    return path


def test_vectors_are_float32_one_a_sentence(folder: Path) -> None:
    encoder = load_encoder(folder)
    vectors = encoder.encode(sentences(5), "aa")
    assert vectors.dtype == np.float32
    assert vectors.shape == (5, encoder.dim)
    assert np.isfinite(vectors).all()
    assert encoder.encode([], "aa").shape == (0, encoder.dim)


@pytest.mark.gate("averaging", "lstm", "deep", "one for both", "gran", "both", "one each")
def test_a_vector_does_not_depend_on_its_company(folder: Path) -> None:
    encoder, both = load_encoder(folder), load_encoder(folder, threads=2)
    texts = sentences(400)
    vectors = encoder.encode(texts, "ba")
    np.testing.assert_array_equal(vectors, both.encode(texts, "ba"))
    order = np.random.default_rng(1).permutation(400)
    shuffled = encoder.encode([texts[i] for i in order], "ba")
    np.testing.assert_array_equal(vectors[order], shuffled)
    for i in range(0, 400, 41):
        np.testing.assert_array_equal(vectors[i], encoder.encode([texts[i]], "ba")[0])
    for start in range(0, 70, 14):
        part = encoder.encode(texts[start : start + 7] * 3, "ba")
        np.testing.assert_array_equal(np.tile(vectors[start : start + 7], (3, 1)), part)


@pytest.mark.gate(13)
@pytest.mark.parametrize("length", [LONG, LONG + 1, LONGEST, LONGEST + 1])
def test_nor_does_a_long_sentence(folder: Path, length: int) -> None:
    """Up to LONGEST tokens it shares its block with others, beyond it stands alone."""
    encoder, random = load_encoder(folder), np.random.default_rng(length)
    texts = [" ".join(random.choice(WORDS, length)) for _ in range(3)]
    vectors = encoder.encode([*texts, "w1"], "aa")
    for i in (0, 2):
        np.testing.assert_array_equal(vectors[i], encoder.encode([texts[i]], "aa")[0])


def on_a_padded_batch(folder: Path, texts: list[str], language: str) -> Vectors:
    """What the network as it is trained makes of texts, in float32."""
    model = ENCODERS.load(folder)
    network, processor = model.network, model.processor
    inputs = {}
    for view in network.views:
        ids, lengths = (
            processor.read(texts, language, network.views)[view].ids().padded(np.arange(len(texts)))
        )
        inputs[view] = Padded(torch.from_numpy(ids), torch.from_numpy(lengths))
    with torch.inference_mode():
        vectors: Vectors = network.eval()(inputs, ("aa", "ba").index(language)).numpy()
    return vectors


@pytest.mark.gate(20)
@pytest.mark.parametrize("language", ["aa", "ba"])
def test_encoding_agrees_with_the_network_on_a_padded_batch(
    folder: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recurrent, "product_type", lambda _: torch.float32)
    texts = [*sentences(60, seed=2), "w1 other w2", "", "ö"]
    vectors = load_encoder(folder).encode(texts, language)
    expected = on_a_padded_batch(folder, texts, language)
    np.testing.assert_allclose(vectors, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.gate("lstm", "gran", "one each")
def test_products_in_bfloat16_keep_the_cosine(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As encoders make them where the processor has instructions for it."""
    monkeypatch.setattr(recurrent, "product_type", lambda _: torch.bfloat16)
    texts = sentences(60, seed=2)
    vectors = load_encoder(folder).encode(texts, "ba")
    np.testing.assert_array_equal(vectors[7], load_encoder(folder).encode([texts[7]], "ba")[0])
    expected = on_a_padded_batch(folder, texts, "ba")
    assert cosines(vectors, expected).min() > 0.9999


@pytest.mark.gate(6)
def test_a_long_sentence_is_encoded_whole(folder: Path) -> None:
    start = " ".join(["w1"] * (LONGEST + 9))
    vectors = load_encoder(folder).encode([start, " ".join([start, *WORDS])], "aa")
    assert not np.allclose(vectors[0], vectors[1], atol=1e-3)


IN_PARTS = {
    name: "max" if name in ("deep", "max-blstm") else "mean"
    for name in ("deep", "max-blstm", "mean", "last", "attention", "blstm", "gran", "gran-gru")
}


@pytest.mark.gate("deep", "mean", "attention", "gran-gru")
@pytest.mark.parametrize(("folder", "join"), IN_PARTS.items(), indirect=["folder"], ids=IN_PARTS)
def test_a_recurrent_network_reads_a_long_sentence_in_parts(folder: Path, join: str) -> None:
    """Each as a sentence of its own: the maximum, or the mean weighted by their lengths."""
    words = list(np.random.default_rng(1).choice(WORDS, 2 * LONGEST + 300))
    cuts = [words[:LONGEST], words[LONGEST : 2 * LONGEST], words[2 * LONGEST :]]
    encoder = load_encoder(folder)
    [whole] = encoder.encode([" ".join(words)], "ba")
    parts = encoder.encode([" ".join(cut) for cut in cuts], "ba")
    mean = np.average(parts, axis=0, weights=[len(cut) for cut in cuts])
    expected = parts.max(axis=0) if join == "max" else mean
    np.testing.assert_allclose(whole, expected, atol=1e-3)
    assert cosines(whole[None], expected[None]).min() > 0.9999


@pytest.mark.gate(13)
def test_saving_and_loading_keeps_every_bit(folder: Path, tmp_path: Path) -> None:
    model = ENCODERS.load(folder)
    kind = model.architecture, model.settings
    ENCODERS.save(tmp_path, kind, model.network, model.processor)
    texts = sentences(20)
    np.testing.assert_array_equal(
        load_encoder(folder).encode(texts, "aa"), load_encoder(tmp_path).encode(texts, "aa")
    )


@pytest.mark.gate(9)
def test_int8_stays_close(folder: Path, tmp_path: Path) -> None:
    model = ENCODERS.load(folder)
    kind = model.architecture, model.settings
    ENCODERS.save(tmp_path, kind, model.network, model.processor, bits=8)
    one, other = (load_encoder(path).encode(sentences(30), "aa") for path in (folder, tmp_path))
    assert cosines(one, other).min() > 0.999


def test_a_language_that_the_model_lacks_is_refused(folder: Path) -> None:
    with pytest.raises(SettingsError, match="aa and ba"):
        load_encoder(folder).encode(["w1"], "ce")


def test_a_device_that_is_not_here_is_refused(folder: Path) -> None:
    with pytest.raises(DeviceError, match="cuda:7"):
        registry.load_encoder(folder, device="cuda:7")


@pytest.mark.gate(10)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('"architecture": "other"', "other"),
        ('"depth": 3, "architecture": "averaging"', "depth"),
        ('"embedding": "wide", "architecture": "averaging"', "whole number"),
        ('"embedding": -48, "architecture": "averaging"', "at least 1"),
        ('"hidden": 99, "architecture": "autoencoder"', "tensor"),
    ],
)
def test_a_wrong_configuration_is_a_damaged_model(
    folder: Path, tmp_path: Path, change: str, message: str
) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    config = (tmp_path / "config.json").read_text().split('"encoder": {')[0]
    (tmp_path / "config.json").write_text(config + '"encoder": {' + change + "}}")
    with pytest.raises(ModelError, match=message):
        load_encoder(tmp_path)


def test_a_missing_file_is_named(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "encoder.safetensors").unlink()
    with pytest.raises(NotFoundError, match=r"encoder\.safetensors"):
        load_encoder(tmp_path)


@pytest.mark.parametrize("wrong", ["word,", "words", "word+word", "lstm,trigram+lstm", "", "+"])
def test_an_unknown_architecture_is_told_what_there_is(wrong: str) -> None:
    with pytest.raises(SettingsError) as error:
        ENCODERS.settings(wrong, {})
    assert "\n" not in str(error.value)
    assert all(part in str(error.value) for part in (*PARTS, *ENCODERS, "word+"))


def test_a_model_of_one_language(tmp_path: Path) -> None:
    processor = TextProcessor.learn(
        (WORDS, WORDS), ("aa", "aa"), Normalisation(), SegmenterSettings("none")
    )
    settings = ENCODERS.settings("lstm", {"embedding": 8})
    network = ENCODERS.build("lstm", settings, processor.sizes())
    ENCODERS.save(tmp_path, ("lstm", settings), network, processor)
    encoder = load_encoder(tmp_path)
    assert encoder.languages == ("aa", "aa")
    assert encoder.encode(["w1 w2"], "aa").shape == (1, 8)
    with pytest.raises(SettingsError, match="languages are aa, not"):
        encoder.encode(["w1"], "ba")
