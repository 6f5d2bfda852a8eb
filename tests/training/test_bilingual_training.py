"""What a training minimises: each loss and penalty, for each setting, from the vectors anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bitextfilter.encoders.base import Padded
from bitextfilter.encoders.registry import ENCODERS
from bitextfilter.text.vocabulary import END
from bitextfilter.training.data import Corpus, Sentences, inputs_of
from bitextfilter.training.encoder_learner import (
    Batch,
    BilingualLearner,
    VariationalDropout,
    scrambled,
    shared_text,
    squared_norm,
    variational_mask,
)
from bitextfilter.training.loop import update
from bitextfilter.training.objectives import random_partners
from bitextfilter.training.settings import TrainingSettings

SIZE = 40
PLAIN = TrainingSettings(translation=0.0, autoencoding=0.0, ranking=0.0, triplet=1.0)


def made(
    settings: TrainingSettings, name: str = "word+lstm", **shape: object
) -> tuple[BilingualLearner, Batch, np.ndarray]:
    """A training, a batch of nine pairs, and the vectors of its two sides ``(2, 9, d)``."""
    torch.manual_seed(2)
    shaped = ENCODERS.settings(name, {"embedding": 8, **shape})
    network = ENCODERS.build(name, shaped, {"pieces": SIZE})
    model = BilingualLearner(network, "lstm", np.ones(SIZE, dtype=np.int64), settings)
    random = np.random.default_rng(1)
    rows = [random.integers(4, SIZE, random.integers(2, 6)).astype(np.int32) for _ in range(18)]
    rows[5] = rows[2]  # two pairs that share a source
    corpus = Corpus(Sentences(rows[:9]), Sentences(rows[9:]), np.ones(9))
    every = np.arange(9)
    cpu = torch.device("cpu")
    sides = tuple(inputs_of(corpus.side(side), every, ("pieces",), cpu) for side in (0, 1))
    batch = Batch((sides[0], sides[1]), shared_text(corpus, every), {})
    model.eval()
    with torch.no_grad():
        vectors = np.stack(
            [model.network(part, i).double().numpy() for i, part in enumerate(sides)]
        )
    return model, batch, vectors


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def loss(model: BilingualLearner, batch: Batch, name: str) -> float:
    with torch.no_grad():
        return float(model(batch)[name])


def test_ranking_of_three_languages_is_the_mean_of_their_pairs() -> None:
    settings = replace(PLAIN, ranking=1.0, triplet=0.0)
    model, batch, _ = made(settings, "averaging", embedding=8)
    one, other = batch.sides
    third = {view: Padded(rows.ids.flip(0), rows.lengths.flip(0)) for view, rows in one.items()}
    pairs = [
        loss(model, replace(batch, sides=sides), "ranking")
        for sides in ((one, other), (one, third), (other, third))
    ]
    together = loss(model, replace(batch, sides=(one, other, third)), "ranking")
    assert together == pytest.approx(sum(pairs) / 3, rel=1e-5)
    assert len({round(each, 4) for each in pairs}) == 3


def test_rows_that_share_a_text_on_any_of_three_sides() -> None:
    random = np.random.default_rng(3)
    sides = [Sentences(random.integers(4, 9, (12, 1)).astype(np.int32)) for _ in range(3)]
    corpus = Corpus(sides[0], sides[1], np.ones(12), None, sides[2])
    texts = [
        {side.views["pieces"].padded(np.array([row]))[0][0, 0] for side in sides}
        for row in range(12)
    ]
    expected = [[bool(one & other) for other in texts] for one in texts]
    assert shared_text(corpus, np.arange(12)).tolist() == expected


@pytest.mark.parametrize("margin", [0.2, 0.6])
@pytest.mark.parametrize("sides", ["both", "one"])
@pytest.mark.parametrize("negatives", ["same", "other"])
def test_triplet(margin: float, sides: str, negatives: str) -> None:
    model, batch, vectors = made(
        replace(PLAIN, triplet_margin=margin, triplet_sides=sides, negatives=negatives)
    )
    same = batch.same.numpy()
    assert same.sum() == 11
    total = 0.0
    for side in (0, 1) if sides == "both" else (0,):
        pool = vectors[side if negatives == "same" else 1 - side]
        terms = []
        for i in range(9):
            wrong = max(cosine(vectors[side][i], pool[j]) for j in range(9) if not same[i, j])
            terms.append(max(0.0, margin - cosine(vectors[0][i], vectors[1][i]) + wrong))
        total += float(np.mean(terms))
    assert loss(model, batch, "triplet") == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_ranking(margin: float) -> None:
    settings = replace(PLAIN, triplet=0.0, ranking=1.0, margin=margin, scale=7.0)
    model, batch, vectors = made(settings)
    same, costs = batch.same.numpy(), []
    for one, other in (vectors, vectors[::-1]):
        for i in range(9):
            right = 7 * (cosine(one[i], other[i]) - margin)
            wrong = [7 * cosine(one[i], other[j]) for j in range(9) if not same[i, j]]
            costs.append(np.log(np.exp([right, *wrong]).sum()) - right)
    assert loss(model, batch, "ranking") == pytest.approx(np.mean(costs), rel=1e-5)


@pytest.mark.parametrize("margin", [0.3, 1.1])
def test_contrastive(margin: float) -> None:
    model, batch, vectors = made(
        replace(PLAIN, triplet=0.0, contrastive=1.0, contrastive_margin=margin)
    )
    partners = random_partners(batch.same, torch.Generator().manual_seed(5)).tolist()
    right = [1 - cosine(vectors[0][i], vectors[1][i]) for i in range(9)]
    wrong = [1 - cosine(vectors[0][i], vectors[1][j]) for i, j in enumerate(partners)]
    expected = (sum(right) + sum(max(0.0, margin - d) ** 2 for d in wrong)) / 18
    torch.manual_seed(5)
    assert loss(model, batch, "contrastive") == pytest.approx(expected, rel=1e-5)


def test_cosine_is_the_mean_distance_of_pairs() -> None:
    model, batch, vectors = made(replace(PLAIN, cosine=0.5))
    expected = np.mean([1 - cosine(s, t) for s, t in zip(*vectors, strict=True)])
    assert loss(model, batch, "cosine") == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("objective", ["translation", "autoencoding"])
def test_the_sum_is_over_the_subwords_of_a_sentence(objective: str) -> None:
    """With its end mark; the mean is over the sentences."""
    settings = replace(PLAIN, triplet=0.0, **{objective: 1.0})
    mean, summed = (
        loss(*made(replace(settings, loss=kind))[:2], objective) for kind in ("mean", "sum")
    )
    _, batch, _ = made(settings)
    tokens = batch.sides[1]["pieces"].lengths + 1
    assert summed == pytest.approx(mean * float(tokens.sum()) / 9, rel=1e-5)


def test_the_sum_of_one_sentence_is_that_of_its_subwords() -> None:
    """Each cost alone, from the states of the decoder and the whole vocabulary."""
    model, batch, _ = made(replace(PLAIN, triplet=0.0, translation=1.0, loss="sum"))
    ids = batch.sides[1]["pieces"].ids[:1, : int(batch.sides[1]["pieces"].lengths[0])]
    table = model.network.piece_tables()[0]
    with torch.no_grad():
        vector = model.encode(batch.sides[0], 0)[:1]
        inputs = torch.cat([model.begin[1].expand(1, 1, -1), table(ids)], dim=1)
        states = model.decoder(vector, inputs)[0]
        logs = model.output.layer(states).log_softmax(dim=1)
        expected = -sum(float(logs[i, t]) for i, t in enumerate([*ids[0].tolist(), END]))
        found = model.written(vector, Padded(ids, torch.tensor([ids.shape[1]])), table, 1)
    assert float(found) == pytest.approx(expected, rel=1e-5)


def test_the_decoder_does_not_see_a_share_of_its_inputs_in_training() -> None:
    model, _, _ = made(replace(PLAIN, triplet=0.0, translation=1.0, decoder_dropout=0.3))
    vectors = torch.ones(100, 20, 8)
    torch.manual_seed(1)
    seen = model.train()._seen(vectors)
    assert torch.equal(seen, seen[:, :, :1].expand_as(seen)), "whole vectors are hidden"
    assert seen.unique().tolist() == [0, 1]
    assert float((seen == 0).float().mean()) == pytest.approx(0.3, abs=0.03)
    assert torch.equal(model.eval()._seen(vectors), vectors)


@pytest.mark.parametrize("width", [0, 5])
@pytest.mark.parametrize("feed", [False, True])
def test_a_fed_decoder_reads_the_vector_at_every_step(feed: bool, width: int) -> None:
    """Its states are those of torch's LSTM on subwords beside the vector, or a map of it."""
    model, batch, _ = made(
        replace(PLAIN, triplet=0.0, translation=1.0, feed=feed, decoder_width=width)
    )
    written, table = batch.sides[1]["pieces"], model.network.piece_tables()[0]
    ids = written.ids[:1, : int(written.lengths[0])]
    with torch.no_grad():
        vector = model.encode(batch.sides[0], 0)[:1]
        start = vector @ model.start.weight.T + model.start.bias if width else vector
        assert start.shape[1] == (width or vector.shape[1])
        rows = [model.begin[1], *table(ids)[0]]
        if feed:
            rows = [torch.cat([row, start[0]]) for row in rows]
        state = (start[None], start[None])
        logs = model.output.layer(model.decoder.cells(torch.stack(rows)[None], state)[0][0])
        expected = torch.nn.functional.cross_entropy(logs, torch.tensor([*ids[0].tolist(), END]))
        found = model.written(vector, Padded(ids, torch.tensor([ids.shape[1]])), table, 1)
    assert float(found) == pytest.approx(float(expected), rel=1e-5)


