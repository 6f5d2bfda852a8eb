"""The classifier that reads words: its formula, and the same score in any company."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from bitextfilter.arrays import Vectors
from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.io.compiled import NO_COMPILED
from bitextfilter.models.folders import write_config
from bitextfilter.pairs.base import EncodedSide, Reading, WordClassifierSettings
from bitextfilter.pairs.classifier import load_classifier, save_classifier
from bitextfilter.pairs.compiled_words import lanes
from bitextfilter.pairs.scoring import WordCache, WordTable
from bitextfilter.pairs.word_classifier import WordClassifier
from bitextfilter.pairs.word_network import Extent, coverage
from bitextfilter.text.features import MOST_WORDS, WordReader, repeats, spellings
from bitextfilter.text.identifier import load_ngram_identifier

DIM = 10
SETTINGS = WordClassifierSettings(
    DIM,
    1.5,
    width=8,
    meaning=6,
    word_kinds=3,
    hidden=12,
    buckets=500,
    spacing=True,
    bigrams=4000,
)
SOURCES = ["Tom has 5 cats, no dogs.", "Good morning!", "It is the the the same.", "", "x " * 70]
TARGETS = ["Tom hat 5 Katzen, keine Hunde.", "Guten Tag 7", "Das", "Gut", "y " * 90]


def make(settings: WordClassifierSettings = SETTINGS) -> WordClassifier:
    """A classifier with random weights, large enough for scores of all sizes."""
    torch.manual_seed(0)
    classifier = WordClassifier(settings)
    with torch.no_grad():
        for parameter in classifier.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.2)
    classifier.counts.copy_(torch.randint(0, 256, classifier.counts.shape) // 4)
    if classifier.bigrams is not None:
        classifier.bigrams.copy_(torch.randint(0, 256, classifier.bigrams.shape))
    return classifier.eval()


def take_statistics(copied: WordClassifier, classifier: WordClassifier) -> None:
    copied.counts.copy_(classifier.counts)
    if copied.bigrams is not None:
        known = torch.randint(0, 256, copied.bigrams.shape)
        copied.bigrams.copy_(known if classifier.bigrams is None else classifier.bigrams)


def encode(sentences: Sequence[str], side: int) -> Vectors:
    """A vector that depends on the text and the side alone."""
    rows = [
        np.random.default_rng([side, *text.encode()]).standard_normal(DIM) for text in sentences
    ]
    return np.array(rows, dtype=np.float32).reshape(-1, DIM)


def sides(sources: Sequence[str], targets: Sequence[str]) -> tuple[EncodedSide, EncodedSide]:
    return (encode(sources, 0), sources), (encode(targets, 1), targets)


Matrix = NDArray[np.float64]
GOLDEN, PRIME = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F


class Naive:
    """One pair without any padding, in float64, in the words of the definition."""

    def __init__(self, classifier: WordClassifier) -> None:
        self.p = {
            name.removeprefix("network."): tensor.double().numpy()
            for name, tensor in classifier.state_dict().items()
        }

    def linear(self, name: str, rows: Matrix) -> Matrix:
        return rows @ self.p[f"{name}.weight"].T + self.p.get(f"{name}.bias", 0.0)

    def read(self, sentence: str, side: int) -> dict[str, Matrix]:
        reader = WordReader()
        rows, spaced = reader.read([sentence])
        words = [reader.words[number] for number in rows.flat]
        spelling = spellings(words)
        vectors = encode(words, side).astype(np.float64) / SETTINGS.word_length
        features = spelling.features.astype(np.float64)
        buckets = [crc32(w.lower().encode()) % SETTINGS.buckets for w in words]
        rare = [
            [max(0.0, 1 - math.log(1 + t, 64)) for t in self.p["counts"][number][buckets]]
            for number in (side, 1 - side)
        ]
        features[:, 7] = rare[0]
        foreign = [[max(0.0, own - other)] for own, other in zip(*rare, strict=True)]
        features = np.hstack([features, foreign])
        both = np.hstack([vectors * 6, features])
        before, here, after = np.split(half(self.linear("contexts", both)), 3, axis=1)
        features = half(features)
        again = repeats(rows, spellings(reader.words).letters)
        n = len(words)
        edges = np.array([[float(i == 0), float(i == n - 1)] for i in range(n)])
        fluency = self.fluency([word.lower() for word in words], side, half(features)[:, 7])
        places = self.linear("places", np.hstack([again, spaced[:, None], edges, fluency]))
        width = SETTINGS.width
        states = []
        for i in range(n):
            state = here[i] + places[i, :width] + self.p["sides"][side]
            state = state + (before[i - 1] if i else 0) + (after[i + 1] if i + 1 < n else 0)
            states.append(np.maximum(state, 0))
        none = np.zeros(width)
        wider = [
            states[i]
            + np.maximum(
                self.linear(
                    "wider",
                    np.concatenate(
                        [
                            states[i - 1] if i else none,
                            states[i],
                            states[i + 1] if i + 1 < n else none,
                        ]
                    ),
                ),
                0,
            )
            for i in range(n)
        ]
        state_rows = np.array(wider)
        logits = half(self.linear("kinds", both)) + places[:, width:]
        logits = logits + self.linear("kinds_in_context", state_rows)
        return {
            "meanings": half(unit(self.linear("meaning", vectors))),
            "states": state_rows,
            "queries": unit(self.linear("query", state_rows)),
            "kinds": 1 / (1 + np.exp(-logits)),
            "features": features,
            "fluency": fluency,
            "letters": spelling.letters,
            "figures": spelling.figures,
        }

    def fluency(self, words: list[str], side: int, rarity: Matrix) -> Matrix:
        common = [1.0, *(1 - rarity), 1.0]
        edge = 1 << 33
        keys = [edge, *(crc32(word.encode()) for word in words), edge]
        familiar, odd = [], []
        for place, (left, right) in enumerate(pairwise(keys)):
            mixed = (left * GOLDEN ^ right * PRIME) % 2**64
            mixed = (mixed ^ mixed >> 29) * GOLDEN % 2**64 >> 1
            place_in_table = mixed % SETTINGS.bigrams
            byte = int(self.p["bigrams"][side, place_in_table // 4])
            familiar.append((byte >> 2 * (place_in_table % 4) & 3) / 3)
            odd.append((1 - familiar[-1]) * common[place] * common[place + 1])
        return np.array([familiar[:-1], familiar[1:], odd[:-1], odd[1:]]).T

    def side(self, a: dict[str, Matrix], b: dict[str, Matrix], alike: list[Matrix]) -> Matrix:
        scores = sum(w * some for w, some in zip(self.p["weights"], alike, strict=True))
        n, m = len(a["states"]), len(b["states"])
        size = max(n, m)
        square = [
            torch.from_numpy(np.pad(some, ((0, size - n), (0, size - m))))[None]
            for some in (np.asarray(scores), *alike)
        ]
        extents = [Extent(torch.tensor([float(k)]).double(), size) for k in (n, m)]
        found = coverage(square[0], torch.stack(square[1:]), *extents)  # has a test of its own
        attended = found.attention[0, :n, :m].numpy() @ b["states"]
        features, scalars = found.features[0, :n].numpy(), found.scalars[0, :n].numpy()
        both = [a["states"], attended, abs(a["states"] - attended), a["states"] * attended]
        every = np.hstack([a["kinds"], a["features"][:, 1:8]])
        compared = np.maximum(self.linear("compare", np.hstack([*both, every, scalars])), 0)
        compared = np.maximum(self.linear("compared", compared), 0)
        kinds = np.hstack([every, np.ones((n, 1))])
        pooled = [
            (kind[:, None] * features).sum(axis=0) / (kind.sum() + 0.05 * n) for kind in kinds.T
        ]
        counts = np.log1p(a["kinds"].sum(axis=0)), np.log1p(a["features"].sum(axis=0))
        parts = [*pooled, counts[0], compared.mean(axis=0), compared.max(axis=0), counts[1]]
        parts += [a["features"][0], a["features"][-1], np.array([np.log(n)])]
        return np.concatenate([*parts, a["fluency"].mean(axis=0), a["fluency"].max(axis=0)])

    def logits(self, source: str, target: str) -> list[float]:
        a, b = self.read(source, 0), self.read(target, 1)
        same_figures = (a["figures"][:, None] == b["figures"]) & (a["figures"] != 0)[:, None]
        alike = [
            (a["letters"][:, None] == b["letters"]).astype(np.float64),
            same_figures.astype(np.float64),
            a["meanings"] @ b["meanings"].T,
            a["queries"] @ b["queries"].T,
        ]
        texts = enumerate((source, target))
        u, v = (unit(encode([text], side).astype(np.float64))[0] for side, text in texts)
        both = np.concatenate([abs(u - v), u * v]) * 10
        contrast = [np.log1p(some["features"].sum(axis=0)) for some in (a, b)]
        seen = np.concatenate(
            [
                self.side(a, b, alike),
                self.side(b, a, [some.T for some in alike]),
                np.maximum(self.linear("sentence", both), 0),
                [3 * u @ v],
                abs(contrast[0] - contrast[1]),
            ]
        )
        hidden = np.maximum(self.linear("hidden", seen), 0)
        logits: list[float] = self.linear("out", hidden).tolist()
        return logits


def half(rows: Matrix) -> Matrix:
    """As words are remembered."""
    return rows.astype(np.float16).astype(np.float64)


def unit(rows: Matrix) -> Matrix:
    result: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return result


@pytest.fixture(params=["compiled", "torch"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network that computes: both are tested alike."""
    if request.param == "torch":
        monkeypatch.setenv(NO_COMPILED, "1")
    elif not lanes():
        pytest.skip("the network was not compiled")


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("quality", [0.0, 0.1])
def test_agrees_with_the_definition(quality: float) -> None:
    classifier, places = make(replace(SETTINGS, minor_error_quality=quality)), np.arange(3)
    naive, logits = Naive(classifier), []
    for pair in zip(SOURCES[:3], TARGETS[:3], strict=True):
        right, *flawless = [1 / (1 + math.exp(-logit)) for logit in naive.logits(*pair)]
        assert len(flawless) == (1 if quality else 0)
        score = right * (quality + (1 - quality) * flawless[0]) if quality else right
        logits.append(math.log(score / (1 - score)))
    classifier.temperature.fill_(max(map(abs, logits)) / 3)
    found = classifier.scorer(Reading(encode))(*sides(SOURCES, TARGETS), places, places)
    expected = 1 / (1 + np.exp(-np.array(logits) / float(classifier.temperature)))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp(expected) > 0.01


