"""``bitext-evaluate alignment``: how well links between two documents' sentences are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.evaluate.options import bootstrap_options
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import output_option
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name

if TYPE_CHECKING:
    from bitextfilter.evaluation.alignment import Aligned
    from bitextfilter.evaluation.result import Result


@command("alignment", output_option(), bootstrap_options(), batch_size=None)
@click.argument("files", metavar="GOLD [LINKS] [GOLD LINKS]...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of a table.")
def alignment(run: Run, files: tuple[str, ...], as_json: bool, resamples: int, seed: int) -> None:
    """Measure how well LINKS (default: stdin) between sentences are those of GOLD.

    Both hold a link a line, as bitext-align-documents --links writes them: [0]:[0,1]:0.83, the
    numbers of source and of target sentences from 0, [] for none; a score is not looked at. More
    files, two and two, are further documents, and all links count together.

    A link is right strictly if GOLD has it, and laxly also if a link of GOLD joins a source with
    a target sentence of it. A line for each, tab-separated: strict or lax, measure, value (0 to
    1), low and high end of its 95 % interval, links found, gold links, signature. Measures:

        precision  the part of the links that is right; links with an empty side count
        recall     the part of the gold links that is found; those with an empty side do not
        f1         the harmonic mean of both

    Example:

        bitext-align-documents --links de.txt fr.txt | bitext-evaluate alignment gold.links
    """
    from bitextfilter.evaluation.alignment import compare_links, measure_alignment
    from bitextfilter.evaluation.filtering import Bootstrap
    from bitextfilter.io.links import read_links

    files = (*files, "-") if len(files) == 1 else files
    if len(files) % 2 or files.count("-") > 1:
        raise click.UsageError("GOLD and LINKS come in pairs, and only one of them can be stdin")
    output = run.output()
    links = [read_links(run.input(path), stream_name(path)) for path in files]
    parts = [
        compare_links(gold, found) for gold, found in zip(links[0::2], links[1::2], strict=True)
    ]
    compared = sum(parts[1:], parts[0])
    for name, counts in (("gold", compared.gold), ("links", compared.found)):
        run.counts[name] = int(counts.sum())
        if not run.counts[name]:
            raise InputError(f"no {name} to compare", file=stream_name(files[name == "links"]))
    sizes = {"links": run.counts["links"], "gold": run.counts["gold"]}
    bootstrap = Bootstrap(resamples, seed)
    result = _result(measure_alignment(compared, bootstrap), sizes, sizes | bootstrap.facts)
    output.write(result.text(as_json))


def _result(found: Sequence[Aligned], sizes: dict[str, int], facts: dict[str, int]) -> Result:
    """Return a record for each figure."""
    from bitextfilter.evaluation.result import Result, signature

    records = [
        {
            "how": each.how,
            "measure": each.measure,
            **each.estimate._asdict(),
            "signature": signature(each.figure, **facts),
        }
        for each in found
    ]
    names = ("how", "measure", "value", "low", "high", "links", "gold", "signature")
    return Result("alignment", dict.fromkeys(names, ".4f"), {"results": records}, sizes)
