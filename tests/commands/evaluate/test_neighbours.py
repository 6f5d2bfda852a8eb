"""bitext-evaluate neighbours through its streams, on the toy languages."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from toys import sentences, toy_model

from bitextfilter.commands.evaluate import main
from bitextfilter.scoring.model import Model, load
from bitextfilter.similarity.vectors import cosine_matrix

CORPUS = sentences(150, seed=4)[1]
CORPUS += CORPUS[3:9]  # as near as the first time
QUERIES = [sentences(150, seed=4)[0][place] for place in (3, 40, 77)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_model(tmp_path_factory.mktemp("models") / "toy", classifier=False)


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return load(folder)


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "queries.txt"
    path.write_text("".join(f"{query}\n" for query in QUERIES), encoding="utf-8")
    return path


def neighbours(*words: str | Path, text: str | bytes = "") -> Result:
    line = ["neighbours", "--threads", "1", "--device", "cpu", *(str(word) for word in words)]
    return CliRunner().invoke(main, line, input=text)


def lines(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def table(result: Result, head: str) -> list[list[str]]:
    assert result.exit_code == 0, result.output
    names, *rows = [line.split("\t") for line in result.stdout.split("\n")[:-1]]
    assert " ".join(names) == head
    return rows


def nearest(result: Result) -> list[list[str]]:
    return table(result, "query rank cosine line sentence")


def histogram(result: Result) -> list[list[str]]:
    return table(result, "query low high count")


def cosines(model: Model) -> list[list[float]]:
    vectors = model.encode(QUERIES, "aa"), model.encode(CORPUS, "ba")
    rows: list[list[float]] = cosine_matrix(*vectors).tolist()
    return rows


def test_the_nearest_lines(folder: Path, model: Model, queries: Path) -> None:
    expected = []
    for query, row in zip(QUERIES, cosines(model), strict=True):
        order = sorted(range(len(row)), key=lambda line: (-row[line], line))[:10]
        for rank, line in enumerate(order, 1):
            expected.append([query, str(rank), f"{row[line]:.4f}", str(line + 1), CORPUS[line]])
    result = neighbours("--model", folder, "--of", queries, text=lines(CORPUS))
    assert nearest(result) == expected
    assert [row[3] for row in expected[:2]] == ["4", "151"]  # a tie: the earlier first
    assert f"{len(CORPUS)} rows, 0 rejected" in result.stderr


def test_the_histogram(folder: Path, model: Model, queries: Path) -> None:
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
    for found, row in zip(counts, cosines(model), strict=True):
        naive = [sum(low <= c < high for c in row) for low, high in pairwise(edges)]
        naive[-1] += row.count(1.0)
        assert found.tolist() == naive
        assert sum(naive) == len(CORPUS)


def counts_by_cosine(model: Model, k: int) -> list[int]:
    """The number of queries that each line is among the k nearest of."""
    near = [
        line
        for row in cosines(model)
        for line in sorted(range(len(row)), key=lambda line: (-row[line], line))[:k]
    ]
    return [near.count(line) for line in range(len(CORPUS))]


def test_hubness(folder: Path, model: Model, queries: Path) -> None:
    words = ("--model", folder, "--of", queries, "--neighbours", "4", "--hubness")
    rows = table(
        neighbours(*words, text=lines(CORPUS)), "similarity skew antihubs largest lines signature"
    )
    assert [row[0] for row in rows] == ["cosine", "csls", "euclidean"]
    counts = counts_by_cosine(model, 4)
    share = counts.count(0) / len(CORPUS)
    assert rows[0][2:5] == [f"{share:.4f}", str(max(counts)), str(len(CORPUS))]
    facts = f"n=3 k:4 sim:cosine language:aa,ba model:{model.digest} v:"
    assert rows[0][5].startswith(f"skew = {rows[0][1]} | {facts}")
    whole = json.loads(neighbours("--json", *words, text=lines(CORPUS)).stdout)
    assert [f"{record['skew']:.4f}" for record in whole["results"]] == [row[1] for row in rows]
    assert whole["results"][0]["antihubs"] == share


def test_lines_that_are_all_near_have_no_skew(folder: Path, queries: Path) -> None:
    words = ("--model", folder, "--of", queries, "--hubness")
    result = neighbours(*words, text="b1\nb2\n")
    assert [line.split("\t")[1:5] for line in result.stdout.split("\n")[1:-1]] == [
        ["-", "0.0000", "3", "2"]
    ] * 3
    whole = json.loads(neighbours("--json", *words, text="b1\nb2\n").stdout)
    assert [record["skew"] for record in whole["results"]] == [None] * 3


def test_hubs(folder: Path, model: Model, queries: Path) -> None:
    words = ("--model", folder, "--of", queries, "--neighbours", "60", "--hubs", "5")
    rows = table(neighbours(*words, text=lines(CORPUS)), "similarity rank queries line sentence")
    counts = counts_by_cosine(model, 60)
    order = sorted(range(len(CORPUS)), key=lambda line: (-counts[line], line))[:5]
    assert rows[:5] == [
        ["cosine", str(rank), str(counts[line]), str(line + 1), CORPUS[line]]
        for rank, line in enumerate(order, 1)
    ]
    assert [row[:2] for row in rows[5::5]] == [["csls", "1"], ["euclidean", "1"]]


@pytest.mark.parametrize("flag", [["--neighbours", "3"], ["--histogram"], ["--hubs", "9"]])
def test_windows_do_not_count(folder: Path, queries: Path, flag: list[str]) -> None:
    words = ("-q", "--model", folder, "--of", queries, *flag)
    whole = neighbours(*words, text=lines(CORPUS))
    assert whole.exit_code == 0
    for size in ("1", "37"):
        part = neighbours(*words, "--batch-size", size, text=lines(CORPUS))
        assert part.stdout == whole.stdout


def test_json_says_the_same(folder: Path, model: Model, queries: Path, tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text(lines(CORPUS), encoding="utf-8")
    words = ("-q", "--model", folder, "--of", queries, path)
    whole = json.loads(neighbours("--json", *words).stdout)
    assert (whole["task"], whole["file"], whole["of"]) == ("neighbours", str(path), str(queries))
    assert (whole["model"], whole["language"]) == (model.digest, ["aa", "ba"])
    assert [
        [r["query"], str(r["rank"]), f"{r['cosine']:.4f}", str(r["line"]), r["sentence"]]
        for r in whole["results"]
    ] == nearest(neighbours(*words))
    counts = json.loads(neighbours("--json", "--histogram", *words).stdout)["results"]
    assert [str(r["count"]) for r in counts] == [
        row[3] for row in histogram(neighbours("--histogram", *words))
    ]


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


def test_bad_lines(folder: Path, queries: Path, tmp_path: Path) -> None:
    words = ("--model", folder, "--of", queries)
    bad = lines(CORPUS).encode() + b"\nb\xff\n"
    failed = neighbours(*words, text=bad)
    assert (failed.exit_code, failed.stdout) == (65, "")
    assert f"stdin:{len(CORPUS) + 1}: the line is empty; --on-error reject" in failed.stderr
    reject = ("--on-error", "reject", "--rejects", tmp_path / "bad.txt")
    assert nearest(neighbours(*words, *reject, text=bad)) == nearest(
        neighbours(*words, text=lines(CORPUS))
    )
    assert (tmp_path / "bad.txt").read_bytes().count(b"\n") == 2
    empty = neighbours(*words, *reject[:2], "--batch-size", "1", text="\n\n")
    assert (empty.exit_code, empty.stdout) == (65, "")
    assert "stdin: no sentences" in empty.stderr


def test_sentences_of_another_language_get_a_warning(tmp_path: Path) -> None:
    texts = {"en": "there are {} of them in the house", "de": "davon sind {} in dem alten Haus"}
    for name, pattern in texts.items():
        (tmp_path / name).write_text(lines([pattern.format(n) for n in range(12)]))
    for queries, file in (("en", "en"), ("de", "en"), ("en", "de")):
        words = ("--language", "en", "--of", tmp_path / queries, tmp_path / file)
        warned = neighbours(*words).stderr.count(f"{tmp_path / 'de'}: does not look like en")
        assert warned == (queries, file).count("de")


BAD_QUERIES = {
    "a tab": ("a1\na2\tb\n", "queries.txt:2: a tab in the sentence; give one sentence a line"),
    "a blank": ("a1\n \n", "queries.txt:2: the line is empty; leave it out"),
    "nothing": ("", "queries.txt: no sentences"),
}


@pytest.mark.parametrize(("text", "message"), BAD_QUERIES.values(), ids=BAD_QUERIES)
def test_bad_queries(folder: Path, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "queries.txt"
    path.write_text(text, encoding="utf-8")
    failed = neighbours("--model", folder, "--of", path, text=lines(CORPUS))
    assert (failed.exit_code, failed.stdout) == (65, "")
    assert message in failed.stderr and failed.stderr.count("\n") == 1


def test_kinds_of_results_exclude_each_other(folder: Path, queries: Path) -> None:
    failed = neighbours("--of", queries, "--hubs", "2", "--histogram")
    assert (failed.exit_code, failed.stdout) == (2, "")
    assert "--histogram and --hubs exclude each other" in failed.stderr


def test_one_stdin(folder: Path, queries: Path) -> None:
    failed = neighbours("--model", folder, "--of", "-", text="a1\n")
    assert (failed.exit_code, failed.stdout) == (2, "")
    assert "only one of QUERIES and FILE can be stdin" in failed.stderr
    missing = neighbours("--model", folder, "--of", queries, "nowhere.txt")
    assert (missing.exit_code, missing.stdout) == (66, "")