@pytest.mark.gate(4)
@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(
    "changes",
    [
        {}, {"minor_error_quality": 0.3}, {"width": 13, "hidden": 13}, {"width": 5, "hidden": 7},
        {"bigrams": 0}, {"multilingual": True}, {"language_weight": 0.7},
    ],
)  # fmt: skip
def test_a_pair_has_the_same_score_in_any_company(changes: dict[str, Any]) -> None:
    chance = np.random.default_rng(1)
    words = ["Tom", "5", "cats", ",", "not", "Hund", "nicht", "and", "Übel", "1.5"]
    texts = [" ".join(chance.choice(words, chance.integers(1, 60))) for _ in range(300)]
    texts += [SOURCES[4], TARGETS[4]]
    i, j = (chance.integers(0, len(texts), 400) for _ in range(2))
    both = sides(texts, texts)
    classifier = make(replace(SETTINGS, **changes))
    languages = ("en", "de")
    whole = classifier.scorer(Reading(encode, languages=languages))(*both, i, j)
    assert np.ptp(np.log(whole)) > 0.3
    order = chance.permutation(400)
    scoring = classifier.scorer(Reading(encode, threads=2, languages=languages))
    assert np.array_equal(scoring(*both, i[order], j[order]), whole[order])
    assert np.array_equal(scoring(*both, i[:7], j[:7]), whole[:7])
    for pair in range(12):
        one = sides([texts[i[pair]]], [texts[j[pair]]])
        alone = classifier.scorer(Reading(encode, languages=languages))
        only = np.zeros(1, np.int64)
        assert np.array_equal(alone(*one, only, only), whole[pair : pair + 1])
    assert scoring(*both, i[:0], j[:0]).shape == (0,)


