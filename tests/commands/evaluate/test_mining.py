"""bitext-evaluate mining through its streams."""

from __future__ import annotations

import json
from pathlib import Path

import console
import numpy as np
import pytest
from click.testing import Result
from console import invoke

from bitextfilter.evaluation.mining import compare_pairs, measure_mining
from bitextfilter.evaluation.result import Bootstrap

ENDS = ["value", "low", "high"]
HEAD = ["measure", "cut", "threshold", *ENDS, "kept", "right", "gold", "signature"]
FAST = ("--bootstrap", "20")
GOLD = [(f"source {i}", f"Ziel {i}") for i in range(20)]


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.tsv"
    path.write_text(written([*GOLD, GOLD[3]]), encoding="utf-8")
    return path


def written(rows: list[tuple[str, ...]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def mining(*words: object, text: bytes | str = b"") -> Result:
    return invoke("bitext-evaluate", "mining", *FAST, *words, data=text)


def table(result: Result) -> dict[tuple[str, str], list[str]]:
    head, *lines = console.table(result)
    assert head == HEAD
    return {(line[1], line[0]): line[2:] for line in lines}


def mined_rows() -> list[tuple[str, str, str]]:
    """Fifteen of the gold pairs and 25 others, with scores of one decimal."""
    generator = np.random.default_rng(2)
    pairs = [*GOLD[:15], *((f"source {i}", f"Ziel {i + 1}") for i in range(25))]
    scores = generator.normal([2.0 * (pair in GOLD) for pair in pairs], 1)
    return [(*pair, f"{score:.1f}") for pair, score in zip(pairs, scores, strict=True)]


@pytest.mark.parametrize("threshold", [None, 1.0])
def test_the_table_has_the_figures_of_the_library(gold: Path, threshold: float | None) -> None:
    rows = mined_rows()
    scores = {(source, target): float(score) for source, target, score in rows}
    words = ("--seed", "4") if threshold is None else ("--seed", "4", "--threshold", "1")
    found = table(mining("-q", *words, gold, text=written(rows)))
    expected = measure_mining(compare_pairs(scores, GOLD), threshold, Bootstrap(20, 4))
    assert list(found) == [(result.cut, result.measure) for result in expected]
    for result in expected:
        at, *figures, kept, right, true, signature = found[result.cut, result.measure]
        assert at == ("-" if result.threshold is None else repr(result.threshold))
        assert figures == [f"{number:.4f}" for number in result.estimate]
        assert (kept, right, true) == (str(result.kept), str(result.right), "20")
        assert signature.startswith(f"{result.measure} = {figures[0]} | n=40 gold:20 cut:")
        assert " boot:20 seed:4 v:" in signature


def test_json_has_what_a_model_keeps(gold: Path) -> None:
    result = mining("-q", "--json", gold, text=written(mined_rows()))
    whole = json.loads(result.stdout)
    best = {r["measure"]: r for r in whole["results"] if r["cut"] == "best"}
    (record,) = whole["recommended"]
    assert record["threshold"] == best["f1"]["threshold"]
    for name in ("precision", "recall", "f1"):
        assert record[name] == best[name]["value"]
    facts = (record["use"], record["goal"], record["rows"], record["file"])
    assert facts == ("mining", "f1", 20, "gold.tsv")
    assert (record["measure"], record["model"], record["noise_share"]) == (None, None, None)
    assert record["command"] == "bitext-evaluate mining --bootstrap 20 -q --json gold.tsv"


def test_json_holds_no_infinity(gold: Path) -> None:
    result = mining("-q", "--json", "--threshold", "inf", gold, text=written(mined_rows()))
    whole = json.loads(result.stdout, parse_constant=pytest.fail)
    given = [record for record in whole["results"] if record["cut"] == "given"]
    assert [(record["threshold"], record["value"]) for record in given] == [(None, 0.0)] * 3


def test_neither_order_nor_windows_nor_worse_copies_count(gold: Path) -> None:
    rows = mined_rows()
    worse = [(source, target, "-9") for source, target, _ in rows]
    expected = table(mining(gold, text=written(rows)))
    assert table(mining("--batch-size", "7", gold, text=written(rows[::-1]))) == expected
    assert table(mining(gold, text=written(worse + rows))) == expected
    assert table(mining(gold, text=written(rows + worse))) == expected


def test_columns_of_either_file(gold: Path, tmp_path: Path) -> None:
    rows = mined_rows()
    other = tmp_path / "other.tsv"
    other.write_text("Deutsch\tEnglish\n" + written([pair[::-1] for pair in GOLD]))
    named = "csls\ten\tde\n" + written([(score, source, target) for source, target, score in rows])
    words = ("--header", "--gold-scol", "English", "--gold-tcol", "Deutsch")
    found = mining(
        "-q", *words, "--column", "csls", "--scol", "en", "--tcol", "3", other, text=named
    )
    assert table(found) == table(mining("-q", gold, text=written(rows)))


def test_texts_are_compared_as_they_stand_without_carriage_returns(gold: Path) -> None:
    rows = [(*GOLD[0], "1"), (GOLD[1][0] + " ", GOLD[1][1], "1"), (GOLD[2][0].upper(), "x", "1")]
    text = b"\xef\xbb\xbf" + written(rows).replace("\n", "\r\n").encode()
    assert table(mining(gold, text=text))["all", "recall"][4:6] == ["3", "1"]
    swapped = written([(score, *pair) for *pair, score in rows]).replace("\n", "\r\n")
    words = ("--scol", "2", "--tcol", "3", "--column", "1")
    assert table(mining(*words, gold, text=swapped))["all", "recall"][4:6] == ["3", "1"]


def test_pairs_without_a_score_are_below_all(gold: Path, tmp_path: Path) -> None:
    rows: list[tuple[str, ...]] = [(*GOLD[0], "0.5"), (*GOLD[1], ""), (*GOLD[2], "nan")]
    result = mining(gold, text=written(rows))
    assert "2 without a score" in result.stderr
    found = table(result)
    assert found["all", "recall"][4:6] == ["3", "3"]
    assert found["best", "f1"][0] == "0.5"
    assert found["best", "f1"][4:6] == ["1", "1"]
    assert table(mining("--threshold", "-9", gold, text=written(rows)))["given", "f1"][4] == "1"
    # A copy with a score gives the pair one.
    again = table(mining(gold, text=written([*rows, (*GOLD[1], "0.1")])))
    assert again["best", "f1"][:1] + again["best", "f1"][4:6] == ["0.1", "2", "2"]
    dropped = tmp_path / "dropped.tsv"
    words = ("--missing", "skip", "--rejects", dropped)
    skipped = table(mining(*words, gold, text=written(rows)))
    assert skipped == table(mining(gold, text=written(rows[:1])))
    assert [line.split("\t")[:2] for line in dropped.read_text().splitlines()] == [
        ["2", "no score"],
        ["3", "no score"],
    ]


def test_bad_rows_of_either_file_can_be_set_aside(tmp_path: Path) -> None:
    path, rejects = tmp_path / "gold.tsv", tmp_path / "rejects.tsv"
    path.write_text("a\tb\nlonely\n")
    words = ("--on-error", "reject", "--rejects", rejects)
    result = mining(*words, path, text="a\tb\t1\n\tb\t1\n")
    assert table(result)["best", "f1"][1] == "1.0000"
    assert "2 rejected" in result.stderr
    assert [line.split("\t")[0] for line in rejects.read_text().splitlines()] == ["2", "2"]


@pytest.mark.parametrize(
    ("rows", "doubt"),
    [
        ([(target, source, "1") for source, target in GOLD], "the columns look swapped"),
        ([("x", "y", "1")], "are texts changed?"),
    ],
)
def test_if_nothing_is_right_there_is_a_warning(
    gold: Path, rows: list[tuple[str, ...]], doubt: str
) -> None:
    result = mining(gold, text=written(rows))
    assert f"no mined pair is in {gold}: {doubt}" in result.stderr
    assert table(result)["all", "f1"][1] == "0.0000"
    assert "warning" not in mining(gold, text=written(mined_rows())).stderr
