"""Rules of language and script: shares of letters and digits, and language identification."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, filterfalse

import numpy as np
import regex

from bitextfilter.arrays import Floats, Integers, Mask
from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import BatchSide, Pairs
from bitextfilter.filters.rule import Bounded, Cost, LanguagePair, SideBounded
from bitextfilter.filters.web import without_addresses
from bitextfilter.languages import any_language
from bitextfilter.text import characters
from bitextfilter.text.identifier import labels_of, untaught_scripts
from bitextfilter.text.language import IDENTIFIERS, agreed_language, load_identifier
from bitextfilter.text.typography import Deviation, deviations


def _share(part: Integers, whole: Integers, of_nothing: float) -> Floats:
    """Return ``part / whole``, and *of_nothing* where the whole is 0."""
    return np.where(whole > 0, part / np.maximum(whole, 1), of_nothing)


@dataclass(frozen=True)
class AlphabetRatio(SideBounded):
    """Each side has a large enough share of alphabetic characters; a blank side has 1.

    ``exclude_whitespace`` leaves white space out of the count.
    """

    name = "alphabet-ratio"
    unit = "0 to 1: alphabetic share of the characters of each side"
    origin = "OpusFilter AlphabetRatioFilter (default 0.75)"

    minimum: float | None = 0.5
    exclude_whitespace: bool = False

    def side_values(self, side: BatchSide) -> Floats:
        spaces = side.counted(characters.is_space()) if self.exclude_whitespace else 0
        letters = side.counted(characters.is_alphabetic())
        return _share(letters, side.lengths - spaces, of_nothing=1)


@dataclass(frozen=True)
class Script(Bounded):
    """Each side has a large enough share of letters of its language's scripts.

    The scripts are the likely ones of the Unicode CLDR, or that of a tag (``sr-Latn``). Letters of
    addresses do not count, nor may Latin words that have a capital, as names do. A Chinese
    character counts as three letters, a kana or Korean syllable as two. Of simplified or
    traditional Chinese (``zh-Hans``, ``zh-TW``), the share among the characters that only one of
    them has counts, too, if a side has two of the other.
    ``source`` and ``target`` name Unicode scripts instead (``source=Latin,target=Han,Latin``);
    then letters of no script, as the long mark of Japanese, count as foreign. A side without
    letters has 1.
    """

    name = "script"
    sides_apart = True
    unit = "0 to 1: share of the letters of each side"
    origin = "OpusFilter CharacterScoreFilter (default 1)"

    minimum: float | None = 0.4
    source: str | None = None
    target: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for scripts in (self.source, self.target):
            if scripts is not None:
                characters.in_script(*scripts.split(","))

    def prepare(self, languages: LanguagePair) -> None:
        """Raise SettingsError for a side with neither a language nor a script."""
        if languages is None and None in (self.source, self.target):
            raise SettingsError(
                f"{self.name}: needs to know the languages (--languages en,de) or the scripts "
                "(source=Latin,target=Cyrillic)"
            )

    def unable(self, languages: LanguagePair) -> dict[int, str]:
        """Return the sides with neither a named script nor a known one."""
        named = (self.source, self.target)
        return {
            place: f"the script of {language} is unknown"
            for place, language in enumerate(languages or ())
            if named[place] is None and not any_language(language).scripts
        }

    def values(self, pairs: Pairs) -> Floats:
        shares = np.ones((len(pairs), len(pairs.sides)))
        for place, side in enumerate(pairs.sides):
            if (named := (self.source, self.target)[place]) is not None:
                shares[:, place] = _share_in(side, *named.split(","))
            elif side.language is not None and side.language.scripts:
                share = self._share(side, side.language.scripts)
                shares[:, place] = np.minimum(share, _variant_share(side, side.language.variant))
        return shares

    def _share(self, side: BatchSide, scripts: Sequence[str]) -> Floats:
        """Return the shares of letters in *scripts*; of those that fail, without foreign names.

        Names do not count if nearly all other letters are in the scripts.
        """
        own, letters = _weighed(side, scripts)
        shares = _share(own, letters, of_nothing=1)
        failed = np.flatnonzero(shares < self.bounds[0])
        if len(failed):
            plain = [without_addresses(side.sentences[at]) for at in failed.tolist()]
            found = _plain_share(plain, scripts)
            if "Latn" not in scripts:
                rests = _plain_share([_NAME.sub(" ", text) for text in plain], scripts)
                named = (rests >= _NEARLY_ALL) & (own[failed] >= _FEWEST_OWN)
                found = np.where(named, rests, found)
            shares[failed] = np.maximum(shares[failed], found)
        return shares


@functools.cache
def _letters_in(*scripts: str) -> Mask:
    """Return the table of the alphabetic characters of Unicode scripts."""
    return characters.is_alphabetic() & characters.in_script(*scripts)


def _plain_share(texts: Sequence[str], scripts: Sequence[str]) -> Floats:
    return _share(*_weighed(BatchSide(texts), scripts), of_nothing=1)


def _share_in(side: BatchSide, *scripts: str) -> Floats:
    """Return the share of the letters of each sentence that are in *scripts*, ``(n,)``."""
    letters = side.counted(characters.is_alphabetic())
    return _share(side.counted(_letters_in(*scripts)), letters, of_nothing=1)


_WORTH = {"Hani": 3, "Hang": 2, "Hira": 2, "Kana": 2, "Yiii": 2}
"""Scripts → letters of an alphabet that a character is worth: see ``BatchSide.letter_lengths``."""


_NAME = regex.compile(r"\p{Latin}*\p{Lu}\p{Latin}*")
_FEWEST_OWN = 4
"""Letters of a Korean word of two syllables, or of a Chinese one of two characters."""
_NEARLY_ALL = 0.8


def _weighed(side: BatchSide, scripts: Sequence[str]) -> tuple[Integers, Integers]:
    """Return the letters in the *scripts* of a language, and all letters: ``(n,)`` each.

    A character of a dense script counts as several: a Latin name may be longer than the rest.
    """
    own = side.counted(_letters_in(*scripts, "Common", "Inherited"))
    letters = side.counted(characters.is_alphabetic())
    for script in set(scripts) & set(_WORTH):
        more = (_WORTH[script] - 1) * side.counted(_letters_in(script))
        own, letters = own + more, letters + more
    return own, letters


_FEWEST_OTHERS = 2
"""Characters of the other variant: a name or an old form may have one."""


def _variant_share(side: BatchSide, variant: str | None) -> Floats:
    """Return the share of characters of a variant of Chinese among those of one alone, ``(n,)``."""
    if variant is None:
        return np.ones(len(side))
    other = "Hant" if variant == "Hans" else "Hans"
    own, others = (side.counted(characters.only_in(each)) for each in (variant, other))
    return np.where(others < _FEWEST_OTHERS, 1.0, _share(own, own + others, of_nothing=1))


@dataclass(frozen=True)
class Typography(SideBounded):
    """Each side is written as its language is: marks, spaces beside them, quotation marks.

    Deviations are half-width marks between Chinese or Japanese letters and full-width ones between
    others, spaces beside full-width marks, and pairs of double quotation marks of other languages.
    ``"`` and ``'`` are always right. ``marks=no``, ``spaces=no`` and ``quotes=no`` leave a kind
    out. The repair of this name in ``bitext-fix`` puts all of them right.
    """

    name = "typography"
    unit = "deviations of each side, 0 and up"
    origin = "ours; quotation marks of the Unicode CLDR"
    cost = Cost.PAIRS
    needs_languages = True

    maximum: float | None = 0
    marks: bool = True
    spaces: bool = True
    quotes: bool = True

    def unable(self, languages: LanguagePair) -> dict[int, str]:
        """Return the sides in a language of which no script is known."""
        return {
            place: f"the typography of {language} is unknown"
            for place, language in enumerate(languages or ())
            if not any_language(language).scripts
        }

    def side_values(self, side: BatchSide) -> Integers:
        return np.array([len(self._found(side, at)) for at in range(len(side))], dtype=np.int64)

    def of_side(self, side: BatchSide, index: int, value: float) -> str:
        """Write the number, and the first deviation of each kind with a character on each side."""
        text, said = side.sentences[index], dict[str, str]()
        for start, end, _, kind in self._found(side, index):
            said.setdefault(kind, f"{kind} {text[max(0, start - 1) : end + 1]!r}")
        return ", ".join([self.against(value), *said.values()])

    def _found(self, side: BatchSide, index: int) -> list[Deviation]:
        """Return the deviations of the kinds asked for."""
        if side.language is None:
            return []
        found = deviations(side.sentences[index], side.language)
        return [one for one in found if getattr(self, one.kind)]


@dataclass(frozen=True)
class Letters(SideBounded):
    """Each side has a large enough share of letters of its language's alphabet.

    For a language whose alphabet is unknown here, all letters of its scripts count. A side
    without letters has 1.
    """

    name = "letters"
    unit = "0 to 1: share of the letters of each side"
    origin = "Rossenbach et al. 2018 (letters in the languages' alphabets)"
    needs_languages = True

    minimum: float | None = 0.75

    def side_values(self, side: BatchSide) -> Floats:
        if side.language is None:
            return np.ones(len(side))
        own = side.alphabetic & characters.alphabet(side.language.tag)[side.codes]
        return _share(side.count(own), side.count(side.alphabetic), of_nothing=1)


@dataclass(frozen=True)
class OnlySymbols(SideBounded):
    """Each side has a small enough share of symbols; a blank side has 0.

    Symbols are all characters but letters, marks, numbers and white space.
    """

    name = "only-symbols"
    unit = "0 to 1: share of the characters of each side, white space aside"
    origin = "Bicleaner no_only_symbols (there: at most a tenth letters)"

    maximum: float | None = 0.75

    def side_values(self, side: BatchSide) -> Floats:
        whole = side.lengths - side.counted(characters.is_space())
        return _share(whole - side.counted(_written()), whole, of_nothing=0)


@functools.cache
def _written() -> Mask:
    return characters.is_alphabetic() | characters.in_category("L", "M", "N")


@dataclass(frozen=True)
class OnlyNumbers(SideBounded):
    """Each side has a small enough share of digits among its letters and digits.

    A side without either has 0.
    """

    name = "only-numbers"
    unit = "0 to 1: share of digits among the letters and digits of each side"
    origin = "Bicleaner no_only_numbers (there: half of the characters; 0.7 in zh, ja, ko)"

    maximum: float | None = 0.7

    def side_values(self, side: BatchSide) -> Floats:
        digits = side.counted(characters.in_category("Nd"))
        return _share(digits, digits + side.counted(characters.is_alphabetic()), of_nothing=0)


@dataclass(frozen=True)
class ScriptInconsistencies(SideBounded):
    """No word mixes Latin, Cyrillic and Greek letters, which look alike.

    Here a word is a run of letters, and one Greek letter may stand among Latin ones (μm, ΔE). The
    rule ``script`` finds whole words of another script.
    """

    name = "script-inconsistencies"
    unit = "words of mixed scripts of each side, 0 and up"
    origin = "Bicleaner no_script_inconsistencies (there: letters of two scripts in a sentence)"

    maximum: float | None = 0

    def side_values(self, side: BatchSide) -> Integers:
        first, last = side.letter_runs
        strange = np.flatnonzero(side.script_in("Cyrillic", "Greek") & side.alphabetic)
        some = np.unique(np.searchsorted(last, strange, side="right"))
        first, last = first[some], last[some]
        scripts = np.zeros(len(some), dtype=np.int64)
        for script, least in (("Latin", 1), ("Cyrillic", 1), ("Greek", 2)):
            places = np.flatnonzero(side.script_in(script))
            scripts += np.searchsorted(places, last) - np.searchsorted(places, first) >= least
        return np.bincount(np.searchsorted(side.ends, first[scripts > 1]), minlength=len(side))


_MOSTLY = 0.5
_WORD = regex.compile(r"\p{L}+")
_REPEATED = regex.compile(r"(\p{L}{1,4})\1{2,}")


def _distinct_letters(text: str) -> int:
    """Count the letters of the words of a text, each word once, and ``hahaha`` as ``ha``."""
    return sum(map(len, {_REPEATED.sub(r"\1", word) for word in _WORD.findall(text.lower())}))


def _is_name(word: str) -> bool:
    """Return True if the first letter of *word* is a capital."""
    return next(filter(str.isalpha, word), "").isupper()


@dataclass(frozen=True)
class Language(Bounded):
    """Each side is in its language, by n-grams, py3langid, cld2, lingua or a fastText model.

    For fastText, ``identifier`` is the file, and ``labels=eng_Latn,deu_Latn`` gives its names of
    the languages where they differ. Without ``minimum`` each identifier has its own, low enough
    to pass names and short text. Sides with fewer than ``letters`` letters pass. One that fails is
    identified again without addresses and words that have a capital, which may be foreign names. A
    side that has fewer letters without addresses and repeated words (``Bye bye bye!``) passes, too.
    """

    name = "language"
    sides_apart = True
    unit = "0 to 1: probability of the language, of each side"
    origin = "OpusFilter's Langid, Cld2, Lingua and FastText filters; Bicleaner no_wrong_language"
    cost = Cost.MODEL
    needs_languages = True

    identifier: str = "ngrams"
    labels: str | None = None
    letters: int = 8

    def __post_init__(self) -> None:
        if self.minimum is not None:  # else the bound is the identifier's, and is not loaded yet
            super().__post_init__()
        if self.labels is not None and len(self.labels.split(",")) > 2:
            raise SettingsError(f"{self.name}: labels are two, as eng_Latn,deu_Latn")

    def prepare(self, languages: LanguagePair) -> None:
        """Load the identifier: raise its errors, or SettingsError for an unknown language."""
        super().prepare(languages)
        if len(self._names(languages)) != len(languages or ()):
            raise SettingsError(f"{self.name}: give a label for each side, as eng_Latn,deu_Latn")
        for reason in self.unable(languages).values():
            raise SettingsError(f"{self.name}: {reason}")

    def unable(self, languages: LanguagePair) -> dict[int, str]:
        """Return the sides in a language that the identifier does not know."""
        if languages is None:
            return {}
        knows = load_identifier(self.identifier).knows
        return {
            place: f"{self.identifier} cannot identify the language {language!r}"
            for place, language in enumerate(self._names(languages))
            if not knows(language)
        }

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds; without a minimum, the identifier's own."""
        low, high = super().bounds
        return (load_identifier(self.identifier).minimum if self.minimum is None else low), high

    def values(self, pairs: Pairs) -> Floats:
        values = np.ones((len(pairs), len(pairs.sides)))
        tags = tuple(side.language.tag for side in pairs.sides if side.language is not None)
        knows = load_identifier(self.identifier).knows
        for place, (side, name) in enumerate(zip(pairs.sides, self._names(tags), strict=False)):
            if not knows(name):
                continue
            letters = side.counted(characters.in_category("L"))
            enough = np.flatnonzero(letters >= self.letters)
            texts = [side.sentences[index] for index in enough.tolist()]
            values[enough, place] = self._probabilities(texts, name)
            self._excuse(values[:, place], side)
        return values

    def of_side(self, side: BatchSide, index: int, value: float) -> str:
        """Write the language that the side looks like, and the probability of its own."""
        likeliest = any_language(load_identifier(self.identifier).likeliest(side.sentences[index]))
        own = "" if side.language is None else side.language.code
        return f"{likeliest.tag},P({own})={self.against(value)}"

    def _excuse(self, values: Floats, side: BatchSide) -> None:
        """Pass sentences that fail, in a script in which identifiers do not know the language.

        Not those that two identifiers call one other language.
        """
        failed = np.flatnonzero(values < self.bounds[0])
        if len(failed) and self.identifier in IDENTIFIERS and side.language is not None:
            untaught = untaught_scripts(side.language)
            if untaught:
                shares = _share_in(side.at(failed), *untaught)
                for at in failed[shares > _MOSTLY].tolist():
                    agreed = agreed_language(side.sentences[at])
                    if agreed is None or labels_of(side.language.code, [agreed]):
                        values[at] = 1

    def _probabilities(self, sentences: Sequence[str], language: str) -> Floats:
        """Return the probabilities of *language*, at best of the words without a capital alone."""
        identify, (low, _) = load_identifier(self.identifier).probabilities, self.bounds
        found = identify(sentences, language)
        failed = np.flatnonzero(found < low)
        plain = [without_addresses(sentences[at]) for at in failed.tolist()]
        rests = [" ".join(filterfalse(_is_name, text.split())) for text in plain]
        again = [sum(map(str.isalpha, rest)) >= self.letters for rest in rests]
        some = failed[again]
        found[some] = np.maximum(found[some], identify([*compress(rests, again)], language))
        few = np.array([_distinct_letters(text) < self.letters for text in plain], dtype=bool)
        found[failed[few]] = 1
        return found

    def _names(self, languages: LanguagePair) -> tuple[str, ...]:
        if self.labels is not None:
            return tuple(self.labels.split(","))
        return languages or ()
