"""How well the links between two documents' sentences are those that are known to be right.

As in Thompson & Koehn 2019, "Vecalign", section 5, after Sennrich & Volk 2011: a link is right
*strictly* if it is a gold link; *laxly* also if a gold link joins one of its source sentences with
one of its target sentences. Precision is the part of the links found that is right, those that
leave sentences out included; recall the part of the gold links found, those not included; F1 their
harmonic mean. Links of several documents are counted together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from bitextfilter.arrays import Floats
from bitextfilter.evaluation.filtering import Bootstrap, Estimate, estimates
from bitextfilter.io.links import LinkedIndices

_FIGURES = [(how, what) for how in ("strict", "lax") for what in ("precision", "recall", "f1")]


@dataclass(frozen=True)
class LinkCounts:
    """How many links are right strictly, laxly only, and not, ``(3,)``."""

    found: Floats
    """Of the links found."""
    gold: Floats
    """Of the gold links that leave nothing out, against those found."""

    def __add__(self, other: LinkCounts) -> LinkCounts:
        """Return the counts of both."""
        return LinkCounts(self.found + other.found, self.gold + other.gold)


@dataclass(frozen=True)
class Aligned:
    """One figure of an alignment."""

    how: str
    """``strict`` or ``lax``."""
    measure: str
    """``precision``, ``recall`` or ``f1``."""
    estimate: Estimate
    """From 0 to 1."""

    @property
    def figure(self) -> str:
        """The value as a signature begins: ``strict.f1 = 0.9000``."""
        return f"{self.how}.{self.measure} = {self.estimate.value:.4f}"


def compare_links(gold: Iterable[LinkedIndices], found: Iterable[LinkedIndices]) -> LinkCounts:
    """Hold the links found in a document against its gold links; copies count once."""
    known, given = ({link for link in links if any(link)} for links in (gold, found))
    known_whole, given_whole = ({link for link in links if all(link)} for links in (known, given))
    return LinkCounts(_right(given, known), _right(known_whole, given_whole))


def _right(links: Collection[LinkedIndices], reference: Collection[LinkedIndices]) -> Floats:
    """How many links are in the reference, only overlap it on both sides, do neither."""
    joined: dict[int, set[int]] = {}
    for sources, targets in reference:
        for source in sources:
            joined.setdefault(source, set()).update(targets)
    counts = np.zeros(3)
    for link in links:
        laxly = any(not joined.get(source, set()).isdisjoint(link[1]) for source in link[0])
        counts[0 if link in reference else 1 if laxly else 2] += 1
    return counts


def _figures(found: Floats, gold: Floats) -> Floats:
    """Precision, recall and F1 of what is right strictly, then laxly; 0 where nothing is right."""
    figures = []
    for kinds in (1, 2):
        precision, recall = (part[:kinds].sum() / max(part.sum(), 1) for part in (found, gold))
        both = precision + recall
        figures += [precision, recall, 2 * precision * recall / both if both else 0.0]
    return np.array(figures)


def measure_alignment(compared: LinkCounts, bootstrap: Bootstrap) -> list[Aligned]:
    """Return precision, recall and F1, strict, then lax.

    For the intervals, links found and gold links are drawn anew, each by themselves.

    Raises ValueError where there is no link found or no gold link that joins sentences.
    """
    if not compared.found.sum() or not compared.gold.sum():
        raise ValueError("there are no links to compare")
    ends = estimates([compared.found, compared.gold], lambda strata: _figures(*strata), bootstrap)
    return [
        Aligned(how, what, Estimate(*column))
        for (how, what), column in zip(_FIGURES, ends.T.tolist(), strict=True)
    ]
