"""``bitext-align``: find translations in two files that are not aligned."""

from __future__ import annotations

from typing import Any

import click

from bitextfilter.commands.align_rules import files_of
from bitextfilter.commands.cuts import least
from bitextfilter.commands.documents import align_documents, monotonic_options
from bitextfilter.commands.frame import Run, command, error_options, model_options, output_option
from bitextfilter.commands.mining import mine_pairs
from bitextfilter.commands.mining_options import large_options
from bitextfilter.commands.mining_stream import stream_pairs

__all__ = ["main"]

_SIMILARITIES = ["cosine", "euclidean", "csls", "ratio", "distance", "mlp", "joint"]
_RETRIEVALS = ["forward", "backward", "intersect", "max"]


@command(
    "bitext-align",
    output_option(),
    error_options(),
    model_options(),
    large_options(),
    monotonic_options(),
)
@click.argument("source", required=False)
@click.argument("target", required=False)
@click.option(
    "--similarity",
    type=click.Choice(_SIMILARITIES),
    help="What scores a pair  [default: joint; without a classifier csls]",
)
@click.option(
    "--retrieval",
    type=click.Choice(_RETRIEVALS),
    default="max",
    show_default=True,
    help="Which candidates become pairs.",
)
@click.option(
    "-k",
    "--neighbours-count",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    metavar="K",
    help="Candidates of each sentence, and neighbours of a margin.",
)
@click.option(
    "--min-score",
    type=least,
    metavar="X",
    help="Leave out pairs below X: a number, recommended (the model's cut) or none  "
    "[default: recommended, if the model has such a cut]",
)
@click.option("--keep-duplicates", is_flag=True, help="Write a pair for each copy of its lines.")
@click.option("--score-first", is_flag=True, help="Write score, source, target.")
@click.option(
    "--digits",
    type=click.IntRange(0, 9),
    default=4,
    show_default=True,
    help="Decimals of the scores.",
)
@click.option("--no-column-check", is_flag=True, help="Do not look at the languages of the files.")
def main(run: Run, source: str | None, target: str | None, **options: Any) -> None:
    """Find translations in two files of sentences, one a line, that are not aligned.

    Writes source, target and score, separated by tabs, best first. A sentence's candidates are
    its K nearest on the other side by cosine. --similarity scores them, higher is better:

    - cosine (-1 to 1), euclidean (up to 0: negative distance)
    - csls (-4 to 4): 2 cosine - the mean cosines of both sides to their K nearest
    - distance (-2 to 2): half of csls; ratio: cosine / the mean of those means, 1 is plain
    - mlp (0 to 1): the model's classifier: how surely they are good translations
    - joint (-5 to 5): csls chooses the pairs; csls, classifier and length together score them

    Pairs below the model's cut are left out, and counted; --min-score none writes all.
    --retrieval chooses: each source's best (forward), each target's best (backward), what is
    both (intersect), or of what is either the best first, each sentence once (max).

    Each distinct line counts once. Neither the order of the lines nor --threads changes a
    score; ties go to the earlier lines. A line that is empty, not UTF-8 or has a tab or NUL
    stops the run unless --on-error reject.

    Lines and vectors wait on disk, beside the output or in the DIR of --resume (2 bytes a line
    and dimension). Memory is 1 to 2 GB, and 0.3 KB a line; time grows with source x target lines.
    An --index (of faiss) looks at a part of them, as large as it must be to find the --recall
    of the nearest of a sample; auto is exact up to 20 million million pairs of lines.

    With --monotonic, the files are a document and its translation: neighbouring sentences, one
    or more with one or more, are linked in their order. --by model goes by their vectors and
    words by words that are linked again and again (score: cosine), length by length (0 to 1).

    Example:

        bitext-align english.txt german.txt > pairs.tsv
        bitext-align --retrieval intersect --min-score 0.5 en.txt.gz de.txt.gz -o pairs.tsv.gz
        bitext-align --index-save INDEX old.en.txt de.txt > old.tsv
        bitext-align --index-load INDEX new.en.txt > new.tsv
        bitext-align --monotonic --links book.en.txt book.de.txt
    """
    files = files_of(source, target, options)
    way = stream_pairs if options["stream"] else mine_pairs
    (align_documents if options["monotonic"] else way)(run, files, options)
