"""What a model folder says of its scores: cuts by name, thresholds, and grades of its languages.

``thresholds.json``, ``{"format": 1, "thresholds": [...]}``, has objects with the fields of
:class:`Threshold`, each with the data and goal it was chosen by. ``grades.json``, ``{"format": 1,
"grades": [...]}``, says how well a model of many languages knows each: the fields of
:class:`Grade`. No score depends on either file, and neither is part of a model's digest.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.io.records import parse_json
from bitextfilter.models.folders import (
    BALANCED,
    CALIBRATION,
    GRADES,
    THRESHOLDS,
    ModelName,
    model_digest,
)
from bitextfilter.scoring.measures import CUT_MEASURES, THRESHOLD_MEASURES, default_measure

USES = ("filtering", "mining")
"""Cutting a noisy corpus of pairs; cutting the pairs that ``bitext-align`` mines."""

_FORMAT = 1

_PARTS = ("precision", "recall", "f1", "noise_share")
_TEXTS = ("goal", "file", "command", "model", "version")


@dataclass(frozen=True)
class Threshold:
    """Keep pairs that score at least ``threshold``. Raises ValueError for invalid fields."""

    use: str
    """One of ``USES``."""
    measure: str
    """One of ``THRESHOLD_MEASURES``."""
    threshold: float
    """In the measure's own range."""
    goal: str
    """The goal of the choice: ``f1`` for the highest F1, or such as ``precision>=0.99``."""
    precision: float
    """Right part of the kept rows; like the next two, 0 to 1."""
    recall: float
    f1: float
    noise_share: float | None
    """Assumed part of noise among the rows; None in mining."""
    rows: int
    """Rows (in mining, true pairs) that it was estimated on."""
    file: str
    """Name of their file."""
    command: str
    """The command line of the estimate."""
    model: str
    """Digest of the model."""
    version: str
    """Of bitextfilter."""
    languages: str = ""
    """The two, as ``cs,pl``, of a model of more; empty for any two."""

    def __post_init__(self) -> None:
        """Check all fields and their types."""
        for name, known in (("use", USES), ("measure", THRESHOLD_MEASURES)):
            if not isinstance(value := getattr(self, name), str) or value not in known:
                raise ValueError(f"{name} {value!r} is none of {', '.join(known)}")
        if not _is_number(self.threshold):
            raise ValueError(f"threshold {self.threshold!r} is no number")
        for name in _PARTS if self.use == "filtering" else _PARTS[:-1]:
            if not _is_number(value := getattr(self, name)) or not 0 <= value <= 1:
                raise ValueError(f"{name} {value!r} is no number from 0 to 1")
        if self.use == "mining" and self.noise_share is not None:
            raise ValueError("noise_share is not of mining")
        if type(self.rows) is not int or self.rows < 1:
            raise ValueError(f"rows {self.rows!r} is no number of rows")
        self._check_texts()

    def _check_texts(self) -> None:
        for name in _TEXTS:
            if not _is_line(value := getattr(self, name)):
                raise ValueError(f"{name} {value!r} is no line of text")
        if self.languages != "" and not (_is_line(self.languages) and "," in self.languages):
            raise ValueError(f"languages {self.languages!r} are not two")

    @property
    def key(self) -> tuple[str, ...]:
        """Use, measure and goal, and the languages if any; a model has one threshold for each."""
        return self.use, self.measure, self.goal, *filter(None, [self.languages])

    def record(self) -> dict[str, object]:
        """Return the fields, as JSON takes them, without empty languages."""
        values = asdict(self)
        return values if self.languages else {n: v for n, v in values.items() if n != "languages"}

    @classmethod
    def of(cls, record: object) -> Threshold:
        """Build a threshold from a JSON object with these fields. Raises ValueError for others."""
        if not isinstance(record, dict):
            raise ValueError("not an object")
        names = [field.name for field in fields(cls)]
        if missing := [name for name in names if name not in (*record, "languages")]:
            raise ValueError(f"{missing[0]} is missing")
        if unknown := sorted(set(record) - set(names)):
            raise ValueError(f"{unknown[0]!r} is unknown")
        return cls(**record)


