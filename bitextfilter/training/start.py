"""Starting points: random values, word vectors from a file, another model, its classifier.

A classifier reads vectors of its own encoder. Where two encoders share a language, both encode the
same words of it: by least squares, the vectors of one become nearly those of the other, and the
classifier's weights are changed accordingly. What it knows of counterparts, of word order, length
and spelling stays; training mends the rest. Where one encoder was trained on from the other, their
vectors are alike, and what the classifier knows of whole sentences stays, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bitextfilter.arrays import Floats, Integers, Vectors
from bitextfilter.encoders.base import Network
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.vectors import read_word_vectors, word_lines
from bitextfilter.pairs.base import ClassifierSettings, WordClassifierSettings
from bitextfilter.pairs.classifier import PairClassifier, load_classifier
from bitextfilter.scoring.model import Model, distinct
from bitextfilter.similarity.vectors import unit_rows
from bitextfilter.text.features import WordReader
from bitextfilter.text.vocabulary import RESERVED, Vocabulary


def start_matrix_(matrix: Tensor, generator: torch.Generator, gates: int = 1) -> None:
    """Draw a matrix ``(out, in)`` uniform in ±√(6 / (in + out)) (Glorot & Bengio 2010, eq. 16).

    It counts as several matrices of equal size, one below the other: *gates*, 4 for the weights of
    torch's LSTM, 3 for its GRU.
    """
    for part in matrix.chunk(gates):
        nn.init.xavier_uniform_(part, generator=generator)


_SOURCE = re.compile(r"^(vectors|parts|gains|encoders|poolings)\.0\.")
"""Prefix of a network's tensors of the source language, or of both."""
_AS_PARTS = (
    (re.compile(r"^embedding\."), "vectors.0.pieces."),
    (re.compile(r"^encoders\.([01])\."), r"parts.\1.max-blstm.layers."),
    (re.compile(r"^standards\.([01])\.(?=mean|variance)"), r"standards.\1.max-blstm."),
)
"""Tensors of an autoencoder, and their names in a combination with the part ``max-blstm``."""


def start_alike(network: Network) -> None:
    """Copy every tensor of the source language to the target's, where each has its own.

    A name or a number that stands in both texts then has the same vector from the first update on,
    and the vectors of translations are alike sooner.
    """
    tensors = network.state_dict()
    sources = {_SOURCE.sub(r"\1.1.", name): name for name in tensors if _SOURCE.match(name)}
    network.load_state_dict({name: tensors[sources.get(name, name)] for name in tensors})


def start_from(network: Network, other: Network) -> list[str]:
    """Copy every tensor of ``other`` whose name and shape fit; returns their names.

    A tensor that both languages share in ``other`` goes to both where ``network`` has two. An
    autoencoder's network is the part ``max-blstm`` of a combination, its table that of the pieces.
    Raises SettingsError if nothing fits.
    """
    own = network.state_dict()
    others = {_as_part(name): tensor for name, tensor in other.state_dict().items()}
    of_both = {_SOURCE.sub(r"\1.1.", name): tensor for name, tensor in others.items()}
    known = {**of_both, **others}
    fitting = {
        name: known[_as_part(name)]
        for name, tensor in own.items()
        if _as_part(name) in known and known[_as_part(name)].shape == tensor.shape
    }
    if not fitting:
        raise SettingsError("the model to start from has no tensor that fits this network")
    network.load_state_dict({**own, **fitting})
    return sorted(fitting)


def start_with_more(network: Network, other: Network) -> dict[str, int]:
    """Copy a network into one with more rows at the end of some tables.

    The new rows get the length of the old ones.

    Returns the number of old rows of each table that has more. Raises SettingsError where a tensor
    of *network* is missing from *other*, or differs in more than its rows.
    """
    own, known = network.state_dict(), other.state_dict()
    more = {}
    for name, tensor in own.items():
        old = known.get(name)
        if old is None or old.shape[1:] != tensor.shape[1:] or len(old) > len(tensor):
            raise SettingsError(f"the model to start from has no {name} of this shape")
        if len(old) < len(tensor):
            more[name] = len(old)
            tensor.mul_(old.norm(dim=1).median() / tensor.norm(dim=1).median())
        tensor[: len(old)] = old
    network.load_state_dict(own)
    return more


