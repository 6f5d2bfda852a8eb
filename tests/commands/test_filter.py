"""``bitext-filter``: what is kept, and what is said of it; texts of one side; values of rules."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import Result
from console import ROOT, invoke, says_one_line

ROWS = (
    b"We are going home.\tWir gehen nach Hause.\t0.98\n"
    b"Read more\tHier finden Sie eine Liste aller unserer Angebote im Sommer\t0.31\r\n"
    b"12 345\t12 345\tnone\n"
    b"\tleer\t0.7"
)
RULES = ("--rule", "length-ratio:maximum=4", "--rule", "letter-words")


def filtered(*words: object, data: bytes = ROWS, code: int = 0) -> Result:
    return invoke("bitext-filter", *words, data=data, code=code)


def test_kept_rows_are_as_they_came() -> None:
    result = filtered(*RULES)
    assert result.stdout_bytes == ROWS.split(b"Read")[0]
    assert "length-ratio        1        1" in result.stderr
    assert "letter-words        2        2" in result.stderr
    assert "kept 25.0% of the rows, 50.0% and 23.5% of the words" in result.stderr
    assert "4 rows, 0 rejected, 1 kept, 3 dropped" in result.stderr


def test_explained_rows_are_all_there() -> None:
    result = filtered(*RULES, "--explain")
    lines = result.stdout_bytes.split(b"\n")
    assert [line.rstrip(b"\r").split(b"\t")[-1].decode() for line in lines] == [
        "keep",
        "length-ratio=5>4",
        "letter-words(source)=0<1 letter-words(target)=0<1",
        "letter-words(source)=0<1",
    ]
    assert b"Sommer\t0.31\tlength-ratio=5>4\r\n" in result.stdout_bytes


@pytest.mark.parametrize("source", ["12\u2028", "7" * 3000, "\x01" * 2000 + "7"])
def test_rejects_and_explain_give_the_same_reason(tmp_path: Path, source: str) -> None:
    rejects = tmp_path / "rejects.tsv"
    words = ("--rule", "regular-expression:pattern=.*")
    data = f"{source}\tzwei\n".encode()
    filtered(*words, "--rejects", rejects, data=data)
    reason = rejects.read_bytes().split(b"\t")[1]
    assert reason.isascii() or b" \xe2\x80\xa6 " in reason
    assert filtered(*words, "--explain", data=data).stdout_bytes.split(b"\t")[2] == reason + b"\n"


def test_what_goes_is_kept_with_its_reasons(tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.tsv"
    data = ROWS + b"\nonly one column\n"
    result = filtered(*RULES, "--on-error", "reject", "--rejects", rejects, data=data)
    lines = [line.split(b"\t") for line in rejects.read_bytes().split(b"\n")[:-1]]
    assert [(int(line[0]), line[1].decode()) for line in lines] == [
        (2, "length-ratio=5>4"),
        (3, "letter-words(source)=0<1 letter-words(target)=0<1"),
        (4, "letter-words(source)=0<1"),
        (5, "1 column, expected at least 2 (--tcol 2)"),
    ]
    assert b"\t".join(lines[0][2:]) == ROWS.split(b"\n")[1].rstrip(b"\r")
    assert "5 rows, 1 rejected, 1 kept, 3 dropped" in result.stderr


def test_scores_are_read_from_columns() -> None:
    assert filtered("--rule", "score>=0.7").stdout_bytes.count(b"\n") == 1
    assert filtered("--rule", "-1>=0.7", "--rule", "3<0.9").stdout_bytes == b"\tleer\t0.7"
    data = b"a\tb\tmlp\n" + ROWS
    result = filtered("--header", "--rule", "mlp>0.7", "--explain", data=data)
    assert result.stdout_bytes.startswith(b"a\tb\tmlp\tverdict\n")
    assert b"none\tmlp=missing\n" in result.stdout_bytes
    assert result.stdout_bytes.endswith(b"0.7\tmlp=0.7<=0.7")


@pytest.mark.gate(0)
@pytest.mark.usefixtures("workers_at_once")
def test_processes_and_windows_change_nothing(tmp_path: Path) -> None:
    data = ROWS + b"\n" + ROWS + b"\n"
    expected = filtered(*RULES, "--explain", "--threads", 1, data=data).stdout_bytes
    (tmp_path / "rows.tsv").write_bytes(data)
    words = [*RULES, "--explain", "--threads", "3", "--batch-size", "1"]
    done = filtered(*words, "-i", tmp_path / "rows.tsv")
    assert done.stdout_bytes == expected
    assert "letter-words        4        4" in done.stderr


def test_a_file_of_rules(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(
        'languages = ["en", "de"]\n[[rule]]\nname = "length"\nmaximum = 3\n'
        '[[rule]]\nname = "column"\ncolumn = "3"\nminimum = 0.5\n[[rule]]\nname = "language"\n'
    )
    result = filtered("--rules", file, "--explain")
    verdicts = [line.rstrip().split(b"\t")[-1] for line in result.stdout_bytes.split(b"\n")]
    assert verdicts == [
        b"length(source)=4>3 length(target)=4>3",
        b"length(target)=10>3; column 3=0.31<0.5",
        b"column 3=missing",
        b"length(source)=0<1",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name =", "not TOML"),
        ("[[rule]]\nname = 'lenght'", "'lenght'; did you mean length?"),
        ("[[rule]]\nmaximum = 3", "has no name"),
        ("[[rule]]\nname = 'length'\nmaximum = 'long'", "maximum=long is not a number"),
        ("[[rule]]\nname = 'length'\nmost = 3", "no parameter 'most'"),
        ("rules = []", "'rules' is none of"),
        ("rule = 3", "rules are tables"),
        ("languages = 'en'", "languages are two"),
        ("without = 'length'", "without is a list of names"),
        ("without = ['length']", "no rule is called 'length'"),
        ("default = true\nwithout = ['numbers']", "no rule is called 'numbers'"),
        ("default = 1", "default is true or false"),
        ("[[rule]]\nname = 'language'", "needs to know the languages"),
        ("[[rule]]\nname = 'length'\n[[rule]]\nname = 'length'", "length is given twice"),
    ],
)
def test_a_file_that_makes_no_sense(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text)
    says_one_line(filtered("--rules", file, code=78), 78, said, str(file))


def test_default_rules_that_need_languages_are_passed_over_and_that_is_said(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    result = filtered("--manifest", manifest)
    assert "not applied: script: needs to know the languages" in result.stderr
    assert re.search(r"\nbitext-filter: language +not applied\n", result.stderr)
    facts = json.loads(manifest.read_text())["facts"]
    assert "language" not in facts["rules"]
    assert facts["languages"] is None
    known = filtered("--languages", "en,de", "--manifest", manifest)
    assert "not applied" not in known.stderr
    facts = json.loads(manifest.read_text())["facts"]
    assert facts["rules"]["language"]["dropped"] >= 0
    assert facts["words"] == [8, 17]


def test_a_language_that_the_identifier_does_not_know_is_said_though_quiet() -> None:
    said = "not applied: language(target): ngrams cannot identify the language 'bho'"
    loud, quiet = (filtered(*words, "--languages", "en,bho") for words in ([], ["-q"]))
    assert quiet.stderr == f"bitext-filter: {said}\n"
    assert said in loud.stderr
    assert re.search(r"\nbitext-filter: language\(target\) +not applied\n", loud.stderr)


def test_a_model_knows_its_languages() -> None:
    filtered("--model", "en-de", "--rule", "language", data=b"a\tb\n")


def test_a_rule_may_be_left_out() -> None:
    everything = filtered("--explain", "--rule", "default")
    less = filtered("--explain", "--rule", "default", "--without", "letter-words")
    assert "letter-words" in everything.stdout
    assert "letter-words" not in less.stdout
    assert "letter-words" not in less.stderr


def test_a_default_rule_that_is_asked_for_counts_once() -> None:
    result = filtered("--rule", "default", "--rule", "letter-words", "--languages", "en,de")
    assert result.stderr.count("letter-words") == 1


LONG = b"We two went there by car today\tnur wir\n"
"""Only the default length-ratio drops it."""


def test_a_rule_that_is_asked_for_takes_the_place_of_the_default_one(tmp_path: Path) -> None:
    assert "length-ratio=2.64>2.5" in filtered("--explain", data=LONG).stdout
    loose = "length-ratio:count=tokens,maximum=4"
    for words in (["default", loose], [loose, "default"]):
        result = filtered(*(part for word in words for part in ("--rule", word)), data=LONG)
        assert result.stdout_bytes == LONG
        assert result.stderr.count("length-ratio") == 1
    file = tmp_path / "rules.toml"
    file.write_text('default = true\n[[rule]]\nname="length-ratio"\ncount="tokens"\nmaximum=4\n')
    assert filtered("--rules", file, data=LONG).stdout_bytes == LONG
    assert filtered("--rules", file, "--rule", "default", data=LONG).stdout_bytes == LONG


def test_without_leaves_a_rule_that_is_asked_for(tmp_path: Path) -> None:
    words = ("--rule", "default", "--without", "length-ratio", "--explain")
    assert "keep" in filtered(*words, data=LONG).stdout
    strict = "length-ratio:count=tokens,maximum=2"
    assert "length-ratio=3.5>2" in filtered(*words, "--rule", strict, data=LONG).stdout
    file = tmp_path / "rules.toml"
    table = '[[rule]]\nname="length-ratio"\ncount="tokens"\nmaximum=2\n'
    file.write_text(f'default = true\nwithout = ["length-ratio"]\n{table}')
    assert "length-ratio=3.5>2" in filtered("--rules", file, "--explain", data=LONG).stdout
    assert filtered("--rules", file, "--without", "length-ratio", data=LONG).stdout_bytes == LONG


def test_a_column_that_no_row_has_is_warned_of(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    result = filtered("--rule", "9>=0.5", "--manifest", manifest)
    assert result.stdout == ""
    assert "warning: column 9 drops every row" in result.stderr
    (rule,) = json.loads(manifest.read_text())["facts"]["rules"].values()
    assert rule["rule"] == "column:minimum=0.5,maximum=none,column=9,exclusive=no"


def test_the_list_of_rules() -> None:
    from bitextfilter.filters.registry import RULES

    text = filtered("--list").stdout
    heads = [line for line in text.splitlines() if line.startswith("### ")]
    assert [head.removeprefix("### ") for head in heads] == list(RULES)


def test_the_list_of_some_rules_and_a_name_that_no_rule_has() -> None:
    text = filtered("--list", "numbers", "length").stdout
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "### numbers",
        "### length",
    ]
    said = "--list: no rule is called 'lenght'; did you mean length?"
    says_one_line(filtered("--list", "lenght", code=2), 2, said)


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


def valued(*words: object, data: bytes = PAIRS, code: int = 0) -> Result:
    return invoke("bitext-filter", *words, data=data, code=code)


def test_texts_are_kept_by_the_rules_of_one_side(tmp_path: Path) -> None:
    manifest, rejects = tmp_path / "manifest.json", tmp_path / "rejects.tsv"
    result = valued("--one", "de", "--manifest", manifest, "--rejects", rejects, data=TEXTS)
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
    explained = valued("--one", "de", "--explain", data=TEXTS).stdout_bytes.split(b"\n")
    verdicts = [line.rstrip(b"\r").rpartition(b"\t")[2] for line in explained]
    assert verdicts == [b"keep", *(row[1] for row in gone), b"keep"]


def test_a_text_may_be_a_column() -> None:
    header = b"a\tb\tmlp\n"
    words = ("--one", "de", "--column", "b", "--header", "--rule", "length:minimum=4")
    result = valued(*words, "--rule", "mlp>0.5", "--explain", data=header + PAIRS)
    verdicts = [line.rpartition("\t")[2] for line in result.stdout.splitlines()]
    assert verdicts == ["verdict", "keep", "mlp=0.31<=0.5", "length=2<4; mlp=missing"]
    missing = valued("--one", "de", "--column", "4", data=PAIRS, code=65)
    assert "stdin:1: 3 columns, expected at least 4 (--column 4)" in missing.stderr


@pytest.mark.usefixtures("workers_at_once")
def test_texts_by_shards_and_processes(tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_bytes(TEXTS)
    words = ["--one", "de", "--emit", "--explain", "--rule", "length", "--rule", "empty"]
    expected = valued(*words, data=TEXTS).stdout_bytes
    for more in (
        ["--threads", "2", "--batch-size", "2"],
        ["--threads", "1", "--resume", str(tmp_path / "resume"), "--shard-rows", "2"],
    ):
        assert valued("-q", *words, *more, file).stdout_bytes == expected
    parts = [valued(*words, "--shard", f"{n}/2", file).stdout_bytes for n in (1, 2)]
    assert b"".join(parts) == expected


def test_values_stand_behind_each_row() -> None:
    result = valued(*VALUES)
    lines = PAIRS.split(b"\n")
    assert result.stdout_bytes.split(b"\n")[:-1] == [
        b"source\ttarget\tcolumn 3\t" + NAMES,
        lines[0] + b"\t1\t4\t4\t0\t1\t1",
        lines[1].rstrip(b"\r") + b"\t2.5\t2\t5\t0\t1\t1\r",
        lines[2] + b"\t1\t0\t0\t1\t1\t1",
    ]
    assert "3 rows, 0 rejected, 2 kept, 1 dropped" in result.stderr


def test_values_below_a_header_and_before_the_verdict() -> None:
    result = valued(*VALUES, "--header", "--explain", data=BOM + b"x\ty\tz\r\n" + PAIRS)
    head, first, *_ = result.stdout_bytes.split(b"\n")
    assert head == BOM + b"x\ty\tz\t" + NAMES + b"\tverdict\r"
    assert first.endswith(b"\t0.98\t1\t4\t4\t0\t1\t1\tkeep")
    assert b"\t0\t0\t1\t1\t1\tletter-words(source)=0<1" in result.stdout_bytes
    again = valued(*VALUES, "--header", data=result.stdout_bytes, code=65)
    assert "stdin:1: the header has a column 'html-tags.source' already" in again.stderr


def test_values_of_bad_rows_are_empty_and_rows_are_not_shifted(tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.tsv"
    data = b"x\ty\n<a>\tb\na\tb\tc\nalone\na\t\xff\n"
    words = ("--emit", "--header", "--rule", "html-tags", "--rejects", rejects)
    stopped = valued(*words, data=data, code=65)
    assert "stdin:3: 3 columns, but the header has 2; --on-error reject" in stopped.stderr
    result = valued(*words, "--on-error", "reject", data=data)
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
         BOM + b"column 1\tsource\ttarget\thtml-tags.source\thtml-tags.target\n")
    ]
)  # fmt: skip
def test_a_file_without_a_header_gets_one(data: bytes, words: list[str], head: bytes) -> None:
    out = valued("--emit", "--rule", "html-tags", *words, data=data).stdout_bytes
    assert out.split(b"\n")[0] + b"\n" == head


def test_a_side_without_a_model_has_no_value() -> None:
    rule = f"perplexity:target={ROOT / 'tests' / 'filters' / 'one.arpa'},maximum=9"
    lines = valued("--emit", "--rule", rule).stdout.splitlines()
    assert lines[0].endswith("\tperplexity.source\tperplexity.target")
    cells = [line.split("\t")[3:] for line in lines[1:]]
    assert all(source == "" and float(target) > 0 for source, target in cells)


def test_suggested_rules_keep_their_share_of_the_same_rows(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    words = ("--rule", "default", "--rule", "numbers", "--languages", "en,de", CLEAN)
    result = valued("--suggest", "90%", *words, "-o", file)
    manifest = tmp_path / "manifest.json"
    rows = CLEAN.read_bytes().count(b"\n")
    again = valued("--rules", file, CLEAN, "--manifest", manifest)
    facts = json.loads(manifest.read_text())
    assert max(rule["dropped"] for rule in facts["facts"]["rules"].values()) <= rows // 10
    kept = 100 * facts["counts"]["kept"] / rows
    assert f"all rules together keep {kept:.4g} % of the rows" in result.stderr
    assert facts["facts"]["languages"] == "en,de"
    assert again.stdout_bytes.count(b"\n") == facts["counts"]["kept"] > 0
    assert valued("--suggest", "0.9", *words).stdout_bytes == file.read_bytes()


def test_suggestions_for_texts_leave_bad_rows_aside(tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.tsv"
    words = ("--one", "de", "--rule", "length:minimum=9", "--suggest", "1")
    result = valued(*words, "--on-error", "reject", "--rejects", rejects, data=b"a b\n\xff\nc\n")
    assert "minimum = 1\nmaximum = 2\n" in result.stdout
    assert rejects.read_bytes() == b"2\tthe line is not UTF-8 at its byte 1\t\xff\n"
    assert "stdin: no clean row" in valued(*words, data=b"", code=65).stderr


def test_a_rule_of_pairs_in_a_file_is_refused_for_texts(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('languages = ["en", "de"]\n[[rule]]\nname = "similarity"\n')
    said = f"{file}: similarity: compares two sides, and a text has one"
    says_one_line(valued("--one", "de", "--rules", file, data=TEXTS, code=78), 78, said)


def test_other_included_rules_are_another_run(tmp_path: Path) -> None:
    """What an included file says is part of what a resumed run must have in common."""
    rows, base, file = (tmp_path / name for name in ("rows.tsv", "base.toml", "rules.toml"))
    rows.write_bytes(PAIRS + b"alone\n")
    file.write_text('include = "base.toml"\n')
    words = ("--rules", file, "--resume", tmp_path / "kept", "--shard-rows", 1, rows)
    base.write_text('[[rule]]\nname = "length"\n')
    valued(*words, "--threads", 1, code=65)
    base.write_text('[[rule]]\nname = "length"\nmaximum = 3\n')
    assert "rules" in valued(*words, "--threads", 1, code=78).stderr
