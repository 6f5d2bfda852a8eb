"""Skip-gram through fastText: what it learns, that it repeats, and what it cannot do."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import signal
import subprocess

import numpy as np
import pytest
from strikes import strike_after

from bitextfilter.errors import DeviceError, InputError, SettingsError
from bitextfilter.settings import from_mapping
from bitextfilter.training import monolingual as word_vectors
from bitextfilter.training.monolingual import SkipGram, TokenisedText, WordVectors, skip_gram

SETTINGS = SkipGram(dim=8, epochs=20, minimum_count=2, longest=4, buckets=200, subsampling=1.0)


def text() -> list[list[str]]:
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
    return learn(text())


def test_words_by_frequency_with_their_counts(learnt: WordVectors) -> None:
    tokens = [token for sentence in text() for token in sentence]
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
    again, without = learn(iter(text())), learn(text(), dataclasses.replace(SETTINGS, longest=0))
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
    with skip_gram(text(), long) as result:
        child = result.args[1]  # type: ignore[attr-defined]
        assert child.poll() is None
    assert child.poll() is not None
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_ctrl_c_as_the_training_starts_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: True)
    monkeypatch.setattr(word_vectors, "_CHILD", "input()")
    started = strike_after(monkeypatch, subprocess, "Popen")
    with pytest.raises(KeyboardInterrupt), skip_gram(text(), SETTINGS):
        pass
    assert [child.returncode for child in started] == [-signal.SIGKILL]


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: str) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", nothing)
    with pytest.raises(DeviceError, match=r"bitextfilter\[fasttext\]"):
        learn(text())


@pytest.mark.parametrize(
    "wrong",
    [{"dim": 0}, {"threads": 0}, {"shortest": 5, "longest": 4}, {"longest": -1, "shortest": -2},
     {"buckets": 0}, {"learning_rate": 0.0}, {"subsampling": 0.0}],
)  # fmt: skip
def test_settings_that_make_no_sense(wrong: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match=r"^skip_gram\."):
        from_mapping(SkipGram, wrong, "skip_gram")
