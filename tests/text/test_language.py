"""Language identifiers, ours and those of other packages, and the check of columns."""

from __future__ import annotations

import functools
import math
import os
import random
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from identifiers import identifier_of

from bitextfilter.errors import ModelError, NotFoundError, SettingsError
from bitextfilter.text.identifier import (
    FOLDER,
    LanguageLag,
    NgramIdentifier,
    TextReader,
    load_ngram_identifier,
    ngrams,
    save_ngram_identifier,
)
from bitextfilter.text.language import IDENTIFIERS, Identifier, check_columns, load_identifier
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.segment import SegmenterSettings

ENGLISH = (
    "the a small old man woman child dog house garden river sees finds buys loves and but with "
    "without behind under never always today very quickly slowly red green long short water bread"
)
GERMAN = (
    "der die das ein kleiner alter mann frau kind hund haus garten fluss sieht findet kauft liebt "
    "und aber mit ohne hinter unter niemals immer heute sehr schnell langsam rot lang kurz wasser"
)
FRENCH = (
    "le la un petit vieux homme femme enfant chien maison jardin fleuve voit trouve achète aime "
    "et mais avec sans derrière sous jamais toujours aujourd'hui très vite rouge vert eau pain"
)
RUSSIAN = "старый человек видит большой дом и зелёный сад без воды но очень быстро сегодня"


def text(words: str, rows: int, seed: int = 0) -> list[str]:
    chooser = random.Random(seed)
    return [" ".join(chooser.choices(words.split(), k=9)).capitalize() + "." for _ in range(rows)]


@functools.cache
def processor(kind: str = "unigram") -> TextProcessor:
    settings = SegmenterSettings(kind, vocabulary_size=150)
    sides = text(ENGLISH, 400, seed=8), text(GERMAN, 400, seed=9)
    return TextProcessor.learn(sides, ("en", "de"), Normalisation(), settings)


kinds = pytest.mark.parametrize("kind", ["unigram", "none"])


@kinds
@pytest.mark.parametrize("rows", [0, 5, 20, 300])
def test_quiet_where_all_is_well(kind: str, rows: int) -> None:
    assert check_columns(text(ENGLISH, rows), text(GERMAN, rows), processor(kind)) is None


@kinds
@pytest.mark.parametrize("rows", [20, 300])
def test_swapped(kind: str, rows: int) -> None:
    found = check_columns(text(GERMAN, rows), text(ENGLISH, rows), processor(kind))
    assert found is not None
    assert "swapped" in found
    assert "source column looks like de" in found


def test_one_language_twice() -> None:
    german = text(GERMAN, 50)
    assert check_columns(german, german, processor()) == "the source column looks like de, not en"
    english = text(ENGLISH, 50)
    assert check_columns(english, english, processor()) == "the target column looks like en, not de"


def test_another_language() -> None:
    found = check_columns(text(ENGLISH, 50), text(FRENCH, 50), processor())
    assert found == "the target column looks like another language, not de"


def test_another_script() -> None:
    found = check_columns(text(RUSSIAN, 50), text(GERMAN, 50), processor())
    assert found == "the source column looks like Cyrillic script, not en"
    unspaced = ["今日はとても大きな家を見ました、ソフトウェアです。GNU"] * 20
    found = check_columns(text(ENGLISH, 20), unspaced, processor())
    assert found == "the target column looks like Hiragana script, not de"


@pytest.mark.parametrize(
    "row",
    [
        "Johann Wolfgang von Goethe", "12,345.67 98 2021-05-04",
        "https://example.com/haus/und/garten", "Haus", "OK!", "%s: %d",
    ],
)  # fmt: skip
def test_quiet_on_what_is_of_no_language(row: str) -> None:
    assert check_columns([row] * 100, [row] * 100, processor()) is None


def test_quiet_on_a_mixture() -> None:
    mixture = text(ENGLISH, 50) + text(GERMAN, 50)
    assert check_columns(mixture, mixture, processor()) is None


def test_quiet_where_the_vocabulary_saw_too_little() -> None:
    sides = text(ENGLISH, 10), text(GERMAN, 10)
    thin = TextProcessor.learn(sides, ("en", "de"), Normalisation(), SegmenterSettings("none"))
    assert check_columns(text(GERMAN, 50), text(ENGLISH, 50), thin) is None


def test_one_language_on_both_sides_is_never_swapped() -> None:
    sides = text(ENGLISH, 400, seed=8), text(ENGLISH, 400, seed=9)
    same = TextProcessor.learn(sides, ("en", "en"), Normalisation(), SegmenterSettings("none"))
    assert check_columns(text(ENGLISH, 50, 1), text(ENGLISH, 50, 2), same) is None


