"""``bitext-paraphrase``: make paraphrases, and tell good ones from bad."""

from __future__ import annotations

from bitextfilter.commands.frame.command import group
from bitextfilter.commands.paraphrase import analyse, generate, lexicon, make, score, train

main = group(
    "bitext-paraphrase",
    """Make paraphrases, and tell good ones from bad.

    Example:

        bitext-paraphrase make --translator de-en < de-en.tsv > paraphrases.tsv
        bitext-paraphrase train -o references paraphrases.tsv
        bitext-paraphrase generate --model en-en < text > other-words
    """,
)

for module in (make, train, score, analyse, generate, lexicon):
    main.add_command(module.main)
