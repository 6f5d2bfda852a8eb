"""The purpose of each objective, encoder and pooling: a toy task that it solves and others do not.

Networks learn by the real learner and loop, in a second, and read unseen sentences as a model does.
The language ``aa`` has words such as a0, the language ``bb`` b0; a sentence is translated word by
word, unless a test says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from toys import LANGUAGES, sentences

from bitextfilter.encoders.base import Encoder, Network
from bitextfilter.encoders.expressions import PARTS
from bitextfilter.encoders.registry import ENCODERS, sees_order
from bitextfilter.models.pooling import POOLINGS
from bitextfilter.papers.pivot import PivotLearner, pivot_stream
from bitextfilter.similarity.vectors import cosine_matrix
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import TRIGRAMS, Ragged
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.text.trigrams import TrigramSettings
from bitextfilter.text.vocabulary import END, RESERVED
from bitextfilter.training.data import Corpus, Sentences
from bitextfilter.training.encoder_learner import BilingualLearner, pair_stream
from bitextfilter.training.loop import learn_in_memory
from bitextfilter.training.settings import OBJECTIVES, TrainingSettings

Sides = tuple[list[str], list[str]]
"""Sentences and their translations."""

SMALL = {"embedding": 24}
SHAPE = {"embedding": 32, "hidden": 48}
USUAL = {
    "translation": 0.0, "autoencoding": 0.0, "ranking": 0.0, "learning_rate": 0.02, "warmup": 10,
    "batch_size": 40, "softmax": "full",
}  # fmt: skip
HIGH, LOW = 0.4, 0.1
"""Shares of unseen sentences for a task that is solved, or not: far from all measured ones."""


def numbered(processor: TextProcessor, texts: list[str], side: int) -> Sentences:
    """Sentences as ids of their pieces, and of their trigrams if there are any."""
    language = LANGUAGES[side]
    pieces = processor.ids(texts, language)
    if processor.trigrams is None:
        return Sentences(pieces)
    return Sentences(pieces, Ragged.of(processor.ids(texts, language, TRIGRAMS)))


@dataclass(frozen=True)
class Trained:
    """A network after its training."""

    processor: TextProcessor
    learner: BilingualLearner

    def vectors(self, texts: list[str], side: int) -> NDArray[np.float32]:
        """Sentence vectors of one side, as a model folder's encoder makes them."""
        return Encoder(self.processor, self.learner.network).encode(texts, LANGUAGES[side])

    def cosines(self, pairs: Sides) -> NDArray[np.float64]:
        """Cosine of each source with each target."""
        return cosine_matrix(*(self.vectors(texts, side) for side, texts in enumerate(pairs)))

    @torch.no_grad()
    def written(self, vectors: NDArray[np.float32], side: int, blind: bool = False) -> list[str]:
        """The sentences that the decoder writes, each word the likeliest; cut after 6 words.

        *blind*: it does not see the words that it wrote.
        """
        learner, embedding = self.learner, torch.from_numpy(vectors)
        table, output = learner.network.piece_tables()[0], learner.output.layer
        seen, ids = [learner.begin[side].expand(len(vectors), -1)], []
        for _ in range(6):
            inputs = torch.stack(seen, dim=1)
            if learner.settings.feed:
                every = embedding[:, None].expand(-1, len(seen), -1)
                inputs = torch.cat([inputs, every], dim=2)
            ids.append(output(learner.decoder(embedding, inputs)[:, -1]).argmax(dim=1))
            seen.append(table(ids[-1]) * (not blind))
        names = [*RESERVED, *self.processor.vocabulary.pieces]
        texts = (" ".join(names[i] for i in row) for row in torch.stack(ids, dim=1).tolist())
        return [text.split(f" {RESERVED[END]}")[0] for text in texts]


