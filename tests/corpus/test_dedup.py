"""Duplicates, and texts that share n-grams, against dictionaries and loops over all pairs."""

from __future__ import annotations

import hashlib
import itertools
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextfilter.corpus import dedup, near_duplicates, other_texts
from bitextfilter.corpus.dedup import Deduplicator
from bitextfilter.corpus.duplicate_keys import BY, KEEP, DedupSettings, text_key
from bitextfilter.corpus.near_duplicates import _banding, _recall, _shingle_hashes, _shingles
from bitextfilter.corpus.other_texts import Likeness, SharedNgrams, word_count
from bitextfilter.errors import SettingsError
from bitextfilter.io.spill import ExternalSort, KeyTable, Records
from tests.support.wording import plain

Rows = Sequence[tuple[str, ...]]

WORDS = [
    "a", "A", "b", "B!", "1", "2", "ä", "Ä", "a\tb", "a b", "a  b", "", "ß", "SS", "漢", "漢。",
]  # fmt: skip
SIDE = st.lists(st.sampled_from(WORDS), max_size=2).map("".join)
ROWS = st.lists(st.tuples(SIDE, SIDE), max_size=40)
SCORES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 1e-9, -1e300, inf, -inf, nan])


def naive(
    rows: Rows, chosen: DedupSettings, scores: Sequence[float] | None = None
) -> dict[int, int]:
    """Row by row in order of preference, each held against all that stay."""
    order = list(range(len(rows)))
    if scores is not None:
        order.sort(key=lambda row: (isnan(scores[row]), -scores[row]))
    if chosen.match != "exact":
        rows = [tuple(plain(text, chosen.ignore) for text in row) for row in rows]

    def same(one: str, other: str) -> bool:
        if chosen.match != "near":
            return one == other
        figures = [re.findall("[0-9]+ ?[a-z]*", text) for text in (one, other)]
        if figures[0] != figures[1]:
            return False
        grams = [
            {text[i : i + chosen.shingle] for i in range(len(text) - chosen.shingle + 1)} or {text}
            for text in (one, other)
        ]
        return len(grams[0] & grams[1]) / len(grams[0] | grams[1]) >= chosen.similarity

    stay: list[int] = []
    gone = {}
    for row in order:
        for other in stay:
            sides = [same(*texts) for texts in zip(rows[row], rows[other], strict=True)]
            if any(sides) if chosen.by == "either" else all(sides):
                gone[row] = other
                break
        else:
            stay.append(row)
    return gone


def duplicates(
    rows: Sequence[Sequence[str]], chosen: DedupSettings, scores: Sequence[float] | None = None
) -> dict[int, int]:
    """The rows dropped, by index from 0, each with the row that it duplicates."""
    with Deduplicator(chosen, wait=True) as deduplicator:
        deduplicator.add(range(1, len(rows) + 1), rows, scores)
        parts = [
            zip(*map(np.ndarray.tolist, p), strict=True) for p in deduplicator.finish().parts()
        ]
    return {line - 1: keeper - 1 for part in parts for line, keeper in part}


def of(rows: Rows, by: str) -> Rows:
    """The texts that are compared."""
    return [{"source": row[:1], "target": row[1:]}.get(by, row) for row in rows]


