"""Pairs a second by cosine: a model of ours, a static model of another library, given vectors.

    python benchmarks/given_vectors.py PAIRS.tsv [--model en-de] [--number 100000]

PAIRS is a TSV of real pairs in the languages of the model. The static models have 32,000 pieces of
words, learnt from them, and random vectors of as many numbers as the model's: their speed means
something, their scores nothing. All take turns on one core; the best of the turns counts, in CPU
seconds, and ratios are to our model.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

PIECES = 32_000
WINDOW = 8192
"""Pairs that a command holds at a time."""


def bert(sentences: list[str]) -> Any:
    """Return a tokeniser like BERT's, learnt from sentences."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=PIECES, special_tokens=["[PAD]", "[UNK]"], show_progress=False
    )
    tokenizer.train_from_iterator(sentences, trainer)
    return tokenizer


def sentencepiece(sentences: list[str]) -> Any:
    """Return a tokeniser like SentencePiece's, learnt from sentences."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=PIECES, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(sentences, trainer)
    return tokenizer


def static_folder(folder: Path, tokenizer: Any, dim: int) -> Path:
    """Write a static model, as sentence-transformers does."""
    from safetensors.numpy import save_file

    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    size = tokenizer.get_vocab_size()
    vectors = np.random.default_rng(1).standard_normal((size, dim)).astype(np.float32)
    save_file({"embedding.weight": vectors}, folder / "model.safetensors")
    module = {"path": "", "type": "sentence_transformers.models.StaticEmbedding"}
    (folder / "modules.json").write_text(json.dumps([module]))
    return folder


def measure(score: Callable[[slice], object], number: int) -> float:
    """Return pairs a CPU second."""
    start = time.process_time()
    for first in range(0, number, WINDOW):
        score(slice(first, first + WINDOW))
    return number / (time.process_time() - start)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("pairs")
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--number", type=int, default=100_000, help="pairs at most")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()

    from bitextfilter.io.files import read_lines
    from bitextfilter.io.row_reader import RowReader
    from bitextfilter.io.rows import strict
    from bitextfilter.io.vectors import open_sides
    from bitextfilter.scoring.model import Model, load
    from bitextfilter.scoring.score_columns import GivenColumns

    lines = [line.encode() for line in islice(read_lines(options.pairs), options.number)]
    reader = RowReader(lines, options.pairs)
    rows = list(strict(reader))
    sides = [row.source for row in rows], [row.target for row in rows]
    own = load(options.model)
    with tempfile.TemporaryDirectory() as folder:
        statics = {}
        for learn in (bert, sentencepiece):
            place = Path(folder) / learn.__name__
            static_folder(place, learn([*sides[0], *sides[1]]), own.encoder.dim)
            statics[learn.__name__] = load(f"{place}:{','.join(own.languages)}")
        paths = [f"{folder}/{name}.npy" for name in ("source", "target")]
        for path, side, language in zip(paths, sides, own.languages, strict=True):
            np.save(path, own.encode(side, language))
        columns = GivenColumns(open_sides(paths), ("cosine",), None)
        columns.rows(reader)

        def scorer(model: Model) -> Callable[[slice], object]:
            return lambda part: model.score(sides[0][part], sides[1][part], "cosine")

        ways: dict[str, Callable[[slice], object]] = {
            own.name: scorer(own),
            **{f"static, {name}": scorer(model) for name, model in statics.items()},
            "given vectors": lambda part: columns.score(rows[part], {}),
        }
        best = dict.fromkeys(ways, 0.0)
        for _ in range(options.turns):
            for name, score in ways.items():
                best[name] = max(best[name], measure(score, len(rows)))
    print("vectors of\tpairs/s\tratio")
    for name, rate in best.items():
        print(f"{name}\t{rate:.0f}\t{rate / best[own.name]:.2f}")


if __name__ == "__main__":
    main()