def train_rows_from(parameter: Tensor, first: int) -> None:
    """Let a training change no row of a table before *first*."""

    def of_new_rows(gradient: Tensor) -> Tensor:
        if not gradient.is_sparse:
            return gradient.index_fill(0, torch.arange(first, device=gradient.device), 0.0)
        gradient = gradient.coalesce()
        rows, values = gradient.indices(), gradient.values()
        new = rows[0] >= first
        kept = torch.sparse_coo_tensor(
            rows[:, new], values[new], gradient.shape, check_invariants=False
        )
        return kept.coalesce()

    parameter.register_hook(of_new_rows)  # type: ignore[no-untyped-call]


def _as_part(name: str) -> str:
    """Return the name of a tensor as a combination has it."""
    for pattern, replacement in _AS_PARTS:
        name = pattern.sub(replacement, name)
    return name


def check_vectors(path: Path | None, setting: str, width: int) -> None:
    """Check the width of initial vectors by the first, before a training begins.

    Args:
        path: in the text format of word2vec and fastText; None for no file.
        setting: the name of the setting of that width.
        width: its value.

    Raises:
        NotFoundError: the file cannot be opened.
        InputError: it is a pipe, has no vectors, or has others.
    """
    if path is None:
        return
    if path.is_fifo():
        raise InputError("a pipe, which cannot be read twice; name a file", file=str(path))
    found = read_word_vectors(path, 1)[1].shape[1]
    if found != width:
        raise InputError(
            f"vectors of {found} numbers, expected {width}",
            file=str(path),
            remedy=f"set {setting}={found}, or learn others",
        )


