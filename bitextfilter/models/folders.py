"""Where models are: the shipped ones by name, others by their folder."""

from __future__ import annotations

from pathlib import Path

from bitextfilter.errors import NotFoundError

__all__ = ["CONFIG", "find", "shipped"]

CONFIG = "config.json"
"""The file that makes a folder a model."""

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
