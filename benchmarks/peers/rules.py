"""Decisions of other programs' rules, a line for each pair: 1 keeps it.

    python rules.py opusfilter SOURCE TARGET < pairs.tsv > kept.txt
    python rules.py hardrules SOURCE TARGET < pairs.tsv > kept.txt

OpusFilter runs the filters that ``opusfilter-autogen --method defaults`` chooses. Bicleaner's hard
rules run without language identification, language models and porn removal: those are downloads.
"""

from __future__ import annotations

import importlib
import sys
from argparse import Namespace
from collections.abc import Iterable
from types import ModuleType

Pair = tuple[str, str]


def opusfilter(pairs: list[Pair], source: str, target: str) -> Iterable[bool]:
    """Yield whether OpusFilter's default filters keep each pair."""
    autogen = importlib.import_module("opusfilter.autogen")
    pipeline = importlib.import_module("opusfilter.pipeline")
    scripts = [_script(source), _script(target)]
    filters = autogen.DefaultParameterFilters(langs=[source, target], scripts=scripts)
    filters.set_filter_thresholds()
    chosen = pipeline.FilterPipeline.from_config(filters.filters).filters
    one_by_one = [list(one.decisions(pairs)) for one in chosen]
    return map(all, zip(*one_by_one, strict=True))


def hardrules(pairs: list[Pair], source: str, target: str) -> Iterable[bool]:
    """Yield whether Bicleaner's hard rules keep each pair."""
    for name, content in (
        ("fastspell", "FastSpell"),
        ("kenlm", ""),
        ("toolwrapper", "ToolWrapper"),
    ):
        missing = ModuleType(name)  # imported by the package, and unused by the rules that run here
        setattr(missing, content or "Model", None)
        sys.modules.setdefault(name, missing)
    rules = importlib.import_module("hardrules.hardrules").Hardrules(
        Namespace(
            source_lang=source, target_lang=target, disable_lang_ident=True, disable_lm_filter=True,
            disable_porn_removal=True, disable_minimal_length=False, run_all_rules=False,
            lm_threshold=0.5, rules_config=None,
        )
    )  # fmt: skip
    for pair in pairs:
        yield rules.wrong_tu(*pair) in (False, "keep")


def _script(language: str) -> str:
    """The script that OpusFilter looks for in a language of the sets."""
    return {"el": "Greek", "bg": "Cyrillic", "ru": "Cyrillic"}.get(language, "Latin")


def main(program: str, source: str, target: str) -> None:
    """Read pairs, and write a 1 for each that is kept, else a 0."""
    sys.stdin.reconfigure(newline="\n")  # type: ignore[union-attr]
    rows = [line.rstrip("\n").split("\t") for line in sys.stdin]
    pairs = [(row[0], row[1]) for row in rows]
    kept = {"opusfilter": opusfilter, "hardrules": hardrules}[program](pairs, source, target)
    sys.stdout.writelines(f"{int(one)}\n" for one in kept)


if __name__ == "__main__":
    main(*sys.argv[1:])
