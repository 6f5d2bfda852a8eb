"""Verification of a model folder: read every file, and compute every kind of output once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

from bitextfilter.encoders.reference_classifier import load_reference_classifier
from bitextfilter.errors import ModelError
from bitextfilter.models.checkpoint import load_tensors
from bitextfilter.models.folders import THRESHOLDS, kind_of, model_digest, read_config
from bitextfilter.scoring.measures import possible_measures
from bitextfilter.scoring.model import load
from bitextfilter.scoring.thresholds import own_thresholds
from bitextfilter.translation.registry import load_translator

_SENTENCE, _OTHER, _TEMPLATE = "1 2 3", "3 2 1", "( S )"


def verify_model(folder: Path) -> None:
    """Raise ModelError where a model is damaged, or one of its outputs or tensors is not finite."""
    outputs = dict(_OUTPUTS[kind_of(read_config(folder)) or "encoder"](folder))
    for path in sorted(folder.glob("*.safetensors")):
        for name, tensor in load_tensors(path).items():
            if not tensor.isfinite().all():
                raise ModelError(f"{path}: tensor {name} holds numbers that are not finite")
    for name, output in outputs.items():
        if not math.isfinite(output):
            raise ModelError(f"{folder}: its {name} is {output}")
    _check_thresholds(folder)


def _check_thresholds(folder: Path) -> None:
    """Raise ModelError for thresholds of other weights, or of a measure that the model lacks."""
    own, others = own_thresholds(folder, model_digest(folder))
    if others:
        raise ModelError(
            f"{folder / THRESHOLDS}: {others} thresholds were estimated with other weights:"
            " bitext-models recommend keeps new ones, and leaves these out"
        )
    lacking = {"mlp", "joint"} if "classifier" not in read_config(folder) else set()
    for threshold in own:
        if threshold.measure in lacking:
            raise ModelError(
                f"{folder / THRESHOLDS}: a threshold of {threshold.measure},"
                " and the model has no classifier"
            )


def _scores(folder: Path) -> Iterator[tuple[str, float]]:
    """Score a pair by every measure."""
    model = load(folder)
    measures = possible_measures(model.classifier is not None, model.background is not None)
    for name, scores in model.score([_SENTENCE], [_OTHER], measures).items():
        yield f"{name} of a pair", float(scores[0])


def _translations(folder: Path) -> Iterator[tuple[str, float]]:
    """Translate a sentence, and score a pair."""
    translator = load_translator(folder)
    templates = None if translator.processor.templates is None else [_TEMPLATE]
    (found,) = translator.translate([_SENTENCE], templates=templates)
    for rank, row in enumerate(found.hypotheses, 1):
        yield f"score of translation {rank}", row.score
    score = translator.log_probabilities([_SENTENCE], [_OTHER], templates)[0]
    yield "score of a pair", float(score)


def _probabilities(folder: Path) -> Iterator[tuple[str, float]]:
    """Classify a sentence."""
    classifier = load_reference_classifier(folder)
    yield "probability of a sentence", float(classifier.probabilities([_SENTENCE])[0])


_OUTPUTS: dict[str, Callable[[Path], Iterator[tuple[str, float]]]] = {
    "encoder": _scores,
    "translator": _translations,
    "reference_classifier": _probabilities,
}
"""Sample outputs by kind of model, each with its name."""