def test_text_in_another_language_lowers_the_score() -> None:
    """By the weight, the nats by which another language leads; on both sides, at most seven."""
    sources = ["We shall meet again next week.", "Nous nous reverrons demain.", "5", "Tom"]
    targets = ["Wir sehen uns nächste Woche wieder.", "Wir sehen uns morgen.", "5", "Sejdeme se."]
    both, places = sides(sources, targets), np.arange(4)
    plain = make().scorer(Reading(encode))(*both, places, places).astype(np.float64)
    classifier = make(replace(SETTINGS, language_weight=0.5))
    found = classifier.scorer(Reading(encode, languages=("en", "de")))(*both, places, places)
    identifier, offsets = load_ngram_identifier(), np.zeros(4)
    for language, texts in (("en", sources), ("de", targets)):
        logits = np.log(identifier.probabilities(identifier.evidence(texts)))
        place = identifier.place(language)
        assert place is not None
        leads = logits[:, place] - np.delete(logits, place, axis=1).max(axis=1)
        grams = identifier.evidence(texts)[:, -1]
        offsets += 0.5 * np.clip(leads, -7, 0) * np.minimum(1, grams / 120)
    expected = 1 / (1 + np.exp(-np.log(plain / (1 - plain)) - offsets))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found[0] == np.float32(plain[0]) and found[2] == np.float32(plain[2])
    assert found[1] < plain[1] * 0.8 and found[3] < plain[3] * 0.9
    added = classifier.offsets((sources, targets), ("en", "de"), lambda word: (word,))
    np.testing.assert_allclose(added, offsets, atol=1e-6)
    classifier.scale_offsets(0.5)
    halved = classifier.offsets((sources, targets), ("en", "de"), lambda word: (word,))
    np.testing.assert_allclose(halved, added / 2)
    for unknown in (None, ("xx", "yy")):
        same = classifier.scorer(Reading(encode, languages=unknown))(*both, places, places)
        assert np.array_equal(same, plain.astype(np.float32))


