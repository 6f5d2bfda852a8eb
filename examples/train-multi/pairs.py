"""Make training pairs for the classifier of a model of many languages.

    python pairs.py MODEL OUTPUT [LANGUAGES=]FILE...

FILEs are as bitext-train-encoder --pairs takes them, each perhaps with @WEIGHT, which is passed
over. Of each two languages that have pairs, some are taken: many with the model's first language,
few without. Writes OUTPUT/positives.tsv, and made of them, as bitext-train does,
negatives.tsv and contrasts.tsv: noise and mistakes in all kinds of bitext-noise that the languages
have, and hard negatives. A sentence in neither language is of any other of the model's. All
sentences go to text.tsv, two in a row. Memory holds the text of all FILEs.
"""

from __future__ import annotations

import os
import random
import sys
from dataclasses import replace
from itertools import combinations, zip_longest
from pathlib import Path

from bitextfilter.commands.frame.training import language_file, weighted
from bitextfilter.damage.noise import NoiseSettings
from bitextfilter.models.folders import find_model, read_config
from bitextfilter.scoring.model import load
from bitextfilter.text.units import word_units
from bitextfilter.training import classifier_examples as recipe
from bitextfilter.training.multilingual import LanguageTexts, read_multilingual

SEED = 1
WITH_FIRST = 2_000
"""Pairs of the first language and each other one,"""
WITHOUT = 40
"""and of each two others."""
WORDS = range(1, 61)
SHARE_OF_SHORT = 0.5
"""The part of the pairs of fewer than six words that is taken."""

Texts = dict[tuple[str, str], list[recipe.Pair]]


def chosen(
    read: LanguageTexts, names: list[str], one: int, other: int, most: int
) -> list[recipe.Pair]:
    """Some distinct pairs of two languages, of as many sentences of each file as of any other."""
    draw = random.Random(f"{SEED} {names[one]} {names[other]}")
    files = []
    for rows, _ in read.rows:
        both = rows[:, [one, other]]
        found = both[(both >= 0).all(axis=1)]
        if len(found):
            files.append(found[draw.sample(range(len(found)), min(4 * most, len(found)))].tolist())
    taken: dict[recipe.Pair, None] = {}
    while any(files) and len(taken) < most:
        for file in filter(None, files):
            places = file.pop()
            pair = read.texts[one][places[0]], read.texts[other][places[1]]
            words = [len(word_units(side)) for side in pair]
            short = min(words) < recipe.FEW_WORDS and draw.random() > SHARE_OF_SHORT
            fits = not short and min(words) in WORDS and max(words) in WORDS
            if fits and recipe.shared(*pair) < recipe.COPY:
                taken[pair] = None
    return list(taken)[:most]


def main(folder: str, output: Path, files: list[str]) -> None:
    """Write the three files."""
    names = list(read_config(find_model(folder))["languages"])
    read = read_multilingual([language_file(*weighted(file, "--pairs")) for file in files], names)
    positives: set[recipe.Pair] = set()
    wrong: set[recipe.Pair] = set()
    fine: dict[recipe.Pair, tuple[str, str, recipe.Pair]] = {}
    threads = int(os.environ.get("THREADS", "1"))
    for one, other in combinations(range(len(names)), 2):
        most = WITH_FIRST if one == 0 else WITHOUT
        own = chosen(read, names, one, other, most)
        if not own:
            continue
        draw = random.Random(f"{SEED} {one} {other}")
        others = [place for place in range(len(names)) if place not in (one, other)]
        foreign = [draw.choice(read.texts[draw.choice(others)]) for _ in own]
        languages = names[one], names[other]
        material, known = NoiseSettings(languages, foreign), set(own)
        if one == 0:
            model = load(f"{folder}:{languages[0]},{languages[1]}", threads=threads)
            related, lexicon = recipe.near_words(model, known)
            material = replace(material, related=related, lexicon=lexicon)
            wrong.update(recipe.hard(model, sorted(known)))
        fine |= recipe.contrasts(recipe.noise([own], material, recipe.CONTRASTS), known)
        wrong.update(pair for pair, *_ in recipe.noise([own], material, recipe.NEGATIVES))
        positives |= known
    recipe.write_examples(output, positives, wrong, fine)
    every = [text for side in read.texts for text in side]
    rows = zip_longest(every[::2], every[1::2], fillvalue=".")
    recipe.write_rows(output / "text.tsv", sorted(rows))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
