"""The frame of every command: shared options, help, errors and exit codes.

A complete command, ``commands/count.py``, run as ``bitext-count < pairs.tsv``::

    \"\"\"Count the characters of each side.\"\"\"

    from __future__ import annotations

    from dataclasses import dataclass

    from bitextfilter.commands.frame.command import command
    from bitextfilter.commands.frame.options import DIGITS, ModelOptions, option, row_options
    from bitextfilter.commands.frame.run import Run
    from bitextfilter.io.rows import Row


    @dataclass(frozen=True)
    class _Settings:
        \"\"\"The form of the ratio.\"\"\"

        digits: int = option("--digits N", "Decimals.", DIGITS, 4)


    @command("bitext-count", _Settings, row_options(), ModelOptions, uses="batch_size")
    def main(run: Run, settings: _Settings) -> None:
        \"\"\"Append the ratio of the lengths to every pair, in input order.

        Memory is bounded by --batch-size. The ratio is from 0 up, with no unit.

        Example:

            bitext-count --digits 2 < pairs.tsv
        \"\"\"
        rows, output = run.rows(), run.output()     # -i --scol --tcol --header, and -o
        output.write(rows.first_line(["ratio"]))    # BOM and header, if any
        for window in run.windows(rows):            # lists of Row | BadRow
            for row in window:
                value = ""
                if isinstance(row, Row):
                    value = f"{len(row.source) / len(row.target):.{settings.digits}f}"
                output.write(row.line + b"\\t" + value.encode() + row.ending)

``command`` adds -q -v --manifest --version, and --batch-size --threads --device or those that it
``uses`` (all as ``run.common``). ``row_options()`` is ``run.row_settings``, ``ModelOptions`` is for
``run.model()``; the function gets the other settings, in their order. Its docstring is the help:
indented paragraphs stay as they are, and a line of the exit codes is added.

Files are opened with ``run.input(path)``, ``run.output(path)`` or ``run.enter(context)``: when
the function ends they are closed, and outputs renamed into place, or removed after an error. It
returns normally or raises: a BitextError (one line, an exit code of ``exits.EXIT_CODES``),
``click.UsageError`` (2), anything else is a bug (70). ``run.counts["pairs"] += 1`` and
``run.facts["seed"] = 1`` are for the summary and the manifest; ``run.note``, ``run.warn`` and
``run.progress(total, unit).update(n)`` write to stderr.

Subcommands: ``main = group("bitext-segment", "Help.")``, then ``@command("learn", ...,
parent=main)``, or ``group(..., modules=...)`` for modules of subcommands. Tests:
``click.testing.CliRunner().invoke(main, [...], input=b"...")``.
"""

from __future__ import annotations

