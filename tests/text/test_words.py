"""Sentences, words and tokens: cut, numbered, counted; their features of surface and spelling."""

from __future__ import annotations

import sys
import zlib

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bitextfilter.errors import DeviceError, ModelError, SettingsError
from bitextfilter.text.features import (
    MOST_WORDS,
    RARITY,
    SURFACE_WIDTH,
    WORD_FEATURES,
    WordReader,
    repeats,
    spellings,
    surface_features,
)
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.text.units import joined_units, word_units
from bitextfilter.text.words import (
    UNITS,
    TokenUnits,
    count_characters,
    count_words,
    numbered,
    split_sentences,
    split_words,
    word_forms,
)


@given(st.lists(st.text()))
@example(["", "a", "", "a b  a", "\0", "x\0y \0 z"])
def test_numbered_and_put_together_again(sentences: list[str]) -> None:
    rows, words = numbered(sentences)
    assert words[0] == "" and len(set(words)) == len(words)
    read = [[words[place] for place in row] for row in rows]
    assert read == [sentence.replace("\0", " ").split() for sentence in sentences]


MIXED = st.text(st.sampled_from("ab 京都。タイไทยดี\u0e48é  ,"))


@given(st.text() | MIXED)
def test_units_and_put_together_again(text: str) -> None:
    assert joined_units(word_units(text)) == " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "units", "turned"),
    [
        ("the big cat", ["the", "big", "cat"], "cat big the"),
        ("我住在北京。", ["我住", "在北", "京", "。"], "。京在北我住"),
        ("用 Word 打开文件", ["用", " Word", " 打开", "文件"], "文件 打开 Word用"),
        ("ผมชื่อ Bob", ["ผม", "ชื่อ", " Bob"], "Bobชื่อผม"),
        ("a 字 b", ["a", "字", "b"], "b 字 a"),
        ("", [], ""),
    ],
)
def test_units_of_scripts_without_spaces(text: str, units: list[str], turned: str) -> None:
    assert word_units(text) == units
    assert joined_units(units[::-1]) == turned


@given(st.lists(st.text().map(lambda text: Normalisation()(text, "en"))))
def test_split(sentences: list[str]) -> None:
    words, counts = split_words(sentences)
    stream = iter(words)
    assert [[next(stream) for _ in range(n)] for n in counts] == [s.split() for s in sentences]


def test_rules_are_of_the_language() -> None:
    assert split_sentences("Das ist z.B. einer.  Am 3. Mai kam er. Gut!", "de") == [
        "Das ist z.B. einer.",
        "Am 3. Mai kam er.",
        "Gut!",
    ]
    assert split_sentences("你好。世界！", "zh") == ["你好。", "世界！"]


@pytest.mark.parametrize("space", "\u00a0\u202f\u3000\u2009\u2028\u0085")
def test_spaces_of_other_kinds_stay_what_they_are(space: str) -> None:
    text = f"Hello A{space}. Then{space}B."
    found = split_sentences(text, "en")
    assert " ".join(found).replace(" ", "") == text.replace(" ", "")
    assert split_sentences(f"It is.{space}So{space}what.", "en") == ["It is.", f"So{space}what."]


def test_a_long_text_is_divided_piece_by_piece() -> None:
    sentence = "Dr. Smith came at 5 p.m. to see us."
    assert split_sentences(f"{sentence} " * 900, "en") == [sentence] * 900
    assert split_sentences("word " * 9000, "en") == [("word " * 9000).strip()]


def test_nothing() -> None:
    assert split_sentences("", "en") == []
    assert split_sentences("  ", "en") == []


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(DeviceError, match=r"bitextfilter\[sentences\]"):
        split_sentences("A. B.", "en")


@pytest.mark.parametrize(
    ("sentence", "forms"),
    [
        ("Das Haus, das HAUS!", {"das", "haus"}),
        ("l'eau d’or", {"l", "eau", "d", "or"}),
        ("Straße STRASSE", {"strasse"}),
        ("12,5 % von 1999er", {"12", "5", "von", "1999er"}),
        ("snake_case", {"snake", "case"}),
        ("हिन्दी में", {"हिन्दी", "में"}),
        ("мир МИР", {"мир"}),
        ("東京都へ行く", {"東京", "京都", "都へ", "へ行", "行く"}),
        ("コーヒーを", {"コー", "ーヒ", "ヒー", "ーを"}),
        ("cafe\u0301", {"caf\u00e9"}),
        ("山 I", {"山", "i"}),
        ("iPhoneを買う", {"iphone", "を買", "買う"}),
        ("", set()),
        ("... - !", set()),
    ],
)
def test_forms(sentence: str, forms: set[str]) -> None:
    assert word_forms(sentence) == forms


