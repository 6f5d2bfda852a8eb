"""Parses in brackets: by hand, against a naive reader, and what is none."""

from __future__ import annotations

import random

import pytest

from bitextfilter.errors import InputError, ModelError
from bitextfilter.text.parses import TemplateSymbols, linearised, read_parse, template_of

WORKS = "(ROOT (S (NP (PRP It)) (VP (VBZ works) (ADVP (RB well))) (. .)))"


@pytest.mark.parametrize(
    ("text", "levels", "expected"),
    [
        (WORKS, 2, "( S ( NP ) ( VP ) ( . ) )"),
        (WORKS, 1, "( S )"),
        (WORKS, 3, "( S ( NP ( PRP ) ) ( VP ( VBZ ) ( ADVP ) ) ( . ) )"),
        (WORKS, None, "( S ( NP ( PRP ) ) ( VP ( VBZ ) ( ADVP ( RB ) ) ) ( . ) )"),
        ("( (S (NP-SBJ (-NONE- *)) (VP (VB Go))) )", 2, "( S ( NP-SBJ ) ( VP ) )"),
        ("(TOP(NP(DT the)(NN dog)))", 2, "( NP ( DT ) ( NN ) )"),
        ("(X word)", 2, "( X )"),
        ("(NP two\u00a0words (PP (IN of)))", 2, "( NP ( PP ) )"),
        ("  (S\n(NP)\t(VP (-LRB- -LRB-)))  ", 3, "( S ( NP ) ( VP ( -LRB- ) ) )"),
        ("(ROOT (S (VP)) (FRAG (NP)))", 2, "( ROOT ( S ) ( FRAG ) )"),
    ],
)
def test_parses_by_hand(text: str, levels: int | None, expected: str) -> None:
    assert linearised(read_parse(text), levels) == expected
    assert linearised(read_parse(expected), levels) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "0 parses"), ("  ", "0 parses"), ("word", "'word' outside"),
        ("(S (NP)", "1 brackets that are not closed"),
        ("(S ((NP", "3 brackets that are not closed"), ("(S (NP)))", r"'\)' outside"),
        ("(S) (NP)", "2 parses"), ("(S) word", "'word' outside"), ("()", "no label"),
        ("(S (NP) ((DT the)))", "no label"), (")(", r"'\)' outside"),
    ],
)  # fmt: skip
def test_what_is_no_parse_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_parse(text)


def test_trees_that_are_made_at_random_are_read_as_they_were_made() -> None:
    chance = random.Random(1)

    def grown(level: int) -> tuple[str, list[str]]:
        """A parse with words, and its top by levels, made recursively."""
        label = chance.choice(["S", "NP", "VP", ".", "PP"])
        parts = [grown(level - 1) for _ in range(chance.randint(0, 3))] if level else []
        inner = "".join(part for part, _ in parts) or chance.choice(["", " word", " it 's"])
        tops = [f"( {label} )"]
        for deep in range(4):
            tops.append(" ".join(["(", label, *(part[1][deep] for part in parts), ")"]))
        return f"({label}{inner})", tops

    for _ in range(200):
        text, tops = grown(3)
        for levels in (1, 2, 3):
            assert linearised(read_parse(text), levels) == tops[levels - 1]
        assert template_of(text) == tops[1]


def test_a_very_deep_parse_is_read() -> None:
    assert template_of("(A" * 5000 + ")" * 5000) == "( A ( A ) )"


def test_symbols_are_the_most_frequent() -> None:
    templates = ["( S ( NP ) ( VP ) )", "( NP ( NP ) )", "( FRAG )"]
    symbols = TemplateSymbols.learn(templates, 6)
    assert symbols.symbols == ["(", ")", "NP", "FRAG"]
    assert symbols.ids("( S ( NP ) )").tolist() == [2, 1, 2, 4, 3, 3]
    assert symbols.ids("").tolist() == [0]
    assert symbols.unknown("( S ( NP ) ( X ) )") == ["S", "X"]
    assert max(TemplateSymbols.learn(templates, 100).ids("( VP S FRAG NP )")) == 7
    again = TemplateSymbols(symbols.symbols)
    assert again.ids("( NP )").tolist() == symbols.ids("( NP )").tolist()
    with pytest.raises(ModelError):
        TemplateSymbols(["a", "a"])
    with pytest.raises(ModelError):
        TemplateSymbols(["a", 3])  # type: ignore[list-item]
