"""The classifier of a model as it scores pairs: of words without torch, with a cache of words read.

A network, compiled or torch's, computes tables of words and the logits. The vector of a word is
the encoder's vector of the word as a sentence, so that any encoder will do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Indices, Scores, Vectors
from bitextfilter.models.tensor_file import read_tensors
from bitextfilter.pairs.base import (
    PART,
    Encode,
    EncodedSide,
    PairScoring,
    Reading,
    SideScorer,
    WordClassifierSettings,
    check_temperature,
    classifier_settings,
    scores,
    word_tensors,
)
from bitextfilter.pairs.compiled_words import CompiledNetwork, SideRows, WordRows, lanes
from bitextfilter.text.features import RARITY, Cut, Spelling, WordReader, spellings
from bitextfilter.text.identifier import LanguageLag, load_ngram_identifier

_MAX_WORDS = 1 << 16
"""The cache is emptied above this many words, or 32 times as many characters."""
_CHARACTERS = 32
"""Characters that count as a word: a "word" can be a whole line."""
_LARGEST = float(np.finfo(np.float16).max)
"""Numbers of the table of words are cut to this, its largest."""
_LEARNT = 2048
"""New words computed at once: the least that keeps steps large and numbers few."""
_PAIRS = 8192
"""Pairs prepared at once."""
_COMMON = 64
"""From 63 occurrences on, a word's rarity is 0."""


class ScoringNetwork(Protocol):
    """A network of words: the numbers of words, and the logits of pairs."""

    def table(self, vectors: Vectors, features: Vectors) -> Vectors:
        """Word vectors ``(u, e)`` of length 1 or so, features ``(u, f)`` → ``(u, columns)``.

        Each row depends on its word alone: see ``WordNetwork.table``.
        """

    def logits(self, sides: Sequence[SideRows], threads: int = 1) -> Vectors:
        """Return the logits of ``n`` pairs, ``(n, 1 or 2)``; each depends on its pair alone."""


WordTable = Callable[[Vectors, Spelling], NDArray[np.float16]]
"""Makes rows of the table of words of a side, from their vectors and spelling."""


def word_features(
    settings: WordClassifierSettings, counts: NDArray[np.uint8], side: int, spelling: Spelling
) -> NDArray[np.float32]:
    """Features of words of a side, 0 or 1, with their rarity, ``(u, settings.word_features)``.

    *counts*: of the words of both sides in the training text, at most 255, ``(2, buckets)``. The
    rarity of an unknown word is 1, unless it shares its bucket with a known one. The last feature,
    if any, is how much more frequent the word is on the other side, 0 to 1.
    """
    features: NDArray[np.float32] = spelling.features.copy()
    buckets = spelling.hashes % settings.buckets
    features[:, RARITY] = own = _rarity(counts[side][buckets])
    if not settings.spacing:
        return features
    foreign = np.maximum(0, own - _rarity(counts[1 - side][buckets]))
    return np.hstack([features, foreign[:, None]])


def _rarity(times: NDArray[np.uint8]) -> NDArray[np.float32]:
    logs = np.log1p(times.astype(np.float32)) / math.log(_COMMON)
    rarity: NDArray[np.float32] = np.maximum(0, 1 - logs)
    return rarity


