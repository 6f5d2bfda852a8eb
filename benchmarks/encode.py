"""Sentences a second from raw text to vectors, of every architecture, on one core.

    python benchmarks/encode.py SENTENCES.txt.gz [--architecture word,trigram]...

SENTENCES is plain text, or a TSV whose first column is taken: real sentences, for those that
repeat flatter the figures. The vocabulary is learnt from them: words of `--words`, marks apart,
and all trigrams. The networks have random weights of 300 a part (the autoencoder: 512): their
speed means something, their vectors nothing. Each is measured on CPU seconds of one thread,
in turns, and the best of the turns counts; ratios are to the first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import islice

ARCHITECTURES = (
    "autoencoder", "averaging", "word", "trigram", "word,trigram", "lstm", "blstm", "max-blstm",
    "gran", "gran-gru", "word+trigram+lstm",
)  # fmt: skip
WINDOW = 8192
"""Sentences that a command holds at a time."""


def read(path: str, number: int) -> list[str]:
    """The first sentences of a file."""
    from bitextfilter.io.files import read_lines

    return [line.split("\t")[0] for line in islice(read_lines(path), number)]


def make_encoders(names: Sequence[str], sentences: list[str], words: int) -> dict[str, object]:
    """Untrained encoders of one vocabulary."""
    import torch

    from bitextfilter.encoders.base import Encoder
    from bitextfilter.encoders.registry import ENCODERS
    from bitextfilter.text.normalise import Normalisation
    from bitextfilter.text.processor import TextProcessor
    from bitextfilter.text.segment import SegmenterSettings
    from bitextfilter.text.trigrams import TrigramSettings

    torch.manual_seed(1)
    text = TextProcessor.learn(
        (sentences, sentences),
        ("en", "en"),
        Normalisation(apart=True),
        SegmenterSettings("none", vocabulary_size=words),
    )
    text.learn_trigrams((sentences, sentences), TrigramSettings())
    return {
        name: Encoder(text, ENCODERS.build(name, ENCODERS.settings(name, {}), text.sizes()))
        for name in names
    }


def seconds(encoder: object, sentences: list[str]) -> float:
    """CPU seconds for all sentences, window by window."""
    start = time.process_time()
    for place in range(0, len(sentences), WINDOW):
        encoder.encode(sentences[place : place + WINDOW], "en")  # type: ignore[attr-defined]
    return time.process_time() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sentences")
    parser.add_argument("--architecture", action="append", help="may be repeated; else all")
    parser.add_argument("--number", type=int, default=100_000, help="sentences at most")
    parser.add_argument("--words", type=int, default=60_000, help="size of the vocabulary")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    sentences = read(options.sentences, options.number)
    tokens = sum(len(sentence.split()) for sentence in sentences) / len(sentences)
    print(f"{len(sentences)} sentences, {tokens:.1f} words each", flush=True)
    encoders = make_encoders(options.architecture or ARCHITECTURES, sentences, options.words)
    recurrent = max(1, len(sentences) // 20)
    best: dict[str, float] = {}
    for _ in range(options.turns):
        for name, encoder in encoders.items():
            fast = set(name.replace("+", ",").split(",")) <= {"word", "trigram", "averaging"}
            some = sentences if fast else sentences[:recurrent]
            rate = len(some) / seconds(encoder, some)
            best[name] = max(best.get(name, 0.0), rate)
    first = next(iter(best.values()))
    print("architecture\tsentences/s\tratio")
    for name, rate in best.items():
        print(f"{name}\t{rate:.0f}\t{rate / first:.1f}")


if __name__ == "__main__":
    main()
