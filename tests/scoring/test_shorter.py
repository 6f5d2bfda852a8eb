"""Vectors of fewer numbers: ``multi@128``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from console import command
from toys import DIM, toy_many, toy_model

from bitextfilter.encoders.shorter import ShorterEncoder, principal_directions
from bitextfilter.errors import ModelError, NotFoundError, SettingsError
from bitextfilter.models.folders import named_digest, split_width
from bitextfilter.scoring.background import BACKGROUND
from bitextfilter.scoring.model import load
from bitextfilter.scoring.thresholds import measure_of, recommended_threshold

SENTENCES = [f"a{one} a{other}" for one in range(20) for other in range(18)]


def test_directions_are_the_right_singular_vectors() -> None:
    vectors = np.random.default_rng(1).normal(size=(90, 7)).astype(np.float32)
    vectors *= np.arange(1, 8, dtype=np.float32)
    expected = np.linalg.svd(vectors.astype(np.float64))[2]
    found = principal_directions(vectors)
    np.testing.assert_allclose(np.abs(found.T @ expected.T), np.eye(7), atol=1e-5)
    assert (found.max(axis=0) >= -found.min(axis=0)).all()


def test_all_directions_keep_every_cosine(tmp_path: Path) -> None:
    encoder = load(toy_model(tmp_path / "model")).encoder
    vectors = encoder.encode(SENTENCES, "aa")
    turned = ShorterEncoder(encoder, principal_directions(vectors)).encode(SENTENCES, "aa")
    np.testing.assert_allclose(turned @ turned.T, vectors @ vectors.T, atol=1e-4)


def test_the_first_numbers_are_those_of_a_longer_vector(tmp_path: Path) -> None:
    folder = toy_model(tmp_path / "model")
    two, three = (load(f"{folder}@{width}").encode(SENTENCES, "aa") for width in (2, 3))
    assert two.shape == (len(SENTENCES), 2)
    np.testing.assert_allclose(three[:, :2], two, atol=1e-5)


def test_a_vector_depends_on_its_sentence_alone(tmp_path: Path) -> None:
    model = load(f"{toy_model(tmp_path / 'model')}@3")
    every = model.encode(SENTENCES, "aa")
    for size in (1, 2, 7, 255, 257):
        parts = [SENTENCES[i : i + size] for i in range(0, len(SENTENCES), size)]
        assert (np.concatenate([model.encode(part, "aa") for part in parts]) == every).all()


def test_a_shorter_model_has_its_own_digest_and_no_classifier(tmp_path: Path) -> None:
    folder = toy_model(tmp_path / "model")
    whole, short = load(folder), load(f"{folder}@3")
    assert short.digest == f"{whole.digest}@3" == named_digest(f"{folder}@3")
    assert short.classifier is None
    assert short.default_measure == "cosine" == measure_of(f"{folder}@3", None, None)
    assert short.background is not None
    assert short.background.dim == short.encoder.dim == 3
    assert set(short.score(["a1 a2"], ["b1 b2"], ["cosine", "csls"])) == {"cosine", "csls"}


def test_pairs_of_many_languages_have_the_same_directions(tmp_path: Path) -> None:
    folder = toy_many(tmp_path / "model")
    first, *_, last = load(f"{folder}:aa,ba").processor.known
    one, other = load(f"{folder}@3:aa,{last}"), load(f"{folder}@3:{last},aa")
    assert (one.encode(SENTENCES, first) == other.encode(SENTENCES, first)).all()
    names = {named_digest(f"{folder}@3:aa,ba"), named_digest(f"{folder}@3"), named_digest(folder)}
    assert len(names) == 3


def test_names() -> None:
    assert split_width("multi@128:cs,pl") == ("multi:cs,pl", 128)
    assert split_width("multi@128") == ("multi", 128)
    assert split_width("multi@1234567") == ("multi@1234567", None)
    for name in ("multi", "multi:cs,pl", "multi@0", "multi@x", "multi@-1"):
        assert split_width(name) == (name, None)


def test_a_folder_may_have_such_a_name(tmp_path: Path) -> None:
    folder = toy_model(tmp_path / "model@2")
    assert split_width(folder) == (str(folder), None)
    assert load(folder).encoder.dim == DIM
    assert split_width(f"{folder}:aa,ba") == (f"{folder}:aa,ba", None)


def test_cached_scores_are_of_their_width(tmp_path: Path) -> None:
    folder, cache = toy_model(tmp_path / "model"), ["--cache", str(tmp_path / "cache")]
    rows, found = "a1 a2\tb1 b3\na4\tb4 b5\n", {}
    for again in range(2):
        for name in (str(folder), f"{folder}@3", f"{folder}@5"):
            arguments = ["--model", name, "--similarity", "cosine,csls", "--digits", "9", *cache]
            done = CliRunner().invoke(command("bitext-score"), arguments, input=rows)
            assert done.exit_code == 0, done.stderr
            assert found.setdefault(name, done.stdout) == done.stdout, again
    assert len(set(found.values())) == 3


def test_a_classifier_takes_whole_vectors(tmp_path: Path) -> None:
    folder = toy_model(tmp_path / "model")
    (tmp_path / "pairs.tsv").write_text("a1\tb1\n", encoding="utf-8")
    arguments = [
        "--model",
        f"{folder}@3",
        "--negatives",
        "repaired",
        "-o",
        tmp_path / "new",
        tmp_path / "pairs.tsv",
    ]
    done = CliRunner().invoke(command("bitext-train-classifier"), list(map(str, arguments)))
    assert done.exit_code == 78
    assert "a classifier takes whole vectors; leave @3 out" in done.stderr


def test_refusals(tmp_path: Path) -> None:
    folder = toy_model(tmp_path / "model")
    with pytest.raises(SettingsError, match=f"of model have {DIM} numbers; give fewer"):
        load(f"{folder}@{DIM}")
    with pytest.raises(SettingsError, match="mlp takes whole vectors; leave @3 out of"):
        load(f"{folder}@3").score(["a1"], ["b1"], "mlp")
    with pytest.raises(SettingsError, match="for scores of whole vectors: give a number"):
        recommended_threshold(f"{folder}@3", "csls")
    with pytest.raises(NotFoundError, match="neither a folder nor a shipped model"):
        load(f"{tmp_path}/none@3")
    (folder / BACKGROUND).unlink()
    (folder / "digests.json").unlink(missing_ok=True)
    with pytest.raises(ModelError, match="stores no neighbours, by which @3 shortens vectors"):
        load(f"{folder}@3")
