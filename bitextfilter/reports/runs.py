"""Manifests of the runs that made a corpus."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bitextfilter.errors import InputError
from bitextfilter.io.files import open_input

Fields = list[tuple[str, str]]

MOST_LEVELS = 8
_REMEDY = "give a file that --manifest wrote"


def read_run(path: str) -> dict[str, Any]:
    """Read a manifest written by any command's --manifest.

    Raises NotFoundError, and InputError for other than a JSON object.
    """
    with open_input(path) as stream:
        data = stream.read()
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"no JSON: {error}", file=path, remedy=_REMEDY) from error
    if not isinstance(found, dict):
        raise InputError("no manifest: a JSON object is expected", file=path, remedy=_REMEDY)
    return found


class FilterRun:
    """The manifest of a bitext-filter run.

    ``rules`` has the numbers of rows that each rule dropped, and that it alone dropped; ``counts``
    those of rows read, kept, dropped and rejected.
    """

    def __init__(self, path: str) -> None:
        """Read *path*. Raises NotFoundError and InputError."""
        self.name = Path(path).name
        self.manifest = read_run(path)
        facts = self.manifest.get("facts")
        rules: Any = facts.get("rules") if isinstance(facts, dict) else None
        try:
            self.rules = {
                name: (int(found["dropped"]), int(found["unique"])) for name, found in rules.items()
            }
            self.counts = {
                name: int(self.manifest["counts"][name])
                for name in ("rows", "kept", "dropped", "rejected")
            }
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            message = "no drops of rules in it"
            remedy = "give the file that bitext-filter --manifest wrote"
            raise InputError(message, file=path, remedy=remedy) from error


def fields_of(run: dict[str, Any]) -> Fields:
    """Return each value of a manifest after its path: ``facts › seed``, 1."""
    return [(" › ".join(place), text) for place, text in _leaves(run, ())]


def _leaves(value: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if len(place) == MOST_LEVELS:
        yield place, json.dumps(value, ensure_ascii=False)
    elif isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*place, key))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for number, inner in enumerate(value, 1):
            yield from _leaves(inner, (*place, str(number)))
    elif isinstance(value, list):
        yield place, shlex.join(map(_shown, value))
    else:
        yield place, _shown(value)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
