"""Ranking and selecting scored rows; sorting and tables of keys on disk."""

from __future__ import annotations

import io
import math
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import inf, isnan, nan
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitextfilter.errors import InputError, NotFoundError, OutputError
from bitextfilter.io import ranking, spill
from bitextfilter.io.ranking import (
    Decision,
    Ranked,
    Ranking,
    ScoredRows,
    SelectionSettings,
    scored_windows,
)
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import Columns, Row, WantedColumn, number_of
from bitextfilter.io.spill import SentenceFile, Spill, write_distinct

Rows = list[tuple[float, int]]
"""The score and the size of each row."""

SCORES = st.sampled_from([0.5, 0.25, -1.0, 0.0, -0.0, inf, -inf, nan]) | st.floats()
ROWS = st.lists(st.tuples(SCORES, st.integers(0, 9)), max_size=40)
FOLDS = st.integers(1, 12).flatmap(lambda k: st.tuples(st.integers(1, k), st.just(k)))
CUTS = st.builds(
    SelectionSettings,
    rows=st.none() | st.integers(0, 45),
    size=st.none() | st.integers(0, 200),
    fraction=st.none() | st.fractions(0, 1, max_denominator=20),
    min_score=st.none() | SCORES.filter(lambda score: not isnan(score)),
    fold=st.none() | FOLDS,
)


def ranked(rows: Rows, spill: Spill, best_first: bool = True, run_rows: int = 3) -> Ranked:
    """Rank rows whose lines are their numbers, in parts of two."""
    made = Ranking(spill, best_first, run_rows)
    for start in range(0, len(rows), 2):
        part = list(enumerate(rows[start : start + 2], start))
        made.add(
            [b"%d\n" % number for number, _ in part],
            [score for _, (score, _) in part],
            [size for _, (_, size) in part],
        )
    assert len(made) == len(rows)
    return made.finish()


def naive_order(rows: Rows) -> list[int]:
    """The rows best first: no score last, ties as they came."""
    keyed = (
        (isnan(score), 0.0 if isnan(score) else -score, i) for i, (score, _) in enumerate(rows)
    )
    return [i for _, _, i in sorted(keyed)]


def naive_folds(order: list[int], parts: int) -> Iterator[list[int]]:
    """Worst first; what is left over makes some folds one row larger."""
    start = 0
    for part in range(parts):
        stop = len(order) * (part + 1) // parts
        yield order[start:stop]
        start = stop


def naive_kept(rows: Rows, choice: SelectionSettings) -> list[int]:
    """The rows that a choice without a sample keeps, best first: one after the other."""
    best = naive_order(rows)
    if choice.fold is not None:
        part, parts = choice.fold
        folds = list(naive_folds(best, parts))
        best = folds[parts - part]
    most = choice.most(len(best))
    kept: list[int] = []
    total = 0
    for row in best:
        score, size = rows[row]
        if choice.min_score is not None and not score >= choice.min_score:
            break
        total += size
        if choice.size is not None and total > choice.size:
            break
        if len(kept) == most:
            break
        kept.append(row)
    return kept


def kept_lines(ranked: Ranked, choice: SelectionSettings, everything: bool = False) -> list[int]:
    selection = ranked.select(choice)
    return [
        int(line)
        for rows in ranked.read(selection, everything)
        for line, verdict in zip(rows.lines, rows.decisions, strict=True)
        if verdict == Decision.KEPT
    ]


@given(ROWS, CUTS, st.booleans())
def test_every_cut_in_ranked_order(rows: Rows, choice: SelectionSettings, everything: bool) -> None:
    with Spill() as spill:
        assert kept_lines(ranked(rows, spill), choice, everything) == naive_kept(rows, choice)


@given(ROWS, CUTS)
def test_every_cut_in_input_order(rows: Rows, choice: SelectionSettings) -> None:
    with Spill() as spill:
        lines = kept_lines(ranked(rows, spill, best_first=False), choice)
    assert lines == sorted(naive_kept(rows, choice))


