"""Sentences a second that translators translate, and that they score, on this machine.

    python benchmarks/translate.py [--model DIR] [--text FILE] [--ctranslate2]

With `--model` and `--text` (plain source sentences, or a TSV whose first column is taken) that is
the real thing. Without, the networks have the default sizes, a vocabulary of 8,000 and random
weights, sentences have 10 to 32 random pieces, and every translation is written to 32 pieces, for
random weights would hardly ever end one: more work than real translations of such sentences are.
`--ctranslate2` (`pip install ctranslate2`) converts the Transformer of `--model` and has the same
sentences translated by CTranslate2, with as many threads: sentences a second, and how many of its
translations are ours.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bitextfilter.translation.translator import Translator

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

WORDS, SHORTEST, LONGEST, WRITTEN = 8000, 10, 32, 32


def random_translator(name: str, threads: int) -> Translator:
    """An untrained one of default size, of words w0, w1, and so on."""
    import torch

    from bitextfilter.text.normalise import Normalisation
    from bitextfilter.text.processor import TextProcessor
    from bitextfilter.text.segment import SegmenterSettings
    from bitextfilter.translation.translator import TRANSLATORS, Translator

    torch.manual_seed(1)
    words = [f"w{number}" for number in range(WORDS)]
    segmentation = SegmenterSettings("none", vocabulary_size=WORDS)
    text = TextProcessor.learn((words, words), ("aa", "bb"), Normalisation(), segmentation)
    network = TRANSLATORS.build(name, TRANSLATORS.settings(name, {}), text.sizes())
    return Translator(text, network, threads=threads)


def random_sentences(number: int) -> list[str]:
    """Sentences of random words."""
    import numpy as np

    random = np.random.default_rng(1)
    lengths = random.integers(SHORTEST, LONGEST + 1, number)
    return [" ".join(f"w{i}" for i in random.integers(0, WORDS, n)) for n in lengths]


class Watch:
    """Prints how many items a second went through, and how many a second of one core."""

    def __enter__(self) -> Watch:
        """Start."""
        self._start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._seconds = time.perf_counter() - self._start[0], time.process_time() - self._start[1]

    def say(self, name: str, items: int) -> None:
        """Print them: on a busy machine only the latter means much."""
        wall, core = (items / seconds for seconds in self._seconds)
        print(f"  {name}: {wall:7.1f}/s, {core:7.1f} a second of a core", flush=True)


def measure(translator: Translator, sentences: list[str], longest: int) -> None:
    """Print speeds of greedy search, of a beam, and of scoring the translations."""
    from bitextfilter.translation.translator import SearchSettings

    translated: list[str] = []
    for width in (1, 5):
        with Watch() as watch:
            found = translator.translate(sentences, SearchSettings(width, longest))
        translated = [row.best for row in found]
        watch.say(f"beam {width}, sentences", len(sentences))
    with Watch() as watch:
        translator.log_probabilities(sentences, translated)
    watch.say("scoring, pairs", len(sentences))


def beside(translator: Translator, sentences: list[str], threads: int) -> None:
    """Print the speeds of CTranslate2, and how often it agrees."""
    import tempfile

    from benchmarks.ctranslate2_model import CTranslate2, convert
    from bitextfilter.translation.translator import SearchSettings

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model").mkdir()
        convert(translator, Path(folder) / "model")
        for kind in ("float32", "int8"):
            other = CTranslate2(translator, Path(folder) / "model", threads, kind)
            for width in (1, 5):
                with Watch() as watch:
                    found = other.translate(sentences, width, 256)
                watch.say(f"CTranslate2 {kind}, beam {width}, sentences", len(sentences))
                ours = translator.translate(sentences, SearchSettings(width, 256))
                same = sum(a == b.best for a, b in zip(found, ours, strict=True))
                print(f"    {same} of {len(sentences)} as ours")


def main() -> None:
    """Measure one model, or both architectures with random weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--text")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ctranslate2", action="store_true")
    options = parser.parse_args()
    from bitextfilter.commands.frame.command import steady_speed_and_memory
    from bitextfilter.io.files import read_lines
    from bitextfilter.translation.translator import Translator, load_translator

    steady_speed_and_memory()
    sentences = random_sentences(options.sentences)
    if options.text:
        sentences = [line.split("\t")[0] for line in read_lines(options.text)][: options.sentences]
    if options.model:
        print(options.model)
        translator = load_translator(options.model, threads=options.threads)
        assert isinstance(translator, Translator), "a model of bitext-train-translator"
        measure(translator, sentences, 256)
        if options.ctranslate2:
            beside(translator, sentences, options.threads)
        return
    for name in ("transformer", "recurrent"):
        print(f"{name}, default size")
        measure(random_translator(name, options.threads), sentences, WRITTEN)


if __name__ == "__main__":
    main()
