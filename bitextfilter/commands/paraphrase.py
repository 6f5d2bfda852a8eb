"""``bitext-paraphrase``: say sentences in other words."""

from __future__ import annotations

from bitextfilter.commands.frame import group
from bitextfilter.commands.paraphrases.generate import generate
from bitextfilter.commands.paraphrases.lexicon import lexicon

__all__ = ["main"]

main = group(
    "bitext-paraphrase",
    """Make paraphrases.

    Example:

        bitext-paraphrase generate --model en-en < text > other-words
    """,
)

for subcommand in (
    generate,
    lexicon,
):
    main.add_command(subcommand)