def test_token_vectors_stay_as_they_start_for_some_updates() -> None:
    model, batch, _ = made(replace(PLAIN, fixed_updates=2, learning_rate=0.1, clip=0.0))
    optimiser, start = model.optimiser(), model.network.tables()[0].weight.detach().clone()
    others = [p for name, p in model.network.named_parameters() if not name.startswith("vectors.")]
    before = [p.detach().clone() for p in others]
    for number in range(3):
        moved = not torch.equal(model.network.tables()[0].weight, start)
        assert not moved
        update(model, optimiser, batch, (number, 10))
    assert not torch.equal(model.network.tables()[0].weight, start)
    assert any(not torch.equal(p, q) for p, q in zip(others, before, strict=True))


@pytest.mark.parametrize("decode", ["source", "target", "both"])
@pytest.mark.parametrize("objective", ["translation", "autoencoding"])
def test_a_sentence_is_written_from_the_vector_of_the_right_side(
    objective: str, decode: str
) -> None:
    """A translation from its source, an autoencoding from the sentence itself."""
    model, batch, _ = made(replace(PLAIN, triplet=0.0, decode=decode, **{objective: 1.0}))
    vectors = [model.encode(part, side).detach() for side, part in enumerate(batch.sides)]

    def written(read: int, side: int) -> float:
        table = model.network.piece_tables()[-model.read_as[side]]
        with torch.no_grad():
            return float(model.written(vectors[read], batch.sides[side]["pieces"], table, side))

    flip = objective == "translation"
    sides = {"source": (0,), "target": (1,), "both": (0, 1)}[decode]
    right, wrong = ([written(side ^ other, side) for side in sides] for other in (flip, not flip))
    assert loss(model, batch, objective) == pytest.approx(np.mean(right), rel=1e-6)
    assert abs(np.mean(right) - np.mean(wrong)) > 1e-4


