"""The word-level pair classifier in torch: for training, and where its network is not compiled.

:mod:`bitextfilter.pairs.word_network` computes the logits, and
:mod:`bitextfilter.pairs.scoring` the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import normalize, pad

from bitextfilter.arrays import Floats, Indices, Vectors
from bitextfilter.errors import SettingsError
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.device import one_torch_thread
from bitextfilter.pairs.base import (
    ClassifierSettings,
    Reading,
    SideScorer,
    WordClassifierSettings,
)
from bitextfilter.pairs.classifier import OTHER_SHAPE, PairClassifier
from bitextfilter.pairs.compiled_words import CompiledNetwork, SideRows, lanes
from bitextfilter.pairs.scoring import (
    ScoringNetwork,
    WordScoring,
    language_lags,
    network_weights,
    word_features,
)
from bitextfilter.pairs.word_network import WordNetwork, WordSentences, padded
from bitextfilter.text.features import HIGHEST, IN_A_BYTE, Cut, Spelling, WordReader, bytes_of

_BLOCK = 256
"""Words computed together: a fixed number, so that no result depends on the others."""
_LADDER = np.array(
    (*range(4, 32, 4), *range(32, 64, 8), *range(64, 128, 16), *range(128, 1025, 64))
)
"""The numbers of words of a block of pairs; sentences are padded to the next."""
_LONG = 128
"""Sentences of more words come in blocks of one pair."""
_BLOCK_WORDS, _BLOCK_PAIRS = 1024, 32
"""Words of a block of pairs; its number of pairs is a multiple of 32: vector units hold powers of
two, and compute a remainder in another way."""


class WordClassifier(PairClassifier):
    """The network, and the counts of the words in the training text."""

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
        self, settings: ClassifierSettings, change: NDArray[np.float32] | None, alike: bool = False
    ) -> PairClassifier:
        """See :meth:`PairClassifier.carried`."""
        if not isinstance(settings, WordClassifierSettings):
            return super().carried(settings, change, alike)
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
        carried.network.start_from(self.network, matrix, alike)
        return carried

    def features(self, side: int, spelling: Spelling) -> NDArray[np.float32]:
        """See :func:`word_features`."""
        return word_features(self.settings, self.counts.numpy(), side, spelling)

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

    def offsets(
        self, sides: tuple[Sequence[str], Sequence[str]], languages: tuple[str, str], cut: Cut
    ) -> Floats:
        """See :meth:`PairClassifier.offsets`."""
        total = np.zeros(len(sides[0]))
        for texts, lag in zip(sides, language_lags(self.settings, languages), strict=True):
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

    def scorer(self, reading: Reading) -> SideScorer:
        """See :meth:`PairClassifier.scorer`; words are remembered from call to call."""
        return self.scoring().scorer(reading)

    def scoring(self) -> WordScoring:
        """Return the classifier with its present weights as it scores, compiled where it can."""
        wide, state = lanes(), {name: each.numpy() for name, each in self.state_dict().items()}
        network: ScoringNetwork = TorchWords(self)
        if wide:
            network = CompiledNetwork(self.settings, network_weights(state), wide)
        return WordScoring(self.settings, state["counts"], float(self.temperature), network)


class TorchWords:
    """A classifier's network in torch; see ``ScoringNetwork``."""

    def __init__(self, classifier: WordClassifier) -> None:
        """Take the network and its bigrams."""
        self._classifier = classifier

    def table(self, vectors: Vectors, features: Vectors) -> Vectors:
        """See ``ScoringNetwork``; computed in blocks of one size."""
        missing = (0, 0, 0, -len(vectors) % _BLOCK)
        given = torch.from_numpy(vectors), torch.from_numpy(features)
        inputs = (torch.split(pad(part, missing), _BLOCK) for part in given)
        network = self._classifier.network
        with torch.inference_mode(), one_torch_thread():
            parts = [network.table(*block) for block in zip(*inputs, strict=True)]
        rows: Vectors = torch.cat(parts)[: len(vectors)].numpy()
        return rows

    def logits(self, sides: Sequence[SideRows], threads: int = 1) -> Vectors:
        """See ``ScoringNetwork``; in blocks whose shape depends on their pairs' lengths alone."""
        lengths = [side.words.words.lengths[side.rows] for side in sides]
        longest = np.maximum(*lengths)
        logits = np.empty((len(longest), self._classifier.settings.logits), dtype=np.float32)
        tables = [torch.from_numpy(side.table) for side in sides]

        def run(block: tuple[int, Indices, int]) -> None:
            words, pairs, size = block
            places = np.resize(pairs, size)  # repeats pairs to fill the block
            with torch.inference_mode():
                read = [
                    padded(side.words, rows, words, side.vectors[rows])
                    for side in sides
                    for rows in [side.rows[places]]
                ]
                read = [replace(side, vectors=normalize(side.vectors, dim=1)) for side in read]
                logits[pairs] = self._classifier(tables, read)[: len(pairs)].numpy()

        with one_torch_thread():
            map_blocks(run, _blocks(longest), threads)
        return logits


def _blocks(lengths: Indices) -> list[tuple[int, Indices, int]]:
    """Return the length, the pairs and the size of each block of pairs of some lengths."""
    steps = np.searchsorted(_LADDER, lengths)
    blocks: list[tuple[int, Indices, int]] = []
    for step in np.unique(steps)[::-1]:  # the longest first
        places, words = np.flatnonzero(steps == step), int(_LADDER[step])
        size = max(1, _BLOCK_WORDS // words // _BLOCK_PAIRS) * _BLOCK_PAIRS
        size = 1 if words > _LONG else size
        blocks += [(words, places[at : at + size], size) for at in range(0, len(places), size)]
    return blocks
