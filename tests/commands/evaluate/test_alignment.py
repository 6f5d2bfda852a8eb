"""bitext-evaluate alignment through its streams."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bitextfilter.commands.evaluate import main

GOLD = b"[0]:[0]\n[1,2]:[1]\n[]:[2]\n[3]:[3,4]\n"
FOUND = b"[0]:[0]:0.9\n[1]:[1]:0.7\n[2]:[]:\n[]:[2]:\n[3]:[3,4]:0.8\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "gold.links", tmp_path / "found.links"
    for path, content in zip(paths, (GOLD, FOUND), strict=True):
        path.write_bytes(content)
    return paths


def alignment(*words: str | Path, text: bytes = b"") -> Result:
    return CliRunner().invoke(main, ["alignment", *map(str, words)], input=text)


def test_table_and_counts(files: tuple[Path, Path]) -> None:
    done = alignment(*files)
    assert done.exit_code == 0, done.output
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0] == ["how", "measure", "value", "low", "high", "links", "gold", "signature"]
    assert [row[:3] for row in rows[1:]] == [
        ["strict", "precision", "0.6000"],
        ["strict", "recall", "0.6667"],
        ["strict", "f1", "0.6316"],
        ["lax", "precision", "0.8000"],
        ["lax", "recall", "1.0000"],
        ["lax", "f1", "0.8889"],
    ]
    assert {tuple(row[5:7]) for row in rows[1:]} == {("5", "3")}
    assert rows[1][7].startswith("strict.precision = 0.6000 | links=5 gold:3 boot:1000 seed:1 v:")
    assert "3 gold, 5 links" in done.stderr


def test_links_may_come_from_stdin(files: tuple[Path, Path]) -> None:
    whole = alignment(*files).stdout
    assert alignment(files[0], text=FOUND).stdout == whole
    assert alignment("-", files[1], text=GOLD).stdout == whole


def test_json_says_the_same(files: tuple[Path, Path]) -> None:
    found = json.loads(alignment(*files, "--json").stdout)
    assert (found["task"], found["links"], found["gold"]) == ("alignment", 5, 3)
    assert found["results"][2]["value"] == pytest.approx(2 * 0.6 * (2 / 3) / (0.6 + 2 / 3))
    assert [row["how"] for row in found["results"]] == ["strict"] * 3 + ["lax"] * 3


def test_documents_count_together(files: tuple[Path, Path]) -> None:
    rows = alignment(*files, files[0], files[0]).stdout.splitlines()
    assert rows[1].split("\t")[2] == f"{(3 + 4) / (5 + 4):.4f}"


def test_the_seed_fixes_the_intervals(files: tuple[Path, Path]) -> None:
    first = alignment(*files, "--bootstrap", "30", "--seed", "4").stdout
    assert alignment(*files, "--bootstrap", "30", "--seed", "4").stdout == first


@pytest.mark.parametrize(
    ("gold", "found", "message"),
    [
        (b"0:0\n", FOUND, "gold.links:1: no link: '0:0'"),
        (GOLD, b"[0]:[0]\nx\n", "found.links:2: no link: 'x'"),
        (b"", FOUND, "gold.links: no gold to compare"),
        (b"[]:[0]\n", FOUND, "gold.links: no gold to compare"),
        (GOLD, b"\n", "found.links: no links to compare"),
    ],
)
def test_bad_files(files: tuple[Path, Path], gold: bytes, found: bytes, message: str) -> None:
    files[0].write_bytes(gold)
    files[1].write_bytes(found)
    done = alignment(*files)
    assert done.exit_code == 65
    assert message in done.stderr


def test_what_is_not_there_or_not_even(files: tuple[Path, Path]) -> None:
    assert alignment(files[0], "missing").exit_code == 66
    assert alignment(*files, files[0]).exit_code == 2
    assert alignment("-", "-").exit_code == 2
    assert alignment().exit_code == 2
