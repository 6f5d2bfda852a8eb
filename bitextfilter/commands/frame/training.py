"""Options and progress that training commands share."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from bitextfilter.commands.frame.options import language_pair
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.rows import BadRow

if TYPE_CHECKING:
    from bitextfilter.io.rows import Columns
    from bitextfilter.training.data import PairFile
    from bitextfilter.training.loop import Progress
    from bitextfilter.workflows.runs import Environment, PivotFiles


TRANSLATOR_ERRORS = {
    "cross-entropy": "cross-entropy {:.4f} nats a token",
    "bleu": "100 - BLEU = {:.2f}",
}
"""Form of a validation's error, by ``training.validation``."""

_FOLDER = click.Path(exists=False, file_okay=False, path_type=Path)


def training_options(config: str) -> list[click.Parameter]:
    """Return -o, the files of pairs, the settings, --quantise and --resume.

    ``config``: see :func:`settings_options`.
    """
    return [
        *_file_options(),
        *settings_options(config),
        click.Option(
            ["--quantise"], is_flag=True, help="Keep matrices as int8: a quarter of the size."
        ),
        click.Option(
            ["--resume"],
            is_flag=True,
            help="Go on with the interrupted training of this model.",
        ),
    ]


def _list_settings(config: str, context: click.Context, _: click.Parameter, asked: bool) -> None:
    """Write the table of settings, and exit."""
    if asked:
        from bitextfilter.settings import settings_table

        module, name = config.rsplit(".", 1)
        rows = getattr(importlib.import_module(f"bitextfilter.{module}"), name).rows()
        click.echo(settings_table(rows), nl=False)
        context.exit()


