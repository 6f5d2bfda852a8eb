"""A model folder described without its weights, and verified: every file read, every output tried.

Only a verification imports torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from bitextfilter.errors import ModelError
from bitextfilter.models.folders import (
    ATTRIBUTION,
    CALIBRATION,
    CARD,
    SECOND,
    THRESHOLDS,
    check_folder,
    file_sizes,
    find_model,
    kind_of,
    model_digest,
    naming_pair,
    read_config,
)
from bitextfilter.scoring.background import load_background, names_in_file
from bitextfilter.scoring.measures import default_measure, possible_measures
from bitextfilter.scoring.thresholds import own_thresholds, read_grades
from bitextfilter.text.processor import TextProcessor


def describe_model(name_or_folder: str | Path) -> dict[str, Any]:
    """Return the facts about a model by name, as JSON takes them.

    ``kind`` is a key of ``folders.MAKERS``; only an encoder has measures. ``dimension`` is the
    width of the sentence vectors, or None where neither a classifier nor a background sample
    tells it; ``second`` is the weight, the architecture and the shape of a second encoder, or None;
    ``vocabulary`` and ``trigrams`` are numbers of ids; ``neighbours`` are the sizes of
    the background sample (of the first two languages), or None. ``card`` and ``attribution`` are
    names of files, or None.

    Raises NotFoundError where there is no such model, or a file is missing; ModelError where one
    of the files read is damaged. Tensors are not read.
    """
    folder = find_model(name_or_folder)
    config, files = read_config(folder), file_sizes(folder)
    sizes = TextProcessor.load(folder, config).sizes()
    kind = kind_of(config)
    architecture, shape = _architecture(folder, config, kind)
    classifier, names = config.get("classifier"), names_in_file(config["languages"])[:2]
    background = load_background(folder, names=names)
    dimension = (classifier or {}).get("dim", background.dim if background else None)
    return {
        "name": str(name_or_folder),
        "folder": str(folder),
        "digest": model_digest(folder),
        "kind": kind,
        "languages": config["languages"],
        "architecture": architecture,
        "shape": shape,
        "second": _second(folder, config),
        "dimension": dimension,
        "segmentation": config["segmentation"],
        "vocabulary": sizes["pieces"] if config["segmentation"] != "foreign" else None,
        "trigrams": sizes.get("trigrams"),
        "megabytes": round(sum(files.values()) / 1e6, 1),
        "classifier": classifier,
        "neighbours": [len(background.source), len(background.target)] if background else None,
        **(_measures(classifier, background, files) if kind == "encoder" else _NO_MEASURES),
        "card": CARD if CARD in files else None,
        "attribution": ATTRIBUTION if ATTRIBUTION in files else None,
    }


_NO_MEASURES: Mapping[str, Any] = {"measures": [], "default_measure": None}


def _measures(classifier: object, background: object, files: Collection[str]) -> Mapping[str, Any]:
    """Return the measures of a model with these parts, or None for them, and the default one."""
    calibration = CALIBRATION if classifier and CALIBRATION in files else None
    there = {"classifier": classifier, "neighbours": background, "calibration": calibration}
    parts = [name for name, part in there.items() if part is not None]
    return {"measures": possible_measures(parts), "default_measure": default_measure(parts)}


def _architecture(
    folder: Path, config: Mapping[str, Any], kind: str | None
) -> tuple[str, dict[str, Any]]:
    """Return the architecture and its settings. Raises ModelError for a damaged section."""
    for part in ("encoder", "classifier"):
        if not isinstance(config.get(part) or {}, dict):
            raise ModelError(f"{folder}: the configuration's {part} is unusable")
    shape = dict(config.get(kind or "encoder") or {})
    if not isinstance(architecture := shape.pop("architecture", None), str):
        part = kind or "encoder"
        raise ModelError(f"{folder}: the configuration's {part} is unusable: no architecture")
    return architecture, shape


def purpose(folder: Path) -> str:
    """Return the first line of a model's card that is no heading; empty without a card."""
    try:
        text = (folder / CARD).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    lines = (line.strip() for line in text.split("\n"))
    return next((line for line in lines if line and not line.startswith("#")), "")


def _second(folder: Path, config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the facts about the second encoder; None where there is one alone."""
    if SECOND not in config:
        return None
    own = read_config(folder / SECOND)
    architecture, shape = _architecture(folder / SECOND, own, kind_of(own))
    return {"weight": config[SECOND]["weight"], "architecture": architecture, **shape}


_SENTENCE, _OTHER, _TEMPLATE = "1 2 3", "3 2 1", "( S )"


def verify_model(folder: Path) -> None:
    """Raise ModelError where a file of a model is damaged, or one of its outputs is not finite."""
    check_folder(folder, pages=True)
    for name, output in _OUTPUTS[kind_of(read_config(folder)) or "encoder"](folder):
        if not math.isfinite(output):
            raise ModelError(f"{folder}: its {name} is {output}")
    _check_thresholds(folder)
    read_grades(folder)


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
    from bitextfilter.scoring.model import load

    named = naming_pair(folder) if read_config(folder)["languages"] else f"{folder}:aa,bb"
    model = load(named)
    for language in model.processor.known:
        yield f"vector of {language}", float(model.encode([_SENTENCE], language).sum())
    measures = possible_measures(model.parts)
    for name, scores in model.score([_SENTENCE], [_OTHER], measures).items():
        yield f"{name} of a pair", float(scores[0])


def _translations(folder: Path) -> Iterator[tuple[str, float]]:
    """Translate a sentence, and score a pair."""
    from bitextfilter.translation.translator import load_translator

    translator = load_translator(folder)
    templates = None if translator.processor.templates is None else [_TEMPLATE]
    (found,) = translator.translate([_SENTENCE], templates=templates)
    for rank, row in enumerate(found.hypotheses, 1):
        yield f"score of translation {rank}", row.score
    score = translator.log_probabilities([_SENTENCE], [_OTHER], templates)[0]
    yield "score of a pair", float(score)


def _probabilities(folder: Path) -> Iterator[tuple[str, float]]:
    """Classify a sentence."""
    from bitextfilter.encoders.reference_classifier import load_reference_classifier

    classifier = load_reference_classifier(folder)
    yield "probability of a sentence", float(classifier.probabilities([_SENTENCE])[0])


_OUTPUTS: dict[str, Callable[[Path], Iterator[tuple[str, float]]]] = {
    "encoder": _scores,
    "translator": _translations,
    "reference_classifier": _probabilities,
}
"""Sample outputs by kind of model, each with its name."""
