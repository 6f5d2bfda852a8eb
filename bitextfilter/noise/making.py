"""Damage clean pairs as crawled corpora are damaged: the kinds of noise, and the rates of each."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bitextfilter.errors import SettingsError
from bitextfilter.noise.crawl import CRAWL_NOISE
from bitextfilter.noise.material import Context, Pair, PairWindow, WordTable
from bitextfilter.noise.mistakes import MISTAKES, NEGATIONS
from bitextfilter.settings import none_of
from bitextfilter.text.negations import REMOVABLE_NEGATIONS
from bitextfilter.text.units import word_units

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