import ctypes
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bitextfilter import __version__
from bitextfilter.commands.frame.exits import (
    ERROR,
    EXIT_LINE,
    Guard,
    StdoutPipe,
    open_closed_streams,
    tell,
)
from bitextfilter.commands.frame.options import (
    Common,
    ModelOptions,
    Options,
    RowSettings,
    Scaling,
    is_given,
    needs_own_file,
    options_of,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import NotFoundError
from bitextfilter.models.folders import unverified
from bitextfilter.settings import nearest, none_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""``M_TRIM_THRESHOLD``, ``M_MMAP_THRESHOLD`` and ``M_ARENA_MAX`` of glibc's malloc.h."""
_LARGE, _KEPT, _ARENAS = 12 << 20, 1 << 26, 2


def steady_speed_and_memory() -> None:
    """Keep speed and memory steady for any number and size of windows.

    numpy's BLAS gets one thread, unless the environment says otherwise: our own threads compute
    side by side. glibc returns arrays of 12 MiB and more to the system when they are freed (by
    default it keeps ever larger ones, and a long stream takes hundreds of MB more), keeps up to
    64 MiB of smaller ones (a part's vectors take 8 MiB), and shares two arenas among all threads.
    Other C libraries are not changed.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _set_malloc({_MMAP_THRESHOLD: _LARGE, _TRIM_THRESHOLD: _KEPT, _ARENA_MAX: _ARENAS})


def keep_freed_memory() -> None:
    """Keep freed arrays of up to 32 MiB each, 1 GiB together, for the next arrays.

    A training asks for the same sizes at each update; with new pages each time it takes longer, an
    autoencoder's by a fifth.
    """
    _set_malloc({_MMAP_THRESHOLD: 1 << 25, _TRIM_THRESHOLD: 1 << 30})


def _set_malloc(values: Mapping[int, int]) -> None:
    """Set parameters of glibc's malloc, if that is the C library."""
    with suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        for parameter, value in values.items():
            mallopt(parameter, value)


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
        open_closed_streams()
        steady_speed_and_memory()
        arguments = list(sys.argv[1:] if args is None else args)
        extra["obj"] = [self.name, *arguments]
        run = partial(super().main, arguments, prog_name or self.name, complete_var, **extra)
        if not standalone_mode:
            return run(standalone_mode=False)
        code: int | None = None
        pipe = StdoutPipe()
        try:
            # For errors outside Command.invoke, whose own guard knows --verbose.
            with Guard(self.name or "", verbose=False) as guard:
                code = run(standalone_mode=False)
            code = guard.code or code
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else self.name
            message = _usage_fault(error)
            tell(f"{' '.join(message.split())} (see {path} --help)", f"{path}:", ERROR)
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


def _usage_fault(error: click.UsageError) -> str:
    """Return the message of a usage error; of an unknown option, with a suggestion of ours."""
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        names = chain.from_iterable(one.opts for one in error.ctx.command.get_params(error.ctx))
        options = [name for name in names if name.startswith("-")]
        return f"No such option {error.option_name}{nearest(error.option_name, options)}"
    return error.format_message().rstrip(".")


class Command(_Framed):
    """A command that runs under a guard."""

    def invoke(self, ctx: click.Context) -> int:
        """Run the command, and return its exit code."""
        with Guard(ctx.command_path, bool(ctx.params.get("verbose"))) as guard:
            super().invoke(ctx)
        return guard.code


class _Group(_Framed, click.Group):
    """A command of subcommands; the ones in ``modules`` are imported when they are named."""

    modules: Mapping[str, str] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the subcommands."""
        return [*super().list_commands(ctx), *self.modules]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand that the first word names, or suggest one."""
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-"):
            ctx.fail(f"subcommand {none_of(args[0], names)}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a subcommand."""
        if cmd_name not in self.modules:
            return super().get_command(ctx, cmd_name)
        module, _, function = self.modules[cmd_name].rpartition(".")
        found: click.Command = getattr(import_module(module), function)
        return found


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


_Kind = TypeVar("_Kind", bound=click.Command)


def _click_command(kind: type[_Kind], name: str, text: str, **details: Any) -> _Kind:
    """Return a command with help, a line of exit codes and --version."""
    made = kind(
        name,
        help=_keep_indented(text),
        epilog=EXIT_LINE,
        context_settings=dict(_CONTEXT),
        **details,
    )
    return click.version_option(__version__, prog_name=name, message="%(prog)s %(version)s")(made)


def group(
    name: str, text: str, package: str = "", modules: Sequence[str] | Mapping[str, str] = ()
) -> click.Group:
    """Return a command of subcommands; *text* is its help.

    *modules* are the subcommands in the modules of a *package*, as ``mining.alignment``, called as
    their functions, or by the names of a mapping. They are imported when needed.
    """
    if not isinstance(modules, Mapping):
        modules = {path.rpartition(".")[2]: path for path in modules}
    made = _click_command(_Group, name, text, no_args_is_help=False)
    made.modules = {called: f"{package}.{path}" for called, path in modules.items()}
    return made


def command(
    name: str,
    *groups: Options | type[DataclassInstance],
    batch_size: int = 8192,
    uses: str = "batch_size threads device",
    parent: click.Group | None = None,
    kind: type[Command] = Command,
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of a function of a Run and its settings, as the module shows.

    Args:
        name: of the program, or of a subcommand.
        groups: settings whose fields are options.
        batch_size: the default of --batch-size.
        uses: the computing options, of --batch-size, --threads and --device.
        parent: the group of a subcommand.
        kind: its class.
    """
    common = options_of(
        Common, f"{uses} quiet verbose manifest", {"batch_size": {"default": batch_size}}
    )
    options = [one if isinstance(one, Options) else options_of(one) for one in (*groups, common)]

    def decorate(function: Callable[..., None]) -> click.Command:
        def callback(**values: Any) -> None:
            settings = [
                one.settings(**{p.name: values[p.name] for p in one.parameters if p.name in values})
                for one in options
            ]
            with _run_of({type(one): one for one in settings}) as run:
                if values.get("no_verify"):
                    run.enter(unverified())
                function(run, *(one for one in settings if not isinstance(one, _OF_THE_RUN)))
                run.check_bad(last=True)
            run.report()

        parameters = [*chain(*(one.parameters for one in options))]
        text = function.__doc__ or ""
        made = _click_command(kind, name, text, callback=callback, params=parameters)
        if parent is not None:
            parent.add_command(made)
        return made

    return decorate


_OF_THE_RUN = (Common, RowSettings, Scaling, ModelOptions)
"""Settings that the run holds; the function of a command gets the others."""


def _run_of(settings: Mapping[type, Any]) -> Run:
    """Return the Run of the shared settings, by their class.

    Raises NotFoundError in a folder that was removed, where libraries fail in ways of their own.
    """
    try:
        Path.cwd()
    except FileNotFoundError:
        raise NotFoundError("the working folder was removed: go to another") from None
    context = click.get_current_context()
    path = context.command_path
    model = next((one for one in settings.values() if isinstance(one, ModelOptions)), None)
    run = Run(
        path,
        list(context.obj or [path]),
        settings[Common],
        settings.get(RowSettings, RowSettings()),
        settings.get(Scaling, Scaling()),
        None if model is None else model.name,
    )
    files = run.row_settings
    needs_own_file("--manifest", run.common.manifest, (*files.inputs, files.output, files.rejects))
    return run


def needs_none_of(names: Iterable[str], reason: str) -> None:
    """Raise UsageError, with the *reason*, if an option that is one of the fields is given."""
    options = {
        one.name: max(one.opts, key=len) for one in click.get_current_context().command.params
    }
    for name in names:
        if is_given(name):
            raise click.UsageError(f"{options[name]} {reason}")
