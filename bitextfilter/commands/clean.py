"""``bitext-clean``: a raw corpus in, its clean rows out."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command, needs_none_of
from bitextfilter.commands.frame.first_rows import CHECKED_ROWS, rows_of
from bitextfilter.commands.frame.formats import read_others, rows_of_format
from bitextfilter.commands.frame.options import (
    MinScore,
    as_min_score,
    flag,
    languages_option,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.corpus.duplicate_keys import MATCH
from bitextfilter.corpus.formats.base import FORMATS, format_of
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import is_packed
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import BadRow, Columns, Row
from bitextfilter.models.folders import BALANCED

if TYPE_CHECKING:
    from bitextfilter.arrays import Scores
    from bitextfilter.cleaning.cleaner import Cleaned
    from bitextfilter.cleaning.plan import Plan
    from bitextfilter.cleaning.rows import Dropped, Window
    from bitextfilter.corpus.formats.base import PairReader
    from bitextfilter.reports.survey import Sample, Survey

_KEEP_ALL = "none"


@dataclass(frozen=True)
class _Settings:
    """The steps, and the files beside the output."""

    languages: tuple[str, str] | None = languages_option(
        "The languages, as en,de  [default: as the text tells]", tags=True
    )
    model: str | None = option(
        "--model NAME|DIR",
        "The model of the scores  [default: the shipped one for the languages]",
        envvar="BITEXTFILTER_MODEL",
        show_envvar=True,
    )
    min_score: MinScore = option(
        "--min-score S",
        "Keep rows of S or more: a probability, lenient, balanced or strict.",
        as_min_score,
        BALANCED,
    )
    rules: tuple[str, ...] = option(
        "--rule RULE",
        "A rule of bitext-filter in place of the default ones; repeatable.",
        multiple=True,
    )
    without: tuple[str, ...] = option(
        "--without NAME", "Leave out this default rule; repeatable.", multiple=True
    )
    match: str = option(
        "--match", "Duplicates, as in bitext-dedup; none keeps them.", (*MATCH, _KEEP_ALL),
        "normalised",
    )  # fmt: skip
    against: tuple[str, ...] = option(
        "--against FILE",
        "Drop the rows of which a side is in FILE, such as a test set; repeatable.",
        multiple=True,
    )
    report: str | None = option("--report FILE", "Write a page about the scores, in HTML.")
    resume: str | None = option(
        "--resume DIR", "Keep the scores in DIR: an ended run goes on there."
    )
    dry_run: bool = flag("--dry-run", "Write the pipe of commands that does the same, and end.")


_ROWS = row_options("pairs files", drops=True, on_error={"default": "reject"})


@command("bitext-clean", _Settings, _ROWS)
def main(run: Run, settings: _Settings) -> None:
    """Clean a raw corpus: repair, filter, deduplicate, score and cut it.

    Reads any format of bitext-convert by the names of the files: TSV, two files with a sentence a
    line, TMX, Parquet, JSON lines. Writes the rows kept, as a TSV in their order, with their score
    as the last column.

    The languages are found in the text, and the model by the languages; a line on stderr names
    both. Steps: the default repairs of bitext-fix; the default rules of bitext-filter; texts of
    --against; duplicates; the probability that a person calls the row right, and the cut. The
    other rows go to --rejects, with the step's reason: by default beside the output, as
    clean.rejects.tsv.gz beside clean.tsv.gz. Bad rows are rejected, too, unless --on-error stop is
    given. A table on stderr counts the rows of each step.

    The rows are those of the pipe that --dry-run writes. Memory: as for bitext-dedup and
    bitext-score.

    Example:

        bitext-clean crawl.tsv.gz -o clean.tsv.gz
        bitext-clean corpus.en corpus.de --against test.tsv --report report.html -o clean.tsv
        bitext-clean memory.tmx --languages en,cs --min-score strict -o clean.tsv
        bitext-clean --dry-run crawl.tsv.gz -o clean.tsv.gz
    """
    _set_rows(run, settings)
    source = _Source.of(run, settings)
    if not source.reader.ahead(1) and not settings.dry_run:
        run.warn(f"{source.reader.name}: no rows")
        run.output().write(source.reader.first_line(["probability"]))
        return
    plan = _planned(run, settings, source)
    if settings.dry_run:
        run.output("-").write((_pipe(run, settings, source, plan) + "\n").encode())
        return
    output = run.output()
    counts, survey = Counter[str](), None
    if settings.report is not None:
        from bitextfilter.reports.survey import Survey

        survey = Survey([plan.cut.measure])
    output.write(source.reader.first_line([plan.cut.measure]))
    for cleaned in _cleaned(run, settings, source, plan):
        output.write(
            b"".join(
                b"%b\t%b%b" % (row.line, score.encode(), row.ending or b"\n")
                for row, score in cleaned.kept
            )
        )
        set_aside: list[Dropped | BadRow] = [*cleaned.dropped, *cleaned.bad]
        for row in sorted(set_aside, key=lambda row: row.number):
            if isinstance(row, BadRow):
                run.reject(row)
            else:
                run.drop(Row(row.number, row.line, b"", ()), row.reason)
        counts += cleaned.counts
        counts["kept"] += len(cleaned.kept)
        if survey is not None:
            survey.add(_samples(cleaned))
        run.advance(cleaned.counts["rows"])
    _tell(run, counts)
    if survey is not None:
        _write_report(run, settings, survey, plan)


def _set_rows(run: Run, settings: _Settings) -> None:
    """Choose the treatment of bad rows, and the file of the rejects."""
    files = run.row_settings
    rejects, form = files.rejects, format_of(files.output)
    forms = {format_of(path) or "tsv" for path in files.inputs}
    if len(forms) > 1:
        raise click.UsageError(f"files of several formats: {', '.join(sorted(forms))}")
    if form not in (None, "tsv"):
        raise click.UsageError(
            f"{files.output} is the name of {form}, and a TSV is written: bitext-convert makes one"
        )
    if rejects is None and not settings.dry_run:
        rejects = _beside(files.output)
    run.row_settings = replace(files, rejects=rejects)
    given = [*files.inputs, *settings.against]
    output = None if files.output == "-" else files.output
    for name, path in (
        ("-o", output),
        ("--rejects", rejects),
        ("--report", settings.report),
        ("--manifest", run.common.manifest),
    ):
        needs_own_file(name, path, given)
        given.append(path or "-")


def _beside(output: str) -> str | None:
    """Return the name of the rejects of an output; None where it is no file."""
    path = Path(output)
    if output == "-" or (path.exists() and not path.is_file()):
        return None
    packed = path.suffix if is_packed(output) else ""
    stem = output.removesuffix(packed)
    name, end = (stem[:-4], stem[-4:]) if stem.endswith((".tsv", ".txt")) else (stem, ".tsv")
    return f"{name}.rejects{end}{packed}"


@dataclass(frozen=True)
class _Source:
    """The rows, and how they are read."""

    reader: RowReader
    form: str
    pairs: PairReader | None
    """The reader of another format than TSV."""
    languages: tuple[str, ...] = ()
    """Those that were given."""

    @classmethod
    def of(cls, run: Run, settings: _Settings) -> _Source:
        """Open the input by the names of its files."""
        paths, columns = run.row_settings.inputs, replace(run.row_settings.columns, blank=True)
        asked = settings.languages or ()
        form = format_of(paths[0]) or ("moses" if len(paths) == 2 else "tsv")
        table = form in ("parquet", "arrow")  # of rows, as all commands read it
        if form == "tsv" or table:
            return cls(run.rows(columns), form, None)
        if len(paths) != max(1, FORMATS[form].read_files):
            raise click.UsageError(f"{form} takes {max(1, FORMATS[form].read_files)} FILE")
        needs_none_of(("scol", "tcol", "header"), f"is for TSV and Parquet, not for {form}")
        run.begin_rows()
        rows, pairs = rows_of_format(run, form, paths, settings.languages, Columns(blank=True))
        return cls(rows, form, pairs, asked)

    def command(self, run: Run) -> list[str]:
        """Return the words of the pipe that read the files."""
        files = run.row_settings
        names = [path for path in files.inputs if path != "-"]
        if self.pairs is None:
            return ["bitext-fix", *names]
        told = "languages" in (FORMATS[self.form].read or "").split() and self.languages
        which = ["--languages", ",".join(self.languages)] if told else []
        return ["bitext-convert", "--from", self.form, "--whitespace", *which, *names]


def _planned(run: Run, settings: _Settings, source: _Source) -> Plan:
    """Return the languages, the model and the cut; stderr names them."""
    from bitextfilter.cleaning.plan import Plan

    def rows() -> list[Row]:
        lines = source.reader.ahead(CHECKED_ROWS)
        if not lines:
            raise InputError("no rows, so no languages", file=source.reader.name)
        if not (rows := rows_of(run, source.reader, lines)):
            first = source.reader.parser.row(source.reader.next, lines[0])
            if isinstance(first, BadRow):
                raise run.error(first)
        return rows

    plan = Plan.of(rows, settings.languages, settings.model, settings.min_score)
    run.note(f"{','.join(plan.languages)}, scored by {plan.model}")
    if plan.named is not None:
        run.facts["cut"] = plan.named.note()
        run.note(plan.named.note())
    return plan


def _cleaned(run: Run, settings: _Settings, source: _Source, plan: Plan) -> Iterator[Cleaned]:
    """Yield the windows, cleaned."""
    from bitextfilter.cleaning.plan import Rules
    from bitextfilter.corpus.other_texts import AgainstSettings, OtherTexts
    from bitextfilter.io.spill import Records
    from bitextfilter.io.workers import map_in_order
    from bitextfilter.scoring.score_columns import ScoreColumns

    parser, others, common = source.reader.parser, None, run.common
    rules = Rules(settings.rules or ("default",), settings.without)
    try:
        preparer, passed_over = plan.preparer(parser, rules)
    except SettingsError as error:
        raise click.UsageError(f"--rule, --without: {error}") from error
    if passed_over:
        run.note(f"not applied: {'; '.join(dict.fromkeys(passed_over.values()))}")
    if settings.against:
        others = OtherTexts(AgainstSettings())
        for path in settings.against:
            read_others(run, others, path, None)
    model, measure = run.load(plan.model, common.device, common.threads), plan.cut.measure
    run.facts["model"], run.facts["digest"] = model.name, model.digest
    columns = ScoreColumns((measure,), model, None, Counter(), run.cache(settings.resume))

    def score(sources: Sequence[str], targets: Sequence[str]) -> Scores:
        return columns.by_models(sources, targets)[measure]

    aside = settings.resume is None and common.threads > 1  # the file of scores is of one thread
    cleaner = run.enter(plan.cleaner(parser, (settings.match, others), score, aside))
    lines = source.reader.lines(common.batch_size)
    windows = run.enter(closing(map_in_order(preparer, lines, common.threads)))
    return cleaner.cleaned(_without_bad(run, windows), run.enter(Records()))


def _pipe(run: Run, settings: _Settings, source: _Source, plan: Plan) -> str:
    """Return the pipe of commands that keeps the same rows."""
    files, pair = run.row_settings, ",".join(plan.languages)
    rows = [] if source.pairs is not None else _row_words(files.scol, files.tcol, files.header)
    model, first = ["--model", plan.model], source.command(run)
    fix = ["bitext-fix", "--languages", pair, *rows]
    steps = [[*first, *fix[1:]]] if source.pairs is None else [first, fix]
    rules = [word for rule in settings.rules for word in ("--rule", rule)]
    rules += [word for name in settings.without for word in ("--without", name)]
    steps.append(["bitext-filter", "--languages", pair, *rules, *rows])
    against = [word for path in settings.against for word in ("--against", path)]
    if settings.match != _KEEP_ALL:
        steps.append(["bitext-dedup", "--match", settings.match, *against, *rows])
    elif against:
        steps.append(["bitext-dedup", "--only-against", *against, *rows])
    cache = [] if settings.resume is None else ["--cache", settings.resume]
    steps.append(["bitext-score", *model, *cache, *rows])
    cut = ["--min-score", str(settings.min_score), "--order", "input"]
    output = [] if files.output == "-" else ["-o", files.output]
    steps.append(["bitext-rank", *model, *cut, *rows, *output])
    return " |\n    ".join(map(shlex.join, steps))


def _row_words(source: int | str, target: int | str, header: bool) -> list[str]:
    """Return the options of columns that are not the default ones."""
    words = ["--scol", str(source)] if source != 1 else []
    words += ["--tcol", str(target)] if target != 2 else []
    return words + ["--header"] * header


def _without_bad(run: Run, windows: Iterable[Window]) -> Iterator[Window]:
    """Yield the windows; the first bad row stops the run, unless they are rejected later."""
    for window in windows:
        if window.bad and not run.row_settings.reject:
            run.reject(window.bad[0])
        run.counts["rows"] += window.counts["rows"]
        yield window


_RULE = "rule "
_FOREIGN = 0.5
"""Part of the rows in other languages from which the languages are in doubt."""


def _tell(run: Run, counts: Counter[str]) -> None:
    """Write the table of the steps to stderr, and their counts to the manifest."""
    from bitextfilter.cleaning.cleaner import STEPS

    total = run.counts["rows"]
    rules = Counter(
        {name.removeprefix(_RULE): n for name, n in counts.items() if n and name.startswith(_RULE)}
    )
    named = ", ".join(f"{name} {count}" for name, count in rules.most_common())
    lines = [("read", total, ""), ("repaired", counts["repaired"], "")]
    lines += [("rejected", run.counts["rejected"], "")] * bool(run.counts["rejected"])
    lines += [(step, -counts[step], named if step == "rules" else "") for step in STEPS]
    lines.append(("kept", counts["kept"], ""))
    for name, count, more in lines:
        share = f"{abs(count) / total:7.1%}" if total else ""
        run.note(f"{name:<12}{count:>12,}{share:>9}  {more}".rstrip())
    foreign = rules["language"] + rules["script"]
    if foreign > _FOREIGN * total:
        run.warn(
            f"{foreign / total:.0%} of the rows fail the rules language and script: are the columns"
            " in these languages, in this order? --languages names them"
        )
    run.facts["rules"] = dict(rules)
    run.counts.update({step: counts[step] for step in ("repaired", *STEPS, "kept")})


def _samples(cleaned: Cleaned) -> list[Sample]:
    """Return all rows, in order; those that earlier steps dropped have no score."""
    from bitextfilter.reports.survey import Sample

    kept = [
        Sample(row.number, row.source, row.target, (float(score),)) for row, score in cleaned.kept
    ]
    dropped = [Sample(row.number, row.source, row.target, (row.score,)) for row in cleaned.dropped]
    return sorted([*kept, *dropped])


def _without(words: Sequence[str], *options: str) -> list[str]:
    """Return the words of a command line without some options and their values."""
    left, skipped = [], False
    for word in words:
        if not skipped and word.partition("=")[0] not in options:
            left.append(word)
        skipped = word in options
    return left


def _write_report(run: Run, settings: _Settings, survey: Survey, plan: Plan) -> None:
    """Write the page about the scores of all rows that were scored."""
    from bitextfilter.reports.page import Corpus, Report, SideLanguages

    files = run.row_settings
    name = ", ".join(Path(name).name for name in files.names)
    again = shlex.join([*_without(run.arguments, "--min-score", "--report"), "--min-score"])
    corpus = Corpus(survey, name, {"rejected": 0, "unscored": survey.unscored}, [again])
    cuts = {plan.cut.measure: plan.cut.least}
    report = Report([corpus], name, languages=SideLanguages(*plan.languages), cuts=cuts)
    assert settings.report is not None, "a survey was made for it"
    run.output(settings.report).write(report.html())
