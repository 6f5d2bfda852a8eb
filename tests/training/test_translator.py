"""Training of translators: the objective, the schedule, and exact resuming."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from translators import CASES, COPYING, network, rows, with_templates

from bitextfilter.arrays import Ids
from bitextfilter.errors import SettingsError
from bitextfilter.models.device import one_torch_thread
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.vocabulary import BEGIN, END, PAD, RESERVED
from bitextfilter.training.data import Corpus, Sentences
from bitextfilter.training.loop import Hooks, Progress, learn, update
from bitextfilter.training.settings import TranslatorSettings
from bitextfilter.training.translator_training import TranslationLearner, _Pairs, translation_stream
from bitextfilter.translation.network import Beam, Limits, TranslationNetwork, search_translations
from bitextfilter.translation.translator import TRANSLATORS, log_probabilities

VOCABULARY = 30
SETTINGS = TranslatorSettings(
    batch_size=8, passes=3, learning_rate=0.01, warmup=2, validate_every=4, patience=0
)
CPU = torch.device("cpu")


def corpus(seed: int = 0) -> Corpus:
    """Sentences of ids 4–16 whose translation adds 13 to each; templates of 1 to 3 symbols."""
    random = np.random.default_rng(seed)
    rows = [random.integers(4, 17, random.integers(1, 6)).astype(np.int32) for _ in range(40)]
    templates = Ragged.of(1 + row[:3] % 5 for row in rows)
    sides = Sentences(rows), Sentences([row + 13 for row in rows])
    return Corpus(*sides, np.ones(40), templates)


def learner(
    case: tuple[str, dict[str, object]], settings: TranslatorSettings, seed: int = 1
) -> TranslationLearner:
    return TranslationLearner(network(*case, VOCABULARY, seed), settings)


def error(network: nn.Module) -> float:
    return 1.0 - 1e-3 * float(sum(p.detach().double().sum() for p in network.parameters()))


def hooks(stop_at: int | None = None) -> Hooks:
    def report(progress: Progress, updates: int) -> None:
        if progress.update == stop_at:
            raise KeyboardInterrupt

    return Hooks(error, lambda *_: None, report)


@pytest.mark.gate(3)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"precision": "bfloat16", "schedule": "linear"},
        {"optimiser": "sgd", "learning_rate": 0.3},
    ],
)
def test_resumed_is_uninterrupted(
    tmp_path: Path, case: tuple[str, dict[str, object]], changes: dict[str, object]
) -> None:
    settings = replace(SETTINGS, **changes)  # type: ignore[arg-type]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir(), cut.mkdir()
    stream = translation_stream(corpus(), settings, CPU)
    assert stream.updates == 15
    with one_torch_thread():
        one = learner(case, settings)
        straight = learn(one, stream, hooks(), whole)
        with pytest.raises(KeyboardInterrupt):
            learn(learner(case, settings), stream, hooks(stop_at=6), cut)
        other = learner(case, settings, seed=99)
        torch.manual_seed(5)
        resumed = learn(other, stream, hooks(), cut, resume=True)
    assert resumed == straight and len(straight.history) == 4
    for key, value in one.state_dict().items():
        assert torch.equal(value, other.state_dict()[key]), key
    assert straight.history[-1]["translation"] < straight.history[0]["translation"]


@pytest.mark.gate(3)
@pytest.mark.parametrize("case", CASES)
def test_a_step_in_parts_is_a_step(
    case: tuple[str, dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for rounding: gradients add up, and so do losses."""
    settings = replace(SETTINGS, dropout=0.0, clip=0.0, batch_size=16, optimiser="sgd")
    batch = next(translation_stream(corpus(), settings, CPU).batches(0))
    found = []
    for positions in (1000, 40, 1):
        monkeypatch.setattr("bitextfilter.training.translator_training.PART", positions)
        made = learner(case, settings)
        made.network.double()
        optimiser = torch.optim.SGD(made.parameters(), lr=1.0)
        losses = update(made, optimiser, batch, (50, 100))
        weights = torch.cat([p.detach().flatten() for p in made.parameters()])
        found.append((len(made.parts(batch)), losses["translation"], weights))
    size = len(batch.sources.ids)
    assert [count for count, *_ in found][::2] == [1, size] and 1 < found[1][0] < size
    for _, loss, weights in found[1:]:
        assert loss == pytest.approx(found[0][1], abs=1e-9)
        torch.testing.assert_close(weights, found[0][2], rtol=0, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_without_smoothing_the_objective_is_the_cost(case: tuple[str, dict[str, object]]) -> None:
    """The two read the batch in different ways: all tokens together, and position by position."""
    made = learner(case, replace(SETTINGS, label_smoothing=0.0, dropout=0.0))
    batch = next(translation_stream(corpus(), SETTINGS, CPU).batches(0))
    with torch.no_grad():
        loss = made.weighted(made(batch))
        scores = log_probabilities(made.network, *batch)
    lengths = batch.targets.lengths + 1
    assert float(loss) == pytest.approx(float(-(scores * lengths).sum() / lengths.sum()), rel=1e-5)


def test_batches_hold_each_pair_once_a_pass_and_like_lengths_together() -> None:
    pairs = corpus()
    stream = translation_stream(pairs, SETTINGS, CPU)
    batches = [batch for batch, _ in zip(stream.batches(0), range(5), strict=False)]
    seen = []
    for batch in batches:
        spread = batch.sources.lengths.max() - batch.sources.lengths.min()
        assert spread <= 2
        for ids, length in zip(batch.targets.ids, batch.targets.lengths, strict=True):
            seen.append(tuple(ids[:length].tolist()))
            assert not ids[length:].any()
            assert not {BEGIN, END} & set(ids.tolist())
        assert batch.sources.templates is not None
        symbols = batch.sources.templates.ids
        for ids, length, template in zip(*batch.sources[:2], symbols, strict=True):
            expected = [1 + number % 5 for number in ids[:length].tolist()[:3]]
            assert template.tolist() == [*expected, 0, 0][: len(template)]
    assert sorted(seen) == sorted(tuple(row.tolist()) for row in pairs.target.views["pieces"])
    later = next(stream.batches(3))
    assert torch.equal(later.sources.ids, batches[3].sources.ids)


def test_schedules() -> None:
    root = TranslatorSettings(learning_rate=0.4, warmup=4)
    assert [root.learning_rate_at(u, 99) for u in (0, 1, 3, 15)] == [0.1, 0.2, 0.4, 0.2]
    line = replace(root, schedule="linear")
    assert [line.learning_rate_at(u, 24) for u in (1, 4, 14, 24)] == pytest.approx(
        [0.2, 0.4, 0.2, 0]
    )
    flat = replace(root, schedule="constant", warmup=0)
    assert {flat.learning_rate_at(u, 24) for u in range(30)} == {0.4}


@pytest.mark.parametrize(
    "changes",
    [{"schedule": "paper"}, {"validation": "chrf"}, {"dropout": 1.0}, {"label_smoothing": -0.1},
     {"passes": 0}, {"batch_size": 0}, {"optimiser": "lazy-adam"}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        replace(SETTINGS, **changes)  # type: ignore[arg-type]


Case = tuple[str, dict[str, object]]

SMOOTHED = TranslatorSettings(dropout=0.0, label_smoothing=0.1)
PAIRS = _Pairs(with_templates(rows([4, 7, 4], [8], [6, 5])), rows([4, 5], [8, 8, 6], [1]))


def copier(case: Case) -> TranslationLearner:
    return TranslationLearner(network(*case).double(), SMOOTHED)


def loss(made: TranslationLearner) -> Tensor:
    return made(PAIRS)["translation"]


@pytest.mark.parametrize("case", COPYING)
@pytest.mark.parametrize("some", [1, 3, 100])
def test_the_loss_is_that_of_whole_distributions(
    case: Case, some: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = copier(case)
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
    made, step = copier(case), 1e-5
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
    exact, narrow = copier(case), TranslationLearner(network(*case), SMOOTHED)
    narrow.settings = replace(SMOOTHED, precision="bfloat16")
    found = narrow.gradients(PAIRS)["translation"]
    assert found == pytest.approx(loss(exact).item(), rel=0.02)
    loss(exact).backward()  # type: ignore[no-untyped-call]
    for (name, one), other in zip(exact.named_parameters(), narrow.parameters(), strict=True):
        assert one.grad is not None and other.grad is not None
        assert torch.dist(one.grad, other.grad) < 0.1 * one.grad.norm() + 1e-3, name


WORDS, NAMES = 6, 30
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
        batch_size=32, updates=150, learning_rate=0.015, warmup=20, dropout=0.0, label_smoothing=0.0
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


@pytest.mark.gate(0)
def test_names_that_were_never_seen_are_copied_and_cannot_be_generated() -> None:
    with one_torch_thread():
        copying, generating = trained(True), trained(False)
        assert right(copying, SEEN) > 0.75 and right(generating, SEEN) > 0.75
        assert right(copying, UNSEEN) > 0.6 and right(generating, UNSEEN) < 0.02
