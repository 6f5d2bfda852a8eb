"""What every command is made of: options, streams, errors, exit codes, summary, manifest.

A complete command, ``commands/count.py``, run as ``bitext-count < pairs.tsv``::

    \"\"\"Count the characters of each side.\"\"\"

    from __future__ import annotations

    import click

    from bitextfilter.commands.frame import Run, command, model_options, row_options
    from bitextfilter.io.rows import Row


    @command("bitext-count", row_options(), model_options(), batch_size=8192)
    @click.option("--digits", type=click.IntRange(0, 9), default=4, show_default=True)
    def main(run: Run, digits: int) -> None:
        \"\"\"Append the ratio of the lengths to every pair, in input order.

        Memory is bounded by --batch-size. The ratio is from 0 up, with no unit.

        Example:

            bitext-count --digits 2 < pairs.tsv
        \"\"\"
        rows, output = run.rows(), run.output()     # -i --scol --tcol --header, and -o
        output.write(rows.first_line(["ratio"]))    # BOM and header, if there are any
        for window in run.windows(rows):            # lists of Row | BadRow; all else is done
            for row in window:
                value = f"{len(row.source) / len(row.target):.{digits}f}" if isinstance(
                    row, Row) else ""
                output.write(row.line + b"\\t" + value.encode() + row.ending)

What ``command`` adds, and the function never sees: -q -v --manifest --version; --batch-size
--threads --device (as ``run.common``; fewer with ``uses``); the groups given (``row_options()``
or its parts, as ``run.row_settings``; ``model_options()`` for ``run.model()``). The function's
own options come as its arguments. Its docstring is the help: indented paragraphs are kept as
they are, and the exit codes are added.

Files are opened with ``run.input(path)``, ``run.output(path)`` or ``run.enter(context)``: they
are closed, and outputs renamed into place or removed, when the function ends. It returns
normally or raises: a BitextError (one line, the exit code of ``exits.EXIT_CODES``),
``click.UsageError`` (2), anything else is a bug (70). ``run.counts["pairs"] += 1`` puts a
number, ``run.facts["seed"] = 1`` a fact into the summary or manifest; ``run.note``,
``run.warn`` and ``run.progress(total, unit).update(n)`` speak on stderr.

Subcommands: ``main = group("bitext-segment", "Help.")``, then ``@command("learn", ...,
parent=main)``. Tests: ``click.testing.CliRunner().invoke(main, [...], input=b"...")``.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from bitextfilter import __version__
from bitextfilter.commands.exits import EXIT_HELP, Guard
from bitextfilter.commands.options import (
    column,
    common_options,
    compute_options,
    device_options,
    error_options,
    input_option,
    model_options,
    output_option,
    row_options,
)
from bitextfilter.commands.pipes import StdoutPipe
from bitextfilter.commands.process import prepare
from bitextfilter.commands.run import Progress, Run
from bitextfilter.commands.start import run_of

__all__ = [
    "Command",
    "Progress",
    "Run",
    "column",
    "command",
    "device_options",
    "error_options",
    "group",
    "input_option",
    "model_options",
    "output_option",
    "row_options",
]

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Framed(click.Command):
    """A click command whose usage errors are one line, and whose errors have exit codes."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line *args*, and leave with its exit code if *standalone_mode*."""
        prepare()
        arguments = list(sys.argv[1:] if args is None else args)
        extra["obj"] = [self.name, *arguments]
        run = partial(super().main, arguments, prog_name or self.name, complete_var, **extra)
        if not standalone_mode:
            return run(standalone_mode=False)
        code: int | None = None
        pipe = StdoutPipe()
        try:
            with Guard(self.name or "", verbose=False) as guard:
                code = run(standalone_mode=False)
            code = guard.code or code
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else self.name
            message = error.format_message().rstrip(".")
            click.echo(f"{path}: {message} (see {path} --help)", err=True)
            code = 2
        except (click.Abort, KeyboardInterrupt):
            code = 130
        if not code:
            pipe.end()
        sys.exit(code)

    def make_context(self, *arguments: Any, **extra: Any) -> click.Context:
        """Read the command line; where nobody reads the help it asks for, that is a good end."""
        try:
            return super().make_context(*arguments, **extra)
        except BrokenPipeError:
            raise click.exceptions.Exit(0) from None


class Command(_Framed):
    """A command that runs under a guard."""

    def invoke(self, ctx: click.Context) -> int:
        """Run the command, and return its exit code."""
        with Guard(ctx.command_path, bool(ctx.params.get("verbose"))) as guard:
            super().invoke(ctx)
        return guard.code


class _Group(_Framed, click.Group):
    pass


def _kept(text: str) -> str:
    """Mark the indented paragraphs of a docstring, so that click does not re-wrap them."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text))
    marked = [f"\b\n{part}" if part.startswith((" ", "-")) else part for part in paragraphs]
    return "\n\n".join(marked)


def _version_option(name: str) -> click.Option:
    def show(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
        if asked:
            click.echo(f"{name} {__version__}")
            ctx.exit()

    return click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show the version and exit.",
    )


def group(name: str, text: str) -> click.Group:
    """Return a command that only has subcommands; *text* is its help."""
    return _Group(
        name,
        help=_kept(text),
        epilog=EXIT_HELP,
        params=[_version_option(name)],
        context_settings=dict(_CONTEXT),
        no_args_is_help=False,
    )


def command(
    name: str,
    *options: Sequence[click.Parameter],
    batch_size: int | None = 8192,
    uses: str = "device",
    parent: click.Group | None = None,
    kind: type[Command] = Command,
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a function of a Run and its own options a command, as the module shows.

    Args:
        name: as typed at the shell, or that of a subcommand of *parent*.
        options: groups of shared options.
        batch_size: the default of --batch-size; None for a command that computes nothing.
        uses: ``device``, ``threads`` (no --device), or ``rows`` (no --threads either).
        parent: the group that this is a subcommand of; *kind*: the class of the command.
    """

    def decorate(function: Callable[..., None]) -> click.Command:
        def callback(**values: Any) -> None:
            with run_of(values) as run:
                function(run, **values)
                run.check_bad(last=True)

        made = click.command(
            name,
            cls=kind,
            help=_kept(function.__doc__ or ""),
            epilog=EXIT_HELP,
            context_settings=dict(_CONTEXT),
        )(_with_options_of(function, callback))
        computing = compute_options(batch_size, uses) if batch_size else []
        shared = [*options, computing, common_options()]
        made.params += [option for part in shared for option in part]
        made.params.append(_version_option(name))
        if parent is not None:
            parent.add_command(made)
        return made

    return decorate


def _with_options_of(
    function: Callable[..., None], callback: Callable[..., None]
) -> Callable[..., None]:
    """Hand on the options that click's decorators left on *function*."""
    callback.__dict__.update(function.__dict__)
    return callback
