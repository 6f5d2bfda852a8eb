"""Make pairs that are no translations out of pairs that are, as crawled corpora have them."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bitextfilter.corpus.damage import KINDS, Pair, PairWindow, Surroundings, WordRange
from bitextfilter.errors import SettingsError
from bitextfilter.text.negations import REMOVABLE_NEGATIONS
from bitextfilter.text.segment import sample

CLEAN = "clean"

_ROUNDING = 1e-9


@dataclass(frozen=True)
class NoiseSettings:
    """What noise is made of, and of which pairs."""

    languages: tuple[str, str] = ("", "")
    """Codes of the source's and the target's language: for ``negation`` and ``boilerplate``."""
    foreign: Sequence[str] = ()
    """Sentences in neither language: for ``wrong-language``."""
    words: tuple[int, int] = (6, 60)
    """The fewest and the most words, of either side, of a pair that is damaged."""
    window: int = 10_000
    """How many pairs before and after a pair its ``shuffled`` target, its ``extra`` sentence and
    its new ``name`` are drawn from. So many are held in memory, twice."""

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        if not 1 <= self.words[0] <= self.words[1]:
            raise SettingsError(f"words from {self.words[0]} to {self.words[1]}: not a range")
        if self.window < 1:
            raise SettingsError(f"a window of {self.window}: must be at least 1")

    @property
    def limits(self) -> WordRange:
        """The numbers of words of a pair that is damaged."""
        return WordRange(*self.words)

    def lacks(self, kind: str) -> str | None:
        """Return what is missing for *kind* of noise, or None if it can be made."""
        if kind == "wrong-language" and not self._foreign():
            return f"foreign sentences (--foreign) of {self.words[0]} to {self.words[1]} words"
        if kind == "negation" and not set(self.languages) & set(REMOVABLE_NEGATIONS):
            return f"a language (--languages) of {', '.join(REMOVABLE_NEGATIONS)}"
        return None

    def _foreign(self) -> list[str]:
        return [" ".join(text.split()) for text in self.foreign if self.limits.holds(text)]

    def surroundings(self, pairs: Iterable[Pair], seed: int) -> Surroundings:
        """Return what the noise of *pairs* is drawn from."""
        window = PairWindow(pairs, self.window, self.limits)
        return Surroundings(window, random.Random(seed), self._foreign(), self.languages)


_DEFAULTS = NoiseSettings()


def noise_settings(
    languages: tuple[str, str] | None,
    foreign: Iterable[str],
    words: tuple[int, int],
    window: int,
    seed: int,
) -> NoiseSettings:
    """Return settings with no more foreign sentences than the window holds, drawn by *seed*."""
    drawn = sample(filter(WordRange(*words).holds, foreign), window, seed)
    return NoiseSettings(languages or ("", ""), drawn, words, window)


def even_rates(
    rate: float, settings: NoiseSettings = _DEFAULTS, without: Collection[str] = ()
) -> dict[str, float]:
    """Return the same rate of each kind that *settings* have what it takes for, *rate* in all.

    The kinds *without* which it is to be are left out.
    """
    kinds = [kind for kind in KINDS if kind not in without and settings.lacks(kind) is None]
    return {kind: rate / len(kinds) for kind in kinds}


def noisy_pairs(
    pairs: Iterable[Pair],
    rates: Mapping[str, float],
    seed: int,
    settings: NoiseSettings = _DEFAULTS,
) -> Iterator[tuple[str, str, str]]:
    """Yield source, target and label of each pair in turn, some damaged in one of the kinds.

    Args:
        pairs: translations, in the order of their documents; any iterable, read as it is needed.
        rates: kinds in ``KINDS`` → the part of the pairs that is to have it, from 0 to 1; in all
            not above 1. The others stay as they are, labelled ``clean``.
        seed: the same pairs, rates, seed and settings give the same noise.
        settings: what the noise is made of.

    A pair is damaged with the probability that the rates add up to, in a kind drawn by their
    rates among those that can be made of it (a number is only changed where there is one); so a
    kind that few pairs allow is rarer than asked, and the others more frequent. Pairs of too few
    or too many words, and those of which no kind can be made, stay clean. A damaged pair always
    differs from what it was, and has no blank side. A side that is cut or mixed has single spaces
    between its words; all else is as it was.

    Raises SettingsError for unknown kinds, rates out of range, and what a kind lacks.
    """
    for kind, rate in rates.items():
        _check(kind, rate, settings)
    wanted = {kind: rate for kind, rate in rates.items() if rate > 0}
    if (total := sum(wanted.values())) > 1 + _ROUNDING:
        raise SettingsError(f"the rates of noise add up to {total:g}: at most 1")
    return _noisy(wanted, settings.surroundings(pairs, seed))


def _check(kind: str, rate: float, settings: NoiseSettings) -> None:
    if kind not in KINDS:
        raise SettingsError(f"noise {kind!r} is none of {', '.join(KINDS)}")
    if not 0 <= rate <= 1:
        raise SettingsError(f"a rate of {rate:g} for {kind!r}: must be 0 to 1")
    if rate and (lack := settings.lacks(kind)) is not None:
        raise SettingsError(f"noise {kind!r} needs {lack}")


def _noisy(rates: Mapping[str, float], around: Surroundings) -> Iterator[tuple[str, str, str]]:
    total = sum(rates.values())
    for pair in around.window:
        drawn = around.chooser.random() < total
        yield _damaged(pair, rates, around) if drawn and around.window.fits() else (*pair, CLEAN)


def _damaged(pair: Pair, rates: Mapping[str, float], around: Surroundings) -> tuple[str, str, str]:
    """Return *pair* in a kind drawn among those that can be made of it, with the label."""
    left = dict(rates)
    while left:
        (kind,) = around.chooser.choices(list(left), list(left.values()))
        made = KINDS[kind](pair, around)
        if made is not None and made != pair and made[0].strip() and made[1].strip():
            return (*made, kind)
        del left[kind]
    return (*pair, CLEAN)
