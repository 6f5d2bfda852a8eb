"""The training loop: it learns, and a resumed run is the run that was never interrupted."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations, islice
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from bitextfilter.encoders.expressions import PARTS
from bitextfilter.encoders.registry import ENCODERS
from bitextfilter.errors import ModelError, NotFoundError, SettingsError
from bitextfilter.io.vectors import GivenVectors
from bitextfilter.text.ragged import PIECES
from bitextfilter.training.data import Corpus, Lessons, Sentences, inputs_of
from bitextfilter.training.encoder_learner import (
    BilingualLearner,
    mega_negatives,
    mini_batches,
    pair_stream,
)
from bitextfilter.training.loop import Hooks, LazyAdam, Progress, clip_norm, learn
from bitextfilter.training.settings import TrainingSettings, validation_interval
from bitextfilter.training.start import start_small

VOCABULARY = 30
SETTINGS = TrainingSettings(
    batch_size=8, passes=3, learning_rate=0.01, warmup=2, validate_every=4, samples=20, dropout=0.1
)

TRIPLET = {"translation": 0.0, "autoencoding": 0.0, "ranking": 0.0, "triplet": 1.0}


def corpus(seed: int = 0) -> Corpus:
    """Sentences of ids 4–16 whose translation adds 13 to each."""
    random = np.random.default_rng(seed)
    rows = [random.integers(4, 17, random.integers(1, 6)).astype(np.int32) for _ in range(40)]
    return Corpus(Sentences(rows), Sentences([row + 13 for row in rows]), np.ones(40))


def model(
    settings: TrainingSettings, name: str = "autoencoder", **shape: object
) -> BilingualLearner:
    torch.manual_seed(settings.seed)
    values = ENCODERS.settings(name, {"embedding": 8, **shape})
    view = "trigrams" if name == "trigram" else "pieces"
    network = ENCODERS.build(name, values, {view: VOCABULARY})
    counts = np.ones(VOCABULARY, dtype=np.int64)
    return BilingualLearner(network, shape.get("cell", "lstm"), counts, settings)  # type: ignore[arg-type]


def train(
    model: BilingualLearner,
    data: tuple[Corpus, dict[int, Sentences]],
    hooks: Hooks,
    folder: Path,
    resume: bool = False,
) -> Progress:
    return learn(model, pair_stream(model, data), hooks, folder, resume)


class Watch:
    """Validates by adding up, and can pull the plug."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.stop_at = stop_at

    def hooks(self) -> Hooks:
        return Hooks(self._error, lambda *_: None, self.report)

    def _error(self, network: nn.Module) -> float:
        return 1.0 - 1e-3 * float(sum(p.detach().double().sum() for p in network.parameters()))

    def report(self, progress: Progress, updates: int) -> None:
        if progress.update == self.stop_at:
            raise KeyboardInterrupt


@pytest.mark.parametrize("lone", [False, True])
def test_a_taught_mini_batch_ranks_every_two_of_its_sides(tmp_path: Path, lone: bool) -> None:
    """Against a loop over pairs of sides and rows; a lone text is of the second language."""
    pairs, random = corpus(), np.random.default_rng(1)
    np.save(tmp_path / "teacher.npy", random.standard_normal((40, 8)).astype(np.float32))
    lessons = Lessons(GivenVectors(str(tmp_path / "teacher.npy")), np.arange(40)[::-1], int(lone))
    source = pairs.target if lone else pairs.source
    data = Corpus(source, pairs.target, pairs.weights, lessons=lessons)
    learner = model(replace(SETTINGS, translation=0.0, autoencoding=0.0, dropout=0.0), hidden=4)
    batch = next(mini_batches(learner, (data, {}), 0))
    losses = learner(batch)
    assert set(losses) == {"taught"}
    sides = [learner.encode(side, int(lone) + n) for n, side in enumerate(batch.sides)]
    assert batch.taught is not None and len(sides) == 2 - lone
    units = [each / each.norm(dim=1, keepdim=True) for each in (*sides, batch.taught)]
    found, scale = [], SETTINGS.scale
    for one, other in combinations(units, 2):
        for left, right in ((one, other), (other, one)):
            for row in range(len(left)):
                logits = [
                    scale * (left[row] @ right[n] - SETTINGS.margin * (n == row))
                    for n in range(len(right))
                    if n == row or not batch.same[row, n]
                ]
                right_one = scale * (left[row] @ right[row] - SETTINGS.margin)
                found.append(torch.stack(logits).logsumexp(0) - right_one)
    torch.testing.assert_close(losses["taught"], torch.stack(found).mean())


