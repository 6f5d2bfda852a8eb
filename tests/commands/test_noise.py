"""bitext-noise: rows in their places, damaged or byte for byte, with a label."""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from console import ROOT

from bitextfilter.commands.noise import main
from bitextfilter.damage.mistakes import MISTAKES
from bitextfilter.damage.noise import (
    CLEAN,
    CRAWL_NOISE,
    NOISE_KINDS,
    REMOVABLE_NEGATIONS,
    NoiseSettings,
    noisy_pairs,
)

NAMES = [f"Anna{letter}" for letter in "abcdefgh"] * 5
PAIRS = [
    (f"We saw {name} not {i + 10} times", f"wir sahen {name} ü nicht {i}")
    for i, name in enumerate(NAMES)
]
DATA = "".join(f"{source}\t{target}\n" for source, target in PAIRS).encode()
FOREIGN = [f"une phrase que personne attend {i}" for i in range(30)]


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "fr.txt.gz"
    path.write_bytes(gzip.compress("\n".join([*FOREIGN, "trop court", ""]).encode()))
    return path


def call(*words: str | Path, data: bytes = DATA) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], input=data)


def lines_of(*words: str | Path, data: bytes = DATA) -> list[bytes]:
    result = call("-q", *words, data=data)
    assert (result.exit_code, result.stderr) == (0, "")
    return io.BytesIO(result.stdout_bytes).readlines()


def test_the_rows_are_those_of_the_library(foreign: Path) -> None:
    words = ("--rate", "all=0.9", "--rate", "number=0.1", "--languages", "en,de", "--seed", "7")
    rows = [line.decode().rstrip("\n").split("\t") for line in
            lines_of(*words, "--foreign", foreign)]  # fmt: skip
    rates = {"number": 0.1} | {kind: 0.9 / 14 for kind in CRAWL_NOISE if kind != "number"}
    settings = NoiseSettings(("en", "de"), FOREIGN)
    assert rows == [list(row) for row in noisy_pairs(PAIRS, rates, 7, settings)]
    assert len({label for *_, label in rows}) > 8


def test_other_columns_and_endings_stay() -> None:
    data = b"".join(
        b"1\t%s\t\xff\t%s\tx\r\n" % (source.encode(), target.encode()) for source, target in PAIRS
    )
    data = b"\xef\xbb\xbf" + data.removesuffix(b"\r\n")
    lines = lines_of("--rate", "copied=0.5", "--scol", "2", "--tcol", "-2", data=data)
    fields = [line.split(b"\t") for line in lines]
    assert {(row[2], row[4]) for row in fields} == {(b"\xff", b"x")}
    assert [row[5] for row in fields[:-1]] == [
        b"copied\r\n" if row[1] == row[3] else b"clean\r\n" for row in fields[:-1]
    ]
    assert lines[0].startswith(b"\xef\xbb\xbf1\t") and not lines[-1].endswith(b"\n")
    whole = dict(enumerate(data.removesuffix(b"\r\n").split(b"\r\n")))
    clean = {i: line for i, line in enumerate(lines) if b"\tclean" in line}
    assert 5 < len(clean) < 35
    assert all(line.startswith(whole[i] + b"\tclean") for i, line in clean.items())


def test_a_header_names_the_label_and_a_clean_row_keeps_all_its_quality() -> None:
    words = ("--header", "--scol", "de", "--tcol", "en", "--rate")
    lines = lines_of(*words, "half=1", data=b"en\tde\nA B C D E F\ta b c d e f\n")
    assert lines == [b"en\tde\tlabel\n", b"A B C d e f\ta b c d e f\thalf\n"]
    head, row = lines_of(*words, "half=0", "--original", data=b"en\tde\nA B C\ta b c\n")
    assert head == b"en\tde\tlabel\tquality\tsource\ttarget\n"
    assert row == b"A B C\ta b c\tclean\t1\ta b c\tA B C\n"


def test_pairs_outside_stay_clean_or_are_dropped(tmp_path: Path) -> None:
    data = b"a b c\td e f\n" + DATA
    words = ("--rate", "copied=1")
    assert lines_of(*words, data=data)[0] == b"a b c\td e f\tclean\n"
    assert lines_of(*words, "--words", "3-60", data=data)[0].endswith(b"\tcopied\n")
    rejects, manifest = tmp_path / "rest.tsv", tmp_path / "run.json"
    words += ("--outside", "drop", "--rejects", rejects, "--manifest", manifest)
    assert len(lines_of(*words, data=data)) == len(PAIRS)
    assert rejects.read_bytes().startswith(
        b"1\ta side of fewer than 6 or more than 60 words\ta b c"
    )
    counts = json.loads(manifest.read_bytes())["counts"]
    assert counts == {"rows": 41, "rejected": 0, "clean": 0, "copied": 40, "dropped": 1}


