"""bitext-paraphrase analyse and lexicon: what they write, what they leave out, and their errors."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from bitextfilter.commands.paraphrase import main

WORDS = ["the", "of", "tree", "wood", "river", "bridge", "to", "old", "stone", "mill"]
RANDOM = np.random.default_rng(3)
ODDS = 1 / np.arange(1, 11)


def sentence(odds: np.ndarray) -> str:
    return " ".join(RANDOM.choice(WORDS, RANDOM.integers(3, 12), p=odds / odds.sum()))


ROWS = [(sentence(np.ones(10)), sentence(ODDS), f"{RANDOM.random():.4f}") for _ in range(60)]
ROWS += [("A tree, a tree.", "Tree", "0.5"), ("old mill", "old", "")]
FIGURES = ["entropy", "trigram_entropy", "repetition", "trigram_repetition", "idf", "length"]


def text(rows: list[tuple[str, ...]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def analyse(*words: object, data: str = text(ROWS), code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["analyse", *map(str, words)], input=data)
    assert result.exit_code == code, result.output
    return result


def table(result: Result, *more: str) -> dict[str, list[str]]:
    head, *rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert head == ["figure", "references", "translations", "difference", *more, "signature"]
    assert [row[0] for row in rows] == FIGURES
    return {row[0]: row[1:] for row in rows}


def tokens(sentence: str) -> list[str]:
    return sentence.lower().replace(",", " , ").replace(".", " . ").split()


def trigrams(row: list[str]) -> list[str]:
    return [" ".join(row[i : i + 3]) for i in range(len(row) - 2)]


def entropy(items: list[str]) -> float:
    counts = Counter(items)
    return -sum(n / len(items) * math.log2(n / len(items)) for n in counts.values())


def again(items: list[str]) -> int:
    return sum(item in items[:place] for place, item in enumerate(items))


def naive(sentences: list[str]) -> list[float]:
    """The figures of one side, counted by hand."""
    rows = [tokens(sentence) for sentence in sentences]
    long, grams = [[w for w in row if len(w) >= 3] for row in rows], [trigrams(r) for r in rows]
    rarity = [math.log(len(rows) / sum(w in row for row in rows)) for own in rows for w in own]
    every = [w for row in rows for w in row]
    return [
        entropy(every),
        entropy([gram for row in grams for gram in row]),
        100 * sum(map(again, long)) / sum(map(len, long)),
        100 * sum(map(again, grams)) / sum(map(len, grams)),
        sum(rarity) / len(rarity),
        len(every) / len(rows),
    ]


def ranks(values: list[float]) -> list[float]:
    """From 1; values that tie have the mean of theirs."""
    return [sum(v < x for v in values) + (sum(v == x for v in values) + 1) / 2 for x in values]


def correlation(one: list[float], other: list[float]) -> float:
    """Spearman's, times 100: Pearson's of the ranks, by its definition."""
    a, b = ranks(one), ranks(other)
    left, right = sum(a) / len(a), sum(b) / len(b)
    product = sum((x - left) * (y - right) for x, y in zip(a, b, strict=True))
    squares = sum((x - left) ** 2 for x in a) * sum((y - right) ** 2 for y in b)
    return 100 * product / math.sqrt(squares)


def test_both_sides_and_their_difference() -> None:
    found = table(analyse())
    one, other = naive([row[0] for row in ROWS]), naive([row[1] for row in ROWS])
    for name, left, right in zip(FIGURES, one, other, strict=True):
        assert found[name][:3] == [f"{left:.4f}", f"{right:.4f}", f"{left - right:.4f}"]
    assert found["entropy"][3].startswith("unit:tokens case:lower pairs:62 v:")
    assert float(found["entropy"][2]) > 0


def test_correlations() -> None:
    result = analyse("--probability", 3)
    found = table(result, "spearman", "sentences")
    assert "1 without a probability" in result.stderr
    rows = [tokens(row[1]) for row in ROWS]
    chances = [float(row[2]) if row[2] else math.nan for row in ROWS]
    count = {word: sum(word in row for row in rows) for row in rows for word in row}
    long = [[w for w in row if len(w) >= 3] for row in rows]
    figures = {
        "repetition": [again(own) / len(own) if own else math.nan for own in long],
        "trigram_repetition": [
            again(trigrams(row)) / (len(row) - 2) if len(row) > 2 else math.nan for row in rows
        ],
        "idf": [sum(math.log(len(rows) / count[w]) for w in row) / len(row) for row in rows],
        "length": [float(len(row)) for row in rows],
    }
    for name, values in figures.items():
        both = [(p, v) for p, v in zip(chances, values, strict=True) if p == p and v == v]
        expected = correlation([p for p, _ in both], [v for _, v in both])
        assert found[name][3:5] == [f"{expected:.4f}", str(len(both))]
    assert found["trigram_repetition"][4] == "60" and found["length"][4] == "61"
    assert found["entropy"][3:5] == found["trigram_entropy"][3:5] == ["", ""]


def test_windows_and_columns_make_no_difference() -> None:
    whole = analyse("--probability", 3).stdout
    assert analyse("--probability", -1, "--batch-size", 7).stdout == whole
    turned = text([("b", "p", "a"), *((row[1], row[2], row[0]) for row in ROWS)])
    words = ("--header", "--scol", "a", "--tcol", "b", "--probability", "p")
    assert analyse(*words, data=turned).stdout == whole


def test_json_says_the_same() -> None:
    whole = json.loads(analyse("--probability", 3, "--json").stdout)
    cells = {
        figure.pop("figure"): ["" if v is None else str(v) if isinstance(v, int) else f"{v:.4f}"
               for v in figure.values()] + [whole["signature"]]
        for figure in whole["results"]
    }  # fmt: skip
    assert cells == table(analyse("--probability", 3), "spearman", "sentences")


BAD = {"one column": "a\n", "an empty side": "a\t \t0.5\n", "a NUL": "a\0\tb\t0.5\n"}


@pytest.mark.parametrize("row", BAD.values(), ids=BAD)
def test_bad_rows(tmp_path: Path, row: str) -> None:
    failed = analyse("--probability", 3, data=text(ROWS) + row, code=65)
    assert failed.stderr.startswith("bitext-paraphrase analyse: stdin:63: ")
    words = ("--probability", 3, "--on-error", "reject", "--rejects", tmp_path / "bad")
    kept = analyse(*words, data=text(ROWS) + row)
    assert kept.stdout == analyse("--probability", 3).stdout
    assert (tmp_path / "bad").read_text().startswith("63\t")


def test_little_and_nothing() -> None:
    assert "stdin: no rows" in analyse(data="", code=65).stderr
    found = table(analyse("--probability", 3, data="a\tb\tx\n"), "spearman", "sentences")
    assert found["trigram_entropy"][:3] == ["", "", ""]
    assert found["length"][3:5] == ["", "0"]


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


def test_bad_rows_of_lexicon(tmp_path: Path) -> None:
    rows = ["a b\ta c", "only one", "a b\ta c"]
    assert ":2: 1 column" in call(rows=rows, code=65).stderr
    kept = call("--on-error", "reject", "--rejects", tmp_path / "bad", rows=rows)
    assert kept.stdout.startswith("b\tc\t2\t")
    assert (tmp_path / "bad").read_text().startswith("2\t")


@pytest.mark.parametrize("words", [("--min-count", 0), ("--max-words", 0), ("--digits", 10)])
def test_what_makes_no_sense_is_refused(words: tuple[object, ...]) -> None:
    call(*words, code=2)
