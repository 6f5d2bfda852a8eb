"""``bitext-paraphrase``: say sentences in other words."""

from __future__ import annotations

from bitextfilter.commands.frame import group
from bitextfilter.commands.paraphrases.generate import generate

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
):  # fmt: skip
    main.add_command(subcommand)
