"""Vectors of groups of sentences as evidence for which groups are translations of each other.

What a link costs is how far the vectors of the two groups' texts are apart, against how far they
are from unrelated sentences, times the number of sentence pairs in it (Thompson & Koehn 2019,
"Vecalign", section 3.1), and, ours, how much the groups differ in length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.mining.lengths import halved
from bitextfilter.mining.monotonic import Costs, Span, Step
from bitextfilter.similarity.vectors import Vectors, cosine_pairs, unit_products, unit_rows

__all__ = ["Document", "LinkSettings", "VectorPairing", "document", "groups"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

UNIT = 2**20
"""What a cost of 1, that of two unrelated sentences, is in whole numbers."""
SAMPLE = 128
"""So many sentences of a side stand for unrelated ones."""
SMOOTHING = 10
"""Characters added to every length: ratios of short texts say little."""
BLOCK_ROWS = 1024


@dataclass(frozen=True)
class LinkSettings:
    """What is a link, and what it costs. Raises SettingsError for what is out of range."""

    largest: int = 4
    """So many sentences of a side may be in a link; with one of the other, and less with more."""
    skip: float = 0.02
    """Leaving out a sentence costs as much as linking two unrelated ones that are nearer than all
    but this share (0 to 1) of such pairs."""
    length: float = 0.5
    """The weight of the squared logarithm of the lengths' ratio."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.largest < 1:
            raise SettingsError("at least 1 sentence is needed in a link")
        if not 0 <= self.skip <= 1 or self.length < 0:
            raise SettingsError("skip is a share, from 0 to 1, and a weight is not below 0")

    def links(self) -> list[Step]:
        """Return the sizes that links have, small ones first."""
        sizes = range(1, self.largest + 1)
        steps = [Step(a, b) for a in sizes for b in sizes if a + b <= self.largest + 1]
        return sorted(steps, key=lambda step: (sum(step), abs(step.source - step.target)))


@dataclass(frozen=True)
class Document:
    """Sentences in their order, as vectors of groups and lengths."""

    groups: Vectors
    """``(largest, n + 1, dim)``: in row i of part k - 1, of length 1, that of the text of the k
    sentences up to position i; 0 where there are no k."""
    ends: NDArray[np.int64]
    """``(n + 1,)``: characters up to each position."""

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def sentences(self) -> Vectors:
        """The vectors of single sentences, ``(n, dim)``."""
        return self.groups[0, 1:]

    def coarser(self) -> Document:
        """Return it with every two sentences as one; what is left over stays."""
        odd = len(self) % 2
        pairs = np.pad(self.sentences, ((0, odd), (0, 0)))
        return Document(group_sums(pairs[0::2] + pairs[1::2], 1), halved(self.ends))

    def with_groups(self, others: Vectors, weight: float) -> Document:
        """Return it with further vectors ``(largest, n + 1, dim)`` beside its own."""
        both = np.concatenate([self.groups, np.float32(weight) * others], axis=-1)
        return Document(np.stack([unit_rows(part) for part in both]), self.ends)


def group_sums(vectors: Vectors, largest: int) -> Vectors:
    """Return the groups of a document, as the sums of the vectors ``(n, dim)`` of sentences."""
    n, dim = vectors.shape
    parts = np.zeros((largest, n + 1, dim), np.float32)
    parts[0, 1:] = vectors
    for count in range(2, min(largest, n) + 1):
        parts[count - 1, count:] = parts[count - 2, count - 1 : -1] + vectors[count - 1 :]
    return np.stack([unit_rows(part) for part in parts])


def groups(sentences: Sequence[str], largest: int) -> list[str]:
    """Return the texts that :func:`document` wants vectors of: single sentences, then twos, ..."""
    counts = range(1, min(largest, len(sentences)) + 1)
    return [
        " ".join(sentences[first : first + count])
        for count in counts
        for first in range(len(sentences) - count + 1)
    ]


