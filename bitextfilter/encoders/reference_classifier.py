"""The reference/translation classifier: did a person write a sentence, or a machine?

Wieting, Mallinson & Gimpel 2017, sections 5.5–5.7: an LSTM, or the mean of the token vectors, and a
softmax over the two classes. Here the LSTM's state after its last token is used, and the network
returns one logit, the difference of the two classes' logits, whose sigmoid is that softmax.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bitextfilter.encoders.base import (
    CachedNetwork,
    Encoder,
    Inputs,
    Network,
    Padded,
    Tokens,
    piece_vectors,
)
from bitextfilter.encoders.combination import Average, CachedPart, EncoderPart
from bitextfilter.models.recurrent import CachedDirection
from bitextfilter.models.registry import Architecture, Registry
from bitextfilter.settings import Settings, from_1, setting
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES


class LastState(EncoderPart):
    """The state of an LSTM after the last token."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__(vocabulary, width)
        self.cells = nn.LSTM(width, width, batch_first=True)

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`EncoderPart.forward`."""
        states: Tensor = self.cells(vectors)[0]
        return states[torch.arange(len(states), device=states.device), sentences.lengths - 1]

    def prepare_tokens(self, table: Tensor, tokens: Tokens) -> CachedPart:
        """See :meth:`EncoderPart.prepare_tokens`."""
        direction = CachedDirection(self.cells, table[tokens.ids])

        def encode(rows: Padded) -> Tensor:
            last = table.new_zeros(len(rows.ids), table.shape[1])
            for step, hidden in direction.states(rows.ids, rows.lengths):
                last = torch.where((step < rows.lengths)[:, None], hidden, last)
            return last

        return encode


READERS: dict[str, type[EncoderPart]] = {"lstm": LastState, "averaging": Average}
"""The parts that turn token vectors into a sentence vector, by name."""


@dataclass(frozen=True)
class ReferenceSettings(Settings):
    """Architecture, and the width of token vectors and of the LSTM's state."""

    architecture: str = setting(
        "lstm", "an LSTM's last state, or the mean of the token vectors", choices=READERS
    )
    embedding: int = from_1(300, "width of token vectors, and of the LSTM")


class ReferenceNetwork(Network):
    """Sentences to logits ``(n, 1)``: above 0, a sentence is more probably a person's."""

    def __init__(self, settings: ReferenceSettings, sizes: Mapping[str, int]) -> None:
        """``sizes``: the number of ids by view."""
        super().__init__(1)
        vocabulary = sizes[PIECES]
        self.settings = settings
        self.embedding = piece_vectors(vocabulary, settings.embedding)
        self.reader = READERS[settings.architecture](vocabulary, settings.embedding)
        self.output = nn.Linear(settings.embedding, 1)
        self.sequences = (PIECES,) if isinstance(self.reader, LastState) else ()

    def forward(self, inputs: Inputs, side: int = 0) -> Tensor:
        """See :meth:`Network.forward`; there is only one language."""
        rows = inputs[PIECES]
        return self._logits(self.reader(self.embedding(rows.ids), rows))

    def prepare_tokens(self, tokens: Mapping[str, Tokens], side: int) -> CachedNetwork:
        """See :meth:`Network.prepare_tokens`."""
        read = self.reader.prepare_tokens(self.embedding.weight, tokens[PIECES])
        return lambda inputs: self._logits(read(inputs[PIECES]))

    def _logits(self, vectors: Tensor) -> Tensor:
        """``(n, e)`` → ``(n, 1)``, each row summed by itself."""
        products = vectors * self.output.weight
        return products.sum(dim=1, keepdim=True) + self.output.bias


class ReferenceClassifier:
    """A network and its text processing.

    A probability depends on its sentence and the model alone: see :class:`Encoder`.
    """

    def __init__(
        self,
        processor: TextProcessor,
        network: ReferenceNetwork,
        device: str = "cpu",
        threads: int = 1,
    ) -> None:
        """Move the network to the device. Raises DeviceError where that is missing."""
        self._encoder = Encoder(processor, network, device, threads)

    def probabilities(self, sentences: Sequence[str]) -> NDArray[np.float64]:
        """Return how probably a person wrote each of ``n`` sentences, 0 to 1: ``(n,)``."""
        logits = self._encoder.encode(sentences, self._encoder.languages[0])[:, 0]
        # By tanh, which knows no overflow: σ(x) = (1 + tanh(x/2)) / 2.
        probabilities: NDArray[np.float64] = (1 + np.tanh(logits.astype(np.float64) / 2)) / 2
        return probabilities


REFERENCE = Architecture(ReferenceSettings, ReferenceNetwork)


class _ReferenceClassifiers(Registry[ReferenceNetwork, TextProcessor]):
    """Architectures whose settings hold their name."""

    def settings(self, name: str, values: Mapping[str, Any]) -> ReferenceSettings:
        """See :meth:`Registry.settings`."""
        settings: ReferenceSettings = super().settings(name, {"architecture": name, **values})
        return settings


REFERENCE_CLASSIFIERS = _ReferenceClassifiers(
    "reference_classifier",
    dict.fromkeys(READERS, f"{__name__}:REFERENCE"),
    TextProcessor.load,
)


def save_reference_classifier(
    folder: Path, network: ReferenceNetwork, processor: TextProcessor
) -> None:
    """Write a classifier into an existing folder."""
    kind = network.settings.architecture, network.settings
    REFERENCE_CLASSIFIERS.save(folder, kind, network, processor)


def load_reference_classifier(
    folder: Path, device: str = "cpu", threads: int = 1
) -> ReferenceClassifier:
    """Load the classifier of a model folder. Errors as :meth:`Registry.load`."""
    model = REFERENCE_CLASSIFIERS.load(folder)
    return ReferenceClassifier(model.processor, model.network, device, threads)
