"""bitext-train-language-model through its streams."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bitextfilter.commands.train_language_model import main
from bitextfilter.text.ngram_model import read_arpa
from bitextfilter.text.words import UNITS, TokenUnits

LINES = ["The house is old.", "the  House, red", "", "is the red house old?", "a tree"]
TEXT = "".join(f"{line}\n" for line in LINES)


def trained(*words: str | Path, text: str | bytes = TEXT) -> Result:
    content = text.encode() if isinstance(text, str) else text
    return CliRunner().invoke(main, [str(word) for word in words], input=content)


def test_writes_an_arpa_file_that_says_how_it_was_made() -> None:
    done = trained("-q")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.split("\n")
    assert lines[:2] == [TokenUnits("tokens").note(), "\\data\\"]
    assert lines[2:5] == ["ngram 1=13", "ngram 2=19", "ngram 3=16"]
    assert lines[-2:] == ["\\end\\", ""]


@pytest.mark.parametrize("unit", UNITS)
def test_units_orders_and_case(unit: str, tmp_path: Path) -> None:
    path = tmp_path / "model.arpa.gz"
    assert trained("-q", "--unit", unit, "--keep-case", "-o", path).exit_code == 0
    assert path.read_bytes().startswith(gzip.compress(b"")[:2])
    model = read_arpa(path)
    assert model.units == TokenUnits(unit, lowercase=False)
    assert model.order == (5 if unit == "characters" else 3)
    assert model.units is not None
    assert {token for line in LINES for token in model.units(line)} == set(model.words[3:])
    assert trained("-q", "--unit", unit, "--set", "order=2", "-o", path).exit_code == 0
    assert read_arpa(path).order == 2


def test_minimum_count(tmp_path: Path) -> None:
    text = "a b c\na b c\na b d\n"
    assert "ngram 3=5\n" in trained("-q", text=text).stdout
    assert "ngram 3=3\n" in trained("-q", "--set", "minimum_count=2", text=text).stdout


def test_column_by_name(tmp_path: Path) -> None:
    table = "en\tde\n" + "".join(f"{line}\tHaus {i}\n" for i, line in enumerate(LINES))
    plain = trained("-q").stdout
    assert trained("-q", "--header", "--column", "en", text=table).stdout == plain
    assert trained("-q", "--column", "1", text=table[6:]).stdout == plain
    failed = trained("--column", "en", text=table)
    assert (failed.exit_code, "--header" in failed.stderr) == (2, True)


def test_counts_and_facts(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    done = trained("--manifest", manifest, "-o", tmp_path / "model.arpa")
    assert done.exit_code == 0
    kept = json.loads(manifest.read_text(encoding="utf-8"))
    counts = {"rows": 5, "rejected": 0, "1-grams": 13, "2-grams": 19, "3-grams": 16}
    assert kept["counts"] == counts
    assert kept["facts"] == {"unit": "tokens", "order": 3, "lowercase": True}
    warning = "no discounts for n-grams of length 1, 2, 3: 0.5, 1 and 1.5 are taken"
    assert warning in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"ok\nnot \xff\n", "stdin:2: the line is not UTF-8"),
        (b"a\0b\n", "stdin:1: NUL byte"),
        (b"", "no text"),
        (b"\n \n", "no text"),
    ],
)
def test_bad_text(text: bytes, message: str, tmp_path: Path) -> None:
    failed = trained("-o", tmp_path / "model.arpa", text=text)
    assert (failed.exit_code, failed.stdout) == (65, "")
    assert message in failed.stderr
    assert list(tmp_path.iterdir()) == []


def test_bad_lines_can_be_left_out(tmp_path: Path) -> None:
    bad = TEXT.encode() + b"not \xff\n"
    rejects = tmp_path / "bad.tsv"
    done = trained("-q", "--on-error", "reject", "--rejects", rejects, text=bad)
    assert (done.exit_code, done.stdout) == (0, trained("-q").stdout)
    assert rejects.read_bytes().endswith(b"\tnot \xff\n")


def test_too_long_an_order() -> None:
    failed = trained("--set", "order=9", "--unit", "words", text="a b\n")
    assert (failed.exit_code, "n-grams of 5 tokens" in failed.stderr) == (78, True)
