"""Averages of pieces in the form of other libraries: the same vectors, by these libraries."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file

from bitextfilter.commands import embed, models
from bitextfilter.encoders import export as exporting
from bitextfilter.encoders.registry import ENCODERS, load_encoder
from bitextfilter.encoders.sentence_module import SentenceModule
from bitextfilter.errors import ModelError
from bitextfilter.models.folders import writing_folder
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.text.tokenizer_file import save_tokenizer
from bitextfilter.text.trigrams import TrigramSettings

pytest.importorskip("tokenizers")
pytest.importorskip("onnxruntime")

ENGLISH = [
    "The cat sleeps on the sofa, and the dog sleeps, too.",
    "We are going to the cinema tomorrow; shall we take the bus?",
    "It isn't cheap: 13.50 euros (per person) \u2013 \u201cno reduction\u201d.",
] * 9
GERMAN = [
    "Die Katze schläft auf dem Sofa, und der Hund schläft auch.",
    "Wir gehen morgen ins Kino; nehmen wir den Bus?",
    "Es ist nicht billig: 13,50 Euro (pro Person) \u2013 \u201ekeine Ermäßigung\u201c.",
] * 9
ODD = [
    *("", " ", "\u200b", "\u2581\u2581", "<unk> \u2581\u2581unknown", "a\u00a0b\u2028c\td\x00e"),
    *("ΟΔΟΣ ΣΑΣ'Σ ΑΣ\u0301. Σ", "İstanbul I\u0307 ıI", "Ångström A\u030angstro\u0308m", "ﬁ ǅ ẞ ß"),
    *(
        "\u00adsoft\u00adhyphen \ufeffbom",
        "中文 日本語テキスト 한국어",
        "x" * 3000,
        "\U0001f600\u200d\U0001f525",
    ),
    "\u0301\u0308 combining",
]
LINES = [*ODD, *ENGLISH[:3], *GERMAN[:3]]


def saved(
    folder: Path,
    architecture: str = "weighted",
    kind: str = "unigram",
    normalisation: Normalisation = Normalisation(apart=True),  # noqa: B008
    languages: tuple[str, ...] = ("en", "de"),
    **shape: Any,
) -> Path:
    """Write an untrained model of random weights."""
    texts = (ENGLISH, GERMAN, GERMAN)[: len(languages)]
    segmentation = SegmenterSettings(kind, vocabulary_size=140, merges=50)
    processor = TextProcessor.learn(texts, languages, normalisation, segmentation)
    if "trigram" in architecture:
        processor.learn_trigrams(texts, TrigramSettings(size=50))
    values = ENCODERS.settings(architecture, {"embedding": 12, **shape})
    torch.manual_seed(1)
    network = ENCODERS.build(architecture, values, processor.sizes())
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter))
    with writing_folder(folder) as draft:
        ENCODERS.save(draft, (architecture, values), network, processor)
    return folder


def call(*words: object, code: int = 0) -> Result:
    result = CliRunner().invoke(models.main, ["export", *map(str, words)])
    assert result.exit_code == code, result.output
    return result


SHAPES: list[dict[str, Any]] = [
    {},
    {"architecture": "averaging", "kind": "none"},
    {"architecture": "word,weighted", "normalisation": Normalisation(lowercase=False)},
    {"architecture": "word+weighted", "languages": ("en", "de", "fr")},
]


@pytest.mark.gate(2)
@pytest.mark.parametrize("shape", SHAPES)
def test_vectors_are_the_same_in_other_libraries(shape: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SentenceTransformer

    model = saved(tmp_path / "model", **shape)
    ours = load_encoder(model, languages=("en", "de"))
    wanted = ours.encode(LINES, "de")
    blank = np.array([not text for text in ours.processor.normalise(LINES, "de")])
    assert blank.sum() == 3
    for form in exporting.FORMATS:
        folder = tmp_path / form
        done = call(model, "--to", form, "-o", folder)
        assert "2000 checked, 0 differing" in done.stderr and done.stdout == ""
        theirs = load_encoder(folder, languages=("en", "de")).encode(LINES, "de")
        np.testing.assert_allclose(theirs[~blank], wanted[~blank], atol=1e-5)
        expected = 0 if form == "sentence-transformers" else wanted[blank]
        np.testing.assert_allclose(
            theirs[blank], np.broadcast_to(expected, (3, ours.dim)), atol=1e-6
        )
        named = json.loads((folder / "bitextfilter.json").read_text())["languages"]
        assert tuple(named) == shape.get("languages", ("en", "de"))
    library = SentenceTransformer(str(tmp_path / "sentence-transformers"), device="cpu")
    found = library.encode(LINES)
    np.testing.assert_allclose(found[~blank], wanted[~blank], atol=1e-5)


def test_onnxruntime_reads_the_network(tmp_path: Path) -> None:
    import onnxruntime
    from tokenizers import Tokenizer

    model = saved(tmp_path / "model")
    call(model, "--to", "onnx", "-o", tmp_path / "new")
    tokenizer = Tokenizer.from_file(str(tmp_path / "new" / "tokenizer.json"))
    tokenizer.enable_padding()
    read = tokenizer.encode_batch(LINES)
    session = onnxruntime.InferenceSession(str(tmp_path / "new" / "model.onnx"))
    given_ = {
        "input_ids": np.array([each.ids for each in read]),
        "attention_mask": np.array([each.attention_mask for each in read]),
    }
    (found,) = session.run(["sentence_embedding"], given_)
    np.testing.assert_allclose(found, load_encoder(model).encode(LINES, "en"), atol=1e-5)


def test_a_folder_for_each_language(tmp_path: Path) -> None:
    model = saved(tmp_path / "model", "weighted", tables="separate", composition="separate")
    done = call(model, "--to", "onnx", "-o", tmp_path / "new", code=78)
    assert "give --language en or de" in done.stderr and not (tmp_path / "new").exists()
    ours = load_encoder(model)
    for language in ("en", "de"):
        folder = tmp_path / language
        words = ("--to", "sentence-transformers", "--language", language)
        call(model, *words, "-o", folder)
        assert not (folder / "bitextfilter.json").exists()
        found = load_encoder(folder, languages=("en", "de")).encode(ENGLISH, language)
        np.testing.assert_allclose(found, ours.encode(ENGLISH, language), atol=1e-5)
    tables = [load_file(tmp_path / one / "model.safetensors") for one in ("en", "de")]
    assert not np.array_equal(tables[0]["embedding.weight"], tables[1]["embedding.weight"])


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from tokenizers import Tokenizer

    path = tmp_path_factory.mktemp("tokens")
    made = []
    for number, normalisation in enumerate((Normalisation(apart=True), Normalisation(False))):
        folder = saved(path / str(number), normalisation=normalisation)
        processor = load_encoder(folder).processor
        ids = save_tokenizer(processor, path / "tokenizer.json")
        made.append((processor, Tokenizer.from_file(str(path / "tokenizer.json")), ids))
    return made


LETTERS = "".join(sorted(set("".join([*ENGLISH, *ODD]))))


@given(st.text(LETTERS, max_size=30) | st.text(max_size=30))
def test_tokens_are_the_same(tokens: Any, text: str) -> None:
    """Of equally likely segmentations, those of one piece in another order may be taken."""
    for processor, tokenizer, ids in tokens:
        (wanted,) = processor.ids([text], "en")
        found = ids[tokenizer.encode(text, add_special_tokens=False).ids]
        assert sorted(found) == sorted(wanted) or (not len(found) and wanted.tolist() == [1])


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"architecture": "word,trigram"}, "it averages trigrams, which overlap"),
        ({"architecture": "word,lstm"}, "it has a recurrent part"),
        ({"architecture": "autoencoder", "hidden": 6}, "it has a recurrent part"),
        ({"kind": "bpe"}, "its segmentation 'bpe' has no like"),
        ({"normalisation": Normalisation(tokenise=True)}, "by sacremoses has no like"),
    ],
)
def test_what_cannot_be_expressed(shape: dict[str, Any], message: str, tmp_path: Path) -> None:
    model = saved(tmp_path / "model", **shape)
    done = call(model, "--to", "sentence-transformers", "-o", tmp_path / "new", code=78)
    assert "cannot be exported: " in done.stderr and message in done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "new").exists()


def test_other_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, words in (("en-de", "trigrams"), ("en-de-autoencoder", "two encoders")):
        assert words in call(name, "--to", "onnx", "-o", tmp_path / "new", code=78).stderr
    model = saved(tmp_path / "model")
    words = (model, "--to", "onnx", "-o")
    assert "not 'fr'" in call(*words, tmp_path / "new", "--language", "fr", code=78).stderr
    call(*words, tmp_path / "new")
    assert "of another library" in call(*words, tmp_path / "new", code=74).stderr
    again = call(tmp_path / "new", "--to", "onnx", "-o", tmp_path / "more", code=65)
    assert "of another library" in again.stderr
    monkeypatch.setitem(exporting._SAVE, "onnx", lambda folder, vectors, ids: exporting.save_onnx(
        folder, vectors * 1.001, ids))  # fmt: skip
    assert "have other vectors" in call(*words, tmp_path / "more", code=65).stderr


@pytest.mark.parametrize(
    "shape", [{"architecture": "word,trigram"}, {"architecture": "autoencoder", "hidden": 6}]
)
def test_any_model_is_a_module(shape: dict[str, Any], tmp_path: Path) -> None:
    """sentence-transformers reads it, writes it and reads it again: the same vectors."""
    package = pytest.importorskip("sentence_transformers")
    model = saved(tmp_path / "model", **shape)
    wanted = "name the language of the text, en or de"
    assert wanted in call(model, "--to", "module", "-o", tmp_path / "new", code=78).stderr
    call(model, "--to", "module", "--language", "de", "-o", tmp_path / "new")
    with pytest.raises(ValueError, match="trust_remote_code"):
        package.SentenceTransformer(str(tmp_path / "new"), device="cpu")
    vectors = load_encoder(model).encode(LINES, "de")
    for name in ("new", "again"):
        read = package.SentenceTransformer(
            str(tmp_path / name), device="cpu", trust_remote_code=True
        )
        found = read.encode(LINES, batch_size=5, show_progress_bar=False)
        np.testing.assert_array_equal(found, vectors)
        prompted = read.encode(LINES, prompt="Also, ", show_progress_bar=False)
        after = load_encoder(model).encode([f"Also, {line}" for line in LINES], "de")
        np.testing.assert_array_equal(prompted, after)
        if name == "new":
            read.save(str(tmp_path / "again"), create_model_card=False)


def test_a_damaged_module(tmp_path: Path) -> None:
    """Its files are checked by their digests, or as JSON where they have none."""
    call(saved(tmp_path / "m"), "--to", "module", "--language", "de", "-o", tmp_path / "new")
    SentenceModule.load(str(tmp_path / "new"))
    (tmp_path / "new" / "language.json").write_text('{"language": 1')
    with pytest.raises(ModelError, match=r"language\.json"):
        SentenceModule.load(str(tmp_path / "new"))
    (tmp_path / "new" / "digests.json").unlink()
    with pytest.raises(ModelError, match="unreadable"):
        SentenceModule.load(str(tmp_path / "new"))


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = saved(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "onnx", None)
    done = call(model, "--to", "onnx", "-o", tmp_path / "new", code=69)
    assert "pip install 'bitextfilter[export]'" in done.stderr


def test_an_exported_folder_is_a_model(tmp_path: Path) -> None:
    call(saved(tmp_path / "model"), "--to", "onnx", "-o", tmp_path / "new")
    line = ["--language", "en", "-o", str(tmp_path / "en.npy")]
    for name in ("model", "new"):
        words = [*line, "--model", str(tmp_path / name)]
        result = CliRunner().invoke(embed.main, words, input="\n".join(ENGLISH[:3]).encode())
        assert result.exit_code == 0, result.output
        if name == "model":
            wanted = np.load(tmp_path / "en.npy")
    np.testing.assert_allclose(np.load(tmp_path / "en.npy"), wanted, atol=1e-5)
