"""``bitext-evaluate``: measure how good models, scores and cuts are."""

from __future__ import annotations

from bitextfilter.commands.evaluate.alignment import alignment
from bitextfilter.commands.evaluate.corpus import corpus
from bitextfilter.commands.evaluate.downstream import downstream
from bitextfilter.commands.evaluate.filtering import filtering
from bitextfilter.commands.evaluate.lexicon import lexicon
from bitextfilter.commands.evaluate.mining import mining
from bitextfilter.commands.evaluate.neighbours import neighbours
from bitextfilter.commands.evaluate.paraphrase import paraphrase
from bitextfilter.commands.evaluate.recovery import recovery
from bitextfilter.commands.evaluate.sts import sts
from bitextfilter.commands.evaluate.words import words
from bitextfilter.commands.frame.command import group

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