class WordCache:
    """A growing table of the words of one side, each computed once and alone. Thread-safe."""

    def __init__(
        self,
        table: WordTable,
        encode: Callable[[Sequence[str]], Vectors],
        cut: Cut | None = None,
        lag: LanguageLag | None = None,
        most: int = _MAX_WORDS,
    ) -> None:
        """Start without words.

        Args:
            table: computes the rows of words of the side by their vectors and spelling.
            encode: words → vectors.
            cut: divides words further.
            lag: of the side's language, where it is known.
            most: with more words, the cache is emptied.
        """
        self._cut, self._lag = cut, lag
        self._table, self._encode, self._most = table, encode, most
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._reader = WordReader(self._cut)
        self._known = 0
        self._space = np.zeros((0, 0), dtype=np.float16)
        """The table, with room for more words. Rows that were returned are never rewritten."""
        empty = spellings([])  # of which all but the features grow; these are used at once
        self._spelling = replace(empty, features=empty.features[:0])
        if self._lag:
            self._lag.forget()

    def read(self, sentences: Sequence[str]) -> tuple[NDArray[np.float16], WordRows, Floats]:
        """Split ``n`` sentences into words, and compute the new words.

        Returns:
            The table of words ``(u, columns)``, float16, which stays valid when the cache grows
            (row 0, the empty word, stands for no word); the sentences as places in it, whose
            spelling lacks features; and how far the side's language is behind, ``(n,)``: see
            :meth:`LanguageLag.behind`, and 0 where it is unknown.
        """
        with self._lock:
            held = max(len(self._reader.words), self._reader.characters // _CHARACTERS)
            if held > self._most:
                self._forget()
            try:
                rows, spaced = self._reader.read(sentences)
                if new := self._reader.words[self._known :]:
                    self._learn(new)
            except BaseException:  # the lag may know words that the table lacks
                self._forget()
                raise
            table, spelling = self._space[: self._known], self._spelling
            lags = self._lag.behind(rows) if self._lag else np.zeros(len(rows))
        return table, WordRows(rows, spaced, spelling), lags

    def _learn(self, words: list[str]) -> None:
        """Append the rows of new words to the table, and their spelling."""
        added, old, known = spellings(words), self._spelling, self._known
        if self._lag:
            self._lag.learn(words)
        parts = (slice(first, first + _LEARNT) for first in range(0, len(words), _LEARNT))
        places = np.arange(len(words))
        rows = np.concatenate(
            [self._table(self._encode(words[some]), added.take(places[some])) for some in parts]
        )
        if not known:
            rows[0] = 0  # the empty word
        self._known += len(rows)
        if self._known > len(self._space):
            size = max(self._most, self._known) * 5 // 4
            space = np.empty((size, rows.shape[1]), dtype=np.float16)
            if known:
                space[:known] = self._space[:known]
            self._space = space
        self._space[known : self._known] = rows
        self._spelling = Spelling(
            old.features,
            np.concatenate([old.letters, added.letters]),
            np.concatenate([old.figures, added.figures]),
            np.concatenate([old.hashes, added.hashes]),
        )


class SideWords(NamedTuple):
    """The words of one side of some pairs."""

    rows: SideRows
    lags: Floats
    """Of the side's language, of each distinct sentence: see :meth:`WordCache.read`."""

    @classmethod
    def of(cls, side: EncodedSide, rows: Indices, cache: WordCache) -> SideWords:
        """Read the sentences at *rows* of a side."""
        vectors, sentences = side
        distinct, places = np.unique(rows, return_inverse=True)
        table, words, lags = cache.read([sentences[place] for place in distinct])
        if not isinstance(vectors, np.ndarray) or len(distinct) < len(vectors):
            vectors = vectors[distinct]
        return cls(SideRows(places, table, words, np.asarray(vectors)), lags)


def language_lags(
    settings: WordClassifierSettings, languages: tuple[str, str] | None
) -> tuple[LanguageLag | None, ...]:
    """Return a lag of each language; None for an unknown one, or without a weight."""
    if languages is None or not settings.language_weight:
        return None, None
    identifier = load_ngram_identifier()
    places = map(identifier.place, languages)
    return tuple(None if at is None else LanguageLag(identifier, at) for at in places)


class WordScoring:
    """A classifier of words, as it scores pairs; see ``PairScoring``."""

    def __init__(
        self,
        settings: WordClassifierSettings,
        counts: NDArray[np.uint8],
        temperature: float,
        network: ScoringNetwork,
    ) -> None:
        """Take the shape, the counts of words as :func:`word_features` does, and the network."""
        self.settings, self._counts = settings, counts
        self._temperature, self._network = temperature, network

    def scorer(self, reading: Reading) -> SideScorer:
        """See ``PairScoring``; words are remembered from call to call."""
        cut = reading.cut if self.settings.multilingual else None
        lags = language_lags(self.settings, reading.languages)
        caches = [
            WordCache(partial(self.table, side), partial(_encoded, reading.encode, side), cut, lag)
            for side, lag in enumerate(lags)
        ]

        def score(source: EncodedSide, target: EncodedSide, i: Indices, j: Indices) -> Scores:
            parts = [np.zeros(0, dtype=np.float32)]
            for first in range(0, len(i), _PAIRS):
                some = slice(first, first + _PAIRS)
                words = [
                    SideWords.of(side, rows[some], cache)
                    for side, rows, cache in zip((source, target), (i, j), caches, strict=True)
                ]
                parts.append(self._scores(words, reading.threads))
            return np.concatenate(parts)

        return score

    def table(self, side: int, vectors: Vectors, spelling: Spelling) -> NDArray[np.float16]:
        """Return the rows of words of a side; see ``WordTable``."""
        features = word_features(self.settings, self._counts, side, spelling)
        rows = self._network.table(vectors / np.float32(self.settings.word_length), features)
        return np.clip(rows, -_LARGEST, _LARGEST, out=rows).astype(np.float16)

    def _scores(self, words: Sequence[SideWords], threads: int) -> Scores:
        """Score the pairs of both sides; no result depends on the other pairs."""
        logits = self._network.logits([side.rows for side in words], threads)
        lags = sum(side.lags[side.rows.rows] for side in words)
        offsets = self.settings.language_weight * lags
        return scores(self.settings, self._temperature, logits, offsets)


def _encoded(encode: Encode, side: int, words: Sequence[str]) -> Vectors:
    return encode(words, side)


class _ByTorch:
    """A classifier of words in a model folder without the compiled network; see ``PairScoring``."""

    def __init__(self, folder: Path, settings: WordClassifierSettings) -> None:
        self.settings, self._folder = settings, folder

    def scorer(self, reading: Reading) -> SideScorer:
        """See ``PairScoring``; imports torch."""
        from bitextfilter.pairs.classifier import load_classifier

        classifier = load_classifier(self._folder)
        assert classifier is not None, "it has been there"
        return classifier.scorer(reading)


def load_scoring(folder: Path) -> PairScoring | None:
    """Read the classifier of a model folder, to score with it; None if it has none.

    That of words needs no torch where its compiled network is there; else its scorers need it.

    Raises:
        NotFoundError: no model there, or the tensors are missing.
        ModelError: the model is damaged, or of a newer version.
    """
    settings = classifier_settings(folder)
    if settings is None:
        return None
    if not isinstance(settings, WordClassifierSettings):
        from bitextfilter.pairs.classifier import load_classifier

        return load_classifier(folder)
    tensors = read_tensors(folder / f"{PART}.safetensors", word_tensors(settings))
    arrays = {name: tensor.array() for name, tensor in tensors.items()}
    temperature = float(arrays["temperature"])
    check_temperature(folder, temperature)
    if not (wide := lanes()):
        return _ByTorch(folder, settings)
    network = CompiledNetwork(settings, network_weights(arrays), wide)
    return WordScoring(
        settings, arrays["counts"].astype(np.uint8, copy=False), temperature, network
    )


def network_weights(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the weights for ``CompiledNetwork`` by the names of a classifier's tensors."""
    weights = {
        name.removeprefix("network."): array
        for name, array in arrays.items()
        if name.startswith("network.")
    }
    if "bigrams" in arrays:
        weights["levels"] = arrays["bigrams"].astype(np.uint8, copy=False)
    return weights
