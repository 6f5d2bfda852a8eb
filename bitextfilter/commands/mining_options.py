"""The options of ``bitext-align`` for large collections: where it waits, and how it searches."""

from __future__ import annotations

import click

from bitextfilter.commands.scaling import engine_options

__all__ = ["large_options"]


def large_options() -> list[click.Parameter]:
    """Return --resume, --dtype, the options of indexes, and those of engines."""
    resume = click.Option(
        ["--resume"],
        metavar="DIR",
        help="Keep in DIR what is done; go on from there if it was stopped.",
    )
    dtype = click.Option(
        ["--dtype"],
        type=click.Choice(["float16", "float32", "int8"]),
        default="float16",
        show_default=True,
        help="The numbers of the vectors on disk.",
    )
    return [resume, dtype, *_index_options(), *engine_options()]


def _index_options() -> list[click.Parameter]:
    """Return --index, --recall, --index-save, --index-load and --stream."""
    index = click.Option(
        ["--index"],
        type=click.Choice(["auto", "exact", "flat", "ivf", "ivf-sq8", "ivf-pq"]),
        default="auto",
        show_default=True,
        help="How neighbours are sought.",
    )
    recall = click.Option(
        ["--recall"],
        type=click.FloatRange(0, 1, min_open=True),
        default=0.99,
        show_default=True,
        metavar="R",
        help="The share of nearest neighbours that an index must find.",
    )
    save = click.Option(
        ["--index-save"],
        metavar="DIR",
        help="Keep the target side in DIR, to mine more text against it.",
    )
    load = click.Option(
        ["--index-load"], metavar="DIR", help="Mine SOURCE against the target side of DIR."
    )
    stream = click.Option(
        ["--stream"],
        is_flag=True,
        help="With --index-load: each source's best, in input order, as it comes.",
    )
    return [index, recall, save, load, stream]