SENTENCES = {
    "en": "The committee will meet again on Tuesday to discuss the budget.",
    "de": "Der Ausschuss tritt am Dienstag wieder zusammen, um den Haushalt zu beraten.",
    "fr": "La commission se réunira de nouveau mardi pour discuter du budget.",
    "cs": "Výbor se znovu sejde v úterý, aby projednal rozpočet.",
    "ru": "Комитет снова соберётся во вторник, чтобы обсудить бюджет.",
    "ja": "委員会は火曜日に再び会合を開き、予算について話し合う。",
}
PACKAGES = {"ngrams": "py3langid", "py3langid": "py3langid", "cld2": "pycld2", "lingua": "lingua"}


@pytest.fixture(params=list(IDENTIFIERS))
def identifier(request: pytest.FixtureRequest) -> Identifier:
    pytest.importorskip(PACKAGES[request.param])
    return identifier_of(request.param)


def test_the_right_language_is_the_most_probable(identifier: Identifier) -> None:
    for right, sentence in SENTENCES.items():
        found = {name: identifier.probabilities([sentence], name)[0] for name in SENTENCES}
        assert max(found, key=lambda language: found[language]) == right
        assert all(0 <= value <= 1 for value in found.values())
        assert found[right] >= identifier.minimum
        impossible = [value for value in found.values() if value < identifier.minimum]
        assert len(impossible) >= len(SENTENCES) - 2
        assert identifier.likeliest(sentence) == right


def test_text_of_no_language_looks_like_some_or_none(identifier: Identifier) -> None:
    for sentence in ("", "12 %", "\x01\x02", "?" * 3000):
        assert identifier.likeliest(sentence).isalpha()


def test_languages_are_known_or_not(identifier: Identifier) -> None:
    assert all(identifier.knows(language) for language in SENTENCES)
    assert not identifier.knows("xx")


def test_the_company_of_a_sentence_does_not_matter(identifier: Identifier) -> None:
    texts = [*SENTENCES.values(), "", "Hallo", "Die Katze", "the cat", "Die Katze"]
    together = identifier.probabilities(texts, "de").tolist()
    alone = [identifier.probabilities([text], "de")[0] for text in texts]
    assert together == pytest.approx(alone, rel=1e-9)  # of lingua's last digits, some change
    if identifier is load_identifier("ngrams"):
        assert together == alone
    assert identifier.probabilities([], "de").shape == (0,)


def test_ngrams_ask_py3langid_where_they_are_not_sure() -> None:
    first, second, both = load_ngram_identifier(), load_identifier("py3langid"), 0
    ngrams = load_identifier("ngrams")
    texts = [*SENTENCES.values(), "Hallo", "Option", "Name der Datei", "Server name", "Systeme"]
    for language in ("de", "en", "fr"):
        for text in texts:
            logits = first.logits(first.evidence([text]))[0]
            own = math.exp(logits[first.place(language)]) / sum(map(math.exp, logits))
            other = second.probabilities([text], language)[0]
            unsure = ngrams.minimum <= own < 0.5
            both += unsure
            expected = math.sqrt(own * other) if unsure else own
            if expected < 0.01 and first.evidence([text])[0, -1] >= 180:
                expected /= 5
            assert ngrams.probabilities([text], language)[0] == pytest.approx(expected, rel=1e-9)
    assert 3 < both < 20


def test_sure_sentences_load_no_model_of_py3langid() -> None:
    script = (
        "import py3langid.langid\n"
        "from bitextfilter.text.language import load_identifier\n"
        "py3langid.langid.LanguageIdentifier.from_model_file = None\n"
        "found = load_identifier('ngrams')\n"
        f"assert found.probabilities([{SENTENCES['de']!r}], 'de')[0] > 0.9\n"
        "found.probabilities(['Server name'], 'de')\n"
    )
    line = [sys.executable, "-c", script]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert "TypeError: 'NoneType' object is not callable" in done.stderr


def test_ngrams_ask_py3langid_for_languages_that_they_lack() -> None:
    ngrams, second = load_identifier("ngrams"), load_identifier("py3langid")
    assert load_ngram_identifier().place("sw") is None and ngrams.knows("sw")
    texts = ["Kamati itakutana tena Jumanne.", *SENTENCES.values()]
    passed = ngrams.probabilities(texts, "sw") >= ngrams.minimum
    assert passed.tolist() == (second.probabilities(texts, "sw") >= second.minimum).tolist()
    assert passed[0] and not passed.all()


