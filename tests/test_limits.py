"""Sizes that keep the code readable: modules, functions, and the median function."""

from __future__ import annotations

import ast
import functools
import statistics
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "bitextfilter"
MODULE_LINES = 500
FUNCTION_LINES = 40
MEDIAN_LINES = 10

MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


@functools.cache
def functions(path: str) -> dict[str, int]:
    """Lines of each function and method, without its docstring and decorators."""
    tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    found = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return {f"{path}:{n.name}": _lines(n) - _lines(docstring(n)) for n in found}


def docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt | None:
    """The statement of a function that is its docstring."""
    return function.body[0] if ast.get_docstring(function) is not None else None


def _lines(node: ast.stmt | None) -> int:
    return 0 if node is None else (node.end_lineno or node.lineno) - node.lineno + 1


def test_modules_are_short() -> None:
    lengths = {path: len((PACKAGE / path).read_text("utf-8").splitlines()) for path in MODULES}
    assert {path: n for path, n in lengths.items() if n > MODULE_LINES} == {}


def test_functions_are_short() -> None:
    lengths = {name: n for path in MODULES for name, n in functions(path).items()}
    assert {name: n for name, n in lengths.items() if n > FUNCTION_LINES} == {}


def test_the_median_function_is_short() -> None:
    lengths = [n for path in MODULES for n in functions(path).values()]
    assert statistics.median(lengths) <= MEDIAN_LINES