@given(ROWS, CUTS)
def test_what_a_selection_says_of_itself(rows: Rows, choice: SelectionSettings) -> None:
    kept = naive_kept(rows, choice)
    with Spill() as spill:
        made = ranked(rows, spill)
        selection = made.select(choice)
        assert made.unscored() == sum(isnan(score) for score, _ in rows)
        assert made.size() == sum(size for _, size in rows)
    assert (selection.count, selection.size) == (len(kept), sum(rows[i][1] for i in kept))
    if not kept:
        assert selection.threshold is None
    else:
        threshold, last = selection.threshold, rows[kept[-1]][0]
        assert threshold == last or (isnan(last) and threshold is not None and isnan(threshold))
        assert selection.end == naive_order(rows).index(kept[-1]) + 1


@given(ROWS, CUTS, st.none() | st.integers(0, 45), st.booleans())
def test_every_row_comes_back_with_its_place(
    rows: Rows, choice: SelectionSettings, sample: int | None, best_first: bool
) -> None:
    choice = SelectionSettings(**{**vars(choice), "sample": sample})
    order = naive_order(rows)
    with Spill() as spill:
        made = ranked(rows, spill, best_first)
        seen = []
        for part in made.read(made.select(choice), everything=True):
            lines = [int(line) for line in part.lines]
            assert part.indices.tolist() == lines
            assert [order[rank] for rank in part.ranks] == lines
            seen += lines
    assert seen == (order if best_first else list(range(len(rows))))


@given(ROWS, st.integers(1, 12))
def test_folds_are_a_partition_into_equal_parts(rows: Rows, parts: int) -> None:
    folds = []
    for part in range(1, parts + 1):
        with Spill() as spill:
            folds.append(kept_lines(ranked(rows, spill), SelectionSettings(fold=(part, parts))))
    assert [row for fold in reversed(folds) for row in fold] == naive_order(rows)
    assert max(map(len, folds)) - min(map(len, folds)) <= 1


def test_the_first_fold_is_the_worst() -> None:
    with Spill() as spill:
        rows = [(score, 0) for score in (0.3, 0.1, 0.2, 0.4)]
        assert kept_lines(ranked(rows, spill), SelectionSettings(fold=(1, 4))) == [1]


def test_fractions_are_exact() -> None:
    """29 % of 100 rows are 29, which floats deny."""
    assert int(0.29 * 100) == 28
    assert SelectionSettings(fraction=Fraction("0.29")).most(100) == 29


@given(ROWS, CUTS, st.integers(0, 45), st.integers(0, 3))
def test_a_sample_is_of_what_passes_and_is_cut_like_any_rows(
    rows: Rows, choice: SelectionSettings, sample: int, seed: int
) -> None:
    fold, least = choice.fold, choice.min_score
    passing = naive_kept(rows, SelectionSettings(fold=fold, min_score=least))
    drawn = SelectionSettings(fold=fold, min_score=least, sample=sample, seed=seed)
    with Spill() as spill:
        made = ranked(rows, spill)
        sampled = made.select(drawn)
        cut = made.select(SelectionSettings(**{**vars(choice), "sample": sample, "seed": seed}))
        again = kept_lines(made, drawn)
    order = naive_order(rows)
    kept = [order[rank] for rank in (sampled.decisions == Decision.KEPT).nonzero()[0]]
    assert kept == again
    assert len(kept) == min(sample, len(passing))
    assert set(kept) <= set(passing)
    chosen = [rows[row] for row in kept]
    without = SelectionSettings(rows=choice.rows, size=choice.size, fraction=choice.fraction)
    ranks = (cut.decisions == Decision.KEPT).nonzero()[0]
    assert [order[rank] for rank in ranks] == [kept[i] for i in naive_kept(chosen, without)]


def test_every_sample_is_as_likely_as_any_other() -> None:
    """2 of 4 rows: each of the six sets within five standard deviations of a sixth of 3,000."""
    counts: dict[tuple[int, ...], int] = {}
    with Spill() as spill:
        made = ranked([(float(i), 0) for i in range(4)], spill)
        for seed in range(3000):
            verdicts = made.select(SelectionSettings(sample=2, seed=seed)).decisions
            drawn = tuple((verdicts == Decision.KEPT).nonzero()[0].tolist())
            counts[drawn] = counts.get(drawn, 0) + 1
    assert len(counts) == 6
    assert all(abs(count - 500) < 5 * (3000 / 6 * 5 / 6) ** 0.5 for count in counts.values())