def trained(
    pairs: Sides,
    architecture: str = "autoencoder",
    shape: dict[str, Any] = SHAPE,
    start: Callable[[Network, TextProcessor], None] | None = None,
    monolingual: Sequence[str] = (),
    **training: Any,
) -> Trained:
    """Train a network that knows the words of *pairs* and of *monolingual* targets.

    *start* changes it before; *training* are settings, objectives left out have no weight.
    """
    every = pairs[0], [*pairs[1], *monolingual]
    segmentation = SegmenterSettings("none")
    processor = TextProcessor.learn(every, LANGUAGES, Normalisation(), segmentation)
    if "trigram" in architecture:
        processor.learn_trigrams(every, TrigramSettings())
    torch.manual_seed(1)
    network = ENCODERS.build(
        architecture, ENCODERS.settings(architecture, shape), processor.sizes()
    )
    if start is not None:
        start(network, processor)
    settings = TrainingSettings(**{**USUAL, **training})
    sides = [*settings.decoded_sides]
    ends = sum(len(every[side]) for side in sides)
    counts = np.concatenate([[0, 0, 0, ends], processor.vocabulary.counts[:, sides].sum(1)])
    learner = BilingualLearner(network, shape.get("cell", "lstm"), counts, settings)
    read = (numbered(processor, texts, side) for side, texts in enumerate(pairs))
    more = {1: numbered(processor, [*monolingual], 1)} if monolingual else {}
    stream = pair_stream(learner, (Corpus(*read, np.ones(len(pairs[0]))), more))
    learn_in_memory(learner, stream, lambda _: 0.0)
    return Trained(processor, learner)


def recovered(cosines: NDArray[np.float64]) -> float:
    """Share of the sentences of both sides whose nearest one of the other is their translation."""
    own = np.arange(len(cosines))
    return float(np.mean([cosines.argmax(axis) == own for axis in (0, 1)]))


