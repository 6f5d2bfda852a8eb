"""``bitext-filter``: keep the pairs that pass rules, with reasons for the others."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from bitextfilter.commands.frame.command import command, needs_none_of
from bitextfilter.commands.frame.cuts import CutCheck, CutMeasure
from bitextfilter.commands.frame.options import (
    DEFAULT_MODEL,
    Scaling,
    as_column,
    flag,
    is_given,
    languages_option,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.shards import over_shards
from bitextfilter.commands.frame.words import as_tag
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import without_ending
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import TextColumn, WantedColumn
from bitextfilter.io.workers import map_as_it_pays
from bitextfilter.models.folders import CUTS

if TYPE_CHECKING:
    from bitextfilter.filters.pipeline import FilteredLines, LineFilter, Pipeline, Tally
    from bitextfilter.filters.registry import SelectedRule
    from bitextfilter.filters.rule import LanguagePair, Rule


def _as_share(value: str) -> Fraction:
    """Read a share above 0, up to 1, exactly: ``99.9%`` or ``0.999``."""
    percent = value.endswith("%")
    try:
        number = Fraction(value.removesuffix("%")) / (100 if percent else 1)
    except (ValueError, ZeroDivisionError):
        number = Fraction(0)
    if not 0 < number <= 1:
        raise click.BadParameter(f"{value!r} is not a share above 0, such as 99.9% or 0.999")
    return number


@dataclass(frozen=True)
class _Settings:
    """The rules, their languages, and the output."""

    specs: tuple[str, ...] = option(
        "--rule RULE",
        "NAME, NAME:key=value,..., COLUMN>=NUMBER, module:package.Class, default or "
        "default-paragraphs; repeat it for more  [default: default]",
        multiple=True,
    )
    file: str | None = option("--rules FILE", "Read rules from FILE (TOML).")
    without: tuple[str, ...] = option(
        "--without NAME", "Leave out this default rule, or rule of FILE; repeatable.", multiple=True
    )
    languages: tuple[str, str] | None = languages_option(tags=True)
    folder: str | None = option(
        "--model NAME|DIR", "Take the languages, and a cut by name, from this model."
    )
    one: str | None = option("--one LANG", "Rows are texts of this language, not pairs.", as_tag)
    where: int | str | None = option(
        "--column COLUMN", "Column of the text, with --one  [default: the whole line]", as_column
    )
    explain: bool = flag("--explain", "Keep every row and append the verdict on it.")
    emit: bool = flag("--emit", "Keep every row and append the values of the rules.")
    suggest: Fraction | None = option(
        "--suggest SHARE",
        "Write a file of rules whose bounds keep this share, as 99.9%, of the rows, each.",
        _as_share,
    )
    fast: bool = flag("--fast", "Do not check dropped rows by rules of higher cost.")
    listed: bool = flag("--list", "Show the rules named, or all, and exit.")

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        if self.one is None and self.where is not None:
            raise click.UsageError("--column is for --one; pairs have --scol and --tcol")
        if self.one is not None:
            needs_none_of(("languages", "folder"), "is for pairs: --one names the language")
        if self.fast and (self.emit or self.suggest):
            raise click.UsageError("--fast leaves out values: not with --emit or --suggest")
        if self.suggest and (self.emit or self.explain):
            raise click.UsageError("--suggest writes no rows: not with --emit or --explain")


@command(
    "bitext-filter",
    _Settings,
    CutMeasure,
    row_options("pairs files", drops=True),
    Scaling,
    uses="batch_size threads",
)
def main(run: Run, settings: _Settings, cut: CutMeasure) -> None:
    """Keep the pairs that pass every rule; count on stderr the pairs that each rule drops.

    A kept row is written unchanged, byte for byte. --rejects FILE gets the others: number,
    reasons, the row. With --explain all rows are written, in order, with one more column: keep,
    or every rule that the pair fails, with its value and the bound, as length-ratio=4.2>3. With
    --emit they get the value of each rule, kept or not, below a header; 1 and 0 stand for kept
    and dropped where a rule has no number.

    The summary counts for each rule the rows that it drops, and the rows that it alone drops. For
    that, every rule checks every row; --fast is quicker, and keeps the same rows.

    A rule of --rule replaces the default rule of its name. The minimum of a column may be
    lenient, balanced or strict, by --model. Rules that need the languages take them from
    --languages, --model or the rules file; without, default rules of that kind are skipped.

    Memory is bounded by --batch-size, for each of --threads processes; --suggest holds 8 bytes
    for each value of each row.

    Example:

        bitext-filter --languages en,de < pairs.tsv > kept.tsv
        bitext-filter --rule default --rule length:maximum=80 --rule numbers < pairs.tsv
        bitext-score < pairs.tsv | bitext-filter --rule default --rule "score>=balanced"
        bitext-filter --one de < german.txt > kept.txt
    """
    from bitextfilter.filters.pipeline import Pipeline, Tally
    from bitextfilter.filters.registry import spelling
    from bitextfilter.filters.rule import sides_of

    if settings.listed:
        _show(run)
        return
    if settings.one is not None and (is_given("scol") or is_given("tcol")):
        raise click.UsageError("--scol and --tcol are for pairs: --one has --column")
    rules, languages = _usable_rules(run, settings, cut.similarity)
    pipeline = Pipeline(rules, settings.fast)
    if settings.emit and not pipeline.value_names(languages):
        raise click.UsageError("--emit: these rules have no values but columns of the rows")
    work = partial(_filtered, pipeline=pipeline, languages=languages, settings=settings)
    if settings.suggest is not None:
        _suggest(run, partial(_line_filter, run, pipeline, languages, settings), settings.suggest)
        return
    tally = Tally.of_sides(sides_of(languages))
    plan = {"rules": "; ".join(map(spelling, rules))}
    counted: Any
    for counted in over_shards(run, work, run.output(), processes=True, plan=plan):
        tally.add(Tally(**counted))
    _report(run, tally, pipeline)


def _usable_rules(
    run: Run, settings: _Settings, measure: str | None
) -> tuple[list[Rule], LanguagePair]:
    """Return the rules that can run, and the languages if they are known."""
    from bitextfilter.filters.registry import usable, without

    rules, languages = _rules_asked_for(run, settings, measure)
    if measure and not any(fact.startswith(CUTS) for fact in run.facts):
        raise click.UsageError("--similarity is for a cut by name, and no rule has one")
    if languages is None and settings.folder is not None:
        from bitextfilter.models.folders import languages_of

        languages = languages_of(settings.folder)
    try:
        wanted = without(rules, settings.without)
    except SettingsError as error:
        raise click.UsageError(f"--without: {error}") from error
    try:
        able, passed_over = usable(wanted, languages)
    except SettingsError as error:
        if settings.file is None:
            raise click.UsageError(f"--rule: {error}") from error
        raise
    if passed_over:
        reasons = "; ".join(dict.fromkeys(passed_over.values()))
        run.note(f"not applied: {reasons}", always=languages is not None)
    run.facts["languages"] = ",".join(languages) if languages else None
    run.row_checks.languages = languages if languages and len(languages) == 2 else None
    run.facts["not applied"] = dict(passed_over)
    return able, languages


def _rules_asked_for(
    run: Run, settings: _Settings, measure: str | None
) -> tuple[tuple[SelectedRule, ...], LanguagePair]:
    """Return the rules of --rule and --rules, and the languages given with them."""
    from bitextfilter.filters.registry import parse_rules
    from bitextfilter.filters.rules_file import read_rules

    named = partial(_named_cut, run, settings, measure)
    specs = settings.specs or (("default",) if settings.file is None else ())
    try:
        rules = parse_rules(specs, named)
    except SettingsError as error:
        raise click.UsageError(f"--rule: {error}") from error
    known = settings.languages if settings.one is None else (settings.one,)
    if settings.file is None:
        return rules, known
    read = read_rules(settings.file, named)
    return (*rules, *read.rules), known or read.languages


def _named_cut(
    run: Run, settings: _Settings, similarity: str | None, column: str, name: str
) -> float:
    """Return a cut of the scores in a column, by its name or --similarity."""
    if settings.one is not None:
        raise SettingsError(f"column {column}: a cut by name is of pairs, not of --one")
    from bitextfilter.models.folders import languages_of, naming_pair
    from bitextfilter.scoring.thresholds import measure_of

    model = settings.folder or os.environ.get("BITEXTFILTER_MODEL") or DEFAULT_MODEL
    if settings.languages is not None:
        model = naming_pair(model, settings.languages)
    if languages_of(model) is None:
        raise SettingsError(f"column {column}: {model} has a cut for each pair: --languages en,de")
    plain = column == "score" or column.lstrip("-").isdigit()
    if plain and run.row_settings.header and similarity is None:
        raise SettingsError(
            f"column {column}: use its name in the header, or give its measure with --similarity"
        )
    measure = measure_of(model, similarity, None if plain else column)
    cut = run.named_cut(model, measure, name)
    where = -1 if column == "score" and not run.row_settings.header else as_column(column)
    run.row_checks.others += (CutCheck(model, measure, where),)
    return cut


def _show(run: Run) -> None:
    """Write the descriptions of the rules named, or of all."""
    from bitextfilter.filters.registry import listing

    try:
        text = listing([name for name in run.row_settings.inputs if name != "-"])
    except SettingsError as error:
        raise click.UsageError(f"--list: {error}") from error
    run.output().write(text.encode())


def _filtered(
    run: Run, output: BinaryIO, pipeline: Pipeline, languages: LanguagePair, settings: _Settings
) -> dict[str, Any]:
    """Filter the rows of a run; returns the counts."""
    from bitextfilter.filters.pipeline import Tally
    from bitextfilter.filters.rule import sides_of

    rows, line_filter = _line_filter(run, pipeline, languages, settings)
    output.write(_first_line(rows, line_filter))
    tally = Tally.of_sides(sides_of(languages))
    # Counter: update adds; zeros fix the order in the summary
    run.counts.update(kept=0, dropped=0)
    for filtered in _windows(run, rows, line_filter):
        output.write(filtered.output)
        tally.add(filtered.tally)
        kept = filtered.tally.kept
        # Counter: update adds
        run.counts.update(kept=kept, dropped=filtered.rows - filtered.rejected - kept)
    return vars(tally)


def _line_filter(
    run: Run, pipeline: Pipeline, languages: LanguagePair, settings: _Settings
) -> tuple[RowReader, LineFilter]:
    """Open the rows of a run; returns their reader, and the filter of their lines."""
    from bitextfilter.filters.pipeline import LineFilter

    pair = dataclasses.replace(run.row_settings.columns, blank=True)
    rows = run.rows(pair if settings.one is None else TextColumn(settings.where, blank=True))
    header = rows.header if settings.emit else None
    return rows, LineFilter(
        rows.parser,
        pipeline,
        languages,
        _places(rows, pipeline.rules),
        explain=settings.explain,
        emit=settings.emit,
        width=None if header is None else header.count(b"\t") + 1,
        measure=settings.suggest is not None,
        reject=run.row_settings.reject,
        keep_rejects=run.rejects is not None,
    )


def _first_line(rows: RowReader, line_filter: LineFilter) -> bytes:
    """Return the BOM and the header with the new columns; with values, a new one if need be."""
    added = ["verdict"] * line_filter.explain
    if not line_filter.emit:
        return rows.first_line(added)
    added = [*line_filter.pipeline.value_names(line_filter.languages), *added]
    if twice := set(added).intersection(rows.column_names()):
        message = f"the header has a column {min(twice)!r} already"
        remedy = "rename it, or take away its rule"
        raise InputError(message, file=rows.name, line=1, remedy=remedy)
    line = rows.first_line(added)
    if not rows.starts or rows.header is not None:
        return line
    return line + _made_header(rows, rows.parser.columns or {0: "sentence"}, added)


def _made_header(rows: RowReader, known: Mapping[int, str], names: Sequence[str]) -> bytes:
    """Return a header for rows without one: of the columns of the first row, and more *names*.

    Those columns have by index the *known* names, else ``column 3``.
    """
    ahead = rows.ahead(1)
    first = without_ending(ahead[0]) if ahead else b""
    places = range(max([first.count(b"\t"), *known]) + 1)
    named = {place % len(places): name for place, name in known.items()}
    made = [named.get(place, f"column {place + 1}") for place in places]
    ending = ahead[0][len(first) :] if ahead else b""
    return "\t".join([*made, *names]).encode() + (ending or b"\n")


def _windows(run: Run, rows: RowReader, line_filter: LineFilter) -> Iterator[FilteredLines]:
    """Yield the filtered windows of rows, and count their rows when they are done with.

    Rows are parsed in the worker processes, so this counts and rejects them, not ``Run.windows``.
    By shards, each process has one thread, and ``map_as_it_pays`` runs inline.
    """
    windows = rows.lines(run.common.batch_size)
    for filtered in map_as_it_pays(line_filter, windows, run.common.threads, run.share_read):
        if filtered.bad is not None and (filtered.stopped or not run.row_settings.reject):
            raise run.error(filtered.bad)
        run.first_bad = run.first_bad or filtered.bad
        if run.rejects is not None:
            run.rejects.write(filtered.rejects)
        yield filtered
        # Counter: update adds
        run.counts.update(rows=filtered.rows, rejected=filtered.rejected)
        run.advance(filtered.rows)


def _suggest(run: Run, opened: Callable[[], tuple[RowReader, LineFilter]], share: Fraction) -> None:
    """Write a file of rules with bounds from the rows."""
    from bitextfilter.filters.rules_file import fitted_rules, kept_share, percent, rules_file

    if run.scaling.by_shards or run.scaling.shard:
        raise click.UsageError("--suggest reads all rows at once: not by shards")
    output = run.output()
    rows, line_filter = opened()
    values = [filtered.values for filtered in _windows(run, rows, line_filter)]
    try:
        fitted = fitted_rules(line_filter.pipeline.rules, values, share)
    except SettingsError as error:
        raise InputError(str(error), file=rows.name) from error
    output.write(rules_file(fitted, share, line_filter.languages).encode())
    for one in fitted:
        if not one.usable:
            run.note(f"left out: {one.rule.label} drops {percent(1 - one.passes.mean())}")
    run.facts["kept share"] = kept_share(fitted)
    run.note(f"all rules together keep {percent(kept_share(fitted))} of the rows")


def _places(rows: RowReader, rules: Iterable[Rule]) -> dict[str, int]:
    """Return the index of each column that rules read. Without a header, ``score`` is the last."""
    from bitextfilter.filters.registry import columns_of

    places = {}
    for name in columns_of(rules):
        where = as_column(name)
        if rows.header is None and isinstance(where, str):
            if where != "score":
                raise click.UsageError(f"a column can only be named with --header: {name}")
            where = -1
        places[name] = rows.place(WantedColumn(name, "--rule", where))
    return places


def _report(run: Run, tally: Tally, pipeline: Pipeline) -> None:
    """Put the counts of each rule into the manifest and the summary."""
    from bitextfilter.filters.registry import spelling

    counts = [
        (label, rule, tally.dropped[label], tally.unique[label])
        for label, rule in zip(pipeline.labels, pipeline.rules, strict=True)
    ]
    run.facts["rules"] = {
        label: {"rule": spelling(rule), "dropped": dropped, "unique": unique}
        for label, rule, dropped, unique in counts
    }
    run.facts["words"] = [*tally.words]
    run.facts["kept words"] = [*tally.kept_words]
    skipped = cast("dict[str, str]", run.facts["not applied"])
    width = max(map(len, (*pipeline.labels, *skipped)), default=4)
    run.note(f"{'rule':{width}}  dropped   unique")
    for label, _, dropped, unique in counts:
        run.note(f"{label:{width}} {dropped:8d} {unique:8d}")
    for name in skipped:
        run.note(f"{name:{width}}  not applied")
    good = run.counts["rows"] - run.counts["rejected"]
    for label, _, dropped, _ in counts:
        if good and dropped == good:
            run.warn(f"{label} drops every row (--explain shows why)")
    kept = run.counts["kept"] / max(run.counts["rows"], 1)
    words = zip(tally.kept_words, tally.words, strict=True)
    shares = " and ".join(f"{some / max(every, 1):.1%}" for some, every in words)
    run.note(f"kept {kept:.1%} of the rows, {shares} of the words")
