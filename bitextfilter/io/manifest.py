"""Manifests: a record of a run, written beside its result."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeAlias

from bitextfilter.io.files import write_whole

Fact: TypeAlias = "str | int | float | list[Fact] | dict[str, Fact] | None"
"""A JSON value."""


@dataclass(frozen=True)
class Manifest:
    """A run: version, command line, model, counts and speed."""

    version: str
    command: list[str]
    """The command line, the command's name first."""
    counts: dict[str, int]
    seconds: float
    rows_per_second: float
    facts: dict[str, Fact] = field(default_factory=dict)
    """The model and its digest, the seed, and everything else that the result depends on."""

    def write(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all."""
        text = json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"
        write_whole(path, text.encode())