def streamed(rows: Rows, chosen: DedupSettings, window: int, wait: bool) -> dict[int, int]:
    """The same window by window, at once as long as there is room, and the rest at the end."""
    gone = {}
    with Deduplicator(chosen, wait) as deduplicator:
        for start in range(0, len(rows), window):
            part = rows[start : start + window]
            lines = [2 * line + 7 for line in range(start, start + len(part))]
            decided = deduplicator.add(lines, part)
            assert (decided is None) == deduplicator.waiting
            gone.update((k, v) for k, v in zip(lines, decided or (), strict=False) if v)
        for lines_, keepers in deduplicator.finish().parts():
            assert (np.diff(lines_) > 0).all()
            gone.update(zip(lines_.tolist(), keepers.tolist(), strict=True))
    return {(line - 7) // 2: (keeper - 7) // 2 for line, keeper in gone.items()}


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("match", ["exact", "normalised"])
@given(data=st.data())
def test_first_rows_stay(data: st.DataObject, match: str, by: str) -> None:
    rows = of(data.draw(ROWS), by)
    memory = data.draw(st.sampled_from([1, 1000, 3000, 1 << 20]))
    chosen = DedupSettings(match, by, memory=memory)
    expected = naive(rows, chosen)
    assert duplicates(rows, chosen) == expected
    window, wait = data.draw(st.integers(1, 50)), data.draw(st.booleans())
    assert streamed(rows, chosen, window, wait) == expected


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("match", ["exact", "normalised"])
@given(data=st.data())
def test_best_rows_stay(data: st.DataObject, match: str, by: str) -> None:
    rows = of(data.draw(ROWS), by)
    scores = data.draw(st.lists(SCORES, min_size=len(rows), max_size=len(rows)))
    chosen = DedupSettings(match, by, "best", memory=data.draw(st.sampled_from([1, 1 << 20])))
    assert duplicates(rows, chosen, scores) == naive(rows, chosen, scores)


SENTENCE = st.lists(
    st.sampled_from(["the", "old", "dog", "sleeps", "in", "his", "big", "house", "1", "2"]),
    max_size=9,
)
SENTENCES = st.lists(st.tuples(SENTENCE.map(" ".join), SENTENCE.map(" ".join)), max_size=25)


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("keep", KEEP)
@given(data=st.data())
@settings(max_examples=15, derandomize=True)
def test_near_duplicates(data: st.DataObject, keep: str, by: str) -> None:
    """With one MinHash value a band, rows that share an n-gram are candidates, nearly always.

    Examples are the same at each run, so that a rare miss does not fail one.
    """
    rows = of(data.draw(SENTENCES), by)
    scores = data.draw(st.lists(SCORES, min_size=len(rows), max_size=len(rows)))
    similarity = data.draw(st.sampled_from([0.05, 0.1]))
    memory = data.draw(st.sampled_from([1, 1 << 20]))
    chosen = DedupSettings("near", by, keep, similarity=similarity, shingle=3, memory=memory)
    if keep == "best":
        assert duplicates(rows, chosen, scores) == naive(rows, chosen, scores)
    else:
        assert duplicates(rows, chosen, scores) == naive(rows, chosen)


def naively_near(one: str, other: str, size: int) -> float:
    """The Jaccard similarity of two texts, by counting."""
    grams = [{text[i : i + size] for i in range(len(text) - size + 1)} for text in (one, other)]
    every = sorted(grams[0] | grams[1])
    return sum(gram in grams[0] and gram in grams[1] for gram in every) / len(every)


VARIED = random.Random(3)
ALPHABET = "abcdefghij klmnop"


def varied(similarity: float, count: int) -> tuple[list[str], list[str]]:
    """Random texts, and each once more with so many characters replaced."""
    one = ["".join(VARIED.choices(ALPHABET, k=120)) for _ in range(count)]
    other = []
    for text in one:
        changed = list(text)
        while naively_near(text, "".join(changed), 4) > similarity:
            place = VARIED.randrange(len(changed))
            changed[place] = VARIED.choice(ALPHABET)
        other.append("".join(changed))
    return one, other


def test_nearly_all_near_duplicates_are_found_and_nothing_else() -> None:
    """At the threshold itself, where the fewest are found: 99.8 % by calculation."""
    one, other = varied(0.85, 300)
    chosen = DedupSettings("near", "source", ignore=())
    found = duplicates([(text,) for text in [*one, *other]], chosen)
    near = {300 + i: i for i in range(300) if naively_near(one[i], other[i], chosen.shingle) >= 0.8}
    assert len(near) > 250
    assert found.items() <= near.items()
    assert len(found) >= 0.98 * len(near)


def test_a_pair_is_near_if_both_sides_are() -> None:
    long, longer = "the old dog sleeps in his big house " * 3, "der alte hund schläft " * 3
    rows = [(long, longer), (long + "now", longer), (long, "ganz anders"), ("all else", longer)]
    for by, gone in (("pair", {1: 0}), ("either", {1: 0, 2: 0, 3: 0})):
        assert duplicates(rows, DedupSettings("near", by, similarity=0.6)) == gone
    rows = [(text,) for text in ("ab", "ab ", "abc", "AB!", "ba")]
    assert duplicates(rows, DedupSettings("near", "source")) == {1: 0, 3: 0}


def test_near_texts_have_the_same_numbers() -> None:
    """Unless digits are ignored; by either, numbers of the other side do not matter."""
    text = "the old dog sleeps in his big house by the river since "
    rows = [(f"{text}{year}", f"{text}{day}") for year, day in ((1990, 1), (2005, 1), (1990, 2))]
    ignored = ("case", "punctuation", "digits", "space")
    assert duplicates(rows, DedupSettings("near")) == {}
    assert duplicates(rows, DedupSettings("near", ignore=ignored)) == {1: 0, 2: 0}
    assert duplicates(rows, DedupSettings("near", "either")) == {1: 0, 2: 0}
    assert duplicates([row[:1] for row in rows], DedupSettings("near", "source")) == {2: 0}


NEAR = (
    "The road to the old village on the hill is {} long; it leads through a dark wood to the lake."
)


@pytest.mark.parametrize(
    "texts",
    [
        "5 km|5 miles|5 m|5|6 km",
        "€ 20|$ 20|20 £|EUR 20|USD 20|20 USD|20 руб.|20 коп.",
        "-5 °C|+5 °C|5 °C|5 °F|±5 °C",
        "5 mg|5 g|5 µg",
        "1%|1‰|1",
        "5'|5\"|5",
        "3:2|3/2",
        "5公里|5英里|5公斤",
        "5キロメートル|5キログラム",
        "5 กิโลเมตร|5 กิโลกรัม",
        "५ किमी|५ मील",
        "is_valid|is valid",
        "foo.bar|foo bar",
        "C++|C#",
    ],
)
def test_near_texts_have_the_same_units_and_signs(texts: str) -> None:
    rows = [(NEAR.format(text),) for text in texts.split("|")]
    assert duplicates(rows, DedupSettings("near", "source")) == {}


@pytest.mark.parametrize(
    "texts",
    [
        "5 km|5 KM|5km|(5 km)|“5 km”", "€ 20|€20", "-5 °C|−5°C|-5 ° C", "5公里|5 公里|「5公里」",
        "very very|very, very|very - very|VERY VERY|quite very",
    ],
)  # fmt: skip
def test_near_texts_differ_in_words_and_marks(texts: str) -> None:
    rows = [(NEAR.format(text),) for text in texts.split("|")]
    assert len(duplicates(rows, DedupSettings("near", "source"))) == len(rows) - 1
    shorter = (NEAR.format(texts.split("|", 1)[0]).replace(" old", "").replace(";", ","),)
    assert duplicates([rows[0], shorter], DedupSettings("near", "source")) == {1: 0}


def test_each_side_has_the_capitals_of_its_language() -> None:
    rows = [("IT", "IŞIK"), ("it", "ışık"), ("IT", "işik")]
    for by, gone in (("pair", {1: 0}), ("source", {1: 0, 2: 0}), ("target", {1: 0})):
        for match in ("normalised", "near"):
            chosen = DedupSettings(match, by, languages=("en-US", "tr_TR"))
            assert duplicates(of(rows, by), chosen) == gone, (by, match)


@pytest.mark.parametrize("most", [1, 100])
def test_a_crowd_of_candidates(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Those beyond the number compared may stay; what goes is similar to its keeper."""
    monkeypatch.setattr(dedup, "_MOST_COMPARED", most)
    same = "the old dog sleeps in his big house by the river, and nobody wakes him up "
    letters = str.maketrans("0123456789", "abcdefghij")
    texts = [f"{same}{i * 17 % 60:03} {i * i:05}".translate(letters) for i in range(60)]
    chosen = DedupSettings("near", "source", similarity=0.85, ignore=())
    found = duplicates([(text,) for text in texts], chosen)
    assert 10 < len(found) < 55
    for row, keeper in found.items():
        assert naively_near(texts[row], texts[keeper], chosen.shingle) >= 0.85
    if most == 100:
        assert found == naive([(text,) for text in texts], chosen)


def test_keys_are_the_same_in_every_process() -> None:
    program = """
from bitextfilter.corpus.duplicate_keys import text_key
from bitextfilter.corpus.near_duplicates import _Sketcher
texts = ["the old dog", "der alte hund", "漢", ""]
print(text_key(texts).hex(), _Sketcher(0.8, 4).keys(texts, 2).tolist())
"""
    line = [sys.executable, "-c", program]
    runs = [
        subprocess.run(line, capture_output=True, check=True, env={"PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    parts = b"11:the old dog13:der alte hund3:\xe6\xbc\xa20:"
    assert runs[0].startswith(hashlib.blake2b(parts, digest_size=16).hexdigest().encode())


def test_keys_tell_where_a_text_ends() -> None:
    texts = [("a", "b"), ("a\tb",), ("ab", ""), ("", "ab"), ("a", "1:b"), ("a1:b",), ("1:a", "b")]
    keys = {text_key(one, kind) for one in texts for kind in (b"", b"0", b"1")}
    assert len(keys) == 3 * len(texts)
    assert {len(key) for key in keys} == {16}
    assert text_key(["\ud800"]) != text_key(["?"])


@given(
    st.lists(st.lists(st.integers(0, 40), unique=True, max_size=9), max_size=12),
    st.sampled_from([1, 36 * 5, 36 * 60, 1 << 20]),
)
def test_the_table_is_a_dictionary(windows: list[list[int]], memory: int) -> None:
    """All keys begin in few slots, so that they run into each other."""
    table, expected = KeyTable(memory), dict[int, int]()
    for number, window in enumerate(windows, 1):
        keys = np.array([[key % 3, key] for key in range(41)], np.uint64)
        found = table.find(keys).tolist()
        assert found == [expected.get(key, 0) for key in range(41)]
        new = [key for key in window if not found[key]]
        if not table.has_room(len(new)):
            assert memory < 1 << 20
            break
        table.add(keys[new], np.full(len(new), number, np.int64))
        expected.update(dict.fromkeys(new, number))
        assert len(table) == len(expected)


def test_the_table_grows_to_its_memory() -> None:
    table = KeyTable(3_600_000)
    keys = np.random.default_rng(1).integers(0, 2**63, (80_000, 2)).astype(np.uint64)
    for start in range(0, 70_000, 7000):
        assert table.has_room(7000)
        table.add(keys[start : start + 7000], np.arange(start + 1, start + 7001))
    assert not table.has_room(7000)
    expected = [*range(1, 70_001), *[0] * 10_000]
    assert table.find(keys).tolist() == expected
    assert table.find(keys[:0]).tolist() == []


@given(
    st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9), max_size=90), max_size=9),
    st.sampled_from([1, 1 << 20]),
)
def test_sorting_on_the_disk(batches: list[list[int]], memory: int) -> None:
    rows = []
    with ExternalSort(["u8", "i4"], memory) as sort:
        for batch in batches:
            values = np.arange(len(rows), len(rows) + len(batch))
            sort.add(np.array(batch, np.uint64), values)
            rows += list(zip(batch, values.tolist(), strict=True))
        for _ in range(2):
            parts = [part[0].tolist() for part in sort.parts()]
            found = [zip(*(c.tolist() for c in part), strict=True) for part in sort.parts()]
            assert [row for part in found for row in part] == sorted(rows)
            assert all(one[-1] < other[0] for one, other in pairwise(parts))
    if memory == 1 and len(rows) > 400 and len(dict(rows)) == len(rows):
        assert max(map(len, parts)) < len(rows) / 2


def test_parts_are_bounded() -> None:
    random_ = np.random.default_rng(2)
    with ExternalSort(["u8"], 4 * 8 * 1000) as sort:
        for _ in range(50):
            sort.add(random_.integers(0, 2**63, 700).astype(np.uint64))
        sizes = [len(keys) for (keys,) in sort.parts()]
    assert sum(sizes) == 35_000
    assert max(sizes) <= 1300


def test_records_come_back() -> None:
    data = [b"", b"a\n", b"", b"bcd\xff\n", b"e"]
    with Records() as records:
        records.extend(data[:2])
        assert [records[i] for i in range(2)] == data[:2]
        records.extend(data[2:])
        assert [records[i] for i in (4, 3, 2, 1, 0)] == data[::-1]
        assert list(records.lines()) == [b"a\n", b"bcd\xff\n", b"e"]
        assert len(records) == 5
        for index in (-1, 5):
            with pytest.raises(IndexError):
                records[index]


@pytest.mark.parametrize(
    ("similarity", "bands", "rows"), [(0.8, 21, 6), (0.9, 12, 10), (0.5, 42, 3), (1.0, 1, 128)]
)
def test_banding_promises_its_recall(similarity: float, bands: int, rows: int) -> None:
    assert _banding(similarity) == (bands, rows)
    assert _recall(similarity, bands, rows) >= near_duplicates._RECALL
    more = rows + 1
    assert more > 128 or _recall(similarity, 128 // more, more) < near_duplicates._RECALL


def test_recall_by_throwing_dice() -> None:
    agree = np.random.default_rng(1).random((20_000, 21, 6)) < 0.7
    assert abs(agree.all(2).any(1).mean() - _recall(0.7, 21, 6)) < 0.01


@given(st.lists(st.text("abc", max_size=7), max_size=6), st.integers(1, 5))
def test_shingle_hashes_are_those_of_the_shingles(texts: list[str], size: int) -> None:
    hashes, counts = _shingle_hashes(texts, size)
    assert counts.tolist() == [max(1, len(text) - size + 1) for text in texts]
    ends = np.cumsum(counts)[:-1]
    sets = [set(part.tolist()) for part in np.split(hashes, ends)] if texts else []
    names = [_shingles(text, size) for text in texts]
    assert [len(one) for one in sets] == [len(one) for one in names]
    for i, one in enumerate(sets):
        for j, other in enumerate(sets):
            assert len(one & other) == len(names[i] & names[j])


@pytest.mark.parametrize(
    "wrong",
    [
        {"match": "fuzzy"}, {"by": "both"}, {"keep": "last"}, {"similarity": 0},
        {"similarity": 1.5}, {"shingle": 0}, {"memory": 0},
    ],
)  # fmt: skip
def test_settings_that_there_are_not(wrong: dict[str, str | float]) -> None:
    with pytest.raises(SettingsError):
        DedupSettings(**wrong)  # type: ignore[arg-type]


def test_the_best_of_no_scores() -> None:
    with pytest.raises(SettingsError, match="needs scores"):
        duplicates([("a", "b")], DedupSettings(keep="best"))
    with pytest.raises(SettingsError, match="'cases' is none of case, "):
        duplicates([], DedupSettings("normalised", ignore=("cases",)))


SHARED_WORDS = st.sampled_from(["a", "b", "c", "d", "ä", "漢字", "%"])
TEXTS = st.lists(st.lists(SHARED_WORDS, max_size=9).map(" ".join), max_size=12)
LIKENESS = st.builds(
    Likeness,
    ngram=st.integers(1, 3),
    overlap=st.sampled_from([0.01, 0.5, 0.7, 1.0]),
    alike=st.integers(1, 4),
    within=st.integers(1, 6),
)


def words(text: str) -> list[str]:
    """The words of a text; each Chinese character is one."""
    for character in "漢字":
        text = text.replace(character, f" {character} ")
    return text.split()


def ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    """The n-grams of a text, one by one; a shorter text is one."""
    found = words(text)
    return {tuple(found[i : i + n]) for i in range(max(1, len(found) - n + 1))} if found else set()


def count(text: str) -> int:
    """The words of a text that are no signs; two Chinese characters are one."""
    return len([word for word in text.split() if word != "%"])


def are_like(text: str, other: str, like: Likeness) -> bool:
    """Whether a text shares enough with one that was added."""
    if count(other) < min(like.alike, like.within):
        return False
    one, two = ngrams(text, like.ngram), ngrams(other, like.ngram)
    shared = len(one & two)
    if not shared or shared < like.overlap * min(len(one), len(two)) - 1e-6:
        return False
    signs = max(1.0, len(words(other)) / count(other))
    least = min(like.within, like.alike if 2 * shared > len(one | two) else like.within)
    return shared >= least * signs - like.ngram + 1


@given(texts=TEXTS, others=TEXTS, like=LIKENESS, block=st.integers(1, 5))
def test_texts_are_found_as_by_loops(
    texts: Sequence[str], others: Sequence[str], like: Likeness, block: int
) -> None:
    known = SharedNgrams(like)
    cut = len(others) // 2
    known.add(others[:cut], np.arange(1, cut + 1))
    known.add(others[cut:], np.arange(cut + 1, len(others) + 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(other_texts, "_BLOCK", block)
        found = known.find(texts).tolist()
    numbered = [*enumerate(others, 1)]
    assert found == [
        next((number for number, other in numbered if are_like(text, other, like)), 0)
        for text in texts
    ]


def test_ngrams_differ_in_words_order_and_ends() -> None:
    """All texts of three words out of four, and shorter ones: no two share an n-gram of 3."""
    texts = [" ".join(some) for n in (1, 2, 3) for some in itertools.product("abcd", repeat=n)]
    known = SharedNgrams(Likeness(3, 1.0, 1, 1))
    known.add(texts, np.arange(1, len(texts) + 1))
    assert known.find(texts).tolist() == list(range(1, len(texts) + 1))
    assert known.find(["e", "a b e", "e a b c"]).tolist() == [0, 0, texts.index("a b c") + 1]


COPIED = "the mayor opened the new bridge over the river on monday"


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        (f"breaking news {COPIED}", True),
        (f"as we heard today from the people in town {COPIED} and then he left again", True),
        (COPIED.replace("new", "old"), True),
        (COPIED.removesuffix(" on monday"), True),
        (COPIED.replace("new", "old").replace("river", "lake"), False),
        ("the mayor opened the new", False),
        (" ".join(sorted(COPIED.split())), False),
    ],
)
def test_which_copies_of_a_sentence_are_found(text: str, is_found: bool) -> None:
    known = SharedNgrams(Likeness())
    known.add([COPIED], np.array([7]))
    assert known.find([text]).tolist() == [7 * is_found]


def test_words_are_counted_as_people_count_them() -> None:
    texts = ["", "50 %", "c + +", "a b c", "漢字漢", "ทดสอบ", "हिन्दी में"]
    assert [word_count(text) for text in texts] == [0, 1, 1, 3, 2, 3, 2]


@pytest.mark.parametrize("wrong", [{"ngram": 0}, {"overlap": 0}, {"overlap": 1.5}, {"alike": 0}])
def test_likeness_that_there_is_not(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError):
        Likeness(**wrong)  # type: ignore[arg-type]