def settings_options(config: str, seed: str = "training.seed") -> list[click.Option]:
    """Return --settings, --set, --list-settings and --seed, which every training has.

    Args:
        config: path of the class, below ``bitextfilter``, whose ``rows()`` are listed.
        seed: the setting that --seed is short for; none if it is empty.
    """
    options = [
        click.Option(
            ["--settings"],
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Settings (JSON), such as those that a model keeps.",
        ),
        click.Option(
            ["--set", "overrides"],
            multiple=True,
            metavar="NAME=VALUE",
            help="One setting; may be repeated, and goes before --settings.",
        ),
        click.Option(
            ["--list-settings"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=partial(_list_settings, config),
            help="List the settings with defaults, ranges and meanings, and exit.",
        ),
    ]
    if seed:
        about = f"Short for --set {seed}=N.  [default: 1]"
        number = click.IntRange(min=0)
        options.append(click.Option(["--seed"], type=number, metavar="N", help=about))
    return options


def _file_options() -> list[click.Parameter]:
    return [
        click.Option(["-o", "--output"], required=True, metavar="DIR", help="The new model."),
        click.Option(
            ["--languages"],
            required=True,
            type=language_pair,
            metavar="SOURCE,TARGET",
            help="Such as en,de; one twice (en,en) for paraphrases.",
        ),
        click.Option(
            ["--pairs"],
            multiple=True,
            metavar="FILE[@WEIGHT]",
            help="Training pairs, a TSV; may be repeated. Weight 2 reads a file twice a pass.",
        ),
        click.Option(
            ["--parallel"],
            multiple=True,
            nargs=2,
            metavar="SOURCE TARGET[@WEIGHT]",
            help="Training pairs in two files of as many lines; may be repeated.",
        ),
        click.Option(
            ["--development"], required=True, metavar="FILE", help="Pairs to validate on, a TSV."
        ),
        click.Option(
            ["--segmenter"],
            type=_FOLDER,
            metavar="DIR",
            help="Use a segmenter of bitext-segment learn instead of learning one.",
        ),
    ]


def settings_values(options: dict[str, Any], seed: str = "training.seed") -> dict[str, Any]:
    """The settings of --settings, changed by --architecture, --seed and every --set."""
    from bitextfilter.settings import read_settings, with_override

    values = read_settings(options["settings"]) if options["settings"] else {}
    values = values.get("settings", values)  # of a classifier, beside its figures
    values = {n: v for n, v in values.items() if n not in ("material", "validation")}
    if (architecture := options.get("architecture")) is not None:
        values = {**values, "architecture": architecture}
    if options.get("seed") is not None:
        values = with_override(values, f"{seed}={options['seed']}")
    for assignment in options["overrides"]:
        values = with_override(values, assignment)
    return values


def is_given(option: str) -> bool:
    """Whether the command line has an option."""
    source = click.get_current_context().get_parameter_source(option)
    return source is ParameterSource.COMMANDLINE


def pair_files(
    tables: Sequence[str],
    parallel: Sequence[tuple[str, str]],
    columns: Columns,
    option: str = "--pairs",
) -> list[PairFile]:
    """The files of ``option`` and of --parallel; UsageError without any."""
    from bitextfilter.training.data import PairFile

    for name in () if tables else ("scol", "tcol"):
        if is_given(name):
            raise click.UsageError(f"--{name} has no effect without {option} FILE")
    weighted = [_weighted(path, option) for path in tables]
    files = [PairFile(path, weight=weight, columns=columns) for path, weight in weighted]
    for source, text in parallel:
        target, weight = _weighted(text, "--parallel")
        files.append(PairFile(source, target, weight))
    if not files:
        raise click.UsageError("no training pairs: give --pairs FILE or --parallel SOURCE TARGET")
    return files


def _weighted(text: str, option: str) -> tuple[str, float]:
    """Split ``FILE@WEIGHT``; without a weight it is 1."""
    match = re.fullmatch(r"(.+)@([0-9]+(?:\.[0-9]+)?)", text)
    if match is None:
        return text, 1.0
    if float(match[2]) == 0:
        raise click.BadParameter(f"{text}: a weight must be above 0", param_hint=option)
    return match[1], float(match[2])


def run_environment(
    run: Run,
    output: str | Path,
    error: str = "recovery error {:.2f} %",
    quantise: bool = False,
    resume: bool = False,
) -> Environment:
    """The environment of a training; ``error``: form of a validation's error."""
    from bitextfilter.workflows.runs import Environment

    device, threads = run.common.device, run.common.threads
    report = TrainingReporter(run, error)
    return Environment(Path(output), device, threads, quantise, resume, run.note, report)


class TrainingReporter:
    """Shows the progress of a training, or of several, one after the other."""

    def __init__(self, run: Run, error: str) -> None:
        """``error``: form of a validation's error."""
        self._run = run
        self._error = error
        self._updates: int | None = None
        self._validations = 0

    def __call__(self, progress: Progress, updates: int) -> None:
        """Move the progress on, and tell of a new validation."""
        bar = self._run.progress(updates, "updates")
        if self._updates is None or progress.update <= self._updates:
            self._validations = sum(row["update"] < progress.update for row in progress.history)
            self._updates = progress.update - 1  # those before are of an interrupted run
            bar.initial += self._updates
            bar.n += self._updates
        losses = (f"{name} {loss:.3f}" for name, loss in progress.losses().items())
        bar.set_postfix_str(", ".join(losses), refresh=False)
        bar.update(progress.update - self._updates)
        self._updates = progress.update
        if len(progress.history) > self._validations:
            self._validations = len(progress.history)
            self._run.note(_described(progress.history[-1], self._error))


def _described(row: Mapping[str, float], error: str) -> str:
    """A validation in words."""
    losses = (f", {name} {row[name]:.3f}" for name in row if name not in ("update", "error"))
    return f"update {row['update']}: {error.format(row['error'])}{''.join(losses)}"


_Pair = tuple[str, str]


class NoisyCorpus:
    """A file read from its beginning at each call; its rows are counted once."""

    def __init__(self, run: Run, path: str) -> None:
        self._run, self._path, self._again = run, path, False

    def __call__(self) -> Iterator[list[_Pair]]:
        """Return the pairs, many at a time."""
        again, self._again = self._again, True
        return _windows(self._run, self._path, again)


def pairs_of(run: Run, path: str) -> list[_Pair]:
    """Return the pairs of the file *path*, rejected rows aside."""
    return [pair for window in _windows(run, path) for pair in window]


def _windows(run: Run, path: str, again: bool = False) -> Iterator[list[_Pair]]:
    """Yield the pairs of the file *path*, many at a time, rejected rows aside."""
    for window in run.windows(run.rows(file=path), again):
        yield [(row.source, row.target) for row in window if not isinstance(row, BadRow)]


NEEDED = ("pivot", "source_pivot", "target_pivot")
NOT_USED = ("pairs", "parallel", "source_text", "target_text")


def pivot_options() -> list[click.Parameter]:
    """Return --pivot and its files."""
    return [
        click.Option(
            ["--pivot"],
            metavar="LANGUAGE",
            help="The third language of --architecture pivot, such as fr.",
        ),
        *(
            click.Option(
                [f"--{side}-pivot"],
                multiple=True,
                metavar="FILE[@WEIGHT]",
                help=f"Instead of --pairs, a TSV of {side}s and the same in the third language;"
                " may be repeated.",
            )
            for side in ("source", "target")
        ),
    ]


def pivot_files(options: dict[str, Any], columns: Columns) -> PivotFiles:
    """The files of --source-pivot and --target-pivot. Raises UsageError unless all is there."""
    from bitextfilter.workflows.runs import PivotFiles

    for name in NEEDED:
        if not options[name]:
            raise click.UsageError(f"--architecture pivot needs {_written(name)}")
    for name in NOT_USED:
        if options[name]:
            raise click.UsageError(
                f"--architecture pivot reads no {_written(name)}: give --source-pivot and"
                " --target-pivot alone"
            )
    if options["pivot"] in options["languages"]:
        raise click.UsageError(
            f"--pivot is a third language, and {options['pivot']} is one of --languages"
        )
    source, target = (pair_files(options[name], (), columns, _written(name)) for name in NEEDED[1:])
    return PivotFiles(options["pivot"], (source, target))


def no_pivot(options: dict[str, Any]) -> None:
    """Raise UsageError where an option is given that is for --architecture pivot alone."""
    for name in NEEDED:
        if options[name]:
            raise click.UsageError(f"{_written(name)} is for --architecture pivot alone")


def _written(name: str) -> str:
    return f"--{name.replace('_', '-')}"
