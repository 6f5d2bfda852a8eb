"""A plan as a script of the shell, as a graph, and its outcome as a table."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from bitextfilter.io.files import COMPRESSIONS
from bitextfilter.recipes.recipe_plan import Line, Pipe, Plan, folders

_PACKERS = {"gz": "gzip", "bz2": "bzip2", "xz": "xz", "zst": "zstd"}


def script(plan: Plan, states: Mapping[int, str]) -> str:
    """Return the script of bash that does the same; the comments are the states of the pipes."""
    parts = ["set -euo pipefail"]
    if missing := [*folders(plan.pipes)]:
        parts[0] += f"\n{shlex.join(['mkdir', '-p', *missing])}"
    for number, state in states.items():
        pipe = plan.pipes[number]
        parts.append(
            f"# {pipe.title}: {f'to do: {state}' if state else 'up to date'}\n{line_of(pipe)}"
        )
    return "\n\n".join(parts) + "\n"


def line_of(pipe: Pipe) -> str:
    """Return the line of the shell that does the same as a pipe."""
    parts = [_line(line) for line in pipe.lines]
    stdin, stdout = pipe.lines[0].stdin, pipe.lines[-1].stdout
    if stdin is not None:
        if packer := _packer(stdin):
            parts.insert(0, f"{packer} -dc {shlex.quote(stdin)}")
        else:
            parts[0] += f" < {shlex.quote(stdin)}"
    elif pipe.lines[0].step.shell:
        parts[0] += " < /dev/null"
    if stdout is not None:
        if packer := _packer(stdout):
            parts.append(f"{packer} -c")
        parts[-1] += f" > {shlex.quote(stdout)}"
    return " \\\n    | ".join(parts)


def _line(line: Line) -> str:
    return shlex.join(line.whole if line.step.command else ["sh", "-c", line.step.shell])


def _packer(path: str) -> str | None:
    form = COMPRESSIONS.get(Path(path).suffix.lower())
    return None if form is None else _PACKERS[form]


def mermaid(plan: Plan) -> str:
    """Return the graph of steps and files in the language of Mermaid."""
    nodes, edges = _graph(plan)
    lines = ["flowchart LR"]
    for name, (text, is_file) in nodes.items():
        shown = text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
        lines.append(f'    {name}[/"{shown}"/]' if is_file else f'    {name}["{shown}"]')
    return "\n".join([*lines, *(f"    {one} --> {other}" for one, other in edges)]) + "\n"


def dot(plan: Plan) -> str:
    """Return the graph of steps and files in the language of Graphviz."""
    nodes, edges = _graph(plan)
    lines = ["digraph recipe {", "    rankdir=LR;"]
    for name, (text, is_file) in nodes.items():
        shown = text.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'    {name} [label="{shown}", shape={"note" if is_file else "box"}];')
    return "\n".join([*lines, *(f"    {one} -> {other};" for one, other in edges), "}"]) + "\n"


_Nodes = dict[str, tuple[str, bool]]


def _graph(plan: Plan) -> tuple[_Nodes, list[tuple[str, str]]]:
    """Return the text of each node, with whether it is a file, and the edges."""
    files: dict[str, str] = {}
    nodes: _Nodes = {}
    edges: list[tuple[str, str]] = []

    def file(path: str) -> str:
        name = files.setdefault(path, f"f{len(files)}")
        nodes[name] = path, True
        return name

    for number, pipe in enumerate(plan.pipes):
        steps = [f"s{number}_{place}" for place in range(len(pipe.lines))]
        for name, line in zip(steps, pipe.lines, strict=True):
            of = f" of {pipe.data}" if pipe.data else ""
            nodes[name] = f"{line.step.name}{of}", False
            edges += [(file(path), name) for path in line.reads]
            edges += [(name, file(path)) for path in line.writes]
        edges += pairwise(steps)
    return nodes, [*dict.fromkeys(edges)]


def table(rows: Sequence[Sequence[object]]) -> str:
    """Return rows as a TSV with the header of an outcome."""
    header = ("data", "step", "state", "rows in", "rows out", "seconds")
    lines = [
        "\t".join("" if cell is None else str(cell) for cell in row) for row in (header, *rows)
    ]
    return "\n".join(lines) + "\n"
