"""Tuning: an encoder trained and measured at each point of a grid, and the table of results.

A grid is a TOML file of settings and bounds of filters, in which a list is tried value by value.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any, cast

from bitextfilter import __version__
from bitextfilter.encoders.registry import views
from bitextfilter.errors import InputError, ModelError, OutputError, SettingsError
from bitextfilter.evaluation.sts import pearson, read_rated_pairs
from bitextfilter.filters.registry import make_rule
from bitextfilter.filters.rule import Rule
from bitextfilter.io.drafts import draft, temporary_folder
from bitextfilter.io.files import locked, read_lines, read_toml, write_whole
from bitextfilter.io.records import file_digest
from bitextfilter.io.rows import Columns, number_of
from bitextfilter.models.folders import (
    CONFIG,
    copy_model,
    find_model,
    model_digest,
    shipped_models,
    writing_folder,
)
from bitextfilter.scoring.model import Model, load
from bitextfilter.similarity.vectors import cosine_pairs
from bitextfilter.text.ragged import PIECES
from bitextfilter.training.data import PairFile
from bitextfilter.training.encoder_training import EncoderConfig, EncoderTraining
from bitextfilter.training.runs import Environment, TrainingFiles
from bitextfilter.tuning.subsets import rule_columns, sample_lines, select_pairs

MOST_POINTS = 100_000
"""A grid of more points is taken for a mistake."""

_DEFAULT = "default"
"""The value that leaves a name out."""

_DATA = ("pairs", "sample")


@dataclass(frozen=True)
class _Axis:
    """Names that get their values together, and the values to try."""

    names: tuple[str, ...]
    """Such as ``training.margin``, ``length.maximum`` (of a rule) or ``sample``."""
    alternatives: tuple[tuple[Any, ...], ...]
    """Each with a value for each name."""


@dataclass(frozen=True)
class Point:
    """One choice of values."""

    values: Mapping[str, Any]
    """By name."""
    config: EncoderConfig
    rules: tuple[Rule, ...]

    @property
    def pairs(self) -> str | None:
        """The file of pairs to train on, if the grid names files."""
        return self.values.get("pairs")

    @property
    def sample(self) -> int | None:
        """Number of pairs drawn from those that pass the rules; None for all."""
        return self.values.get("sample")

    def cells(self) -> dict[str, str]:
        """Every value as a cell of a table has it."""
        return {name: cell(value) for name, value in self.values.items()}

    def described(self, names: Sequence[str]) -> str:
        """The values of some names in a line, as ``training.margin=0.4 length.maximum=10``."""
        cells = self.cells()
        return " ".join(f"{name}={cells[name]}" for name in names if name in cells)


@dataclass(frozen=True)
class Grid:
    """Axes, and the rules that some of their names belong to."""

    axes: tuple[_Axis, ...]
    rules: Mapping[str, str]
    """The name of each rule by its label: its name, numbered where there are several of it."""

    @property
    def varied(self) -> list[str]:
        """The names that have more than one value to try."""
        return [name for axis in self.axes if len(axis.alternatives) > 1 for name in axis.names]

    @property
    def names(self) -> list[str]:
        """Every name, those that vary first."""
        varied = self.varied
        return varied + [n for axis in self.axes for n in axis.names if n not in varied]

    def points(self) -> Iterator[Point]:
        """Yield every combination; the last axis changes first.

        Raises SettingsError, with the combination, where values do not fit.
        """
        names = [name for axis in self.axes for name in axis.names]
        for chosen in itertools.product(*(axis.alternatives for axis in self.axes)):
            values = dict(zip(names, itertools.chain(*chosen), strict=True))
            values = {name: value for name, value in values.items() if value != _DEFAULT}
            try:
                yield self._point(values)
            except SettingsError as error:
                said = " ".join(f"{name}={cell(value)}" for name, value in values.items())
                raise SettingsError(f"{error} (at {said})" if said else str(error)) from error

    def _point(self, values: dict[str, Any]) -> Point:
        pairs, sample = values.get("pairs", ""), values.get("sample", 1)
        if not isinstance(pairs, str):
            raise SettingsError(f"pairs are the name of a file, not {pairs!r}")
        if pairs == "-":
            raise SettingsError("pairs are read more than once, which stdin cannot be: name a file")
        if type(sample) is not int or sample < 1:
            raise SettingsError(f"sample must be a whole number of at least 1, not {sample!r}")
        settings: dict[str, Any] = {}
        parameters: dict[str, dict[str, Any]] = {label: {} for label in self.rules}
        for name, value in values.items():
            group, _, rest = name.partition(".")
            if group in parameters:
                parameters[group][rest] = value
            elif rest:
                settings.setdefault(group, {})[rest] = value
            elif name not in _DATA:
                settings[name] = value
        rules = [make_rule(self.rules[label], given) for label, given in parameters.items()]
        return Point(values, EncoderConfig.from_dict(settings), tuple(rules))


def read_grid(path: Path) -> Grid:
    """Read the file of a grid.

    Raises NotFoundError, and SettingsError for a file that is no grid or has too many points.
    :meth:`Grid.points` checks the values.
    """
    try:
        grid = _grid(read_toml(path))
        if (count := math.prod(len(axis.alternatives) for axis in grid.axes)) > MOST_POINTS:
            raise SettingsError(f"{count} points, more than {MOST_POINTS}")
    except SettingsError as error:
        text = str(error)
        raise SettingsError(text if text.startswith(f"{path}: ") else f"{path}: {text}") from error
    return grid


def _grid(tables: dict[str, Any]) -> Grid:
    rules = tables.pop("rule", [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise SettingsError("rules are tables: [[rule]] and below it name = ...")
    labelled = dict(zip(_labels(rules), rules, strict=True))
    axes = list(_axes("", tables))
    for label, rule in labelled.items():
        rest = {name: value for name, value in rule.items() if name != "name"}
        axes += _axes(f"{label}.", rest)
    grid = Grid(tuple(axes), {label: rule["name"] for label, rule in labelled.items()})
    names = [name for axis in axes for name in axis.names]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SettingsError(f"{twice} is given twice")
    return grid


def _labels(rules: Sequence[Mapping[str, Any]]) -> list[str]:
    names = [rule.get("name") for rule in rules]
    for name, rule in zip(names, rules, strict=True):
        if not isinstance(name, str):
            raise SettingsError(f"a rule has no name: {dict(rule)}")
    return [
        str(name) if names.count(name) == 1 else f"{name}#{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


def _axes(before: str, values: Mapping[str, Any]) -> Iterator[_Axis]:
    """Yield an axis for each name; in a table within a table, with its name before."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _axes(f"{before}{key}.", value)
            continue
        names = tuple(before + name.strip() for name in key.split(","))
        given = value if isinstance(value, list) else [value]
        if not given:
            raise SettingsError(f"{before}{key}: an empty list, expected values to try")
        alternatives = []
        for value in given:
            each = tuple(value) if len(names) > 1 and isinstance(value, list) else (value,)
            if len(each) != len(names) or any(isinstance(part, dict | list) for part in each):
                expected = "a value" if len(names) == 1 else f"a list of {len(names)} values"
                raise SettingsError(f"{before}{key}: {value!r} is not {expected}")
            alternatives.append(each)
        yield _Axis(names, tuple(alternatives))


