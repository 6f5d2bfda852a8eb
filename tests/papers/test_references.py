"""Training of the classifier of references: its negatives, its loss, its mini-batches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
import torch

from bitextfilter.encoders.base import Padded
from bitextfilter.encoders.reference_classifier import ReferenceNetwork, ReferenceSettings
from bitextfilter.errors import SettingsError
from bitextfilter.models.device import one_torch_thread
from bitextfilter.papers import references
from bitextfilter.papers.references import (
    ReferenceBatch,
    ReferenceCorpus,
    ReferenceLearner,
    ReferenceTraining,
    reference_stream,
)
from bitextfilter.text.ragged import Ragged

CPU = torch.device("cpu")
COUNTS = [1, 4, 2, 3, 1, 5, 2]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """So small that more threads would only wait for each other."""
    with one_torch_thread():
        yield


def corpus() -> ReferenceCorpus:
    """Reference number n is the ids n+4, n+4, …; its translations begin with n+4, too."""
    random = np.random.default_rng(1)
    references = [np.full(random.integers(1, 5), n + 4, dtype=np.int32) for n in range(7)]
    translations = [
        np.array([n + 4, *random.integers(20, 40, random.integers(1, 7))], dtype=np.int32)
        for n, count in enumerate(COUNTS)
        for _ in range(count)
    ]
    return ReferenceCorpus(Ragged.of(references), Ragged.of(translations), np.array(COUNTS))


def learner(**settings: object) -> ReferenceLearner:
    torch.manual_seed(2)
    network = ReferenceNetwork(ReferenceSettings("lstm", 6), {"pieces": 40})
    return ReferenceLearner(network, ReferenceTraining(**settings))  # type: ignore[arg-type]


def first(settings: ReferenceTraining) -> ReferenceBatch:
    return next(iter(reference_stream(corpus(), settings, CPU).batches(0)))


def logit(made: ReferenceLearner, ids: torch.Tensor, length: torch.Tensor) -> float:
    """Of one sentence alone, without padding."""
    with torch.no_grad():
        rows = Padded(ids[None, : int(length)], length[None])
        return made.network({"pieces": rows}).item()


@pytest.mark.parametrize("together", [1024, 5])
def test_the_hardest_is_what_is_most_like_a_reference(
    together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "_TOGETHER", together)
    made = learner(negatives="hardest")
    batch = first(made.settings)
    assert len(batch.owners) == sum(COUNTS)
    rows = zip(batch.translations.ids, batch.translations.lengths, strict=True)
    logits = [logit(made, ids, length) for ids, length in rows]
    chosen = made.hardest(batch).tolist()
    assert len(chosen) == 7
    for owner, place in enumerate(chosen):
        own = [p for p in range(len(logits)) if batch.owners[p] == owner]
        assert place == max(own, key=lambda p: logits[p])


def test_of_equally_hard_ones_the_first() -> None:
    made, batch = learner(negatives="hardest"), first(ReferenceTraining(negatives="hardest"))
    same = Padded(torch.full_like(batch.translations.ids, 9), torch.ones_like(batch.owners))
    places = made.hardest(batch._replace(translations=same)).tolist()
    assert places == [batch.owners.tolist().index(owner) for owner in range(7)]


@pytest.mark.parametrize("penalty", [0.0, 0.01])
def test_the_loss_is_the_mean_cross_entropy(penalty: float) -> None:
    made = learner(negatives="hardest", penalty=penalty)
    batch = first(made.settings)
    chosen, expected = made.hardest(batch).tolist(), 0.0
    for owner, place in enumerate(chosen):
        person = logit(made, batch.references.ids[owner], batch.references.lengths[owner])
        machine = logit(made, batch.translations.ids[place], batch.translations.lengths[place])
        expected += math.log(1 + math.exp(-person)) + math.log(1 + math.exp(machine))
    losses = made(batch)
    assert losses["classification"].item() == pytest.approx(expected / 14, rel=1e-5)
    squares = sum(x * x for row in made.network.embedding.weight.tolist() for x in row)
    total = expected / 14 + penalty * squares
    assert made.weighted(losses).item() == pytest.approx(total, rel=1e-5)
    assert ("penalty" in losses) == (penalty > 0)


@pytest.mark.parametrize("negatives", ["random", "hardest"])
def test_an_epoch_has_each_reference_once_with_its_own_translations(negatives: str) -> None:
    settings = ReferenceTraining(negatives=negatives, batch_size=3, epochs=2)
    stream = reference_stream(corpus(), settings, CPU)
    assert (stream.updates, stream.interval) == (6, 3)
    epochs = list(islice(stream.batches(0), 6))
    seen: list[int] = []
    for batch in epochs:
        owners = batch.references.ids[:, 0] - 4
        np.testing.assert_array_equal(batch.translations.ids[:, 0] - 4, owners[batch.owners])
        counts = torch.bincount(batch.owners).tolist()
        own = [COUNTS[owner] for owner in owners.tolist()]
        assert counts == (own if negatives == "hardest" else [1] * len(owners))
        seen += owners.tolist()
    assert sorted(seen[:7]) == sorted(seen[7:]) == list(range(7))
    assert seen[:7] != seen[7:]
    for skip in (1, 3):
        again = next(iter(stream.batches(skip)))
        torch.testing.assert_close(again.translations.ids, epochs[skip].translations.ids)


def test_random_negatives_are_all_of_them_in_the_end() -> None:
    settings = ReferenceTraining(epochs=60, batch_size=7)
    stream = reference_stream(corpus(), settings, CPU)
    drawn = {
        tuple(ids[:length].tolist())
        for batch in islice(stream.batches(0), 60)
        for ids, length in zip(batch.translations.ids, batch.translations.lengths, strict=True)
    }
    assert drawn == {tuple(row.tolist()) for row in corpus().translations}


@pytest.mark.parametrize(
    "values",
    [{"negatives": "worst"}, {"epochs": 0}, {"batch_size": 0}, {"learning_rate": 0},
     {"penalty": -1}, {"held_out": 0.5}, {"held_out": 0}],
)  # fmt: skip
def test_settings_that_make_no_sense(values: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        ReferenceTraining(**values)  # type: ignore[arg-type]
