"""bitext-train-encoder --architecture pivot: three languages that say the same word for word.

Sources and targets that a model is trained on are different sentences; each has the third language
beside it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from console import command

from bitextfilter.commands import train_encoder
from bitextfilter.commands.frame import training
from bitextfilter.encoders.registry import ENCODERS, load_encoder
from bitextfilter.errors import SettingsError
from bitextfilter.papers.pivot import PivotLearner
from bitextfilter.scoring.model import load
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
LEARNING = {
    "architecture": "pivot",
    "shape": {"embedding": 32, "hidden": 32},
    "segmentation": {"kind": "none"},
    "training": {
        "batch_size": 32, "passes": 8, "learning_rate": 0.02, "samples": 50, "warmup": 10,
        "validate_every": 125,
    },
}  # fmt: skip


def write(path: Path, count: int, seed: int, languages: str) -> None:
    """Sentences of 3 to 6 words in two of the languages a, b and c."""
    random = np.random.default_rng(seed)
    rows = [random.integers(0, WORDS, random.integers(3, 7)).tolist() for _ in range(count)]
    sides = [[" ".join(f"{name}{n}" for n in row) for row in rows] for name in languages]
    path.write_text("".join(f"{one}\t{other}\n" for one, other in zip(*sides, strict=True)))


def make(folder: Path, pairs: int, settings: dict[str, object]) -> Path:
    """Files to train on, of different sentences, and to validate and test on."""
    for name, count, seed in (
        ("a-c", pairs, 1),
        ("b-c", pairs, 2),
        ("a-b", 60, 3),
        ("test", 150, 4),
    ):
        write(folder / name, count, seed, "ab" if name == "test" else name.replace("-", ""))
    (folder / "settings.json").write_text(json.dumps(settings))
    return folder


def train(home: Path, *more: object, code: int = 0, without: str = "") -> Result:
    """Train ``home/model``, without one of the options where it is named."""
    given = {
        "-o": home / "model", "--languages": "aa,ba", "--development": home / "a-b",
        "--settings": home / "settings.json", "--threads": 1, "--pivot": "ce",
        "--source-pivot": home / "a-c", "--target-pivot": home / "b-c",
    }  # fmt: skip
    words = [
        str(part) for name, value in given.items() if name != without for part in (name, value)
    ]
    result = CliRunner().invoke(train_encoder.main, [*words, *map(str, more)])
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    return result


def error(home: Path, model: str) -> float:
    """Recovery error on the test pairs in percent, mean of CSLS and cosine."""
    words = [
        "recovery",
        "--json",
        "--model",
        str(home / model),
        str(home / "test"),
        "--threads",
        "1",
    ]
    done = CliRunner().invoke(command("bitext-evaluate"), words)
    assert done.exit_code == 0, done.output
    found = {row["similarity"]: row["mean"] for row in json.loads(done.stdout)["results"]}
    return float((found["csls"] + found["cosine"]) / 2)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make(tmp_path, 60, TINY)


def test_sentences_find_translations_that_were_never_seen_beside_them(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    home = make(tmp_path_factory.mktemp("learnt"), 1000, LEARNING)
    train(home, "--set", "training.passes=0.01", "--set", "training.learning_rate=1e-9")
    assert error(home, "model") > 90
    result = train(home)
    assert "1000 aa-ce pairs, 0 left out" in result.stderr
    assert error(home, "model") < 5
    rows = (home / "test").read_text().splitlines()
    for side in (0, 1):
        lines = [row.split("\t")[side] for row in rows]
        (home / "ab"[side]).write_text("\n".join(lines[:: 1 - 2 * side]) + "\n")
    words = ["--model", home / "model", "--threads", 1, home / "a", home / "b"]
    done = CliRunner().invoke(command("bitext-align"), [str(word) for word in words])
    found = {tuple(line.split("\t")[:2]) for line in done.stdout.splitlines()}
    assert len(found & {tuple(row.split("\t")) for row in rows}) > 0.9 * len(rows)


def test_the_third_language_is_not_in_the_model(home: Path) -> None:
    train(home)
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


def test_the_settings_of_a_model_make_it_again(home: Path) -> None:
    train(home)
    first = load(home / "model").digest
    (home / "settings.json").write_bytes((home / "model" / "training.json").read_bytes())
    train(home)
    assert load(home / "model").digest == first


def test_files_have_weights_and_are_repeatable(home: Path) -> None:
    more = ["--source-pivot", f"{home / 'a-c'}@0.5", "--set", "training.passes=1"]
    result = train(home, *more)
    assert "120 aa-ce pairs" in result.stderr and "60 ba-ce pairs" in result.stderr
    assert f"{round((1.5 * 60 + 60) / 2 / 16)} updates" in result.stderr


def test_columns_are_those_of_the_options(home: Path) -> None:
    train(home)
    text = ["a1 a2"]
    expected = load_encoder(home / "model").encode(text, "aa")
    for name in ("a-c", "b-c"):
        rows = (line.split("\t") for line in (home / name).read_text().splitlines())
        (home / name).write_text("".join(f"{b}\tx\t{a}\n" for a, b in rows))
    train(home, "--scol", 3, "--tcol", 1)
    np.testing.assert_array_equal(expected, load_encoder(home / "model").encode(text, "aa"))


def test_resuming_gives_the_model_of_an_uninterrupted_run(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(home)
    whole = load(home / "model").digest

    class Unplug(training.TrainingReporter):
        def __call__(self, progress: object, updates: int) -> None:
            super().__call__(progress, updates)  # type: ignore[arg-type]
            if progress.update == 5:  # type: ignore[attr-defined]
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training, "TrainingReporter", Unplug)
        train(home, code=130)
    train(home, "--resume")
    assert load(home / "model").digest == whole
    (home / "other").write_bytes((home / "a-c").read_bytes())
    result = train(home, "--resume", "--source-pivot", home / "other", code=78)
    assert "is of another run: material.pivot.sides was" in result.stderr


def test_one_language_twice_is_read_by_one_encoder(home: Path) -> None:
    result = train(home, "--languages", "aa,aa", "--target-pivot", home / "a-c")
    assert "60 aa-ce pairs" in result.stderr
    assert load(home / "model").languages == ("aa", "aa")


def test_a_pivot_model_is_a_start_for_another_training(home: Path) -> None:
    train(home)
    (home / "model").rename(home / "pivot")
    result = train(home, "--start", home / "pivot", "--set", "training.seed=2")
    assert "from pivot: embedding.weight, encoders.0" in result.stderr


@pytest.mark.parametrize("missing", ["--pivot", "--source-pivot", "--target-pivot"])
def test_all_three_options_are_needed(home: Path, missing: str) -> None:
    result = train(home, without=missing, code=2)
    assert f"--architecture pivot needs {missing}" in result.stderr


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--pairs", "a-b"], 2, "--architecture pivot reads no --pairs: give --source-pivot"),
        (["--parallel", "a-b", "a-b"], 2, "--architecture pivot reads no --parallel"),
        (["--source-text", "a-b"], 2, "--architecture pivot reads no --source-text"),
        (["--target-text", "a-b"], 2, "--architecture pivot reads no --target-text"),
        (["--pivot", "ba"], 2, "--pivot is a third language, and ba is one of --languages"),
        (["--source-pivot", "a-c@0"], 2, "for --source-pivot: a-c@0: a weight must be above"),
        (["--source-pivot", "nowhere"], 66, "nowhere"),
        (["--architecture", "autoencoder"], 2, "--pivot is for --architecture pivot alone"),
        (["--set", "training.ranking=1"], 78, "pivot language alone: set training.ranking to 0"),
        (
            ["--set", "training.translation=0", "--set", "training.samples=2048"],
            78,
            "at least one must be above 0",
        ),
        (["--set", "training.maximum_length=1"], 78, "every aa-ce pair is longer than training."),
        (["--set", "shape.tables=separate"], 78, "shape.tables is no setting"),
        (["--resume"], 78, "nothing to resume"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(
    home: Path, more: list[str], code: int, message: str
) -> None:
    result = train(home, *more, code=code)
    assert message in result.stderr.splitlines()[-1]
    assert not (home / "model").exists()


@pytest.mark.parametrize("architecture", ["pivot", "autoencoder"])
def test_a_plan_and_its_material_must_agree(architecture: str) -> None:
    files = [PairFile("a-c")]
    pivot = PivotFiles("ce", (files, files)) if architecture == "autoencoder" else None
    material = TrainingFiles(("aa", "ba"), files, files[0], pivot=pivot)
    with pytest.raises(SettingsError, match="the architecture pivot, and no other"):
        EncoderConfig.from_dict({"architecture": architecture}).check_files(material)


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


def test_what_is_predicted_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of the third language in both files, and an end of each of its sentences."""
    make(tmp_path, 40, TINY)
    seen: list[np.ndarray] = []

    class Watched(PivotLearner):
        def __init__(self, network: Any, cell: str, counts: Any, *more: Any) -> None:
            seen.append(counts)
            super().__init__(network, cell, counts, *more)

    monkeypatch.setattr("bitextfilter.papers.pivot.PivotLearner", Watched)
    train(tmp_path)
    lines = [line for name in ("a-c", "b-c") for line in (tmp_path / name).read_text().splitlines()]
    pivots = [line.split("\t")[1].split() for line in lines]
    assert seen[0][END] == len(pivots) == 80
    assert seen[0].sum() == 80 + sum(map(len, pivots))
