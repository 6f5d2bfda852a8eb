"""Folders of other libraries as models: vectors as these libraries make them, damage told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import foreign
import numpy as np
import pytest
from safetensors.numpy import save_file
from toys import sentences, toy_model

from bitextfilter.errors import BitextError, DeviceError, ModelError, NotFoundError, SettingsError
from bitextfilter.models.foreign import foreign_files
from bitextfilter.scoring.model import load

pytest.importorskip("tokenizers")

SOURCES, TARGETS = sentences(200, 7, lengths=(1, 12))
ODD = ["", " ", "A1 A2", "zz a3", "zz", "a4 " * 3000, "\u4e2d\u6587 a1"]
TEXTS = [*SOURCES[:40], *ODD, *TARGETS[:40]]


def naive_mean(text: str, unknown: bool) -> np.ndarray:
    table, numbers = foreign.word_vectors(), dict(zip(foreign.TOKENS, range(200), strict=False))
    ids = [numbers.get(word, 1) for word in text.lower().split()]
    rows = [table[number] for number in ids if unknown or number != 1]
    return np.mean(rows, axis=0) if rows else np.zeros(foreign.DIM, np.float32)


@pytest.mark.parametrize("inside", ["", "0_StaticEmbedding"])
def test_static_vectors(tmp_path: Path, inside: str) -> None:
    folder = foreign.static_folder(tmp_path / "static", inside=inside)
    model = load(f"{folder}:aa,ba")
    found = model.encode(TEXTS, "aa")
    wanted = np.array([naive_mean(text, unknown=True) for text in TEXTS])
    assert np.abs(found - wanted).max() < 1e-5
    assert (model.encoder.dim, model.languages) == (foreign.DIM, ("aa", "ba"))
    assert model.default_measure == "cosine"


def test_model2vec(tmp_path: Path) -> None:
    model = load(f"{foreign.model2vec_folder(tmp_path / 'm2v')}:aa,ba")
    wanted = np.array([naive_mean(text, unknown=False) for text in TEXTS])
    wanted /= np.maximum(np.linalg.norm(wanted, axis=1, keepdims=True), 1e-9)
    assert np.abs(model.encode(TEXTS, "ba") - wanted).max() < 1e-5


def test_model2vec_of_fewer_vectors(tmp_path: Path) -> None:
    """Vocabulary quantisation: a vector and a weight for each token, by a mapping."""
    generator = np.random.default_rng(4)
    size = len(foreign.TOKENS)
    tensors = {
        "embeddings": generator.integers(-100, 100, (10, foreign.DIM)).astype(np.int8),
        "mapping": generator.integers(0, 10, size).astype(np.int64),
        "weights": generator.random(size).astype(np.float32),
    }
    model = load(f"{foreign.model2vec_folder(tmp_path / 'm2v', **tensors)}:aa,ba")
    ids = [foreign.TOKENS.index(word) for word in SOURCES[0].split()]
    rows = tensors["embeddings"].astype(np.float32)[tensors["mapping"][ids]]
    mean = (rows * tensors["weights"][ids, None]).mean(axis=0)
    (found,) = model.encode(SOURCES[:1], "aa")
    assert np.abs(found - mean / np.linalg.norm(mean)).max() < 1e-5


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("make", [foreign.static_folder, foreign.model2vec_folder])
def test_a_vector_depends_on_its_sentence_alone(
    tmp_path: Path, make: Callable[[Path], Path], threads: int
) -> None:
    model = load(f"{make(tmp_path / 'model')}:aa,ba", threads=threads)
    many = [text for _ in range(20) for text in TEXTS]
    found = model.encode(many, "aa")
    alone = np.array([model.encode([text], "aa")[0] for text in TEXTS])
    assert (found == np.tile(alone, (20, 1))).all()
    assert (model.encode(many[::-1], "ba")[::-1] == found).all()


@pytest.mark.parametrize("normalise", [False, True])
def test_as_sentence_transformers_makes_them(tmp_path: Path, normalise: bool) -> None:
    library = pytest.importorskip("sentence_transformers")
    folder = foreign.static_folder(tmp_path / "static", normalise=normalise)
    texts = [text for text in TEXTS if text.strip()]
    found = load(f"{folder}:aa,ba").encode(texts, "aa")
    theirs = library.SentenceTransformer(str(folder), device="cpu")
    theirs[0].tokenizer.no_truncation()  # which we never do to an average
    wanted = theirs.encode(texts)
    assert np.abs(found - wanted).max() <= (1e-6 if normalise else 0)


def test_as_model2vec_makes_them(tmp_path: Path) -> None:
    library = pytest.importorskip("model2vec")
    folder = foreign.model2vec_folder(tmp_path / "m2v")
    texts = [text for text in TEXTS if len(text) < 1000]
    wanted = library.StaticModel.from_pretrained(folder).encode(texts)
    assert np.abs(load(f"{folder}:aa,ba").encode(texts, "aa") - wanted).max() < 1e-6


@pytest.mark.parametrize("types", [False, True])
def test_onnx_means(tmp_path: Path, types: bool) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    folder = foreign.onnx_folder(tmp_path / "onnx", types=types)
    model = load(f"{folder}:aa,ba")
    texts = [text for text in TEXTS if len(text) < 1000]
    table, found = foreign.word_vectors(), model.encode(texts, "aa")
    for text, row in zip(texts, found, strict=True):
        words = len(text.split())
        total = naive_mean(text, unknown=True) * words + table[2] + table[3]
        assert np.abs(row - total / (words + 2)).max() < 1e-5
    alone = np.array([model.encode([text], "aa")[0] for text in texts])
    assert np.abs(found - alone).max() < 1e-5


def test_onnx_sentences_and_limits(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    folder = foreign.onnx_folder(tmp_path / "onnx", "sentence_embedding")
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 5}')
    model, table = load(f"{folder}:aa,ba"), foreign.word_vectors()
    words = [foreign.TOKENS.index(word) for word in ("[CLS]", "a1", "a2", "a3", "[SEP]")]
    (found,) = model.encode(["a1 a2 a3 a4 a5 a6"], "aa")
    assert np.abs(found - table[words].sum(axis=0)).max() < 1e-5
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(SettingsError, match="pooling by pooling_mode_max_tokens"):
        load(f"{folder}:aa,ba")


def test_onnx_first_token(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    folder = foreign.onnx_folder(tmp_path / "onnx")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    found = load(f"{folder}:aa,ba").encode(["a1", "b2 b3"], "aa")
    assert (found == foreign.word_vectors()[2]).all()


def test_transformers(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = pytest.importorskip("sentence_transformers")
    folder = foreign.transformer_folder(tmp_path / "bert")
    capfd.readouterr()
    asked: list[object] = []
    monkeypatch.setattr("socket.getaddrinfo", lambda *words, **_: asked.append(words))
    monkeypatch.setattr("socket.socket.connect", lambda *words: asked.append(words))
    model = load(f"{folder}:aa,ba")
    assert asked == []
    texts = [text for text in TEXTS if len(text) < 1000]
    found = model.encode(texts, "aa")
    assert capfd.readouterr() == ("", "")
    assert np.abs(found - library.SentenceTransformer(str(folder)).encode(texts)).max() < 1e-5
    alone = np.array([model.encode([text], "aa")[0] for text in texts])
    assert np.abs(found - alone).max() < 1e-5
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"pytorch_model\.bin: pickled"):
        load(f"{folder}:aa,ba")


def test_languages(tmp_path: Path) -> None:
    folder = foreign.static_folder(tmp_path / "static")
    with pytest.raises(SettingsError, match="that names no languages"):
        load(folder)
    foreign.name_languages(folder, "aa", "ba")
    assert load(folder).languages == ("aa", "ba")
    assert load(f"{folder}:ba,aa").languages == ("ba", "aa")
    with pytest.raises(SettingsError, match="of aa-ba, not"):
        load(f"{folder}:aa,ce")
    with pytest.raises(SettingsError, match="languages are aa and ba, not 'ce'"):
        load(folder).encode(["a1"], "ce")
    foreign.name_languages(folder, "aa", "ba", "ce")
    assert load(f"{folder}:ce,aa").languages == ("ce", "aa")
    with pytest.raises(SettingsError, match="for aa, ba, ce"):
        load(folder)


@pytest.mark.parametrize(
    "content",
    ["[]", '{"languages": "aa"}', '{"languages": ["aa"]}', '{"languages": ["a", "a"]}', "{"],
)
def test_unusable_languages(tmp_path: Path, content: str) -> None:
    folder = foreign.static_folder(tmp_path / "static")
    (folder / "bitextfilter.json").write_text(content)
    with pytest.raises(ModelError, match=r"bitextfilter\.json: "):
        load(f"{folder}:aa,ba")


def test_kinds_are_told_by_files(tmp_path: Path) -> None:
    static = foreign.static_folder(tmp_path / "static")
    found = foreign_files(static)
    assert found and (found.kind, found.unit, found.without_unknown) == ("static", False, False)
    vectors = foreign_files(foreign.model2vec_folder(tmp_path / "m2v"))
    assert vectors and (vectors.kind, vectors.unit, vectors.without_unknown) == (
        "static",
        True,
        True,
    )
    assert foreign_files(toy_model(tmp_path / "own")) is None
    assert foreign_files(tmp_path) is None
    modules = json.loads((static / "modules.json").read_text())
    modules.append({"path": "", "type": "sentence_transformers.models.Dense"})
    (static / "modules.json").write_text(json.dumps(modules))
    other = foreign_files(static)
    assert other and other.kind == "sentence-transformers"


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def _tensors(**tensors: np.ndarray) -> Callable[[Path], None]:
    return lambda path: save_file(tensors, path)


def _text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(content) and None


MODULES = "modules.json"
ROWS = foreign.word_vectors()


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("model.safetensors", _cut, "damaged tensors"),
        ("model.safetensors", Path.unlink, "missing"),
        ("model.safetensors", _tensors(other=ROWS), "no table"),
        ("model.safetensors", _tensors(embeddings=ROWS[0]), "no table"),
        ("model.safetensors", _tensors(embeddings=ROWS[:20]), "20 vectors, and the tokeniser has"),
        ("model.safetensors", _tensors(embeddings=ROWS * np.float32(np.inf)), "not finite"),
        (
            "model.safetensors",
            _tensors(embeddings=ROWS, mapping=np.full(len(ROWS), len(ROWS))),
            "mapping does not fit",
        ),
        ("model.safetensors", _tensors(embeddings=ROWS, weights=ROWS[:, 0][:9]), "weights do not"),
        ("tokenizer.json", _cut, "unusable tokeniser"),
        ("tokenizer.json", _text("{}"), "unusable tokeniser"),
        ("tokenizer.json", _text("[" * 100_000), "unusable tokeniser"),
        ("tokenizer.json", _text('{"model": {"type": "WordLevel"}}'), "unusable tokeniser"),
        ("tokenizer.json", Path.unlink, "missing|no tokenizer"),
        (MODULES, _cut, "unreadable"),
        (MODULES, _text("{}"), "no list of modules"),
        (MODULES, _text("[1]"), "no list of modules"),
        (MODULES, _text('[{"type": "os.system"}]'), "code of others, which never runs"),
        (
            MODULES,
            _text('[{"type": "sentence_transformers.models.StaticEmbedding", "path": "../.."}]'),
            "leads out of the model",
        ),
    ],
)
def test_damage(tmp_path: Path, name: str, damage: Callable[[Path], None], message: str) -> None:
    folder = foreign.static_folder(tmp_path / "static")
    damage(folder / name)
    with pytest.raises((ModelError, NotFoundError), match=message) as caught:
        load(f"{folder}:aa,ba")
    assert "\n" not in str(caught.value) and str(folder) in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"nonsense" * 100])
def test_damaged_network(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    folder = foreign.onnx_folder(tmp_path / "onnx")
    (folder / "model.onnx").write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.onnx: unusable network") as caught:
        load(f"{folder}:aa,ba")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("package", "make", "extra"),
    [
        ("tokenizers", foreign.static_folder, "static"),
        ("onnxruntime", foreign.onnx_folder, "onnx"),
        ("sentence_transformers", foreign.static_folder, "sentence-transformers"),
    ],
)
def test_missing_packages(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    make: Callable[[Path], Path],
    extra: str,
) -> None:
    if package == "onnxruntime":
        pytest.importorskip("onnx")
    folder = make(tmp_path / "model")
    if package == "sentence_transformers":
        text = (folder / MODULES).read_text().replace("StaticEmbedding", "Transformer")
        (folder / MODULES).write_text(text)
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(DeviceError, match=rf"pip install 'bitextfilter\[{extra}\]'"):
        load(f"{folder}:aa,ba")


def test_devices(tmp_path: Path) -> None:
    folder = foreign.static_folder(tmp_path / "static")
    assert load(f"{folder}:aa,ba", "auto").encoder.encode(["a"], "aa").shape[0] == 1
    with pytest.raises(DeviceError, match="--device cpu"):
        load(f"{folder}:aa,ba", "cuda:0")


def test_errors_are_for_users(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(BitextError, match="not a model configuration"):
        load(f"{tmp_path}:aa,ba")
