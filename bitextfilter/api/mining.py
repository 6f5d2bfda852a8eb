"""Translations found in collections of sentences and of documents, and sentences aligned."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from bitextfilter.api.arguments import checked
from bitextfilter.api.pairs import sentence_sides
from bitextfilter.api.scoring import recommended
from bitextfilter.errors import SettingsError

if TYPE_CHECKING:
    from bitextfilter.mining.comparable import MiningSettings
    from bitextfilter.scoring.model import Model


@checked(neighbours=">= 1")
def mine(
    model: Model,
    sources: Iterable[str],
    targets: Iterable[str],
    *,
    similarity: str | None = None,
    retrieval: str = "max",
    neighbours: int = 4,
    min_score: float | Literal["recommended", "none"] | None = None,
) -> list[tuple[str, str, float]]:
    """Find translations in two collections of sentences, as ``bitext-align`` does.

    Returns source, target and score, best first; repeated sentences count once.

    Args:
        model: a model of both languages.
        sources, targets: sentences of its first and of its second language.
        similarity: a measure of :meth:`Model.score`, or ``joint``; None for ``joint``, or
            ``csls`` if the model has no classifier.
        retrieval: ``forward``, ``backward``, ``intersect`` or ``max``.
        neighbours: candidates per sentence, and neighbours in a margin.
        min_score: lowest score; ``recommended`` for the model's cut, ``none`` for no cut, None for
            the model's cut if it has one: a UserWarning tells where it has not.

    Raises SettingsError for an unknown value, a measure that the model lacks, or a cut that it
    lacks.
    """
    from bitextfilter.mining.comparable import MiningSettings

    if similarity is None:
        similarity = "csls" if model.classifier is None else "joint"
    least = _least(model, similarity, min_score)
    settings = MiningSettings(similarity, retrieval, neighbours, least, model.threads)
    return _mined(model, sentence_sides(sources, targets), settings)


def _mined(
    model: Model, sides: tuple[list[str], list[str]], settings: MiningSettings
) -> list[tuple[str, str, float]]:
    """Return the pairs of two collections, best first."""
    from bitextfilter.io.vectors import as_kept
    from bitextfilter.mining.comparable import choose_pairs, scorer_for
    from bitextfilter.search.bidirectional import bidirectional_search
    from bitextfilter.similarity.vectors import unit_rows

    texts = [list(dict.fromkeys(side)) for side in sides]
    source, target = (
        as_kept(model.encode(side, language), "float16")
        for side, language in zip(texts, model.languages, strict=True)
    )
    scorer = scorer_for(settings, ((source, texts[0]), (target, texts[1])), model.pair_scorer)
    units = unit_rows(source), unit_rows(target)
    nearest = bidirectional_search(*units, settings.neighbours, model.threads)
    mined = choose_pairs(nearest, settings, scorer)
    places = zip(mined.source.tolist(), mined.target.tolist(), mined.score.tolist(), strict=True)
    return [(texts[0][i], texts[1][j], score) for i, j, score in places]


def _least(
    model: Model, similarity: str, asked: float | Literal["recommended", "none"] | None
) -> float | None:
    """Return the lowest score of mined pairs."""
    if asked == "none" or isinstance(asked, int | float):
        return None if asked == "none" else asked
    try:
        return recommended(model, similarity, "mining").threshold
    except SettingsError as error:
        if asked is not None:
            raise
        warnings.warn(f"wrong pairs are returned, too: {error}", stacklevel=4)
        return None


@checked(largest=">= 1, <= 10", skip=">= 0, <= 100")
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
    """Link the sentences of a document and its translation, as ``bitext-align-documents`` does.

    Returns each link's source indices, target indices and score, in order; an unlinked sentence
    stands alone, with the score None.

    Args:
        model: for ``by="model"`` and ``classifier``; else None.
        sources, targets: the sentences of both documents.
        by: ``model`` (score: cosine), ``words`` (cosine) or ``length`` (0 to 1).
        classifier: score links with the model's classifier, too.
        largest: most sentences of a side in one link, 1 to 10.
        skip: cost of leaving a sentence out, 0 to 100; linking unrelated ones costs 1.

    Raises SettingsError for a value that is unknown, out of range, or impossible with the model.
    """
    from bitextfilter.mining.documents import aligner
    from bitextfilter.mining.link_costs import LinkSettings

    align = aligner(by, LinkSettings(largest, skip), model, classifier)
    links = align(*sentence_sides(sources, targets)).links
    return [(list(link.source), list(link.target), link.score) for link in links]


@checked(neighbours=">= 1")
def pair_documents(
    model: Model,
    sources: Mapping[str, Sequence[str]],
    targets: Mapping[str, Sequence[str]],
    *,
    min_score: float | Literal["recommended", "none"] = "recommended",
    neighbours: int = 10,
) -> list[tuple[str, str, float]]:
    """Find which documents are translations of each other, as ``bitext-pair-documents`` does.

    Returns the names of both and the probability, 0 to 1, best first; each document once at most.
    Texts and vectors wait in a temporary folder.

    Args:
        model: a model of both languages.
        sources, targets: names of documents → their sentences, at least one each.
        min_score: lowest probability; ``recommended`` for 0.8, ``none`` for all.
        neighbours: candidates of a document.

    Raises SettingsError for a document without sentences, or neighbours below 1.
    """
    from bitextfilter.mining.document_pairs import RECOMMENDED_SCORE
    from bitextfilter.text.words import sentence_list

    sides = [
        {n: sentence_list(texts, f"{name}[{n!r}]") for n, texts in side.items()}
        for name, side in (("sources", sources), ("targets", targets))
    ]
    if empty := [name for side in sides for name, sentences in side.items() if not sentences]:
        raise SettingsError(f"the document {empty[0]!r} has no sentences")
    if isinstance(min_score, str):
        min_score = {"recommended": RECOMMENDED_SCORE, "none": -math.inf}[min_score]
    return _paired(model, sides, neighbours, min_score)


def _paired(
    model: Model, sides: Sequence[Mapping[str, list[str]]], neighbours: int, least: float
) -> list[tuple[str, str, float]]:
    """Return the pairs of documents that have at least this probability."""
    import numpy as np

    from bitextfilter.mining.document_pairing import (
        DocumentPairer,
        PairingHooks,
        PairingSettings,
        named_pairs,
    )

    most = max(1, *map(len, sides))
    settings = PairingSettings(min(neighbours, most), threads=model.threads)
    with TemporaryDirectory() as folder:
        pairer = DocumentPairer(model, Path(folder), settings, PairingHooks())
        stores = pairer.gather(side.items() for side in sides)
        found = pairer.pair()
        kept = found.take(found.score >= np.float32(least))
        return [(one[1], other[1], score) for one, other, score in named_pairs(stores, kept)]
