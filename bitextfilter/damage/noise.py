"""Damage of clean pairs as crawled corpora are damaged: the kinds of noise, and the rates of each.

Mistakes in translations are kinds beside those of crawls.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bitextfilter.damage.material import (
    Context,
    Maker,
    Pair,
    PairWindow,
    WordTable,
    boilerplate_line,
    on_one_side,
    with_side,
)
from bitextfilter.damage.mistakes import MISTAKES, NEGATIONS
from bitextfilter.errors import SettingsError
from bitextfilter.settings import none_of
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


CLEAN = "clean"
"""Label of a pair without noise."""
_LONGEST = 10_000
"""Characters of a side that can be damaged: some kinds take a time that grows with their square."""

NOISE_KINDS = {**CRAWL_NOISE, **{kind: mistake.make for kind, mistake in MISTAKES.items()}}
"""Makers of noise by kind: of crawls, then mistakes in translations."""


@dataclass(frozen=True)
class NoiseSettings:
    """Material of the noise, and limits of the pairs to damage."""

    languages: tuple[str, str] = ("", "")
    """Codes of the source's and the target's language: for ``negation`` and ``boilerplate``."""
    foreign: Sequence[str] = ()
    """Sentences in neither language: for ``wrong-language``."""
    words: tuple[int, int] = (6, 60)
    """Fewest and most words on either side of a damaged pair."""
    window: int = 10_000
    """Pairs before and after a pair that ``shuffled``, ``extra`` and ``name`` draw from. Twice as
    many are held in memory."""
    related: Mapping[str, WordTable] = field(default_factory=dict)
    """Related words of a language's words, in lower case: for ``related-word``."""
    lexicon: Mapping[tuple[str, str], WordTable] = field(default_factory=dict)
    """Translations of one language's words in another: for ``word-by-word``."""

    def __post_init__(self) -> None:
        """Raise SettingsError for numbers out of range."""
        if not 1 <= self.words[0] <= self.words[1]:
            raise SettingsError(f"words from {self.words[0]} to {self.words[1]}: not a range")
        if self.window < 1:
            raise SettingsError(f"a window of {self.window}: must be at least 1")

    def fits(self, text: str) -> bool:
        """Return whether *text* has a number of words in the range, and is not too long."""
        return len(text) <= _LONGEST and self.words[0] <= len(word_units(text)) <= self.words[1]

    def lacks(self, kind: str) -> str | None:
        """Return the missing material for a *kind* of noise, or None."""
        if kind == "wrong-language" and not self._foreign():
            return f"foreign sentences (--foreign) of {self.words[0]} to {self.words[1]} words"
        if kind == "negation" and not set(self.languages) & set(REMOVABLE_NEGATIONS):
            return f"a language (--languages) of {', '.join(REMOVABLE_NEGATIONS)}"
        if kind == "negation-added" and not set(self.languages) & set(NEGATIONS):
            return f"a language (--languages) of {', '.join(NEGATIONS)}"
        if kind == "related-word" and not set(self.languages) & set(self.related):
            return "related words (--related) of one of the --languages"
        if kind == "word-by-word" and not {self.languages, self.languages[::-1]} & {*self.lexicon}:
            return "a dictionary (--lexicon) of the --languages"
        return None

    def _foreign(self) -> list[str]:
        return [" ".join(text.split()) for text in self.foreign if self.fits(text)]

    def context(self, pairs: Iterable[Pair], seed: int) -> Context:
        """Return the material for the noise of *pairs*."""
        window = PairWindow(pairs, self.window, self.fits)
        chooser = random.Random(seed)
        foreign = self._foreign()
        return Context(window, chooser, foreign, self.languages, self.related, self.lexicon)


_DEFAULTS = NoiseSettings()


