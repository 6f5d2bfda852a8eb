"""Hostile rows: some trials, properties, and the smallest input of each defect found."""

from __future__ import annotations

import ast
import inspect
import io
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import ModuleType

import click
import fuzz
import pytest
from bench import Bench, body, cut, rejects
from click.testing import CliRunner, Result
from console import command, leaves, scripts
from hostile import BOM, BREAKS, BYTES, DIGITS, INVISIBLE, MARKUP, NUMBERS, ODD, UNITS
from hypothesis import example, given
from hypothesis import strategies as st

from bitextfilter.corpus.repair import REPAIRS, Repairer
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import Row

ATOMS = [*BREAKS, *INVISIBLE, *MARKUP, *NUMBERS, *ODD, *UNITS, *DIGITS[::40], " ", "\ufeff", "\t"]
PIECES = st.sampled_from([*map(str.encode, ATOMS), *BYTES]) | st.binary(max_size=3)
ROWS = st.lists(PIECES, max_size=6).map(b"".join)
ENDINGS = st.sampled_from([b"\n", b"\r\n"])
LINES = st.lists(st.builds(bytes.__add__, ROWS, ENDINGS), max_size=5).map(b"".join)
FILES = st.tuples(st.sampled_from([b"", BOM]), LINES, ROWS).map(b"".join)
COMMON = st.sampled_from([*BREAKS, "&", "amp;", "<", " ", "a", "\u200b"])
TEXTS = st.lists(COMMON | st.sampled_from(ATOMS) | st.text(max_size=3), max_size=6).map("".join)


def run(name: str, *words: str | Path, data: bytes = b"") -> Result:
    program, *subcommand = name.split()
    line = [*subcommand, "-q", *map(str, words)]
    return CliRunner().invoke(command(program), line, input=data)


ATTACKED = [
    pytest.param(attack, 1 if attack is fuzz.trainings.classifier else 4, id=attack.__name__)
    for attack in fuzz.ATTACKS
    if attack is not fuzz.long_rows.huge  # which takes a minute
]


@pytest.mark.gate(
    "score", "filter_", "split", "headers", "combiner", "convert", "align_documents", "evaluate",
    "make", "texts", "dedup", "segment",
)  # fmt: skip
@pytest.mark.parametrize(("attack", "times"), ATTACKED)
def test_an_attack_of_each_kind_is_held(attack: fuzz.Attack, times: int, tmp_path: Path) -> None:
    for number, ending in enumerate((b"\r\n", b"\n", b"", b"\r\n")[:times]):
        folder = tmp_path / str(number)
        folder.mkdir()
        bench = Bench(Random(f"{attack.__name__} {number}"), folder, rows=60, longest=50)
        bench.sizes = (40, 60) if number < 3 else (0, 1, 2, 5)
        hostile = bench.hostile
        hostile.ending, hostile.bom, hostile.whole = ending, BOM * (number % 2), number != 2
        hostile.share = 0.4
        attack(bench)


def _words(modules: Iterable[ModuleType]) -> set[str]:
    """The first words of all texts in these modules' code."""
    trees = [ast.parse(inspect.getsource(module)) for module in modules]
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and node.value}


def test_each_command_is_attacked() -> None:
    modules = {inspect.getmodule(attack) for attack in fuzz.ATTACKS}
    words = _words(module for module in modules if module)
    lines = {" ".join(line) for name in scripts() for line, found in leaves(name)
             if not isinstance(found, click.Group)}  # fmt: skip
    assert lines - words == {"bitext", "bitext-models list"}  # which read nothing


def test_each_attack_is_drawn() -> None:
    modules = {inspect.getmodule(attack) for attack in fuzz.ATTACKS}
    for module in modules:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            signature = inspect.signature(function)
            if function.__module__ == module.__name__ and [*signature.parameters] == ["bench"]:
                attacks = signature.return_annotation == "None"
                assert (function in fuzz.ATTACKS) == attacks, name


