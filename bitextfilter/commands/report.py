"""``bitext-report``: one page about a scored corpus and its runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    NATURAL,
    RowSettings,
    as_column,
    languages_option,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import make_folder
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import Columns, Row, WantedColumn, number_of, optional
from bitextfilter.models.folders import languages_of, naming_pair

if TYPE_CHECKING:
    from bitextfilter.reports.page import Corpus, Report
    from bitextfilter.reports.survey import Sample


def as_names(value: str) -> tuple[str, ...]:
    """Read names of scores: ``mlp,cosine``."""
    names = tuple(name.strip() for name in value.split(","))
    if not all(names) or len(set(names)) < len(names):
        raise click.BadParameter("expected names that differ, such as mlp,cosine")
    return names


@dataclass(frozen=True)
class _Settings:
    """The input and the content of the page."""

    columns: tuple[int | str, ...] = option(
        "--column COLUMN",
        "Column of a score: a number, -1 the last, or a name of the header; repeat it for "
        "several scores  [default: -1]",
        as_column,
        ["-1"],
        multiple=True,
    )
    names: tuple[str, ...] = option(
        "--names NAME,NAME",
        "Names of the scores, in the order of --column  [default: by header, or by --model]",
        as_names,
        unset=(),
    )
    against: str | None = option(
        "--against FILE", "Show FILE beside the input: rows with the same columns."
    )
    model: str | None = option(
        "--model NAME|DIR", "Mark the balanced cuts of this model, the one of the scores."
    )
    label: int | str | None = option(
        "--label COLUMN", "Column of a label, such as a noise.", as_column
    )
    reasons: int | str | None = option(
        "--reasons COLUMN", "Column of the reasons of bitext-score --explain.", as_column
    )
    filter_manifest: str | None = option(
        "--filter-manifest FILE", "Show rows dropped by each rule: the --manifest of bitext-filter."
    )
    manifests: tuple[str, ...] = option(
        "--manifests FILE", "Show this manifest; repeat it for more.", multiple=True
    )
    title: str | None = option("--title TEXT", "Title of the page  [default: the input's name]")
    languages: tuple[str, str] | None = languages_option(tags=True)
    count: str = option("--count", "The unit of lengths.", ["words", "characters"], "words")
    pairs: int = option(
        "--pairs", "Pairs shown for each tenth of the corpus.", click.IntRange(1, 100), 10
    )
    plots: str | None = option("--plots FOLDER", "Write each figure here too, as PNG and as SVG.")
    seed: int = option("--seed", "Seed of the sample.", NATURAL, 1)

    def __post_init__(self) -> None:
        """Refuse another number of names than of columns."""
        if self.names and len(self.names) != len(self.columns):
            message = f"--names has {len(self.names)} names for {len(self.columns)} columns"
            raise click.UsageError(f"{message}: name each --column, in its order")


@command("bitext-report", _Settings, row_options("pairs files"), uses="")
def main(run: Run, settings: _Settings) -> None:
    """Show scored pairs on one page: figures, samples, and a movable threshold.

    Writes one HTML file, which opens without the internet: each score over the sorted
    corpus and its histogram, lengths, pairs at each tenth of the corpus, and a slider for a
    threshold, with the share that it keeps and the command that keeps these rows. --reasons and
    the manifest of bitext-filter add why rows are bad; --against a second corpus.

    Rows without a score (no number, or infinite) are counted and left out. Memory: 9 bytes a row
    and 8 for each score. Pairs are shown from a random sample of 20,000, texts cut after 400
    characters. The same input and options give the same file.

    --plots needs matplotlib: pip install 'bitextfilter[report]'.

    Example:

        bitext-report -i scored.tsv -o report.html --model en-de
        bitext-report --header --column mlp --column csls --label noise < scored.tsv > report.html
        bitext-report old.tsv --against new.tsv --names mlp -o report.html
        bitext-report -i kept.tsv -o report.html --filter-manifest filter.json --plots figures
        bitext-score --explain < pairs.tsv | bitext-report --column -2 --reasons -1 > report.html
    """
    _check(run, settings)
    reader = run.rows(_columns(run, settings))
    output = run.output()
    run.counts["unscored"] = 0
    run.facts["seed"] = settings.seed
    report = _report(run, settings, reader)
    output.write(report.html())
    if settings.plots is not None:
        _write_plots(run, report, Path(settings.plots))


def _columns(run: Run, settings: _Settings) -> Columns:
    """Return the columns of a pair, of its scores, and of its label and reasons if it has them."""
    scores = (WantedColumn("score", "--column", where) for where in settings.columns)
    label = optional("label", "--label", settings.label)
    reasons = optional("reasons", "--reasons", settings.reasons)
    return replace(run.row_settings.columns, blank=True, last=(*scores, *label, *reasons))


def _check(run: Run, settings: _Settings) -> None:
    """Check the columns and the outputs before anything is read."""
    if settings.reasons in settings.columns:
        raise _no_score(settings.reasons)
    inputs = (settings.filter_manifest, *settings.manifests, settings.against)
    needs_own_file("--manifest", run.common.manifest, inputs)
    if run.row_settings.output != "-":
        needs_own_file("--output", run.row_settings.output, inputs)
    if settings.against == "-" and "-" in run.row_settings.inputs:
        raise click.UsageError("--against needs another file than the input")
    if settings.plots is not None:
        from bitextfilter.reports.charts import check_plots

        check_plots()


def _report(run: Run, settings: _Settings, reader: RowReader) -> Report:
    """Read the manifests, and then all rows."""
    from bitextfilter.reports.page import Report, SideLanguages
    from bitextfilter.reports.survey import FilterRun, read_run

    path = settings.filter_manifest
    filter_run = None if path is None else FilterRun(path)
    runs = [] if filter_run is None else [(filter_run.name, filter_run.manifest)]
    runs += [(Path(name).name, read_run(name)) for name in settings.manifests]
    names = _score_names(settings, reader)
    cuts = _cuts(run, settings, names)
    corpora = [_corpus(run, settings, reader, names)]
    if settings.against is not None:
        other = run.rows(_columns(run, settings), settings.against)
        _check_names(settings, reader, other)
        corpora.append(_corpus(run, settings, other, names))
    return Report(
        corpora,
        settings.title or " against ".join(corpus.name for corpus in corpora),
        languages=SideLanguages(*(settings.languages or ("", ""))),
        each=settings.pairs,
        cuts=cuts,
        reasons=settings.reasons is not None,
        filter_run=filter_run,
        runs=runs,
    )


def _score_names(settings: _Settings, reader: RowReader) -> list[str]:
    """Return the names of the scores: those given, of the header, or of the model's measure."""
    if settings.names:
        return list(settings.names)
    if settings.model is not None and len(settings.columns) == 1 and reader.header is None:
        from bitextfilter.scoring.thresholds import measure_of

        return [measure_of(settings.model, None, None)]
    return reader.score_names(settings.columns)