def cell(value: Any) -> str:
    """Return a value as a cell of a table has it: a word as it is, anything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return " ".join(text.split())


@dataclass(frozen=True)
class PointResult:
    """Result at a point."""

    key: str
    figure: float | None
    """Recovery error in percent, or mean Pearson correlation times 100; None if there is none."""
    pairs: int = 0
    """Pairs that were trained on."""
    update: int = 0
    """Update of the kept network."""
    seconds: float = 0.0
    note: str = ""
    """The reason why there is no figure."""


@dataclass(frozen=True)
class TuningTask:
    """Settings and files that all points share; called with a key and a point, it trains."""

    languages: tuple[str, str]
    pairs: tuple[str, ...]
    """TSVs of training pairs; a grid that names files goes before them."""
    columns: Columns
    development: PairFile
    """Pairs on which the best network of a training is chosen, and measured without ``sts``."""
    work: Path
    """An existing folder for temporary files."""
    sts: tuple[str, ...] = ()
    """TSVs of a human score and two sentences, to correlate the cosine with."""
    sts_languages: tuple[str, str] | None = None
    """The languages of their sentences; None: the model's."""
    vectors: Path | None = None
    """Initial vectors of pieces, in text form."""
    models: Path | None = None
    """A folder to keep each point's model in, under its key, once it is trained."""
    device: str = "cpu"

    @property
    def figure(self) -> str:
        """The name of the measure."""
        return "pearson" if self.sts else "recovery_error"

    def files(self, point: Point) -> tuple[str, ...]:
        """The files of pairs of a point."""
        return self.pairs if point.pairs is None else (point.pairs,)

    def check(self, point: Point) -> None:
        """Prepare the rules of a point.

        Raises SettingsError without pairs, and for a decoder that has nothing to write; and as
        :meth:`EncoderConfig.check_files`, for the architecture pivot, which takes other pairs, too.
        """
        point.config.check_files(self._training_files([]))
        if not self.files(point):
            raise SettingsError("no training pairs: name them in the grid, or with --pairs")
        if point.config.training.decodes and PIECES not in views(point.config.architecture):
            raise SettingsError(
                f"a decoder needs pieces, and the architecture {point.config.architecture} reads"
                " none; set training.translation and training.autoencoding to 0"
            )
        for rule in point.rules:
            rule.prepare(self.languages)
        rule_columns(point.rules)

    def prepare(self) -> int:
        """Make the folder of models, and read ``sts``, to fail before a training rather than after.

        Returns how many rows of ``sts`` have no score, so that they are left out. Raises
        OutputError where no model could be kept, and as :func:`mean_pearson`.
        """
        if self.models is not None:
            try:
                self.models.mkdir(parents=True, exist_ok=True)
                with draft(self.models / "point", folder=True):
                    pass
            except OSError as error:
                raise OutputError(f"{self.models}: cannot be written: {error.strerror}") from error
        return sum(read_rated_pairs(path).skipped for path in self.sts)

    def key(self, point: Point) -> str:
        """Return a hash, in 12 hexadecimal digits, of everything that the result depends on.

        That is every setting, those that have their default too, the content of every file and
        model, and the version of this package. Raises NotFoundError for a file that is missing.
        """
        development = self.development
        parts: dict[str, Any] = {
            "version": __version__,
            "plan": point.config.to_dict(),
            "rules": [(rule.name, rule_parameters(rule)) for rule in point.rules],
            "sample": point.sample,
            "languages": self.languages,
            "pairs": [file_digest(path) for path in self.files(point)],
            "columns": astuple(self.columns),
            "development": file_digest(development.source),
            "development columns": astuple(development.columns),
            "sts": [file_digest(path) for path in self.sts],
            "sts languages": self.sts_languages,
        }
        if self.vectors is not None:
            parts["vectors"] = file_digest(self.vectors)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

    def __call__(self, keyed: tuple[str, Point]) -> PointResult:
        """Train and measure, on one thread, so that results do not depend on parallel trainings.

        Where a training diverges, or no pair is left to train on, there is a note instead of a
        figure.
        """
        started, (key, point) = time.monotonic(), keyed
        try:
            with temporary_folder(self.work) as scratch:
                outcome = self._outcome(point, key, scratch)
        except (ModelError, SettingsError) as error:
            outcome = PointResult(key, None, note=str(error))
        return replace(outcome, seconds=time.monotonic() - started)

    def _outcome(self, point: Point, key: str, scratch: Path) -> PointResult:
        folder = scratch / "model"
        files = self._training_files(self._pair_files(point, scratch))
        environment = Environment(output=folder, device=self.device)
        training = EncoderTraining(point.config, files, environment)
        progress = training.run()
        figure, note = progress.best, ""
        if self.sts:
            figure = mean_pearson(load(folder, self.device, 1), self.sts, self.sts_languages)
            note = "" if figure is not None else "constant scores have no correlation"
        if self.models is not None:
            with writing_folder(self.models / key) as new:
                copy_model(folder, new)
        return PointResult(key, figure, len(training.corpus), progress.best_update, note=note)

    def _training_files(self, pairs: Sequence[PairFile]) -> TrainingFiles:
        return TrainingFiles(self.languages, pairs, self.development, vectors=self.vectors)

    def _pair_files(self, point: Point, scratch: Path) -> list[PairFile]:
        """The files of a point, or the one of those pairs that it selects."""
        files = self.files(point)
        if not point.rules and point.sample is None:
            return [PairFile(path, columns=self.columns) for path in files]
        lines = [
            line
            for path in files
            for line in select_pairs(path, self.columns, point.rules, self.languages)
        ]
        if not lines:
            raise SettingsError("no pair passes the rules")
        lines = sample_lines(lines, point.sample, point.config.training.seed)
        write_whole(scratch / "pairs.tsv", b"".join(lines))
        return [PairFile(str(scratch / "pairs.tsv"), columns=self.columns)]


