"""bitext-judge page and report: files in, a page or a table out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bitextfilter.commands.judge import main
from bitextfilter.judge.judgements import Label, labels_text, pair_digest, sample_header


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """Twenty rows, of scores 0 to 0.95; a label is good from 0.4 on, but for one row."""
    rows = [
        f"s{n}\tt{n}\t{n / 20}\t{(7 * n) % 20}\t{n + 1}\t{'near-cut' if n % 2 else 'above:3'}\t5\n"
        for n in range(20)
    ]
    path = tmp_path / "sample.tsv"
    path.write_bytes(sample_header(["mlp", "csls"]) + "".join(rows).encode())
    return path


def labelled(
    folder: Path, name: str, scale: str = "good-bad", flip: int = 10, only: int = 20
) -> Path:
    words = {"good-bad": ("good", "bad"), "0-100": ("90", "20")}[scale]
    labels = [
        Label(n + 1, pair_digest(f"s{n}", f"t{n}"), words[(n < 8) != (n == flip)], scale, name, "")
        for n in range(only)
    ]
    path = folder / f"{name}.tsv"
    path.write_bytes(labels_text(labels))
    return path


def call(*words: str | Path, data: bytes = b"") -> Result:
    return CliRunner().invoke(main, list(map(str, words)), input=data)


def table(result: Result) -> list[dict[str, str]]:
    assert result.exit_code == 0, result.stderr
    head, *lines = (line.split("\t") for line in result.stdout.splitlines())
    return [dict(zip(head, line, strict=True)) for line in lines]


def test_cuts(sample: Path, tmp_path: Path) -> None:
    rows = table(
        call("report", sample, labelled(tmp_path, "anna"), "--column", "mlp", "--cut", "0.4")
    )
    (cut,) = (row for row in rows if "asked" in row["mark"])
    assert (cut["labels"], cut["rows"], cut["precision"], cut["recall"]) == (
        "12",
        "60",
        "0.9167",
        "1.0000",
    )
    assert (
        cut["mark"] == "best f1, asked" and "good:good annotators:1 boot:1000" in cut["signature"]
    )
    assert {row["name"] for row in rows if row["kind"] == "cut"} == {"mlp"}
    (auc,) = (row for row in rows if row["kind"] == "auc")
    assert float(auc["value_low"]) <= float(auc["value"]) == pytest.approx((99 - 2) / 99, abs=1e-4)


def test_json_and_all_columns(sample: Path, tmp_path: Path) -> None:
    words = ("report", sample, labelled(tmp_path, "anna"), labelled(tmp_path, "ben", flip=3))
    found: dict[str, Any] = json.loads(call(*words, "--json").stdout)
    assert {record["name"] for record in found["scores"]} == {"mlp", "csls"}
    assert [record["kind"] for record in found["agreement"]] == ["agreement", "kappa", "alpha"]
    assert found["agreement"][0]["value"] == 0.9
    assert (
        call(*words).stdout
        == call(*words, "--seed", "1").stdout
        != call(*words, "--seed", "2").stdout
    )


def test_disagreements(sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "discuss.tsv"
    table(call("report", sample, labelled(tmp_path, "anna"), labelled(tmp_path, "ben", flip=3),
               "--disagreements", out))  # fmt: skip
    assert out.read_text() == (
        "row\tsource\ttarget\tanna\tben\n4\ts3\tt3\tbad\tgood\n11\ts10\tt10\tbad\tgood\n"
    )


def test_precision_that_no_cut_has(sample: Path, tmp_path: Path) -> None:
    path = labelled(tmp_path, "anna")
    done = call("report", sample, path, "--precision", "0.9")
    assert any("precision>=0.9" in row["mark"] for row in table(done))
    done = call("report", sample, path, "--precision", "0.99")
    assert "warning: no cut has precision>=0.99" in done.stderr
    assert "warning: only 20 rows have a label" in done.stderr


def test_numbers_and_good(sample: Path, tmp_path: Path) -> None:
    path = labelled(tmp_path, "anna", "0-100")
    assert "good:>=50 " in call("report", sample, path).stdout
    done = call("report", sample, path, "--good", "10")
    assert (
        done.exit_code == 65 and "every label is good; label rows of the other kind" in done.stderr
    )
    assert call("report", sample, path, "--good", "101").exit_code == 2


def test_strata_without_a_label(sample: Path, tmp_path: Path) -> None:
    text = labelled(tmp_path, "anna").read_text().splitlines(keepends=True)
    (tmp_path / "odd.tsv").write_text("".join([text[0], *text[2::2]]))
    done = call("report", sample, tmp_path / "odd.tsv")
    assert done.exit_code == 0
    assert "no row of above:3 has a label: its 50 rows are left out" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--column", "x"], 65, "sample.tsv:1: no score column 'x'; it has mlp, csls"),
        (["--precision", "2"], 2, "not a fraction from 0 to 1"),
        (["--good", "fine"], 2, "--good: the label 'fine' is not one of good, bad"),
        (["anna.tsv"], 2, "anna.tsv is named twice"),
        (["--disagreements", "anna.tsv"], 2, "--disagreements needs a file of its own"),
        (["none.tsv"], 66, "none.tsv: cannot be opened"),
    ],
)
def test_mistakes(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    words: list[str], code: int, message: str,
) -> None:  # fmt: skip
    labelled(tmp_path, "anna")
    monkeypatch.chdir(tmp_path)
    done = call("report", "sample.tsv", "anna.tsv", *words)
    assert (done.exit_code, done.stdout) == (code, "")
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_labels_of_another_sample(sample: Path, tmp_path: Path) -> None:
    path = labelled(tmp_path, "anna")
    sample.write_bytes(sample.read_bytes().replace(b"\ns0\t", b"\nother\t"))
    done = call("report", sample, path)
    assert done.exit_code == 65
    assert f"{path}:2: row 1 has another text than in {sample}" in done.stderr


def test_stdin(sample: Path, tmp_path: Path) -> None:
    path = labelled(tmp_path, "anna")
    done = call("report", "-", path, data=sample.read_bytes())
    assert done.stdout == call("report", sample, path).stdout
    assert call("report", "-", "-").exit_code == 2


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*)</script>\n', page)
    assert found is not None
    return json.loads(found[1])


def test_a_page(sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    done = call("page", sample, "-o", out, "--annotator", " anna  b ", "--languages", "en,de")
    assert done.exit_code == 0, done.stderr
    page = out.read_text()
    data = data_of(page)
    assert len(data["rows"]) == 20 and data["annotator"] == "anna b" and data["scores"] == []
    assert '<p class="text" id="source" lang="en" dir="auto">' in page
    assert "<title>sample.tsv</title>" in page and "mlp" not in page
    assert not re.findall(r'(?:src|href)="(?!#)', page)
    assert data_of(call("page", sample, "--show-scores").stdout)["scores"] == ["mlp", "csls"]


def test_a_page_with_labels(sample: Path, tmp_path: Path) -> None:
    path = labelled(tmp_path, "anna", only=2)
    data = data_of(call("page", sample, "--labels", path).stdout)
    assert data["labels"] == {"anna": [[0, "bad", ""], [1, "bad", ""]]}
    done = call("page", sample, "--labels", path, "--scale", "0-100")
    assert done.exit_code == 65 and "its scale is good-bad, that of the page 0-100" in done.stderr
    done = call("page", sample, "--labels", path, "--annotator", "ben")
    assert (
        done.exit_code == 65 and "anna.tsv: no labels by ben; it has those by anna" in done.stderr
    )
    assert call("page", sample, "--labels", sample).exit_code == 2
