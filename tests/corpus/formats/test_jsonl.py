from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.corpus.formats.base import FormatSettings, PairRecord, PairWriter, UnfitError
from bitextfilter.corpus.formats.fields import JsonReader, json_writer
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import BadRow, TextColumn


def reader(
    data: str | bytes, fields: tuple[str, str] = ("source", "target"), keep: str = ""
) -> JsonReader:
    raw = data.encode() if isinstance(data, str) else data
    return JsonReader(RowReader(io.BytesIO(raw), "p.jsonl", TextColumn()), fields, keep.split())


def writer(*fields: str) -> PairWriter:
    return json_writer(FormatSettings(fields=(fields[0], fields[1])), reader(""))


def good(data: str, *fields: str, keep: str = "") -> list[tuple[str, ...]]:
    names = (fields[0], fields[1]) if fields else ("source", "target")
    pairs = list(reader(data, names, keep))
    assert all(isinstance(pair, PairRecord) for pair in pairs)
    return [(p.source, p.target, *p.others.values()) for p in pairs if isinstance(p, PairRecord)]


def test_fields_and_what_is_kept() -> None:
    line = '{"id": 7, "source": "a", "score": 0.50, "target": "b\\tc", "x": null, "ok": true}\n'
    assert good(line) == [("a", "b\tc")]
    assert good(line, keep="score x ok missing id") == [("a", "b\tc", "0.50", "", "true", "", "7")]


def test_fields_of_fields() -> None:
    line = '{"translation": {"en": "a", "de": "b", "meta": {"n": 1e5}}, "x.y": "z"}\n'
    names = "translation.en", "translation.de"
    assert good(line, *names, keep="translation.meta.n x.y") == [("a", "b", "1e5", "z")]


def test_what_is_left_out_is_named() -> None:
    line = '{"source": "a", "target": "b", "id": 1, "more": {"x": 1, "y": 2}}\n'
    found = reader(line, keep="more.x")
    list(found)
    assert found.dropped == {"id", "more.y"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "the line is empty"),
        ("a\tb", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        ('{"source": "a"', "not JSON: Expecting ',' delimiter: line 1 column 15 (char 14)"),
        ('["a", "b"]', "no JSON object"),
        ('{"source": "a", "goal": "b"}', "no field 'target': it has source, goal"),
        ('{"source": "a", "target": null}', "target is null"),
        ('{"source": "a", "target": 5}', "'target' is not text"),
        ('{"source": ["a"], "target": "b"}', "'source' is not text"),
        ('{"source": "a", "target": "b", "k": [1]}', "'k' is neither a text nor a number"),
        ('{"source": "a", "target": "\\ud800"}', "half of a surrogate pair, which is no character"),
        ('{"source": "a", "target": "b", "k": "\\udc00"}', "half of a surrogate pair"),
        ("[" * 100_000, "a JSON array, not JSON lines"),
        ('{"a":' * 101 + "1" + "}" * 101, "not JSON: its lists and objects are more than 100 deep"),
        ('{"a":' * 100 + "1" + "}" * 100, "no field 'source'"),
    ],
)
def test_lines_without_a_pair(line: str, reason: str) -> None:
    bad, after = reader(f'{line}\n{{"source": "a", "target": "b"}}\n', keep="k")
    assert isinstance(bad, BadRow) and isinstance(after, PairRecord)
    assert bad.reason.startswith(reason)
    assert (bad.number, bad.line, bad.file) == (1, line.encode(), "p.jsonl")


@pytest.mark.parametrize(
    ("data", "reason", "remedy"),
    [
        ('[{"a": 1},\n{"a": 2}]\n', "a JSON array, not JSON lines", "jq -c '.[]' converts it; or"),
        ('\ufeff [\n{"a": 1}\n]\n', "a JSON array, not JSON lines", "jq -c '.[]' converts it; or"),
        ('[{"a": 1}]', "a JSON array, not JSON lines", "jq -c '.[]' converts it; or"),
        ('{\n "a": 1}\n', "JSON over several lines, not JSON lines", "jq -c . converts it; or"),
        ("[1, 2]\n[3]\n", "no JSON object", "--on-error"),
        ("{1\n", "not JSON", "--on-error"),
    ],
)
def test_json_that_is_not_in_lines(data: str, reason: str, remedy: str) -> None:
    first, *_ = reader(data)
    assert isinstance(first, BadRow)
    assert (first.number, first.reason.startswith(reason)) == (1, True)
    assert first.remedy.startswith(remedy)


def test_an_array_in_a_later_line_is_only_that_line() -> None:
    _, bad = reader('{"source": "a", "target": "b"}\n[{"source": "a"}\n')
    assert isinstance(bad, BadRow) and bad.reason.startswith("not JSON: ")


def test_a_null_above_a_field() -> None:
    line = '{"t": null, "source": "a"}\n'
    (bad,) = JsonReader(RowReader([line.encode()], "p", TextColumn()), ("source", "t.x"), ())
    assert isinstance(bad, BadRow) and bad.reason == "t.x is null"


def test_long_numbers_are_only_text() -> None:
    digits = "9" * 10_000
    assert good(f'{{"source": "a", "target": "b", "n": {digits}}}\n', keep="n")[0][2] == digits


def test_what_is_written() -> None:
    made = writer("t.en", "t.de")
    (line,) = made.lines(PairRecord(1, 'ä"\n', "\u2028", {"score": "0.50"}))
    assert line.endswith(b"}\n") and line.count(b"\n") == 1
    assert json.loads(line) == {"t": {"en": 'ä"\n', "de": "\u2028"}, "score": "0.50"}
    assert "ä".encode() in line
    assert (made.first, made.end()) == ((b"",), (b"",))


@pytest.mark.parametrize("name", ["source", "source.x", "target.x.y"])
def test_names_that_clash(name: str) -> None:
    with pytest.raises(UnfitError, match=f"two fields would be called '{name}'"):
        writer("source", "target").lines(PairRecord(1, "a", "b", {name: "c"}))


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NAME = st.text(st.sampled_from("ab."), min_size=1, max_size=3)


@given(TEXT, TEXT, st.dictionaries(NAME, TEXT, max_size=3))
def test_written_and_read_again(source: str, target: str, others: dict[str, str]) -> None:
    try:
        (line,) = writer("source", "target").lines(PairRecord(1, source, target, others))
    except UnfitError:
        return
    rows = RowReader(io.BytesIO(line), "p.jsonl", TextColumn())
    (pair,) = JsonReader(rows, ("source", "target"), list(others))
    assert isinstance(pair, PairRecord)
    assert (pair.source, pair.target, pair.others) == (source, target, others)
