"""The console scripts: setup.cfg is their only list; they are called in the process, or started."""

from __future__ import annotations

import configparser
import functools
import importlib
import importlib.util
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import click
from click.testing import CliRunner, Result

ROOT = Path(__file__).parents[2]
BIN = ROOT / "bin"


@functools.cache
def scripts() -> dict[str, str]:
    """Console script → ``module:function``."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    lines = settings["options.entry_points"]["console_scripts"].split("\n")
    pairs = (line.split("=", 1) for line in lines if line.strip())
    return {name.strip(): target.strip() for name, target in pairs}


def script_module(path: Path) -> ModuleType:
    """The module of a Python script outside the package, such as one of ``examples``."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def command(name: str) -> click.Command:
    """The click command behind a console script."""
    module, function = scripts()[name].split(":")
    found = getattr(importlib.import_module(module), function)
    assert isinstance(found, click.Command)
    return found


@functools.cache
def leaves(name: str) -> list[tuple[list[str], click.Command]]:
    """The command itself, and each subcommand: the words that call it, and what they call."""
    command_itself = command(name)
    found = [([name], command_itself)]
    if isinstance(command_itself, click.Group):
        context = click.Context(command_itself)
        for word in command_itself.list_commands(context):
            sub = command_itself.get_command(context, word)
            assert sub is not None
            found.append(([name, word], sub))
    return found


def options(name: str) -> set[str]:
    """Every long option of a command and its subcommands; ``--help`` and ``--version`` aside."""
    parameters = [p for _, sub in leaves(name) for p in sub.params if isinstance(p, click.Option)]
    names = {word for p in parameters for word in (*p.opts, *p.secondary_opts)}
    return {word for word in names if word.startswith("--")} - {"--help", "--version"}


def invoke(
    tool: click.Command | str,
    *words: object,
    data: str | bytes = b"",
    code: int | None = 0,
    env: Mapping[str, str | None] | None = None,
) -> Result:
    """Call a command, or the one of this name, in the process; it must end with *code*, if any."""
    called = command(tool) if isinstance(tool, str) else tool
    result = CliRunner().invoke(called, [str(word) for word in words], input=data, env=env)
    assert code is None or result.exit_code == code, f"{result.output}{result.exception!r}"
    return result


def says_one_line(result: Result, code: int, *messages: str) -> None:
    """Assert that a command wrote nothing but one line on stderr, with all these messages."""
    assert (result.exit_code, result.stdout_bytes) == (code, b""), result.output
    assert result.stderr.count("\n") == 1, result.stderr
    assert not [message for message in messages if message not in result.stderr], result.stderr


def lines(result: Result) -> list[bytes]:
    """Return the lines on stdout as they are."""
    return io.BytesIO(result.stdout_bytes).readlines()


def table(result: Result) -> list[list[str]]:
    """Return the lines on stdout, cut at tabs."""
    return [line.decode().rstrip("\n").split("\t") for line in lines(result)]


def run(
    words: list[str], *, python: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a launcher of ``bin/`` with this interpreter; ``words[0]`` is its name."""
    line = [sys.executable, *python, str(BIN / words[0]), *words[1:]]
    return subprocess.run(
        line, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
        stdin=subprocess.DEVNULL, env={**os.environ, **environment},
    )  # fmt: skip


def heeding(name: str) -> list[str]:
    """The words that start a command which heeds SIGINT, as background jobs do not."""
    module, function = scripts()[name].split(":")
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    return [sys.executable, "-c", f"{heed}; from {module} import {function}; {function}()"]


def stand_ins(folder: Path, start: str, bodies: Mapping[str, str]) -> None:
    """Write a shell script for each command that it stands for, all with the same *start*."""
    folder.mkdir(exist_ok=True)
    for name, body in bodies.items():
        (folder / name).write_text(f"#!/bin/sh\n{start}{body}\n")
        (folder / name).chmod(0o755)