def document(sentences: Sequence[str], vectors: Vectors, largest: int) -> Document:
    """Return sentences with the vectors ``(g, dim)`` of their :func:`groups` as a document."""
    n, start = len(sentences), 0
    parts = np.zeros((largest, n + 1, vectors.shape[1]), np.float32)
    for part, count in zip(parts, range(1, min(largest, n) + 1), strict=False):
        part[count:] = unit_rows(vectors[start : start + n - count + 1])
        start += n - count + 1
    lengths = [len(sentence) for sentence in sentences]
    return Document(parts, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))


class VectorPairing:
    """Costs of links between two documents by their vectors and lengths."""

    def __init__(self, source: Document, target: Document, settings: LinkSettings) -> None:
        """Look at unrelated sentences: some of the one document with some of the other.

        Both documents have groups of ``settings.largest``.
        """
        self._source, self._target, self._settings = source, target, settings
        self.links = settings.links()
        places = [np.linspace(1, len(d), min(len(d), SAMPLE)).astype(int) for d in (source, target)]
        samples = source.groups[0, places[0]], target.groups[0, places[1]]
        self._strangeness = _strangeness(source, samples[1]), _strangeness(target, samples[0])
        unrelated = self._distance(Step(1, 1), places[0], places[1])
        price = np.quantile(unrelated, settings.skip) if unrelated.size else 1.0
        skip = _whole(np.asarray(price))
        self.skip_source = np.full(len(source), skip)
        self.skip_target = np.full(len(target), skip)

    def block(self, rows: slice, columns: slice) -> Costs:
        """Return ``(links, rows, columns)``: the number of pairs in it × how unlike it is."""
        ends = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
        return np.stack(
            [
                _whole(
                    step.source
                    * step.target
                    * (self._distance(step, *ends) + self._excess(step, *ends))
                )
                for step in self.links
            ]
        )

    def coarser(self) -> VectorPairing:
        """Return it with every two sentences of either side as one, and links of one with one."""
        settings = replace(self._settings, largest=1)
        return VectorPairing(self._source.coarser(), self._target.coarser(), settings)

    def scores(self, spans: Sequence[Span]) -> list[float]:
        """Return the cosines of linked groups' texts, -1 to 1."""
        if not spans:
            return []
        source = [self._source.groups[span[1] - span[0] - 1, span[1]] for span in spans]
        target = [self._target.groups[span[3] - span[2] - 1, span[3]] for span in spans]
        return list(map(float, cosine_pairs(np.array(source), np.array(target))))

    def _distance(self, step: Step, rows: Places, columns: Places) -> Floats:
        """(1 - cosine) of groups, 1 for those as far apart as from unrelated sentences."""
        a, b = step.source - 1, step.target - 1
        cosines = unit_products(self._source.groups[a, rows], self._target.groups[b, columns])
        usual = self._strangeness[0][a, rows][:, None] + self._strangeness[1][b, columns]
        return np.asarray(2 * (1 - cosines.astype(np.float64)) / np.maximum(usual, 2.0**-10))

    def _excess(self, step: Step, rows: Places, columns: Places) -> Floats:
        """The squared logarithm of the lengths' ratio against that of the documents, weighed."""
        lengths = [
            document.ends[places] - document.ends[np.maximum(places - count, 0)] + SMOOTHING
            for document, places, count in (
                (self._source, rows, step.source),
                (self._target, columns, step.target),
            )
        ]
        usual = np.log((self._target.ends[-1] + 1) / (self._source.ends[-1] + 1))
        ratios = np.log(lengths[1]) - np.log(lengths[0])[:, None] - usual
        return np.asarray(self._settings.length * ratios**2)


def _strangeness(document: Document, strangers: Vectors) -> Floats:
    """The mean of 1 - cosine of each group with unrelated sentences, ``(largest, n + 1)``."""
    means = np.zeros(document.groups.shape[:2])
    for part, found in zip(document.groups, means, strict=True):
        for first in range(0, len(part), BLOCK_ROWS):
            rows = slice(first, first + BLOCK_ROWS)
            found[rows] = unit_products(part[rows], strangers).mean(axis=1, dtype=np.float64)
    return 1.0 - means


def _whole(costs: Floats) -> Costs:
    """Round costs to whole numbers."""
    return np.rint(costs * UNIT).astype(np.int64)
