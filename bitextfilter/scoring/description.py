"""What a model is and can do, said without reading its weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bitextfilter.errors import ModelError
from bitextfilter.models.folders import (
    ATTRIBUTION,
    CARD,
    digest,
    file_sizes,
    find,
    kind_of,
    read_config,
)
from bitextfilter.scoring import reference as neighbours
from bitextfilter.scoring.reference import Reference
from bitextfilter.scoring.scorers import MEASURES
from bitextfilter.text.processor import TextProcessor

__all__ = ["default_measure", "describe", "possible_measures"]


def possible_measures(classifier: bool, reference: bool) -> list[str]:
    """Return the names in ``MEASURES`` that a model with or without these parts can score by."""
    parts = {"": True, "classifier": classifier, "neighbours": reference}
    return [name for name, measure in MEASURES.items() if parts[measure.needs]]


def default_measure(classifier: bool) -> str:
    """Return the measure used where none is asked for: ``mlp`` with a classifier, else cosine."""
    return "mlp" if classifier else "cosine"


def describe(name_or_folder: str | Path) -> dict[str, Any]:
    """Return what a user needs to know of a model, as JSON takes it, by name.

    ``kind`` is one of ``folders.KINDS``; only an encoder has measures. ``dimension`` is that of the
    sentence vectors, or None where neither a classifier nor neighbours say it; ``vocabulary`` and
    ``trigrams`` count ids; ``neighbours`` are sentences of either side, or None. ``card`` and
    ``attribution`` are the names of those files, or None.

    Raises NotFoundError where there is no such model, or a file is missing; ModelError where one
    of those that are read is damaged. Tensors are not looked at.
    """
    folder = find(name_or_folder)
    config = read_config(folder)
    sizes = TextProcessor.load(folder, config).sizes()
    kind = kind_of(config)
    architecture, shape = _architecture(folder, config, kind)
    classifier, reference = config.get("classifier"), _reference(folder)
    dimension = (classifier or {}).get("dim", reference.dim if reference else None)
    files = file_sizes(folder)
    return {
        "name": str(name_or_folder),
        "folder": str(folder),
        "digest": digest(folder),
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
        "neighbours": [len(reference.source), len(reference.target)] if reference else None,
        **_measures(kind, classifier is not None, reference is not None),
        "card": CARD if CARD in files else None,
        "attribution": ATTRIBUTION if ATTRIBUTION in files else None,
    }


def _measures(kind: str | None, classifier: bool, reference: bool) -> dict[str, Any]:
    """Return what an encoder with or without these parts can score by; others cannot."""
    if kind != "encoder":
        return {"measures": [], "default_measure": None}
    measures = possible_measures(classifier, reference)
    return {"measures": measures, "default_measure": default_measure(classifier)}


def _architecture(
    folder: Path, config: Mapping[str, Any], kind: str | None
) -> tuple[str, dict[str, Any]]:
    """Return the architecture and its shape; raise ModelError where the parts say no such thing."""
    for part in ("encoder", "classifier"):
        if not isinstance(config.get(part) or {}, dict):
            raise ModelError(f"{folder}: the configuration's {part} is unusable")
    shape = dict(config.get(kind or "encoder") or {})
    if not isinstance(architecture := shape.pop("architecture", None), str):
        part = kind or "encoder"
        raise ModelError(f"{folder}: the configuration's {part} is unusable: no architecture")
    return architecture, shape


def _reference(folder: Path) -> Reference | None:
    path = folder / neighbours.FILE
    return Reference.load(path) if path.exists() else None
