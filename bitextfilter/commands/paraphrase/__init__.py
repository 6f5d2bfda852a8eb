"""``bitext-paraphrase``: make paraphrases, and score their quality.

Each subcommand is a function of its name.
"""

from __future__ import annotations

from bitextfilter.commands.frame.command import group

main = group(
    "bitext-paraphrase",
    """Make paraphrases, and score their quality.

    Example:

        bitext-paraphrase make --translator de-en < de-en.tsv > paraphrases.tsv
        bitext-paraphrase train -o references paraphrases.tsv
        bitext-paraphrase generate --model en-en < text > other-words
    """,
    __name__,
    (
        *("make.make", "references.train", "references.score", "references.analyse"),
        *("make.generate", "make.lexicon"),
    ),
)
