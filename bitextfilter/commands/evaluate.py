"""``bitext-evaluate``: measure how good models, scores and cuts are."""

from __future__ import annotations

from bitextfilter.commands.evaluations.alignment import alignment
from bitextfilter.commands.evaluations.corpus import corpus
from bitextfilter.commands.evaluations.downstream import downstream
from bitextfilter.commands.evaluations.filtering import filtering
from bitextfilter.commands.evaluations.lexicon import lexicon
from bitextfilter.commands.evaluations.mining import mining
from bitextfilter.commands.evaluations.neighbours import neighbours
from bitextfilter.commands.evaluations.paraphrase import paraphrase
from bitextfilter.commands.evaluations.recovery import recovery
from bitextfilter.commands.evaluations.sts import sts
from bitextfilter.commands.evaluations.words import words
from bitextfilter.commands.frame import group

__all__ = ["main"]

main = group(
    "bitext-evaluate",
    """Measure how good models, scores and cuts are.

    Example:

        bitext-evaluate recovery test.tsv
        bitext-evaluate filtering --labels 3 scored.tsv
    """,
)

for subcommand in (
    recovery,
    filtering,
    mining,
    alignment,
    sts,
    paraphrase,
    neighbours,
    corpus,
    words,
    downstream,
    lexicon,
):
    main.add_command(subcommand)
