"""Where models are, the shipped ones by name, others by their folder; and what names one.

Nothing here reads a tensor, or imports what does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from bitextfilter.errors import ModelError, NotFoundError, SettingsError

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

_KINDS = {
    "encoder": "bitext-train-encoder",
    "translator": "bitext-train-translator",
    "reference_classifier": "bitext-paraphrase train",
}
"""What a model is by the part of its configuration of that name, and the command that makes one."""

_Settings = TypeVar("_Settings")

PRETRAINED = Path(__file__).parents[1] / "pretrained"


def shipped() -> dict[str, Path]:
    """Return the models that come with the package, by name."""
    folders = sorted(PRETRAINED.iterdir()) if PRETRAINED.is_dir() else []
    return {folder.name: folder for folder in folders if (folder / CONFIG).is_file()}


def find(name_or_folder: str | Path) -> Path:
    """Return the folder of a shipped model's name, or the one given. Raises NotFoundError."""
    name, known = str(name_or_folder), shipped()
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
    """Return which of ``_KINDS`` a model is by its configuration; None for none."""
    return next((kind for kind in _KINDS if kind in config), None)


def read_part(
    folder: Path, config: Mapping[str, Any], part: str, read: Callable[[dict[str, Any]], _Settings]
) -> _Settings:
    """Return what *read* makes of one of ``_KINDS`` in a model's configuration.

    Raises ModelError where the model is of another kind, or *read* finds fault with the values.
    """
    if part not in config:
        other = kind_of(config)
        made = "" if other is None else f" (this is of {_KINDS[other]})"
        kind = part.replace("_", " ")
        raise ModelError(f"{folder}: no {kind}; {_KINDS[part]} makes one{made}")
    try:
        return read(dict(config[part]))
    except (KeyError, TypeError, ValueError, SettingsError) as error:
        raise ModelError(f"{folder}: the configuration's {part} is unusable: {error}") from error


def read_architecture(
    folder: Path,
    config: Mapping[str, Any],
    part: str,
    settings_of: Callable[[str, dict[str, Any]], _Settings],
) -> tuple[str, _Settings]:
    """Return the architecture that a part of a model names, and what its settings make.

    Raises ModelError as :func:`read_part` does.
    """

    def read(values: dict[str, Any]) -> tuple[str, _Settings]:
        name = values.pop("architecture")
        return name, settings_of(name, values)

    return read_part(folder, config, part, read)


def digest(folder: Path) -> str:
    """Twelve hexadecimal digits that name a model: the start of :func:`full_digest`."""
    return full_digest(folder)[:12]


def full_digest(folder: Path) -> str:
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
