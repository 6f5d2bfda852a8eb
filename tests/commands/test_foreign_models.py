"""Commands with model folders of other libraries, and a classifier trained for one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import foreign
import numpy as np
import pytest
from console import invoke
from toys import sentences

from bitextfilter.scoring.model import load

pytest.importorskip("tokenizers")

SOURCES, TARGETS = sentences(300, 3)
DATA = "".join(f"{s}\t{t}\n" for s, t in zip(SOURCES, TARGETS, strict=True)).encode()
QUICK = ("--set", "hidden=32", "--set", "training.epochs=4", "--threads", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return foreign.static_folder(tmp_path_factory.mktemp("models") / "static")


@pytest.fixture(scope="module")
def trained(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a classifier of sentence vectors, around the folder."""
    made = tmp_path_factory.mktemp("trained")
    (made / "clean.tsv").write_bytes(DATA)
    words = (made / "clean.tsv", "--negatives", "repaired", "-o", made / "model", *QUICK)
    written("train-classifier", "--model", f"{folder}:aa,ba", *words)
    return made / "model"


def written(name: str, *words: object, data: bytes = DATA) -> str:
    return invoke(f"bitext-{name}", *words, data=data).stdout


def told(code: int, name: str, *words: object) -> str:
    return invoke(f"bitext-{name}", *words, data=DATA, code=code).stderr


def test_scores_and_pairs(folder: Path, tmp_path: Path) -> None:
    model = load(f"{folder}:aa,ba")
    cosines = model.score(SOURCES, TARGETS, "cosine")["cosine"]
    words = ("--model", folder, "--languages", "aa,ba")
    found = written("score", *words, "--score-only").split()
    assert found == [f"{cosine:.4f}" for cosine in cosines]
    for name, side in (("aa", SOURCES), ("ba", TARGETS)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in side))
    pairs = written("align", *words, tmp_path / "aa", tmp_path / "ba", "--min-score", "none")
    wanted = set(zip(SOURCES, TARGETS, strict=True))
    mined = {tuple(line.split("\t")[:2]) for line in pairs.splitlines()}
    assert len(mined & wanted) > 0.9 * len(wanted)


def test_vectors(folder: Path, tmp_path: Path) -> None:
    data = "".join(f"{line}\n" for line in SOURCES).encode()
    words = ("--model", folder, "--language", "aa", "-o", tmp_path / "v.npy")
    written("embed", *words, data=data)
    assert (np.load(tmp_path / "v.npy") == load(f"{folder}:aa,ba").encode(SOURCES, "aa")).all()


def test_languages_are_asked_for(folder: Path, tmp_path: Path) -> None:
    for name, words in (("score", ()), ("align", ("-", folder / "modules.json"))):
        said = told(78, name, "--model", folder, *words)
        assert "--languages en,de" in said and said.count("\n") == 1
    many = foreign.name_languages(foreign.static_folder(tmp_path / "many"), "aa", "ba", "ce")
    assert "model of 3 languages" in told(78, "score", "--model", many)
    assert written("score", "--model", many, "--languages", "ce,ba").count("\n") == 300


def test_models_show_and_verify(folder: Path, trained: Path) -> None:
    facts = json.loads(written("models", "show", "--json", folder))
    assert (facts["architecture"], facts["languages"]) == ("static", [])
    assert facts["digest"] == load(f"{folder}:aa,ba").digest
    assert facts["measures"] == ["cosine", "euclidean"]
    written("models", "verify", folder)
    written("models", "verify", trained)
    facts = json.loads(written("models", "show", "--json", trained))
    assert facts["languages"] == ["aa", "ba"]
    assert facts["measures"][-2:] == ["mlp", "probability"] and "csls" in facts["measures"]
    assert facts["default_measure"] == "probability"
    assert facts["neighbours"] == [300, 300]


def test_trained_classifier(folder: Path, trained: Path) -> None:
    before = (folder / "model.safetensors").read_bytes()
    assert (trained / "encoder" / "model.safetensors").read_bytes() == before
    model, (sources, targets) = load(trained), sentences(100, 5)
    assert (model.encode(sources, "aa") == load(f"{folder}:aa,ba").encode(sources, "aa")).all()
    right = model.score(sources, targets, "mlp")["mlp"]
    wrong = model.score(sources, targets[1:] + targets[:1], "mlp")["mlp"]
    assert np.mean(right[:, None] > wrong) > 0.9
    names = ["csls", "mlp", "probability"]
    together = model.score(sources, targets, names)
    alone = [model.score([s], [t], names) for s, t in zip(sources, targets, strict=True)]
    for name, values in together.items():
        assert values.tolist() == [each[name][0] for each in alone]


def test_a_classifier_of_words(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "clean.tsv").write_bytes(DATA)
    words = (tmp_path / "clean.tsv", "--negatives", "repaired", "--kind", "words")
    quick = ("--set", "training.epochs=2", "--set", "width=8", *QUICK[:2])
    output = ("-o", tmp_path / "model")
    written("train-classifier", "--model", f"{folder}:aa,ba", *words, *quick, *output)
    scores = load(tmp_path / "model").score(SOURCES[:20], TARGETS[:20], ["mlp", "probability"])
    assert np.isfinite([scores["mlp"], scores["probability"]]).all()


def test_a_foreign_folder_stays_as_it_is(folder: Path, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "clean.tsv").write_bytes(DATA)
    words = ("--model", f"{folder}:aa,ba", tmp_path / "clean.tsv", "--negatives", "repaired")
    assert "give -o" in told(78, "train-classifier", *words, "--in-place")
    assert "a model of another library" in told(74, "train-classifier", *words, "-o", folder)
    new = ("-o", tmp_path / "new")
    assert "of another library" in told(78, "models", "join", folder, trained, *new)
    prune = ("prune", trained, "--languages", "aa,ba", *new)
    assert "of another library" in told(65, "models", *prune)
    (tmp_path / "results.json").write_text("{}")
    words = ("recommend", folder, tmp_path / "results.json", "-o", tmp_path / "new")
    assert told(65, "models", *words).count("\n") == 1


def test_damaged_inside(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "model")
    line = ("score", "--model", tmp_path / "model")
    (tmp_path / "model" / "encoder" / "tokenizer.json").write_text("{}")
    assert "damaged: it has changed since it was saved" in told(65, *line)
    shutil.rmtree(tmp_path / "model" / "encoder")
    assert "missing from the model folder" in told(66, *line)
    assert "no files of a static encoder" in told(65, *line, "--no-verify")
