"""Noise is made as its settings say; the window of pairs holds those around."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.damage import material as noise_material
from bitextfilter.damage.material import PairWindow, _boilerplate_templates, boilerplate_line
from bitextfilter.damage.noise import CLEAN, NoiseSettings, even_rates, noisy_pairs
from bitextfilter.damage.noise import CRAWL_NOISE as NOISE_KINDS
from bitextfilter.errors import SettingsError

Pair = tuple[str, str]


def pair(i: int) -> Pair:
    """Ten words a side that no other pair has, but for a name, a number and a negation."""
    source = [f"s{i}a", f"s{i}b", "not", f"Name{'abcdefghij'[i % 10]}", "12", f"s{i}c,"]
    target = [f"t{i}a", f"Name{'abcdefghij'[i % 10]}", f"tü{i}", "nicht", "345", f"t{i}b", "1.5"]
    return " ".join([*source, "x", "y", "z", "."]), " ".join([*target, "u", "v", "."])


PAIRS = [pair(i) for i in range(30)]
FOREIGN = [f"f{i} une phrase d'une autre langue" for i in range(9)]
SETTINGS = NoiseSettings(("en", "de"), FOREIGN)


def made_of(
    kind: str, pairs: Sequence[Pair] = PAIRS, seed: int = 1, settings: NoiseSettings = SETTINGS
) -> list[tuple[Pair, Pair]]:
    """Each pair in one kind of noise, beside what it was."""
    made = []
    rows = list(noisy_pairs(pairs, {kind: 1}, seed, settings))
    for (source, target, label), clean in zip(rows, pairs, strict=True):
        assert label == kind
        made.append(((source, target), clean))
    return made


def changed_sides(kind: str, pairs: Sequence[Pair] = PAIRS) -> Iterator[tuple[int, str, str]]:
    """The side that the noise changed, its text and what it was: one a pair, each side in turn."""
    sides = set()
    for noisy, clean in made_of(kind, pairs):
        (side,) = (side for side in (0, 1) if noisy[side] != clean[side])
        sides.add(side)
        yield side, noisy[side], clean[side]
    assert sides == {0, 1}


@pytest.mark.parametrize("kind", ["misordered", "truncated", "short", "repeated", "half"])
def test_scripts_without_spaces_get_none(kind: str) -> None:
    rows = [
        (f"我{n}住在北京的大房子里。", f"私は東京の家{n}に住んでいます。") for n in "一二三四五六"
    ]
    settings = NoiseSettings(("zh", "ja"), words=(5, 60))
    for noisy, clean in made_of(kind, rows, settings=settings):
        assert noisy != clean and " " not in "".join(noisy)
        if kind == "misordered":
            assert list(map(sorted, noisy)) == list(map(sorted, clean))


def line_of(text: str) -> int:
    """The number of the pair that a text is of."""
    found = re.match(r"[st]([0-9]+)a", text)
    assert found is not None
    return int(found[1])


def test_a_shuffled_target_is_that_of_another_pair() -> None:
    steps = [line_of(noisy[1]) - line_of(clean[1]) for noisy, clean in made_of("shuffled")]
    assert all(noisy[0] == clean[0] for noisy, clean in made_of("shuffled"))
    assert 0 not in steps and len(set(steps)) > 10


def test_a_shuffled_target_comes_out_of_the_window() -> None:
    settings = NoiseSettings(window=3)
    steps = {line_of(noisy[1]) - line_of(clean[1]) for noisy, clean in
             made_of("shuffled", [pair(i) for i in range(300)], settings=settings)}  # fmt: skip
    assert steps == {-3, -2, -1, 1, 2, 3}


def test_a_neighbouring_target_is_one_or_two_lines_away() -> None:
    made = made_of("neighbouring", [pair(i) for i in range(200)])
    assert all(noisy[0] == clean[0] for noisy, clean in made)
    assert {line_of(noisy[1]) - line_of(clean[1]) for noisy, clean in made} == {-2, -1, 1, 2}


def test_a_neighbour_of_the_same_text_is_no_noise() -> None:
    pairs = [PAIRS[0], (PAIRS[0][0].upper(), PAIRS[1][1]), (PAIRS[2][0], PAIRS[0][1].upper())]
    labels = [label for *_, label in noisy_pairs(pairs, {"neighbouring": 1}, 1)]
    assert labels == [CLEAN, "neighbouring", "neighbouring"]


def test_misordered_words_are_the_same_words() -> None:
    for _, noisy, clean in changed_sides("misordered"):
        assert sorted(noisy.split()) == sorted(clean.split())


def test_misordered_words_may_come_in_any_order() -> None:
    pairs = [("a b c", "a b c")] * 2000
    rows = noisy_pairs(pairs, {"misordered": 1}, 1, NoiseSettings(words=(1, 9)))
    orders = Counter(text for row in rows for text in row[:2] if text != "a b c")
    assert len(orders) == 5 and min(orders.values()) > 300


def test_a_wrong_language_is_a_foreign_sentence() -> None:
    assert {noisy for _, noisy, _ in changed_sides("wrong-language")} == set(FOREIGN)


def test_a_copy_is_a_side_twice() -> None:
    copies = [(noisy[0] == clean[0], noisy[1] == clean[1]) for noisy, clean in made_of("copied")]
    assert all(noisy[0] == noisy[1] for noisy, _ in made_of("copied"))
    assert set(copies) == {(True, False), (False, True)}


@pytest.mark.parametrize("words", range(6, 61))
def test_a_truncated_side_keeps_35_to_60_percent_of_its_words(words: int) -> None:
    text = " ".join(f"w{i}" for i in range(words))
    kept = set()
    for noisy, clean in made_of("truncated", [(text, text.upper())] * 200):
        side = int(noisy[0] == clean[0])
        assert clean[side].startswith(noisy[side] + " ")
        kept.add(len(noisy[side].split()))
    assert 35 * words <= 100 * min(kept) and 100 * max(kept) <= 60 * words
    assert min(kept) - 1 < 0.35 * words and max(kept) + 1 > 0.6 * words


def test_an_extra_sentence_is_the_same_side_of_another_pair() -> None:
    for side, noisy, clean in changed_sides("extra"):
        assert noisy.startswith(clean + " ")
        added = noisy.removeprefix(clean + " ")
        assert added in {other[side] for other in PAIRS} - {clean}


def test_a_changed_number_is_one_whole_number_of_as_many_digits() -> None:
    for side, noisy, clean in changed_sides("number"):
        old = "12" if side == 0 else "345"
        (new,) = set(noisy.split()) - set(clean.split())
        assert re.fullmatch("[1-9][0-9]*", new) and len(new) == len(old) and new != old
        assert noisy == clean.replace(f" {old} ", f" {new} ")


@pytest.mark.parametrize("text", ["A4 1.5 1,000 10:30 2-3 x7y 3/4 ٣ ² -8", "none at all but words"])
def test_no_number_is_cut_out_of_another_word(text: str) -> None:
    (row,) = noisy_pairs([(text, text)], {"number": 1}, 1, NoiseSettings(words=(1, 60)))
    assert row == (text, text, CLEAN)


@pytest.mark.parametrize("text", ["7.", "(2010)", "70%", "§5,", '"007"', "9" * 5000])
def test_numbers_beside_marks_are_numbers(text: str) -> None:
    settings = NoiseSettings(words=(1, 60))
    for seed in range(20):
        ((source, target, label),) = noisy_pairs([(text, "none")], {"number": 1}, seed, settings)
        assert (target, label) == ("none", "number")
        assert re.sub("[0-9]", "0", source) == re.sub("[0-9]", "0", text) and source != text


def test_a_changed_name_is_one_of_another_pair() -> None:
    for _, noisy, clean in changed_sides("name"):
        (new,), (old,) = (
            set(a.split()) - set(b.split()) for a, b in [(noisy, clean), (clean, noisy)]
        )
        assert re.fullmatch("Name[a-j]", new) and new != old
        assert noisy == clean.replace(old, new)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("we met Anna there", "wir trafen sie dort"),
        ("we met anna there", "wir trafen anna dort"),
        ("in 12 days On it", "On 12 Tage it"),
        ("we met Anna1 there", "wir trafen Anna1 dort"),
    ],
    ids=["on one side", "lower case", "two letters", "not a word"],
)
def test_what_is_no_common_name(source: str, target: str) -> None:
    pairs = [(source, target), *PAIRS]
    settings = NoiseSettings(words=(1, 60))
    assert next(noisy_pairs(pairs, {"name": 1}, 1, settings))[2] == CLEAN


def test_the_last_name_there_is_cannot_be_changed() -> None:
    assert {label for *_, label in noisy_pairs(PAIRS[:1] * 5, {"name": 1}, 1)} == {CLEAN}


def test_a_dropped_negation() -> None:
    for side, noisy, clean in changed_sides("negation"):
        assert noisy == clean.replace(" nicht" if side else " not", "")


def test_boilerplate_replaces_one_side_or_both() -> None:
    made = made_of("boilerplate", PAIRS * 20)
    cases = Counter(
        (noisy[0] == clean[0], noisy[1] == clean[1], noisy[0] == noisy[1]) for noisy, clean in made
    )
    assert set(cases) == {
        (True, False, False), (False, True, False), (False, False, False), (False, False, True)
    }  # fmt: skip
    assert min(cases.values()) > len(made) / 8
    assert len({noisy for noisy, _ in made}) > 0.9 * len(made)


def test_short_sides_are_one_to_five_words_in_a_row() -> None:
    lengths = Counter()
    for noisy, clean in made_of("short", PAIRS * 10):
        for short, whole in zip(noisy, clean, strict=True):
            assert f" {short} " in f" {whole} "
            lengths[len(short.split())] += 1
    assert set(lengths) == {1, 2, 3, 4, 5}


def test_mojibake_is_utf8_misread_once_or_twice() -> None:
    twice = Counter()
    for noisy, clean in made_of("mojibake", PAIRS * 3):
        assert noisy[0] == clean[0]
        once = noisy[1].encode("cp1252").decode()
        twice[once != clean[1]] += 1
        assert clean[1] in (once, once.encode("cp1252").decode() if once != clean[1] else once)
    assert set(twice) == {False, True}


def test_mojibake_of_bytes_that_windows_leaves_open() -> None:
    text = "Ánh sáng ơi bao giờ đến Á"
    rows = [made for made, _ in made_of("mojibake", [(text, "ascii ascii a a a a")] * 20)]
    assert text.encode().decode("latin-1") in {source for source, _ in rows}


def test_repeated_words_stand_three_to_eight_times() -> None:
    for _, noisy, clean in changed_sides("repeated"):
        words, whole = noisy.split(), clean.split()
        ways = {
            (n, times)
            for n in range(1, 5)
            for times in range(3, 9)
            for start in range(len(whole) - n + 1)
            if whole[:start] + whole[start : start + n] * times + whole[start + n :] == words
        }
        assert ways


def test_half_of_the_target_is_the_sources() -> None:
    (((source, target), _),) = made_of("half", [("a b c d e f g", "A B C D E F G H")])
    assert (source, target) == ("a b c d e f g", "A B C D d e f g")


def test_every_kind_is_tested_by_its_definition() -> None:
    """A kind that is added needs a test of its own, or the property tests below say too little."""
    assert set(NOISE_KINDS) == {
        "shuffled", "neighbouring", "misordered", "wrong-language", "copied", "truncated", "extra",
        "number", "name", "negation", "boilerplate", "short", "mojibake", "repeated", "half",
    }  # fmt: skip


def test_nothing_asked_nothing_done() -> None:
    assert list(noisy_pairs(PAIRS, {}, 1)) == [(*pair, CLEAN) for pair in PAIRS]


def test_pairs_of_too_few_or_too_many_words_stay_and_lend_nothing() -> None:
    short, long = ("a b c d e", PAIRS[0][1]), (PAIRS[0][0], "w " * 61)
    pairs = [short, PAIRS[1], long]
    for kind in ("shuffled", "neighbouring", "extra"):
        assert list(noisy_pairs(pairs, {kind: 1}, 1)) == [(*pair, CLEAN) for pair in pairs]
    labels = [label for *_, label in noisy_pairs(pairs, {"half": 1}, 1)]
    assert labels == [CLEAN, "half", CLEAN]


def test_rates() -> None:
    rates = {"copied": 0.2, "half": 0.1}
    labels = Counter(label for *_, label in noisy_pairs(PAIRS * 300, rates, 1))
    assert labels["copied"] / labels.total() == pytest.approx(0.2, abs=0.015)
    assert labels["half"] / labels.total() == pytest.approx(0.1, abs=0.015)


def test_another_kind_stands_in_for_one_that_cannot_be() -> None:
    pairs = [("a b c d e f", "A B C D E F")] * 3000
    labels = Counter(label for *_, label in noisy_pairs(pairs, {"number": 0.3, "half": 0.2}, 1))
    assert set(labels) == {CLEAN, "half"}
    assert labels["half"] / labels.total() == pytest.approx(0.5, abs=0.03)


def test_even_rates() -> None:
    rates = even_rates(0.45, SETTINGS)
    assert set(rates) == set(NOISE_KINDS)
    assert list(rates.values()) == pytest.approx([0.03] * len(NOISE_KINDS))
    assert set(NOISE_KINDS) - set(even_rates(1)) == {"wrong-language", "negation"}
    assert list(even_rates(0.3, SETTINGS, list(NOISE_KINDS)[:5]).items()) == [
        (kind, pytest.approx(0.03)) for kind in list(NOISE_KINDS)[5:]
    ]


def everything(pairs: Sequence[Pair], seed: int, settings: NoiseSettings) -> list[tuple[str, ...]]:
    return list(noisy_pairs(pairs, even_rates(1, settings), seed, settings))


def test_the_seed_decides() -> None:
    assert everything(PAIRS, 1, SETTINGS) == everything(PAIRS, 1, SETTINGS)
    assert everything(PAIRS, 1, SETTINGS) != everything(PAIRS, 2, SETTINGS)


def test_pairs_are_read_as_they_are_needed() -> None:
    read = []

    def endless() -> Iterator[Pair]:
        number = 0
        while True:
            read.append(number)
            yield pair(number)
            number += 1

    rows = noisy_pairs(endless(), {"shuffled": 1}, 1, NoiseSettings(window=50))
    for number in range(500):
        next(rows)
        assert len(read) <= number + 52


TEXTS = st.text("ab A1ü\u2028", min_size=1, max_size=12).filter(str.strip)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=12), st.integers(0, 5), st.integers(1, 4))
def test_the_label_never_lies(pairs: list[Pair], seed: int, window: int) -> None:
    settings = NoiseSettings(("en", "de"), ["x y"], (1, 9), window)
    made = everything(pairs, seed, settings)
    assert len(made) == len(pairs)
    for (source, target, label), clean in zip(made, pairs, strict=True):
        assert (label == CLEAN) == ((source, target) == clean)
        assert source.strip() and target.strip()


@pytest.mark.parametrize(
    ("rates", "settings", "message"),
    [
        ({"translated": 0.1}, SETTINGS, "'translated' is none of shuffled, "),
        ({"copied": 1.1}, SETTINGS, "rate of 1.1 for 'copied'"),
        ({"copied": float("nan")}, SETTINGS, "rate of nan for 'copied'"),
        ({"copied": -0.1}, SETTINGS, "rate of -0.1 for 'copied'"),
        ({"copied": 0.6, "half": 0.5}, SETTINGS, "add up to 1.1"),
        (
            {"wrong-language": 0.1},
            NoiseSettings(),
            "'wrong-language' needs foreign sentences (--foreign) of 6",
        ),
        ({"wrong-language": 1}, NoiseSettings(foreign=["too short"]), "needs foreign sentences"),
        (
            {"negation": 0.1},
            NoiseSettings(("xx", "yy")),
            "'negation' needs a language (--languages) of cs, ",
        ),
    ],
)
def test_what_cannot_be_done_is_said_at_once(
    rates: dict[str, float], settings: NoiseSettings, message: str
) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        noisy_pairs(PAIRS, rates, 1, settings)


@pytest.mark.parametrize(
    "make", [lambda: NoiseSettings(words=(5, 4)), lambda: NoiseSettings(window=0)]
)
def test_settings_out_of_range(make: Callable[[], NoiseSettings]) -> None:
    with pytest.raises(SettingsError):
        make()


FITS = NoiseSettings(words=(2, 3)).fits


def pairs_of(lengths: list[int]) -> list[Pair]:
    """Pairs that differ, with so many words in the target."""
    return [(f"{i} {i}", " ".join([str(i)] * length)) for i, length in enumerate(lengths)]


@given(st.lists(st.integers(1, 4), max_size=15), st.integers(1, 6))
def test_neighbours_and_others_are_those_around(lengths: list[int], reach: int) -> None:
    pairs = pairs_of(lengths)
    fits = [length in (2, 3) for length in lengths]

    def around(place: int, far: int) -> list[Pair]:
        places = range(max(0, place - far), min(len(pairs), place + far + 1))
        return [pairs[other] for other in places if other != place and fits[other]]

    stream = PairWindow(iter(pairs), reach, FITS)
    for place, pair in enumerate(stream):
        assert pair == pairs[place]
        assert stream.fits() == fits[place]
        assert stream.neighbours() == around(place, min(2, reach))
        drawn = {other for seed in range(9) for other in stream.others(random.Random(seed))}
        assert drawn <= set(around(place, reach))
        assert bool(drawn) == bool(around(place, reach))
    assert not pairs or pair == pairs[-1]


def test_long_text_shortens_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_material, "_MOST_TEXT", 100)
    read = []

    def long() -> Iterator[Pair]:
        for number in range(50):
            read.append(number)
            yield "ab " * 40, f"{number} {number}"

    stream = PairWindow(long(), 20, bool)
    for number, _ in enumerate(stream):
        assert len(read) == min(50, number + 3)
        near = {number + step for step in (-2, -1, 1, 2)} & set(range(50))
        assert {int(target.split()[0]) for _, target in stream.neighbours()} == near
        assert {int(pair[1].split()[0]) for pair in stream.others(random.Random(1))} <= near
    assert number == 49


@pytest.mark.parametrize("language", [*_boilerplate_templates(), "xx"])
def test_lines_differ_and_have_no_gaps(language: str) -> None:
    chooser = random.Random(1)
    lines = [boilerplate_line(chooser, language) for _ in range(2000)]
    assert len(set(lines)) > 1000
    assert all(line.isprintable() and not set(line) & set("{}") for line in lines)


def test_languages_differ_and_others_are_english() -> None:
    lines = {
        language: {boilerplate_line(random.Random(seed), language) for seed in range(200)}
        for language in ("en", "de", "fr", "xx")
    }
    assert lines["xx"] == lines["en"]
    assert not lines["de"] & lines["en"] and not lines["de"] & lines["fr"]
