"""Small mistakes in a translation, as people and machines make them: a word, a form, a mark.

Each kind leaves a part of the translation's worth, from 0 (none) to 1 (all): the target that a
classifier learns, and so the order of the kinds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bitextfilter.damage.material import Context, Maker, Pair, on_one_side, remark
from bitextfilter.text.units import Span, marks_apart, word_spans

_MARKS = ".,;:!?…。、，；：！？"
_CLAUSE_END = re.compile(r"(?<=[,;:.!?–—])\s+|(?<=[、，；：。！？])")
_FEWEST = 3
"""Words of a clause, at least."""
_LETTERS = 4
"""Letters of a word that is misspelt, or of which there are other forms, at least."""


def _cut(text: str, start: int, stop: int) -> str:
    """Return *text* without a part, and without the space it leaves."""
    before, after = text[:start], text[stop:]
    if before[-1:].isspace() and (not after or after[0].isspace() or after[0] in _MARKS):
        before = before.rstrip()
    elif not before.strip():
        after = after.lstrip().lstrip(_MARKS).lstrip()
        if text[start : start + 1].isupper():
            after = after[:1].upper() + after[1:]
    return before + after


def _put(text: str, span: Span, word: str) -> str:
    """Return *text* with a word in place of another, with its capital."""
    start, stop = span
    if text[start].isupper() and word[:1].islower():
        word = word[0].upper() + word[1:]
    return text[:start] + word + text[stop:]


def _insert(text: str, place: int, words: str) -> str:
    """Return *text* with words before *place*, set off by spaces where the text has them."""
    spaced = re.search(r"\s", text) is not None
    return text[:place] + words + (" " if spaced else "") + text[place:]


def _word_left_out(pair: Pair, side: int, context: Context) -> str | None:
    """A side without one of its words."""
    spans = word_spans(pair[side])
    if len(spans) < _FEWEST:
        return None
    return _cut(pair[side], *context.chooser.choice(spans))


def _words_left_out(pair: Pair, side: int, context: Context) -> str | None:
    """A side without two to five words in a row, at most half of it."""
    text, spans = pair[side], word_spans(pair[side])
    most = min(5, len(spans) // 2)
    if most < 2:
        return None
    count = context.chooser.randint(2, most)
    first = context.chooser.randrange(len(spans) - count + 1)
    return _cut(text, spans[first][0], spans[first + count - 1][1])


def _clauses(text: str) -> list[Span]:
    """Return the places of the parts of *text* between marks, with the mark behind."""
    starts = [0, *(match.end() for match in _CLAUSE_END.finditer(text))]
    ends = [*(match.start() for match in _CLAUSE_END.finditer(text)), len(text)]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]


def _long_clauses(text: str) -> list[Span]:
    found = _clauses(text)
    return [span for span in found if len(word_spans(text[slice(*span)])) >= _FEWEST]


def _clause_left_out(pair: Pair, side: int, context: Context) -> str | None:
    """A side without one of its clauses of three words or more."""
    text = pair[side]
    clauses = _clauses(text)
    long = _long_clauses(text)
    if len(clauses) < 2 or not long:
        return None
    start, stop = context.chooser.choice(long)
    if stop == len(text):  # the end of the sentence moves to the clause before
        return text[:start].rstrip().rstrip(",;:–—、，；：") + text[-1:] * (text[-1:] in _MARKS)
    return _cut(text, start, stop)


def _clause_added(pair: Pair, side: int, context: Context) -> str | None:
    """A clause of another pair after one of a side's."""
    text = pair[side]
    for other in context.window.others(context.chooser):
        if found := _long_clauses(other[side]):
            added = other[side][slice(*context.chooser.choice(found))].strip().strip(_MARKS)
            place = context.chooser.choice([span[1] for span in _clauses(text)])
            if place == len(text):
                last = text[-1:] if text[-1:] in _MARKS else ""
                return f"{text[: len(text) - len(last)]}, {added}{last}"
            return f"{text[:place]} {added},{text[place:]}"
    return None


