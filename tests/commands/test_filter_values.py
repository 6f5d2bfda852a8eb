"""``bitext-filter`` on texts of one side, and the values of its rules: --one, --emit, --suggest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from console import ROOT, invoke, says_one_line

BOM = b"\xef\xbb\xbf"
TEXTS = (
    b"Wir gehen nach Hause.\n"
    b"12 345\n"
    b"\n"
    b"This sentence was written in English, not in German.\r\n"
    b"Ein Haus\tund ein Garten."
)
PAIRS = (
    b"We are going home.\tWir gehen nach Hause.\t0.98\n"
    b"Read more\tHier finden Sie eine Liste\t0.31\r\n"
    b"12 345\t12 346\tnone\n"
)
VALUES = ("--emit", "--rule", "length-ratio", "--rule", "numbers", "--rule", "letter-words",
          "--rule", "html-tags")  # fmt: skip
NAMES = b"length-ratio\tletter-words.source\tletter-words.target\tnumbers\t"
NAMES += b"html-tags.source\thtml-tags.target"
CLEAN = ROOT / "examples" / "pairs.en-de.tsv"


def filtered(*words: object, data: bytes = PAIRS, code: int = 0) -> Result:
    return invoke("bitext-filter", *words, data=data, code=code)


def test_texts_are_kept_by_the_rules_of_one_side(tmp_path: Path) -> None:
    manifest, rejects = tmp_path / "manifest.json", tmp_path / "rejects.tsv"
    result = filtered("--one", "de", "--manifest", manifest, "--rejects", rejects, data=TEXTS)
    lines = TEXTS.split(b"\n")
    assert result.stdout_bytes == lines[0] + b"\n" + lines[4]
    assert "kept 40.0% of the rows, 45.0% of the words" in result.stderr
    assert "passed over" not in result.stderr
    facts = json.loads(manifest.read_text())["facts"]
    assert (facts["words"], facts["kept words"], facts["languages"]) == ([20], [9], "de")
    assert {"length", "language"} <= set(facts["rules"])
    assert {"similarity", "tags", "length-ratio"}.isdisjoint(facts["rules"])
    gone = [line.split(b"\t") for line in rejects.read_bytes().split(b"\n")[:-1]]
    assert [int(row[0]) for row in gone] == [2, 3, 4]
    assert gone[2][1].startswith(b"language=")
    explained = filtered("--one", "de", "--explain", data=TEXTS).stdout_bytes.split(b"\n")
    verdicts = [line.rstrip(b"\r").rpartition(b"\t")[2] for line in explained]
    assert verdicts == [b"keep", *(row[1] for row in gone), b"keep"]


def test_a_text_may_be_a_column() -> None:
    header = b"a\tb\tmlp\n"
    words = ("--one", "de", "--column", "b", "--header", "--rule", "length:minimum=4")
    result = filtered(*words, "--rule", "mlp>0.5", "--explain", data=header + PAIRS)
    verdicts = [line.rpartition("\t")[2] for line in result.stdout.splitlines()]
    assert verdicts == ["verdict", "keep", "mlp=0.31<=0.5", "length=2<4; mlp=missing"]
    missing = filtered("--one", "de", "--column", "4", data=PAIRS, code=65)
    assert "stdin:1: 3 columns, expected at least 4 (--column 4)" in missing.stderr


@pytest.mark.usefixtures("workers_at_once")
def test_texts_by_shards_and_processes(tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_bytes(TEXTS)
    words = ["--one", "de", "--emit", "--explain", "--rule", "length", "--rule", "empty"]
    expected = filtered(*words, data=TEXTS).stdout_bytes
    for more in (
        ["--threads", "2", "--batch-size", "2"],
        ["--threads", "1", "--resume", str(tmp_path / "resume"), "--shard-rows", "2"],
    ):
        assert filtered("-q", *words, *more, file).stdout_bytes == expected
    parts = [filtered(*words, "--shard", f"{n}/2", file).stdout_bytes for n in (1, 2)]
    assert b"".join(parts) == expected


def test_values_stand_behind_each_row() -> None:
    result = filtered(*VALUES)
    lines = PAIRS.split(b"\n")
    assert result.stdout_bytes.split(b"\n")[:-1] == [
        b"source\ttarget\tcolumn 3\t" + NAMES,
        lines[0] + b"\t1\t4\t4\t0\t1\t1",
        lines[1].rstrip(b"\r") + b"\t2.5\t2\t5\t0\t1\t1\r",
        lines[2] + b"\t1\t0\t0\t1\t1\t1",
    ]
    assert "3 rows, 0 rejected, 2 kept, 1 dropped" in result.stderr


def test_values_below_a_header_and_before_the_verdict() -> None:
    result = filtered(*VALUES, "--header", "--explain", data=BOM + b"x\ty\tz\r\n" + PAIRS)
    head, first, *_ = result.stdout_bytes.split(b"\n")
    assert head == BOM + b"x\ty\tz\t" + NAMES + b"\tverdict\r"
    assert first.endswith(b"\t0.98\t1\t4\t4\t0\t1\t1\tkeep")
    assert b"\t0\t0\t1\t1\t1\tletter-words(source)=0<1" in result.stdout_bytes
    again = filtered(*VALUES, "--header", data=result.stdout_bytes, code=65)
    assert "stdin:1: the header has a column 'html-tags.source' already" in again.stderr


def test_values_of_bad_rows_are_empty_and_rows_are_not_shifted(tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.tsv"
    data = b"x\ty\n<a>\tb\na\tb\tc\nalone\na\t\xff\n"
    words = ("--emit", "--header", "--rule", "html-tags", "--rejects", rejects)
    stopped = filtered(*words, data=data, code=65)
    assert "stdin:3: 3 columns, but the header has 2; --on-error reject" in stopped.stderr
    result = filtered(*words, "--on-error", "reject", data=data)
    assert result.stdout_bytes == (
        b"x\ty\thtml-tags.source\thtml-tags.target\n"
        b"<a>\tb\t0\t1\na\tb\tc\t\t\nalone\t\t\na\t\xff\t\t\n"
    )
    assert [line.split(b"\t")[0] for line in rejects.read_bytes().splitlines()] == [
        b"2", b"3", b"4", b"5"]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "words", "head"),
    [
        (b"", [], b"source\ttarget\thtml-tags.source\thtml-tags.target\n"),
        (b"", ["--one", "en"], b"sentence\thtml-tags\n"),
        (b"a\tb\r\n", ["--one", "en"], b"sentence\tcolumn 2\thtml-tags\r\n"),
        (b"a\tb\n", ["--one", "en", "--column", "2"], b"column 1\tsentence\thtml-tags\n"),
        (BOM + b"1\ta\tb\n", ["--scol", "-2", "--tcol", "-1"],
         BOM + b"column 1\tsource\ttarget\thtml-tags.source\thtml-tags.target\n"),
    ],
)  # fmt: skip
def test_a_file_without_a_header_gets_one(data: bytes, words: list[str], head: bytes) -> None:
    out = filtered("--emit", "--rule", "html-tags", *words, data=data).stdout_bytes
    assert out.split(b"\n")[0] + b"\n" == head


def test_a_side_without_a_model_has_no_value() -> None:
    rule = f"perplexity:target={ROOT / 'tests' / 'filters' / 'one.arpa'},maximum=9"
    lines = filtered("--emit", "--rule", rule).stdout.splitlines()
    assert lines[0].endswith("\tperplexity.source\tperplexity.target")
    cells = [line.split("\t")[3:] for line in lines[1:]]
    assert all(source == "" and float(target) > 0 for source, target in cells)


def test_suggested_rules_keep_their_share_of_the_same_rows(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    words = ("--rule", "default", "--rule", "numbers", "--languages", "en,de", CLEAN)
    result = filtered("--suggest", "90%", *words, "-o", file)
    manifest = tmp_path / "manifest.json"
    rows = CLEAN.read_bytes().count(b"\n")
    again = filtered("--rules", file, CLEAN, "--manifest", manifest)
    facts = json.loads(manifest.read_text())
    assert max(rule["dropped"] for rule in facts["facts"]["rules"].values()) <= rows // 10
    kept = 100 * facts["counts"]["kept"] / rows
    assert f"all rules together keep {kept:.4g} % of the rows" in result.stderr
    assert facts["facts"]["languages"] == "en,de"
    assert again.stdout_bytes.count(b"\n") == facts["counts"]["kept"] > 0
    assert filtered("--suggest", "0.9", *words).stdout_bytes == file.read_bytes()


def test_suggestions_for_texts_leave_bad_rows_aside(tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.tsv"
    words = ("--one", "de", "--rule", "length:minimum=9", "--suggest", "1")
    result = filtered(*words, "--on-error", "reject", "--rejects", rejects, data=b"a b\n\xff\nc\n")
    assert "minimum = 1\nmaximum = 2\n" in result.stdout
    assert rejects.read_bytes() == b"2\tthe line is not UTF-8 at its byte 1\t\xff\n"
    assert "stdin: no clean row" in filtered(*words, data=b"", code=65).stderr


def test_a_rule_of_pairs_in_a_file_is_refused_for_texts(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('languages = ["en", "de"]\n[[rule]]\nname = "similarity"\n')
    said = f"{file}: similarity: compares two sides, and a text has one"
    says_one_line(filtered("--one", "de", "--rules", file, data=TEXTS, code=78), 78, said)


def test_other_included_rules_are_another_run(tmp_path: Path) -> None:
    """What an included file says is part of what a resumed run must have in common."""
    rows, base, file = (tmp_path / name for name in ("rows.tsv", "base.toml", "rules.toml"))
    rows.write_bytes(PAIRS + b"alone\n")
    file.write_text('include = "base.toml"\n')
    words = ("--rules", file, "--resume", tmp_path / "kept", "--shard-rows", 1, rows)
    base.write_text('[[rule]]\nname = "length"\n')
    filtered(*words, "--threads", 1, code=65)
    base.write_text('[[rule]]\nname = "length"\nmaximum = 3\n')
    assert "rules" in filtered(*words, "--threads", 1, code=78).stderr
