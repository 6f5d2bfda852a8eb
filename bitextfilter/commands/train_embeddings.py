"""``bitext-train-embeddings``: word vectors of two languages in one space."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    device_options,
    language_pair,
    needs_own_file,
    output_option,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import (
    is_given,
    settings_options,
    settings_values,
)
from bitextfilter.io.rows import BadRow

if TYPE_CHECKING:
    from bitextfilter.training.mapping import Induced
    from bitextfilter.training.word_vectors import WordVectors
    from bitextfilter.workflows.embedding_training import EmbeddingConfig, Seeds


_SIDES = ("source", "target")
_WINDOW = 8192

_Cut = Callable[[Sequence[str]], list[list[str]]]
"""Makes tokens of sentences."""


@command(
    "bitext-train-embeddings",
    output_option(),
    settings_options("workflows.embedding_training.EmbeddingConfig", "adversarial.seed"),
    device_options()[1:],
    batch_size=None,
)
@click.option(
    "--languages", required=True, type=language_pair, metavar="SOURCE,TARGET", help="As en,de."
)
@click.option(
    "--source-text", multiple=True, metavar="FILE", help="Source sentences; may be repeated."
)
@click.option(
    "--target-text", multiple=True, metavar="FILE", help="Target sentences; may be repeated."
)
@click.option(
    "--source-vectors", metavar="FILE", help="Source vectors already trained, instead of text."
)
@click.option(
    "--target-vectors", metavar="FILE", help="Target vectors already trained, instead of text."
)
@click.option(
    "--segmenter",
    metavar="FOLDER",
    help="Cut text into subwords: a folder by bitext-segment learn, or of a model.",
)
@click.option(
    "--lowercase/--keep-case",
    default=True,
    show_default=True,
    help="Lower-case text, or not; with --segmenter, as that says.",
)
@click.option(
    "--map",
    "first",
    type=click.Choice(["identical", "dictionary", "adversarial"]),
    default="identical",
    show_default=True,
    help="First map: from strings that are the same, from --dictionary, or from no pair at all.",
)
@click.option("--dictionary", metavar="FILE", help="A TSV: a source word and a target word.")
@click.option(
    "--separate",
    nargs=2,
    metavar="SOURCE TARGET",
    help="Write the vectors of each language to a file of its own, too.",
)
@click.option(
    "--maximum-words",
    type=click.IntRange(min=1),
    default=200_000,
    show_default=True,
    help="Most words of each language.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Of each language's skip-gram, and of the adversarial training. With more than 1, "
    "results differ from run to run.",
)
def main(run: Run, languages: tuple[str, str], **options: Any) -> None:
    r"""Learn word vectors of two languages in one space, for bitext-train-encoder --embeddings.

    Skip-gram with subwords gives each language its vectors (fastText; both at the same time). An
    orthogonal map brings the source's into the space of the target's, and is refined by mutual
    nearest neighbours; the best map is chosen by the mean cosine of the translations of frequent
    words (-1 to 1, higher is better). Vectors have length 1, and a word of both languages the
    mean of its two, weighted by its counts in each where both are learnt from text.

    Tokens are words and punctuation marks, or the pieces of --segmenter. The output is word2vec's
    text format. Memory holds the vectors, and for each language's skip-gram (2 x words + buckets)
    x dim x 4 bytes; text lies in temporary files.

    Example:

        bitext-train-embeddings --languages en,de --source-text news.en --target-text news.de \
            --segmenter my-model -o vectors.vec
    """
    from bitextfilter.io.vector_file import write_word_vectors
    from bitextfilter.models.device import resolve_device
    from bitextfilter.workflows.embedding_training import joint_table, map_sides

    _check(run, options)
    resolve_device(run.common.device)
    plan = _plan(options, run.common.threads)
    outputs = [run.output(path) for path in options["separate"] or ()]
    together = run.output()
    cuts = [_cut(options, language) for language in languages]
    seeds = _seeds(run, options, cuts)
    sides = _sides(run, options, cuts, plan)
    for name, side in zip(languages, sides, strict=True):
        run.counts[f"{name} words"] = len(side.words)
    run.facts.update(map=options["first"], seed=plan.adversarial.seed)
    sides = map_sides(sides, seeds, plan, _notifier(run), run.common.device)
    for output, side in zip(outputs, sides, strict=False):
        write_word_vectors(output, side.words, side.vectors)
    words, vectors = joint_table(*sides)
    write_word_vectors(together, words, vectors)
    run.counts["words"] = len(words)


def _check(run: Run, options: dict[str, Any]) -> None:
    """Refuse options that do not go together."""
    for path, other in zip(separate := options["separate"] or (), separate[::-1], strict=True):
        needs_own_file("--separate", path, (run.row_settings.output, other))
    for side in _SIDES:
        if bool(options[f"{side}_text"]) == (options[f"{side}_vectors"] is not None):
            raise click.UsageError(f"give either --{side}-text or --{side}-vectors")
    if (options["dictionary"] is not None) != (options["first"] == "dictionary"):
        raise click.UsageError("--dictionary FILE and --map dictionary go together")


def _check_effects(options: dict[str, Any], plan: EmbeddingConfig) -> None:
    """Refuse options and settings that have no effect beside the others."""
    usual = type(plan)()
    reads = [options["source_text"], options["target_text"]]
    if options["first"] != "adversarial" and plan.adversarial != usual.adversarial:
        raise click.UsageError(
            "--seed and adversarial settings have no effect without --map adversarial"
        )
    if not any(reads) and plan.skip_gram != usual.skip_gram:
        raise click.UsageError("skip_gram settings have no effect on vectors already trained")
    if is_given("lowercase") and options["segmenter"] is not None:
        raise click.UsageError("--lowercase or --keep-case has no effect with --segmenter")
    if not any([*reads, options["dictionary"]]):
        if is_given("lowercase"):
            raise click.UsageError("--lowercase or --keep-case has no effect without text")
        if options["segmenter"] is not None:
            raise click.UsageError("--segmenter has no effect without text")


def _plan(options: dict[str, Any], threads: int) -> EmbeddingConfig:
    """Return the settings: those that are given, and --threads."""
    from bitextfilter.workflows.embedding_training import EmbeddingConfig

    plan = EmbeddingConfig.from_dict(settings_values(options, "adversarial.seed"))
    _check_effects(options, plan)
    return plan.on_threads(threads)


def _cut(options: dict[str, Any], language: str) -> _Cut:
    """Return the tokeniser of a language."""
    if options["segmenter"] is None:
        from bitextfilter.text.words import TokenUnits

        units = TokenUnits("tokens", options["lowercase"])
        return lambda sentences: [units(sentence) for sentence in sentences]
    from bitextfilter.text.normalise import load_normalisation
    from bitextfilter.text.segment import load_segmenter

    folder = Path(options["segmenter"])
    segmenter, normalise = load_segmenter(folder), load_normalisation(folder)
    return lambda texts: segmenter.segment_all([normalise(text, language) for text in texts])


def _seeds(run: Run, options: dict[str, Any], cuts: Sequence[_Cut]) -> Seeds | str:
    """Return where the first map comes from: of a dictionary, the entries that are one token."""
    if options["dictionary"] is None:
        return str(options["first"])
    run.row_settings = dataclasses.replace(run.row_settings, input=options["dictionary"])
    rows = [row for window in run.windows(run.rows()) for row in window]
    pairs = [row.texts for row in rows if not isinstance(row, BadRow)]
    sides = [cut([pair[side] for pair in pairs]) for side, cut in enumerate(cuts)]
    entries = [
        (source[0], target[0])
        for source, target in zip(*sides, strict=True)
        if len(source) == len(target) == 1
    ]
    run.counts["entries"] = len(entries)
    return entries


def _sides(
    run: Run, options: dict[str, Any], cuts: Sequence[_Cut], plan: EmbeddingConfig
) -> tuple[WordVectors, WordVectors]:
    """Read the vectors that are given, and learn the others."""
    from bitextfilter.io.vector_file import read_word_vectors
    from bitextfilter.training.word_vectors import WordVectors, skip_gram

    most = options["maximum_words"]
    results: list[Callable[[], WordVectors]] = []
    with ExitStack() as trainings:
        for side, cut in zip(_SIDES, cuts, strict=True):
            if (path := options[f"{side}_vectors"]) is not None:
                given = WordVectors(*read_word_vectors(path, most), None)
                results.append(partial(WordVectors.most_frequent, given, most))
            else:
                text = _tokens(run, options[f"{side}_text"], cut)
                results.append(trainings.enter_context(skip_gram(text, plan.skip_gram)))
        source, target = (result().most_frequent(most) for result in results)
    return source, target


def _tokens(run: Run, paths: Sequence[str], cut: _Cut) -> Iterator[list[str]]:
    """Yield the tokens of every line of some files."""
    from bitextfilter.io.files import read_lines

    lines = chain.from_iterable(map(read_lines, paths))
    while window := list(islice(lines, _WINDOW)):
        run.counts["lines"] += len(window)
        yield from cut(window)


def _notifier(run: Run) -> Callable[[str, int, Induced], None]:
    def notify(step: str, number: int, induced: Induced) -> None:
        run.note(
            f"{step} {number}: criterion {induced.criterion:.4f}, {len(induced.pairs)} mutual pairs"
        )

    return notify
