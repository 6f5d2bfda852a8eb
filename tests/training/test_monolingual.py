"""Language models against the equations of Chen & Goodman and KenLM; skip-gram by fastText."""

from __future__ import annotations

import dataclasses
import importlib.util
import io
import os
import random
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from strikes import strike_after

from bitextfilter.errors import DeviceError, InputError, SettingsError
from bitextfilter.settings import from_mapping
from bitextfilter.text.ngram_model import NgramModel, read_arpa, write_arpa
from bitextfilter.training import monolingual
from bitextfilter.training.monolingual import (
    FALLBACK,
    NgramSettings,
    SkipGram,
    TokenCorpus,
    TokenisedText,
    WordVectors,
    discounts_of,
    estimate,
    skip_gram,
)

Sentences = list[list[str]]


def text(seed: int, sentences: int, words: int) -> Sentences:
    """Sentences of words of unequal frequency, in which some words follow others more often."""
    drawn = random.Random(seed)
    weights = [1 / (i + 1) for i in range(words)]
    made = []
    for _ in range(sentences):
        sentence = drawn.choices(range(words), weights, k=drawn.randrange(1, 9))
        follow = drawn.random() < 0.5
        made.append([f"w{(w * follow + i) % words}" for i, w in enumerate(sentence)])
    return made


SMALL = text(1, 40, 12)
LARGE = text(2, 300, 60)


class Naive:
    """Modified Kneser-Ney as the paper writes it: dictionaries, and a recursion."""

    def __init__(self, sentences: Sentences, order: int, minimum: int) -> None:
        lines = [("<s>", *tokens, "</s>") for tokens in sentences]
        seen = Counter(
            line[i : i + n]
            for line in lines
            for n in range(1, order + 1)
            for i in range(len(line) - n + 1)
        )
        before: dict[tuple[str, ...], set[str]] = {}
        for gram in seen:
            before.setdefault(gram[1:], set()).add(gram[0])
        self.count = {
            gram: len(before[gram]) if len(gram) < order and gram[0] != "<s>" else times
            for gram, times in seen.items()
            if gram != ("<s>",)
        }
        self.kept = {gram for gram in self.count if len(gram) < 3 or seen[gram] >= minimum}
        self.words = sorted({token for tokens in sentences for token in tokens} | {"</s>", "<unk>"})
        self.discounts = [self.discount(n) for n in range(1, order + 1)]
        self.after: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for gram in self.count:
            self.after.setdefault(gram[:-1], []).append(gram)

    def discount(self, n: int) -> tuple[float, ...]:
        """Equation (26), or the fallback."""
        n1, n2, n3, n4 = (
            sum(1 for gram, times in self.count.items() if len(gram) == n and times == k)
            for k in (1, 2, 3, 4)
        )
        if 0 in (n1, n2, n3):
            return FALLBACK
        y = n1 / (n1 + 2 * n2)
        found = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
        return found if min(found) > 0 else FALLBACK

    def taken(self, gram: tuple[str, ...]) -> float:
        """What is discounted of the count of a gram."""
        return self.discounts[len(gram) - 1][min(self.count[gram], 3) - 1]

    def probability(self, context: tuple[str, ...], word: str) -> float:
        """Equation (20), of all orders."""
        lower = self.probability(context[1:], word) if context else 1 / len(self.words)
        followers = self.after.get(context, [])
        if not followers:
            return lower
        total = sum(self.count[gram] for gram in followers)
        freed = sum(self.taken(g) if g in self.kept else self.count[g] for g in followers)
        gram = (*context, word)
        own = self.count[gram] - self.taken(gram) if gram in self.kept else 0
        return own / total + freed / total * lower


def probabilities(model: NgramModel, context: Sequence[str], words: Sequence[str]) -> list[float]:
    """The probability of each word after the start of a sentence and *context*."""
    logprobs = [
        model.logprobs([context])[-1] if word == "</s>" else model.logprobs([[*context, word]])[-2]
        for word in words
    ]
    return [10.0 ** float(logprob) for logprob in logprobs]


def contexts(sentences: Sentences) -> list[list[str]]:
    """Beginnings of sentences, seen and unseen."""
    drawn = random.Random(3)
    seen = [tokens[: drawn.randrange(len(tokens) + 1)] for tokens in sentences[:15]]
    words = [*(token for tokens in sentences[:20] for token in tokens), "never"]
    return [[], *seen, *(drawn.choices(words, k=drawn.randrange(1, 6)) for _ in range(15))]