REASONS = [
    (SelectionSettings(rows=2), ["rank 3 > 2", "rank 4 > 2"]),
    (SelectionSettings(rows=0), [f"rank {rank} > 0" for rank in (1, 2, 3, 4)]),
    (SelectionSettings(size=3), ["rank 3 > 2", "rank 4 > 2"]),
    (SelectionSettings(min_score=0.25), ["score 0.125 < 0.25", "no score"]),
    (SelectionSettings(rows=1, min_score=0.25), ["rank 2 > 1", "score 0.125 < 0.25", "no score"]),
    (SelectionSettings(min_score=5), [*(f"score {s} < 5" for s in (4, 0.25, 0.125)), "no score"]),
    (SelectionSettings(fold=(2, 2), rows=1), ["rank 2 > 1", "not in fold 2/2", "not in fold 2/2"]),
    (SelectionSettings(fold=(1, 2), rows=1), ["not in fold 1/2", "not in fold 1/2", "rank 4 > 3"]),
    (SelectionSettings(sample=0), ["not in the sample"] * 4),
]


@pytest.mark.parametrize(("choice", "reasons"), REASONS)
def test_why_a_row_was_left_out(choice: SelectionSettings, reasons: list[str]) -> None:
    with Spill() as spill:
        made = ranked([(nan, 1), (4.0, 1), (0.25, 2), (0.125, 1)], spill)
        selection = made.select(choice)
        left = [rank for rank in range(4) if selection.decisions[rank]]
        assert [selection.reason(rank, made.score(rank)) for rank in left] == reasons


@given(ROWS)
def test_runs_may_end_by_bytes(rows: Rows) -> None:
    with pytest.MonkeyPatch.context() as patch, Spill() as spill:
        patch.setattr(ranking, "RUN_BYTES", 5)
        assert kept_lines(ranked(rows, spill, run_rows=1000), SelectionSettings()) == naive_order(
            rows
        )


def test_many_rows_in_blocks_and_runs() -> None:
    """More rows than any block or buffer holds."""
    rows = [((i * 7919) % 5003 / 8, i % 4) for i in range(20_000)]
    choice = SelectionSettings(size=17_001, fraction=Fraction(3, 4))
    with Spill() as spill:
        assert kept_lines(ranked(rows, spill, run_rows=700), choice) == naive_kept(rows, choice)
    with Spill() as spill:
        made = ranked(rows, spill, best_first=False)
        assert kept_lines(made, choice) == sorted(naive_kept(rows, choice))


MEMORY = """
import random, resource, sys
from bitextfilter.io.ranking import Ranking
from bitextfilter.io.ranking import SelectionSettings
from bitextfilter.io.spill import Spill

def peak():
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024

def rank(count, best_first):
    scores = [random.random() for _ in range(1000)]
    with Spill() as spill:
        ranking = Ranking(spill, best_first)
        for start in range(0, count, 1000):
            ranking.add([b"a row of some words\\n"] * 1000, scores, [4] * 1000)
            random.shuffle(scores)
        ranked = ranking.finish()
        selection = ranked.select(SelectionSettings(size=count, min_score=0.1, sample=count // 2))
        for rows in ranked.read(selection, everything=True):
            pass

rank(100_000, sys.argv[2] == "ranked")
before = peak()
rank(int(sys.argv[1]), sys.argv[2] == "ranked")
print(peak() - before)
"""


@pytest.mark.parametrize("order", ["ranked", "input"])
def test_at_most_24_bytes_a_row(order: str) -> None:
    """What the peak of the process grows by from 100,000 rows to 600,000."""
    call = [sys.executable, "-c", MEMORY, "600000", order]
    done = subprocess.run(call, capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) <= 24 * 600_000


