"""``bitext-evaluate``: measure how good models, scores and cuts are.

Each subcommand is a module of its name.
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
    ("recovery", "filtering", "mining", "alignment", "sts", "paraphrase", "neighbours", "corpus",
     "words", "downstream", "lexicon", "contrasts"),
)  # fmt: skip
