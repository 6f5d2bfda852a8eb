"""The training loop: it learns, and a resumed run is the run that was never interrupted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from bitextfilter.encoders.registry import architecture_settings, build_network
from bitextfilter.errors import ModelError, NotFoundError
from bitextfilter.training.autoencoder import BilingualTraining
from bitextfilter.training.data import Corpus, Sentences
from bitextfilter.training.loop import Hooks, count_updates, train
from bitextfilter.training.settings import TrainingSettings
from bitextfilter.training.state import Progress

VOCABULARY = 30
SETTINGS = TrainingSettings(
    batch_size=8, passes=3, learning_rate=0.01, warmup=2, validate_every=4, samples=20, dropout=0.1
)


def corpus(seed: int = 0) -> Corpus:
    """Sentences of ids 4–16 whose translation adds 13 to each."""
    random = np.random.default_rng(seed)
    rows = [random.integers(4, 17, random.integers(1, 6)).astype(np.int32) for _ in range(40)]
    return Corpus(Sentences(rows), Sentences([row + 13 for row in rows]), np.ones(40))


def model(
    settings: TrainingSettings, name: str = "autoencoder", **shape: object
) -> BilingualTraining:
    torch.manual_seed(settings.seed)
    values = architecture_settings(name, {"embedding": 8, **shape})
    network = build_network(name, values, VOCABULARY)
    counts = np.ones(VOCABULARY, dtype=np.int64)
    return BilingualTraining(network, values.dim, shape.get("cell", "lstm"), counts, settings)  # type: ignore[arg-type]


class Watch:
    """Validates by counting, and can pull the plug."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.stop_at, self.kept = stop_at, 0

    def hooks(self) -> Hooks:
        return Hooks(lambda network: 1.0 - 1e-3 * self._sum(network), self.better, self.report)

    def _sum(self, network: nn.Module) -> float:
        return float(sum(p.detach().double().sum() for p in network.parameters()))

    def better(self, network: nn.Module, progress: Progress) -> None:
        self.kept += 1

    def report(self, progress: Progress, updates: int) -> None:
        if progress.update == self.stop_at:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("name", "shape", "changes"),
    [
        ("autoencoder", {"hidden": 4}, {}),
        ("autoencoder", {"hidden": 4, "average": True}, {"optimiser": "sgd", "schedule": "paper"}),
        ("autoencoder", {"hidden": 4, "cell": "gru", "layers": 2}, {"decode": "both"}),
        ("averaging", {}, {"translation": 0.0, "autoencoding": 0.0}),
    ],
)
def test_resumed_is_uninterrupted(
    tmp_path: Path, name: str, shape: dict[str, object], changes: dict[str, object]
) -> None:
    settings = replace(SETTINGS, **changes)  # type: ignore[arg-type]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir(), cut.mkdir()
    data = (corpus(), {1: corpus(1).target})
    one = model(settings, name, **shape)
    straight = train(one, data, Watch().hooks(), whole)
    with pytest.raises(KeyboardInterrupt):
        train(model(settings, name, **shape), data, Watch(stop_at=6).hooks(), cut)
    other = model(replace(settings, seed=99), name, **shape)
    other.settings = settings
    torch.manual_seed(5)
    resumed = train(other, data, Watch().hooks(), cut, resume=True)
    assert resumed == straight
    assert len(straight.history) == 4
    for key, value in one.state_dict().items():
        assert torch.equal(value, other.state_dict()[key]), key


@pytest.mark.parametrize("softmax", ["full", "sampled", "adaptive"])
@pytest.mark.parametrize("decode", ["source", "target", "both"])
def test_every_objective_goes_down(tmp_path: Path, softmax: str, decode: str) -> None:
    settings = replace(SETTINGS, softmax=softmax, decode=decode, passes=12, dropout=0.0)
    progress = train(model(settings, hidden=8), (corpus(), {}), Watch().hooks(), tmp_path)
    first, last = progress.history[0], progress.history[-1]
    for name in ("translation", "autoencoding", "ranking"):
        assert last[name] < 0.9 * first[name], name


def test_bfloat16_trains_too(tmp_path: Path) -> None:
    settings = replace(SETTINGS, precision="bfloat16", passes=12, decoded_share=0.5)
    progress = train(model(settings, hidden=8), (corpus(), {}), Watch().hooks(), tmp_path)
    assert progress.history[-1]["ranking"] < 0.9 * progress.history[0]["ranking"]


def test_training_stops_when_validation_no_longer_improves(tmp_path: Path) -> None:
    settings = replace(SETTINGS, patience=2, passes=50)
    hooks = Hooks(lambda _: 1.0, lambda *_: None, lambda *_: None)
    progress = train(model(settings, hidden=4), (corpus(), {}), hooks, tmp_path)
    assert progress.update == 3 * settings.validate_every
    assert progress.best == 1.0


def test_a_loss_that_is_no_number_ends_the_run(tmp_path: Path) -> None:
    broken = model(SETTINGS, hidden=4)
    with torch.no_grad():
        broken.begin.fill_(float("nan"))
    with pytest.raises(ModelError, match="update 1"):
        train(broken, (corpus(), {}), Watch().hooks(), tmp_path)


def test_there_must_be_a_state_to_resume(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="resume"):
        train(model(SETTINGS, hidden=4), (corpus(), {}), Watch().hooks(), tmp_path, resume=True)


def test_weights_count_in_the_length_of_a_run() -> None:
    heavy = replace(SETTINGS, passes=2)
    pairs = corpus()
    double = Corpus(pairs.source, pairs.target, pairs.weights * 2)
    assert count_updates(pairs, heavy) == 10
    assert count_updates(double, heavy) == 20