@pytest.mark.gate(2)
@pytest.mark.parametrize(
    ("name", "shape", "changes"),
    [
        ("autoencoder", {"hidden": 4}, {}),
        ("autoencoder", {"hidden": 4, "average": True}, {"optimiser": "sgd", "schedule": "paper"}),
        ("autoencoder", {"hidden": 4, "cell": "gru", "layers": 2}, {"decode": "both"}),
        ("averaging", {}, {"translation": 0.0, "autoencoding": 0.0}),
        ("word+lstm", {}, {**TRIPLET, "mega_batch": 2, "scramble": 0.3, "drift": 0.1}),
        ("word", {}, {**TRIPLET, "optimiser": "lazy-adam", "clip": 0.5}),
        ("gran,blstm", {}, {**TRIPLET, "contrastive": 1.0, "dropout_kind": "variational"}),
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


@pytest.mark.parametrize("mega_batch", [1, 2])
def test_a_run_killed_before_its_first_validation_goes_on_from_the_saved_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mega_batch: int
) -> None:
    """The state is saved by time, but never between the mini-batches of a mega-batch."""
    settings = replace(SETTINGS, **TRIPLET, mega_batch=mega_batch, validate_every=1000)  # type: ignore[arg-type]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir(), cut.mkdir()
    data = (corpus(), {})
    straight = train(model(settings, "word"), data, Watch().hooks(), whole)
    monkeypatch.setattr("bitextfilter.training.loop.SAVE_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        train(model(settings, "word"), data, Watch(stop_at=7).hooks(), cut)
    state = json.loads((cut / "state.json").read_text())
    assert (state["update"], state["history"]) == (7 // mega_batch * mega_batch, [])
    resumed = train(model(settings, "word"), data, Watch().hooks(), cut, resume=True)
    assert resumed == straight


def test_validations_are_many_whatever_the_size(tmp_path: Path) -> None:
    """Without a setting, ten times at least."""
    for updates, passes, block, every in (
        (13135, 3, 40, 1000), (6036, 3, 40, 480), (500, 10, 40, 40), (100, 1, 1, 10), (5, 1, 1, 1)
    ):  # fmt: skip
        assert validation_interval(updates, passes, block) == every
    settings = replace(SETTINGS, validate_every=0, passes=2)
    progress = train(model(settings, hidden=4), (corpus(), {}), Watch().hooks(), tmp_path)
    assert [row["update"] for row in progress.history] == list(range(1, 11))


@pytest.mark.gate(3)
@pytest.mark.parametrize(
    "changes",
    [
        {"softmax": "sampled", "decode": "both"},
        {"softmax": "full", "decode": "source"},
        {"softmax": "adaptive", "decode": "target"},
        {"softmax": "full", "decode": "target", "precision": "bfloat16", "decoded_share": 0.5},
    ],
)
def test_every_objective_goes_down(tmp_path: Path, changes: dict[str, object]) -> None:
    rare = {"passes": 12, "dropout": 0.0, "validate_every": 20}
    settings = replace(SETTINGS, **{**rare, **changes})  # type: ignore[arg-type]
    progress = train(model(settings, hidden=8), (corpus(), {}), Watch().hooks(), tmp_path)
    first, last = progress.history[0], progress.history[-1]
    for name in ("translation", "autoencoding", "ranking"):
        assert last[name] < 0.9 * first[name], name


def test_when_a_training_ends(tmp_path: Path) -> None:
    """When validation no longer improves; weights count in the length of a run."""
    settings = replace(SETTINGS, patience=2, passes=50)
    hooks = Hooks(lambda _: 1.0, lambda *_: None, lambda *_: None)
    progress = train(model(settings, hidden=4), (corpus(), {}), hooks, tmp_path)
    assert (progress.update, progress.best) == (3 * settings.validate_every, 1.0)
    learner, pairs = model(replace(SETTINGS, passes=2), hidden=4), corpus()
    for weight, updates in ((1, 10), (2, 20)):
        weighted = Corpus(pairs.source, pairs.target, pairs.weights * weight)
        assert pair_stream(learner, (weighted, {})).updates == updates


def test_a_loss_that_is_no_number_or_no_state_ends_the_run(tmp_path: Path) -> None:
    broken = model(SETTINGS, hidden=4)
    with pytest.raises(NotFoundError, match="resume"):
        train(broken, (corpus(), {}), Watch().hooks(), tmp_path, resume=True)
    with torch.no_grad():
        broken.begin.fill_(float("nan"))
    with pytest.raises(ModelError, match="update 1"):
        train(broken, (corpus(), {}), Watch().hooks(), tmp_path)


@pytest.mark.gate(4)
@pytest.mark.parametrize("name", [*(n for n in PARTS if n != "trigram"), "word+lstm,gran"])
@pytest.mark.parametrize(
    "changes",
    [
        {"mega_batch": 2},
        {"triplet_sides": "one", "negatives": "other", "composition": 1e-4},
        {"triplet": 0.0, "contrastive": 1.0, "initial": "uniform"},
        {"dropout": 0.2, "dropout_kind": "variational", "scramble": 0.1, "drift": 1e-5},
    ],
)
def test_every_part_learns_by_every_loss(
    tmp_path: Path, name: str, changes: dict[str, object]
) -> None:
    quick = {"batch_size": 5, "passes": 6, "learning_rate": 0.02, "validate_every": 8}
    settings = replace(SETTINGS, **{**TRIPLET, **quick, **changes})  # type: ignore[arg-type]
    made = model(settings, name)
    if settings.initial == "uniform":
        start_small(made.network, 1)
    progress = train(made, (corpus(), {}), Watch().hooks(), tmp_path)
    for loss in ("triplet", "contrastive"):
        if getattr(settings, loss):
            assert progress.history[-1][loss] < 0.9 * progress.history[0][loss]


@pytest.mark.parametrize("negatives", ["same", "other"])
def test_the_negatives_of_a_mega_batch_are_the_nearest_of_all_its_pairs(negatives: str) -> None:
    """And they reach its mini-batches."""
    settings = replace(SETTINGS, **TRIPLET, mega_batch=3, validate_every=3, negatives=negatives)
    made, data = model(settings, "word"), corpus()
    mega = [np.array([3, 8, 1]), np.array([30, 2]), np.array([7, 17, 9])]
    found = mega_negatives(made, data, mega)
    every = np.concatenate(mega)
    table = made.network.piece_tables()[0].weight.detach().numpy()
    texts = [list(data.side(side).views[PIECES]) for side in (0, 1)]
    vectors = [np.stack([table[rows[row]].mean(0) for row in every]) for rows in texts]
    vectors = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in vectors]
    for side in (0, 1):
        pool = vectors[side if negatives == "same" else 1 - side]
        for place, row in enumerate(every):
            cosines = {
                other: float(vectors[side][place] @ pool[i])
                for i, other in enumerate(every)
                if all(data.keys[s][row] != data.keys[s][other] for s in (0, 1))
            }
            got = np.concatenate([each[side] for each in found])[place]
            assert cosines[got] == pytest.approx(max(cosines.values()), abs=1e-6)
    drawn = list(islice(data.batches(settings.batch_size, settings.seed, 0), 3))
    found = mega_negatives(made, data, drawn)
    for batch, places in zip(mini_batches(made, (data, {}), 0), found, strict=False):
        for side, given in zip((0, 1), batch.negatives, strict=True):
            assert given.present.all()
            read, pool = given.sentences["pieces"], texts[side if negatives == "same" else 1 - side]
            rows = zip(read.ids, read.lengths, strict=True)
            expected = [pool[place].tolist() for place in places[side]]
            assert [ids[:length].tolist() for ids, length in rows] == expected


def test_settings_that_cannot_be() -> None:
    with pytest.raises(SettingsError, match=r"training\.translation"):
        model(SETTINGS, "trigram")
    with pytest.raises(SettingsError, match="multiple of mega_batch=3"):
        replace(SETTINGS, mega_batch=3)


def test_one_language_is_read_one_way() -> None:
    plain = model(replace(SETTINGS, **TRIPLET), "gran", tables="separate")  # type: ignore[arg-type]
    counts = np.ones(VOCABULARY, dtype=np.int64)
    made = BilingualLearner(plain.network, "lstm", counts, plain.settings, True).eval()
    sentences = inputs_of(corpus().source, np.arange(5), ("pieces",), torch.device("cpu"))
    assert torch.equal(made.encode(sentences, 0), made.encode(sentences, 1))
    made.read_as = (0, 1)
    assert not torch.equal(made.encode(sentences, 0), made.encode(sentences, 1))


def trained(sparse: bool, lazy: bool, whole: bool = False) -> tuple[nn.Embedding, nn.Linear]:
    torch.manual_seed(3)
    table, layer = nn.Embedding(9, 4, sparse=sparse), nn.Linear(4, 3)
    kind = torch.optim.SparseAdam if sparse else torch.optim.Adam
    optimisers: list[torch.optim.Optimizer] = [
        kind(table.parameters(), lr=0.05),
        torch.optim.Adam(layer.parameters(), lr=0.05),
    ]
    if lazy:
        both = [*table.parameters(), *layer.parameters()]
        optimisers = [LazyAdam(both, 0.05, [table.weight] if whole else [])]
    generator = torch.Generator().manual_seed(4)
    for _ in range(12):
        ids = torch.randint(0, 9, (5,), generator=generator)
        table.zero_grad(), layer.zero_grad()
        layer(table(ids)).square().sum().backward()
        for optimiser in optimisers:
            optimiser.step()
    return table, layer


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"sparse": False, "lazy": True}, {"sparse": False, "lazy": False}),
        ({"sparse": True, "lazy": True}, {"sparse": True, "lazy": False}),
        ({"sparse": True, "lazy": True, "whole": True}, {"sparse": False, "lazy": True}),
    ],
    ids=["dense", "sparse", "all rows of a whole table"],
)
def test_it_is_the_adam_of_torch(ours: dict[str, bool], theirs: dict[str, bool]) -> None:
    for layer, same in zip(trained(**ours), trained(**theirs), strict=True):
        for one, other in zip(layer.parameters(), same.parameters(), strict=True):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize("largest", [0.1, 1e6])
def test_clipping_is_that_of_torch(largest: float) -> None:
    def gradients(sparse: bool) -> list[nn.Parameter]:
        torch.manual_seed(3)
        table, layer = nn.Embedding(9, 4, sparse=sparse), nn.Linear(4, 3)
        layer(table(torch.tensor([1, 2, 1, 8]))).square().sum().backward()
        return [*table.parameters(), *layer.parameters()]

    ours, theirs = gradients(sparse=True), gradients(sparse=False)
    clip_norm(ours, largest)
    nn.utils.clip_grad_norm_(theirs, largest)
    for one, other in zip(ours, theirs, strict=True):
        assert one.grad is not None and other.grad is not None
        torch.testing.assert_close(one.grad.to_dense(), other.grad)
