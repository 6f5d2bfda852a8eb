"""Options and progress that training commands share."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame.command import keep_freed_memory, needs_none_of
from bitextfilter.commands.frame.options import (
    FILE,
    FOLDER,
    NATURAL,
    Options,
    as_numbered_column,
    flag,
    option,
    options_of,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.words import as_languages
from bitextfilter.io.rows import REMEDY, Columns, Row, WantedColumn, number_of
from bitextfilter.settings import read_settings, settings_table, with_override

if TYPE_CHECKING:
    from bitextfilter.training.classifier_training import GradedPairs
    from bitextfilter.training.data import PairFile
    from bitextfilter.training.loop import Progress
    from bitextfilter.training.multilingual import LanguageFile
    from bitextfilter.training.runs import Environment, TrainingFiles


TRANSLATOR_ERRORS = {
    "cross-entropy": "cross-entropy {:.4f} nats a token",
    "bleu": "100 - BLEU = {:.2f}",
}
"""Form of a validation's error, by ``training.validation``."""


@dataclass(frozen=True)
class TrainingOptions:
    """The settings of a training; ``seed`` is short for that of ``seed_name``."""

    settings: Path | None = option(
        "--settings FILE", "Settings (JSON), such as a model's own file of them.", FILE
    )
    overrides: tuple[str, ...] = option(
        "--set NAME=VALUE", "One setting, which overrides --settings; repeatable.", multiple=True
    )
    seed: int | None = option("--seed N", "Short for --set training.seed=N.  [default: 1]", NATURAL)
    seed_name: str = "training.seed"

    def values(self, architecture: str | None = None) -> dict[str, Any]:
        """Return the settings of --settings, changed by --architecture, --seed and --set."""
        values = read_settings(self.settings) if self.settings else {}
        values = values.get("settings", values)  # of a classifier, beside its figures
        values = {n: v for n, v in values.items() if n not in ("material", "validation")}
        if architecture is not None:
            values = {**values, "architecture": architecture}
        if self.seed is not None:
            values = with_override(values, f"{self.seed_name}={self.seed}")
        for assignment in self.overrides:
            values = with_override(values, assignment)
        return values


