"""``bitext-judge sample``, ``page`` and ``command``: rows to label, and their labels.

With the options and files that all subcommands of ``bitext-judge`` share.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    COUNT,
    NumberRange,
    argument,
    as_column,
    as_fraction,
    as_score,
    flag,
    languages_option,
    needs_own_file,
    option,
    options_of,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError, SettingsError, WorkerError
from bitextfilter.io.files import stream_name
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import SIDES, Row, RowParser, WantedColumn
from bitextfilter.judge import judgements
from bitextfilter.judge.judgements import (
    Judgements,
    LabelReader,
    Question,
    RowSample,
    SampledRow,
    SampleSettings,
    Scale,
    ask,
    kept_answers,
    labels_by,
    labels_text,
    parse_scale,
    sample_header,
)

if TYPE_CHECKING:
    from bitextfilter.judge.sample import Drawing


def _scale(value: str) -> Scale:
    """Read a scale: ``good-bad``, ``0-100``, ``labels=V,F,A``."""
    try:
        return parse_scale(value)
    except SettingsError as error:
        raise click.BadParameter(str(error)) from error


def as_share(value: str) -> float:
    """Read a fraction from 0 to 1."""
    return float(as_fraction(value))


def scale_option(default: str) -> Any:
    """Return the field of --scale."""
    return option(
        "--scale SCALE",
        "The labels: good-bad, numbers such as 0-100, or words, the best first: labels=A,B,C.",
        _scale,
        default,
    )


def read_sample(run: Run, path: str) -> RowSample:
    """Read the sample in a file."""
    sample = judgements.read_sample(run.input(path), stream_name(path))
    run.counts["rows"] = len(sample.rows)
    return sample


def check_once(*names: str) -> None:
    """Raise UsageError for a file, or stdin, that is named twice."""
    if double := next((name for name in names if names.count(name) > 1), None):
        raise click.UsageError(f"{double} is named twice")


def read_labels(
    run: Run, sample: RowSample, paths: Sequence[str], mixed: bool = False
) -> Judgements:
    """Read the labels of a sample in some files; *mixed* ones may be on several scales."""
    reader = LabelReader(sample, mixed)
    for path in paths:
        reader.read(run.input(path), stream_name(path))
    return reader.judgements(", ".join(map(stream_name, paths)))


_WINDOW = 8192


@dataclass(frozen=True)
class _Sample(SampleSettings):
    """The scores, and the rows to draw."""

    columns: tuple[int | str, ...] = option(
        "--column COLUMN",
        "Column of a score: a number, -1 the last, or a name of the header; repeat it for "
        "several scores, the first is the one to cut  [default: -1]",
        as_column,
        ["-1"],
        multiple=True,
    )
    dropped: tuple[str, ...] = option(
        "--dropped FILE",
        "Also draw from the --rejects FILE of bitext-filter; repeat it for more.",
        multiple=True,
    )

    def __post_init__(self) -> None:
        """Refuse a column that stands twice."""
        if len(set(self.columns)) < len(self.columns):
            raise click.UsageError("a column is named twice")


_SAMPLING = options_of(
    _Sample,
    "columns cut count near dropped per_rule seed",
    {"cut": {"type": as_score}, "near": {"type": as_share, "default": "0.5"}},
)


@command("sample", _SAMPLING, row_options(), uses="")
def sample(run: Run, settings: _Sample) -> None:
    """Draw the rows of a scored corpus that are worth a person's time.

    Each row belongs to the first of these strata that applies:

        rule:NAME       it is in a file of --dropped, and NAME is its first reason
        disagreement    its ranks by several --column differ most
        near-cut        its rank is nearest to that of --cut
        below:N above:N its tenth of the corpus by the first score (1: the worst), and the
                        side of --cut; tenth:N without a cut

    A fifth of the rows goes to rules, a fifth to disagreement, --near-cut to the cut, and the
    rest evenly to the tenths. Rows are drawn at random, of texts that differ in more than case,
    punctuation, digits and spaces. They are written in random order, with a header: source,
    target, the scores, row (the line in the input), reason (the stratum) and weight (the number
    of rows of the corpus that the row stands for; in each stratum they sum to its rows).

    Rows without all scores (no number, or infinite) are counted and left out. The input is read
    twice; stdin waits in a temporary file (in TMPDIR). Memory holds scores as float32: about 50
    bytes a row with one score, and 20 for each further one; and the texts of the rows drawn.

    Example:

        bitext-judge sample -i scored.tsv --header --column mlp --cut 0.37 -o sample.tsv
        bitext-judge sample -i kept.tsv --dropped rejects.tsv --count 200 -o sample.tsv
    """
    output = run.output()
    if run.row_settings.output != "-":
        needs_own_file("--output", run.row_settings.output, settings.dropped)
    names, drawing = _drawn(run, settings)
    if not drawing.lines:
        reason = "no row has a score" if run.counts["rows"] else "no rows"
        file = run.row_settings.names[0]
        raise InputError(reason, file=file, remedy="--column names the column of the score")
    output.write(sample_header(names) + b"".join(drawing.lines))
    _report(run, settings, drawing)


def _drawn(run: Run, settings: _Sample) -> tuple[list[str], Drawing]:
    """Read the input twice; return the names of the scores, and the sample."""
    from bitextfilter.judge.sample import Corpus, draw_sample

    wanted = tuple(WantedColumn("score", "--column", where) for where in settings.columns)
    columns = replace(run.row_settings.columns, blank=True, last=wanted)
    spool = _spool(run)
    first = run.rows(columns)
    places = [first.place(each) for each in wanted]
    sides = columns.wanted()[:2]
    parser = RowParser("", sides, [first.place(side) for side in sides])

    def again(numbers: Collection[int]) -> Iterator[Row]:
        if spool is not None:
            spool.seek(0)
        reader = RowReader(run.input(), first.name, columns, run.row_settings.header)
        return _rows_at(reader, numbers)

    parsed = run.windows(first, fault=columns.blank_fault(*SIDES))
    windows = ([row for row in window if isinstance(row, Row)] for window in parsed)
    corpus = Corpus(windows, again, settings.dropped, parser, places)
    return first.score_names(settings.columns), draw_sample(corpus, settings)


def _spool(run: Run) -> BinaryIO | None:
    """Copy the input to a temporary file that takes its place, unless it can be read twice."""
    from bitextfilter.io.spill import Scratch

    path = run.row_settings.input
    if path != "-" and Path(path).is_file():
        return None
    spool = run.enter(Scratch())
    shutil.copyfileobj(run.input(), spool, 1 << 20)
    run.row_settings = replace(run.row_settings, input="-")
    run.stdin = cast(BinaryIO, spool.stream())
    return run.stdin


def _rows_at(reader: RowReader, numbers: Collection[int]) -> Iterator[Row]:
    """Yield the rows of some lines, which are good."""
    for window in reader.lines(_WINDOW):
        for number, raw in enumerate(window.raw, window.first):
            if number in numbers:
                row = reader.parser.row(number, raw)
                assert isinstance(row, Row)
                yield row


def _report(run: Run, settings: _Sample, drawing: Drawing) -> None:
    """Put the counts into the manifest and the summary."""
    run.counts.update(unscored=drawing.unscored, drawn=len(drawing.lines))
    run.facts["seed"] = settings.seed
    run.facts["strata"] = {name: list(counts) for name, counts in drawing.strata.items()}
    width = max(map(len, drawing.strata))
    run.note(f"{'reason':{width}}     rows  drawn")
    for name, (size, count) in drawing.strata.items():
        run.note(f"{name:{width}} {size:8d} {count:6d}")
    for name, (size, count) in drawing.strata.items():
        if not count:
            run.warn(f"no row of {name} is drawn: no estimate counts its {size} rows")
    if len(drawing.lines) < settings.count:
        run.warn(f"only {len(drawing.lines)} rows of distinct text are drawn")


@dataclass(frozen=True)
class _Page:
    """The sample, and the content of the page."""

    sample: str = argument("SAMPLE", default="-")
    scale: Scale = scale_option("good-bad")
    annotator: str = option(
        "--annotator NAME", "Name of the annotator  [default: the page asks]", default=""
    )
    labels: str | None = option("--labels FILE", "Go on from the labels in this file.")
    show_scores: bool = flag("--show-scores", "Show the scores of each pair.")
    languages: tuple[str, str] | None = languages_option(tags=True)
    title: str | None = option("--title TEXT", "Title of the page  [default: the sample's name]")

    def __post_init__(self) -> None:
        """Refuse stdin for two files."""
        if self.sample == self.labels:
            raise click.UsageError("the sample and --labels are the same file")


@command("page", _Page, row_options("output"), uses="")
def page(run: Run, settings: _Page) -> None:
    """Make a page on which a person labels the rows of a sample.

    Writes one HTML file, which opens without the internet and loads nothing. A key labels the
    pair shown and goes on to the next: numbers, or the first letters of words; arrows, u (undo),
    n (note) and ? (all keys) do the rest. Numbers that only one side has are underlined. Scores
    and reasons are not shown, unless --show-scores, so that they do not sway the label.

    The page asks for the annotator's name. Labels are kept in the browser, for each sample, scale
    and name, and saved to a file, with which others can be joined (bitext-judge report). Pairs
    come in the order of the sample.

    Example:

        bitext-judge page sample.tsv -o page.html
        bitext-judge page sample.tsv --scale 0-100 --annotator anna --languages en,de -o page.html
        bitext-judge page sample.tsv --labels labels-anna.tsv -o page.html
    """
    from bitextfilter.judge.page import JudgePage
    from bitextfilter.reports.page import SideLanguages

    output = run.output()
    if run.row_settings.output != "-":
        needs_own_file("--output", run.row_settings.output, [settings.sample, settings.labels])
    sample = read_sample(run, settings.sample)
    page = JudgePage(
        sample,
        settings.scale,
        settings.title or Path(stream_name(settings.sample)).name,
        " ".join(settings.annotator.split()),
        settings.show_scores,
        SideLanguages(*(settings.languages or ("", ""))),
        _earlier(run, settings, sample),
    )
    output.write(page.html())


def _earlier(run: Run, settings: _Page, sample: RowSample) -> Judgements | None:
    """Read the labels of --labels, which are on the scale of the page."""
    if settings.labels is None:
        return None
    found = read_labels(run, sample, [settings.labels])
    if found.scale != settings.scale:
        message = f"its scale is {found.scale.name}, that of the page {settings.scale.name}"
        file = stream_name(settings.labels)
        raise InputError(message, file=file, remedy=f"--scale {found.scale.name}")
    name = " ".join(settings.annotator.split())
    if name and name not in found.labels:
        message = f"no labels by {name}"
        file, known = stream_name(settings.labels), ", ".join(found.annotators)
        raise InputError(message, file=file, remedy=f"it has those by {known}")
    run.counts["labels"] = sum(map(len, found.labels.values()))
    return found


@dataclass(frozen=True)
class _Program:
    """The program, the sample, and the labels."""

    program: str = argument("CMD")
    sample: str = argument("SAMPLE", default="-")
    scale: Scale = scale_option("0-1")
    annotator: str = option(
        "--annotator NAME", "Name of the program in the labels.", str, "program"
    )
    timeout: float | None = option(
        "--timeout SECONDS",
        "End a program that neither reads nor answers for so long.",
        NumberRange(min=0, min_open=True),
        600.0,
    )
    batch: int | None = option(
        "--batch N", "Start the program anew after N rows  [default: once for all]", COUNT
    )


@command("command", _Program, row_options("output"), uses="")
def label_by_program(run: Run, settings: _Program) -> None:
    """Label a sample by a program: a language model, or anything that reads lines.

    CMD is started in a shell. It gets a line a row, source<TAB>target, in which line breaks of
    other kinds are spaces, and prints one label a line, in the same order: a number from 0 to 1,
    or what --scale says. It may answer each line at once, or all at the end of its input.

    With -o FILE each answer is kept at once in FILE.answers, and the same command
    goes on after a stop. A program that prints each answer at once (flush) loses none;
    --batch bounds the loss of others. FILE is written when all rows have a label.

    A program that fails, prints too few or too many lines or is idle for --timeout ends the
    run with exit code 69, an answer that is no label with 65; both name the last line of its
    stderr or the answer. The program and all that it started are then ended.

    Example:

        bitext-judge command './ask-a-model' sample.tsv -o labels.tsv
        bitext-judge command 'python judge.py' sample.tsv --scale good-bad --batch 50 -o labels.tsv
    """
    target = run.row_settings.output
    if target != "-":
        needs_own_file("--output", target, [settings.sample, run.common.manifest])
    output, sample = run.output(), read_sample(run, settings.sample)
    name = " ".join(settings.annotator.split()) or "program"
    question = Question(settings.program, settings.scale, name, settings.timeout, settings.batch)
    known = _answers(run, question, sample, target)
    run.counts["labels"] = len(known)
    run.facts.update(program=settings.program, scale=settings.scale.name)
    output.write(labels_text(labels_by(question, sample, known)))


def _answers(run: Run, question: Question, sample: RowSample, target: str) -> dict[str, str]:
    """Ask for the labels that are not kept yet; return all, by the pair's digest."""
    progress = run.progress(len(sample.rows), "rows")
    kept = None if target == "-" else run.enter(kept_answers(target, question))
    known: dict[str, str] = {} if kept is None else kept.known
    if kept is not None:
        run.afterwards(kept.forget)
    if known:
        run.note(f"{len(known)} answers are kept from before")
        progress.update(len(known))

    def keep(row: SampledRow, label: str) -> None:
        if kept is not None:
            kept.add(row, label)
        known[row.pair] = label
        progress.update(1)

    try:
        ask([row for row in sample.rows if row.pair not in known], question, keep)
    except (InputError, WorkerError) as error:
        if kept is None:
            raise
        message = f"{error}; {len(known)} answers are kept, and the same command goes on"
        raise type(error)(message) from error
    return known
