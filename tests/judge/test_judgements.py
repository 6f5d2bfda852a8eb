"""Samples and labels files: what is read, and the line for each fault."""

from __future__ import annotations

import hashlib
import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.judge.judgements import (
    Judgements,
    Label,
    LabelReader,
    RowSample,
    labels_text,
    pair_digest,
    parse_scale,
    read_sample,
    sample_header,
)

SAMPLE = (
    b"source\ttarget\tmlp\trow\treason\tweight\n"
    b"one\teins\t0.5\t7\tnear-cut\t12.5\n"
    b"two\tzwei\t\t9\trule:length\t3\n"
)


def sample(data: bytes = SAMPLE) -> RowSample:
    return read_sample(io.BytesIO(data), "sample.tsv")


def labels(*files: bytes, whole: RowSample | None = None) -> Judgements:
    reader = LabelReader(whole or sample())
    for number, data in enumerate(files, 1):
        reader.read(io.BytesIO(data), f"{number}.tsv")
    return reader.judgements("labels")


def made(*fields: tuple[int, str, str]) -> bytes:
    """A labels file: the place of a row, its label and the annotator."""
    rows = sample().rows
    return labels_text(
        Label(rows[place].row, rows[place].pair, label, "good-bad", who)
        for place, label, who in fields
    )


def test_a_sample_is_read() -> None:
    first, second = sample().rows
    assert (first.source, first.target, first.scores) == ("one", "eins", (0.5,))
    assert (first.row, first.reason, first.weight) == (7, "near-cut", 12.5)
    assert math.isnan(second.scores[0])
    assert sample().scores == ("mlp",) and SAMPLE.startswith(sample_header(["mlp"]))
    assert pair_digest("ä", "b") == hashlib.sha256("ä\tb".encode()).hexdigest()[:16]


def test_other_line_ends_and_a_bom() -> None:
    crlf = sample(b"\xef\xbb\xbf" + SAMPLE.replace(b"\n", b"\r\n"))
    assert [row.pair for row in crlf.rows] == [row.pair for row in sample().rows]
    assert len(labels(b"\xef\xbb\xbf" + made((0, "bad", "a")).replace(b"\n", b"\r\n")).judged) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "sample.tsv:1: the header is not that of a sample"),
        (b"one\teins\n", "sample.tsv:1: the header is not that of a sample"),
        (b"source\trow\treason\tweight\n", "sample.tsv:1: the header is not"),
        (SAMPLE.splitlines(keepends=True)[0], "sample.tsv: no rows"),
        (SAMPLE + b"a\tb\n", "sample.tsv:4: 2 columns, expected 6"),
        (SAMPLE + b"a\tb\t1\tx\tr\t1\n", "sample.tsv:4: the row 'x' is no number above 0"),
        (SAMPLE + b"a\tb\t1\t5\tr\t-1\n", "sample.tsv:4: the weight '-1' is no number above 0"),
        (SAMPLE + b"a\tb\t1\t5\tr\tinf\n", "sample.tsv:4: the weight 'inf' is no number above 0"),
        (SAMPLE + b"one\teins\t1\t5\tr\t1\n", "sample.tsv:4: the pair of line 2 again"),
        (SAMPLE + b"\xff\n", "sample.tsv:4: not UTF-8 at byte 1"),
    ],
)
def test_faults_of_samples(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        sample(data)
    assert str(caught.value).startswith(message) and "; " in str(caught.value)


def test_labels_are_read_by_annotator() -> None:
    found = labels(made((0, "good", "a"), (1, "bad", "a")), made((1, "good", "b")))
    assert found.annotators == ["a", "b"] and found.judged == [0, 1]
    assert {name: each.label for name, each in found.of(1).items()} == {"a": "bad", "b": "good"}


GOOD = made((0, "good", "a"))
LINE = GOOD.splitlines(keepends=True)[1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x\n", "1.tsv:1: the header is not row, pair, label, scale, annotator, note"),
        (GOOD + b"7\n", "1.tsv:3: 1 column, expected 6; columns are separated by tabs"),
        (GOOD + LINE.replace(b"7\t", b"x\t"), "1.tsv:3: the row 'x' is no line number"),
        (GOOD + LINE.replace(b"\tgood\t", b"\tGood\t"), "1.tsv:3: the label 'Good' is not one of"),
        (GOOD + LINE.replace(b"good-bad", b"0-1"), "1.tsv:3: the scale is 0-1, in labels before"),
        (GOOD.replace(b"good-bad", b"x"), "1.tsv:2: scale 'x' is not good-bad"),
        (GOOD.replace(b"\ta\t", b"\t \t"), "1.tsv:2: the annotator has no name"),
        (GOOD + LINE, "1.tsv:3: a has labelled row 7 before (1.tsv:2); keep one"),
        (GOOD.replace(b"7\t", b"9\t"), "1.tsv:2: row 9 has another text than in sample.tsv"),
        (GOOD.replace(LINE.split(b"\t")[1], b"0"), "1.tsv:2: row 7 has another text than in"),
        (GOOD.replace(b"7\t" + LINE.split(b"\t")[1], b"8\t0"), "1.tsv:2: row 8 is not in sample"),
        (GOOD.replace(LINE, b""), "labels: no labels"),
        ([GOOD, GOOD], "2.tsv:2: a has labelled row 7 before (1.tsv:2)"),
    ],
)
def test_faults_of_labels(data: bytes | list[bytes], message: str) -> None:
    with pytest.raises(InputError) as caught:
        labels(*([data] if isinstance(data, bytes) else data))
    assert str(caught.value).startswith(message) and "; " in str(caught.value)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("good-bad", ["good", "bad"], ["", "GOOD", "1"]),
        ("0-100", ["0", "100", "33.3", "1e1"], ["", "-1", "101", "nan", "1_0", "x"]),
        ("0.5-0.75", ["0.5", "0.6"], ["0.4"]),
        ("labels=V,F,A,L", ["V", "L"], ["v", "labels=V"]),
    ],
)
def test_scales(name: str, good: list[str], bad: list[str]) -> None:
    scale = parse_scale(name)
    assert all(map(scale.holds, good)) and not any(map(scale.holds, bad))


@pytest.mark.parametrize(
    "name", ["", "good", "5-5", "9-1", "labels=", "labels=a", "labels=a,a", "a,b"]
)
def test_no_scales(name: str) -> None:
    with pytest.raises(SettingsError, match="scale"):
        parse_scale(name)


TEXTS = st.text("aZ9\"'\\ \t\n\r\x00\x0b\x85\u00a0\u2028\ufeffé漢\U0001f600", max_size=9)


@given(TEXTS, TEXTS.filter(lambda text: text.strip()))
def test_any_note_and_name_come_back(note: str, name: str) -> None:
    row = sample().rows[0]
    label = Label(row.row, row.pair, "good", "good-bad", name, note)
    ((found,),) = (each.values() for each in labels(labels_text([label])).labels.values())
    assert found.annotator == " ".join(name.split()) and found.note == " ".join(note.split())
