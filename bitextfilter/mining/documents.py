"""Alignment of two documents: which of their sentences are translations of each other, in order?

By vectors of a model, by words that the documents teach (for languages without a model), or by
lengths alone. Sentences are those of a list; each link is scored as its way scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.mining.coarse_to_fine import Link, align
from bitextfilter.mining.document_vectors import (
    Document,
    Strangers,
    VectorPairing,
    document,
    group_sums,
    groups,
)
from bitextfilter.mining.lengths import LengthPairing
from bitextfilter.mining.lexicon import learned_vectors, surface_vectors
from bitextfilter.mining.link_costs import LinkSettings, link_size, whole
from bitextfilter.mining.monotonic import Costs, Span, Step
from bitextfilter.mining.second_opinion import reconsider
from bitextfilter.similarity.vectors import Scores, Vectors

__all__ = [
    "Alignment",
    "Link",
    "LinkSettings",
    "Means",
    "align_by_lengths",
    "align_by_vectors",
    "align_by_words",
]

Encode = Callable[[list[str]], Vectors]
"""From texts to their vectors ``(n, dim)``."""
Judge = Callable[[list[str], list[str]], Scores]
"""From ``n`` pairs of texts to how probably they are translations, ``(n,)``, 0 to 1."""
Documents = tuple[Document, Document]

PRIOR = 200
"""So many characters, and as many of their translation, are thought to have been seen before."""
ROUNDS = 2
"""How often words are learned from the links found so far."""


class Alignment(NamedTuple):
    """The links between two documents, in order; every sentence of either is in one."""

    links: list[Link]
    unlikeness: float | None
    """How far linked sentences are apart, from 0 to about 1, as far as unrelated ones; sentences
    that are left out count as 1. None if lengths alone were looked at."""


class Means(NamedTuple):
    """What a model brings to the alignment of documents in its languages."""

    encoders: tuple[Encode, Encode]
    """Of either side's texts."""
    strangers: Strangers | None = None
    """See :class:`VectorPairing`."""
    judge: Judge | None = None
    """Gives a second opinion on links."""


def align_by_vectors(
    source: Sequence[str], target: Sequence[str], means: Means, settings: LinkSettings
) -> Alignment:
    """Align by the vectors of sentences and of neighbouring sentences joined by a space.

    A link's score is the cosine of its two texts, -1 to 1.

    Args:
        source: the sentences of one document.
        target: those of the other.
        means: vectors, and perhaps more.
        settings: what a link may be, and what counts.
    """
    source_document, target_document = (
        document(side, encode(groups(side, settings.largest)), settings.largest)
        for side, encode in zip((source, target), means.encoders, strict=True)
    )
    documents = source_document, target_document
    links = align(VectorPairing(*documents, settings, None, means.strangers))
    pairing = VectorPairing(*documents, settings, _ratio(links, documents), means.strangers)
    links = align(pairing, links)
    if means.judge is not None:
        doubts = partial(_doubts, (source, target), means.judge, settings.doubt)
        links = reconsider(pairing, links, doubts)
    return _alignment(pairing, links)


def align_by_words(
    source: Sequence[str], target: Sequence[str], settings: LinkSettings
) -> Alignment:
    """Align by words that look alike, then by words that are linked with each other elsewhere.

    A link's score is the cosine of what is known of its words, -1 to 1.
    """
    surface = [
        Document(group_sums(vectors, settings.largest), _ends(side))
        for vectors, side in zip(surface_vectors(source, target), (source, target), strict=True)
    ]
    documents = surface[0], surface[1]
    pairing = VectorPairing(*documents, settings)
    links = align(pairing)
    for _ in range(ROUNDS):
        learned = [
            one.with_groups(group_sums(vectors, settings.largest), 1.0)
            for one, vectors in zip(surface, learned_vectors(source, target, links), strict=True)
        ]
        ratio = _ratio(links, documents)
        pairing = VectorPairing(learned[0], learned[1], settings, ratio)
        links = align(pairing, links)
    return _alignment(pairing, links)


def align_by_lengths(source: Sequence[str], target: Sequence[str]) -> Alignment:
    """Align by how many characters sentences have.

    A link's score is how probably translations differ so much, 0 to 1.
    """
    return Alignment(align(LengthPairing(_ends(source), _ends(target))), None)


def _doubts(
    sides: tuple[Sequence[str], Sequence[str]], judge: Judge, weight: float, spans: Sequence[Span]
) -> Costs:
    """What links cost more: their size × the weight × how probably they are no translations."""
    source = [" ".join(sides[0][span.source_start : span.source_stop]) for span in spans]
    target = [" ".join(sides[1][span.target_start : span.target_stop]) for span in spans]
    steps = [Step(span[1] - span[0], span[3] - span[2]) for span in spans]
    sizes = np.array([link_size(step) for step in steps])
    return whole(weight * sizes * (1.0 - judge(source, target).astype(np.float64)))


def _alignment(pairing: VectorPairing, links: list[Link]) -> Alignment:
    return Alignment(links, pairing.unlikeness([link.span for link in links]))


def _ends(sentences: Sequence[str]) -> NDArray[np.int64]:
    """The characters up to each position, ``(n + 1,)``."""
    return np.cumsum([0, *map(len, sentences)], dtype=np.int64)


def _ratio(links: Sequence[Link], documents: Documents) -> float:
    """Target characters for a source character, of sentences that are linked; near 1 if few are."""
    linked = [link for link in links if link.score is not None]
    source, target = (one.ends for one in documents)
    before = sum(int(source[link.source.stop] - source[link.source.start]) for link in linked)
    after = sum(int(target[link.target.stop] - target[link.target.start]) for link in linked)
    return (after + PRIOR) / (before + PRIOR)