FIELDS = st.sampled_from(
    [b"0.5", b"1_0", b"nan", b"-inf", b"", b" ", b"x", b"\xff", b"\0", "ä b".encode(), b"\r"]
)
TABLES = st.lists(st.lists(FIELDS, min_size=1, max_size=4).map(b"\t".join), max_size=9)


def scored(column: int | str, sides: tuple[str, ...], **others: Any) -> Columns:
    """The columns of the score, which may be empty, and of some sides."""
    first = (WantedColumn("score", "--column", column),)
    return Columns(blank=True, sides=sides, first=first, **others)


COLUMNS = st.builds(
    scored,
    source=st.sampled_from([1, -2]),
    target=st.sampled_from([2, -1]),
    column=st.sampled_from([-1, 1, 2, 3]),
    sides=st.sampled_from([(), ("source",), ("target",), ("source", "target")]),
)


def windows_of(data: bytes, columns: Columns) -> list[ScoredRows]:
    return list(scored_windows(RowReader(io.BytesIO(data), "rows.tsv", columns), columns))


@given(TABLES, COLUMNS, st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_the_same_as_row_by_row(
    table: list[bytes], columns: Columns, ending: bytes, ended: bool
) -> None:
    data = ending.join(table) + ending * ended
    lines, scores, texts, bad = [], [], [], []
    for row in RowReader(io.BytesIO(data), "rows.tsv", columns):
        if isinstance(row, Row):
            lines.append(row.line + row.ending)
            scores.append(number_of(row.texts[0].encode()))
            texts.append(row.texts[1:])
        else:
            bad.append((len(lines), row))
    found = windows_of(data, columns)
    if not data:
        assert found == []
        return
    assert len(found) == 1 and len(found[0]) == len(lines) + len(bad)
    assert (found[0].lines, found[0].bad) == (lines, bad)
    assert list(map(repr, found[0].scores)) == list(map(repr, scores))
    assert [[text.split() for text in side] for side in found[0].texts] == [
        [row[place].split() for row in texts] for place in range(len(columns.sides))
    ]


@pytest.mark.parametrize(
    ("field", "score"),
    [
        (b"0.50", 0.5),
        (b" -1e-3 ", -0.001),
        (b"inf", math.inf),
        (b"-Infinity", -math.inf),
        (b"7", 7.0),
        *((text.encode(), None) for text in ("", "NaN", "1_0", "0,5", "0x1", "١", "mlp")),
    ],
)
def test_what_is_a_score(field: bytes, score: float | None) -> None:
    ((found,),) = (window.scores for window in windows_of(b"a\tb\t" + field + b"\n", COLUMN))
    assert math.isnan(found) if score is None else found == score


COLUMN = scored(-1, ())


def test_only_the_columns_that_are_asked_for_are_looked_at() -> None:
    (window,) = windows_of(b"\xff\0\t0.5\n", COLUMN)
    assert (window.lines, window.scores, window.bad) == ([b"\xff\0\t0.5\n"], [0.5], [])


def test_columns_by_name() -> None:
    columns = scored("mlp", ("target",), source="en", target="de")
    reader = RowReader(io.BytesIO(b"mlp\tde\n0.5\tja\n"), "rows.tsv", columns, header=True)
    (window,) = scored_windows(reader, columns)
    assert (window.scores, window.texts) == ([0.5], [["ja\n"]])


LINES = st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"") + b"\n"))


@given(st.lists(LINES, max_size=5), st.randoms(use_true_random=False))
def test_runs_are_read_in_any_interleaving(runs: list[list[bytes]], random: object) -> None:
    with Spill() as spilled:
        for run in runs:
            spilled.begin_run()
            spilled.write(run)
        readers = spilled.readers()
        turns = [place for place, run in enumerate(runs) for _ in run]
        random.shuffle(turns)  # type: ignore[attr-defined]
        back: list[list[bytes]] = [[] for _ in runs]
        for place in turns:
            back[place].append(readers[place]())
        assert back == runs
        assert [read() for read in readers] == [b""] * len(runs)


def test_lines_longer_than_any_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "MOST_BUFFER", 16)
    lines = [b"x" * 100_000 + b"\n", b"y\n"] * 3
    with Spill() as spilled:
        for _ in range(2):
            spilled.begin_run()
            spilled.write(lines)
        first, second = spilled.readers()
        assert [line for _ in lines for line in (first(), second())] == [
            line for line in lines for _ in range(2)
        ]


