"""The training by way of a third language: its loss, its mini-batches, and resuming."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from bitextfilter.encoders.registry import ENCODERS
from bitextfilter.errors import SettingsError
from bitextfilter.papers.pivot import (
    PivotBatch,
    PivotLearner,
    check_settings,
    pivot_stream,
)
from bitextfilter.text.ragged import PIECES
from bitextfilter.text.vocabulary import END
from bitextfilter.training.data import Corpus, Sentences
from bitextfilter.training.loop import Hooks, learn
from bitextfilter.training.settings import TrainingSettings

Array = NDArray[np.float64]

SIZE, PIVOT_SIZE = 30, 24
SETTINGS = TrainingSettings(
    autoencoding=0.0, ranking=0.0, batch_size=8, passes=3, learning_rate=0.01, warmup=2,
    validate_every=4, samples=20, dropout=0.1,
)  # fmt: skip
CPU = torch.device("cpu")


def corpora(counts: tuple[int, int] = (40, 24)) -> tuple[Corpus, Corpus]:
    """Pairs of ids 4–16 or 17–29 with a pivot of ids 4–16; each sentence names its row."""
    made = []
    for side, count in enumerate(counts):
        random = np.random.default_rng(side)
        rows = [
            random.integers(4, 17, random.integers(1, 6)).astype(np.int32) for _ in range(count)
        ]
        sources = Sentences([row + 13 * side for row in rows])
        made.append(Corpus(sources, Sentences([row[::-1] for row in rows]), np.ones(count)))
    return made[0], made[1]


def learner(settings: TrainingSettings, one_language: bool = False) -> PivotLearner:
    torch.manual_seed(settings.seed)
    shape = ENCODERS.settings("pivot", {"embedding": 6, "hidden": 4})
    network = ENCODERS.build("pivot", shape, {PIECES: SIZE})
    counts = np.arange(PIVOT_SIZE)
    return PivotLearner(network, shape.cell, counts, settings, one_language)


def batches(settings: TrainingSettings, skip: int = 0) -> Iterator[PivotBatch]:
    return pivot_stream(corpora(), settings, (PIECES,), CPU).batches(skip)


def lstm(inputs: Array, state: dict[str, Array], start: Array) -> Array:
    """States of an LSTM from its equations: both of its memories begin as ``start``."""
    hidden, cell, states = start, start, []
    for row in inputs:
        gates = state["weight_ih_l0"] @ row + state["weight_hh_l0"] @ hidden
        gates = gates + state["bias_ih_l0"] + state["bias_hh_l0"]
        entry, forget, new, out = np.split(gates, 4)
        cell = cell / (1 + np.exp(-forget)) + np.tanh(new) / (1 + np.exp(-entry))
        hidden = np.tanh(cell) / (1 + np.exp(-out))
        states.append(hidden)
    return np.stack(states)


def naive_loss(model: PivotLearner, side: int, ids: list[int], pivots: list[int]) -> list[float]:
    """Of each piece of the pivot, and the end, what it costs to write it after the others."""
    state = {name: value.double().numpy() for name, value in model.state_dict().items()}

    def part(prefix: str) -> dict[str, Array]:
        return {n.removeprefix(prefix): v for n, v in state.items() if n.startswith(prefix)}

    words, nothing = state["network.embedding.weight"][ids], np.zeros(4)
    ahead = lstm(words, part(f"network.encoders.{side}.forwards.0."), nothing)
    back = lstm(words[::-1], part(f"network.encoders.{side}.backwards.0."), nothing)
    vector = np.concatenate([ahead.max(axis=0), back.max(axis=0)])
    before = np.concatenate([state["begin"], state["pieces.weight"][pivots]])
    costs = []
    for hidden, right in zip(
        lstm(before, part("decoder.cells."), vector), [*pivots, END], strict=True
    ):
        logits = state["output.layer.weight"] @ hidden + state["output.layer.bias"]
        costs.append(float(np.log(np.exp(logits).sum()) - logits[right]))
    return costs


@pytest.mark.parametrize("one_language", [False, True])
def test_the_loss_is_the_cross_entropy_of_the_pivot_from_either_side(one_language: bool) -> None:
    model = learner(SETTINGS, one_language).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    batch = next(batches(SETTINGS))
    with torch.no_grad():
        losses = model(batch)
    assert list(losses) == ["source_pivot", "target_pivot"]
    for side, (inputs, pivots) in enumerate(batch):
        costs: list[float] = []
        for row, length, to, other in zip(
            inputs[PIECES].ids, inputs[PIECES].lengths, pivots.ids, pivots.lengths, strict=True
        ):
            read_as = 0 if one_language else side
            costs += naive_loss(model, read_as, row[:length].tolist(), to[:other].tolist())
        assert float(list(losses.values())[side]) == pytest.approx(np.mean(costs), rel=1e-5)


def test_both_sides_count_as_translation_and_are_summed() -> None:
    model = learner(replace(SETTINGS, translation=0.5, drift=0.2, composition=0.1))
    losses = {
        name: torch.tensor(value)
        for name, value in (
            ("source_pivot", 3.0), ("target_pivot", 5.0), ("drift", 7.0), ("composition", 11.0),
        )
    }  # fmt: skip
    assert float(model.weighted(losses)) == pytest.approx(0.5 * 8 + 0.2 * 7 + 0.1 * 11)
    assert set(model(next(batches(SETTINGS)))) == set(losses)


def test_mini_batches_hold_as_many_pairs_of_either_kind() -> None:
    seen: list[list[tuple[int, ...]]] = [[], []]
    stream = batches(SETTINGS)
    for _ in range(5 * 3):  # passes over the 40 pairs of one kind; of the other, 24, five
        for side, (inputs, pivots) in enumerate(next(stream)):
            rows = inputs[PIECES]
            assert len(rows.ids) == len(pivots.ids) == 8
            assert torch.equal(rows.lengths, pivots.lengths)
            for row, to, length in zip(rows.ids, pivots.ids, rows.lengths, strict=True):
                assert (row[:length] - 13 * side).tolist() == to[:length].flip(0).tolist()
                seen[side].append(tuple(row[:length].tolist()))
    for side, corpus in enumerate(corpora()):
        rows = sorted(tuple(row.tolist()) for row in corpus.source.views[PIECES])
        assert sorted(seen[side]) == sorted(rows * (120 // len(rows)))


def test_the_length_of_a_run_is_the_mean_of_both_kinds() -> None:
    assert pivot_stream(corpora(), SETTINGS, (PIECES,), CPU).updates == 3 * (40 + 24) / 2 / 8
    one, other = corpora()
    heavy = Corpus(one.source, one.target, one.weights * 3)
    assert pivot_stream((heavy, other), SETTINGS, (PIECES,), CPU).updates == 3 * (120 + 24) / 2 / 8


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"autoencoding": 1.0}, "set training.autoencoding to 0"),
        ({"ranking": 0.1}, "set training.ranking to 0"),
        ({"triplet": 1.0}, "set training.triplet to 0"),
        ({"contrastive": 1.0}, "set training.contrastive to 0"),
        ({"decode": "both"}, "set training.decode to target"),
        ({"decoded_share": 0.5}, "set training.decoded_share to 1"),
    ],
)
def test_no_other_objective_can_be_trained(changes: dict[str, object], message: str) -> None:
    check_settings(SETTINGS)
    with pytest.raises(SettingsError, match=message):
        check_settings(replace(SETTINGS, **changes))  # type: ignore[arg-type]


def test_a_resumed_run_reads_the_same() -> None:
    """The state of the learner is kept by the loop, as that of any other."""
    eighth = next(islice(batches(SETTINGS), 7, None))
    resumed = next(batches(SETTINGS, skip=7))
    for (inputs, pivots), (again, written) in zip(eighth, resumed, strict=True):
        assert torch.equal(inputs[PIECES].ids, again[PIECES].ids)
        assert torch.equal(pivots.ids, written.ids)


def test_both_cross_entropies_go_down(tmp_path: Path) -> None:
    settings = replace(SETTINGS, passes=12, dropout=0.0, learning_rate=0.02)
    stream = pivot_stream(corpora(), settings, (PIECES,), CPU)
    hooks = Hooks(lambda _: 1.0, lambda *_: None, lambda *_: None)
    history = learn(learner(settings), stream, hooks, tmp_path).history
    for name in ("source_pivot", "target_pivot"):
        assert history[-1][name] < 0.9 * history[0][name]
