"""bitext-paraphrase lexicon: what it writes, what it leaves out, and its errors."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from bitextfilter.commands.paraphrase import main

NAMES = ["fox", "dog", "cat", "owl", "bee", "ant", "elk", "hen"]
OTHERS = ["vixen", "hound", "feline", "bird of night", "bee", "insect", "deer", "chicken"]


def pairs(count: int = 120, seed: int = 1) -> list[tuple[str, str]]:
    """Sentences of animals, whose names are others in the paraphrase; one keeps its own."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        chosen = random.permutation(len(NAMES))[: random.integers(2, 5)]
        left = " , ".join(NAMES[i].capitalize() for i in chosen)
        made.append((f"{left}.", ", ".join(OTHERS[i] for i in chosen) + " !"))
    return made


def call(*words: object, rows: list[str] | None = None, code: int = 0) -> Result:
    rows = ["\t".join(pair) for pair in pairs()] if rows is None else rows
    data = "".join(f"{row}\n" for row in rows).encode()
    result = CliRunner().invoke(main, ["lexicon", *map(str, words)], input=data)
    assert result.exit_code == code, result.output
    return result


def test_the_names_are_found_and_scored() -> None:
    result = call("--digits", 9)
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    found = {(row[0], row[1]): [float(cell) for cell in row[2:]] for row in rows}
    for name, other in zip(NAMES, OTHERS, strict=True):
        assert ((name, other) in found) == (name != other)
    uses = Counter(word for left, _ in pairs() for word in left.lower().strip(".").split(" , "))
    count, pmi, forward, backward = found["fox", "vixen"]
    assert count == uses["fox"] and forward == backward == 1
    assert pmi > 0
    assert [float(row[3]) for row in rows] == sorted((float(row[3]) for row in rows), reverse=True)
    assert all(row[0] != row[1] and len(row[0].split()) <= 3 for row in rows)
    assert not any(mark in cell for row in rows for cell in row[:2] for mark in ",.!")
    assert "120 rows, 0 rejected, 0 left out, " in result.stderr


def test_other_columns_counts_and_long_pairs() -> None:
    both = call().stdout.splitlines()
    swapped = [f"x\t{right}\t{left}" for left, right in pairs()]
    assert call("--scol", 3, "--tcol", 2, rows=swapped).stdout.splitlines() == both
    rare = call("--min-count", 40).stdout.splitlines()
    assert 0 < len(rare) < len(both)
    assert all(int(row.split("\t")[2]) >= 40 for row in rare)
    result = call("--max-words", 2)
    assert result.stdout == "" and "120 left out" in result.stderr
    assert call(rows=[]).stdout == ""


def test_nothing_depends_on_the_window() -> None:
    assert call("--batch-size", 7).stdout == call().stdout


def test_bad_rows(tmp_path: Path) -> None:
    rows = ["a b\ta c", "only one", "a b\ta c"]
    assert ":2: 1 column" in call(rows=rows, code=65).stderr
    kept = call("--on-error", "reject", "--rejects", tmp_path / "bad", rows=rows)
    assert kept.stdout.startswith("b\tc\t2\t")
    assert (tmp_path / "bad").read_text().startswith("2\t")


@pytest.mark.parametrize("words", [("--min-count", 0), ("--max-words", 0), ("--digits", 10)])
def test_what_makes_no_sense_is_refused(words: tuple[object, ...]) -> None:
    call(*words, code=2)
