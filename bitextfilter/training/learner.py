"""What the training loop asks of anything that is trained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor, nn

__all__ = ["Learner", "LoopSettings"]


class LoopSettings(Protocol):
    """What the loop asks of settings; see :class:`TrainingSettings`."""

    @property
    def passes(self) -> float: ...  # noqa: D102
    @property
    def batch_size(self) -> int: ...  # noqa: D102
    @property
    def optimiser(self) -> str: ...  # noqa: D102
    @property
    def learning_rate(self) -> float: ...  # noqa: D102
    @property
    def clip(self) -> float: ...  # noqa: D102
    @property
    def precision(self) -> str: ...  # noqa: D102
    @property
    def validate_every(self) -> int: ...  # noqa: D102
    @property
    def patience(self) -> int: ...  # noqa: D102

    def learning_rate_at(self, update: int, updates: int) -> float:
        """Learning rate of an update, counted from 0, of a run of that many updates."""


class Learner(nn.Module, ABC):
    """A network with what only its training needs."""

    network: nn.Module
    """What is validated and kept."""
    settings: LoopSettings
    """How it is trained."""

    @abstractmethod
    def forward(self, batch: Any) -> dict[str, Tensor]:
        """The losses of a mini-batch by name, as scalars."""

    def parts(self, batch: Any) -> Sequence[tuple[Any, float]]:
        """Cut a mini-batch into what memory can hold at a time, with their shares of the losses.

        The shares' sum is 1, and the losses of the whole are the weighted means of the parts'.
        """
        return [(batch, 1.0)]

    @abstractmethod
    def weighted(self, losses: dict[str, Tensor]) -> Tensor:
        """The one number to minimise."""
