"""``bitext-train-embeddings``: word vectors of two languages in one space."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    COUNT,
    is_given,
    languages_option,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import TrainingOptions, training_settings
from bitextfilter.io.files import read_lines

if TYPE_CHECKING:
    from bitextfilter.papers.mapping import EmbeddingConfig, Induced, Seeds
    from bitextfilter.training.monolingual import WordVectors


_WINDOW = 8192

_Cut = Callable[[Sequence[str]], list[list[str]]]
"""Makes tokens of sentences."""


@dataclass(frozen=True)
class _Settings:
    """The text or vectors of each language, the first map, and the words to keep."""

    languages: tuple[str, str] = languages_option("As en,de.", required=True)
    source_text: tuple[str, ...] = option(
        "--source-text FILE", "Source sentences; repeatable.", multiple=True
    )
    target_text: tuple[str, ...] = option(
        "--target-text FILE", "Target sentences; repeatable.", multiple=True
    )
    source_vectors: str | None = option(
        "--source-vectors FILE", "Source vectors already trained, instead of text."
    )
    target_vectors: str | None = option(
        "--target-vectors FILE", "Target vectors already trained, instead of text."
    )
    segmenter: str | None = option(
        "--segmenter FOLDER", "Cut text into subwords: folder of bitext-segment learn or a model."
    )
    lowercase: bool = option(
        "--lowercase/--keep-case",
        "Lower-case text, or not; with --segmenter, its own setting.",
        default=True,
    )
    first: str = option(
        "--map",
        "First map: from strings that are the same, from --dictionary, or from no pair at all.",
        ["identical", "dictionary", "adversarial"],
        "identical",
    )
    dictionary: str | None = option("--dictionary FILE", "A TSV: a source word and a target word.")
    separate: tuple[str, str] | None = option(
        "--separate SOURCE TARGET", "Also write each language to a file of its own.", nargs=2
    )
    maximum_words: int = option("--maximum-words", "Most words of each language.", COUNT, 200_000)
    threads: int = option(
        "--threads",
        "Of each language's skip-gram, and of the adversarial training. With more than 1, "
        "results differ from run to run.",
        COUNT,
        1,
    )

    def __post_init__(self) -> None:
        """Refuse options that do not go together."""
        for side, text, vectors in (
            ("source", self.source_text, self.source_vectors),
            ("target", self.target_text, self.target_vectors),
        ):
            if bool(text) == (vectors is not None):
                raise click.UsageError(f"give either --{side}-text or --{side}-vectors")
        if (self.dictionary is not None) != (self.first == "dictionary"):
            raise click.UsageError("--dictionary FILE and --map dictionary go together")


@command(
    "bitext-train-embeddings",
    _Settings,
    row_options("output"),
    training_settings("papers.mapping.EmbeddingConfig", "adversarial.seed"),
    uses="device",
)
def main(run: Run, settings: _Settings, chosen: TrainingOptions) -> None:
    r"""Learn word vectors of two languages in one space, for bitext-train-encoder --embeddings.

    Skip-gram with subwords gives each language its vectors (fastText; both at the same time). An
    orthogonal map from the source's space to the target's is refined by mutual nearest
    neighbours; the best map is chosen by the mean cosine of the translations of frequent words
    (-1 to 1, higher is better). Vectors have length 1. A word of both languages has the mean of its
    two vectors, weighted by its counts where both are learnt from text.

    Tokens are words and punctuation marks, or the pieces of --segmenter. The output is word2vec's
    text format. Memory holds the vectors, and for each language's skip-gram (2 x words + buckets)
    x dim x 4 bytes; text lies in temporary files.

    Example:

        bitext-train-embeddings --languages en,de --source-text news.en --target-text news.de \
            --segmenter my-model -o vectors.vec
    """
    from bitextfilter.io.vectors import write_word_vectors
    from bitextfilter.models.device import resolve_device
    from bitextfilter.papers.mapping import joint_table, map_sides

    both = settings.separate or ()
    for path, other in zip(both, both[::-1], strict=True):
        needs_own_file("--separate", path, (run.row_settings.output, other))
    resolve_device(run.common.device)
    plan = _plan(settings, chosen)
    outputs, together = [run.output(path) for path in both], run.output()
    cuts = [_cut(settings, language) for language in settings.languages]
    seeds = _seeds(run, settings, cuts)
    sides = _sides(run, settings, cuts, plan)
    for name, side in zip(settings.languages, sides, strict=True):
        run.counts[f"{name} words"] = len(side.words)
    run.facts.update(map=settings.first, seed=plan.adversarial.seed)
    sides = map_sides(sides, seeds, plan, partial(_notify, run, plan), run.common.device)
    for output, side in zip(outputs, sides, strict=False):
        write_word_vectors(output, side.words, side.vectors)
    words, vectors = joint_table(*sides)
    write_word_vectors(together, words, vectors)
    run.counts["words"] = len(words)


def _plan(settings: _Settings, chosen: TrainingOptions) -> EmbeddingConfig:
    """Return the settings. Raises UsageError for those without effect beside the others."""
    from bitextfilter.papers.mapping import EmbeddingConfig

    plan, usual = EmbeddingConfig.from_dict(chosen.values()), EmbeddingConfig()
    text = bool(settings.source_text or settings.target_text)
    if settings.first != "adversarial" and plan.adversarial != usual.adversarial:
        raise click.UsageError(
            "--seed and adversarial settings have no effect without --map adversarial"
        )
    if not text and plan.skip_gram != usual.skip_gram:
        raise click.UsageError("skip_gram settings have no effect on vectors already trained")
    if is_given("lowercase") and settings.segmenter is not None:
        raise click.UsageError("--lowercase or --keep-case has no effect with --segmenter")
    if not text and settings.dictionary is None:
        if is_given("lowercase"):
            raise click.UsageError("--lowercase or --keep-case has no effect without text")
        if settings.segmenter is not None:
            raise click.UsageError("--segmenter has no effect without text")
    return plan.on_threads(settings.threads)


def _cut(settings: _Settings, language: str) -> _Cut:
    """Return the tokeniser of a language."""
    if settings.segmenter is None:
        from bitextfilter.text.words import TokenUnits

        units = TokenUnits("tokens", settings.lowercase)
        return lambda sentences: [units(sentence) for sentence in sentences]
    from bitextfilter.text.normalise import load_normalisation
    from bitextfilter.text.segment import load_segmenter

    folder = Path(settings.segmenter)
    segmenter, normalise = load_segmenter(folder), load_normalisation(folder)
    return lambda texts: segmenter.segment_all([normalise(text, language) for text in texts])


def _seeds(run: Run, settings: _Settings, cuts: Sequence[_Cut]) -> Seeds | str:
    """Return where the first map comes from: of a dictionary, the entries that are one token."""
    if settings.dictionary is None:
        return settings.first
    pairs = run.pairs(settings.dictionary)
    sides = [cut([pair[side] for pair in pairs]) for side, cut in enumerate(cuts)]
    entries = [
        (source[0], target[0])
        for source, target in zip(*sides, strict=True)
        if len(source) == len(target) == 1
    ]
    run.counts["entries"] = len(entries)
    return entries


def _sides(
    run: Run, settings: _Settings, cuts: Sequence[_Cut], plan: EmbeddingConfig
) -> tuple[WordVectors, WordVectors]:
    """Read the vectors that are given, and learn the others."""
    from bitextfilter.io.vectors import read_word_vectors
    from bitextfilter.training.monolingual import WordVectors, skip_gram

    most = settings.maximum_words
    results: list[Callable[[], WordVectors]] = []
    with ExitStack() as trainings:
        paths = settings.source_vectors, settings.target_vectors
        texts = settings.source_text, settings.target_text
        for path, files, cut in zip(paths, texts, cuts, strict=True):
            if path is not None:
                given = WordVectors(*read_word_vectors(path, most), None)
                results.append(partial(WordVectors.most_frequent, given, most))
            else:
                text = _tokens(run, files, cut)
                results.append(trainings.enter_context(skip_gram(text, plan.skip_gram)))
        source, target = (result().most_frequent(most) for result in results)
    return source, target


def _tokens(run: Run, paths: Sequence[str], cut: _Cut) -> Iterator[list[str]]:
    """Yield the tokens of every line of some files."""
    lines = chain.from_iterable(map(read_lines, paths))
    while window := list(islice(lines, _WINDOW)):
        run.counts["lines"] += len(window)
        yield from cut(window)


def _notify(
    run: Run, plan: EmbeddingConfig, step: str, number: int, induced: Induced | None
) -> None:
    if induced is None:
        training = plan.adversarial
        total = training.starts * training.epochs * training.updates
        run.progress(total, "updates").update(1)
    else:
        pairs = len(induced.pairs)
        run.note(f"{step} {number}: criterion {induced.criterion:.4f}, {pairs} mutual pairs")