def share(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Share of the texts that are the wanted ones."""
    return float(np.mean([one == other for one, other in zip(found, wanted, strict=True)]))


def in_both_languages(rows: Sequence[Sequence[object]]) -> Sides:
    """Sentences of these words, and their translations."""
    source, target = ([" ".join(f"{side}{word}" for word in row) for row in rows] for side in "ab")
    return source, target


def split(pairs: Sides, test: int) -> tuple[Sides, Sides]:
    """Distinct pairs but some, and these some."""
    distinct = list(dict.fromkeys(zip(*pairs, strict=True)))
    parts = distinct[:-test], distinct[-test:]
    known, unseen = (([a for a, _ in part], [b for _, b in part]) for part in parts)
    return known, unseen


# Decoded objectives: translation and autoencoding, with one shared decoder.

SENTENCES, UNSEEN = split(sentences(2000, 1, words=10, lengths=(2, 4)), 100)

DECODED: dict[str, tuple[dict[str, Any], set[tuple[int, int]], bool]] = {
    "translation": ({"translation": 1}, {(0, 1)}, False),
    "autoencoding": ({"autoencoding": 1}, {(1, 1)}, False),
    "autoencoding of half the sources": (
        {
            "autoencoding": 1, "decode": "source", "decoded_share": 0.5, "batch_size": 80,
            "passes": 20, "loss": "sum",
        },
        {(0, 0)},
        False,
    ),
    "autoencoding of both": (
        {"autoencoding": 1, "decode": "both", "feed": True}, {(0, 0), (1, 1)}, False,
    ),
    "translation and autoencoding": (
        {"translation": 1, "autoencoding": 1}, {(0, 1), (1, 1)}, True,
    ),
    "translation and autoencoding of both": (
        {"translation": 1, "autoencoding": 1, "decode": "both"},
        {(0, 0), (0, 1), (1, 0), (1, 1)},
        True,
    ),
    "autoencoding and cosine": (
        {"autoencoding": 1, "cosine": 0.1, "passes": 14}, {(0, 1), (1, 1)}, True,
    ),
}  # fmt: skip
"""Settings → sides that are read and written, and whether both encoders are of one space."""


@cache
def with_a_decoder(name: str) -> Trained:
    """The network of one of these tasks."""
    return trained(SENTENCES, **{"passes": 10, "learning_rate": 0.03, **DECODED[name][0]})


@pytest.mark.gate("autoencoding", "translation and autoencoding")
@pytest.mark.parametrize("name", DECODED)
def test_the_decoder_writes_what_it_was_taught_and_nothing_else(name: str) -> None:
    """Kim et al. 2019: translation and autoencoding together put both encoders in one space.

    Neither does alone. Cosines beside one do so, too, and then the decoder writes the other.
    """
    model, (_, ways, together) = with_a_decoder(name), DECODED[name]
    vectors = [model.vectors(texts, side) for side, texts in enumerate(UNSEEN)]
    for read, side in ((0, 0), (0, 1), (1, 0), (1, 1)):
        right = share(model.written(vectors[read], side), UNSEEN[side])
        assert right > HIGH if (read, side) in ways else right < LOW, (read, side, right)
    found = recovered(model.cosines(UNSEEN))
    assert found > 0.9 if together else found < LOW, found


def test_monolingual_sentences_are_learnt_beside_those_of_pairs() -> None:
    """Three of the ten words stand in no pair, but in three of five sentences."""
    pairs, _ = split(sentences(500, 1, words=7, lengths=(2, 4)), 1)
    model = trained(pairs, monolingual=SENTENCES[1], autoencoding=1, passes=20, learning_rate=0.03)
    assert share(model.written(model.vectors(UNSEEN[1], 1), 1), UNSEEN[1]) > 0.5


def test_a_decoder_that_sees_few_words_relies_on_the_vector() -> None:
    used = with_a_decoder("autoencoding")
    able = trained(SENTENCES, autoencoding=1, passes=10, learning_rate=0.03, decoder_dropout=0.8)
    for model, lowest, highest in ((used, 0, LOW), (able, HIGH, 1)):
        found = share(model.written(model.vectors(UNSEEN[1], 1), 1, blind=True), UNSEEN[1])
        assert lowest <= found <= highest


@pytest.mark.gate("sampled")
@pytest.mark.parametrize("softmax", ["full", "sampled", "adaptive"])
def test_the_decoder_learns_how_likely_a_word_is(softmax: str) -> None:
    """The words of a pair have nothing to do with each other: only their shares can be learnt."""
    shares = 1 / np.arange(1, 31)
    shares /= shares.sum()
    drawn = np.random.default_rng(1).choice(30, (2, 2000), p=shares)
    pairs = [f"a{word}" for word in drawn[0]], [f"b{word}" for word in drawn[1]]
    model = trained(
        pairs, "word", {"embedding": 8}, translation=1, softmax=softmax, samples=40, passes=10,
        batch_size=100,
    )  # fmt: skip
    vectors, learner = torch.from_numpy(model.vectors(["a0"], 0)), model.learner
    with torch.no_grad():
        states = learner.decoder(vectors, learner.begin[1].expand(1, 1, -1))[0]
        ids = [int(row[0]) for row in model.processor.ids([f"b{i}" for i in range(30)], "ba")]
        costs = [float(learner.eval().output(states, torch.tensor([word]))) for word in ids]
    found, least = shares @ costs, -shares @ np.log(shares)
    assert found < least + 0.25, (found, least)


def test_encoders_meet_in_a_third_language() -> None:
    """Source and target stand beside the pivot alone, and never beside each other's sentences."""
    segmentation = SegmenterSettings("none")
    half = len(SENTENCES[0]) // 2
    sides = SENTENCES[0][:half], SENTENCES[1][half:]
    pivots = [[text.translate(str.maketrans("ab", "cc")) for text in side] for side in sides]
    processor = TextProcessor.learn(sides, LANGUAGES, Normalisation(), segmentation)
    pivot = TextProcessor.learn(
        (pivots[0] + pivots[1], []), ("cc", "cc"), Normalisation(), segmentation
    )
    settings = TrainingSettings(**{**USUAL, "translation": 1, "passes": 20, "learning_rate": 0.03})
    torch.manual_seed(1)
    network = ENCODERS.build("pivot", ENCODERS.settings("pivot", SHAPE), processor.sizes())
    learner = PivotLearner(network, "lstm", np.ones(pivot.sizes()["pieces"], np.int64), settings)
    corpora = [
        Corpus(
            numbered(processor, texts, side),
            Sentences(pivot.ids(pivots[side], "cc")),
            np.ones(len(texts)),
        )
        for side, texts in enumerate(sides)
    ]
    stream = pivot_stream((corpora[0], corpora[1]), settings, network.views, learner.device)
    learn_in_memory(learner, stream, lambda _: 0.0)
    vectors = (
        Encoder(processor, network).encode(texts, language)
        for texts, language in zip(UNSEEN, LANGUAGES, strict=True)
    )
    assert recovered(cosine_matrix(*vectors)) > 0.9


# Objectives on cosines: pairs are pulled together, others pushed apart.


def alike(network: Network, processor: TextProcessor) -> None:
    """Start from vectors that are almost the same, so that something has to push."""
    with torch.no_grad():
        for table in network.tables():
            table.weight.mul_(0.2).add_(1.0)


def mean_cosines(cosines: NDArray[np.float64]) -> tuple[float, float]:
    """The mean of the right pairs, and of all others."""
    right = np.eye(len(cosines), dtype=bool)
    return float(cosines[right].mean()), float(cosines[~right].mean())


PUSHING: dict[str, dict[str, Any]] = {
    "ranking": {"ranking": 1},
    "triplet": {"triplet": 1},
    "triplet of sources": {"triplet": 1, "triplet_sides": "one"},
    "triplet of translations": {"triplet": 1, "negatives": "other"},
    "triplet of one side's translations": {
        "triplet": 1, "negatives": "other", "triplet_sides": "one",
    },
    "contrastive": {"contrastive": 1},
}  # fmt: skip


@pytest.mark.gate("triplet", "contrastive")
@pytest.mark.parametrize("name", PUSHING)
def test_right_pairs_are_pulled_together_and_wrong_ones_pushed_apart(name: str) -> None:
    """Each pair stands twice in every mini-batch, but is not pushed from its copy."""
    pairs, unseen = split(sentences(250, 1, words=20, lengths=(2, 5)), 100)
    twice = pairs[0] * 2, pairs[1] * 2
    size = len(twice[0])
    model = trained(twice, "word", SMALL, alike, batch_size=size, passes=120, **PUSHING[name])
    cosines = model.cosines(unseen)
    right, wrong = mean_cosines(cosines)
    assert right > 0.95 and wrong < 0.6, (right, wrong)
    assert recovered(cosines) > 0.9


def test_every_objective_has_a_task() -> None:
    tasks = [*PUSHING.values(), *(training for training, _, _ in DECODED.values())]
    assert {*OBJECTIVES, "cosine"} <= {name for training in tasks for name in training}


def test_without_a_margin_nothing_pushes() -> None:
    pairs, unseen = split(sentences(400, 1, words=20, lengths=(2, 5)), 100)
    model = trained(pairs, "word", SMALL, alike, passes=10, contrastive=1, contrastive_margin=0)
    right, wrong = mean_cosines(model.cosines(unseen))
    assert right > 0.95 and wrong > 0.95, (right, wrong)


@pytest.mark.gate("20-0.38-1.0")
@pytest.mark.parametrize(("mini_batches", "low", "high"), [(1, 0.0, 0.3), (20, 0.38, 1.0)])
def test_the_hardest_negatives_are_in_other_mini_batches(
    mini_batches: int, low: float, high: float
) -> None:
    """Sentences that differ in one word of four are seldom in one mini-batch of five."""
    rows = [[f"f{frame}"] * 3 + [f"d{word}"] for frame in range(20) for word in range(10)]
    ordered = in_both_languages(rows)
    mixed = np.random.default_rng(1).permutation(len(rows))
    shuffled = in_both_languages([rows[place] for place in mixed])
    model = trained(
        shuffled, "word", {"embedding": 32}, triplet=1, batch_size=5, mega_batch=mini_batches,
        passes=10, learning_rate=0.01,
    )  # fmt: skip
    cosines, number = model.cosines(ordered), np.arange(len(rows))
    close = (number[:, None] // 10 == number // 10) & (number[:, None] != number)
    nearest = np.where(close, cosines, -1).max(axis=1)
    margin = float((np.diag(cosines) - nearest).mean())
    assert low < margin < high, margin


# Encoders and poolings.


def in_both_orders() -> tuple[Sides, Sides]:
    """Sentences of two words, each followed by its reverse; those to try are of other words."""
    every = np.random.default_rng(1).permutation(list(combinations(range(12), 2))).tolist()
    both = [row for pair in every for row in (pair, pair[::-1])]
    return in_both_languages(both[:98]), in_both_languages(both[98:])


SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, SMALL) for name in (*PARTS, "word+lstm,gran", "averaging")},
    **{f"autoencoder {name}": ("autoencoder", {**SMALL, "hidden": 12, "pooling": name})
       for name in POOLINGS},
    "autoencoder gru": ("autoencoder", {**SMALL, "hidden": 12, "cell": "gru", "layers": 2}),
    "autoencoder average": ("autoencoder", {**SMALL, "hidden": 12, "average": True}),
}  # fmt: skip