@pytest.mark.parametrize(
    ("units", "sentence", "tokens"),
    [
        (TokenUnits("words"), "The  House,\u00a0red.", ["the", "house,", "red."]),
        (TokenUnits("words", lowercase=False), "The House", ["The", "House"]),
        (
            TokenUnits("words"),
            "a <s> </s> <unk> <UNK>",
            ["a", "&lt;s&gt;", "&lt;/s&gt;"] + ["&lt;unk&gt;"] * 2,
        ),
        (TokenUnits("words", lowercase=False), "<UNK> <S>", ["&lt;UNK&gt;", "<S>"]),
        (TokenUnits("tokens"), "Don't (stop) 3€", ["don", "'", "t", "(", "stop", ")", "3", "€"]),
        (TokenUnits("tokens"), "कि <s>", ["कि", "<", "s", ">"]),
        (TokenUnits("characters"), "Ab c", ["<w>", "a", "b", "<w>", "c", "<w>"]),
        (TokenUnits("characters"), "<w>", ["<w>", "<", "w", ">", "<w>"]),
        (TokenUnits("words"), "<w>", ["&lt;w&gt;"]),
    ],
)
def test_tokens(units: TokenUnits, sentence: str, tokens: list[str]) -> None:
    assert units(sentence) == tokens


@pytest.mark.parametrize("unit", UNITS)
def test_blank_sentences_have_no_tokens(unit: str) -> None:
    assert [TokenUnits(unit)(blank) for blank in ("", " \u3000", "\u200b")] == [[], [], []]


@given(st.text())
def test_tokens_can_stand_in_a_line_of_an_arpa_file(sentence: str) -> None:
    for unit in UNITS:
        for token in TokenUnits(unit)(sentence.encode("utf-8", "replace").decode()):
            assert token.encode().split() == [token.encode()]
            assert token not in {"<s>", "</s>", "<unk>", "<UNK>"}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("lowercase", [True, False])
def test_note_is_read_back(unit: str, lowercase: bool) -> None:
    units = TokenUnits(unit, lowercase)
    assert TokenUnits.from_note(units.note()) == units


def test_notes_of_others() -> None:
    assert TokenUnits.from_note("# made by hand") is None
    assert TokenUnits.from_note("bitextfilter") is None
    for note in ("# bitextfilter unit=syllables lowercase=yes", "# bitextfilter unit=words"):
        with pytest.raises(ModelError, match="newer"):
            TokenUnits.from_note(note)


def test_unknown_unit() -> None:
    with pytest.raises(SettingsError, match="syllables"):
        TokenUnits("syllables")


TEXTS = ["", " \u3000\n", "one", " two  words\u2028", "你好，世界。", "a\u0301 b"]


def test_words_and_characters() -> None:
    assert count_words(TEXTS) == [0, 0, 1, 2, 1, 2]
    assert count_characters(TEXTS) == [0, 0, 3, 8, 6, 3]
    assert count_words([]) == count_characters([]) == []


@given(st.lists(st.text(), max_size=5))
def test_against_one_character_at_a_time(texts: list[str]) -> None:
    assert count_characters(texts) == [sum(not c.isspace() for c in text) for text in texts]
    starts = [
        sum(not c.isspace() and (i == 0 or text[i - 1].isspace()) for i, c in enumerate(text))
        for text in texts
    ]
    assert count_words(texts) == starts


def test_subwords_are_the_pieces_of_a_language() -> None:
    sides = ["lower lowest low"] * 9, ["nieder niederste"] * 9
    settings = SegmenterSettings("bpe", vocabulary_size=12)
    processor = TextProcessor.learn(sides, ("en", "de"), Normalisation(), settings)
    texts = ["", "lower slow", "low\n"]
    lengths = processor.lengths(texts, "en")
    assert lengths == [len(pieces) for pieces in processor.segmenter.segment_all(texts)]
    assert lengths[0] == 0 and lengths[1] > 2


ODD = st.text(max_size=30)


def difference(one: str, other: str) -> float:
    a, b = surface_features([one, other])
    return float(np.abs(a - b).sum())


def test_shape() -> None:
    assert surface_features([]).shape == (0, SURFACE_WIDTH)
    rows = surface_features(["", "One, 2."])
    assert rows.shape == (2, SURFACE_WIDTH)
    assert rows.dtype == np.float32
    assert not rows[0].any()


@given(sentences=st.lists(ODD, min_size=1, max_size=5))
def test_a_sentence_is_described_by_itself(sentences: list[str]) -> None:
    rows = surface_features(sentences)
    assert np.array_equal(rows[::-1], surface_features(sentences[::-1]))
    assert np.array_equal(rows, np.concatenate([surface_features([one]) for one in sentences]))
    assert np.array_equal(rows * 4096, np.round(rows * 4096))
    assert rows.min() >= 0


def test_what_a_description_shows() -> None:
    assert difference("It costs 1,500 dollars", "It costs 1.500 dollars") < difference(
        "It costs 1,500 dollars", "It costs 1,600 dollars"
    )
    same = ("Peter met Paul", "Peter met Mary"), ("Peter met paul", "Peter met mary")
    assert difference(*same[0]) > difference(*same[1]) > 0
    assert difference("He is not here", "He is here") > 0.3
    assert difference("all of it all of it", "it is all of it here") > 0.3
    assert difference("The end.", "The end") > 1
    assert difference("cafe\u0301", "caf\u00e9") == 0


def test_bags_show_what_is_in_both() -> None:
    a, b, c = surface_features(
        ["old houses by the sea", "old houses by the lake", "Fisch schmeckt gut"]
    )
    assert a @ b > a @ c


