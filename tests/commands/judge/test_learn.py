"""bitext-judge learn: labels in, an adapted model and its cut out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from toys import sentences, toy_model

from bitextfilter.commands.judge import main
from bitextfilter.judge.judgements import Label, labels_text, pair_digest, sample_header
from bitextfilter.scoring.calibration import general_calibration
from bitextfilter.scoring.model import load
from bitextfilter.scoring.thresholds import read_thresholds

SOURCES, TARGETS = sentences(120, seed=6)
PAIRS = [
    (source, TARGETS[n] if n % 3 else TARGETS[(n + 40) % 120]) for n, source in enumerate(SOURCES)
]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    rows = [f"{s}\t{t}\t0.5\t{n + 1}\ttenth:{n % 4}\t2\n" for n, (s, t) in enumerate(PAIRS)]
    path = tmp_path / "sample.tsv"
    path.write_bytes(sample_header(["mlp"]) + "".join(rows).encode())
    return path


def labelled(folder: Path, scale: str = "good-bad", rows: int = 120) -> Path:
    good, bad = {"good-bad": ("good", "bad"), "0-100": ("90", "10")}[scale]
    labels = [
        Label(n + 1, pair_digest(*pair), good if n % 3 else bad, scale, "anna", "")
        for n, pair in enumerate(PAIRS[:rows])
    ]
    path = folder / f"{scale}.tsv"
    path.write_bytes(labels_text(labels))
    return path


def learn(*words: str | Path) -> Result:
    line = ["learn", "--threads", "1", "--device", "cpu", "--bootstrap", "30", *map(str, words)]
    return CliRunner().invoke(main, line)


@pytest.mark.parametrize("scale", ["good-bad", "0-100"])
def test_the_model_follows_the_labels(
    folder: Path, sample: Path, tmp_path: Path, scale: str
) -> None:
    new = tmp_path / "new"
    done = learn(sample, labelled(tmp_path, scale), "--model", folder, "-o", new, "--json")
    assert done.exit_code == 0, done.output
    before, after = json.loads(done.stdout)["results"]
    assert (before["score"], after["score"]) == ("before", "after")
    assert after["auc"]["value"] > before["auc"]["value"]
    models = [load(path) for path in (folder, new)]
    good = np.arange(120) % 3 > 0
    gaps = []
    for model in models:
        scores = model.score(*map(list, zip(*PAIRS, strict=True)), "mlp")["mlp"]
        gaps.append(scores[good].mean() - scores[~good].mean())
    assert gaps[1] > gaps[0] + 0.1
    assert models[0].digest != models[1].digest
    cosines = [model.score(["a1 a2"], ["b1 b3"], "cosine")["cosine"][0] for model in models]
    assert cosines[0] == cosines[1]
    (threshold,) = read_thresholds(new)
    assert (threshold.use, threshold.measure, threshold.rows) == ("filtering", "mlp", 120)
    assert threshold.threshold == after["cut"] and threshold.model == models[1].digest
    assert threshold.noise_share == pytest.approx(1 / 3)
    learnt = models[1].calibration
    assert models[0].calibration is None and learnt is not None
    assert learnt.curves == general_calibration().curves and [*learnt.offsets] == ["aa,ba"]
    assert models[1].default_measure == "probability"
    record = json.loads((new / "classifier.json").read_bytes())["judgements"]
    assert record[0]["labels"] == 120


def test_the_same_labels_and_seed_give_the_same_model(
    folder: Path, sample: Path, tmp_path: Path
) -> None:
    words = (sample, labelled(tmp_path), "--model", folder)
    for name in ("one", "two"):
        assert learn(*words, "-o", tmp_path / name).exit_code == 0
    assert load(tmp_path / "one").digest == load(tmp_path / "two").digest


def test_labels_that_teach_nothing(folder: Path, sample: Path, tmp_path: Path) -> None:
    labels = labelled(tmp_path)
    lines = labels.read_bytes().splitlines(keepends=True)
    one = tmp_path / "one.tsv"
    one.write_bytes(b"".join(line for line in lines if b"\tbad\t" not in line))
    done = learn(sample, one, "--model", folder, "-o", tmp_path / "new")
    assert (done.exit_code, done.stdout) == (65, "") and "every label is good" in done.stderr
    assert not (tmp_path / "new").exists()
    few = learn(sample, labelled(tmp_path, rows=30), "--model", folder, "-o", tmp_path / "new")
    assert few.exit_code == 0 and "only 30 rows have a label" in few.stderr
    assert load(tmp_path / "new").calibration == general_calibration()
    bare = toy_model(tmp_path / "bare", classifier=False)
    done = learn(sample, labelled(tmp_path), "--model", bare, "-o", tmp_path / "other")
    assert done.exit_code == 78 and "has no classifier to adapt" in done.stderr
    assert done.stderr.count("\n") == 1
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "file").write_text("mine")
    assert learn(sample, labels, "--model", folder, "-o", taken).exit_code == 74
    assert learn(sample, labels, labels, "--model", folder, "-o", tmp_path / "x").exit_code == 2