def test_words_beyond_the_limit_are_not_read() -> None:
    scoring, places = make().scorer(Reading(encode)), np.zeros(1, np.int64)
    target = encode(["Wort"], 1), ["Wort"]

    def score(words: int, end: str) -> float:
        source = encode(["one vector for all"], 0), ["word " * words + end]
        return float(scoring(source, target, places, places)[0])

    assert score(MOST_WORDS, "Wort 5") == score(MOST_WORDS, "")
    assert score(MOST_WORDS - 2, "Wort 5") != score(MOST_WORDS, "")


def test_rarity_is_that_of_the_side_whatever_the_case() -> None:
    classifier, words = WordClassifier(SETTINGS), spellings(["Tom", "tom", "", "Ann"])
    classifier.counts[1, words.hashes[0] % SETTINGS.buckets] = 7
    classifier.counts[1, words.hashes[3] % SETTINGS.buckets] = 200
    assert classifier.features(0, words)[:, 7].tolist() == [1, 1, 1, 1]
    np.testing.assert_allclose(classifier.features(1, words)[:, 7], [0.5, 0.5, 1, 0])
    assert np.array_equal(classifier.features(1, words)[:, :7], words.features[:, :7])


def cached() -> tuple[WordTable, Callable[[Sequence[str]], Vectors]]:
    """The table of words of the source, and their vectors."""
    return partial(make().scoring().table, 0), lambda words: encode(words, 0)