def test_norwegian_by_either_name(identifier: Identifier) -> None:
    text = ["Komiteen møtes igjen på tirsdag for å diskutere budsjettet."]
    assert identifier.probabilities(text, "nb")[0] >= identifier.minimum


def test_no_letters_are_no_evidence(identifier: Identifier) -> None:
    for text in ("12 %", "?!", "\U0001f600"):
        assert identifier.probabilities([text], "de")[0] >= identifier.minimum


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fastText model of two languages, the labels as the larger ones have them.

    Its training does not set its tables to zero and fails on what the memory held before, so it
    runs in a process of its own where the C library hands out zeros (the complement of 255).
    """
    pytest.importorskip("fasttext")
    folder = tmp_path_factory.mktemp("fasttext")
    lines = [f"__label__eng_Latn {SENTENCES['en']}", f"__label__deu_Latn {SENTENCES['de']}"] * 50
    (folder / "text").write_text("\n".join(lines) + "\n", encoding="utf-8")
    train = (
        "import fasttext\n"
        "fasttext.train_supervised('text', dim=8, epoch=50, minn=2, maxn=4, bucket=1000, thread=1,"
        " verbose=0).save_model('model.bin')\n"
    )
    zeros = os.environ | {"MALLOC_PERTURB_": "255"}
    subprocess.run([sys.executable, "-c", train], cwd=folder, env=zeros, check=True)
    return folder / "model.bin"


def test_a_fasttext_model(model: Path) -> None:
    identifier = load_identifier(str(model))
    assert identifier.knows("eng")
    assert identifier.knows("deu_Latn")
    assert identifier.knows("en") and identifier.knows("en-US")
    assert not identifier.knows("fr")
    assert identifier.probabilities([SENTENCES["en"]], "eng")[0] > 0.9
    assert identifier.probabilities([SENTENCES["de"]], "eng_Latn")[0] < 0.1
    assert identifier.probabilities([""], "eng")[0] == 1
    assert [identifier.likeliest(text) for text in (SENTENCES["de"], "")] == ["deu_Latn", "un"]


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    pytest.importorskip("fasttext")
    (tmp_path / "text.bin").write_bytes(b"this is text" * 10)
    with pytest.raises(ModelError, match=r"text\.bin"):
        load_identifier(str(tmp_path / "text.bin"))


def test_no_such_identifier(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"none\.bin"):
        load_identifier(str(tmp_path / "none.bin"))
    with pytest.raises(SettingsError, match="cld3"):
        load_identifier("cld3")


WORDS = [
    "Haus", "straße", "5", "don't", "", "été", "中文", "a", "...", "x1y", "İstanbul", "\ud800b",
]  # fmt: skip
WEIGHTS = np.random.default_rng(1).integers(-127, 128, (256, 3)).astype(np.int8)
TOY = NgramIdentifier(("aa", "ba", "no"), WEIGHTS, 0.02)


def naive_buckets(word: str, buckets: int) -> list[int]:
    """Hash each n-gram by itself, in integers of any size."""
    found, whole = [], 1 << 64
    letters = "".join(c if unicodedata.category(c)[0] in "LM" else " " for c in word.lower())
    for run in letters.split():
        text = f" {run} "
        for n in range(1, 5):
            for start in range(len(text) - n + 1):
                gram = text[start : start + n]
                if gram == " ":
                    continue
                mixed = 0
                for character in gram:
                    mixed = (mixed * 0xC2B2AE3D27D4EB4F + ord(character) + 1) % whole
                spread = (mixed + n) * 0x9E3779B97F4A7C15 % whole
                found.append(spread * buckets // whole)
    return found


def naive_logits(text: str) -> list[float]:
    buckets = naive_buckets(text, len(WEIGHTS))
    sums = [sum(int(WEIGHTS[bucket, place]) for bucket in buckets) for place in range(3)]
    return [total * 0.02 / math.sqrt(max(1, len(buckets))) for total in sums]


def test_ngrams_are_those_of_a_loop() -> None:
    found = ngrams(WORDS, 256)
    assert [sorted(row.tolist()) for row in found] == [
        sorted(naive_buckets(word, 256)) for word in WORDS
    ]
    assert found.lengths.tolist()[3] == len(naive_buckets("don", 256)) + len(
        naive_buckets("t", 256)
    )
    assert len(ngrams([], 256)) == 0


def test_probabilities_are_those_of_a_loop() -> None:
    texts = [*WORDS, "Das Haus in Paris", "5 + 5"]
    found = TOY.probabilities(TOY.evidence(texts))
    for row, text in zip(found, texts, strict=True):
        powers = [math.exp(logit) for logit in naive_logits(text)]
        np.testing.assert_allclose(row, [power / sum(powers) for power in powers])
    assert np.ptp(found) > 0.5
    np.testing.assert_allclose(found[-1], 1 / 3)
    assert TOY.probabilities(TOY.evidence([])).shape == (0, 3)


def test_a_lag_is_behind_the_likeliest_language() -> None:
    texts = ["Das Haus ist alt", "été à Paris", "5", "Haus", "Das Haus ist sehr alt " * 3]
    words = sorted({word for text in texts for word in text.split()})
    for place in range(3):
        lag = LanguageLag(TOY, place)
        lag.learn(words[:2])
        lag.learn(words[2:])
        rows = Ragged.of_lists([[words.index(word) for word in text.split()] for text in texts])
        own = np.array([naive_logits(text) for text in texts])
        sure = [min(1, len(naive_buckets(text, 256)) / 120) for text in texts]
        expected = np.maximum(own[:, place] - own.max(axis=1), -7) * sure
        np.testing.assert_allclose(lag.behind(rows), expected, atol=1e-12)
        assert (
            lag.behind(rows.take(np.array([1])))[0] == lag.behind(rows)[1]
            and lag.behind(rows)[2] == 0
        )
        lag.forget()
        lag.learn(["Haus"])
        assert lag.behind(Ragged.of_lists([[0]]))[0] == pytest.approx(expected[3])


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The committee will meet again next week."),
        ("de", "Der Ausschuss tritt nächste Woche wieder zusammen."),
        ("fr", "La commission se réunira de nouveau la semaine prochaine."),
        ("cs", "Výbor se znovu sejde příští týden."),
        ("uk", "Комітет знову збереться наступного тижня."),
        ("ja", "委員会は来週また開かれます。"),
        ("zh", "委员会下周将再次开会。"),
        ("hi", "समिति अगले सप्ताह फिर से बैठक करेगी।"),
    ],
)
def test_the_shipped_one_tells_languages(language: str, text: str) -> None:
    identifier = load_ngram_identifier()
    place = identifier.place(language)
    assert (
        place is not None and identifier.probabilities(identifier.evidence([text]))[0, place] > 0.9
    )
    for other, behind in ((place, False), ((place + 1) % len(identifier.languages), True)):
        lag = LanguageLag(identifier, other)
        lag.learn([text, "12 345"])
        found = lag.behind(Ragged.of_lists([[0], [1]]))
        assert (found[0] < -0.3) == behind and found[1] == 0


def test_names_of_languages() -> None:
    assert TOY.place("nb") == TOY.place("no") == 2 and TOY.place("de") is None
    assert {"en", "de", "fr", "no"} <= set(load_ngram_identifier().languages)


def test_it_is_saved_and_read(tmp_path: Path) -> None:
    save_ngram_identifier(TOY, tmp_path)
    again = load_ngram_identifier(tmp_path)
    assert (again.languages, again.scale) == (TOY.languages, TOY.scale)
    assert np.array_equal(again.weights, TOY.weights)


@pytest.mark.parametrize("damage", ["a byte", "an end", "no weights", "no page", "a list"])
def test_a_damaged_one_is_refused(damage: str, tmp_path: Path) -> None:
    folder = tmp_path / "identifier"
    shutil.copytree(FOLDER, folder)
    weights = folder / "weights.bin"
    data = bytearray(weights.read_bytes())
    if damage == "a byte":
        data[1000] ^= 1
        weights.write_bytes(data)
    elif damage == "an end":
        weights.write_bytes(data[:-100])
    elif damage == "no weights":
        weights.unlink()
    elif damage == "no page":
        (folder / "identifier.json").unlink()
    else:
        (folder / "identifier.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(ModelError, match="unusable language identifier"):
        load_ngram_identifier(folder)


def test_words_are_read_once_and_forgotten() -> None:
    """However few words are remembered, a text has the evidence of the text read whole."""
    texts = ["ab ba", "Ab, b!", "", "ab-ba ΟΔΟΣ ΟΔΟΣ.", "a", "b a b", "12 %"]
    for most in (0, 2, 100):
        reader = TextReader(TOY, most)
        for some in (texts, texts[::-1], [], texts[:2]):
            expected = TOY.evidence(some)
            assert reader.evidence(some).tolist() == expected.tolist()
