"""What every encoder's network is to the code around it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from torch import Tensor, nn

from bitextfilter.errors import SettingsError


def check_sizes(**sizes: int) -> None:
    """Raise SettingsError for a size that is no whole number of at least 1."""
    for name, size in sizes.items():
        if type(size) is not int or size < 1:
            raise SettingsError(f"{name} must be a whole number of at least 1, not {size!r}")


Folded = Callable[[Tensor, Tensor], Tensor]


class Network(nn.Module, ABC):
    """Subword vectors of both languages, and the way from them to a sentence vector.

    Letters: n sentences, t positions, u distinct tokens. ``side`` is 0 for the source language,
    1 for the target.
    """

    def __init__(self, vocabulary: int, width: int) -> None:
        """One table of ``vocabulary`` subword vectors of that width serves both languages."""
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.dropout = nn.Dropout(0.0)
        """On the subword vectors; its share is set by the training."""

    @abstractmethod
    def forward(self, ids: Tensor, lengths: Tensor, side: int) -> Tensor:
        """Padded ids ``(n, t)``, lengths ``(n,)`` → sentence vectors ``(n, dim)``."""

    @abstractmethod
    def fold(self, tokens: Tensor, side: int) -> Folded:
        """Do once what depends on a token alone.

        Args:
            tokens: the distinct ids of a window, ``(u,)``.
            side: as in :meth:`forward`.

        Returns:
            The function from padded rows, ``(n, t)`` positions in ``tokens``, and lengths
            ``(n,)`` to vectors ``(n, dim)``: the same numbers as :meth:`forward`'s, but for
            rounding, and each row's the same for one ``n`` whatever the other rows are.
        """