def noise_settings(
    languages: tuple[str, str] | None,
    foreign: Iterable[str],
    words: tuple[int, int],
    window: int,
    seed: int,
) -> NoiseSettings:
    """Return settings with a sample of the *foreign* sentences, as many as *window* at most."""
    from bitextfilter.text.segment import sample

    settings = NoiseSettings(languages or ("", ""), (), words, window)
    return replace(settings, foreign=sample(filter(settings.fits, foreign), window, seed))


_FINE = ("number", "name", "negation")
_FINE_QUALITY = 0.01


def quality_of(label: str) -> float:
    """Return what a label leaves of a translation's worth, from 0 (none) to 1 (``clean``)."""
    if label in MISTAKES:
        return MISTAKES[label].worth
    return 1.0 if label == CLEAN else _FINE_QUALITY * (label in _FINE)


GROUPS: dict[str, Collection[str]] = {"all": CRAWL_NOISE, "mistakes": MISTAKES}
"""Groups of kinds that get a rate together."""


def even_rates(
    rate: float,
    settings: NoiseSettings = _DEFAULTS,
    without: Collection[str] = (),
    group: str = "all",
) -> dict[str, float]:
    """Divide *rate* evenly among the kinds of a group that *settings* have the material for.

    Kinds in *without* are left out.
    """
    every = GROUPS[group]
    kinds = [kind for kind in every if kind not in without and settings.lacks(kind) is None]
    return {kind: rate / len(kinds) for kind in kinds}


def noisy_pairs(
    pairs: Iterable[Pair],
    rates: Mapping[str, float],
    seed: int,
    settings: NoiseSettings = _DEFAULTS,
) -> Iterator[tuple[str, str, str]]:
    """Yield source, target and label of each pair, some damaged by one kind of noise.

    Args:
        pairs: translations, in the order of their documents; read as needed.
        rates: share of the pairs for each kind in ``NOISE_KINDS``, 0 to 1, at most 1 in all.
            Other pairs stay as they are, labelled ``clean``.
        seed: the same pairs, rates, seed and settings give the same noise.
        settings: material and limits.

    A pair is damaged with the probability that the rates add up to, by a kind drawn by its rate
    among those that apply (``number`` needs a number). So a kind that applies to few pairs is
    rarer than asked, and the others are more frequent. Pairs with too few or too many words, with
    a side of more than 10,000 characters, or to which no kind applies, stay clean. A damaged pair
    differs from the clean one and has no blank side. Cut or reordered sides have single spaces.

    Raises SettingsError for an unknown kind, rates out of range, and missing material.
    """
    for kind, rate in rates.items():
        _check(kind, rate, settings)
    total = sum(rates.values())
    if total > 1 + 1e-9:
        raise SettingsError(f"the rates of noise add up to {total:g}: at most 1")
    wanted = {kind: rate for kind, rate in rates.items() if rate > 0}
    context = settings.context(pairs, seed)
    return (_perhaps_damaged(pair, wanted, context) for pair in context.window)


def _check(kind: str, rate: float, settings: NoiseSettings) -> None:
    if kind not in NOISE_KINDS:
        raise SettingsError(f"noise {none_of(kind, NOISE_KINDS)}")
    if not 0 <= rate <= 1:
        raise SettingsError(f"a rate of {rate:g} for {kind!r}: must be 0 to 1")
    if rate and (lack := settings.lacks(kind)) is not None:
        raise SettingsError(f"noise {kind!r} needs {lack}")


def _perhaps_damaged(
    pair: Pair, rates: Mapping[str, float], context: Context
) -> tuple[str, str, str]:
    """Return *pair* with its label, perhaps damaged by a kind drawn among those that apply."""
    drawn = context.chooser.random() < sum(rates.values())
    left = dict(rates) if drawn and context.window.fits() else {}
    while left:
        (kind,) = context.chooser.choices(list(left), list(left.values()))
        made = NOISE_KINDS[kind](pair, context)
        if made is not None and made != pair and made[0].strip() and made[1].strip():
            return (*made, kind)
        del left[kind]
    return (*pair, CLEAN)