def read_vectors(path: Path, vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    """Read word vectors in the text format of word2vec and fastText.

    Vectors of pieces that the vocabulary lacks are passed over.

    Returns:
        Ids ``(m,)`` and their vectors, float32 ``(m, d)``; of a repeated piece the first.

    Raises:
        InputError: a line is malformed, or none is of the vocabulary.
    """
    found: dict[int, NDArray[np.float32]] = {}
    for _, piece, vector in word_lines(path):
        if piece in vocabulary.index:
            found.setdefault(vocabulary.index[piece], vector)
    if not found:
        raise InputError(
            "no vector is of a piece of the vocabulary",
            file=str(path),
            remedy="segment the text before learning the vectors (bitext-segment apply)",
        )
    return torch.tensor(list(found)), torch.from_numpy(np.stack(list(found.values())))


def use_vectors(
    tables: Sequence[nn.Embedding],
    path: Path | None,
    vocabulary: Vocabulary,
    note: Callable[[str], None],
) -> None:
    """Start the vectors of pieces from a file, if there is one, and note the share it had.

    Raises InputError as :func:`read_vectors`.
    """
    if path is None:
        return
    ids, vectors = read_vectors(path, vocabulary)
    with torch.no_grad():
        for table in tables:
            table.weight[ids] = vectors.to(table.weight)
    read, every = vocabulary.counts[ids.numpy() - len(RESERVED)], vocabulary.counts
    first, *others = 100 * read.sum(axis=0) / np.maximum(every.sum(axis=0), 1)
    shares = f"{first:.1f} % of the source text, {others[0]:.1f} % of the target text"
    if len(others) > 1:
        shares = f"{min(first, *others):.1f} to {max(first, *others):.1f} % of a language's text"
    note(f"initial vectors of {len(read)} of {len(every)} pieces: {shares}")


def start_small(network: nn.Module, seed: int) -> None:
    """Start as Sjöblom, Creutz & Aulamo 2018: vectors within 0.01, Xavier matrices.

    Matrices of recurrent layers are drawn gate by gate; biases start at 0.
    """
    generator = torch.Generator().manual_seed(seed)
    for module in network.modules():
        if isinstance(module, nn.Embedding):
            nn.init.uniform_(module.weight, -0.01, 0.01, generator)
        elif isinstance(module, nn.RNNBase):
            for name, parameter in module.named_parameters():
                if name.startswith("weight"):
                    start_matrix_(parameter, generator, len(parameter) // module.hidden_size)
                else:
                    nn.init.zeros_(parameter)
        elif isinstance(module, nn.Linear):
            square = max(1, module.out_features // module.in_features)
            start_matrix_(module.weight, generator, square)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


_PROBE = "1 2 3"
"""Text that any two encoders know: with equal vectors, they are the same."""
_ALIKE = 0.25
"""Mean cosine of two encoders' vectors of the same words from which on they are alike: .38 and more
after 1,000 to 4,500 further mini-batches, near 0 for two of separate trainings."""
_WORDS = 20_000
"""Most frequent words of a language that are encoded by both."""


def check_start(start: Model, model: Model, kind: str) -> None:
    """Raise SettingsError where a classifier of *model* cannot start from that of *start*.

    That has to be of this *kind*, and of the same encoder; one of words may be of another encoder
    with a language in common, or with all where the model has more than two.
    """
    own = start.classifier and start.classifier.settings.kind
    if own != kind:
        found = f"its classifier is of {own}, not {kind}" if own else "it has no classifier"
        raise SettingsError(f"--start {start.name}: {found}")
    if _same_encoder(start, model):
        return
    other = f"--start {start.name}: {model.name} has another encoder"
    if kind != WordClassifierSettings.kind:
        raise SettingsError(f"{other}; only a classifier of words can be carried to one")
    known, theirs = model.processor.known, start.processor.known
    if len(known) > 2 and (lacking := [name for name in known if name not in theirs]):
        raise SettingsError(f"{other}, and {start.name} lacks its language {lacking[0]}")
    if not _shared_sides(start, model):
        raise SettingsError(f"{other}, and no language in common with it")


def started(
    start: Model,
    model: Model,
    shape: ClassifierSettings,
    sides: tuple[Sequence[str], Sequence[str]],
) -> PairClassifier:
    """Return the classifier of *start* for the vectors of *model*.

    *sides* are the training sentences, whose words show how the encoders' vectors correspond.
    Raises SettingsError as :func:`check_start`, and for another *shape*.
    """
    check_start(start, model, shape.kind)
    classifier = load_classifier(start.folder)
    assert classifier is not None, "check_start has seen to it"
    if _same_encoder(start, model):
        return classifier.carried(shape, None)
    assert isinstance(shape, WordClassifierSettings)
    own, other = [], []
    for side in _shared_sides(start, model):
        language, words = model.languages[side], _frequent_words(sides[side])
        own.append(model.encode(words, language) / shape.word_length)
        other.append(start.encode(words, language) / classifier.settings.word_length)
    change, alike = _change(np.concatenate(own), np.concatenate(other))
    return classifier.carried(shape, change.astype(np.float32), alike)


def _change(own: Vectors, other: Vectors) -> tuple[Floats, bool]:
    """Return the map from vectors of words to another encoder's, and whether both are alike.

    Of vectors that are alike, the map is as near to none as :func:`least_squares` allows.
    """
    if own.shape != other.shape or (unit_rows(own) * unit_rows(other)).sum(1).mean() < _ALIKE:
        return least_squares(own, other), False
    return np.eye(len(own.T)) + least_squares(own, other - own), True


def _same_encoder(start: Model, model: Model) -> bool:
    one, other = (each.encode_side([_PROBE], 0) for each in (start, model))
    return one.shape == other.shape and np.allclose(one, other, atol=1e-5)


def _shared_sides(start: Model, model: Model) -> list[int]:
    """Return the sides of *model* whose language *start* knows."""
    known = start.processor.known
    return [side for side, language in enumerate(model.languages) if language in known]


def _frequent_words(sentences: Sequence[str]) -> list[str]:
    """Return the most frequent words of some sentences, the most frequent first."""
    reader = WordReader()
    rows, _ = reader.read(distinct(sentences)[0])
    times: Integers = np.bincount(rows.flat, minlength=len(reader.words))
    order = np.argsort(-times, kind="stable")[: _WORDS + 1]
    return [reader.words[place] for place in order if reader.words[place]]


_RIDGE = 0.01


def least_squares(source: NDArray[np.floating], target: NDArray[np.floating]) -> Floats:
    """Return the map for which ``source @ map`` is closest to ``target``, ``(d, d of the target)``.

    Ridge regression: a hundredth of the mean squared singular value of the sources is added to
    each, so that directions with little variance change little. Row i of both, ``(p, d)`` each,
    belong together.
    """
    rows = source.astype(np.float64)
    gram = rows.T @ rows
    ridge = _RIDGE * np.trace(gram) / len(gram)
    return np.asarray(np.linalg.solve(gram + ridge * np.eye(len(gram)), rows.T @ target))
