"""``bitext-paraphrase``: make paraphrases, and tell good ones from bad."""

from __future__ import annotations

from bitextfilter.commands.frame.command import group
from bitextfilter.commands.paraphrase.analyse import analyse
from bitextfilter.commands.paraphrase.generate import generate
from bitextfilter.commands.paraphrase.lexicon import lexicon
from bitextfilter.commands.paraphrase.make import make
from bitextfilter.commands.paraphrase.score import score
from bitextfilter.commands.paraphrase.train import train

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
