"""Models by name and folder, whole, incomplete and damaged."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from toys import as_older, toy_model

import bitextfilter
from bitextfilter.errors import ModelError, NotFoundError, SettingsError
from bitextfilter.models import folders
from bitextfilter.models.folders import find_model, model_digest, shipped_models
from bitextfilter.pairs.base import SentenceClassifierSettings
from bitextfilter.pairs.classifier import SentenceClassifier, save_classifier
from bitextfilter.scoring.background import BackgroundSample
from bitextfilter.scoring.model import load


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_model(tmp_path_factory.mktemp("models") / "aa-ba")


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return shutil.copytree(whole, tmp_path / "model")


def test_a_model_knows_what_it_is(whole: Path) -> None:
    model = load(whole)
    assert (model.name, model.folder, model.digest) == (str(whole), whole, model_digest(whole))
    assert model.languages == model.processor.languages == ("aa", "ba")
    assert model.encode(["a1 a2", "a3"], "aa").shape == (2, 32)
    with pytest.raises(SettingsError, match="'ce'"):
        model.encode(["a1"], "ce")


def test_parts_are_optional(tmp_path: Path) -> None:
    model = load(toy_model(tmp_path / "bare", classifier=False, background=False))
    assert (model.classifier, model.background) == (None, None)


def test_names_come_before_folders(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "PRETRAINED", whole.parent)
    (tmp_path / "aa-ba").mkdir()
    monkeypatch.chdir(tmp_path)
    assert shipped_models() == {"aa-ba": whole}
    assert find_model("aa-ba") == whole
    assert find_model("./aa-ba") == Path("aa-ba")
    assert load("aa-ba").name == "aa-ba"
    with pytest.raises(NotFoundError, match=r"en-xx: .*shipped model \(they are: aa-ba\)"):
        load("en-xx")
    with pytest.raises(NotFoundError, match="no model here"):
        load("./aa-ba")


def test_no_shipped_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "PRETRAINED", tmp_path / "nowhere")
    assert shipped_models() == {}
    with pytest.raises(NotFoundError, match="they are: none"):
        load("en-de")


def test_the_package_loads_the_same_model(whole: Path) -> None:
    assert bitextfilter.load(whole).digest == load(whole).digest
    with pytest.raises(AttributeError, match="unload"):
        bitextfilter.unload  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    "name", ["config.json", "encoder.safetensors", "classifier.safetensors", "vocabulary.tsv"]
)
def test_a_missing_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises((NotFoundError, ModelError)):
        load(folder)


@pytest.mark.parametrize(
    "name",
    ["config.json", "encoder.safetensors", "classifier.safetensors", "neighbours.npz"],
)
def test_a_truncated_file(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelError, match=name):
        load(folder)


def test_a_newer_model(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "format": 99}))
    with pytest.raises(ModelError, match="newer"):
        load(folder)


def test_parts_of_another_width(folder: Path) -> None:
    save_classifier(SentenceClassifier(SentenceClassifierSettings(5)), as_older(folder))
    with pytest.raises(
        ModelError, match="classifier takes vectors of width 5, the encoder's are 32"
    ):
        load(folder)
    save_classifier(SentenceClassifier(SentenceClassifierSettings(32)), folder)
    rows = np.eye(5, dtype=np.float32)
    BackgroundSample(rows, rows).save(folder / "neighbours.npz")
    with pytest.raises(ModelError, match="width 5, the model's are 32"):
        load(folder)


def test_only_the_architecture_of_the_model_is_imported() -> None:
    others = ("encoders.recurrent_encoders", "models.recurrent", "pairs.classifier")
    code = (
        "import sys; from bitextfilter.scoring.model import load;"
        "load('en-de').score(['one'], ['eins']);"
        f"print([name for name in {others} if 'bitextfilter.' + name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert found.stdout == "[]\n"


EXAMPLES = Path(__file__).parents[2] / "examples" / "pairs.en-de.tsv"


@pytest.mark.gate(2)
@pytest.mark.parametrize("name", ["en-de", "en-de-autoencoder", "en-de@64", "multi", "multi@64"])
def test_scores_are_the_same_with_the_sides_exchanged(name: str) -> None:
    rows = [line.split("\t") for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    sources, targets = [row[0] for row in rows], [row[1] for row in rows[3:] + rows[:3]]
    one, other = load(f"{name}:en,de"), load(f"{name}:de,en")
    assert other.languages == ("de", "en")
    assert (one.exchanged, other.exchanged) == (False, True)
    measures = ["cosine", "euclidean", "csls", "ratio", "distance"]
    measures += ["mlp"] if one.classifier else []
    for side in (0, 1):
        sample = np.concatenate([sources[:20], targets[:20]]).tolist()
        assert np.array_equal(one.encode_side(sample, side), other.encode_side(sample, 1 - side))
    found, back = one.score(sources, targets, measures), other.score(targets, sources, measures)
    for measure in measures:
        assert np.array_equal(found[measure], back[measure]), measure


def test_a_model_of_two_refuses_other_languages(whole: Path) -> None:
    assert load(f"{whole}:ba,aa").languages == ("ba", "aa")
    for languages in ("aa,ce", "aa,aa"):
        with pytest.raises(SettingsError, match="is a model of aa-ba, not of"):
            load(f"{whole}:{languages}")
