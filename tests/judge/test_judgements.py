"""Samples to judge, with their strata and weights, and labels files: each fault has its line."""

from __future__ import annotations

import hashlib
import io
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
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
from bitextfilter.judge.sample import (
    Chooser,
    Chosen,
    RejectedRow,
    RuleTable,
    SampleSettings,
    Stratification,
    draw,
    rejected_rows,
    shares_below,
    stratify,
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
    for wrong in ("", "good", "5-5", "9-1", "labels=", "labels=a", "labels=a,a", "a,b"):
        with pytest.raises(SettingsError, match="scale"):
            parse_scale(wrong)


TEXTS = st.text("aZ9\"'\\ \t\n\r\x00\x0b\x85\u00a0\u2028\ufeffé漢\U0001f600", max_size=9)


@given(TEXTS, TEXTS.filter(lambda text: text.strip()))
def test_any_note_and_name_come_back(note: str, name: str) -> None:
    row = sample().rows[0]
    label = Label(row.row, row.pair, "good", "good-bad", name, note)
    ((found,),) = (each.values() for each in labels(labels_text([label])).labels.values())
    assert found.annotator == " ".join(name.split()) and found.note == " ".join(note.split())


GENERATOR = np.random.default_rng(5)


def corpus(n: int, columns: int = 1) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    first = GENERATOR.random(n)
    others = [first + GENERATOR.normal(0, 0.1, n) for _ in range(columns - 1)]
    return np.stack([first, *others], axis=1).astype(np.float32)


def divided(
    scores: np.ndarray[tuple[int, int], np.dtype[np.float32]], rules: list[int] | None = None,
    names: tuple[str, ...] = (), **wanted: float,
) -> Stratification:  # fmt: skip
    of = np.array(rules or [0] * len(scores), dtype=np.uint16)
    return stratify(scores, of, names, SampleSettings(**wanted))  # type: ignore[arg-type]


def test_shares_below() -> None:
    scores = np.array([3, 1, 1, 2], dtype=np.float32)
    assert shares_below(scores).tolist() == [0.75, 0, 0, 0.5]


def test_near_rows_are_nearest_by_rank() -> None:
    scores = corpus(5000)
    strata = divided(scores, cut=0.4, count=60)
    near = strata.of == strata.names.index("near-cut")
    ranks = shares_below(scores[:, 0])
    distance = np.abs(ranks - np.mean(scores[:, 0] < 0.4))
    assert near.sum() == 5000 // 20
    assert distance[near].max() <= distance[~near].min() + 1e-6
    assert strata.wanted[strata.names.index("near-cut")] == 30


def test_disagreement_is_the_widest_spread() -> None:
    scores = corpus(5000, 3)
    strata = divided(scores, count=60)
    apart = strata.of == strata.names.index("disagreement")
    ranks = np.stack([shares_below(column) for column in scores.T])
    spread = ranks.max(axis=0) - ranks.min(axis=0)
    assert apart.sum() == 100 and spread[apart].min() >= spread[~apart].max()
    assert strata.wanted[strata.names.index("disagreement")] == 12


def test_tenths_and_sides() -> None:
    scores = np.arange(1000, dtype=np.float32)[:, None]
    strata = divided(scores, cut=450, near=0, count=100)
    sizes = dict(zip(strata.names, strata.sizes.tolist(), strict=True))
    wanted = {**{f"below:{n}": 100 for n in range(1, 5)}, "below:5": 50, "above:5": 50}
    wanted |= {f"above:{n}": 100 for n in range(6, 11)}
    assert {name: size for name, size in sizes.items() if size} == wanted
    for side, least in (("below", 400), ("above", 450)):
        assert scores[strata.of == strata.names.index(f"{side}:5")].min() == least
    assert divided(scores, count=50).names[-1] == "tenth:10"


def test_rules_come_first_and_get_a_fifth() -> None:
    scores = corpus(1000)
    rules = [1] * 100 + [2] * 3 + [0] * 897
    strata = divided(scores, rules, ("length", "numbers"), cut=0.5, count=100)
    assert strata.names[:2] == ["rule:length", "rule:numbers"]
    assert strata.sizes[:2].tolist() == [100, 3] and strata.wanted[:2] == [5, 3]
    assert sum(strata.wanted) == 100
    rules = [n % 50 + 1 for n in range(500)] + [0] * 500
    strata = divided(scores, rules, tuple(f"r{n}" for n in range(50)), count=100)
    assert sum(strata.wanted[:50]) == 20 and max(strata.wanted[:50]) == 1


@given(
    st.integers(1, 400), st.integers(1, 3), st.integers(1, 200), st.sampled_from([None, -1, 0.3, 2])
)
@settings(max_examples=60, deadline=None)
def test_as_many_rows_as_there_are(n: int, columns: int, count: int, cut: float | None) -> None:
    scores = corpus(n, columns)
    strata = divided(scores, cut=cut, count=count)
    assert sum(strata.wanted) == min(n, count)
    assert all(w <= s for w, s in zip(strata.wanted, strata.sizes.tolist(), strict=True))
    drawn = draw(strata, 3)
    assert all(len(d) >= w for d, w in zip(drawn, strata.wanted, strict=True))
    chosen = list(chooser(n).choose(strata, drawn))
    assert len({each.place for each in chosen}) == min(n, count)
    assert sum(each.weight for each in chosen) <= n + 1e-6


def chooser(n: int) -> Chooser:
    letters = "abcdefghij"
    words = ["".join(letters[int(digit)] for digit in str(number)) for number in range(n)]
    return Chooser({i: (f"s{word}", f"t{word}") for i, word in enumerate(words)})


def test_like_rows_are_drawn_once_and_weigh_for_all() -> None:
    texts = [("One!", "eins"), ("one", "zwei"), ("a", "EINS 1"), ("b", "c")]
    for wanted, expected in ((4, {0: 3.0, 3: 1.0}), (1, {0: 4.0})):
        strata = Stratification(["s"], np.zeros(4, np.uint16), [wanted])
        found = Chooser(dict(enumerate(texts))).choose(strata, [np.arange(4)])
        assert {each.place: each.weight for each in found} == expected


def test_rows_like_those_of_another_stratum_are_left() -> None:
    texts = [("a", "b"), ("a", "c"), ("d", "e"), ("a", "f")]
    strata = Stratification(["one", "two", "three"], np.array([0, 1, 1, 2], np.uint16), [1, 2, 1])
    drawn = [np.array([0]), np.array([1, 2]), np.array([3])]
    found = list(Chooser(dict(enumerate(texts))).choose(strata, drawn))
    assert found == [Chosen(0, "one", 1), Chosen(2, "two", 2), Chosen(3, "three", 1)]


def test_weights_estimate_without_bias() -> None:
    """The mean of many samples' estimates is the share of the corpus, duplicates among it."""
    n = 600
    scores = corpus(n)
    good = (scores[:, 0] + GENERATOR.normal(0, 0.2, n)) > 0.5
    words = ["".join("abcdefghij"[int(d)] for d in str(i)) for i in range(n)]
    texts = {i: (f"s {words[i]}", f"t {words[i]}") for i in range(n)}
    for i in range(0, n, 6):  # of the same kind, as rows with one text are
        texts[i] = (f"repeated {good[i]}", f"always {good[i]}")
    found = []
    for seed in range(150):
        strata = divided(scores, cut=0.5, count=60)
        chosen = list(Chooser(texts).choose(strata, draw(strata, seed)))
        found.append(sum(each.weight * good[each.place] for each in chosen))
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - good.sum()) < 4 * error + 0.01 * n