def test_the_file_is_in_the_temporary_folder_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Spill() as spilled:
        spilled.begin_run()
        spilled.write([b"a\n"])
    assert list(tmp_path.iterdir()) == []


def test_arrays_come_back_whole() -> None:
    with Spill() as spilled:
        file = spilled.file()
        for part in ([0.5, -np.inf], [], [np.nan]):
            file.write(np.array(part).data)
        for back in (file.load(np.float64), file.array(np.float64)):
            np.testing.assert_array_equal(back, [0.5, -np.inf, np.nan])
        assert len(spilled.file().load(np.uint8)) == 0


def test_a_full_disk_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_full(buffering: int) -> IO[bytes]:
        return open("/dev/full", "wb", buffering)

    monkeypatch.setattr(tempfile, "TemporaryFile", open_full)
    with Spill() as spilled:
        file = spilled.file()
        for fails in (
            lambda: spilled.write([b"x" * 1_000_000 + b"\n"]),
            lambda: file.write(b"x" * 1_000_000),
        ):
            with pytest.raises(OutputError) as caught:
                fails()
            message = f"a temporary file in {tempfile.gettempdir()} cannot be written: "
            assert str(caught.value).startswith(message)
            assert str(caught.value).endswith("; TMPDIR names another folder")


SENTENCE = st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(st.lists(SENTENCE, max_size=9), max_size=5))
def test_each_once_in_order_with_its_copies(tmp_path: Path, windows: list[list[str]]) -> None:
    counts = Counter(sentence for window in windows for sentence in window)
    found = write_distinct(tmp_path / "some", windows)
    assert list(found) == list(counts)
    assert found.copies().tolist() == list(counts.values())
    assert found.characters.tolist() == [len(sentence) for sentence in counts]
    assert found[1:-1] == list(counts)[1:-1]
    assert found[::2] == list(counts)[::2]
    assert list(SentenceFile(tmp_path / "some")) == list(counts)


def test_thousands_in_windows_of_any_size(tmp_path: Path) -> None:
    sentences = [f"sentence {number * number % 7919}" for number in range(20_000)]
    counts = Counter(sentences)
    digests = set()
    for size in (7, 4096, 20_000):
        windows = [sentences[first : first + size] for first in range(0, len(sentences), size)]
        found = write_distinct(tmp_path / str(size), windows)
        assert list(found) == list(counts)
        assert found.copies().tolist() == list(counts.values())
        digests.add(found.digest())
    assert len(digests) == 1
    assert write_distinct(tmp_path / "other", [sorted(sentences)]).digest() not in digests
    assert write_distinct(tmp_path / "more", [sentences, sentences[:1]]).digest() not in digests


def test_what_is_no_place(tmp_path: Path) -> None:
    found = write_distinct(tmp_path / "some", [["a", "b"]])
    for place in (2, -1):
        with pytest.raises(IndexError):
            found[place]
    assert found[5:] == []
    assert found[2:1] == []


def test_missing_or_damaged(tmp_path: Path) -> None:
    write_distinct(tmp_path / "some", [["one", "two"]])
    for name in ("some.starts", "some.copies"):
        kept = (tmp_path / name).read_bytes()
        for damaged in (
            kept[:-8],
            kept[:8] + bytes(8) + kept[16:] if name.endswith("starts") else b"",
        ):
            (tmp_path / name).write_bytes(damaged)
            with pytest.raises(InputError, match="damaged"):
                SentenceFile(tmp_path / "some").copies()
        (tmp_path / name).write_bytes(kept)
    (tmp_path / "some").write_text("one\n")
    with pytest.raises(InputError, match=r"some: its sentences are damaged"):
        SentenceFile(tmp_path / "some")
    (tmp_path / "some").unlink()
    with pytest.raises(NotFoundError, match="some"):
        SentenceFile(tmp_path / "some")
    with pytest.raises(NotFoundError, match="none"):
        SentenceFile(tmp_path / "none")
