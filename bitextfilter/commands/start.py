"""From the options of a command line to its Run."""

from __future__ import annotations

from typing import Any

import click

from bitextfilter.commands.options import Common, RowSettings, needs_own_file
from bitextfilter.commands.run import Run
from bitextfilter.commands.scaling import Scaling
from bitextfilter.io.rows import Columns

__all__ = ["run_of"]


def run_of(values: dict[str, Any]) -> Run:
    """Make the Run of the shared options, and take them out of *values*.

    Raises UsageError for options that contradict each other.
    """
    context = click.get_current_context()
    path = context.command_path
    common = {key: values.pop(key) for key in vars(Common()) if key in values}
    run = Run(path, list(context.obj or [path]), Common(**common))
    run.model_name = values.pop("model", None)
    if "engine" in values:  # other commands have a --resume of their own
        run.scaling = Scaling(**{key: values.pop(key) for key in vars(Scaling()) if key in values})
    names = ("input", "output", "header", "rejects", "max_bad")
    row: dict[str, Any] = {key: values.pop(key) for key in names if key in values}
    if "row_files" in values:
        row["files"] = tuple(values.pop("row_files"))
        if len(row["files"]) == 1 and row["input"] == "-":
            (row["input"],) = row.pop("files")
    if "drops" in values:
        row |= {"drops": True, "rejects": values.pop("drops")}
    if "scol" in values:
        row["columns"] = Columns(values.pop("scol"), values.pop("tcol"))
    run.row_settings = RowSettings(reject=values.pop("on_error", "stop") == "reject", **row)
    files = run.row_settings
    needs_own_file("--manifest", run.common.manifest, (*files.inputs, files.output, files.rejects))
    return run
