"""Translations found by a model, in collections and in documents, and how well it finds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.text.tokens import sentence_list

if TYPE_CHECKING:
    from bitextfilter.evaluation.recovery import Recovery, RowScorer
    from bitextfilter.scoring.model import Model


def mine(
    model: Model,
    sources: Iterable[str],
    targets: Iterable[str],
    *,
    similarity: str = "csls",
    retrieval: str = "max",
    neighbours: int = 4,
    min_score: float | None = None,
) -> list[tuple[str, str, float]]:
    """Find translations among two collections of sentences, as ``bitext-align`` does.

    Returns source, target and score, best first; each distinct sentence counts once.

    Args:
        model: whose languages the sentences are in.
        sources: sentences of its first language.
        targets: sentences of its second language.
        similarity: a measure of :meth:`Model.score`, or ``joint``.
        retrieval: ``forward``, ``backward``, ``intersect`` or ``max``.
        neighbours: candidates of each sentence, and neighbours of a margin.
        min_score: pairs below it are left out.

    Raises SettingsError for what is unknown, or what the model lacks.
    """
    from bitextfilter.io.vector_file import as_kept
    from bitextfilter.mining import comparable
    from bitextfilter.mining.comparable import scorer_of

    threads = model.threads
    settings = comparable.MiningSettings(similarity, retrieval, neighbours, min_score, threads)
    texts = [list(dict.fromkeys(side)) for side in sentence_sides(sources, targets)]
    source, target = (
        as_kept(model.encode(side, language), "float16")
        for side, language in zip(texts, model.languages, strict=True)
    )
    scorer = scorer_of(model.pair_scorer, ((source, texts[0]), (target, texts[1])), settings)
    mined = comparable.mine(source, target, settings, scorer)
    places = zip(mined.source.tolist(), mined.target.tolist(), mined.score.tolist(), strict=True)
    return [(texts[0][i], texts[1][j], score) for i, j, score in places]


def align_documents(
    model: Model | None,
    sources: Iterable[str],
    targets: Iterable[str],
    *,
    by: str = "model",
    classifier: bool = False,
    largest: int = 5,
    skip: float = 0.9,
) -> list[tuple[list[int], list[int], float | None]]:
    """Link the sentences of a document with those of its translation, in their order.

    Returns the indices of linked sentences of either side, and the link's score; a sentence that
    is left out stands alone, with None. As ``bitext-align --monotonic``.

    Args:
        model: needed by ``model``; others take None.
        sources: the sentences of one document.
        targets: the sentences of the other.
        by: ``model`` (score: cosine), ``words`` (cosine) or ``length`` (0 to 1).
        classifier: ask the model's classifier about links, too.
        largest: most sentences of a side in one link.
        skip: cost of a sentence that is left out, where linking unrelated ones costs 1.

    Raises SettingsError for what is unknown, out of range, or what the model lacks.
    """
    from bitextfilter.mining.link_costs import LinkSettings
    from bitextfilter.workflows.document_alignment import aligner

    if not 1 <= largest <= 10 or not 0 <= skip <= 100:
        raise SettingsError(f"largest is 1 to 10 and skip 0 to 100, not {largest} and {skip:g}")
    align = aligner(by, LinkSettings(largest, skip), model, classifier)
    links = align(*sentence_sides(sources, targets)).links
    return [(list(link.source), list(link.target), link.score) for link in links]


def recovery(
    model: Model,
    sources: Iterable[str],
    targets: Iterable[str],
    measures: str | Sequence[str] = ("cosine", "csls"),
    *,
    neighbours: int = 10,
) -> dict[str, Recovery]:
    """Measure how well a model finds ``n`` translations again, as ``bitext-evaluate recovery``.

    Returns by measure the errors in percent: ``forward``, ``backward`` and ``mean``; and how many
    ``pairs`` there were, and were ``set_aside`` since they repeat a text.

    Args:
        model: whose languages the sentences are in.
        sources: ``n`` sentences.
        targets: their translations.
        measures: ``cosine``, ``euclidean``, ``csls``, ``ratio``, ``distance``; ``mlp`` takes a
            minute for 1,000 pairs.
        neighbours: sentences that a margin's mean is over.

    Raises:
        InputError: there are no pairs.
        SettingsError: a measure is unknown, or needs a classifier that the model lacks.
        ValueError: the sides differ in number.
    """
    from bitextfilter.evaluation.recovery import distinct_pairs, recover

    names = (measures,) if isinstance(measures, str) else tuple(measures)
    sides = sentence_sides(sources, targets)
    kept = distinct_pairs(*sides)
    if not kept:
        raise InputError("no pairs to find")
    source, target = ([side[place] for place in kept] for side in sides)
    found = {
        name: recover(source, target, scorer)
        for name, scorer in _row_scorers(model, (source, target), names, neighbours)
    }
    aside = len(sides[0]) - len(kept)
    return {name: replace(result, set_aside=aside) for name, result in found.items()}


def _row_scorers(
    model: Model, sides: tuple[list[str], list[str]], names: Sequence[str], neighbours: int
) -> Iterator[tuple[str, RowScorer]]:
    """Yield the scorer of all pairs by each measure."""
    from bitextfilter.evaluation.recovery import MATRICES, vector_scorer

    for name in names:
        if name not in MATRICES or (name == "mlp" and model.classifier is None):
            raise SettingsError(f"{name!r} is no measure of {model.name}: {', '.join(MATRICES)}")
    source, target = map(model.encode, sides, model.languages)
    classify = model.pair_scorer((source, sides[0]), (target, sides[1]))
    for name in names:
        yield name, vector_scorer(name, source, target, classify, neighbours)


def sentence_sides(sources: Iterable[str], targets: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return both sides as lists; TypeError for what are no sentences."""
    return sentence_list(sources, "sources"), sentence_list(targets, "targets")