def test_seeds() -> None:
    strata = divided(corpus(500), count=50)
    first, again, other = (np.concatenate(draw(strata, seed)).tolist() for seed in (1, 1, 2))
    assert first == again != other


REJECTS = b"3\tlength-ratio=6>3; score=0.1<0.5\ta\tb\t0.1\n12\tempty(source)\t\tb\n"


def test_rejected_rows_are_read() -> None:
    rows = list(rejected_rows(io.BytesIO(REJECTS), "r.tsv"))
    assert rows == [
        RejectedRow(3, "length-ratio=6>3; score=0.1<0.5", b"a\tb\t0.1"),
        RejectedRow(12, "empty(source)", b"\tb"),
    ]
    assert [row.rule for row in rows] == ["length-ratio", "empty"]
    assert RejectedRow(1, "", b"").rule == "unknown"
    for data in (b"a\tb\n", b"x\tlength\ta\tb\n", b"\n"):
        with pytest.raises(InputError, match=r"r\.tsv:3: not a rejected row"):
            list(rejected_rows(io.BytesIO(REJECTS + data), "r.tsv"))


def test_rules_of_rows() -> None:
    table = RuleTable()
    assert table.rules([(1, b"x")]) == [0]
    for number, rule, usable in (
        (5, "one", True),
        (6, "two", True),
        (7, "one", False),
        (8, "one", True),
    ):
        table.add(RejectedRow(number, f"{rule}=3>2", b"line %d" % number), usable)
    assert table.names == ["one", "two"]
    asked = [(6, b"line 6"), (5, b"line 6"), (7, b"line 7"), (5, b"line 5")]
    assert table.rules(asked) == [2, 0, 0, 1]
    assert list(table.others()) == [(3, 1)]
    assert Counter(table.rules([(8, b"line 8")])) == {1: 1} and list(table.others()) == []
