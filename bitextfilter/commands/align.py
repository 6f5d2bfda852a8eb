"""``bitext-align``: find translations in two files that are not aligned."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.align_rules import files_of
from bitextfilter.commands.amounts import score
from bitextfilter.commands.document_files import without_tab
from bitextfilter.commands.documents import align_documents, encode, monotonic_options, score_text
from bitextfilter.commands.frame import Run, command, error_options, model_options, output_option
from bitextfilter.io.rows import Row, RowReader, TextColumn

if TYPE_CHECKING:
    from bitextfilter.mining.comparable import Mined
    from bitextfilter.scoring.model import Model

__all__ = ["main"]

_SIMILARITIES = ["cosine", "euclidean", "csls", "ratio", "distance", "mlp", "joint"]
_RETRIEVALS = ["forward", "backward", "intersect", "max"]


@command("bitext-align", output_option(), error_options(), model_options(), monotonic_options())
@click.argument("source", required=False)
@click.argument("target", required=False)
@click.option(
    "--similarity",
    type=click.Choice(_SIMILARITIES),
    default="csls",
    show_default=True,
    help="What scores a pair.",
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
@click.option("--min-score", type=score, metavar="X", help="Leave out pairs below X.")
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

    --retrieval chooses: each source's best (forward), each target's best (backward), what is
    both (intersect), or of what is either the best first, each sentence once (max).

    Each distinct line counts once. Neither the order of the lines nor --threads changes a
    score; ties go to the earlier lines. A line that is empty, not UTF-8 or has a tab or NUL
    stops the run unless --on-error reject. Both files are held in memory, with 10 bytes a
    line and dimension of the model (5 KB for 512); time grows with source x target lines.

    With --monotonic, the files are a document and its translation: neighbouring sentences, one
    or more with one or more, are linked in their order. --by model goes by their vectors and
    words by words that are linked again and again (score: cosine), length by length (0 to 1).

    Example:

        bitext-align english.txt german.txt > pairs.tsv
        bitext-align --retrieval intersect --min-score 0.1 en.txt.gz de.txt.gz -o pairs.tsv.gz
        bitext-align --monotonic --links book.en.txt book.de.txt
    """
    files = files_of(source, target, options)
    (align_documents if options["monotonic"] else _mine_pairs)(run, files, options)


def _mine_pairs(run: Run, files: Sequence[str], options: dict[str, Any]) -> None:
    """Find the pairs of two files, and write them best first."""
    output, readers, model = run.output(), _readers(run, files), run.model()
    counts = [_sentences(run, reader) for reader in readers]
    sides = [list(counted) for counted in counts]
    mined = _mine(run, model, sides, options)
    for row in zip(mined.source.tolist(), mined.target.tolist(), mined.score, strict=True):
        texts = [side[place] for side, place in zip(sides, row[:2], strict=True)]
        copies = math.prod(c[t] for c, t in zip(counts, texts, strict=True))
        times = copies if options["keep_duplicates"] else 1
        output.writelines(repeat(_line(texts, row[2], options), times))
        run.counts["pairs"] += times


def _readers(run: Run, paths: Sequence[str]) -> list[RowReader]:
    """Open both files as the row options say; they share one file of rejects."""
    settings, readers = run.row_settings, []
    for path in paths:
        run.row_settings = replace(settings, input=path)
        readers.append(run.rows(TextColumn()))
        settings = replace(settings, rejects=None)
    return readers


def _sentences(run: Run, reader: RowReader) -> Counter[str]:
    """The distinct sentences of a file in their order, and how often each stands there."""
    found: Counter[str] = Counter()
    for row in reader:
        run.counts["rows"] += 1
        row = without_tab(row, reader.name)
        if isinstance(row, Row):
            found[row.text] += 1
        elif run.row_settings.reject:
            run.reject(row._replace(reason=f"{reader.name}: {row.reason}"))
        else:
            run.reject(row)
    return found


def _mine(run: Run, model: Model, sides: list[list[str]], options: dict[str, Any]) -> Mined:
    """Encode both sides and find the pairs, best first."""
    import numpy as np

    from bitextfilter.mining.comparable import NEEDS_CLASSIFIER, MiningSettings, mine
    from bitextfilter.mining.joint import evidence
    from bitextfilter.scoring.scorers import check_measures
    from bitextfilter.text.language import check_columns

    settings = MiningSettings(
        options["similarity"],
        options["retrieval"],
        options["neighbours_count"],
        options["min_score"],
        run.common.threads,
    )
    if settings.similarity in NEEDS_CLASSIFIER:
        check_measures(model, ["mlp"], None)
    if not options["no_column_check"]:
        warning = check_columns(sides[0], sides[1], model.processor)
        if warning is not None:
            run.warn(warning)
    total = sum(map(len, sides))
    run.progress(total, "sentences")
    source, target = (
        encode(run, model, language, side)
        for side, language in zip(sides, model.languages, strict=True)
    )
    run.note(f"comparing {len(source)} with {len(target)} distinct sentences")
    run.progress().reset(len(source))
    scorer = None
    if settings.similarity in NEEDS_CLASSIFIER:
        scorer = model.pair_scorer((source, sides[0]), (target, sides[1]))
    if settings.similarity == "joint" and scorer is not None:
        scorer = evidence(scorer, [np.array([len(text) for text in side]) for side in sides])
    return mine(source, target, settings, scorer, run.progress().update)


def _line(texts: list[str], score: float, options: dict[str, Any]) -> bytes:
    number = score_text(score, options["digits"])
    columns = [number, *texts] if options["score_first"] else [*texts, number]
    return ("\t".join(columns) + "\n").encode()
