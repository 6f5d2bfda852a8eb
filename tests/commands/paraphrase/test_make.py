"""bitext-paraphrase make: each reference with the K best translations, and their columns."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from toys import toy_model
from translators import CASES, network, processor

from bitextfilter.commands.paraphrase import main
from bitextfilter.encoders.registry import load_encoder
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.registry import make_rule
from bitextfilter.models.folders import model_digest, writing_folder
from bitextfilter.translation.translator import TRANSLATORS, SearchSettings, load_translator

RANDOM = np.random.default_rng(1)


def sentence(side: str, least: int = 1) -> str:
    return " ".join(f"{side}{n}" for n in RANDOM.integers(0, 12, RANDOM.integers(least, 9)))


ROWS = [(sentence("a"), sentence("b", 3)) for _ in range(10)]
TEXT = "".join(f"{foreign}\t{reference}\n" for foreign, reference in ROWS)
HEAD = ["reference", "translation", "rank", "score", "length"]
HEAD += ["overlap1", "overlap2", "overlap3", "bleu"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text, (name, shape) = processor(), CASES[3]
    path = tmp_path_factory.mktemp("models") / "toy"
    with writing_folder(path) as draft:
        made = network(name, shape, len(text.vocabulary))
        TRANSLATORS.save(draft, (name, TRANSLATORS.settings(name, shape)), made, text)
    return path


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_model(tmp_path_factory.mktemp("models") / "encoder")


def call(folder: Path, *words: object, data: str | bytes = TEXT, code: int = 0) -> Result:
    arguments = ["make", "--translator", folder, "--max-length", 12, *words]
    result = CliRunner().invoke(main, [str(word) for word in arguments], input=data)
    assert result.exit_code == code, result.output
    return result


def rows_of(result: Result) -> list[list[str]]:
    return [line.split("\t") for line in result.stdout.split("\n")[:-1]]


def overlap(one: str, other: str, order: int) -> float:
    """Shared n-grams over those of the shorter side, counted one by one."""
    rows = [text.lower().split() for text in (one, other)]
    grams = [[tuple(r[i : i + order]) for i in range(len(r) - order + 1)] for r in rows]
    left, shared = list(grams[1]), 0
    for gram in grams[0]:
        if gram in left:
            left.remove(gram)
            shared += 1
    return shared / min(map(len, grams)) if all(grams) else 0.0


def bleu(reference: str, candidate: str) -> float:
    """Nakov et al. 2012: one more match and one more n-gram of every order, one more word."""
    one, other = reference.lower().split(), candidate.lower().split()
    product = 1.0
    for order in range(1, 5):
        counts = [
            Counter(tuple(r[i : i + order]) for i in range(len(r) - order + 1))
            for r in (one, other)
        ]
        matches = sum(min(count, counts[0][gram]) for gram, count in counts[1].items())
        product *= ((matches + 1) / (sum(counts[1].values()) + 1)) ** 0.25
    return product * min(1.0, math.exp(1 - (len(one) + 1) / len(other)))


def test_columns_are_what_they_are_called(folder: Path, encoder: Path) -> None:
    result = call(folder, "--n-best", 3, "--model", encoder, "--digits", 6)
    rows = rows_of(result)
    assert {len(row) for row in rows} == {10}
    model, translator = load_encoder(encoder), load_translator(folder)
    foreign = {reference: text for text, reference in ROWS}
    texts = [row[0] for row in rows], [row[1] for row in rows]
    costs = translator.log_probabilities([foreign[text] for text in texts[0]], texts[1])
    one, other = (model.encode(t, n) for t, n in zip(texts, ("aa", "ba"), strict=True))
    for row, cost, left, right in zip(rows, costs, one.astype(float), other.astype(float),
                                      strict=True):  # fmt: skip
        assert float(row[3]) == pytest.approx(cost, abs=1e-4)
        assert row[4] == str(len(row[1].split()))
        for order, cell in enumerate(row[5:8], 1):
            assert float(cell) == pytest.approx(overlap(row[0], row[1], order), abs=1e-6)
        assert float(row[8]) == pytest.approx(bleu(row[0], row[1]), abs=1e-6)
        norms = np.linalg.norm(left) * np.linalg.norm(right)
        assert float(row[9]) == pytest.approx(left @ right / norms, abs=1e-5)
    assert any(0 < float(row[5]) < 1 for row in rows)


@pytest.mark.parametrize(
    ("column", "rule", "values"),
    [
        (5, "ngram-overlap", {"order": 1}),
        (6, "ngram-overlap", {"order": 2}),
        (7, "ngram-overlap", {"order": 3}),
        (8, "sentence-bleu", {}),
        (9, "paraphrase-score", {"model": None}),
    ],
)
def test_columns_are_the_values_of_the_rules(
    folder: Path, encoder: Path, column: int, rule: str, values: dict[str, object]
) -> None:
    rows = rows_of(call(folder, "--n-best", 2, "--model", encoder, "--digits", 9))
    parameters = {name: encoder if value is None else value for name, value in values.items()}
    made = make_rule(rule, parameters)
    expected = made.values(Pairs([r[0] for r in rows], [r[1] for r in rows]))  # type: ignore[attr-defined]
    assert [row[column] for row in rows] == [f"{value:.9f}" for value in expected]


def test_the_k_best_of_each_reference(folder: Path) -> None:
    rows, translator = rows_of(call(folder, "--n-best", 4, "--beam", 6)), load_translator(folder)
    found = translator.translate([row[0] for row in ROWS], SearchSettings(6, 12))
    expected = [
        [reference, best.text, str(rank), f"{best.score:.4f}"]
        for (_, reference), translation in zip(ROWS, found, strict=True)
        for rank, best in enumerate(translation.hypotheses[:4], 1)
    ]
    assert [row[:4] for row in rows] == expected
    assert len(expected) > 2 * len(ROWS)
    plain = rows_of(call(folder))
    assert [row[0] for row in plain] == [row[1] for row in ROWS]
    assert {row[2] for row in plain} == {"1"}


def test_nothing_depends_on_the_window_or_the_threads(folder: Path, encoder: Path) -> None:
    words = ("--n-best", 2, "--model", encoder)
    first = call(folder, *words, "--threads", 1).stdout_bytes
    for batch in (1, 4):
        assert call(folder, *words, "--batch-size", batch, "--threads", 2).stdout_bytes == first


def test_columns_and_header(folder: Path) -> None:
    turned = "".join(f"{reference}\tx\t{foreign}\r\n" for foreign, reference in ROWS)
    data = "\ufeffenglish\tmore\tgerman\r\n" + turned
    result = call(folder, "--header", "--scol", "german", "--tcol", 1, data=data.encode())
    head, *lines = result.stdout_bytes.decode().split("\r\n")
    assert head == "\ufeff" + "\t".join(HEAD)
    assert "\n".join(lines) == call(folder).stdout
    assert call(folder, data=b"\xef\xbb\xbf" + TEXT.encode()).stdout[0] == "\ufeff"
    assert call(folder, "--header", data="a\tb\n").stdout.split() == HEAD


BAD = {
    "one column": b"a1\n",
    "a blank foreign side": b" \tb1\n",
    "a blank reference": b"a1\t\xc2\xad\n",
    "other bytes": b"\xff\tb1\n",
}


@pytest.mark.parametrize("row", BAD.values(), ids=BAD)
def test_bad_rows(folder: Path, tmp_path: Path, row: bytes) -> None:
    data = TEXT.encode() + row
    failed = call(folder, data=data, code=65)
    assert failed.stderr.startswith("bitext-paraphrase make: stdin:11: ")
    assert failed.stderr.count("\n") == 1
    rejects = tmp_path / "bad"
    result = call(folder, "--on-error", "reject", "--rejects", rejects, data=data)
    assert result.stdout == call(folder).stdout
    assert "11 rows, 1 rejected, " in result.stderr
    assert rejects.read_bytes().startswith(b"11\t")


def test_what_is_too_long_is_said(folder: Path, tmp_path: Path) -> None:
    data, manifest = "a1\tb1\n" + "a2 " * 15 + "\tb2", tmp_path / "manifest.json"
    result = call(folder, "--manifest", manifest, data=data)
    assert "line 2: its end (3 subwords) was not read (--max-length)" in result.stderr
    assert "1 overlong" in result.stderr and result.stdout.count("\n") == 2
    facts = json.loads(manifest.read_text())
    assert facts["counts"]["pairs"] == 2 and model_digest(folder) in json.dumps(facts)


def test_models_that_are_none(folder: Path, encoder: Path, tmp_path: Path) -> None:
    assert "no translator" in call(encoder, code=65).stderr
    assert "no model here" in call(tmp_path, code=66).stderr
    assert call(folder, "--model", tmp_path / "nothing", code=66).stdout == ""
    assert "needs a --beam" in call(folder, "--n-best", 4, "--beam", 3, code=2).stderr
