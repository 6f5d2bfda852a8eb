"""bitext-evaluate paraphrase through its streams, on the toy languages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import console
import numpy as np
import pytest
from click.testing import Result
from console import invoke
from toys import sentences, toy_model

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


def paraphrase(*words: object, text: str = "") -> Result:
    line = ("paraphrase", "--threads", 1, "--device", "cpu", "--bootstrap", 20, *words)
    return invoke("bitext-evaluate", *line, data=text)


def table(result: Result) -> dict[str, list[str]]:
    head, *rows = console.table(result)
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
    assert "warning" not in paraphrase("--development", path, path).stderr
    wrong = paraphrase("--language", "en", "--development", path, path)
    assert f"{path}: the target column does not look like en (--language" in wrong.stderr
    assert "source column" not in wrong.stderr
