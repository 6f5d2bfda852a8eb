"""What a classifier's answers are taught, and how the first is weighed against the second.

See ``Answers`` of :mod:`bitextfilter.similarity.pair_classifier`.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from bitextfilter.similarity.classifiers import PairClassifier

__all__ = ["answers_loss", "weigh_answers"]


def answers_loss(answers: Tensor, worths: Tensor, smoothing: float) -> Tensor:
    """Mean cross-entropy of answers ``(n, 1 or 2)`` against smoothed labels, in nats.

    Two answers are a chain of questions: of the n pairs, whether they are worth anything; and of
    those that are, whether they are worth 1. So unsmoothed, their sum is the cross-entropy of three
    kinds of pairs. One answer is taught the worths ``(n,)`` themselves.
    """
    ever = torch.ones_like(worths)
    chain = [(ever, (worths > 0).float()), (worths > 0, (worths == 1).float())]
    questions = chain if answers.shape[1] == 2 else [(ever, worths)]
    loss = torch.zeros(())
    for logits, (asked, labels) in zip(answers.T, questions, strict=True):
        smooth = labels * (1 - smoothing) + smoothing / 2
        each = binary_cross_entropy_with_logits(logits, smooth, reduction="none")
        loss = loss + (each * asked).mean()
    return loss


@torch.no_grad()
def weigh_answers(classifier: PairClassifier, sharpness: float, lenience: float) -> None:
    """Make the first of two answers *sharpness* (c + *lenience*), c being what it was.

    Text of another kind than that of the training has translations whose words a classifier has
    not seen together: lenience forgives them, and sharpness still drops what is surely none.
    Lenience alone is as if for each pair that is none there were e^lenience times as many
    translations, those with a small mistake among them.
    """
    if classifier.settings.answers == 2:
        classifier.last.weight[0] *= sharpness
        classifier.last.bias[0] = sharpness * (classifier.last.bias[0] + lenience)