def _another_word(side: int, context: Context, like: str, known: str) -> str | None:
    """Draw a word of another pair: long or short, with a capital or without, as *like* is."""
    for other in context.window.others(context.chooser):
        text = other[side]
        words = [text[slice(*span)] for span in word_spans(text)[1:]]
        fits = [w for w in words if _alike(w, like) and w.lower() not in known.lower()]
        if fits:
            return context.chooser.choice(fits)
    return None


def _alike(one: str, other: str) -> bool:
    """Whether both words are long, and both have a capital, or neither."""
    long = (len(one) >= _LETTERS) == (len(other) >= _LETTERS)
    return long and one[0].isupper() == other[0].isupper() and one.isalpha() == other.isalpha()


def _word_added(pair: Pair, side: int, context: Context) -> str | None:
    """A word of another pair before a word of a side, but the first."""
    text, spans = pair[side], word_spans(pair[side])[1:]
    if not spans:
        return None
    start, stop = context.chooser.choice(spans)
    word = _another_word(side, context, text[start:stop], text)
    return None if word is None else _insert(text, start, word)


def _other_word(pair: Pair, side: int, context: Context) -> str | None:
    """A word of another pair in place of one."""
    text, spans = pair[side], word_spans(pair[side])
    if not spans:
        return None
    span = context.chooser.choice(spans[1:] or spans)
    word = _another_word(side, context, text[slice(*span)], text)
    return None if word is None else _put(text, span, word)


def _from_table(
    pair: Pair, side: int, context: Context, others: Callable[[str], Sequence[str]]
) -> str | None:
    """Replace a word of a side by another one of a table of lower-case words."""
    text = pair[side]
    found = [(span, others(text[slice(*span)].lower())) for span in word_spans(text)]
    found = [(span, some) for span, some in found if some]
    if not found:
        return None
    span, some = context.chooser.choice(found)
    return _put(text, span, context.chooser.choice(some))


def _other_form(pair: Pair, side: int, context: Context) -> str | None:
    """Another form of a word: a word of other pairs that begins like it."""
    return _from_table(pair, side, context, context.vocabulary(side).forms)


def _related_word(pair: Pair, side: int, context: Context) -> str | None:
    """A related word of --related in place of one: an opposite, a wider term."""
    table = context.related.get(context.languages[side], {})
    return _from_table(pair, side, context, lambda word: table.get(word, ()))


def _function_word(pair: Pair, side: int, context: Context) -> str | None:
    """One of the most frequent words left out, added, or put in place of another."""
    text, frequent = pair[side], context.vocabulary(side).frequent
    spans = word_spans(text)
    places = [span for span in spans if text[slice(*span)].lower() in frequent]
    if not places or len(spans) < _FEWEST:
        return None
    span = context.chooser.choice(places)
    own = text[slice(*span)].lower()
    others = [word for word in frequent if word != own]
    case = context.chooser.randrange(4)
    if case == 0 or not others:
        return _cut(text, *span)
    other = context.chooser.choice(others)
    if case == 1:
        return _insert(text, context.chooser.choice(spans)[0], other)
    return _put(text, span, other)


NEGATIONS = {
    "cs": "ne", "da": "ikke", "de": "nicht", "en": "not", "es": "no", "fr": "pas", "it": "non",
    "nb": "ikke", "nl": "niet", "no": "ikke", "pl": "nie", "pt": "não", "ru": "не", "sv": "inte",
    "uk": "не", "bg": "не", "ro": "nu", "fi": "ei", "et": "ei", "hu": "nem", "lt": "ne",
    "lv": "ne", "el": "δεν", "is": "ekki", "tr": "değil", "id": "tidak", "hi": "नहीं",
}  # fmt: skip
"""A negation of each language."""


def _negation_added(pair: Pair, side: int, context: Context) -> str | None:
    """A negation before or after one of the most frequent words, by --languages."""
    word = NEGATIONS.get(context.languages[side])
    text, frequent = pair[side], context.vocabulary(side).frequent
    places = [span for span in word_spans(text)[1:] if text[slice(*span)].lower() in frequent]
    if word is None or not places:
        return None
    start, stop = context.chooser.choice(places)
    if context.chooser.random() < 0.5:
        return _insert(text, start, word)
    return f"{text[:stop]} {word}{text[stop:]}"


