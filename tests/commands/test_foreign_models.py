"""Commands with model folders of other libraries, and a classifier trained for one."""

from __future__ import annotations

import json
from pathlib import Path

import foreign
import numpy as np
import pytest
from click.testing import CliRunner, Result
from toys import sentences

from bitextfilter.commands import align, embed, models, score, train_classifier
from bitextfilter.scoring.model import load

pytest.importorskip("tokenizers")

SOURCES, TARGETS = sentences(300, 3)
DATA = "".join(f"{s}\t{t}\n" for s, t in zip(SOURCES, TARGETS, strict=True)).encode()
QUICK = ("--set", "hidden=32", "--set", "training.epochs=6", "--threads", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return foreign.static_folder(tmp_path_factory.mktemp("models") / "static")


@pytest.fixture(scope="module")
def trained(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a classifier of sentence vectors, around the folder."""
    made = tmp_path_factory.mktemp("trained")
    (made / "clean.tsv").write_bytes(DATA)
    words = (made / "clean.tsv", "--negatives", "repaired", "-o", made / "model", *QUICK)
    written(train_classifier.main, "--model", f"{folder}:aa,ba", *words)
    return made / "model"


def call(main: object, *words: object, data: bytes = DATA) -> Result:
    return CliRunner().invoke(main, [*map(str, words)], input=data)  # type: ignore[arg-type]


def written(main: object, *words: object, data: bytes = DATA) -> str:
    done = call(main, *words, data=data)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_scores_and_pairs(folder: Path, tmp_path: Path) -> None:
    model = load(f"{folder}:aa,ba")
    cosines = model.score(SOURCES, TARGETS, "cosine")["cosine"]
    words = ("--model", folder, "--languages", "aa,ba")
    found = written(score.main, *words, "--score-only").split()
    assert found == [f"{cosine:.4f}" for cosine in cosines]
    for name, side in (("aa", SOURCES), ("ba", TARGETS)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in side))
    pairs = written(align.main, *words, tmp_path / "aa", tmp_path / "ba", "--min-score", "none")
    wanted = set(zip(SOURCES, TARGETS, strict=True))
    mined = {tuple(line.split("\t")[:2]) for line in pairs.splitlines()}
    assert len(mined & wanted) > 0.9 * len(wanted)


def test_vectors(folder: Path, tmp_path: Path) -> None:
    data = "".join(f"{line}\n" for line in SOURCES).encode()
    words = ("--model", folder, "--language", "aa", "-o", tmp_path / "v.npy")
    written(embed.main, *words, data=data)
    assert (np.load(tmp_path / "v.npy") == load(f"{folder}:aa,ba").encode(SOURCES, "aa")).all()


def test_languages_are_asked_for(folder: Path, tmp_path: Path) -> None:
    for main, words in ((score.main, ()), (align.main, ("-", folder / "modules.json"))):
        done = call(main, "--model", folder, *words)
        assert done.exit_code == 78
        assert "--languages en,de" in done.stderr and done.stderr.count("\n") == 1
    many = foreign.name_languages(foreign.static_folder(tmp_path / "many"), "aa", "ba", "ce")
    done = call(score.main, "--model", many)
    assert done.exit_code == 78 and "model of 3 languages" in done.stderr
    assert written(score.main, "--model", many, "--languages", "ce,ba").count("\n") == 300


def test_models_show_and_verify(folder: Path, trained: Path) -> None:
    facts = json.loads(written(models.main, "show", "--json", folder))
    assert (facts["architecture"], facts["languages"]) == ("static", [])
    assert facts["digest"] == load(f"{folder}:aa,ba").digest
    assert facts["measures"] == ["cosine", "euclidean"]
    written(models.main, "verify", folder)
    written(models.main, "verify", trained)
    facts = json.loads(written(models.main, "show", "--json", trained))
    assert facts["languages"] == ["aa", "ba"]
    assert facts["measures"][-1] == "mlp" and "csls" in facts["measures"]
    assert facts["neighbours"] == [300, 300]


def test_trained_classifier(folder: Path, trained: Path) -> None:
    before = (folder / "model.safetensors").read_bytes()
    assert (trained / "encoder" / "model.safetensors").read_bytes() == before
    model, (sources, targets) = load(trained), sentences(100, 5)
    assert (model.encode(sources, "aa") == load(f"{folder}:aa,ba").encode(sources, "aa")).all()
    right = model.score(sources, targets)["mlp"]
    wrong = model.score(sources, targets[1:] + targets[:1])["mlp"]
    assert np.mean(right[:, None] > wrong) > 0.9
    margins = model.score(sources, targets, ["csls", "mlp"])
    alone = [model.score([s], [t], ["csls", "mlp"]) for s, t in zip(sources, targets, strict=True)]
    for name, values in margins.items():
        assert values.tolist() == [each[name][0] for each in alone]


def test_a_classifier_of_words(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "clean.tsv").write_bytes(DATA)
    words = (tmp_path / "clean.tsv", "--negatives", "repaired", "--kind", "words")
    quick = ("--set", "training.epochs=2", "--set", "width=8", *QUICK[:2])
    output = ("-o", tmp_path / "model")
    written(train_classifier.main, "--model", f"{folder}:aa,ba", *words, *quick, *output)
    assert np.isfinite(load(tmp_path / "model").score(SOURCES[:20], TARGETS[:20])["mlp"]).all()


def test_a_foreign_folder_stays_as_it_is(folder: Path, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "clean.tsv").write_bytes(DATA)
    words = ("--model", f"{folder}:aa,ba", tmp_path / "clean.tsv", "--negatives", "repaired")
    done = call(train_classifier.main, *words, "--in-place")
    assert done.exit_code == 78 and "give -o" in done.stderr
    done = call(train_classifier.main, *words, "-o", folder)
    assert done.exit_code == 74 and "a model of another library" in done.stderr
    done = call(models.main, "join", folder, trained, "-o", tmp_path / "new")
    assert done.exit_code == 78 and "of another library" in done.stderr
    done = call(models.main, "prune", trained, "--languages", "aa,ba", "-o", tmp_path / "new")
    assert done.exit_code == 65 and "of another library" in done.stderr
    (tmp_path / "results.json").write_text("{}")
    done = call(models.main, "recommend", folder, tmp_path / "results.json", "-o", tmp_path / "new")
    assert done.exit_code in (65, 78) and done.stderr.count("\n") == 1


def test_damaged_inside(trained: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(trained, tmp_path / "model")
    (tmp_path / "model" / "encoder" / "tokenizer.json").write_text("{}")
    done = call(score.main, "--model", tmp_path / "model")
    assert done.exit_code == 65 and "damaged: it has changed since it was saved" in done.stderr
    shutil.rmtree(tmp_path / "model" / "encoder")
    done = call(score.main, "--model", tmp_path / "model")
    assert done.exit_code == 66 and "missing from the model folder" in done.stderr
    done = call(score.main, "--model", tmp_path / "model", "--no-verify")
    assert done.exit_code == 65 and "no files of a static encoder" in done.stderr