SENTENCES = [
    "Don't panic, Tom!",
    "",
    "the The  the\u00a0cat",
    "100 000 €, 1.5 %",
    "\u200b",
    "Tom! Tom! Tom!",
]


def words(reader: WordReader, sentences: list[str]) -> list[list[str]]:
    return [[reader.words[number] for number in row] for row in reader.read(sentences)[0]]


def test_words_are_those_of_the_normalisation() -> None:
    normalise = Normalisation(lowercase=False, apart=True)
    expected = [normalise(sentence, "en").split() or [""] for sentence in SENTENCES]
    assert words(WordReader(), SENTENCES) == expected
    assert expected[0] == ["Don", "'", "t", "panic", ",", "Tom", "!"]


def test_a_word_keeps_its_number() -> None:
    reader = WordReader()
    first, _ = reader.read(SENTENCES)
    known = list(reader.words)
    assert len(set(known)) == len(known)
    again, _ = reader.read([*SENTENCES[::-1], "new cat"])
    assert reader.words[: len(known)] == known
    assert reader.words[len(known) :] == ["new"]
    for row, other in zip(first, list(again)[-2::-1], strict=True):
        assert row.tolist() == other.tolist()
    assert reader.read([])[0].flat.size == 0


def test_words_after_a_space_are_marked() -> None:
    rows, spaced = WordReader().read(["Tom, don't !", "", "  a", "(b) ."])
    assert rows.lengths.tolist() == [6, 1, 1, 4]
    assert spaced.tolist() == [1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1]
    text = "Tom, don't panic! "
    short, long = (WordReader().read([text * count])[1] for count in (50, 500))
    assert len(long) == MOST_WORDS and long[: len(short)].tolist() == short.tolist()


def test_the_first_words_of_a_long_sentence_are_read() -> None:
    sentence = "".join(f"w{place},\u200b" for place in range(100_000))
    few = Normalisation(lowercase=False, apart=True)(sentence[:20_000], "").split()[:MOST_WORDS]
    reader = WordReader()
    assert words(reader, ["cat", sentence, "w7"]) == [["cat"], few, ["w7"]]
    assert len(reader.words) < MOST_WORDS + 3  # none of the others is kept, or computed
    symbols = "\u2adc" * MOST_WORDS  # whose normal forms are two words each
    assert words(reader, [symbols])[0][:3] == ["\u2add", "\u0338", "\u2add"]
    assert len(words(reader, [symbols])[0]) == MOST_WORDS


def test_what_a_word_looks_like() -> None:
    found = spellings(["", "Tom", "tom", "USA", "1.5", "15", "nicht", "Ü", "!", "don"])
    assert found.features.shape == (10, WORD_FEATURES)
    _, tom, small, usa, dotted, plain, no, umlaut, mark, _ = found.features
    assert tom[0] == small[0] == usa[0] == pytest.approx(np.log(4))
    assert [tom[2], small[2], usa[2], usa[3], tom[3]] == [1, 0, 1, 1, 0]
    assert [dotted[1], plain[1], tom[1]] == [1, 1, 0]
    assert [no[6], tom[6]] == [1, 0]
    assert [umlaut[5], tom[5]] == [1, 0]
    assert [mark[4], tom[4], mark[8:].sum(), tom[8:].sum()] == [1, 0, 1, 0]
    assert not found.features[:, RARITY].any()
    assert found.letters[1] == found.letters[2] != found.letters[3]
    assert found.figures[4] == found.figures[5] != 0
    assert found.figures[1] == found.figures[8] == 0
    assert found.hashes[1] == found.hashes[2] == zlib.crc32(b"tom")
    some = found.take(np.array([4, 1]))
    assert np.array_equal(some.features, found.features[[4, 1]])
    assert some.figures.tolist() == found.figures[[4, 1]].tolist()
    assert some.letters.tolist() == found.letters[[4, 1]].tolist()
    assert some.hashes.tolist() == found.hashes[[4, 1]].tolist()


def test_figures_are_told_apart() -> None:
    found = spellings(["5", "6", "2 016".replace(" ", ""), "2016"]).figures
    assert len(set(found.tolist())) == 3


def test_repeats_are_those_of_a_walk_through_the_sentence() -> None:
    chance = np.random.default_rng(1)
    lengths = chance.integers(0, 9, 40)
    letters = np.array([5, 7, 7, -3, 9])  # two spellings of one word
    rows = Ragged(chance.integers(0, 5, int(lengths.sum())), lengths)
    expected: list[tuple[bool, bool]] = []
    for row in rows:
        row_letters = letters[row].tolist()
        pairs = list(zip([None, *row_letters], row_letters, strict=False))
        expected += [
            (row_letters[i] in row_letters[:i], pairs[i] in pairs[:i]) for i in range(len(row))
        ]
    found = repeats(rows, letters)
    assert found.dtype == np.float32
    assert found.tolist() == [[float(a), float(b)] for a, b in expected]
    assert found.sum() > 20
    assert repeats(Ragged(rows.flat[:0], lengths[:0]), letters).shape == (0, 2)
