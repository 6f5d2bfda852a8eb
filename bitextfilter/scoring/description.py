"""Facts about a model folder, without its weights: nothing here imports torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bitextfilter.errors import ModelError
from bitextfilter.models.folders import (
    ATTRIBUTION,
    CARD,
    file_sizes,
    find_model,
    kind_of,
    model_digest,
    read_config,
)
from bitextfilter.scoring.background import load_background
from bitextfilter.scoring.measures import default_measure, possible_measures
from bitextfilter.text.processor import TextProcessor


def describe_model(name_or_folder: str | Path) -> dict[str, Any]:
    """Return the facts about a model by name, as JSON takes them.

    ``kind`` is a key of ``folders.MAKERS``; only an encoder has measures. ``dimension`` is the
    width of the sentence vectors, or None where neither a classifier nor a background sample
    tells it; ``vocabulary`` and ``trigrams`` are numbers of ids; ``neighbours`` are the sizes of
    the background sample, or None. ``card`` and ``attribution`` are names of files, or None.

    Raises NotFoundError where there is no such model, or a file is missing; ModelError where one
    of the files read is damaged. Tensors are not read.
    """
    folder = find_model(name_or_folder)
    config = read_config(folder)
    sizes = TextProcessor.load(folder, config).sizes()
    kind = kind_of(config)
    architecture, shape = _architecture(folder, config, kind)
    classifier, background = config.get("classifier"), load_background(folder)
    dimension = (classifier or {}).get("dim", background.dim if background else None)
    files = file_sizes(folder)
    return {
        "name": str(name_or_folder),
        "folder": str(folder),
        "digest": model_digest(folder),
        "kind": kind,
        "languages": config["languages"],
        "architecture": architecture,
        "shape": shape,
        "dimension": dimension,
        "segmentation": config["segmentation"],
        "vocabulary": sizes["pieces"],
        "trigrams": sizes.get("trigrams"),
        "megabytes": round(sum(files.values()) / 1e6, 1),
        "classifier": classifier,
        "neighbours": [len(background.source), len(background.target)] if background else None,
        **_measures(kind, classifier is not None, background is not None),
        "card": CARD if CARD in files else None,
        "attribution": ATTRIBUTION if ATTRIBUTION in files else None,
    }


def _measures(kind: str | None, classifier: bool, background: bool) -> dict[str, Any]:
    """Return the measures of an encoder with or without these parts; others have none."""
    if kind != "encoder":
        return {"measures": [], "default_measure": None}
    measures = possible_measures(classifier, background)
    return {"measures": measures, "default_measure": default_measure(classifier)}


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