@pytest.mark.parametrize(("order", "minimum"), [(1, 1), (2, 1), (3, 2), (4, 1), (4, 2)])
@pytest.mark.parametrize("sentences", [SMALL, LARGE], ids=["small", "large"])
def test_probabilities_are_those_of_the_equations(
    sentences: Sentences, order: int, minimum: int
) -> None:
    model, discounts, fallbacks = estimate(TokenCorpus(sentences), NgramSettings(order, minimum))
    naive = Naive(sentences, order, minimum)
    np.testing.assert_allclose(discounts, naive.discounts, rtol=1e-12)
    assert fallbacks == [n for n, d in enumerate(naive.discounts, 1) if d == FALLBACK]
    for context in contexts(sentences):
        known = [token if token in naive.words else "<unk>" for token in context]
        longest = tuple(["<s>", *known][max(0, len(known) + 2 - order) :]) if order > 1 else ()
        expected = [naive.probability(longest, word) for word in naive.words]
        found = probabilities(model, context, naive.words)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert sum(found) == pytest.approx(1, abs=1e-5)


def test_both_kinds_of_discounts_are_tested() -> None:
    """The small text has counts of counts that give no discounts, the large one some."""
    assert estimate(TokenCorpus(SMALL), NgramSettings(4)).fallbacks
    assert not estimate(TokenCorpus(LARGE), NgramSettings(4)).fallbacks


@pytest.mark.parametrize(
    ("counts", "discounts"),
    [
        # n1 to n4 are 4, 2, 1, 1: Y = 1/2
        ([1, 1, 1, 1, 2, 2, 3, 4, 0, 9], (0.5, 1.25, 1.0)),
        ([1, 1, 2, 3], (0.5, 0.5, 3.0)),
        ([1, 1, 2], None),
        ([1, 2, 3, 3, 3, 3], None),
        ([0, 0], None),
    ],
)
def test_discounts(counts: list[int], discounts: tuple[float, float, float] | None) -> None:
    assert discounts_of(np.array(counts)) == discounts


