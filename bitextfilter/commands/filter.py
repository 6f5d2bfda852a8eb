"""``bitext-filter``: keep the pairs that pass rules, with reasons for the others."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    DEFAULT_MODEL,
    CutMeasure,
    Scaling,
    as_column,
    flag,
    languages_option,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.shards import over_shards
from bitextfilter.errors import SettingsError
from bitextfilter.io.rows import RowReader, WantedColumn
from bitextfilter.io.workers import map_in_order

if TYPE_CHECKING:
    from bitextfilter.filters.pipeline import Pipeline, Tally
    from bitextfilter.filters.registry import SelectedRule
    from bitextfilter.filters.rule import LanguagePair, Rule


@dataclass(frozen=True)
class _Settings:
    """The rules, their languages, and the output."""

    specs: tuple[str, ...] = option(
        "--rule RULE",
        "NAME, NAME:key=value,..., COLUMN>=NUMBER or default; repeat it for more  [default: "
        "default]",
        multiple=True,
    )
    file: str | None = option("--rules FILE", "Read rules from FILE (TOML).")
    without: tuple[str, ...] = option(
        "--without NAME", "Leave out this default rule, or rule of FILE; repeatable.", multiple=True
    )
    languages: LanguagePair = languages_option()
    folder: str | None = option(
        "--model NAME|DIR", "Take the languages, and a recommended cut, from this model."
    )
    explain: bool = flag("--explain", "Keep every row and append the verdict on it.")
    fast: bool = flag("--fast", "Do not check dropped rows by rules of higher cost.")
    listed: bool = flag("--list", "Show the rules named, or all, and exit.")


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
    or every rule that the pair fails, with its value and the bound, as length-ratio=4.2>3.

    The summary counts for each rule the rows that it drops, and the rows that it alone drops. For
    that, every rule checks every row; --fast is quicker, and keeps the same rows.

    A rule of --rule replaces the default rule of its name. The minimum of a column may be
    recommended: the cut of --model for the measure that names the column, or for --similarity;
    for score or a number, bitext-score's default measure.

    Rules that need the languages take them from --languages, --model or the rules file. Without
    them, default rules of that kind are skipped, with a note.

    Memory is bounded by --batch-size, for each of --threads processes.

    Example:

        bitext-filter --languages en,de < pairs.tsv > kept.tsv
        bitext-filter --rule default --rule length:maximum=80 --rule numbers < pairs.tsv
        bitext-score < pairs.tsv | bitext-filter --rule default --rule score:min=recommended
        bitext-filter --list length numbers
    """
    if settings.listed:
        _show(run)
        return
    from bitextfilter.filters.pipeline import Pipeline, Tally

    rules, languages = _usable_rules(run, settings, cut.similarity)
    pipeline = Pipeline(rules, settings.fast)
    work = partial(_filtered, pipeline=pipeline, languages=languages, explain=settings.explain)
    tally = Tally()
    counted: Any
    for counted in over_shards(run, work, run.output(), processes=True):
        tally.add(Tally(**counted))
    _report(run, tally, pipeline)


def _usable_rules(
    run: Run, settings: _Settings, measure: str | None
) -> tuple[list[Rule], LanguagePair]:
    """Return the rules that can run, and the languages if they are known."""
    from bitextfilter.filters.registry import usable, without

    rules, languages = _rules_asked_for(run, settings, measure)
    if measure and not any(fact.startswith("recommended") for fact in run.facts):
        raise click.UsageError("--similarity is for a recommended cut, and no rule has one")
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
    for reason in dict.fromkeys(passed_over.values()):
        run.note(f"passed over: {reason}")
    run.facts["languages"] = ",".join(languages) if languages else None
    run.facts["passed over"] = dict(passed_over)
    return able, languages


def _rules_asked_for(
    run: Run, settings: _Settings, measure: str | None
) -> tuple[tuple[SelectedRule, ...], LanguagePair]:
    """Return the rules of --rule and --rules, and the languages given with them."""
    from bitextfilter.filters.registry import parse_rules, read_rules

    recommend = partial(_recommended, run, settings, measure)
    specs = settings.specs or (("default",) if settings.file is None else ())
    try:
        rules = parse_rules(specs, recommend)
    except SettingsError as error:
        raise click.UsageError(f"--rule: {error}") from error
    if settings.file is None:
        return rules, settings.languages
    read = read_rules(settings.file, recommend)
    return (*rules, *read.rules), settings.languages or read.languages