def test_the_cache_begins_anew_and_nothing_changes() -> None:
    parts = cached()
    small, large = WordCache(*parts, most=4), WordCache(*parts)
    found = []
    for cache in (small, large):
        cache.read(["one two three four five six"])
        found.append(cache.read(["seven three"]))
    assert len(found[0][0]) < len(found[1][0])
    rows = [
        (table[read.words.flat], read.spelling.letters[read.words.flat]) for table, read, _ in found
    ]
    assert np.array_equal(rows[0][0], rows[1][0])
    assert np.array_equal(rows[0][1], rows[1][1])


def test_the_cache_of_few_but_long_texts_begins_anew() -> None:
    parts = cached()
    cache = WordCache(*parts, most=8)
    cache.read(["one"])
    cache.read(["two-" * 80])
    assert len(cache.read(["three"])[0]) == 2


def test_the_cache_after_a_failure() -> None:
    table, encode_words = cached()
    failures = [0]

    def failing(words: Sequence[str]) -> Vectors:
        if failures[0]:
            failures[0] -= 1
            raise MemoryError
        return encode_words(words)

    cache, other = WordCache(table, failing), WordCache(table, encode_words)
    cache.read(["one two"])
    failures[0] = 1
    with pytest.raises(MemoryError):
        cache.read(["three one"])
    for sentence in ("three four", "one three"):
        found, expected = cache.read([sentence]), other.read([sentence])
        rows = [read[0][read[1].words.flat] for read in (found, expected)]
        assert np.array_equal(rows[0], rows[1])


def test_the_cache_grows_and_what_it_gave_stays() -> None:
    parts = cached()
    cache = WordCache(*parts, most=8)
    before, _, _ = cache.read(["one two three"])
    copy = before.copy()
    after, read, _ = cache.read(["one " + " ".join(f"word{i}" for i in range(20))])
    assert np.array_equal(before, copy)
    assert np.array_equal(after[: len(copy)], copy)
    alone, only, _ = WordCache(*parts).read(["word19"])
    assert np.array_equal(after[read.words.flat[-1]], alone[only.words.flat[0]])


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    write_config(tmp_path, {"languages": ["en", "de"]})
    classifier, places = make(), np.arange(3)
    classifier.temperature.fill_(2.5)
    save_classifier(classifier, tmp_path)
    again = load_classifier(tmp_path)
    assert isinstance(again, WordClassifier)
    assert again.settings == SETTINGS
    both = sides(SOURCES, TARGETS)
    expected = classifier.scorer(Reading(encode))(*both, places, places)
    assert np.array_equal(again.scorer(Reading(encode))(*both, places, places), expected)
    section = json.loads((tmp_path / "config.json").read_text())["classifier"]
    assert section["kind"] == "words"
    for wrong in ({**section, "kind": "letters"}, {**section, "word_length": 0}, [1]):
        write_config(tmp_path, {"classifier": wrong})
        with pytest.raises(ModelError, match="classifier is unusable"):
            load_classifier(tmp_path)


def test_shapes_that_cannot_be() -> None:
    for wrong in (
        {"width": 0},
        {"word_kinds": 1.5},
        {"word_length": -1.0},
        {"minor_error_quality": 0.5},
        {"bigrams": -4},
    ):
        with pytest.raises(SettingsError):
            WordClassifierSettings(DIM, **wrong)  # type: ignore[arg-type]


