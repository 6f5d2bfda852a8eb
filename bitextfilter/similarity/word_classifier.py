"""The word-level pair classifier and its scores, with a cache of words read.

:mod:`bitextfilter.similarity.word_network` computes the logits. The vector of a word is the
encoder's vector of the word as a sentence, so that any encoder will do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import normalize, pad

from bitextfilter.arrays import Floats, Indices, Scores, Vectors
from bitextfilter.errors import SettingsError
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.device import one_torch_thread
from bitextfilter.similarity.compiled_words import CompiledNetwork, SideRows, lanes
from bitextfilter.similarity.pair_classifier import (
    OTHER_SHAPE,
    ClassifierSettings,
    Encode,
    EncodedSide,
    PairClassifier,
    PairScorer,
    ScorerFactory,
)
from bitextfilter.similarity.word_network import WordClassifierSettings, WordNetwork
from bitextfilter.similarity.word_rows import WordRows, WordSentences
from bitextfilter.text.bigrams import HIGHEST, IN_A_BYTE, bytes_of
from bitextfilter.text.features import RARITY, Cut, Spelling, WordReader, spellings
from bitextfilter.text.identifier import LanguageLag, load_ngram_identifier

_MAX_WORDS = 1 << 16
"""The cache is emptied above this many words, or 32 times as many characters."""
_CHARACTERS = 32
"""Characters that count as a word: a "word" can be a whole line."""
_LARGEST = torch.finfo(torch.float16).max
"""Numbers of the table of words are cut to this, its largest."""
_BLOCK = 256
"""Words computed together: a fixed number, so that no result depends on the others."""
_PAIRS = 8192
"""Pairs prepared at once."""
_COMMON = 64
"""From 63 occurrences on, a word's rarity is 0."""
_LADDER = np.array(
    (*range(4, 32, 4), *range(32, 64, 8), *range(64, 128, 16), *range(128, 1025, 64))
)
"""The numbers of words of a block of pairs; sentences are padded to the next."""
_LONG = 128
"""Sentences of more words come in blocks of one pair."""
_BLOCK_WORDS, _BLOCK_PAIRS = 1024, 32
"""Words of a block of pairs; its number of pairs is a multiple of 32: vector units hold powers of
two, and compute a remainder in another way."""


class _Reading(NamedTuple):
    """How the text of a side is read."""

    cut: Cut | None = None
    """Divides words further."""
    lag: LanguageLag | None = None
    """Of the side's language, where it is known."""