def order_told(model: Trained, pairs: Sides) -> float:
    """Share of the sources that are nearer their translation than its reverse."""
    cosines, own = model.cosines(pairs), np.arange(len(pairs[0]))
    return float((cosines[own, own] > cosines[own, own ^ 1] + 1e-4).mean())


@pytest.mark.gate("word", "lstm", "autoencoder max")
@pytest.mark.parametrize("name", SHAPES)
def test_recurrent_encoders_tell_the_order_of_words_and_averages_do_not(name: str) -> None:
    pairs, unseen = in_both_orders()
    architecture, shape = SHAPES[name]
    model = trained(pairs, architecture, shape, ranking=1, passes=35, batch_size=33)
    found = order_told(model, unseen)
    assert found > 0.75 if sees_order(architecture) else found == 0, found


def test_scrambled_sentences_teach_to_overlook_order() -> None:
    pairs, unseen = in_both_orders()
    cosines = []
    for scramble in (0.0, 1.0):
        model = trained(pairs, "lstm", SMALL, ranking=1, passes=40, scramble=scramble)
        vectors = model.vectors(unseen[0], 0)
        reverse = vectors[np.arange(len(vectors)) ^ 1]
        cosines.append(float(np.diag(cosine_matrix(vectors, reverse)).mean()))
    assert cosines[0] < 0.85 and cosines[1] > 0.95, cosines