def test_a_trial_that_hangs_dies_or_fails_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, "PATIENCE", 0.3)
    for end, told in ((lambda: time.sleep(9), "hangs"), (lambda: os._exit(1), "died")):
        with pytest.raises(AssertionError, match=told):
            fuzz.apart(end, tmp_path)
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        fuzz.apart(lambda: 1 // 0, tmp_path)


@given(FILES)
def test_rows_are_the_bytes_of_the_file(data: bytes) -> None:
    reader = RowReader(io.BytesIO(data), "file")
    start = reader.first_line()
    rows = list(reader)
    assert start + b"".join(row.line + row.ending for row in rows) == data
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    for row in rows:
        assert b"\n" not in row.line
        if isinstance(row, Row):
            assert [text.encode() for text in row.texts] == row.line.split(b"\t")[:2]


@given(TEXTS, st.sets(st.sampled_from(list(REPAIRS))))
@example("&am\u200bp;lt;", set(REPAIRS))
def test_repairs_are_done_at_once(text: str, names: set[str]) -> None:
    repair = Repairer(names, "de")
    fixed, done = repair(text)
    assert repair(fixed) == (fixed, ())
    assert bool(done) == (fixed != text)
    assert "\n" not in fixed or "\n" in text
    assert fixed.count("\t") <= text.count("\t")


@given(FILES)
@example(b"a\0\tb\n")
def test_every_bad_row_is_rejected_and_every_good_one_is_not(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        bad_rows = f"{folder}/bad"
        words = ["--on-error", "reject", "--rejects", bad_rows, "--threads", "1"]
        done = run("bitext-fix", *words, data=data)
        assert done.exit_code == 0, done.stderr
        _, lines = body(data)
        out = body(done.stdout_bytes)[1]
        assert len(out) == len(lines)
        for number, _, row in rejects(bad_rows):
            assert row == cut(lines[number - 1])[0] == cut(out[number - 1])[0]
        bad = {number for number, _, _ in rejects(bad_rows)}
        for number, line in enumerate(lines, 1):
            fields = cut(line)[0].split(b"\t")[:2]
            assert (number in bad) == (len(fields) < 2 or not all(map(_is_text, fields)))


def _is_text(field: bytes) -> bool:
    return b"\0" not in field and field.decode("utf-8", "replace").encode() == field


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=4), st.sampled_from(["tmx", "jsonl", "moses"]))
@example([("a\rb", "c\r")], "moses")
@example([("a\r", "b\rc")], "tmx")
@example([("\uffff", "b")], "tmx")
def test_there_and_back_again_the_pairs_are_the_same(
    pairs: list[tuple[str, str]], form: str
) -> None:
    def line(text: str) -> bytes:
        return text.replace("\t", " ").replace("\n", " ").strip("\ufeff").encode("utf-8", "replace")

    rows = [line(source) + b"\t" + line(target) + b"\tx\n" for source, target in pairs]
    with TemporaryDirectory() as folder:
        languages = ["--languages", "en,de"] if form == "tmx" else []
        middle = [f"{folder}/{name}" for name in ("one", "two")[: 1 + (form == "moses")]]
        there = middle if form == "moses" else ["-o", *middle]
        words = ["--on-error", "reject", "--rejects", f"{folder}/bad"]
        made = run("bitext-convert", "--to", form, *languages, *words, *there, data=b"".join(rows))
        assert made.exit_code == 0, made.stderr
        bad = {number for number, _, _ in rejects(f"{folder}/bad")}
        back = run("bitext-convert", "--from", form, *languages, "--on-error", "reject", *middle)
        assert back.exit_code == 0, back.stderr
        kept = [row for number, row in enumerate(rows, 1) if number not in bad]
        texts = [row.removesuffix(b"\tx\n") + b"\n" for row in kept]
        assert back.stdout_bytes == b"".join(text for text in texts if text[-2:] != b"\r\n")


DEEP = b"[" * 100_000


@pytest.mark.parametrize("data", [DEEP, b'{"a":' * 100_000, b"9" * 5000, b"{}"])
def test_a_row_that_looks_like_json_stops_the_run_with_one_line(data: bytes) -> None:
    done = run("bitext-fix", data=data + b"\n")
    assert (done.exit_code, done.stdout_bytes, done.stderr.count("\n")) == (65, b"", 1)
    assert done.stderr.startswith("bitext-fix: stdin:1: 1 column, expected at least 2")


BALANCED = ("bitext-rank", "--min-score", "balanced", "--column", "3")
JSON = ("bitext-convert", "--to", "jsonl")


@pytest.mark.parametrize(
    ("words", "header", "message"),
    [
        (BALANCED, b"source", "the header has 1 column, and no column 3"),
        (BALANCED, b"source\ttarget\t\xff", "the header is not UTF-8 at its byte 15"),
        (JSON, b"source", "the header has 1 column, and no column 2"),
        ((*JSON, "--tcol", "-3"), b"source\ttarget", "the header has 2 columns, and no column -3"),
        (JSON, b"source\ttarget\t\xff", "the header is not UTF-8 at its byte 15"),
    ],
)
def test_a_header_that_lacks_a_column_or_is_no_text(
    words: tuple[str, ...], header: bytes, message: str
) -> None:
    done = run(*words, "--header", data=header + b"\na\tb\t0.5\n")
    assert (done.exit_code, done.stdout_bytes) == (65, b"")
    assert f" stdin:1: {message}\n" in done.stderr


def test_a_name_of_many_parts_is_no_field_of_json() -> None:
    name = b".".join([b"a"] * 5000)
    done = run(*JSON, "--header", data=b"source\ttarget\t" + name + b"\na\tb\tc\n")
    assert done.exit_code == 65
    assert "stdin:2: 'a.a.a.a.a.a.a.a.a.a.'... has 4999 dots; rename the column" in done.stderr


ODD_NAME = os.fsdecode(b"odd-\xff.tsv")


def test_a_file_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    pairs, parts = tmp_path / ODD_NAME, tmp_path / "parts"
    pairs.write_bytes(b"the dog\tder Hund\n")
    words = (pairs, "--manifest", tmp_path / "manifest", "--threads", "1", "--resume", parts)
    for _ in range(2):
        assert run("bitext-filter", *words).stdout_bytes == b"the dog\tder Hund\n"
    told = json.loads((tmp_path / "manifest").read_bytes())
    assert told["command"][2] == str(pairs)
    counted = run("bitext-evaluate corpus", pairs)
    assert counted.exit_code == 0, counted.stderr
    assert b"odd-\\udcff.tsv\tsource\t1\t2\t" in counted.stdout_bytes
    as_json = run("bitext-evaluate corpus", "--json", pairs)
    assert ODD_NAME in json.dumps(json.loads(as_json.stdout_bytes), ensure_ascii=False)


def test_a_name_of_a_field_that_is_not_utf_8() -> None:
    done = run(*JSON, "--fields", os.fsdecode(b"a,\xff"), data=b"a\tb\n")
    assert (done.exit_code, done.stdout_bytes) == (2, b"")
    assert "'--fields': not UTF-8" in done.stderr
