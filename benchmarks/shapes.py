"""Encoders of the shape of LaBSE and LASER, with random weights, for their speed alone.

They are as fast as torch makes them on a CPU: batches sorted by length, fused attention, and
float32, bfloat16 or int8 (torch's dynamic quantisation of linear and LSTM layers). They begin with
ids, and end with vectors.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

BATCH = 32
VOCABULARY = 30_000
"""LaBSE has 501,153 and LASER 50,000: a look-up costs the same, the table does not."""


class Attention(nn.Module):
    """Self-attention of 12 heads, with its residual connection and normalisation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.normalise = nn.LayerNorm(width)

    def forward(self, states: Tensor, inside: Tensor) -> Tensor:
        """``(n, t, width)``, and which positions are inside a sentence ``(n, 1, 1, t)``."""
        split = self.inward(states).unflatten(2, (3, 12, -1)).permute(2, 0, 3, 1, 4)
        heads = scaled_dot_product_attention(split[0], split[1], split[2], attn_mask=inside)
        mixed: Tensor = self.normalise(states + self.outward(heads.transpose(1, 2).flatten(2)))
        return mixed


class FeedForward(nn.Module):
    """Two linear layers, with their residual connection and normalisation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inward, self.outward = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.normalise = nn.LayerNorm(width)

    def forward(self, states: Tensor) -> Tensor:
        """``(n, t, width)`` → the same shape."""
        changed: Tensor = self.normalise(states + self.outward(gelu(self.inward(states))))
        return changed


class Labse(nn.Module):
    """A transformer of 12 layers of 768 with 12 heads: the vector of the first token."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.places = nn.Embedding(VOCABULARY, 768), nn.Embedding(512, 768)
        self.attention = nn.ModuleList(Attention(768) for _ in range(12))
        self.feed = nn.ModuleList(FeedForward(768) for _ in range(12))
        self.head = nn.Linear(768, 768)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Ids ``(n, t)`` and lengths ``(n,)`` → vectors ``(n, 768)``."""
        ids = ids[:, :512]
        place = torch.arange(ids.shape[1])
        inside = (place < lengths[:, None])[:, None, None]
        states = self.table(ids) + self.places(place)
        for attention, feed in zip(self.attention, self.feed, strict=True):
            states = feed(attention(states, inside))
        vectors: Tensor = self.head(states[:, 0]).tanh()
        return vectors


class Laser(nn.Module):
    """A bidirectional LSTM of 5 layers of 512 over 320, max-pooled over positions."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, 320)
        self.layers = nn.LSTM(320, 512, num_layers=5, bidirectional=True, batch_first=True)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Ids ``(n, t)`` and lengths ``(n,)`` → vectors ``(n, 1024)``."""
        rows = self.table(ids)
        packed = pack_padded_sequence(rows, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(
            self.layers(packed)[0], batch_first=True, padding_value=float("-inf")
        )
        return states.amax(dim=1)


def in_bfloat16(network: nn.Module) -> nn.Module:
    """All weights and states in bfloat16."""
    return network.bfloat16()


def in_int8(network: nn.Module) -> nn.Module:
    """Weights of linear and LSTM layers in int8, their inputs rounded to it on the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantise: Callable[..., nn.Module] = torch.ao.quantization.quantize_dynamic
        return quantise(network, {nn.Linear, nn.LSTM}, dtype=torch.qint8)


SHAPES: dict[str, type[Labse] | type[Laser]] = {
    "LaBSE-shaped, 12 x 768": Labse,
    "LASER-shaped, 5 x BiLSTM 512": Laser,
}
PRECISIONS: dict[str, Callable[[nn.Module], nn.Module]] = {
    "fp32": lambda network: network,
    "bf16": in_bfloat16,
    "int8": in_int8,
}


@cache
def network(shape: str, precision: str) -> nn.Module:
    """Make an encoder; RuntimeError, or the like, where this torch cannot."""
    torch.manual_seed(0)
    return PRECISIONS[precision](SHAPES[shape]().eval())


def sentences_a_second(shape: str, precision: str, lengths: list[int], threads: int) -> float:
    """Encode random sentences of these lengths; NaN where this torch has no such layers."""
    torch.set_num_threads(threads)
    ordered = sorted(lengths)
    parts = [torch.tensor(ordered[i : i + BATCH]) for i in range(0, len(ordered), BATCH)]
    batches = [(torch.randint(VOCABULARY, (len(part), int(part.max()))), part) for part in parts]
    try:
        encode = network(shape, precision)
        with torch.inference_mode():
            encode(*batches[0])
            start = time.perf_counter()
            for batch in batches:
                encode(*batch)
    except (AttributeError, NotImplementedError, RuntimeError):
        return float("nan")
    return len(lengths) / (time.perf_counter() - start)


def sample_lengths(path: str, number: int, model: str) -> tuple[list[int], float]:
    """Tokens of both sides of *number* pairs of a TSV, and the mean over all its sentences.

    The sample is spread evenly over the pairs by length, so that its mean is that of all.
    """
    import bitextfilter
    from bitextfilter.io.files import read_lines

    processor = bitextfilter.load(model).processor
    columns = zip(*(line.split("\t")[:2] for line in read_lines(path)), strict=True)
    sides = [
        [len(ids) for ids in processor.ids(sentences, language)]
        for sentences, language in zip(columns, processor.languages, strict=True)
    ]
    pairs = sorted(zip(*sides, strict=True), key=sum)
    places = [int((i + 0.5) * len(pairs) / number) for i in range(min(number, len(pairs)))]
    lengths = [length for place in places for length in pairs[place]]
    return lengths, sum(map(sum, pairs)) / len(pairs) / 2
