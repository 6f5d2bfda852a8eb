"""Parts of a corpus, such as training and test set, with no text in two; and diverse samples.

A row has one key or several: its texts, its document. Rows that have a key in common, directly or
by way of other rows, are a group, and a group is in one part. The hash of a group, a number below
2⁶³, says which: a part of 1 % has the groups of a hundredth of all numbers.

A diverse order of rows is the best of each cluster, then the second best of each, and so on. With
one cluster this is the order of the scores. A budget of the first rows of the order is spread over
all clusters, so over all that the corpus is about. Equal scores are in random order, so that coarse
scores trade their finest differences for diversity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import isqrt
from typing import NamedTuple

import numpy as np

from bitextfilter.arrays import Floats, Indices, Integers, Keys, Mask, begin_runs, mixed
from bitextfilter.corpus.duplicate_keys import text_key
from bitextfilter.errors import SettingsError
from bitextfilter.io.workers import map_blocks
from bitextfilter.search.kmeans import UnitVectors, alike_rows, clusters_of, fit_centroids
from bitextfilter.settings import none_of
from bitextfilter.similarity.vectors import NO_ROW
from bitextfilter.text.wording import IGNORABLE, normaliser

_BITS = 63

SIDES = {"either": 2, "source": 1, "target": 1, "pair": 2, "none": 0}
"""The texts of a row that are compared, by what rows of a group have in common."""


class Part(NamedTuple):
    """A part by its name, and its number of rows, or, as a Fraction, its share of all rows."""

    name: str
    size: int | Fraction

    @property
    def share(self) -> Fraction:
        """Its share; 0 for a number of rows."""
        return self.size if isinstance(self.size, Fraction) else Fraction(0)


@dataclass(frozen=True)
class SplitSettings:
    """Parts by number, from 0; rows of no part are the rest, whose number is behind the last.

    ``by``: rows of the same pair, source, target, or either of these are a group; with ``none``
    texts do not matter. ``documents``: so are rows of the same document. Texts are the same if
    they are equal without the parts in ``ignore``; exactly, if None. Another ``seed`` gives other
    parts.
    """

    parts: tuple[Part, ...]
    by: str = "either"
    documents: bool = False
    ignore: tuple[str, ...] | None = IGNORABLE
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise SettingsError for shares of more than all rows, rows without a key, another by."""
        if self.by not in SIDES:
            raise SettingsError(f"by {none_of(self.by, SIDES)}")
        if (whole := sum(part.share for part in self.parts)) > 1:
            raise SettingsError(f"the shares of the parts are {float(100 * whole):g} % together")
        if not self.keys:
            raise SettingsError("rows are compared by no text, so they need documents")

    @property
    def sides(self) -> int:
        """Number of texts of a row that are compared."""
        return SIDES[self.by]

    @property
    def keys(self) -> int:
        """Number of keys of a row."""
        return (1 if self.by == "pair" else self.sides) + self.documents

    @property
    def at_once(self) -> bool:
        """Whether a row's part depends on the row alone: it has one key, and parts are shares."""
        return self.keys == 1 and all(isinstance(part.size, Fraction) for part in self.parts)


class Division(NamedTuple):
    """Rows in their parts."""

    parts: Integers
    """The part of each row, ``(n,)``."""
    groups: int
    largest: int
    """Rows of the largest group."""


class Splitter:
    """Finds the keys of rows, and their parts."""

    def __init__(self, settings: SplitSettings) -> None:
        """Raise SettingsError for an unknown name in ``ignore``."""
        self._settings = settings
        self._normalise = str if settings.ignore is None else normaliser(settings.ignore)
        self._kinds = [b"%d/%d/" % (settings.seed, key) for key in range(settings.keys)]
        ends = accumulate(part.share for part in settings.parts)
        self._ends = np.array([int(end * (1 << _BITS)) for end in ends], np.uint64)

    def keys(self, rows: Sequence[Sequence[str]]) -> Keys:
        """Return the keys of rows, ``(n, keys)``: of the texts of each, then of its document."""
        sides, data = self._settings.sides, []
        for row in rows:
            texts, document = [self._normalise(text) for text in row[:sides]], row[sides:]
            columns = [texts] if self._settings.by == "pair" else [[text] for text in texts]
            columns += [[name] for name in document]
            for column, kind in zip(columns, self._kinds, strict=True):
                data.append(text_key(column, kind)[:8])
        keys = np.frombuffer(b"".join(data), "<u8").astype(np.uint64)
        return keys.reshape(-1, self._settings.keys)

    def by_share(self, keys: Keys) -> Integers:
        """Return the part of each row of one key, by the shares of the parts alone."""
        return self._within(_hashes(keys[:, 0]))

    def decide(self, keys: Keys) -> Division:
        """Return the parts of all rows, by shares and numbers.

        Parts of shares come first; a group with more rows than its part shall have is in the rest,
        if rows have several keys. Then each part of a number takes the groups of the least hashes
        that fit and are left.
        """
        hashes = _hashes(_least_of_groups(keys))
        hashes, group, sizes = np.unique(hashes, return_inverse=True, return_counts=True)
        part, rest = self._within(hashes), len(self._settings.parts)
        for number, (_, size) in enumerate(self._settings.parts):
            if isinstance(size, Fraction):
                huge = (sizes > int(size * len(keys))) & (self._settings.keys > 1)
                part[(part == number) & huge] = rest
        for number, (_, size) in enumerate(self._settings.parts):
            if isinstance(size, int):
                part[_filled(np.flatnonzero(part == rest), sizes, size)] = number
        return Division(part[group], len(sizes), int(sizes.max(initial=0)))

    def _within(self, hashes: Keys) -> Integers:
        return np.searchsorted(self._ends, hashes, side="right").astype(np.int64)