def _is_number(value: object) -> bool:
    """Return True for a number that fits a float, and is not NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def _is_line(value: object) -> bool:
    """Return True for a line of text that is not empty."""
    return isinstance(value, str) and bool(value) and value.isprintable()


def printable_line(text: str) -> str:
    """Replace unprintable characters, and an empty text, by ?."""
    return "".join(c if c.isprintable() else "?" for c in text) or "?"


def merge_thresholds(old: Iterable[Threshold], new: Iterable[Threshold]) -> list[Threshold]:
    """Merge, sorted by use and measure; new thresholds replace old ones of the same key."""
    latest = {threshold.key: threshold for threshold in (*old, *new)}
    return sorted(
        latest.values(),
        key=lambda t: (
            *(USES.index(t.use), THRESHOLD_MEASURES.index(t.measure)),
            *(t.goal, t.languages),
        ),
    )


def write_thresholds(folder: Path, thresholds: Iterable[Threshold]) -> None:
    """Write the file of an existing folder."""
    whole = {"format": _FORMAT, "thresholds": [threshold.record() for threshold in thresholds]}
    text = json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    (folder / THRESHOLDS).write_text(text, encoding="utf-8")


def _records(path: Path, name: str, newest: int) -> list[Any]:
    """Read the records of a file of thresholds or grades; none if there is no such file."""
    try:
        whole = parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: unreadable {name}: {error}") from error
    version = whole.get("format") if isinstance(whole, dict) else None
    if type(version) is not int or not isinstance(whole.get(name), list):
        raise ModelError(f"{path}: not a file of {name}")
    if version > newest:
        raise ModelError(
            f"{path}: format {version} is newer than {newest}, the newest this version reads;"
            " update bitextfilter"
        )
    found: list[Any] = whole[name]
    return found


def read_thresholds(folder: Path) -> list[Threshold]:
    """Read the thresholds of a model folder; none where it has no such file.

    Raises ModelError, naming the file and the entry, if it is damaged or of a newer format.
    """
    path = folder / THRESHOLDS
    found: dict[tuple[str, ...], Threshold] = {}
    for number, record in enumerate(_records(path, "thresholds", _FORMAT), 1):
        try:
            threshold = Threshold.of(record)
        except ValueError as error:
            raise ModelError(f"{path}: threshold {number}: {error}") from error
        if threshold.key in found:
            raise ModelError(f"{path}: threshold {number}: {' '.join(threshold.key)} stands twice")
        found[threshold.key] = threshold
    return list(found.values())


def own_thresholds(folder: Path, digest: str) -> tuple[list[Threshold], int]:
    """Return the thresholds of the scores of the model in *folder*, and how many are of others.

    *digest* is the model's. Raises ModelError as :func:`read_thresholds` does.
    """
    found = read_thresholds(folder)
    own = [threshold for threshold in found if threshold.model == digest]
    return own, len(found) - len(own)


def move_thresholds(folder: Path, old: str) -> None:
    """Keep the thresholds of the model with the digest *old* for the model in *folder*.

    Of the scores that both have alike; those of ``probability`` are the calibration's own.
    """
    if own := own_thresholds(folder, old)[0]:
        digest = model_digest(folder)
        write_thresholds(folder, [replace(threshold, model=digest) for threshold in own])


@dataclass(frozen=True)
class NamedCut:
    """The cut of a measure by its name, and the rows that are to be expected above it."""

    name: str
    """One of ``CUTS``."""
    measure: str
    threshold: float
    """The least score of a row that is kept, in the measure's own range."""
    right: float
    """Share of the right rows that it keeps, 0 to 1."""
    wrong: float | None
    """Share of the wrong rows that it passes, 0 to 1; None where it is not known."""
    basis: str
    """The rows of the estimate, and the model."""

    def note(self) -> str:
        """Return a line that tells them."""
        shares = f"{self.right:.0%} of the right rows are kept"
        if self.wrong is not None:
            shares += f", {self.wrong:.0%} of the wrong ones pass"
        return f"{self.name}: {self.measure}>={self.threshold!r}; {shares} ({self.basis})"


def named_cut(
    model: str | Path, measure: str, name: str = BALANCED, use: str | None = None
) -> NamedCut:
    """Return the cut of a model, by name or folder, for a measure.

    That of ``probability`` is its calibration's. Any other is the threshold of the highest F1, or
    else the only one; of a model of more than two languages, for those at the end of its name in
    either order, or else for any two.

    Args:
        model: with two languages at its end if it has more.
        measure: one of ``CUT_MEASURES``.
        name: one of ``CUTS``.
        use: one of ``USES``; None for mining with ``joint``, and filtering with all others.

    Raises SettingsError where there is none, or it is one of several; NotFoundError for no such
    model, ModelError as :func:`read_thresholds` does.
    """
    parsed = ModelName.parse(model)
    if measure == "probability":
        if use == "mining":
            raise SettingsError("the cuts of probability are for filtering; mining has joint")
        return _calibrated_cut(parsed, name)
    if name != BALANCED:
        raise SettingsError(
            f"{measure} has no {name} cut, probability has one; give a number, or {BALANCED}"
        )
    found = _best_threshold(parsed, measure, use or ("mining" if measure == "joint" else USES[0]))
    asked, wrong = ",".join(parsed.pair_of_more() or ()), None
    if found.noise_share and found.precision:
        rest = found.recall * (1 - found.precision) / found.precision
        wrong = min(1.0, rest * (1 - found.noise_share) / found.noise_share)
    languages = found.languages or (asked and f"any two languages, none being known for {asked}")
    where = f"{found.use} of {languages}" if languages else found.use
    basis = f"for {where}, by {found.goal}, model {parsed.folder.name} {found.model}"
    return NamedCut(name, measure, found.threshold, found.recall, wrong, basis)


