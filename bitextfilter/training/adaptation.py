"""Adaptation of a classifier's output layer to graded pairs, a few hundred of them.

All other layers stay as they are: the activations below the output are features, and the output is
fitted to the grades by logistic regression, held near its old weights by a ridge. Cross-validation
chooses how near.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from bitextfilter.arrays import Floats, Scores
from bitextfilter.models.device import one_torch_thread
from bitextfilter.pairs.classifier import PairClassifier
from bitextfilter.training.labelled_pairs import LabelledPairs

STRENGTHS = (10.0, 30.0, 100.0, 300.0, math.inf)
"""Ridges to choose from: factors of the squared change of the weights. With the last one, only the
temperature changes, and the order of pairs stays."""
FOLDS = 5
_ROWS = 64
_STEPS = 400


@torch.no_grad()
def hidden_rows(classifier: PairClassifier, pairs: LabelledPairs) -> Tensor:
    """Return the activations below the output layer: ``(n, hidden)``, float64."""
    found: list[Tensor] = []
    hook = classifier.output_layer.register_forward_pre_hook(
        lambda _, inputs: found.append(inputs[0].double())
    )
    try:
        for first in range(0, len(pairs.qualities), _ROWS):
            pairs.logits(classifier, np.arange(first, min(first + _ROWS, len(pairs.qualities))))
    finally:
        hook.remove()
    return torch.cat(found)


@dataclass(frozen=True)
class GradedPairs:
    """Pairs to learn from."""

    pairs: LabelledPairs
    """Their qualities are grades from 0 to 1."""
    groups: Sequence[str]
    """Of each pair, such as its source: pairs of one group stay in one fold."""
    offsets: Floats
    """``(n,)``: added to the calibrated logits; see :meth:`PairClassifier.offsets`."""


@dataclass(frozen=True)
class _Examples:
    """``n`` pairs below the output layer."""

    hidden: Tensor
    """``(n, hidden)``."""
    grades: Tensor
    offsets: Tensor

    def at(self, places: Tensor) -> _Examples:
        """Return some of them."""
        return _Examples(self.hidden[places], self.grades[places], self.offsets[places])


@dataclass(frozen=True)
class _Output:
    """An output layer and a temperature."""

    weight: Tensor
    bias: Tensor
    heat: Tensor
    """Logarithm of the temperature."""

    def levels(self, classifier: PairClassifier, examples: _Examples) -> Tensor:
        """Return the logits of scores, ``(n,)``. Offsets are as of the classifier's temperature."""
        joined = classifier.joined_with_gradients(examples.hidden @ self.weight.T + self.bias)
        return joined / self.heat.exp() + examples.offsets * self.cooling(classifier)

    def cooling(self, classifier: PairClassifier) -> Tensor:
        """Return the classifier's temperature over this one."""
        return classifier.temperature.double() / self.heat.exp()


def _output_of(classifier: PairClassifier) -> _Output:
    layer = classifier.output_layer
    weight, bias = layer.weight.detach().double(), layer.bias.detach().double()
    return _Output(weight, bias, classifier.temperature.double().log())


def _fitted(classifier: PairClassifier, examples: _Examples, strength: float) -> _Output:
    """Return the output that fits the grades ``(n,)`` best, near the classifier's own."""
    old = _output_of(classifier)
    new = _Output(*(each.clone().requires_grad_() for each in (old.weight, old.bias, old.heat)))
    free = [new.heat] if math.isinf(strength) else [new.weight, new.bias, new.heat]
    search = torch.optim.LBFGS(free, max_iter=_STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        search.zero_grad()
        levels = new.levels(classifier, examples)
        total = binary_cross_entropy_with_logits(levels, examples.grades, reduction="sum")
        if not math.isinf(strength):
            total = total + strength * (new.weight - old.weight).square().sum()
        # Where few grades differ, bias and temperature would run away.
        total = total + (new.bias - old.bias).square().sum() + (new.heat - old.heat).square().sum()
        total.backward()  # type: ignore[no-untyped-call]
        return total

    search.step(loss)  # type: ignore[no-untyped-call]
    return _Output(new.weight.detach(), new.bias.detach(), new.heat.detach())


@dataclass(frozen=True)
class AdaptationReport:
    """The course of an adaptation to ``n`` graded pairs."""

    strength: float
    """Chosen among ``STRENGTHS``."""
    losses: tuple[float, ...]
    """Mean cross-entropy of each strength on folds left out, in nats."""
    before: Scores
    """Scores of the pairs by the old classifier, ``(n,)``."""
    after: Scores
    """Scores by classifiers that were fitted without the pair's fold, ``(n,)``."""


def adapt_output(classifier: PairClassifier, graded: GradedPairs, seed: int) -> AdaptationReport:
    """Fit the output layer and the temperature of a classifier to the qualities of pairs.

    Offsets change with the temperature, so that it changes no order.

    Args:
        classifier: changed in place.
        graded: pairs and their grades.
        seed: of the folds.
    """
    with one_torch_thread():
        examples = _Examples(
            hidden_rows(classifier, graded.pairs),
            torch.from_numpy(graded.pairs.qualities.astype(np.float64)),
            torch.from_numpy(graded.offsets),
        )
        folds = _folds(graded.groups, seed)
        left_out = [_left_out(classifier, examples, folds, each) for each in STRENGTHS]
        losses = [
            float(binary_cross_entropy_with_logits(each, examples.grades)) for each in left_out
        ]
        best = int(np.argmin(losses))
        before = _output_of(classifier).levels(classifier, examples)
        _put(classifier, _fitted(classifier, examples, STRENGTHS[best]))
    scores = [torch.sigmoid(each).float().numpy() for each in (before, left_out[best])]
    return AdaptationReport(STRENGTHS[best], tuple(losses), *scores)


def _folds(groups: Sequence[str], seed: int) -> Floats:
    """Return the fold of each pair, ``(n,)``."""
    names, places = np.unique(np.array(groups, dtype=object).astype(str), return_inverse=True)
    fold = np.random.default_rng(seed).permutation(len(names)) % FOLDS
    return np.asarray(fold[places])


def _left_out(
    classifier: PairClassifier, examples: _Examples, folds: Floats, strength: float
) -> Tensor:
    """Return the levels of each pair by an output that was fitted to the other folds."""
    levels = torch.empty_like(examples.grades)
    for fold in range(FOLDS):
        inside = torch.from_numpy(folds == fold)
        if inside.any():
            output = _fitted(classifier, examples.at(~inside), strength)
            levels[inside] = output.levels(classifier, examples.at(inside))
    return levels


@torch.no_grad()
def _put(classifier: PairClassifier, output: _Output) -> None:
    layer = classifier.output_layer
    layer.weight.copy_(output.weight)
    layer.bias.copy_(output.bias)
    classifier.scale_offsets(float(output.cooling(classifier)))
    classifier.temperature.fill_(float(output.heat.exp()))
