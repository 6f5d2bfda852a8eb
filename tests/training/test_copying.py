"""Training of translators that copy: the loss, its gradients, and a task that needs copying."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from translators import COPYING, network, rows, with_templates

from bitextfilter.arrays import Ids
from bitextfilter.models.device import one_torch_thread
from bitextfilter.text.vocabulary import BEGIN, END, PAD, RESERVED
from bitextfilter.training.data import Corpus, Sentences
from bitextfilter.training.loop import update
from bitextfilter.training.settings import TranslatorSettings
from bitextfilter.training.translator_training import TranslationLearner, _Pairs, translation_stream
from bitextfilter.translation.network import Beam, Limits, TranslationNetwork, search_translations
from bitextfilter.translation.translator import TRANSLATORS

Case = tuple[str, dict[str, object]]

SMOOTHED = TranslatorSettings(dropout=0.0, label_smoothing=0.1)
PAIRS = _Pairs(with_templates(rows([4, 7, 4], [8], [6, 5])), rows([4, 5], [8, 8, 6], [1]))


def learner(case: Case) -> TranslationLearner:
    return TranslationLearner(network(*case).double(), SMOOTHED)


def loss(made: TranslationLearner) -> Tensor:
    return made(PAIRS)["translation"]


@pytest.mark.parametrize("case", COPYING)
@pytest.mark.parametrize("some", [1, 3, 100])
def test_the_loss_is_that_of_whole_distributions(
    case: Case, some: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = learner(case)
    total = torch.zeros((), dtype=torch.float64)
    for row, target in enumerate(([4, 5], [8, 8, 6], [1])):
        source = PAIRS.sources.cut(1)[row]
        logs = made.network.predict(made.network.states(source, torch.tensor([[BEGIN, *target]])))
        for step, wanted in zip(logs[0], [*target, END], strict=True):
            total = total - 0.9 * step[wanted] - 0.1 * step.mean()
    expected = total / 9
    monkeypatch.setattr("bitextfilter.training.translator_training.ROWS", some)
    torch.testing.assert_close(loss(made), expected)
    every = list(made.parameters())
    found = (torch.autograd.grad(each, every) for each in (loss(made), expected))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("case", COPYING)
def test_gradients_are_those_of_finite_differences(case: Case) -> None:
    """Of every parameter in a random direction."""
    made, step = learner(case), 1e-5
    every = dict(made.named_parameters())
    gradients = torch.autograd.grad(loss(made), list(every.values()))
    for (name, parameter), gradient in zip(every.items(), gradients, strict=True):
        way = torch.randn_like(parameter)
        losses = []
        for distance in (step, -2 * step):
            with torch.no_grad():
                parameter.add_(distance * way)
            losses.append(loss(made).item())
        with torch.no_grad():
            parameter.add_(step * way)
        slope = (losses[0] - losses[1]) / (2 * step)
        assert slope == pytest.approx(float((gradient * way).sum()), rel=1e-4, abs=1e-8), name


@pytest.mark.parametrize("case", COPYING)
def test_in_bfloat16_the_loss_is_nearly_the_same(case: Case) -> None:
    exact, narrow = learner(case), TranslationLearner(network(*case), SMOOTHED)
    narrow.settings = replace(SMOOTHED, precision="bfloat16")
    found = narrow.gradients(PAIRS)["translation"]
    assert found == pytest.approx(loss(exact).item(), rel=0.02)
    loss(exact).backward()  # type: ignore[no-untyped-call]
    for (name, one), other in zip(exact.named_parameters(), narrow.parameters(), strict=True):
        assert one.grad is not None and other.grad is not None
        assert torch.dist(one.grad, other.grad) < 0.1 * one.grad.norm() + 1e-3, name


WORDS, NAMES = 6, 60
OWN, OTHER = len(RESERVED) + np.arange(2 * WORDS).reshape(2, -1)
"""Words of either language."""
SEEN, UNSEEN = len(RESERVED) + 2 * WORDS + np.arange(2 * NAMES).reshape(2, -1)
"""Names, the same in both languages: those of the training pairs, and others."""


def named(number: int, names: Ids, seed: int) -> tuple[list[Ids], list[Ids]]:
    """Sentences of one or two words and a name, and their translations word by word."""
    random = np.random.default_rng(seed)
    sides: tuple[list[Ids], list[Ids]] = [], []
    for _ in range(number):
        words = random.choice(WORDS, random.integers(1, 3), replace=False)
        place, name = random.integers(0, len(words) + 1), random.choice(names)
        for side, language in zip(sides, (OWN, OTHER), strict=True):
            side.append(np.insert(language[words], place, name).astype(np.int32))
    return sides


def trained(copy: bool) -> TranslationNetwork:
    torch.manual_seed(1)
    shape = {"width": 32, "hidden": 32, "decoder_layers": 1, "copy": copy}
    settings = TRANSLATORS.settings("recurrent", shape)
    made = TRANSLATORS.build("recurrent", settings, {"pieces": int(UNSEEN[-1]) + 1})
    training = TranslatorSettings(
        batch_size=32, updates=400, learning_rate=0.01, warmup=20, dropout=0.0, label_smoothing=0.0
    )
    source, target = map(Sentences, named(3000, SEEN, seed=1))
    stream = translation_stream(
        Corpus(source, target, np.ones(3000)), training, torch.device("cpu")
    )
    pupil = TranslationLearner(made, training)
    optimiser = pupil.optimiser()
    for number, batch in zip(range(stream.updates), stream.batches(0), strict=False):
        update(pupil, optimiser, batch, (number, stream.updates))
    return made.eval()


def right(made: TranslationNetwork, names: Ids) -> float:
    """The share of sentences that greedy search translates without an error."""
    source, target = named(200, names, seed=2)
    every = rows(*(ids.tolist() for ids in source))
    with torch.no_grad():
        found = search_translations(
            made, every, torch.ones(200, dtype=torch.bool), Beam(1), Limits(8)
        )
    pairs = zip(found.ids[:, 0].tolist(), target, strict=True)
    return sum([n for n in ids if n != PAD] == wanted.tolist() for ids, wanted in pairs) / 200


def test_names_that_were_never_seen_are_copied_and_cannot_be_generated() -> None:
    with one_torch_thread():
        copying, generating = trained(True), trained(False)
        assert right(copying, SEEN) > 0.9 and right(generating, SEEN) > 0.9
        assert right(copying, UNSEEN) > 0.85 and right(generating, UNSEEN) < 0.02
