"""Exchange rare n-grams of a model of many languages for frequent ones of languages that have few.

    python ngrams.py MODEL OUTPUT LESSONS LANGUAGE=NUMBER...

LESSONS are options of bitext-train-encoder, as lessons.py writes them: the text of a language is
that of its columns there. Its NUMBER most frequent n-grams that the model lacks come in; as many of
the Latin script go, the last ones: a model whose n-grams were counted in training has the rarest
last. A new n-gram begins in the direction that the model gave its text so far. OUTPUT is an encoder
to start a training from, in 32 bits a number.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from bitextfilter.encoders.registry import ENCODERS, load_encoder
from bitextfilter.models.folders import read_config, writing_folder
from bitextfilter.similarity.vectors import unit_rows
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import TRIGRAMS
from bitextfilter.text.trigrams import CountedTrigrams
from bitextfilter.text.vocabulary import RESERVED, Vocabulary

COUNTED = 200_000
"""N-grams of a language whose counts are kept."""
LENGTH = 2.0
"""Of a new vector, in medians of the old ones. (Those of the shipped model began at 1 to 3.)"""


def sentences(lessons: Path, language: str) -> Iterator[str]:
    """The distinct cells of a language's columns."""
    words = lessons.read_text(encoding="utf-8").split("\n")
    seen: set[str] = set()
    for place in range(1, len(words), 3):
        names, path = words[place].rpartition("@")[0].split("=", 1)
        columns = [n for n, name in enumerate(names.split(",")) if name == language]
        if columns:
            for row in filter(None, Path(path).read_text(encoding="utf-8").split("\n")):
                cells = row.split("\t")
                seen.update(cells[column] for column in columns)
    return iter(seen - {""})


def is_latin(ngram: str) -> bool:
    """Whether the first letter is of the Latin script."""
    first = next(filter(str.isalpha, ngram), "")
    return bool(first) and unicodedata.name(first, "").startswith("LATIN")


def learned(processor: TextProcessor, lessons: Path, language: str) -> dict[str, int]:
    """The most frequent n-grams of a language, and their counts."""
    own = processor.trigrams
    assert isinstance(own, CountedTrigrams)
    text = processor.normalise(list(sentences(lessons, language)), language)
    found = CountedTrigrams.learn(text, size=COUNTED, syllabic=own.syllabic, longest=own.longest)
    counts = found.vocabulary.counts[:, 0].tolist()
    return dict(zip(found.vocabulary.pieces, counts, strict=True))


def exchanged(
    own: CountedTrigrams, known: tuple[str, ...], counts: dict[str, dict[str, int]],
    sizes: dict[str, int],
) -> tuple[CountedTrigrams, list[int]]:  # fmt: skip
    """The n-grams after the exchange, and the places of those that stay."""
    pieces = own.vocabulary.pieces
    new: dict[str, None] = {}
    for language, size in sizes.items():
        lacking = (ngram for ngram in counts[language] if ngram not in own.vocabulary.index)
        wanted = [ngram for _, ngram in zip(range(size), lacking, strict=False)]
        new.update(dict.fromkeys(wanted))
    latin = [place for place, ngram in enumerate(pieces) if is_latin(ngram)]
    gone = set(latin[max(len(latin) - len(new), 0) :])
    kept = [place for place in range(len(pieces)) if place not in gone]
    more = np.zeros((len(new), len(known)), dtype=np.int64)
    for language, of in counts.items():
        more[:, known.index(language)] = [of.get(ngram, 0) for ngram in new]
    table = np.concatenate([own.vocabulary.counts[kept], more])
    vocabulary = Vocabulary([*(pieces[place] for place in kept), *new], table)
    return CountedTrigrams(vocabulary, own.syllabic), kept


def main(model: Path, output: Path, lessons: Path, sizes: dict[str, int]) -> None:
    """Write the encoder with other n-grams."""
    config, first = read_config(model), next(iter(sizes))
    encoder = load_encoder(model, languages=(config["languages"][0], first))
    old, processor = ENCODERS.load(model), TextProcessor.load(model, config)
    own, architecture = processor.trigrams, config["encoder"].pop("architecture")
    if architecture != "word+trigram" or not isinstance(own, CountedTrigrams):
        sys.exit(f"{model}: not a model of word+trigram, with counted trigrams")
    counts = {language: learned(processor, lessons, language) for language in sizes}
    processor.trigrams, kept = exchanged(own, processor.known, counts, sizes)
    new = processor.trigrams.vocabulary.pieces[len(kept) :]
    texts = [ngram.strip("\u3000 ") for ngram in new]
    rows = [*range(len(RESERVED)), *(place + len(RESERVED) for place in kept)]
    shape = ENCODERS.settings(architecture, config["encoder"])
    network = ENCODERS.build(architecture, shape, processor.sizes())
    views, state = old.network.rows_by_view(), old.network.state_dict()
    for name, tensor in network.state_dict().items():
        if views.get(name) == TRIGRAMS:
            length = LENGTH * float(state[name].norm(dim=1).median())
            begun = torch.from_numpy(unit_rows(encoder.encode(texts, first)))
            tensor.copy_(torch.cat([state[name][rows], begun * length]))
        else:
            tensor.copy_(state[name])
    with writing_folder(output) as draft:
        ENCODERS.save(draft, (architecture, shape), network, processor)
    print(
        f"{len(new)} n-grams came in, {len(own) - len(RESERVED) - len(kept)} went", file=sys.stderr
    )


if __name__ == "__main__":
    model, output, lessons, *sizes = sys.argv[1:]
    main(
        Path(model),
        Path(output),
        Path(lessons),
        {language: int(size) for language, _, size in (word.partition("=") for word in sizes)},
    )
