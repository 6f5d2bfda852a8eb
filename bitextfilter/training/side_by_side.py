"""The gradients of a batch of pairs, its parts computed side by side.

A batch always has the same parts, each with a copy of the classifier and a source of noise of its
own, however many threads there are: so their number changes nothing.
"""

from __future__ import annotations

import copy

import torch

from bitextfilter.io.batches import map_blocks
from bitextfilter.models.dropout import Dropout
from bitextfilter.similarity.classifiers import PairClassifier
from bitextfilter.similarity.pair_classifier import Indices
from bitextfilter.training.answers import answers_loss
from bitextfilter.training.classifier_settings import ClassifierTraining
from bitextfilter.training.labelled_pairs import LabelledPairs, Noise

__all__ = ["PARTS", "Step"]

PARTS = 2
"""Smaller parts would be computed no faster: operations take time of their own."""


class Step:
    """Computes the gradients of a classifier's weights."""

    def __init__(
        self,
        classifier: PairClassifier,
        pairs: LabelledPairs,
        training: ClassifierTraining,
        threads: int,
    ) -> None:
        """Make the copies, and draw the seeds of their noise."""
        self.classifier, self.pairs, self.training = classifier, pairs, training
        self._threads = threads
        self._copies = [_copy_of(classifier) for _ in range(PARTS)]
        seeds = torch.randint(2**62, (PARTS,)).tolist()
        self._noises = [Noise(training, torch.Generator().manual_seed(seed)) for seed in seeds]
        for each, noise in zip(self._copies, self._noises, strict=True):
            for module in each.modules():
                if isinstance(module, Dropout):
                    module.generator = noise.generator

    def gradients(self, rows: Indices) -> None:
        """Give the classifier's weights the gradients of the mean loss of some pairs.

        They are sums over the parts, in their order; every second pair is in the same part.
        """

        def compute(part: int) -> None:
            some, each, noise = rows[part::PARTS], self._copies[part], self._noises[part]
            each.zero_grad()
            if len(some):
                answers = self.pairs.answers(each, some, noise)
                worths = torch.from_numpy(self.pairs.worths[some])
                loss = answers_loss(answers, worths, self.training.label_smoothing)
                torch.autograd.backward(loss * (len(some) / len(rows)))

        map_blocks(compute, range(PARTS), self._threads)
        weights = zip(*(each.parameters() for each in self._copies), strict=True)
        for weight, parts in zip(self.classifier.parameters(), weights, strict=True):
            found = [part.grad for part in parts if part.grad is not None]
            weight.grad = torch.stack(found).sum(dim=0) if found else None


def _copy_of(classifier: PairClassifier) -> PairClassifier:
    """A copy with the same weights in the same memory, which gets gradients of its own."""
    made = copy.deepcopy(classifier).train()
    for own, shared in zip(made.parameters(), classifier.parameters(), strict=True):
        own.data = shared.data
    return made
