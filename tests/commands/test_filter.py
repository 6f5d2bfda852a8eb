"""``bitext-filter``: what is kept, what is dropped, and what is said of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import Result
from console import invoke, says_one_line

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
