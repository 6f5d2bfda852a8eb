"""bitext-judge sample: which rows come out, with which weights, from files, stdin and rejects."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bitextfilter.commands import filter as filtering
from bitextfilter.commands.judge import main

CHOOSE = random.Random(3)
WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrs"]


def text() -> str:
    return " ".join(CHOOSE.choices(WORDS, k=6))


ROWS = [f"{text()}\t{text()}\t{CHOOSE.random():.4f}\t{CHOOSE.random():.4f}\n" for _ in range(1500)]
for _place in range(0, 1500, 10):
    ROWS[_place] = f"one {_place}\t{text()}\t{CHOOSE.random():.4f}\t0.5\n"
HEADER = "source\ttarget\tmlp\tcosine\n"
DATA = "".join([HEADER, *ROWS]).encode()
OPTIONS = ("--header", "--column", "mlp", "--column", "cosine", "--cut", "0.4", "--count", "100")


def call(*words: str | Path, data: bytes = DATA) -> Result:
    return CliRunner().invoke(main, ["sample", *map(str, words)], input=data)


def table(result: Result) -> list[dict[str, str]]:
    assert result.exit_code == 0, result.stderr
    head, *lines = (line.split("\t") for line in result.stdout_bytes.decode().splitlines())
    return [dict(zip(head, line, strict=True)) for line in lines]


def mass(rows: list[dict[str, str]]) -> dict[str, float]:
    weights: dict[str, float] = defaultdict(float)
    for row in rows:
        weights[row["reason"]] += float(row["weight"])
    return {name: round(weight, 2) for name, weight in weights.items()}


def test_rows_are_those_of_the_corpus() -> None:
    rows = table(call(*OPTIONS))
    assert list(rows[0]) == ["source", "target", "mlp", "cosine", "row", "reason", "weight"]
    for row in rows:
        line = "\t".join(row[name] for name in ("source", "target", "mlp", "cosine"))
        assert ROWS[int(row["row"]) - 2] == f"{line}\n"
    assert len({row["source"].strip("0123456789") for row in rows}) == len(rows)
    reasons = {row["reason"].split(":")[0] for row in rows}
    assert reasons == {"disagreement", "near-cut", "below", "above"}
    assert 45 <= sum(row["reason"] == "near-cut" for row in rows) <= 50


def test_weights_sum_to_the_corpus() -> None:
    assert sum(mass(table(call(*OPTIONS))).values()) == pytest.approx(1500, abs=1)


def test_the_same_seed_gives_the_same_sample(tmp_path: Path) -> None:
    path = tmp_path / "scored.tsv"
    path.write_bytes(DATA)
    first = call(*OPTIONS, "-i", path)
    assert first.stdout_bytes == call(*OPTIONS).stdout_bytes
    assert first.stdout_bytes == call(*OPTIONS, "--seed", "1").stdout_bytes
    assert first.stdout_bytes != call(*OPTIONS, "--seed", "2").stdout_bytes


def test_columns_by_number() -> None:
    data = "".join(ROWS).encode()
    rows = table(call("--column", "3", data=data))
    assert list(rows[0])[2] == "score" and {r["reason"][:6] for r in rows} == {"tenth:"}
    assert list(table(call("--column", "3", "--column", "-1", data=data))[0])[2:4] == [
        "column 3",
        "column -1",
    ]


def test_the_order_is_random() -> None:
    lines = [int(row["row"]) for row in table(call(*OPTIONS))]
    assert lines != sorted(lines)
    reasons = [row["reason"] for row in table(call(*OPTIONS))]
    assert len(set(reasons[:10])) > 1


def rejects(folder: Path) -> tuple[Path, Path]:
    """The rejects file of bitext-filter on the corpus, and the rows that it kept."""
    (folder / "all.tsv").write_bytes(DATA)
    words = [
        "--header",
        "--rule",
        "length:minimum=5",
        "--rule",
        "mlp>=0.02",
        "-i",
        folder / "all.tsv",
    ]
    words += ["--rejects", folder / "rejects.tsv", "-o", folder / "kept.tsv"]
    done = CliRunner().invoke(filtering.main, list(map(str, words)))
    assert done.exit_code == 0, done.stderr
    return folder / "rejects.tsv", folder / "kept.tsv"


def test_dropped_rows_within_or_beside_the_input(tmp_path: Path) -> None:
    path, kept = rejects(tmp_path)
    beside = table(call(*OPTIONS, "-i", kept, "--dropped", path))
    within = table(call(*OPTIONS, "--dropped", path))
    for rows in (beside, within):
        ruled = [row for row in rows if row["reason"].startswith("rule:")]
        assert {row["reason"] for row in ruled} == {"rule:length", "rule:mlp"}
        assert mass(rows)["rule:length"] == 150
        for row in ruled:
            assert ROWS[int(row["row"]) - 2].startswith(
                f"{row['source']}\t{row['target']}\t{row['mlp']}"
            )
    assert mass(beside) == mass(within)


def test_rejected_rows_that_are_no_pairs(tmp_path: Path) -> None:
    path = tmp_path / "rejects.tsv"
    path.write_bytes(
        b"1\t1 column, expected\talone\n2\tthe source is empty\t\tb\n3\tlength=1>0\ta\tb\n"
    )
    rows = table(call(*OPTIONS, "--dropped", path))
    (row,) = (row for row in rows if row["reason"].startswith("rule:"))
    assert (row["reason"], row["source"], row["mlp"], row["row"]) == ("rule:length", "a", "", "3")
    path.write_bytes(b"".join(b"1\trule%d\ta\tb\n" % n for n in range(1001)))
    done = call(*OPTIONS, "--dropped", path)
    assert done.exit_code == 65 and f"{path}: more than 1000 rules, such as rule0" in done.stderr
    path.write_bytes(b"1\t2\n")
    done = call(*OPTIONS, "--dropped", path)
    assert done.exit_code == 65 and f"{path}:1: not a rejected row" in done.stderr


def test_rows_without_a_score_are_counted() -> None:
    data = DATA + b"a\tb\t\t1\nc\td\tinf\t1\ne\tf\tx\t1\n"
    done = call(*OPTIONS, data=data)
    assert table(done) == table(call(*OPTIONS))
    assert "1503 rows, 0 rejected, 3 unscored, 100 drawn" in done.stderr


def test_bad_rows_stop_or_are_rejected(tmp_path: Path) -> None:
    data = DATA + b"alone\n \tb\t0.5\t1\n"
    done = call(*OPTIONS, data=data)
    assert done.exit_code == 65 and "stdin:1502: 1 column" in done.stderr
    path = tmp_path / "bad.tsv"
    done = call(*OPTIONS, "--on-error", "reject", "--rejects", path, data=data)
    assert table(done) == table(call(*OPTIONS))
    assert path.read_text().splitlines()[1].startswith("1503\tthe source is empty\t")


@pytest.mark.parametrize(
    ("words", "data", "message"),
    [
        (["--column", "3"], b"", "stdin: no rows"),
        (["--column", "3"], b"a\tb\tx\n", "stdin: no row has a score; --column names"),
    ],
)
def test_nothing_to_draw(words: list[str], data: bytes, message: str) -> None:
    done = call(*words, data=data)
    assert (done.exit_code, done.stdout_bytes) == (65, b"")
    assert message in done.stderr


@pytest.mark.parametrize(
    "words", [["--column", "3", "--column", "3"], ["--count", "0"], ["--near-cut", "2"]]
)
def test_usage(words: list[str]) -> None:
    assert call(*words).exit_code == 2


def test_fewer_rows_than_asked() -> None:
    done = call("--column", "3", data=b"a\tb\t1\nc\td\t2\na\tb\t1\n")
    assert "only 2 rows of distinct text are drawn" in done.stderr
    assert sum(mass(table(done)).values()) == 3


def test_the_manifest_has_the_strata(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    rows = table(call(*OPTIONS, "--manifest", path))
    facts = json.loads(path.read_text())["facts"]
    assert facts["seed"] == 1 and sum(drawn for _, drawn in facts["strata"].values()) == len(rows)
