"""Scores in a file for others: ``bitext-score --share``, ``bitext-rank --scores``."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from console import ROOT, invoke, says_one_line
from toys import sentences

from bitextfilter import rank, with_scores
from bitextfilter.judge.judgements import pair_digest
from bitextfilter.scoring import shared_scores
from bitextfilter.scoring.score_columns import cell

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

BOM = b"\xef\xbb\xbf"
PAIRS = [f"{s}\t{t}" for s, t in zip(*sentences(40, 7), strict=True)]
PAIRS[5:5] = [*PAIRS[:4], "a1 a2 ä\u2028a3\tb1\rb2 ü", " a1 \tb1 ", PAIRS[3]]
PLAIN = "".join(f"{pair}\tmore {n}\n" for n, pair in enumerate(PAIRS)).encode()
BAD = PLAIN + b"a1\n\tb1\na1\t\xff\na1\t\n\na1\0\tb1\na2\tb2"
INPUTS = {
    "plain": PLAIN, "bad rows": BAD, "header": b"x\ty\tz\n" + BAD, "empty": b"", "one": b"a1\tb1",
    "BOM, header, CRLF": BOM + b"x\ty\tz\r\n" + PLAIN.replace(b"\n", b"\r\n"),
    "BOM, CRLF": BOM + PLAIN.replace(b"\n", b"\r\n"), "all bad": b"a\nb\n",
}  # fmt: skip
CUTS = (
    "--min-score 0.3", "--min-score strict --model MODEL", "--min-score -1 --top-lines 20",
    "--min-score 0.5 --right-share estimate --order input --model MODEL",
    "--min-score 0 --top-words 60 --count-side both",
)  # fmt: skip
NAMED = ("--header", "--scol", "x", "--tcol", "y")


def score(model: Path, file: Path, *words: object, data: bytes = PLAIN) -> bytes:
    """The output of bitext-score, which writes *file*."""
    words = ("-q", "--model", model, "--share", file, "--threads", 1, *words)
    return invoke("bitext-score", *words, data=data).stdout_bytes


@pytest.fixture(scope="module")
def shared(calibrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("shared")
    model = shutil.copytree(calibrated, home / "a model" / "toy")
    score(model, home / "a.parquet", "--on-error", "reject", data=BAD)
    return home / "a.parquet"


@pytest.mark.parametrize("kind", INPUTS)
def test_a_corpus_is_ranked_as_by_its_scored_rows(
    calibrated: Path, tmp_path: Path, kind: str
) -> None:
    data, file = INPUTS[kind], tmp_path / "a.parquet"
    words = ["--on-error", "reject", *(NAMED if "header" in kind else ())]
    scored = score(calibrated, file, *words, data=data)
    plain = ("-q", "--model", calibrated, *words)
    assert scored == invoke("bitext-score", *plain, data=data).stdout_bytes
    for cut in CUTS:
        wanted = ["-q", *words, *cut.replace("MODEL", str(calibrated)).split()]
        expected = invoke("bitext-rank", *wanted, data=scored, code=None)
        wanted = ["-q", *words, *cut.removesuffix("--model MODEL").split(), "--scores", file]
        found = invoke("bitext-rank", *wanted, data=data, code=None)
        assert found.stdout_bytes == expected.stdout_bytes, cut
        assert found.exit_code == expected.exit_code, (cut, found.stderr)


def test_without_rejected_rows_all_rows_are_the_same(calibrated: Path, shared: Path) -> None:
    scored = invoke("bitext-score", "-q", "--model", calibrated, data=PLAIN).stdout_bytes
    for cut in ("", "--order input", "--fold 2/3", "--top-fraction 0.4", "--sample 9 --seed 3"):
        words = ("-q", *cut.split())
        found = invoke("bitext-rank", *words, "--scores", shared, data=PLAIN)
        assert found.stdout_bytes == invoke("bitext-rank", *words, data=scored).stdout_bytes


def test_the_file_is_the_same_however_it_is_made(calibrated: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.tsv").write_bytes(PLAIN)
    (tmp_path / "back.tsv").write_bytes(b"\n".join(PLAIN.split(b"\n")[-2::-1]))
    for name, words in {
        "plain": [], "small": ["--batch-size", 3, "--threads", 2],
        "explained": ["--explain", "--scol", "-3", "--tcol", "-2"],
        "resumed": ["--resume", tmp_path / "kept", "--shard-rows", 7],
    }.items():  # fmt: skip
        score(calibrated, tmp_path / f"{name}.parquet", "-i", tmp_path / "rows.tsv", *words)
    score(calibrated, tmp_path / "back.parquet", "-i", tmp_path / "back.tsv")
    assert len({path.read_bytes() for path in tmp_path.glob("*.parquet")}) == 1
    for n in (1, 2):
        part = ("-i", tmp_path / "rows.tsv", "--shard", f"{n}/2")
        score(calibrated, tmp_path / f"part{n}.parquet", *part)
    whole, both = ([w for p in paths for w in ("--scores", tmp_path / f"{p}.parquet")]
                   for paths in (["plain"], ["part1", "part2"]))  # fmt: skip
    expected = invoke("bitext-rank", *whole, data=PLAIN).stdout_bytes
    assert invoke("bitext-rank", *both, data=PLAIN).stdout_bytes == expected


def test_the_page_tells_enough_to_read_it(shared: Path, calibrated: Path, tmp_path: Path) -> None:
    """Its own lines give each row its score, with pyarrow alone."""
    lines = (ROOT / "docs/shared-scores.md").read_text("utf-8").partition("```python\n")[2]
    known: dict[str, Any] = {}
    exec(lines.partition("```")[0], known)
    rows = tmp_path / "rows.tsv"
    rows.write_bytes(PLAIN.replace(b"\n", b"\r\n") + b"a9\tnew\n")
    found = [score for _, score in known["scored_rows"](shared, rows)]
    words = ("-q", "--model", calibrated, "--score-only")
    expected = invoke("bitext-score", *words, data=PLAIN).stdout.split()
    assert [f"{score:.4f}" for score in found[:-1]] == expected and found[-1] is None
    facts = json.loads(pq.read_schema(shared).metadata[b"bitextfilter-scores"])
    assert {name: facts[name] for name in ("format", "digits", "rows", "languages", "model")} == {
        "format": 1, "digits": 4, "rows": len(PAIRS) + 1, "languages": ["aa", "ba"], "model": "toy",
    }  # fmt: skip
    assert [cut["name"] for cut in facts["cuts"]] == ["lenient", "balanced", "strict"]
    assert "a model" not in json.dumps(facts)
    pairs = pq.read_table(shared)["pair"].to_pylist()
    assert pairs == sorted(set(pairs)) and pair_digest("a2", "b2") in [f"{n:016x}" for n in pairs]


@pytest.mark.parametrize("digits", [0, 1, 4, 7, 9])
def test_a_score_is_read_back_as_it_was_printed(digits: int) -> None:
    chance = np.random.default_rng(digits)
    values = [chance.normal(0, 10.0**power, 2000).astype(np.float32) for power in (-9, -2, 0, 2, 6)]
    odd = np.array([0.5, 0.00005, 1.5, -0.0, np.inf, -np.inf, np.nan, 3.4e38], np.float32)
    for value in np.concatenate([*values, odd]).tolist():
        text = cell(value, digits)
        assert cell(float(np.float32(float(text))), digits) == text


def test_rows_that_it_lacks(shared: Path, tmp_path: Path) -> None:
    data = b"a9\tnew\n" + PLAIN
    words = ("--scores", shared, "--min-score", "0", "--rejects", tmp_path / "rejects")
    result = invoke("bitext-rank", *words, data=data)
    assert f"warning: 1 of {len(PAIRS) + 1} rows have no score in {shared}\n" in result.stderr
    assert (tmp_path / "rejects").read_bytes() == b"1\tno score\ta9\tnew\t\n"
    last = invoke("bitext-rank", "-q", "--scores", shared, data=data).stdout_bytes
    assert last.endswith(b"\na9\tnew\t\n")
    exchanged = invoke("bitext-rank", "--scores", shared, "--scol", 2, "--tcol", 1, data=PLAIN)
    assert "changed texts, or source and target exchanged?" in exchanged.stderr
    words = ("--scores", shared, "--min-score", "0")
    says_one_line(invoke("bitext-rank", *words, data=b"a1\n", code=65), 65, "stdin:1: 1 column")


def test_several_measures(calibrated: Path, tmp_path: Path) -> None:
    file, judge = tmp_path / "a.parquet", tmp_path / "judge"
    judge.write_text("#!/bin/sh\nwhile IFS= read -r line; do echo ${#line}; done\n")
    judge.chmod(0o755)
    program = ("--scorer-command", judge, "--scorer-name", "size", "--digits", 2)
    score(calibrated, file, "--similarity", "csls,size", *program)
    facts = json.loads(pq.read_metadata(file).metadata[b"bitextfilter-scores"])
    assert facts["settings"] == {"scorer": "judge"} and facts["measures"] == ["csls", "size"]
    for name in ("csls", "size"):
        words = ("-q", "--model", calibrated, "--similarity", name)
        words = words if name == "csls" else ("-q", *program)
        scored = invoke("bitext-score", *words, "--digits", 2, data=PLAIN).stdout_bytes
        found = invoke(
            "bitext-rank", "-q", "--scores", file, "--column", name, data=PLAIN
        ).stdout_bytes
        assert found == invoke("bitext-rank", "-q", data=scored).stdout_bytes
    message = "has scores by csls, size: name one"
    says_one_line(invoke("bitext-rank", "--scores", file, data=PLAIN, code=78), 78, message)
    words = ("--scores", file, "--column", "size", "--min-score", "balanced")
    says_one_line(invoke("bitext-rank", *words, code=78), 78, "has no balanced cut of size")


@pytest.mark.parametrize(
    ("command", "words", "code", "message"),
    [
        ("score", "--share a.tsv", 2, "the name must end in .parquet"),
        ("score", "--share a.parquet --score-only", 2, "which --share needs"),
        ("score", "--share a.parquet -o a.parquet", 2, "a file of its own"),
        ("score", "--share a.parquet --similarity csls --neighbours input", 2, "not depend on"),
        ("score", "--share a.parquet --source-vectors b --target-vectors c", 2, "given vectors"),
        ("score", "--share a.parquet --header --scol x --shard 2/2", 2, "the numbers of the col"),
        ("rank", "--scores FILE --column 3", 2, "--column is the name of a measure"),
        ("rank", "--scores FILE --column mlp", 78, "no scores by mlp, only by probability"),
        ("rank", "--scores FILE --similarity mlp", 2, "--column names the measure of --scores"),
        ("rank", "--scores FILE --model en-de", 2, "--model is for --count subwords"),
        ("rank", "--scores FILE --languages en,de", 2, "--languages is for --count subwords"),
        ("rank", "--scores no.parquet", 66, "no.parquet"),
    ],
)
def test_refusals(shared: Path, command: str, words: str, code: int, message: str) -> None:
    line = words.replace("FILE", str(shared)).split()
    says_one_line(invoke(f"bitext-{command}", *line, data=PLAIN, code=code), code, message)


def _rewritten(path: Path, change: Callable[..., object], **facts: object) -> None:
    table = pq.read_table(path)
    known = json.loads(table.schema.metadata[b"bitextfilter-scores"])
    text = json.dumps({**known, **facts})
    pq.write_table(change(table).replace_schema_metadata({"bitextfilter-scores": text}), path)


HUGE = {"name": "", "measure": "", "threshold": 10**400, "right": 1, "wrong": 1, "basis": ""}
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (lambda p: p.write_bytes(p.read_bytes()[:-9]), "cannot be read as Parquet"),
    "a bit": (lambda p: p.write_bytes(p.read_bytes().replace(b"\x05", b"\x06", 9)), ""),
    "rows": (lambda p: p.write_bytes(PLAIN), "cannot be read as Parquet"),
    "other": (
        lambda p: pq.write_table(pa.table({"a": [1]}), p),
        "not a file of bitext-",
    ),
    "newer": (lambda p: _rewritten(p, lambda t: t, format=2), "format 2 is newer than 1"),
    "facts": (lambda p: _rewritten(p, lambda t: t, measures=3), "the facts of its scores:"),
    "cuts": (lambda p: _rewritten(p, lambda t: t, cuts=[{"a": 1}]), "the facts of its scores:"),
    "digits": (lambda p: _rewritten(p, lambda t: t, digits=99), "invalid digits"),
    "huge": (lambda p: _rewritten(p, lambda t: t, cuts=[HUGE]), "the facts of its scores:"),
    "order": (lambda p: _rewritten(p, lambda t: t[::-1]), "its pairs are not in order"),
    "column": (lambda p: _rewritten(p, lambda t: t.drop(["pair"])), "column 'pair' is missing"),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_file(shared: Path, tmp_path: Path, kind: str) -> None:
    damage, message = DAMAGES[kind]
    path = Path(shutil.copy(shared, tmp_path / "a.parquet"))
    damage(path)
    result = invoke("bitext-rank", "--scores", path, data=PLAIN, code=65)
    says_one_line(result, 65, f"{path}: ", message)


def test_files_of_other_settings_do_not_go_together(shared: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(shared, tmp_path / "a.parquet"))
    _rewritten(path, lambda table: table, digest="other")
    result = invoke("bitext-rank", "--scores", shared, "--scores", path, data=PLAIN, code=65)
    says_one_line(result, 65, f"{path}: its scores are of another model or other settings")


def test_large_files_wait_on_the_disk(
    calibrated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = "".join(f"a{n}\tb{n % 7}\n" for n in range(300)).encode()
    score(calibrated, tmp_path / "a.parquet", data=data)
    monkeypatch.setattr(shared_scores, "_MEMORY", 1)
    monkeypatch.setattr(shared_scores, "GROUP_ROWS", 100)
    score(calibrated, tmp_path / "b.parquet", "--batch-size", 9, data=data * 2)
    one, other = (pq.ParquetFile(tmp_path / f"{name}.parquet") for name in "ab")
    assert one.read().equals(other.read())
    assert [other.metadata.row_group(n).num_rows for n in range(3)] == [100, 100, 100]


def test_in_python(shared: Path) -> None:
    pairs = [tuple(line.split("\t")) for line in PLAIN.decode().split("\n")[:-1]]
    expected = invoke("bitext-rank", "-q", "--scores", shared, data=PLAIN).stdout
    found = rank(with_scores(pairs, shared))
    assert "".join("{}\t{}\t{}\t{:.4f}\n".format(*row) for row in found) == expected
    assert list(with_scores([["x", "y"]], str(shared), "probability")) == [("x", "y", None)]


def test_pyarrow_is_asked_for_before_rows_are_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = invoke("bitext-score", "--share", tmp_path / "a.parquet", data=PLAIN, code=69)
    says_one_line(result, 69, "need pyarrow")
