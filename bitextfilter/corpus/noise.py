"""Make pairs that are no translations out of pairs that are, as crawled corpora have them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from bitextfilter.errors import SettingsError

__all__ = ["CLEAN", "KINDS", "noisy_pairs"]

Pair = tuple[str, str]
Maker = Callable[[Sequence[Pair], int, random.Random], Pair]

CLEAN = "clean"
_FEWEST_WORDS = 4


def _repaired(pairs: Sequence[Pair], place: int, chooser: random.Random) -> Pair:
    """The source with the target of another pair."""
    other = (place + 1 + chooser.randrange(max(1, len(pairs) - 1))) % len(pairs)
    return pairs[place][0], pairs[other][1]


def _neighbouring(pairs: Sequence[Pair], place: int, chooser: random.Random) -> Pair:
    """The source with the target of the pair before or after it."""
    other = (place + chooser.choice((-1, 1))) % len(pairs)
    return pairs[place][0], pairs[other][1]


def _truncated(pairs: Sequence[Pair], place: int, chooser: random.Random) -> Pair:
    """One side without the last 30 to 70 % of its words; as it was if it has under four."""
    sides = list(pairs[place])
    side = chooser.randrange(2)
    words = sides[side].split()
    if len(words) >= _FEWEST_WORDS:
        sides[side] = " ".join(words[: round(len(words) * chooser.uniform(0.3, 0.7))])
    return sides[0], sides[1]


def _copied(pairs: Sequence[Pair], place: int, chooser: random.Random) -> Pair:
    """One side twice."""
    text = pairs[place][chooser.randrange(2)]
    return text, text


KINDS: dict[str, Maker] = {
    "repaired": _repaired,
    "neighbouring": _neighbouring,
    "truncated": _truncated,
    "copied": _copied,
}
"""The kinds of noise by name, and what makes them of the pair at a place among others."""


def noisy_pairs(
    pairs: Sequence[Pair], kinds: Sequence[str], seed: int
) -> Iterator[tuple[str, str, str]]:
    """Yield source, target and label of each pair in turn, made into a kind drawn by *seed*.

    Args:
        pairs: translations, in the order of their documents.
        kinds: names in ``KINDS``, or ``clean``, which leaves a pair as it is; a name may stand
            several times, to be drawn as often.
        seed: the same pairs, kinds and seed give the same noise.

    A pair that the noise leaves as it was (its neighbour has the same text, it is too short to
    be cut) is labelled ``clean``. Raises SettingsError for an unknown kind, or none.
    """
    if unknown := set(kinds) - {*KINDS, CLEAN}:
        raise SettingsError(f"noise {min(unknown)!r} is none of {CLEAN}, {', '.join(KINDS)}")
    if not kinds:
        raise SettingsError(f"no kinds of noise: there are {CLEAN}, {', '.join(KINDS)}")
    chooser = random.Random(seed)
    for place, pair in enumerate(pairs):
        kind = chooser.choice(kinds)
        made = pair if kind == CLEAN else KINDS[kind](pairs, place, chooser)
        yield (*made, CLEAN if made == pair else kind)