def _swapped_words(pair: Pair, side: int, context: Context) -> str | None:
    """A word of a side up to four places farther on."""
    text, spans = pair[side], word_spans(pair[side])
    if len(spans) < _FEWEST:
        return None
    first = context.chooser.randrange(len(spans) - 1)
    last = min(len(spans) - 1, first + context.chooser.choice((1, 1, 2, 3, 4)))
    order = [*range(first + 1, last + 1), first]
    parts = [text[slice(*spans[place])] for place in order]
    for place, part in zip(range(last, first - 1, -1), reversed(parts), strict=True):
        start, stop = spans[place]
        text = text[:start] + part + text[stop:]
    return text


def _repeated_word(pair: Pair, side: int, context: Context) -> str | None:
    """A word of a side, or two in a row, two to four times."""
    text, spans = pair[side], word_spans(pair[side])
    if not spans:
        return None
    first = context.chooser.randrange(len(spans))
    last = min(len(spans) - 1, first + context.chooser.choice((0, 0, 0, 1)))
    part = text[spans[first][0] : spans[last][1]]
    again = (" " + part) * context.chooser.choice((1, 1, 2, 3))
    return text[: spans[last][1]] + again + text[spans[last][1] :]


def _misspelt(pair: Pair, side: int, context: Context) -> str | None:
    """A word with two letters swapped, or with one lost, doubled or replaced."""
    text = pair[side]
    words = [span for span in word_spans(text) if text[slice(*span)].isalpha()]
    words = [span for span in words if span[1] - span[0] >= _LETTERS]
    if not words:
        return None
    start, stop = context.chooser.choice(words)
    word, place = text[start:stop], context.chooser.randrange(stop - start - 1)
    before, one, other, after = word[:place], word[place], word[place + 1], word[place + 2 :]
    letter = context.chooser.choice(word).lower()
    ways = (other + one, one, other, one + one + other, one + letter)
    return text[:start] + before + context.chooser.choice(ways) + after + text[stop:]


def _letter_case(pair: Pair, side: int, context: Context) -> str:
    """A side in lower case or capitals, or a letter in the other case."""
    text, case = pair[side], context.chooser.randrange(6)
    if case < 2:
        return text.lower()
    if case == 2:
        return text[:1].lower() + text[1:]
    if case == 3:
        return context.chooser.choice((text.upper(), text.title()))
    spans = word_spans(text)
    if not spans:
        return text
    start, _ = context.chooser.choice(spans)
    return text[:start] + text[start].swapcase() + text[start + 1 :]


def _punctuation(pair: Pair, side: int, context: Context) -> str | None:
    """A mark lost, added after a word, or put in place of another."""
    text, chooser = pair[side], context.chooser
    marks = [place for place, letter in enumerate(text) if letter in _MARKS]
    end = len(text.rstrip("\"'»“”’)] ")) - 1
    last = [place for place in marks if place == end]
    case = chooser.randrange(4)
    if case == 0 and last:
        return text[: last[0]] + text[last[0] + 1 :]
    if case == 1 and last:
        return text[: last[0]] + chooser.choice("?!,:;.") + text[last[0] + 1 :]
    if case == 2 and marks:
        place = chooser.choice(marks)
        return text[:place] + chooser.choice(["", ",", ";", ":", "."]) + text[place + 1 :]
    spans = word_spans(text)
    if not spans:
        return None
    place = chooser.choice(spans)[1]
    return text[:place] + chooser.choice(",,.:;!?-") + text[place:]


