"""Subcommands of ``bitext-models`` that keep calibrations, thresholds and grades in models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter import __version__
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    NumberRange,
    argument,
    as_column,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import language_file
from bitextfilter.commands.models.lines import (
    Named,
    calibration_lines,
    grade_line,
    held_out_lines,
    kept_thresholds,
    lines,
    threshold_line,
)
from bitextfilter.errors import InputError, ModelError, SettingsError
from bitextfilter.io.files import open_input, read_small, stream_name
from bitextfilter.io.records import file_digest, parse_json
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import BadRow, WantedColumn
from bitextfilter.models.folders import (
    check_replaceable,
    copy_model,
    find_model,
    model_digest,
    naming_pair,
    pair_of_more,
    read_config,
    writing_folder,
)
from bitextfilter.scoring.measures import THRESHOLD_MEASURES

if TYPE_CHECKING:
    from bitextfilter.scoring.calibration import Calibration
    from bitextfilter.scoring.thresholds import Threshold
    from bitextfilter.training.calibration import LabelledRows
    from bitextfilter.training.multilingual import LanguageFile

_FEW_FILES = 3
_FAR = 7
"""Files before this one, whose targets are in another language."""
_REMEDY = "see bitext-models recommend --help"
_OWN_FOLDER: Any = option(
    "-o --output FOLDER", "Folder of the new model; it may be MODEL's own.", required=True
)


def _names(value: str) -> tuple[str, ...]:
    """Read names with commas between them."""
    return tuple(filter(None, map(str.strip, value.split(","))))


@dataclass(frozen=True)
class _Calibrated(Named):
    """The model, the labelled rows, and the new folder."""

    files: tuple[str, ...] = argument("[LANGUAGES=FILE]...", nargs=-1)
    folder: str = _OWN_FOLDER
    labels: int | str = option(
        "--labels COLUMN", "Column of the labels: a number or a name.", as_column, 1
    )
    right: tuple[str, ...] | None = option(
        "--right LABELS", "Labels of right rows, with commas between them.", _names
    )
    wrong: tuple[str, ...] | None = option("--wrong LABELS", "Labels of wrong rows.", _names)
    start: str | None = option(
        "--start NAME|DIR",
        "Keep the curves of this model's calibration, and fit an offset for each FILE  [default:"
        " en-de, or multi for more languages; none for more than three FILEs]",
    )
    held_out: str | None = option(
        "--held-out FILE",
        "Write each labelled row: languages, label, 1 for right, its probability when it was held"
        " out, and when all rows of its languages were.",
    )


@command("calibrate", _Calibrated, row_options("texts"), uses="threads device")
def calibrate(run: Run, settings: _Calibrated) -> None:
    """Fit the probability of MODEL to labels of people, and keep it in the model.

    Each FILE is a TSV of rows of a raw crawl with a label each, in two languages, as en,cs=FILE.
    Rows with other labels than --right and --wrong are passed over. --wrong rows are those that a
    cut should drop: misaligned, or in another language.

    Curves of the classifier's score and of other evidence (foreign words, figures, lengths) add up
    to the logit of the probability that a row is right, in a crawl in which 42 % of the rows are.
    The cuts lenient, balanced and strict come with them. Damaged right rows stand for the mistakes
    of other crawls. Without a FILE, MODEL gets the curves and cuts of --start, for languages that
    have no labels.

    Writes a line for each pair of languages, tab-separated: the name, the expected calibration
    error, the AUC, and the parts of right and wrong rows above each cut, of rows that were held
    out; unseen is the balanced cut where all rows of the languages were.

    Example:

        bitext-models calibrate mine en,de=labels.tsv --scol 2 --tcol 3 --right V --wrong A -o new
    """
    from bitextfilter.scoring.thresholds import move_thresholds
    from bitextfilter.training.calibration import LabelledInputs, fit_calibration

    if settings.files and not (settings.right and settings.wrong):
        raise click.UsageError("a FILE needs --right and --wrong")
    folder, source = Path(settings.folder), find_model(settings.name)
    check_replaceable(folder)
    files, output = list(map(language_file, settings.files)), run.output("-")
    taken = [*(file.source for file in files), run.common.manifest]
    needs_own_file("--held-out", settings.held_out, taken)
    if not read_config(source).get("classifier"):
        raise ModelError(f"{source}: has no classifier, whose score a calibration needs")
    start = _start(settings, source)
    read = [_labelled(run, file, settings) for file in files]
    groups = []
    for number, (file, rows) in enumerate(zip(files, read, strict=True)):
        name = f"{source}:{file.languages[0]},{file.languages[1]}"
        model = run.load(name, run.common.device, run.common.threads)
        foreign = [target for _, target in read[number - _FAR][0]] if len(read) > _FAR else []
        groups.append(LabelledInputs.of(model, rows, foreign))
    facts = _facts(settings, files, read, start)
    fitted = fit_calibration(groups, start, facts=facts)
    with writing_folder(folder) as draft:
        copy_model(source, draft)
        fitted.calibration.write(draft)
        move_thresholds(draft, model_digest(source))
    output.write(lines(calibration_lines(fitted)))
    if settings.held_out is not None:
        run.output(settings.held_out).write(lines(held_out_lines(fitted)))
    run.counts.update(rows=sum(len(rows.pairs) for rows in read), files=len(files))


def _start(settings: _Calibrated, source: Path) -> Calibration | None:
    """Return the calibration whose curves are kept; None where there are files for new ones."""
    from bitextfilter.scoring.calibration import general_calibration, load_calibration

    if settings.start is None:
        few = len(settings.files) <= _FEW_FILES
        return general_calibration(len(read_config(source)["languages"])) if few else None
    if (start := load_calibration(find_model(settings.start))) is None:
        raise ModelError(f"{settings.start}: has no calibration to start from")
    return start


def _facts(
    settings: _Calibrated,
    files: Sequence[LanguageFile],
    read: Sequence[LabelledRows],
    start: Calibration | None,
) -> dict[str, Any]:
    """Return how a calibration is made, for its file."""
    return {
        "files": {Path(file.source).name: file_digest(Path(file.source)) for file in files},
        "right": ",".join(settings.right or ()),
        "wrong": ",".join(settings.wrong or ()),
        "rows": sum(len(rows.pairs) for rows in read),
        "model": Path(settings.name).name,
        "curves": Path(settings.start or "shipped").name if start else "fitted to these rows",
        "version": __version__,
    }


def _labelled(run: Run, file: LanguageFile, settings: _Calibrated) -> LabelledRows:
    """Read the labelled rows of a file. Raises InputError for a bad row."""
    import numpy as np

    from bitextfilter.training.calibration import LabelledRows

    if len(file.languages) != 2:
        raise SettingsError(f"{file.source}: name its two languages, as en,de=FILE")
    label = WantedColumn("label", "--labels", settings.labels)
    columns = replace(run.row_settings.columns, first=(label,))
    good, bad = settings.right or (), settings.wrong or ()
    pairs, right, labels = [], [], []
    with open_input(file.source) as stream:
        for row in RowReader(stream, file.source, columns, run.row_settings.header):
            if isinstance(row, BadRow):
                raise InputError(row.reason, file=file.source, line=row.number, remedy=row.remedy)
            name, source, target = row.texts
            if name in good or name in bad:
                pairs.append((source, target))
                right.append(name in good)
                labels.append(name)
    return LabelledRows(pairs, np.array(right, dtype=bool), labels)


@dataclass(frozen=True)
class _Recommended(Named):
    """The model, and the results to keep in it."""

    results: tuple[str, ...] = argument("RESULT...", nargs=-1, required=True)
    folder: str = _OWN_FOLDER
    similarity: str | None = option(
        "--similarity NAME",
        "The measure, for a RESULT that does not name it: with --labels, and of mined pairs.",
        THRESHOLD_MEASURES,
    )


@command("recommend", _Recommended, uses="")
def recommend(run: Run, settings: _Recommended) -> None:
    """Keep thresholds suggested by bitext-evaluate in a model, for bitext-models show.

    Each RESULT (- is stdin) is JSON of bitext-evaluate filtering --suggest-threshold or of
    bitext-evaluate mining, for scores of this MODEL. A threshold replaces one of the same use,
    measure and goal. The folder is written whole or not at all; scores and the digest stay the
    same. Writes all thresholds of the model, as bitext-models show does. A model of more than two
    languages has a threshold for each two that MODEL ends with, as my-model:de,cs, and one for
    any others, where MODEL ends with none.

    Example:

        bitext-evaluate filtering --suggest-threshold --similarity csls --json clean.tsv > cut.json
        bitext-models recommend en-de cut.json -o my-model
    """
    from bitextfilter.scoring.thresholds import merge_thresholds, write_thresholds

    folder, similarity = Path(settings.folder), settings.similarity
    check_replaceable(folder)
    source = find_model(settings.name)
    read_config(source)
    own, output = model_digest(source), run.output("-")
    pair = ",".join(pair_of_more(settings.name) or ())
    found = (_suggested(run, path, own, similarity) for path in settings.results)
    new = [replace(threshold, languages=pair) for some in found for threshold in some]
    thresholds = merge_thresholds(kept_thresholds(run, source, own), new)
    with writing_folder(folder) as draft:
        copy_model(source, draft)
        write_thresholds(draft, thresholds)
    output.write(lines(map(threshold_line, thresholds)))
    run.counts.update(new=len(new), thresholds=len(thresholds))


@dataclass(frozen=True)
class _Graded(Named):
    """The model, the files to measure on, and the new folder."""

    files: tuple[str, ...] = argument("LANGUAGES=FILE...", nargs=-1, required=True)
    folder: str = _OWN_FOLDER
    weak_above: float = option(
        "--weak-above PERCENT", "A language with a higher error is weak.", NumberRange(0, 100), 8.0
    )


@command("grade", _Graded, uses="threads device")
def grade(run: Run, settings: _Graded) -> None:
    """Measure how well MODEL knows its languages, and keep the figures in it.

    Each FILE is a TSV of pairs with names of its columns, as en,cs=FILE: the model's first language
    and another; a column called - is passed over. The figure is the sentence alignment recovery
    error by CSLS, as of bitext-evaluate recovery, in percent: lower is better. A figure replaces
    an older one of its language. bitext-models show writes them, and who scores a weak language
    is warned. Scores and the digest stay the same.

    Example:

        bitext-models grade my-multi --weak-above 25 en,cs=talks.tsv en,pl,-=more.tsv -o my-multi
    """
    from bitextfilter.scoring.thresholds import merge_grades, read_grades, write_grades
    from bitextfilter.training.multilingual_training import grade_languages

    folder, source = Path(settings.folder), find_model(settings.name)
    check_replaceable(folder)
    files, output = list(map(language_file, settings.files)), run.output("-")
    model = run.load(naming_pair(source), run.common.device, run.common.threads)
    new = []
    for each in grade_languages(model, files, settings.weak_above):
        output.write(lines([grade_line(each)]))
        new.append(each)
    with writing_folder(folder) as draft:
        copy_model(source, draft)
        write_grades(draft, merge_grades(read_grades(source), new))
    run.counts.update(graded=len(new), weak=sum(each.weak for each in new))


def _suggested(run: Run, path: str, digest: str, similarity: str | None) -> list[Threshold]:
    """Read the thresholds suggested in a result. Raises InputError for any other file."""
    file = stream_name(path)
    try:
        records = parse_json(read_small(run.input(path), file))["recommended"]
        found = [_filled({**record}, digest, similarity) for record in records]
    except (KeyError, TypeError):
        raise InputError("no result with thresholds", file=file, remedy=_REMEDY) from None
    except ValueError as error:
        raise InputError(f"unusable: {error}", file=file, remedy=_REMEDY) from error
    if not found:
        raise InputError("no threshold was suggested", file=file, remedy=_REMEDY)
    return found


def _filled(record: dict[str, Any], digest: str, similarity: str | None) -> Threshold:
    """Return the threshold of a record, in which measure and model may be None."""
    from bitextfilter.scoring.thresholds import Threshold

    for name, value in (("measure", similarity), ("model", digest)):
        if record[name] is None and value is None:
            raise ValueError("it does not name the measure: give --similarity NAME")
        if value is not None and record[name] not in (None, value):
            raise ValueError(f"of scores of the {name} {record[name]!r}, not of {value!r}")
        record[name] = record[name] or value
    return Threshold.of(record)