def _recommended(run: Run, settings: _Settings, similarity: str | None, column: str) -> float:
    """Return the recommended cut of the scores in a column, by its name or --similarity."""
    from bitextfilter.models.folders import naming_pair
    from bitextfilter.scoring.thresholds import measure_of

    model = settings.folder or os.environ.get("BITEXTFILTER_MODEL") or DEFAULT_MODEL
    if settings.languages is not None:
        model = naming_pair(model, settings.languages)
    plain = column == "score" or column.lstrip("-").isdigit()
    if plain and run.row_settings.header and similarity is None:
        raise SettingsError(
            f"column {column}: use its name in the header, or give its measure with --similarity"
        )
    measure = measure_of(model, similarity, None if plain else column)
    return run.recommended_cut(model, measure)


def _show(run: Run) -> None:
    """Write the descriptions of the rules named, or of all."""
    from bitextfilter.filters.registry import listing

    try:
        text = listing([name for name in run.row_settings.inputs if name != "-"])
    except SettingsError as error:
        raise click.UsageError(f"--list: {error}") from error
    run.output().write(text.encode())


def _filtered(
    run: Run, output: BinaryIO, pipeline: Pipeline, languages: LanguagePair, explain: bool
) -> dict[str, Any]:
    """Filter the rows of a run; returns the counts.

    Rows are parsed in the worker processes, so this counts and rejects them, not ``Run.windows``.
    By shards, each process has one thread, and ``map_in_order`` runs inline.
    """
    from bitextfilter.filters.pipeline import LineFilter, Tally

    rows = run.rows(dataclasses.replace(run.row_settings.columns, blank=True))
    line_filter = LineFilter(
        rows.parser,
        pipeline,
        languages,
        _places(rows, pipeline.rules),
        explain=explain,
        reject=run.row_settings.reject,
        keep_rejects=run.rejects is not None,
    )
    output.write(rows.first_line(["verdict"] if explain else []))
    tally = Tally()
    # Counter: update adds; zeros fix the order in the summary
    run.counts.update(kept=0, dropped=0)
    windows = rows.lines(run.common.batch_size)
    for filtered in map_in_order(line_filter, windows, run.common.threads):
        if filtered.bad is not None and (filtered.stopped or not run.row_settings.reject):
            raise run.error(filtered.bad)
        run.first_bad = run.first_bad or filtered.bad
        output.write(filtered.output)
        if run.rejects is not None:
            run.rejects.write(filtered.rejects)
        tally.add(filtered.tally)
        rejected, kept = filtered.rejected, filtered.tally.kept
        dropped = filtered.rows - rejected - kept
        # Counter: update adds
        run.counts.update(rows=filtered.rows, rejected=rejected, kept=kept, dropped=dropped)
        run.advance(filtered.rows)
    return vars(tally)


def _places(rows: RowReader, rules: Iterable[Rule]) -> dict[str, int]:
    """Return the index of each column that rules read. Without a header, ``score`` is the last."""
    from bitextfilter.filters.custom import columns_of

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
    width = max(map(len, pipeline.labels), default=4)
    run.note(f"{'rule':{width}}  dropped   unique")
    for label, _, dropped, unique in counts:
        run.note(f"{label:{width}} {dropped:8d} {unique:8d}")
    good = run.counts["rows"] - run.counts["rejected"]
    for label, _, dropped, _ in counts:
        if good and dropped == good:
            run.warn(f"{label} drops every row (--explain shows why)")
    kept = run.counts["kept"] / max(run.counts["rows"], 1)
    words = zip(tally.kept_words, tally.words, strict=True)
    source, target = (some / max(every, 1) for some, every in words)
    run.note(f"kept {kept:.1%} of the rows, {source:.1%} and {target:.1%} of the words")
