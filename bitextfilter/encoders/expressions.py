"""Averaging encoders and combinations of parts: their expressions and settings, without torch.

``+`` adds the vectors of parts, ``,`` concatenates sums (Wieting & Gimpel 2018); all parts are
trained together. Each view has one table of token vectors, which its parts share. The networks
stand in ``combination.py``; ``averages.py`` encodes by averages without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bitextfilter.errors import SettingsError
from bitextfilter.models.registry import Architecture
from bitextfilter.settings import Settings, from_0, from_1, setting
from bitextfilter.text.ragged import PIECES, TRIGRAMS


class Part(NamedTuple):
    """A kind of part."""

    network: str
    """Its class, as ``package.module:NAME``."""
    view: str = PIECES
    """The view of a sentence that it reads."""
    recurrent: bool = False
    """Whether it depends on the order of the tokens; others are averages."""


_NETWORKS = "bitextfilter.encoders.combination"
_RECURRENT = "bitextfilter.encoders.recurrent_encoders"

PARTS = {
    "word": Part(f"{_NETWORKS}:Average"),
    "trigram": Part(f"{_NETWORKS}:Average", TRIGRAMS),
    "weighted": Part(f"{_NETWORKS}:Weighted"),
    "lstm": Part(f"{_RECURRENT}:Recurrent", recurrent=True),
    "blstm": Part(f"{_RECURRENT}:Bidirectional", recurrent=True),
    "max-blstm": Part(f"{_RECURRENT}:MaxPooled", recurrent=True),
    "gran": Part(f"{_RECURRENT}:Gated", recurrent=True),
    "gran-gru": Part(f"{_RECURRENT}:GatedByLeakyGru", recurrent=True),
}
"""The parts by name; a module of networks is imported when one of it is asked for."""


SHARING = ("shared", "separate")


@dataclass(frozen=True)
class CombinationSettings(Settings):
    """Shape of a combination: ``embedding`` is the width of token vectors and of every part.

    ``tables`` and ``composition``: the two languages share the token vectors, and the weights of
    the parts, or each has its own. A separate table has a row for every piece of the common
    vocabulary.
    """

    embedding: int = from_1(300, "width of a token vector, and of each part")
    tables: str = setting("shared", "token vectors of the two languages", choices=SHARING)
    composition: str = setting("shared", "weights of the parts", choices=SHARING)
    gain: float = from_0(
        0.0,
        "factor of recurrent parts at the start; each of their numbers has a learnt one. 0: none",
    )
    standardise: bool = setting(
        False,
        "batch normalisation of recurrent parts, by language (Ioffe & Szegedy 2015), to a length"
        " of 1 on average",
    )


def parse(expression: str) -> tuple[tuple[str, ...], ...]:
    """Parse an expression into concatenated sums of parts.

    Raises SettingsError, which lists the parts and the grammar, for anything else.
    """
    sums = tuple(
        tuple(part.strip() for part in added.split("+")) for added in expression.split(",")
    )
    names = [name for added in sums for name in added]
    wrong = next((name for name in names if name not in PARTS), None)
    if wrong is None and len(set(names)) == len(names):
        return sums
    problem = "a part stands twice" if wrong is None else f"no part is called {wrong!r}"
    raise SettingsError(
        f"architecture {expression!r}: {problem}; it is autoencoder, pivot, averaging,"
        f" or parts ({', '.join(PARTS)}), added with + and side by side with a comma:"
        " word+lstm,trigram"
    )


def views_of(expression: str) -> tuple[str, ...]:
    """Return the views that the parts of an expression read."""
    read = {PARTS[name].view for added in parse(expression) for name in added}
    return tuple(view for view in (PIECES, TRIGRAMS) if view in read)


@dataclass(frozen=True)
class AveragingSettings(Settings):
    """Shape of an averaging encoder: ``embedding`` is the width of a vector, and its ``dim``."""

    embedding: int = from_1(512, "width of subword and sentence vectors")

    @property
    def dim(self) -> int:
        """Width of a sentence vector."""
        return self.embedding


AVERAGING = Architecture(AveragingSettings, f"{_NETWORKS}:AveragingNetwork")


def combination(expression: str) -> Architecture:
    """Return the architecture of an expression. Raises SettingsError as :func:`parse`."""
    parse(expression)
    return Architecture(CombinationSettings, f"{_NETWORKS}:CombinationNetwork", expression)
