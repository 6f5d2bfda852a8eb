"""Pairs a second in training a translator, and the gain of each means of speed.

    python benchmarks/train.py [--updates 30] [--threads 2] [--rounds 2]

A Transformer of default size, bfloat16, mini-batches of 128 random pairs of 8 to 40 pieces. Each
variant runs in a process of its own, in turns; the median counts, and `times` is the speed of the
whole over the variant's:

    whole      as bitext-train-translator trains
    dropout    by torch's, not by a random byte a number
    attention  by torch's scaled_dot_product_attention
    loss       on whole logits, by torch's cross-entropy

Peak memory is the process's, in MiB.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

VARIANTS = ("whole", "dropout", "attention", "loss")
PIECES, SHORTEST, LONGEST, WARM = 8000, 8, 40, 5


def change(variant: str, learner: Any) -> None:
    """Take one of the means away."""
    import torch
    from torch.nn import functional

    from bitextfilter.models import layers as attention
    from bitextfilter.training import translator_training as translator

    def torch_attention(queries: Any, memory: Any, mask: Any, causal: bool) -> Any:
        keys, values = memory
        return functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, is_causal=causal
        )

    def torch_loss(states: Any, layer: Any, targets: Any, smoothing: float) -> Any:
        logits = functional.linear(states, *layer).float()
        return functional.cross_entropy(logits, targets, label_smoothing=smoothing)

    if variant == "dropout":
        for module in learner.modules():
            for name, child in list(module.named_children()):
                if type(child).__name__ == "ByteDropout":
                    setattr(module, name, torch.nn.Dropout(child.part))
    elif variant == "attention":
        setattr(attention, "plain_attention", torch_attention)  # noqa: B010
    elif variant == "loss":
        setattr(translator, "output_loss", torch_loss)  # noqa: B010


def train(variant: str, updates: int, threads: int) -> None:
    """Print pairs a second and peak memory of one variant."""
    import numpy as np
    import torch

    from bitextfilter.training.data import Corpus, Sentences
    from bitextfilter.training.loop import update
    from bitextfilter.training.settings import TranslatorSettings
    from bitextfilter.training.translator_training import TranslationLearner, translation_stream
    from bitextfilter.translation.translator import TRANSLATORS

    torch.manual_seed(1)
    torch.set_num_threads(threads)
    random = np.random.default_rng(1)
    sides = [
        Sentences(
            random.integers(4, PIECES, n).astype(np.int32)
            for n in random.integers(SHORTEST, LONGEST + 1, 20_000)
        )
        for _ in range(2)
    ]
    settings = TranslatorSettings(precision="bfloat16")
    network = TRANSLATORS.build(
        "transformer", TRANSLATORS.settings("transformer", {}), {"pieces": PIECES}
    )
    learner = TranslationLearner(network, settings)
    change(variant, learner)
    optimiser = learner.optimiser()
    stream = translation_stream(
        Corpus(sides[0], sides[1], np.ones(20_000)), settings, torch.device("cpu")
    )
    for number, batch in enumerate(stream.batches(0)):
        if number == WARM:
            started = time.perf_counter()
        if number == WARM + updates:
            break
        update(learner, optimiser, batch, (number, 1000))
    speed = updates * settings.batch_size / (time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(speed, peak)


def main() -> None:
    """Run all variants in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--variant", choices=VARIANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.variant:
        train(options.variant, options.updates, options.threads)
        return
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in VARIANTS}
    for _ in range(options.rounds):
        for name in VARIANTS:
            line = [sys.executable, __file__, "--variant", name]
            line += ["--updates", str(options.updates), "--threads", str(options.threads)]
            pair = subprocess.check_output(line, text=True).split()
            found[name].append((float(pair[0]), float(pair[1])))
    whole = statistics.median(speed for speed, _ in found["whole"])
    print("variant    pairs/s  times  MiB")
    for name, runs in found.items():
        speed, peak = (statistics.median(column) for column in zip(*runs, strict=True))
        print(f"{name:10} {speed:7.1f}  {whole / speed:5.2f}  {peak:5.0f}")


if __name__ == "__main__":
    main()
