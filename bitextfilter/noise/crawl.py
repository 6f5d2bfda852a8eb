"""The kinds of noise of crawled corpora, each with its maker."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from bitextfilter.noise.boilerplate import boilerplate_line
from bitextfilter.noise.material import Context, Maker, Pair, on_one_side, with_side
from bitextfilter.text.negations import without_a_negation
from bitextfilter.text.units import joined_units, word_units

_TRUNCATED = (0.35, 0.6)
"""Least and greatest share of its words that a truncated side keeps."""
_WHOLE_NUMBER = re.compile(r"(?<![\w.,:/-])[0-9]+(?!\w|[.,:/-][0-9])")
_WORD = re.compile(r"\w+")
_SHORTEST_NAME = 3


def _shuffled(pair: Pair, context: Context) -> Pair | None:
    """The target of another pair."""
    return _with_target_of(pair, context.window.others(context.chooser))


def _neighbouring(pair: Pair, context: Context) -> Pair | None:
    """The target of the pair one or two lines away."""
    near = context.window.neighbours()
    return _with_target_of(pair, iter(context.chooser.sample(near, len(near))))


def _with_target_of(pair: Pair, others: Iterator[Pair]) -> Pair | None:
    """Return the source with the first target of a pair that differs in both texts."""
    source, target = (text.casefold() for text in pair)
    for other in others:
        if other[0].casefold() != source and other[1].casefold() != target:
            return pair[0], other[1]
    return None


def _misordered(pair: Pair, side: int, context: Context) -> str | None:
    """The words of a side in any order."""
    words = word_units(pair[side])
    if len(set(words)) == 1:
        return None
    mixed = list(words)
    while mixed == words:
        context.chooser.shuffle(mixed)
    return joined_units(mixed)


def _wrong_language(pair: Pair, side: int, context: Context) -> str:  # noqa: ARG001
    """A sentence of --foreign in place of a side."""
    return context.chooser.choice(context.foreign)


def _copied(pair: Pair, context: Context) -> Pair:
    """A side on both sides."""
    text = pair[context.chooser.randrange(2)]
    return text, text


def _truncated(pair: Pair, side: int, context: Context) -> str | None:
    """The first 35 to 60 % of the words of a side."""
    words = word_units(pair[side])
    least, most = math.ceil(_TRUNCATED[0] * len(words)), math.floor(_TRUNCATED[1] * len(words))
    return joined_units(words[: context.chooser.randint(least, most)]) if least <= most else None


def _extra(pair: Pair, side: int, context: Context) -> str | None:
    """The sentence of another pair after a side."""
    other = next(context.window.others(context.chooser), None)
    return None if other is None else f"{pair[side]} {other[side]}"


def _number(pair: Pair, side: int, context: Context) -> str | None:
    """Another whole number in place of one, on one side."""
    found = list(_WHOLE_NUMBER.finditer(pair[side]))
    if not found:
        return None
    place = context.chooser.choice(found)
    new = old = place[0]
    while new == old:
        digits = [context.chooser.choice("123456789"), *context.chooser.choices("0123456789", k=99)]
        new = "".join(digits)[: len(old)].ljust(len(old), "0")
    return pair[side][: place.start()] + new + pair[side][place.end() :]


def _names(pair: Pair) -> list[str]:
    """Return the capitalised words of three letters or more on both sides, in source order."""
    source, target = (
        dict.fromkeys(w for w in _WORD.findall(text) if w[0].isupper() and w.isalpha())
        for text in pair
    )
    return [word for word in source if word in target and len(word) >= _SHORTEST_NAME]


def _name(pair: Pair, side: int, context: Context) -> str | None:
    """Another name on one side, in place of one that both sides have."""
    names = _names(pair)
    if not names:
        return None
    old = context.chooser.choice(names)
    known = {*_WORD.findall(pair[0]), *_WORD.findall(pair[1])}
    others = map(_names, context.window.others(context.chooser))
    found = ([name for name in other if name not in known] for other in others)
    new = context.chooser.choice(next(filter(None, found), [old]))
    return _WORD.sub(lambda word: new if word[0] == old else word[0], pair[side])


def _negation(pair: Pair, side: int, context: Context) -> str | None:
    """A side without one of its negations, by --languages."""
    return without_a_negation(pair[side], context.languages[side], context.chooser)


def _boilerplate(pair: Pair, context: Context) -> Pair:
    """Boilerplate of web pages, on one side or both, by --languages."""
    lines = [boilerplate_line(context.chooser, language) for language in context.languages]
    case = context.chooser.randrange(4)
    if case < len(lines):
        return with_side(pair, case, lines[case])
    if case == len(lines):
        return lines[0], lines[1]
    return (context.chooser.choice(lines),) * 2


def _short(pair: Pair, context: Context) -> Pair:
    """One to five words in a row of each side."""

    def piece(text: str) -> str:
        words = word_units(text)
        length = context.chooser.randint(1, max(1, min(5, len(words) - 1)))
        start = context.chooser.randint(0, len(words) - length)
        return joined_units(words[start : start + length])

    return piece(pair[0]), piece(pair[1])


def _mojibake(pair: Pair, side: int, context: Context) -> str:
    """A side with its UTF-8 read as Windows-1252."""
    text = pair[side]
    for _ in range(context.chooser.choice((1, 1, 1, 2))):
        data = text.encode()
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError:  # Windows-1252 leaves five bytes open
            text = data.decode("latin-1")
    return text


def _repeated(pair: Pair, side: int, context: Context) -> str:
    """One to four words of a side three to eight times."""
    words = word_units(pair[side])
    length = context.chooser.randint(1, min(4, len(words)))
    start = context.chooser.randint(0, len(words) - length)
    run = words[start : start + length] * context.chooser.randint(3, 8)
    return joined_units([*words[:start], *run, *words[start + length :]])


def _half(pair: Pair, context: Context) -> Pair:  # noqa: ARG001
    """The second half of the source in place of the target's."""
    source, target = map(word_units, pair)
    return pair[0], joined_units(target[: len(target) // 2] + source[len(source) // 2 :])


CRAWL_NOISE: dict[str, Maker] = {
    "shuffled": _shuffled,
    "neighbouring": _neighbouring,
    "misordered": on_one_side(_misordered),
    "wrong-language": on_one_side(_wrong_language),
    "copied": _copied,
    "truncated": on_one_side(_truncated),
    "extra": on_one_side(_extra),
    "number": on_one_side(_number),
    "name": on_one_side(_name),
    "negation": on_one_side(_negation),
    "boilerplate": _boilerplate,
    "short": _short,
    "mojibake": on_one_side(_mojibake),
    "repeated": on_one_side(_repeated),
    "half": _half,
}
"""Makers of noise by kind; each returns the damaged pair, or None if it does not apply."""