@pytest.mark.parametrize(("decode", "other"), [("source", 1), ("target", 0)])
def test_a_language_is_written_with_vectors_of_its_own(decode: str, other: int) -> None:
    settings = replace(PLAIN, triplet=0.0, autoencoding=1.0, decode=decode)
    model, batch, _ = made(settings, tables="separate")
    before = loss(model, batch, "autoencoding")
    torch.nn.init.zeros_(model.network.piece_tables()[other].weight)
    assert loss(model, batch, "autoencoding") == before


def test_drift_is_the_squared_way_of_the_token_vectors() -> None:
    model, batch, _ = made(replace(PLAIN, drift=0.3))
    assert loss(model, batch, "drift") == 0
    with torch.no_grad():
        model.network.tables()[0].weight[7] += 0.5
    assert loss(model, batch, "drift") == pytest.approx(8 * 0.25)


def test_composition_is_the_size_of_all_but_the_token_vectors() -> None:
    model, batch, _ = made(replace(PLAIN, composition=0.3))
    rest = [p for name, p in model.network.named_parameters() if not name.startswith("vectors.")]
    expected = sum(float(p.detach().double().square().sum()) for p in rest)
    assert expected > 1
    assert loss(model, batch, "composition") == pytest.approx(expected, rel=1e-5)


def test_every_loss_counts_by_its_weight() -> None:
    weights = {"triplet": 0.5, "contrastive": 2.0, "ranking": 3.0, "drift": 0.1, "composition": 0.2}
    model, _, _ = made(replace(PLAIN, **weights))  # type: ignore[arg-type]
    losses = {name: torch.tensor(float(i + 1)) for i, name in enumerate(weights)}
    expected = sum(weight * (i + 1) for i, weight in enumerate(weights.values()))
    assert float(model.weighted(losses)) == pytest.approx(expected)


