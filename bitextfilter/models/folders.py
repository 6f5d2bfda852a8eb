"""Where models are, the shipped ones by name, others by their folder; and what names one.

Nothing here reads a tensor, or imports what does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bitextfilter.errors import ModelError, NotFoundError

CONFIG = "config.json"
"""The file that makes a folder a model."""

FORMAT = 1
"""Version of the folder's layout; a folder of a newer one is refused."""

CARD = "card.md"
"""What a model was trained on and how, what it is good for, how good it is."""

ATTRIBUTION = "attribution.md"
"""Whose data a model was trained on, and by which licences."""

THRESHOLDS = "thresholds.json"
"""Where to cut its scores: see ``scoring/thresholds.py``."""

UNDIGESTED = (CARD, ATTRIBUTION, THRESHOLDS)
"""No score depends on these files."""

MAKERS = {
    "encoder": "bitext-train-encoder",
    "translator": "bitext-train-translator",
    "reference_classifier": "bitext-paraphrase train",
}
"""Kinds of models, each named as its section of the configuration → the command that makes one."""

PRETRAINED = Path(__file__).parents[1] / "pretrained"


def shipped_models() -> dict[str, Path]:
    """Return the models that come with the package, by name."""
    folders = sorted(PRETRAINED.iterdir()) if PRETRAINED.is_dir() else []
    return {folder.name: folder for folder in folders if (folder / CONFIG).is_file()}


def find_model(name_or_folder: str | Path) -> Path:
    """Return the folder of a shipped model's name, or the one given. Raises NotFoundError."""
    name, known = str(name_or_folder), shipped_models()
    if name in known:
        return known[name]
    if (folder := Path(name)).is_dir():
        return folder
    names = ", ".join(known) or "none"
    raise NotFoundError(f"{name}: neither a folder nor a shipped model (they are: {names})")


def read_config(folder: Path) -> dict[str, Any]:
    """Read ``config.json`` of a model folder.

    Raises:
        NotFoundError: there is no such folder, or it holds no configuration.
        ModelError: the file is damaged or of a newer format than this version reads.
    """
    path = folder / CONFIG
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(
            f"{folder}: no model here (a model is a folder with {CONFIG})"
        ) from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: unreadable configuration: {error}") from error
    version = config.get("format") if isinstance(config, dict) else None
    if not isinstance(version, int):
        raise ModelError(f"{path}: not a model configuration (no format version)")
    if version > FORMAT:
        raise ModelError(
            f"{path}: format {version} is newer than {FORMAT}, the newest this version reads;"
            " update bitextfilter"
        )
    return dict(config)


def kind_of(config: Mapping[str, Any]) -> str | None:
    """Return which of ``MAKERS`` a model is by its configuration; None for none."""
    return next((kind for kind in MAKERS if kind in config), None)


def model_digest(folder: Path) -> str:
    """Twelve hexadecimal digits that name a model: the start of :func:`full_model_digest`."""
    return full_model_digest(folder)[:12]


def full_model_digest(folder: Path) -> str:
    """SHA-256 over the files that scores depend on, in hexadecimal digits."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if name not in UNDIGESTED:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{name}\0{content}\n".encode())
    return total.hexdigest()


def file_sizes(folder: Path) -> dict[str, int]:
    """Return the files of a model folder by name, with their sizes in bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
