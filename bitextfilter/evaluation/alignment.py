"""Sentence alignment: precision, recall and F1 of links against gold links.

As in Thompson & Koehn 2019, "Vecalign", section 5, after Sennrich & Volk 2011: a link is right
*strictly* if it is a gold link; *laxly* also if a gold link joins one of its source sentences with
one of its target sentences. Precision is the part of the links found that is right, including those
with an empty side; recall the part of the gold links without an empty side that is found; F1 their
harmonic mean. Links of several documents count together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from bitextfilter.arrays import Floats
from bitextfilter.evaluation.result import Bootstrap, Estimate, Result, estimates, record
from bitextfilter.io.documents import LinkedIndices

_FIGURES = [(how, what) for how in ("strict", "lax") for what in ("precision", "recall", "f1")]


@dataclass(frozen=True)
class LinkCounts:
    """Numbers of links that are right strictly, right laxly only, and wrong, ``(3,)``."""

    found: Floats
    """Of the links found."""
    gold: Floats
    """Of the gold links without an empty side, against the links found."""

    def __add__(self, other: LinkCounts) -> LinkCounts:
        """Return the counts of both."""
        return LinkCounts(self.found + other.found, self.gold + other.gold)


@dataclass(frozen=True)
class AlignmentFigure:
    """One figure of an alignment."""

    how: str
    """``strict`` or ``lax``."""
    measure: str
    """``precision``, ``recall`` or ``f1``."""
    estimate: Estimate
    """From 0 to 1."""


def compare_links(gold: Iterable[LinkedIndices], found: Iterable[LinkedIndices]) -> LinkCounts:
    """Compare the links found in a document with its gold links; copies count once."""
    known, given = ({link for link in links if any(link)} for links in (gold, found))
    known_whole, given_whole = ({link for link in links if all(link)} for links in (known, given))
    return LinkCounts(_right(given, known), _right(known_whole, given_whole))


def _right(links: Collection[LinkedIndices], reference: Collection[LinkedIndices]) -> Floats:
    """Count the links that are in the reference, that only overlap it on both sides, and others."""
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
    """Return precision, recall and F1, strict, then lax; 0 where no link is right."""
    figures = []
    for kinds in (1, 2):
        precision, recall = (part[:kinds].sum() / max(part.sum(), 1) for part in (found, gold))
        both = precision + recall
        figures += [precision, recall, 2 * precision * recall / both if both else 0.0]
    return np.array(figures)


def measure_alignment(counts: LinkCounts, bootstrap: Bootstrap) -> list[AlignmentFigure]:
    """Return precision, recall and F1, strict, then lax.

    For the intervals, links found and gold links are drawn anew separately.

    Raises ValueError without a link found, or without a gold link that joins sentences.
    """
    if not counts.found.sum() or not counts.gold.sum():
        raise ValueError("there are no links to compare")
    ends = estimates([counts.found, counts.gold], lambda strata: _figures(*strata), bootstrap)
    return [
        AlignmentFigure(how, what, Estimate(*column))
        for (how, what), column in zip(_FIGURES, ends.T.tolist(), strict=True)
    ]


def alignment_result(counts: LinkCounts, bootstrap: Bootstrap) -> Result:
    """Return a record for each figure. Raises ValueError as :func:`measure_alignment` does."""
    sizes = {"links": int(counts.found.sum()), "gold": int(counts.gold.sum())}
    records = []
    for each in measure_alignment(counts, bootstrap):
        figure = f"{each.how}.{each.measure} = {each.estimate.value:.4f}"
        records.append(record(each, figure, **sizes, **bootstrap.facts))
    names = ("how", "measure", "value", "low", "high", "links", "gold", "signature")
    return Result("alignment", dict.fromkeys(names, ".4f"), {"results": records}, sizes)