def _check_names(settings: _Settings, reader: RowReader, other: RowReader) -> None:
    """Raise InputError if the header of the *other* file names other scores."""
    names, found = (one.score_names(settings.columns) for one in (reader, other))
    if names != found and not settings.names:
        raise InputError(
            f"the scores are {', '.join(found)}, those of {reader.name} {', '.join(names)}",
            file=other.name,
            line=1,
            remedy="--column NAME finds a score by its name",
        )


def _cuts(run: Run, settings: _Settings, names: Sequence[str]) -> dict[str, float]:
    """Return the balanced cuts of the model, by the names of scores; warn of none at all."""
    if settings.model is None:
        return {}
    model, cuts, problems = settings.model, {}, []
    if languages_of(model) is None and settings.languages is not None:
        model = naming_pair(model, settings.languages)
    for name in names:
        try:
            cuts[name] = run.named_cut(model, name)
        except SettingsError as error:
            problems.append(str(error))
    if not cuts:
        run.warn(problems[0])
    return cuts


def _corpus(run: Run, settings: _Settings, reader: RowReader, names: Sequence[str]) -> Corpus:
    """Read all rows of a file."""
    from bitextfilter.reports.page import Corpus
    from bitextfilter.reports.survey import Survey

    before = run.counts["rejected"]
    survey = Survey(names, unit=settings.count, seed=settings.seed)
    for samples in _samples(run, settings, reader):
        survey.add(samples)
    run.counts["unscored"] += survey.unscored
    return Corpus(
        survey,
        ", ".join(Path(name).name for name in run.row_settings.names),
        {"rejected": run.counts["rejected"] - before, "unscored": survey.unscored},
        [_cutting(run.row_settings, column) for column in settings.columns],
    )


def _cutting(files: RowSettings, column: int | str) -> str:
    """Return the command line that cuts these rows by a score, but for the threshold."""
    given = [path for path in files.inputs if path != "-"]
    words = ["bitext-rank", *["-i"] * (len(given) == 1), *given, "-o", "kept.tsv"]
    words += ["--header"] * files.header + ["--on-error", "reject"] * files.reject
    words += ["--column", str(column), "--order", "input", "--min-score"]
    return shlex.join(words)


def _samples(run: Run, settings: _Settings, reader: RowReader) -> Iterator[list[Sample]]:
    """Yield the rows; warn of a first one that may be a header."""
    from bitextfilter.reports.survey import LARGEST, Sample

    count, checked = len(settings.columns), False
    for window in run.windows(reader):
        found = []
        for row in window:
            if not isinstance(row, Row):
                continue
            if not checked:
                _check_apart(settings, reader, row)
                checked = True
            source, target, *rest = row.texts
            scores, others = rest[:count], rest[count:]
            values = tuple(number_of(text.encode()) for text in scores)
            label = "" if settings.label is None else others[0]
            reasons = "" if settings.reasons is None else others[-1]
            found.append(Sample(row.number, source, target, values, label, reasons))
            scored = row.number > 1 or all(abs(value) <= LARGEST for value in values)
            if not scored and any(scores):
                shown = ", ".join(scores)[:40]
                run.warn(f"line 1 has no score but {shown!r}: is it a --header?")
        yield found


def _check_apart(settings: _Settings, reader: RowReader, row: Row) -> None:
    """Raise UsageError if the reasons of a row are in the column of one of its scores."""
    width = row.line.count(b"\t") + 1

    def place(where: int | str) -> int:
        return reader.place(WantedColumn("", "", where)) % width

    for where in settings.columns:
        if settings.reasons is not None and place(where) == place(settings.reasons):
            raise _no_score(where)


def _no_score(column: int | str | None) -> click.UsageError:
    """Return the error of a *column* that is both that of a score and that of the reasons."""
    example = ", such as --column -2" * (column == -1)
    message = f"--column {column} is the column of --reasons: name that of the score{example}"
    return click.UsageError(message)


def _write_plots(run: Run, report: Report, folder: Path) -> None:
    """Write every figure, in every format."""
    from bitextfilter.reports.charts import FORMATS, plotted

    make_folder(folder)
    for chart in report.charts:
        for form in FORMATS:
            run.output(str(folder / f"{chart.name}.{form}")).write(plotted(chart, form))
    run.counts["figures"] = len(report.charts)
