"""bitext-evaluate neighbours and recovery through their streams, on the toy languages."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import console
import numpy as np
import pytest
from click.testing import Result
from console import invoke
from toys import sentences
from translators import saved

from bitextfilter.commands.evaluate.recovery import _BASELINES, _TRANSLATED, _VECTORS
from bitextfilter.evaluation.recovery import BASELINES, MATRICES, recover
from bitextfilter.models.folders import model_digest
from bitextfilter.scoring.measures import TRANSLATION_MEASURES
from bitextfilter.scoring.model import Model, load
from bitextfilter.similarity.vectors import cosine_matrix
from bitextfilter.translation.translator import load_translator

CORPUS = sentences(150, seed=4)[1]
CORPUS += CORPUS[3:9]  # as near as the first time
QUERIES = [sentences(150, seed=4)[0][place] for place in (3, 40, 77)]


@pytest.fixture(scope="module")
def toy(folder: Path) -> Model:
    return load(folder)


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "queries.txt"
    path.write_text("".join(f"{query}\n" for query in QUERIES), encoding="utf-8")
    return path


def neighbours(*words: object, text: str | bytes = "") -> Result:
    line = ("neighbours", "--threads", 1, "--device", "cpu", *words)
    return invoke("bitext-evaluate", *line, data=text)


def lines(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def table(result: Result, head: str) -> list[list[str]]:
    names, *rows = console.table(result)
    assert " ".join(names) == head
    return rows


def nearest(result: Result) -> list[list[str]]:
    return table(result, "query rank cosine line sentence")


def histogram(result: Result) -> list[list[str]]:
    return table(result, "query low high count")


def cosines(toy: Model) -> list[list[float]]:
    vectors = toy.encode(QUERIES, "aa"), toy.encode(CORPUS, "ba")
    rows: list[list[float]] = cosine_matrix(*vectors).tolist()
    return rows


def test_the_nearest_lines(folder: Path, toy: Model, queries: Path) -> None:
    expected = []
    for query, row in zip(QUERIES, cosines(toy), strict=True):
        order = sorted(range(len(row)), key=lambda line: (-row[line], line))[:10]
        for rank, line in enumerate(order, 1):
            expected.append([query, str(rank), f"{row[line]:.4f}", str(line + 1), CORPUS[line]])
    result = neighbours("--model", folder, "--of", queries, text=lines(CORPUS))
    assert nearest(result) == expected
    assert [row[3] for row in expected[:2]] == ["4", "151"]  # a tie: the earlier first
    assert f"{len(CORPUS)} rows, 0 rejected" in result.stderr


def test_the_histogram(folder: Path, toy: Model, queries: Path) -> None:
    result = neighbours("--model", folder, "--of", queries, "--histogram", text=lines(CORPUS))
    rows = histogram(result)
    assert [row[:3] for row in rows[98:102]] == [
        [QUERIES[0], "0.96", "0.98"],
        [QUERIES[0], "0.98", "1.00"],
        [QUERIES[1], "-1.00", "-0.98"],
        [QUERIES[1], "-0.98", "-0.96"],
    ]
    counts = np.array([int(row[3]) for row in rows]).reshape(3, 100)
    edges = [number / 50 for number in range(-50, 51)]
    for found, row in zip(counts, cosines(toy), strict=True):
        naive = [sum(low <= c < high for c in row) for low, high in pairwise(edges)]
        naive[-1] += row.count(1.0)
        assert found.tolist() == naive
        assert sum(naive) == len(CORPUS)


def counts_by_cosine(toy: Model, k: int) -> list[int]:
    """The number of queries that each line is among the k nearest of."""
    near = [
        line
        for row in cosines(toy)
        for line in sorted(range(len(row)), key=lambda line: (-row[line], line))[:k]
    ]
    return [near.count(line) for line in range(len(CORPUS))]


def test_hubness(folder: Path, toy: Model, queries: Path) -> None:
    words = ("--model", folder, "--of", queries, "--neighbours", "4", "--hubness")
    rows = table(
        neighbours(*words, text=lines(CORPUS)), "similarity skew antihubs largest lines signature"
    )
    assert [row[0] for row in rows] == ["cosine", "csls", "euclidean"]
    counts = counts_by_cosine(toy, 4)
    share = counts.count(0) / len(CORPUS)
    assert rows[0][2:5] == [f"{share:.4f}", str(max(counts)), str(len(CORPUS))]
    facts = f"n=3 k:4 sim:cosine language:aa,ba model:{toy.digest} v:"
    assert rows[0][5].startswith(f"skew = {rows[0][1]} | {facts}")
    whole = json.loads(neighbours("--json", *words, text=lines(CORPUS)).stdout)
    assert [f"{record['skew']:.4f}" for record in whole["results"]] == [row[1] for row in rows]
    assert whole["results"][0]["antihubs"] == share


def test_hubs(folder: Path, toy: Model, queries: Path) -> None:
    words = ("--model", folder, "--of", queries, "--neighbours", "60", "--hubs", "5")
    rows = table(neighbours(*words, text=lines(CORPUS)), "similarity rank queries line sentence")
    counts = counts_by_cosine(toy, 60)
    order = sorted(range(len(CORPUS)), key=lambda line: (-counts[line], line))[:5]
    assert rows[:5] == [
        ["cosine", str(rank), str(counts[line]), str(line + 1), CORPUS[line]]
        for rank, line in enumerate(order, 1)
    ]
    assert [row[:2] for row in rows[5::5]] == [["csls", "1"], ["euclidean", "1"]]


def test_languages_columns_and_header(folder: Path, queries: Path, tmp_path: Path) -> None:
    """The other way round, in a column: line numbers are those of the file."""
    words = ("-q", "--model", folder, "--neighbours", "2")
    straight = nearest(neighbours(*words, "--of", queries, text=lines(CORPUS)))
    turned = tmp_path / "queries.txt"
    turned.write_text(lines([query.replace("a", "b") for query in QUERIES]), encoding="utf-8")
    rows = [f"{n}\t{line.replace('b', 'a')}" for n, line in enumerate(CORPUS)]
    columns = ("--column", "text", "--header", "--language", "ba,aa")
    found = nearest(neighbours(*words, *columns, "--of", turned, text=lines(["n\ttext", *rows])))
    assert [int(row[3]) for row in found[:2]] == [5, 152]
    assert [row[4].replace("a", "b") for row in found[:2]] == [row[4] for row in straight[:2]]
    one = nearest(neighbours(*words, "--language", "aa", "--of", queries, text=lines(QUERIES)))
    assert [row[:5] for row in one[::2]] == [
        [query, "1", "1.0000", str(n), query] for n, query in enumerate(QUERIES, 1)
    ]


def test_fewer_lines_than_neighbours_and_tabs_in_lines(folder: Path, queries: Path) -> None:
    result = neighbours("-q", "--model", folder, "--of", queries, text="b1\tx\nb2\n")
    assert len(nearest(result)) == 6
    assert {"\t".join(row[4:]) for row in nearest(result)} == {"b1\tx", "b2"}


def test_sentences_of_another_language_get_a_warning(tmp_path: Path) -> None:
    texts = {"en": "there are {} of them in the house", "de": "davon sind {} in dem alten Haus"}
    for name, pattern in texts.items():
        (tmp_path / name).write_text(lines([pattern.format(n) for n in range(12)]))
    for queries, file in (("de", "en"), ("en", "de")):
        words = ("--language", "en", "--of", tmp_path / queries, tmp_path / file)
        warned = neighbours(*words).stderr.count(f"{tmp_path / 'de'}: does not look like en")
        assert warned == (queries, file).count("de")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    rows = list(zip(*sentences(60, seed=3), strict=True))
    text = "".join(f"{source}\t{target}\n" for source, target in [*rows, rows[0]])
    path.write_text(text, encoding="utf-8")
    return path


def recovery(*words: object, text: bytes = b"") -> Result:
    line = ("recovery", "--threads", 1, "--device", "cpu", *words)
    return invoke("bitext-evaluate", *line, data=text)


def recovered(result: Result) -> dict[str, list[str]]:
    rows = console.table(result)
    assert rows[0] == ["similarity", "forward", "backward", "mean", "signature"]
    return {row[0]: row[1:] for row in rows[1:]}


def test_names_are_those_there_are() -> None:
    assert (_VECTORS, _BASELINES) == (MATRICES, BASELINES)
    assert set(_TRANSLATED) == {
        name for name, measure in TRANSLATION_MEASURES.items() if measure.translators
    }


def test_the_classifier_is_asked_for(model: Path, pairs: Path) -> None:
    usual = recovery("--model", model, pairs)
    assert list(recovered(usual)) == ["cosine", "csls", "ratio", "distance"]
    assert "mlp" not in usual.stderr
    asked = recovery("--model", model, "--similarity", "mlp", pairs)
    assert "mlp: 60 sources, each with 60 targets" in asked.stderr


@pytest.mark.usefixtures("slow")
def test_how_far_the_classifier_is(
    model: Path, pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--model", model, "--similarity", "mlp", pairs)
    monkeypatch.setattr("bitextfilter.commands.evaluate.recovery._PAIRS", 25 * 60)
    told = recovery(*words)
    lines = [line for line in told.stderr.splitlines() if " of 60" in line]
    for line, count in zip(lines, (25, 50, 60), strict=True):
        assert f": {count} of 60 sources, mlp, " in line
    assert recovered(told) == recovered(recovery(*words, "-q"))


def test_all_similarities(model: Path, pairs: Path) -> None:
    found = recovered(recovery("-q", "--model", model, "--similarity", "all", pairs))
    assert list(found) == [*MATRICES, *BASELINES]
    assert float(found["csls"][2]) < 5 < 90 < float(found["random"][2])
    for name, (forward, backward, mean, signature) in found.items():
        assert float(mean) == pytest.approx((float(forward) + float(backward)) / 2, abs=0.01)
        assert signature.startswith(f"recovery_error = {mean} | n=")
        assert f"sim:{name} " in signature
        assert ("k:10" in signature) == (name in ("csls", "ratio", "distance"))
        assert ("model:" in signature) == (name in MATRICES)


def test_baselines_need_no_model(pairs: Path) -> None:
    words = ("-q", "--model", "nowhere", "--similarity", "levenshtein,random")
    found = recovered(recovery(*words, "--seed", "5", pairs))
    assert "seed:5" in found["random"][3]


def test_columns_and_stdin(model: Path, pairs: Path) -> None:
    lines = [line.split("\t") for line in pairs.read_text(encoding="utf-8").splitlines()]
    text = "x\tba\taa\n" + "".join(f"-\t{target}\t{source}\n" for source, target in lines)
    words = ("-q", "--model", model, "--similarity", "csls")
    columns = ("--header", "--scol", "aa", "--tcol", "2", "-")
    assert recovered(recovery(*words, *columns, text=text.encode())) == recovered(
        recovery(*words, pairs)
    )


def test_translators_both_ways(tmp_path: Path) -> None:
    there, back = saved(tmp_path / "there"), saved(tmp_path / "back", 2, "ba")
    random = np.random.default_rng(1)
    sides = [[f"{letter}{n}" for n in random.permutation(20)[:9]] for letter in "ab"]
    text = "".join(f"{source}\t{target}\n" for source, target in zip(*sides, strict=True))
    words = ("-q", "--similarity", "translation", "--translator", f"{there},{back}", "-")
    found = recovered(recovery(*words, text=text.encode()))["translation"]
    forward, backward = load_translator(there), load_translator(back)
    scores = [
        [
            (forward.log_probabilities([a], [b])[0] + backward.log_probabilities([b], [a])[0]) / 2
            for b in sides[1]
        ]
        for a in sides[0]
    ]
    expected = recover(*sides, np.array(scores, dtype=np.float32))
    assert found[:2] == [f"{expected.forward:.2f}", f"{expected.backward:.2f}"]
    named = ",".join(f"{folder.name}:{model_digest(folder)}" for folder in (there, back))
    assert f"sim:translation translators:{named} " in found[3] and "model:" not in found[3]
