"""The key words of the built-in expressions: none of the texts that they match is missed."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path
from typing import Any

import pytest
import regex

from bitextfilter.filters import web
from bitextfilter.filters.pairs import BatchSide

_parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_LINES = [
    line.rpartition("\t")[2]
    for line in Path(web.__file__).with_name("boilerplate.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]
_PLAIN = {"{menu}": r"(?:Start \| )", "{joint}": r" \| ", "*+": "*", "++": "+"}
"""Written so that Python's parser reads it; the expressions match it all the same."""


def _text(parts: Any, draw: random.Random) -> str:
    """Return a text of the tree of an expression, by chance."""
    return "".join(_piece(str(kind), given, draw) for kind, given in parts)


def _piece(kind: str, given: Any, draw: random.Random) -> str:
    text = ""  # of the start, the end, the edge of a word
    match kind:
        case "LITERAL":
            text = chr(given)
        case "BRANCH":
            text = _text(draw.choice(given[1]), draw)
        case "SUBPATTERN":
            text = _text(given[3], draw)
        case "MAX_REPEAT":
            least, most, repeated = given
            times = draw.randint(least, min(most, least + 2))
            text = "".join(_text(repeated, draw) for _ in range(times))
        case "IN":
            named = [chr(of) if str(how) == "LITERAL" else "7" for how, of in given]
            text = "q" if str(given[0][0]) == "NEGATE" else draw.choice(named)
        case "ANY":
            text = draw.choice("q ")
    return text


@pytest.mark.gate(200)
@pytest.mark.parametrize("expression", _LINES)
def test_texts_of_an_expression_have_its_key_words(expression: str) -> None:
    written = expression
    for name, meaning in {**_PLAIN, "{sites}": web._MACROS["{sites}"]}.items():
        written = written.replace(name, meaning)
    tree, draw = _parser.parse(written.replace(r"\s", " ").replace(r"\w", "q")), random.Random(1)
    texts = {_text(tree, draw) for _ in range(300)}
    for name, meaning in web._MACROS.items():
        expression = expression.replace(name, meaning)
    matching = regex.compile(expression, regex.IGNORECASE)
    texts = sorted(text for text in texts if matching.search(text))
    assert texts, "the tree gives texts that match"
    shown = [text.upper() if at % 2 else text for at, text in enumerate(texts)]
    shown = [text for text in shown if matching.search(text)]
    missed = ~web.Boilerplate().suspects(BatchSide(shown))
    assert [text for text, lost in zip(shown, missed, strict=True) if lost] == []
    assert all(web.Boilerplate().fault(text) for text in shown)
