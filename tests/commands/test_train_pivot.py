"""bitext-train-encoder --architecture pivot: three languages that say the same word for word.

Sources and targets that a model is trained on are different sentences; each has the third language
beside it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from console import invoke

from bitextfilter.commands import train_encoder
from bitextfilter.commands.frame import training
from bitextfilter.encoders.registry import ENCODERS, load_encoder
from bitextfilter.errors import SettingsError
from bitextfilter.papers.pivot import PivotLearner
from bitextfilter.scoring.model import load
from bitextfilter.similarity.vectors import cosine_matrix
from bitextfilter.text.vocabulary import END
from bitextfilter.training.data import PairFile
from bitextfilter.training.encoder_training import EncoderConfig
from bitextfilter.training.runs import PivotFiles, TrainingFiles

WORDS = 30
TINY = {
    "architecture": "pivot",
    "shape": {"embedding": 8, "hidden": 4},
    "segmentation": {"kind": "none"},
    "training": {"batch_size": 16, "passes": 2, "samples": 20, "validate_every": 3, "warmup": 2},
}


def write(path: Path, count: int, seed: int, languages: str) -> None:
    """Sentences of 3 to 6 words in two of the languages a, b and c."""
    random = np.random.default_rng(seed)
    rows = [random.integers(0, WORDS, random.integers(3, 7)).tolist() for _ in range(count)]
    sides = [[" ".join(f"{name}{n}" for n in row) for row in rows] for name in languages]
    path.write_text("".join(f"{one}\t{other}\n" for one, other in zip(*sides, strict=True)))


def make(folder: Path, pairs: int = 60) -> Path:
    """Files to train on, of different sentences, and to validate on."""
    for seed, name in enumerate(("a-c", "b-c", "a-b"), 1):
        write(folder / name, 60 if name == "a-b" else pairs, seed, name.replace("-", ""))
    (folder / "settings.json").write_text(json.dumps(TINY))
    return folder


def train(home: Path, *more: object, code: int = 0, without: str = "") -> Result:
    """Train ``home/model``, without one of the options where it is named."""
    given = {
        "-o": home / "model", "--languages": "aa,ba", "--development": home / "a-b",
        "--settings": home / "settings.json", "--threads": 1, "--pivot": "ce",
        "--source-pivot": home / "a-c", "--target-pivot": home / "b-c",
    }  # fmt: skip
    words = [part for name, value in given.items() if name != without for part in (name, value)]
    result = invoke(train_encoder.main, *words, *more, code=code)
    assert result.stdout == ""
    return result


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make(tmp_path)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trained model, which no test changes."""
    folder = make(tmp_path_factory.mktemp("first"))
    train(folder)
    return folder


