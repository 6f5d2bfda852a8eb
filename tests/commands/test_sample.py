"""bitext-sample: rows of each cluster in turn, in input order, the same by any threads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from click.testing import Result
from console import invoke
from toys import sentences, toy_model

from bitextfilter.commands import rank
from bitextfilter.commands import sample as command
from bitextfilter.corpus.selection import SampleSettings, diverse_order
from bitextfilter.scoring import model as models
from bitextfilter.scoring.model import Model, load
from bitextfilter.search.kmeans import PairVectors

SOURCES, TARGETS = sentences(120, 5, words=12)
SCORES = np.random.default_rng(1).permutation(120) / 200
LINES = [f"{s}\t{t}\t{x}\n" for s, t, x in zip(SOURCES, TARGETS, SCORES, strict=True)]
DATA = "".join(LINES).encode()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("models") / "bare"
    return load(toy_model(folder, classifier=False, background=False))


def call(*words: object, data: bytes = DATA, code: int = 0, main: Any = command.main) -> Result:
    return invoke(main, *words, data=data, code=code)


def written(*words: object, data: bytes = DATA) -> list[str]:
    return call(*words, data=data).stdout.splitlines(keepends=True)


def expected(model: Model, words: int, settings: SampleSettings) -> list[str]:
    """The first rows of the order, while their targets have at most *words* words."""
    with PairVectors(model.encoder.dim) as vectors:
        vectors.add(model.encode(SOURCES, "aa"), model.encode(TARGETS, "ba"))
        order = diverse_order(vectors, SCORES, settings)
    kept = []
    for row in np.argsort(order.places).tolist():
        words -= len(TARGETS[row].split())
        if words < 0 or np.isnan(order.places[row]):
            break
        kept.append(row)
    return [LINES[row] for row in sorted(kept)]


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ([], SampleSettings()),
        (["--clusters", "4", "--seed", "7"], SampleSettings(4, seed=7)),
        (["--drop-similar", "0.8"], SampleSettings(alike=0.8)),
    ],
)
def test_a_sample(model: Model, tmp_path: Path, words: list[str], settings: SampleSettings) -> None:
    given = [tmp_path / f"{name}.npy" for name in "ab"]
    np.save(given[0], model.encode(SOURCES, "aa"))
    np.save(given[1], model.encode(TARGETS, "ba"))
    by_model = ["--model", model.folder, "--top-words", 200, *words]
    found = written(*by_model)
    assert found == expected(model, 200, settings)
    assert written(*by_model, "--threads", 3, "--batch-size", 11) == found
    files = ["--source-vectors", given[0], "--target-vectors", given[1]]
    assert written(*files, "--top-words", 200, *words) == found


def test_one_cluster_is_the_order_of_the_scores(model: Model) -> None:
    words = ("--top-lines", 31)
    ranked = call(*words, "--order", "input", main=rank.main).stdout.splitlines(keepends=True)
    assert written("--model", model.folder, *words, "--clusters", 1) == ranked


def test_semantic_duplicates(model: Model, tmp_path: Path) -> None:
    again = "".join(f"{line[:-1]}9\n" for line in LINES[:3])  # a higher score
    data = ("s\tt\tscore\n" + "".join(LINES) + again).encode()
    words = ("--model", model.folder, "--header", "--column", "score", "--drop-similar", 1)
    aside, facts = tmp_path / "aside", tmp_path / "facts"
    found = written(*words, "--rejects", aside, "--manifest", facts, data=data)
    gone = [line.split("\t", 2) for line in aside.read_text().splitlines()]
    assert {(number, reason) for number, reason, _ in gone} >= {
        (str(n), f"like line {n + 120}") for n in (2, 3, 4)
    }
    assert len(found) == 124 - len(gone) and found[-3:] == again.splitlines(keepends=True)
    counts = json.loads(facts.read_text())["counts"]
    assert counts["similar"] == counts["dropped"] == len(gone)
    assert counts["clusters"] <= 33 and counts["kept"] == len(found) - 1


def test_bad_rows_and_rows_without_a_score(model: Model, tmp_path: Path) -> None:
    data = b"".join([b"\xef\xbb\xbf", LINES[0].encode(), b"only\n", b" \tb1\t1\n", b"a1\tb1\tx"])
    words = ("--model", model.folder, "--top-fraction", 1)
    failed = call(*words, data=data, code=65)
    assert failed.stderr.startswith("bitext-sample: stdin:2: 1 column")
    reject = ("--on-error", "reject", "--rejects", tmp_path / "aside")
    done = call(*words, *reject, data=data)
    assert done.stdout_bytes == b"\xef\xbb\xbf" + LINES[0].encode() + b"a1\tb1\tx"
    assert "4 rows, 2 rejected, 1 unscored, 2 clusters, 2 kept, 0 dropped" in done.stderr
    reasons = [line.split("\t")[:2] for line in (tmp_path / "aside").read_text().splitlines()]
    assert reasons[1] == ["3", "the source is empty"]
    done = call(*words, "--column", 1)
    assert done.stdout_bytes == DATA and "no row has a number in column 1: all" in done.stderr
    call("--model", model.folder, "--top-lines", 100, "--rejects", tmp_path / "rest")
    assert len((tmp_path / "rest").read_text().splitlines()) == 20
    assert " > 100\t" in (tmp_path / "rest").read_text()
    assert call(*words, data=b"").stdout_bytes == b""


def test_vectors_of_other_rows(model: Model, tmp_path: Path) -> None:
    file = tmp_path / "v.npy"
    np.save(file, np.ones((5, 3), np.float32))
    words = ["--source-vectors", file, "--target-vectors", file, "--top-lines", 5]
    assert "5 vectors, and stdin has" in call(*words, code=65).stderr
    said = call(*words, "--model", model.folder, code=2).stderr
    assert "does not go with given vectors" in said


def test_subwords_are_counted_by_the_model_that_is_loaded(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = Mock(side_effect=load)
    monkeypatch.setattr(models, "load", loads)
    rows = written("--model", model.folder, "--top-words", 60, "--count", "subwords")
    targets = [row.split("\t")[1] for row in rows]
    assert 0 < sum(model.processor.lengths(targets, language=model.languages[1])) <= 60
    assert loads.call_count == 1
