"""Make small mistakes in the core of the package, one at a time, and count those that tests find.

    python tests/mutants.py list 80 > mutants.json
    python tests/mutants.py try mutants.json [JOBS]

A list has comparisons, signs, constants and conditions turned, spread evenly over the lines of the
core. Mutants tried in a later version are found by their function and line; those whose line is
no longer there are counted as gone.
"""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from random import Random

from click import echo

ROOT = Path(__file__).parents[1]
CORE = {
    "io/rows": "io commands/test_score.py commands/test_bad_input.py commands/test_frame.py",
    "scoring/": (
        "scoring commands/test_score.py commands/test_cut_check.py "
        "commands/test_rank.py commands/test_score_cache.py commands/test_combine.py "
        "commands/test_first_rows.py"
    ),
    "similarity/": "similarity search scoring/test_model.py",
    "search/": "search similarity commands/test_align.py commands/test_mining.py",
    "pairs/": "pairs scoring/test_model.py commands/test_train_classifier.py",
    "mining/": (
        "mining commands/test_align.py commands/test_align_documents.py "
        "commands/test_pair_documents.py "
        "commands/test_chunks.py commands/test_mining.py"
    ),
    "filters/": "filters commands/test_filter.py",
    "corpus/": (
        "corpus commands/test_dedup.py commands/test_fix.py commands/test_split.py "
        "commands/test_convert.py commands/test_sample.py"
    ),
    "damage/": "damage commands/test_noise.py",
}
"""Modules by the start of their path, and the tests that have to find a mistake in them."""

SWAPS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*",
    ast.And: "or", ast.Or: "and",
}  # fmt: skip
SIGNS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.In: "in", ast.NotIn: "not in", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/",
    ast.And: "and", ast.Or: "or",
}  # fmt: skip

Mutant = dict[str, str]
"""A file in the package, a function, a line of it and the line that takes its place."""


def between(line: str, start: int, end: int, sign: str, other: str) -> str | None:
    """Return a line with the sign between two operands turned, or None if it is not there."""
    middle = line[start:end]
    if middle.count(sign) != 1:
        return None
    return line[:start] + middle.replace(sign, other) + line[end:]


def turned(node: ast.AST, line: str) -> str | None:
    """Return a line with the node turned, or None if there is nothing to turn."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, operation, right = node.left, node.ops[0], node.comparators[0]
    elif isinstance(node, ast.BinOp):
        left, operation, right = node.left, node.op, node.right
    elif isinstance(node, ast.BoolOp):
        left, operation, right = node.values[0], node.op, node.values[1]
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        start, end = node.col_offset, node.end_col_offset
        return f"{line[:start]}{node.value + 1}{line[end:]}"
    else:
        return None
    if type(operation) not in SWAPS or left.end_lineno != right.lineno:
        return None
    ends = left.end_col_offset or 0, right.col_offset
    return between(line, *ends, SIGNS[type(operation)], SWAPS[type(operation)])


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Return all functions of a module."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def mutants(path: Path) -> Iterator[Mutant]:
    """Return all mutants of a module whose line occurs once in its function."""
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    for function in functions(ast.parse(text)):
        own = lines[function.lineno - 1 : function.end_lineno]
        for node in ast.walk(function):
            number = getattr(node, "lineno", 0)
            line = lines[number - 1] if number else ""
            if not line.isascii() or own.count(line) != 1 or number == function.lineno:
                continue
            new = turned(node, line)
            if new is not None and new != line:
                file = str(path.relative_to(ROOT / "bitextfilter"))
                yield {"file": file, "function": function.name, "line": line, "new": new}


def chosen(count: int) -> list[Mutant]:
    """Return mutants of the core, as many of each of its parts."""
    found = []
    for part in CORE:
        paths = sorted((ROOT / "bitextfilter").rglob("*.py"))
        own = [p for p in paths if str(p.relative_to(ROOT / "bitextfilter")).startswith(part)]
        every = [mutant for path in own for mutant in mutants(path)]
        found += Random(part).sample(every, min(-(-count // len(CORE)), len(every)))
    return found


def place(mutant: Mutant) -> tuple[Path, int] | None:
    """Return the module and the line where a mutant belongs in this version, or None."""
    package = ROOT / "bitextfilter"
    for path in sorted(package.rglob("*.py"), key=lambda p: p != package / mutant["file"]):
        text = path.read_text(encoding="utf-8")
        if f"def {mutant['function']}(" not in text or mutant["line"] not in text:
            continue
        lines = text.split("\n")
        for function in functions(ast.parse(text)):
            own = lines[function.lineno - 1 : function.end_lineno]
            if function.name == mutant["function"] and own.count(mutant["line"]) == 1:
                return path, function.lineno - 1 + own.index(mutant["line"])
    return None


def tried(mutant: Mutant, work: Path) -> str:
    """Return ``gone``, ``killed`` or ``alive`` for a mutant made in a copy of the package."""
    where = place(mutant)
    if where is None:
        return "gone"
    package = work / "bitextfilter"
    if not package.exists():
        shutil.copytree(ROOT / "bitextfilter", package)
    own = where[0].relative_to(ROOT / "bitextfilter")
    file = package / own
    text = file.read_text(encoding="utf-8")
    lines = text.split("\n")
    lines[where[1]] = mutant["new"]
    file.write_text("\n".join(lines), encoding="utf-8")
    part = next(
        part for place in (str(own), mutant["file"]) for part in CORE if place.startswith(part)
    )
    names = [ROOT / "tests" / name for name in CORE[part].split()]
    line = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    line += ["-c", str(ROOT / "setup.cfg"), "--rootdir", str(ROOT)]
    line += [str(name) for name in names if name.exists()]  # an older version may lack some
    done = subprocess.run(line, cwd=work, capture_output=True, text=True, check=False)
    file.write_text(text, encoding="utf-8")
    return "alive" if done.returncode == 0 else "killed"


def missing() -> list[str]:
    """Return the tests of ``CORE`` that this version lacks."""
    names = {name for tests in CORE.values() for name in tests.split()}
    return sorted(name for name in names if not (ROOT / "tests" / name).exists())


def main() -> None:
    """Write a list of mutants, or try one."""
    if sys.argv[1] == "list":
        echo(json.dumps(chosen(int(sys.argv[2])), indent=1))
        return
    jobs = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    every, folders = json.loads(Path(sys.argv[2]).read_text()), Queue[Path]()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        for number in range(jobs):
            work = Path(folder, str(number))
            work.mkdir()
            folders.put(work)

        def one(mutant: Mutant) -> str:
            work = folders.get()
            try:
                return tried(mutant, work)
            finally:
                folders.put(work)

        count = Counter[str]()
        for mutant, end in zip(every, pool.map(one, every), strict=True):
            count[end] += 1
            echo(f"{end}\t{mutant['file']}\t{mutant['function']}\t{mutant['new'].strip()}")
    if gone := missing():
        echo(f"tests that this version lacks: {', '.join(gone)}", err=True)
    echo(", ".join(f"{end} {number}" for end, number in sorted(count.items())))


if __name__ == "__main__":
    main()