def test_a_carried_copy_reads_changed_vectors_as_before() -> None:
    """Rows of the table are the same where its vectors, changed, are the old ones."""
    classifier, wide = make(), torch.randn(20, DIM + 7)
    shape = replace(SETTINGS, dim=DIM + 7, word_length=2 * SETTINGS.word_length)
    change = torch.randn(DIM + 7, DIM)
    carried = classifier.carried(shape, change.numpy())
    assert isinstance(carried, WordClassifier)
    narrow = wide @ change / 2
    features = torch.rand(20, SETTINGS.word_features)
    with torch.no_grad():
        tables = classifier.table(narrow, features), carried.table(wide, features)
    torch.testing.assert_close(*tables, rtol=1e-4, atol=1e-4)
    own, copied = (dict(each.network.named_parameters()) for each in (classifier, carried))
    changed = {"meaning.weight", "contexts.weight", "kinds.weight"}
    fresh = {"sentence.weight", "sentence.bias"}
    for name in set(own) - changed - fresh - {"hidden.weight"}:
        assert torch.equal(own[name], copied[name])


def test_the_new_layer_of_a_carried_copy_is_silent() -> None:
    """Sentence vectors change nothing but by their cosine; all else does as before."""
    classifier, eye = make(), np.eye(DIM, dtype=np.float32)
    carried = classifier.carried(SETTINGS, eye)
    assert isinstance(carried, WordClassifier)
    take_statistics(carried, classifier)
    own, copied = (each.network.hidden.weight for each in (classifier, carried))
    same = (own == copied).all(dim=0)
    silent = torch.nonzero(~same).flatten()
    assert len(silent) == 96 == int(silent[-1] - silent[0]) + 1
    assert not copied[:, silent].any()
    assert len(same) - int(silent[-1]) - 1 == SETTINGS.word_features + 1
    with torch.no_grad():
        classifier.network.hidden.weight[:, silent] = 0
    rows = np.arange(len(SOURCES))
    found = [
        each.eval().scorer(Reading(encode))(*sides(SOURCES, TARGETS), rows, rows)
        for each in (classifier, carried)
    ]
    np.testing.assert_allclose(*found, atol=1e-6)


@pytest.mark.parametrize("change", [None, np.eye(DIM, dtype=np.float32)])
def test_a_copy_for_the_same_or_like_vectors_scores_the_same(
    change: NDArray[np.float32] | None,
) -> None:
    classifier = make()
    copied = classifier.carried(SETTINGS, change, alike=True)
    assert isinstance(copied, WordClassifier)
    take_statistics(copied, classifier)
    rows = np.arange(len(SOURCES))
    found = [
        each.eval().scorer(Reading(encode))(*sides(SOURCES, TARGETS), rows, rows)
        for each in (classifier, copied)
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    "older", [{"spacing": False, "bigrams": 0}, {"bigrams": 0}, {"spacing": False}]
)
@pytest.mark.parametrize("change", [None, np.eye(DIM, dtype=np.float32)])
def test_a_copy_of_an_older_one_sees_more_and_scores_the_same(
    older: dict[str, Any], change: NDArray[np.float32] | None
) -> None:
    classifier = make(replace(SETTINGS, **older))
    copied = classifier.carried(SETTINGS, change)
    assert isinstance(copied, WordClassifier)
    if change is not None:
        copied.network.sentence.load_state_dict(classifier.network.sentence.state_dict())
        for each in (classifier, copied):
            end = 96 + 1 + each.settings.word_features
            each.network.hidden.weight.data[:, -end:] = 0
    take_statistics(copied, classifier)
    rows = np.arange(len(SOURCES))
    found = [
        each.eval().scorer(Reading(encode))(*sides(SOURCES, TARGETS), rows, rows)
        for each in (classifier, copied)
    ]
    np.testing.assert_allclose(*found, atol=1e-5)
    with pytest.raises(SettingsError, match="another shape"):
        copied.carried(replace(SETTINGS, **older), change)


@pytest.mark.parametrize("change", [{"width": 9}, {"dim": DIM - 1}, {"minor_error_quality": 0.1}])
def test_a_copy_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="another shape"):
        make().carried(replace(SETTINGS, **change), None)
    if "dim" not in change:
        with pytest.raises(SettingsError, match="another shape"):
            make().carried(replace(SETTINGS, **change), np.eye(DIM, dtype=np.float32))
