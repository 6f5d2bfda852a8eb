"""``bitext-models calibrate``: labels of people in, probabilities out."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from click.testing import Result
from console import invoke, says_one_line, table
from toys import toy_model

from bitextfilter.io.records import write_digests
from bitextfilter.models.folders import model_digest
from bitextfilter.scoring.calibration import general_calibration, load_calibration
from bitextfilter.scoring.thresholds import Threshold, own_thresholds, write_thresholds


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_model(tmp_path_factory.mktemp("calibrate") / "toy")


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Forty right rows, forty wrong ones, and some with another label."""
    chance, rows = random.Random(1), []
    for n in range(90):
        words = [chance.randrange(30) for _ in range(8)]
        others = words if n < 40 else [chance.randrange(30) for _ in range(8)]
        label = "V" if n < 40 else "A" if n < 80 else "MT"
        source = " ".join(f"a{word}" for word in words)
        rows.append(f"{label}\t{source}\t{' '.join(f'b{word}' for word in others)}\n")
    path = tmp_path / "labels.tsv"
    path.write_text("".join(rows))
    return path


WORDS = ("--scol", 2, "--tcol", 3, "--right", "V,F", "--wrong", "A,L")


def calibrate(*words: object, code: int = 0) -> Result:
    return invoke("bitext-models", "calibrate", *words, code=code)


def test_labels_are_not_replaced(model: Path, labels: Path, tmp_path: Path) -> None:
    before = labels.read_text()
    words = (model, f"aa,ba={labels}", *WORDS, "-o", tmp_path / "new", "--held-out", labels)
    says_one_line(calibrate(*words, code=2), 2, "--held-out needs a file of its own")
    assert labels.read_text() == before and not (tmp_path / "new").exists()


def test_a_model_with_labels(model: Path, labels: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    rows = tmp_path / "rows.tsv"
    result = calibrate(model, f"aa,ba={labels}", *WORDS, "-o", new, "--held-out", rows)
    kept = [line.split("\t") for line in rows.read_text().splitlines()]
    assert [row[1:3] for row in kept] == [["V", "1"]] * 40 + [["A", "0"]] * 40
    assert all(0 <= float(row[3]) <= 1 and row[4] == "" for row in kept)
    ((pair, error, *cuts),) = table(result)
    assert pair == "aa,ba" and error.startswith("error=0.")
    assert [cut.split("=")[0] for cut in cuts] == ["auc", "lenient", "balanced", "strict"]
    made = load_calibration(new)
    assert made is not None and made.curves == general_calibration().curves
    assert made.facts["rows"] == 80 and made.facts["right"] == "V,F"
    assert list(made.facts["files"]) == ["labels.tsv"] and made.facts["model"] == "toy"
    assert model_digest(new) != model_digest(model)
    text = "a1 a2\tb1 b2\na1 a2\tb7 b8\n"
    header = invoke("bitext-score", "--model", new, "--header", data="source\ttarget\n" + text)
    assert header.stdout.splitlines()[0] == "source\ttarget\tprobability"
    raw = invoke("bitext-score", "--model", model, "--header", data="source\ttarget\n" + text)
    assert raw.stdout.splitlines()[0] == "source\ttarget\tmlp"
    ranked = invoke(
        "bitext-rank", "--model", new, "--min-score", "lenient", data=raw.stdout, code=65
    )
    assert "by probability of" in ranked.stderr
    shown = invoke("bitext-models", "show", new).stdout
    assert "\ndefault measure\tprobability\n" in shown


def test_thresholds_of_other_measures_stay(model: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    invoke("bitext-models", "calibrate", model, "-o", old)
    quality = {"precision": 0.5, "recall": 1.0, "f1": 0.5, "noise_share": 0.3, "rows": 9}
    texts = {"goal": "f1", "file": "a", "command": "b", "version": "c"}
    own = Threshold("filtering", "csls", 0.5, model=model_digest(old), **quality, **texts)  # type: ignore[arg-type]
    write_thresholds(old, [own])
    write_digests(old)
    calibrate(old, "--start", "en-de", "-o", tmp_path / "new")
    found, others = own_thresholds(tmp_path / "new", model_digest(tmp_path / "new"))
    assert [each.threshold for each in found] == [0.5] and not others


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (["labels", *WORDS], 78, "name its two languages, as en,de=FILE"),
        (["aa,ba=labels", "--right", "V"], 2, "a FILE needs --right and --wrong"),
        (
            ["aa,ba=labels", "--labels", 9, *WORDS],
            65,
            "labels.tsv:1: 3 columns, expected at least 9",
        ),
        (
            ["aa,ba=labels", *WORDS[:4], "--right", "X", "--wrong", "A"],
            78,
            "0 right rows, at least 20",
        ),
        (["aa,ba=labels", *WORDS, "--start", "toy"], 65, "has no calibration to start from"),
        (["aa,ba=none.tsv", *WORDS], 66, "none.tsv"),
    ],
)
def test_what_cannot_be(
    model: Path, labels: Path, tmp_path: Path, change: list[object], code: int, message: str
) -> None:
    words = [
        str(model) if word == "toy" else str(word).replace("=labels", f"={labels}")
        for word in change
    ]
    words = [str(labels) if word == "labels" else word for word in words]
    result = calibrate(model, *words, "-o", tmp_path / "new", code=code)
    says_one_line(result, code, message)
    assert not (tmp_path / "new").exists()
