"""Document alignment: links between the sentences of two documents, in order.

A link gets dearer the more it is doubted. To ask about every link that there could be would take
long. So the cheapest path is looked for as if only links asked about were doubted; then those of
that path are asked about; and so on, until all of them are known. Then no path is cheaper, whatever
would be said of other links, since doubts only make them dearer (lazy search of paths: Dellin &
Srinivasa 2016, "A unifying formalism for shortest path problems with expensive edge evaluations").

By vectors of a model, by words that the documents teach (for languages without a model), or by
lengths alone. Sentences are those of a list; each link is scored as its way scores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Integers, Scores, Vectors
from bitextfilter.mining.document_vectors import (
    Document,
    Strangers,
    VectorPairing,
    document,
    group_sums,
    groups,
    learned_vectors,
    surface_vectors,
)
from bitextfilter.mining.link_costs import LengthPairing, LinkSettings, link_size, whole
from bitextfilter.mining.monotonic import (
    IMPOSSIBLE,
    Link,
    Pairing,
    Span,
    Step,
    align,
    cheapest_path,
    near,
    scored,
)

Doubts = Callable[[Sequence[Span]], Integers]
"""From links to what they cost more, ``(n,)``, not below 0."""

_MARGIN = 8
"""How many sentences to either side of the first path are looked at."""
RESCORING_ROUNDS = 12
"""So often the links of a path are asked about; after that, only links asked about are taken."""


def reconsider(pairing: Pairing, links: Sequence[Link], doubts: Doubts) -> list[Link]:
    """Align two documents again, near the cheapest alignment, with doubts counting, too.

    Args:
        pairing: what links cost without doubts.
        links: the cheapest alignment by that.
        doubts: asked about some of the links, about each once.
    """
    costs = _DoubtedCosts(pairing)
    band = near(links, pairing, _MARGIN)
    spans = [link.span for link in links]
    for _ in range(RESCORING_ROUNDS):
        new = costs.unknown(spans)
        if not new:
            break
        costs.learn(new, doubts(new))
        spans = cheapest_path(costs, band)[0]
    if costs.unknown(spans):
        costs.only_known = True
        spans = cheapest_path(costs, band)[0]
    return scored(pairing, spans)


class _DoubtedCosts:
    """What steps cost, with the doubts that are known."""

    def __init__(self, pairing: Pairing) -> None:
        """Know no doubts."""
        self._pairing = pairing
        self._numbers = {step: number for number, step in enumerate(pairing.links)}
        self._doubts: dict[Span, int] = {}
        self._ending: defaultdict[int, list[Span]] = defaultdict(list)
        self._blocks: dict[tuple[int, int, int, int], Integers] = {}
        self.links = pairing.links
        self.skip_source, self.skip_target = pairing.skip_source, pairing.skip_target
        self.only_known = False
        """Whether all other links are impossible."""

    def unknown(self, spans: Iterable[Span]) -> list[Span]:
        """Return the links among the steps of a path that have not been asked about."""
        return [span for span in spans if all(_step(span)) and span not in self._doubts]

    def learn(self, spans: Sequence[Span], doubts: Integers) -> None:
        """Keep what links cost more."""
        for span, doubt in zip(spans, doubts.tolist(), strict=True):
            self._doubts[span] = doubt
            self._ending[span.source_stop].append(span)

    def block(self, rows: slice, columns: slice) -> Integers:
        """Return ``(links, rows, columns)``."""
        key = rows.start, rows.stop, columns.start, columns.stop
        if key not in self._blocks:
            self._blocks[key] = self._pairing.block(rows, columns)
        plain = self._blocks[key]
        found = np.full_like(plain, IMPOSSIBLE) if self.only_known else plain.copy()
        for row in range(rows.start, rows.stop):
            for span in self._ending.get(row, ()):
                if columns.start <= span.target_stop < columns.stop:
                    place = row - rows.start, span.target_stop - columns.start
                    cell = (self._numbers[_step(span)], *place)
                    found[cell] = plain[cell] + self._doubts[span]
        return found


def _step(span: Span) -> Step:
    """How many sentences of either side a step takes."""
    return Step(span.source_stop - span.source_start, span.target_stop - span.target_start)


_Encode = Callable[[list[str]], Vectors]
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

    encoders: tuple[_Encode, _Encode]
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
) -> Integers:
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
