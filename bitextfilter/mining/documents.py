"""Document alignment: links between the sentences of two documents, in order.

Links are found by vectors of a model, by words that the documents themselves teach (for languages
without a model), or by lengths alone.

A model scorer may re-score links: an expensive, better model, queried only for the links of the
cheapest path. Its penalties raise their costs, so another path may be the cheapest then; its links
are queried, and so on, until the cheapest path has no unqueried link. No other path can be cheaper,
since penalties are never negative (lazy search of paths: Dellin & Srinivasa 2016, "A unifying
formalism for shortest path problems with expensive edge evaluations").

Documents may have the same sentence twice in a row, as headings or a scanner leave them. A link of
one sentence with two equal ones is hardly a translation: one of the two is left out, unless the
other side repeats itself, too (``No, no.`` and ``Nein.`` ``Nein.``).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Integers, Scores, Vectors
from bitextfilter.errors import SettingsError
from bitextfilter.mining.anchors import (
    NO_ANCHORS,
    Anchors,
    Ban,
    PartCosts,
    align_between,
    links_of_loners,
    moved,
)
from bitextfilter.mining.chunks import LinkSettings
from bitextfilter.mining.link_costs import (
    BackgroundVectors,
    KnownBefore,
    LengthLinkCosts,
    VectorLinkCosts,
    learned_vectors,
    link_weight,
    surface_vectors,
    whole_costs,
)
from bitextfilter.mining.monotonic import (
    IMPOSSIBLE,
    Document,
    Link,
    LinkCosts,
    LinkSize,
    Span,
    align,
    band_near,
    character_ends,
    cheapest_path,
    with_scores,
)
from bitextfilter.mining.word_coverage import Encode, WordCoverage, document_words
from bitextfilter.scoring.model import Model
from bitextfilter.settings import none_of
from bitextfilter.similarity.vectors import unit_rows

_WORDS = re.compile(r"\w+")


def _words(sentence: str) -> tuple[str, ...]:
    """Return the words of a sentence; of one without any, its marks as one."""
    return tuple(_WORDS.findall(sentence.casefold())) or ("".join(sentence.split()),)


def _echo(words: Sequence[str]) -> int:
    """Return the most words that stand twice in a row: 2 in ``never more, never more``."""
    last: dict[str, int] = {}
    most = before = count = 0
    for place, word in enumerate(words):
        back = place - last.get(word, place)  # 0 for a new word
        count = count + 1 if back == before else 1
        if count >= back > most:
            most = back
        before, last[word] = back, place
    return most


def _repeats(words: Sequence[Sequence[str]], largest: int) -> Integers:
    """Return the words of the longest sentence that a group of k has twice in a row, by its end."""
    same = [len(one) if one == other else 0 for one, other in pairwise(words)]
    found = np.zeros((largest, len(words) + 1), np.int64)
    for count in range(2, largest + 1):
        for stop in range(count, len(words) + 1):
            found[count - 1, stop] = max(same[stop - count : stop - 1])
    return found


def _echoes(words: Sequence[Sequence[str]], largest: int) -> Integers:
    """Return the most words that a group of k sentences has twice in a row, by its end."""
    found = np.zeros((largest, len(words) + 1), np.int64)
    for stop in range(1, len(words) + 1):
        for count in range(1, min(largest, stop) + 1):
            group = [word for one in words[stop - count : stop] for word in one]
            found[count - 1, stop] = _echo(group)
    return found


class Repeats:
    """The links of two documents that only a repeated sentence makes, which are impossible."""

    def __init__(self, sides: tuple[Sequence[str], Sequence[str]], largest: int) -> None:
        """Take the sentences of both documents, and the most of them in a link."""
        words = [list(map(_words, side)) for side in sides]
        self._repeats = [_repeats(side, largest) for side in words]
        self.any = any(each.any() for each in self._repeats)
        """Whether there is a repeat."""
        self._echoes = [
            _echoes(side, largest) if other.any() else np.zeros_like(own)
            for side, own, other in zip(words, self._repeats, self._repeats[::-1], strict=True)
        ]

    def impossible(self, size: LinkSize, rows: slice, columns: slice) -> NDArray[np.bool_]:
        """Return which links of a size are impossible, by their ends, ``(rows, columns)``."""
        source, target = (
            (repeats[count - 1, part], echoes[count - 1, part])
            for repeats, echoes, count, part in zip(
                self._repeats, self._echoes, size, (rows, columns), strict=True
            )
        )
        one = source[0][:, None] > 2 * target[1]
        return np.asarray(one | (target[0] > 2 * source[1][:, None]))


class _Texts(NamedTuple):
    """The sentences of both documents, and what is known of their links."""

    source: Sequence[str]
    target: Sequence[str]
    anchors: Anchors = NO_ANCHORS


def _possible(costs: LinkCosts, texts: _Texts) -> LinkCosts:
    """Return costs in which no link is made by a repeated sentence alone, or has no counterpart."""
    n, m = len(texts.source), len(texts.target)
    repeats = Repeats(texts[:2], max(max(size) for size in costs.links))
    bans: list[Ban] = [repeats.impossible] if repeats.any else []
    if any(texts.anchors.alone):
        bans.append(links_of_loners(texts.anchors, (n, m)))
    return PartCosts(costs, Span(0, n, 0, m), bans) if bans else costs


def _aligned(
    costs: LinkCosts, texts: _Texts, before: Sequence[Span] = (), margin: int | None = None
) -> list[Span]:
    """Return the cheapest path around the anchors, as :func:`align` does."""
    possible = _possible(costs, texts)
    return align_between(
        texts.anchors, possible, before, lambda part, near, _: align(part, near, margin)
    )


PRIOR_CHARACTERS = 200
"""Characters added on either side to the linked sentences, for the ratio of lengths."""
LEARNING_ROUNDS = 2
"""Rounds of learning words from the links found so far."""
_NEAR = 16
"""Sentences to either side of the first path that are searched again, with words and lengths."""
_MARGIN = 8
"""Sentences to either side of the first path within which links are re-scored."""
RESCORING_ROUNDS = 12
"""Rounds of queries; after them, links that were not queried are impossible."""

LEAST_MEAN = 0.2
"""Mean cosine of a link and those beside it, below which links by a model are hardly right: chosen
on documents with parts that are no translations."""
_BESIDE = 2

ModelScorer = Callable[[list[str], list[str]], Scores]
"""Function from ``n`` pairs of texts to the probability of translations, ``(n,)``, 0 to 1."""
Penalties = Callable[[Sequence[Span]], Integers]
"""Function from links to additions to their costs, ``(n,)``, at least 0."""


class Alignment(NamedTuple):
    """Links between two documents, in order; every sentence of either is in one."""

    links: list[Link]
    distance: float | None
    """Mean distance of linked sentences: 0 for the same vector, 1 for unrelated sentences and for
    those left out. None if lengths alone were looked at."""


class DocumentModel(NamedTuple):
    """Functions and vectors of a model, for documents in its languages."""

    encoders: tuple[Encode, Encode]
    """Encoders of source and target texts."""
    background: BackgroundVectors | None = None
    """See :class:`VectorLinkCosts`."""
    scorer: ModelScorer | None = None
    """Re-scores links."""


def align_by_vectors(
    source: Sequence[str],
    target: Sequence[str],
    model: DocumentModel,
    settings: LinkSettings,
    anchors: Anchors = NO_ANCHORS,
) -> Alignment:
    """Align by the vectors of sentences and by those of their words.

    The score of a link is the cosine of the means of its sentences' vectors, -1 to 1.
    """
    sides, texts = (source, target), _Texts(source, target, anchors)
    encoded = list(zip(sides, model.encoders, strict=True))
    vectors = [encode(list(side)) for side, encode in encoded]
    words = [document_words(side, encode) for side, encode in encoded]
    coverage = WordCoverage(words[0], words[1], settings.largest)
    costs, path = _cheapest(vectors, texts, settings, model.background, coverage)
    if model.scorer is not None:
        penalties = partial(_penalties, sides, model.scorer, settings.penalty)

        def search(costs: LinkCosts, near: Sequence[Span], part: Span) -> list[Span]:
            return rescore_links(costs, near, lambda spans: penalties(moved(spans, part)))

        path = align_between(anchors, _possible(costs, texts), path, search)
    return _alignment(costs, path)


def align_by_given_vectors(
    source: Sequence[str],
    target: Sequence[str],
    vectors: tuple[Vectors, Vectors],
    settings: LinkSettings,
    anchors: Anchors = NO_ANCHORS,
) -> Alignment:
    """Align by given vectors of the sentences of both sides, ``(n, dim)`` and ``(m, dim)``.

    The vector of neighbouring sentences is the mean of theirs, each of length 1. The score of a
    link is the cosine of both sides, -1 to 1.
    """
    return _alignment(*_cheapest(vectors, _Texts(source, target, anchors), settings))


def _alignment(costs: VectorLinkCosts, path: Sequence[Span]) -> Alignment:
    """Return the links of a path with their scores, and their mean distance."""
    return Alignment(with_scores(costs.scores, path), costs.distance(path))


def _cheapest(
    vectors: Sequence[Vectors],
    texts: _Texts,
    settings: LinkSettings,
    background: BackgroundVectors | None = None,
    coverage: WordCoverage | None = None,
) -> tuple[VectorLinkCosts, list[Span]]:
    """Return the costs by vectors, lengths and words, and the cheapest path by them."""
    first, second = (
        Document(unit_rows(rows), character_ends(side), settings.largest)
        for rows, side in zip(vectors, texts[:2], strict=True)
    )
    path = _aligned(VectorLinkCosts(first, second, settings, None, background), texts)
    known = KnownBefore(_length_ratio(path, first.ends, second.ends), coverage)
    costs = VectorLinkCosts(first, second, settings, known, background)
    return costs, _aligned(costs, texts, path, _NEAR)


def align_by_words(
    source: Sequence[str],
    target: Sequence[str],
    settings: LinkSettings,
    anchors: Anchors = NO_ANCHORS,
) -> Alignment:
    """Align by words that look alike, then by words that are linked with each other elsewhere.

    The score of a link is the cosine of the vectors of its words, -1 to 1.
    """
    first, second = (
        Document(vectors, character_ends(side), settings.largest)
        for vectors, side in zip(surface_vectors(source, target), (source, target), strict=True)
    )
    costs, texts = VectorLinkCosts(first, second, settings), _Texts(source, target, anchors)
    path = _aligned(costs, texts)
    for _ in range(LEARNING_ROUNDS):
        one, other = learned_vectors(source, target, path)
        learned = first.with_vectors(one), second.with_vectors(other)
        known = KnownBefore(_length_ratio(path, first.ends, second.ends))
        costs = VectorLinkCosts(*learned, settings, known)
        path = _aligned(costs, texts, path)
    return _alignment(costs, path)


def align_by_lengths(
    source: Sequence[str], target: Sequence[str], anchors: Anchors = NO_ANCHORS
) -> Alignment:
    """Align by the numbers of characters of sentences.

    The score of a link is the probability that the lengths of translations differ so, 0 to 1.
    """
    costs = LengthLinkCosts(character_ends(source), character_ends(target))
    path = _aligned(costs, _Texts(source, target, anchors))
    return Alignment(with_scores(costs.scores, path), None)


def mean_scores(links: Sequence[Link]) -> list[float | None]:
    """Return the mean score of each link and of up to two on either side; None without a score.

    A right link may score low by itself; among wrong ones, all do.
    """
    scores = [link.score for link in links if link.score is not None]
    means = iter(
        sum(near) / len(near)
        for place in range(len(scores))
        for near in [scores[max(0, place - _BESIDE) : place + _BESIDE + 1]]
    )
    return [None if link.score is None else next(means) for link in links]


def _length_ratio(
    path: Sequence[Span], source: NDArray[np.int64], target: NDArray[np.int64]
) -> float:
    """Return target characters for a source character in linked sentences; near 1 for few.

    ``source`` and ``target`` are the characters up to each position.
    """
    linked = [span for span in path if all(span.size)]
    before = sum(int(source[span.source_stop] - source[span.source_start]) for span in linked)
    after = sum(int(target[span.target_stop] - target[span.target_start]) for span in linked)
    return (after + PRIOR_CHARACTERS) / (before + PRIOR_CHARACTERS)


def _penalties(
    sides: tuple[Sequence[str], Sequence[str]],
    scorer: ModelScorer,
    weight: float,
    spans: Sequence[Span],
) -> Integers:
    """Return size × weight × probability of being no translations, of each link."""
    source = [" ".join(sides[0][span.source_start : span.source_stop]) for span in spans]
    target = [" ".join(sides[1][span.target_start : span.target_stop]) for span in spans]
    sizes = np.array([link_weight(span.size) for span in spans])
    return whole_costs(weight * sizes * (1.0 - scorer(source, target).astype(np.float64)))


def rescore_links(costs: LinkCosts, path: Sequence[Span], penalties: Penalties) -> list[Span]:
    """Align two documents again, near their cheapest path, with penalties on links.

    *path* is the cheapest without; *penalties* is called with some links, once for each.
    """
    penalised, found = _PenalisedCosts(costs), list(path)
    band = band_near(path, costs, _MARGIN)
    for _ in range(RESCORING_ROUNDS):
        new = penalised.unqueried(found)
        if not new:
            break
        penalised.learn(new, penalties(new))
        found = cheapest_path(penalised, band)[0]
    if penalised.unqueried(found):
        penalised.queried_only = True
        found = cheapest_path(penalised, band)[0]
    return found


class _PenalisedCosts:
    """Costs of links with the penalties queried so far."""

    def __init__(self, costs: LinkCosts) -> None:
        self._costs = costs
        self._numbers = {size: number for number, size in enumerate(costs.links)}
        self._penalties: dict[Span, int] = {}
        self._ending: defaultdict[int, list[Span]] = defaultdict(list)
        self._blocks: dict[tuple[int, int, int, int], Integers] = {}
        self.links = costs.links
        self.skip_source, self.skip_target = costs.skip_source, costs.skip_target
        self.queried_only = False
        """Whether all other links are impossible."""

    def unqueried(self, spans: Iterable[Span]) -> list[Span]:
        """Return the links of a path without a penalty yet."""
        return [span for span in spans if all(span.size) and span not in self._penalties]

    def learn(self, spans: Sequence[Span], penalties: Integers) -> None:
        """Keep the penalties of links."""
        for span, penalty in zip(spans, penalties.tolist(), strict=True):
            self._penalties[span] = penalty
            self._ending[span.source_stop].append(span)

    def block(self, rows: slice, columns: slice) -> Integers:
        """Return ``(links, rows, columns)``."""
        key = rows.start, rows.stop, columns.start, columns.stop
        if key not in self._blocks:
            self._blocks[key] = self._costs.block(rows, columns)
        plain = self._blocks[key]
        found = np.full_like(plain, IMPOSSIBLE) if self.queried_only else plain.copy()
        for row in range(rows.start, rows.stop):
            for span in self._ending.get(row, ()):
                if columns.start <= span.target_stop < columns.stop:
                    place = row - rows.start, span.target_stop - columns.start
                    cell = (self._numbers[span.size], *place)
                    found[cell] = plain[cell] + self._penalties[span]
        return found


Align = Callable[..., Alignment]
"""Function that aligns the sentences of two documents, and by name may have ``anchors``."""
_EncodeIn = Callable[[str, Sequence[str]], Vectors]
"""Function from a language and ``n`` sentences to their vectors ``(n, dim)``."""


def aligner(
    by: str,
    settings: LinkSettings,
    model: Model | None = None,
    classifier: bool = False,
    encode: _EncodeIn | None = None,
) -> Align:
    """Return the function that aligns two documents.

    Args:
        by: ``model``, ``words`` or ``length``.
        settings: sizes and costs of links; not for ``length``.
        model: needed by ``model``.
        classifier: let the model's classifier re-score links.
        encode: encodes by the model; None for ``model.encode``.

    Raises:
        SettingsError: *by* is unknown, or the model or its classifier is missing.
    """
    if by == "length":
        return align_by_lengths
    if by == "words":
        return partial(align_by_words, settings=settings)
    if by != "model":
        raise SettingsError(f"by {none_of(by, ('model', 'words', 'length'))}")
    if model is None:
        raise SettingsError("alignment by a model needs one; by words or length does not")
    if classifier and model.classifier is None:
        raise SettingsError(f"--classifier: the model {model.name} has none")
    encode = encode or (lambda language, sentences: model.encode(sentences, language))
    first, second = (partial(encode, language) for language in model.languages)
    sample = model.background
    background = None if sample is None else (sample.source, sample.target)

    def probabilities(sources: list[str], targets: list[str]) -> Scores:
        return model.score(sources, targets, "mlp")["mlp"]

    scorer = probabilities if classifier else None
    resources = DocumentModel((first, second), background, scorer)
    return partial(align_by_vectors, model=resources, settings=settings)
