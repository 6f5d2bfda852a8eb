"""The rows that rules and systems choose, byte for byte, against a sort; samples of them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.filters.registry import parse_rule
from bitextfilter.io.rows import Columns
from bitextfilter.training.data import PairFile
from bitextfilter.tuning import subsets
from bitextfilter.tuning.subsets import (
    ScoredFile,
    Subset,
    System,
    rule_columns,
    sample_corpus,
    sample_lines,
    select_pairs,
    write_subset,
)

SCORE = System("score", 3)
RANDOM = System("random")
ORACLE = System("oracle", 4, "clean")

Rows = list[tuple[str, str, str, str]]


def made(count: int = 300, seed: int = 1) -> Rows:
    """Rows of 1 to 9 target words, with scores of which many are equal and some are missing."""
    random = np.random.default_rng(seed)
    rows: Rows = []
    for number in range(count):
        target = " ".join(["t"] * int(random.integers(1, 10)))
        score = random.choice(["", "-inf", "inf", *(f"{s / 10}" for s in range(-9, 9))])
        label = str(random.choice(["clean", "shuffled", "clean "]))
        rows.append((f"s{number}", target, str(score), label))
    return rows


def written(path: Path, rows: Rows, header: str = "") -> ScoredFile:
    path.write_text(header + "".join("\t".join(row) + "\n" for row in rows))
    return ScoredFile(str(path), header=bool(header))


def chosen(file: ScoredFile, system: System, words: int, seed: int = 1) -> tuple[list[str], Subset]:
    """The sources of the rows that are written, and what is said of them."""
    path = Path(file.path).with_name("chosen.tsv")
    subset = write_subset(file, system, words, seed, path)
    pairs = list(PairFile(str(path), columns=subset.columns).texts())
    assert subset.rows == len(pairs)
    assert subset.words == sum(len(target.split()) for _, target in pairs) <= words
    return [source for source, _ in pairs], subset


@pytest.mark.parametrize("words", [9, 100, 555, 10_000])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_best_rows_are_those_of_a_sort(
    tmp_path: Path, words: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subsets, "WINDOW_ROWS", 7)
    rows = made(seed=seed)
    found, subset = chosen(written(tmp_path / "rows.tsv", rows), SCORE, words)
    scored = [row for row in rows if row[2]]
    taken, left = [], words
    for row in sorted(scored, key=lambda row: -float(row[2])):
        if len(row[1].split()) > left:
            break
        left -= len(row[1].split())
        taken.append(row)
    assert found == [row[0] for row in rows if row in taken]
    assert subset.everything == (len(taken) == len(scored))


def test_budgets_differ_by_less_than_a_row(tmp_path: Path) -> None:
    file = written(tmp_path / "rows.tsv", made())
    for system in (SCORE, RANDOM, ORACLE):
        for words in range(50, 150, 7):
            assert words - 9 < chosen(file, system, words)[1].words <= words


def test_chance_is_by_seed_and_the_oracle_takes_what_is_clean(tmp_path: Path) -> None:
    rows = made()
    file = written(tmp_path / "rows.tsv", rows)
    for system in (RANDOM, ORACLE):
        first, again, other = (chosen(file, system, 300, seed)[0] for seed in (1, 1, 2))
        assert first == again != other
    labels = {row[0]: row[3] for row in rows}
    assert {labels[source] for source in first} == {"clean"}
    everything, subset = chosen(file, ORACLE, 10_000)
    assert everything == [row[0] for row in rows if row[3] == "clean"] and subset.everything
    assert {labels[source] for source in chosen(file, RANDOM, 300)[0]} > {"clean", "shuffled"}


def test_every_row_is_as_likely_by_chance(tmp_path: Path) -> None:
    rows: Rows = [(f"s{n}", "t", "1", "clean") for n in range(8)]
    file = written(tmp_path / "rows.tsv", rows)
    draws = [s for seed in range(160) for s in chosen(file, RANDOM, 2, seed)[0]]
    counts = [draws.count(row[0]) for row in rows]
    assert max(abs(count - 40) for count in counts) < 5 * math.sqrt(40 * 0.75)


def test_columns_by_name_and_from_the_end_and_rows_as_they_stood(tmp_path: Path) -> None:
    path, text = tmp_path / "rows.tsv", "\ufefft\tx\ts\tq\r\nb b\t\ta\t1\r\nd\t\tc\r\t2"
    path.write_bytes(text.encode())
    file = ScoredFile(str(path), Columns("s", "t"), header=True)
    for system in (System("q", "q"), System("4", 4), System("-1", -1)):
        assert chosen(file, system, 5)[0] == ["a", "c\r"]
        assert chosen(file, system, 2)[0] == ["c\r"]
    assert (tmp_path / "chosen.tsv").read_bytes() == b"d\t\tc\r\t2\n"
    assert sample_corpus(file, 10, 1) == subsets.CorpusSample([("a", "b b"), ("c\r", "d")], 2, 3)


def test_the_two_sides_by_their_places_from_the_end(tmp_path: Path) -> None:
    (tmp_path / "rows.tsv").write_text("x\t1\ta\tb b\n")
    file = ScoredFile(str(tmp_path / "rows.tsv"), Columns(-2, -1))
    names, subset = chosen(file, System("2", 2), 5)
    assert (names, subset.words) == (["a"], 2)


@pytest.mark.parametrize(
    ("rows", "system", "said"),
    [
        (["a\tb\t1\tclean", "a\tb\tgood\tclean"], SCORE, r":3: the score 'good' is not a number"),
        (["a\tb\tnan\tclean"], SCORE, r":2: the score 'nan' is not a number"),
        (["a\tb\t1_0\tclean"], SCORE, r":2: the score '1_0' is not a number"),
        (["a\tb\t1\tclean", "a\tb"], SCORE, r":3: 2 columns, expected at least 3 \(--scores 3\)"),
        (["a\tb\t1\tclean", " \tb\t1\tclean"], RANDOM, r":3: the source is empty"),
        (["a\tb\t1\tclean", "a\t\t1\tclean"], RANDOM, r":3: the target is empty"),
        (["a\tb b b b b\t1\tclean"], RANDOM, "has more than 4 words; raise --words"),
        (["a\tb\t\tclean"], SCORE, "no row has a score"),
        (["a\tb\t1\tnoise"], ORACLE, "no row has a label 'clean'"),
        ([], RANDOM, "no row"),
        (["a\tb\t1\tclean"], System("x", "x"), r":1: column 'x' \(--scores\) is not in the header"),
        (["a\tb\t1\tclean"], System("o", "x", "c"), r":1: column 'x' \(--oracle\) is not in"),
    ],
)
def test_what_cannot_be_chosen_from(
    tmp_path: Path, rows: list[str], system: System, said: str
) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("\n".join(["source\ttarget\tscore\tlabel", *rows]))
    with pytest.raises(InputError, match=said):
        write_subset(ScoredFile(str(path), header=True), system, 4, 1, tmp_path / "chosen.tsv")
    assert not (tmp_path / "chosen.tsv").exists()


def test_no_two_systems_share_a_folder() -> None:
    systems = [SCORE, RANDOM, ORACLE, System("random", "random"), System("o", "@random"),
               System("oracle", 4, "a.b"), System("oracle", "4.a", "b"),
               System("a/b", "a/b"), System("..", "..")]  # fmt: skip
    names = [system.folder(seed) for system in systems for seed in (1, 11)]
    assert len(set(names)) == len(names)
    assert all("/" not in name and name not in (".", "..") for name in names)


LINES = [
    b"a b c\td e f\t0.1\r\n",
    b"a\tb\t0.9\n",
    "é è\tx\u2028y z\t-2\n".encode(),
    b"g h\ti j\t0.3",
]


def selected(path: Path, *rules: str, columns: Columns | None = None) -> list[bytes]:
    made = [parse_rule(rule) for rule in rules]
    return list(select_pairs(str(path), columns or Columns(), made, ("en", "de")))


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(subsets, "WINDOW_ROWS", 3)
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"".join(LINES))
    return path


def test_rows_that_pass_are_as_they_were(table: Path) -> None:
    every = [*LINES[:3], LINES[3] + b"\n"]
    assert selected(table) == every
    assert selected(table, "length:minimum=2") == [every[0], *every[2:]]
    assert selected(table, "length:minimum=2", "column:column=3,maximum=0.2") == [
        every[0],
        every[2],
    ]
    assert selected(table, "column:column=-1,minimum=0.5") == [every[1]]
    assert selected(table, "length:maximum=1", columns=Columns(3, 1)) == [every[1]]


def test_a_bad_row_stops(table: Path) -> None:
    table.write_bytes(b"a\tb\nc\n")
    with pytest.raises(InputError, match=r"pairs.tsv:2: .*mend the row"):
        selected(table)


@pytest.mark.parametrize("name", ["score", "0", "1.5"])
def test_columns_are_numbers(name: str) -> None:
    with pytest.raises(SettingsError, match=f"column '{name}' is no number"):
        rule_columns([parse_rule(f"column:column={name}")])


def test_samples_are_of_the_seed_and_in_order() -> None:
    lines = [f"{number:03}\n".encode() for number in range(200)]
    samples = [sample_lines(lines, 50, seed) for seed in (1, 1, 2)]
    assert samples[0] == samples[1] != samples[2]
    assert len(set(samples[0])) == 50 and samples[0] == sorted(samples[0])
    assert sample_lines(lines, None, 1) == sample_lines(lines, 200, 1) == lines