_Rule = tuple["re.Pattern[str]", str]
"""The pattern of a negation, and its replacement."""


def _rule(pattern: str, instead: str = "") -> _Rule:
    return re.compile(rf"(?<![\w'’-]){pattern}(?![\w-])", re.IGNORECASE), instead


def _words(*words: str) -> _Rule:
    """Return the rule that removes *words* with the space before them."""
    return re.compile(rf"\s*(?<![\w'’-])(?:{'|'.join(words)})(?![\w-])", re.IGNORECASE), ""


_NOT_AN_ANSWER = r"(?!\s*[,.;:!?])"
"""Excludes the answer *no* in languages that have one word for *no* and *not*."""

_FRENCH: _Rule = (
    re.compile(
        r"(?<![\w-])n(?:e\s+|['’])((?:\S+\s+){0,4}?)(?:pas|jamais|plus|guère)(?![\w-])\s*",
        re.IGNORECASE,
    ),
    r"\1",
)

_CZECH_VERBS = (
    "jsem|jsi|jsme|jste|jsou|byl[aoiy]?|budu|budeš|bude|budeme|budete|budou|mám|máš|má|máme|máte|"
    "mají|měl[aoiy]?|mohu|můžu|můžeš|může|můžeme|můžete|mohou|můžou|mohl[aoiy]?|lze|chci|chceš|"
    "chce|chceme|chcete|chtějí|chtěl[aoiy]?|vím|víš|ví|víme|víte|vědí|věděl[aoiy]?|smím|smíš|smí|"
    "smíme|smíte|smějí|musím|musíš|musí|musíme|musíte|musejí|musel[aoiy]?"
)

REMOVABLE_NEGATIONS: dict[str, tuple[_Rule, ...]] = {
    "cs": (_rule(f"ne({_CZECH_VERBS})", r"\1"), _rule("není", "je")),
    "da": (_words("ikke", "aldrig"),),
    "de": (_words("nicht", "nie", "niemals", "kein(?:e[mnrs]?)?"),),
    "en": (
        _words("not", "never", r"no(?=\s+[a-z])"),
        _rule("(can)(?:not|['’]t)", r"\1"),
        _rule("(w)on['’]t", r"\1ill"),
        _rule("(sha)n['’]t", r"\1ll"),
        _rule(r"((?!can|won|shan|ain)\w+)n['’]t", r"\1"),
    ),
    "es": (_words(f"no{_NOT_AN_ANSWER}", "nunca", "jamás", "tampoco"),),
    "fr": (_FRENCH,),
    "it": (_words("non"),),
    "nb": (_words("ikke", "aldri"),),
    "nl": (_words("niet", "nooit", "geen"),),
    "pl": (_words(f"nie{_NOT_AN_ANSWER}"),),
    "pt": (_words(f"não{_NOT_AN_ANSWER}", "nunca", "jamais"),),
    "ru": (_words("не"),),
    "sv": (_words("inte", "aldrig", "ej"),),
    "uk": (_words("не"),),
}
"""Rules by language code: words (French: both parts), Czech prefixes."""


def without_a_negation(text: str, language: str, chooser: random.Random) -> str | None:
    """Return *text* without one of its negations, drawn by *chooser*; None if there is none.

    A sentence that began with a capital letter still does.
    """
    rules = REMOVABLE_NEGATIONS.get(language, ())
    found = [(match, instead) for rule, instead in rules for match in rule.finditer(text)]
    if not found:
        return None
    match, instead = chooser.choice(found)
    before, after = text[: match.start()], text[match.end() :]
    middle = match.expand(instead)
    if not after or after[0] in ".,;:!?":
        middle = middle.rstrip()  # the space that stood before the negation
    if before.strip():
        return before + middle + after
    rest = (middle + after).lstrip()
    return rest[:1].upper() + rest[1:] if match[0].strip()[:1].isupper() else rest