@pytest.mark.gate("word-False", "word,trigram-True")
@pytest.mark.parametrize(
    ("architecture", "solves"), [("word", False), ("trigram", True), ("word,trigram", True)]
)
def test_trigrams_read_words_that_were_never_seen(architecture: str, solves: bool) -> None:
    """A word is translated letter by letter, into letters that its own language lacks."""
    random, letters = np.random.default_rng(1), str.maketrans("abcd", "wxyz")
    words = sorted({"".join(random.choice([*"abcd"], random.integers(2, 4))) for _ in range(100)})
    random.shuffle(words)
    cut, parts = len(words) * 3 // 4, []
    for known, count in ((words[:cut], 500), (words[cut:], 60)):
        texts = [" ".join(random.choice(known, random.integers(1, 3))) for _ in range(count)]
        distinct = list(dict.fromkeys(texts))
        parts.append((distinct, [text.translate(letters) for text in distinct]))
    model = trained(parts[0], architecture, SMALL, ranking=1, passes=20)
    found = recovered(model.cosines(parts[1]))
    assert found > HIGH if solves else found < LOW, found


def twins(network: Network, processor: TextProcessor) -> None:
    """Give both words of a pair one vector."""
    index, (table,) = processor.vocabulary.index, network.piece_tables()
    with torch.no_grad():
        for piece in index:
            table.weight[index[f"b{piece[1:]}"]] = table.weight[index[piece]]


@pytest.mark.gate("word-0.0-0.5", "weighted-0.8-1.0")
@pytest.mark.parametrize(
    ("architecture", "low", "high"),
    [("word", 0.0, 0.5), ("weighted", 0.8, 1.0), ("averaging", 0.8, 1.0)],
)
def test_weights_of_words_overlook_those_without_meaning(
    architecture: str, low: float, high: float
) -> None:
    """Two words with a translation stand among up to six without; vectors stay as they are."""
    random = np.random.default_rng(1)
    sides: Sides = ([], [])
    for _ in range(600):
        words = random.choice(40, 2, replace=False)
        for texts, side in zip(sides, "ab", strict=True):
            more = [f"{side}-{word}" for word in random.integers(0, 4, random.integers(0, 7))]
            texts.append(" ".join(random.permutation([f"{side}{word}" for word in words] + more)))
    pairs, unseen = (
        tuple(texts[part] for texts in sides) for part in (slice(500), slice(500, 600))
    )
    model = trained(
        pairs, architecture, SMALL, twins, ranking=1, passes=20, learning_rate=0.05,
        fixed_updates=1000,
    )  # fmt: skip
    assert low <= recovered(model.cosines(unseen)) <= high