def _hashes(keys: Keys) -> Keys:
    """Return 63 bits of each key, mixed: of the least of some keys, the first bits tell little."""
    hashes: Keys = mixed(keys) >> np.uint64(64 - _BITS)
    return hashes


def _least_of_groups(keys: Keys) -> Keys:
    """Return the least key in the group of each row."""
    if keys.shape[1] == 1:
        return keys[:, 0]
    least: Keys = keys.min(axis=1)
    groups = row_groups(keys)
    np.minimum.at(least, groups, least.copy())
    return least[groups]


def row_groups(keys: Keys) -> Integers:
    """Return the group of each row, named by its first row, ``(n,)``: the connected components.

    Each round hooks every group to the least group that it touches, so at most half of those that
    are not whole are left.
    """
    rows, others = _links(keys)
    group: Integers = np.arange(len(keys))
    while len(rows):
        one, other = group[rows], group[others]
        apart = one != other
        rows, others, one, other = rows[apart], others[apart], one[apart], other[apart]
        np.minimum.at(group, np.maximum(one, other), np.minimum(one, other))
        while (further := group[group]).tobytes() != group.tobytes():
            group = further
    return group


def _links(keys: Keys) -> tuple[Integers, Integers]:
    """Return two rows for each pair of rows to join: those that share a key with an earlier row."""
    flat = keys.T.ravel()
    order = np.argsort(flat, kind="stable")
    new = begin_runs(flat[order])
    starts = np.flatnonzero(new)
    rows = order % max(1, len(keys))
    firsts = np.repeat(rows[starts], np.diff(starts, append=len(order)))
    return rows[~new], firsts[~new]


def _filled(groups: Integers, sizes: Integers, most: int) -> list[int]:
    """Return the first of some *groups* that fit in *most* rows together, each if it still fits."""
    chosen = []
    for group, size in zip(groups.tolist(), sizes[groups].tolist(), strict=True):
        if not most:
            break
        if size <= most:
            chosen.append(group)
            most -= size
    return chosen


_MOST = 4096
"""Clusters, unless more are asked for."""


@dataclass(frozen=True)
class SampleSettings:
    """Settings of the order."""

    clusters: int | None = None
    """None for three times the square root of the number of rows, at most 4096."""
    alike: float | None = None
    """The least cosine of pairs of which one is left out; None keeps all."""
    seed: int = 1
    threads: int = 1
    """No result depends on it."""

    def count(self, rows: int) -> int:
        """Return the number of clusters of so many rows, at least 1."""
        usual = min(3 * isqrt(rows), _MOST)
        return max(1, min(usual if self.clusters is None else self.clusters, rows))


@dataclass(frozen=True)
class DiverseOrder:
    """The places of ``n`` rows in the order."""

    places: Floats
    """From 0, ``(n,)``; NaN for a row that is like another one."""
    clusters: Indices
    """From 0, ``(n,)``."""
    like: Indices
    """The kept row that a row is like; ``NO_ROW`` for none: ``(n,)``."""


def diverse_order(vectors: UnitVectors, scores: Floats, settings: SampleSettings) -> DiverseOrder:
    """Order rows.

    Of each cluster the highest score comes first, and NaN last; equal ones are drawn by the seed.
    All rows of one turn, one a cluster, are ordered likewise.

    Args:
        vectors: of the rows, ``(n, d)``.
        scores: ``(n,)``, higher is better; NaN for none.
        settings: see there.
    """
    rows = len(scores)
    like = np.full(rows, NO_ROW, np.int64)
    if not rows:
        return DiverseOrder(np.zeros(0), like, like)
    threads = settings.threads
    centroids = fit_centroids(vectors, settings.count(rows), settings.seed, threads)
    clusters = clusters_of(vectors, centroids, threads)
    draw = np.random.default_rng((settings.seed, 1)).permutation(rows)
    order = np.lexsort((draw, -scores, clusters))
    if settings.alike is not None:
        parts = np.split(order, np.flatnonzero(np.diff(clusters[order])) + 1)
        least = settings.alike
        found = map_blocks(lambda part: alike_rows(vectors, part, least), parts, threads)
        like[order] = np.concatenate(found)
        order = order[like[order] == NO_ROW]
    turns = _turns(clusters[order])
    places = np.full(rows, np.nan)
    places[order[np.lexsort((draw[order], -scores[order], turns))]] = np.arange(len(order))
    return DiverseOrder(places, clusters, like)


def _turns(clusters: Indices) -> Indices:
    """Return the place of each row in its cluster, from 0; rows of a cluster stand together."""
    begins: Mask = np.diff(clusters, prepend=-1) != 0
    starts = np.flatnonzero(begins)
    return np.arange(len(clusters)) - np.repeat(starts, np.diff(starts, append=len(clusters)))