@pytest.fixture
def trained(first: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(first, tmp_path, dirs_exist_ok=True)


LEARNING = "batch_size=32 passes=8 learning_rate=0.03 samples=50 warmup=10 validate_every=125"


def test_sentences_find_translations_that_were_never_seen_beside_them(tmp_path: Path) -> None:
    """What the objective teaches, tests/system/test_meaning.py measures."""
    home = make(tmp_path, 400)
    shape = ("--set", "shape.embedding=32", "--set", "shape.hidden=32")
    result = train(home, *shape, *(f"--set=training.{value}" for value in LEARNING.split()))
    assert "400 aa-ce pairs, 0 left out" in result.stderr
    pairs = [line.split("\t") for line in (home / "a-b").read_text().splitlines()]
    model = load(home / "model")
    one, other = (model.encode([p[k] for p in pairs], model.languages[k]) for k in (0, 1))
    assert (cosine_matrix(one, other).argmax(1) == np.arange(60)).mean() > 0.5


def test_the_third_language_is_not_in_the_model(first: Path) -> None:
    home = first
    model = load(home / "model")
    assert model.languages == ("aa", "ba") and model.background is not None
    pieces = (home / "model" / "vocabulary.tsv").read_text().split("\n")[1:-1]
    assert {piece.lstrip("▁")[0] for piece in pieces} == {"a", "b"}
    loaded = ENCODERS.load(home / "model")
    assert loaded.architecture == "pivot"
    assert {key.split(".")[0] for key in loaded.network.state_dict()} == {"embedding", "encoders"}
    kept = json.loads((home / "model" / "training.json").read_text())
    assert kept["material"]["pivot"] == {
        "language": "ce",
        "sides": [[["a-c", None, 1.0]], [["b-c", None, 1.0]]],
    }
    assert {"source_pivot", "target_pivot"} <= set(kept["validation"][0])
    assert kept["training"]["translation"] == 1 and kept["training"]["ranking"] == 0
    assert str(home) not in json.dumps(kept)
    scored = load(home / "model").score(["a1 a2"], ["b1 b2"])
    assert np.isfinite(scored["cosine"]).all()


def test_the_settings_of_a_model_and_other_columns_make_it_again(trained: Path) -> None:
    first, text = load(trained / "model"), ["a1 a2"]
    (trained / "settings.json").write_bytes((trained / "model" / "training.json").read_bytes())
    train(trained)
    assert load(trained / "model").digest == first.digest
    for name in ("a-c", "b-c"):
        rows = (line.split("\t") for line in (trained / name).read_text().splitlines())
        (trained / name).write_text("".join(f"{b}\tx\t{a}\n" for a, b in rows))
    train(trained, "--scol", 3, "--tcol", 1)
    again = load_encoder(trained / "model").encode(text, "aa")
    np.testing.assert_array_equal(first.encode(text, "aa"), again)


def test_files_have_weights_and_are_repeatable(home: Path) -> None:
    more = ["--source-pivot", f"{home / 'a-c'}@0.5", "--set", "training.passes=1"]
    result = train(home, *more)
    assert "120 aa-ce pairs" in result.stderr and "60 ba-ce pairs" in result.stderr
    assert f"{round((1.5 * 60 + 60) / 2 / 16)} updates" in result.stderr


def test_resuming_gives_the_model_of_an_uninterrupted_run(
    first: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unplug(training.TrainingReporter):
        def __call__(self, progress: object, updates: int) -> None:
            super().__call__(progress, updates)  # type: ignore[arg-type]
            if progress.update == 5:  # type: ignore[attr-defined]
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training, "TrainingReporter", Unplug)
        train(home, code=130)
    train(home, "--resume")
    assert load(home / "model").digest == load(first / "model").digest
    (home / "other").write_bytes((home / "a-c").read_bytes())
    result = train(home, "--resume", "--source-pivot", home / "other", code=78)
    assert "is of another run: material.pivot.sides was" in result.stderr


def test_one_language_twice_is_read_by_one_encoder(home: Path) -> None:
    result = train(home, "--languages", "aa,aa", "--target-pivot", home / "a-c")
    assert "60 aa-ce pairs" in result.stderr
    assert load(home / "model").languages == ("aa", "aa")


def test_a_pivot_model_is_a_start_for_another_training(first: Path, home: Path) -> None:
    result = train(home, "--start", first / "model", "--set", "training.seed=2")
    assert "from model: embedding.weight, encoders.0" in result.stderr


@pytest.mark.parametrize("missing", ["--pivot", "--source-pivot", "--target-pivot"])
def test_all_three_options_are_needed(home: Path, missing: str) -> None:
    result = train(home, without=missing, code=2)
    assert f"--architecture pivot needs {missing}" in result.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "b-c: no pairs to train on"),
        ("b1\tc1\nb2\n", "b-c:2: 1 column"),
        ("b1\tc1\nb2\t\n", "b-c:2: the target is empty"),
    ],
)
def test_bad_files_are_named(home: Path, content: str, message: str) -> None:
    (home / "b-c").write_text(content)
    assert message in train(home, code=65).stderr.splitlines()[-1]


@pytest.mark.parametrize("architecture", ["pivot", "autoencoder"])
def test_a_plan_and_its_material_must_agree(architecture: str) -> None:
    files = [PairFile("a-c")]
    pivot = PivotFiles("ce", (files, files)) if architecture == "autoencoder" else None
    material = TrainingFiles(("aa", "ba"), files, files[0], pivot=pivot)
    with pytest.raises(SettingsError, match="the architecture pivot, and no other"):
        EncoderConfig.from_dict({"architecture": architecture}).check_files(material)


def test_what_is_predicted_is_counted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of the third language in both files, and an end of each of its sentences."""
    seen: list[np.ndarray] = []

    class Watched(PivotLearner):
        def __init__(self, network: Any, cell: str, counts: Any, *more: Any) -> None:
            seen.append(counts)
            raise KeyboardInterrupt

    monkeypatch.setattr("bitextfilter.papers.pivot.PivotLearner", Watched)
    train(home, code=130)
    lines = [line for name in ("a-c", "b-c") for line in (home / name).read_text().splitlines()]
    pivots = [line.split("\t")[1].split() for line in lines]
    assert seen[0][END] == len(pivots) == 120
    assert seen[0].sum() == 120 + sum(map(len, pivots))
