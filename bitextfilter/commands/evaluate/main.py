"""``bitext-evaluate``: measure how good models, scores and cuts are."""

from __future__ import annotations

from bitextfilter.commands.evaluate import (
    alignment,
    corpus,
    downstream,
    filtering,
    lexicon,
    mining,
    neighbours,
    paraphrase,
    recovery,
    sts,
    words,
)
from bitextfilter.commands.frame.command import group

main = group(
    "bitext-evaluate",
    """Measure how good models, scores and cuts are.

    Example:

        bitext-evaluate recovery test.tsv
        bitext-evaluate filtering --labels 3 scored.tsv
    """,
)

for module in (recovery, filtering, mining, alignment, sts, paraphrase, neighbours, corpus, words,
               downstream, lexicon):  # fmt: skip
    main.add_command(module.main)
