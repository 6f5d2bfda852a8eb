"""Pages for ``man``, made from the help of commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent
from typing import NamedTuple

import click

from bitextfilter import __version__

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
