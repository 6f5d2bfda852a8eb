"""Training pairs of two and of more languages: read, grouped, and drawn in mini-batches."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.text.ragged import PIECES, TRIGRAMS, Ragged
from bitextfilter.training.data import (
    Corpus,
    Sentences,
    batches_of_pass,
    endless_batches,
    rows_of_pass,
)
from bitextfilter.training.encoder_learner import shared_text
from bitextfilter.training.multilingual import (
    LanguageFile,
    LanguageTexts,
    MultilingualCorpus,
    TaughtFile,
    _distinct,
    chances,
    check_multilingual,
    check_taught,
    pair_corpora,
    read_multilingual,
    taught_corpora,
)
from bitextfilter.training.settings import TrainingSettings

KNOWN = ("en", "de", "fr")
CPU = torch.device("cpu")
TABLE = "en\tfr\tde\none\tun\teins\ntwo\t\tzwei\n\tdeux\tzwei\none\tun\t\nthree\t\t\n"
SETTINGS = TrainingSettings(
    translation=0, autoencoding=0, ranking=0, triplet=1, batch_size=4, mega_batch=3
)


def file(folder: Path, text: str, *languages: str, weight: float = 1.0) -> LanguageFile:
    path = folder / f"{len(list(folder.iterdir()))}.tsv"
    path.write_text(text, encoding="utf-8")
    return LanguageFile(str(path), languages, weight)


def numbers(texts: list[str]) -> Sentences:
    """Sentences as the ids of their characters."""
    return Sentences(np.array([ord(c) for c in text], np.int32) for text in texts)


def written(read: LanguageTexts, longest: int = 100) -> dict[tuple[str, str], Counter[object]]:
    """The pairs of texts with their weights, by pair of languages."""
    spelled = [numbers(texts) for texts in read.texts]
    found = {}
    for pair, corpus in pair_corpora(read, spelled, KNOWN, longest).items():
        rows, sides = np.arange(len(corpus)), []
        for side in (0, 1):
            ids, lengths = corpus.side(side).padded("pieces", rows, CPU)
            sides.append(
                ["".join(map(chr, row[:n])) for row, n in zip(ids.tolist(), lengths, strict=True)]
            )
        found[pair] = Counter(zip(*sides, corpus.weights.tolist(), strict=True))
    return found


def test_any_two_cells_of_a_row_are_a_pair(tmp_path: Path) -> None:
    read = read_multilingual([file(tmp_path, TABLE)], KNOWN)
    assert written(read) == {
        ("en", "de"): Counter([("one", "eins", 1.0), ("two", "zwei", 1.0)]),
        ("en", "fr"): Counter([("one", "un", 1.0)]),
        ("de", "fr"): Counter([("eins", "un", 1.0), ("zwei", "deux", 1.0)]),
    }


def test_columns_are_named_by_the_header_or_beforehand(tmp_path: Path) -> None:
    header = read_multilingual([file(tmp_path, TABLE)], KNOWN)
    body = TABLE.partition("\n")[2].replace("\n", "\tpassed over\n")
    named = read_multilingual([file(tmp_path, body, "en", "fr", "de", "-")], KNOWN)
    assert written(named) == written(header)


def test_a_pair_of_two_files_has_the_higher_weight_and_stands_once(tmp_path: Path) -> None:
    one = file(tmp_path, "one\teins\ntwo\tzwei\n", "en", "de", weight=2)
    other = file(tmp_path, "one\teins\n", "en", "de", weight=0.5)
    third = file(tmp_path, "un\tone\n", "fr", "en")
    assert written(read_multilingual([one, other, third], KNOWN)) == {
        ("en", "de"): Counter([("one", "eins", 2.0), ("two", "zwei", 2.0)]),
        ("en", "fr"): Counter([("one", "un", 1.0)]),
    }


def test_long_pairs_are_left_out(tmp_path: Path) -> None:
    read = read_multilingual([file(tmp_path, TABLE)], KNOWN)
    assert written(read, 3) == {("en", "fr"): Counter([("one", "un", 1.0)])}


@pytest.mark.parametrize(
    ("text", "languages", "line", "message"),
    [
        ("en\tes\na\tb\n", (), 1, "the header has 'es', which is none of --languages"),
        ("en\ten\na\tb\n", (), 1, "two columns are en"),
        ("en\tde\na\tb\tc\n", (), 2, "3 columns, expected 2"),
        ("a\n", ("en", "de"), 1, "1 column, expected 2"),
        ("en\tde\na\t\n", (), None, "no pairs to train on"),
        ("", (), 1, "the header has ''"),
        ("en\tde\na\tb\n", (), None, "no pair has a sentence of fr"),
    ],
)
def test_bad_tables(
    tmp_path: Path, text: str, languages: tuple[str, ...], line: int | None, message: str
) -> None:
    with pytest.raises(InputError, match=message) as error:
        read_multilingual([file(tmp_path, text, *languages)], KNOWN)
    assert error.value.line == line
    assert "no pair has" in message or error.value.file is not None


def corpus(sizes: dict[tuple[str, str], int]) -> MultilingualCorpus:
    """Pairs of languages, each with its number of pairs of random sentences."""
    random = np.random.default_rng(1)
    texts = [numbers(["x" * random.integers(1, 9) for _ in range(max(sizes.values()))])] * 3
    rows = []
    for pair, size in sizes.items():
        row = np.full((size, 3), -1, np.int32)
        for name in pair:
            row[:, KNOWN.index(name)] = np.arange(size)
        rows.append((row, 1.0))
    return MultilingualCorpus(pair_corpora(LanguageTexts([], rows), texts, KNOWN, 100), "en")


SIZES = {("en", "de"): 400, ("en", "fr"): 100, ("de", "fr"): 50}


def test_chances_are_powers_of_the_sizes() -> None:
    made = corpus(SIZES)
    assert made.rows == 500
    for exponent, share in ((0.5, 0.2), (0.0, 0.1), (1.0, 0.0)):
        settings = TrainingSettings(language_exponent=exponent, without_first=share)
        total = 400**exponent + 100**exponent
        expected = [400**exponent / total, 100**exponent / total]
        np.testing.assert_allclose(
            chances(made, settings), [expected[0] * (1 - share), expected[1] * (1 - share), share]
        )
    others = corpus({("en", "de"): 9, ("en", "fr"): 9})
    assert chances(others, TrainingSettings(without_first=0.3)).tolist() == [0.5, 0.5]


def test_mega_batches_are_of_one_pair_of_languages_in_proportion() -> None:
    made, seen = corpus(SIZES), Counter[int]()
    for part, mega in islice(made.mega_batches(SETTINGS, 0), 3000):
        seen[len(part)] += 1
        assert len(mega) == 3
        assert all(len(rows) <= 4 and rows.max() < len(part) for rows in mega)
    np.testing.assert_allclose([seen[400] / 3000, seen[100] / 3000], [0.6, 0.3], atol=0.03)


def test_every_pair_of_a_pass_is_read_once() -> None:
    made = corpus({("en", "de"): 48, ("en", "fr"): 36})
    read = {48: list[int](), 36: list[int]()}
    for part, mega in islice(made.mega_batches(SETTINGS, 0), 40):
        read[len(part)] += np.concatenate(mega).tolist()
    for size, rows in read.items():
        assert sorted(rows[:size]) == list(range(size))


def three_way(rows: int) -> MultilingualCorpus:
    """Rows in English and in each of four others, or two of them, of random sentences."""
    known, random = ("en", "de", "fr", "cs", "pl"), np.random.default_rng(2)
    texts = [numbers(["x" * random.integers(1, 9) for _ in range(rows)]) for _ in known]
    places = np.tile(np.arange(rows, dtype=np.int32)[:, None], len(known))
    places[: rows // 2, 3:] = -1
    read = LanguageTexts([], [(places, 1.0)])
    pairs, three = (
        pair_corpora(read, texts, known, 100),
        pair_corpora(read, texts, known, 100, True),
    )
    return MultilingualCorpus(pairs, "en", three)


def test_rows_in_three_languages(tmp_path: Path) -> None:
    table = TABLE + "one\tun\teins\nfour\tquatre\tvier\n"
    read = read_multilingual([file(tmp_path, table), file(tmp_path, table, weight=2)], KNOWN)
    ((languages, rows),) = pair_corpora(
        read, [numbers(texts) for texts in read.texts], KNOWN, 100, True
    ).items()
    assert languages == ("de", "fr")
    found = [
        ["".join(map(chr, row[row > 0])) for row in side.padded("pieces", np.arange(2), CPU)[0]]
        for side in rows.sides
    ]
    assert found == [["one", "four"], ["eins", "vier"], ["un", "quatre"]]
    assert rows.weights.tolist() == [2, 2]
    assert rows.lengths.tolist() == [4, 6]
    assert len(rows.up_to(4)) == 1


def test_rows_of_very_many_sentences() -> None:
    places = np.array([[0, 0, 5], [2**31 - 2, 7, 2**31 - 2], [2**31 - 2, 2**31 - 2, 0]], np.int32)
    found, weights = _distinct(LanguageTexts([], [(places, 1.0), (places[1:2], 3.0)]), [0, 1, 2])
    assert found.tolist() == places.tolist()
    assert weights.tolist() == [1, 3, 1]


def test_batches_of_three_languages() -> None:
    made = three_way(60)
    assert {pair: len(rows) for pair, rows in made.three_way.items()} == {
        ("de", "fr"): 60,
        **dict.fromkeys([("de", "cs"), ("de", "pl"), ("fr", "cs"), ("fr", "pl")], 30),
        ("cs", "pl"): 30,
    }
    settings = TrainingSettings(
        translation=0, autoencoding=0, batch_size=9, three_way=0.4, without_first=0.2
    )
    share = chances(made, settings)
    assert share.sum() == pytest.approx(1)
    assert share[len(made.pairs) :].sum() == pytest.approx(0.4)
    without = ["en" not in pair for pair in made.pairs]
    assert share[: len(made.pairs)][without].sum() == pytest.approx(0.2)
    sizes = Counter(
        (len(rows.sides), max(map(len, mega)))
        for rows, mega in islice(made.mega_batches(settings, 0), 200)
    )
    assert {size for sides, size in sizes if sides == 3} == {6}
    assert max(size for sides, size in sizes if sides == 2) == 9
    skipped = islice(made.mega_batches(settings, 0), 50, 70)
    for (one, rows), (other, again) in zip(skipped, made.mega_batches(settings, 50), strict=False):
        assert one is other
        assert rows[0].tolist() == again[0].tolist()


def taught(folder: Path, text: str, *languages: str, rows: int, weight: float = 1) -> TaughtFile:
    """A file whose i-th row has the vector (i, 1)."""
    read = file(folder, text, *languages, weight=weight)
    vectors = np.stack([np.arange(rows), np.ones(rows)], axis=1).astype(np.float16)
    np.save(f"{read.source}.npy", vectors)
    return TaughtFile(read, f"{read.source}.npy")


def test_taught_rows_keep_their_vectors(tmp_path: Path) -> None:
    files = [
        taught(tmp_path, "one\ntwo\n\nfour\n", "en", rows=4),
        taught(tmp_path, "one\tun\teins\ntwo\t\tzwei\nthree\ttrois\t\n", "en", "fr", "de", rows=3),
        taught(tmp_path, "quatre\tvier\nlong long\tlong\n", "fr", "de", rows=2, weight=2),
    ]
    read = read_multilingual([file(tmp_path, TABLE)], KNOWN, files)
    assert sum(len(rows) for rows, _ in read.rows) == 4
    found = []
    for corpus in taught_corpora(read, [numbers(texts) for texts in read.texts], 6):
        every = np.arange(len(corpus))
        sides = [side.padded("pieces", every, CPU)[0] for side in corpus.sides]
        texts = [["".join(map(chr, row[row > 0])) for row in side] for side in sides]
        assert corpus.lessons is not None
        found.append((texts, corpus.lessons.at(every)[:, 0].tolist(), corpus.weights.tolist()))
    assert found == [
        ([["one", "two", "four"]], [0, 1, 3], [1, 1, 1]),
        ([["one", "two"], ["eins", "zwei"]], [0, 1], [1, 1]),
        ([["one", "three"], ["un", "trois"]], [0, 2], [1, 1]),
        ([["vier"], ["quatre"]], [0], [2]),
    ]


def test_equal_vectors_are_no_negatives(tmp_path: Path) -> None:
    words = taught(tmp_path, "cat\nfeline\ndog\n", "en", rows=3)
    np.save(words.vectors, np.array([[1, 2], [1, 2], [2, 1]], np.float32))
    read = read_multilingual([file(tmp_path, TABLE)], KNOWN, [words])
    (corpus,) = taught_corpora(read, [numbers(texts) for texts in read.texts], 9)
    same = shared_text(corpus, np.array([0, 1, 2]))
    assert same.tolist() == [[True, True, False], [True, True, False], [False, False, True]]


def test_vectors_and_rows_of_other_numbers(tmp_path: Path) -> None:
    wrong = taught(tmp_path, "one\ntwo\n", "en", rows=3)
    with pytest.raises(InputError, match=r"3 vectors, and .* has 2 rows"):
        read_multilingual([file(tmp_path, TABLE)], KNOWN, [wrong])


def test_a_vector_that_is_not_finite(tmp_path: Path) -> None:
    """As bitext-embed writes it for a rejected line."""
    words = taught(tmp_path, "one\ntwo\n", "en", rows=2)
    np.save(words.vectors, np.array([[1, 2], [np.nan, 1]], np.float32))
    with pytest.raises(InputError, match="row 2 is not finite"):
        read_multilingual((), KNOWN, [words])


def test_rows_without_a_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no text to be taught"):
        read_multilingual((), KNOWN, [taught(tmp_path, "\t\n\tone\n", "en", "-", rows=2)])


def test_shares_of_taught_mini_batches(tmp_path: Path) -> None:
    text = "".join(f"{'x' * (1 + n % 9)}{n}\n" for n in range(40))
    read = read_multilingual(
        [file(tmp_path, TABLE)], KNOWN, [taught(tmp_path, text, "fr", rows=40)]
    )
    spelled = [numbers(texts) for texts in read.texts]
    made = MultilingualCorpus(
        pair_corpora(read, spelled, KNOWN, 99), "en", {}, taught_corpora(read, spelled, 99)
    )
    settings = TrainingSettings(translation=0, autoencoding=0, batch_size=8, taught=0.7)
    assert chances(made, settings)[-1] == pytest.approx(0.7)
    drawn = list(islice(made.mega_batches(settings, 0), 300))
    sizes = [len(mega[0]) for part, mega in drawn if part.lessons]
    assert len(sizes) / 300 == pytest.approx(0.7, abs=0.08)
    assert max(sizes) == 8
    for (one, rows), (other, again) in zip(
        drawn[50:], made.mega_batches(settings, 50), strict=False
    ):
        assert one is other
        assert rows[0].tolist() == again[0].tolist()


@pytest.mark.parametrize(("share", "taught"), [(0.0, True), (0.3, False)])
def test_a_share_without_effect(share: float, taught: bool) -> None:
    settings = TrainingSettings(translation=0, autoencoding=0, taught=share)
    with pytest.raises(SettingsError, match=r"training\.taught="):
        check_taught(settings, taught)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"without_first": 0.6, "three_way": 0.5}, "at most 1, not 1.1"),
        ({"three_way": 0.5, "triplet": 1.0}, "training.three_way goes with training.ranking alone"),
        ({"translation": 1.0}, "a decoder writes one of two languages"),
    ],
)
def test_shares_that_do_not_go_together(wrong: dict[str, float], message: str) -> None:
    check_multilingual(SETTINGS)
    with pytest.raises(SettingsError, match=message):
        check_multilingual(TrainingSettings(**{"translation": 0, "autoencoding": 0, **wrong}))  # type: ignore[arg-type]


@pytest.mark.parametrize("skip", [3, 30, 333])
def test_a_resumed_run_reads_the_same(skip: int) -> None:
    made = corpus(SIZES)
    whole = islice(made.mega_batches(SETTINGS, 0), skip // 3, skip // 3 + 20)
    for (one, rows), (other, again) in zip(whole, made.mega_batches(SETTINGS, skip), strict=False):
        assert one is other
        assert [row.tolist() for row in rows] == [row.tolist() for row in again]


LENGTHS = np.random.default_rng(0).integers(1, 40, 1000)


def _alike(*sides: NDArray[np.int64]) -> list[list[int]]:
    """The place of the first text, over both sides, with the same number as each."""
    numbers = np.concatenate(sides).tolist()
    return [[numbers.index(number) for number in side.tolist()] for side in sides]


def test_texts_are_numbered_across_both_sides() -> None:
    """Trigrams tell texts of unknown pieces apart."""
    one = Sentences(np.array(row, dtype=np.int32) for row in ([5, 6], [7], [5, 6]))
    other = Sentences(np.array(row, dtype=np.int32) for row in ([7], [8], [9, 7]))
    assert _alike(*Corpus(one, other, np.ones(3)).keys) == [[0, 1, 0], [1, 4, 5]]
    pieces = [np.array([1], dtype=np.int32)] * 3
    same = Corpus(Sentences(pieces), Sentences(pieces), np.ones(3)).keys
    assert _alike(*same) == [[0, 0, 0], [0, 0, 0]]
    side = Sentences(pieces, Ragged.of(np.array(row, np.int32) for row in ([4, 5], [4], [4, 5])))
    assert _alike(*Corpus(side, side, np.ones(3)).keys) == [[0, 1, 0]] * 2


def test_sentences_are_taken_and_joined_in_every_view() -> None:
    """And padded with zero."""
    rows = [np.array(row, dtype=np.int32) for row in ([5, 6], [7], [8, 9, 4])]
    sentences = Sentences(rows, Ragged.of(row + 10 for row in rows))
    some = sentences.take(np.array([2, 0])).followed_by(sentences.take(np.array([1])))
    assert [row.tolist() for row in some.views[PIECES]] == [[8, 9, 4], [5, 6], [7]]
    assert [row.tolist() for row in some.views[TRIGRAMS]] == [[18, 19, 14], [15, 16], [17]]
    assert some.lengths.tolist() == [3, 2, 1]
    ids, lengths = sentences.views[PIECES].padded(np.array([2, 1]))
    assert (ids.tolist(), lengths.tolist()) == ([[8, 9, 4], [7, 0, 0]], [3, 1])


def test_pairs_with_a_longer_side_are_left_out() -> None:
    lengths = [(1, 3), (3, 1), (3, 3), (4, 1), (1, 4), (2, 2)]
    sides = [
        Sentences(
            np.full(pair[side], 10 * i + side, dtype=np.int32) for i, pair in enumerate(lengths)
        )
        for side in (0, 1)
    ]
    templates = Ragged.of(np.array([i], dtype=np.int32) for i in range(6))
    kept = Corpus(sides[0], sides[1], np.arange(6) / 2, templates).up_to(3)
    for side in (0, 1):
        first = [int(row[0]) for row in kept.side(side).views[PIECES]]
        assert first == [10 * i + side for i in (0, 1, 2, 5)]
    assert kept.weights.tolist() == [0.0, 0.5, 1.0, 2.5]
    assert kept.templates is not None
    assert [row.tolist() for row in kept.templates] == [[0], [1], [2], [5]]


def test_a_pass_holds_every_row_once_those_of_like_length_together() -> None:
    batches = batches_of_pass(LENGTHS, np.ones(1000), 16, seed=1, number=0)
    assert sorted(np.concatenate(batches)) == list(range(1000))
    assert max(map(len, batches)) == 16
    spread = np.mean([np.ptp(LENGTHS[batch]) for batch in batches])
    assert spread < 0.2 * np.ptp(LENGTHS)


def test_weights_are_how_often_a_row_is_read() -> None:
    weights = np.array([0.0, 0.5, 1.0, 2.0, 2.5])
    total = Counter[int]()
    for number in range(400):
        total.update(rows_of_pass(weights, 1, number).tolist())
    assert total[0] == 0
    assert total[2] == 400
    assert total[3] == 800
    assert total[1] == pytest.approx(200, abs=50)
    assert total[4] == pytest.approx(1000, abs=50)


@pytest.mark.parametrize("skip", [0, 1, 62, 63, 64, 130])
def test_skipped_batches_are_those_already_seen(skip: int) -> None:
    """Passes differ and seeds differ, but nothing else; weights of nothing are refused."""

    def stream(start: int) -> list[list[int]]:
        batches = endless_batches(LENGTHS, np.ones(1000), 16, 1, start)
        return [batch.tolist() for batch in islice(batches, 140 - start)]

    assert stream(skip) == stream(0)[skip:]
    orders = [rows_of_pass(np.ones(50), *of).tolist() for of in ((1, 0), (1, 0), (1, 1), (2, 0))]
    assert orders[0] == orders[1] and orders[0] not in orders[2:]
    with pytest.raises(SettingsError, match="every weight is 0"):
        next(endless_batches(LENGTHS, np.zeros(1000), 16, 1))