def _calibrated_cut(model: ModelName, name: str) -> NamedCut:
    """Return the cut of probabilities."""
    from bitextfilter.scoring.calibration import load_calibration

    _check_whole(model)
    calibration = load_calibration(model.folder)
    if calibration is None or "classifier" not in model.config:
        raise SettingsError(f"the model {model.folder.name} has no calibration: give a number")
    expected, pair = calibration.expects(name, model.pair() or ())
    rows = f"labelled crawls in {pair}" if pair else "labelled crawls in other languages"
    basis = f"{rows}, model {model.folder.name} {model_digest(model.folder)}"
    threshold = calibration.cuts[name]
    return NamedCut(name, "probability", threshold, expected.right, expected.wrong, basis)


def _check_whole(model: ModelName) -> None:
    if model.width is not None:
        raise SettingsError(
            f"the cuts of the model {model.folder.name} are for scores of whole vectors: give a"
            f" number, or leave @{model.width} out"
        )


def _best_threshold(model: ModelName, measure: str, use: str) -> Threshold:
    """Return the threshold of a model; see :func:`named_cut`."""
    folder, pair = model.folder, model.pair_of_more() or ()
    _check_whole(model)
    every, others = own_thresholds(folder, model_digest(folder))
    orders = ",".join(pair), ",".join(reversed(pair)), ""
    own = [threshold for threshold in every if threshold.languages in orders]
    found = [threshold for threshold in own if (threshold.use, threshold.measure) == (use, measure)]
    found = [threshold for threshold in found if threshold.languages] or found
    best = [threshold for threshold in found if threshold.goal == "f1"] or found
    if len(best) == 1:
        return best[0]
    cuts = f"several cuts ({', '.join(t.goal for t in best)})" if best else "no cut"
    known = ", ".join(dict.fromkeys(t.measure for t in own if t.use == use))
    only = f", only by {known}" if known and not best else ""
    stale = f" ({others} are of other weights)" if others and not known else ""
    where = f" for {orders[0]}" if pair else ""
    raise SettingsError(
        f"the model {folder.name} has {cuts}{where} for {use} by {measure}{only}{stale}:"
        " give a number, or estimate a cut (bitext-models recommend --help)"
    )


def measure_of(model: str, similarity: str | None, column: str | None) -> str:
    """Return the measure of a column of scores.

    It is *similarity* where it is given, else the name of the *column* where it has one, else the
    measure that is the default of ``bitext-score`` with this model. Raises SettingsError for a
    name that is no measure.
    """
    if similarity is not None:
        return similarity
    if column is None:
        name = ModelName.parse(model)
        if "classifier" not in name.config or name.width is not None:
            return default_measure(())
        calibrated = (name.folder / CALIBRATION).is_file()
        return default_measure(("classifier", "calibration") if calibrated else ("classifier",))
    if column not in CUT_MEASURES:
        raise SettingsError(
            f"the measure of the column {column!r} is unknown: name it with --similarity,"
            f" one of {', '.join(CUT_MEASURES)}"
        )
    return column


_OF_GRADES = 1


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
    whole = {"format": _OF_GRADES, "grades": [asdict(grade) for grade in grades]}
    text = json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    (folder / GRADES).write_text(text, encoding="utf-8")


def read_grades(folder: Path, languages: Sequence[str] | None = None) -> list[Grade]:
    """Read the grades of a model folder, or of some languages; none where it has no such file.

    Raises ModelError if the file is damaged or of a newer format.
    """
    path = folder / GRADES
    names, grades = {field.name for field in fields(Grade)}, list[Grade]()
    for number, record in enumerate(_records(path, "grades", _OF_GRADES), 1):
        try:
            if not isinstance(record, dict) or record.keys() != names:
                raise ValueError("other fields than " + ", ".join(sorted(names)))
            grades.append(Grade(**record))
        except ValueError as error:
            raise ModelError(f"{path}: grade {number}: {error}") from error
    return [grade for grade in grades if languages is None or grade.language in languages]
