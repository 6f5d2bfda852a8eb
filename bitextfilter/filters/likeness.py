"""Rules of likeness between the sides: copies, shared n-grams, sentence vectors."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import regex
from rapidfuzz.distance import LCSseq, Levenshtein
from rapidfuzz.process import cpdist

from bitextfilter.arrays import Floats, Mask, Scores
from bitextfilter.filters.facts import distance_bounds
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.rule import LONGEST, Bounded, Cost, LanguagePair, PairFault
from bitextfilter.filters.web import without_addresses
from bitextfilter.settings import from_0, from_1, setting
from bitextfilter.text import characters

if TYPE_CHECKING:
    from bitextfilter.encoders.protocol import SentenceEncoder


_Tokens = list[str]
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Identical(PairFault):
    """The sides differ in their letters or digits, apart from case.

    Pairs with a side of fewer than ``words`` words pass; in scripts written without spaces, two or
    five characters count as a word, as in ``length``. Sides with neither letters nor digits are
    compared as they are.
    """

    name = "identical"
    unit = "none"
    origin = "Bicleaner no_identical (there: letters alone)"

    words: int = 1

    def suspects(self, pairs: Pairs) -> Mask:
        """Select pairs with equal numbers of letters and numbers, digits, and some letters."""
        suspects = np.ones(len(pairs), dtype=bool)
        known = characters.in_category("L", "N"), characters.in_category("Nd"), "aA", "eE"
        for sort in known:
            source, target = (side.counted(sort) for side in pairs.sides)
            suspects &= source == target
        for side in pairs.sides:
            suspects &= side.token_counts >= self.words
        return suspects

    def fault(self, source: str, target: str, languages: LanguagePair) -> str | None:
        if source == target:
            return ""
        one, other = (_APART.sub("", text).lower() for text in (source, target))
        return "" if one == other and one else None


_APART = regex.compile(r"[^\p{L}\p{N}]+")


@dataclass(frozen=True)
class Similarity(Bounded):
    """The sides are not near copies, by edit distance in characters or words (``count``).

    The value is 1 - Levenshtein distance / length of the longer side, 1 for two empty sides.
    ``lowercase`` ignores case. Of longer sides the first 10,000 characters are compared. Web and
    e-mail addresses are left out of pairs that fail with them. Pairs that fail and have a side of
    fewer than ``words`` words, as in ``identical``, have 0 instead.
    """

    name = "similarity"
    unit = "0 to 1: 1 - edit distance / longer length; 1 for equal sides"
    origin = "Rossenbach et al. 2018 (source/target edit distance); OpusFilter SimilarityFilter"
    cost = Cost.PAIRS

    maximum: float | None = 0.9
    count: str = setting("characters", choices=("characters", "words"))
    lowercase: bool = False
    words: int = from_0(0)

    def sure(self, pairs: Pairs) -> Mask | None:
        """Select pairs that lack too many of each other's characters."""
        if self.minimum is not None or self.lowercase or self.count != "characters":
            return None
        lengths = np.stack([side.lengths for side in pairs.sides])
        longest = np.maximum(lengths.max(axis=0), 1)
        _, most = self.bounds
        most -= _ROUNDING
        unsure = 1 - np.ptp(lengths, axis=0) / longest > most
        asked = unsure & (longest <= LONGEST)
        bounds = distance_bounds(pairs.source.utf8, pairs.target.utf8, asked)
        if bounds is None:
            return None
        return np.asarray(~unsure | (1 - bounds / longest <= most))

    def values(self, pairs: Pairs) -> Floats:
        sources, targets = ([text[:LONGEST] for text in side.sentences] for side in pairs.sides)
        if not sources:
            return np.empty(0)
        if self.lowercase:
            sources, targets = ([text.lower() for text in side] for side in (sources, targets))
        values = self._likeness(sources, targets)
        failed = np.flatnonzero(values > self.bounds[1])
        for at in failed.tolist():
            values[at] = self._without_addresses(float(values[at]), sources[at], targets[at])
        if self.words and len(failed):
            tokens = np.min([side.token_counts for side in pairs.at(failed).sides], axis=0)
            values[failed[tokens < self.words]] = 0
        return values

    def _likeness(self, sources: list[str], targets: list[str]) -> Floats:
        if self.count == "characters":
            scorer = Levenshtein.normalized_similarity
            return cpdist(sources, targets, scorer=scorer, dtype=np.float64, workers=1)
        split = ((a.split(), b.split()) for a, b in zip(sources, targets, strict=True))
        return np.array([Levenshtein.normalized_similarity(a, b) for a, b in split])

    def _without_addresses(self, value: float, source: str, target: str) -> float:
        """Return the *value* of two texts without their addresses, if words are left of both."""
        rests = [without_addresses(text).strip() for text in (source, target)]
        if rests == [source.strip(), target.strip()] or not all(
            any(map(str.isalpha, rest)) for rest in rests
        ):
            return value
        return float(self._likeness(rests[:1], rests[1:])[0])


