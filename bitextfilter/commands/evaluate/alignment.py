"""``bitext-evaluate alignment``: precision, recall and F1 of sentence links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.evaluate.options import bootstrap_options, measurement
from bitextfilter.commands.frame.options import argument, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name

if TYPE_CHECKING:
    from bitextfilter.evaluation.result import Bootstrap, Result


@dataclass(frozen=True)
class _Settings:
    """The files, and the form of the result."""

    files: tuple[str, ...] = argument("GOLD [LINKS] [GOLD LINKS]...", nargs=-1, required=True)


@measurement("alignment", _Settings, row_options("output"), bootstrap_options(), uses="")
def main(run: Run, settings: _Settings, bootstrap: Bootstrap) -> Result:
    """Measure LINKS (default: stdin) between sentences against those of GOLD.

    Both hold a link a line, as bitext-align-documents --links writes them: [0]:[0,1]:0.83, the
    numbers of source and of target sentences from 0, [] for none; a score is ignored. More files,
    two and two, are further documents, and all links count together.

    A link is right strictly if GOLD has it, and laxly also if a link of GOLD joins a source with
    a target sentence of it. A line for each, tab-separated: strict or lax, measure, value (0 to
    1), low and high end of its 95 % interval, links found, gold links, signature. Measures:

        precision  the part of the links that is right; links with an empty side count
        recall     the part of the gold links that is found; those with an empty side do not
        f1         the harmonic mean of both

    Example:

        bitext-align-documents --links de.txt fr.txt | bitext-evaluate alignment gold.links
    """
    from bitextfilter.evaluation.mining import alignment_result, compare_links
    from bitextfilter.io.documents import read_links

    files = settings.files if len(settings.files) > 1 else (*settings.files, "-")
    if len(files) % 2 or files.count("-") > 1:
        raise click.UsageError("GOLD and LINKS come in pairs, and only one of them can be stdin")
    links = [read_links(run.input(path), stream_name(path)) for path in files]
    parts = [
        compare_links(gold, found) for gold, found in zip(links[0::2], links[1::2], strict=True)
    ]
    counts = sum(parts[1:], parts[0])
    for name, found in (("gold", counts.gold), ("links", counts.found)):
        run.counts[name] = int(found.sum())
        if not run.counts[name]:
            raise InputError(f"no {name} to compare", file=stream_name(files[name == "links"]))
    return alignment_result(counts, bootstrap)