def _spacing(pair: Pair, side: int, context: Context) -> str:
    """A space before each mark, as tokenisers write it; or a space lost or added."""
    text, case = pair[side], context.chooser.randrange(4)
    if case < 2:
        return marks_apart(text)
    if case == 2:
        places = [match.start() for match in re.finditer(r"(?<=\S)[.,;:!?)\"]", text)]
        if places:
            place = context.chooser.choice(places)
            return text[:place] + " " + text[place:]
    places = [match.start() for match in re.finditer(" ", text)]
    if not places:
        return text
    place = context.chooser.choice(places)
    return text[:place] + text[place + 1 :]


def _opposite(pair: Pair, side: int, start: float, stop: float) -> str:
    """Return the words of the other side at the same part of the sentence, from 0 to 1."""
    other = pair[1 - side]
    spans = word_spans(other)
    if not spans:
        return ""
    first = min(len(spans) - 1, int(start * len(spans)))
    last = min(len(spans) - 1, max(first, round(stop * len(spans)) - 1))
    return other[spans[first][0] : spans[last][1]]


def _code_mixed(pair: Pair, side: int, context: Context) -> str | None:
    """A word of the other side in place of one."""
    text, spans = pair[side], word_spans(pair[side])
    if not spans:
        return None
    place = context.chooser.randrange(len(spans))
    word = _opposite(pair, side, place / len(spans), (place + 1) / len(spans))
    return _put(text, spans[place], word) if word and word.lower() not in text.lower() else None


def _untranslated(pair: Pair, side: int, context: Context) -> str | None:
    """A fifth to three fifths of a side as the other side has them."""
    text, spans = pair[side], word_spans(pair[side])
    if len(spans) < _FEWEST:
        return None
    share = context.chooser.uniform(0.2, 0.6)
    start = context.chooser.choice((0.0, 1 - share, context.chooser.uniform(0, 1 - share)))
    first = int(start * len(spans))
    last = min(len(spans) - 1, max(first, round((start + share) * len(spans)) - 1))
    words = _opposite(pair, side, start, start + share)
    return text[: spans[first][0]] + words + text[spans[last][1] :]


def _remark(pair: Pair, side: int, context: Context) -> str:
    """A remark of a language model beside a side, or its refusal."""
    return remark(context.chooser, context.languages[side], pair[side])


def _word_by_word(pair: Pair, side: int, context: Context) -> str | None:
    """The words of the other side in its order, each by --lexicon."""
    text = pair[1 - side]
    table = context.lexicon.get((context.languages[1 - side], context.languages[side]), {})
    spans = word_spans(text)
    found = [table.get(text[slice(*span)].lower(), ()) for span in spans]
    if sum(map(bool, found)) * 2 < len(spans) or not spans:
        return None
    for span, some in zip(reversed(spans), reversed(found), strict=True):
        if some:
            text = _put(text, span, context.chooser.choice(some))
    return text


@dataclass(frozen=True)
class Mistake:
    """A kind of mistake."""

    make: Maker
    """Returns the damaged pair, or None if the kind does not apply."""
    worth: float
    """Part of the translation's worth that is left, from 0 to 1."""


MISTAKES = {
    kind: Mistake(on_one_side(change), worth)
    for kind, change, worth in (
        ("word-left-out", _word_left_out, 0.3),
        ("words-left-out", _words_left_out, 0.1),
        ("clause-left-out", _clause_left_out, 0.05),
        ("word-added", _word_added, 0.3),
        ("clause-added", _clause_added, 0.05),
        ("other-word", _other_word, 0.1),
        ("related-word", _related_word, 0.3),
        ("other-form", _other_form, 0.5),
        ("function-word", _function_word, 0.5),
        ("negation-added", _negation_added, 0.02),
        ("swapped-words", _swapped_words, 0.5),
        ("repeated-word", _repeated_word, 0.5),
        ("misspelt", _misspelt, 0.7),
        ("letter-case", _letter_case, 0.8),
        ("punctuation", _punctuation, 0.8),
        ("spacing", _spacing, 0.8),
        ("code-mixed", _code_mixed, 0.2),
        ("untranslated", _untranslated, 0.05),
        ("remark", _remark, 0.1),
        ("word-by-word", _word_by_word, 0.2),
    )
}
"""Kinds of mistakes by name."""
