"""Digests of the files, models and rules that a run reads."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from pathlib import Path
from typing import Any, cast

from bitextfilter.errors import NotFoundError
from bitextfilter.filters.rule import Rule
from bitextfilter.models.folders import CONFIG, find_model, model_digest, shipped_models


def rule_parameters(rule: Rule) -> dict[str, list[Any]]:
    """Return each parameter of a rule, with digests of the file and the model that it names."""
    values = dataclasses.asdict(cast(Any, rule))
    return {name: [value, *_named(value)] for name, value in values.items()}


def _named(value: Any) -> list[str]:
    """Digests of the file, and of the model by its folder or its shipped name."""
    if not isinstance(value, str):
        return []
    found = [file_digest(value)] if _is_file(Path(value)) else []
    if value in shipped_models() or _is_file(Path(value) / CONFIG):
        found.append(_model(find_model(value)))
    return found


def _is_file(path: Path) -> bool:
    """Whether a file exists; False for a text that cannot be a name."""
    try:
        return path.is_file()
    except OSError:
        return False


def file_digest(path: str) -> str:
    """Return a digest of a file. Raises NotFoundError where it cannot be read."""
    try:
        status = Path(path).stat()
        return _content(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise NotFoundError(f"{path}: cannot be opened: {error.strerror or error}") from error


@functools.cache
def _content(path: str, *_: int) -> str:
    """Read a file once for as long as its time and size are the same."""
    total = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            total.update(block)
    return total.hexdigest()


def _model(folder: Path) -> str:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    stats = ((str(path), path.stat()) for path in files)
    seen = tuple((name, status.st_mtime_ns, status.st_size) for name, status in stats)
    return _model_digest(folder, seen)


@functools.cache
def _model_digest(folder: Path, _: tuple[tuple[str, int, int], ...]) -> str:
    """Read a model once for as long as its files are the same."""
    return model_digest(folder)
