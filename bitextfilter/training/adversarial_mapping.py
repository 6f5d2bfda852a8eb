"""A map between the word vectors of two languages without any pair: adversarial training.

Conneau et al. 2018, "Word translation without parallel data", section 2.1: a discriminator learns
to tell mapped source vectors from target vectors, and the map learns to make it fail, staying
close to orthogonal. Its loss is binary cross-entropy with smoothed labels. The best map is chosen
by the criterion of section 3.2 (:func:`bitextfilter.training.mapping.induce`). The decay is that
of the authors' code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from bitextfilter.errors import SettingsError
from bitextfilter.models.device import one_torch_thread
from bitextfilter.similarity.vectors import Vectors
from bitextfilter.training.mapping import Induced, Map, MappingSettings, induce, mapped, procrustes

__all__ = ["Adversarial", "Discriminator", "adversarial_map"]


@dataclass(frozen=True)
class Adversarial:
    """Settings of the adversarial training; sizes and rates are those of Conneau et al. 2018."""

    words: int = 50_000
    """The most frequent words of each language that the discriminator sees."""
    layers: int = 2
    """Hidden layers of the discriminator."""
    units: int = 2048
    """Of each hidden layer."""
    leak: float = 0.2
    """Slope of the leaky rectifiers below 0."""
    input_dropout: float = 0.1
    smoothing: float = 0.1
    """The labels are this far from 0 and 1."""
    batch_size: int = 32
    """Words of each language in a mini-batch."""
    discriminator_updates: int = 5
    """Updates of the discriminator for one of the map."""
    starts: int = 1
    """Trainings from different first maps, of which the best is taken (our addition: some end
    in a bad optimum). The first begins with the identity, the others with random rotations."""
    epochs: int = 5
    updates: int = 31_250
    """Updates of the map in an epoch."""
    learning_rate: float = 0.1
    """Of plain SGD, for both."""
    decay: float = 0.98
    """The learning rate is multiplied by this after each epoch, and halved besides where the
    criterion fell."""
    orthogonality: float = 0.01
    """After each update W becomes (1 + b) W - b (W Wᵀ) W, with this b; 0 leaves it."""
    threads: int = 1
    """Of each operation, on a CPU; more may change the last digits, and so the map."""
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for name in _COUNTS:
            if getattr(self, name) < 1:
                raise SettingsError(f"adversarial.{name} must be at least 1")
        if not (0 <= self.smoothing < 0.5 and 0 <= self.input_dropout < 1):
            raise SettingsError("adversarial.smoothing is in [0, 0.5), .input_dropout in [0, 1)")
        if self.learning_rate <= 0 or not 0 < self.decay <= 1 or self.leak < 0:
            raise SettingsError(
                "adversarial.learning_rate is above 0, .decay in (0, 1], .leak 0 and up"
            )
        if not 0 <= self.orthogonality <= 0.5 or self.seed < 0:
            raise SettingsError("adversarial.orthogonality is in [0, 0.5], .seed 0 and up")


_COUNTS = (
    *("words", "layers", "units", "batch_size", "discriminator_updates"),
    *("starts", "epochs", "updates", "threads"),
)


class Discriminator(nn.Sequential):
    """Says, as a logit, how likely a vector is a mapped one: ``(b, d)`` → ``(b, 1)``."""

    def __init__(self, dim: int, settings: Adversarial) -> None:
        """Start at random."""
        widths = [dim, *[settings.units] * settings.layers]
        hidden: list[nn.Module] = []
        for before, after in pairwise(widths):
            hidden += [nn.Linear(before, after), nn.LeakyReLU(settings.leak)]
        super().__init__(nn.Dropout(settings.input_dropout), *hidden, nn.Linear(widths[-1], 1))


def adversarial_map(
    source: Vectors,
    target: Vectors,
    settings: tuple[Adversarial, MappingSettings],
    notify: Callable[[int, Induced], object],
    device: torch.device | None = None,
) -> Map:
    """Learn a map from normalised vectors ``(n, d)`` and ``(m, d)`` of words by frequency.

    The same vectors and settings give the same map, on a CPU.

    Args:
        source: of the language that is mapped.
        target: of the other.
        settings: of the training, and of the criterion.
        notify: told the epoch, from 1 on over all starts, and what its map says.
        device: where to compute; the CPU if None.

    Returns:
        The best by the criterion, of all starts and epochs, made orthogonal.
    """
    training, mapping = settings
    maps: list[tuple[float, Map]] = []
    with torch.random.fork_rng(devices=[]), one_torch_thread():
        torch.set_num_threads(training.threads)
        torch.manual_seed(training.seed)
        for start in range(training.starts):
            game = _Game(source, target, training, device or torch.device("cpu"))
            if start:
                game.turn()
            before = -np.inf
            for _ in range(training.epochs):
                current = game.epoch()
                induced = induce(mapped(source[: mapping.words], current), target, mapping)
                maps.append((induced.criterion, current))
                notify(len(maps), induced)
                game.slow_down(training.decay * (0.5 if induced.criterion < before else 1.0))
                before = induced.criterion
    return max(maps, key=lambda pair: pair[0])[1]


class _Game:
    """The map, the discriminator, and the words they learn from."""

    def __init__(
        self, source: Vectors, target: Vectors, settings: Adversarial, device: torch.device
    ) -> None:
        self._settings = settings
        self._sides = [
            torch.from_numpy(side[: settings.words]).to(device) for side in (source, target)
        ]
        dim = source.shape[1]
        self._discriminator = Discriminator(dim, settings).to(device)
        self._map = nn.Parameter(torch.eye(dim, device=device))
        labels = torch.arange(2.0, device=device).repeat_interleave(settings.batch_size)
        self._labels = labels.clamp(settings.smoothing, 1 - settings.smoothing)[:, None]
        parameters = self._discriminator.parameters(), [self._map]
        self._optimisers = [torch.optim.SGD(p, lr=settings.learning_rate) for p in parameters]
        self._loss = nn.BCEWithLogitsLoss()

    def turn(self) -> None:
        """Start from a random orthogonal map instead of the identity."""
        with torch.no_grad():
            self._map.copy_(torch.linalg.qr(torch.randn(self._map.shape))[0])

    def epoch(self) -> Map:
        """Learn for an epoch; returns the map (:meth:`map`)."""
        for _ in range(self._settings.updates):
            self._play()
        return self.map()

    def _play(self) -> None:
        """Update the discriminator some times, then the map once."""
        self._discriminator.train()
        for _ in range(self._settings.discriminator_updates):
            with torch.no_grad():
                words = self._words()
            self._update(0, self._loss(self._discriminator(words), self._labels))
        self._discriminator.eval()
        self._update(1, self._loss(self._discriminator(self._words()), 1 - self._labels))
        self._straighten()

    def _words(self) -> Tensor:
        """A mini-batch, of target words, then of mapped source words ``(2b, d)``."""
        source, target = (
            side[torch.randint(len(side), (self._settings.batch_size,)).to(side.device)]
            for side in self._sides
        )
        return torch.cat([target, source @ self._map])

    def _update(self, which: int, loss: Tensor) -> None:
        """One step of the discriminator's (0) or the map's (1) optimiser."""
        for optimiser in self._optimisers:
            optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimisers[which].step()

    def _straighten(self) -> None:
        """Bring the map nearer to an orthogonal one."""
        beta = self._settings.orthogonality
        with torch.no_grad():
            w = self._map
            w.copy_((1 + beta) * w - beta * (w @ w.T) @ w)

    def slow_down(self, factor: float) -> None:
        """Multiply the learning rates."""
        for optimiser in self._optimisers:
            for group in optimiser.param_groups:
                group["lr"] *= factor

    def map(self) -> Map:
        """The orthogonal map that is nearest to the one learnt; SettingsError if it diverged."""
        learnt = self._map.detach().cpu().numpy()
        if not np.isfinite(learnt).all():
            raise SettingsError(
                "the adversarial training diverged: set adversarial.learning_rate lower"
            )
        return procrustes(np.eye(len(learnt)), learnt)