def mean_pearson(
    model: Model, files: Sequence[str], languages: tuple[str, str] | None = None
) -> float | None:
    """Return the unweighted mean over files of 100 times the correlation of cosine and humans.

    *files* are TSVs of score, sentence, sentence; a row whose score is blank is passed over.
    *languages*: of the two sentences, None for the model's. Returns -100 to 100, None
    where a correlation is undefined. Raises NotFoundError where a file cannot be opened, InputError
    for a bad row, or fewer than two pairs with a score.
    """
    figures = []
    for path in files:
        pairs = read_rated_pairs(path)
        sides = (pairs.sources, pairs.targets)
        vectors = map(model.encode, sides, languages or model.languages)
        figures.append(pearson(pairs.ratings, cosine_pairs(*vectors)))
    known = [figure for figure in figures if figure is not None]
    return 100 * sum(known) / len(known) if len(known) == len(figures) else None


def rule_parameters(rule: Rule) -> dict[str, list[Any]]:
    """Return each parameter of a rule, with digests of the file and the model that it names."""
    parameters = {name: [value] for name, value in asdict(cast(Any, rule)).items()}
    for found in parameters.values():
        if isinstance(value := found[0], str):
            if _is_file(Path(value)):
                found.append(file_digest(value))
            if value in shipped_models() or _is_file(Path(value) / CONFIG):
                found.append(model_digest(find_model(value)))
    return parameters


