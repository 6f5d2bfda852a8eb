"""``bitext-judge page``: a page to label the rows of a sample."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    argument,
    flag,
    languages_option,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.judge.options import read_labels, read_sample, scale_option
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name

if TYPE_CHECKING:
    from bitextfilter.judge.judgements import Judgements, RowSample, Scale


@dataclass(frozen=True)
class _Settings:
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


@command("page", _Settings, row_options("output"), uses="")
def main(run: Run, settings: _Settings) -> None:
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


def _earlier(run: Run, settings: _Settings, sample: RowSample) -> Judgements | None:
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
