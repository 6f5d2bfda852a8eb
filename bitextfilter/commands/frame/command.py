"""The frame of every command: shared options, help, errors and exit codes.

A complete command, ``commands/count.py``, run as ``bitext-count < pairs.tsv``::

    \"\"\"Count the characters of each side.\"\"\"

    from __future__ import annotations

    import click

    from bitextfilter.commands.frame.command import command
    from bitextfilter.commands.frame.options import model_options, row_options
    from bitextfilter.commands.frame.run import Run
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
        output.write(rows.first_line(["ratio"]))    # BOM and header, if any
        for window in run.windows(rows):            # lists of Row | BadRow
            for row in window:
                value = f"{len(row.source) / len(row.target):.{digits}f}" if isinstance(
                    row, Row) else ""
                output.write(row.line + b"\\t" + value.encode() + row.ending)

``command`` adds -q -v --manifest --version; --batch-size --threads --device (as ``run.common``;
fewer with ``uses``); and the given groups (``row_options()`` or its parts, as
``run.row_settings``; ``model_options()`` for ``run.model()``). The function's own options are its
arguments. Its docstring is the help: indented paragraphs stay as they are, and the exit codes are
added.

Files are opened with ``run.input(path)``, ``run.output(path)`` or ``run.enter(context)``: when
the function ends they are closed, and outputs renamed into place, or removed after an error. It
returns normally or raises: a BitextError (one line, an exit code of ``exits.EXIT_CODES``),
``click.UsageError`` (2), anything else is a bug (70). ``run.counts["pairs"] += 1`` and
``run.facts["seed"] = 1`` are for the summary and the manifest; ``run.note``, ``run.warn`` and
``run.progress(total, unit).update(n)`` write to stderr.

Subcommands: ``main = group("bitext-segment", "Help.")``, then ``@command("learn", ...,
parent=main)``. Tests: ``click.testing.CliRunner().invoke(main, [...], input=b"...")``.
"""

from __future__ import annotations

import ctypes
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from itertools import chain
from typing import Any, TypeVar

import click

from bitextfilter import __version__
from bitextfilter.commands.frame.exits import EXIT_HELP, Guard
from bitextfilter.commands.frame.options import (
    Common,
    RowSettings,
    Scaling,
    common_options,
    compute_options,
    needs_own_file,
    pop_settings,
)
from bitextfilter.commands.frame.pipes import StdoutPipe
from bitextfilter.commands.frame.run import Run

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""``M_TRIM_THRESHOLD``, ``M_MMAP_THRESHOLD`` and ``M_ARENA_MAX`` of glibc's malloc.h."""
_LARGE, _KEPT, _ARENAS = 1 << 22, 1 << 25, 2


def steady_speed_and_memory() -> None:
    """Keep speed and memory steady for any number and size of windows.

    numpy's BLAS gets one thread, unless the environment says otherwise: our own threads compute
    side by side. glibc returns arrays of 4 MiB and more to the system when they are freed (by
    default it keeps ever larger ones, and a long stream takes hundreds of MB more), keeps up to
    32 MiB of smaller ones (a recurrent encoder frees some at every step), and shares two arenas
    among all threads. Other C libraries are not changed.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, _LARGE)
        mallopt(_TRIM_THRESHOLD, _KEPT)
        mallopt(_ARENA_MAX, _ARENAS)


def run_of(values: dict[str, Any]) -> Run:
    """Make the Run of the shared options, and remove these from *values*.

    Raises UsageError for options that contradict each other.
    """
    context = click.get_current_context()
    path = context.command_path
    run = Run(
        path,
        list(context.obj or [path]),
        pop_settings(Common, values),
        RowSettings.pop_from(values),
        pop_settings(Scaling, values) if "engine" in values else Scaling(),
        values.pop("model", None),
    )
    files = run.row_settings
    needs_own_file("--manifest", run.common.manifest, (*files.inputs, files.output, files.rejects))
    return run


_Function = TypeVar("_Function", bound=Callable[..., None])

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Framed(click.Command):
    """A click command with one-line usage errors and with exit codes."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line *args*, and exit with its code if *standalone_mode*."""
        steady_speed_and_memory()
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
        """Read the command line; a help text that nobody reads is no error."""
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


def _keep_indented(text: str) -> str:
    """Mark the indented paragraphs of a docstring, so that click does not re-wrap them."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text))
    marked = [f"\b\n{part}" if part.startswith((" ", "-")) else part for part in paragraphs]
    return "\n\n".join(marked)


def fill_lists(**registries: Mapping[str, Sequence[str]]) -> Callable[[_Function], _Function]:
    """Replace a line of a function's docstring that names a registry with the registry's members.

    Each member takes a line: its name, and its texts in columns.
    """

    def decorate(function: _Function) -> _Function:
        text = inspect.cleandoc(function.__doc__ or "")
        for name, members in registries.items():
            rows = [(key, *texts) for key, texts in members.items()]
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            lines = (
                "  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True))
                for row in rows
            )
            text = text.replace(
                f"    {name}\n", "".join(f"    {line.rstrip()}\n" for line in lines)
            )
        function.__doc__ = text
        return function

    return decorate


def first_lines(functions: Mapping[str, object]) -> dict[str, tuple[str]]:
    """Return the first line of each function's docstring, for ``fill_lists``."""
    return {name: ((f.__doc__ or "").split("\n")[0].rstrip("."),) for name, f in functions.items()}


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
    """Return a command of subcommands; *text* is its help."""
    return _Group(
        name,
        help=_keep_indented(text),
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
    """Make a command of a function of a Run and its own options, as the module shows.

    Args:
        name: of the program, or of a subcommand.
        options: groups of shared options.
        batch_size: the default of --batch-size; None for a command without it.
        uses: ``device``, ``threads`` (no --device), or ``rows`` (no --threads either).
        parent: the group of a subcommand.
        kind: its class.
    """

    def decorate(function: Callable[..., None]) -> click.Command:
        @wraps(function)
        def callback(**values: Any) -> None:
            with run_of(values) as run:
                function(run, **values)
                run.check_bad(last=True)
            run.report()

        text = _keep_indented(function.__doc__ or "")
        made = click.command(
            name, kind, help=text, epilog=EXIT_HELP, context_settings=dict(_CONTEXT)
        )(callback)
        computing = compute_options(batch_size, uses) if batch_size else []
        made.params += chain(*options, computing, common_options(), [_version_option(name)])
        if parent is not None:
            parent.add_command(made)
        return made

    return decorate
