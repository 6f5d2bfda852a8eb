"""Alignment of documents by a model, by words, or by lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from bitextfilter.arrays import Scores, Vectors
from bitextfilter.errors import SettingsError
from bitextfilter.mining import documents
from bitextfilter.mining.documents import Alignment, DocumentModel
from bitextfilter.mining.link_costs import LinkSettings
from bitextfilter.scoring.model import Model

Align = Callable[[Sequence[str], Sequence[str]], Alignment]
"""Function that aligns the sentences of two documents."""
_Encode = Callable[[str, Sequence[str]], Vectors]
"""Function from a language and ``n`` sentences to their vectors ``(n, dim)``."""


def aligner(
    by: str,
    settings: LinkSettings,
    model: Model | None = None,
    classifier: bool = False,
    encode: _Encode | None = None,
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
        return documents.align_by_lengths
    if by == "words":
        return partial(documents.align_by_words, settings=settings)
    if by != "model":
        raise SettingsError(f"{by!r} is none of model, words, length")
    if model is None:
        raise SettingsError("alignment by a model needs one; by words or length does not")
    if classifier and model.classifier is None:
        raise SettingsError(f"--classifier: the model {model.name} has none")
    encode = encode or (lambda language, sentences: model.encode(sentences, language))
    first, second = (partial(encode, language) for language in model.languages)
    sample = model.background
    background = None if sample is None else (sample.source, sample.target)
    scorer = partial(_probabilities, model) if classifier else None
    resources = DocumentModel((first, second), background, scorer)
    return partial(documents.align_by_vectors, model=resources, settings=settings)


def _probabilities(model: Model, sources: list[str], targets: list[str]) -> Scores:
    """Return the probability of each pair of texts to be translations, ``(n,)``."""
    return model.score(sources, targets, "mlp")["mlp"]
