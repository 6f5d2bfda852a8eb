"""bitext-train-combiner and bitext-combine, from labelled rows to one score a row."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from console import invoke, says_one_line, table

from bitextfilter.evaluation.filtering import roc_auc
from bitextfilter.scoring.score_combiner import combiner_of


def rows(count: int = 200, seed: int = 1, missing: float = 0.1) -> list[list[str]]:
    """Rows of two texts, a good score, one that is lower for good rows, and a label."""
    draw = np.random.default_rng(seed)
    found = []
    for number in range(count):
        good = draw.random() < 0.6
        one, other = draw.normal(2 * good), draw.normal(-good)
        second = "" if draw.random() < missing else f"{other:.4f}"
        found.append([f"a{number}", "b", f"{one:.4f}", second, "clean" if good else "noise"])
    return found


def text(lines: list[list[str]], header: bool = True) -> bytes:
    head = [["source", "target", "mlp", "distance", "label"]] if header else []
    return "".join("\t".join(row) + "\n" for row in [*head, *lines]).encode()


TRAIN = ("--header", "--labels", "label", "--higher", "mlp", "--column", "distance")


def train(*words: object, data: bytes, code: int = 0) -> Result:
    pytest.importorskip("sklearn")
    return invoke("bitext-train-combiner", *words, data=data, code=code)


def apply(*words: object, data: bytes, code: int = 0) -> Result:
    return invoke("bitext-combine", *words, data=data, code=code)


@pytest.fixture(scope="module")
def combiner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("combiner") / "c.json"
    train(*TRAIN, "-o", path, "--bootstrap", "50", data=text(rows()))
    return path


def test_the_kind_is_a_setting_too(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    for trees, words in ((5, ("--set", "kind=monotone")), (3, ("--kind", "monotone"))):
        words = (*TRAIN, *words, "--set", f"trees={trees}", "--bootstrap", "2")
        train(*words, "-o", file, data=text(rows(60)))
        made = json.loads(file.read_text())
        assert (made["kind"], len(made["trees"])) == ("monotone", trees)


@pytest.mark.parametrize("kind", ["logistic", "monotone"])
def test_the_table(tmp_path: Path, kind: str) -> None:
    trees = ("--set", "trees=20")[: 2 * (kind == "monotone")]
    words = (*TRAIN, "--kind", kind, *trees, "-o", tmp_path / "c.json", "--bootstrap", "50")
    head, *lines = table(train(*words, data=text(rows(300))))
    assert head[:4] == ["score", "direction", "missing", "rows"]
    found = {line[0]: dict(zip(head, line, strict=True)) for line in lines}
    assert [line["direction"] for line in found.values()] == ["higher", "lower", "-"]
    assert [line["missing"] for line in found.values()] == ["no", "yes", "-"]
    sides = ([float(row[2]) for row in rows(300) if row[4] == name] for name in ("clean", "noise"))
    auc = roc_auc(*map(np.array, sides))
    assert found["mlp"]["auc"] == f"{auc:.4f}" and found["mlp"]["log_loss"] == "-"
    low, auc_all, high = (float(found["combined"][f"auc{end}"]) for end in ("_low", "", "_high"))
    assert auc - 0.02 < low + 0.1 and low < auc_all < high and auc_all > auc - 0.02
    assert 0.1 < float(found["combined"]["log_loss"]) < 0.6
    as_json = json.loads(train(*words, "--json", data=text(rows(300))).stdout)
    assert as_json["kind"] == kind and len(as_json["results"]) == 3
    made = combiner_of((tmp_path / "c.json").read_bytes(), "c")
    assert made.facts["rows"] == 300 and made.facts["auc"][0] == pytest.approx(auc_all, abs=1e-4)


@pytest.mark.parametrize("batch", ["1", "7", "1000"])
def test_a_score_a_row(combiner: Path, batch: str) -> None:
    some = rows(40, seed=2)
    done = apply(combiner, "--header", "--batch-size", batch, data=text(some))
    made = combiner_of(combiner.read_bytes(), "c")
    values = made(np.array([[float(cell or "nan") for cell in row[2:4]] for row in some]))
    lines = done.stdout.splitlines()
    assert lines[0] == "source\ttarget\tmlp\tdistance\tlabel\tcombined"
    expected = ["\t".join([*row, f"{value:.4f}"]) for row, value in zip(some, values, strict=True)]
    assert lines[1:] == expected
    assert "40 rows, 0 rejected, 0 without a score, " in done.stderr


def test_columns_by_number_and_other_names(combiner: Path) -> None:
    some = rows(9, seed=3)
    expected = [line[-1] for line in table(apply(combiner, "--header", data=text(some)))]
    words = (combiner, "--column", "3", "--column", "-2", "--name", "x", "--digits", "4")
    plain = text(some, header=False)
    assert [line[-1] for line in table(apply(*words, data=plain))] == expected[1:]
    assert table(apply(*words, "--header", data=text(some)))[0][-1] == "x"
    said = apply(combiner, data=plain, code=2).stderr
    assert "a column can only be named with --header" in said
    assert "not for mlp, distance" in apply(combiner, "--column", "3", data=plain, code=2).stderr


def test_bad_rows_and_missing_scores_keep_their_place(combiner: Path, tmp_path: Path) -> None:
    data = text([["a", "b", "1", "nan", "x"], ["a", "b", "", "1", "x"], ["a", "b", "x", "1", "y"]])
    data += b"short\t1\n" + text([["a", "b", "1", "", "x"]], header=False)[:-1] + b"\r\n"
    failed = apply(combiner, "--header", data=data, code=65)
    assert "stdin:4: 'x' in column mlp is not a finite number; an empty" in failed.stderr
    rejects = tmp_path / "bad"
    words = ("--header", "--on-error", "reject", "--rejects", rejects)
    done = apply(combiner, *words, data=data)
    cells = [line.split(b"\t")[-1] for line in done.stdout_bytes.splitlines(keepends=True)]
    assert cells[2:5] == [b"\n"] * 3 and cells[5] == cells[1].replace(b"\n", b"\r\n") != b"\r\n"
    assert "5 rows, 2 rejected, 1 without a score" in done.stderr
    assert [line[:1] for line in rejects.read_text().splitlines()] == ["4", "5"]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"clean": "1", "noise": "0"}, []),
        ({"clean": "90", "noise": "10"}, ["--scale", "0,100"]),
        ({"clean": "good", "noise": "bad"}, ["--clean-label", "good"]),
    ],
)
def test_labels(combiner: Path, tmp_path: Path, labels: dict[str, str], words: list[str]) -> None:
    labelled = [[*row[:4], labels[row[4]]] for row in rows()]
    path = tmp_path / "c.json"
    train(*TRAIN, *words, "-o", path, "--bootstrap", "50", data=text(labelled))
    same = path.read_bytes() == combiner.read_bytes()
    assert same == (labels["clean"] != "90")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clean": "90", "noise": "10"}, "is not a number from 0 to 1; --scale LOW,HIGH names"),
        ({"clean": "1", "noise": "x"}, "'x' is not a number from 0 to 1; labels are all numbers"),
        ({"clean": "x", "noise": "1"}, "1' is not a word"),
        ({"clean": "", "noise": "1"}, "the label is empty"),
        ({"clean": "good", "noise": "bad"}, "stdin: 0 good rows, expected at least 10"),
    ],
)
def test_labels_that_cannot_be(tmp_path: Path, change: dict[str, str], message: str) -> None:
    labelled = [[*row[:4], change[row[4]]] for row in rows()]
    done = train(*TRAIN, "-o", tmp_path / "c.json", data=text(labelled), code=65)
    says_one_line(done, 65, message)
    assert list(tmp_path.iterdir()) == []


def test_a_column_without_scores(tmp_path: Path) -> None:
    empty = [[*row[:3], "", row[4]] for row in rows()]
    done = train(*TRAIN, "-o", tmp_path / "c.json", data=text(empty), code=65)
    says_one_line(done, 65, "no row has a score in column distance")


FOREST = ("--kind", "isolation-forest", "--column", "mlp", "--column", "distance", "--header")


@pytest.mark.parametrize("labels", [True, False])
def test_isolation_forest(tmp_path: Path, labels: bool) -> None:
    file, data = tmp_path / "c.json", text(rows())
    more = ["--labels", "label", "--bootstrap", "20"] if labels else []
    words = [*FOREST, "--set", "trees=10", *more]
    *columns, last = table(train(*words, "-o", file, data=data))[1:]
    assert [line[1] for line in columns] == (["higher", "lower"] if labels else ["-", "-"])
    assert (last[4] != "-") == labels and last[7] == "-"
    values = [float(line[-1]) for line in table(apply(file, "--header", data=data))[1:]]
    assert len(values) == 200 and 0 < min(values) < max(values) < 0.8
    if not labels:
        few = train(*words, "-o", tmp_path / "d.json", data=text(rows(9)), code=65)
        assert "stdin: 9 rows, expected at least 10" in few.stderr


def test_without_scikit_learn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, combiner: Path
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    words = [*TRAIN, "-o", tmp_path / "c.json"]
    done = invoke("bitext-train-combiner", *words, data=text(rows()), code=69)
    says_one_line(done, 69, "pip install 'bitextfilter[combiner]'")
    assert list(tmp_path.iterdir()) == []
    apply(combiner, "--header", data=text(rows(3)))


def test_other_files_are_no_combiners(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(b"{}")
    damaged = apply(path, data=b"", code=65)
    says_one_line(damaged, 65, f"{path}: damaged combiner: not a combiner")
    apply(tmp_path / "none", data=b"", code=66)
    apply(path, "-o", path, data=b"", code=2)
