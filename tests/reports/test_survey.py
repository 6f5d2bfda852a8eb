"""The numbers of a report against plain loops over the rows, and manifests."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import InputError, NotFoundError
from bitextfilter.io.work_folder import Manifest
from bitextfilter.reports import survey
from bitextfilter.reports.charts import multiples, nice_step
from bitextfilter.reports.survey import (
    MOST_LABELS,
    MOST_REASONS,
    OTHER_LABELS,
    OTHER_REASONS,
    REASON_LENGTH,
    TEXT_LENGTH,
    FilterRun,
    ReasonCounts,
    Reservoir,
    Sample,
    Survey,
    at_tenths,
    counted,
    cuts_of,
    densities,
    fields_of,
    near_thresholds,
    ordered_by,
    quantiles,
    read_run,
    reason_name,
    reasons_of,
    shortened,
    spreads_of,
    thresholds_of,
)

LABELS = ("clean", "copy", "")
REASONS = ("", "negation=not(source only)", "source-words=1 a(+0.5), 3 b; c(+2.0)", "identical")


def made(count: int, seed: int = 1) -> list[Sample]:
    """Rows with many equal scores, and lengths from 0 up."""
    choose = random.Random(seed)
    return [
        Sample(
            number,
            " ".join("w" * choose.randrange(9)),
            " ".join("v" * choose.randrange(12)),
            (round(choose.random(), 2), choose.gauss(0, 1)),
            choose.choice(LABELS),
            "; ".join(choose.choices(REASONS, k=number % 4)),
        )
        for number in range(1, count + 1)
    ]


ROWS = made(500)


@pytest.fixture
def rows_surveyed(monkeypatch: pytest.MonkeyPatch) -> Survey:
    """A survey of ROWS, counted in small blocks."""

    def small(size: int, step: int = 64) -> list[slice]:
        return [slice(start, min(start + step, size)) for start in range(0, size, step)]

    monkeypatch.setattr(survey, "blocks", small)
    found = Survey(["a", "b"])
    for start in range(0, len(ROWS), 33):
        found.add(ROWS[start : start + 33])
    return found


def test_blocks_cover_every_row_once() -> None:
    for size in (0, 1, 9, 10, 11):
        found = [place for block in survey.blocks(size, 5) for place in range(size)[block]]
        assert found == list(range(size))


def test_what_is_kept_of_rows(rows_surveyed: Survey) -> None:
    assert len(rows_surveyed) == 500
    assert rows_surveyed.scores(1).tolist() == [np.float32(row.scores[1]) for row in ROWS]
    assert rows_surveyed.lengths(1).tolist() == [len(row.target.split()) for row in ROWS]
    names = [rows_surveyed.labels[code] for code in rows_surveyed.codes()]
    assert names == [row.label or "(none)" for row in ROWS]
    assert sorted(rows_surveyed.samples()) == sorted(ROWS)
    assert rows_surveyed.labelled


def test_too_many_labels_are_one_and_characters_are_counted_without_spaces() -> None:
    found = Survey(["a"])
    found.add([Sample(n, "s", "t", (0.0,), f"l{n % 400}") for n in range(900)])
    assert len(found.labels) == MOST_LABELS + 1
    assert found.labels[-1] == OTHER_LABELS
    assert found.codes().tolist() == [min(n % 400, MOST_LABELS) for n in range(900)]
    found = Survey(["a"], unit="characters")
    found.add([Sample(1, "ab c", "\U0001f600 é", (0.0,))])
    assert (found.lengths(0).tolist(), found.lengths(1).tolist()) == ([3], [2])
    assert not found.labelled


@given(st.text(alphabet="; a=\u2028"))
def test_reasons_are_those_of_a_split(cell: str) -> None:
    assert list(reasons_of(cell)) == [text.strip() for text in cell.split("; ") if text.strip()]


@pytest.mark.parametrize(
    ("reason", "name"),
    [
        ("source-words=7 red(+1.2)", "source-words"),
        ("negation=not(source only)", "negation"),
        ("length-ratio=4.2>3", "length-ratio"),
        ("urls(source)=0.3>0", "urls"),
        ("letter-words(source)=0<1 letter-words(target)=0<1", "letter-words"),
        ("bad-encoding(target)", "bad-encoding"),
        ("tags=<a href=b>", "tags"),
        ("identical", "identical"),
        ("a text (source) of some words", "a text (source) of some words"),
        ("=5", "=5"),
        ("x" * 5000, "x" * (REASON_LENGTH - 1) + "…"),
        ("x" * 5000 + "=1", "x" * (REASON_LENGTH - 1) + "…"),
    ],
)
def test_names_of_reasons(reason: str, name: str) -> None:
    assert reason_name(reason) == name


def test_rows_with_each_reason(rows_surveyed: Survey) -> None:
    cells = [row.reasons for row in ROWS]
    names = {"negation": "negation=", "source-words": "source-words=", "identical": "identical"}
    expected = {name: sum(text in cell for cell in cells) for name, text in names.items()}
    assert min(expected.values()) > 100
    assert rows_surveyed.reasons.rows == {**expected, "c(+2.0)": expected["source-words"]}
    assert rows_surveyed.reasons.any == sum(bool(cell.strip("; ")) for cell in cells)


def test_too_many_reasons_are_one() -> None:
    """The first come first, from row to row and within a row, which has the others once."""
    found = ReasonCounts()
    for step in range(30):
        found.add(["; ".join(f"r{n}={step}" for n in range(3 * step, 3 * step + 5))])
    first = {f"r{n}": 0 for n in range(MOST_REASONS)}
    for step in range(30):
        for n in range(3 * step, 3 * step + 5):
            if n < MOST_REASONS:
                first[f"r{n}"] += 1
    others = sum(3 * step + 4 >= MOST_REASONS for step in range(30))
    assert list(found.rows.items()) == [*first.items(), (OTHER_REASONS, others)]
    assert found.any == 30


@pytest.mark.parametrize("score", [0, 1])
def test_what_thresholds_keep(rows_surveyed: Survey, score: int) -> None:
    thresholds = thresholds_of(np.sort(rows_surveyed.scores(score)))
    cuts = cuts_of(rows_surveyed, score, thresholds)
    for place, threshold in enumerate(thresholds):
        kept = [row for row in ROWS if np.float32(row.scores[score]) >= threshold]
        assert cuts.rows[place] == len(kept)
        assert cuts.source[place] == sum(len(row.source.split()) for row in kept)
        assert cuts.target[place] == sum(len(row.target.split()) for row in kept)
        for code, label in enumerate(rows_surveyed.labels):
            assert cuts.labels[place, code] == sum((r.label or "(none)") == label for r in kept)
    assert cuts.rows[0] == 500


LARGEST = float(np.float32(3.3e38))
finite = st.floats(-LARGEST, LARGEST, width=32)


@given(st.lists(finite, min_size=1, max_size=60))
def test_thresholds_are_usable_whatever_the_scores(values: list[float]) -> None:
    ordered = np.sort(np.array(values, dtype=np.float32))
    thresholds = thresholds_of(ordered)
    assert thresholds[0] == ordered[0] and thresholds[-1] == ordered[-1]
    assert (np.diff(thresholds) > 0).all()
    assert len(thresholds) <= 101 + 402
    assert set(quantiles(ordered, np.linspace(0, 1, 101))) <= set(thresholds)


def test_thresholds_are_round_numbers_too() -> None:
    ordered = np.linspace(-0.2, 1.3, 100_000, dtype=np.float32)
    thresholds = thresholds_of(ordered)
    assert {np.float32(0.5), np.float32(0.005), np.float32(-0.1)} <= set(thresholds)
    outlier = np.concatenate([np.float32([-1e6]), ordered])
    assert {np.float32(0.5), np.float32(0.005), np.float32(-1e6)} <= set(thresholds_of(outlier))


@given(st.floats(1e-40, 1e38), st.integers(1, 400))
def test_nice_steps_split_a_width_in_few(width: float, most: int) -> None:
    step = nice_step(width, most)
    assert width / step <= most * (1 + 1e-6)
    assert width / step > most / 2.6
    mantissa = step / 10 ** math.floor(math.log10(step * (1 + 1e-9)))
    assert min(abs(mantissa - nice) for nice in (1, 2, 2.5, 5, 10)) < 1e-6


def test_multiples_are_the_numbers_as_written_and_quantiles_values_that_occur() -> None:
    assert multiples(0.1, 0, 4).tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert multiples(2500.0, -1, 1).tolist() == [-2500.0, 0.0, 2500.0]
    assert multiples(2e-20, 1, 2).tolist() == pytest.approx([2e-20, 4e-20], rel=1e-12, abs=0)
    ordered = np.array([1.0, 2.0, 5.0, 9.0])
    assert quantiles(ordered, np.array([0, 0.3, 0.5, 1])).tolist() == [1, 2, 5, 9]


def test_spreads_of_labels(rows_surveyed: Survey) -> None:
    spreads = spreads_of(rows_surveyed, 0)
    assert {spread.label for spread in spreads} == {"clean", "copy", "(none)"}
    for spread in spreads:
        own = sorted(
            np.float32(row.scores[0]) for row in ROWS if (row.label or "(none)") == spread.label
        )
        assert spread.rows == len(own)
        assert rows_surveyed.labels[spread.place] == spread.label
        places = [round(part * (len(own) - 1)) for part in (0.05, 0.25, 0.5, 0.75, 0.95)]
        assert spread.levels == tuple(own[place] for place in places)
    medians = [spread.levels[2] for spread in spreads]
    assert medians == sorted(medians, reverse=True)


def test_counted_is_numpys_histogram(rows_surveyed: Survey) -> None:
    """But for values where single precision has no room."""
    values = np.array([*rows_surveyed.scores(1), -2, 2], dtype=np.float64)
    edges = np.linspace(-2, 2, 17)
    assert counted(values, edges).tolist() == np.histogram(values, edges)[0].tolist()
    close = np.array([1, 1 + 1.2e-7], dtype=np.float32)
    assert counted(close, np.linspace(float(close[0]), float(close[1]), 51)).sum() == 2


@pytest.mark.parametrize("width", [1, 2, 3])
def test_densities_of_lengths(rows_surveyed: Survey, width: int) -> None:
    expected = np.zeros((4, 4), dtype=int)
    for row in ROWS:
        source, target = len(row.source.split()), len(row.target.split())
        if 0 < source <= 4 * width and 0 < target <= 4 * width:
            expected[(source - 1) // width, (target - 1) // width] += 1
    assert (densities(rows_surveyed, width, 4) == expected).all()


def rows(count: int) -> list[Sample]:
    return [Sample(number, f"s{number}", "t", (0.0,)) for number in range(1, count + 1)]


def drawn(count: int, size: int, seed: int, step: int = 7) -> list[int]:
    reservoir = Reservoir(size, seed)
    for start in range(0, count, step):
        reservoir.offer(rows(count)[start : start + step])
    return [row.number for row in reservoir.rows()]


@pytest.mark.parametrize("count", [0, 1, 5, 6, 100])
def test_a_sample_is_that_of_the_smallest_draws(count: int) -> None:
    """So it is uniform, of the size asked for, and has no row twice, however rows are offered."""
    draws = np.random.default_rng(3).random(count)
    for step in (1, 7, 100):
        assert drawn(count, 5, 3, step) == (np.argsort(draws)[:5] + 1).tolist()


def test_texts_are_cut() -> None:
    reservoir = Reservoir(1, 1)
    reasons = "z" * (TEXT_LENGTH + 1)
    reservoir.offer([Sample(1, "x" * 5000, "y" * TEXT_LENGTH, (1.0,), reasons=reasons)])
    (row,) = reservoir.rows()
    assert (len(row.reasons), row.reasons[-2:]) == (TEXT_LENGTH, "z…")
    assert (len(row.source), row.source[-2:]) == (TEXT_LENGTH, "x…")
    assert row.target == "y" * TEXT_LENGTH
    assert shortened("abc", 3) == "abc" and shortened("abcd", 3) == "ab…"


def test_tenths_are_centred_and_whole() -> None:
    order = np.arange(1000)
    groups = at_tenths(order, 10)
    assert groups[0] == list(range(10))
    assert groups[5] == list(range(495, 505))
    assert groups[10] == list(range(990, 1000))
    assert at_tenths(np.arange(3), 10) == [[0, 1, 2]] * 11
    assert at_tenths(np.arange(0), 10) == [[]] * 11


def test_samples_nearest_to_thresholds() -> None:
    scores = np.array([0.5, 0.1, 0.9, 0.3, 0.7, 0.3], dtype=np.float32)
    order = ordered_by(scores)
    assert order.tolist() == [1, 3, 5, 0, 4, 2]
    near = near_thresholds(order, scores[order], np.array([0.3, 0.95], dtype=np.float32))
    assert near == [1, 3, 5, 4, 2]
    assert near_thresholds(order[:0], scores[:0], scores) == []


COUNTS = {"rows": 10, "kept": 7, "dropped": 2, "rejected": 1}
RULES = {"length-ratio": {"dropped": 2, "unique": 1}, "identical": {"dropped": 1, "unique": 0}}


def written(path: Path, facts: dict[str, Any], counts: dict[str, int] = COUNTS) -> str:
    Manifest("0.1.0", ["bitext-filter", "-i", "x y"], counts, 1.5, 6.7, facts).write(path)
    return str(path)


def test_drops_of_rules(tmp_path: Path) -> None:
    run = FilterRun(written(tmp_path / "filter.json", {"rules": RULES}))
    assert run.rules == {"length-ratio": (2, 1), "identical": (1, 0)}
    assert (run.name, run.counts) == ("filter.json", COUNTS)


@pytest.mark.parametrize(
    ("facts", "counts"),
    [
        ({}, COUNTS),
        ({"rules": 3}, COUNTS),
        ({"rules": {"a": {"dropped": 1}}}, COUNTS),
        ({"rules": {"a": {"dropped": "many", "unique": 1}}}, COUNTS),
        ({"rules": {"a": 1}}, COUNTS),
        ({"rules": RULES}, {"rows": 1}),
    ],
)
def test_no_manifest_of_a_filter(
    tmp_path: Path, facts: dict[str, Any], counts: dict[str, int]
) -> None:
    path = written(tmp_path / "run.json", facts, counts)
    with pytest.raises(InputError, match=r"run\.json: no drops of rules in it; give the file"):
        FilterRun(path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        *((data, "no JSON: .*") for data in (b"", b"{", b"\xff", b"[" * 100_000, b"1" * 5000)),
        *((data, "no manifest: a JSON object is expected") for data in (b"[]", b'"text"', b"null")),
    ],
)
def test_no_manifest(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "run.json"
    with pytest.raises(NotFoundError):
        read_run(str(path))
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"run\.json: {said}; give a file that --manifest"):
        read_run(str(path))


def test_fields(tmp_path: Path) -> None:
    run = read_run(written(tmp_path / "run.json", {"seed": 3, "a": {"b": [1, {"c": None}]}}))
    assert fields_of(run) == [
        ("version", "0.1.0"), ("command", "bitext-filter -i 'x y'"), ("counts › rows", "10"),
        ("counts › kept", "7"), ("counts › dropped", "2"), ("counts › rejected", "1"),
        ("seconds", "1.5"), ("rows_per_second", "6.7"), ("facts › seed", "3"),
        ("facts › a › b › 1", "1"), ("facts › a › b › 2 › c", "null"), ("compiled", ""),
    ]  # fmt: skip
    values = {"n": 1234567, "t": True, "l": ["a b", 2], "e": {}, "x": []}
    shown = ["1234567", "true", "'a b' 2", "{}", ""]
    assert fields_of(values) == list(zip(values, shown, strict=True))
    ((place, text),) = fields_of(json.loads('{"a":' * 900 + "1" + "}" * 900))
    assert place.startswith("a › a › a") and text.endswith("}")