def _is_file(path: Path) -> bool:
    """Whether a file exists; False for a text that cannot be a name."""
    try:
        return path.is_file()
    except OSError:
        return False


HIGHER_IS_BETTER = {"recovery_error": False, "pearson": True}
"""The measures, and their direction."""

_COUNTS = ("trained_pairs", "update", "seconds", "note")


class ResultTable:
    """Points, their figures, and the values that made them.

    A TSV with a header: ``point`` (its key), the figure, ``trained_pairs``, ``update``,
    ``seconds``, ``note``, then a column for each name of the grid. Lines of other grids stay, with
    empty cells for names that they lack.
    """

    def __init__(self, path: Path, figure: str, names: Sequence[str]) -> None:
        """Read the table at *path*, if there is one, to go on with it.

        Raises:
            SettingsError: it holds something else.
            InputError: a line of it has another number of columns.
        """
        self.path, self.figure = path, figure
        self._names = list(names)
        self._rows: dict[str, dict[str, str]] = {}
        if path.exists():
            self._read()

    def _read(self) -> None:
        lines = read_lines(self.path)
        fixed = ["point", self.figure, *_COUNTS]
        header = next(lines, "").split("\t")
        if header[: len(fixed)] != fixed:
            raise SettingsError(f"{self.path}: no table of {self.figure}; name another file")
        self._names += [name for name in header[len(fixed) :] if name not in self._names]
        for number, line in enumerate(lines, 2):
            cells = line.split("\t")
            message = ""
            if len(cells) != len(header):
                message = f"{len(cells)} columns, expected {len(header)}"
            elif cells[1] and not math.isfinite(number_of(cells[1].encode())):
                message = f"{self.figure} is no number"
            if message:
                raise InputError(message, file=str(self.path), line=number, remedy="mend the table")
            self._rows[cells[0]] = dict(zip(header, cells, strict=True))

    def finished(self, key: str) -> bool:
        """Whether this point has a result."""
        return bool(self._rows.get(key, {}).get(self.figure))

    def add(self, point: Point, outcome: PointResult) -> None:
        """Add a line, and write the table anew, whole.

        Lines that other runs have written meanwhile stay; a figure is never replaced by none.
        Raises SettingsError or InputError where the file is no such table any more, OutputError
        where it cannot be written.
        """
        row = {
            **point.cells(),
            "point": outcome.key,
            self.figure: "" if outcome.figure is None else f"{outcome.figure:.4f}",
            "trained_pairs": str(outcome.pairs),
            "update": str(outcome.update),
            "seconds": f"{outcome.seconds:.1f}",
            "note": " ".join(outcome.note.split()),
        }
        with locked(self.path):
            if self.path.exists():
                self._read()
            if row[self.figure] or not self.finished(outcome.key):
                self._rows[outcome.key] = row
            columns = ["point", self.figure, *_COUNTS, *self._names]
            rows = [[row.get(name, "") for name in columns] for row in self.best_first()]
            text = "".join("\t".join(cells) + "\n" for cells in [columns, *rows])
            write_whole(self.path, text.encode())

    def try_folder(self) -> None:
        """Raise OutputError where the table could not be written."""
        with locked(self.path):
            pass

    def best_first(self) -> list[dict[str, str]]:
        """The lines, by column; points without a figure come last."""
        sign = -1 if HIGHER_IS_BETTER[self.figure] else 1

        def order(row: dict[str, str]) -> tuple[float, str]:
            figure = row[self.figure]
            return (sign * float(figure) if figure else math.inf, row["point"])

        return sorted(self._rows.values(), key=order)
