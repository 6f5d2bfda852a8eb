"""How well a model of many languages knows each of them, kept in its folder.

A model folder may hold it in ``grades.json``: ``{"format": 1, "grades": [...]}``, each an object
with the fields of :class:`Grade`. No score depends on that file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bitextfilter.errors import ModelError
from bitextfilter.io.json_text import parse_json
from bitextfilter.models.folders import GRADES

_FORMAT = 1


@dataclass(frozen=True)
class Grade:
    """The sentence alignment recovery error of a language. ValueError for invalid fields."""

    language: str
    error: float
    """By CSLS, in percent, 0 to 100: lower is better."""
    weak: bool
    """Whether the error is higher than was allowed."""
    pairs: int
    """Distinct pairs it was measured on."""
    file: str
    """Name of their file."""

    def __post_init__(self) -> None:
        """Check all fields and their types."""
        kinds = {"language": str, "weak": bool, "pairs": int, "file": str}
        wrong = [name for name, kind in kinds.items() if type(getattr(self, name)) is not kind]
        error: object = self.error
        if not isinstance(error, int | float) or not 0 <= error <= 100:
            wrong.append("error")
        if wrong:
            raise ValueError(f"{wrong[0]} {getattr(self, wrong[0])!r}")

    def warning(self) -> str:
        """Return the sentence that a user of the language reads."""
        return (
            f"{self.language} is a weak language of this model: {self.error:.1f} % of the sentences"
            f" of {self.file} do not find their translation; look at some rows before you trust"
            " the scores"
        )


def merge_grades(old: Iterable[Grade], new: Iterable[Grade]) -> list[Grade]:
    """Merge, sorted by language; new grades replace old ones of the same language."""
    latest = {grade.language: grade for grade in (*old, *new)}
    return [latest[language] for language in sorted(latest)]


def write_grades(folder: Path, grades: Iterable[Grade]) -> None:
    """Write the file of an existing folder."""
    whole = {"format": _FORMAT, "grades": [asdict(grade) for grade in grades]}
    text = json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    (folder / GRADES).write_text(text, encoding="utf-8")


def read_grades(folder: Path, languages: Sequence[str] | None = None) -> list[Grade]:
    """Read the grades of a model folder, or of some languages; none where it has no such file.

    Raises ModelError if the file is damaged or of a newer format.
    """
    path = folder / GRADES
    try:
        whole = parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: unreadable grades: {error}") from error
    version = whole.get("format") if isinstance(whole, dict) else None
    if type(version) is not int or not isinstance(whole.get("grades"), list):
        raise ModelError(f"{path}: not a file of grades")
    if version > _FORMAT:
        raise ModelError(
            f"{path}: format {version} is newer than {_FORMAT}, the newest this version reads;"
            " update bitextfilter"
        )
    grades = [_grade(path, number, record) for number, record in enumerate(whole["grades"], 1)]
    return [grade for grade in grades if languages is None or grade.language in languages]


def _grade(path: Path, number: int, record: Any) -> Grade:
    """Return the grade of an entry; ModelError for a damaged one."""
    names = {field.name for field in fields(Grade)}
    try:
        if not isinstance(record, dict) or record.keys() != names:
            raise ValueError("other fields than " + ", ".join(sorted(names)))
        return Grade(**record)
    except ValueError as error:
        raise ModelError(f"{path}: grade {number}: {error}") from error
