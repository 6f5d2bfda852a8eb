"""``bitext``: lists the commands, calls them, completes them, and writes their manual.

The manual, pages for ``man``, is made from the help of commands.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bitextfilter import __version__
from bitextfilter.commands.frame.command import Command, command
from bitextfilter.commands.frame.exits import EXIT_HELP
from bitextfilter.commands.frame.options import option
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.files import make_folder
from bitextfilter.settings import nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_SPECIAL = re.compile(r"[\\\-`'^~]|[^\x00-\x7f]")
_NAMES = {"\\": r"\(rs", "-": r"\-", "`": r"\(ga", "'": r"\(aq", "^": r"\(ha", "~": r"\(ti"}
_EXAMPLE = re.compile(r"Examples?:")


class Page(NamedTuple):
    """The page of a command: its *name* as a file has it, without the section, and its *text*."""

    name: str
    text: str


def pages_of(name: str, command: click.Command, purpose: str) -> Iterator[Page]:
    """Yield the page of a command, and those of its subcommands, if any."""
    context = click.Context(command, info_name=name, **command.context_settings)
    children = _children(command, context)
    related = [f"{name}-{child}" for child in children]
    yield Page(name, _page(context, purpose, related or ["bitext"]))
    for child, found in children.items():
        inner = click.Context(found, context, child, **found.context_settings)
        text = found.get_short_help_str(500)
        yield Page(f"{name}-{child}", _page(inner, text[:1].lower() + text[1:], [name]))


def _children(command: click.Command, context: click.Context) -> dict[str, click.Command]:
    if not isinstance(command, click.Group):
        return {}
    found = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return {name: child for name, child in found.items() if child is not None}


def _escaped(text: str) -> str:
    """Return text that roff shows as it is: in ASCII, each line without a control character."""
    escaped = _SPECIAL.sub(lambda m: _NAMES.get(m[0]) or rf"\[u{ord(m[0]):04X}]", text)
    return re.sub(r"(?m)^\.", r"\\&.", escaped)


def _page(context: click.Context, purpose: str, related: list[str]) -> str:
    """Return the page of a command, in the macros of man(7)."""
    command = context.command
    path = context.command_path
    name = path.replace(" ", "-")
    version = f"bitextfilter {__version__}"
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH "{_escaped(name.upper())}" "1" "" "{_escaped(version)}" "bitextfilter"',
        ".SH NAME",
        f"{_escaped(name)} \\- {_escaped(purpose.rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {_escaped(path)}",
        _escaped(usage),
        ".SH DESCRIPTION",
        *_paragraphs(command.help or ""),
        ".SH OPTIONS",
        *_options(context),
        *_paragraphs(command.epilog or ""),
        ".SH SEE ALSO",
        *(f".BR {_escaped(other)} (1)" for other in related),
    ]
    return re.sub(r"(?m)^(\.SH .*\n)\.PP\n", r"\1", "\n".join(lines)) + "\n"


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the lines of a help text; examples and exit codes are sections of their own."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = paragraph.removeprefix("\b\n").split("\n")
        kept = lines[0].startswith((" ", "- "))
        if _EXAMPLE.fullmatch(lines[0]):
            yield ".SH EXAMPLES"
        elif lines[0] == "Exit codes:":
            yield from (".SH EXIT STATUS", *_literal(lines[1:]))
        elif lines[0].startswith("Exit codes: "):
            yield from (".SH EXIT STATUS", _escaped(" ".join(lines).partition(": ")[2]))
        elif kept:
            yield from (".PP", *_literal(lines))
        else:
            yield from (".PP", _escaped(" ".join(lines)))


def _literal(lines: list[str]) -> Iterator[str]:
    """Yield lines that are not filled, indented."""
    yield from (".RS 4", ".nf")
    yield from map(_escaped, dedent("\n".join(lines)).split("\n"))
    yield from (".fi", ".RE")


def _options(context: click.Context) -> Iterator[str]:
    """Yield each option with its text."""
    for parameter in context.command.get_params(context):
        names, text = parameter.get_help_record(context) or ("", "")
        if text:
            yield from (".TP", f".B {_escaped(names)}", _escaped(" ".join(text.split())))


COMMANDS = {
    "bitext": "list the commands",
    "bitext-align": "mine pairs from two files",
    "bitext-align-documents": "link the sentences of documents and their translations",
    "bitext-align-words": "link the words of each pair that translate each other",
    "bitext-bicleaner": "score sentence pairs by the options of bicleaner-ai-classify",
    "bitext-clean": "clean a raw corpus: repair, filter, deduplicate, score, cut",
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
    "bitext-pair-documents": "find the documents of two collections that are translations",
    "bitext-paraphrase": "make paraphrases, and score their quality",
    "bitext-rank": "order rows by score, and keep the best",
    "bitext-report": "show a scored corpus on one page",
    "bitext-run": "run a whole pipeline from one file",
    "bitext-sample": "keep a sample of a corpus that is good and diverse",
    "bitext-score": "score sentence pairs",
    "bitext-segment": "learn and apply subwords",
    "bitext-split": "divide rows into training, development and test set",
    "bitext-train": "train a whole model from pairs: encoder, classifier, cuts",
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

GROUPS = {
    "Clean a corpus in one go": "clean",
    "Run a whole pipeline": "run",
    "Clean a corpus step by step": "filter fix dedup",
    "Score pairs, and cut by the score": "score rank combine bicleaner",
    "Look at a corpus, and judge it": "report judge evaluate",
    "Find pairs in texts and documents": "align align-documents pair-documents align-words",
    "Cut, mix and convert rows": "convert split sample noise",
    "See and use models": "models embed translate segment paraphrase",
    "Train models": "train train-encoder train-classifier train-combiner train-embeddings"
    " train-translator train-language-model tune",
}
"""What one wants to do, and the commands for it, without ``bitext-``."""


class _Caller(Command):
    """The command ``bitext``, which runs ``bitext score ...`` as ``bitext-score ...``."""

    def main(self, args: Sequence[str] | None = None, *others: Any, **extra: Any) -> Any:
        """Run the command named by the first word, or this one."""
        words = list(sys.argv[1:] if args is None else args)
        if words[:1] == ["help"]:
            words = [*words[1:], "--help"]
        if words[:1] == ["completion"]:
            words[0] = "--completion"
        called = _called(words)
        if called is None:
            return super().main(words, *others, **extra)
        return called.main(words[1:], **{**extra, "prog_name": called.name})

    def make_context(
        self, info_name: str | None, args: list[str], *parent: Any, **extra: Any
    ) -> click.Context:
        """Read the command line; in completion, that of the command named by the first word."""
        if not extra.get("resilient_parsing"):
            return super().make_context(info_name, args, *parent, **extra)
        words = args[1:] if args[:1] == ["help"] else args
        called = _called(words)
        if called is None:
            return super().make_context(info_name, [], *parent, **extra)
        return called.make_context(called.name, words[1:], *parent, **extra)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of the commands, too."""
        from click.shell_completion import CompletionItem

        others = (name.removeprefix("bitext-") for name in COMMANDS if name != self.name)
        words = ("completion", "help", *others)
        names = [CompletionItem(word) for word in words if word.startswith(incomplete)]
        return [*names, *super().shell_complete(ctx, incomplete)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reject an unknown command, and suggest a similar one."""
        if args and not args[0].startswith("-"):
            words = [name.removeprefix("bitext-") for name in COMMANDS if name != "bitext"]
            near = nearest(args[0].removeprefix("bitext-"), words)
            ctx.fail(f"no command is called {args[0]!r}{near}")
        return super().parse_args(ctx, args)


def _called(words: Sequence[str]) -> click.Command | None:
    """Return the command that the first word names, if any."""
    name = f"bitext-{words[0]}" if words else ""
    return command_of(name) if name in COMMANDS else None


def command_of(name: str) -> click.Command:
    """Return a command by its name, one of ``COMMANDS``."""
    if name == "bitext":
        return main
    word = name.removeprefix("bitext-").replace("-", "_")
    found: click.Command = import_module(f"bitextfilter.commands.{word}").main
    return found


@dataclass(frozen=True)
class _Settings:
    """The shell to complete in, and the folder of the manual."""

    completion: str | None = option(
        "--completion",
        "Print the script that completes the options of every command in this shell.",
        ["bash", "zsh", "fish"],
    )
    manual: str | None = option(
        "--manual DIR", "Write a page of every command to DIR/man1: man -M DIR bitext-score."
    )


def _listing() -> str:
    """Return the groups of commands; a line each: name and purpose."""
    width = max(map(len, COMMANDS))
    parts = []
    for heading, words in GROUPS.items():
        names = [f"bitext-{word}" for word in words.split()]
        lines = [f"  {name:{width}}  {COMMANDS[name]}\n" for name in names]
        parts.append("".join([f"{heading}:\n", *lines]))
    return "\n".join(parts)


def _with_listing(function: Callable[[Run, _Settings], None]) -> Callable[[Run, _Settings], None]:
    """Put the groups of commands into the docstring."""
    text = inspect.cleandoc(function.__doc__ or "")
    function.__doc__ = text.replace("    GROUPS\n", indent(_listing(), "  "))
    return function


@command("bitext", _Settings, uses="", kind=_Caller)
@_with_listing
def main(run: Run, settings: _Settings) -> None:
    """List the commands by what they are for, one a line.

        GROUPS

    Each is a program of its own: it reads rows from stdin or -i FILE and writes them to stdout or
    -o FILE, so that pipes join them. --help explains each. The first hyphen may be a space: bitext
    score is bitext-score, and bitext help score shows its help.

    Example:

        bitext
        bitext help score
        eval "$(bitext completion bash)"
        bitext --manual ~/.local/share/man
    """
    if settings.manual is not None:
        place = make_folder(Path(settings.manual) / "man1")
        for name, purpose in COMMANDS.items():
            for page in pages_of(name, command_of(name), purpose):
                run.output(str(place / f"{page.name}.1")).write(page.text.encode())
                run.counts["pages"] += 1
    elif settings.completion is not None:
        run.output("-").write(completions(settings.completion).encode())
    else:
        run.output("-").write(_listing().encode())
        run.counts["commands"] = len(COMMANDS)


main.epilog = EXIT_HELP


def completions(shell: str) -> str:
    """Return the completion scripts of all commands for bash, zsh or fish."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, f"click knows no {shell}"
    variables = {name: f"_{name.replace('-', '_').upper()}_COMPLETE" for name in COMMANDS}
    scripts = (kind(main, {}, name, variable).source() for name, variable in variables.items())
    return "".join(scripts)
