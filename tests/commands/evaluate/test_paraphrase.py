"""bitext-evaluate paraphrase through its streams, on the toy languages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from toys import sentences, toy_model

from bitextfilter.commands.evaluate import main
from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.papers import paraphrases as paraphrase_detection
from bitextfilter.papers.paraphrases import DetectionConfig, measure_detectors
from bitextfilter.scoring.model import load
from bitextfilter.training.labelled_pairs import LabelledVectors


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """A few epochs."""
    with pytest.MonkeyPatch.context() as patch:
        training = replace(paraphrase_detection.TRAINING, epochs=3)
        patch.setattr(paraphrase_detection, "TRAINING", training)
        yield


Rows = list[tuple[str, str, str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_model(tmp_path_factory.mktemp("models") / "toy", classifier=False)


def rows_of(count: int, seed: int) -> Rows:
    """Label, source, target: translations with a word changed, and strangers."""
    sources, targets = sentences(count, seed)
    labels = np.random.default_rng(seed).random(count) < 0.6
    strangers = targets[1:] + targets[:1]
    return [
        (str(int(label)), source, f"{target} b1" if label else stranger)
        for label, source, target, stranger in zip(labels, sources, targets, strangers, strict=True)
    ]


DEVELOPMENT, TEST = rows_of(120, 5), rows_of(90, 6)


def written(rows: Rows) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def development(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "dev.tsv"
    path.write_text(written(DEVELOPMENT), encoding="utf-8")
    return path


def paraphrase(*words: str | Path, text: str = "") -> Result:
    line = ["paraphrase", "--threads", "1", "--device", "cpu", "--bootstrap", "20"]
    return CliRunner().invoke(main, [*line, *(str(word) for word in words)], input=text)


def table(result: Result) -> dict[str, list[str]]:
    assert result.exit_code == 0, result.output
    head, *rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert " ".join(head) == (
        "method accuracy accuracy_low accuracy_high f1 f1_low f1_high pairs paraphrases signature"
    )
    return {row[0]: row[1:] for row in rows}


def vectors(folder: Path, rows: Rows) -> LabelledVectors:
    model, (labels, *sides) = load(folder), zip(*rows, strict=True)
    source, target = (model.encode(s, n) for s, n in zip(sides, ("aa", "ba"), strict=True))
    return LabelledVectors(source, target, np.array([label == "1" for label in labels]))


def test_the_table_has_the_figures_of_the_library(model: Path, development: Path) -> None:
    words = ("-q", "--model", model, "--development", development, "--seed", "3")
    found = table(paraphrase(*words, "-", text=written(TEST)))
    plan = DetectionConfig(seed=3, bootstrap=Bootstrap(20, 3))
    groups = [source for _, source, _ in DEVELOPMENT]
    sets = vectors(model, DEVELOPMENT), vectors(model, TEST)
    expected = list(measure_detectors(sets[0], groups, sets[1], plan))
    assert list(found) == [name for name, _, _ in expected] == ["majority", "cosine", "mlp"]
    for name, figures, facts in expected:
        *numbers, pairs, positives, signature = found[name]
        assert numbers == [f"{n:.4f}" for n in (*figures.accuracy, *figures.f1)]
        assert (pairs, positives) == ("90", str(sum(label == "1" for label, *_ in TEST)))
        assert signature.startswith(f"accuracy = {numbers[0]} | n=90 paraphrases:{positives} by:")
        assert all(f" {fact}:" in signature for fact in facts)
        assert f" dev:120 model:{load(model).digest} boot:20 seed:3 v:" in signature
    assert float(found["cosine"][0]) > 0.9 > 0.75 > float(found["majority"][0])


def test_json_says_the_same(model: Path, development: Path, tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_text(written(TEST), encoding="utf-8")
    words = ("-q", "--model", model, "--features", "products", "--development", development, path)
    whole = json.loads(paraphrase("--json", *words).stdout)
    found = table(paraphrase(*words))
    assert (whole["task"], whole["file"]) == ("paraphrase", str(path))
    assert (whole["development"], whole["seed"]) == (str(development), 1)
    assert [record["method"] for record in whole["results"]] == list(found)
    for record in whole["results"]:
        cells = [f"{n:.4f}" for figure in ("accuracy", "f1") for n in record[figure].values()]
        cells += [str(record["pairs"]), str(record["paraphrases"]), record["signature"]]
        assert cells == found[record["method"]]
    assert -1 <= whole["results"][1]["threshold"] <= 1
    assert whole["results"][2]["features"] == "products"


def test_other_columns_and_windows(model: Path, development: Path, tmp_path: Path) -> None:
    def turned(rows: Rows) -> str:
        return "t\ts\tl\n" + written([(target, source, label) for label, source, target in rows])

    (tmp_path / "dev.tsv").write_text(turned(DEVELOPMENT), encoding="utf-8")
    words = ("-q", "--model", model, "--development")
    columns = ("--header", "--scol", "s", "--tcol", "1", "--label-column", "-1")
    other = paraphrase(
        *words, tmp_path / "dev.tsv", *columns, "--batch-size", "7", "-", text=turned(TEST)
    )
    assert table(other) == table(paraphrase(*words, development, "-", text=written(TEST)))


def test_languages(model: Path, development: Path, tmp_path: Path) -> None:
    """Both columns in one language, and the sides the other way round."""
    words = ("-q", "--model", model, "--development")
    swapped = [
        [(label, target, source) for label, source, target in r] for r in (DEVELOPMENT, TEST)
    ]
    (tmp_path / "dev.tsv").write_text(written(swapped[0]), encoding="utf-8")
    straight = table(paraphrase(*words, development, "-", text=written(TEST)))
    result = paraphrase(
        *words, tmp_path / "dev.tsv", "--language", "ba,aa", "-", text=written(swapped[1])
    )
    assert table(result)["cosine"][:-1] == straight["cosine"][:-1]
    assert table(result)["cosine"][-1] == straight["cosine"][-1].replace(
        " model:", " language:ba,aa model:"
    )
    same = [[(label, source, source) for label, source, _ in rows] for rows in (DEVELOPMENT, TEST)]
    (tmp_path / "same.tsv").write_text(written(same[0]), encoding="utf-8")
    one = paraphrase(*words, tmp_path / "same.tsv", "--language", "aa", "-", text=written(same[1]))
    assert table(one)["cosine"][:6] == table(one)["majority"][:6]  # all cosines are 1


def test_sentences_of_another_language_get_a_warning(tmp_path: Path) -> None:
    patterns = {"en": "there are {} of them in the house", "de": "davon sind {} in dem alten Haus"}
    rows = [
        (str(n % 2), patterns["en"].format(n), patterns["de"].format(n + n % 2)) for n in range(40)
    ]
    path = tmp_path / "rows.tsv"
    path.write_text(written(rows), encoding="utf-8")
    right = paraphrase("--development", path, path)
    wrong = paraphrase("--language", "en", "--development", path, path)
    assert (right.exit_code, wrong.exit_code) == (0, 0)
    assert "warning" not in right.stderr
    assert f"{path}: the target column does not look like en (--language" in wrong.stderr
    assert "source column" not in wrong.stderr


BAD = {
    "a grade": ("3\ta1\tb1\n", "stdin:91: the label '3' is neither 0 nor 1; --label-column says"),
    "a number": ("1.0\ta1\tb1\n", "stdin:91: the label '1.0' is neither 0 nor 1"),
    "no label": ("\ta1\tb1\n", "stdin:91: the label is empty; --on-error reject"),
    "no sentence": ("1\ta1\t\n", "stdin:91: the target is empty"),
    "two columns": ("1\ta1\n", "stdin:91: 2 columns, expected at least 3 (--tcol 3)"),
}


@pytest.mark.parametrize(("row", "message"), BAD.values(), ids=BAD)
def test_bad_rows(model: Path, development: Path, tmp_path: Path, row: str, message: str) -> None:
    words = ("--model", model, "--development", development)
    failed = paraphrase(*words, "-", text=written(TEST) + row)
    assert (failed.exit_code, failed.stdout) == (65, "")
    assert failed.stderr.startswith(f"bitext-evaluate paraphrase: {message}")
    assert failed.stderr.count("\n") == 1
    reject = ("--on-error", "reject", "--rejects", tmp_path / "bad.tsv")
    kept = paraphrase(*words, *reject, "-", text=written(TEST) + row)
    assert table(kept) == table(paraphrase(*words, "-", text=written(TEST)))
    assert "211 rows, 1 rejected" in kept.stderr
    assert (tmp_path / "bad.tsv").read_text(encoding="utf-8").endswith("\t" + row)


ONE_KIND = {
    "all are": ("1\ta1\tb1\n1\ta2\tb2\n", "stdin: every label is 1; pairs labelled 1 and pairs"),
    "none is": ("0\ta1\tb1\n", "stdin: every label is 0"),
    "nothing": ("", "stdin: no pairs"),
}


@pytest.mark.parametrize(("text", "message"), ONE_KIND.values(), ids=ONE_KIND)
def test_pairs_of_one_kind(model: Path, development: Path, text: str, message: str) -> None:
    failed = paraphrase("--model", model, "--development", development, "-", text=text)
    assert (failed.exit_code, failed.stdout) == (65, "")
    assert message in failed.stderr


def test_too_few_development_pairs(model: Path, tmp_path: Path) -> None:
    (tmp_path / "few.tsv").write_text(written(DEVELOPMENT[:4]), encoding="utf-8")
    words = ("--model", model, "--development", tmp_path / "few.tsv", "-")
    failed = paraphrase(*words, text=written(TEST))
    assert (failed.exit_code, failed.stdout) == (65, "")
    assert "few.tsv: too few pairs" in failed.stderr


def test_choices_that_make_no_sense(model: Path, development: Path) -> None:
    words = ("--model", model, "--development", development, "-")
    for language, code, message in (
        ("xx", 78, "the model's languages are aa and ba, not 'xx'"),
        ("aa,ba,aa", 2, "expected a language of the model"),
    ):
        failed = paraphrase("--language", language, *words, text=written(TEST))
        assert (failed.exit_code, failed.stdout) == (code, "")
        assert message in failed.stderr
    assert paraphrase("-", text="").exit_code == 2
    assert paraphrase("--model", model, "--development", "nowhere.tsv", "-").exit_code == 66
