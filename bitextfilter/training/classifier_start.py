"""The classifier that a training starts from: another model's, carried to this one's encoder.

A classifier reads vectors of its own encoder. Where two encoders share a language, both encode the
same words of it: by least squares, the vectors of one become nearly those of the other, and the
classifier's weights are changed accordingly. What it knows of counterparts, of word order, length
and spelling stays; training mends the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.scoring.model import Model, distinct
from bitextfilter.similarity.classifier_settings import ClassifierSettings, WordClassifierSettings
from bitextfilter.similarity.pair_classifier import PairClassifier, load_classifier
from bitextfilter.text.features import WordReader
from bitextfilter.training.mapping import least_squares

_PROBE = "1 2 3"
"""Text that any two encoders know: with equal vectors, they are the same."""
_WORDS = 20_000
"""Most frequent words of a language that are encoded by both."""


def check_start(start: Model, model: Model, kind: str, share: float = 0) -> None:
    """Raise SettingsError where a classifier of *model* cannot start from that of *start*.

    That has to be of this *kind*, and of the same encoder; one of words may be of another encoder
    with a language in common, for a model of two languages. *share*: of its weights that are to
    stay in the end; above 0 with the same encoder alone.
    """
    own = start.classifier and start.classifier.settings.kind
    if own != kind:
        found = f"its classifier is of {own}, not {kind}" if own else "it has no classifier"
        raise SettingsError(f"--start {start.name}: {found}")
    if _same_encoder(start, model):
        return
    other = f"--start {start.name}: {model.name} has another encoder"
    if kind != WordClassifierSettings.kind:
        raise SettingsError(f"{other}; only a classifier of words can be carried to one")
    if share:
        raise SettingsError(f"{other}: leave out training.start_share")
    if len(model.processor.known) > 2:
        raise SettingsError(f"{other}, for more than two languages: start from a model with its")
    if not _shared_sides(start, model):
        raise SettingsError(f"{other}, and no language in common with it")


def started(
    start: Model,
    model: Model,
    shape: ClassifierSettings,
    sides: tuple[Sequence[str], Sequence[str]],
) -> PairClassifier:
    """Return the classifier of *start* for the vectors of *model*.

    *sides* are the training sentences, whose words show how the encoders' vectors correspond.
    Raises SettingsError as :func:`check_start`, and for another *shape*.
    """
    check_start(start, model, shape.kind)
    classifier = load_classifier(start.folder)
    assert classifier is not None, "check_start has seen to it"
    if _same_encoder(start, model):
        return classifier.carried(shape, None)
    assert isinstance(shape, WordClassifierSettings)
    own, other = [], []
    for side in _shared_sides(start, model):
        language, words = model.languages[side], _frequent_words(sides[side])
        own.append(model.encode(words, language) / shape.word_length)
        other.append(start.encode(words, language) / classifier.settings.word_length)
    change = least_squares(np.concatenate(own), np.concatenate(other))
    return classifier.carried(shape, np.asarray(change, dtype=np.float32))


def _same_encoder(start: Model, model: Model) -> bool:
    one, other = (each.encode_side([_PROBE], 0) for each in (start, model))
    return one.shape == other.shape and np.allclose(one, other, atol=1e-5)


def _shared_sides(start: Model, model: Model) -> list[int]:
    """Return the sides of *model* whose language *start* knows."""
    known = start.processor.known
    return [side for side, language in enumerate(model.languages) if language in known]


def _frequent_words(sentences: Sequence[str]) -> list[str]:
    """Return the most frequent words of some sentences, the most frequent first."""
    reader = WordReader()
    rows, _ = reader.read(distinct(sentences)[0])
    times: NDArray[np.int64] = np.bincount(rows.flat, minlength=len(reader.words))
    order = np.argsort(-times, kind="stable")[: _WORDS + 1]
    return [reader.words[place] for place in order if reader.words[place]]