def test_variational_dropout_spares_or_drops_a_number_of_a_whole_sentence() -> None:
    """And keeps the mean."""
    dropout = VariationalDropout(0.4)
    vectors = torch.ones(200, 5, 30)
    torch.manual_seed(3)
    out = dropout(vectors)
    assert torch.equal(out, out[:, :1].expand_as(out)) and not out[0].equal(out[1])
    assert out.unique().tolist() == pytest.approx([0.0, 1 / 0.6])
    assert float((out == 0).float().mean()) == pytest.approx(0.4, abs=0.02)
    assert torch.equal(dropout.eval()(vectors), vectors)
    assert variational_mask(2, 3, 0.0, generator()).eq(1).all()


@pytest.mark.parametrize(("kind", "constant"), [("plain", False), ("variational", True)])
def test_the_kind_of_dropout_is_the_one_asked_for(kind: str, constant: bool) -> None:
    model, _, _ = made(replace(PLAIN, dropout=0.5, dropout_kind=kind))
    out = model.network.dropout.train()(torch.ones(20, 5, 30))
    assert torch.equal(out, out[:, :1].expand_as(out)) == constant
    assert 0.3 < float((out == 0).float().mean()) < 0.7


@pytest.mark.parametrize("scramble", [0.0, 1.0])
def test_sentences_are_scrambled_while_training_alone(scramble: float) -> None:
    model, batch, vectors = made(replace(PLAIN, scramble=scramble), "lstm")
    torch.manual_seed(4)
    with torch.no_grad():
        quiet = model.encode(batch.sides[0], 0).numpy()
        noisy = model.train().encode(batch.sides[0], 0).numpy()
    np.testing.assert_allclose(quiet, vectors[0], rtol=1e-5, atol=1e-6)
    moved = ~np.isclose(noisy, quiet, atol=1e-6).all(axis=1)
    assert moved.mean() > 0.5 if scramble else not moved.any()


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def padded(count: int = 400) -> tuple[torch.Tensor, torch.Tensor]:
    """Distinct ids, and 0 or a foreign id behind the end."""
    lengths = torch.randint(0, 8, (count,), generator=generator(2))
    position = torch.arange(9)
    ids = 1 + position + 10 * torch.arange(count)[:, None]
    behind = torch.where(torch.arange(count)[:, None] % 2 == 0, 0, ids)
    return torch.where(position < lengths[:, None], ids, behind), lengths


def test_scrambling_permutes_within_the_sentence_alone() -> None:
    ids, lengths = padded()
    before = ids.clone()
    mixed = scrambled(ids, lengths, 1.0, generator())
    assert ids.equal(before) and mixed.shape == ids.shape and mixed.dtype == ids.dtype
    for row, length in enumerate(lengths.tolist()):
        assert sorted(mixed[row, :length].tolist()) == ids[row, :length].tolist()
        assert mixed[row, length:].equal(ids[row, length:])


def test_the_probability_is_of_the_sentence_and_every_order_as_likely() -> None:
    ids, lengths = padded(4000)
    long = lengths >= 7  # where a permutation that changes nothing is rare: 1 in 5040
    runs = [scrambled(ids, lengths, 0.3, generator(seed)) for seed in (1, 1, 2)]
    assert runs[0].equal(runs[1]) and not runs[0].equal(runs[2])
    changed = (runs[0] != ids).any(1)
    assert changed[long].double().mean().item() == pytest.approx(0.3, abs=0.06)
    assert scrambled(ids, lengths, 0.0, generator()).equal(ids)
    three = torch.tensor([[1, 2, 3, 0]]).expand(6000, 4)
    mixed = scrambled(three, torch.full((6000,), 3), 1.0, generator())
    orders, counts = mixed.unique(dim=0, return_counts=True)
    assert len(orders) == 6
    assert (counts / 6000 - 1 / 6).abs().max() < 0.02


def test_the_squared_norm_sums_squares_with_their_gradients() -> None:
    torch.manual_seed(1)
    table = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(5, dtype=torch.float64, requires_grad=True)
    naive = sum(value**2 for value in [*table.flatten().tolist(), *bias.tolist()])
    assert squared_norm([table, bias]).item() == pytest.approx(naive)
    assert torch.autograd.gradcheck(lambda *both: squared_norm(both), (table, bias))
