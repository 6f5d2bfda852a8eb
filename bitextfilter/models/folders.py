"""Model folders: found by name or path, configured, digested, and replaced as a whole.

This module does not import torch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bitextfilter.errors import ModelError, NotFoundError, OutputError
from bitextfilter.io.files import draft, naming_output, put
from bitextfilter.io.json_text import parse_json

CONFIG = "config.json"
"""The file that makes a folder a model."""

FORMAT = 1
"""Version of the folder's layout; newer ones are refused."""

CARD = "card.md"
"""Training data and recipe of a model, its purpose and its quality."""

ATTRIBUTION = "attribution.md"
"""Owners and licences of the training data."""

THRESHOLDS = "thresholds.json"
"""Recommended thresholds of its scores: see ``scoring/thresholds.py``."""

_UNDIGESTED = (CARD, ATTRIBUTION, THRESHOLDS)
"""Files that no score depends on."""

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
    """Return the folder of a shipped model, or the given folder. Raises NotFoundError."""
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
        NotFoundError: the folder or its configuration is missing.
        ModelError: the file is damaged or of a newer format than this version reads.
    """
    path = folder / CONFIG
    try:
        config = parse_json(path.read_text(encoding="utf-8"))
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


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write ``config.json``, with the format version."""
    text = json.dumps({"format": FORMAT, **config}, indent=2, ensure_ascii=False) + "\n"
    (folder / CONFIG).write_text(text, encoding="utf-8")


def kind_of(config: Mapping[str, Any]) -> str | None:
    """Return which of ``MAKERS`` a model is by its configuration; None for none."""
    return next((kind for kind in MAKERS if kind in config), None)


def model_digest(folder: Path) -> str:
    """Return the first twelve digits of :func:`full_model_digest`, which identify a model."""
    return full_model_digest(folder)[:12]


def full_model_digest(folder: Path) -> str:
    """Return the SHA-256, in hexadecimal digits, of the files that scores depend on."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if name not in _UNDIGESTED:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{name}\0{content}\n".encode())
    return total.hexdigest()


def file_sizes(folder: Path) -> dict[str, int]:
    """Return the files of a model folder by name, with their sizes in bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}


def check_replaceable(path: Path) -> None:
    """Raise OutputError unless *path* is missing, a model folder or an empty folder."""
    if path.exists() and not (path / CONFIG).is_file() and (path.is_file() or any(path.iterdir())):
        raise OutputError(f"{path}: exists and is not a model folder; name another")


@contextmanager
def writing_folder(path: Path) -> Iterator[Path]:
    """Make a draft of the folder *path*, put in its place when the block ends without an error.

    Replaces an older model folder of that name. Raises OutputError if *path* is anything else, or
    cannot be written.
    """
    check_replaceable(path)
    with naming_output(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft(path, folder=True) as new:
            yield new
            put(new, path)
