"""Encoders put together from parts by an expression such as ``word+lstm,trigram``.

``+`` adds the vectors of parts, ``,`` sets those of sums side by side (Wieting & Gimpel 2018); all
parts are trained together. Each view has one table of token vectors, which its parts share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bitextfilter.encoders.averaging import mean_of_rows
from bitextfilter.encoders.network import (
    Folded,
    Inputs,
    Network,
    Tokens,
    piece_vectors,
)
from bitextfilter.encoders.parts import PARTS, Average, FoldedPart, Part
from bitextfilter.errors import SettingsError
from bitextfilter.settings import check, setting
from bitextfilter.text.processor import PIECES, TRIGRAMS

SHARING = ("shared", "separate")


@dataclass(frozen=True)
class CombinationSettings:
    """Shape of a combination: ``embedding`` is the width of token vectors and of every part.

    ``tables`` and ``composition``: whether the two languages share the token vectors, and the
    weights of recurrent parts, or have their own. Of separate tables each has a row for every
    piece of the common vocabulary.
    """

    embedding: int = setting(300, "width of a token vector, and of each part", within=">= 1")
    tables: str = setting("shared", "token vectors of the two languages", choices=SHARING)
    composition: str = setting("shared", "weights of the parts", choices=SHARING)

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        check(self)


def parse(expression: str) -> tuple[tuple[str, ...], ...]:
    """The parts of an expression: sums that stand side by side.

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
    """What the parts of an expression read."""
    read = {PARTS[name].view for added in parse(expression) for name in added}
    return tuple(view for view in (PIECES, TRIGRAMS) if view in read)


class CombinationNetwork(Network):
    """Parts, added and side by side."""

    def __init__(
        self, expression: str, settings: CombinationSettings, sizes: Mapping[str, int]
    ) -> None:
        """``sizes``: how many ids each view has. SettingsError for an unknown expression."""
        self._sums = parse(expression)
        width = settings.embedding
        super().__init__(width * len(self._sums))
        self.views = views_of(expression)
        parts = [PARTS[name] for added in self._sums for name in added]
        self.sequences = tuple({part.view for part in parts if part.recurrent})
        if not self.sequences:
            self.block_rows = 256
        copies = {name: 1 + (getattr(settings, name) == "separate") for name in
                  ("tables", "composition")}  # fmt: skip
        self.vectors = nn.ModuleList(
            nn.ModuleDict({view: piece_vectors(sizes[view], width) for view in self.views})
            for _ in range(copies["tables"])
        )
        self.parts = nn.ModuleList(
            nn.ModuleDict(
                {
                    name: PARTS[name](sizes[PARTS[name].view], width)
                    for added in self._sums
                    for name in added
                }
            )
            for _ in range(copies["composition"])
        )

    def tables(self) -> tuple[nn.Embedding, ...]:
        """See :meth:`Network.tables`."""
        return tuple(self._table(side, v) for side in range(len(self.vectors)) for v in self.views)

    def piece_tables(self) -> tuple[nn.Embedding, ...]:
        """See :meth:`Network.piece_tables`."""
        sides = range(len(self.vectors)) if PIECES in self.views else ()
        return tuple(self._table(side, PIECES) for side in sides)

    def forward(self, inputs: Inputs, side: int) -> Tensor:
        """See :meth:`Network.forward`."""
        parts = self._parts(side)
        vectors: dict[str, Tensor] = {}
        encoded: dict[str, Tensor] = {}
        for name, part in parts.items():
            rows, table = inputs[part.view], self._table(side, part.view)
            if isinstance(part, Average) and not self._noisy():
                encoded[name] = mean_of_rows(
                    table.weight, rows.ids, rows.lengths, sparse=table.sparse
                )
                continue
            if part.view not in vectors:
                vectors[part.view] = self.dropout(table(rows.ids))
            encoded[name] = part(vectors[part.view], rows)
        return self._combined(encoded)

    def fold(self, tokens: Mapping[str, Tokens], side: int) -> Folded:
        """See :meth:`Network.fold`."""
        folded: dict[str, tuple[str, FoldedPart]] = {
            name: (part.view, part.fold(self._table(side, part.view).weight, tokens[part.view]))
            for name, part in self._parts(side).items()
        }
        return lambda inputs: self._combined(
            {name: encode(inputs[view]) for name, (view, encode) in folded.items()}
        )

    def _table(self, side: int, view: str) -> nn.Embedding:
        tables = self.vectors[side if len(self.vectors) > 1 else 0]
        assert isinstance(tables, nn.ModuleDict)
        table = tables[view]
        assert isinstance(table, nn.Embedding)
        return table

    def _parts(self, side: int) -> dict[str, Part]:
        parts = self.parts[side if len(self.parts) > 1 else 0]
        assert isinstance(parts, nn.ModuleDict)
        return {name: part for name, part in parts.items() if isinstance(part, Part)}

    def _noisy(self) -> bool:
        """Whether vectors are changed before they are averaged."""
        rate = getattr(self.dropout, "p", 0.0) or getattr(self.dropout, "rate", 0.0)
        return self.training and rate > 0

    def _combined(self, encoded: Mapping[str, Tensor]) -> Tensor:
        sums = [torch.stack([encoded[n] for n in added]).sum(0) for added in self._sums]
        return torch.cat(sums, dim=1)
