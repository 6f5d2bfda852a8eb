"""The identifier of languages."""

from __future__ import annotations

import math
import shutil
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.errors import ModelError
from bitextfilter.text.identifier import (
    FOLDER,
    LanguageLag,
    NgramIdentifier,
    TextReader,
    load_ngram_identifier,
    ngrams,
    save_ngram_identifier,
)
from bitextfilter.text.ragged import Ragged

WORDS = [
    "Haus",
    "straße",
    "5",
    "don't",
    "",
    "été",
    "中文",
    "a",
    "...",
    "x1y",
    "İstanbul",
    "\ud800b",
]
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
