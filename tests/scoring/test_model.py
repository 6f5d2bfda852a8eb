"""Models by name and folder, whole, incomplete and damaged; what is said of one unloaded."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from console import command
from toys import DIM, WORDS, as_older, toy_many, toy_model

import bitextfilter
from bitextfilter.encoders.protocol import ShorterEncoder, principal_directions
from bitextfilter.errors import ModelError, NotFoundError, SettingsError
from bitextfilter.models import folders
from bitextfilter.models.folders import (
    CONFIG,
    ModelName,
    find_model,
    model_digest,
    named_digest,
    shipped_models,
)
from bitextfilter.pairs.base import SentenceClassifierSettings
from bitextfilter.pairs.classifier import SentenceClassifier, save_classifier
from bitextfilter.scoring.background import BACKGROUND, BackgroundSample
from bitextfilter.scoring.inspection import describe_model
from bitextfilter.scoring.model import load
from bitextfilter.scoring.thresholds import measure_of, named_cut
from bitextfilter.text.vocabulary import RESERVED


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
    folder = toy_model(tmp_path / "model", calibrated=True)
    whole, short = load(folder), load(f"{folder}@3")
    assert short.digest == f"{whole.digest}@3" == named_digest(f"{folder}@3")
    assert short.classifier is None and short.calibration is None
    assert whole.default_measure == "probability" == measure_of(str(folder), None, None)
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


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("multi@128:cs,pl", ("multi", 128, ("cs", "pl"))),
        ("multi@128", ("multi", 128, None)),
        ("multi:cs,pl", ("multi", None, ("cs", "pl"))),
        *((each, (each, None, None)) for each in ("multi", "multi@0", "multi@x", "multi@-1")),
        ("multi@1234567", ("multi@1234567", None, None)),
        ("multi:cs", ("multi:cs", None, None)),
        ("multi:cs,pl@128", ("multi", 128, ("cs", "pl"))),
    ],
)
def test_names(name: str, parts: tuple[str, int | None, tuple[str, str] | None]) -> None:
    assert ModelName.parse(name) == ModelName(*parts)


def test_a_folder_may_have_such_a_name(tmp_path: Path) -> None:
    folder = toy_model(tmp_path / "model@2")
    assert ModelName.parse(folder) == ModelName(str(folder), None, None)
    assert load(folder).encoder.dim == DIM
    assert ModelName.parse(f"{folder}:aa,ba") == ModelName(str(folder), None, ("aa", "ba"))


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
    with pytest.raises(SettingsError, match="csls has no lenient cut, probability has one"):
        named_cut(folder, "csls", "lenient")
    with pytest.raises(SettingsError, match="the model model has no calibration: give a number"):
        named_cut(folder, "probability", "lenient")
    with pytest.raises(SettingsError, match="for scores of whole vectors: give a number"):
        named_cut(f"{folder}@3", "csls")
    with pytest.raises(NotFoundError, match="neither a folder nor a shipped model"):
        load(f"{tmp_path}/none@3")
    (folder / BACKGROUND).unlink()
    (folder / "digests.json").unlink(missing_ok=True)
    with pytest.raises(ModelError, match="stores no neighbours, by which @3 shortens vectors"):
        load(f"{folder}@3")


@pytest.mark.parametrize(
    ("classifier", "calibrated"), [(True, True), (True, False), (False, True), (False, False)]
)
@pytest.mark.parametrize("background", [True, False])
def test_it_agrees_with_the_model(
    tmp_path: Path, classifier: bool, calibrated: bool, background: bool
) -> None:
    """A calibration without a classifier counts for nothing."""
    folder = toy_model(tmp_path / "toy", classifier, background, calibrated=calibrated)
    facts, model = describe_model(folder), load(folder)
    assert (facts["digest"], tuple(facts["languages"])) == (model.digest, model.languages)
    assert facts["default_measure"] == model.default_measure == measure_of(str(folder), None, None)
    assert facts["dimension"] == (model.encoder.dim if classifier or background else None)
    assert (facts["classifier"] is not None) == classifier
    assert facts["neighbours"] == ([40, 40] if background else None)
    assert model.score(["a1"], ["b1"], facts["measures"]).keys() == set(facts["measures"])
    assert len(facts["measures"]) == 2 + 3 * background + classifier + (classifier and calibrated)


def test_it_says_all(tmp_path: Path) -> None:
    folder = toy_model(tmp_path / "toy")
    (folder / "attribution.md").write_text("mine\n")
    facts = describe_model(folder)
    assert (facts["name"], facts["folder"]) == (str(folder), str(folder))
    assert (facts["architecture"], facts["segmentation"]) == ("averaging", "none")
    assert facts["shape"]["embedding"] == DIM
    assert facts["vocabulary"] == 2 * WORDS + len(RESERVED)
    assert facts["trigrams"] is None
    assert facts["megabytes"] == round(sum(p.stat().st_size for p in folder.iterdir()) / 1e6, 1)
    assert (facts["card"], facts["attribution"]) == (None, "attribution.md")
    assert json.loads(json.dumps(facts)) == facts


def test_no_torch_is_loaded() -> None:
    code = (
        "import sys; from bitextfilter.scoring.inspection import describe_model;"
        "from bitextfilter.scoring.thresholds import read_thresholds;"
        "describe_model('en-de'); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("encoder", "text"), ("encoder", None), ("encoder", {"embedding": 8}),
        ("encoder", {"architecture": 3}), ("classifier", "text"), ("classifier", [1]),
    ],
)  # fmt: skip
def test_a_damaged_configuration_is_named(tmp_path: Path, part: str, value: object) -> None:
    folder = as_older(toy_model(tmp_path / "toy"))
    config = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps({**config, part: value}))
    with pytest.raises(ModelError, match=f"the configuration's {part} is unusable"):
        describe_model(folder)


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        describe_model(tmp_path / "nothing")
    folder = as_older(toy_model(tmp_path / "toy"))
    (folder / "neighbours.npz").write_bytes(b"PK")
    with pytest.raises(ModelError, match="neighbours"):
        describe_model(folder)
    (folder / "neighbours.npz").unlink()
    (folder / "vocabulary.tsv").unlink()
    with pytest.raises(NotFoundError, match="vocabulary"):
        describe_model(folder)


def test_neither_card_nor_attribution_nor_thresholds_change_the_digest(tmp_path: Path) -> None:
    folder = toy_model(tmp_path / "toy")
    before = model_digest(folder)
    for name in ("card.md", "attribution.md", "thresholds.json"):
        (folder / name).write_text("anything")
        assert model_digest(folder) == before
    (folder / "other.md").write_text("anything")
    assert model_digest(folder) != before
