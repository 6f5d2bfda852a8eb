"""Training the classifier that reads words, on pairs whose answer is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from bitextfilter.arrays import Vectors
from bitextfilter.models.device import torch_threads
from bitextfilter.pairs.base import Reading, WordClassifierSettings
from bitextfilter.pairs.word_classifier import WordClassifier
from bitextfilter.text.features import spellings
from bitextfilter.training.classifier import train_classifier
from bitextfilter.training.labelled_pairs import LabelledWords, Noise, WordSide, _forgotten
from bitextfilter.training.settings import ClassifierTraining

DIM = 12
ROWS = 600
WORDS = [f"w{chr(97 + i // 10)}{chr(97 + i % 10)}" for i in range(60)]
TRAINING = ClassifierTraining(epochs=5, batch_size=32, learning_rate=0.005, vector_noise=0.2)


def encode(sentences: Sequence[str]) -> Vectors:
    """The mean of a word's own vector; the languages' words differ by a capital letter."""
    table = np.random.default_rng(7).standard_normal((len(WORDS), DIM))
    rows = [
        np.mean([table[WORDS.index(w.lower())] for w in text.split()] or [np.zeros(DIM)], axis=0)
        for text in sentences
    ]
    return np.array(rows, dtype=np.float32)


def toy_texts() -> tuple[list[str], list[str], NDArray[np.bool_]]:
    """Sentences of three to twelve words; in a wrong pair one word is another."""
    chance = np.random.default_rng(1)
    sources, targets = [], []
    labels = chance.random(ROWS) < 0.5
    for right in labels:
        words = chance.choice(WORDS, chance.integers(3, 13), replace=False).tolist()
        sources.append(" ".join(words))
        if not right:
            words[chance.integers(len(words))] = chance.choice(WORDS)
        targets.append(" ".join(word.capitalize() for word in words))
    return sources, targets, labels


def toy_pairs() -> tuple[LabelledWords, list[str]]:
    sources, targets, labels = toy_texts()
    source, target = WordSide.of(sources, encode), WordSide.of(targets, encode)
    return LabelledWords(source, target, labels.astype(np.float32)), [str(i) for i in range(ROWS)]


def test_one_wrong_word_is_learnt() -> None:
    pairs, groups = toy_pairs()
    shape = WordClassifierSettings(DIM, pairs.word_length, width=16, meaning=12, hidden=32)
    classifier, report = train_classifier(pairs, groups, shape, TRAINING)
    assert report.after.auc > 0.9
    rows = np.arange(50)
    assert isinstance(classifier, WordClassifier)
    assert classifier.counts.any(dim=1).all()
    with torch.no_grad():
        one, again = (pairs.logits(classifier, rows) for _ in range(2))
        noise = Noise(TRAINING, torch.Generator().manual_seed(1))
        noisy = pairs.logits(classifier, rows, noise)
    assert torch.equal(one, again)
    assert not torch.equal(one, noisy)


def test_the_same_again_with_more_threads() -> None:
    pairs, groups = toy_pairs()
    shape = WordClassifierSettings(DIM, pairs.word_length, width=4, meaning=4, hidden=4)
    training = ClassifierTraining(epochs=1)
    found = []
    for threads in (1, 2):
        with torch_threads(threads):
            found.append(train_classifier(pairs, groups, shape, training)[0])
    first, second = found
    for name, tensor in first.state_dict().items():
        assert torch.equal(tensor, second.state_dict()[name])


def test_words_of_translations_are_counted_but_for_one_time() -> None:
    sources = ["a b", "a b", "a c a", "d d d", "e " * 300]
    targets = ["X", "Y y", "X", "Z", "X " * 257]
    sides = (
        WordSide.of(texts, lambda words: np.ones((len(words), DIM))) for texts in (sources, targets)
    )
    pairs = LabelledWords(*sides, np.array([1, 1, 1, 0.4, 1], dtype=np.float32))
    classifier = WordClassifier(WordClassifierSettings(DIM))
    pairs.prepare(classifier)
    words = spellings(["a", "b", "c", "d", "e", "x", "y", "z"])
    places = words.hashes % classifier.settings.buckets
    assert classifier.counts[0, places].tolist() == [2, 0, 0, 0, 255, 0, 0, 0]
    assert classifier.counts[1, places].tolist() == [0, 0, 0, 0, 0, 255, 1, 0]


def test_text_is_counted_with_the_translations_each_sentence_once() -> None:
    sides = (WordSide.of([text], encode) for text in ("wab wac", "Wab"))
    text = ["wab wac", "wac wac", "wab wad wac wac"], ["Wab wae wae wae wae wae wae"]
    pairs = LabelledWords(*sides, np.ones(1, dtype=np.float32), text=text)
    classifier = WordClassifier(WordClassifierSettings(DIM, buckets=1 << 16, bigrams=1 << 12))
    pairs.prepare(classifier)
    words = spellings(["wab", "wac", "wad", "wae"])
    assert classifier.counts[0, words.hashes % classifier.settings.buckets].tolist() == [1, 4, 0, 0]
    assert classifier.counts[1, words.hashes % classifier.settings.buckets].tolist() == [1, 0, 0, 5]
    seen = [
        WordSide.of([text], encode).sentences(np.zeros(1, np.int64), len(text.split()))
        for text in ("wab wac wac", "wab wae wae", "wab")
    ]
    pair = WordClassifier._familiar
    assert (pair(classifier, 0, seen[0]) * 3).tolist() == [[1, 0, 1, 1]]
    assert (pair(classifier, 1, seen[1]) * 3).tolist() == [[1, 0, 1, 0]]
    hidden = replace(seen[0], bigrams=torch.full_like(seen[0].bigrams, -1))
    assert not pair(classifier, 0, hidden).any()


def test_the_same_bigrams_are_hidden_in_both_versions_of_a_pair() -> None:
    keys = torch.randint(0, 50, (40, 30))
    keys[20:] = keys[:20]
    groups = torch.arange(20).repeat(2)
    noise = Noise(TRAINING, torch.Generator().manual_seed(1))
    forgotten = _forgotten(keys, groups, noise)
    assert torch.equal(forgotten[:20], forgotten[20:])
    hidden = forgotten == -1
    assert torch.equal(forgotten[~hidden], keys[~hidden])
    assert 0.15 < float(hidden.float().mean()) < 0.35
    shares = hidden[:20].float().mean(dim=1)
    assert shares.min() < 0.1 < 0.35 < shares.max()
    for row, missing in zip(keys, hidden, strict=True):
        assert not set(row[missing].tolist()) & set(row[~missing].tolist())


def test_batches_hold_every_pair_once_and_like_lengths_together() -> None:
    pairs, _ = toy_pairs()
    rows = np.arange(100, 500)
    torch.manual_seed(0)
    batches = list(pairs.batches(rows, 64))
    assert sorted(np.concatenate(batches).tolist()) == rows.tolist()
    assert {len(batch) for batch in batches} == {64, 400 % 64}
    spread = np.mean([np.ptp(pairs.longest(batch)) for batch in batches])
    assert spread < 0.6 * np.ptp(pairs.longest(rows))


def test_training_and_scoring_see_the_same_words() -> None:
    pairs, _ = toy_pairs()
    sources, targets, _ = toy_texts()
    torch.manual_seed(0)
    shape = WordClassifierSettings(DIM, pairs.word_length, width=8, meaning=8, hidden=8)
    classifier, rows = WordClassifier(shape).eval(), np.arange(20)
    pairs.prepare(classifier)
    classifier.counts[1] //= 9  # words are rarer on one side
    scoring = classifier.scorer(Reading(lambda texts, _side: encode(texts)))
    found = scoring((encode(sources), sources), (encode(targets), targets), rows, rows)
    with torch.no_grad():
        expected = torch.sigmoid(pairs.logits(classifier, rows)[:, 0]).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert np.ptp(expected) > 0.01