def training_settings(config: str, seed: str = "training.seed") -> Options:
    """Return the options of ``TrainingOptions``, and --list-settings.

    Args:
        config: path of the class, below ``bitextfilter``, whose ``rows()`` are listed.
        seed: the setting that --seed is short for; none if it is empty.
    """
    names = "settings overrides seed" if seed else "settings overrides"
    about = {"help": f"Short for --set {seed}=N.  [default: 1]"}
    listed = click.Option(
        ["--list-settings"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=partial(_list_settings, config),
        help="List the settings with defaults, ranges and meanings, and exit.",
    )
    options = options_of(TrainingOptions, names, {"seed": about}).parameters
    return Options(partial(TrainingOptions, seed_name=seed), [*options, listed])


def _list_settings(config: str, context: click.Context, _: click.Parameter, asked: bool) -> None:
    """Write the table of settings, and exit."""
    if asked:
        module, name = config.rsplit(".", 1)
        rows = getattr(importlib.import_module(f"bitextfilter.{module}"), name).rows()
        click.echo(settings_table(rows), nl=False)
        context.exit()


def embeddings_option() -> Any:
    """Return the field of --embeddings."""
    text = "Initial vectors of words or subwords, in the text format of word2vec."
    return option("--embeddings FILE", text, FILE)


@dataclass(frozen=True)
class PairTraining:
    """The files of a training on pairs, and the form of the model."""

    languages: tuple[str, str] = option(
        "--languages SOURCE,TARGET",
        "Such as en,de; one twice (en,en) for paraphrases.",
        as_languages,
        required=True,
    )
    pairs: tuple[str, ...] = option(
        "--pairs FILE[@WEIGHT]",
        "Training pairs, a TSV; may be repeated. Weight 2 reads a file twice a pass.",
        multiple=True,
    )
    parallel: tuple[tuple[str, str], ...] = option(
        "--parallel SOURCE TARGET[@WEIGHT]",
        "Training pairs in two files with equal numbers of lines; repeatable.",
        multiple=True,
        nargs=2,
    )
    development: str = option("--development FILE", "Pairs to validate on, a TSV.", required=True)
    segmenter: Path | None = option(
        "--segmenter DIR", "A segmenter of bitext-segment learn, instead of a new one.", FOLDER
    )
    embeddings: Path | None = embeddings_option()
    quantise: bool = flag("--quantise", "Keep matrices as int8: a quarter of the size.")
    resume: bool = flag("--resume", "Go on with the interrupted training of this model.")

    def files(self, pairs: Sequence[PairFile], **others: Any) -> TrainingFiles:
        """The files of the run: *pairs*, and *others* by their names there."""
        from bitextfilter.training.runs import TrainingFiles

        others |= {"segmenter": self.segmenter, "vectors": self.embeddings}
        return TrainingFiles(self.languages, pairs, **others)


@dataclass(frozen=True)
class PairColumns:
    """The columns of training and development pairs, of files without a header."""

    scol: int | str = option("--scol COLUMN", "Source column of --pairs.", as_numbered_column, 1)
    tcol: int | str = option("--tcol COLUMN", "Target column of --pairs.", as_numbered_column, 2)
    dev_scol: int | str = option(
        "--dev-scol COLUMN", "Source column of --development.", as_numbered_column, 1
    )
    dev_tcol: int | str = option(
        "--dev-tcol COLUMN", "Target column of --development.", as_numbered_column, 2
    )

    @property
    def training(self) -> Columns:
        """The columns of --pairs."""
        return Columns(self.scol, self.tcol)

    @property
    def development(self) -> Columns:
        """The columns of --development."""
        return Columns(self.dev_scol, self.dev_tcol)


_OUTPUT = {"default": None, "required": True, "metavar": "DIR", "help": "The new model."}
NEW_MODEL = row_options("output", output=_OUTPUT)
NEW_MODEL_OF_ROWS = row_options("output texts errors", output=_OUTPUT)
"""--output DIR, as ``run.row_settings.output``."""


def pair_files(
    tables: Sequence[str],
    parallel: Sequence[tuple[str, str]],
    columns: Columns,
    name: str = "--pairs",
) -> list[PairFile]:
    """The files of ``name`` and of --parallel; UsageError without any."""
    from bitextfilter.training.data import PairFile

    if not tables:
        needs_none_of(("scol", "tcol"), f"has no effect without {name} FILE")
    each = [weighted(path, name) for path in tables]
    files = [PairFile(path, weight=weight, columns=columns) for path, weight in each]
    for source, text in parallel:
        target, weight = weighted(text, "--parallel")
        files.append(PairFile(source, target, weight))
    if not files:
        raise click.UsageError("no training pairs: give --pairs FILE or --parallel SOURCE TARGET")
    return files


def weighted(text: str, name: str) -> tuple[str, float]:
    """Split ``FILE@WEIGHT``; without a weight it is 1."""
    match = re.fullmatch(r"(.+)@([0-9]+(?:\.[0-9]+)?)", text)
    if match is None:
        return text, 1.0
    if float(match[2]) == 0:
        raise click.BadParameter(f"{text}: a weight must be above 0", param_hint=name)
    return match[1], float(match[2])


@dataclass(frozen=True)
class _GradeColumns(Columns):
    """The columns of a pair, and the last ones: a grade, perhaps before the better pair."""

    option: str = "--graded"
    better: tuple[str, ...] = ()

    def wanted(self) -> tuple[WantedColumn, ...]:
        """Return source, target, grade, and the better source and target."""
        names = ("grade", *self.better)
        last = (WantedColumn(name, self.option, n - len(names)) for n, name in enumerate(names))
        return (*super().wanted(), *last)

    def fault(self, row: Row) -> tuple[str, str] | None:
        """Return the fault of a row whose grade is no number from 0 to 1."""
        if 0 <= number_of(row.texts[2].encode()) <= 1:
            return None
        remedy = f"the {self.option} column counts from the end: {2 - len(row.texts)}; {REMEDY}"
        return f"the grade {row.texts[2]!r} is no number from 0 to 1", remedy


def graded_rows(run: Run, path: str, option: str, better: tuple[str, ...] = ()) -> Iterator[Row]:
    """Read the graded rows of a file."""
    sides = run.row_settings.columns
    columns = _GradeColumns(sides.source, sides.target, option=option, better=better)
    for window in run.good_windows(columns, path, columns.fault):
        yield from window


def graded_pairs(run: Run, text: str) -> GradedPairs:
    """Read the pairs with grades of ``FILE[@WEIGHT]``."""
    from bitextfilter.training.classifier_training import GradedPairs

    path, weight = weighted(text, "--graded")
    rows = list(graded_rows(run, path, "--graded"))
    pairs = [(row.source, row.target) for row in rows]
    return GradedPairs(pairs, [float(row.texts[2]) for row in rows], weight)


_NAMED = re.compile(r"((?:[A-Za-z][\w-]+|-)(?:,(?:[A-Za-z][\w-]+|-))*)=(.+)")


def language_file(
    text: str, weight: float = 1.0, usual: tuple[str, ...] = (), least: int = 2
) -> LanguageFile:
    """Return the file of ``LANGUAGES=FILE``, or of ``FILE``.

    Without *usual* languages, the first line of ``FILE`` names them. *least*: how many languages
    there are at least; with fewer, the text is a name.
    """
    from bitextfilter.training.multilingual import LanguageFile

    named = _NAMED.fullmatch(text)
    if named and len(named[1].split(",")) < least:
        named = None
    languages = tuple(named[1].split(",")) if named else usual
    return LanguageFile(named[2] if named else text, languages, weight)


def run_environment(
    run: Run,
    error: str = "recovery error {:.2f} %",
    bits: int = 32,
    resume: bool = False,
    output: str | None = None,
) -> Environment:
    """The environment of a training, which keeps the memory that it frees.

    ``error``: form of a validation's error. ``bits``: of a number of a matrix in the model.
    ``output``: folder of the model, if not -o.
    """
    keep_freed_memory()
    from bitextfilter.training.runs import Environment

    device, threads = run.common.device, run.common.threads
    folder = Path(run.row_settings.output if output is None else output)
    report = TrainingReporter(run, error)
    return Environment(folder, device, threads, bits, resume, run.note, report)


class TrainingReporter:
    """Shows the progress of a training, or of several, one after the other."""

    def __init__(self, run: Run, error: str) -> None:
        """``error``: form of a validation's error."""
        self._run = run
        self._error = error
        self._updates: int | None = None
        self._validations = 0

    def figures(self, progress: Progress, updates: int) -> list[str]:
        """Return the figures beside the progress: the losses."""
        return [f"{name} {loss:.3f}" for name, loss in progress.losses().items()]

    def __call__(self, progress: Progress, updates: int) -> None:
        """Move the progress on, and tell of a new validation."""
        bar = self._run.progress(updates, "updates")
        if self._updates is None or progress.update <= self._updates:
            self._validations = sum(row["update"] < progress.update for row in progress.history)
            self._updates = progress.update - 1  # those before are of an interrupted run
            bar.initial += self._updates
            bar.n += self._updates
        bar.set_postfix_str(", ".join(self.figures(progress, updates)), refresh=False)
        bar.update(progress.update - self._updates)
        self._updates = progress.update
        if len(progress.history) > self._validations:
            self._validations = len(progress.history)
            row = progress.history[-1]
            error = self._error.format(row["error"])
            losses = (f"{n} {row[n]:.3f}" for n in row if n not in ("update", "error"))
            left = self._run.messages.left() if progress.update < updates else []
            figures = ", ".join([error, *losses, *left])
            self._run.note(f"update {row['update']} of {updates}: {figures}")
