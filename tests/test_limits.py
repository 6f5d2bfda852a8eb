"""Sizes that keep the code readable: modules, functions, and the median function."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "bitextfilter"
MODULE_LINES = 500
FUNCTION_LINES = 40
MEDIAN_LINES = 10

MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def functions(path: str) -> dict[str, int]:
    """Lines of each function and method, its docstring included, its decorators not."""
    tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    found = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return {f"{path}:{n.name}": (n.end_lineno or n.lineno) - n.lineno + 1 for n in found}


@pytest.mark.parametrize("path", MODULES)
def test_module_and_its_functions_are_short(path: str) -> None:
    assert len((PACKAGE / path).read_text(encoding="utf-8").split("\n")) - 1 <= MODULE_LINES
    assert {name: n for name, n in functions(path).items() if n > FUNCTION_LINES} == {}


def test_the_median_function_is_short() -> None:
    lengths = [n for path in MODULES for n in functions(path).values()]
    assert statistics.median(lengths) <= MEDIAN_LINES
