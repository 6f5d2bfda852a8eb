"""Train the identifier of languages: a table of weights of n-grams, from texts of 36 languages.

    python train.py DATA OUTPUT [STEPS]

DATA is as for ../train-multi: all files of its open.txt are read, and software catalogues in
Bengali, Nepali and Sinhala. OUTPUT gets weights.bin and identifier.json. A step is a batch of
fragments, as many of each language on average: whole sentences, or one to nine words in a row,
since titles, names and menus are to be told as well. Adagrad with one rate a bucket; the same seed
gives the same weights. Some three minutes and 3 GB on one core.
"""

from __future__ import annotations

import gzip
import lzma
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from bitextfilter.text.identifier import NgramIdentifier, ngrams, save_ngram_identifier
from bitextfilter.text.ragged import Ragged

SEED = 1
BUCKETS = 1 << 16
MOST = 90_000
"""Sentences of a language, as many of each file as of any other, but not fewer than FEWEST."""
FEWEST = 4_000
MORE = {"bn": "en-bn", "ne": "en-ne", "si": "en-si"}
BATCH = 512
RATE = 0.3
DECAY = 1e-4
WHOLE = 0.4
"""The share of whole sentences."""
LONGEST = 9
"""Words of a fragment, at most."""
WORDS = 60
"""Words of a sentence that are read."""
EPSILON = 1e-6


def rows(data: Path) -> Iterator[tuple[str, str, str]]:
    """Yield file, language and text of all cells."""
    listed = Path(__file__).parents[1] / "train-multi" / "open.txt"
    files = [line.partition("@")[0].split("\t") for line in listed.read_text().splitlines()]
    files += [[f"en,{name}", f"train/{folder}/software.tsv.gz"] for name, folder in MORE.items()]
    for columns, file in files:
        unpack = lzma.open if file.endswith(".xz") else gzip.open
        with unpack(data / file, "rt", encoding="utf-8", newline="\n") as lines:
            names = next(lines).rstrip("\n").split("\t") if columns == "-" else columns.split(",")
            for line in lines:
                for name, text in zip(names, line.rstrip("\n").split("\t"), strict=False):
                    if text:
                        yield file, name, text


def sentences(data: Path) -> dict[str, list[str]]:
    """Draw distinct sentences of each language."""
    texts: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for file, name, text in rows(data):
        texts[name][file].add(text)
    draw, drawn = np.random.default_rng(SEED), {}
    for name, files in sorted(texts.items()):
        most, known = max(FEWEST, MOST // len(files)), set[str]()
        for found in files.values():
            new = sorted(found - known)
            known.update(new[place] for place in draw.permutation(len(new))[:most])
        drawn[name] = sorted(known)
    return drawn


class Fragments:
    """Draws fragments of the sentences of all languages, as n-grams."""

    def __init__(self, texts: dict[str, list[str]]) -> None:
        words: dict[str, int] = {}
        self.languages = tuple(texts)
        self._texts = [
            Ragged.of_lists([
                [words.setdefault(word, len(words)) for word in text.split()[:WORDS]]
                for text in some
            ])
            for some in texts.values()
        ]  # fmt: skip
        self._grams = ngrams(list(words), BUCKETS)
        self._draw = np.random.default_rng(SEED)

    def batch(self) -> tuple[Ragged, torch.Tensor]:
        """Return fragments, and the places of their languages."""
        draw, rows = self._draw, []
        labels = draw.integers(0, len(self._texts), BATCH)
        for label in labels:
            texts = self._texts[label]
            place = draw.integers(len(texts))
            start, length = texts.starts[place], texts.lengths[place]
            if draw.random() > WHOLE:
                count = min(length, 1 + int(draw.random() ** 1.5 * LONGEST))
                start, length = start + draw.integers(length - count + 1), count
            rows.append(texts.flat[start : start + length])
        words = Ragged.of(rows)
        return self._grams.take(words.flat).merged(words.lengths), torch.from_numpy(labels)


def train(fragments: Fragments, steps: int) -> np.ndarray:
    """Return the weights ``(BUCKETS, l)``, in nats."""
    width = len(fragments.languages)
    weights, squares = torch.zeros(BUCKETS, width), torch.zeros(BUCKETS, 1)
    for step in range(steps):
        grams, labels = fragments.batch()
        flat = torch.from_numpy(grams.flat)
        owner = torch.from_numpy(np.repeat(np.arange(BATCH), grams.lengths))
        spread = torch.from_numpy(np.maximum(grams.lengths, 1) ** -0.5).float()[:, None]
        logits = torch.zeros(BATCH, width).index_add_(0, owner, weights[flat]) * spread
        wrong = torch.softmax(logits, 1)
        wrong[torch.arange(BATCH), labels] -= 1
        used, places = torch.unique(flat, return_inverse=True)
        slope = torch.zeros(len(used), width).index_add_(0, places, (wrong * spread)[owner])
        slope += DECAY * weights[used]
        squares[used] += slope.square().mean(1, keepdim=True)
        weights[used] -= RATE * (1 - step / steps) * slope / (squares[used].sqrt() + EPSILON)
        if step % 500 == 499:
            right = (logits.argmax(1) == labels).float().mean()
            print(f"step {step + 1} of {steps}: {right:.1%} of a batch", file=sys.stderr)
    return weights.numpy()


def main(data: str, output: str, steps: str = "8000") -> None:
    """Train, round to integers and write."""
    torch.set_num_threads(1)
    texts = sentences(Path(data))
    counts = {name: len(some) for name, some in texts.items()}
    print(f"{sum(counts.values())} sentences: {counts}", file=sys.stderr)
    fragments = Fragments(texts)
    weights = train(fragments, int(steps))
    scale = float(np.abs(weights).max()) / 127
    rounded = np.rint(weights / scale).astype(np.int8)
    Path(output).mkdir(parents=True, exist_ok=True)
    save_ngram_identifier(NgramIdentifier(fragments.languages, rounded, scale), Path(output))


if __name__ == "__main__":
    main(*sys.argv[1:])