def test_the_manifest_counts_every_kind(tmp_path: Path) -> None:
    manifest = tmp_path / "run.json"
    words = ("--rate", "all=0.5", "--languages", "en,de", "--seed", "3", "--manifest", manifest)
    result = call(*words)
    assert result.stderr.startswith("bitext-noise: without wrong-language, which needs foreign sen")
    labels = [line.rsplit("\t", 1)[1] for line in result.stdout.splitlines()]
    told = json.loads(manifest.read_bytes())
    kinds = [CLEAN, *CRAWL_NOISE]
    kinds.remove("wrong-language")
    assert told["counts"] == {
        "rows": 40, "rejected": 0, **{kind: labels.count(kind) for kind in kinds}
    }  # fmt: skip
    assert told["facts"]["seed"] == 3
    assert told["facts"]["rates"] == pytest.approx(dict.fromkeys(kinds[1:], 0.5 / 14))


def test_no_more_foreign_sentences_are_held_than_the_window_has(foreign: Path) -> None:
    words = ("--rate", "wrong-language=1", "--foreign", foreign, "--window", "3")
    used = {text for line in lines_of(*words) for text in line.decode().split("\t")[:2]}
    assert len(used & set(FOREIGN)) == 3


def test_mistakes_are_a_group_with_tables_of_words(tmp_path: Path) -> None:
    pairs = [
        (f"We saw {name}, and we went to the big house.", f"Wir sahen {name} und gingen ins Haus.")
        for name in NAMES
    ]
    data = "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
    (tmp_path / "related.tsv").write_text("en\tbig\tsmall\nen\thouse\thut\nde\tHaus\tHütte\n")
    (tmp_path / "lexicon.tsv").write_text("we\twir\nsaw\tsahen\nand\tund\nhouse\tHaus\nto\tzu\n")
    words = ("--rate", "mistakes=1", "--languages", "en,de", "--original", "--seed", "3")
    tables = ("--related", tmp_path / "related.tsv", "--lexicon", tmp_path / "lexicon.tsv")
    rows = [line.decode().rstrip("\n").split("\t") for line in lines_of(*words, *tables, data=data)]
    assert {row[2] for row in rows} <= {*MISTAKES} and len({row[2] for row in rows}) > 12
    for pair, (*damaged, label, quality, source, target) in zip(pairs, rows, strict=True):
        assert pair == (source, target) != tuple(damaged)
        assert float(quality) == MISTAKES[label].worth
    only = lines_of("--rate", "related-word=1", *words[2:], *tables, data=data)
    assert all(re.search(rb"small|hut|H\xc3\xbctte", line) for line in only)
    told = call(*words[:4], data=data).stderr
    assert "without related-word, which needs related words (--related)" in told
    assert "without word-by-word, which needs a dictionary (--lexicon)" in told


def test_a_table_of_words_with_too_few_columns_is_named(tmp_path: Path) -> None:
    path = tmp_path / "related.tsv"
    path.write_text("en\tbig\tsmall\nen\tbig\n")
    result = call("--rate", "related-word=1", "--languages", "en,de", "--related", path)
    assert (result.exit_code, result.stdout) == (65, "")
    assert f"{path}:2: expected 3 columns with text (--related)" in result.stderr


def test_help_and_page_tell_every_kind() -> None:
    """And the page, how many negations there are."""
    page = (ROOT / "docs" / "noise.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z][a-z-]*)` \|", page, re.MULTILINE) == list(NOISE_KINDS)
    paragraph = call("--help").stdout.split("Kinds of")[1].split("A kind is drawn")[0]
    assert re.findall(r"^ +([a-z-]+)  ", paragraph, re.MULTILINE) == list(NOISE_KINDS)
    (names,) = re.findall(r"There are negations for (.*?);", page, re.DOTALL)
    assert len(re.split(", | and ", re.sub(r"\s+", " ", names))) == len(REMOVABLE_NEGATIONS)