class WordCache:
    """A growing table of the words of one side, each computed once and alone. Thread-safe."""

    def __init__(
        self,
        classifier: WordClassifier,
        side: int,
        encode: Callable[[Sequence[str], int], Vectors],
        reading: _Reading = _Reading(),  # noqa: B008
        most: int = _MAX_WORDS,
    ) -> None:
        """Start without words.

        Args:
            classifier: computes the rows of the table.
            side: 0 or 1.
            encode: words and their side → vectors.
            reading: of the side.
            most: with more words, the cache is emptied.
        """
        self._cut, self._lag = reading
        self._classifier, self._side, self._encode, self._most = classifier, side, encode, most
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._reader = WordReader(self._cut)
        self._known = 0
        self._space = torch.zeros(0, dtype=torch.float16)
        """The table, with room for more words. Rows that were returned are never rewritten."""
        empty = spellings([])  # of which all but the features grow; these are used at once
        self._spelling = replace(empty, features=empty.features[:0])
        if self._lag:
            self._lag.forget()

    def read(self, sentences: Sequence[str]) -> tuple[Tensor, WordRows, Floats]:
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
            rows, spaced = self._reader.read(sentences)
            if new := self._reader.words[self._known :]:
                self._learn(new)
            table, spelling = self._space[: self._known], self._spelling
            lags = self._lag.behind(rows) if self._lag else np.zeros(len(rows))
        return table, WordRows(rows, spaced, spelling), lags

    def _learn(self, words: list[str]) -> None:
        """Append the rows of new words to the table, and their spelling."""
        added, old, known = spellings(words), self._spelling, self._known
        if self._lag:
            self._lag.learn(words)
        vectors = torch.from_numpy(self._encode(words, self._side))
        features = torch.from_numpy(self._classifier.features(self._side, added))
        missing = (0, 0, 0, -len(words) % _BLOCK)
        inputs = (torch.split(pad(part, missing), _BLOCK) for part in (vectors, features))
        with torch.inference_mode(), one_torch_thread():
            parts = [
                self._classifier.table(*block).clamp(-_LARGEST, _LARGEST).half()
                for block in zip(*inputs, strict=True)
            ]
        rows = torch.cat(parts)[: len(words)]
        if not known:
            rows[0] = 0  # the empty word
        self._known += len(rows)
        if self._known > len(self._space):
            space = self._space.new_empty(max(self._most, self._known) * 5 // 4, rows.shape[1])
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


class WordClassifier(PairClassifier):
    """The network, and the counts of the words in the training text."""

    settings_type = WordClassifierSettings
    settings: WordClassifierSettings
    counts: Tensor
    """``(2, buckets)``, uint8: counts of the words of each side, at most 255."""
    bigrams: Tensor | None
    """``(2, settings.bigrams / 4)``, uint8: levels of each side's bigrams; one row for both sides
    of a multilingual one. None without."""

    def __init__(self, settings: WordClassifierSettings) -> None:
        super().__init__(settings)
        self.network = WordNetwork(settings)
        self.register_buffer("counts", torch.zeros(2, settings.buckets, dtype=torch.uint8))
        shape = 2 - settings.multilingual, bytes_of(settings.bigrams)
        levels = torch.zeros(shape, dtype=torch.uint8) if settings.bigrams else None
        self.register_buffer("bigrams", levels)

    @property
    def output_layer(self) -> nn.Linear:
        """See :meth:`PairClassifier.output_layer`."""
        return self.network.out

    def carried(
        self, settings: ClassifierSettings, change: NDArray[np.float32] | None
    ) -> PairClassifier:
        """See :meth:`PairClassifier.carried`."""
        if not isinstance(settings, WordClassifierSettings):
            return super().carried(settings, change)
        if change is None:
            settings = replace(settings, word_length=self.settings.word_length)
        free = ["word_length", "buckets", "multilingual", "sum_weight", "spacing", "bigrams"]
        free += ["language_weight"] if change is None else ["language_weight", "dim"]
        own = replace(self.settings, **{name: getattr(settings, name) for name in free})
        seen = bool(self.settings.bigrams), self.settings.spacing
        sees = bool(settings.bigrams), settings.spacing
        if own != settings or any(old > new for old, new in zip(seen, sees, strict=True)):
            raise SettingsError(OTHER_SHAPE)
        carried = WordClassifier(settings)
        matrix = None if change is None else torch.from_numpy(change)
        carried.network.start_from(self.network, matrix)
        return carried

    def features(self, side: int, spelling: Spelling) -> NDArray[np.float32]:
        """Features of words of a side, 0 or 1, with their rarity, ``(u, settings.word_features)``.

        The rarity of an unknown word is 1, unless it shares its bucket with a known one. The last
        feature, if any, is how much more frequent the word is on the other side, 0 to 1.
        """
        features: NDArray[np.float32] = spelling.features.copy()
        buckets = self.buckets(spelling)
        features[:, RARITY] = own = self._rarity(side, buckets)
        if not self.settings.spacing:
            return features
        foreign = np.maximum(0, own - self._rarity(1 - side, buckets))
        return np.hstack([features, foreign[:, None]])

    def _rarity(self, side: int, buckets: Indices) -> NDArray[np.float32]:
        times = self.counts[side].numpy()[buckets].astype(np.float32)
        rarity: NDArray[np.float32] = np.maximum(0, 1 - np.log1p(times) / math.log(_COMMON))
        return rarity

    def buckets(self, spelling: Spelling) -> Indices:
        """Return the buckets of words, ``(u,)``."""
        return spelling.hashes % self.settings.buckets

    def table(self, vectors: Tensor, features: Tensor) -> Tensor:
        """Word vectors of the encoder ``(u, dim)``, features → table of words ``(u, columns)``."""
        rows: Tensor = self.network.table(vectors / self.settings.word_length, features)
        return rows

    def forward(self, tables: Sequence[Tensor], pairs: Sequence[WordSentences]) -> Tensor:
        """Logits ``(n, 1 or 2)``, for training: no temperature applied."""
        sides = enumerate(pairs) if self.settings.bigrams else ()
        logits: Tensor = self.network(tables, pairs, [self._familiar(*side) for side in sides])
        return logits

    def _familiar(self, side: int, sentences: WordSentences) -> Tensor:
        """Look up how familiar the bigrams of a side are, 0 to 1, ``(n, t + 1)``."""
        assert self.bigrams is not None, "the settings have them"
        levels = self.bigrams[min(side, len(self.bigrams) - 1)]
        places = sentences.bigrams.clamp(min=0) % self.settings.bigrams
        four = levels[places // IN_A_BYTE].long()
        found = (four >> (2 * (places % IN_A_BYTE))) & HIGHEST
        return found * (sentences.bigrams >= 0) / HIGHEST

    def _lags(self, languages: tuple[str, str] | None) -> tuple[LanguageLag | None, ...]:
        """Return a lag of each language; None for an unknown one, or without a weight."""
        if languages is None or not self.settings.language_weight:
            return None, None
        identifier = load_ngram_identifier()
        places = map(identifier.place, languages)
        return tuple(None if at is None else LanguageLag(identifier, at) for at in places)

    def offsets(
        self, sides: tuple[Sequence[str], Sequence[str]], languages: tuple[str, str], cut: Cut
    ) -> Floats:
        """See :meth:`PairClassifier.offsets`."""
        total = np.zeros(len(sides[0]))
        for texts, lag in zip(sides, self._lags(languages), strict=True):
            if lag:
                reader = WordReader(cut if self.settings.multilingual else None)
                rows, _ = reader.read(texts)
                lag.learn(reader.words)
                total += lag.behind(rows)
        return np.asarray(self.settings.language_weight * total)

    def scale_offsets(self, factor: float) -> None:
        """See :meth:`PairClassifier.scale_offsets`."""
        weight = self.settings.language_weight * factor
        self.settings = replace(self.settings, language_weight=weight)

    def scorer_factory(
        self,
        encode: Encode,
        threads: int = 1,
        cut: Cut | None = None,
        languages: tuple[str, str] | None = None,
    ) -> ScorerFactory:
        """See :meth:`PairClassifier.scorer_factory`; words are remembered from call to call."""
        cut = cut if self.settings.multilingual else None
        caches = [
            WordCache(self, side, encode, _Reading(cut, lag))
            for side, lag in enumerate(self._lags(languages))
        ]

        compiled = self._compiled()

        def scorer(source: EncodedSide, target: EncodedSide) -> PairScorer:
            def score(i: Indices, j: Indices) -> Scores:
                parts = [np.zeros(0, dtype=np.float32)]
                for first in range(0, len(i), _PAIRS):
                    some = slice(first, first + _PAIRS)
                    windows = (
                        _Window.of(side, rows[some], cache)
                        for side, rows, cache in zip((source, target), (i, j), caches, strict=True)
                    )
                    parts.append(self._window_scores(compiled, threads, *windows))
                return np.concatenate(parts)

            return score

        return scorer

    def _compiled(self) -> CompiledNetwork | None:
        """Return the network with its present weights, compiled; None where torch has to do."""
        if not (wide := lanes()):
            return None
        weights = {name: tensor.numpy() for name, tensor in self.network.state_dict().items()}
        if self.bigrams is not None:
            weights["levels"] = self.bigrams.numpy()
        return CompiledNetwork(self.settings, weights, wide)

    def _window_scores(
        self, compiled: CompiledNetwork | None, threads: int, *windows: _Window
    ) -> Scores:
        """Score row i of both sides; no result depends on the other pairs."""
        if compiled:
            sides = [
                SideRows(side.places, side.table.numpy(), side.words, side.vectors)
                for side in windows
            ]
            logits = compiled.logits(sides, threads)
        else:
            logits = self._block_logits(threads, *windows)
        lags = sum(side.lags[side.places] for side in windows)
        return self.scores(logits, self.settings.language_weight * lags)

    def _block_logits(self, threads: int, *windows: _Window) -> NDArray[np.float32]:
        """Compute logits by torch, in blocks whose shape depends on their pairs' lengths alone."""
        lengths = [side.words.words.lengths[side.places] for side in windows]
        longest = np.maximum(*lengths)
        logits = np.empty((len(longest), self.settings.logits), dtype=np.float32)
        tables = [side.table for side in windows]

        def run(block: tuple[int, Indices, int]) -> None:
            words, pairs, size = block
            rows = np.resize(pairs, size)  # repeats pairs to fill the block
            with torch.inference_mode():
                sides = [
                    side.words.padded(side.places[rows], words, side.vectors[side.places[rows]])
                    for side in windows
                ]
                sides = [replace(side, vectors=normalize(side.vectors, dim=1)) for side in sides]
                logits[pairs] = self(tables, sides)[: len(pairs)].numpy()

        steps = np.searchsorted(_LADDER, longest)
        blocks: list[tuple[int, Indices, int]] = []
        for step in np.unique(steps)[::-1]:  # the longest first
            places, words = np.flatnonzero(steps == step), int(_LADDER[step])
            size = max(1, _BLOCK_WORDS // words // _BLOCK_PAIRS) * _BLOCK_PAIRS
            size = 1 if words > _LONG else size
            blocks += [(words, places[at : at + size], size) for at in range(0, len(places), size)]
        with one_torch_thread():
            map_blocks(run, blocks, threads)
        return logits


@dataclass(frozen=True)
class _Window:
    """The sentences of one side of some pairs."""

    places: Indices
    """The place of each pair's sentence among the distinct ones; ``words`` and ``vectors`` are of
    these."""
    table: Tensor
    words: WordRows
    lags: Floats
    """Of the side's language: see :meth:`WordCache.read`."""
    vectors: Vectors

    @classmethod
    def of(cls, side: EncodedSide, rows: Indices, cache: WordCache) -> _Window:
        """Read the sentences at *rows* of a side."""
        vectors, sentences = side
        distinct, places = np.unique(rows, return_inverse=True)
        table, words, lags = cache.read([sentences[place] for place in distinct])
        return cls(places, table, words, lags, vectors[distinct])