def test_the_same_text_gives_the_same_file() -> None:
    """Pruning leaves out n-grams from the third order on that occur once."""
    files = []
    for minimum in (1, 1, 2):
        stream = io.BytesIO()
        made = estimate(TokenCorpus(iter(SMALL)), NgramSettings(3, minimum)).model
        write_arpa(made, stream)
        files.append(stream.getvalue())
    assert files[0] == files[1]
    lines = [("<s>", *tokens, "</s>") for tokens in SMALL]
    times = Counter(line[i : i + 3] for line in lines for i in range(len(line) - 2))
    kept = sum(count > 1 for count in times.values())
    assert b"ngram 3=%d\n" % len(times) in files[0] and b"ngram 3=%d\n" % kept in files[2]


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([], "no text"),
        ([[], []], "no text"),
        ([["a", "<s>"]], "marks"),
        ([["a", "</s>"]], "marks"),
        ([["<unk>"]], "marks"),
        ([["a b"]], "white space"),
        ([["a", ""]], "white space"),
    ],
)
def test_text_that_cannot_be_learnt_from(sentences: Sentences, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TokenCorpus(sentences)


def test_settings() -> None:
    for settings in ((0, 1), (3, 0)):
        with pytest.raises(SettingsError):
            NgramSettings(*settings)
    with pytest.raises(SettingsError, match="n-grams of 4 tokens"):
        estimate(TokenCorpus([["a"], ["b"]]), NgramSettings(5))


@pytest.mark.parametrize(("order", "minimum"), [(2, 1), (3, 2), (4, 1), (5, 2)])
def test_kenlm_reads_it_and_scores_the_same(order: int, minimum: int, tmp_path: Path) -> None:
    kenlm = pytest.importorskip("kenlm")
    path = tmp_path / "model.arpa"
    with open(path, "wb") as stream:
        write_arpa(estimate(TokenCorpus(LARGE), NgramSettings(order, minimum)).model, stream)
    model, other = read_arpa(path), kenlm.Model(str(path))
    sentences = [*contexts(LARGE), *text(4, 200, 80)]
    expected = [other.score(" ".join(tokens)) for tokens in sentences]
    np.testing.assert_allclose(model.scores(sentences), expected, rtol=1e-5, atol=1e-5)


SETTINGS = SkipGram(dim=8, epochs=20, minimum_count=2, longest=4, buckets=200, subsampling=1.0)


def subjects() -> list[list[str]]:
    """Sentences about one of two subjects, whose words never meet."""
    generator = np.random.default_rng(1)
    sentences = []
    for number in range(300):
        subject = "ab"[number % 2]
        words = generator.integers(0, 12, generator.integers(3, 8))
        sentences.append([f"{subject}{word}" for word in words])
    return [*sentences, [], ["rare", "▁ö", "▁ö", "__label__x", "__label__x"]]


def learn(sentences: TokenisedText, settings: SkipGram = SETTINGS) -> WordVectors:
    with skip_gram(sentences, settings) as result:
        return result()


@pytest.fixture(scope="module")
def learnt() -> WordVectors:
    pytest.importorskip("fasttext")
    return learn(subjects())


def test_words_by_frequency_with_their_counts(learnt: WordVectors) -> None:
    tokens = [token for sentence in subjects() for token in sentence]
    counts = {word: tokens.count(word) for word in tokens}
    assert learnt.counts is not None
    found = dict(zip(learnt.words, learnt.counts.tolist(), strict=True))
    expected = {w: n for w, n in counts.items() if n >= 2 and not w.startswith("__label__")}
    assert found == expected
    assert (np.diff(learnt.counts) <= 0).all()
    assert learnt.vectors.shape == (len(expected), 8)
    assert learnt.vectors.dtype == np.float32


def test_words_that_occur_together_are_alike(learnt: WordVectors) -> None:
    unit = learnt.vectors / np.linalg.norm(learnt.vectors, axis=1, keepdims=True)
    rows = {s: unit[[w.startswith(s) for w in learnt.words]] for s in "ab"}
    within = np.mean([np.mean(side @ side.T) for side in rows.values()])
    assert within > np.mean(rows["a"] @ rows["b"].T) + 0.3


def test_the_same_text_gives_the_same_vectors(learnt: WordVectors) -> None:
    """And others without n-grams of letters."""
    again, without = (
        learn(iter(subjects())),
        learn(subjects(), dataclasses.replace(SETTINGS, longest=0)),
    )
    assert learnt.words == again.words == without.words
    assert np.array_equal(again.vectors, learnt.vectors)
    assert not np.array_equal(without.vectors, learnt.vectors)


def test_the_most_frequent(learnt: WordVectors) -> None:
    some = learnt.most_frequent(3)
    assert learnt.counts is not None and some.counts is not None
    assert (some.words, len(some.vectors)) == (learnt.words[:3], 3)
    assert some.counts.tolist() == learnt.counts[:3].tolist()
    assert WordVectors(["a", "b"], learnt.vectors[:2], None).most_frequent(1).counts is None


@pytest.mark.parametrize("sentences", [[], [["a"], ["b"]], [["__label__x"]] * 9])
def test_too_little_text(sentences: list[list[str]]) -> None:
    pytest.importorskip("fasttext")
    with pytest.raises(InputError, match="frequent enough"):
        learn(sentences)


def test_the_training_ends_with_its_context() -> None:
    pytest.importorskip("fasttext")
    long = dataclasses.replace(SETTINGS, epochs=1_000_000)
    with skip_gram(subjects(), long) as result:
        child = result.args[1]  # type: ignore[attr-defined]
        assert child.poll() is None
    assert child.poll() is not None
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_ctrl_c_as_the_training_starts_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: True)
    monkeypatch.setattr(monolingual, "_CHILD", "input()")
    started = strike_after(monkeypatch, subprocess, "Popen")
    with pytest.raises(KeyboardInterrupt), skip_gram(subjects(), SETTINGS):
        pass
    assert [child.returncode for child in started] == [-signal.SIGKILL]


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: str) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", nothing)
    with pytest.raises(DeviceError, match=r"bitextfilter\[fasttext\]"):
        learn(subjects())


@pytest.mark.parametrize(
    "wrong",
    [{"dim": 0}, {"threads": 0}, {"shortest": 5, "longest": 4}, {"longest": -1, "shortest": -2},
     {"buckets": 0}, {"learning_rate": 0.0}, {"subsampling": 0.0}],
)  # fmt: skip
def test_skip_gram_settings_that_make_no_sense(wrong: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match=r"^skip_gram\."):
        from_mapping(SkipGram, wrong, "skip_gram")
