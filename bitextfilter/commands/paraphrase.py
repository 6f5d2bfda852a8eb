"""``bitext-paraphrase``: make paraphrases, and tell good ones from bad."""

from __future__ import annotations

from bitextfilter.commands.frame import group
from bitextfilter.commands.paraphrases.analyse import analyse
from bitextfilter.commands.paraphrases.generate import generate
from bitextfilter.commands.paraphrases.lexicon import lexicon
from bitextfilter.commands.paraphrases.make import make
from bitextfilter.commands.paraphrases.score import score
from bitextfilter.commands.paraphrases.train import train

__all__ = ["main"]

main = group(
    "bitext-paraphrase",
    """Make paraphrases, and tell good ones from bad.

    Example:

        bitext-paraphrase make --translator de-en < de-en.tsv > paraphrases.tsv
        bitext-paraphrase train -o references paraphrases.tsv
        bitext-paraphrase generate --model en-en < text > other-words
    """,
)

for subcommand in (
    make,
    train,
    score,
    analyse,
    generate,
    lexicon,
):
    main.add_command(subcommand)
