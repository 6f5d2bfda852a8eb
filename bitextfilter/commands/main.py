"""``bitext``: lists the commands, calls them, and completes them in the shell."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from bitextfilter.commands.frame.command import Command, command
from bitextfilter.commands.frame.options import option
from bitextfilter.commands.frame.run import Run

COMMANDS = {
    "bitext": "list the commands",
    "bitext-align": "mine pairs from two files",
    "bitext-align-documents": "link the sentences of documents and their translations",
    "bitext-combine": "make one score of several",
    "bitext-convert": "turn pairs from one format into another",
    "bitext-dedup": "keep one of the pairs that are duplicates",
    "bitext-embed": "turn sentences into vectors",
    "bitext-evaluate": "measure how good models, scores and cuts are",
    "bitext-filter": "keep the pairs that pass rules, with reasons for the others",
    "bitext-fix": "repair mojibake, entities and stray characters",
    "bitext-judge": "label a few hundred rows of a corpus, and learn what a cut yields",
    "bitext-models": "list, show, inspect and verify models",
    "bitext-noise": "damage clean pairs as crawls do, with labels",
    "bitext-paraphrase": "make paraphrases, and score their quality",
    "bitext-rank": "order rows by score, and keep the best",
    "bitext-report": "show a scored corpus on one page",
    "bitext-score": "score sentence pairs",
    "bitext-segment": "learn and apply subwords",
    "bitext-train-classifier": "train a classifier of pairs on top of an encoder",
    "bitext-train-combiner": "learn to make one score of several",
    "bitext-train-embeddings": "train word vectors of two languages in one space",
    "bitext-train-encoder": "train a sentence encoder on sentence pairs",
    "bitext-train-language-model": "estimate a language model of n-grams",
    "bitext-train-translator": "train a translation model on sentence pairs",
    "bitext-translate": "translate sentences, with scores and alternatives",
    "bitext-tune": "train and measure an encoder at every point of a grid",
}
"""Every console script, and its purpose."""


class _Caller(Command):
    """The command ``bitext``, which runs ``bitext score ...`` as ``bitext-score ...``."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command named by the first word, or this one."""
        words = list(sys.argv[1:] if args is None else args)
        if words[:1] == ["help"]:
            words = [*words[1:], "--help"]
        name = f"bitext-{words[0]}" if words else ""
        if name not in COMMANDS:
            return super().main(words, prog_name, complete_var, standalone_mode, **extra)
        module = import_module(f"bitextfilter.commands.{words[0].replace('-', '_')}")
        return module.main.main(words[1:], name, None, standalone_mode, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reject an unknown command, and suggest a similar one."""
        if args and not args[0].startswith("-"):
            near = get_close_matches(f"bitext-{args[0]}", COMMANDS, n=1)
            hint = "".join(f"; is it {name}?" for name in near)
            ctx.fail(f"no command is called {args[0]!r}{hint}")
        return super().parse_args(ctx, args)


@dataclass(frozen=True)
class _Settings:
    """The shell to complete in."""

    completion: str | None = option(
        "--completion",
        "Print the script that completes the options of every command in this shell.",
        ["bash", "zsh", "fish"],
    )


@command("bitext", _Settings, uses="", kind=_Caller)
def main(run: Run, settings: _Settings) -> None:
    """List the commands, one a line, with the purpose of each.

    Each is a program of its own: it reads rows from stdin or -i FILE and writes them to stdout or
    -o FILE, so that pipes join them. --help explains each. The first hyphen may be a space: bitext
    score is bitext-score, and bitext help score shows its help.

    Example:

        bitext
        bitext help score
        eval "$(bitext -q --completion bash)"
    """
    text = _listing() if settings.completion is None else completions(settings.completion)
    run.output("-").write(text.encode())
    run.counts["commands"] = len(COMMANDS)


def _listing() -> str:
    """Return one line a command: its name and purpose."""
    width = max(map(len, COMMANDS))
    return "".join(f"{name:{width}}  {text}\n" for name, text in COMMANDS.items())


def completions(shell: str) -> str:
    """Return the completion scripts of all commands for bash, zsh or fish."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, f"click knows no {shell}"
    variables = {name: f"_{name.replace('-', '_').upper()}_COMPLETE" for name in COMMANDS}
    scripts = (kind(main, {}, name, variable) for name, variable in variables.items())
    return "".join(script.source() for script in scripts)
