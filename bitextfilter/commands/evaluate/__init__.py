"""``bitext-evaluate``: measure how good models, scores and cuts are.

Each subcommand is a function of its name.
"""

from __future__ import annotations

from bitextfilter.commands.frame.command import group

main = group(
    "bitext-evaluate",
    """Measure how good models, scores and cuts are.

    Example:

        bitext-evaluate recovery test.tsv
        bitext-evaluate filtering --labels 3 scored.tsv
    """,
    __name__,
    ("recovery.recovery", "filtering.filtering", "mining.mining", "mining.alignment", "sts.sts",
     "paraphrase.paraphrase", "neighbours.neighbours", "corpus.corpus", "neighbours.words",
     "downstream.downstream", "paraphrase.lexicon", "recovery.contrasts"),
)  # fmt: skip