@dataclass(frozen=True)
class LongestCommonSubstring(PairFault):
    """The longest common substring is at most ``maximum`` of the shorter side.

    Of longer sides the first 10,000 characters are compared.
    """

    name = "longest-common-substring"
    unit = "0 to 1: characters of the longest common substring / of the shorter side"
    origin = "OpusFilter LongestCommonSubstringFilter"

    maximum: float = 0.9

    def fault(self, source: str, target: str, languages: LanguagePair) -> str | None:
        """Return a ratio that is too high; the common subsequence, an upper bound, is quicker."""
        source, target = source[:LONGEST], target[:LONGEST]
        shorter = min(len(source), len(target))
        least = max(0, math.floor(self.maximum * shorter) + 1)
        if not shorter or LCSseq.similarity(source, target, score_cutoff=least) < least:
            return None
        sizes = range(least, shorter + 1)
        size = least - 1 + bisect_left(sizes, True, key=partial(_differ, source, target))
        ratio = size / shorter
        return f"{ratio:.4g}>{self.maximum:g}" if ratio > self.maximum else None


def _differ(one: str, other: str, size: int) -> bool:
    """Return True if no *size* characters in a row stand on both sides."""
    pieces = {one[start : start + size] for start in range(len(one) - size + 1)}
    return pieces.isdisjoint(other[start : start + size] for start in range(len(other) - size + 1))


class _TokenRule(Bounded):
    cost = Cost.PAIRS

    @abstractmethod
    def value(self, source: _Tokens, target: _Tokens) -> float:
        """Return the value of two sentences, each lower-cased and split at white space."""

    def values(self, pairs: Pairs) -> Floats:
        texts = zip(pairs.source.sentences, pairs.target.sentences, strict=True)
        return np.array([self.value(a.lower().split(), b.lower().split()) for a, b in texts])


@dataclass(frozen=True)
class NgramOverlap(_TokenRule):
    """The sides share enough n-grams for paraphrases, and too few for copies.

    Both sides are in one language. The value is the number of n-grams of ``order`` words that
    both sides have, with their counts, over the number of the side with fewer; 0 if it has none.
    """

    name = "ngram-overlap"
    unit = "0 to 1: shared n-grams / n-grams of the shorter side"
    origin = "Wieting et al. 2017, sections 5.5–5.7 (n = 1, 2, 3; lower 0 to .3, upper .6 to 1)"

    maximum: float | None = 0.8
    order: int = from_1(1)

    def value(self, source: _Tokens, target: _Tokens) -> float:
        one, other = ngrams(source, self.order), ngrams(target, self.order)
        fewer = min(one.total(), other.total())
        return (one & other).total() / fewer if fewer else 0.0


@dataclass(frozen=True)
class SentenceBleu(_TokenRule):
    """The smoothed BLEU of the target against the source is within bounds.

    Both sides are in one language. N-grams have up to 4 words; 1 is added to the matches and
    n-grams of every order, and to the reference length in the brevity penalty.
    """

    name = "sentence-bleu"
    unit = "0 to 1: BLEU of the target with the source as reference"
    origin = "Wieting et al. 2017, sections 5.5–5.7; smoothing of Nakov et al. 2012"

    maximum: float | None = 0.8

    def value(self, source: _Tokens, target: _Tokens) -> float:
        if not target:
            return 0.0
        logs = 0.0
        for order in range(1, 5):
            reference, candidate = ngrams(source, order), ngrams(target, order)
            matches, total = (reference & candidate).total(), candidate.total()
            logs += math.log((matches + 1) / (total + 1)) / 4
        penalty = min(0.0, 1 - (len(source) + 1) / len(target))
        return math.exp(logs + penalty)


def ngrams(tokens: _Tokens, order: int) -> Counter[tuple[str, ...]]:
    """Count the n-grams of *order* words."""
    return Counter(zip(*(tokens[place:] for place in range(order)), strict=False))


@dataclass(frozen=True)
class ParaphraseScore(Bounded):
    """The cosine of the sides' sentence vectors, by ``model``, is within bounds.

    Source and target are encoded as the model's first and second language; a model of one
    language encodes both as that one.
    """

    name = "paraphrase-score"
    unit = "-1 to 1: cosine of the two sentence vectors"
    origin = "Wieting & Gimpel 2018, section 4 (cosine of averaged word vectors)"
    cost = Cost.MODEL

    minimum: float | None = 0.5
    model: str = "en-de"

    def prepare(self, languages: LanguagePair) -> None:
        """Load the model: raise NotFoundError or ModelError."""
        super().prepare(languages)
        _encoder(self.model)

    def values(self, pairs: Pairs) -> Scores:
        from bitextfilter.similarity.vectors import cosine_pairs

        encoder = _encoder(self.model)
        vectors = (
            encoder.encode(side.sentences, language)
            for side, language in zip(pairs.sides, encoder.languages, strict=True)
        )
        return cosine_pairs(*vectors)


@functools.lru_cache(maxsize=4)
def _encoder(model: str) -> SentenceEncoder:
    from bitextfilter.encoders.registry import load_encoder
    from bitextfilter.models.folders import ModelName, find_model

    return load_encoder(find_model(model), languages=ModelName.parse(model).languages)
