"""Typography of a language: the width of marks, the spaces beside wide ones, quotation marks.

Only what is certain is found. So right text keeps its spaces between Chinese words, half-width
colons and brackets in Japanese, plain spaces in French quotation marks, straight and single quotes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex

from bitextfilter.languages import Language


class Deviation(NamedTuple):
    """A place where a text is not written as its language is."""

    start: int
    end: int
    """First character, and the one behind the last."""
    right: str
    """Text to put there."""
    kind: str
    """``marks`` of another width, ``spaces``, or ``quotes`` of another language."""


_QUOTES = {
    code: pairs.split()
    for line in """
        bg „“ «»; bs „” „“ »«; ca «» “”; cs „“ »«; da “” ”” »« „“ „”; de „“ »« «»; el «» “”; en “”;
        es “” «»; et „“ „” «»; eu «» “”; fi ”” »»; fr «» “”; ga “”; gl “” «»; hi “”; hr „“ „” »«;
        hu „” »«; id “”; is „“; it «» “”; ka „“ «»; ko “”; lt „“; lv “” „” „“ «»; mk „“; ms “”;
        mt “”; nl “” „”; no «» “” ”” „“; pl „” «» »«; pt “” «»; ro „” «»; ru «» „“; sk „“ »«;
        sl „“ »«; sq «» “” „“; sr „” „“ »«; sv ”” »» »«; sw “”; th “”; tr “” «»; uk «» „“ “”; vi “”
    """.split(";")  # noqa: SIM905 - a list would be two pages long
    for code, _, pairs in [line.strip().partition(" ")]
}
"""The pairs of double quotation marks in use; first those of the Unicode CLDR 48 (Dutch: “”)."""

_LETTER = r"[\p{Han}\p{Hiragana}\p{Katakana}ー]"
_NARROW = dict(zip("，。！？：；", ",.!?:;", strict=True))
_WIDE = {
    "zh": {narrow: wide for wide, narrow in _NARROW.items()},
    "ja": {",": "、", ".": "。", "!": "！", "?": "？"},
}
_MARK = regex.compile(
    rf"(?<={_LETTER})(?: [,;:!?]|[,;:!?] ?)(?={_LETTER})"
    rf"|(?<={_LETTER})[!?:;](?=\s*$|[”」』）》】])|(?<={_LETTER}{{2}})\.(?=\s*$|[”」』）])"
)
_BRACKETS = regex.compile(
    rf"(?:^|(?<={_LETTER}) ?)\((?={_LETTER})([^()]*)(?<={_LETTER})\)(?!\.\w)(?: (?={_LETTER}))?"
)
_NEEDLESS = regex.compile(  # but the space of respect before 神
    r"(?<=\S)[ \u00a0]++(?=[，。、；：！？）」』】》])|(?<=[（「『【《])[ \u00a0]++(?=[^\s神])"
    rf"|(?<=[，。、；：！？])[ \u00a0]++(?!神)(?={_LETTER}|[（「『【《“])"
)
_LONE_LETTERS = regex.compile(rf"(?<!{_LETTER})(?:{_LETTER} ){{3,}}{_LETTER}(?!{_LETTER})")
_WIDE_MARK = regex.compile(  # not between digits
    rf"(?<=[\p{{L}}\p{{N}})\]”»'\"])(?<!{_LETTER})[，。！？：；](?!{_LETTER}|(?<=\p{{N}}.)\p{{N}})"
)
_WIDE_BRACKETS = regex.compile(r"（[^（）]*）")
_IS_LETTER = regex.compile(_LETTER)
_QUOTE = regex.compile("[“”„‟«»]")
_HIDDEN = "\ufffc"
"""Stands for each character that is left alone."""
_BEFORE = regex.compile(rf"[\s\p{{Ps}}\p{{Pd}}\p{{Pi}}'’\"/¿¡…{_HIDDEN}]")
_LEFT_ALONE = regex.compile(r"[A-Za-z]{2,9}://[^\s“”„‟«»]+|`[^`]*`|<[^<>]*>|\{[^{}]*\}")
"""Addresses, code, tags and placeholders."""


def deviations(text: str, language: Language) -> list[Deviation]:
    """Return the deviations of a *text* in a *language*, in order, none within another.

    Of marks and spaces, Chinese and Japanese have those with half-width marks or needless spaces,
    and languages of other scripts those with full-width marks. Once they are put right, there may
    be new ones beside them. A language of unknown quotation marks or script has none.
    """
    if text.isascii():
        return []
    text = _LEFT_ALONE.sub(lambda match: _HIDDEN * len(match[0]), text)
    kept: list[Deviation] = []
    for one in sorted([*_marks_and_spaces(text, language), *_quotes(text, language)]):
        if not kept or kept[-1].end <= one.start:
            kept.append(one)
    return kept


def put_right(text: str, language: Language) -> str:
    """Return *text* with its deviations put right, once."""
    parts, place = list[str](), 0
    for start, end, right, _ in deviations(text, language):
        parts += text[place:start], right
        place = end
    return "".join([*parts, text[place:]])


def is_wide(language: Language) -> bool:
    """Whether a language has full-width marks: Chinese, its relatives, and Japanese."""
    return "Hani" in language.scripts and "Hang" not in language.scripts


def _marks_and_spaces(text: str, language: Language) -> Iterator[Deviation]:
    if is_wide(language):
        japanese = language.code == "ja"
        yield from _narrow_marks(text, japanese)
        for match in _NEEDLESS.finditer(text):
            if not (japanese and text[match.start() - 1] in "！？"):
                yield Deviation(match.start(), match.end(), "", "spaces")
        for match in _LONE_LETTERS.finditer(text):
            yield Deviation(match.start(), match.end(), match[0].replace(" ", ""), "spaces")
    elif language.scripts:
        yield from _wide_marks(text, spaced="Hang" not in language.scripts)


def _narrow_marks(text: str, japanese: bool) -> Iterator[Deviation]:
    """Yield the half-width marks of a Chinese or Japanese text; ！ and ？ keep a space there."""
    for match in _MARK.finditer(text):
        if right := _WIDE["ja" if japanese else "zh"].get(match[0].strip()):
            space = "\u3000" if japanese and right in "！？" and match[0].endswith(" ") else ""
            yield Deviation(match.start(), match.end(), right + space, "marks")
    for match in _BRACKETS.finditer(text) if not japanese else ():
        yield Deviation(match.start(), match.start(1), "（", "marks")
        yield Deviation(match.end(1), match.end(), "）", "marks")


def _wide_marks(text: str, spaced: bool) -> Iterator[Deviation]:
    """Yield the full-width marks of a text in another script, but those of Chinese words.

    *spaced*: words and brackets have a space between.
    """
    for match in _WIDE_MARK.finditer(text):
        start, end = match.span()
        right = _NARROW[match[0]] + " " * text[end : end + 1].isalnum()
        yield Deviation(start, end, right, "marks")
    for match in _WIDE_BRACKETS.finditer(text):
        start, end = match.span()
        if not _IS_LETTER.search(text[max(0, start - 1) : end + 1]):
            spaces = (" " * (spaced and text[at : at + 1].isalnum()) for at in (start - 1, end))
            yield Deviation(start, start + 1, next(spaces) + "(", "marks")
            yield Deviation(end - 1, end, ")" + next(spaces), "marks")


def _quotes(text: str, language: Language) -> Iterator[Deviation]:
    """Yield the double quotation marks that are not those of the language.

    All must stand in pairs without others between, and no ``"`` beside them: else none is certain.
    """
    own = [] if '"' in text else _QUOTES.get(language.code, [])
    places = [match.start() for match in _QUOTE.finditer(text)]
    pairs = list(zip(places[::2], places[1::2], strict=False))
    if not own or len(places) % 2 or not all(_is_pair(text, *pair) for pair in pairs):
        return
    gap = "\u00a0" * (language.code == "fr" and language.region != "CH")
    for start, end in pairs:
        inside = text[start + 1 : end]
        inner, marks = inside.strip(), text[start] + text[end]
        if marks not in own or (gap and marks == "«»" and inner == inside):
            left = inside.index(inner) + start + 1
            yield Deviation(start, left, own[0][0] + gap, "quotes")
            yield Deviation(left + len(inner), end + 1, gap + own[0][1], "quotes")


def _is_pair(text: str, start: int, end: int) -> bool:
    """Whether quotation marks at two places open and close what is between them."""
    inside, after = text[start + 1 : end], text[end + 1 : end + 2]
    opens = start == 0 or _BEFORE.match(text[start - 1]) is not None
    bare = inside.strip()
    french = text[start] + text[end] == "«»" and inside[:1].isspace() and inside[-1:].isspace()
    return opens and not after.isalnum() and bare != "" and (french or bare == inside)
